//! The threads of runs: the cache of threads between runs, the state of one thread's job, the
//! hand-over of a worker from one thread to another, and the thread that watches the others.

pub mod affinity;
#[cfg(not(loom))]
pub mod cache;
pub mod event;
pub mod handoff;
pub mod job;
pub mod requests;
pub mod resting;
#[cfg(not(loom))]
pub mod watcher;
