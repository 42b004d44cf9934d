//! What a worker adds up. Only the thread that occupies the worker writes it; it is read when the
//! run has ended.

use crate::profile::path::Path;
use std::array;
use std::cell::Cell;

/// Class i has the tasks of at least 2^i and less than 2^(i + 1) ticks; class 0 those of 0, too.
pub const CLASSES: usize = 64;

#[repr(align(128))] // a pair of cache lines: see `runtime::record`
pub struct Sums {
    work: Cell<u64>,
    span: Cell<u64>,
    tasks: [Cell<u64>; CLASSES],
    /// The ticks of the tasks in each class.
    ticks: [Cell<u64>; CLASSES],
    /// The worker wakes a task that joins the task that has ended just now.
    wakes_joiner: Cell<bool>,
}

// SAFETY: one thread at a time occupies the worker, and the end of the run comes after all of them.
unsafe impl Sync for Sums {}
// SAFETY: as above.
unsafe impl Send for Sums {}

impl Default for Sums {
    fn default() -> Self {
        Sums {
            work: Cell::new(0),
            span: Cell::new(0),
            tasks: array::from_fn(|_| Cell::new(0)),
            ticks: array::from_fn(|_| Cell::new(0)),
            wakes_joiner: Cell::new(false),
        }
    }
}

fn add(to: &Cell<u64>, more: u64) {
    to.set(to.get() + more);
}

impl Sums {
    /// The task of this path has ended.
    pub fn end(&self, path: &Path, now: u64) {
        path.end(now);
        add(&self.work, path.work());
        self.span.set(self.span.get().max(path.length()));
        if !path.is_void() {
            let class = path.work().max(1).ilog2() as usize;
            add(&self.tasks[class], 1);
            add(&self.ticks[class], path.work());
        }
    }

    pub fn set_wakes_joiner(&self, wakes: bool) {
        self.wakes_joiner.set(wakes);
    }

    pub fn wakes_joiner(&self) -> bool {
        self.wakes_joiner.get()
    }

    /// Adds the other sums to these.
    pub fn merge(&self, other: &Sums) {
        add(&self.work, other.work.get());
        self.span.set(self.span.get().max(other.span.get()));
        for class in 0..CLASSES {
            add(&self.tasks[class], other.tasks[class].get());
            add(&self.ticks[class], other.ticks[class].get());
        }
    }

    pub fn work(&self) -> u64 {
        self.work.get()
    }

    pub fn span(&self) -> u64 {
        self.span.get()
    }

    /// The tasks of a class, and their ticks.
    pub fn class(&self, class: usize) -> (u64, u64) {
        (self.tasks[class].get(), self.ticks[class].get())
    }
}
