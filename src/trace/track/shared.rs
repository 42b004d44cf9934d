//! The data that all tracks of a run share.

use crate::sys::processors::MOST_WORKERS;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

pub struct Shared {
    /// The number of workers that have tasks.
    pub(super) busy: AtomicUsize,
    /// Tasks shorter than this many ticks are merged.
    pub(super) merge: u64,
    /// The least ticks between two records of a queue's length.
    pub(super) sampling: u64,
    /// The number of the next task from outside.
    outside: AtomicU64,
}

impl Shared {
    pub fn new(merge: u64, sampling: u64) -> Self {
        let (busy, outside) = (AtomicUsize::new(0), AtomicU64::new(0));
        Shared { busy, merge, sampling, outside }
    }

    /// A number for a task that a thread outside of the run spawns.
    pub fn outside_id(&self) -> u64 {
        OUTSIDE_ID + self.outside.fetch_add(1, Ordering::Relaxed)
    }
}

/// A task's number has the number of the worker that spawned it in its upper bits. Viewers in
/// JavaScript read a number as a double: beyond 53 bits they would confuse tasks.
pub const WORKER_SHIFT: u32 = 40;

/// The first number of the tasks from outside. Their upper bits follow the last worker's upper
/// bits.
const OUTSIDE_ID: u64 = (MOST_WORKERS as u64) << WORKER_SHIFT;

const _: () = assert!(OUTSIDE_ID < 1 << f64::MANTISSA_DIGITS);
