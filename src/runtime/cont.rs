//! Kind `cont`: continuation stealing. A spawn calls the child at once, on another stack. The
//! spawner's continuation is the task that other workers can steal.
//!
//! So one worker runs the program in its serial order, and a flood of spawns needs one stack and
//! one slot of the queue, instead of a slot for each task. The deques, the search for tasks,
//! sleeping, and the end of the run are the same as in kind `steal`. The tasks in the deques are
//! continuations, which any worker can resume.
//!
//! Sources: E. Mohr, D. Kranz and R. Halstead, "Lazy task creation: a technique for increasing the
//! granularity of parallel programs", 1991; M. Frigo, C. Leiserson and K. Randall, "The
//! implementation of the Cilk-5 multithreaded language", 1998; for whole stacks, C. Yang and J.
//! Mellor-Crummey, 2016.
//!
//! # Protocol
//!
//! ```text
//! spawn   saves the spawner's context, and calls the child on the spawner's child fiber
//! run     publishes the context: pushes the task {resume_spawner, room of the context} on the
//!         worker's own deque; calls the child's function
//! finish  pops the deque: the youngest task there is the spawner, unless it was stolen
//!         spawner: returns to it; other task: continues with that task in a worker's loop
//! ```
//! The deque is used only on the child's stack. So a thief finds the continuation complete, and no
//! thread runs on the spawner's stack any more.
//!
//! # Who owns a child fiber
//!
//! A fiber keeps one *child fiber*, on which the children of its task run, one after the other. It
//! is taken from the stack cache at the first spawn. From the child's point of view, the fiber of
//! its spawner is the *parent fiber*. While the spawner's continuation is in a deque, the child is
//! on the child fiber. If anything but the child's return continues the spawner, the spawner's
//! `child_fiber` is first set to null (`continuation::detach_spawner`). From then on the child
//! fiber belongs to the child alone, and the spawner's next spawn takes another fiber.
//!
//! A child that ends pops its worker's deque. It may return to the popped spawner like a function
//! if the spawner's fiber is the child's parent fiber, and the parent's `child_fiber` is still the
//! child's fiber. Then the popped continuation belongs to the spawn that called this child, since a
//! fiber waits at one spawn at a time. The callee-saved registers need not be reloaded: each
//! function has preserved their values of that spawn.
//!
//! Three cases need care:
//!
//! - *The parent fiber belongs to another worker.* The child continues the spawner like any task.
//! - *The child has waited, and has come back on another worker*, with the same registers. It then
//!   pops the youngest task of that worker. This may be its own spawner at a later spawn, with the
//!   same address. The spawner then has another child fiber, so the comparison fails.
//! - *A thief has taken the spawner, but has not yet set `child_fiber` to null.* In that time the
//!   spawner is in no deque, so no child pops it.
//!
//! A fiber and its child fiber belong to one worker: a fiber that another worker resumes has none.
//!
//! Child fibers accumulate up to the greatest depth of the recursion. They return to the stack
//! cache when a task waits or yields, when the loop has found its deque empty, and, if stacks are
//! scarce, at each tick: otherwise a busy worker could keep the stacks that waiting tasks need.
//! (Rejected: at each tick in any case. A deep recursion then moves its stacks to the store and
//! back all the time: UTS T3 took 0.69 s instead of 0.50 with one worker.)
//!
//! # Floating-point controls
//!
//! The controls are saved with the context, and loaded when anything but the child's return
//! continues it. The child begins with the spawner's controls, as a called function does.
//! (Rejected: to compare them with the run's controls first. That costs a sixth of a spawn on Zen
//! 3: the load waits for the store of MXCSR, and this store waits for all earlier instructions.) A
//! loop that begins on the child's fiber loads the run's controls.
//!
//! # Where there is no stack
//!
//! A task cannot leave its stack if another run lies on top of it, or if it is on its thread's own
//! stack; or no memory may be left for a new stack. Then the child is queued, as in kind `steal`.
//!
//! # Nested spawns
//!
//! In a chain, where each task spawns its successor and returns, each spawner's continuation keeps
//! a stack until the rest of the chain has run: a million tasks would need a million stacks. So a
//! spawner on a fiber that is [`MOST_NESTED`] deep queues its children. Then a task of the chain
//! ends before its successor begins, and the rest of the chain runs in the loop of that one fiber.
//! (A switch between the two orders at some depth: Y. Guo and others, "SLAW: a scalable
//! locality-aware adaptive work-stealing scheduler", 2010.)
//!
//! The depth includes spawners that thieves have taken. Rejected: to count only the spawners in the
//! worker's deque. Where thieves take spawners as fast as the chain makes them, that depth does not
//! grow, and each task of the chain costs a stack and a theft.
//!
//! The depth starts at 0 again in a task that has waited, since that task has a stack of its own
//! anyway, and in a task from outside the run, which the loop calls between two tasks of a chain. A
//! forked task is called at once at any depth: its caller joins it, and keeps its stack until then.
//!
//! When the deepest task of a chain waits, the rest of the chain runs in a new loop, whose depth is
//! 0, while the spawners are still in the deque. Each such wait would put another `MOST_NESTED`
//! spawners into the deque. So a worker whose deque already has `MOST_NESTED` tasks also queues the
//! children of its spawns. (Without this rule, a chain of a million tasks that each spawn the next,
//! compute for 0.2 µs and lock one mutex took 300 to 500 MB instead of 10 MB: c_tests/conts.c.)
//!
//! The price is the order: a single worker keeps a program's serial order only up to this depth.
//!
//! # Cost
//!
//! A spawn without a theft needs no atomic read-modify-write and no fence. Calls and returns are
//! paired, so the processor predicts where a child returns. `run` and `finish` have no frames and
//! save no registers, since every rare case is a call in tail position. The functions of a spawn
//! are contiguous in memory (`.text.hot`); spread over the library they take some 7 % more time.
//! Runs whose switches a sanitizer or the C++ runtime must hear of use another spawn
//! (`fiber::Instrumented`).

