//! The file of `SCHED_TRACE`. All runs of a process go into one file: a JSON array, whose closing
//! bracket is overwritten by the events of the next run. So the file is complete after each run.
//!
//! The first run of a process that names the file empties it. In the child of a fork the file is
//! another one, with `.PID` in its name, since the parent goes on with its own. A file that cannot
//! be overwritten, such as a FIFO, gets an array for each run.
//!
//! A file whose name ends with `.gz` is compressed ([`super::gzip`]). What is overwritten then is
//! all that follows the last full flush.

use super::gzip::{Gzip, Sum};
use crate::lock::mutex::Mutex;
use crate::stats::file::{self, File, Place, without_sigpipe};
use crate::sys::clock::nanos;
use crate::sys::errno::Errno;
use crate::sys::output::write_all;
use crate::sys::zlib::{Flush, Zlib};
use std::ffi::CStr;
use std::fmt::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicI32, Ordering};

/// What the runs of a process share.
struct Book {
    /// A hash of the path; 0: no file yet.
    file: u64,
    /// Where the closing bracket begins, in bytes of the file.
    end: u64,
    /// The checksum of the text before it, if the file is compressed.
    sum: Sum,
    runs: u64,
    /// How many arrows there are.
    flows: u64,
    /// The nanoseconds at which the time of the file begins.
    origin: u64,
}

impl Book {
    const fn new() -> Self {
        Book { file: 0, end: 0, sum: Sum::EMPTY, runs: 0, flows: 0, origin: 0 }
    }
}

#[unsafe(link_section = "sched_words")]
static BOOK: Mutex<Book> = Mutex::new(Book::new());

/// The process that has used the file first; 0: none yet. A child of fork has its parent's.
#[unsafe(link_section = "sched_words")]
static FIRST: AtomicI32 = AtomicI32::new(0);

/// In the child of a fork, the thread that was writing does not exist.
pub fn after_fork_in_child() {
    // SAFETY: a forked child has one thread.
    unsafe { BOOK.reset(Book::new()) };
}

/// What a run needs to know of the file.
pub struct Part<'a> {
    pub run: u64,
    pub flows: &'a mut u64,
    pub origin: u64,
}

pub struct Output {
    file: File,
    hash: u64,
    run: u64,
    /// What compresses the file, if its name asks for that.
    zlib: Option<Zlib>,
}

const VARIABLE: &str = "SCHED_TRACE";

impl Output {
    /// Called when a run begins: a file that cannot be written is an error.
    pub fn new(path: &CStr) -> Result<Output, Errno> {
        let zlib = if path.to_bytes().ends_with(GZ) { Some(Zlib::load()) } else { None };
        let zlib = zlib.transpose().inspect_err(|&error| file::tell(VARIABLE, path, error))?;
        BOOK.with(|book| {
            // SAFETY: getpid takes nothing.
            let process = unsafe { libc::getpid() };
            // Relaxed: only used under the lock, and in a child of fork
            let first = FIRST.load(Ordering::Relaxed);
            let file = if first != 0 && first != process {
                let name = name_in_child(path, process).ok_or(Errno(libc::ENOMEM))?;
                let name = CStr::from_bytes_with_nul(&name).unwrap_or(path);
                File::new(name, VARIABLE)?
            } else {
                FIRST.store(process, Ordering::Relaxed);
                File::new(path, VARIABLE)?
            };
            let hash = hash(file.path());
            if book.file != hash {
                let fd = file.open(Place::Anywhere)?;
                // SAFETY: the descriptor is open. A file without a length refuses, and needs none.
                unsafe { libc::ftruncate(fd.as_raw_fd(), 0) };
                *book = Book { file: hash, origin: nanos(), ..Book::new() };
            }
            book.runs += 1;
            Ok(Output { file, hash, run: book.runs, zlib })
        })
    }

