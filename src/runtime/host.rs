//! Fibers: the stacks that workers' loops run on, and tasks that wait by leaving theirs.
//!
//! # The shape of it
//!
//! ```text
//! thread's own stack      fiber (a stack of the stack cache's)
//!   sched_init              loop  -- Fiber, the record
//!   host   <--- base        a task
//!                           what it calls ... suspend: context
//! ```
//! A task runs on the stack of the loop that took it from a queue, and pays nothing for it. When it
//! must wait, the whole fiber is set aside: its worker goes on with a new loop, on another stack, and
//! what is left of the old one is a *continuation*: a task, {`resume`, continuation}, which can be
//! queued like any. Whoever takes it out of a queue leaves the fiber that it is on, which has
//! nothing but a loop, and goes on on the other. There the record tells the loop, once the task has
//! returned to it, whose it is now. (C. Yang and J. Mellor-Crummey, "A practical solution to the cactus
//! stack problem", 2016, leave a frame's stack to wait in this way, when it must wait and not before.)
//!
//! # The classic race
//!
//! A continuation must not be resumed before it is complete. So it is published from the other
//! stack: `suspend` saves the context, switches, and `publish` is called there, which makes the
//! continuation known to who will resume it. If there is nothing to wait for any more, publish
//! says so, and the worker switches back, or queues the task if it has gone to another. After it has said
//! yes nothing of the old fiber is touched.
//!
//! If what the worker would run next was set aside, too, it goes straight to that stack, without a loop in between;
//! `publish` is called there, before that goes on (`switch::hand_over`).
//!
//! A stack that is left for good is put into the stack cache before: nobody else takes it from there, and
//! the worker's thread only when it has arrived on another.
//!
//! # The end
//!
//! A loop that ends, on whichever fiber, continues its thread's own stack at `base`, where `host` has
//! left it. No thread ever runs on another's own stack, so none has to wait for another then. Where no stack
//! is to be had at first, the loop runs on the thread's own, and tasks there cannot leave it. The loop itself can, for a
//! continuation: if all workers have come to such a loop, nobody else would go on with that.
//!
//! A thread that has no worker any more ([`section`]) goes back there earlier, by `retire`.

use crate::fiber::sanitizers::SanitizerState;
use crate::fiber::stack::Stack;
use crate::fiber::switch::Context;
use crate::fiber::{exceptions, overflow, switch};
use crate::policy::{Awaited, Seat};
use crate::runtime::continuation::{Continuation, Unpublished, finish_switch};
use crate::runtime::identity;
use crate::runtime::record::{Fiber, HostStack, LoopStart, Worker};
use crate::sys::float::FloatControl;
use crate::sys::{registers, unwind};
use crate::task::Task;
use std::ffi::c_void;
use std::mem;
use std::ptr::{self, NonNull};

/// What a new fiber begins with; it lies on the stack that is left for it.
pub(super) struct FiberStart<'a> {
    pub(super) worker: &'a Worker,
    pub(super) stack: Option<Stack>,
    pub(super) first_task: Option<Task>,
    pub(super) origin: FiberOrigin<'a>,
}

/// How a fiber begins.
pub(super) enum FiberOrigin<'a> {
    /// The first of a thread.
    Thread(WorkerStart),
    Suspended(*mut Unpublished<'a>),
}

/// What a thread's worker does when it start.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum WorkerStart {
    /// It has begun with the run, without a task.
    Idle,
    /// It has begun with the run, and has the first task.
    FirstTask,
    /// It goes on: another thread has left it in the middle of a task, with which that blocks.
    Relief,
}

