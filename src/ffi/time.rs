//! Time in the C interface: sleeping, timers, and waits with a deadline. `include/sched_tasks.h` is
//! made from this and other files. This is one file because all these functions have their deadline
//! and their errors in common.

use crate::api::group::Group;
use crate::api::timer::Timer;
use crate::api::{timed, until};
use crate::ffi::{INVALID, given, object, report, set, taskfunc, waited};
use crate::runtime::deadlines;
use crate::task::{Level, Scheduler};
use std::ffi::{c_int, c_void};

use crate::ffi::groups::sched_group;
use crate::ffi::sync::{sched_cond, sched_mutex, sched_sem};

/// A time in nanoseconds.
#[allow(non_camel_case_types, reason = "the name in C")]
pub type sched_time = i64;

/// A timer spawns a function at a given time. SCHED_TIMER_INIT is a timer that is not pending. A
/// timer must not be copied or freed from its start until its function begins, or until
/// sched_timer_cancel has returned 0.
#[repr(C)]
#[allow(non_camel_case_types, reason = "the name in C")]
pub struct sched_timer {
    // For the library only.
    links: [*mut c_void; 2],
    deadline: sched_time,
    slot: usize,
    claim: *mut c_void,
    shard: usize,
    f: *mut c_void,
    closure: *mut c_void,
    worker: *mut c_void,
    state: usize,
}

/// The time of CLOCK_MONOTONIC in nanoseconds, to which all deadlines refer. This clock does not
/// advance while the machine is suspended, and nobody sets it.
/// Thread-safe and async-signal-safe. Cost: some twenty nanoseconds.
#[unsafe(no_mangle)]
pub extern "C" fn sched_now() -> sched_time {
    deadlines::now()
}

/// Sleeps for ns nanoseconds: the calling task is suspended, and its worker runs other tasks. A
/// thread that is not in a task sleeps. If ns is 0 or negative, the call returns at once. If ns is
/// positive, a task yields at least once, however short the time is. If the sum of ns and the
/// present time is SCHED_FOREVER or more, only a cancellation ends the sleep.
///
/// Returns 0 when the time has passed; or -1 with errno: ECANCELED (the caller's group is
/// cancelled: see sched_group_cancel(3)), ENOMEM (there is no memory), EINVAL (the run of s has
/// ended).
/// Suspension point: the task may be resumed on another thread, see libsched(7).
/// Thread-safe. Cost: that of a suspension, and some hundred nanoseconds. If a worker is idle, the
/// task is resumed with the delay of a thread that sleeps in nanosleep(2). If all workers are busy,
/// the task is resumed in the next turn of tasks from outside, within about a millisecond, or when
/// the running tasks end: see libsched(7), THREADS OUTSIDE.
///
/// Example:
///
///     while (!ready(device))
///         sched_sleep(10 * SCHED_MILLISECOND, s);
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_sleep(ns: sched_time, s: *mut Scheduler) -> c_int {
    // SAFETY: `s` is NULL or a task's.
    timed::sleep(ns, unsafe { waited(s) })
}

/// As sched_sleep, until the time deadline. If it has passed, the call returns at once.
///
/// Returns 0 when the time has passed; or -1 with errno: ECANCELED (the caller's group is
/// cancelled: see sched_group_cancel(3)), ENOMEM (there is no memory), EINVAL (the run of s has
/// ended).
/// Suspension point: the task may be resumed on another thread, see libsched(7).
/// Thread-safe. Cost: that of sched_sleep.
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_sleep_until(deadline: sched_time, s: *mut Scheduler) -> c_int {
    // SAFETY: `s` is NULL or a task's.
    timed::sleep_until(deadline, unsafe { waited(s) })
}

/// As sched_mutex_lock, but waits no longer than until deadline; if that has passed, this is
/// sched_mutex_trylock. Tasks and threads that wait with a deadline get the mutex in the order in
/// which they came. Together they have one place in the queue of those that wait without a
/// deadline.
///
/// Returns 0, or -1 with errno, and nothing has changed: ETIMEDOUT (the deadline has passed),
/// ECANCELED (the caller's group is cancelled: see sched_group_cancel(3)), ENOMEM (there is no
/// memory), EINVAL (m is NULL, or the mutex is locked and the run of s has ended).
/// Suspension point: the task may be resumed on another thread, see libsched(7).
/// Thread-safe. Cost: an atomic operation if the mutex is free; a wait takes a lock of the library
/// twice, and one or two switches of stacks.
///
/// Example:
///
///     if (sched_mutex_lock_until(&m, sched_now() + SCHED_SECOND, s) != 0)
///         return busy();
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_mutex_lock_until(
    m: *mut sched_mutex,
    deadline: sched_time,
    s: *mut Scheduler,
) -> c_int {
    // SAFETY: the pointer is NULL, or points to an initialised object; the rest is the caller's
    // promise.
    report(|| unsafe { Ok(until::lock_until(object(m)?, deadline, waited(s))) })
}

