//! A program's settings: `sched_options.settings`, a text such as `SCHED_DEQUE=ring
//! SCHED_IDLE=spin`.

use crate::settings::config::Config;
use crate::settings::messages::{Refused, SETTINGS};
use crate::settings::variables::Var;
use crate::sys::output::{self, Out};
use std::ffi::CStr;
use std::fmt::Write;

/// Stores the settings, which blanks separate, in `config`. A setting that is refused is named in a
/// line on stderr.
pub fn read(settings: &CStr, config: &mut Config) -> Result<(), Refused> {
    let words = settings.to_bytes().split(u8::is_ascii_whitespace);
    words.filter(|word| !word.is_empty()).try_for_each(|word| set(word, config))
}

fn set(setting: &[u8], config: &mut Config) -> Result<(), Refused> {
    let at = setting.iter().position(|&byte| byte == b'=').unwrap_or(setting.len());
    let (name, value) = (&setting[..at], setting.get(at + 1..).unwrap_or_default());
    let var = Var::named(name);
    if var.is_some_and(|var| var.set_by_program(config, value).is_some()) {
        return Ok(());
    }
    let mut out = Out::stderr();
    let _ = write!(out, "libsched: {SETTINGS}");
    // Characters that are not ASCII are shown as Rust escapes them, and a long text is cut.
    let shown = &setting[..setting.len().min(64)];
    let _ = write!(out, "{}: ", shown.escape_ascii());
    let _ = match var {
        None => out.write_str("no such variable"),
        Some(var) if !var.is_for_programs() => {
            out.write_str("only the environment can name a file")
        }
        Some(var) => {
            out.write_str("no such value; accepted:").and_then(|()| var.accepted(&mut out))
        }
    };
    output::add_caller(&mut out);
    let _ = writeln!(out);
    Err(Refused)
}
