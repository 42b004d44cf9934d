//! The system calls for descriptors: those that never block, and those that may block. None of them
//! is a cancellation point.
//!
//! A socket is not blocked on by a flag of the call. Other descriptors are read and written with
//! RWF_NOWAIT (Linux 4.14; pipes 6.4). If the kernel does not know it, or a sandbox denies the
//! call, O_NONBLOCK is set, which affects all users of the open file description. A terminal is
//! often shared with a shell, so its flag stays: it is used when it is ready, as the kernel says
//! just before.

use crate::sys::errno::{Errno, done};
use crate::sys::thread::Uncancelled;
use crate::sys::{detector, time};
use std::ffi::{c_int, c_long, c_short, c_void};
use std::mem::{self, MaybeUninit};
use std::ptr;
use std::time::Duration;

pub use libc::{iovec, msghdr};

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    Read,
    Write,
}

impl Direction {
    /// The awaited event, as poll(2) writes it.
    pub fn event(self) -> c_short {
        if self == Direction::Read { libc::POLLIN } else { libc::POLLOUT }
    }
}

/// A try to use a descriptor without blocking.
pub enum Tried {
    Done(usize),
    /// This many bytes were moved; the rest must be moved by `block`, in which the thread may
    /// block.
    MustBlock(usize),
}

/// The events of the descriptor, after at most `limit`; 0: none.
pub fn poll(fd: c_int, events: c_short, limit: Duration) -> Result<c_short, Errno> {
    let mut entry = libc::pollfd { fd, events, revents: 0 };
    let mut limit = time::timespec(limit);
    let none: *const c_void = ptr::null();
    // SAFETY: one entry; the kernel may change the limit.
    done(unsafe {
        let (entry, limit) = (&raw mut entry, &raw mut limit);
        libc::syscall(libc::SYS_ppoll, entry, 1, limit, none, size_of::<u64>())
    })?;
    if entry.revents & libc::POLLNVAL != 0 { Err(Errno(libc::EBADF)) } else { Ok(entry.revents) }
}

/// Receives from a socket, or sends to it, without blocking. Fails with ENOTSOCK if the descriptor
/// is not a socket.
///
/// # Safety
/// The message is one of the program's, as recvmsg(2) and sendmsg(2) describe it.
pub unsafe fn message(
    fd: c_int,
    message: *mut msghdr,
    flags: c_int,
    direction: Direction,
) -> Result<usize, Errno> {
    let (number, flags) = match direction {
        Direction::Read => (libc::SYS_recvmsg, flags | libc::MSG_DONTWAIT),
        Direction::Write => (libc::SYS_sendmsg, flags | libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL),
    };
    // SAFETY: the message is the program's, as recvmsg(2) and sendmsg(2) describe it.
    done(unsafe { libc::syscall(number, fd, message, flags) })
}

/// Like `message`, for one or more buffers.
///
/// # Safety
/// The buffers are the program's.
pub unsafe fn socket(
    fd: c_int,
    buffers: &[iovec],
    flags: c_int,
    direction: Direction,
) -> Result<usize, Errno> {
    let none: *mut c_void = ptr::null_mut();
    if let &[iovec { iov_base, iov_len }] = buffers {
        let (number, flags) = match direction {
            Direction::Read => (libc::SYS_recvfrom, flags | libc::MSG_DONTWAIT),
            Direction::Write => (libc::SYS_sendto, flags | libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL),
        };
        // SAFETY: the buffer is the program's; no address.
        return done(unsafe { libc::syscall(number, fd, iov_base, iov_len, flags, none, none) });
    }
    // SAFETY: zero bytes are a message without an address and without control data.
    let mut whole: msghdr = unsafe { mem::zeroed() };
    whole.msg_iov = buffers.as_ptr().cast_mut();
    whole.msg_iovlen = buffers.len() as _;
    // SAFETY: the buffers are the program's; no address and no control data.
    unsafe { message(fd, &raw mut whole, flags, direction) }
}

