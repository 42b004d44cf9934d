//! Descriptors in the C interface. `include/sched_io.h` is made from this file. This is one file
//! because it is the list of one header's functions, and none of them has more than a few lines.

use crate::api::io::{self, Caller, Partial};
use crate::deadline::FOREVER;
use crate::ffi::time::sched_time;
use crate::ffi::waited;
use crate::sys::errno;
use crate::sys::errno::Errno;
use crate::task::Scheduler;
use libc::{iovec, msghdr, sockaddr, socklen_t, ssize_t};
use std::ffi::{c_int, c_short, c_void};
use std::slice;

/// # Safety
/// The contract of `given`.
unsafe fn caller<'a>(deadline: sched_time, s: *mut Scheduler) -> Caller<'a> {
    // SAFETY: `s` is NULL, or this library has given it to a task.
    Caller::new(unsafe { waited(s) }, deadline)
}

fn result(result: Result<usize, Errno>) -> ssize_t {
    match result {
        Ok(n) => n as ssize_t,
        Err(Errno(error)) => errno::failed(error) as ssize_t,
    }
}

const fn buffer(start: *const c_void, n: usize) -> iovec {
    iovec { iov_base: start.cast_mut(), iov_len: n }
}

/// The buffers of the program. Fails with EINVAL if their number is negative or too large, and with
/// EFAULT, as readv(2) does, if there are none at NULL.
///
/// # Safety
/// `v` is NULL, or the program has `count` buffers there.
unsafe fn buffers<'a>(v: *const iovec, count: c_int) -> Result<&'a [iovec], Errno> {
    match usize::try_from(count) {
        Ok(0) => Ok(&[]),
        Ok(1..=1024) if v.is_null() => Err(Errno(libc::EFAULT)),
        // SAFETY: the program has `count` buffers at `v`.
        Ok(count @ 1..=1024) => Ok(unsafe { slice::from_raw_parts(v, count) }),
        _ => Err(Errno(libc::EINVAL)),
    }
}

/// Waits until one of events happens to the descriptor, or deadline has come. events and the result
/// are those of poll(2): POLLIN, POLLOUT, POLLPRI, POLLRDHUP; POLLERR and POLLHUP are always
/// reported. A deadline of SCHED_FOREVER is none. If tasks wait for the same event of a descriptor,
/// each event goes to the one that has waited longest. A regular file is always ready.
///
/// Returns the events that have happened, which are greater than 0; or -1 with errno: ETIMEDOUT
/// (the deadline has passed), ECANCELED (the caller's group is cancelled: see
/// sched_group_cancel(3)), EBADF (fd is not open, or sched_close has closed it), ENOMEM
/// (there is no memory), EINVAL (the run of s has ended).
/// Suspension point: the task may be resumed on another thread, see libsched(7).
/// Thread-safe. Cost: that of poll(2); a wait costs one system call more, and one or two switches
/// of stacks.
///
/// Example: wait for a child process.
///
///     int child = pidfd_open(pid, 0);
///     if (sched_poll(child, POLLIN, sched_now() + SCHED_SECOND, s) < 0)
///         kill(pid, SIGKILL);
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_poll(
    fd: c_int,
    events: c_short,
    deadline: sched_time,
    s: *mut Scheduler,
) -> c_int {
    // SAFETY: `s` is NULL, or this library has given it to a task.
    result(io::poll(fd, events, unsafe { caller(deadline, s) })) as c_int
}

/// Reads as read(2) does from a descriptor without O_NONBLOCK: waits until there is something to
/// read. The worker of a task that waits runs other tasks.
///
/// Returns the number of bytes, 0 at the end of the file; or -1 with errno: ECANCELED (the caller's
/// group is cancelled: see sched_group_cancel(3)), EBADF (fd is not open, or sched_close
/// has closed it), ENOMEM (there is no memory), EINVAL (the run of s has ended), or an error of
/// read(2).
/// Suspension point: the task may be resumed on another thread, see libsched(7).
/// Thread-safe. Cost: that of read(2); a wait costs one system call more, and one or two switches
/// of stacks.
///
/// Example:
///
///     ssize_t n;
///     while ((n = sched_read(client, buffer, sizeof buffer, s)) > 0)
///         if (sched_write_all(client, buffer, (size_t)n, s) < 0)
///             break;
///     sched_close(client);
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_read(
    fd: c_int,
    buf: *mut c_void,
    n: usize,
    s: *mut Scheduler,
) -> ssize_t {
    // SAFETY: `buf` has `n` bytes; `s` is NULL or a task's.
    unsafe { result(io::read(fd, &[buffer(buf, n)], caller(FOREVER, s))) }
}

