//! Groups: sets of tasks that a program waits for together and can cancel together.
//!
//! The state of a group is the number of its tasks, the nodes of its waiters (both in
//! `sync::members`), and whether the group is cancelled (`api::cancel`). Each task of a group has
//! an argument block (`runtime::arg_blocks`), which holds the group, the function and the closure.
//!
//! A task of a group costs two atomic read-modify-writes more than one of sched_spawn_copy. The
//! cache line of the count moves to the processor that changes it: in a group of 15 tasks and 5 µs
//! the two workers spend a fifth of their time on the count. And the waiter is suspended: it
//! continues 0.6 µs after the last task has ended on its worker, and 1.4 µs after a last task on
//! another one, which then resumes the waiter. A join continues after 0.3 to 0.5 µs.
//!
//! Rejected: a waiter that first runs the group's tasks in its worker's queue on its own stack, as
//! a join does. With two workers a group of 15 tasks of 0.3 µs then took 7.1 µs instead of 7.9. But
//! if one of these tasks waits, the message about a deadlock does not list the waiter below it. If
//! the group's memory is overwritten, the waiter may not notice it. And a task that forever spawns
//! into a group and waits for the group never returns to the worker's loop, which looks at the
//! injector: the tasks there starve (`c_tests/groups.c`).

pub use crate::api::cancel::Group;

use crate::api::cancel::group_of;
use crate::api::fork::misuse;
use crate::api::nodes::{WakeOrder, grant, may_wait};
use crate::api::timed::{self, Deadline, End};
use crate::api::wait::Wait;
use crate::runtime::identity::Mine;
use crate::runtime::record::Worker;
use crate::runtime::wait_note::{Object, WaitsFor};
use crate::runtime::{arg_blocks, guest, profiled, spawn_copy};
use crate::sync::node::Node;
use crate::sys::errno::Errno;
use crate::sys::memory::copy_few;
use crate::sys::unwind::{GroupTask, call_guarded};
use crate::sys::{detector, errno};
use crate::task::{Level, Scheduler, Task, TaskFn};
use std::ffi::{c_int, c_void};
use std::ptr;

/// The argument of a group's task.
#[repr(C)]
struct Member {
    group: *const Group,
    f: TaskFn,
    closure: *mut c_void,
}

/// The argument of a task with a copy: this header, and behind it the program's argument.
#[repr(C, align(16))]
struct Copied {
    group: *const Group,
    f: TaskFn,
}

const _: () = assert!(size_of::<Copied>() == arg_blocks::HEADER);

impl Group {
    /// Adds a task. Returns what `sched_spawn` returns.
    ///
    /// # Safety
    /// `f` accepts `closure`; the group lives until its tasks have been waited for.
    pub unsafe fn spawn(&self, f: TaskFn, closure: *mut c_void, worker: &Worker) -> c_int {
        let fill = self.fill_member(f, closure);
        // SAFETY: `run_member` accepts a `Member`.
        unsafe { self.spawn_filled(run_member, size_of::<Member>(), fill, worker) }
    }

    /// Like `spawn`, for a task with a level: see `Worker::spawn_at`.
    ///
    /// # Safety
    /// The contract of `spawn`.
    pub unsafe fn spawn_at(
        &self,
        level: Level,
        f: TaskFn,
        closure: *mut c_void,
        worker: &Worker,
    ) -> c_int {
        let (fill, bytes) = (self.fill_member(f, closure), size_of::<Member>());
        // SAFETY: `run_member` accepts a `Member`.
        self.counted(worker, || unsafe {
            spawn_copy::spawn_at(level, run_member, bytes, fill, worker)
        })
    }

    /// Like `spawn`, but the task gets a pointer to a copy of the `bytes` bytes at `arg`, at most
    /// `arg_blocks::MAX_ARG` of them.
    ///
    /// # Safety
    /// `arg` may be read, `f` accepts a pointer to a copy, and the group lives as in `spawn`.
    pub unsafe fn spawn_copy(
        &self,
        f: TaskFn,
        arg: *const c_void,
        bytes: usize,
        worker: &Worker,
    ) -> c_int {
        // SAFETY: there is room for both, and `arg` may be read.
        let fill = |place: *mut u8| unsafe {
            place.cast::<Copied>().write(Copied { group: self, f });
            copy_few(arg.cast(), place.add(size_of::<Copied>()), bytes);
        };
        // SAFETY: `run_copied` accepts a `Copied` with the copy of the argument behind it.
        unsafe { self.spawn_filled(run_copied, size_of::<Copied>() + bytes, fill, worker) }
    }

