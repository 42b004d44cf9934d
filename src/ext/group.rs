//! Groups: any number of tasks, waited for together, and cancelled together.
//!
//! # The group
//!
//! ```text
//! state      2 x (tasks that have not ended), + 1 while somebody waits
//! waiter     0, or who waits (`Waiter::pack`)
//! cancelled  0 or 1
//! ```
//!
//! # Protocol
//!
//! Each task of a group is a parcel (`kind::parcel`): the group, the function, its closure. A spawn
//! adds 2 to the state before it queues the task, the task's end subtracts 2; both release and acquire.
//! If tasks are left, or nobody waits, that is the end's last access to the group. The last task of a
//! group that somebody waits for takes the name out first, and then swaps 0 for 3 at once: so
//! the group is there until then. If a task was added meanwhile, it puts the name back and goes
//! like any.
//!
//! Who waits puts its name into `waiter`, if nobody else's is there, and then sets the bit, if that
//! is not set: a bit that is set is another's, whose name is just out. So a name is only taken from
//! under its own bit, when its owner is ready to be continued.
//!
//! (The end as a mere subtraction, with a look at the bit afterwards, leaves the bit without a name where a
//! task was added: the next who waits would be continued while it is still leaving its name.)
//!
//! Cost: that of sched_spawn_copy, and two read-modify-writes.

use super::{Latch, Waiter};
use crate::base::sync::{AtomicUsize, Ordering};
use crate::base::thread;
use crate::kind::parcel;
use crate::kind::worker::Worker;
use crate::task::{Scheduler, TaskFn};
use std::ffi::{c_int, c_void};

/// The C side's `sched_group`. All bytes zero is one without tasks.
#[repr(C)]
pub struct Group {
    state: AtomicUsize,
    waiter: AtomicUsize,
    cancelled: AtomicUsize,
}

const WAITED: usize = 1;
const TASK: usize = 2;

/// A task of a group.
#[repr(C)]
struct Member {
    group: *const Group,
    f: TaskFn,
    closure: *mut c_void,
}

impl Group {
    /// Adds a task; returns as `sched_spawn` does.
    ///
    /// # Safety
    /// `f` accepts `closure`; the group lives until it was waited for.
    pub unsafe fn spawn(&self, f: TaskFn, closure: *mut c_void, worker: &Worker) -> c_int {
        let member = Member { group: self, f, closure };
        self.state.fetch_add(TASK, Ordering::Relaxed);
        let arg = (&raw const member).cast();
        // SAFETY: the member's bytes, and a function for them.
        let outcome = unsafe { parcel::spawn(run_member, arg, size_of::<Member>(), worker) };
        if outcome != 0 {
            // SAFETY: counted above.
            unsafe { self.leave(worker) };
        }
        outcome
    }

    pub fn cancel(&self) {
        self.cancelled.store(1, Ordering::Release);
    }

    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Acquire) != 0 // with `cancel`
    }

    /// Waits until no task of the group is left; returns as `sched_group_wait` does. If it was cancelled,
    /// that is forgotten.
    pub fn wait(&self, worker: &Worker) -> c_int {
        if !super::wait(self, worker) {
            return thread::failed(libc::EINVAL);
        }
        if self.is_cancelled() && self.cancelled.swap(0, Ordering::Relaxed) != 0 {
            return thread::failed(libc::ECANCELED);
        }
        0
    }

    /// A task of the group has ended; the group may be gone afterwards.
    ///
    /// # Safety
    /// It was counted in, and not out yet. `from`: a worker of the run.
    unsafe fn leave(&self, from: &Worker) {
        let word = &raw const self.state;
        let mut state = self.state.load(Ordering::Acquire); // the waiter is known
        loop {
            let last = state == TASK | WAITED;
            let waiter = if last { self.waiter.swap(0, Ordering::Relaxed) } else { 0 };
            let new = if last { 0 } else { state - TASK };
            // Release: who sees the end sees what the task wrote. Acquire: the waiter is known, and what
            // the other tasks wrote is passed on.
            match self.state.compare_exchange(state, new, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) if waiter != 0 => {
                    // SAFETY: left by `leave_word`, and now taken out.
                    return unsafe { Waiter::unpack(waiter) }.wake(word, Some(from));
                }
                Ok(_) => return,
                Err(now) => state = now,
            }
            if waiter != 0 {
                self.waiter.store(waiter, Ordering::Relaxed); // released by the exchange to come
            }
        }
    }
}

impl Latch for Group {
    fn word(&self) -> &AtomicUsize {
        &self.state
    }

    fn is_over(&self) -> bool {
        self.state.load(Ordering::Acquire) == 0 // with `leave`
    }

    fn leave_word(&self, waiter: Waiter) -> Option<usize> {
        let name = waiter.pack();
        let mine = match self.waiter.compare_exchange(0, name, Ordering::Relaxed, Ordering::Relaxed)
        {
            Ok(_) => false,
            Err(other) if other == name => true, // since before
            Err(_) => return None,
        };
        let mut state = self.state.load(Ordering::Relaxed);
        while state != 0 && (mine || state & WAITED == 0) {
            let new = state | WAITED;
            // Release: the waiter is known to `leave`.
            match self.state.compare_exchange(state, new, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return Some(new),
                Err(now) => state = now,
            }
        }
        // It is over, or another waits. Who has taken another's name out may have put it back.
        let _ = self.waiter.compare_exchange(name, 0, Ordering::Relaxed, Ordering::Relaxed);
        None
    }
}

/// The task of a group's parcel.
///
/// # Safety
/// `member` is a [`Member`] whose group counts it.
unsafe extern "C" fn run_member(member: *mut c_void, s: *mut Scheduler) {
    // SAFETY: by the caller's promise; the group lives as long as it counts the task.
    let Member { group, f, closure } = unsafe { member.cast::<Member>().read() };
    // SAFETY: as above.
    let group = unsafe { &*group };
    if !group.is_cancelled() {
        // SAFETY: the program promises that `f` accepts its closure and returns.
        unsafe { f(closure, s) };
    }
    // SAFETY: counted in by `spawn`; the worker may be another than `s` by now.
    unsafe { group.leave(Worker::now(s)) };
}
