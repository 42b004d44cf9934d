//! Mutex, condition variable, semaphore and barrier in the C interface. `include/sched_tasks.h` is
//! made from this and other files.

use crate::api::sync;
use crate::ffi::{INVALID, object, report, set, waited};
use crate::runtime::record::Worker;
use crate::sync::barrier::Barrier;
use crate::sync::cond::Cond;
use crate::sync::mutex::Mutex;
use crate::sync::sem::{MOST, Sem};
use crate::task::Scheduler;
use std::ffi::{c_int, c_void};

/// A mutex for tasks: a task that has to wait is suspended, and its worker runs other tasks.
/// Waiting tasks and threads get the mutex in the order in which they came, but others may overtake
/// the oldest of them, at most 4096 times. SCHED_MUTEX_INIT is an unlocked mutex. A mutex need not
/// be destroyed; it must not be copied while it is in use.
#[repr(C)]
#[allow(non_camel_case_types, reason = "the name in C")]
pub struct sched_mutex {
    // For the library only.
    state: usize,
    queue: *mut c_void,
    holder: usize,
}

/// A condition variable, to be used with a mutex. SCHED_COND_INIT is one that nobody waits for.
#[repr(C)]
#[allow(non_camel_case_types, reason = "the name in C")]
pub struct sched_cond {
    // For the library only.
    first: *mut c_void,
    last: *mut c_void,
    lock: usize,
}

/// A counting semaphore; SCHED_SEM_INIT(n) is one with n units.
#[repr(C)]
#[allow(non_camel_case_types, reason = "the name in C")]
pub struct sched_sem {
    // For the library only.
    state: usize,
    first: *mut c_void,
    last: *mut c_void,
}

/// A barrier; SCHED_BARRIER_INIT(n) is one for n tasks or threads.
#[repr(C)]
#[allow(non_camel_case_types, reason = "the name in C")]
pub struct sched_barrier {
    // For the library only.
    size: usize,
    arrived: usize,
    first: *mut c_void,
    last: *mut c_void,
    lock: usize,
}

/// Initialises m as an unlocked mutex, like SCHED_MUTEX_INIT. Returns 0, or -1 with errno: EINVAL
/// (m is NULL).
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_mutex_init(m: *mut sched_mutex) -> c_int {
    set(m, Mutex::default())
}

/// Locks the mutex. While another task or thread holds it, the calling task waits, and its worker
/// runs other tasks; a thread that is not a worker sleeps. s is the s of any worker of the caller's
/// run. Several runs and pools, and threads without a run, may use the same mutex. A thread without
/// a run passes NULL as s, which makes no pool. If a task locks a mutex that it already holds, the
/// process ends with a message, since the task would wait for itself.
///
/// Returns 0, or -1 with errno: EINVAL (m is NULL, or the mutex is locked and the run of s has
/// ended).
/// Suspension point: the task may be resumed on another thread, see libsched(7).
/// Thread-safe. Cost: an atomic operation if the mutex is free, two if others wait for it; a wait
/// costs a microsecond of spinning, and one or two switches of stacks.
///
/// Example:
///
///     static sched_mutex m = SCHED_MUTEX_INIT;
///     ...
///     sched_mutex_lock(&m, s);
///     insert(table, key);         (which may fork, join, yield)
///     sched_mutex_unlock(&m);
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_mutex_lock(m: *mut sched_mutex, s: *mut Scheduler) -> c_int {
    // SAFETY: the pointer is NULL, or points to an initialised object; the rest is the caller's
    // promise.
    report(|| unsafe { Ok(sync::lock(object(m)?, s.cast::<Worker>().as_ref(), move || waited(s))) })
}

/// Locks the mutex if it is free, even if others wait for it. The holder is not recorded, so the
/// library does not notice if another task or thread unlocks the mutex. Returns 0, or -1 with
/// errno: EBUSY (the mutex is locked), EINVAL (m is NULL).
/// Thread-safe. Cost: an atomic operation.
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_mutex_trylock(m: *mut sched_mutex) -> c_int {
    // SAFETY: the pointer is NULL, or points to an initialised object.
    report(|| Ok(sync::try_lock(unsafe { object(m) }?)))
}

/// Unlocks the mutex. If tasks or threads wait for it, the one that has waited longest is woken and
/// competes for it with those that come. If it was overtaken 4096 times, or for longer than about a
/// millisecond, it gets the mutex directly. The caller must be the task or thread that has locked
/// the mutex. Otherwise the process ends with a message, unless the mutex was locked by
/// sched_mutex_trylock, which records no holder. (If one task is to lock and another to unlock, use
/// a semaphore.)
///
/// Returns 0, or -1 with errno: EPERM (the mutex is not locked), EINVAL (m is NULL).
/// Thread-safe, not async-signal-safe. Cost: an atomic operation, if nobody waits.
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_mutex_unlock(m: *mut sched_mutex) -> c_int {
    // SAFETY: the pointer is NULL, or points to an initialised object.
    report(|| Ok(sync::unlock(unsafe { object(m) }?)))
}

/// Initialises c as a condition variable that nobody waits for, like SCHED_COND_INIT. Returns 0, or
/// -1 with errno: EINVAL (c is NULL).
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_cond_init(c: *mut sched_cond) -> c_int {
    set(c, Cond::default())
}

