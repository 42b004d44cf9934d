//! A file that `SCHED_STATS_FILE` or `SCHED_TRACE` names.
//!
//! A file that cannot be written leads to a line on stderr, and never to the failure of a run: a
//! variable that shows something does not break what works without it. The file is opened for a
//! moment when the run begins, so that the line comes early. It does not stay open: a task that
//! calls closefrom(3) could close the descriptor, and its number could then belong to a file of the
//! program's. A FIFO is opened only when there is text: otherwise its reader, such as cat(1), would
//! take the close after the check for the end of the text.
//!
//! A relative path is resolved once: when the first run begins for which the variable has that
//! value ([`Named`]). A daemon that changes its working directory still has one file.
//!
//! Statistics are appended by one write(2), so that the texts of several processes do not mix.
//!
//! No reader delays the library without limit. With O_NONBLOCK, opening a FIFO that nobody reads is
//! an error; a reader that reads too little is given up after a second ([`write_all`]).
//!
//! A name that the user has chosen may be a symbolic link. A name that the library invents
//! ([`File::renamed`]) may not: in a directory that others can write to, somebody may have guessed
//! the name and planted a link to a file of the user's (CWE-59).

use crate::settings::Shown;
use crate::sys::errno::{self, Errno};
use crate::sys::memory::{self, NoMemory};
use crate::sys::output::{Out, Patience, write_all};
use std::ffi::{CStr, c_int};
use std::fmt::Write;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering};

/// A value of a variable, and the file for which it stands as long as the process lives.
struct Named {
    variable: &'static str,
    /// Ends with a zero byte, as `path` does.
    value: Vec<u8>,
    /// Absolute.
    path: Vec<u8>,
    /// The last error that was reported; 0: none since the file was last written.
    told: AtomicI32,
    /// The `Named` that was made before this one; null: none.
    next: *const Named,
}

/// The youngest `Named`. All are freed when the library is unloaded. (The list has no lock, since
/// the child of a fork also uses it.)
#[unsafe(link_section = "sched_words")]
static ALL: AtomicPtr<Named> = AtomicPtr::new(ptr::null_mut());

impl Named {
    fn find(variable: &'static str, value: &CStr) -> Result<&'static Named, Errno> {
        let mut next = ALL.load(Ordering::Acquire).cast_const(); // pairs with the exchange below
        // SAFETY: `next` is null or in the list.
        while let Some(named) = unsafe { next.as_ref() } {
            if named.variable == variable && named.value == value.to_bytes_with_nul() {
                return Ok(named);
            }
            next = named.next;
        }
        let path = absolute(value)?;
        let value = memory::list(value.to_bytes_with_nul().iter().copied())?;
        let next = ALL.load(Ordering::Acquire);
        let named = Named { variable, value, path, told: AtomicI32::new(0), next };
        let named = Box::into_raw(memory::boxed(named)?);
        loop {
            // SAFETY: `named` is not null, and not in the list yet.
            let next = unsafe { (*named).next }.cast_mut();
            // Release: a thread that finds it in the list sees its fields. (If two threads add the
            // same value at once, the list has it twice.)
            match ALL.compare_exchange(next, named, Ordering::AcqRel, Ordering::Acquire) {
                // SAFETY: `named` is in the list from now on.
                Ok(_) => return Ok(unsafe { &*named }),
                // SAFETY: `named` is not in the list yet.
                Err(now) => unsafe { (*named).next = now },
            }
        }
    }

    /// Reports an error on stderr, but not the same one again before the file was written.
    fn tell(&self, path: &[u8], error: Errno) {
        if self.told.swap(error.0, Ordering::Relaxed) != error.0 {
            if let Ok(path) = CStr::from_bytes_with_nul(path) {
                tell(self.variable, path, error);
            }
        }
    }
}

/// Reports an error like [`File::tell`], where there may be no `File`.
pub fn tell_once(variable: &'static str, path: &CStr, error: Errno) {
    match Named::find(variable, path) {
        Ok(named) => named.tell(&named.path, error),
        Err(_) => tell(variable, path, error),
    }
}

/// The library is unloaded, and has no run.
pub fn unload() {
    let mut next = ALL.swap(ptr::null_mut(), Ordering::Acquire);
    while !next.is_null() {
        // SAFETY: `next` came from a box, and nobody uses it any more.
        next = unsafe { Box::from_raw(next) }.next.cast_mut();
    }
}

/// The absolute path, from the working directory if it is relative, with a zero byte.
fn absolute(path: &CStr) -> Result<Vec<u8>, Errno> {
    let mut all = Vec::new();
    if !path.to_bytes().starts_with(b"/") {
        const MOST: usize = libc::PATH_MAX as usize;
        all.try_reserve_exact(MOST).map_err(|_| NoMemory)?;
        all.resize(MOST, 0);
        // SAFETY: `all` has room for `MOST` bytes.
        if unsafe { libc::getcwd(all.as_mut_ptr().cast(), MOST) }.is_null() {
            return Err(Errno(errno::get()));
        }
        let end = all.iter().position(|&byte| byte == 0).unwrap_or(MOST);
        all.truncate(end);
        all.push(b'/'); // there is room: this replaces getcwd's zero byte
    }
    all.try_reserve_exact(path.count_bytes() + 1).map_err(|_| NoMemory)?;
    all.extend_from_slice(path.to_bytes_with_nul());
    Ok(all)
}

pub struct File {
    named: &'static Named,
    /// The path that the library has invented in place of the named one, with a zero byte.
    own: Option<Vec<u8>>,
    /// The type of the named file; 0: the file does not exist yet.
    kind: libc::mode_t,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// After everything that the file contains.
    End,
    /// At the position that the writer names, if the file can seek.
    Anywhere,
}

impl File {
    /// Does not open the file.
    pub fn new(path: &CStr, variable: &'static str) -> Result<File, Errno> {
        let named = Named::find(variable, path)?;
        let mut status = MaybeUninit::<libc::stat>::uninit();
        // SAFETY: the path ends with a zero byte, and `status` is a place for the result, which was
        // written if the call succeeds.
        let kind = unsafe {
            let known = libc::stat(named.path.as_ptr().cast(), status.as_mut_ptr()) == 0;
            if known { status.assume_init().st_mode & libc::S_IFMT } else { 0 }
        };
        Ok(File { named, own: None, kind })
    }

