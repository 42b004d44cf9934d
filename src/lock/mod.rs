//! Locks: the library's own mutex, the one-byte lock of thieves, the line of waiters of a lock that
//! is handed over, and the locks that `SCHED_DEQUE` compares ([`monitor`] has their table).

pub mod adaptive;
pub mod bell;
pub mod fair;
pub mod handover;
pub mod monitor;
#[cfg_attr(loom, path = "../sys/model/mutex.rs")]
pub mod mutex;
pub mod posix;
#[cfg(test)]
mod tests;
pub mod three_states;
pub mod trylock;
