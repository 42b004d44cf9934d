//! A forked task (`ext::fork`), as a worker runs it.

use crate::policy::Place;
use crate::runtime::identity::Mine;
use crate::runtime::record::{Run, Worker};
use crate::runtime::waiter::Waiter;
use crate::sync::forked::Forked;
use crate::sys::unwind::{ForkedTask, call_guarded};
use crate::sys::{errno, output, symbol};
use crate::task::{Scheduler, Task, TaskFn};
use std::ffi::c_void;

/// What lies in the queue for a forked task.
#[inline(always)]
pub fn queued(forked: &Forked) -> Task {
    Task { f: run_forked, closure: std::ptr::from_ref(forked).cast_mut().cast() }
}

/// A forked task out of a queue. It is exported, since sched_inline.h queues this function, too. The number in the name
/// is that of the layout of all that the header touches: whoever changes the layout changes the number, here and there.
///
/// # Safety
/// `descriptor` is a [`Forked`], taken once.
#[unsafe(export_name = "sched_layout_1")]
pub unsafe extern "C" fn run_forked(descriptor: *mut c_void, s: *mut Scheduler) {
    // SAFETY: the descriptor lives until it is over.
    let forked = unsafe { &*descriptor.cast::<Forked>() };
    // SAFETY: the fiber is the one that this is called on.
    if unsafe { Worker::of(s).owned() }.fiber().is_behind(descriptor) {
        not_joined(forked.function());
    }
    // SAFETY: out of a queue.
    let Task { f, closure } = unsafe { forked.begin(s.cast()) };
    // SAFETY: the program promises that `f` accepts its closure and returns.
    call_guarded::<ForkedTask, _>(|| unsafe { f(closure, s) });
    // SAFETY: ended; the worker may be another than `s` by now.
    unsafe { end(forked, Worker::now(s)) };
}

/// The task that forked this one has returned: the descriptor lies in memory that was its frame. `function`: what the
/// descriptor says; other frames may have covered it since, and then it is the address of no function.
#[cold]
#[inline(never)]
fn not_joined(function: usize) -> ! {
    output::die(format_args!(
        "sched_fork: a task has returned and did not join a task that it forked{}: a sched_join is missing",
        symbol::Function(function)
    ))
}

/// # Safety
/// The task has ended; the descriptor may be gone afterwards. The caller's worker is `from`.
#[inline]
pub unsafe fn end(forked: &Forked, from: &Worker) {
    let word = std::ptr::from_ref(forked.word());
    if let Some(name) = forked.end() {
        // SAFETY: left by who waits.
        unsafe { Waiter::unpack(name) }.wake(word, Some(from));
    }
}

/// `sched_fork`, but for the quick case, where it queues the task.
///
/// # Safety
/// `f` accepts `closure`; the descriptor lives until it is joined.
pub unsafe extern "C" fn fork(
    forked: &Forked,
    f: Option<TaskFn>,
    closure: *mut c_void,
    worker: &Worker,
) {
    let Some(f) = f else { misuse("sched_fork", "f is NULL") };
    forked.set(f, closure);
    // SAFETY: passed on.
    unsafe { fork_elsewhere(forked, worker) }
}

/// The rest of a fork on a descriptor that is set.
///
/// # Safety
/// Its function accepts its closure; the descriptor lives until it is joined.
#[cold]
#[inline(never)]
pub unsafe fn fork_elsewhere(forked: &Forked, worker: &Worker) {
    let queued = queued(forked);
    // SAFETY: the descriptor's task.
    if unsafe { (worker.row().spawn)(Some(queued.f), queued.closure, worker) } == 0 {
        return;
    }
    if errno::get() == libc::EINVAL {
        misuse(
            "sched_fork",
            "the run of s has ended, or goes on in the parent of this child made by fork, which has no workers",
        );
    }
    // SAFETY: nobody has got it.
    let Task { f, closure } =
        unsafe { if forked.is_set_begun() { forked.task_begun() } else { forked.task() } };
    // SAFETY: passed on; no queue has room for it.
    unsafe { run_now(forked, Some(f), closure, worker) };
}

/// # Safety
/// `f` accepts `closure` and is not NULL; nobody else has the task.
#[inline(never)] // its frame is guarded
pub unsafe fn run_now(forked: &Forked, f: Option<TaskFn>, closure: *mut c_void, worker: &Worker) {
    let mine = worker.mine();
    match mine {
        Some(mine) => mine.counters().tasks.add(1),
        None => _ = worker.with_run(Run::count_outside),
    }
    let s = mine.map_or(worker, Mine::worker).handle();
    // SAFETY: by the caller's promise.
    call_guarded::<ForkedTask, _>(|| unsafe { f.unwrap_unchecked()(closure, s) });
    forked.end_unawaited();
}

/// Ends the process: what the caller asks for has no meaning, and the function cannot return an error.
#[cold]
pub fn misuse(function: &str, what: &str) -> ! {
    output::die_in_call(format_args!("{function}: {what}"))
}
