//! A worker's sums. Only the thread that occupies the worker writes them; they are read after the
//! run.

use crate::profile::context::Context;
use crate::profile::length::Length;
use crate::profile::path::Path;
use std::array;
use std::cell::{Cell, RefCell};

/// Class i has the tasks of at least 2^i and less than 2^(i + 1) ticks; class 0 also has the tasks
/// of 0 ticks.
pub const CLASSES: usize = 64;

#[repr(align(128))] // a pair of cache lines: see `runtime::record`
pub struct Sums {
    work: Cell<u64>,
    /// The longest path to the end of a task.
    span: Length,
    /// The sums of the contexts, indexed by their ids, without the sums in `of_recent`.
    contexts: RefCell<Vec<OfContext>>,
    /// The context of the task that has ended last, and the sums of this context since it became
    /// the recent one. (A look into the table for each task takes three times as long.)
    recent: Cell<usize>,
    of_recent: Cell<OfContext>,
    tasks: [Cell<u64>; CLASSES],
    ticks: [Cell<u64>; CLASSES],
    /// The work of the task that has ended last. It is not in a class yet: the next task's end adds
    /// it. (Its class is an address, for which the processor would wait until it knows the time:
    /// that takes 5 ns.) None means that no task has ended.
    last: Cell<Option<u64>>,
    /// The worker wakes a task that joins the task that has ended just now.
    wakes_joiner: Cell<bool>,
}

/// The totals of the tasks of a context.
#[derive(Clone, Copy, Default)]
pub struct OfContext {
    pub tasks: u64,
    /// In ticks.
    pub work: u64,
    /// The number of ticks that tasks have waited for mutexes.
    pub waits: u64,
}

impl OfContext {
    pub fn add(&mut self, other: OfContext) {
        self.tasks += other.tasks;
        self.work += other.work;
        self.waits += other.waits;
    }
}

// SAFETY: one thread at a time occupies the worker, and the end of the run comes after all of them.
unsafe impl Sync for Sums {}
// SAFETY: as above.
unsafe impl Send for Sums {}

impl Default for Sums {
    fn default() -> Self {
        Sums {
            work: Cell::new(0),
            span: Length::default(),
            contexts: RefCell::new(Vec::new()),
            recent: Cell::new(0),
            of_recent: Cell::default(),
            tasks: array::from_fn(|_| Cell::new(0)),
            ticks: array::from_fn(|_| Cell::new(0)),
            last: Cell::new(None),
            wakes_joiner: Cell::new(false),
        }
    }
}

fn class_of(work: u64) -> usize {
    work.max(1).ilog2() as usize
}

fn add(to: &Cell<u64>, more: u64) {
    to.set(to.get() + more);
}

impl Sums {
    /// Called when the task of this path has ended.
    #[inline]
    pub fn end(&self, path: &Path, now: u64) {
        path.stop(now);
        add(&self.work, path.work());
        self.span.become_longer(path.length(), 0);
        let tasks = u64::from(!path.is_void());
        self.add_to(path, OfContext { tasks, work: path.work(), waits: 0 });
        if !path.is_void() {
            let last = self.last.replace(Some(path.work()));
            if let Some(work) = last {
                add(&self.tasks[class_of(work)], 1);
                add(&self.ticks[class_of(work)], work);
            }
        }
    }

    pub fn set_wakes_joiner(&self, wakes: bool) {
        self.wakes_joiner.set(wakes);
    }

    pub fn wakes_joiner(&self) -> bool {
        self.wakes_joiner.get()
    }

    pub fn merge(&self, other: &Sums) {
        add(&self.work, other.work.get());
        self.span.become_longer(&other.span, 0);
        let contexts = other.contexts.borrow();
        contexts.iter().enumerate().for_each(|(id, of)| self.add_to_context(id, *of));
        self.add_to_context(other.recent.get(), other.of_recent.get());
        for class in 0..CLASSES {
            let (tasks, ticks) = other.class(class);
            add(&self.tasks[class], tasks);
            add(&self.ticks[class], ticks);
        }
    }

    pub fn work(&self) -> u64 {
        self.work.get()
    }

    pub fn span(&self) -> &Length {
        &self.span
    }

    pub fn context(&self, id: usize) -> OfContext {
        let mut of = self.contexts.borrow().get(id).copied().unwrap_or_default();
        if id == self.recent.get() {
            of.add(self.of_recent.get());
        }
        of
    }

    /// Adds this many ticks that the task of this path has waited for a mutex.
    pub fn add_wait_for_mutex(&self, path: &Path, ticks: u64) {
        self.add_to(path, OfContext { waits: ticks, ..OfContext::default() });
    }

    #[inline]
    fn add_to(&self, path: &Path, more: OfContext) {
        let Some(&Context { id, .. }) = path.context() else { return };
        if id != self.recent.get() {
            self.leave_recent(id);
        }
        let mut of = self.of_recent.get();
        of.add(more);
        self.of_recent.set(of);
    }

    /// Makes this context the recent one.
    #[inline(never)]
    fn leave_recent(&self, id: usize) {
        self.add_to_context(self.recent.replace(id), self.of_recent.take());
    }

    /// If there is no memory for the context, its sums are lost.
    fn add_to_context(&self, id: usize, this: OfContext) {
        let mut contexts = self.contexts.borrow_mut();
        let more = (id + 1).saturating_sub(contexts.len());
        if more > 0 && contexts.try_reserve(more).is_ok() {
            contexts.resize(id + 1, OfContext::default()); // within the capacity
        }
        if let Some(of) = contexts.get_mut(id) {
            of.add(this);
        }
    }

    pub fn class(&self, class: usize) -> (u64, u64) {
        let last = self.last.get().filter(|work| class_of(*work) == class);
        let tasks = self.tasks[class].get() + u64::from(last.is_some());
        (tasks, self.ticks[class].get() + last.unwrap_or(0))
    }
}
