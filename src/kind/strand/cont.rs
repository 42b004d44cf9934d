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
//! spawn   takes a stack from the rack, saves its own context, and calls `body` on that stack
//! body    makes the context known: the task {resume, continuation} in the own deque
//!         calls the child
//!         pops the deque: the youngest there is the spawner, unless it was taken
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
//! processor predicts where a child returns to.

use super::aside::{Continuation, arrive, is_continuation, take_over, task_of};
use super::{Looks, Strand};
use crate::base::thread;
use crate::fiber::exceptions::{self, Handled};
use crate::fiber::stack::Stack;
use crate::fiber::switch::{self, Callee, Context, Returned};
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

/// What is left of a spawner, beside its context.
#[repr(C)]
struct Spawner {
    continuation: Continuation,
    handled: Handled,
}

const _: () = assert!(size_of::<Spawner>() <= switch::ROOM);

/// # Safety
/// Of a context that a spawn has saved, and nobody has continued.
#[inline(always)]
unsafe fn spawner(context: Context) -> *mut Spawner {
    // SAFETY: passed on.
    unsafe { switch::room_of(context).cast() }
}

/// `sched_spawn`, with its outcome.
///
/// # Safety
/// The caller owns `worker`, whose run is one of `Stealing<D>`; `f` accepts `closure`.
pub unsafe extern "C" fn spawn<D: Deque>(
    f: TaskFn,
    closure: *mut c_void,
    worker: &Worker,
) -> c_int {
    match worker.rack.next() {
        Some(stack) if worker.strand().can_be_left() => {
            let top = Strand::top(stack);
            let worker = ptr::from_ref(worker).cast();
            // SAFETY: by the caller's promise; the stack is the worker's, and `run` takes it.
            unsafe { switch::call::<Child<D, false>>(f as usize, closure, worker, top) }
        }
        // SAFETY: passed on.
        _ => unsafe { spawn_slowly::<D>(f, closure, worker) },
    }
}

/// `sched_fork`.
///
/// # Safety
/// The run of `worker` is one of `Stealing<D>`; `f` accepts `closure`; the descriptor lives until it is joined.
pub unsafe extern "C" fn fork<D: Deque>(
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
        let (worker, top) = (ptr::from_ref(worker).cast(), Strand::top(stack));
        // SAFETY: as in `spawn`.
        if unsafe { switch::call::<Child<D, true>>(child, ptr::null_mut(), worker, top) } == 0 {
            return;
        }
    }
    // SAFETY: passed on; nobody has got it.
    unsafe { fork_elsewhere(forked, worker) };
}

/// `spawn`, if there is no stack at hand.
///
/// # Safety
/// As for that.
#[cold]
#[inline(never)]
unsafe extern "C" fn spawn_slowly<D: Deque>(
    f: TaskFn,
    closure: *mut c_void,
    worker: &Worker,
) -> c_int {
    // SAFETY: passed on.
    unsafe {
        if worker.strand().can_be_left() && worker.rack.fill() == Ok(()) {
            spawn::<D>(f, closure, worker)
        } else {
            (worker.row().queue)(f, closure, worker)
        }
    }
}

/// A spawned task; or a forked one.
struct Child<D, const FORKED: bool>(PhantomData<D>);