/// Runs the calling thread's worker until the run has ended, or the thread has left it: then false.
///
/// # Safety
/// The caller occupies `worker`, whose run has not ended, inside the frontier.
pub unsafe fn host(worker: &Worker, start: WorkerStart) -> bool {
    // SAFETY: records are never freed, and this one is the calling thread's, too.
    let outer = unsafe { worker.outer_worker.get().as_ref().map(|outer| outer.owned().fiber()) };
    let below = [outer, identity::innermost_section()];
    let before = below.map(|fiber| fiber.is_some_and(Fiber::pin));
    // With the stack of a relief start a place in the queue: for the task whose thread has left the worker.
    // SAFETY: by the caller's promise.
    let mine = unsafe { worker.owned() };
    let stack =
        if start == WorkerStart::Relief { mine.take_stack() } else { worker.stacks.take() }.ok();
    let host_stack = HostStack::default();
    host_stack.sanitizers.learn_bounds();
    host_stack.outer_help_depth.set(outer.map_or(0, |fiber| fiber.help_depth.get()));
    worker.host_stack.set(&host_stack);
    let mut stays = true;
    let mut go = || {
        let start =
            FiberStart { worker, stack, first_task: None, origin: FiberOrigin::Thread(start) };
        let top = stack.map_or(ptr::null_mut(), Fiber::top);
        // SAFETY: a stack of our own, or none; `base` is continued by this thread alone, at the end.
        unsafe {
            let start = (&raw const start).cast_mut().cast();
            stack.inspect(|stack| stack.sanitizer_state().enter_new(|| &host_stack.sanitizers));
            let arrival = switch::begin(host_stack.base.as_ptr(), top, run_loop, start);
            stays = finish_switch(worker, arrival);
        }
    };
    let handled = exceptions::take();
    if outer.is_none() {
        overflow::with_alternate_stack(go)
    } else {
        go()
    }
    host_stack.sanitizers.forget();
    handled.put();
    for (fiber, covered) in below.into_iter().zip(before) {
        fiber.inspect(|fiber| fiber.set_pinned(covered));
    }
    stays
}

/// The first frame of a fiber.
///
/// # Safety
/// `start` is a [`FiberStart`], on a stack that its publisher keeps until then.
pub(super) unsafe extern "C" fn run_loop(start: *mut c_void) -> ! {
    // SAFETY: by the caller's promise; read whole before it is published.
    let FiberStart { worker, stack, first_task, origin } =
        unsafe { start.cast::<FiberStart>().read() };
    let loop_start = match origin {
        FiberOrigin::Thread(WorkerStart::Idle) => LoopStart::Idle,
        FiberOrigin::Thread(WorkerStart::Relief) if worker.tick() => LoopStart::Injector,
        _ => LoopStart::OwnQueue,
    };
    // SAFETY: who launches it occupies the worker, whose thread has come here.
    let mine = unsafe { worker.owned() };
    let own = Fiber::new(None);
    let fiber = stack.map_or(&own, Fiber::on);
    fiber.worker.set(worker);
    if let FiberOrigin::Suspended(left) = origin {
        // SAFETY: not published yet.
        let Continuation { context, fiber: below } = unsafe { (*left).continuation };
        // SAFETY: saved, and this is another stack.
        if let Err(back) = unsafe { Unpublished::publish(left) } {
            if first_task.is_none_or(|task| mine.put_back(task).is_ok()) {
                // SAFETY: nobody else knows of it; nothing is on the fiber.
                unsafe { fiber.leave(worker, (*below).sanitizer_state(), context) }
            }
            mine.queue_soon(back);
        }
    }
    fiber.make_current(worker);
    fiber.first_task.set(first_task);
    fiber.loop_start.set(loop_start);
    // SAFETY: the fiber is in place.
    unsafe { fiber.run_to_end() }
}

pub(super) unsafe extern "C" fn work_on_fiber(fiber: *mut c_void) {
    // SAFETY: `run_loop` passes its fiber, which it is on.
    let fiber = unsafe { &*fiber.cast::<Fiber>() };
    fiber.calling_frame.set(registers::stack_pointer());
    if let Some(task) = fiber.first_task.take() {
        fiber.run(task);
    }
    // SAFETY: the row of the run.
    unsafe { (fiber.place().row().operations.work)(fiber) };
}

