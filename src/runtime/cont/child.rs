//! The child of a spawn under kind `cont`: how it begins and ends. [`super`] has the essay.

use crate::fiber::switch::{self, Callee, Context};
use crate::fiber::{Instrumentation, listeners};
use crate::policy::DequePolicy;
use crate::policy::Place;
use crate::policy::operations::Hosted;
use crate::queue::{Deque, Owner};
use crate::runtime::continuation::spawner_fiber;
use crate::runtime::forked::{self, spawn_forked};
use crate::runtime::identity;
use crate::runtime::record::{Fiber, LoopStart, Worker};
use crate::runtime::suspend::{adopt, continuation_of, is_spawner, spawner_task};
use crate::sync::forked::Forked;
use crate::sys::unwind::ProgramFunction;
use crate::sys::{detector, errno, unwind};
use crate::task::{Task, TaskFn};
use std::ffi::{c_int, c_void};
use std::marker::PhantomData;
use std::mem;
use std::ptr;

const _: () = assert!(size_of::<*const Fiber>() <= switch::ROOM);

/// The child of a spawn or a fork. If the switches are
/// [`Instrumented`](crate::fiber::Instrumented), `fork` learns from the return value that no queue
/// has room, and runs the task in another way.
pub struct Child<P, I: Instrumentation, const IS_FORK: bool>(PhantomData<(P, I)>);

impl<P: DequePolicy, I: Instrumentation, const IS_FORK: bool> ProgramFunction
    for Child<P, I, IS_FORK>
{
    const NAME: &'static str = if IS_FORK { unwind::ForkedTask::NAME } else { unwind::Task::NAME };
}

impl<P: DequePolicy, I: Instrumentation, const IS_FORK: bool> Callee for Child<P, I, IS_FORK> {
    /// `f` is the function of a spawned task, or the address of a forked task's descriptor.
    #[inline(always)]
    unsafe extern "C" fn run(
        f: usize,
        closure: *mut c_void,
        worker: *const c_void,
        top: *mut u8,
        context: Context,
    ) {
        // SAFETY: `call` passes a worker's record, which is never freed, and this stack's fiber.
        let (worker, fiber) = unsafe { (&*worker.cast::<Worker>(), &*top.cast::<Fiber>()) };
        let room = switch::room_of(context);
        // SAFETY: the context was saved just now, and nobody else knows of it.
        unsafe { room.cast::<*const Fiber>().write(worker.fiber.get()) };
        if I::IS_ON {
            detector::own_bytes(context.addr(), switch::RESUMED_BYTES);
            detector::release(worker.fiber.get());
        }
        debug_assert!(ptr::eq(fiber.worker.get(), worker));
        fiber.spawner_context.set(context);
        if IS_FORK {
            fiber.descriptor.set(ptr::with_exposed_provenance(f));
        }
        fiber.make_current(worker);
        // SAFETY: by the promise made to `call`, the caller owns the worker, whose policy is `P`.
        unsafe {
            let policy = worker.policy::<P>();
            let mine = worker.owned();
            if !policy.spawn_quickly(worker.deque::<P::Deque>(), mine, spawner_task(room)) {
                return Self::run_slowly(f, closure, worker, fiber, context);
            }
            // From here on a thief may run the spawner.
            Self::call(f, closure, worker, fiber);
        }
    }

    #[inline(always)]
    unsafe extern "C" fn finish(top: *mut u8) -> Context {
        // SAFETY: `top` is the address of the fiber of this stack.
        let fiber = unsafe { &*top.cast::<Fiber>() };
        if fiber.section.is_open() {
            // SAFETY: in tail position of `finish`, as it requires.
            return unsafe { switch::finish_otherwise::<Self>(top, 0, ptr::null_mut()) };
        }
        let worker = fiber.worker(); // perhaps not the worker on which the child began
        // SAFETY: the policy of the run is `P`, by the promise made to `call`.
        let deque = unsafe { worker.deque::<P::Deque>() };
        // A task must not return in a process made by fork. A deque that is abandoned there fails
        // the pop below, and `finish_otherwise` checks. For the other deques the check is here.
        if !P::Deque::ABANDONED_IN_CHILD {
            worker.stay();
        }
        worker.counters().tasks.add(1);
        // SAFETY: the calling thread owns this worker, which is of the same run.
        let Some(next) = unsafe { Owner::new(deque) }.pop_quickly() else {
            // SAFETY: in tail position of `finish`, as it requires.
            return unsafe { switch::finish_otherwise::<Self>(top, 0, ptr::null_mut()) };
        };
        // SAFETY: the task was taken out of the queue, so it was published; only the caller has it.
        unsafe {
            if is_spawner(next) {
                let parent = fiber.parent_fiber.get();
                // If the fiber of `next` is not `parent`, the task of `parent` may have ended and
                // its stack may be gone, so the fibers are compared first.
                if ptr::eq(parent, spawner_fiber(next.closure))
                    && ptr::eq((*parent).child_fiber.get(), fiber)
                    && ptr::eq((*parent).worker.get(), worker)
                {
                    Self::end_unawaited(fiber);
                    worker.fiber.set(parent);
                    worker.child_fiber.set(fiber);
                    // This is also the context of `next`, read from the fiber at hand, so that the
                    // processor does not wait for a load through `next`.
                    return fiber.spawner_context.get();
                }
            }
            switch::finish_otherwise::<Self>(top, next.f as usize, next.closure)
        }
    }

