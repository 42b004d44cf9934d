//! Text to a descriptor through a buffer on the stack: no allocation, no stdio lock, and a short
//! text leaves in one write.

use crate::sys::errno;
use crate::sys::errno::Errno;
use std::ffi::c_int;
use std::fmt::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// How long to wait for a descriptor that accepts nothing, such as a pipe that nobody reads.
const PATIENCE_MS: c_int = 1000;

/// Writes the whole text, in one write(2) if the system accepts all of it at once.
pub fn write_all(fd: c_int, mut rest: &[u8]) -> Result<(), Errno> {
    while !rest.is_empty() {
        // SAFETY: `rest` is a valid buffer of the given length.
        let n = unsafe { libc::write(fd, rest.as_ptr().cast(), rest.len()) };
        match usize::try_from(n) {
            Ok(0) => return Err(Errno(libc::EIO)),
            Ok(n) => rest = &rest[n..],
            Err(_) => match errno::get() {
                libc::EINTR => {}
                libc::EAGAIN if may_take_more(fd) => {}
                error => return Err(Errno(error)),
            },
        }
    }
    Ok(())
}

/// Waits until the descriptor accepts more or a signal arrives; false if neither happens within
/// `PATIENCE_MS`.
fn may_take_more(fd: c_int) -> bool {
    let mut one = libc::pollfd { fd, events: libc::POLLOUT, revents: 0 };
    // SAFETY: the list has one element.
    let n = unsafe { libc::poll(&raw mut one, 1, PATIENCE_MS) };
    n > 0 || (n < 0 && errno::get() == libc::EINTR)
}

/// Tells a terminal to erase what is to the right of the cursor.
const ERASE_REST: &str = "\x1b[K";

/// True while stderr, a terminal, shows a line of `show_line`.
#[unsafe(link_section = "sched_words")]
static HAS_LINE: AtomicBool = AtomicBool::new(false);

/// Shows a line on stderr, in place of the one that it shows already. The cursor stays behind it.
pub fn show_line(line: fmt::Arguments) {
    let mut out = Out::stderr();
    HAS_LINE.store(false, Ordering::Relaxed); // so that `flush` does not clear it first
    let _ = write!(out, "\r{line}{ERASE_REST}");
    out.flush();
    HAS_LINE.store(true, Ordering::Relaxed);
}

/// Erases the line of `show_line`, if there is one. Relaxed: the line is for people, and whoever
/// writes a line at the same time from another thread mixes the two anyway.
pub fn clear_line() {
    if HAS_LINE.load(Ordering::Relaxed) && HAS_LINE.swap(false, Ordering::Relaxed) {
        // An error cannot be reported anywhere.
        let _ = write_all(2, b"\r").and_then(|()| write_all(2, ERASE_REST.as_bytes()));
    }
}

/// In the child of a fork: the line is the parent's.
pub fn forget_line() {
    HAS_LINE.store(false, Ordering::Relaxed);
}

pub struct Out {
    fd: c_int,
    len: usize,
    buffer: [u8; 512],
}

impl Out {
    pub fn new(fd: c_int) -> Self {
        Out { fd, len: 0, buffer: [0; 512] }
    }

    pub fn stderr() -> Self {
        Out::new(2)
    }

    pub fn flush(&mut self) {
        if self.fd == 2 && self.len > 0 {
            clear_line();
        }
        // An error cannot be reported anywhere.
        let _ = write_all(self.fd, &self.buffer[..self.len]);
        self.len = 0;
    }
}

impl Write for Out {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for &byte in text.as_bytes() {
            if self.len == self.buffer.len() {
                self.flush();
            }
            self.buffer[self.len] = byte;
            self.len += 1;
        }
        Ok(())
    }
}

impl Drop for Out {
    fn drop(&mut self) {
        self.flush();
    }
}

/// Writes a line to stderr.
pub fn say(what: fmt::Arguments) {
    let mut out = Out::stderr();
    let _ = writeln!(out, "libsched: {what}");
}

/// Adds the name of the program's function that has called the library, if it is known.
pub fn add_caller(out: &mut Out) {
    #[cfg(not(loom))]
    let _ = write!(out, "{}", crate::sys::symbol::Caller);
    #[cfg(loom)]
    let _ = out;
}

/// Like `die`, for an error in a call from the program: the line also names the calling function.
#[cold]
pub fn die_in_call(cause: fmt::Arguments) -> ! {
    #[cfg(not(loom))]
    die(format_args!("{cause}{}", crate::sys::symbol::Caller));
    #[cfg(loom)]
    die(cause)
}

/// Writes a line to stderr and aborts the process.
pub fn die(cause: fmt::Arguments) -> ! {
    say(cause);
    // SAFETY: abort takes nothing and does not return.
    unsafe { libc::abort() }
}
