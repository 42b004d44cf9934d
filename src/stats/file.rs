//! A file that a variable names: that of `SCHED_STATS_FILE`, or of `SCHED_TRACE`.
//!
//! The file is opened when the run begins, so that a file that cannot be written is an error of
//! `sched_init`. It is closed at once: a task that calls closefrom(3) could close a descriptor that
//! stayed open, and its number could then belong to a file of the program's. At the run's end the
//! file is opened again by its absolute path, since a task may change the working directory or the
//! environment.
//!
//! Statistics are appended by one write(2), so that the texts of several processes do not
//! interleave in one file.
//!
//! No reader delays the library without limit. With O_NONBLOCK, opening a FIFO that nobody reads is
//! an error; a reader that reads too little is given up after a second ([`write_all`]).

use crate::settings::Shown;
use crate::sys::errno;
use crate::sys::errno::Errno;
use crate::sys::output::{Out, write_all};
use std::ffi::CStr;
use std::fmt::Write;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr;

const NO_MEMORY: Errno = Errno(libc::ENOMEM);

pub struct File {
    /// Absolute; ends with a zero byte.
    path: Vec<u8>,
    /// The variable that names the file.
    variable: &'static str,
}

/// Where a text goes in a file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Behind all that the file contains.
    End,
    /// Where the writer says, if the file is a regular one.
    Anywhere,
}

impl File {
    /// Checks that the file can be written, and creates it if it does not exist. An error is
    /// reported on stderr.
    pub fn new(path: &CStr, variable: &'static str) -> Result<File, Errno> {
        let file = File::absolute(path, variable);
        let file = file.and_then(|file| file.open(Place::End).map(|_| file));
        file.inspect_err(|&error| tell(variable, path, error))
    }

    fn absolute(path: &CStr, variable: &'static str) -> Result<File, Errno> {
        let mut all = Vec::new();
        if !path.to_bytes().starts_with(b"/") {
            const MOST: usize = libc::PATH_MAX as usize;
            all.try_reserve_exact(MOST).map_err(|_| NO_MEMORY)?;
            all.resize(MOST, 0);
            // SAFETY: `all` has room for `MOST` bytes.
            if unsafe { libc::getcwd(all.as_mut_ptr().cast(), MOST) }.is_null() {
                return Err(Errno(errno::get()));
            }
            let end = all.iter().position(|&byte| byte == 0).unwrap_or(MOST);
            all.truncate(end);
            all.push(b'/'); // there is room: this replaces getcwd's zero byte
        }
        all.try_reserve_exact(path.count_bytes() + 1).map_err(|_| NO_MEMORY)?;
        all.extend_from_slice(path.to_bytes_with_nul());
        Ok(File { path: all, variable })
    }

    /// The absolute path.
    pub fn path(&self) -> &[u8] {
        &self.path
    }

    pub fn open(&self, place: Place) -> Result<OwnedFd, Errno> {
        let append = if place == Place::End { libc::O_APPEND } else { 0 };
        let how = libc::O_WRONLY | append | libc::O_CREAT;
        let how = how | libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_CLOEXEC;
        let fd = loop {
            // SAFETY: the path ends with a zero byte.
            let fd = unsafe { libc::open(self.path.as_ptr().cast(), how, 0o666) };
            if fd >= 0 || errno::get() != libc::EINTR {
                break fd;
            }
        };
        if fd < 0 {
            return Err(Errno(errno::get()));
        }
        // SAFETY: the descriptor was opened just now, and nobody else has it.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        let mut status = MaybeUninit::<libc::stat>::uninit();
        // SAFETY: `status` is a place for the result.
        if unsafe { libc::fstat(fd.as_raw_fd(), status.as_mut_ptr()) } != 0 {
            return Err(Errno(errno::get()));
        }
        // SAFETY: fstat has succeeded and written `status`.
        let mode = unsafe { status.assume_init() }.st_mode;
        if is_appendable(mode) { Ok(fd) } else { Err(Errno(libc::EINVAL)) }
    }

    /// The calling thread must not be cancelled meanwhile.
    pub fn append(&self, text: &[u8]) -> Result<(), Errno> {
        let fd = self.open(Place::End)?;
        without_sigpipe(|| write_all(fd.as_raw_fd(), text))
    }

    /// Reports an error on stderr.
    pub fn tell(&self, error: Errno) {
        if let Ok(path) = CStr::from_bytes_with_nul(&self.path) {
            tell(self.variable, path, error);
        }
    }
}

/// True for regular files, FIFOs and character devices; false for block devices.
fn is_appendable(mode: libc::mode_t) -> bool {
    matches!(mode & libc::S_IFMT, libc::S_IFREG | libc::S_IFIFO | libc::S_IFCHR)
}

/// Reports on stderr that the file which a variable names cannot be written.
pub fn tell(variable: &str, path: &CStr, error: Errno) {
    let mut out = Out::stderr();
    let _ = write!(out, "libsched: {variable}={}: ", Shown(path));
    let _ = match error.0 {
        libc::EINVAL => writeln!(out, "neither a file, nor a FIFO, nor a character device"),
        libc::ENXIO => writeln!(out, "a FIFO that nobody reads, or a socket"),
        libc::EAGAIN => writeln!(out, "its reader does not read"),
        libc::ELIBACC => writeln!(out, "libz.so.1, which would compress it, cannot be loaded"),
        // SAFETY: strerror returns a text that ends with a zero byte for any number.
        error => writeln!(out, "{}", Shown(unsafe { CStr::from_ptr(libc::strerror(error)) })),
    };
}

/// Calls `f`, and removes the SIGPIPE that a write in `f` has raised: the loss of a FIFO's reader
/// is an error to report, not the program's end. The calling thread must not be cancelled
/// meanwhile.
pub fn without_sigpipe<R>(f: impl FnOnce() -> R) -> R {
    // SAFETY: each pointer is to a set that is initialised before it is read, so these calls cannot
    // fail.
    unsafe {
        let [mut sigpipe, mut old, mut pending] = [std::mem::zeroed::<libc::sigset_t>(); 3];
        libc::sigemptyset(&raw mut sigpipe);
        libc::sigaddset(&raw mut sigpipe, libc::SIGPIPE);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const sigpipe, &raw mut old);
        libc::sigpending(&raw mut pending);
        let result = f();
        if libc::sigismember(&raw const pending, libc::SIGPIPE) == 0 {
            let at_once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            let take =
                || libc::sigtimedwait(&raw const sigpipe, ptr::null_mut(), &raw const at_once);
            while take() < 0 && errno::get() == libc::EINTR {}
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const old, ptr::null_mut());
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_device_is_not_appended_to() {
        for mode in [libc::S_IFREG, libc::S_IFIFO, libc::S_IFCHR] {
            assert!(is_appendable(mode | 0o644));
        }
        for mode in [libc::S_IFBLK, libc::S_IFDIR, libc::S_IFSOCK, libc::S_IFLNK] {
            assert!(!is_appendable(mode | 0o644));
        }
    }
}
