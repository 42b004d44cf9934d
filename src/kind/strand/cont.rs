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
//! spawn   takes a stack from the rack, saves its own context, and calls on that stack
//! enter   makes the context known: the task {resume, continuation} in the own deque
//!         calls the child
//! leave   pops the deque: the youngest there is the spawner, unless it was taken
//!         yes: returns to it, and the stack is free; no: becomes a worker's loop
//! ```
//! The deque is used on the child's stack only: so whoever takes the continuation finds it complete, and
//! nothing runs on the spawner's.
//!
//! The child may have waited, and come back on another worker. What it pops there is that worker's
//! youngest task: perhaps another continuation, or its own spawner's at a later spawn, which has
//! the same address. Any is as good: the child needs to know nothing of its spawner but what
//! the deque holds.
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
//! whatever is rare is a call in tail position. Runs in which each switch is to be told to somebody, a sanitizer
//! or C++'s runtime, have a spawn of their own.

use super::aside::{Continuation, arrive, is_continuation, take_over, task_of};
use super::{Looks, Strand};
use crate::base::thread;
use crate::fiber::exceptions;
use crate::fiber::stack::Stack;
use crate::fiber::switch::{self, Callee, Context};
use crate::kind::forked::{self, fork_elsewhere, misuse};
use crate::kind::section;
use crate::kind::stealing::Stealing;
use crate::kind::worker::Worker;
use crate::kind::{Kind, Place};
use crate::queue::{Deque, Owner};
use crate::sync::forked::Forked;
use crate::task::{Task, TaskFn};
use std::ffi::{c_int, c_void};
use std::marker::PhantomData;
use std::ptr;

const _: () = assert!(size_of::<Continuation>() <= switch::ROOM);

/// What is left of a spawner, beside its context.
///
/// # Safety
/// Of a context that a spawn has saved, and nobody has continued.
#[inline(always)]
unsafe fn continuation(context: Context) -> *mut Continuation {
    // SAFETY: passed on.
    unsafe { switch::room_of(context).cast() }
}

/// `sched_spawn`, with its outcome. `TOLD`: somebody is told of each switch.
///
/// # Safety
/// If the caller owns `worker`, its run is one of `Stealing<D>`; `f` accepts `closure`.
pub unsafe extern "C" fn spawn<D: Deque, const TOLD: bool>(
    f: Option<TaskFn>,
    closure: *mut c_void,
    worker: &Worker,
) -> c_int {
    if !worker.is_mine() {
        // SAFETY: passed on.
        return unsafe { Worker::spawn_elsewhere(f, closure, worker) };
    }
    match (f, worker.rack.next()) {
        (Some(f), Some(stack)) if worker.strand().can_be_left() => {
            // SAFETY: by the caller's promise.
            unsafe { call::<Child<D, false>, TOLD>(f as usize, closure, worker, stack) }
        }
        // SAFETY: passed on.
        _ => unsafe { spawn_slowly::<D, TOLD>(f, closure, worker) },
    }
}

/// `sched_fork`.
///
/// # Safety
/// The run of `worker` is one of `Stealing<D>`; `f` accepts `closure`; the descriptor lives until it is joined.
pub unsafe extern "C" fn fork<D: Deque, const TOLD: bool>(
    forked: &Forked,
    f: Option<TaskFn>,
    closure: *mut c_void,
    worker: &Worker,
) {
    let Some(f) = f else { misuse("sched_fork", "f is NULL") };
    forked.set_begun(f, closure);
    if worker.is_mine()
        && let Some(stack) = worker.rack.next()
        && worker.strand().can_be_left()
    {
        let child = ptr::from_ref(forked).expose_provenance();
        // SAFETY: as in `spawn`.
        if unsafe { call::<Child<D, true>, TOLD>(child, ptr::null_mut(), worker, stack) } == 0 {
            return;
        }
    }
    // SAFETY: passed on; nobody has got it.
    unsafe { fork_elsewhere(forked, worker) };
}

