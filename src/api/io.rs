//! Descriptors: each function tries its system call without blocking. If the kernel says EAGAIN,
//! the task waits until the descriptor is ready (`runtime::descriptors`), and tries again.
//! (`until_read` says when a read waits before its first try.) This is one file because all
//! functions are such tries, with the same ways to wait.
//!
//! A descriptor that the kernel's list refuses (a regular file, which is always ready; any
//! descriptor, if epoll is denied) is used in a blocking section. If no section can be had (the
//! kind serial has one thread, and the number of threads has a limit), a task that waits looks from
//! time to time, and sleeps in between. A thread that is not in a task waits by poll(2).
//!
//! The library does not know which thread's or process's write a read follows. To a race detector
//! everything that was written before any write, accept or connect is ordered before every read
//! (ThreadSanitizer itself does so for all sockets).

use crate::api::cancel::Group;
use crate::api::nodes;
use crate::api::timed::{self, Deadline, End};
use crate::deadline::FOREVER;
use crate::runtime::descriptors::Begin;
use crate::runtime::identity::Mine;
use crate::runtime::record::Worker;
use crate::runtime::wait_note::WaitsFor;
use crate::runtime::{blocking, deadlines, descriptors, yielding};
use crate::settings::Join;
use crate::sync::descriptor::{CLOSED, Waiting};
use crate::sync::node::Node;
use crate::sys::errno::Errno;
use crate::sys::io::{self, Direction, Tried, iovec, msghdr};
use crate::sys::{detector, futex};
use std::cell::Cell;
use std::ffi::{c_int, c_short};
use std::ptr;
use std::time::Duration;

/// A call: its waiting task or thread, and its deadline.
pub struct Caller<'a> {
    /// A worker of the caller's run, or None.
    worker: Option<&'a Worker>,
    deadline: i64,
    /// The descriptor's generation at the first wait of the call (`runtime::descriptors`).
    generation: Cell<Option<u32>>,
}

/// The time between two looks of a wait in a blocking section whether it was cancelled.
const SLICE: Duration = Duration::from_millis(20);

/// After this many calls in succession that did not wait, a task yields. (Tokio's tasks have a
/// budget of 128 operations.)
const BURST: u32 = 32;

/// See `until_read`.
const WAITED: u32 = 2;
const TRIES_AGAIN: u32 = 16;

/// The time between two looks of a task that waits without the kernel's list and without a blocking
/// section.
const BETWEEN_LOOKS: Duration = Duration::from_millis(1);

/// How many buffers are written at a time after a partial write.
const FEW: usize = 16;

impl<'a> Caller<'a> {
    pub fn new(worker: Option<&'a Worker>, deadline: i64) -> Self {
        Caller { worker, deadline, generation: Cell::new(None) }
    }

    /// Makes a system call that does not block. Fails with EBADF, without the call, if the
    /// descriptor was closed since the first wait.
    fn now<T>(&self, fd: c_int, call: impl FnOnce() -> Result<T, Errno>) -> Result<T, Errno> {
        match self.generation.get() {
            None => call(),
            Some(generation) => descriptors::unless_closed(fd, generation, call),
        }
    }

    /// Waits until one of the events happens to the descriptor. Returns the events that have
    /// happened, perhaps with a hang-up or an error.
    fn wait(&self, fd: c_int, events: c_short) -> Result<c_short, Errno> {
        self.wait_if(Begin::Always, fd, events)
    }

