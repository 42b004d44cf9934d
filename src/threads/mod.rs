//! Threads between runs and within one: the cache of threads, calls to a thread, and the hand-over of a worker's place.

pub mod call;
pub mod event;
pub mod handoff;

#[cfg(not(loom))]
pub mod affinity;
#[cfg(not(loom))]
pub mod cache;
