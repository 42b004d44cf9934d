//! Channels in the C interface. `include/sched_tasks.h` is made from this and other files.

use crate::api::channel::Channel;
use crate::ffi::time::sched_time;
use crate::ffi::waited;
use crate::sync::ends::Side;
use crate::sys::errno;
use crate::sys::errno::Errno;
use crate::task::Scheduler;
use std::ffi::{c_int, c_void};
use std::ptr;

/// A bounded queue of elements of one size, between any number of sending and receiving tasks and
/// threads.
#[allow(non_camel_case_types, reason = "the name in C")]
pub struct sched_channel(#[allow(dead_code, reason = "C has pointers to it only")] Channel);

/// Makes a channel that holds up to capacity elements of size bytes each. With a capacity of 0 each
/// element passes from a sender directly to a receiver, and the sender waits for it.
///
/// Returns the channel, or NULL with errno: EINVAL (capacity times size is greater than
/// PTRDIFF_MAX), ENOMEM (there is no memory).
/// Thread-safe. Cost: two allocations.
///
/// Example:
///
///     struct sched_channel *lines = sched_channel_create(64, sizeof (char *));
///     ...
///     sched_channel_send(lines, &line, s);        (in the reading task)
///     ...
///     char *line;                                 (in each working task)
///     while (sched_channel_receive(lines, &line, s) == 0)
///         work(line);
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_channel_create(capacity: usize, size: usize) -> *mut sched_channel {
    match Channel::create(capacity, size) {
        Ok(channel) => Box::into_raw(channel).cast(),
        Err(Errno(error)) => {
            errno::failed(error);
            ptr::null_mut()
        }
    }
}

/// Sends a copy of *element. While the channel is full, the calling task waits as in
/// sched_mutex_lock. Waiting senders are served in the order in which they came, and elements are
/// received in the order in which they were sent.
///
/// Returns 0, or -1 with errno, and nothing was sent: EPIPE (the channel is closed), EINVAL (c is
/// NULL, or element is NULL and the size of elements is not 0, or the channel is full and the run
/// of s has ended).
/// Suspension point: the task may be resumed on another thread, see libsched(7).
/// Thread-safe. Cost: a lock for some instructions, and the copy; a wait costs one or two switches
/// of stacks.
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_channel_send(
    c: *mut sched_channel,
    element: *const c_void,
    s: *mut Scheduler,
) -> c_int {
    let element = element.cast_mut().cast();
    // SAFETY: `c` is a channel or NULL, `element` an element's place, `s` NULL or a task's.
    unsafe { with(c, element, |c| c.exchange(Side::Send, element, None, move || waited(s))) }
}

/// As sched_channel_send, but waits no longer than until deadline; if that has passed, the element
/// is sent only if the channel is not full or a receiver waits.
///
/// Returns 0, or -1 with errno, and nothing was sent: EPIPE (the channel is closed), ETIMEDOUT (the
/// deadline has passed), ECANCELED (the caller's group is cancelled: see sched_group_cancel(3)),
/// ENOMEM (there is no memory), EINVAL (c is NULL, or element is NULL and the size of elements is
/// not 0, or the channel is full and the run of s has ended).
/// Suspension point: the task may be resumed on another thread, see libsched(7).
/// Thread-safe. Cost: that of sched_channel_send, and some hundred nanoseconds for a wait.
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_channel_send_until(
    c: *mut sched_channel,
    element: *const c_void,
    deadline: sched_time,
    s: *mut Scheduler,
) -> c_int {
    let (element, until) = (element.cast_mut().cast(), Some(deadline));
    // SAFETY: `c` is a channel or NULL, `element` an element's place, `s` NULL or a task's.
    unsafe { with(c, element, |c| c.exchange(Side::Send, element, until, move || waited(s))) }
}

/// Receives the oldest element into *element. While there is none, the calling task waits as in
/// sched_mutex_lock. Waiting receivers get elements in the order in which they came.
///
/// Returns 0, or -1 with errno: EPIPE (the channel is closed, and all its elements were received),
/// EINVAL (c is NULL, or element is NULL and the size of elements is not 0, or the channel is empty
/// and the run of s has ended).
/// Suspension point: the task may be resumed on another thread, see libsched(7).
/// Thread-safe. Cost: that of sched_channel_send.
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_channel_receive(
    c: *mut sched_channel,
    element: *mut c_void,
    s: *mut Scheduler,
) -> c_int {
    let element = element.cast();
    // SAFETY: `c` is a channel or NULL, `element` an element's place, `s` NULL or a task's.
    unsafe { with(c, element, |c| c.exchange(Side::Receive, element, None, move || waited(s))) }
}

/// As sched_channel_receive, but waits no longer than until deadline; if that has passed, an
/// element is received only if there is one.
///
/// Returns 0, or -1 with errno, and nothing was received: EPIPE (the channel is closed, and all its
/// elements were received), ETIMEDOUT (the deadline has passed), ECANCELED (the caller's group is
/// cancelled: see sched_group_cancel(3)), ENOMEM (there is no memory), EINVAL (c is NULL, or
/// element is NULL and the size of elements is not 0, or the channel is empty and the run of s has
/// ended).
/// Suspension point: the task may be resumed on another thread, see libsched(7).
/// Thread-safe. Cost: that of sched_channel_send, and some hundred nanoseconds for a wait.
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_channel_receive_until(
    c: *mut sched_channel,
    element: *mut c_void,
    deadline: sched_time,
    s: *mut Scheduler,
) -> c_int {
    let (element, until) = (element.cast(), Some(deadline));
    // SAFETY: `c` is a channel or NULL, `element` an element's place, `s` NULL or a task's.
    unsafe { with(c, element, |c| c.exchange(Side::Receive, element, until, move || waited(s))) }
}

/// Closes the channel: from now on nothing can be sent, and those that wait to send fail with
/// EPIPE. The elements in the channel can still be received; then those that receive fail with
/// EPIPE. A second call has no effect.
/// Thread-safe. Cost: a lock for some instructions, and the waking of those that wait.
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_channel_close(c: *mut sched_channel) {
    // SAFETY: `c` is NULL, or a channel.
    if let Some(channel) = unsafe { c.cast::<Channel>().as_ref() } {
        channel.close();
    }
}

/// Frees the channel and the elements in it. NULL is accepted. Nobody may use the channel at the
/// same time or afterwards: if tasks or threads wait for it, the process ends with a message.
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_channel_destroy(c: *mut sched_channel) {
    if !c.is_null() {
        // SAFETY: `sched_channel_create` has made it, and nobody else uses it.
        unsafe {
            (*c.cast::<Channel>()).check_unused();
            drop(Box::from_raw(c.cast::<Channel>()));
        }
    }
}

/// # Safety
/// `c` is NULL, or a channel; `element` is NULL, or points to an element or to room for one.
#[inline(always)]
unsafe fn with(
    c: *mut sched_channel,
    element: *const u8,
    what: impl FnOnce(&Channel) -> c_int,
) -> c_int {
    // SAFETY: `c` is NULL, or a channel.
    match unsafe { c.cast::<Channel>().as_ref() } {
        Some(channel) if !element.is_null() || channel.size() == 0 => what(channel),
        _ => errno::failed(libc::EINVAL),
    }
}