/// Calls the child on the stack, which is the next of the worker's rack.
///
/// # Safety
/// The caller owns the worker, and is on its strand, which can be left.
#[inline(always)]
unsafe fn call<C: Callee, const TOLD: bool>(
    child: usize,
    closure: *mut c_void,
    worker: &Worker,
    stack: Stack,
) -> c_int {
    if TOLD {
        // SAFETY: passed on.
        return unsafe { call_told::<C>(child, closure, worker, stack) };
    }
    // SAFETY: the stack is the worker's, and `enter` takes it.
    unsafe { switch::call::<C>(child, closure, ptr::from_ref(worker).cast(), Strand::top(stack)) }
}

/// `call`, where somebody is told.
///
/// # Safety
/// As for `call`.
#[inline(never)] // so that nothing thread-local is remembered across it
unsafe fn call_told<C: Callee>(
    child: usize,
    closure: *mut c_void,
    worker: &Worker,
    stack: Stack,
) -> c_int {
    let (below, handled) = (worker.strand(), exceptions::take());
    below.arrived.set(false);
    stack.side().enter_new(|| below.side());
    // SAFETY: passed on.
    let outcome = unsafe { call::<C, false>(child, closure, worker, stack) };
    if !below.arrived.get() {
        below.side().enter(|| None);
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
unsafe extern "C" fn spawn_slowly<D: Deque, const TOLD: bool>(
    f: Option<TaskFn>,
    closure: *mut c_void,
    worker: &Worker,
) -> c_int {
    let Some(task) = f else { return thread::failed(libc::EINVAL) };
    if worker.strand().can_be_left()
        && let Ok(stack) = worker.rack.take()
    {
        Strand::on(stack); // it is there from now on
        // SAFETY: nobody is on it; passed on.
        unsafe {
            worker.rack.put(stack);
            spawn::<D, TOLD>(f, closure, worker)
        }
    } else {
        // SAFETY: passed on.
        unsafe { (worker.row().queue)(task, closure, worker) }
    }
}

/// A spawned task; or a forked one.
struct Child<D, const FORKED: bool>(PhantomData<D>);

impl<D: Deque, const FORKED: bool> Callee for Child<D, FORKED> {
    /// `f`: the function; or the descriptor of a forked task.
    unsafe extern "C" fn enter(
        f: usize,
        closure: *mut c_void,
        worker: *const c_void,
        context: Context,
        top: *mut u8,
    ) {
        // SAFETY: what `call` passes; records of workers are not freed, and that strand is its stack's.
        let (worker, strand) = unsafe { (&*worker.cast::<Worker>(), &*top.cast::<Strand>()) };
        // SAFETY: saved just now, and nobody knows of it; passed on.
        unsafe {
            if switch::float_of(context) != worker.float.get() {
                return Self::enter_tuned(f, closure, worker, context, strand);
            }
            Self::begin(f, closure, worker, context, strand);
        }
    }

    unsafe extern "C" fn leave(top: *mut u8) -> Context {
        // SAFETY: as above.
        let strand = unsafe { &*top.cast::<Strand>() };
        section::check_closed(strand);
        let worker = strand.worker(); // another than at first, perhaps
        worker.stay();
        worker.counters().tasks.add(1);
        // SAFETY: the calling thread's worker, of the same run.
        let mut own = unsafe { Owner::new(worker.deque::<D>()) };
        let Some(next) = own.pop_quickly() else { return Self::leave_last(strand) };
        // Compared with what is at hand: so the processor need not wait for what it loads.
        let context = strand.spawner.get();
        // SAFETY: out of the queue, so published, and the caller's.
        unsafe {
            if is_continuation(next)
                && let Continuation { context: there, strand: below } = *next.closure.cast()
                && there == context
                && Self::is_at_hand(context, &*below, worker)
                && !(*below).tuned.get()
                && worker.rack.misses(strand.stack.unwrap_unchecked())
            {
                Self::end_unawaited(strand);
                worker.strand.set(below);
                worker.rack.put_back();
                context
            } else {
                Self::leave_for(strand, next.f, next.closure)
            }
        }
    }

    unsafe extern "C" fn arrive(left: *mut c_void, room: *mut c_void) {
        // SAFETY: of this context, which is continued now.
        unsafe {
            let strand = &*(*room.cast::<Continuation>()).strand;
            strand.tuned.set(false);
            strand.arrived.set(true);
            arrive(strand.worker(), left);
        }
    }
}

impl<D: Deque, const FORKED: bool> Child<D, FORKED> {
    /// `enter`, if the spawner has other floating-point controls than the run's, with which tasks begin.
    ///
    /// # Safety
    /// As for that.
    #[cold]
    #[inline(never)]
    unsafe extern "C" fn enter_tuned(
        f: usize,
        closure: *mut c_void,
        worker: &Worker,
        context: Context,
        strand: &Strand,
    ) {
        worker.strand().tuned.set(true);
        worker.float.get().set();
        // SAFETY: passed on.
        unsafe { Self::begin(f, closure, worker, context, strand) }
    }

    /// The rest of `enter`.
    ///
    /// # Safety
    /// As for that.
    #[inline(always)]
    unsafe fn begin(
        f: usize,
        closure: *mut c_void,
        worker: &Worker,
        context: Context,
        strand: &Strand,
    ) {
        // SAFETY: saved just now, and nobody knows of it; the strand is the spawner's, which nobody else runs yet.
        let this = unsafe {
            let this = continuation(context);
            this.write(Continuation { context, strand: worker.strand.get() });
            task_of(this)
        };
        worker.rack.take_seen();
        strand.worker.set(worker);
        strand.spawner.set(context);
        if FORKED {
            strand.forked.set(ptr::with_exposed_provenance(f));
        }
        worker.strand.set(strand);
        // SAFETY: the caller owns the worker, whose kind and deque these are; passed on.
        unsafe {
            if !worker.kind::<Stealing<D>>().spawn_quickly(worker.deque::<D>(), worker, this) {
                return Self::begin_slowly(f, closure, worker, strand);
            }
            // From here on the spawner may run elsewhere.
            Self::call(f, closure, worker, strand);
        }
    }

    /// The rest of `begin`, if the continuation is half queued.
    ///
    /// # Safety
    /// As for that.
    #[cold]
    #[inline(never)]
    unsafe extern "C" fn begin_slowly(
        f: usize,
        closure: *mut c_void,
        worker: &Worker,
        strand: &Strand,
    ) {
        // SAFETY: the caller owns the worker; the context is known to nobody, if it was refused.
        unsafe {
            let context = strand.spawner.get();
            let this = continuation(context);
            if worker.kind::<Stealing<D>>().spawn_slowly(worker, task_of(this)).is_err() {
                Self::back(strand, worker, &*(*this).strand);
                Self::tune(context, worker);
                switch::refuse(context, thread::failed(libc::EAGAIN));
            }
            Self::call(f, closure, worker, strand);
        }
    }

    /// The last of `enter`.
    ///
    /// # Safety
    /// As for that; the continuation is queued.
    #[inline(always)]
    unsafe fn call(f: usize, closure: *mut c_void, worker: &Worker, strand: &Strand) {
        if worker.tick() {
            // SAFETY: passed on.
            return unsafe { Self::call_late(f, closure, worker, strand) };
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
    unsafe extern "C" fn call_late(
        f: usize,
        closure: *mut c_void,
        worker: &Worker,
        strand: &Strand,
    ) {
        // SAFETY: nobody has begun it; the caller owns the worker, and is on its strand.
        unsafe {
            let task = Self::task(f, closure);
            let kind = worker.kind::<Stealing<D>>();
            if !kind.is_called() {
                return worker.call(task);
            }
            let task = if FORKED { forked::queued(&*strand.forked.get()) } else { task };
            if kind.spawn(worker, task).is_err() {
                strand.first.set(Some(task));
            }
            strand.looks.set(Looks::Outside);
            strand.go_through()
        }
    }

    /// # Safety
    /// What `call` has got; nobody has begun it.
    #[inline(always)]
    unsafe fn task(f: usize, closure: *mut c_void) -> Task {
        // SAFETY: by the caller's promise.
        unsafe {
            if FORKED {
                (*ptr::with_exposed_provenance::<Forked>(f)).task_begun()
            } else {
                Task { f: std::mem::transmute::<usize, TaskFn>(f), closure }
            }
        }
    }

    /// True if the child on this worker's strand can return there: a spawn of its own kind has saved the context,
    /// on a strand that this worker was on last.
    ///
    /// # Safety
    /// It was published, and is the caller's.
    #[inline(always)]
    unsafe fn is_at_hand(context: Context, below: &Strand, worker: &Worker) -> bool {
        // SAFETY: passed on.
        ptr::eq(below.worker.get(), worker) && unsafe { switch::has_called::<Self>(context) }
    }

    /// The child on this strand is about to return to a spawner, on the strand `below`, with `worker`.
    ///
    /// # Safety
    /// As said; they are the caller's.
    #[inline(always)]
    unsafe fn back(strand: &Strand, worker: &Worker, below: &Strand) {
        worker.strand.set(below);
        // SAFETY: it is left by the return.
        unsafe { worker.rack.put(strand.stack.unwrap_unchecked()) };
    }

    /// The calling thread is about to go on there, at a spawn.
    ///
    /// # Safety
    /// The context is the caller's; its strand is the worker's.
    unsafe fn tune(context: Context, worker: &Worker) {
        worker.strand().tuned.set(false);
        // SAFETY: by the caller's promise.
        unsafe { switch::float_of(context) }.set();
    }

    /// `leave`, if the next task is not the spawner at hand; or it is tuned.
    ///
    /// # Safety
    /// As for that; the task is out of the worker's queue.
    #[cold]
    #[inline(never)]
    unsafe extern "C" fn leave_for(strand: &Strand, f: TaskFn, closure: *mut c_void) -> Context {
        let (worker, next) = (strand.worker(), Task { f, closure });
        if !is_continuation(next) {
            Self::stay_with(strand, Some(next));
        }
        let next: *const Continuation = closure.cast();
        // SAFETY: out of the queue, so published, and the caller's.
        unsafe {
            let Continuation { context, strand: below } = *next;
            if context == strand.spawner.get() && Self::is_at_hand(context, &*below, worker) {
                Self::end_unawaited(strand);
                Self::back(strand, worker, &*below);
                Self::tune(context, worker);
                return context;
            }
            Self::end(strand, worker);
            let context = take_over(worker, next);
            strand.leave(worker, worker.strand().side(), context)
        }
    }

    /// `leave`, if the queue seems to be empty.
    #[cold]
    #[inline(never)]
    extern "C" fn leave_last(strand: &Strand) -> Context {
        // SAFETY: the calling thread's worker, of the same run.
        let next = unsafe { Owner::new(strand.worker().deque::<D>()).pop_slowly() };
        match next {
            // SAFETY: out of the queue.
            Some(Task { f, closure }) => unsafe { Self::leave_for(strand, f, closure) },
            None => Self::stay_with(strand, None),
        }
    }

    /// The child's stack becomes a worker's loop.
    fn stay_with(strand: &Strand, first: Option<Task>) -> ! {
        strand.first.set(first);
        Self::end(strand, strand.worker());
        // SAFETY: on this strand, with its worker.
        unsafe { strand.go_through() }
    }

    /// The spawner is at hand: it waits at a fork, and nobody but it may join the child.
    ///
    /// # Safety
    /// The task has ended.
    #[inline(always)]
    unsafe fn end_unawaited(strand: &Strand) {
        if FORKED {
            // SAFETY: who waits keeps it.
            unsafe { (*strand.forked.get()).end_unawaited() };
        }
    }

    /// The spawner is not at hand: if it waits for a forked child, it is to be told.
    #[inline(always)]
    fn end(strand: &Strand, worker: &Worker) {
        if FORKED {
            // SAFETY: the task has ended; the worker is the caller's.
            unsafe { forked::end(&*strand.forked.get(), worker) };
        }
    }
}
