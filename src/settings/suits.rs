//! Which settings suit a kind and its deque. Each row of the table of kinds says which values it
//! accepts. This file compares the choices with these values, and fills in the defaults.

use crate::settings::config::Config;
use crate::settings::messages::{Author, Choice, Refused};
use crate::settings::words::{DequeOrLock, Global, Kind, Overflow, Steal};

/// The settings that a row of the table of kinds accepts; the first value of each list is the
/// default. A row on which a variable has no effect accepts all values of the variable.
#[derive(Clone, Copy, Debug)]
pub struct Accepted {
    pub steal: &'static [Steal],
    pub overflow: &'static [Overflow],
    pub global: &'static [Global],
}

impl Accepted {
    /// The row moves tasks one by one, and its full queue grows or refuses.
    pub const ONE_BY_ONE: Self = Accepted {
        steal: &[Steal::One],
        overflow: &[Overflow::Grow, Overflow::Refuse],
        global: &[Global::One],
    };

    pub const ALL: Self =
        Accepted { steal: Steal::ALL, overflow: Overflow::ALL, global: Global::ALL };
}

/// A row of the table of kinds, as the settings see it.
#[derive(Debug)]
pub struct Combination {
    pub kind: Kind,
    /// The deque or the lock; None if the kind has none to choose.
    pub deque: Option<DequeOrLock>,
    pub accepted: &'static Accepted,
}

impl Combination {
    /// True if this is what `config` asks for. If `config` names no deque, the first row of the
    /// kind is the default.
    pub fn is(&self, config: &Config) -> bool {
        let deques = self.deque.zip(config.deque);
        self.kind == config.kind && deques.is_none_or(|(ours, asked)| ours == asked)
    }

    /// Refuses, with a line on stderr, a value that the row does not accept. The program has asked
    /// for `asked`.
    pub fn check(&self, config: &Config, asked: &Config) -> Result<(), Refused> {
        let &Accepted { steal, overflow, global } = self.accepted;
        self.check_one("steal", (config.steal, asked.steal), steal, Steal::word)?;
        self.check_one("overflow", (config.overflow, asked.overflow), overflow, Overflow::word)?;
        self.check_one("global", (config.global, asked.global), global, Global::word)
    }

    fn check_one<T: Copy + PartialEq>(
        &self,
        name: &'static str,
        (value, asked): (Option<T>, Option<T>),
        accepted: &[T],
        word: fn(T) -> &'static str,
    ) -> Result<(), Refused> {
        let by = Author::of(value, asked);
        let Some(value) = value.filter(|value| !accepted.contains(value)) else { return Ok(()) };
        let deque = self.deque.map(|deque| ("deque", deque.word()));
        let others = [("kind", self.kind.word())].into_iter().chain(deque);
        let choice = Choice { by, name, word: word(value) };
        Err(choice.refuse(others, accepted.iter().map(|&value| word(value))))
    }
}

/// How many tasks move at a time, and what a full queue does.
#[derive(Clone, Copy, Debug)]
pub struct Transfers {
    pub steal: Steal,
    pub overflow: Overflow,
    pub global: Global,
}

impl Transfers {
    /// The values that `config` asks for, and the defaults of the others.
    pub fn of(config: &Config, accepted: &Accepted) -> Self {
        Transfers {
            steal: config.steal.unwrap_or(accepted.steal[0]),
            overflow: config.overflow.unwrap_or(accepted.overflow[0]),
            global: config.global.unwrap_or(accepted.global[0]),
        }
    }
}