/// Reads or writes a descriptor that is not a socket.
///
/// # Safety
/// The buffers are the program's.
pub unsafe fn file(fd: c_int, buffers: &[iovec], direction: Direction) -> Result<Tried, Errno> {
    const NO_OFFSET: c_long = -1;
    let number = match direction {
        Direction::Read => libc::SYS_preadv2,
        Direction::Write => libc::SYS_pwritev2,
    };
    let wanted: usize = buffers.iter().map(|buffer| buffer.iov_len).sum();
    let (at, count) = (buffers.as_ptr(), buffers.len() as c_long);
    let flags = c_long::from(libc::RWF_NOWAIT);
    let tried = without_sigpipe(direction, || {
        // SAFETY: the buffers are the program's.
        done(unsafe { libc::syscall(number, fd, at, count, NO_OFFSET, NO_OFFSET, flags) })
    });
    match tried {
        Ok(moved) if moved == wanted => Ok(Tried::Done(moved)),
        Ok(moved) if !is_on_disk(fd) => Ok(Tried::Done(moved)),
        Ok(moved) => Ok(Tried::MustBlock(moved)),
        Err(Errno(libc::EAGAIN)) if is_on_disk(fd) => Ok(Tried::MustBlock(0)),
        Err(Errno(libc::EOPNOTSUPP | libc::ENOSYS | libc::EINVAL | libc::EPERM)) => {
            match kind(fd) {
                libc::S_IFREG | libc::S_IFBLK | libc::S_IFDIR => Ok(Tried::MustBlock(0)),
                libc::S_IFCHR if poll(fd, direction.event(), Duration::ZERO)? == 0 => {
                    Err(Errno(libc::EAGAIN))
                }
                kind => {
                    if kind != libc::S_IFCHR {
                        set_nonblocking(fd)?;
                    }
                    // SAFETY: the buffers are the program's.
                    unsafe { block(fd, buffers, direction) }.map(Tried::Done)
                }
            }
        }
        Err(error) => Err(error),
    }
}

/// readv or writev, which may block.
///
/// # Safety
/// The buffers are the program's.
pub unsafe fn block(fd: c_int, buffers: &[iovec], direction: Direction) -> Result<usize, Errno> {
    let number = match direction {
        Direction::Read => libc::SYS_readv,
        Direction::Write => libc::SYS_writev,
    };
    without_sigpipe(direction, || {
        // SAFETY: the buffers are the program's.
        done(unsafe { libc::syscall(number, fd, buffers.as_ptr(), buffers.len()) })
    })
}

/// The file type bits of the descriptor's mode; 0: it is not known.
fn kind(fd: c_int) -> libc::mode_t {
    let mut status = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: there is room for a status, which is read only if it was written.
    unsafe {
        if libc::fstat(fd, status.as_mut_ptr()) != 0 {
            return 0;
        }
        status.assume_init_ref().st_mode & libc::S_IFMT
    }
}

/// True if epoll refuses the descriptor, because it is always ready.
fn is_on_disk(fd: c_int) -> bool {
    matches!(kind(fd), libc::S_IFREG | libc::S_IFBLK | libc::S_IFDIR)
}

fn flags(fd: c_int) -> Result<c_int, Errno> {
    // SAFETY: the call takes no pointers.
    done(unsafe { libc::syscall(libc::SYS_fcntl, fd, libc::F_GETFL) }).map(|flags| flags as c_int)
}

fn set_flags(fd: c_int, flags: c_int) -> Result<(), Errno> {
    // SAFETY: as above.
    done(unsafe { libc::syscall(libc::SYS_fcntl, fd, libc::F_SETFL, flags) }).map(|_| ())
}

/// Sets O_NONBLOCK. True if it was not set.
pub fn set_nonblocking(fd: c_int) -> Result<bool, Errno> {
    let before = flags(fd)?;
    let is_new = before & libc::O_NONBLOCK == 0;
    if is_new {
        set_flags(fd, before | libc::O_NONBLOCK)?;
    }
    Ok(is_new)
}

