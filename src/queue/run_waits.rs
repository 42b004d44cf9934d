//! The tasks of the process that wait for a whole run: for its end (`sched_init` in a task,
//! `sched_pool_destroy`), or for a rest of it (`sched_pool_run`, `sched_pool_wait`). Such a task
//! keeps its thread. The list finds a *circle*: runs, each with a task that waits for the next run.
//! The call of a guest (`policy::guests`) counts as a task of its run, which neither rests nor ends
//! before the call does.
//!
//! # States
//!
//! ```text
//! not in the list   the task does not wait
//! in the list       until its thread has returned from the wait
//!   pending         the run has not ended, or has not rested since the wait began
//!   over            the thread is about to leave the list
//! ```
//!
//! # Protocol
//!
//! A task of run C is about to wait for run A. Under the lock of the list, either it finds that the
//! wait would never end, and is refused; or it enters its wait into the list. It finds the runs
//! that are *kept*, step by step: C is kept, since the caller is a task of C that has not ended. If
//! a wait for a kept run is pending, the waiting task's run is also kept. If A is kept, there is a
//! circle.
//!
//! # Proof
//!
//! *No wait is refused that could end.* Claim: each kept run has a task that does not end before
//! the caller's wait ends, so the run neither rests nor ends before that. By induction: for C, the
//! task is the caller. Suppose that the claim holds for K, and that the search then sees a task T
//! whose wait for K is pending. This wait ends only when K rests or ends, so not before the
//! caller's wait. So the claim holds for T's run, by T. Therefore, if A is kept, the caller would
//! wait for a rest of A that comes only after the caller's wait.
//!
//! The order of the steps matters. Suppose that the search looked at a wait for K before it knew
//! that K is kept. Then K could have rested in between, before the task that keeps K came.
//!
//! *Each circle is found.* The waits of a circle are entered one after the other, under the lock.
//! The one that is entered last finds all others in the list. They would never end, so none of them
//! is taken for a finished wait.
//!
//! # The bad interleavings
//!
//! *The wait that is over.* A task of A waits for C. C rests, but the thread has not woken up, and
//! its wait is still in the list. Another task comes to C, and waits for A. It must not be refused:
//! the wait for C is over. So [`RestAwaited::is_over`] tells which waits are over. It is exact
//! here: the run K of the induction has a task that the caller has seen, or that is the caller.
//! That task came in after every earlier rest (`queue::run_gate`).
//!
//! *The wait that has not begun.* `sched_pool_run` enters its wait into the list, adds a task, and
//! then waits for a rest that comes after the task. A rest before the task does not end the wait.
//! So the `RestAwaited` begins after the task was added; until then the wait counts as pending. It
//! begins under the lock of the list: otherwise an observer could miss the beginning and a rest
//! after it, and take a finished wait for a pending one.
//!
//! *Two at once.* Two tasks are about to wait for each other's run. If each entered its wait before
//! it searched, both would be refused. Under one lock the first one finds no circle, and waits.
//!
//! # What is not in the list
//!
//! A thread that is not in a task may wait for a run, but no run waits for that thread. A circle
//! with other waits (for a mutex, a group, a semaphore) is not certain when it closes, since any
//! task may end such a wait. `inspect::deadlock` finds that circle once no task can continue.

use crate::lock::mutex::Mutex;
use crate::queue::run_gate::RestAwaited;
use std::cell::Cell;
use std::mem::offset_of;
use std::ptr;

/// A waiting task and its run, as numbers and addresses that are only compared here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiter {
    pub run: usize,
    /// The place that its thread occupies, a worker's or a guest's; 0: it is in a blocking section.
    pub worker: usize,
    pub fiber: usize,
}

/// The moment that the task waits for.
#[derive(Clone, Copy)]
pub enum Until<'a> {
    End,
    Rest(&'a RestAwaited<'a>),
}

pub struct RunWait<'a> {
    pub waiter: Waiter,
    pub run: usize,
    pub until: Until<'a>,
    /// The next wait of the list. Used under the lock of the list, like `keeps`.
    next: Cell<*const RunWait<'static>>,
    /// True if the waiter's run is kept.
    keeps: Cell<bool>,
}