/// As sched_read, but waits no longer than until deadline; if that has passed, it does not wait.
///
/// Returns the number of bytes, 0 at the end of the file; or -1 with errno: ETIMEDOUT (the deadline
/// has passed), ECANCELED (the caller's group is cancelled: see sched_group_cancel(3)), EBADF (fd
/// is not open, or sched_close has closed it), ENOMEM (there is no memory), EINVAL (the
/// run of s has ended), or an error of read(2).
/// Suspension point: the task may be resumed on another thread, see libsched(7).
/// Thread-safe. Cost: that of read(2); a wait costs one system call more, and one or two switches
/// of stacks.
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_read_until(
    fd: c_int,
    buf: *mut c_void,
    n: usize,
    deadline: sched_time,
    s: *mut Scheduler,
) -> ssize_t {
    // SAFETY: `buf` has `n` bytes; `s` is NULL or a task's.
    unsafe { result(io::read(fd, &[buffer(buf, n)], caller(deadline, s))) }
}

/// Writes as write(2) does to a descriptor without O_NONBLOCK: waits until all n bytes are written.
/// If an error, the deadline or a cancellation comes when some are written, the call returns their
/// number. The signal SIGPIPE is not raised.
///
/// Returns the number of bytes; or -1 with errno: EPIPE (nobody can read what is written),
/// ECANCELED (the caller's group is cancelled: see sched_group_cancel(3)), EBADF (fd is not
/// open, or sched_close has closed it), ENOMEM (there is no memory), EINVAL (the run of s has
/// ended), or an error of write(2).
/// Suspension point: the task may be resumed on another thread, see libsched(7).
/// Thread-safe. Cost: that of write(2); a wait costs one system call more, and one or two switches
/// of stacks.
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_write(
    fd: c_int,
    buf: *const c_void,
    n: usize,
    s: *mut Scheduler,
) -> ssize_t {
    // SAFETY: `buf` has `n` bytes; `s` is NULL or a task's.
    unsafe { result(io::write(fd, &[buffer(buf, n)], Partial::Report, caller(FOREVER, s))) }
}

/// As sched_write, but waits no longer than until deadline; if that has passed, it does not wait.
///
/// Returns the number of bytes; or -1 with errno: EPIPE (nobody can read what is written),
/// ETIMEDOUT (the deadline has passed), ECANCELED (the caller's group is cancelled: see
/// sched_group_cancel(3)), EBADF (fd is not open, or sched_close has closed it), ENOMEM
/// (there is no memory), EINVAL (the run of s has ended), or an error of write(2).
/// Suspension point: the task may be resumed on another thread, see libsched(7).
/// Thread-safe. Cost: that of write(2); a wait costs one system call more, and one or two switches
/// of stacks.
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_write_until(
    fd: c_int,
    buf: *const c_void,
    n: usize,
    deadline: sched_time,
    s: *mut Scheduler,
) -> ssize_t {
    // SAFETY: `buf` has `n` bytes; `s` is NULL or a task's.
    unsafe { result(io::write(fd, &[buffer(buf, n)], Partial::Report, caller(deadline, s))) }
}

