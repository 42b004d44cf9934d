//! Suspends tasks and resumes them: [`host`](super::host) tells how. This is one file because the
//! ways to leave a stack and to come back to it are one protocol.
//!
//! The `publish` of these functions gets the task that resumes the caller, and makes it known to
//! whoever will queue it. It returns false if nothing is left to wait for.
//!
//! # Orderings
//!
//! This file has no atomic operation: a queue or a waiting object orders each step.
//!
//! | step | ordering | partner |
//! | --- | --- | --- |
//! | `publish`, on another stack | Release of `leave_name` or the node's link | grant: Acquire |
//! | the waker queues the task | the push of the queue | whoever takes the task |
//! | `queue_soon`, `requeue` | the push of the queue | whoever takes the task |
//! | `hold`, before a task leaves | `Quiescence::enter`: AcqRel | `is_full`: no end before it |
//!
//! So the thread that resumes the task sees its whole context, and the waker's earlier writes.

use crate::fiber::sanitizers::SanitizerState;
use crate::fiber::switch::Context;
use crate::fiber::{exceptions, listeners, switch};
use crate::policy::{LookFirst, LoopStack, Place, Turn, UNAWAITED};
use crate::runtime::continuation::{
    Continuation, RETIRED, Unpublished, detach_spawner, finish_switch, spawner_fiber,
};
use crate::runtime::host::{FiberOrigin, FiberStart, run_loop};
use crate::runtime::identity::Mine;
use crate::runtime::record::{Fiber, HostStack, Worker};
use crate::runtime::steps::tell_resumable;
use crate::sys::memory::NoMemory;
use crate::sys::{detector, time};
use crate::task::{Scheduler, Task, TaskFn};
use std::ffi::c_void;
use std::ptr;

/// Suspends the calling task; its worker runs other tasks. `publish` is called with the task that
/// resumes the caller; if `publish` returns false, the caller continues soon. This function returns
/// when the caller is resumed, perhaps on another thread. On an error the caller has not waited: it
/// cannot be suspended, or there is no stack for the worker.
///
/// # Safety
/// The caller is a task on the fiber. Once `publish` has made the task known, it touches nothing of
/// the caller's stack and returns true.
#[inline]
pub unsafe fn suspend(fiber: &Fiber, publish: impl FnMut(Task) -> bool) -> Result<(), NoMemory> {
    if !fiber.prepare_to_leave() {
        return Err(NoMemory);
    }
    let next = fiber.next_in_line(LookFirst::AtHome);
    // SAFETY: the caller is a task on the fiber; `prepare_to_leave` has said that it can be left.
    unsafe { leave_fiber(fiber, next, publish, leave_for_new_loop_or_put_back) }
}

/// Suspends the calling task at the end of its blocking section. The task joins the end of the line
/// of such tasks (`queue::ended`), and its worker runs `next`. Returns when the task is resumed.
///
/// # Safety
/// The caller is a task on the fiber, which can be left.
pub unsafe fn stand_in_line(fiber: &Fiber, next: Task) {
    let worker = fiber.worker();
    let publish = move |task| {
        worker.requeue_ended(task);
        true
    };
    // SAFETY: the caller is a task on the fiber, which can be left.
    let left = unsafe { leave_fiber(fiber, Some(next), publish, leave_for_new_loop_or_put_back) };
    let _ = left; // without a stack the caller continues at once
}

/// Like `leave_for_new_loop`, but queues `next` again if there is no stack.
///
/// # Safety
/// The contract of `leave_for_new_loop`.
#[cold]
#[inline(never)]
unsafe fn leave_for_new_loop_or_put_back(
    fiber: &Fiber,
    next: Option<Task>,
    publish: &mut dyn FnMut(Task) -> bool,
) -> Result<(), NoMemory> {
    // SAFETY: the caller is a task on the fiber, which can be left.
    unsafe { leave_for_new_loop(fiber, next, publish) }.inspect_err(|NoMemory| {
        // If no queue has room for `next`, that task runs on top of the caller's.
        // SAFETY: the caller is on the fiber.
        let mine = unsafe { fiber.mine() };
        next.filter(|&task| mine.put_back(task).is_err())
            .inspect(|&task| fiber.work_on_top(|| fiber.run(task)));
    })
}

/// A function by which a worker leaves a fiber when it has no suspended task to resume.
type ToLoop = unsafe fn(&Fiber, Option<Task>, &mut dyn FnMut(Task) -> bool) -> Result<(), NoMemory>;

