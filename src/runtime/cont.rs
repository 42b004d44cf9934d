//! Kind `cont`: continuation stealing. A spawn calls the child at once, on another stack; what
//! is left of the spawner is the task that others may take (E. Mohr, D. Kranz and R. Halstead,
//! "Lazy task creation: a technique for increasing the granularity of parallel programs", 1991;
//! M. Frigo, C. Leiserson and K. Randall, "The implementation of the Cilk-5 multithreaded
//! language", 1998; C. Yang and J. Mellor-Crummey, 2016, for whole stacks).
//!
//! So one worker runs the program in its serial order, and a flood of spawns needs one stack and one
//! place in the queue, instead of a place for each task. The rest is kind `steal`: its deques, its
//! search, its sleep, its end. What lies in the deques are continuations, which any worker resumes.
//!
//! # Protocol
//!
//! ```text
//! spawn   saves its own context, and calls on the fiber above its own
//! enter   makes the context known: the task {resume_spawner, room of the context} in the own deque
//!         calls the child
//! leave   pops the deque: the youngest there is the spawner, unless it was taken
//!         yes: returns to it; no: goes on with the other, or becomes a worker's loop
//! ```
//! The deque is used on the child's stack only: so whoever takes the continuation finds it complete, and
//! nothing runs on the spawner's.
//!
//! # Whose the fiber above is
//!
//! A fiber keeps the one *above*, on which the children of its task run, one after the other. It is taken from the
//! stack cache at the first spawn. While the spawner waits for its child in a deque, that is on the fiber above; who
//! continues the spawner in any other way than by the child's return ([`detach_spawner`]) makes `above` null before: the child's
//! fiber is the child's own from then on, and the next spawn takes another.
//!
//! So a child that pops a spawner, of the fiber *below* its own, whose `above` is its own still, returns from the very
//! spawn that has called it: a fiber waits at one spawn at a time. (Not so if the worker is not that fiber's, too: then
//! the spawner is continued like any other task.) The callee-saved registers are what they were there, since each
//! function has preserved them, and are not loaded again. (The child may have waited, and come back on another worker,
//! with the same registers. What it pops there is that worker's youngest: perhaps its own spawner's continuation at a
//! later spawn, which has the same address. That has another fiber above.) A thief that holds the spawner may be late
//! with the null. Until it is there, nobody finds that spawner in a deque.
//!
//! `above` is of the same worker: a fiber has none whenever another worker goes on with it.
//!
//! Fibers above the current one pile up to the depth that the recursion has had. They go back to the stack cache at
//! each tick, when a task waits or gives way, and when the loop has found its deque empty.
//!
//! # Floating-point controls
//!
//! They are saved with the context, and loaded where another than the child goes on with it. The child begins with them,
//! as if it were called. (To compare them first with the run's costs a sixth of a spawn on Zen 3, where the load waits for
//! the store of MXCSR, and that for all before it.) A loop that goes on in the child's place loads the run's.
//!
//! # Where there is no stack
//!
//! A task that lies below another run, or on its thread's own stack, cannot be left; and there may be no
//! memory for a stack. Then the child is queued, as in kind `steal`.
//!
//! # Cost
//!
//! No atomic read-modify-write and no fence where nobody steals. Calls and returns are in pairs, so the
//! processor predicts where a child returns to. `enter` and `leave` have no frames and save no registers, since
//! whatever is rare is a call in tail position. The functions on the way of a spawn lie side by side (`.text.hot`):
//! spread over the library they take some 7 % more. Runs in which each switch is to be told to somebody, a sanitizer
//! or C++'s runtime, have a spawn of their own.

