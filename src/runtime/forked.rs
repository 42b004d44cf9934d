//! How a worker runs a forked task (`api::fork`).

use crate::policy::Place;
use crate::runtime::guest;
use crate::runtime::identity::Mine;
use crate::runtime::record::{Run, Worker};
use crate::runtime::waiter::Waiter;
use crate::sync::forked::Forked;
use crate::sys::atomic::Ordering;
use crate::sys::unwind::{ForkedTask, call_guarded};
use crate::sys::{errno, output, symbol};
use crate::task::{Scheduler, Task, TaskFn};
use std::ffi::{c_int, c_void};

#[inline(always)]
pub fn queued_task(forked: &Forked) -> Task {
    Task { f: run_forked, closure: std::ptr::from_ref(forked).cast_mut().cast() }
}

/// The function of a queued forked task. None if `task` is another task.
pub fn function_of(task: Task) -> Option<usize> {
    call_of(task).map(|(function, _)| function)
}

/// The function and the closure of a forked task that has not begun. None: `task` is another task.
pub fn call_of(task: Task) -> Option<(usize, *mut c_void)> {
    std::ptr::fn_addr_eq(task.f, run_forked as TaskFn).then(|| {
        // SAFETY: the descriptor lives until the task is joined.
        let forked = unsafe { &*task.closure.cast::<Forked>() };
        (forked.function(), forked.closure())
    })
}

/// Runs a forked task that was taken out of a queue. Exported because sched_inline.h queues it. The
/// number in its name is the version of all layouts that the header uses; a change of one of these
/// layouts changes the number, here and in the header.
///
/// # Safety
/// `descriptor` points to a [`Forked`], whose task was taken out of a queue once.
#[unsafe(export_name = "sched_layout_1")]
pub unsafe extern "C" fn run_forked(descriptor: *mut c_void, s: *mut Scheduler) {
    // SAFETY: the descriptor lives until the task is joined, which is after the task's end.
    let forked = unsafe { &*descriptor.cast::<Forked>() };
    // SAFETY: the caller is worker `s`, which calls this on its fiber.
    let mine = unsafe { Worker::of(s).owned() };
    if mine.fiber().is_in_returned_frame(descriptor) {
        not_joined(forked.function());
    }
    let begins = &mine.worker().begins;
    begins.store(descriptor.addr(), Ordering::Relaxed);
    // SAFETY: the task was taken out of a queue, once.
    let Task { f, closure } = unsafe { forked.begin(s.cast()) };
    begins.store(f as usize, Ordering::Relaxed);
    // SAFETY: the program promises that `f` accepts its closure and returns.
    call_guarded::<ForkedTask, _>(|| unsafe { f(closure, s) });
    // SAFETY: the task has ended. The caller's worker may differ from `s` by now.
    unsafe { end(forked, Worker::current_in_run_of(s)) };
}

impl Worker {
    /// True if SIGSEGV at this program counter and for this address means that `run_forked`, on the
    /// calling thread, has met a descriptor that is gone or was overwritten: it has read the
    /// descriptor, or called the function that the descriptor named. (x86-64 faults before the jump
    /// if the word cannot be an address.)
    pub(super) fn begins_overwritten(&self, at: usize, address: usize) -> bool {
        const ADDRESS_BITS: u32 = if cfg!(target_arch = "x86_64") { 47 } else { 56 };
        let begins = self.begins.load(Ordering::Relaxed);
        let reads = address.wrapping_sub(begins) < size_of::<Forked>();
        let calls = at == begins && address == begins;
        begins != 0 && (reads && at != address || calls || begins >> ADDRESS_BITS != 0)
    }
}

/// Ends the process: the task that forked this one has returned, so the descriptor lies in a frame
/// that is gone. `function` is the descriptor's function, unless other frames have overwritten it.
#[cold]
#[inline(never)]
fn not_joined(function: usize) -> ! {
    output::die(format_args!(
        "sched_fork: a task has returned and did not join a task that it forked{}: a sched_join is \
         missing",
        symbol::Function(function)
    ))
}

/// Marks the task as ended and wakes its waiter, if there is one. `from` is the caller's worker.
///
/// # Safety
/// The task has ended. The descriptor may be freed as soon as the mark is set.
#[inline]
pub unsafe fn end(forked: &Forked, from: &Worker) {
    let word = std::ptr::from_ref(forked.word());
    if let Some(name) = forked.end() {
        // SAFETY: the waiter has left this word, which `pack` has returned.
        let waiter = unsafe { Waiter::unpack(name) };
        from.while_waking_joiner(|| waiter.wake_at_end(word, from));
    }
}

/// `sched_fork` where its built-in part does not apply.
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
    // SAFETY: the descriptor was set just now; the rest is the caller's promise.
    unsafe { spawn_forked(forked, worker) }
}

/// `Row::offer`.
///
/// # Safety
/// The task's function accepts its closure; the descriptor lives until it is joined.
pub unsafe fn offer(
    forked: &Forked,
    task: Task,
    _function: usize,
    worker: &Worker,
) -> Result<(), c_int> {
    forked.set(task.f, task.closure);
    // SAFETY: `run_forked` accepts the descriptor, which lives until it is joined.
    match unsafe { worker.queue(queued_task(forked)) } {
        0 => Ok(()),
        error => Err(error),
    }
}

/// The rest of a fork: spawns the task of a set descriptor, or runs it if no queue has room.
///
/// # Safety
/// The descriptor's function accepts its closure; the descriptor lives until it is joined.
#[cold]
#[inline(never)]
pub unsafe fn spawn_forked(forked: &Forked, worker: &Worker) {
    let queued = queued_task(forked);
    let visit = || guest::visit_to_add(worker, |guest| guest.queue(queued));
    let added = if worker.mine().is_none() { visit() } else { None };
    // SAFETY: `run_forked` accepts the descriptor, which lives until it is joined.
    let spawn = || unsafe { (worker.plain_row().spawn)(Some(queued.f), queued.closure, worker) };
    if added.unwrap_or_else(spawn) == 0 {
        return;
    }
    if errno::get() == libc::EINVAL {
        misuse(
            "sched_fork",
            "the run of s has ended, or it is a run of the process that made this one by fork(2), and \
             has no workers here",
        );
    }
    // SAFETY: the spawn has failed, so nobody else has the task.
    let Task { f, closure } =
        unsafe { if forked.is_set_begun() { forked.task_begun() } else { forked.task() } };
    // SAFETY: nobody else has the task; its function accepts its closure.
    unsafe { run_now(forked, Some(f), closure, worker) };
}

/// Runs a forked task at once, since no queue has room.
///
/// # Safety
/// `f` is not NULL and accepts `closure`; nobody else has the task.
#[inline(never)] // the call runs in a frame of its own, which stops exceptions
pub unsafe fn run_now(forked: &Forked, f: Option<TaskFn>, closure: *mut c_void, worker: &Worker) {
    let mine = worker.mine();
    match mine {
        Some(mine) => mine.counters().tasks.add(1),
        None => _ = worker.with_run(Run::count_outside),
    }
    let s = mine.map_or(worker, Mine::worker).handle();
    // SAFETY: `f` is not NULL and accepts `closure`; nobody else has the task.
    call_guarded::<ForkedTask, _>(|| unsafe { f.unwrap_unchecked()(closure, s) });
    forked.end_unawaited();
}

/// Ends the process with a message about a call of `function`, which cannot return an error.
#[cold]
pub fn misuse(function: &str, what: &str) -> ! {
    output::die_in_call(format_args!("{function}: {what}"))
}