/// The rest of `suspend`. The worker runs the task `next` first: it switches to a continuation, and
/// otherwise calls `to_loop`, which is `leave_for_new_loop` or calls it.
///
/// # Safety
/// The contract of `suspend`; the fiber can be left and has no child fiber.
#[inline]
pub(super) unsafe fn leave_fiber(
    fiber: &Fiber,
    next: Option<Task>,
    publish: impl FnMut(Task) -> bool,
    to_loop: ToLoop,
) -> Result<(), NoMemory> {
    let mut left = HandedOver::new(fiber, publish);
    // SAFETY: the caller is on the fiber; a queued continuation was published, and is taken once.
    unsafe {
        match next.and_then(|task| continuation_of(task)) {
            Some(next) => {
                leave_for_continuation(fiber, next, &mut left);
                Ok(())
            }
            None => to_loop(fiber, next, &mut left.publish),
        }
    }
}

/// Suspends the calling task, and switches to the fiber of the continuation `next`.
///
/// # Safety
/// The contract of `leave_fiber`; `next` was published, and only the caller resumes it.
#[inline]
pub(super) unsafe fn leave_for_continuation<F: FnMut(Task) -> bool>(
    fiber: &Fiber,
    next: Continuation,
    left: &mut HandedOver<F>,
) {
    let worker = fiber.worker();
    fiber.tell_suspension();
    // SAFETY: the caller occupies the fiber's worker, and nobody else resumes `next`.
    let context = unsafe { adopt(worker, next) };
    if listeners::any() {
        // SAFETY: the caller is on the fiber; the worker's fiber is that of `context`.
        return unsafe { leave_for_continuation_told(fiber, context, &mut left.publish) };
    }
    let left = ptr::from_mut(left).cast();
    // SAFETY: `left` stays in this frame until the task is resumed, which happens once.
    let arrived = unsafe { switch::hand_over(left, context, HandedOver::<F>::publish) };
    if !arrived.is_null() {
        // SAFETY: the thread occupies the fiber's worker; the switch has passed `arrived`.
        unsafe { finish_switch(fiber.worker(), arrived) };
    }
}

/// The rest of `leave_for_continuation` if each switch must be reported (`listeners::any`).
///
/// # Safety
/// The contract of `leave_for_continuation`; the worker's fiber is already that of `to`.
#[cold]
#[inline(never)]
unsafe fn leave_for_continuation_told(
    fiber: &Fiber,
    to: Context,
    publish: &mut dyn FnMut(Task) -> bool,
) {
    // SAFETY: the caller is on the fiber.
    let mine = unsafe { fiber.mine() };
    mine.tell_switch(fiber);
    let there = mine.fiber();
    switch_away(fiber, there.sanitizer_state(), to, 0, publish);
}

/// A task that `leave_for_continuation` suspends.
pub(super) struct HandedOver<F> {
    continuation: Continuation,
    /// See `Unpublished::publish`.
    publish: F,
}

impl<F: FnMut(Task) -> bool> HandedOver<F> {
    pub(super) fn new(fiber: &Fiber, publish: F) -> Self {
        fiber.nesting.set(0); // it has a stack of its own while it waits
        HandedOver { continuation: Continuation { context: ptr::null_mut(), fiber }, publish }
    }

    /// # Safety
    /// `hand_over` calls it, for the task that has called `hand_over`.
    unsafe extern "C" fn publish(this: *mut c_void, context: Context) {
        let this: *mut Self = this.cast();
        // SAFETY: no other thread has `this` until `publish` returns true.
        unsafe {
            (*this).continuation.context = context;
            let task = task_of(&raw const (*this).continuation);
            if !((*this).publish)(task) {
                queue_soon_again(task.closure);
            }
        }
    }
}

/// Queues a suspended task that no longer has anything to wait for. It runs soon.
///
/// # Safety
/// The continuation is complete, and no other thread knows it. The calling thread occupies the
/// worker that the task has left.
#[cold]
#[inline(never)]
unsafe fn queue_soon_again(continuation: *mut c_void) {
    let continuation: *const Continuation = continuation.cast();
    // SAFETY: the continuation lies on its fiber, where no thread runs; this thread has its worker.
    unsafe { (*(*continuation).fiber).mine() }.queue_soon(task_of(continuation));
}

