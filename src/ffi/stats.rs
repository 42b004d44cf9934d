//! Workers, statistics and the version in the C interface. `include/sched_tasks.h` is made from
//! this and other files.

use crate::ffi::{INVALID, given, report};
use crate::policy::Place;
use crate::runtime::identity::{self, Mine};
use crate::runtime::record::Run;
use crate::runtime::record::Worker;
use crate::runtime::run;
use crate::runtime::{guest, relief};
use crate::stats::{Totals, Values};
use crate::sys::errno::Errno;
use crate::sys::{detector, memory};
use crate::task::Scheduler;
use std::ffi::{c_char, c_int};

/// What all workers of a run did together.
#[repr(C)]
#[derive(Clone, Copy)]
#[allow(non_camel_case_types, reason = "the name in C")]
pub struct sched_stats {
    /// Tasks that were run.
    pub tasks: usize,
    /// Searches that took a task from another worker's queue.
    pub steals: usize,
    /// Tasks that these searches took.
    pub stolen_tasks: usize,
    /// Searches that found nothing anywhere.
    pub failed_steals: usize,
    /// Sleeps without a time limit, which only a wake-up ends.
    pub parks: usize,
    /// Sleeps for a limited time.
    pub naps: usize,
    /// Sleepers woken by workers.
    pub wakes: usize,
    /// The most tasks that a worker found in its queue; in kinds lifo and fifo, in the shared
    /// queue.
    pub queue_peak: usize,
    /// Workers that have a thread, or would get one if there were tasks for it.
    pub threads: usize,
    /// Workers for which no thread could be created.
    pub threads_missing: usize,
    /// Time since the run began.
    pub seconds: f64,
}

/// The size of the struct in its first version.
const FIRST_SIZE: usize = 88;
const _: () = assert!(size_of::<sched_stats>() >= FIRST_SIZE);

impl From<Totals> for sched_stats {
    fn from(totals: Totals) -> Self {
        let Totals { values, threads, threads_missing, time } = totals;
        let Values { tasks, steals, stolen_tasks, failed_steals, parks, naps, wakes, queue_peak } =
            values;
        sched_stats {
            tasks,
            steals,
            stolen_tasks,
            failed_steals,
            parks,
            naps,
            wakes,
            queue_peak,
            threads,
            threads_missing,
            seconds: time.as_secs_f64(),
        }
    }
}

/// Writes the members that the caller's version of the struct has, and 0 for members that this
/// version does not have.
///
/// # Safety
/// `out` is NULL or has `size` bytes.
unsafe fn write(
    out: *mut sched_stats,
    size: usize,
    totals: impl FnOnce() -> Result<Totals, Errno>,
) -> c_int {
    report(|| {
        if out.is_null() || !memory::is_size_of_struct(size, FIRST_SIZE) {
            return Err(INVALID);
        }
        let stats = sched_stats::from(totals()?);
        let common = size.min(size_of::<sched_stats>());
        let to = out.cast::<u8>();
        // SAFETY: both have `common` bytes, and `out` has `size`.
        unsafe {
            to.copy_from_nonoverlapping((&raw const stats).cast(), common);
            to.add(common).write_bytes(0, size - common);
        }
        Ok(0)
    })
}

/// Writes to out what all workers of the run of s have done so far. size is sizeof (struct
/// sched_stats). A later version of the struct may have more members: the library writes size
/// bytes, with 0 for each member that it does not know.
///
/// While tasks run, the counts lag a little: each worker counts the tasks of its own queue 61 at a
/// time, and when it finds the queue empty; and the counts of different workers are not read at the
/// same moment. When no task is left (in a pool, after sched_pool_wait), tasks, steals and
/// stolen_tasks are exact. Idle workers, which search and sleep, still change the other members.
///
/// Returns 0, or -1 with errno: EINVAL (out is NULL, size is less than that of the struct in the
/// first version that has it, or the run of s has ended). After an error nothing was written.
/// Thread-safe, also for threads that are not workers. Cost: some nanoseconds for each worker; it
/// hardly disturbs the workers.
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_stats(
    s: *mut Scheduler,
    out: *mut sched_stats,
    size: usize,
) -> c_int {
    // SAFETY: `out` is NULL or has `size` bytes; `s` is NULL or a task's.
    unsafe { write(out, size, || given(s)?.with_run(Run::totals).ok_or(INVALID)) }
}

/// Writes to out what the workers did in the last run that ended on the calling thread, in
/// sched_init or in sched_pool_destroy. The counts are exact. size means the same as in
/// sched_stats.
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
    // SAFETY: `out` is NULL or has `size` bytes.
    unsafe { write(out, size, || run::last_totals().ok_or(Errno(libc::ENOENT))) }
}

/// Tells which worker of the run of s the calling thread is: a number from 0 to
/// sched_worker_count(s) - 1. s is the s of any worker of that run. No two threads have the same
/// number at the same time. But a task may be resumed on another thread, so its number may change
/// at each suspension point (libsched(7)) and in sched_block_begin, and in no other call.
///
/// To keep a value for each worker, index an array of sched_worker_count(s) elements. Between two
/// calls that may change the number, only the calling task uses the element of its number, so it
/// needs neither atomics nor locks. After such a call the element may be another task's: ask for
/// the number again, and keep no pointer to the element across the call. (sched_reduce needs no
/// numbers.)
///
/// Returns the number, or -1 with errno: EINVAL (the run of s has ended, the calling thread is not
/// a worker of it, or s is NULL and the caller is not a task). Between sched_block_begin and
/// sched_block_end the thread of a task is not a worker, except in kind serial. A thread from
/// outside that works on its own call in a pool (libsched(7), THREADS OUTSIDE) counts as a worker
/// during the call, and keeps its number in a blocking section. If a thread beside the workers runs
/// the calling task (libsched(7), THREADS OUTSIDE), the task first waits for a worker.
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
        identity::task_worker()
    } else {
        // SAFETY: `s` is not NULL, so this library has given it.
        Some(unsafe { Worker::of(s) })
    };
    let place = || {
        worker.and_then(|worker| {
            worker.mine().map(Mine::worker).or_else(|| guest::in_section(worker))
        })
    };
    let place = match place() {
        Some(place_now) if place_now.is_relief() => {
            detector::ignored(relief::leave);
            place().filter(|place| !place.is_relief())
        }
        place => place,
    };
    report(|| place.map(|place| place.index() as c_int).ok_or(INVALID)) // at most 4096
}

/// Tells how many numbers sched_worker_index can return in the run of s. There is one for each
/// worker, even if no thread could be created for it. A pool of any kind but serial, including the
/// default pool, also has one for each place of a thread from outside (libsched(7), THREADS
/// OUTSIDE): as many places as workers, but at least 8 and at most 64. The number does not change
/// during the run.
///
/// Returns the number, or -1 with errno: EINVAL (the run of s has ended).
/// Thread-safe, also for threads that are not workers. Cost: from a task of the run, a nanosecond
/// or two.
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_worker_count(s: *mut Scheduler) -> c_int {
    report(|| {
        // SAFETY: `s` is NULL or a task's.
        let count = unsafe { given(s) }?.with_run(Run::numbers).ok_or(INVALID)?;
        Ok(count as c_int) // at most 4096
    })
}

/// Returns the version of the running library, such as "1.1.0". The result is never NULL; the
/// program must not free it. Thread-safe and async-signal-safe.
#[unsafe(no_mangle)]
pub extern "C" fn sched_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}
