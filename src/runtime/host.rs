//! Fibers: the stacks on which workers' loops run. A waiting task is suspended with its fiber.
//!
//! # The stacks
//!
//! ```text
//! thread's own stack      fiber (a stack from the stack cache)
//!   sched_init              Fiber, the record
//!   host   <--- base        the worker's loop
//!                           a task
//!                           functions that the task calls ... suspend: context
//! ```
//! A task runs on the stack of the loop that took it from a queue, at no cost. When the task must
//! wait, the whole fiber is suspended, and the worker continues with a new loop on another stack.
//! The old fiber is represented by a *continuation*: a task {`resume`, address of the
//! continuation}, which can be queued like any other. A worker that takes such a task out of a
//! queue leaves its own fiber, on which there is only a loop, and switches to the fiber of the
//! continuation. When the resumed task returns to the loop there, the loop reads from the record
//! which worker it now belongs to. (C. Yang and J. Mellor-Crummey, "A practical solution to the
//! cactus stack problem", 2016, also suspend a frame's stack only when the frame must wait.)
//!
//! # The classic race
//!
//! A continuation must not be resumed before it is complete. The bad interleaving: a task makes its
//! continuation known and then saves its context; in between another worker takes the continuation
//! and switches to a stack on which the first worker still runs. So the continuation is published
//! from the other stack: `suspend` saves the context and switches, and `publish` is called there.
//! `publish` makes the continuation known to the thread that will resume it. If nothing is left to
//! wait for, `publish` returns false; then the worker switches back, or, if it has switched to
//! another suspended task, queues the continuation. After `publish` has returned true the worker
//! touches nothing of the old fiber.
//!
//! If the next task of the worker is itself a continuation, the worker switches directly to its
//! stack, where `publish` is called before that task continues (`switch::hand_over`).
//!
//! A stack that is left for good is put into the worker's stack cache before the switch. Only the
//! worker's own thread takes stacks from that cache, after it has arrived on another stack.
//!
//! # The end
//!
//! When a loop ends, on any fiber, its thread's own stack continues at `base`, where `host` has
//! left it. No thread ever runs on another's own stack, so no thread waits for another at the end.
//!
//! If there is no memory for a first stack, the loop runs on the thread's own stack, and a task
//! there cannot be suspended. But the worker can leave such a loop to switch to a continuation, and
//! must be able to: if all workers run such loops, no other worker can resume the continuation.
//!
//! A thread that has lost its worker in a blocking section ([`blocking`](super::blocking)) returns
//! to `base` before the end of the run: see `suspend::retire`.

use crate::fiber::sanitizers::SanitizerState;
use crate::fiber::stack::Stack;
use crate::fiber::switch::Context;
use crate::fiber::{exceptions, overflow, switch};
use crate::policy::{Awaited, LoopStack, OnStack};
use crate::runtime::continuation::{Continuation, Unpublished, finish_switch};
use crate::runtime::identity;
use crate::runtime::record::{Fiber, HostStack, LoopStart, Worker};
use crate::sys::float::FloatControl;
use crate::sys::{registers, stack_room, unwind};
use crate::task::Task;
use std::ffi::c_void;
use std::mem;
use std::ptr::{self, NonNull};

/// The least size of a stack that can have a part of a loop on top of a task.
const ROOMY: usize = 256 << 10;

/// The arguments of a new fiber's loop. They lie on the stack that the thread leaves for the fiber.
pub(super) struct FiberStart<'a> {
    pub(super) worker: &'a Worker,
    pub(super) stack: Option<Stack>,
    pub(super) first_task: Option<Task>,
    pub(super) origin: FiberOrigin<'a>,
}

