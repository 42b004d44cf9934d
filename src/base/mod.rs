//! L0: what everything stands on. No policy here.

pub mod barrier;
pub mod block;
pub mod call;
pub mod cgroup;
pub mod config;
pub mod cpu;
pub mod door;
pub mod event;
pub mod futex;
pub mod io;
pub mod mem;
pub mod sync;
pub mod thread;
pub mod trylock;
pub mod vacancy;

#[cfg(not(loom))]
pub mod affinity;
#[cfg(not(loom))]
pub mod countdown;
#[cfg(not(loom))]
pub mod crew;
#[cfg(not(loom))]
pub mod frontier;
#[cfg(not(loom))]
pub mod lock;
#[cfg(not(loom))]
pub mod mutex;
#[cfg(not(loom))]
pub mod process;
#[cfg(not(loom))]
pub mod symbol;
#[cfg(not(loom))]
pub mod weak;

/// An `errno` value: what a failing call of the C interface reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Errno(pub i32);