    /// Like `wait`, but fails with EAGAIN if the condition does not hold; then the task has not
    /// waited.
    fn wait_if(&self, begin: Begin, fd: c_int, events: c_short) -> Result<c_short, Errno> {
        let deadline = Deadline::new(self.deadline, self.worker)?;
        if let Some(time) = deadline.of_thread() {
            return poll_until(fd, events, time, || false);
        }
        let waiting = Waiting::new(u32::from(events as u16));
        detector::own(&waiting);
        let what = WaitsFor::descriptor(fd, events as u16);
        let (wanted, expected) = (u32::from(events as u16), self.generation.get());
        // SAFETY: the waiter lives until its node is granted, or has left.
        match unsafe { descriptors::begin(begin, fd, &waiting, wanted, expected) } {
            Ok(generation) => self.generation.set(Some(generation)),
            Err(Errno(libc::EBADF)) => return Err(Errno(libc::EBADF)),
            Err(_) if begin == Begin::IfListed => return Err(Errno(libc::EAGAIN)),
            Err(_) => return self.wait_without_list(fd, events, deadline, what),
        }
        let end = deadline.wait(&waiting.node, Some(what));
        if end != End::Granted {
            // SAFETY: the wait was begun above.
            if unsafe { descriptors::leave(fd, &waiting) } {
                descriptors::POLLER.end_wait();
                return Err(Errno(end.error()));
            }
            if waiting.node.revive() {
                nodes::wait(&waiting.node, what, self.worker); // for the grant of another thread
            }
        }
        descriptors::POLLER.end_wait();
        self.worker.and_then(Worker::mine).inspect(|mine| mine.fiber().burst.set(0));
        match waiting.ready() {
            CLOSED => Err(Errno(libc::EBADF)),
            0 => self.wait_without_list(fd, events, deadline, what),
            ready => Ok(ready as c_short),
        }
    }

    /// Like `wait`, without the kernel's list.
    #[cold]
    fn wait_without_list(
        &self,
        fd: c_int,
        events: c_short,
        deadline: Deadline,
        what: WaitsFor,
    ) -> Result<c_short, Errno> {
        let is_cancelled = || deadline.group().is_some_and(|group| group.is_cancelled());
        if let Some(section) = Section::begin(self.worker).filter(Section::has_freed_worker) {
            let result = poll_until(fd, events, self.deadline, is_cancelled);
            drop(section);
            return result;
        }
        loop {
            match io::poll(fd, events, Duration::ZERO) {
                Ok(0) | Err(Errno(libc::EINTR)) => {}
                result => return result,
            }
            self.pause(deadline, what)?;
        }
    }

    /// Sleeps for `BETWEEN_LOOKS`. Fails at the deadline, and if the call is cancelled.
    fn pause(&self, deadline: Deadline, what: WaitsFor) -> Result<(), Errno> {
        let node = Node::default();
        detector::own(&node);
        if deadline.within(BETWEEN_LOOKS).wait(&node, Some(what)) == End::Canceled {
            return Err(Errno(libc::ECANCELED));
        }
        if self.deadline <= deadlines::now() {
            return Err(Errno(libc::ETIMEDOUT));
        }
        Ok(())
    }

    /// Repeats `attempt` until it fails with something other than EAGAIN, or succeeds.
    fn until_done<T>(
        &self,
        fd: c_int,
        events: c_short,
        mut attempt: impl FnMut() -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        let mut has_waited = false;
        loop {
            match attempt() {
                Err(Errno(libc::EAGAIN)) => {
                    has_waited = true;
                    self.wait(fd, events)?;
                }
                Err(Errno(libc::EINTR)) => {}
                result => {
                    if !has_waited {
                        self.take_turns();
                    }
                    return result;
                }
            }
        }
    }

