//! The environment variables and a pool's options.
//!
//! | file | what |
//! | --- | --- |
//! | `words` | the words that variables take |
//! | `config` | what a program and its user ask for |
//! | `messages` | the lines that refuse a value |
//! | `suits` | what a row of the table of kinds accepts |
//! | `variables` | the table of variables |
//! | `environment` | a walk through the environment |
//! | `told` | the lines that were printed already |
//! | `program` | a program's settings, in a pool's options |
//! | `typos` | names that are nearly a variable's |
//! | `resolve` | from what is asked for to what is in force |
//!
//! The library refuses a value that is not in its variable's list, and prints one line, once, which
//! names the variable, the value and the list. An empty value counts as unset. Nothing here
//! allocates.

mod config;
mod environment;
mod messages;
mod program;
mod resolve;
mod suits;
mod told;
mod typos;
mod variables;
mod words;

pub use self::config::{Config, Threads};
pub use self::messages::{Refused, Shown};
pub use self::program::read as read_settings;
pub use self::resolve::{Resolved, resolve};
pub use self::suits::{Accepted, Combination, Transfers};
pub use self::variables::{LEAST_STACK, MOST_BLOCKING};
pub use self::words::{
    Deadlock, DequeOrLock, Global, Idle, Join, Kind, Overflow, Profile, Stats, Steal, Switch,
};
pub use crate::sys::processors::MOST_WORKERS;

/// True if the environment asks for a watchdog.
pub fn environment_has_watchdog() -> bool {
    let mut config = Config::defaults();
    environment::visit_all(|name, value| {
        if let Some(var) =
            variables::Var::named(name.as_bytes()).filter(|_| name == "SCHED_WATCHDOG")
        {
            let _ = var.set(&mut config, value);
        }
    });
    config.watchdog.is_some()
}