/// Unlocks the mutex, which the caller holds, waits until the condition variable is signalled, and
/// locks the mutex again. There are no spurious wake-ups. But others may have held the mutex since
/// the signal, so a program must test in a loop the state that it waits for.
///
/// Returns 0, or -1 with errno, and nothing has changed: EINVAL (c or m is NULL, or the run of s
/// has ended), EPERM (nobody has locked m).
/// Suspension point: the task may be resumed on another thread, see libsched(7).
/// Thread-safe. Cost: one or two switches of stacks.
///
/// Example:
///
///     sched_mutex_lock(&m, s);
///     while (length == 0)
///         sched_cond_wait(&not_empty, &m, s);
///     item = queue[--length];
///     sched_mutex_unlock(&m);
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_cond_wait(
    c: *mut sched_cond,
    m: *mut sched_mutex,
    s: *mut Scheduler,
) -> c_int {
    // SAFETY: the pointers are NULL, or point to initialised objects; the rest is the caller's
    // promise.
    report(|| unsafe { Ok(sync::cond_wait(object(c)?, object(m)?, waited(s))) })
}

/// Makes the task or thread that has waited longest, if any, wait for the mutex instead, behind
/// those that already wait for it; it wakes when its turn comes. A program must hold the mutex
/// while it changes the state that others wait for; it may unlock the mutex before the signal.
///
/// Returns 0, or -1 with errno: EINVAL (c is NULL).
/// Thread-safe. Cost: a load, if nobody waits.
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_cond_signal(c: *mut sched_cond) -> c_int {
    report(|| {
        // SAFETY: the pointer is NULL, or points to an initialised object.
        sync::signal(unsafe { object(c) }?);
        Ok(0)
    })
}

/// Does what sched_cond_signal does, for all waiting tasks and threads in the order in which they
/// came.
///
/// Returns 0, or -1 with errno: EINVAL (c is NULL).
/// Thread-safe. Cost: a load, if nobody waits.
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_cond_broadcast(c: *mut sched_cond) -> c_int {
    report(|| {
        // SAFETY: the pointer is NULL, or points to an initialised object.
        sync::broadcast(unsafe { object(c) }?);
        Ok(0)
    })
}

/// Initialises sem as a semaphore with n units, like SCHED_SEM_INIT(n). Returns 0, or -1 with
/// errno: EINVAL (sem is NULL, or n is greater than SIZE_MAX / 2).
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_sem_init(sem: *mut sched_sem, n: usize) -> c_int {
    report(|| if n > MOST { Err(INVALID) } else { Ok(set(sem, Sem::new(n))) })
}

/// Takes a unit. While there is none, the calling task waits as in sched_mutex_lock. Waiting tasks
/// and threads get units in the order in which they came.
///
/// Returns 0, or -1 with errno: EINVAL (sem is NULL, or there is no unit and the run of s has
/// ended).
/// Suspension point: the task may be resumed on another thread, see libsched(7).
/// Thread-safe. Cost: an atomic operation if there is a unit; a wait costs one or two switches of
/// stacks.
///
/// Example: at most four tasks at a time call the database.
///
///     static sched_sem free_connections = SCHED_SEM_INIT(4);
///     ...
///     sched_sem_wait(&free_connections, s);
///     query(...);
///     sched_sem_post(&free_connections);
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_sem_wait(sem: *mut sched_sem, s: *mut Scheduler) -> c_int {
    // SAFETY: the pointer is NULL, or points to an initialised object; the rest is the caller's
    // promise.
    report(|| unsafe { Ok(sync::sem_wait(object(sem)?, move || waited(s))) })
}

/// Takes a unit if there is one. Returns 0, or -1 with errno: EAGAIN (there is no unit), EINVAL
/// (sem is NULL).
/// Thread-safe. Cost: an atomic operation.
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_sem_trywait(sem: *mut sched_sem) -> c_int {
    // SAFETY: the pointer is NULL, or points to an initialised object.
    report(|| Ok(sync::sem_try_wait(unsafe { object(sem) }?)))
}

/// Adds a unit; the task or thread that has waited longest, if any, gets it, and nobody overtakes
/// it. (So a mutex is faster where it suffices.)
///
/// Returns 0, or -1 with errno: EOVERFLOW (there are SIZE_MAX / 2 units), EINVAL (sem is NULL).
/// Thread-safe, not async-signal-safe. Cost: an atomic operation, if nobody waits.
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_sem_post(sem: *mut sched_sem) -> c_int {
    // SAFETY: the pointer is NULL, or points to an initialised object.
    report(|| Ok(sync::post(unsafe { object(sem) }?)))
}

/// Initialises b as a barrier for n tasks or threads, like SCHED_BARRIER_INIT(n). Returns 0, or -1
/// with errno: EINVAL (b is NULL, or n is 0).
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_barrier_init(b: *mut sched_barrier, n: usize) -> c_int {
    report(|| if n == 0 { Err(INVALID) } else { Ok(set(b, Barrier::new(n))) })
}

/// Waits, as in sched_mutex_lock, until n tasks or threads have come; then all continue, and the
/// barrier is ready for the next n. The tasks need not be on different workers: any number of tasks
/// can meet on one worker.
///
/// Returns 1 to one of the n, 0 to the others; or -1 with errno: EINVAL (b is NULL, the run of s
/// has ended, or the barrier is for 0 tasks).
/// Suspension point: the task may be resumed on another thread, see libsched(7).
/// Thread-safe. Cost: one or two switches of stacks, and a lock for some instructions.
///
/// Example:
///
///     for (int step = 0; step < steps; step++) {
///         relax(grid, part, step);
///         if (sched_barrier_wait(&all, s) == 1)
///             printf("step %d done\n", step);
///     }
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_barrier_wait(b: *mut sched_barrier, s: *mut Scheduler) -> c_int {
    // SAFETY: the pointer is NULL, or points to an initialised object; the rest is the caller's
    // promise.
    report(|| unsafe { Ok(sync::arrive(object(b)?, waited(s))) })
}