    /// Like `until_done`, for a read of at most `most` bytes. After `WAITED` reads of the
    /// descriptor that had to wait, and did not fill the buffer, the task expects nothing there,
    /// and waits before it tries: a server whose clients wait for its answers saves a system call
    /// for each request. Now and then it tries first. If there is something after all, it tries
    /// first until `WAITED` further reads had to wait.
    fn until_read(
        &self,
        fd: c_int,
        events: c_short,
        most: usize,
        mut attempt: impl FnMut() -> Result<usize, Errno>,
    ) -> Result<usize, Errno> {
        let Some(mine) = self.worker.and_then(Worker::mine) else {
            return self.until_done(fd, events, attempt);
        };
        let fiber = mine.fiber();
        let before = Some(fiber.waited_reads.get()).filter(|&(of, _)| of == fd);
        let waited = before.map_or(0, |(_, waited)| waited);
        let expects_nothing = most > 0 && waited >= WAITED && waited % TRIES_AGAIN != 0;
        let mut has_waited = false;
        if expects_nothing && self.may_wait_first(mine) {
            match self.wait_if(Begin::IfListed, fd, events) {
                Ok(_) => has_waited = true,
                Err(Errno(libc::EAGAIN)) => {} // the number may be another descriptor's now
                Err(error) => return Err(error),
            }
        }
        let mut tries = 0;
        let result = self.until_done(fd, events, || {
            tries += 1;
            attempt()
        });
        has_waited |= tries > 1;
        let is_short = result.as_ref().is_ok_and(|&got| got < most);
        let waited = if has_waited && is_short { waited.wrapping_add(1) } else { 0 };
        fiber.waited_reads.set((fd, waited));
        result
    }

    /// True if the caller loses nothing by a wait before its first try: what is there already ends
    /// the wait long before the deadline, and no other task runs on top of the caller's.
    fn may_wait_first(&self, mine: Mine) -> bool {
        mine.fiber().join() == Join::Suspend
            && mine.fiber().can_be_left()
            && self.deadline.saturating_sub(deadlines::now()) > SLICE.as_nanos() as i64
            && !timed::group_of_caller().is_some_and(Group::is_cancelled)
    }

    /// Counts a call that did not wait. After `BURST` such calls in succession the task yields, so
    /// that a task which always finds something to read does not keep its worker.
    fn take_turns(&self) {
        let Some(mine) = self.worker.and_then(Worker::mine) else { return };
        let fiber = mine.fiber();
        fiber.burst.set(fiber.burst.get() + 1);
        if fiber.burst.get() >= BURST && !mine.is_guest() {
            fiber.burst.set(0);
            descriptors::poll();
            yielding::yield_now(mine.worker());
        }
    }

    /// A try to read or write, which blocks in a section if it must.
    ///
    /// # Safety
    /// The buffers are the program's.
    unsafe fn attempt(
        &self,
        fd: c_int,
        buffers: &[iovec],
        direction: Direction,
    ) -> Result<usize, Errno> {
        // SAFETY: the buffers are the program's.
        unsafe {
            match self.now(fd, || io::socket(fd, buffers, 0, direction)) {
                Err(Errno(libc::ENOTSOCK)) => {}
                result => return result,
            }
            match self.now(fd, || io::file(fd, buffers, direction))? {
                Tried::Done(moved) => Ok(moved),
                Tried::MustBlock(moved) => {
                    let rest = Rest::after(buffers, moved);
                    let rest = if moved == 0 { buffers } else { rest.few() };
                    // (If no section can be had, the worker blocks with its task.)
                    let _section = Section::begin(self.worker);
                    match io::block(fd, rest, direction) {
                        Ok(more) => Ok(moved + more),
                        Err(_) if moved > 0 => Ok(moved),
                        Err(error) => Err(error),
                    }
                }
            }
        }
    }
}

/// A blocking section of the caller, which ends when this value is dropped.
struct Section<'a>(&'a Worker);

impl<'a> Section<'a> {
    fn begin(worker: Option<&'a Worker>) -> Option<Self> {
        worker.filter(|worker| blocking::begin(worker).is_ok()).map(Section)
    }

    /// True if the worker has another thread meanwhile, or can get one.
    fn has_freed_worker(&self) -> bool {
        self.0.row().has_threads
    }
}

impl Drop for Section<'_> {
    fn drop(&mut self) {
        let ended = blocking::end(self.0);
        debug_assert!(ended.is_ok(), "a section begun by `begin`");
    }
}