pub fn set_blocking(fd: c_int) -> Result<(), Errno> {
    set_flags(fd, flags(fd)? & !libc::O_NONBLOCK)
}

/// Accepts a connection; O_NONBLOCK is set.
///
/// # Safety
/// The contract of accept4(2).
pub unsafe fn accept(
    fd: c_int,
    address: *mut libc::sockaddr,
    length: *mut libc::socklen_t,
    flags: c_int,
) -> Result<usize, Errno> {
    // SAFETY: `address` and `length` are as accept4(2) requires.
    done(unsafe { libc::syscall(libc::SYS_accept4, fd, address, length, flags) })
}

/// # Safety
/// The contract of connect(2).
pub unsafe fn connect(
    fd: c_int,
    address: *const libc::sockaddr,
    length: libc::socklen_t,
) -> Result<usize, Errno> {
    // SAFETY: `address` has `length` bytes, as connect(2) requires.
    done(unsafe { libc::syscall(libc::SYS_connect, fd, address, length) })
}

/// The error of a connection that was begun, which this clears; 0: there was none.
pub fn take_error(fd: c_int) -> Result<c_int, Errno> {
    let (mut error, mut length) = (0, size_of::<c_int>() as libc::socklen_t);
    // SAFETY: there is room for a number.
    done(unsafe {
        let (level, name) = (libc::SOL_SOCKET, libc::SO_ERROR);
        let (error, length) = (&raw mut error, &raw mut length);
        libc::syscall(libc::SYS_getsockopt, fd, level, name, error, length)
    })?;
    Ok(error)
}

pub fn close(fd: c_int) -> Result<(), Errno> {
    if detector::is_present() {
        // ThreadSanitizer must see it: otherwise it takes the next use of the number for a race.
        // (The C library's function is a cancellation point.)
        let _uncancelled = Uncancelled::begin();
        // SAFETY: the program gives the descriptor up.
        return done(unsafe { libc::close(fd) }.into()).map(|_| ());
    }
    // SAFETY: as above.
    done(unsafe { libc::syscall(libc::SYS_close, fd) }).map(|_| ())
}

/// Calls `write`, which may raise SIGPIPE in this thread: the signal is taken back.
fn without_sigpipe<R>(
    direction: Direction,
    write: impl FnOnce() -> Result<R, Errno>,
) -> Result<R, Errno> {
    if direction == Direction::Read {
        return write();
    }
    const SIGPIPE: u64 = 1 << (libc::SIGPIPE - 1);
    let (sigpipe, mut before) = (SIGPIPE, 0_u64);
    let no_time = time::timespec(Duration::ZERO);
    let none: *mut c_void = ptr::null_mut();
    let mask = |how: c_int, new: &u64, old: *mut u64| {
        // SAFETY: the sets have the kernel's size.
        unsafe {
            libc::syscall(libc::SYS_rt_sigprocmask, how, &raw const *new, old, size_of::<u64>())
        }
    };
    let is_pending = || {
        let mut set = 0_u64;
        // SAFETY: as above.
        unsafe { libc::syscall(libc::SYS_rt_sigpending, &raw mut set, size_of::<u64>()) };
        set & SIGPIPE != 0
    };
    mask(libc::SIG_BLOCK, &sigpipe, &raw mut before);
    let was_pending = before & SIGPIPE != 0 && is_pending();
    let result = write();
    if matches!(result, Err(Errno(libc::EPIPE))) && !was_pending {
        // SAFETY: as above; the signal is pending, so the call does not wait.
        unsafe {
            let (set, time) = (&raw const sigpipe, &raw const no_time);
            libc::syscall(libc::SYS_rt_sigtimedwait, set, none, time, size_of::<u64>());
        }
    }
    if before & SIGPIPE == 0 {
        mask(libc::SIG_SETMASK, &before, none.cast());
    }
    result
}