    /// Writes the argument of a task of the group.
    fn fill_member(&self, f: TaskFn, closure: *mut c_void) -> impl Fn(*mut u8) {
        // SAFETY: `spawn_copy` passes a place of a `Member`'s size, aligned for any type.
        move |place| unsafe { place.cast::<Member>().write(Member { group: self, f, closure }) }
    }

    /// # Safety
    /// The contract of `spawn`; `f` accepts a pointer to the `bytes` bytes that `fill` writes.
    #[inline]
    unsafe fn spawn_filled(
        &self,
        f: TaskFn,
        bytes: usize,
        fill: impl Fn(*mut u8),
        worker: &Worker,
    ) -> c_int {
        self.counted(worker, || {
            // SAFETY: `f` accepts a pointer to the bytes that `fill` writes.
            let queue = |guest: Mine| unsafe { spawn_copy::queue(f, bytes, &fill, guest) };
            let added =
                if worker.mine().is_none() { guest::visit_to_add(worker, queue) } else { None };
            // SAFETY: `f` accepts a pointer to the bytes that `fill` writes.
            added.unwrap_or_else(|| unsafe { spawn_copy::spawn_filled(f, bytes, fill, worker) })
        })
    }

    /// Calls `spawn` for a task that the group counts, unless the task is refused.
    #[inline]
    fn counted(&self, worker: &Worker, spawn: impl FnOnce() -> c_int) -> c_int {
        self.members.enter();
        let outcome = spawn();
        if outcome != 0 {
            // SAFETY: the task was counted above, and will not run.
            unsafe { self.leave(Some(worker)) };
        }
        outcome
    }

    /// Waits until no task of the group is left, and ends a cancellation. Returns what
    /// `sched_group_wait` returns. `worker` is a worker of a run that has, or had, tasks of the
    /// group; None: none is known.
    pub fn wait(&self, worker: Option<&Worker>) -> c_int {
        self.wait_by(worker, |group| group.wait_with(worker))
    }

    /// Like `wait`, but no longer than until the deadline. Returns what `sched_group_wait_until`
    /// returns.
    pub fn wait_until(&self, deadline: i64, worker: Option<&Worker>) -> c_int {
        let what = self.as_awaited();
        self.wait_by(worker, |group| group.wait_for_tasks_until(deadline, worker, what))
    }

    fn wait_by(&self, worker: Option<&Worker>, wait: impl FnOnce(&Group) -> c_int) -> c_int {
        if detector::taking(self, wait) != 0 {
            return -1;
        }
        profiled::note_group_over(worker, ptr::from_ref(self).addr());
        self.end_cancellation()
    }

    /// Waits for the end of the event whose waiters this group has; `what` is the event. A wait
    /// with a deadline, also `FOREVER`, ends when the caller's group is cancelled. Returns what
    /// `sched_event_wait_until` returns.
    pub(super) fn wait_for_event(
        &self,
        deadline: Option<i64>,
        worker: Option<&Worker>,
        what: WaitsFor,
    ) -> c_int {
        detector::taking(self, |group| match deadline {
            None => group.wait_for_tasks(worker, what),
            Some(deadline) => group.wait_for_tasks_until(deadline, worker, what),
        })
    }

    /// Like `wait_for_tasks`, but a caller from outside the run becomes a guest (`runtime::guest`),
    /// and a guest first runs the tasks of the group that are in its own queue.
    fn wait_with(&self, worker: Option<&Worker>) -> c_int {
        let as_guest = |guest: Mine| self.wait_as_guest(guest, &|task| self.has(task));
        let waited =
            worker.filter(|_| !self.members.is_over()).and_then(|worker| match worker.mine() {
                None => guest::visit(worker, as_guest),
                Some(mine) => mine.is_guest().then(|| as_guest(mine)),
            });
        waited.unwrap_or_else(|| self.wait_for_tasks(worker, self.as_awaited()))
    }

