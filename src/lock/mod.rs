//! Locks: the library's own mutex, the one-byte lock of thieves, and the locks that `SCHED_DEQUE`
//! compares.

pub mod monitor;
pub mod mutex;
#[cfg(not(loom))]
pub mod posix;
pub mod spin;
#[cfg(all(test, not(loom)))]
mod tests;
pub mod trylock;
