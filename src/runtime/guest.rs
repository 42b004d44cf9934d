//! Guests: a thread that is not a worker runs a call of its own in a run that is held open.
//!
//! The thread takes a free guest's place of the run (`policy::guests`), occupies its record as a
//! worker's thread does, and runs the call as a task on its own stack. So the call forks into a
//! deque of its own, and the workers of the run help. Afterwards the thread gives the place back.
//!
//! # What a guest does not do
//!
//! A guest runs only tasks that are part of its call: its caller may hold a lock that another task
//! needs. Its stack cannot be left, so a task there cannot be suspended. A worker's task would
//! wait; a guest instead runs parts of the loop for which it waits (`api`), and then its thread
//! sleeps (`Policy::sleep_as_guest`), which leaves its processor to a worker. (In rayon a waiting
//! thread runs any job; a job that needs a lock of the waiting caller then deadlocks: issue 592.)
//!
//! # Life
//!
//! `come` and `go` use the run's policy, which is freed when the run has ended. Both are called
//! under the lock of a record of the run (`Worker::with_run`), which the end of the run takes
//! before it frees the policy. Between the two the place counts as active, so the run does not end.
//!
//! A thread that occupies a worker of another run, or is in a blocking section, cannot be a guest:
//! its task could continue on another thread, and the place would then have two threads.

use crate::policy::guests::Purpose;
use crate::policy::{OnStack, Place};
use crate::runtime::identity::{self, Mine};
use crate::runtime::record::{Fiber, HostStack, Run, Worker};
use crate::stats::Phase;
use crate::sys::float::FloatControl;
use crate::sys::registers;
use crate::task::Task;
use std::ptr;

/// Calls `work` as a guest of the run of `worker`, on a fiber without a task. None if the caller
/// cannot be a guest, or no place is free.
#[inline(never)] // its frame is large
pub fn visit<R>(worker: &Worker, work: impl FnOnce(Mine) -> R) -> Option<R> {
    if !may_come(worker.row().has_guests) {
        return None;
    }
    let guest = worker.with_run(|run| come(run, worker, Purpose::Work)).flatten()?;
    let float = FloatControl::get();
    let host_stack = HostStack::default();
    let fiber = Fiber::new(None);
    fiber.worker.set(guest);
    guest.occupy();
    guest.host_stack.set(&raw const host_stack);
    fiber.make_current(guest);
    guest.begin_phase(Phase::Busy);
    guest.float_control.get().set();
    // SAFETY: occupied just now.
    let result = work(unsafe { guest.owned() });
    fiber.flush();
    float.set();
    guest.begin_phase(Phase::Parked);
    guest.fiber.set(ptr::null());
    guest.vacate();
    // SAFETY: the run has not ended, since the place is active; the caller owns it as a guest.
    guest.with_run(|_| unsafe { guest.owned() }.operations().go(Purpose::Work));
    Some(result)
}

/// Like `visit`, for `work` that calls no function of the program and only adds tasks to the queue
/// of the place by `Mine::queue`. The calling thread waits for these tasks later, and runs those
/// that nobody else has begun. None also if guests have no queues. (Tasks without a wait go to the
/// injector: a flood by one thread takes 62 ns a task there and 148 here, because of the thefts.)
pub fn visit_to_add<R>(worker: &Worker, work: impl FnOnce(Mine) -> R) -> Option<R> {
    let visit = |run: &Run| {
        let guest = come(run, worker, Purpose::AddTasks)?;
        // SAFETY: the run does not end during `with_run`; the caller owns the place as a guest.
        let mine = unsafe { guest.owned() };
        let result = work(mine);
        mine.operations().go(Purpose::AddTasks);
        Some(result)
    };
    if may_come(worker.row().guests_have_queues) { worker.with_run(visit).flatten() } else { None }
}

/// The caller's place in the run of `worker`, if the caller is a guest in a blocking section. No
/// other thread takes the place.
pub fn in_section(worker: &Worker) -> Option<&Worker> {
    let fiber = identity::section_in_run_of(worker)?;
    fiber.is_of_guest().then(|| fiber.worker())
}

impl Fiber {
    /// True if a guest is on the fiber, which is its thread's own stack. The caller is on the
    /// fiber, or in the section of its task.
    pub(super) fn is_of_guest(&self) -> bool {
        self.stack().is_none() && self.worker().is_guest()
    }
}

/// True if the caller can be a guest of a run. If `has_places`, the run has places for guests.
fn may_come(has_places: bool) -> bool {
    has_places && Worker::current().is_none() && identity::innermost_section().is_none()
}

/// Takes a place of the run of `worker`. The run does not end during the call.
fn come(run: &Run, worker: &Worker, purpose: Purpose) -> Option<&'static Worker> {
    let thread = registers::thread_pointer();
    // SAFETY: the caller has the run, which has not ended.
    let index = unsafe { worker.operations_for_any() }.come(thread, purpose)?;
    Some(run.place(index))
}

impl Worker {
    /// True if this is a guest's place. The caller occupies it.
    pub fn is_guest(&self) -> bool {
        // SAFETY: the run has not ended, since the caller occupies a place of it.
        let run = unsafe { &*self.run.get() };
        (run.workers()..run.numbers()).contains(&self.index())
    }
}

impl Mine<'_> {
    /// Runs the guest's own tasks: see `Policy::run_own`.
    pub fn run_own(self, is_part: &dyn Fn(Task) -> bool) {
        // SAFETY: the calling thread is a guest on the fiber, whose row is its run's.
        unsafe { (self.row().operations.run_own)(OnStack::new(self.fiber()), is_part) };
    }

    /// Calls `sleep` for a guest: see `Policy::sleep_as_guest`.
    pub fn sleep_as_guest(self, mut sleep: impl FnMut()) {
        self.begin_phase(Phase::Parked);
        self.operations().sleep_as_guest(&mut sleep);
        self.begin_phase(Phase::Busy);
    }
}
