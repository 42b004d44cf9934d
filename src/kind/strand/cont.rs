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

use super::{Arrival, Begins, Continuation, Strand};
use super::{arrive, is_continuation, take_over, task_of};
use crate::base::thread;
use crate::fiber::exceptions;
use crate::fiber::stack::Stack;
use crate::fiber::switch::{self, Next};
use crate::kind::stealing::Stealing;
use crate::kind::worker::Worker;
use crate::kind::{Kind, Place, TICK};
use crate::queue::Deque;
use crate::task::{Task, TaskFn};
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::ptr;

/// What `body` needs; it lies on the spawner's stack.
struct Child<'a> {
    task: Task,
    worker: &'a Worker,
    stack: Stack,
    spawner: *const Continuation,
    /// The deque has no room for the spawner: nothing has happened.
    refused: Cell<bool>,
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
    let strand = worker.strand();
    let stack = if strand.can_be_left() { worker.rack.take().ok() } else { None };
    let Some(stack) = stack else {
        // SAFETY: passed on.
        return unsafe { (worker.row().queue)(f, closure, worker) };
    };
    let handled = exceptions::take();
    let mut spawner = Continuation { context: ptr::null_mut(), strand };
    let this = &raw mut spawner;
    let task = Task { f, closure };
    let child = Child { task, worker, stack, spawner: this, refused: Cell::new(false) };
    // SAFETY: a stack of our own; the context is in its place before anybody is told of it, and
    // whoever is continues it once.
    unsafe {
        let arg = (&raw const child).cast_mut().cast();
        let arrival = switch::call(&raw mut (*this).context, stack.top(), body::<D>, arg);
        arrive(strand.worker(), arrival);
    }
    handled.put();
    if child.refused.get() { thread::failed(libc::EAGAIN) } else { 0 }
}

/// The first frame of a child's stack.
///
/// # Safety
/// `child` is a [`Child`], whose worker's run is one of `Stealing<D>`.
unsafe extern "C" fn body<D: Deque>(child: *mut c_void) -> Next {
    // SAFETY: by the caller's promise; the spawner's stack stays until it is made known.
    let child = unsafe { &*child.cast::<Child>() };
    let &Child { task, worker, stack, spawner, .. } = child;
    // SAFETY: by the caller's promise, here and below: the run does not change.
    let kind = unsafe { worker.kind::<Stealing<D>>() };
    // SAFETY: as above.
    let Continuation { context, strand: below } = unsafe { spawner.read() };
    // SAFETY: not known to anybody yet.
    let float = unsafe { switch::float_of(context) };
    let strand = Strand::new(worker, Some(stack), Begins::Inside);
    worker.strand.set(&strand);
    // SAFETY: the caller owns the worker.
    if unsafe { kind.spawn(worker, task_of(spawner)) }.is_err() {
        child.refused.set(true);
        worker.strand.set(below);
        return Next { to: context, arg: Arrival::Free(Some(stack)).pack() };
    }
    // From here on the spawner may run elsewhere.
    if float != worker.float.get() {
        worker.float.get().set(); // a task starts with the run's, not the spawner's
    }
    worker.call(task);
    let worker = strand.worker(); // another, perhaps
    worker.stay();
    worker.counters().tasks.add(1);
    worker.left.set(worker.left.get().wrapping_add(1));
    if worker.left.get().is_multiple_of(TICK) && kind.is_called() {
        strand.begins.set(Begins::Outside);
    } else {
        // SAFETY: the calling thread's worker.
        let next = unsafe { kind.pop(worker) };
        match next {
            Some(next) if is_continuation(next) => {
                // SAFETY: out of the queue, so published, and the caller's.
                let to = unsafe { back_to(worker, next.closure.cast()) };
                return Next { to, arg: Arrival::Free(Some(stack)).pack() };
            }
            next => strand.first.set(next),
        }
    }
    // SAFETY: on this strand, with its worker.
    unsafe { strand.go_through() }
}

/// `take_over`, most often of a strand that this worker left by a spawn.
///
/// # Safety
/// As for that.
#[inline(always)]
unsafe fn back_to(worker: &Worker, continuation: *const Continuation) -> switch::Context {
    // SAFETY: published, so complete.
    let Continuation { context, strand } = unsafe { continuation.read() };
    // SAFETY: a continuation lies on its strand.
    if !ptr::eq(unsafe { (*strand).worker.get() }, worker) {
        // SAFETY: passed on.
        return unsafe { take_over(worker, continuation) };
    }
    worker.strand.set(strand);
    context
}