use crate::fiber::switch::{Callee, Context};
use crate::fiber::{exceptions, switch};
use crate::policy::operations::Hosted;
use crate::policy::stealing::Stealing;
use crate::policy::{Place, Policy};
use crate::queue::{Deque, Owner};
use crate::runtime::continuation::spawner_fiber;
use crate::runtime::forked::{self, misuse, spawn_forked};
use crate::runtime::identity::{self, Mine};
use crate::runtime::record::{Fiber, LoopStart, Worker};
use crate::runtime::suspend::{adopt_task, is_continuation, is_spawner, spawner_task};
use crate::sync::forked::Forked;
use crate::sys::unwind::ProgramFunction;
use crate::sys::{errno, unwind};
use crate::task::{Task, TaskFn};
use std::ffi::{c_int, c_void};
use std::marker::PhantomData;
use std::mem;
use std::ptr;

const _: () = assert!(size_of::<*const Fiber>() <= switch::ROOM);

/// `sched_spawn`, with its outcome. `INSTRUMENTED`: somebody is told of each switch.
///
/// # Safety
/// If the caller owns `worker`, its run is one of `Stealing<D>`; `f` accepts `closure`.
#[unsafe(link_section = ".text.hot")]
pub unsafe extern "C" fn spawn<D: Deque, const INSTRUMENTED: bool>(
    f: Option<TaskFn>,
    closure: *mut c_void,
    worker: &Worker,
) -> c_int {
    if !worker.is_mine() {
        // SAFETY: passed on.
        return unsafe { Worker::spawn_elsewhere(f, closure, worker) };
    }
    match (f, above(worker)) {
        (Some(f), Some(above)) => {
            // SAFETY: by the caller's promise.
            unsafe {
                call::<Child<D, false, false>, INSTRUMENTED>(f as usize, closure, worker, above)
            }
        }
        // SAFETY: passed on.
        _ => unsafe { spawn_slowly::<D, INSTRUMENTED>(f, closure, worker) },
    }
}

/// `sched_fork`.
///
/// # Safety
/// As for `spawn`; the descriptor lives until it is joined.
#[unsafe(link_section = ".text.hot")]
pub unsafe extern "C" fn fork<D: Deque, const INSTRUMENTED: bool>(
    forked: &Forked,
    f: Option<TaskFn>,
    closure: *mut c_void,
    worker: &Worker,
) {
    if worker.is_mine()
        && let (Some(f), Some(above)) = (f, above(worker))
    {
        forked.set_begun(f, closure);
        let child = ptr::from_ref(forked).expose_provenance();
        // SAFETY: by the caller's promise; if it was refused, nobody has got it.
        unsafe {
            let outcome =
                call::<Child<D, true, INSTRUMENTED>, INSTRUMENTED>(child, closure, worker, above);
            if INSTRUMENTED && outcome != 0 {
                spawn_forked(forked, worker);
            }
        }
        return;
    }
    // SAFETY: passed on.
    unsafe { fork_slowly::<D, INSTRUMENTED>(forked, f, closure, worker) }
}

/// The fiber for the next child.
#[inline(always)]
fn above(worker: &Worker) -> Option<&Fiber> {
    // SAFETY: it is the worker's fiber's, and stays as long.
    unsafe { worker.child_fiber.get().as_ref() }
}

/// Calls the child on the fiber above the worker's.
///
/// # Safety
/// The caller owns the worker, and is on its fiber.
#[inline(always)]
unsafe fn call<C: Callee, const INSTRUMENTED: bool>(
    child: usize,
    closure: *mut c_void,
    worker: &Worker,
    above: &Fiber,
) -> c_int {
    if INSTRUMENTED {
        // SAFETY: passed on.
        return unsafe { call_instrumented::<C>(child, closure, worker, above) };
    }
    let top = ptr::from_ref(above).cast_mut().cast(); // it lies where its stack begins
    // SAFETY: the stack is the caller's, and nobody is on it.
    unsafe { switch::call_on_stack::<C>(child, closure, ptr::from_ref(worker).cast(), top) }
}

