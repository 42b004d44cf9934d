//! Looking in: workers, statistics, the version. This file is a source of `include/sched_tasks.h`, as
//! `tasks` is.

use crate::api::default_pool;
use crate::ffi::given;
use crate::policy::Place;
use crate::runtime::record::Run;
use crate::runtime::record::Worker;
use crate::runtime::run;
use crate::stats::Totals;
use crate::sys::errno::Errno;
use crate::sys::{errno, memory};
use crate::task::Scheduler;
use std::ffi::{c_char, c_int};

/// What all workers of a run did together.
#[repr(C)]
#[derive(Clone, Copy)]
#[allow(non_camel_case_types, reason = "the name in C")]
pub struct sched_stats {
    /// Tasks run.
    pub tasks: usize,
    /// Searches that took a task from another worker's queue.
    pub steals: usize,
    /// Tasks that came by them.
    pub stolen_tasks: usize,
    /// Searches that found nothing anywhere.
    pub failed_steals: usize,
    /// Sleeps that only a wake-up ends.
    pub parks: usize,
    /// Sleeps that time ends.
    pub naps: usize,
    /// Sleepers woken by workers.
    pub wakes: usize,
    /// Most tasks that a worker found in its queue (shared queue: in the queue).
    pub queue_peak: usize,
    /// Workers that have a thread, or would get one if there were tasks for it.
    pub threads: usize,
    /// Workers for whom no thread could be made.
    pub threads_missing: usize,
    /// Since the run began.
    pub seconds: f64,
}

/// In the first version with this struct.
const FIRST_SIZE: usize = 88;
const _: () = assert!(size_of::<sched_stats>() >= FIRST_SIZE);

impl From<Totals> for sched_stats {
    fn from(totals: Totals) -> Self {
        let Totals { values, threads, threads_missing, time } = totals;
        sched_stats {
            tasks: values.tasks,
            steals: values.steals,
            stolen_tasks: values.stolen_tasks,
            failed_steals: values.failed_steals,
            parks: values.parks,
            naps: values.naps,
            wakes: values.wakes,
            queue_peak: values.queue_peak,
            threads,
            threads_missing,
            seconds: time.as_secs_f64(),
        }
    }
}

/// Writes as much of the statistics as the caller knows; what only it knows is 0.
///
/// # Safety
/// `out` is NULL or has `size` bytes.
unsafe fn write(
    out: *mut sched_stats,
    size: usize,
    totals: impl FnOnce() -> Result<Totals, Errno>,
) -> c_int {
    if out.is_null() || !memory::is_size_of_struct(size, FIRST_SIZE) {
        return errno::failed(libc::EINVAL);
    }
    let stats = match totals() {
        Ok(totals) => sched_stats::from(totals),
        Err(Errno(error)) => return errno::failed(error),
    };
    let common = size.min(size_of::<sched_stats>());
    let to = out.cast::<u8>();
    // SAFETY: both have so many bytes; `out` has the rest, too.
    unsafe {
        to.copy_from_nonoverlapping((&raw const stats).cast(), common);
        to.add(common).write_bytes(0, size - common);
    }
    0
}

/// Tells what the workers of the run of s have done so far, all together. size is sizeof (struct
/// sched_stats), which may have more members in a later version: only size bytes are written, and a
/// member that the library does not know is 0.
///
/// While tasks run, the counts are a little late: each worker adds the tasks that it took from its
/// own queue 61 at a time, or when it finds the queue empty, and the workers are not read at one
/// moment. When no task is left (in a pool, after sched_pool_wait) the counts are exact, except
/// that workers that search or go to sleep still change theirs.
///
/// Returns 0, or -1 with errno: EINVAL (out is NULL, size is less than that of the struct in the
/// first version that has it, or the run of s has ended). After an error nothing was written.
/// Thread-safe, also for threads that are no workers. Cost: some nanoseconds for each worker; the
/// workers are hardly disturbed.
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_stats(
    s: *mut Scheduler,
    out: *mut sched_stats,
    size: usize,
) -> c_int {
    // SAFETY: by the caller's promise.
    unsafe { write(out, size, || given(s)?.with_run(Run::totals).ok_or(Errno(libc::EINVAL))) }
}

/// Tells what the last run did that ended on the calling thread: by sched_init, or a pool's by
/// sched_pool_destroy. The counts are exact. size is as for sched_stats.
///
/// Returns 0, or -1 with errno: EINVAL (out is NULL, or size is less than that of the struct in the
/// first version that has it), ENOENT (no run has ended on this thread). After an error
/// nothing was written. Thread-safe. Cost: some nanoseconds.
///
/// Example:
///
///     struct sched_stats stats;
///     sched_init(0, 0, root, NULL);
///     if (sched_last_stats(&stats, sizeof stats) == 0)
///         printf("%zu tasks in %g s\n", stats.tasks, stats.seconds);
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_last_stats(out: *mut sched_stats, size: usize) -> c_int {
    // SAFETY: by the caller's promise.
    unsafe { write(out, size, || run::last_totals().ok_or(Errno(libc::ENOENT))) }
}

/// The number of the worker that the calling thread is in the run of s, which may be any worker's of
/// that run: from 0 to sched_worker_count(s) - 1. No two threads have the same number at the same
/// time. But a task may go on in another thread: its number may change at each suspension point
/// (libsched(7)) and in sched_block_begin, and in no other call.
///
/// To keep a value for each worker, index an array of sched_worker_count(s) elements. From one such
/// call to the next, the element of the current number is the task's alone, without atomics or
/// locks. Afterwards it may be another task's: ask for the number again, and keep no pointer to the
/// element across the call. (sched_reduce needs no numbers.)
///
/// Returns it, or -1 with errno: EINVAL (the run of s has ended, the calling thread is no worker of
/// it, or, with s NULL, in no task). Between sched_block_begin and sched_block_end the thread of a
/// task is no worker, except in kind serial.
/// Thread-safe. Cost: a nanosecond or two.
///
/// Example:
///
///     sched_join(&t, s);
///     struct part *mine = &part[sched_worker_index(s)];   (until the next such call)
///     mine->visits++;
///     if (mine->best < value)
///         mine->best = value;
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_worker_index(s: *mut Scheduler) -> c_int {
    let worker = if s.is_null() {
        default_pool::current()
    } else {
        // SAFETY: not null, so given by this library.
        Some(unsafe { Worker::of(s) })
    };
    match worker.and_then(Worker::mine) {
        Some(mine) => mine.index() as c_int, // at most 4096
        None => errno::failed(libc::EINVAL),
    }
}

/// The number of workers of the run of s, including those for which no thread could be made. It
/// does not change while the run goes on.
///
/// Returns it, or -1 with errno: EINVAL (the run of s has ended).
/// Thread-safe, also for threads that are no workers. Cost: from a task of the run a nanosecond or
/// two.
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_worker_count(s: *mut Scheduler) -> c_int {
    // SAFETY: by the caller's promise.
    let count = unsafe { given(s) }
        .and_then(|worker| worker.with_run(Run::workers).ok_or(Errno(libc::EINVAL)));
    match count {
        Ok(count) => count as c_int, // at most 4096
        Err(Errno(error)) => errno::failed(error),
    }
}

/// The version of the library that runs, such as "1.0.0": numbers and points. Never NULL, and not
/// to be freed. Async-signal-safe.
#[unsafe(no_mangle)]
pub extern "C" fn sched_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}
