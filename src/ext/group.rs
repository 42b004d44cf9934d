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
//! adds 2 to the state before it queues the task, the task's end subtracts 2, by read-modify-writes
//! that release and acquire. If nobody waits, that is the end's last access to the group.
//! If somebody does and it was the last task, it takes the name out, and then swaps 1 for 0: only
//! then is the wait over. (If there are more tasks by then, the last of those will.) So `waiter` is read
//! while the group is still there. Who waits puts its name into `waiter`, if nobody else's is there,
//! before it sets the bit.
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
        // Release: who sees the end sees what the task wrote. Acquire: the waiter is known, and what
        // the other tasks wrote is passed on.
        if self.state.fetch_sub(TASK, Ordering::AcqRel) != TASK | WAITED {
            return;
        }
        let word = &raw const self.state;
        let waiter = self.waiter.swap(0, Ordering::Relaxed);
        // If a task was added meanwhile, the waiter is woken for nothing, and leaves word again.
        let _ = self.state.compare_exchange(WAITED, 0, Ordering::AcqRel, Ordering::Relaxed);
        if waiter != 0 {
            // SAFETY: left by `leave_word`, and now taken out.
            unsafe { Waiter::unpack(waiter) }.wake(word, Some(from));
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
        match self.waiter.compare_exchange(0, name, Ordering::Relaxed, Ordering::Relaxed) {
            Err(other) if other != name => return None,
            _ => {}
        }
        let mut state = self.state.load(Ordering::Relaxed);
        while state != 0 {
            let new = state | WAITED;
            // Release: the waiter is known to `leave`.
            match self.state.compare_exchange(state, new, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return Some(new),
                Err(now) => state = now,
            }
        }
        self.waiter.store(0, Ordering::Relaxed);
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
