//! Nodes and events in the C interface: tasks that begin after others have ended.
//! `include/sched_tasks.h` is made from this and other files.

use crate::api::dag::{ROOM, TaskNode};
use crate::api::depend::{self, Dep};
use crate::api::group::Group;
use crate::ffi::groups::sched_group;
use crate::ffi::time::sched_time;
use crate::ffi::{INVALID, given, object, report, set, taskfunc, waited};
use crate::task::Scheduler;
use std::ffi::{c_int, c_void};
use std::slice;

/// A node is a task that begins after other nodes have ended. sched_node_init makes a node. A node
/// must not be copied, and must live until it has ended: until a successor has begun,
/// sched_group_wait for its group has returned, or its run has ended.
#[repr(C)]
#[allow(non_camel_case_types, reason = "the name in C")]
pub struct sched_node {
    // For the library only.
    before: usize,
    after: *mut c_void,
    room: [*mut c_void; 8],
    f: *mut c_void,
    closure: *mut c_void,
    worker: *mut c_void,
    group: *mut c_void,
    edges: usize,
    chunk: *mut c_void,
}

/// An event is a node without a function. sched_event_init makes an event, and the program ends it
/// by sched_event_end. An event must not be copied. It may be freed when sched_event_wait has
/// returned in all its callers, and when its successors have begun.
#[allow(non_camel_case_types, reason = "the name in C")]
pub type sched_event = sched_node;

const _: () = assert!(ROOM == 4); // the comment of `sched_after` says so

/// Makes *n a node with the task f(closure, s), which is not ready yet. A node that has ended may
/// be made anew.
///
/// Returns 0, or -1 with errno: EINVAL (n or f is NULL).
/// Not thread-safe: nobody may use the node at the same time. Cost: some stores.
///
/// Example:
///
///     sched_node left, right, both;
///     sched_node_init(&left, work, &l);
///     sched_node_init(&right, work, &r);
///     sched_node_init(&both, merge, &all);
///     sched_after(&both, &left);
///     sched_after(&both, &right);
///     if (sched_node_ready(&both, s) != 0)
///         return -1;
///     ...                                 (then sched_node_ready for the other two)
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_node_init(
    n: *mut sched_node,
    f: taskfunc,
    closure: *mut c_void,
) -> c_int {
    report(|| Ok(set(n, TaskNode::new(f.ok_or(INVALID)?, closure))))
}

/// Puts the node into the group: when sched_node_ready is called, the group counts it as a task, as
/// sched_group_spawn does, until the node has ended. If the group is cancelled before the node
/// begins, its function is not called, and its successors begin as if it had ended.
///
/// Returns 0, or -1 with errno: EINVAL (n or g is NULL, or n is an event, or in a graph), EBUSY
/// (the node was made ready).
/// Not thread-safe: nobody may use the node at the same time. Cost: a store.
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_node_group(n: *mut sched_node, g: *mut sched_group) -> c_int {
    // SAFETY: the pointers are NULL, or point to initialised objects.
    report(|| unsafe { object::<TaskNode>(n)?.join_group(object::<Group>(g)?).map(|()| 0) })
}

/// Makes before a predecessor of n: n begins after before has ended, and sees what before has
/// written. If before has ended already, the call has no effect. A node may have any number of
/// predecessors, which are nodes and events, and of successors. The nodes of a circle never begin.
///
/// Returns 0, or -1 with errno, and nothing has changed: EINVAL (n or before is NULL, n is an
/// event, both are the same, or they are not in the same graph and one is in a graph), EBUSY (n was
/// made ready, or its graph runs), ENOMEM (there is no memory; the first four calls for a node
/// allocate nothing).
/// Thread-safe, except that only one thread at a time may use n. before must not have been freed.
/// Cost: an atomic operation on n and one on before. The fifth call for a node, the ninth, the
/// seventeenth and so on allocate memory, which is freed when the node begins.
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_after(n: *mut sched_node, before: *mut sched_node) -> c_int {
    // SAFETY: each pointer is NULL or an object's; no other call adds edges to `n`, which lives
    // until it begins.
    report(|| unsafe { object::<TaskNode>(n)?.follow(object::<TaskNode>(before)?).map(|()| 0) })
}

/// Makes the node ready: it is spawned in the run of s, as by sched_spawn, when all its
/// predecessors have ended. Until then the run does not end.
///
/// Returns 0, or -1 with errno, and nothing has changed: EINVAL (n is NULL, an event or in a graph,
/// or the run of s has ended), EBUSY (the node is ready already), EAGAIN (no predecessor is left,
/// and there is no memory, or the queue already holds qlen tasks under SCHED_OVERFLOW=refuse).
/// Suspension point in kind cont: the task may be resumed on another thread, see libsched(7).
/// Thread-safe, except that only one thread at a time may use n. Cost: that of sched_spawn. If a
/// predecessor has not ended, the end of the last one spawns n; if the queue is full then, n goes
/// to the tasks from outside. The end of a node costs an atomic operation for each successor.
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn sched_node_ready(n: *mut sched_node, s: *mut Scheduler) -> c_int {
    // SAFETY: `n` is NULL, or points to a node; the rest is the caller's promise.
    report(|| unsafe { object::<TaskNode>(n)?.make_ready(given(s)?) })
}