impl RunWait<'_> {
    pub const FOR_DEBUGGER: [(&'static str, usize); 3] = [
        ("run_wait.next", offset_of!(RunWait, next)),
        ("run_wait.fiber", offset_of!(RunWait, waiter.fiber)),
        ("run_wait.run", offset_of!(RunWait, run)),
    ];
}

/// The wait would never end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Circle;

impl<'a> RunWait<'a> {
    pub fn new(waiter: Waiter, run: usize, until: Until<'a>) -> Self {
        RunWait { waiter, run, until, next: Cell::new(ptr::null()), keeps: Cell::new(false) }
    }

    /// True if the wait is pending. The caller knows a task of the run that does not end during the
    /// call.
    pub fn goes_on(&self) -> bool {
        match self.until {
            Until::End => true, // a run with a task has not ended
            Until::Rest(rest) => !rest.is_over(),
        }
    }
}

/// All waits. They lie on the stacks of their threads.
pub struct RunWaits(Mutex<List>);

struct List(*const RunWait<'static>);

// SAFETY: a wait in the list is used under the lock, and stays where it is until it is taken out.
unsafe impl Send for List {}

impl List {
    fn iter(&self) -> impl Iterator<Item = &RunWait<'static>> {
        // SAFETY: a wait in the list lives until it is taken out, under the lock.
        let get = |wait: *const RunWait<'static>| unsafe { wait.as_ref() };
        std::iter::successors(get(self.0), move |wait| get(wait.next.get()))
    }

    /// True if the wait closes a circle.
    fn has_circle_with(&self, wait: &RunWait) -> bool {
        self.iter().for_each(|other| other.keeps.set(false));
        let is_kept = |run: usize| {
            let kept = |other: &RunWait| other.keeps.get() && other.waiter.run == run;
            run == wait.waiter.run || self.iter().any(kept)
        };
        while !is_kept(wait.run) {
            let mut others = self.iter().filter(|other| !other.keeps.get());
            let Some(next) = others.find(|other| is_kept(other.run) && other.goes_on()) else {
                return false;
            };
            next.keeps.set(true);
        }
        true
    }

    fn remove(&mut self, wait: *const RunWait<'static>) {
        // SAFETY: the wait is the caller's.
        let next = unsafe { (*wait).next.get() };
        if self.0 == wait {
            self.0 = next;
        } else if let Some(before) = self.iter().find(|before| before.next.get() == wait) {
            before.next.set(next);
        } // else this is the child of a fork, and the list was emptied
    }
}

impl RunWaits {
    #[allow(clippy::new_without_default, reason = "one constructor is enough")]
    pub const fn new() -> Self {
        RunWaits(Mutex::new(List(ptr::null())))
    }

    /// The address of the first wait, for a debugger.
    pub const fn first(&self) -> *const () {
        (&raw const self.0).wrapping_byte_add(Mutex::<List>::VALUE).cast()
    }

    /// Calls `work`, which waits, with the wait in the list. Fails if the wait would never end.
    pub fn during<R>(&self, wait: &RunWait, work: impl FnOnce() -> R) -> Result<R, Circle> {
        let entry = ptr::from_ref(wait).cast::<RunWait<'static>>();
        self.0.with(|list| {
            if list.has_circle_with(wait) {
                return Err(Circle);
            }
            wait.next.set(list.0);
            list.0 = entry;
            Ok(())
        })?;
        let result = work();
        self.0.with(|list| list.remove(entry));
        Ok(result)
    }

    /// Begins the wait for `rest`, which belongs to a wait in the list.
    pub fn begin(&self, rest: &RestAwaited) {
        self.0.with(|_| rest.begin());
    }

    /// Calls `look` with each wait, under the lock.
    pub fn each(&self, look: &mut dyn FnMut(&RunWait)) {
        self.0.with(|list| list.iter().for_each(look));
    }

    /// Empties the list in the child of a fork, where the waiting threads do not exist.
    ///
    /// # Safety
    /// No other thread of this process uses the list.
    pub unsafe fn forget(&self) {
        // SAFETY: no other thread uses the list.
        unsafe { self.0.reset(List(ptr::null())) };
    }
}