    /// Called when the run has ended. `make` writes events, each with a comma and a new line before
    /// it.
    pub fn write(&self, make: impl FnOnce(&mut Stream, Part) -> fmt::Result) {
        let result = BOOK.with(|book| {
            let fd = self.file.open(Place::Anywhere)?;
            // SAFETY: the descriptor is open.
            let size = unsafe { libc::lseek(fd.as_raw_fd(), 0, libc::SEEK_END) };
            // Another run may have named another file meanwhile, or someone has emptied the file.
            let known = book.file == self.hash && book.end > 0 && size >= 0;
            let goes_on = known && size.cast_unsigned() >= book.end;
            let start = if goes_on { book.end } else { 0 };
            // SAFETY: as above; a file that cannot be positioned is written from where it is.
            unsafe { libc::lseek(fd.as_raw_fd(), start.cast_signed(), libc::SEEK_SET) };
            let before = goes_on.then_some(book.sum);
            let gzip = self.zlib.map(|zlib| Gzip::new(zlib, before)).transpose()?;
            let mut stream = Stream::new(fd, !goes_on, gzip)?;
            let part = Part { run: self.run, flows: &mut book.flows, origin: book.origin };
            without_sigpipe(|| {
                let made = make(&mut stream, part);
                stream.flush(Flush::All);
                let end = start + stream.written;
                let sum = stream.sum();
                let _ = made.and_then(|()| stream.write_str("\n]\n"));
                stream.flush(Flush::End);
                if stream.error.is_none() && size >= 0 && book.file == self.hash {
                    (book.end, book.sum) = (end, sum);
                }
                stream.error.map_or(Ok(()), Err)
            })
        });
        if let Err(error) = result {
            self.file.tell(error);
        }
    }
}

/// FNV-1a (G. Fowler, L. Noll and P. Vo, 1991).
fn hash(path: &[u8]) -> u64 {
    let start = 0xcbf2_9ce4_8422_2325_u64;
    path.iter().fold(start, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The end of the names of compressed files.
const GZ: &[u8] = b".gz";

/// The path with a full stop and the number of the process, before `.gz` if it ends with that.
/// None: no memory.
fn name_in_child(path: &CStr, process: libc::pid_t) -> Option<Vec<u8>> {
    let path = path.to_bytes();
    let (stem, end) = match path.strip_suffix(GZ) {
        Some(stem) => (stem, GZ),
        None => (path, &b""[..]),
    };
    let mut name = Vec::new();
    // "." and a number of at most 10 digits, and the zero byte
    name.try_reserve(path.len() + 12).ok()?;
    name.extend_from_slice(stem);
    write!(Bytes(&mut name), ".{process}").ok()?;
    name.extend_from_slice(end);
    name.push(0);
    Some(name)
}

struct Bytes<'a>(&'a mut Vec<u8>);

impl Write for Bytes<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.try_reserve(text.len()).map_err(|_| fmt::Error)?;
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

/// Text that goes to a file through a buffer. After an error nothing more is written.
pub struct Stream {
    fd: OwnedFd,
    gzip: Option<Gzip>,
    buffer: Vec<u8>,
    /// Bytes of the file.
    written: u64,
    error: Option<Errno>,
    /// The next event is the first of its array.
    is_first: bool,
}

const BUFFER: usize = 64 << 10;

impl Stream {
    fn new(fd: OwnedFd, is_first: bool, gzip: Option<Gzip>) -> Result<Stream, Errno> {
        let mut buffer = Vec::new();
        buffer.try_reserve_exact(BUFFER).map_err(|_| Errno(libc::ENOMEM))?;
        Ok(Stream { fd, gzip, buffer, written: 0, error: None, is_first })
    }

    /// Writes what stands before an event.
    pub fn begin_event(&mut self) -> fmt::Result {
        let is_first = std::mem::take(&mut self.is_first);
        self.write_str(if is_first { "[\n" } else { ",\n" })
    }

    fn flush(&mut self, how: Flush) {
        let Stream { fd, gzip, buffer, written, error, .. } = self;
        let mut put = |bytes: &[u8]| {
            *written += bytes.len() as u64;
            write_all(fd.as_raw_fd(), bytes)
        };
        if error.is_none() {
            *error = match gzip {
                Some(gzip) => gzip.add(buffer, how, put),
                None => put(buffer),
            }
            .err();
        }
        buffer.clear();
    }

    /// The checksum of the file's text so far.
    fn sum(&self) -> Sum {
        self.gzip.as_ref().map_or(Sum::EMPTY, Gzip::sum)
    }
}

impl Write for Stream {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for part in text.as_bytes().chunks(BUFFER) {
            if self.buffer.len() + part.len() > BUFFER {
                self.flush(Flush::Nothing);
            }
            self.buffer.extend_from_slice(part); // within the capacity that `new` has reserved
        }
        if self.error.is_none() { Ok(()) } else { Err(fmt::Error) }
    }
}