/// Suspends the calling task, and begins a loop on a new fiber, which runs `first_task` first. On
/// an error there is no stack, and nothing has changed.
///
/// # Safety
/// The contract of `leave_fiber`.
#[inline(never)] // so that no thread-local address is kept across the switch
pub(super) unsafe fn leave_for_new_loop(
    fiber: &Fiber,
    first_task: Option<Task>,
    publish: &mut dyn FnMut(Task) -> bool,
) -> Result<(), NoMemory> {
    // SAFETY: the caller is a task on the fiber, which can be left.
    unsafe { leave_for_loop(fiber, first_task, |left| FiberOrigin::Suspended(left), publish) }
}

/// Like `leave_for_new_loop`, for a loop that first looks for tasks from outside the run.
///
/// # Safety
/// The contract of `leave_fiber`.
#[cold]
#[inline(never)] // as above
pub(super) unsafe fn leave_for_outside(
    fiber: &Fiber,
    publish: &mut dyn FnMut(Task) -> bool,
) -> Result<(), NoMemory> {
    // SAFETY: the caller is a task on the fiber, which can be left.
    unsafe { leave_for_loop(fiber, None, |left| FiberOrigin::GivesWay(left), publish) }
}

/// # Safety
/// The contract of `leave_fiber`.
#[inline(always)]
unsafe fn leave_for_loop(
    fiber: &Fiber,
    first_task: Option<Task>,
    origin: impl for<'a> FnOnce(*mut Unpublished<'a>) -> FiberOrigin<'a>,
    publish: &mut dyn FnMut(Task) -> bool,
) -> Result<(), NoMemory> {
    let worker = fiber.worker();
    // SAFETY: the caller is on the fiber.
    let stack = unsafe { fiber.mine() }.take_stack()?;
    fiber.tell_suspension();
    let handled = exceptions::take();
    let continuation = Continuation { context: ptr::null_mut(), fiber };
    let mut left = Unpublished { continuation, resume, publish };
    let this = &raw mut left;
    let start = FiberStart { worker, stack: Some(stack), first_task, origin: origin(this) };
    // SAFETY: nothing else uses the stack; the context is stored before `publish`, and resumed
    // once.
    unsafe {
        let start = (&raw const start).cast_mut().cast();
        stack.sanitizer_state().enter_new(|| {
            own_left(this);
            fiber.sanitizer_state()
        });
        let from = &raw mut (*this).continuation.context;
        let arrival = switch::begin(from, Fiber::top(stack), run_loop, start);
        finish_switch(fiber.worker(), arrival);
    }
    handled.put();
    Ok(())
}

/// Makes `left` and its `publish` the library's memory for a race detector. Must be called before
/// the thread leaves a stack, if switches are reported. Both lie on that stack: once `publish` has
/// made the task known, another thread may run there while this thread still reads them.
///
/// # Safety
/// Nobody else has `left`.
#[cold]
unsafe fn own_left(left: *mut Unpublished) {
    // SAFETY: `left` and its `publish` are live, and nobody else has them.
    unsafe {
        detector::own(&*left);
        detector::own(&*(*left).publish);
    }
}

/// The task that resumes the suspended task of this continuation.
pub(super) fn task_of(continuation: *const Continuation) -> Task {
    Task { f: resume, closure: continuation.cast_mut().cast() }
}

/// The task that resumes a [spawner](super::cont). `room` belongs to the spawner's context.
#[inline(always)]
pub(super) fn spawner_task(room: *mut c_void) -> Task {
    Task { f: resume_spawner, closure: room }
}

#[inline(always)]
pub(super) fn is_spawner(task: Task) -> bool {
    std::ptr::fn_addr_eq(task.f, resume_spawner as TaskFn)
}

/// The fiber that the task resumes. None if the task is neither a continuation nor a spawner.
///
/// # Safety
/// If `task` is one of these, it was published, and only the caller resumes it.
pub(super) unsafe fn fiber_of<'a>(task: Task) -> Option<&'a Fiber> {
    // SAFETY: a continuation's task was published, so its continuation is complete.
    unsafe {
        if is_suspended_task(task) {
            Some(&*(*task.closure.cast::<Continuation>()).fiber)
        } else if is_spawner(task) {
            Some(spawner_fiber(task.closure))
        } else {
            None
        }
    }
}

/// The functions of the tasks that resume a suspended task and a spawner.
pub const CONTINUE: [TaskFn; 2] = [resume, resume_spawner];

#[inline(always)]
fn is_suspended_task(task: Task) -> bool {
    std::ptr::fn_addr_eq(task.f, resume as TaskFn)
}