pub mod child;

use crate::fiber::switch::CallOnStack;
use crate::fiber::{Instrumentation, Plain, exceptions};
use crate::policy::DequePolicy;
use crate::queue::Deque;
use crate::runtime::forked::{misuse, spawn_forked};
use crate::runtime::identity::Mine;
use crate::runtime::record::{Fiber, Worker};
use crate::sync::forked::Forked;
use crate::sys::errno;
use crate::task::{Task, TaskFn};
use std::ffi::{c_int, c_void};
use std::ptr;

/// The greatest depth of spawns, each called by the one before.
const MOST_NESTED: u32 = 1024;

/// A policy with the code that begins children: see [`children`].
pub trait HasChildren<I: Instrumentation>: DequePolicy {
    const CALL_SPAWNED: CallOnStack;
    const CALL_FORKED: CallOnStack;
}

/// Defines the code that begins the children under a policy. The last word makes the names of the
/// symbols.
macro_rules! children {
    ($($policy:ty, $instrumentation:ty, $name:literal;)*) => {
        $(
            $crate::fiber::switch::call_on_stack! {
                concat!("sched_call_spawned_", $name),
                $crate::runtime::cont::child::Child<$policy, $instrumentation, false>
            }
            $crate::fiber::switch::call_on_stack! {
                concat!("sched_call_forked_", $name),
                $crate::runtime::cont::child::Child<$policy, $instrumentation, true>
            }

            impl $crate::runtime::cont::HasChildren<$instrumentation> for $policy {
                const CALL_SPAWNED: $crate::fiber::switch::CallOnStack =
                    $crate::fiber::switch::declared!(concat!("sched_call_spawned_", $name));
                const CALL_FORKED: $crate::fiber::switch::CallOnStack =
                    $crate::fiber::switch::declared!(concat!("sched_call_forked_", $name));
            }
        )*
    };
}

pub(crate) use children;

