//! Writes text to a descriptor through a buffer on the stack: without allocation, without stdio's
//! lock, and a short text in one write.
//!
//! A write to stderr blocks while its terminal is stopped (^S), or its pipe full. That is right for
//! a thread of the program. But nobody waits for the line of `SCHED_STATS=live` ([`show_line`]),
//! and the watching thread ([`hurry`]) has other duties. They write to another open file
//! description of the same terminal or pipe, which was opened with O_NONBLOCK; setting that flag
//! for descriptor 2 would set it for all processes that share its description.

use crate::sys::errno;
use crate::sys::errno::Errno;
use crate::sys::memory;
use std::ffi::c_int;
use std::fmt::{self, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

/// The time to wait for a descriptor that accepts nothing, such as a pipe that nobody reads.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Patience {
    Second,
    /// No wait: the descriptor accepted nothing the last time.
    None,
}

/// Writes the whole text, in one write(2) if the system accepts all of it at once.
pub fn write_all(fd: c_int, text: &[u8], patience: Patience) -> Result<(), Errno> {
    write_parts(fd, text, patience, |rest, _| {
        // SAFETY: `rest` is a valid buffer of the given length.
        unsafe { libc::write(fd, rest.as_ptr().cast(), rest.len()) }
    })
}

/// Like `write_all`, at the offset `at` of a seekable file.
pub fn write_all_at(fd: c_int, text: &[u8], at: u64) -> Result<(), Errno> {
    write_parts(fd, text, Patience::Second, |rest, done| {
        let at = at + done as u64;
        // SAFETY: `rest` is a valid buffer of the given length.
        unsafe { libc::pwrite(fd, rest.as_ptr().cast(), rest.len(), at as libc::off_t) }
    })
}

/// `write` gets the rest of the text, and the number of bytes written so far.
fn write_parts(
    fd: c_int,
    text: &[u8],
    patience: Patience,
    write: impl Fn(&[u8], usize) -> isize,
) -> Result<(), Errno> {
    let mut done = 0;
    while done < text.len() {
        match usize::try_from(write(&text[done..], done)) {
            Ok(0) => return Err(Errno(libc::EIO)),
            Ok(n) => done += n,
            Err(_) => match errno::get() {
                libc::EINTR => {}
                libc::EAGAIN if may_take_more(fd, patience) => {}
                error => return Err(Errno(error)),
            },
        }
    }
    Ok(())
}

/// Waits until the descriptor accepts more or a signal arrives. False if the time limit came first.
fn may_take_more(fd: c_int, patience: Patience) -> bool {
    let n = poll(fd, if patience == Patience::Second { 1000 } else { 0 });
    n > 0 || (n < 0 && errno::get() == libc::EINTR)
}

fn poll(fd: c_int, milliseconds: c_int) -> c_int {
    let mut one = libc::pollfd { fd, events: libc::POLLOUT, revents: 0 };
    // SAFETY: the list has one element.
    unsafe { libc::poll(&raw mut one, 1, milliseconds) }
}

/// A non-blocking open file description of stderr, if stderr is a terminal or a pipe.
fn unblocking() -> Option<OwnedFd> {
    let mut status = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: `status` is a place for the result, which was written if the call succeeds; the path
    // ends with a zero byte, and nobody else has the new descriptor.
    unsafe {
        let is_open = libc::fstat(2, status.as_mut_ptr()) == 0;
        let kind = if is_open { status.assume_init().st_mode & libc::S_IFMT } else { 0 };
        if !matches!(kind, libc::S_IFCHR | libc::S_IFIFO) {
            return None;
        }
        let how = libc::O_WRONLY | libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_CLOEXEC;
        let fd = libc::open(c"/proc/self/fd/2".as_ptr(), how);
        (fd >= 0).then(|| OwnedFd::from_raw_fd(fd))
    }
}

/// Writes what stderr accepts at once, and returns that number of bytes. (Without /proc, or for
/// another user's terminal, the write could block if the terminal is stopped at this moment.)
fn write_now(text: &[u8]) -> Result<usize, Errno> {
    let other = unblocking();
    if other.is_none() && poll(2, 0) == 0 {
        return Ok(0);
    }
    let fd = other.as_ref().map_or(2, AsRawFd::as_raw_fd);
    // SAFETY: `text` is a valid buffer of the given length.
    let n = unsafe { libc::write(fd, text.as_ptr().cast(), text.len()) };
    usize::try_from(n).or_else(|_| match errno::get() {
        libc::EAGAIN | libc::EINTR => Ok(0),
        error => Err(Errno(error)),
    })
}

