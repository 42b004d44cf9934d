//! The kernel's list of awaited descriptors: epoll (D. Libenzi, 2002), and a bell that ends a wait
//! for it: an eventfd.
//!
//! Both are made at the first use, are closed by exec, and are made anew in the child of a fork. No
//! call here is a cancellation point.

use crate::sys::atomic::{AtomicI32, Ordering};
use crate::sys::errno::{Errno, done};
use crate::sys::time;
use std::ffi::{c_int, c_void};
use std::mem;
use std::ptr;
use std::time::Duration;

pub use libc::epoll_event as Event;

/// The datum of the bell's events.
const BELL: u64 = u64::MAX;

/// How many events one wait takes.
pub const MOST: usize = 64;

/// An event that no wait has filled.
pub const NOTHING: Event = Event { events: 0, u64: BELL };

pub struct Epoll {
    /// The list's descriptor plus one; 0 if it is not made; the negative of an error if a call that
    /// it needs is denied with that error.
    list: AtomicI32,
    /// The same number for the bell.
    bell: AtomicI32,
}

impl Epoll {
    #[allow(clippy::new_without_default, reason = "one constructor is enough")]
    pub const fn new() -> Self {
        Epoll { list: AtomicI32::new(0), bell: AtomicI32::new(0) }
    }

    pub fn is_open(&self) -> bool {
        self.list.load(Ordering::Acquire) > 0 // pairs with `open`
    }

    /// Makes both descriptors, unless they are made. Called under a lock. Fails if a sandbox denies
    /// a call that the list needs. That is tried once: each try would take, for a moment, a number
    /// that the program has closed.
    pub fn open(&self) -> Result<(), Errno> {
        match self.list.load(Ordering::Relaxed) {
            0 => {}
            denied @ ..0 => return Err(Errno(-denied)),
            _ => return Ok(()),
        }
        self.make().inspect_err(|&Errno(error)| {
            if !matches!(error, libc::EMFILE | libc::ENFILE | libc::ENOMEM) {
                self.list.store(-error, Ordering::Relaxed);
            }
        })
    }

    fn make(&self) -> Result<(), Errno> {
        let flags = libc::O_CLOEXEC | libc::O_NONBLOCK;
        // SAFETY: the calls take no pointers.
        let list = done(unsafe { libc::syscall(libc::SYS_epoll_create1, libc::O_CLOEXEC) })?;
        // SAFETY: as above.
        let bell = done(unsafe { libc::syscall(libc::SYS_eventfd2, 0, flags) })
            .inspect_err(|_| close(list as c_int))?;
        // An event for each ring, without a read in between.
        let event = Event { events: (libc::EPOLLIN | libc::EPOLLET) as u32, u64: BELL };
        // SAFETY: the event is a valid one; both descriptors are ours.
        let added = done(unsafe {
            let event = &raw const event;
            libc::syscall(libc::SYS_epoll_ctl, list, libc::EPOLL_CTL_ADD, bell, event)
        });
        // (A list whose events cannot be taken would be worse than none.)
        if let Err(error) = added.and_then(|_| look(list as c_int, &mut [NOTHING; MOST])) {
            close(bell as c_int);
            close(list as c_int);
            return Err(error);
        }
        self.bell.store(bell as c_int + 1, Ordering::Relaxed);
        self.list.store(list as c_int + 1, Ordering::Release); // pairs with `is_open`
        Ok(())
    }

    /// True if the descriptor is one of the two.
    pub fn owns(&self, fd: c_int) -> bool {
        [&self.list, &self.bell].iter().any(|own| own.load(Ordering::Relaxed) == fd + 1)
    }

    /// Adds the descriptor (`EPOLL_CTL_ADD`) or changes its awaited events (`EPOLL_CTL_MOD`).
    pub fn control(&self, operation: c_int, fd: c_int, mut event: Event) -> Result<(), Errno> {
        let list = self.list.load(Ordering::Relaxed) - 1;
        // SAFETY: the event is a valid one.
        let result =
            unsafe { libc::syscall(libc::SYS_epoll_ctl, list, operation, fd, &raw mut event) };
        done(result).map(|_| ())
    }

    /// Waits for events until `limit` has passed or the bell rings. Returns the number of events in
    /// `events`; 0 also after a signal.
    pub fn wait(&self, limit: Duration, events: &mut [Event; MOST]) -> usize {
        let list = self.list.load(Ordering::Relaxed) - 1;
        let found = match limit.is_zero() {
            true => look(list, events),
            false => wait_precisely(list, limit, events),
        };
        let mut found = found.unwrap_or(0);
        let is_bell = |event: &Event| event.u64 == BELL;
        if let Some(at) = events[..found].iter().position(is_bell) {
            found -= 1;
            events[at] = events[found];
        }
        found
    }

    /// Ends a wait of another thread, now or as soon as it begins.
    pub fn ring(&self) {
        let bell = self.bell.load(Ordering::Relaxed) - 1;
        let one = 1_u64;
        // SAFETY: eight bytes are read.
        unsafe { libc::syscall(libc::SYS_write, bell, &raw const one, size_of::<u64>()) };
    }

    /// Closes both descriptors in the child of a fork: they belong to the parent's waits.
    ///
    /// # Safety
    /// No other thread of this process uses this value.
    pub unsafe fn forget(&self) {
        for own in [&self.list, &self.bell] {
            let fd = own.swap(0, Ordering::Relaxed) - 1;
            if fd >= 0 {
                close(fd);
            }
        }
    }
}

fn close(fd: c_int) {
    // SAFETY: the descriptor is the caller's, who does not use it afterwards.
    unsafe { libc::syscall(libc::SYS_close, fd) };
}

/// Takes the events that are there.
fn look(list: c_int, events: &mut [Event; MOST]) -> Result<usize, Errno> {
    let (none, no_bytes): (*mut c_void, usize) = (ptr::null_mut(), 0);
    // SAFETY: there is room for this many events.
    let found = unsafe {
        let at = events.as_mut_ptr();
        libc::syscall(libc::SYS_epoll_pwait, list, at, MOST as c_int, 0, none, no_bytes)
    };
    done(found)
}

/// Waits with a limit in nanoseconds: by epoll_pwait2 (Linux 5.11), or, where it is missing, by
/// ppoll for the list itself.
fn wait_precisely(
    list: c_int,
    limit: Duration,
    events: &mut [Event; MOST],
) -> Result<usize, Errno> {
    let (none, no_bytes): (*mut c_void, usize) = (ptr::null_mut(), 0);
    let mut limit = time::timespec(limit);
    // SAFETY: there is room for this many events; the limit is a timespec.
    let found = done(unsafe {
        let (at, most) = (events.as_mut_ptr(), MOST as c_int);
        libc::syscall(libc::SYS_epoll_pwait2, list, at, most, &raw const limit, none, no_bytes)
    });
    match found {
        Err(Errno(libc::EINTR)) => Ok(0),
        Err(_) => {
            let mut entry = libc::pollfd { fd: list, events: libc::POLLIN, revents: 0 };
            // SAFETY: one entry; the kernel may change the limit.
            unsafe {
                let (entry, limit) = (&raw mut entry, &raw mut limit);
                libc::syscall(libc::SYS_ppoll, entry, 1, limit, none, mem::size_of::<u64>())
            };
            look(list, events)
        }
        Ok(found) => Ok(found),
    }
}