/// As sched_write, but fails unless all n bytes are written. After a failure some of them may be
/// written.
///
/// Returns n; or -1 with errno: EPIPE (nobody can read what is written), ECANCELED (the caller's
/// group is cancelled: see sched_group_cancel(3)), EBADF (fd is not open, or sched_close
/// has closed it), ENOMEM (there is no memory), EINVAL (the run of s has ended), or an error of
/// write(2).
/// Suspension point: the task may be resumed on another thread, see libsched(7).
/// Thread-safe. Cost: that of write(2); a wait costs one system call more, and one or two switches
/// of stacks.
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_write_all(
    fd: c_int,
    buf: *const c_void,
    n: usize,
    s: *mut Scheduler,
) -> ssize_t {
    // SAFETY: `buf` has `n` bytes; `s` is NULL or a task's.
    unsafe { result(io::write(fd, &[buffer(buf, n)], Partial::Fail, caller(FOREVER, s))) }
}

/// As sched_write_all, but waits no longer than until deadline; if that has passed, it does not
/// wait.
///
/// Returns n; or -1 with errno: EPIPE (nobody can read what is written), ETIMEDOUT (the deadline
/// has passed), ECANCELED (the caller's group is cancelled: see sched_group_cancel(3)), EBADF (fd
/// is not open, or sched_close has closed it), ENOMEM (there is no memory), EINVAL (the
/// run of s has ended), or an error of write(2).
/// Suspension point: the task may be resumed on another thread, see libsched(7).
/// Thread-safe. Cost: that of write(2); a wait costs one system call more, and one or two switches
/// of stacks.
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_write_all_until(
    fd: c_int,
    buf: *const c_void,
    n: usize,
    deadline: sched_time,
    s: *mut Scheduler,
) -> ssize_t {
    // SAFETY: `buf` has `n` bytes; `s` is NULL or a task's.
    unsafe { result(io::write(fd, &[buffer(buf, n)], Partial::Fail, caller(deadline, s))) }
}

/// As sched_read, into count buffers: see readv(2).
///
/// Returns the number of bytes, 0 at the end of the file; or -1 with errno: ECANCELED (the caller's
/// group is cancelled: see sched_group_cancel(3)), EBADF (fd is not open, or sched_close
/// has closed it), ENOMEM (there is no memory), EINVAL (the run of s has ended), or an error of
/// readv(2).
/// Suspension point: the task may be resumed on another thread, see libsched(7).
/// Thread-safe. Cost: that of readv(2); a wait costs one system call more, and one or two switches
/// of stacks.
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_readv(
    fd: c_int,
    v: *const iovec,
    count: c_int,
    s: *mut Scheduler,
) -> ssize_t {
    // SAFETY: the buffers are the program's; `s` is NULL or a task's.
    unsafe { result(buffers(v, count).and_then(|v| io::read(fd, v, caller(FOREVER, s)))) }
}

/// As sched_readv, but waits no longer than until deadline; if that has passed, it does not wait.
///
/// Returns the number of bytes, 0 at the end of the file; or -1 with errno: ETIMEDOUT (the deadline
/// has passed), ECANCELED (the caller's group is cancelled: see sched_group_cancel(3)), EBADF (fd
/// is not open, or sched_close has closed it), ENOMEM (there is no memory), EINVAL (the
/// run of s has ended), or an error of readv(2).
/// Suspension point: the task may be resumed on another thread, see libsched(7).
/// Thread-safe. Cost: that of readv(2); a wait costs one system call more, and one or two switches
/// of stacks.
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_readv_until(
    fd: c_int,
    v: *const iovec,
    count: c_int,
    deadline: sched_time,
    s: *mut Scheduler,
) -> ssize_t {
    // SAFETY: the buffers are the program's; `s` is NULL or a task's.
    unsafe { result(buffers(v, count).and_then(|v| io::read(fd, v, caller(deadline, s)))) }
}

/// As sched_write, from count buffers: see writev(2).
///
/// Returns the number of bytes; or -1 with errno: EPIPE (nobody can read what is written),
/// ECANCELED (the caller's group is cancelled: see sched_group_cancel(3)), EBADF (fd is not
/// open, or sched_close has closed it), ENOMEM (there is no memory), EINVAL (the run of s has
/// ended), or an error of writev(2).
/// Suspension point: the task may be resumed on another thread, see libsched(7).
/// Thread-safe. Cost: that of writev(2); a wait costs one system call more, and one or two switches
/// of stacks.
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_writev(
    fd: c_int,
    v: *const iovec,
    count: c_int,
    s: *mut Scheduler,
) -> ssize_t {
    // SAFETY: the buffers are the program's; `s` is NULL or a task's.
    unsafe {
        result(
            buffers(v, count).and_then(|v| io::write(fd, v, Partial::Report, caller(FOREVER, s))),
        )
    }
}

