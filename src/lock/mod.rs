//! Locks: the library's own mutex, the one-byte lock of thieves, and the locks that `SCHED_DEQUE`
//! compares.

#[cfg(not(loom))]
pub mod monitor;
pub mod mutex;
pub mod trylock;