impl<D: Deque, const FORKED: bool> Callee for Child<D, FORKED> {
    /// The first frame of a child's stack. `f`: the function; or the descriptor of a forked task.
    unsafe extern "C" fn run(
        f: usize,
        closure: *mut c_void,
        worker: *const c_void,
        context: Context,
    ) -> Returned {
        // SAFETY: what `spawn` and `fork` pass; records of workers are not freed.
        let (task, worker) = unsafe {
            let task = if FORKED {
                (*ptr::with_exposed_provenance::<Forked>(f)).task_begun()
            } else {
                Task { f: std::mem::transmute::<usize, TaskFn>(f), closure }
            };
            (task, &*worker.cast::<Worker>())
        };
        // SAFETY: as above.
        let (kind, deque) = unsafe { (worker.kind::<Stealing<D>>(), worker.deque::<D>()) };
        // SAFETY: the spawner's strand, which nobody else runs yet.
        let below = unsafe { &*worker.strand.get() };
        // SAFETY: saved just now, and nobody knows of it.
        let (this, float) = unsafe {
            let this = spawner(context);
            (&raw mut (*this).continuation).write(Continuation { context, strand: below });
            exceptions::take_to(&raw mut (*this).handled);
            (&raw const (*this).continuation, switch::float_of(context))
        };
        // SAFETY: `spawn` has seen it.
        let stack = unsafe { worker.rack.pop_seen() };
        // Said here, in a frame that returns to the spawner's stack: see `Side::enter`.
        stack.side().enter_new(|| below.side());
        let strand = Strand::on(stack);
        strand.worker.set(worker);
        strand.spawner.set(context);
        if FORKED {
            strand.forked.set(ptr::with_exposed_provenance(f));
        }
        worker.strand.set(strand);
        below.tuned.set(float != worker.float.get());
        if below.tuned.get() {
            worker.float.get().set(); // a task starts with the run's, not the spawner's
        }
        // SAFETY: the caller owns the worker.
        if unsafe { kind.spawn_to(deque, worker, task_of(this)) }.is_err() {
            // SAFETY: known to nobody; left by the return.
            unsafe { back(stack, worker, below, context) };
            return Returned { to: context, result: thread::failed(libc::EAGAIN) as isize };
        }
        // From here on the spawner may run elsewhere.
        if worker.tick() && kind.is_called() {
            // A task from outside first; as the youngest, this one comes next.
            // SAFETY: nobody has begun it.
            let task = if FORKED { forked::queued(unsafe { &*strand.forked.get() }) } else { task };
            // SAFETY: the caller owns the worker.
            if unsafe { kind.spawn(worker, task) }.is_err() {
                strand.first.set(Some(task));
            }
            strand.looks.set(Looks::Outside);
            // SAFETY: on this strand, with its worker.
            unsafe { strand.go_through() }
        }
        worker.call(task);
        // What follows needs the strand alone: so few registers are kept for it.
        section::check_closed(strand);
        let worker = strand.worker(); // another, perhaps
        worker.stay();
        worker.counters().tasks.add(1);
        // SAFETY: the calling thread's worker, of the same run.
        match unsafe { Owner::new(worker.deque::<D>()) }.pop() {
            Some(next) if is_continuation(next) => {
                let next: *const Continuation = next.closure.cast();
                // Compared with what is at hand: so the processor need not wait for what it loads.
                let context = strand.spawner.get();
                // SAFETY: out of the queue, so published, and the caller's.
                unsafe {
                    let below = &*(*next).strand;
                    if (*next).context == context
                        && ptr::eq(below.worker.get(), worker)
                        && switch::has_called::<Self>(context)
                    {
                        if FORKED {
                            // The spawner waits at a fork, and nobody but it may join the child.
                            (*strand.forked.get()).end_unawaited();
                        }
                        back(strand.stack.unwrap_unchecked(), worker, below, context);
                        return Returned { to: context, result: 0 };
                    }
                    Self::end(strand, worker);
                    let context = take_over(worker, next);
                    strand.leave(worker, worker.strand().side(), context)
                }
            }
            next => {
                strand.first.set(next);
                Self::end(strand, worker);
            }
        }
        // SAFETY: on this strand, with its worker.
        unsafe { strand.go_through() }
    }

    unsafe extern "C" fn arrive(left: *mut c_void, room: *mut c_void) {
        let this: *mut Spawner = room.cast();
        // SAFETY: of this context, which is continued now.
        unsafe {
            arrive((*(*this).continuation.strand).worker(), left);
            exceptions::put_from(&raw const (*this).handled);
        }
    }
}

impl<D: Deque, const FORKED: bool> Child<D, FORKED> {
    /// The spawner is not at hand: if it waits for a forked child, it is to be told.
    #[inline(always)]
    fn end(strand: &Strand, worker: &Worker) {
        if FORKED {
            // SAFETY: the task has ended; the worker is the caller's.
            unsafe { forked::end(&*strand.forked.get(), worker) };
        }
    }
}

/// The child on this stack is about to return to the spawner, with `worker`.
///
/// # Safety
/// As said: to this context of it, on the strand `below`, which are the caller's.
#[inline(always)]
unsafe fn back(stack: Stack, worker: &Worker, below: &Strand, context: Context) {
    worker.strand.set(below);
    // SAFETY: by the caller's promise.
    unsafe {
        worker.rack.put(stack);
        exceptions::put_from(&raw const (*spawner(context)).handled);
        // Of this spawn, which may be a later one than the child's.
        if below.tuned.get() {
            switch::float_of(context).set();
        }
    }
    below.side().enter(|| None);
}