/// As sched_writev, but waits no longer than until deadline; if that has passed, it does not wait.
///
/// Returns the number of bytes; or -1 with errno: EPIPE (nobody can read what is written),
/// ETIMEDOUT (the deadline has passed), ECANCELED (the caller's group is cancelled: see
/// sched_group_cancel(3)), EBADF (fd is not open, or sched_close has closed it), ENOMEM
/// (there is no memory), EINVAL (the run of s has ended), or an error of writev(2).
/// Suspension point: the task may be resumed on another thread, see libsched(7).
/// Thread-safe. Cost: that of writev(2); a wait costs one system call more, and one or two switches
/// of stacks.
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_writev_until(
    fd: c_int,
    v: *const iovec,
    count: c_int,
    deadline: sched_time,
    s: *mut Scheduler,
) -> ssize_t {
    // SAFETY: the buffers are the program's; `s` is NULL or a task's.
    unsafe {
        result(
            buffers(v, count).and_then(|v| io::write(fd, v, Partial::Report, caller(deadline, s))),
        )
    }
}

/// Receives as recv(2) does from a socket without O_NONBLOCK. With MSG_DONTWAIT in flags it does
/// not wait.
///
/// Returns the number of bytes, 0 at the end of a stream; or -1 with errno: ECANCELED (the caller's
/// group is cancelled: see sched_group_cancel(3)), EBADF (fd is not open, or sched_close
/// has closed it), ENOMEM (there is no memory), EINVAL (the run of s has ended), or an error of
/// recv(2).
/// Suspension point: the task may be resumed on another thread, see libsched(7).
/// Thread-safe. Cost: that of recv(2); a wait costs one system call more, and one or two switches
/// of stacks.
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_recv(
    fd: c_int,
    buf: *mut c_void,
    n: usize,
    flags: c_int,
    s: *mut Scheduler,
) -> ssize_t {
    // SAFETY: `buf` has `n` bytes; `s` is NULL or a task's.
    unsafe { result(io::receive(fd, buffer(buf, n), flags, caller(FOREVER, s))) }
}

/// As sched_recv, but waits no longer than until deadline; if that has passed, it does not wait.
///
/// Returns the number of bytes, 0 at the end of a stream; or -1 with errno: ETIMEDOUT (the deadline
/// has passed), ECANCELED (the caller's group is cancelled: see sched_group_cancel(3)), EBADF (fd
/// is not open, or sched_close has closed it), ENOMEM (there is no memory), EINVAL (the
/// run of s has ended), or an error of recv(2).
/// Suspension point: the task may be resumed on another thread, see libsched(7).
/// Thread-safe. Cost: that of recv(2); a wait costs one system call more, and one or two switches
/// of stacks.
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_recv_until(
    fd: c_int,
    buf: *mut c_void,
    n: usize,
    flags: c_int,
    deadline: sched_time,
    s: *mut Scheduler,
) -> ssize_t {
    // SAFETY: `buf` has `n` bytes; `s` is NULL or a task's.
    unsafe { result(io::receive(fd, buffer(buf, n), flags, caller(deadline, s))) }
}

/// Sends as send(2) does to a socket without O_NONBLOCK: waits until all n bytes are sent. If an
/// error, the deadline or a cancellation comes when some are sent, the call returns their number.
/// With MSG_DONTWAIT in flags it does not wait. The signal SIGPIPE is not raised.
///
/// Returns the number of bytes; or -1 with errno: EPIPE (nobody can read what is sent), ECANCELED
/// (the caller's group is cancelled: see sched_group_cancel(3)), EBADF (fd is not open,
/// or sched_close has closed it), ENOMEM (there is no memory), EINVAL (the run of s has ended), or
/// an error of send(2).
/// Suspension point: the task may be resumed on another thread, see libsched(7).
/// Thread-safe. Cost: that of send(2); a wait costs one system call more, and one or two switches
/// of stacks.
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_send(
    fd: c_int,
    buf: *const c_void,
    n: usize,
    flags: c_int,
    s: *mut Scheduler,
) -> ssize_t {
    // SAFETY: `buf` has `n` bytes; `s` is NULL or a task's.
    unsafe { result(io::send(fd, buffer(buf, n), flags, caller(FOREVER, s))) }
}