impl Fiber {
    /// The worker's loop, to the end of the run.
    ///
    /// # Safety
    /// The caller is on it, and its worker, too; it has no task in hand.
    pub(super) unsafe fn run_to_end(&self) -> ! {
        self.worker().float_control.get().set(); // not those of the task that was left, or has ended
        // SAFETY: the frontier is where the thread came from.
        unsafe { unwind::call_on_new_stack(work_on_fiber, ptr::from_ref(self).cast_mut().cast()) };
        self.flush();
        let worker = self.worker();
        // SAFETY: nothing is on the fiber any more, and the host stack is this thread's.
        unsafe {
            let host_stack = worker.owned().host_stack();
            self.leave(worker, &host_stack.sanitizers, host_stack.base.get())
        }
    }

    /// Leaves it for good, for `to`, on that side. Its stack is in the stack cache before; but only the worker's thread takes it
    /// out of there, and that is on its way.
    ///
    /// # Safety
    /// The caller is on it, and occupies `worker`; nothing there is needed any more. `to` as for
    /// `switch::jump_to`.
    #[inline(always)] // see `SanitizerState::enter`
    pub(super) unsafe fn leave(
        &self,
        worker: &Worker,
        sanitizers: &SanitizerState,
        to: Context,
    ) -> ! {
        self.loop_start.set(LoopStart::OwnQueue);
        self.release_child_fibers();
        // SAFETY: by the caller's promise.
        unsafe {
            if let Some(stack) = self.stack {
                worker.owned().put_stack(stack);
            }
            sanitizers.enter(|| self.stack.is_none().then(|| self.sanitizer_state()));
            switch::jump_to(0, to, ptr::null_mut())
        }
    }

    /// Runs tasks in the middle of a task until `awaited` is over: see `Policy::help`.
    ///
    /// # Safety
    /// The caller is on it, in a task.
    pub unsafe fn help(&self, awaited: &dyn Awaited) {
        let awaited = NonNull::from(awaited);
        // SAFETY: only the lifetime changes: it is forgotten before this returns.
        let waits =
            unsafe { mem::transmute::<NonNull<dyn Awaited + '_>, NonNull<dyn Awaited>>(awaited) };
        let outer = self.awaited.replace(Some(waits));
        // SAFETY: the row of the run; passed on.
        self.run_on_top(|| unsafe { (self.place().row().operations.help)(self, waits.as_ref()) });
        self.awaited.set(outer);
    }

    /// Does work of other tasks in the middle of one.
    #[cold]
    #[inline(never)] // its frame is guarded
    pub(super) fn run_on_top(&self, work: impl FnOnce()) {
        let (handled, float) = (exceptions::take(), FloatControl::get()); // they are not the others'
        let group = self.group.replace(ptr::null());
        self.place().float_control.get().set();
        self.help_depth.set(self.help_depth.get() + 1);
        let floor = self.calling_frame.replace(registers::stack_pointer());
        unwind::call_guarded::<unwind::Task, _>(|| outside_section(self, work));
        self.calling_frame.set(floor);
        self.help_depth.set(self.help_depth.get() - 1);
        self.group.set(group);
        float.set();
        handled.put();
    }
}

/// Does work of other tasks on top of the calling thread's innermost section, if there is one, and on
/// top of `fiber`'s task: they are not in its section.
pub fn outside_section(fiber: &Fiber, work: impl FnOnce()) {
    let depth = fiber.section.depth.replace(0);
    let innermost = identity::innermost_section().filter(|innermost| !innermost.is_covered());
    innermost.inspect(|innermost| innermost.set_pinned(true));
    work();
    // The thread is the same: the fiber on top of a section cannot be left.
    innermost.inspect(|innermost| innermost.set_pinned(false));
    fiber.section.depth.set(depth);
}