/// Makes *e an event that has not ended. An event that has ended may be made anew when nobody uses
/// it any more.
///
/// Returns 0, or -1 with errno: EINVAL (e is NULL).
/// Not thread-safe: nobody may use the event at the same time. Cost: some stores.
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_event_init(e: *mut sched_event) -> c_int {
    set(e, TaskNode::event())
}

/// Ends the event. The tasks and threads that wait for it continue, and its successors begin when
/// they have no other predecessor left. All of them see what the caller has written.
///
/// Returns 0, or -1 with errno: EINVAL (e is NULL, or is not an event), EALREADY (it has ended).
/// Thread-safe. Cost: some atomic operations, and a lock of the run for each successor that can
/// begin. Such a successor goes to the tasks from outside: see libsched(7), THREADS OUTSIDE.
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_event_end(e: *mut sched_event) -> c_int {
    // SAFETY: `e` is NULL, or points to an event.
    report(|| Ok(unsafe { object::<TaskNode>(e) }?.end_event()))
}

/// Waits until the event has ended. The calling task waits as in sched_group_wait; any number of
/// tasks and threads may wait.
///
/// Returns 0, or -1 with errno: EINVAL (e is NULL, or is not an event, or the run of s has ended
/// and the event has not).
/// Suspension point: the task may be resumed on another thread, see libsched(7).
/// Thread-safe. Cost: some nanoseconds if the event has ended.
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_event_wait(e: *mut sched_event, s: *mut Scheduler) -> c_int {
    // SAFETY: `e` is NULL, or points to an event; the rest is the caller's promise.
    report(|| unsafe { Ok(object::<TaskNode>(e)?.wait(None, waited(s))) })
}

/// As sched_event_wait, but waits no longer than until deadline; if that has passed, the call only
/// tells whether the event has ended.
///
/// Returns 0, or -1 with errno: ETIMEDOUT (the deadline has passed), ECANCELED (the caller's group
/// is cancelled: see sched_group_cancel(3)), ENOMEM (there is no memory), EINVAL (e is NULL, or is
/// not an event, or the run of s has ended and the event has not).
/// Suspension point: the task may be resumed on another thread, see libsched(7).
/// Thread-safe. Cost: that of sched_event_wait, and some hundred nanoseconds for a wait.
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_event_wait_until(
    e: *mut sched_event,
    deadline: sched_time,
    s: *mut Scheduler,
) -> c_int {
    // SAFETY: `e` is NULL, or points to an event; the rest is the caller's promise.
    report(|| unsafe { Ok(object::<TaskNode>(e)?.wait(Some(deadline), waited(s))) })
}

/// What a task of sched_group_spawn_after does at an address: SCHED_IN (it reads there), SCHED_OUT
/// (it writes there) or SCHED_INOUT (both). The address stands for an object of any size; only
/// equal addresses are the same object.
#[repr(C)]
#[allow(non_camel_case_types, reason = "the name in C")]
pub struct sched_dep {
    pub address: *const c_void,
    pub how: c_int,
}

const _: () = assert!(size_of::<sched_dep>() == size_of::<Dep>());

/// Adds the task f(closure, s) to the group and to the run of s, as sched_group_spawn does. The
/// task begins after tasks that earlier calls for the same group have added: for each of its n
/// addresses, after the last task that writes there and, if it writes there itself, after all tasks
/// that read there since. The tasks have the effect of being called one after the other, in
/// the order of the calls. Tasks of sched_group_spawn, and of other groups, have no part in this.
///
/// Returns 0, or -1 with errno, and nothing has changed: EINVAL (g or f is NULL, deps is NULL and n
/// is not 0, a member how is none of the three, or the run of s has ended), EAGAIN (there is no
/// memory).
/// Suspension point in kind cont: the task may be resumed on another thread, see libsched(7).
/// Thread-safe, under the conditions of sched_group_spawn. Cost: that of sched_node_ready, and a
/// lock, under which each address is looked up; the task's end takes no lock. A task uses 192 bytes
/// until it has ended, and an address 100 to 130 bytes; later tasks of the
/// group use them again. If the queue is full, the task goes to the tasks from outside.
///
/// Example:
///
///     for (int k = 1; k < n; k++) {
///         sched_dep deps[] = { { &a[k - 1], SCHED_IN }, { &a[k], SCHED_INOUT } };
///         if (sched_group_spawn_after(&g, add_former, &a[k], 2, deps, s) != 0)
///             return -1;
///     }
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn sched_group_spawn_after(
    g: *mut sched_group,
    f: taskfunc,
    closure: *mut c_void,
    n: usize,
    deps: *const sched_dep,
    s: *mut Scheduler,
) -> c_int {
    report(|| {
        let f = f.filter(|_| !deps.is_null() || n == 0).ok_or(INVALID)?;
        let deps: &[Dep] = match n {
            0 => &[],
            // SAFETY: `deps` points to so many.
            _ => unsafe { slice::from_raw_parts(deps.cast(), n) },
        };
        // SAFETY: `g` is NULL, or points to a group; the rest is the caller's promise.
        unsafe { depend::spawn(object::<Group>(g)?, f, closure, deps, given(s)?).map(|()| 0) }
    })
}