/// Polls from the calling thread until one of the events has happened, the deadline has come, or
/// `is_cancelled`.
fn poll_until(
    fd: c_int,
    events: c_short,
    deadline: i64,
    is_cancelled: impl Fn() -> bool,
) -> Result<c_short, Errno> {
    loop {
        if is_cancelled() {
            return Err(Errno(libc::ECANCELED));
        }
        let left = deadline.saturating_sub(deadlines::now());
        if left <= 0 {
            return Err(Errno(libc::ETIMEDOUT));
        }
        let left =
            if deadline == FOREVER { futex::LONGEST } else { Duration::from_nanos(left as u64) };
        match io::poll(fd, events, left.min(SLICE)) {
            Ok(0) | Err(Errno(libc::EINTR)) => {}
            result => return result,
        }
    }
}

/// The buffers that are left after some bytes.
struct Rest {
    few: [iovec; FEW],
    n: usize,
}

impl Rest {
    fn after(all: &[iovec], mut moved: usize) -> Self {
        const NONE: iovec = iovec { iov_base: ptr::null_mut(), iov_len: 0 };
        let mut rest = Rest { few: [NONE; FEW], n: 0 };
        for buffer in all {
            let skipped = moved.min(buffer.iov_len);
            moved -= skipped;
            if skipped < buffer.iov_len && rest.n < FEW {
                let base = buffer.iov_base.wrapping_byte_add(skipped);
                rest.few[rest.n] = iovec { iov_base: base, iov_len: buffer.iov_len - skipped };
                rest.n += 1;
            }
        }
        rest
    }

    /// Some of the buffers, from the first one on.
    fn few(&self) -> &[iovec] {
        &self.few[..self.n]
    }
}

/// Tells whether a write that has failed in its middle reports the bytes that it has written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Partial {
    Report,
    Fail,
}

/// # Safety
/// The buffers are the program's.
pub unsafe fn read(fd: c_int, buffers: &[iovec], caller: Caller) -> Result<usize, Errno> {
    received(|| {
        let event = Direction::Read.event();
        let most = buffers.iter().map(|buffer| buffer.iov_len).sum();
        if most == 0 {
            // SAFETY: the buffers are the program's.
            return unsafe { io::block(fd, buffers, Direction::Read) }; // it does not block
        }
        // SAFETY: the buffers are the program's.
        let attempt = || unsafe { caller.attempt(fd, buffers, Direction::Read) };
        caller.until_read(fd, event, most, attempt)
    })
}

/// Writes all bytes.
///
/// # Safety
/// The buffers are the program's.
pub unsafe fn write(
    fd: c_int,
    buffers: &[iovec],
    partial: Partial,
    caller: Caller,
) -> Result<usize, Errno> {
    // SAFETY: the buffers are the program's.
    let attempt = |rest: &[iovec]| unsafe { caller.attempt(fd, rest, Direction::Write) };
    sent(|| write_all(fd, buffers, partial, &caller, attempt))
}

fn write_all(
    fd: c_int,
    buffers: &[iovec],
    partial: Partial,
    caller: &Caller,
    mut attempt: impl FnMut(&[iovec]) -> Result<usize, Errno>,
) -> Result<usize, Errno> {
    let wanted: usize = buffers.iter().map(|buffer| buffer.iov_len).sum();
    let mut written = 0;
    loop {
        let more = caller.until_done(fd, Direction::Write.event(), || match written {
            0 => attempt(buffers),
            _ => attempt(Rest::after(buffers, written).few()),
        });
        match more {
            Ok(more) => written += more,
            Err(_) if written > 0 && partial == Partial::Report => return Ok(written),
            Err(error) => return Err(error),
        }
        if written >= wanted || more == Ok(0) {
            return Ok(written);
        }
    }
}

