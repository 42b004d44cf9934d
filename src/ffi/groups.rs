//! Groups of tasks in the C interface. `include/sched_tasks.h` is made from this and other files.

use crate::api::group::Group;
use crate::ffi::tasks::can_be_copied;
use crate::ffi::{INVALID, given, object, report, set, taskfunc, waited};
use crate::sys::probe;
use crate::task::Scheduler;
use std::ffi::{c_int, c_void};

/// A group is a set of tasks that a program waits for together. SCHED_GROUP_INIT is a group without
/// tasks, and sched_group_init makes one. A group must not be copied, and must live until
/// sched_group_wait has returned.
#[repr(C)]
#[allow(non_camel_case_types, reason = "the name in C")]
pub struct sched_group {
    // For the library only.
    state: usize,
    waiter: usize,
    cancelled: usize,
    awaiter: *mut c_void,
}

/// Makes *g a group without tasks, as SCHED_GROUP_INIT does for a variable.
///
/// Returns 0, or -1 with errno: EINVAL (g is NULL).
/// Not thread-safe: nobody may use the group at the same time. Cost: three stores.
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_group_init(g: *mut sched_group) -> c_int {
    set(g, Group::without_tasks())
}

/// Adds the task f(closure, s) to the group and to the run of s. In kind cont the task is called
/// first, as by sched_spawn.
///
/// Returns 0, or -1 with errno, and nothing has changed: EINVAL (g or f is NULL, or the run of s
/// has ended), EAGAIN (there is no memory, or the queue already holds qlen tasks under
/// SCHED_OVERFLOW=refuse).
/// Suspension point in kind cont: the task may be resumed on another thread, see libsched(7).
/// Thread-safe. The group's own tasks, and the task that will wait for the group, may add tasks at
/// any time. Other callers may add tasks only while nobody waits for the group, or while they know
/// of a task of the group that has not ended. Cost: that of sched_spawn_copy, and two atomic
/// operations on the group.
///
/// Example:
///
///     sched_group g = SCHED_GROUP_INIT;
///     for (int i = 0; i < n; i++)
///         if (sched_group_spawn(&g, work, &part[i], s) != 0)
///             work(&part[i], s);
///     sched_group_wait(&g, s);
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn sched_group_spawn(
    g: *mut sched_group,
    f: taskfunc,
    closure: *mut c_void,
    s: *mut Scheduler,
) -> c_int {
    // SAFETY: `g` is NULL, or points to a group; the rest is the caller's promise.
    report(|| unsafe { Ok(object::<Group>(g)?.spawn(f.ok_or(INVALID)?, closure, given(s)?)) })
}

probe::entry!("spawn", sched_group_spawn, 1, 2, 3);

/// Adds the task f(copy, s) to the group and to the run of s. copy points to a copy of the size
/// bytes at arg, as in sched_spawn_copy. In kind cont the task is called first, as by sched_spawn.
///
/// Returns 0, or -1 with errno, and nothing has changed: EINVAL (g or f is NULL, size is greater
/// than SCHED_COPY_MAX, arg is NULL and size is not 0, or the run of s has ended), EAGAIN (there is
/// no memory, or the queue already holds qlen tasks under SCHED_OVERFLOW=refuse).
/// Suspension point in kind cont: the task may be resumed on another thread, see libsched(7).
/// Thread-safe, under the conditions of sched_group_spawn. Cost: that of sched_group_spawn.
///
/// Example:
///
///     sched_group g = SCHED_GROUP_INIT;
///     for (size_t lo = 0; lo < n; lo += 1000) {
///         struct range r = { a, lo, lo + 1000 < n ? lo + 1000 : n };
///         if (sched_group_spawn_copy(&g, work, &r, sizeof r, s) != 0)
///             work(&r, s);
///     }
///     sched_group_wait(&g, s);
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn sched_group_spawn_copy(
    g: *mut sched_group,
    f: taskfunc,
    arg: *const c_void,
    size: usize,
    s: *mut Scheduler,
) -> c_int {
    report(|| {
        let f = f.filter(|_| can_be_copied(arg, size)).ok_or(INVALID)?;
        // SAFETY: `g` is NULL, or a group that lives until its wait; `f` accepts a copy of `arg`,
        // which has `size` bytes; `s` is NULL or a task's.
        unsafe { Ok(object::<Group>(g)?.spawn_copy(f, arg, size, given(s)?)) }
    })
}

probe::entry!("spawn", sched_group_spawn_copy, 1, 2, 4);

/// Waits until no task of the group is left. The caller then sees what the tasks have written, and
/// the group may be used again. A caller that is a task is suspended while it waits: its stack is
/// kept, and its worker runs other tasks on another stack. If SCHED_JOIN is help, or no memory is
/// left for another stack, the caller is not suspended: its worker runs other tasks on top of it,
/// on the same stack. A thread that is not a worker of the run first runs, on its own stack, the
/// tasks of the group that it has added itself and that nobody has begun; then it sleeps. s is the
/// s of any worker of the run. If a task of the group waits for the group, and so for itself, the
/// process ends with a message.
///
/// Returns 0, or -1 with errno: ECANCELED (sched_group_cancel was called since the last wait),
/// EINVAL (g is NULL, or the run of s has ended and the group has tasks of a parent process).
/// Suspension point: the task may be resumed on another thread, see libsched(7).
/// Thread-safe. Cost: some nanoseconds if there is nothing to wait for.
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_group_wait(g: *mut sched_group, s: *mut Scheduler) -> c_int {
    // SAFETY: `g` is NULL, or points to a group; the rest is the caller's promise.
    report(|| unsafe { Ok(object::<Group>(g)?.wait(waited(s))) })
}

/// Cancels the group: its tasks that have not begun are not run. Running tasks continue; they can
/// ask sched_group_cancelled whether the group is cancelled. The cancellation lasts until the next
/// wait for the group returns. The loops, reductions and scans that its tasks have called begin no
/// further part, and return -1 with ECANCELED.
///
/// The sleeps of the group's tasks, their waits for descriptors, and their other waits that have a
/// deadline, fail with ECANCELED, whether they have begun or begin later. While a task of the group
/// waits for another group, the same applies to the tasks of that group, and so on from group to
/// group. Those groups are not cancelled otherwise. Joins, barriers, and other waits without a
/// deadline last as before.
/// Thread-safe, also outside of the run; async-signal-safe. Cost: an atomic operation and a fence;
/// a system call if tasks wait with deadlines.
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_group_cancel(g: *mut sched_group) {
    // SAFETY: `g` is NULL, or points to a group.
    if let Ok(group) = unsafe { object::<Group>(g) } {
        group.cancel();
    }
}

/// Returns 1 if the group was cancelled since the last wait, else 0.
/// Thread-safe and async-signal-safe. Cost: a load.
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_group_cancelled(g: *const sched_group) -> c_int {
    // SAFETY: `g` is NULL, or points to a group.
    unsafe { object::<Group>(g) }.is_ok_and(Group::shows_cancelled).into()
}
