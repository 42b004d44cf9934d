//! The way from the requests of the program and the user to the settings of a run. The environment
//! is read at each start of a run and takes precedence over the program. The table of kinds says
//! which values go together.

use crate::settings::config::Config;
use crate::settings::environment;
use crate::settings::messages::{Author, Choice, Refused};
use crate::settings::suits::{Accepted, Combination, Transfers};
use crate::settings::typos;
use crate::settings::variables::{InForce, VARS, Var};
use crate::settings::words::{DequeOrLock, Switch};
use crate::sys::output::Out;
use std::ffi::CStr;
use std::fmt::Write;

/// Stores the choices of the environment in `config`. Returns the first value that is refused.
fn read_environment(config: &mut Config) -> Option<(&'static Var, &'static CStr)> {
    let mut refused = None;
    environment::visit_all(|name, value| {
        let Some(var) = Var::named(name.as_bytes()) else {
            return typos::look_at(name, VARS.iter().map(|v| v.name));
        };
        if var.set(config, value).is_none() && refused.is_none() {
            refused = Some((var, value));
        }
    });
    refused
}

/// The settings that are in force for one run.
pub struct Resolved<R: 'static> {
    pub config: Config,
    pub transfers: Transfers,
    /// The row of the table of kinds.
    pub row: &'static R,
}

/// Takes each setting from the environment or, if the environment does not set it, from what the
/// program has `asked` for; finds the row in `table`. `SCHED_HELP` prints the variables.
pub fn resolve<R: AsRef<Combination>>(
    asked: &Config,
    table: &[&'static R],
) -> Result<Resolved<R>, Refused> {
    let row_of = |config: &Config| table.iter().copied().find(|&row| row.as_ref().is(config));
    let deque_of = |config: &Config| config.deque.or_else(|| row_of(config)?.as_ref().deque);
    let mut config = Config { deque: None, steal: None, overflow: None, global: None, ..*asked };
    let refused = read_environment(&mut config);
    // A deque that was asked for with one kind may not suit another kind. A setting that was asked
    // for with one deque (how much a thief takes, for instance) may not suit another deque.
    if config.kind == asked.kind {
        config.deque = config.deque.or(asked.deque);
    }
    let row = row_of(&config);
    let as_asked = (config.kind, deque_of(&config)) == (asked.kind, deque_of(asked));
    let accepted = row.map_or(&Accepted::ONE_BY_ONE, |row| row.as_ref().accepted);
    let Accepted { steal, overflow, global } = *accepted;
    config.steal = config.steal.or(kept(asked.steal, as_asked, steal));
    config.overflow = config.overflow.or(kept(asked.overflow, as_asked, overflow));
    config.global = config.global.or(kept(asked.global, as_asked, global));

    let transfers = Transfers::of(&config, accepted);
    let help = || {
        if config.help == Switch::On {
            help(&InForce { deque: deque_of(&config).unwrap_or(DequeOrLock::ALL[0]), transfers });
        }
    };
    if let Some((var, value)) = refused {
        help();
        return Err(var.refuse(value));
    }
    let Some(row) = row else {
        let rows = table.iter().map(|&row| row.as_ref()).filter(|row| row.kind == config.kind);
        return Err(refuse_combination(&config, asked, rows.filter_map(|row| row.deque)));
    };
    row.as_ref().check(&config, asked)?;
    help();
    Ok(Resolved { config, transfers, row })
}

/// The program's request, if it stays or suits the row.
fn kept<T: PartialEq>(asked: Option<T>, as_asked: bool, accepted: &[T]) -> Option<T> {
    asked.filter(|value| as_asked || accepted.contains(value))
}

/// Prints the table of variables on stderr, with the values in force.
fn help(in_force: &InForce) {
    let mut out = Out::stderr();
    let _ = writeln!(out, "libsched {}: environment variables", env!("CARGO_PKG_VERSION"));
    for var in &VARS {
        let mut value = None;
        environment::visit_all(|name, text| {
            if name == var.name {
                value = Some(text);
            }
        });
        let _ = var.describe(&mut out, in_force, value);
    }
}

/// Reports on stderr that the table of kinds lacks the combination. The program has asked for
/// `asked`.
fn refuse_combination(
    config: &Config,
    asked: &Config,
    accepted: impl Iterator<Item = DequeOrLock>,
) -> Refused {
    let by = Author::of(config.deque, asked.deque);
    // (Some deque was asked for: without one, the first row of the kind would have been found.)
    let word = config.deque.map_or("", DequeOrLock::word);
    let deque = Choice { by, name: "deque", word };
    deque.refuse([("kind", config.kind.word())].into_iter(), accepted.map(DequeOrLock::word))
}