/// As sched_cond_wait, but waits for the signal no longer than until deadline. In each case the
/// caller holds the mutex afterwards: it waits for the mutex without a deadline. If the deadline
/// has passed before the call, the call fails without unlocking the mutex.
///
/// Returns 0, or -1 with errno: ETIMEDOUT (the deadline has passed), ECANCELED (the caller's group
/// is cancelled: see sched_group_cancel(3)), ENOMEM (there is no memory), EINVAL (c or m is NULL,
/// or the run of s has ended), EPERM (nobody has locked m). After ETIMEDOUT and ECANCELED others
/// may have held the mutex meanwhile; after the other errors nothing has changed.
/// Suspension point: the task may be resumed on another thread, see libsched(7).
/// Thread-safe. Cost: that of sched_cond_wait, and some hundred nanoseconds.
///
/// Example:
///
///     sched_time deadline = sched_now() + SCHED_SECOND;
///     sched_mutex_lock(&m, s);
///     while (length == 0)
///         if (sched_cond_wait_until(&not_empty, &m, deadline, s) != 0)
///             break;
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_cond_wait_until(
    c: *mut sched_cond,
    m: *mut sched_mutex,
    deadline: sched_time,
    s: *mut Scheduler,
) -> c_int {
    // SAFETY: the pointers are NULL, or point to initialised objects; the rest is the caller's
    // promise.
    report(|| unsafe { Ok(until::cond_wait_until(object(c)?, object(m)?, deadline, waited(s))) })
}

/// As sched_sem_wait, but waits no longer than until deadline; if that has passed, this is
/// sched_sem_trywait. A unit that is posted is never lost: either this call takes it and returns 0,
/// or it remains for others.
///
/// Returns 0, or -1 with errno, and nothing has changed: ETIMEDOUT (the deadline has passed),
/// ECANCELED (the caller's group is cancelled: see sched_group_cancel(3)), ENOMEM (there is no
/// memory), EINVAL (sem is NULL, or there is no unit and the run of s has ended).
/// Suspension point: the task may be resumed on another thread, see libsched(7).
/// Thread-safe. Cost: that of sched_sem_wait, and some hundred nanoseconds for a wait.
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_sem_wait_until(
    sem: *mut sched_sem,
    deadline: sched_time,
    s: *mut Scheduler,
) -> c_int {
    // SAFETY: the pointer is NULL, or points to an initialised object; the rest is the caller's
    // promise.
    report(|| unsafe { Ok(until::sem_wait_until(object(sem)?, deadline, waited(s))) })
}

/// As sched_group_wait, but waits no longer than until deadline; if that has passed, this asks
/// whether the group has tasks. After a failure tasks may be left: the caller must wait for the
/// group again before it frees the group's memory. A thread that is not a worker runs no tasks of
/// the group.
///
/// Returns 0 if no task of the group is left; or -1 with errno: ETIMEDOUT (the deadline has
/// passed), ECANCELED (no task is left, and sched_group_cancel was called since the last wait; or
/// tasks may be left, and the caller's own group is cancelled), ENOMEM (there is no memory), EINVAL
/// (g is NULL, or the run of s has ended and the group has tasks of a parent process).
/// Suspension point: the task may be resumed on another thread, see libsched(7).
/// Thread-safe. Cost: that of sched_group_wait, and some hundred nanoseconds for a wait.
///
/// Example: cancel what has not ended after a second.
///
///     if (sched_group_wait_until(&g, sched_now() + SCHED_SECOND, s) != 0) {
///         sched_group_cancel(&g);
///         sched_group_wait(&g, s);
///     }
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_group_wait_until(
    g: *mut sched_group,
    deadline: sched_time,
    s: *mut Scheduler,
) -> c_int {
    // SAFETY: `g` is NULL, or points to a group; the rest is the caller's promise.
    report(|| unsafe { Ok(object::<Group>(g)?.wait_until(deadline, waited(s))) })
}

/// Makes *t a timer that is not pending, as SCHED_TIMER_INIT does for a variable.
///
/// Returns 0, or -1 with errno: EINVAL (t is NULL).
/// Not thread-safe: nobody may use the timer at the same time. Cost: some stores.
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_timer_init(t: *mut sched_timer) -> c_int {
    set(t, Timer::idle())
}

/// Spawns the task f(closure, s) at the time deadline, once, in the run of s; at once if that has
/// passed. The run does not end while a timer is pending: sched_init, sched_pool_wait and
/// sched_pool_destroy wait for its task or its cancellation. As soon as f begins, the timer may be
/// started again, also by f, or freed. The task belongs to no group.
///
/// Returns 0, or -1 with errno, and nothing has changed: EBUSY (the timer is pending, or its
/// function has not begun), EINVAL (t or f is NULL, or the run of s has ended), ENOMEM (there is no
/// memory). If there is no memory at the deadline, the task is spawned as soon as there is.
/// Thread-safe. Cost: some fifty nanoseconds, however many timers are pending; nothing is
/// allocated. The task begins with the delay of a sleeping task that is resumed: see
/// sched_sleep.
///
/// Example:
///
///     static void expire(void *connection, struct scheduler *s);
///     ...
///     sched_timer_start(&c->idle, sched_now() + 30 * SCHED_SECOND, expire, c, s);
///     ...
///     if (sched_timer_cancel(&c->idle) == 0)
///         close_connection(c);       (otherwise expire does it)
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn sched_timer_start(
    t: *mut sched_timer,
    deadline: sched_time,
    f: taskfunc,
    closure: *mut c_void,
    s: *mut Scheduler,
) -> c_int {
    report(|| {
        let f = f.ok_or(INVALID)?;
        // SAFETY: `t` is NULL, or points to a timer; the rest is the caller's promise.
        unsafe { object::<Timer>(t)?.start(Level::Normal, deadline, f, closure, given(s)?)? };
        Ok(0)
    })
}

/// Cancels the timer, from any task or thread.
///
/// Returns 0 if its function will not run: the timer may be started again, or freed. Otherwise -1
/// with errno: EALREADY (the timer was not pending, or its task has been spawned), EINVAL (t is
/// NULL).
/// Thread-safe. Cost: some thirty nanoseconds.
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_timer_cancel(t: *mut sched_timer) -> c_int {
    // SAFETY: `t` is NULL, or points to a timer.
    report(|| unsafe { object::<Timer>(t) }?.cancel().map(|()| 0))
}
