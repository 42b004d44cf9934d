//! Which values of `SCHED_STEAL`, `SCHED_OVERFLOW` and `SCHED_GLOBAL` suit a kind and its deque.
//!
//! | `SCHED_KIND`, `SCHED_DEQUE` | `SCHED_STEAL` | `SCHED_OVERFLOW` | `SCHED_GLOBAL` |
//! | --- | --- | --- | --- |
//! | `steal`, `ring` | `half` `one` | `half` `one` `refuse` | `one` `all` |
//! | `steal`, `queue` `mutex` `spin` `sem` | `one` `half` | `grow` `one` `half` `refuse` | `one` `all` |
//! | `steal`, `split` `chaselev` | `one` | `grow` `refuse` | `one` `all` |
//! | others | `one` | `grow` `refuse` | `one` |
//!
//! The first is the default: a ring, which cannot grow, does as Tokio does. The lock-free deques give
//! one task to a thief by their nature, and always have room. `serial` disregards all three.

use crate::settings::{Choice, Config, Deque, Global, Kind, Overflow, Refused, Steal};

impl Config {
    /// How much a thief takes.
    pub fn steal(&self) -> Steal {
        self.steal.unwrap_or(self.steals()[0])
    }

    /// What a full queue does.
    pub fn overflow(&self) -> Overflow {
        self.overflow.unwrap_or(self.overflows()[0])
    }

    fn steals(&self) -> &'static [Steal] {
        match (self.kind, self.deque()) {
            (Kind::Serial, _) => Steal::ALL,
            (Kind::Steal, Deque::Ring) => &[Steal::Half, Steal::One],
            (Kind::Steal, Deque::Queue | Deque::Mutex | Deque::Spin | Deque::Sem) => Steal::ALL,
            _ => &[Steal::One],
        }
    }

    pub(super) fn overflows(&self) -> &'static [Overflow] {
        match (self.kind, self.deque()) {
            (Kind::Serial, _) => Overflow::ALL,
            (Kind::Steal, Deque::Ring) => &[Overflow::Half, Overflow::One, Overflow::Refuse],
            (Kind::Steal, Deque::Queue | Deque::Mutex | Deque::Spin | Deque::Sem) => Overflow::ALL,
            _ => &[Overflow::Grow, Overflow::Refuse],
        }
    }

    fn globals(&self) -> &'static [Global] {
        match self.kind {
            Kind::Steal | Kind::Serial => Global::ALL,
            _ => &[Global::One],
        }
    }

    /// Refuses what does not suit: one line on stderr. `asked`: what the program has asked for.
    pub fn check_suited(&self, asked: &Config) -> Result<(), Refused> {
        let in_options = asked.overflow.is_some() && asked.overflow == self.overflow;
        self.check(false, "steal", self.steal(), self.steals(), Steal::word)?;
        self.check(in_options, "overflow", self.overflow(), self.overflows(), Overflow::word)?;
        self.check(false, "global", self.global, self.globals(), Global::word)
    }

    fn check<T: Copy + PartialEq>(
        &self,
        in_options: bool,
        member: &'static str,
        value: T,
        accepted: &[T],
        word: fn(T) -> &'static str,
    ) -> Result<(), Refused> {
        if accepted.contains(&value) {
            return Ok(());
        }
        let others = [("kind", self.kind.word()), ("deque", self.deque().word())];
        let choice = Choice { in_options, member, word: word(value) };
        Err(choice.refuse(&others, accepted.iter().map(|&value| word(value))))
    }
}