/// True if `task` resumes a suspended task or a spawner.
pub fn is_continuation(task: Task) -> bool {
    is_suspended_task(task) || is_spawner(task)
}

/// Queues the task that resumes a suspended one: see `Worker::queue_continued`.
///
/// # Safety
/// The continuation was published, and only the caller resumes it.
pub unsafe fn queue_continuation(continuation: *mut c_void, from: Option<&Worker>, turn: Turn) {
    let task = task_of(continuation.cast());
    // SAFETY: the continuation lies on its fiber, whose stack is in use until the task continues.
    let fiber = unsafe { &*(*continuation.cast::<Continuation>()).fiber };
    tell_resumable(fiber, from);
    fiber.worker().queue_continued(task, from, turn);
}

/// If this task was suspended on the calling thread's innermost worker, returns that worker and the
/// task that resumes the suspended one.
///
/// # Safety
/// The contract of `queue_continuation`.
#[inline]
pub unsafe fn local_continuation<'a>(continuation: *mut c_void) -> Option<(Mine<'a>, Task)> {
    let continuation: *const Continuation = continuation.cast();
    // SAFETY: as in `queue_continuation`; records are never freed.
    let worker: &Worker = unsafe { &*(*(*continuation).fiber).worker.get() };
    // The calling thread cannot leave a pinned fiber. A fiber is pinned if a task on it has started
    // another run, or if a task of an outer run lies on it.
    // SAFETY: `is_mine` has compared the owner.
    let mine = worker.is_mine().then(|| unsafe { worker.owned() })?;
    (!mine.fiber().pinned.get()).then(|| {
        // SAFETY: as in `queue_continuation`.
        tell_resumable(unsafe { &*(*continuation).fiber }, Some(mine.worker()));
        (mine, task_of(continuation))
    })
}

/// The function of a queued continuation: resumes the suspended task. Returns only if a task lies
/// on the caller's fiber below the caller.
///
/// # Safety
/// `continuation` was published, and is taken once. `s` is the calling thread's worker, and the
/// caller is on its fiber.
unsafe extern "C" fn resume(continuation: *mut c_void, s: *mut Scheduler) {
    // SAFETY: `continuation` was published, and is taken once; `s` is the calling thread's worker.
    unsafe {
        let task = task_of(continuation.cast());
        resume_task(task, Worker::of(s), || continuation.cast::<Continuation>().read());
    }
}

/// The function of a queued spawner: resumes the spawner. Returns as `resume` does.
///
/// # Safety
/// `room` belongs to a published spawner's context, and is taken once. `s` is valid for
/// `resume`.
unsafe extern "C" fn resume_spawner(room: *mut c_void, s: *mut Scheduler) {
    // SAFETY: `room` is a published spawner's, taken once; `s` is the calling thread's worker.
    unsafe { resume_task(spawner_task(room), Worker::of(s), || detach_spawner(room)) }
}

/// Resumes `task`. `content` returns the continuation, and is called only if the task resumes now.
/// (The two functions above differ in `content`. Otherwise the compiler could merge them, and their
/// addresses would not distinguish continuations from spawners.)
///
/// # Safety
/// `task` was published, and is taken once; `content` returns its continuation. The calling thread
/// occupies `worker`, and the caller is on its fiber.
#[inline(always)]
unsafe fn resume_task(task: Task, worker: &Worker, content: impl FnOnce() -> Continuation) {
    // SAFETY: the calling thread occupies the worker.
    let mine = unsafe { worker.owned() };
    let old = mine.fiber();
    if !old.loop_can_be_left() {
        // The caller lies on top of a task, which cannot be suspended now. Another worker will
        // resume `task`, or this worker will later.
        worker.requeue(task);
        time::sleep(UNAWAITED);
        return worker.counters().tasks.uncount(); // the caller counts `task` as one that has run
    }
    // SAFETY: the thread occupies the worker, and nobody else resumes the continuation.
    let context = unsafe { adopt(worker, content()) };
    if listeners::any() {
        mine.tell_switch(old);
    }
    if old.help_depth.get() == 0 {
        old.flush();
        // SAFETY: only the loop and this call are on the old fiber; nobody else has `context`.
        unsafe { old.leave(worker, mine.fiber().sanitizer_state(), context) }
    }
    // SAFETY: `task` was called on top of a task here, which is in `Fiber::help`, or in a wait that
    // has found no room for `task` in any queue.
    unsafe { suspend_helping(old, context) };
    old.worker().counters().tasks.uncount(); // the caller counts, as above
}