    /// Waits as a guest, which first runs the tasks of its own queue that `is_part` accepts. The
    /// guest's task waits for the group meanwhile, so a cancellation of that task's group reaches
    /// them.
    pub(super) fn wait_as_guest(&self, guest: Mine, is_part: &dyn Fn(Task) -> bool) -> c_int {
        self.awaited_by(timed::group_of_caller(), || guest.run_own(is_part));
        self.wait_for_tasks(Some(&guest), self.as_awaited())
    }

    /// True if this queued task is one of the group's.
    fn has(&self, task: Task) -> bool {
        spawn_copy::content_of(task).is_some_and(|(f, argument)| {
            function_of(f, argument).is_some() && {
                // SAFETY: the argument of a group's task begins with the address of the group.
                let of = unsafe { *argument.cast::<*const Group>() };
                ptr::eq(of, self)
            }
        })
    }

    /// `groups` are the group of the caller's task, and the group of the task below it in whose run
    /// the caller waits.
    fn is_one_of(&self, groups: [Option<&Group>; 2]) -> bool {
        groups.into_iter().flatten().any(|group| ptr::eq(group, self))
    }

    /// Like `wait`, but does not end a cancellation. `what` is told to observers.
    pub(super) fn wait_for_tasks(&self, worker: Option<&Worker>, what: WaitsFor) -> c_int {
        while !self.members.is_over() {
            self.members.check("sched_group_wait");
            if !may_wait(worker) {
                if self.members.is_over() {
                    break; // the group and the run have ended since the first look
                }
                return errno::failed(libc::EINVAL);
            }
            let fiber = worker.and_then(Worker::mine).map(Mine::fiber);
            let awaiter = timed::group_of_caller();
            if self.is_one_of([awaiter, fiber.and_then(group_of)]) {
                misuse(
                    "sched_group_wait",
                    "a task of the group waits for the group, and so for itself",
                );
            }
            let node = Node::default();
            detector::own(&node);
            // SAFETY: the node lives until it is granted: the wait below lasts until then.
            if let Some(nodes) = unsafe { self.members.link(&node) } {
                // SAFETY: the nodes were taken out of the group just now.
                unsafe { grant(nodes, || worker, WakeOrder::Ahead) };
            }
            let wait = Wait::new(&node, what);
            self.awaited_by(awaiter, || match fiber {
                Some(fiber) => wait.for_tasks(fiber),
                None => wait.outside_run(),
            });
        }
        0
    }

    /// Like `wait_for_tasks`, until the deadline.
    fn wait_for_tasks_until(
        &self,
        deadline: i64,
        worker: Option<&Worker>,
        what: WaitsFor,
    ) -> c_int {
        while !self.members.is_over() {
            self.members.check("sched_group_wait_until");
            let deadline = match Deadline::new(deadline, worker) {
                Ok(deadline) => deadline,
                Err(_) if self.members.is_over() => break, // it has ended since the first look
                Err(Errno(error)) => return errno::failed(error),
            };
            let awaiter = timed::group_of_caller();
            if self.is_one_of([awaiter, deadline.group()]) {
                misuse(
                    "sched_group_wait_until",
                    "a task of the group waits for the group, and so for itself",
                );
            }
            let node = Node::default();
            detector::own(&node);
            // SAFETY: the nodes were taken out of the group just now.
            let grant = |nodes| unsafe { grant(nodes, || worker, WakeOrder::Ahead) };
            // SAFETY: the node lives until it is granted, or taken out below.
            unsafe { self.members.link(&node) }.into_iter().for_each(grant);
            let end = self.awaited_by(awaiter, || deadline.wait(&node, Some(what)));
            if end != End::Granted {
                // SAFETY: the node was linked above.
                if unsafe { self.members.leave_line(&node, grant) } {
                    return errno::failed(end.error());
                }
            }
        }
        0
    }

    pub(super) fn as_awaited(&self) -> WaitsFor {
        WaitsFor::new(Object::Group, &raw const self.members)
    }

