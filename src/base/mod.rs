//! L0: what everything stands on. No policy here.

pub mod barrier;
pub mod futex;
pub mod mem;
pub mod sync;

#[cfg(not(loom))]
pub mod cgroup;
#[cfg(not(loom))]
pub mod config;
#[cfg(not(loom))]
pub mod cpu;
#[cfg(not(loom))]
pub mod frontier;
#[cfg(not(loom))]
pub mod io;
#[cfg(not(loom))]
pub mod lock;
#[cfg(not(loom))]
pub mod thread;

/// An `errno` value: what a failing call of the C interface reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Errno(pub i32);