/// `call`, where somebody is told.
///
/// # Safety
/// As for `call`.
#[inline(never)] // so that nothing thread-local is remembered across it
unsafe fn call_instrumented<C: Callee>(
    child: usize,
    closure: *mut c_void,
    worker: &Worker,
    above: &Fiber,
) -> c_int {
    // SAFETY: by the caller's promise.
    let below = unsafe { worker.owned() }.fiber();
    let handled = exceptions::take();
    below.resumed_by_other.set(false);
    above.sanitizer_state().enter_new(|| below.sanitizer_state());
    // SAFETY: passed on.
    let outcome = unsafe { call::<C, false>(child, closure, worker, above) };
    if !below.resumed_by_other.get() {
        below.sanitizer_state().enter(|| None);
    }
    handled.put();
    outcome
}

/// `spawn`, if there is no stack at hand.
///
/// # Safety
/// As for that.
#[cold]
#[inline(never)]
unsafe extern "C" fn spawn_slowly<D: Deque, const INSTRUMENTED: bool>(
    f: Option<TaskFn>,
    closure: *mut c_void,
    worker: &Worker,
) -> c_int {
    let Some(task) = f else { return errno::failed(libc::EINVAL) };
    // SAFETY: passed on; the caller owns the worker.
    match extend(unsafe { worker.owned() }) {
        // SAFETY: passed on.
        Some(_) => unsafe { spawn::<D, INSTRUMENTED>(f, closure, worker) },
        // SAFETY: passed on.
        None => unsafe { (worker.row().queue)(task, closure, worker) },
    }
}

/// `fork`, if there is no stack at hand.
///
/// # Safety
/// As for that.
#[cold]
#[inline(never)]
unsafe extern "C" fn fork_slowly<D: Deque, const INSTRUMENTED: bool>(
    forked: &Forked,
    f: Option<TaskFn>,
    closure: *mut c_void,
    worker: &Worker,
) {
    let Some(task) = f else { misuse("sched_fork", "f is NULL") };
    // SAFETY: passed on.
    unsafe {
        if worker.is_mine() && extend(worker.owned()).is_some() {
            return fork::<D, INSTRUMENTED>(forked, f, closure, worker);
        }
        forked.set_begun(task, closure);
        spawn_forked(forked, worker);
    }
}

/// Gives the worker's fiber one above, if it can be left and there is a stack.
#[cold]
#[inline(never)]
fn extend(mine: Mine<'_>) -> Option<&Fiber> {
    let (worker, fiber) = (mine.worker(), mine.fiber());
    if fiber.can_be_left()
        && let Ok(stack) = mine.take_stack()
    {
        let above = Fiber::on(stack);
        above.worker.set(worker);
        above.parent_fiber.set(fiber);
        fiber.child_fiber.set(above);
        fiber.leave_limit.set(0);
        worker.child_fiber.set(above);
    }
    above(worker)
}

/// A spawned task; or a forked one. `INSTRUMENTED`: `fork` is told by the outcome that it was refused.
struct Child<D, const FORKED: bool, const INSTRUMENTED: bool>(PhantomData<D>);

impl<D: Deque, const FORKED: bool, const INSTRUMENTED: bool> ProgramFunction
    for Child<D, FORKED, INSTRUMENTED>
{
    const NAME: &'static str = if FORKED { unwind::ForkedTask::NAME } else { unwind::Task::NAME };
}