/// The content of a queued continuation. None if `task` is neither a continuation nor a spawner.
///
/// # Safety
/// If `task` is one of these, it was published, and only the caller resumes it.
#[inline(always)]
pub(super) unsafe fn continuation_of(task: Task) -> Option<Continuation> {
    // SAFETY: a published continuation is complete, and only the caller takes it.
    unsafe {
        if is_suspended_task(task) {
            Some(task.closure.cast::<Continuation>().read())
        } else if is_spawner(task) {
            Some(detach_spawner(task.closure))
        } else {
            None
        }
    }
}

/// Makes the fiber of the continuation the worker's fiber. Returns the context to switch to.
///
/// # Safety
/// Only the caller resumes the continuation. The calling thread occupies `worker`.
#[inline]
pub(super) unsafe fn adopt(
    worker: &Worker,
    Continuation { context, fiber }: Continuation,
) -> Context {
    // SAFETY: the fiber of a continuation is in use until its task ends.
    let there = unsafe { &*fiber };
    if !ptr::eq(there.worker.get(), worker) {
        there.move_to(worker);
    }
    there.make_current(worker);
    worker.tell_resumption(fiber);
    context
}

/// Suspends a task that helps, and switches to `to`: from now on the helping task waits as a
/// suspended one. (Rejected: to queue it instead. A worker that took it from the queue would only
/// help again and take the next helping task. If more tasks help than there are workers, they would
/// be resumed in turn for as long as they wait.)
///
/// # Safety
/// The caller is on `old`, on top of a task that waits. `to` is the context of the fiber that the
/// worker is already on, and only the caller resumes it.
unsafe fn suspend_helping(old: &Fiber, to: Context) {
    let worker = old.worker();
    old.release_child_fibers();
    // SAFETY: the caller is on the fiber.
    let mine = unsafe { old.mine() };
    mine.hold(); // a thread outside of the run may end the wait of the task
    let mut publish = |task| {
        let waits = old.awaited.get().is_some_and(|awaited| {
            // SAFETY: `help` resets `awaited` before it returns, so the event lives.
            unsafe { awaited.as_ref() }.leave(task)
        });
        if !waits {
            worker.requeue(task);
        }
        true
    };
    old.tell_suspension();
    switch_away(old, mine.fiber().sanitizer_state(), to, 0, &mut publish);
    // SAFETY: the task has resumed, so the calling thread occupies the fiber's present worker.
    unsafe { old.mine() }.let_go();
}

/// Suspends the task on `old`, and resumes `to`. `sanitizers` is the state of the stack of `to`.
/// `flag`, 0 or `RETIRED`, is added to the word that `to` gets.
#[inline(never)] // so that no thread-local address is kept across the switch
pub(super) fn switch_away(
    old: &Fiber,
    sanitizers: &SanitizerState,
    to: Context,
    flag: usize,
    publish: &mut dyn FnMut(Task) -> bool,
) {
    let continuation = Continuation { context: ptr::null_mut(), fiber: old };
    detector::own(publish); // see `own_left`
    let mut publish = move |task| {
        detector::release(old); // here, on the other stack, the context is saved
        publish(task)
    };
    let mut left = Unpublished { continuation, resume, publish: &mut publish };
    let this = &raw mut left;
    let handled = exceptions::take();
    // SAFETY: only the caller resumes `to`, and `finish_switch` there publishes `this`.
    unsafe {
        sanitizers.enter(|| {
            own_left(this);
            Some(old.sanitizer_state())
        });
        let word = this.map_addr(|this| this | flag).cast();
        let arrived = switch::switch(&raw mut (*this).continuation.context, to, word);
        finish_switch(old.worker(), arrived);
    }
    handled.put();
}

/// Suspends the calling task, whose thread has left its worker, and switches to the thread's own
/// stack, where `host` returns. The task is queued behind all others. This function returns when
/// the task is resumed, on a worker of the run.
///
/// # Safety
/// The caller is a task on the fiber, which can be left. `host_stack` is the calling
/// thread's. The run does not end before the task has resumed.
pub unsafe fn retire(fiber: &Fiber, host_stack: &HostStack) {
    let worker = fiber.worker();
    let mut publish = |task| {
        worker.requeue_ended(task);
        true
    };
    fiber.tell_suspension();
    switch_away(fiber, &host_stack.sanitizers, host_stack.base.get(), RETIRED, &mut publish);
}
