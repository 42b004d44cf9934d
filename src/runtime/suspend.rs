//! Tasks that are set aside, and go on: see `host`.

use crate::fiber::sanitizers::SanitizerState;
use crate::fiber::switch::{Context, Publish};
use crate::fiber::{exceptions, sanitizers, switch};
use crate::policy::{LookFirst, Place, Seat, UNAWAITED};
use crate::runtime::continuation::{
    Continuation, RETIRED, Unpublished, detach_spawner, finish_switch,
};
use crate::runtime::host::{FiberOrigin, FiberStart, run_loop};
use crate::runtime::identity::Mine;
use crate::runtime::record::{Fiber, HostStack, Worker};
use crate::sys::memory::NoMemory;
use crate::sys::time;
use crate::task::{Scheduler, Task, TaskFn};
use std::ffi::c_void;
use std::ptr;

/// Sets the calling task aside; its worker goes on. `publish` is called with the task that continues
/// it; if it returns false, the caller is continued soon. Returns when it was continued, by
/// another thread perhaps. If there is no stack to go on with, nothing has happened.
///
/// # Safety
/// The caller is on the fiber, in a task. Once `publish` has made the task known it touches
/// nothing of the caller's stack any more, and returns true.
#[inline]
pub unsafe fn suspend(fiber: &Fiber, publish: impl FnMut(Task) -> bool) -> Result<(), NoMemory> {
    if !fiber.prepare_to_leave() {
        return Err(NoMemory);
    }
    let next = fiber.next_in_line(LookFirst::AtHome);
    // SAFETY: passed on.
    unsafe { leave_fiber(fiber, next, publish, leave_for_new_loop_or_put_back) }
}

/// `leave_for_new_loop`; if that cannot be, what was to be run next is queued again.
///
/// # Safety
/// As for that.
#[cold]
#[inline(never)]
unsafe fn leave_for_new_loop_or_put_back(
    fiber: &Fiber,
    next: Option<Task>,
    publish: &mut dyn FnMut(Task) -> bool,
) -> Result<(), NoMemory> {
    // SAFETY: passed on.
    unsafe { leave_for_new_loop(fiber, next, publish) }.inspect_err(|NoMemory| {
        // Where no queue has room for it, it runs on top of the one that waits.
        // SAFETY: the caller is on the fiber.
        let mine = unsafe { fiber.mine() };
        next.filter(|&task| mine.put_back(task).is_err())
            .inspect(|&task| fiber.run_on_top(|| fiber.run(task)));
    })
}

type ToLoop = unsafe fn(&Fiber, Option<Task>, &mut dyn FnMut(Task) -> bool) -> Result<(), NoMemory>;

/// `suspend`, with the task that the worker is to run first. `to_loop`: how it goes on where that has no stack,
/// `leave_for_new_loop` or what calls that.
///
/// # Safety
/// As for `suspend`; the fiber can be left.
#[inline]
pub(super) unsafe fn leave_fiber(
    fiber: &Fiber,
    next: Option<Task>,
    publish: impl FnMut(Task) -> bool,
    to_loop: ToLoop,
) -> Result<(), NoMemory> {
    let mut left = HandedOver::new(fiber, publish);
    match next {
        Some(task) if is_continuation(task) => {
            // SAFETY: out of a queue, so published.
            unsafe { leave_for_continuation(fiber, task, &mut left) };
            Ok(())
        }
        // SAFETY: passed on.
        _ => unsafe { to_loop(fiber, next, &mut left.publish) },
    }
}

/// Leaves the fiber for that of a continuation.
///
/// # Safety
/// As for `suspend`; `next` was published, and only the caller continues it.
#[inline]
pub(super) unsafe fn leave_for_continuation<F>(fiber: &Fiber, next: Task, left: &mut HandedOver<F>)
where
    F: FnMut(Task) -> bool,
{
    let worker = fiber.worker();
    // SAFETY: passed on.
    let context = unsafe { adopt_task(worker, next) };
    if sanitizers::watched() || exceptions::has_runtime() {
        // SAFETY: passed on.
        return unsafe { leave_for_continuation_instrumented(fiber, context, &mut left.publish) };
    }
    let left = ptr::from_mut(left).cast();
    // SAFETY: `left` stays where it is until the task goes on, by whoever is told of it, once.
    let arrived = unsafe { switch::hand_over::<HandedOver<F>>(left, context) };
    if !arrived.is_null() {
        // SAFETY: the fiber's worker is the caller's, to whom this was passed.
        unsafe { finish_switch(fiber.worker(), arrived) };
    }
}

/// The rest of `leave_for_continuation`, where somebody is told of each switch.
///
/// # Safety
/// As for that; the worker's fiber is the other's.
#[cold]
#[inline(never)]
unsafe fn leave_for_continuation_instrumented(
    fiber: &Fiber,
    to: Context,
    publish: &mut dyn FnMut(Task) -> bool,
) {
    // SAFETY: the caller is on the fiber.
    let there = unsafe { fiber.mine() }.fiber();
    switch_away(fiber, there.sanitizer_state(), to, 0, publish);
}

