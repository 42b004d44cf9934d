//! Blocking sections: a part of `include/sched_tasks.h`.

use crate::api::default_pool;
use crate::runtime::blocking;
use crate::runtime::record::Worker;
use crate::sys::errno;
use crate::sys::errno::Errno;
use crate::task::Scheduler;
use crate::threads::cache;
use std::ffi::c_int;

/// Begins a blocking section: what follows in the calling task may block (a system call, a pthread
/// mutex, a library that knows nothing of tasks), and another thread takes its worker's place
/// meanwhile, one that is kept or a new one. The calling thread is no worker of the run until
/// sched_block_end: its spawns and forks go behind those of the workers, its waits (sched_join,
/// sched_mutex_lock and so on) block it, and sched_worker_index gives -1.
///
/// Sections may be nested; the outermost counts. Each is to be ended by the task that began it,
/// before it returns: if not, the process ends with a message. A run may be started in a section.
/// With SCHED_KIND=serial a section is counted, and blocks.
///
/// s is any worker's of the run. If the calling thread is no worker of it, or if the caller is a
/// task of another run that a task of it has started, this and sched_block_end do nothing and
/// return 0. NULL is the caller's own run; outside of a task nothing is done.
///
/// Returns 0, errno unchanged, or -1 with errno, and no section has begun: EINVAL (the run of s has
/// ended), EAGAIN (no thread can be made, there is no memory for the task to have a stack of its
/// own, or as many sections are open as SCHED_BLOCKING allows). The limit is 512, unless that
/// variable or the member blocking of sched_options says otherwise. After EAGAIN the task may block
/// all the same, and its worker with it, so that fewer workers run tasks meanwhile; sched_block_end
/// must not follow.
/// Thread-safe. Cost: some microseconds if a kept thread is woken, some fifty if one is made, some
/// ten nanoseconds if one is already on its way. (A thread that comes after its section has ended
/// watches the worker while more sections follow, each within some hundred microseconds of the one
/// before, and takes the worker's place when a section lasts about as long.) A section within a
/// section costs some nanoseconds.
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
    // SAFETY: by the caller's promise.
    unsafe { with(s, blocking::begin) }
}

/// Ends the section that the calling task began last. The task goes on, as a worker's again: at
/// once, if no other thread has come to its worker yet; else when its turn has come, behind the
/// tasks that are queued by then for all workers. errno goes with the task, but a compiler may have
/// remembered where it was: a function that reads it after this is best not the one that called
/// this.
///
/// Returns 0, errno unchanged, or -1 with errno: EPERM (the task is in no section), EINVAL (the run
/// of s has ended). sched_block_begin says what happens if the caller is not a task of the run.
/// Suspension point: the task may go on in another thread, see libsched(7).
/// Thread-safe. Cost: some ten nanoseconds if nobody has come; else two switches of stacks, the
/// queue of all workers, and the time until a worker takes the task from it.
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_block_end(s: *mut Scheduler) -> c_int {
    // SAFETY: by the caller's promise.
    unsafe { with(s, blocking::end) }
}

const _: () = assert!(cache::MOST_RELIEFS == 512, "the number in the text");

/// # Safety
/// `s` is NULL or was given to a task by this library.
unsafe fn with(s: *mut Scheduler, what: impl FnOnce(&Worker) -> Result<(), Errno>) -> c_int {
    let worker = if s.is_null() {
        let Some(worker) = default_pool::current() else { return 0 }; // no task
        worker
    } else {
        // SAFETY: not null, so given by this library.
        unsafe { Worker::of(s) }
    };
    if worker.run_id() == 0 {
        return errno::failed(libc::EINVAL);
    }
    match what(worker) {
        Ok(()) => 0,
        Err(Errno(error)) => errno::failed(error),
    }
}