/// As sched_send, but waits no longer than until deadline; if that has passed, it does not wait.
///
/// Returns the number of bytes; or -1 with errno: EPIPE (nobody can read what is sent), ETIMEDOUT
/// (the deadline has passed), ECANCELED (the caller's group is cancelled: see
/// sched_group_cancel(3)), EBADF (fd is not open, or sched_close has closed it), ENOMEM
/// (there is no memory), EINVAL (the run of s has ended), or an error of send(2).
/// Suspension point: the task may be resumed on another thread, see libsched(7).
/// Thread-safe. Cost: that of send(2); a wait costs one system call more, and one or two switches
/// of stacks.
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_send_until(
    fd: c_int,
    buf: *const c_void,
    n: usize,
    flags: c_int,
    deadline: sched_time,
    s: *mut Scheduler,
) -> ssize_t {
    // SAFETY: `buf` has `n` bytes; `s` is NULL or a task's.
    unsafe { result(io::send(fd, buffer(buf, n), flags, caller(deadline, s))) }
}

/// As sched_recv, with the message of recvmsg(2).
///
/// Returns the number of bytes, 0 at the end of a stream; or -1 with errno: ECANCELED (the caller's
/// group is cancelled: see sched_group_cancel(3)), EBADF (fd is not open, or sched_close
/// has closed it), ENOMEM (there is no memory), EINVAL (the run of s has ended), or an error of
/// recvmsg(2).
/// Suspension point: the task may be resumed on another thread, see libsched(7).
/// Thread-safe. Cost: that of recvmsg(2); a wait costs one system call more, and one or two
/// switches of stacks.
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_recvmsg(
    fd: c_int,
    message: *mut msghdr,
    flags: c_int,
    s: *mut Scheduler,
) -> ssize_t {
    // SAFETY: the message is the program's; `s` is NULL or a task's.
    unsafe { result(io::receive_message(fd, message, flags, caller(FOREVER, s))) }
}

/// As sched_recvmsg, but waits no longer than until deadline; if that has passed, it does not wait.
///
/// Returns the number of bytes, 0 at the end of a stream; or -1 with errno: ETIMEDOUT (the deadline
/// has passed), ECANCELED (the caller's group is cancelled: see sched_group_cancel(3)), EBADF (fd
/// is not open, or sched_close has closed it), ENOMEM (there is no memory), EINVAL (the
/// run of s has ended), or an error of recvmsg(2).
/// Suspension point: the task may be resumed on another thread, see libsched(7).
/// Thread-safe. Cost: that of recvmsg(2); a wait costs one system call more, and one or two
/// switches of stacks.
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_recvmsg_until(
    fd: c_int,
    message: *mut msghdr,
    flags: c_int,
    deadline: sched_time,
    s: *mut Scheduler,
) -> ssize_t {
    // SAFETY: the message is the program's; `s` is NULL or a task's.
    unsafe { result(io::receive_message(fd, message, flags, caller(deadline, s))) }
}

/// As sched_send, with the message of sendmsg(2). Its control data are sent once, with the first
/// byte.
///
/// Returns the number of bytes; or -1 with errno: EPIPE (nobody can read what is sent), ECANCELED
/// (the caller's group is cancelled: see sched_group_cancel(3)), EBADF (fd is not open,
/// or sched_close has closed it), ENOMEM (there is no memory), EINVAL (the run of s has ended), or
/// an error of sendmsg(2).
/// Suspension point: the task may be resumed on another thread, see libsched(7).
/// Thread-safe. Cost: that of sendmsg(2); a wait costs one system call more, and one or two
/// switches of stacks.
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_sendmsg(
    fd: c_int,
    message: *const msghdr,
    flags: c_int,
    s: *mut Scheduler,
) -> ssize_t {
    // SAFETY: the message is the program's; `s` is NULL or a task's.
    unsafe { result(io::send_message(fd, message, flags, caller(FOREVER, s))) }
}