    /// The file whose path `rename` makes from this file's path. `rename` adds a zero byte, and
    /// returns None if there is no memory.
    pub fn renamed(self, rename: impl Fn(&[u8]) -> Option<Vec<u8>>) -> Result<File, Errno> {
        Ok(File { own: Some(rename(self.path()).ok_or(NoMemory)?), kind: libc::S_IFREG, ..self })
    }

    pub fn path(&self) -> &[u8] {
        let path = self.own.as_ref().unwrap_or(&self.named.path);
        path.strip_suffix(&[0]).unwrap_or(path)
    }

    pub fn is_fifo(&self) -> bool {
        self.kind == libc::S_IFIFO
    }

    pub fn is_device(&self) -> bool {
        self.kind == libc::S_IFCHR
    }

    /// Checks that the file can be written, and creates a missing file. Does not open a FIFO.
    pub fn check(&self) -> Result<(), Errno> {
        if self.is_fifo() { Ok(()) } else { self.open(Place::End).map(drop) }
    }

    pub fn open(&self, place: Place) -> Result<OwnedFd, Errno> {
        let how = if place == Place::End { libc::O_APPEND } else { 0 };
        match &self.own {
            None => open(&self.named.path, how | libc::O_CREAT),
            Some(own) => open_own(own, how),
        }
    }

    /// The calling thread must not be cancelled during the call.
    pub fn append(&self, text: &[u8]) -> Result<(), Errno> {
        let fd = self.open(Place::End)?;
        without_signals(|| write_all(fd.as_raw_fd(), text, self.patience()))?;
        self.was_written();
        Ok(())
    }

    pub fn tell(&self, error: Errno) {
        self.named.tell(self.own.as_ref().unwrap_or(&self.named.path), error);
    }

    /// How long to wait for a reader: not at all if it has read nothing the last time.
    pub fn patience(&self) -> Patience {
        match self.named.told.load(Ordering::Relaxed) {
            libc::EAGAIN => Patience::None,
            _ => Patience::Second,
        }
    }