/// A task that is left for another by `leave_for_continuation`.
pub(super) struct HandedOver<F> {
    continuation: Continuation,
    /// As in [`Unpublished`].
    publish: F,
}

impl<F: FnMut(Task) -> bool> HandedOver<F> {
    pub(super) fn new(fiber: &Fiber, publish: F) -> Self {
        HandedOver { continuation: Continuation { context: ptr::null_mut(), fiber }, publish }
    }
}

impl<F: FnMut(Task) -> bool> Publish for HandedOver<F> {
    unsafe extern "C" fn publish(this: *mut c_void, context: Context) {
        let this: *mut Self = this.cast();
        // SAFETY: left just now, and nobody else knows of it until `publish` returns true.
        unsafe {
            (*this).continuation.context = context;
            let task = task_of(&raw const (*this).continuation);
            if !((*this).publish)(task) {
                queue_soon_again(task.closure);
            }
        }
    }
}

/// Queues a task that has nothing to wait for.
///
/// # Safety
/// The continuation is complete, and nobody knows of it; the caller occupies the worker that it has left.
#[cold]
#[inline(never)]
unsafe fn queue_soon_again(continuation: *mut c_void) {
    let continuation: *const Continuation = continuation.cast();
    // SAFETY: it lies on its fiber, which nobody runs now.
    unsafe { (*(*continuation).fiber).mine() }.queue_soon(task_of(continuation));
}

/// Leaves the fiber for a loop on a new one, which runs `first` first.
///
/// # Safety
/// As for `suspend`; the fiber can be left.
#[inline(never)] // so that nothing thread-local is remembered across it
pub(super) unsafe fn leave_for_new_loop(
    fiber: &Fiber,
    first_task: Option<Task>,
    publish: &mut dyn FnMut(Task) -> bool,
) -> Result<(), NoMemory> {
    let worker = fiber.worker();
    // SAFETY: the caller is on the fiber.
    let stack = unsafe { fiber.mine() }.take_stack()?;
    let handled = exceptions::take();
    let continuation = Continuation { context: ptr::null_mut(), fiber };
    let mut left = Unpublished { continuation, resume, publish };
    let this = &raw mut left;
    let start =
        FiberStart { worker, stack: Some(stack), first_task, origin: FiberOrigin::Suspended(this) };
    // SAFETY: a stack of our own; the context is in its place before anybody is told of it, and
    // whoever is continues it once.
    unsafe {
        let start = (&raw const start).cast_mut().cast();
        stack.sanitizer_state().enter_new(|| fiber.sanitizer_state());
        let from = &raw mut (*this).continuation.context;
        let arrival = switch::begin(from, Fiber::top(stack), run_loop, start);
        finish_switch(fiber.worker(), arrival);
    }
    handled.put();
    Ok(())
}

pub(super) fn task_of(continuation: *const Continuation) -> Task {
    Task { f: resume, closure: continuation.cast_mut().cast() }
}

/// The task that continues a [spawner](super::cont).
#[inline(always)]
pub(super) fn spawner_task(room: *mut c_void) -> Task {
    Task { f: resume_spawner, closure: room }
}

#[inline(always)]
pub(super) fn is_spawner(task: Task) -> bool {
    std::ptr::fn_addr_eq(task.f, resume_spawner as TaskFn)
}

/// True if that is a task that was set aside, or a spawner.
pub fn is_continuation(task: Task) -> bool {
    std::ptr::fn_addr_eq(task.f, resume as TaskFn) || is_spawner(task)
}

/// Queues a task that was set aside, to go on; see `Worker::queue_continued`.
///
/// # Safety
/// The continuation was published, and only the caller continues it.
pub unsafe fn queue_continuation(continuation: *mut c_void, from: Option<&Worker>) {
    let task = task_of(continuation.cast());
    // SAFETY: it lies on its fiber, which nobody runs now.
    let worker = unsafe { (*(*continuation.cast::<Continuation>()).fiber).worker() };
    worker.queue_continued(task, from);
}

/// The worker that this continuation has left, with the task that goes on with it, if that is the calling
/// thread's innermost.
///
/// # Safety
/// As for `queue_continuation`.
#[inline]
pub unsafe fn local_continuation<'a>(continuation: *mut c_void) -> Option<(Mine<'a>, Task)> {
    let continuation: *const Continuation = continuation.cast();
    // SAFETY: as in `queue_continuation`. Records are never freed.
    let worker: &Worker = unsafe { &*(*(*continuation).fiber).worker.get() };
    // Where the thread is a worker of another run, too, which a task here has started, that lies on top of a
    // fiber that cannot be left.
    // SAFETY: compared just now.
    let mine = worker.is_mine().then(|| unsafe { worker.owned() })?;
    (!mine.fiber().pinned.get()).then(|| (mine, task_of(continuation)))
}

/// A continuation out of a queue: goes on with it. It returns only if the fiber that is left for it is
/// in the middle of a task.
///
/// # Safety
/// `continuation` was published, and is taken once.
unsafe extern "C" fn resume(continuation: *mut c_void, s: *mut Scheduler) {
    // SAFETY: passed on.
    unsafe {
        let task = task_of(continuation.cast());
        resume_task(task, Worker::of(s), || continuation.cast::<Continuation>().read());
    }
}