    /// Ends a child that cannot return to its spawner. `f` and `closure` are the next task, which
    /// was taken out of the worker's queue. If `f` is 0, the queue seemed to be empty, or the task
    /// has returned in a blocking section, which ends the process.
    #[cold]
    unsafe extern "C" fn finish_otherwise(top: *mut u8, f: usize, closure: *mut c_void) -> Context {
        // SAFETY: `top` is the address of the fiber of this stack.
        let fiber = unsafe { &*top.cast::<Fiber>() };
        identity::check_section_closed(fiber);
        let worker = fiber.worker();
        worker.stay();
        // SAFETY: `f` is the address of a task's function, or 0.
        let next = match unsafe { mem::transmute::<usize, Option<TaskFn>>(f) } {
            Some(f) => Some(Task { f, closure }),
            // SAFETY: the calling thread owns this worker, which is of the same run.
            None => unsafe { Owner::new(worker.deque::<P::Deque>()).pop_slowly() },
        };
        Self::end(fiber, worker);
        // SAFETY: only the caller has the published task; it is on this fiber and owns its worker.
        unsafe {
            let policy = worker.policy::<P>();
            // (A deque with alarms fails the quick pop if a turn may be due.)
            let looks = f == 0 || worker.deque::<P::Deque>().private_part().is_none();
            if looks && is_turn_due::<P>(worker) {
                fiber
                    .first_task
                    .set(next.filter(|&next| policy.spawn(worker.owned(), next).is_err()));
                Self::run_outside(fiber);
            }
            if let Some(next) = next.and_then(|task| continuation_of(task)) {
                let context = adopt(worker, next);
                if listeners::any() {
                    worker.tell_switch(fiber);
                }
                fiber.leave(worker, worker.owned().fiber().sanitizer_state(), context)
            }
            fiber.first_task.set(next);
            fiber.run_to_end()
        }
    }
}

/// True if it is the turn of tasks from outside the run.
///
/// # Safety
/// The caller owns the worker, whose policy is `P`.
#[inline]
unsafe fn is_turn_due<P: DequePolicy>(worker: &Worker) -> bool {
    // SAFETY: the caller owns the worker, whose policy is `P`.
    worker.has_outside() && unsafe { worker.policy::<P>().is_turn_due(worker.owned()) }
}

/// Resumes a spawner, in its spawn, if no queue has room for its continuation.
extern "C" fn refused(_f: usize, _worker: *const c_void) -> c_int {
    errno::failed(libc::EAGAIN)
}

/// Resumes a spawner, in its fork, if no queue has room: runs the child in another way.
unsafe extern "C" fn fork_refused(forked: usize, worker: *const c_void) -> c_int {
    // SAFETY: `fork` has passed the descriptor and the worker; nobody has got the task.
    unsafe {
        spawn_forked(&*ptr::with_exposed_provenance(forked), &*worker.cast());
    }
    0
}