impl<D: Deque, const FORKED: bool, const INSTRUMENTED: bool> Callee
    for Child<D, FORKED, INSTRUMENTED>
{
    /// `f`: the function; or the descriptor of a forked task.
    #[unsafe(link_section = ".text.hot")]
    unsafe extern "C" fn run(
        f: usize,
        closure: *mut c_void,
        worker: *const c_void,
        top: *mut u8,
        context: Context,
    ) {
        // SAFETY: what `call` passes; records of workers are not freed, and that fiber is its stack's.
        let (worker, fiber) = unsafe { (&*worker.cast::<Worker>(), &*top.cast::<Fiber>()) };
        let room = switch::room_of(context);
        // SAFETY: saved just now, and nobody knows of it.
        unsafe { room.cast::<*const Fiber>().write(worker.fiber.get()) };
        debug_assert!(ptr::eq(fiber.worker.get(), worker));
        fiber.spawner_context.set(context);
        if FORKED {
            fiber.descriptor.set(ptr::with_exposed_provenance(f));
        }
        fiber.make_current(worker);
        // SAFETY: the caller owns the worker, whose kind and deque these are; passed on.
        unsafe {
            let policy = worker.policy::<Stealing<D>>();
            if !policy.spawn_quickly(worker.deque::<D>(), worker, spawner_task(room)) {
                return Self::enter_slowly(f, closure, worker, fiber, context);
            }
            // From here on the spawner may run elsewhere.
            Self::call(f, closure, worker, fiber);
        }
    }

    #[unsafe(link_section = ".text.hot")]
    unsafe extern "C" fn finish(top: *mut u8) -> Context {
        // SAFETY: as above.
        let fiber = unsafe { &*top.cast::<Fiber>() };
        if fiber.section.is_open() {
            // SAFETY: as said there.
            return unsafe { switch::finish_otherwise::<Self>(top, 0, ptr::null_mut()) };
        }
        let worker = fiber.worker(); // another than at first, perhaps
        // SAFETY: the run is one of `Stealing<D>`, as the caller of `call` promised.
        let deque = unsafe { worker.deque::<D>() };
        // Where a child made by fork abandons its copy of the deque, nothing is popped there.
        if !D::ABANDONED_IN_CHILD {
            worker.stay();
        }
        worker.counters().tasks.add(1);
        // SAFETY: the calling thread's worker, of the same run.
        let Some(next) = unsafe { Owner::new(deque) }.pop_quickly() else {
            // SAFETY: as said there.
            return unsafe { switch::finish_otherwise::<Self>(top, 0, ptr::null_mut()) };
        };
        // SAFETY: out of the queue, so published, and the caller's.
        unsafe {
            if is_spawner(next) {
                let below = fiber.parent_fiber.get();
                // (`below` is what it was if that is noted. Else its task may have ended, and its stack be gone.)
                if ptr::eq(below, spawner_fiber(next.closure))
                    && ptr::eq((*below).child_fiber.get(), fiber)
                    && ptr::eq((*below).worker.get(), worker)
                {
                    Self::end_unawaited(fiber);
                    worker.fiber.set(below);
                    worker.child_fiber.set(fiber);
                    // That of `next`, but at hand: so the processor need not wait for what it loads.
                    return fiber.spawner_context.get();
                }
            }
            switch::finish_otherwise::<Self>(top, next.f as usize, next.closure)
        }
    }

    /// The next task, which is out of the worker's queue, is not the spawner that waits for this; or that seems to be
    /// empty, `f` being 0.
    #[cold]
    unsafe extern "C" fn finish_otherwise(top: *mut u8, f: usize, closure: *mut c_void) -> ! {
        // SAFETY: as above.
        let fiber = unsafe { &*top.cast::<Fiber>() };
        identity::check_section_closed(fiber);
        let worker = fiber.worker();
        worker.stay();
        // SAFETY: a task's function, or none.
        let next = match unsafe { mem::transmute::<usize, Option<TaskFn>>(f) } {
            Some(f) => Some(Task { f, closure }),
            // SAFETY: the calling thread's worker, of the same run.
            None => unsafe { Owner::new(worker.deque::<D>()).pop_slowly() },
        };
        Self::end(fiber, worker);
        // SAFETY: out of the queue, so published, and the caller's; on this fiber, with its worker.
        unsafe {
            if let Some(next) = next
                && is_continuation(next)
            {
                let context = adopt_task(worker, next);
                fiber.leave(worker, worker.owned().fiber().sanitizer_state(), context)
            }
            fiber.first_task.set(next);
            fiber.run_to_end()
        }
    }
}

/// What a spawn does whose continuation no queue has room for.
extern "C" fn refused(_f: usize, _worker: *const c_void) -> c_int {
    errno::failed(libc::EAGAIN)
}

