//! Locks: the library's own, the one-byte lock of thieves, and those that `SCHED_DEQUE` compares.

#[cfg(not(loom))]
pub mod monitor;
pub mod mutex;
pub mod trylock;
