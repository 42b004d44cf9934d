//! Blocking sections in the C interface. `include/sched_tasks.h` is made from this and other files.

use crate::ffi::{INVALID, report};
use crate::runtime::blocking;
use crate::runtime::identity;
use crate::runtime::record::Worker;
use crate::sys::detector;
use crate::sys::errno::Errno;
use crate::task::Scheduler;
use crate::threads::cache;
use std::ffi::c_int;

/// Begins a blocking section. Until sched_block_end the calling task may block: in a system call,
/// on a pthread mutex, in a library that knows nothing of tasks. During the section another thread,
/// a kept one or a new one, takes over the task's worker, and the calling thread is not a worker of
/// the run: the tasks that it spawns or forks are queued behind those of the workers, a wait
/// (sched_join, sched_mutex_lock and so on) blocks the thread, and sched_worker_index returns -1.
///
/// Sections may be nested; only the outermost one has an effect. The task that began a section must
/// end it before it returns; otherwise the process ends with a message. A run may be started in a
/// section. With SCHED_KIND=serial sections are also counted, but no other thread takes over the
/// worker.
///
/// s is the s of any worker of the caller's run, or NULL. This function and sched_block_end do
/// nothing and return 0 if the calling thread is not a worker of the run of s, if the caller is a
/// task of another run that a task of the run of s has started, or if s is NULL outside of a task.
///
/// Returns 0, errno unchanged, or -1 with errno, and no section has begun: EINVAL (the run of s has
/// ended), EAGAIN (no thread can be made, there is no memory for the task to have a stack of its
/// own or a place in a queue, or as many sections are open as SCHED_BLOCKING allows). The limit is
/// 512, unless SCHED_BLOCKING or the member blocking of sched_options sets another. After EAGAIN
/// the task must not call sched_block_end. It may still block; then its worker blocks with it, and
/// fewer workers run tasks during that time. The first time that the limit refuses a section, a
/// line on standard error says so.
/// Thread-safe. Cost: some microseconds if a kept thread is woken; some fifty microseconds if a
/// thread is made; some ten nanoseconds if a thread is already on its way. (A thread that comes
/// after the section has ended watches the worker, as long as further sections follow, each within
/// some hundred microseconds of the one before. It takes over the worker when a section lasts some
/// hundred microseconds, at most a millisecond.) A section within a section costs some nanoseconds.
///
/// Example:
///
///     int began = sched_block_begin(s) == 0;
///     ssize_t n = read(fd, buffer, sizeof buffer);
///     if (began)
///         sched_block_end(s);
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_block_begin(s: *mut Scheduler) -> c_int {
    // SAFETY: `s` is NULL or a task's.
    unsafe { with(s, blocking::begin) }
}

/// Ends the section that the calling task began last. The task continues at once if a worker of
/// the run has no thread at this moment, and no other task waits at the end of a section.
/// Otherwise it waits for its turn: the tasks that have ended sections continue in the
/// order in which their sections ended, before the other tasks in the queue for all workers. (After
/// every 61 of these tasks one of the other tasks has a turn, and at each worker one of its own
/// tasks.) errno keeps its value even if the thread changes. But a compiler may have kept the
/// address of the old thread's errno, so the function that calls sched_block_end should not read
/// errno itself.
///
/// Returns 0, errno unchanged, or -1 with errno: EPERM (the task is not in a section), EINVAL (the
/// run of s has ended). sched_block_begin says what happens if the caller is not a task of the run.
/// Suspension point: the task may be resumed on another thread, see libsched(7).
/// Thread-safe. Cost: some ten nanoseconds if the task continues at once; otherwise two switches of
/// stacks, two uses of the queue for all workers, and the time until a worker takes the task from
/// that queue. If every worker runs a task then, one of these tasks must end or wait first.
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_block_end(s: *mut Scheduler) -> c_int {
    // SAFETY: `s` is NULL or a task's.
    unsafe { with(s, blocking::end) }
}

const _: () = assert!(cache::MOST_RELIEFS == 512, "the number in the text");

/// # Safety
/// `s` is NULL or was given to a task by this library.
unsafe fn with(s: *mut Scheduler, what: impl FnOnce(&Worker) -> Result<(), Errno>) -> c_int {
    let worker = if s.is_null() {
        let Some(worker) = identity::task_worker() else { return 0 }; // no task
        worker
    } else {
        // SAFETY: `s` is not NULL, so this library has given it.
        unsafe { Worker::of(s) }
    };
    report(|| match worker.run_id() {
        0 => Err(INVALID),
        _ => detector::ignored(|| what(worker)).map(|()| 0),
    })
}