/// As sched_sendmsg, but waits no longer than until deadline; if that has passed, it does not wait.
///
/// Returns the number of bytes; or -1 with errno: EPIPE (nobody can read what is sent), ETIMEDOUT
/// (the deadline has passed), ECANCELED (the caller's group is cancelled: see
/// sched_group_cancel(3)), EBADF (fd is not open, or sched_close has closed it), ENOMEM
/// (there is no memory), EINVAL (the run of s has ended), or an error of sendmsg(2).
/// Suspension point: the task may be resumed on another thread, see libsched(7).
/// Thread-safe. Cost: that of sendmsg(2); a wait costs one system call more, and one or two
/// switches of stacks.
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_sendmsg_until(
    fd: c_int,
    message: *const msghdr,
    flags: c_int,
    deadline: sched_time,
    s: *mut Scheduler,
) -> ssize_t {
    // SAFETY: the message is the program's; `s` is NULL or a task's.
    unsafe { result(io::send_message(fd, message, flags, caller(deadline, s))) }
}

/// Accepts a connection as accept(2) does, and waits for one. O_NONBLOCK is set for the listening
/// socket, and stays set. The new descriptor does not have it.
///
/// Returns the descriptor of the connection; or -1 with errno: ECANCELED (the caller's group is
/// cancelled: see sched_group_cancel(3)), EBADF (fd is not open, or sched_close has
/// closed it), ENOMEM (there is no memory), EINVAL (the run of s has ended), or an error of
/// accept(2).
/// Suspension point: the task may be resumed on another thread, see libsched(7).
/// Thread-safe. Cost: that of accept(2); a wait costs one system call more, and one or two switches
/// of stacks.
///
/// Example:
///
///     for (int client; (client = sched_accept(listener, NULL, NULL, s)) >= 0;)
///         if (sched_spawn(serve, (void *)(intptr_t)client, s) != 0)
///             sched_close(client);
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_accept(
    fd: c_int,
    address: *mut sockaddr,
    length: *mut socklen_t,
    s: *mut Scheduler,
) -> c_int {
    // SAFETY: the address is as accept4(2) requires; `s` is NULL or a task's.
    unsafe { result(io::accept(fd, address, length, 0, caller(FOREVER, s))) as c_int }
}

/// As sched_accept, but waits no longer than until deadline; if that has passed, it does not wait.
///
/// Returns the descriptor of the connection; or -1 with errno: ETIMEDOUT (the deadline has passed),
/// ECANCELED (the caller's group is cancelled: see sched_group_cancel(3)), EBADF (fd is not
/// open, or sched_close has closed it), ENOMEM (there is no memory), EINVAL (the run of s has
/// ended), or an error of accept(2).
/// Suspension point: the task may be resumed on another thread, see libsched(7).
/// Thread-safe. Cost: that of accept(2); a wait costs one system call more, and one or two switches
/// of stacks.
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_accept_until(
    fd: c_int,
    address: *mut sockaddr,
    length: *mut socklen_t,
    deadline: sched_time,
    s: *mut Scheduler,
) -> c_int {
    // SAFETY: the address is as accept4(2) requires; `s` is NULL or a task's.
    unsafe { result(io::accept(fd, address, length, 0, caller(deadline, s))) as c_int }
}

