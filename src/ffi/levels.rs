//! Urgent and background tasks in the C interface. `include/sched_tasks.h` is made from this and
//! other files.

use crate::api::dag::TaskNode;
use crate::api::group::Group;
use crate::api::pool::Pool;
use crate::api::timer::Timer;
use crate::ffi::groups::sched_group;
use crate::ffi::nodes::sched_node;
use crate::ffi::pool::sched_pool;
use crate::ffi::time::{sched_time, sched_timer};
use crate::ffi::{INVALID, given, object, report, taskfunc};
use crate::sys::errno::Errno;
use crate::sys::probe;
use crate::task::{Level, Scheduler, Task};
use std::ffi::{c_int, c_void};

/// The level that C names SCHED_NORMAL, SCHED_URGENT or SCHED_BACKGROUND. Fails with EINVAL if
/// there is no such level.
fn level_of(level: c_int) -> Result<Level, Errno> {
    match level {
        0 => Ok(Level::Normal),
        1 => Ok(Level::Urgent),
        2 => Ok(Level::Background),
        _ => Err(INVALID),
    }
}

/// Adds the task f(closure, s) to the run of s with a level:
///
/// SCHED_NORMAL: as sched_spawn. SCHED_URGENT: the task begins before all others that are queued in
/// the run, as soon as one worker's task ends, joins, is suspended, or is between two parts of a
/// loop, a reduction or a sort. Urgent tasks begin in the order in which they were added. If they
/// are added without end, other tasks may never begin. SCHED_BACKGROUND: the task begins when a
/// worker finds no other task; behind workers that always find one, a background task begins at
/// least once in about a tenth of a second.
///
/// The level tells when the task begins, and nothing else: the tasks that it spawns,
/// and the task itself once it has waited, are ordinary tasks. The run does not end before its
/// background tasks have ended.
///
/// Returns 0, or -1 with errno, and nothing has changed: EINVAL (level is none of the three, f is
/// NULL, or the run of s has ended), EAGAIN (there is no memory, or the queue for all workers
/// already holds qlen tasks under SCHED_OVERFLOW=refuse).
/// No suspension point, also in kind cont: the task is queued.
/// Thread-safe. Cost: a lock and a fence; for an urgent task also some hundred nanoseconds of each
/// worker; for the first background task a thread of the library, which lasts as long as the run.
///
/// Example:
///
///     if (sched_spawn_at(SCHED_URGENT, answer, request, s) != 0)
///         answer(request, s);
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn sched_spawn_at(
    level: c_int,
    f: taskfunc,
    closure: *mut c_void,
    s: *mut Scheduler,
) -> c_int {
    report(|| {
        let (level, f) = (level_of(level)?, f.ok_or(INVALID)?);
        // SAFETY: `f` accepts `closure`; `s` is NULL or a task's.
        unsafe { Ok(given(s)?.spawn_at(level, Task { f, closure })) }
    })
}

probe::entry!("spawn", sched_spawn_at, 1, 2, 3);

/// As sched_group_spawn, with a level: see sched_spawn_at. In a cancelled group the task is not
/// run, and leaves the group when it would have begun.
///
/// Returns 0, or -1 with errno, and nothing has changed: EINVAL (level is none of the three, g or f
/// is NULL, or the run of s has ended), EAGAIN (there is no memory, or the queue for all workers
/// already holds qlen tasks under SCHED_OVERFLOW=refuse).
/// No suspension point, also in kind cont: the task is queued.
/// Thread-safe, under the conditions of sched_group_spawn. Cost: that of sched_spawn_at, and that
/// of a copied argument.
///
/// Example:
///
///     for (int i = 0; i < n; i++)
///         if (sched_group_spawn_at(&g, SCHED_BACKGROUND, compress, &part[i], s) != 0)
///             compress(&part[i], s);
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn sched_group_spawn_at(
    g: *mut sched_group,
    level: c_int,
    f: taskfunc,
    closure: *mut c_void,
    s: *mut Scheduler,
) -> c_int {
    report(|| {
        let (level, f) = (level_of(level)?, f.ok_or(INVALID)?);
        // SAFETY: `g` is NULL, or points to a group; the rest is the caller's promise.
        unsafe { Ok(object::<Group>(g)?.spawn_at(level, f, closure, given(s)?)) }
    })
}