/// The same of a spawner.
///
/// # Safety
/// As for `resume`.
unsafe extern "C" fn resume_spawner(room: *mut c_void, s: *mut Scheduler) {
    // SAFETY: passed on.
    unsafe { resume_task(spawner_task(room), Worker::of(s), || detach_spawner(room)) }
}

/// `content`: of the continuation, once it is certain that it goes on. (So the two functions above differ. Were
/// they alike but for their own names, the compiler would make one of them.)
///
/// # Safety
/// As for `resume`; `worker` is the calling thread's.
#[inline(always)]
unsafe fn resume_task(task: Task, worker: &Worker, content: impl FnOnce() -> Continuation) {
    // SAFETY: by the caller's promise.
    let mine = unsafe { worker.owned() };
    let old = mine.fiber();
    if !old.loop_can_be_left() {
        // A task lies below: another will go on with it, or this worker later.
        worker.requeue(task);
        time::sleep(UNAWAITED);
        return worker.counters().tasks.uncount(); // whoever has called this counts a task
    }
    // SAFETY: by the caller's promise.
    let context = unsafe { adopt(worker, content()) };
    if old.help_depth.get() == 0 {
        old.flush();
        // SAFETY: nothing is on the old fiber but its loop, which has nothing in hand.
        unsafe { old.leave(worker, mine.fiber().sanitizer_state(), context) }
    }
    // SAFETY: a task runs in the middle of one here, so that helps.
    unsafe { suspend_helping(old, context) };
    old.worker().counters().tasks.uncount(); // as above
}

/// The worker's thread is to go on with a continuation: where.
///
/// # Safety
/// It was published, and only the caller continues it.
#[inline]
pub(super) unsafe fn adopt_task(worker: &Worker, next: Task) -> Context {
    // SAFETY: published, so complete.
    unsafe {
        if is_spawner(next) {
            adopt(worker, detach_spawner(next.closure))
        } else {
            adopt(worker, next.closure.cast::<Continuation>().read())
        }
    }
}

/// # Safety
/// As for `adopt_task`; that is what was published.
#[inline]
unsafe fn adopt(worker: &Worker, Continuation { context, fiber }: Continuation) -> Context {
    // SAFETY: a continuation lies on its fiber, which is this worker's now.
    let there = unsafe { &*fiber };
    if !ptr::eq(there.worker.get(), worker) {
        there.move_to(worker);
    }
    there.make_current(worker);
    context
}

/// Leaves a fiber whose task helps, for `to`: from now on that waits as one that was set aside. (If it were queued,
/// those who took it out would find nothing to do but to take out others: more that help than there are workers
/// would go on in turn for as long as they wait.)
///
/// # Safety
/// The caller is on it, in `Fiber::help`.
unsafe fn suspend_helping(old: &Fiber, to: Context) {
    let worker = old.worker();
    old.release_child_fibers();
    // SAFETY: the caller is on the fiber.
    let mine = unsafe { old.mine() };
    mine.hold(); // who ends what it waits for may be outside of the run
    let mut publish = |task| {
        // SAFETY: what `help` waits for is there until it returns.
        let waits =
            old.awaited.get().is_some_and(|awaited| unsafe { awaited.as_ref() }.leave(task));
        if !waits {
            worker.requeue(task);
        }
        true
    };
    switch_away(old, mine.fiber().sanitizer_state(), to, 0, &mut publish);
    // SAFETY: the task goes on, with the worker that its fiber has now.
    unsafe { old.mine() }.let_go();
}

#[inline(never)] // so that nothing thread-local is remembered across it
pub(super) fn switch_away(
    old: &Fiber,
    sanitizers: &SanitizerState,
    to: Context,
    flag: usize,
    publish: &mut dyn FnMut(Task) -> bool,
) {
    let continuation = Continuation { context: ptr::null_mut(), fiber: old };
    let mut left = Unpublished { continuation, resume, publish };
    let this = &raw mut left;
    let handled = exceptions::take();
    // SAFETY: `to` is nobody else's; who arrives there publishes `this`.
    unsafe {
        sanitizers.enter(|| Some(old.sanitizer_state()));
        let left = this.map_addr(|this| this | flag).cast();
        let arrived = switch::switch(&raw mut (*this).continuation.context, to, left);
        finish_switch(old.worker(), arrived);
    }
    handled.put();
}

/// The calling thread, which has left its worker, leaves the fiber as well, for its own stack, where
/// `host` returns. The task here is queued behind the others; returns when it goes on, elsewhere.
///
/// # Safety
/// The caller is on the fiber, which can be left; `ground` is its thread's, and the run goes on until the task
/// does.
pub unsafe fn retire(fiber: &Fiber, host_stack: &HostStack) {
    let worker = fiber.worker();
    let mut publish = |task| {
        worker.requeue(task);
        true
    };
    switch_away(fiber, &host_stack.sanitizers, host_stack.base.get(), RETIRED, &mut publish);
}