    /// Removes a task from the group, which may then be freed. `from` is a worker of the caller's
    /// run, if the caller has a run.
    ///
    /// # Safety
    /// The group counts the task.
    #[inline]
    pub(super) unsafe fn leave(&self, from: Option<&Worker>) {
        // SAFETY: the group counts the task.
        if let Some(nodes) = unsafe { self.members.leave() } {
            // SAFETY: the nodes were taken out of the group just now.
            unsafe { grant(nodes, || from, WakeOrder::Ahead) };
        }
    }

    /// Runs a task of the group: `call` calls its function, unless the group is cancelled. Then
    /// calls `end`, and removes the task from the group.
    ///
    /// # Safety
    /// The group counts the task, which was given to the run of `s`.
    #[inline(always)]
    pub(super) unsafe fn run(&self, s: *mut Scheduler, call: impl FnOnce(), end: impl FnOnce()) {
        if self.is_cancelled() {
            // SAFETY: the group counts the task, which was given to the run of `s`.
            return unsafe { self.pass_over(s, end) };
        }
        // SAFETY: `s` is the worker that runs the task on this fiber, and the task keeps the fiber.
        let group_of_fiber = unsafe { &Worker::of(s).owned().fiber().group };
        let outer_group = group_of_fiber.replace(ptr::from_ref(self).cast());
        call();
        group_of_fiber.set(outer_group);
        end();
        // SAFETY: the task was given to the run of `s`. The caller's worker may differ from `s`
        // now.
        let worker = unsafe { Worker::current_in_run_of(s) };
        profiled::note_group_end(worker, self);
        // SAFETY: the group counts the task until now.
        unsafe { self.leave(Some(worker)) };
    }

    /// Like `run`, for a task whose function is not called.
    ///
    /// # Safety
    /// The contract of `run`.
    #[cold]
    #[inline(never)]
    unsafe fn pass_over(&self, s: *mut Scheduler, end: impl FnOnce()) {
        end();
        // SAFETY: as in `run`.
        let worker = unsafe { Worker::current_in_run_of(s) };
        profiled::note_not_called(worker);
        profiled::note_group_end(worker, self);
        // SAFETY: the group counts the task until now.
        unsafe { self.leave(Some(worker)) };
    }
}

/// The program's function of a task with the function `f`. None means that the task is not a
/// group's.
pub fn function_of(f: TaskFn, argument: *mut c_void) -> Option<usize> {
    // SAFETY: `run_member` has a `Member` as its argument, and `run_copied` a `Copied`.
    unsafe {
        if ptr::fn_addr_eq(f, run_member as TaskFn) {
            Some((*argument.cast::<Member>()).f as usize)
        } else if ptr::fn_addr_eq(f, run_copied as TaskFn) {
            Some((*argument.cast::<Copied>()).f as usize)
        } else {
            None
        }
    }
}

/// # Safety
/// `member` is a [`Member`] whose group counts the task.
unsafe extern "C" fn run_member(member: *mut c_void, s: *mut Scheduler) {
    // SAFETY: `member` is a `Member`.
    let Member { group, f, closure } = unsafe { member.cast::<Member>().read() };
    // SAFETY: the group counts the task, whose function accepts the closure.
    unsafe { run(group, f, closure, s) };
}

/// # Safety
/// `copied` is a [`Copied`] whose group counts the task, with the copy of the argument behind it.
unsafe extern "C" fn run_copied(copied: *mut c_void, s: *mut Scheduler) {
    // SAFETY: `copied` is a `Copied`.
    let Copied { group, f } = unsafe { copied.cast::<Copied>().read() };
    // SAFETY: the group counts the task, whose function accepts the copy.
    unsafe { run(group, f, copied.byte_add(size_of::<Copied>()), s) };
}

/// Runs a task of the group.
///
/// # Safety
/// The group counts the task, whose function accepts the closure.
#[inline(always)]
unsafe fn run(group: *const Group, f: TaskFn, closure: *mut c_void, s: *mut Scheduler) {
    // SAFETY: the group lives as long as it counts the task. The program promises that `f` accepts
    // its closure and returns.
    unsafe { (*group).run(s, || call_guarded::<GroupTask, _>(|| f(closure, s)), || ()) };
}