/// The stack that the thread leaves for a new fiber.
pub(super) enum FiberOrigin<'a> {
    /// The thread's own stack: this is the thread's first fiber.
    Thread(WorkerStart),
    /// The fiber of a task that is being suspended; the new fiber publishes that task.
    Suspended(*mut Unpublished<'a>),
    /// Like `Suspended`; the task gives way to tasks from outside the run.
    GivesWay(*mut Unpublished<'a>),
}

/// The way in which a thread begins at a worker.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum WorkerStart {
    /// The thread begins with the run, and has no task.
    Idle,
    /// The thread begins with the run, and the first task is in its queue.
    FirstTask,
    /// The thread takes over a worker whose former thread blocks in the middle of a task.
    Relief,
}

/// Runs the calling thread's worker. Returns the worker that the thread occupies when the run has
/// ended. None if the thread has lost its worker in a blocking section.
///
/// # Safety
/// The calling thread occupies `worker`, whose run has not ended, and `unwind::call_in_run` is
/// among the callers.
pub unsafe fn host(worker: &'static Worker, start: WorkerStart) -> Option<&'static Worker> {
    // SAFETY: records are never freed, and the thread also occupies the outer worker.
    let outer = unsafe { worker.outer_worker.get().as_ref().map(|outer| outer.owned().fiber()) };
    let fibers_below = [outer, identity::innermost_section()];
    let were_pinned = fibers_below.map(|fiber| fiber.is_some_and(Fiber::pin));
    // A relief brings a further stack to its worker, so it also reserves a slot in the queue.
    // SAFETY: the calling thread occupies the worker.
    let mine = unsafe { worker.owned() };
    let stack =
        if start == WorkerStart::Relief { mine.take_stack() } else { worker.stacks.take() }.ok();
    let host_stack = HostStack::default();
    let stacks_below = fibers_below.iter().flatten().filter_map(|fiber| fiber.stack.as_ref());
    host_stack.sanitizers.learn_bounds(stacks_below.map(Stack::sanitizer_state));
    host_stack.outer_help_depth.set(outer.map_or(0, |fiber| fiber.help_depth.get()));
    host_stack.worker.set(Some(worker));
    worker.host_stack.set(&host_stack);
    let mut stays = true;
    let mut go = || {
        let start =
            FiberStart { worker, stack, first_task: None, origin: FiberOrigin::Thread(start) };
        let top = stack.map_or(ptr::null_mut(), Fiber::top);
        // SAFETY: no other code uses the stack; only this thread continues `base`, and once.
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
    for (fiber, was_pinned) in fibers_below.into_iter().zip(were_pinned) {
        fiber.inspect(|fiber| fiber.set_pinned(was_pinned));
    }
    host_stack.worker.get().filter(|_| stays)
}

/// The first frame of a fiber.
///
/// # Safety
/// `start` is a [`FiberStart`], on a stack that stays suspended until this function publishes it.
/// The calling thread occupies the worker in it.
pub(super) unsafe extern "C" fn run_loop(start: *mut c_void) -> ! {
    // SAFETY: `start` is a `FiberStart`. All of it is read before its stack is published.
    let start = unsafe { start.cast::<FiberStart>().read() };
    // SAFETY: the calling thread occupies the worker of `start`, whose stack is not published yet.
    unsafe {
        match start.stack {
            Some(stack) => run_loop_on(Fiber::on(stack), start),
            None => run_loop_of_thread(start),
        }
    }
}

/// Like `run_loop`, for a fiber on the thread's own stack. (Otherwise the frame of each waiting
/// task's `run_loop` would also hold an unused record.)
///
/// # Safety
/// The contract of `run_loop`.
#[cold]
#[inline(never)]
unsafe fn run_loop_of_thread(start: FiberStart) -> ! {
    let own = Fiber::new(None);
    // SAFETY: the calling thread occupies the worker of `start`; the fiber is new.
    unsafe { run_loop_on(&own, start) }
}

/// # Safety
/// The contract of `run_loop`; the caller is on the fiber, which is new.
#[inline(always)]
unsafe fn run_loop_on(fiber: &Fiber, start: FiberStart) -> ! {
    let FiberStart { worker, stack: _, first_task, origin } = start;
    let loop_start = match origin {
        FiberOrigin::Thread(WorkerStart::Idle) => LoopStart::Idle,
        FiberOrigin::Thread(WorkerStart::Relief) if worker.relief_looks_outside() => {
            LoopStart::Injector
        }
        FiberOrigin::GivesWay(_) => LoopStart::Injector,
        _ => LoopStart::OwnQueue,
    };
    // SAFETY: the calling thread occupies the worker.
    let mine = unsafe { worker.owned() };
    fiber.worker.set(worker);
    worker.tell_departure(); // before the task is published
    if let FiberOrigin::Suspended(left) | FiberOrigin::GivesWay(left) = origin {
        // SAFETY: `left` is not published yet, so no other thread touches it.
        let Continuation { context, fiber: below } = unsafe { (*left).continuation };
        // SAFETY: the context is saved, and this is another stack.
        if let Err(back) = unsafe { Unpublished::publish(left) } {
            if first_task.is_none_or(|task| mine.put_back(task).is_ok()) {
                // SAFETY: the fiber of a task that was not published is in use.
                worker.tell_arrival(unsafe { &*below });
                worker.tell_resumption(below);
                // SAFETY: nobody else knows the context, and no task is on this fiber.
                unsafe { fiber.leave(worker, (*below).sanitizer_state(), context) }
            }
            mine.queue_soon(back);
        }
    }
    fiber.make_current(worker);
    fiber.first_task.set(first_task);
    fiber.loop_start.set(loop_start);
    fiber.nesting.set(0); // the stack may have been a child's
    // SAFETY: the caller and the worker are on the fiber; no task has begun here.
    unsafe { fiber.run_to_end() }
}

/// Runs the fiber's first task, and then the policy's loop until the run ends.
///
/// # Safety
/// `fiber` is a [`Fiber`], and the caller is on it.
unsafe extern "C" fn work_on_fiber(fiber: *mut c_void) {
    // SAFETY: `fiber` is a `Fiber`, and the caller is on it.
    let fiber = unsafe { &*fiber.cast::<Fiber>() };
    fiber.calling_frame.set(registers::stack_pointer());
    if let Some(task) = fiber.first_task.take() {
        fiber.run(task);
    }
    loop {
        // SAFETY: the caller is on the fiber, and the row is its run's.
        unsafe { (fiber.place().row().operations.work)(OnStack::new(fiber)) };
        if !fiber.place().is_relief() {
            return;
        }
        // SAFETY: the caller is on the fiber.
        unsafe { fiber.relieve() };
        if fiber.place().is_relief() {
            return;
        }
        fiber.loop_start.set(LoopStart::OwnQueue); // it is a worker's again
    }
}

impl Fiber {
    /// Runs the worker's loop on this fiber until the run ends.
    ///
    /// # Safety
    /// The caller and the fiber's worker are on the fiber. Nothing on the fiber is needed
    /// any more.
    pub(super) unsafe fn run_to_end(&self) -> ! {
        // The control registers may still have the values of the last task.
        self.worker().float_control.get().set();
        // SAFETY: `work_on_fiber` takes a fiber that its caller is on.
        unsafe { unwind::call_on_new_stack(work_on_fiber, ptr::from_ref(self).cast_mut().cast()) };
        self.flush();
        let worker = self.worker();
        // SAFETY: no task is on the fiber any more, and `base` is that of the calling thread.
        unsafe {
            let host_stack = worker.owned().host_stack();
            self.leave(worker, &host_stack.sanitizers, host_stack.base.get())
        }
    }

    /// Leaves the fiber for good, for the context `to`. `sanitizers` is the state of the stack of
    /// `to`. The fiber's own stack goes into the stack cache before the switch; only the worker's
    /// thread takes stacks out of that cache, and only after the switch.
    ///
    /// # Safety
    /// The caller is on the fiber, and the calling thread occupies `worker`. Nothing on
    /// the fiber is needed any more. `to` is valid for `switch::jump_to`.
    #[inline(always)] // see `SanitizerState::enter`
    pub(super) unsafe fn leave(
        &self,
        worker: &Worker,
        sanitizers: &SanitizerState,
        to: Context,
    ) -> ! {
        self.loop_start.set(LoopStart::OwnQueue);
        self.release_child_fibers();
        // SAFETY: the thread occupies the worker, nothing on the fiber is needed any more, and `to`
        // is valid for `jump_to`.
        unsafe {
            if let Some(stack) = self.stack {
                worker.owned().put_stack(stack);
            }
            sanitizers.enter(|| self.stack.is_none().then(|| self.sanitizer_state()));
            switch::jump_to(0, to, ptr::null_mut())
        }
    }

    /// Runs other tasks on top of the caller's task until `awaited` is over: see `Policy::help`.
    ///
    /// # Safety
    /// The caller is a task on this fiber, or on top of it.
    pub unsafe fn help(&self, awaited: &dyn Awaited) {
        let awaited = NonNull::from(awaited);
        // SAFETY: only the lifetime changes; the reference is removed before the return.
        let waits =
            unsafe { mem::transmute::<NonNull<dyn Awaited + '_>, NonNull<dyn Awaited>>(awaited) };
        let outer = self.awaited.replace(Some(waits));
        // SAFETY: the caller is on the fiber, and the row is its run's.
        self.work_on_top(|| unsafe {
            (self.place().row().operations.help)(OnStack::new(self), waits.as_ref());
        });
        self.awaited.set(outer);
    }

    /// See `Policy::wait_awake`.
    ///
    /// # Safety
    /// The caller is a task on this fiber.
    pub unsafe fn wait_awake(&self, awaited: &dyn Awaited) {
        // SAFETY: the caller is on the fiber, and the row is its run's.
        unsafe { (self.place().row().operations.wait_awake)(OnStack::new(self), awaited) };
    }

    /// True if a part of a loop may run on top of the task here, which waits for that loop: nothing
    /// lies on top of the task yet, and there is much room. (The frames in between take 5 KiB,
    /// which a task on the smallest stack cannot spare.)
    pub fn has_room_on_top(&self) -> bool {
        if self.help_depth.get() > 0 {
            return false;
        }
        if self.stack.is_none() {
            return self.worker().is_guest() && stack_room::left() >= ROOMY / 2;
        }
        self.usable_bytes >= ROOMY
            && registers::depth_below(ptr::from_ref(self).addr()) < self.usable_bytes / 2
    }

    /// Does work of other tasks on top of the task here.
    #[cold]
    #[inline(never)] // its frame is guarded
    pub(super) fn work_on_top(&self, work: impl FnOnce()) {
        // The other tasks have their own handled exceptions and control registers.
        let (handled, float) = (exceptions::take(), FloatControl::get());
        let (group, stop) = (self.group.replace(ptr::null()), self.stop.replace(ptr::null()));
        self.place().float_control.get().set();
        self.help_depth.set(self.help_depth.get() + 1);
        let frame = self.calling_frame.replace(registers::stack_pointer());
        let work = || self.wait.keep(work);
        unwind::call_guarded::<unwind::Task, _>(|| outside_section(self, work));
        self.calling_frame.set(frame);
        self.help_depth.set(self.help_depth.get() - 1);
        self.group.set(group);
        self.stop.set(stop);
        float.set();
        handled.put();
    }
}

/// Does work of other tasks on top of `fiber`'s task and on top of the task in the calling thread's
/// innermost section, if there is one. The other tasks are not in these two sections.
pub fn outside_section(fiber: &Fiber, work: impl FnOnce()) {
    let depth = fiber.section.depth.replace(0);
    let innermost = identity::innermost_section().filter(|innermost| !innermost.is_covered());
    innermost.inspect(|innermost| innermost.set_pinned(true));
    work();
    // The thread is the same as before `work`, since a fiber on top of a section cannot be left.
    innermost.inspect(|innermost| innermost.set_pinned(false));
    fiber.section.depth.set(depth);
}