/// What such a fork does.
unsafe extern "C" fn fork_refused(forked: usize, worker: *const c_void) -> c_int {
    // SAFETY: what `fork` has passed; nobody has got the task.
    unsafe {
        spawn_forked(&*ptr::with_exposed_provenance(forked), &*worker.cast());
    }
    0
}

impl<D: Deque, const FORKED: bool, const INSTRUMENTED: bool> Child<D, FORKED, INSTRUMENTED> {
    /// The rest of `enter`, if the continuation is half queued.
    ///
    /// # Safety
    /// As for that.
    #[cold]
    #[inline(never)]
    unsafe extern "C" fn enter_slowly(
        f: usize,
        closure: *mut c_void,
        worker: &Worker,
        fiber: &Fiber,
        context: Context,
    ) {
        let room = switch::room_of(context);
        // SAFETY: the caller owns the worker; the context is known to nobody, if it was refused.
        unsafe {
            if worker.policy::<Stealing<D>>().spawn_slowly(worker, spawner_task(room)).is_err() {
                let below = spawner_fiber(room);
                below.child_fiber.set(fiber);
                below.make_current(worker);
                let next = if FORKED && !INSTRUMENTED { fork_refused } else { refused };
                switch::refuse(context, next, f, ptr::from_ref(worker).cast());
            }
            Self::call(f, closure, worker, fiber);
        }
    }

    /// The last of `enter`.
    ///
    /// # Safety
    /// As for that; the continuation is queued.
    #[inline(always)]
    unsafe fn call(f: usize, closure: *mut c_void, worker: &Worker, fiber: &Fiber) {
        if worker.tick() {
            // SAFETY: passed on.
            return unsafe { Self::call_late(f, closure, worker, fiber) };
        }
        // SAFETY: nobody has begun it.
        worker.call(unsafe { Self::task(f, closure) });
    }

    /// `call`, if it is time to look for tasks from outside: they come first, and this, as the youngest, next.
    ///
    /// # Safety
    /// As for `call`.
    #[cold]
    #[inline(never)]
    unsafe extern "C" fn call_late(f: usize, closure: *mut c_void, worker: &Worker, fiber: &Fiber) {
        fiber.release_child_fibers();
        // SAFETY: nobody has begun it; the caller owns the worker, and is on its fiber.
        unsafe {
            let task = Self::task(f, closure);
            let policy = worker.policy::<Stealing<D>>();
            if !policy.is_called() {
                return worker.call(task);
            }
            let task = if FORKED { forked::queued_task(&*fiber.descriptor.get()) } else { task };
            if policy.spawn(worker, task).is_err() {
                fiber.first_task.set(Some(task));
            }
            fiber.loop_start.set(LoopStart::Injector);
            fiber.run_to_end()
        }
    }

    /// # Safety
    /// What `call` has got; nobody has begun it.
    #[inline(always)]
    unsafe fn task(f: usize, closure: *mut c_void) -> Task {
        // SAFETY: by the caller's promise.
        let f = unsafe {
            if FORKED {
                (*ptr::with_exposed_provenance::<Forked>(f)).task_begun().f
            } else {
                mem::transmute::<usize, TaskFn>(f)
            }
        };
        Task { f, closure }
    }

    /// The spawner is at hand: it waits at a fork, and nobody but it may join the child.
    ///
    /// # Safety
    /// The task has ended.
    #[inline(always)]
    unsafe fn end_unawaited(fiber: &Fiber) {
        if FORKED {
            // SAFETY: who waits keeps it.
            unsafe { (*fiber.descriptor.get()).end_unawaited() };
        }
    }

    /// The spawner is not at hand: if it waits for a forked child, it is to be told.
    #[inline(always)]
    fn end(fiber: &Fiber, worker: &Worker) {
        if FORKED {
            // SAFETY: the task has ended; the worker is the caller's.
            unsafe { forked::end(&*fiber.descriptor.get(), worker) };
        }
    }
}