impl<P: DequePolicy, I: Instrumentation, const IS_FORK: bool> Child<P, I, IS_FORK> {
    /// The rest of `run`, after the deque's quick push has failed.
    ///
    /// # Safety
    /// The contract of `run`; `spawn_quickly` returned false just now.
    #[cold]
    #[inline(never)]
    unsafe extern "C" fn run_slowly(
        f: usize,
        closure: *mut c_void,
        worker: &Worker,
        fiber: &Fiber,
        context: Context,
    ) {
        let room = switch::room_of(context);
        // SAFETY: the caller owns the worker. If the queue is full, nobody else knows the context.
        unsafe {
            if worker.policy::<P>().finish_spawn(worker.owned(), spawner_task(room)).is_err() {
                let spawner_fiber = spawner_fiber(room);
                spawner_fiber.child_fiber.set(fiber);
                spawner_fiber.make_current(worker);
                let next: switch::Refused =
                    if IS_FORK && !I::IS_ON { fork_refused } else { refused };
                switch::refuse(context, next, f, ptr::from_ref(worker).cast());
            }
            Self::call(f, closure, worker, fiber);
        }
    }

    /// The last part of `run`: calls the child's function.
    ///
    /// # Safety
    /// The contract of `run`; the continuation is queued.
    #[inline(always)]
    unsafe fn call(f: usize, closure: *mut c_void, worker: &Worker, fiber: &Fiber) {
        // SAFETY: the caller owns the worker, whose policy and deque have these types.
        let is_due = unsafe {
            let is_unalarmed = worker.deque::<P::Deque>().private_part().is_none();
            is_unalarmed && is_turn_due::<P>(worker)
        };
        if worker.tick() || is_due {
            // SAFETY: the same contract as this function's.
            return unsafe { Self::call_after_outside(f, closure, worker, fiber) };
        }
        // SAFETY: nobody has begun the task.
        worker.call_at_once(unsafe { Self::task(f, closure) });
    }

    /// Like `call`, when a look at the tasks from outside the run is due. If there are any, they
    /// run first, and the child, which is queued as the youngest task, runs next.
    ///
    /// # Safety
    /// The contract of `call`.
    #[cold]
    #[inline(never)]
    unsafe extern "C" fn call_after_outside(
        f: usize,
        closure: *mut c_void,
        worker: &Worker,
        fiber: &Fiber,
    ) {
        fiber.release_scarce_child_fibers();
        // SAFETY: nobody has begun the task; the caller owns the worker, and is on its fiber.
        unsafe {
            let task = Self::task(f, closure);
            let policy = worker.policy::<P>();
            if !policy.has_injected() {
                return worker.call_at_once(task);
            }
            let task = if IS_FORK { forked::queued_task(&*fiber.descriptor.get()) } else { task };
            if policy.spawn(worker.owned(), task).is_err() {
                fiber.first_task.set(Some(task));
            }
            Self::run_outside(fiber)
        }
    }

    /// Begins a loop on the child's fiber that first takes tasks from outside the run.
    ///
    /// # Safety
    /// The contract of `Fiber::run_to_end`.
    unsafe fn run_outside(fiber: &Fiber) -> ! {
        fiber.loop_start.set(LoopStart::Injector);
        fiber.nesting.set(0); // the tasks from outside are nested in none
        // SAFETY: the caller is on the fiber, on which nothing is needed any more.
        unsafe { fiber.run_to_end() }
    }

    /// # Safety
    /// `f` and `closure` are the arguments of `call`; nobody has begun the task.
    #[inline(always)]
    unsafe fn task(f: usize, closure: *mut c_void) -> Task {
        // SAFETY: `f` is what `fork` or `spawn` has passed: a descriptor or a function.
        let f = unsafe {
            if IS_FORK {
                (*ptr::with_exposed_provenance::<Forked>(f)).task_begun().f
            } else {
                mem::transmute::<usize, TaskFn>(f)
            }
        };
        Task { f, closure }
    }

    /// Marks a forked child as ended when it returns to its spawner. No waiter needs a wake: the
    /// spawner is still at the fork, and nobody else may join the child.
    ///
    /// # Safety
    /// The task has ended.
    #[inline(always)]
    unsafe fn end_unawaited(fiber: &Fiber) {
        if IS_FORK {
            // SAFETY: the descriptor lives until it is joined, and it is not joined yet.
            unsafe { (*fiber.descriptor.get()).end_unawaited() };
        }
    }

    /// Marks a forked child as ended, and wakes the waiter if there is one.
    #[inline(always)]
    fn end(fiber: &Fiber, worker: &Worker) {
        if IS_FORK {
            // SAFETY: the descriptor lives until the task has ended; the caller owns the worker.
            unsafe { forked::end(&*fiber.descriptor.get(), worker) };
        }
    }
}
