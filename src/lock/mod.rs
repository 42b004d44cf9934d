//! Locks: the library's own mutex, the one-byte lock of thieves, the line of waiters of a lock that
//! is handed over, and the locks that `SCHED_DEQUE` compares ([`monitor`] has their table).

pub mod adaptive;
pub mod bell;
pub mod fair;
pub mod handover;
pub mod monitor;
pub mod mutex;
#[cfg(not(loom))]
pub mod posix;
#[cfg(all(test, not(loom)))]
mod tests;
pub mod trylock;
