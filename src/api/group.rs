//! Groups: any number of tasks, waited for together, and cancelled together.
//!
//! # The group
//!
//! How many tasks it has, and who waits: `sync::members`; and whether it is cancelled. Each task of a group is a
//! block (`kind::block`): the group, the function, its closure.
//!
//! Cost: that of sched_spawn_copy, and two read-modify-writes.

use crate::api::fork::misuse;
use crate::api::sync::{Go, grant, may_wait};
use crate::api::{wait_in_task, wait_outside_run};
use crate::runtime::identity::Mine;
use crate::runtime::record::Worker;
use crate::runtime::{arg_blocks, spawn_copy};
use crate::sync::members::{Members, no_group};
use crate::sync::node::Node;
use crate::sys::atomic::{AtomicUsize, Ordering};
use crate::sys::errno;
use crate::sys::unwind::{GroupTask, call_guarded};
use crate::task::{Scheduler, TaskFn};
use std::ffi::{c_int, c_void};
use std::ptr;

/// The C side's `sched_group`. All bytes zero is one without tasks.
#[repr(C)]
pub struct Group {
    members: Members,
    cancelled: AtomicUsize,
}

/// A task of a group.
#[repr(C)]
struct Member {
    group: *const Group,
    f: TaskFn,
    closure: *mut c_void,
}

/// A task of a group with a copy of its argument, which follows.
#[repr(C, align(16))]
struct Copied {
    group: *const Group,
    f: TaskFn,
}

const _: () = assert!(size_of::<Copied>() == arg_blocks::HEADER);

const CANCELLED: usize = 1;

impl Group {
    /// Adds a task; returns as `sched_spawn` does.
    ///
    /// # Safety
    /// `f` accepts `closure`; the group lives until it was waited for.
    pub unsafe fn spawn(&self, f: TaskFn, closure: *mut c_void, worker: &Worker) -> c_int {
        let member = Member { group: self, f, closure };
        self.members.enter();
        let arg = (&raw const member).cast();
        // SAFETY: the member's bytes, and a function for them.
        let outcome = unsafe { spawn_copy::spawn(run_member, arg, size_of::<Member>(), worker) };
        if outcome != 0 {
            // SAFETY: counted above.
            unsafe { self.leave(worker) };
        }
        outcome
    }

    /// As `spawn`; the task gets a pointer to a copy of the `bytes` bytes at `arg`, at most `block::MOST`.
    ///
    /// # Safety
    /// `arg` may be read, `f` accepts a pointer to a copy; the group lives until it was waited for.
    pub unsafe fn spawn_copy(
        &self,
        f: TaskFn,
        arg: *const c_void,
        bytes: usize,
        worker: &Worker,
    ) -> c_int {
        let header = Copied { group: self, f };
        self.members.enter();
        let header = (&raw const header).cast();
        // SAFETY: so many bytes each, and a function for them.
        let outcome =
            unsafe { spawn_copy::spawn_with_header(run_copied, header, arg, bytes, worker) };
        if outcome != 0 {
            // SAFETY: counted above.
            unsafe { self.leave(worker) };
        }
        outcome
    }

    pub fn cancel(&self) {
        self.cancelled.store(CANCELLED, Ordering::Release);
    }

    #[inline]
    pub fn is_cancelled(&self) -> bool {
        match self.cancelled.load(Ordering::Acquire) {
            0 => false,
            CANCELLED => true, // the Acquire: with `cancel`
            other => not_cancelled(other),
        }
    }

    /// Waits until no task of the group is left; returns as `sched_group_wait` does. If it was cancelled,
    /// that is forgotten. `worker`: any of a run that has, or had, tasks of the group; None: none is known.
    pub fn wait(&self, worker: Option<&Worker>) -> c_int {
        while !self.members.is_over() {
            self.members.check("sched_group_wait");
            if !may_wait(worker) {
                if self.members.is_over() {
                    break; // since the first look; and then the run has ended
                }
                return errno::failed(libc::EINVAL);
            }
            let fiber = worker.and_then(Worker::mine).map(Mine::fiber);
            if fiber.is_some_and(|fiber| ptr::eq(fiber.group.get().cast(), self)) {
                misuse(
                    "sched_group_wait",
                    "a task of the group waits for the group, and so for itself",
                );
            }
            let node = Node::default();
            // SAFETY: it lives until it was waited for.
            if let Some(nodes) = unsafe { self.members.link(&node) } {
                // SAFETY: taken out just now.
                unsafe { grant(nodes, || worker, Go::Soon) };
            }
            match fiber {
                Some(fiber) => wait_in_task(&node, fiber, fiber.suspends_joins()),
                None => wait_outside_run(&node),
            }
        }
        if self.is_cancelled() && self.cancelled.swap(0, Ordering::Relaxed) != 0 {
            return errno::failed(libc::ECANCELED);
        }
        0
    }

    /// A task of the group has ended; the group may be gone afterwards.
    ///
    /// # Safety
    /// It was counted in, and not out yet. `from`: a worker of the run.
    unsafe fn leave(&self, from: &Worker) {
        // SAFETY: passed on.
        if let Some(nodes) = unsafe { self.members.leave() } {
            // SAFETY: taken out just now.
            unsafe { grant(nodes, || Some(from), Go::Soon) };
        }
    }
}

#[cold]
#[inline(never)]
fn not_cancelled(flag: usize) -> ! {
    no_group("sched_group", flag)
}

/// The task of an argument block that belongs to a group.
///
/// # Safety
/// `member` is a [`Member`] whose group counts it.
unsafe extern "C" fn run_member(member: *mut c_void, s: *mut Scheduler) {
    // SAFETY: by the caller's promise.
    let Member { group, f, closure } = unsafe { member.cast::<Member>().read() };
    // SAFETY: passed on.
    unsafe { run(group, f, closure, s) };
}

/// The task of a group's block that has a copy.
///
/// # Safety
/// `copied` is a [`Copied`] whose group counts it, with the copy behind it.
unsafe extern "C" fn run_copied(copied: *mut c_void, s: *mut Scheduler) {
    // SAFETY: by the caller's promise.
    let Copied { group, f } = unsafe { copied.cast::<Copied>().read() };
    // SAFETY: passed on.
    unsafe { run(group, f, copied.byte_add(size_of::<Copied>()), s) };
}

/// # Safety
/// The group counts the task, whose function accepts the closure.
#[inline(always)]
unsafe fn run(group: *const Group, f: TaskFn, closure: *mut c_void, s: *mut Scheduler) {
    // SAFETY: the group lives as long as it counts the task.
    let group = unsafe { &*group };
    if !group.is_cancelled() {
        // SAFETY: `s` is the worker that runs the task, on this fiber, which stays the task's.
        let of = unsafe { &Worker::of(s).owned().fiber().group };
        let outer = of.replace(ptr::from_ref(group).cast());
        // SAFETY: the program promises that `f` accepts its closure and returns.
        call_guarded::<GroupTask, _>(|| unsafe { f(closure, s) });
        of.set(outer);
    }
    // SAFETY: counted in by `spawn`; the worker may be another than `s` by now.
    unsafe { group.leave(Worker::current_in_run_of(s)) };
}