/// Does `sched_spawn`, and returns its value.
///
/// # Safety
/// If the caller owns `worker`, the policy of its run is `P`; `f` accepts `closure`.
#[unsafe(link_section = ".text.hot")]
pub unsafe extern "C" fn spawn<P: HasChildren<I>, I: Instrumentation>(
    f: Option<TaskFn>,
    closure: *mut c_void,
    worker: &Worker,
) -> c_int {
    if !worker.is_mine() {
        // SAFETY: `f` accepts `closure`; the policy of an owned worker is `P`.
        return unsafe { spawn_by_other::<P, I>(f, closure, worker) };
    }
    match (f, child_fiber(worker)) {
        (Some(f), Some(child_fiber)) => {
            // SAFETY: the caller owns the worker and is on its fiber; `f` accepts `closure`.
            unsafe { call::<I>(P::CALL_SPAWNED, f as usize, closure, worker, child_fiber) }
        }
        // SAFETY: the caller owns the worker, whose policy is `P`.
        (Some(f), None) if unsafe { is_too_deep::<P>(worker) } => {
            // SAFETY: as above.
            unsafe { worker.owned() }.queue(Task { f, closure })
        }
        // SAFETY: the caller owns the worker; `f` accepts `closure`.
        _ => unsafe { spawn_slowly::<P, I>(f, closure, worker) },
    }
}

/// Like `spawn`, for a thread that does not own `worker`. The thread often owns another worker of
/// the run: a stolen spawner still has the `s` of the worker on which it began.
///
/// # Safety
/// The contract of `spawn`.
#[unsafe(link_section = ".text.hot")]
#[inline(never)]
unsafe extern "C" fn spawn_by_other<P: HasChildren<I>, I: Instrumentation>(
    f: Option<TaskFn>,
    closure: *mut c_void,
    worker: &Worker,
) -> c_int {
    match worker.mine_in_slot() {
        // SAFETY: both workers are in the same run, so they have the same policy.
        Some(mine) => unsafe { spawn::<P, I>(f, closure, mine.worker()) },
        // SAFETY: `f` accepts `closure`.
        None => unsafe { Worker::spawn_elsewhere(f, closure, worker) },
    }
}

/// `sched_fork`.
///
/// # Safety
/// The contract of `spawn`; the descriptor lives until it is joined.
#[unsafe(link_section = ".text.hot")]
pub unsafe extern "C" fn fork<P: HasChildren<I>, I: Instrumentation>(
    forked: &Forked,
    f: Option<TaskFn>,
    closure: *mut c_void,
    worker: &Worker,
) {
    let begins = if worker.is_mine() { f.zip(child_fiber(worker)) } else { None };
    let Some((f, child_fiber)) = begins else {
        // SAFETY: the caller has made the same promise.
        return unsafe { fork_slowly::<P, I>(forked, f, closure, worker) };
    };
    forked.set_begun(f, closure);
    let child = ptr::from_ref(forked).expose_provenance();
    // SAFETY: the caller owns the worker and is on its fiber. Nobody else has a refused task.
    unsafe {
        let outcome = call::<I>(P::CALL_FORKED, child, closure, worker, child_fiber);
        if I::IS_ON && outcome != 0 {
            spawn_forked(forked, worker);
        }
    }
}

/// The child fiber of the worker's current fiber, if it has one.
#[inline(always)]
fn child_fiber(worker: &Worker) -> Option<&Fiber> {
    // SAFETY: the fiber's parent is the worker's fiber, which releases it only on this thread.
    unsafe { worker.child_fiber.get().as_ref() }
}

/// True if the worker's fiber is too deep for a child fiber, or its deque has too many tasks.
///
/// # Safety
/// The caller owns the worker, the policy of whose run is `P`.
#[inline]
unsafe fn is_too_deep<P: DequePolicy>(worker: &Worker) -> bool {
    // SAFETY: the owner is on the fiber, and the policy `P` has a deque of this type.
    unsafe {
        (*worker.fiber.get()).nesting.get() >= MOST_NESTED
            || worker.deque::<P::Deque>().len_hint() >= MOST_NESTED as usize
    }
}