/// # Safety
/// The buffer is the program's.
pub unsafe fn receive(
    fd: c_int,
    buffer: iovec,
    flags: c_int,
    caller: Caller,
) -> Result<usize, Errno> {
    let waits_for_all = flags & libc::MSG_WAITALL != 0 && flags & libc::MSG_PEEK == 0;
    let whole = [buffer];
    received(|| {
        let mut got = 0;
        loop {
            let rest = Rest::after(&whole, got);
            // SAFETY: the buffer is the program's.
            let attempt = || unsafe {
                let buffers = if got == 0 { &whole[..] } else { rest.few() };
                let flags = flags & !libc::MSG_WAITALL;
                caller.now(fd, || io::socket(fd, buffers, flags, Direction::Read))
            };
            let more = match flags & (libc::MSG_DONTWAIT | libc::MSG_ERRQUEUE | libc::MSG_OOB) {
                0 => caller.until_read(fd, libc::POLLIN, buffer.iov_len - got, attempt),
                _ => caller.unless_dont_wait(fd, flags, Direction::Read, attempt),
            };
            match more {
                Ok(more) => got += more,
                Err(_) if got > 0 => return Ok(got),
                Err(error) => return Err(error),
            }
            if !waits_for_all || got >= buffer.iov_len || more == Ok(0) {
                return Ok(got);
            }
        }
    })
}

/// # Safety
/// The buffer is the program's.
pub unsafe fn send(fd: c_int, buffer: iovec, flags: c_int, caller: Caller) -> Result<usize, Errno> {
    // SAFETY: the buffer is the program's.
    let attempt = |rest: &[iovec]| unsafe {
        caller.now(fd, || io::socket(fd, rest, flags, Direction::Write))
    };
    if flags & libc::MSG_DONTWAIT != 0 {
        return sent(|| attempt(&[buffer]));
    }
    sent(|| write_all(fd, &[buffer], Partial::Report, &caller, attempt))
}

/// # Safety
/// The message is the program's, as recvmsg(2) describes it.
pub unsafe fn receive_message(
    fd: c_int,
    message: *mut msghdr,
    flags: c_int,
    caller: Caller,
) -> Result<usize, Errno> {
    received(|| {
        // SAFETY: the message is the program's, as recvmsg(2) describes it.
        let attempt =
            || caller.now(fd, || unsafe { io::message(fd, message, flags, Direction::Read) });
        caller.unless_dont_wait(fd, flags, Direction::Read, attempt)
    })
}

/// # Safety
/// The message is the program's, as sendmsg(2) describes it.
pub unsafe fn send_message(
    fd: c_int,
    message: *const msghdr,
    flags: c_int,
    caller: Caller,
) -> Result<usize, Errno> {
    // SAFETY: the message is the program's, as sendmsg(2) describes it.
    let (mut whole, buffers) = unsafe {
        let whole = *message;
        let count = whole.msg_iovlen;
        let buffers: &[iovec] =
            if count == 0 { &[] } else { std::slice::from_raw_parts(whole.msg_iov, count) };
        (whole, buffers)
    };
    let mut is_first = true;
    let attempt = |rest: &[iovec]| {
        if !is_first {
            (whole.msg_control, whole.msg_controllen) = (ptr::null_mut(), 0);
        }
        whole.msg_iov = rest.as_ptr().cast_mut();
        whole.msg_iovlen = rest.len() as _;
        // SAFETY: the message is the program's, and `rest` is a part of its buffers.
        let send = || unsafe { io::message(fd, &raw mut whole, flags, Direction::Write) };
        let sent = caller.now(fd, send);
        is_first &= sent.is_err();
        sent
    };
    let partial = Partial::Report;
    if flags & libc::MSG_DONTWAIT != 0 {
        let mut attempt = attempt;
        return sent(|| attempt(buffers));
    }
    sent(|| write_all(fd, buffers, partial, &caller, attempt))
}

