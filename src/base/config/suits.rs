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

use super::{Config, Deque, Global, Kind, Out, Overflow, Refused, Steal};
use std::fmt::Write;

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

    /// Refuses what does not suit: one line on stderr.
    pub fn check_suited(&self) -> Result<(), Refused> {
        self.check("SCHED_STEAL", self.steal(), self.steals(), Steal::word)?;
        self.check("SCHED_OVERFLOW", self.overflow(), self.overflows(), Overflow::word)?;
        self.check("SCHED_GLOBAL", self.global, self.globals(), Global::word)
    }

    fn check<T: Copy + PartialEq>(
        &self,
        name: &str,
        value: T,
        accepted: &[T],
        word: fn(T) -> &'static str,
    ) -> Result<(), Refused> {
        if accepted.contains(&value) {
            return Ok(());
        }
        let (value, kind, deque) = (word(value), self.kind.word(), self.deque().word());
        let mut out = Out::stderr();
        let _ = write!(
            out,
            "libsched: {name}={value}: not with SCHED_KIND={kind} SCHED_DEQUE={deque}; accepted:"
        );
        accepted.iter().for_each(|&value| _ = write!(out, " {}", word(value)));
        let _ = writeln!(out);
        Err(Refused)
    }
}