probe::entry!("spawn", sched_group_spawn_at, 2, 3, 4);

/// Gives the task of the node a level: see sched_spawn_at. The task is queued with this level when
/// the node is ready and its predecessors have ended. The last call before sched_node_ready counts.
///
/// Returns 0, or -1 with errno, and nothing has changed: EBUSY (the node was made ready), EINVAL
/// (n is NULL or an event, or level is none of the three).
/// Not thread-safe: nobody may use the node at the same time. Cost: some loads and a store.
///
/// Example:
///
///     sched_node_init(&n, show, &frame);
///     sched_node_level(&n, SCHED_URGENT);
///     if (sched_node_ready(&n, s) != 0)
///         show(&frame, s);
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_node_level(n: *mut sched_node, level: c_int) -> c_int {
    // SAFETY: `n` is NULL, or points to a node.
    report(|| unsafe { object::<TaskNode>(n) }?.set_level(level_of(level)?).map(|()| 0))
}

/// As sched_pool_submit, with a level: see sched_spawn_at.
///
/// Returns 0, or -1 with errno, and nothing has changed: EINVAL (level is none of the three, pool
/// or f is NULL, or this process was made by fork after the pool was created), EAGAIN (there is no
/// memory, or the pool already holds qlen tasks from outside under SCHED_OVERFLOW=refuse).
/// No suspension point, also in kind cont: the task is queued.
/// Thread-safe. Cost: that of sched_spawn_at, and perhaps the waking of a worker.
///
/// Example:
///
///     if (sched_pool_submit_at(pool, SCHED_URGENT, answer, request) != 0)
///         reject(request);
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn sched_pool_submit_at(
    pool: *mut sched_pool,
    level: c_int,
    f: taskfunc,
    closure: *mut c_void,
) -> c_int {
    report(|| {
        let (level, f) = (level_of(level)?, f.ok_or(INVALID)?);
        // SAFETY: `pool` is NULL, or was created and not destroyed; `f` accepts `closure`.
        unsafe { Ok(object::<Pool>(pool)?.worker()?.spawn_at(level, Task { f, closure })) }
    })
}

probe::entry!("spawn", sched_pool_submit_at, 2, 3, 0);

/// As sched_timer_start, with a level: see sched_spawn_at. The task is queued with this level at
/// the time deadline.
///
/// Returns 0, or -1 with errno, and nothing has changed: EBUSY (the timer is pending, or its
/// function has not begun), EINVAL (level is none of the three, t or f is NULL, or the run of s has
/// ended), ENOMEM (there is no memory). If there is no memory at the deadline, the task is spawned
/// as soon as there is.
/// Thread-safe. Cost: that of sched_timer_start, and at the deadline that of sched_spawn_at.
///
/// Example:
///
///     sched_time soon = sched_now() + 10 * SCHED_MILLISECOND;
///     if (sched_timer_start_at(&t, SCHED_URGENT, soon, poll_device, d, s) != 0)
///         err(1, "sched_timer_start_at");
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn sched_timer_start_at(
    t: *mut sched_timer,
    level: c_int,
    deadline: sched_time,
    f: taskfunc,
    closure: *mut c_void,
    s: *mut Scheduler,
) -> c_int {
    report(|| {
        let (level, f) = (level_of(level)?, f.ok_or(INVALID)?);
        // SAFETY: `t` is NULL, or points to a timer; the rest is the caller's promise.
        unsafe { object::<Timer>(t)?.start(level, deadline, f, closure, given(s)?).map(|()| 0) }
    })
}