/// # Safety
/// The caller owns the worker and is on its fiber. `child` and `closure` are for `code`.
#[inline(always)]
unsafe fn call<I: Instrumentation>(
    code: CallOnStack,
    child: usize,
    closure: *mut c_void,
    worker: &Worker,
    child_fiber: &Fiber,
) -> c_int {
    if I::IS_ON {
        // SAFETY: the caller owns the worker and is on its fiber; `child` is for `code`.
        return unsafe { call_instrumented(code, child, closure, worker, child_fiber) };
    }
    // The frames of the stack begin at the record.
    let top = ptr::from_ref(child_fiber).cast_mut().cast();
    // SAFETY: the stack belongs to the caller's fiber, and nothing runs on it.
    unsafe { code(child, closure, ptr::from_ref(worker).cast(), top) }
}

/// Like `call`, but informs the sanitizers and the C++ runtime of the switch.
///
/// # Safety
/// The contract of `call`.
#[inline(never)] // so that no address of a thread-local variable is kept across the switch
unsafe fn call_instrumented(
    code: CallOnStack,
    child: usize,
    closure: *mut c_void,
    worker: &Worker,
    child_fiber: &Fiber,
) -> c_int {
    // SAFETY: the caller owns the worker.
    let spawner_fiber = unsafe { worker.owned() }.fiber();
    let handled = exceptions::take();
    spawner_fiber.resumed_by_other.set(false);
    child_fiber.sanitizer_state().enter_new(|| spawner_fiber.sanitizer_state());
    // SAFETY: the caller owns the worker and is on its fiber; `child` is for `code`.
    let outcome = unsafe { call::<Plain>(code, child, closure, worker, child_fiber) };
    if !spawner_fiber.resumed_by_other.get() {
        spawner_fiber.sanitizer_state().enter(|| None);
    }
    handled.put();
    outcome
}

/// `spawn`, if the worker's fiber has no child fiber, or `f` is NULL.
///
/// # Safety
/// The contract of `spawn`; the caller owns the worker.
#[cold]
#[inline(never)]
unsafe extern "C" fn spawn_slowly<P: HasChildren<I>, I: Instrumentation>(
    f: Option<TaskFn>,
    closure: *mut c_void,
    worker: &Worker,
) -> c_int {
    let Some(f) = f else { return errno::failed(libc::EINVAL) };
    // SAFETY: the caller owns the worker.
    let mine = unsafe { worker.owned() };
    match add_child_fiber(mine) {
        // SAFETY: the same contract as this function's.
        Some(_) => unsafe { spawn::<P, I>(Some(f), closure, worker) },
        None => mine.queue(Task { f, closure }),
    }
}

/// `fork`, if the caller is not the owner, the worker's fiber has no child fiber, or `f` is NULL.
///
/// # Safety
/// The contract of `fork`.
#[cold]
#[inline(never)]
unsafe extern "C" fn fork_slowly<P: HasChildren<I>, I: Instrumentation>(
    forked: &Forked,
    f: Option<TaskFn>,
    closure: *mut c_void,
    worker: &Worker,
) {
    let Some(task) = f else { misuse("sched_fork", "f is NULL") };
    // SAFETY: `owned`: compared just now. `f` accepts `closure`, and the descriptor lives until it
    // is joined.
    unsafe {
        if worker.is_mine() && add_child_fiber(worker.owned()).is_some() {
            return fork::<P, I>(forked, f, closure, worker);
        }
        forked.set_begun(task, closure);
        spawn_forked(forked, worker);
    }
}

/// Gives the worker's current fiber a child fiber, if it can be left and there is a stack.
#[cold]
#[inline(never)]
fn add_child_fiber(mine: Mine<'_>) -> Option<&Fiber> {
    let (worker, fiber) = (mine.worker(), mine.fiber());
    let stack = if fiber.can_be_left() { mine.take_stack().ok() } else { None };
    if let Some(stack) = stack {
        let child_fiber = Fiber::on(stack);
        child_fiber.worker.set(worker);
        child_fiber.parent_fiber.set(fiber);
        child_fiber.nesting.set(fiber.nesting.get() + 1);
        fiber.child_fiber.set(child_fiber);
        fiber.leave_limit.set(0);
        worker.child_fiber.set(child_fiber);
    }
    child_fiber(worker)
}