/// The number of the thread that has called `hurry`; 0: none.
#[unsafe(link_section = "sched_words")]
static HURRIED: AtomicI32 = AtomicI32::new(0);
#[unsafe(link_section = "sched_words")]
static IS_URGENT: OnceLock<fn() -> bool> = OnceLock::new();

/// Makes the calling thread give up a text that stderr does not accept once `is_urgent` is true.
pub fn hurry(is_urgent: fn() -> bool) {
    let _ = IS_URGENT.set(is_urgent);
    // SAFETY: the call takes nothing.
    HURRIED.store(unsafe { libc::gettid() }, Ordering::Relaxed);
}

/// Writes to stderr. An error cannot be reported anywhere.
fn write_to_stderr(mut text: &[u8]) {
    /// The time between two calls of `is_urgent`.
    const LOOK_MS: c_int = 20;
    let hurried = HURRIED.load(Ordering::Relaxed);
    // SAFETY: the call takes nothing.
    if hurried == 0 || hurried != unsafe { libc::gettid() } {
        let _ = write_all(2, text, Patience::Second);
        return;
    }
    while let Ok(n) = write_now(text) {
        text = &text[n..];
        if text.is_empty() || IS_URGENT.get().is_some_and(|is_urgent| is_urgent()) {
            break;
        }
        poll(2, LOOK_MS);
    }
}

/// Moves the cursor of a terminal to the left edge, and erases what is to its right.
const ERASE: &str = "\r\x1b[K";
const ERASE_REST: &str = "\x1b[K";

/// True while stderr, a terminal, shows a line of `show_line`. Relaxed: the line is for people, and
/// concurrent output of another thread garbles it anyway.
#[unsafe(link_section = "sched_words")]
static HAS_LINE: AtomicBool = AtomicBool::new(false);

/// Shows a line on stderr, in place of the line shown already. The cursor stays behind it. If the
/// terminal accepts nothing, it shows nothing.
pub fn show_line(line: &str) {
    let parts = ["\r", line, ERASE_REST].map(str::as_bytes);
    if let Ok(text) = memory::list(parts.into_iter().flatten().copied()) {
        let _ = write_now(&text);
        HAS_LINE.store(true, Ordering::Relaxed);
    }
}

/// Erases the line of `show_line`, if it is shown and the terminal accepts that at once.
pub fn clear_line() {
    if HAS_LINE.load(Ordering::Relaxed) && HAS_LINE.swap(false, Ordering::Relaxed) {
        let _ = write_now(ERASE.as_bytes());
    }
}

/// Like `clear_line`, but waits for the terminal. Called before a text.
pub fn clear_line_for_text() {
    if HAS_LINE.load(Ordering::Relaxed) && HAS_LINE.swap(false, Ordering::Relaxed) {
        write_to_stderr(ERASE.as_bytes());
    }
}

/// Called in the child of a fork: the line is the parent's.
pub fn forget_line() {
    HAS_LINE.store(false, Ordering::Relaxed);
}

pub struct Out {
    len: usize,
    buffer: [u8; 512],
}

impl Out {
    pub fn stderr() -> Self {
        Out { len: 0, buffer: [0; 512] }
    }

    #[inline(never)] // for the size of the library, here and below
    pub fn flush(&mut self) {
        if self.len > 0 {
            clear_line_for_text();
            write_to_stderr(&self.buffer[..self.len]);
        }
        self.len = 0;
    }
}

impl Write for Out {
    #[inline(never)]
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

pub fn say(what: fmt::Arguments) {
    let mut out = Out::stderr();
    let _ = writeln!(out, "libsched: {what}");
}

/// Adds the name of the program's function that has called the library, if it is known.
pub fn add_caller(out: &mut Out) {
    let _ = write!(out, "{}", crate::sys::symbol::Caller);
}

/// Like `die`, for an error in a call from the program: the line also names the calling function.
#[cold]
pub fn die_in_call(cause: fmt::Arguments) -> ! {
    die(format_args!("{cause}{}", crate::sys::symbol::Caller))
}

/// Writes a line to stderr and aborts the process.
pub fn die(cause: fmt::Arguments) -> ! {
    say(cause);
    // SAFETY: abort takes nothing and does not return.
    unsafe { libc::abort() }
}
