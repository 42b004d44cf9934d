//! The worker as a policy sees it.

use crate::policy::operations::Hosted;
use crate::policy::{Place, TICK};
use crate::runtime::identity;
use crate::runtime::record::{Run, Worker};
use crate::runtime::suspend::is_continuation;
use crate::stats::Counters;
use crate::sync::forked::Forked;
use crate::sys::atomic::Ordering;
use crate::sys::{output, symbol};
use crate::task::Task;
use rand::RngExt;
use std::ptr;

impl Place for Worker {
    #[inline]
    fn index(&self) -> usize {
        self.index.get()
    }

    #[inline]
    fn counters(&self) -> &Counters {
        &self.counters
    }

    #[inline]
    fn looked_outside(&self) {
        self.until_injector.set(TICK);
    }

    #[cold]
    fn start(&self, worker: usize) -> bool {
        // SAFETY: the run lives until the run has ended and the gates are closed; the kind starts
        // each worker at most once.
        unsafe { (*self.run.get()).call(worker) }
    }

    fn random_below(&self, n: usize) -> usize {
        debug_assert!(self.is_mine());
        // SAFETY: only the owner comes here, and the reference ends with the call.
        unsafe { &mut *self.rng.get() }.random_range(0..n)
    }

    #[inline]
    fn call(&self, task: Task) {
        #[cfg(debug_assertions)]
        let (fiber, before) = (
            self.fiber.get(), // SAFETY: a task is called by the owner.
            unsafe { self.owned() }.fiber().count_forks(0),
        );
        // SAFETY: the program promises that `f` accepts its closure and returns.
        unsafe { (task.f)(task.closure, self.handle()) };
        #[cfg(debug_assertions)]
        // SAFETY: the fiber that this is on, which stays the same.
        if unsafe { &*fiber }.count_forks(0) != before {
            output::die(format_args!(
                "sched_fork: a task has returned and did not join a task that it forked: a sched_join is missing"
            ));
        }
    }

    #[inline]
    fn is_set_aside(task: Task) -> bool {
        is_continuation(task)
    }

    #[cold]
    fn at_rest(&self) {
        // SAFETY: the run lives until the run has ended, and the run's end waits for the caller.
        unsafe { &*self.run.get() }.check_joins();
    }

    #[inline]
    fn stay(&self) {
        if self.owner.load(Ordering::Relaxed) == 0 {
            identity::check_no_section_left();
            returned_in_child();
        }
    }
}

/// A task called fork, and its copy in the child returned: its run is in the parent.
#[cold]
fn returned_in_child() -> ! {
    output::die(format_args!(
        "a task returned in a child that it made by fork; the child must end by _exit or exec"
    ))
}

impl Hosted for Worker {
    #[inline(always)]
    unsafe fn policy<P>(&self) -> &P {
        // SAFETY: passed on.
        unsafe { &*self.policy.get().cast::<P>() }
    }
}

impl Worker {
    /// A task of the caller, which occupies this place, is about to wait for a task that nobody has begun.
    pub fn note_join(&self, forked: &Forked) {
        self.unbegun_join.store(ptr::from_ref(forked).cast_mut(), Ordering::Relaxed);
    }

    /// The task that has called `note_join` goes on. The caller may be another worker of the run.
    pub fn forget_join(&self, forked: &Forked) {
        let noted = ptr::from_ref(forked).cast_mut();
        let (relaxed, none) = (Ordering::Relaxed, ptr::null_mut());
        let _ = self.unbegun_join.compare_exchange(noted, none, relaxed, relaxed);
    }

    /// All workers of the run are idle, and nothing is queued: ends the process if a task waits for one that nobody
    /// has begun.
    pub fn check_join(&self) {
        // SAFETY: the task that waits for it has not gone on, since no worker runs a task; so the descriptor is there.
        let lost = unsafe { self.unbegun_join.load(Ordering::Relaxed).as_ref() };
        if let Some(lost) = lost.filter(|lost| lost.is_lost()) {
            output::die(format_args!(
                "sched_join: a task waits for one that is in no queue: its descriptor was copied, joined before, or not forked \
                 in this run{}",
                symbol::Function(lost.function())
            ));
        }
    }
}

impl Run {
    /// See `Place::at_rest`.
    pub fn check_joins(&self) {
        self.workers.iter().for_each(|worker| worker.check_join());
    }
}