/// As sched_accept, with the flags of accept4(2): SOCK_CLOEXEC, SOCK_NONBLOCK.
///
/// Returns the descriptor of the connection; or -1 with errno: ECANCELED (the caller's group is
/// cancelled: see sched_group_cancel(3)), EBADF (fd is not open, or sched_close has
/// closed it), ENOMEM (there is no memory), EINVAL (the run of s has ended), or an error of
/// accept4(2).
/// Suspension point: the task may be resumed on another thread, see libsched(7).
/// Thread-safe. Cost: that of accept4(2); a wait costs one system call more, and one or two
/// switches of stacks.
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_accept4(
    fd: c_int,
    address: *mut sockaddr,
    length: *mut socklen_t,
    flags: c_int,
    s: *mut Scheduler,
) -> c_int {
    // SAFETY: the address is as accept4(2) requires; `s` is NULL or a task's.
    unsafe { result(io::accept(fd, address, length, flags, caller(FOREVER, s))) as c_int }
}

/// As sched_accept4, but waits no longer than until deadline; if that has passed, it does not wait.
///
/// Returns the descriptor of the connection; or -1 with errno: ETIMEDOUT (the deadline has passed),
/// ECANCELED (the caller's group is cancelled: see sched_group_cancel(3)), EBADF (fd is not
/// open, or sched_close has closed it), ENOMEM (there is no memory), EINVAL (the run of s has
/// ended), or an error of accept4(2).
/// Suspension point: the task may be resumed on another thread, see libsched(7).
/// Thread-safe. Cost: that of accept4(2); a wait costs one system call more, and one or two
/// switches of stacks.
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_accept4_until(
    fd: c_int,
    address: *mut sockaddr,
    length: *mut socklen_t,
    flags: c_int,
    deadline: sched_time,
    s: *mut Scheduler,
) -> c_int {
    // SAFETY: the address is as accept4(2) requires; `s` is NULL or a task's.
    unsafe { result(io::accept(fd, address, length, flags, caller(deadline, s))) as c_int }
}

/// Connects a socket as connect(2) does, and waits until it is connected. During the call
/// O_NONBLOCK is set for the socket. After a failure the state of the socket is not known: it
/// should be closed.
///
/// Returns 0; or -1 with errno: ECANCELED (the caller's group is cancelled: see
/// sched_group_cancel(3)), EBADF (fd is not open, or sched_close has closed it), ENOMEM
/// (there is no memory), EINVAL (the run of s has ended), or an error of connect(2).
/// Suspension point: the task may be resumed on another thread, see libsched(7).
/// Thread-safe. Cost: that of connect(2); a wait costs one system call more, and one or two
/// switches of stacks.
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_connect(
    fd: c_int,
    address: *const sockaddr,
    length: socklen_t,
    s: *mut Scheduler,
) -> c_int {
    // SAFETY: the address has `length` bytes; `s` is NULL or a task's.
    unsafe { result(io::connect(fd, address, length, caller(FOREVER, s))) as c_int }
}

/// As sched_connect, but waits no longer than until deadline; if that has passed, it does not wait.
///
/// Returns 0; or -1 with errno: ETIMEDOUT (the deadline has passed), ECANCELED (the caller's group
/// is cancelled: see sched_group_cancel(3)), EBADF (fd is not open, or sched_close has
/// closed it), ENOMEM (there is no memory), EINVAL (the run of s has ended), or an error of
/// connect(2).
/// Suspension point: the task may be resumed on another thread, see libsched(7).
/// Thread-safe. Cost: that of connect(2); a wait costs one system call more, and one or two
/// switches of stacks.
///
/// # Safety
/// Not for C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_connect_until(
    fd: c_int,
    address: *const sockaddr,
    length: socklen_t,
    deadline: sched_time,
    s: *mut Scheduler,
) -> c_int {
    // SAFETY: the address has `length` bytes; `s` is NULL or a task's.
    unsafe { result(io::connect(fd, address, length, caller(deadline, s))) as c_int }
}

/// Closes a descriptor as close(2) does. Tasks that wait for it end their waits with EBADF. (If
/// close(2) closes a descriptor for which tasks wait, they learn of it some time later, or when
/// somebody waits for the next descriptor of that number.)
///
/// Returns 0, or -1 with errno: EBADF (fd is not open), or an error of close(2).
/// Thread-safe. Cost: that of close(2).
#[unsafe(no_mangle)]
pub extern "C" fn sched_close(fd: c_int) -> c_int {
    result(io::close(fd)) as c_int
}