    pub fn was_written(&self) {
        self.named.told.store(0, Ordering::Relaxed);
    }
}

/// Opens a file whose name the library has invented: a new file, or a regular file of this user's
/// that has no other link. This process has made it, or an earlier process with the same number.
fn open_own(path: &[u8], how: c_int) -> Result<OwnedFd, Errno> {
    let how = how | libc::O_NOFOLLOW;
    let made = open(path, how | libc::O_CREAT | libc::O_EXCL);
    if !matches!(made, Err(Errno(libc::EEXIST))) {
        return made;
    }
    let fd = open(path, how)?;
    let status = status_of(&fd)?;
    // SAFETY: getauxval takes a number.
    let user = unsafe { libc::getauxval(libc::AT_EUID) };
    let is_ours = u64::from(status.st_uid) == user && status.st_nlink == 1;
    let is_regular = status.st_mode & libc::S_IFMT == libc::S_IFREG;
    if is_ours && is_regular { Ok(fd) } else { Err(Errno(libc::EEXIST)) }
}

fn open(path: &[u8], how: c_int) -> Result<OwnedFd, Errno> {
    let how = how | libc::O_WRONLY | libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_CLOEXEC;
    let fd = loop {
        // SAFETY: the path ends with a zero byte.
        let fd = unsafe { libc::open(path.as_ptr().cast(), how, 0o666) };
        if fd >= 0 || errno::get() != libc::EINTR {
            break fd;
        }
    };
    if fd < 0 {
        return Err(Errno(errno::get()));
    }
    // SAFETY: the descriptor was opened just now, and nobody else has it.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    if is_appendable(status_of(&fd)?.st_mode) { Ok(fd) } else { Err(Errno(libc::EINVAL)) }
}

fn status_of(fd: &OwnedFd) -> Result<libc::stat, Errno> {
    let mut status = MaybeUninit::uninit();
    // SAFETY: `status` is a place for the result, which is written if the call succeeds.
    unsafe {
        match libc::fstat(fd.as_raw_fd(), status.as_mut_ptr()) {
            0 => Ok(status.assume_init()),
            _ => Err(Errno(errno::get())),
        }
    }
}

/// True for regular files, FIFOs and character devices; false for block devices.
fn is_appendable(mode: libc::mode_t) -> bool {
    matches!(mode & libc::S_IFMT, libc::S_IFREG | libc::S_IFIFO | libc::S_IFCHR)
}

fn tell(variable: &str, path: &CStr, error: Errno) {
    let mut out = Out::stderr();
    let _ = write!(out, "libsched: {variable}={}: ", Shown(path));
    let _ = match error.0 {
        libc::EINVAL => writeln!(out, "neither a file, nor a FIFO, nor a character device"),
        libc::ENXIO => writeln!(out, "a FIFO that nobody reads, or a socket"),
        libc::EAGAIN => writeln!(out, "its reader does not read"),
        libc::EEXIST | libc::ELOOP => {
            writeln!(out, "a link or another's file, where the child of a fork makes a new file")
        }
        libc::ELIBACC => writeln!(out, "libz.so.1, which would compress it, cannot be loaded"),
        // SAFETY: strerror returns a text that ends with a zero byte for any number.
        error => writeln!(out, "{}", Shown(unsafe { CStr::from_ptr(libc::strerror(error)) })),
    };
}

/// Calls `f`. If `f` fails, removes the signal that its write has raised: SIGPIPE with EPIPE,
/// SIGXFSZ with EFBIG. The loss of a FIFO's reader, or the limit of a file's size, is an error to
/// report, and does not end the program. A signal that another process has sent stays pending: the
/// kernel first takes the signal that the calling thread has raised. The calling thread must not be
/// cancelled during the call.
pub fn without_signals(f: impl FnOnce() -> Result<(), Errno>) -> Result<(), Errno> {
    // SAFETY: each pointer is to a set that is initialised before it is read; no call fails.
    unsafe {
        let [mut raised, mut old, mut pending] = [std::mem::zeroed::<libc::sigset_t>(); 3];
        libc::sigemptyset(&raw mut raised);
        libc::sigaddset(&raw mut raised, libc::SIGPIPE);
        libc::sigaddset(&raw mut raised, libc::SIGXFSZ);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const raised, &raw mut old);
        libc::sigpending(&raw mut pending);
        let result = f();
        let signal = match result {
            Err(Errno(libc::EPIPE)) => Some(libc::SIGPIPE),
            Err(Errno(libc::EFBIG)) => Some(libc::SIGXFSZ),
            _ => None,
        };
        let is_new = |&signal: &c_int| libc::sigismember(&raw const pending, signal) == 0;
        if let Some(signal) = signal.filter(is_new) {
            libc::sigemptyset(&raw mut raised);
            libc::sigaddset(&raw mut raised, signal);
            let at_once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            let take =
                || libc::sigtimedwait(&raw const raised, ptr::null_mut(), &raw const at_once);
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