impl Caller<'_> {
    /// Repeats `attempt` as `until_done` does, unless the flags say MSG_DONTWAIT, or MSG_ERRQUEUE,
    /// with which the kernel never waits.
    fn unless_dont_wait(
        &self,
        fd: c_int,
        flags: c_int,
        direction: Direction,
        mut attempt: impl FnMut() -> Result<usize, Errno>,
    ) -> Result<usize, Errno> {
        if flags & (libc::MSG_DONTWAIT | libc::MSG_ERRQUEUE) != 0 {
            return attempt();
        }
        let event = if flags & libc::MSG_OOB != 0 { libc::POLLPRI } else { direction.event() };
        self.until_done(fd, event, attempt)
    }
}

/// # Safety
/// The contract of accept4(2).
pub unsafe fn accept(
    fd: c_int,
    address: *mut libc::sockaddr,
    length: *mut libc::socklen_t,
    flags: c_int,
    caller: Caller,
) -> Result<usize, Errno> {
    received(|| {
        io::set_nonblocking(fd)?;
        // SAFETY: `address` and `length` are as accept4(2) requires.
        let attempt = || caller.now(fd, || unsafe { io::accept(fd, address, length, flags) });
        caller.until_done(fd, libc::POLLIN, attempt)
    })
}

/// # Safety
/// The contract of connect(2).
pub unsafe fn connect(
    fd: c_int,
    address: *const libc::sockaddr,
    length: libc::socklen_t,
    caller: Caller,
) -> Result<usize, Errno> {
    sent(|| {
        let is_new = io::set_nonblocking(fd)?;
        // SAFETY: `address` has `length` bytes, as connect(2) requires.
        let attempt = || caller.now(fd, || unsafe { io::connect(fd, address, length) });
        let mut begun = attempt();
        // SAFETY: the kernel has read the address.
        while begun == Err(Errno(libc::EAGAIN)) && unsafe { is_local(address) } {
            // The listening socket's queue is full. No event tells when it has room again.
            let deadline = Deadline::new(caller.deadline, caller.worker);
            let what = WaitsFor::descriptor(fd, libc::POLLOUT as u16);
            begun = deadline.and_then(|at| caller.pause(at, what)).and_then(|()| attempt());
        }
        let connected = match begun {
            Err(Errno(libc::EINPROGRESS | libc::EALREADY | libc::EINTR)) => {
                let error = || caller.now(fd, || io::take_error(fd));
                caller.wait(fd, libc::POLLOUT).and_then(|_| match error()? {
                    0 => Ok(0),
                    error => Err(Errno(error)),
                })
            }
            result => result,
        };
        if is_new {
            _ = caller.now(fd, || io::set_blocking(fd)); // if it was closed, the number may have an owner
        }
        connected
    })
}

/// True for the address of a socket of the file system.
///
/// # Safety
/// The contract of connect(2), which has read the address.
unsafe fn is_local(address: *const libc::sockaddr) -> bool {
    // SAFETY: the kernel has read the address.
    unsafe { c_int::from((*address).sa_family) == libc::AF_UNIX }
}

/// Returns the events that have happened.
pub fn poll(fd: c_int, events: c_short, caller: Caller) -> Result<usize, Errno> {
    if fd < 0 {
        return Err(Errno(libc::EBADF));
    }
    received(|| {
        let mut ready = loop {
            match io::poll(fd, events, Duration::ZERO) {
                Err(Errno(libc::EINTR)) => {} // a signal was handled
                result => break result?,
            }
        };
        while ready == 0 {
            ready = caller.wait(fd, events)?;
        }
        Ok(ready as u16 as usize)
    })
}

pub fn close(fd: c_int) -> Result<usize, Errno> {
    detector::ignored(|| descriptors::close(fd, || io::close(fd))).map(|()| 0)
}

/// Calls `work`, after which a race detector sees all that was sent before.
fn received<R>(work: impl FnOnce() -> R) -> R {
    let result = detector::ignored(work);
    detector::acquire(&descriptors::POLLER);
    result
}

/// Calls `work`, before which a race detector is told that something is sent.
fn sent<R>(work: impl FnOnce() -> R) -> R {
    detector::release(&descriptors::POLLER);
    detector::ignored(work)
}
