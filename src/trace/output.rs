//! The file of `SCHED_TRACE`. All runs of a process go into one file: a JSON array, whose closing
//! bracket is overwritten by the events of the next run. So the file is complete after each run.
//!
//! The first run of a process that names the file empties it. A child made by fork writes to a file
//! of its own, with `.PID` in its name, since the parent's runs continue in the parent's file. If
//! the file is a device, the child writes to the same device.
//!
//! A file whose name ends with `.gz` is compressed ([`super::gzip`]).
//!
//! # A process that ends in the middle
//!
//! The text of a run consists of chunks of whole events. One pwrite(2) writes a chunk:
//!
//! ```text
//! [ earlier runs | chunk 1 | chunk 2 | mark ]
//!                                    ^ at: chunk 3 will overwrite the mark and the bracket
//! ```
//! Behind each chunk but the last stand a *mark*, an event which says that the rest is missing, and
//! the closing bracket. So the file is an array of events at each moment between two writes, and
//! says whether it is complete. Handlers of signals let the thread that writes finish
//! (`threads::watcher`); the mark is for a full disk, and for signals without a handler. (SIGKILL
//! may also end a write after some pages; then the last line is incomplete.) The last chunk is
//! longer than the mark, so that it overwrites all of it.
//!
//! A file that cannot seek, such as a FIFO, gets an array for each run, without marks.
//!
//! Rejected: a temporary file and rename(2). The temporary file would replace the user's file,
//! which may have other permissions and links, and would have to contain all earlier runs again.

use super::gzip::{Gzip, Sum};
use crate::lock::mutex::Mutex;
use crate::stats::file::{File, Place, without_signals};
use crate::sys::clock::nanos;
use crate::sys::errno::Errno;
use crate::sys::memory::Text;
use crate::sys::output::{Patience, write_all, write_all_at};
use crate::sys::zlib::Zlib;
use std::ffi::CStr;
use std::fmt::{self, Write};
use std::mem;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicI32, Ordering};

/// The data that the runs of a process share.
struct Book {
    /// A hash of the path; 0: no file yet.
    file: u64,
    /// The position of the closing bracket, in bytes of the file.
    end: u64,
    /// The checksum of the text before `end`, if the file is compressed.
    sum: Sum,
    runs: u64,
    /// The number of arrows in the file.
    flows: u64,
    /// The time 0 of the file, in nanoseconds of `clock::nanos`.
    origin: u64,
}

impl Book {
    const fn new() -> Self {
        Book { file: 0, end: 0, sum: Sum::EMPTY, runs: 0, flows: 0, origin: 0 }
    }
}

#[unsafe(link_section = "sched_words")]
static BOOK: Mutex<Book> = Mutex::new(Book::new());

/// The process that used the file first; 0: none yet. A child of fork inherits its parent's value.
#[unsafe(link_section = "sched_words")]
static FIRST: AtomicI32 = AtomicI32::new(0);

/// Called in the child of a fork, in which the thread that was writing does not exist.
pub fn after_fork_in_child() {
    // SAFETY: a forked child has one thread.
    unsafe { BOOK.reset(Book::new()) };
}

pub struct Part<'a> {
    pub run: u64,
    pub flows: &'a mut u64,
    pub origin: u64,
}

pub struct Output {
    file: File,
    hash: u64,
    run: u64,
    /// The library that compresses the file, if its name ends with `.gz`.
    zlib: Option<Zlib>,
}

pub const VARIABLE: &str = "SCHED_TRACE";

const NO_MEMORY: Errno = Errno(libc::ENOMEM);

/// The end of the text of a file.
const END: &str = "\n]\n";

impl Output {
    /// Called when a run begins.
    pub fn new(path: &CStr) -> Result<Output, Errno> {
        let zlib = path.to_bytes().ends_with(GZ).then(Zlib::load).transpose()?;
        BOOK.with(|book| {
            // SAFETY: getpid takes nothing.
            let process = unsafe { libc::getpid() };
            // Relaxed: only used under the lock, and in a child of fork
            let first = FIRST.load(Ordering::Relaxed);
            let mut file = File::new(path, VARIABLE)?;
            if first == 0 {
                FIRST.store(process, Ordering::Relaxed);
            } else if first != process && !file.is_device() {
                file = file.renamed(|path| name_in_child(path, process))?;
            }
            let hash = hash(file.path());
            if book.file == hash {
                file.check().inspect_err(|&error| file.tell(error))?;
            } else {
                if !file.is_fifo() {
                    let fd = file.open(Place::Anywhere).inspect_err(|&error| file.tell(error))?;
                    // SAFETY: the descriptor is open. A device refuses, and needs none.
                    unsafe { libc::ftruncate(fd.as_raw_fd(), 0) };
                    let mark = Mark { run: 1, time: 0 };
                    Stream::new(fd, 0, None, zlib)?.marked_by(&mark)?.write_mark_alone();
                }
                *book = Book { file: hash, origin: nanos(), ..Book::new() };
            }
            book.runs += 1;
            Ok(Output { file, hash, run: book.runs, zlib })
        })
    }

    /// Called when the run has ended. `make` writes the events.
    pub fn write(&self, make: impl FnOnce(&mut Stream, Part) -> fmt::Result) {
        let result = BOOK.with(|book| {
            let fd = self.file.open(Place::Anywhere)?;
            // SAFETY: the descriptor is open.
            let size = unsafe { libc::lseek(fd.as_raw_fd(), 0, libc::SEEK_END) };
            // Another run may have named another file since then, or someone has emptied the file.
            let known = book.file == self.hash && book.end > 0 && size >= 0;
            let continues = known && size as u64 >= book.end;
            let start = if continues { book.end } else { 0 };
            let mark = Mark { run: self.run, time: nanos().saturating_sub(book.origin) };
            let stream = Stream::new(fd, start, continues.then_some(book.sum), self.zlib)?;
            let mut stream = stream.marked_by(&mark)?;
            stream.patience = self.file.patience();
            let part = Part { run: self.run, flows: &mut book.flows, origin: book.origin };
            without_signals(|| {
                let made = make(&mut stream, part);
                let error = stream.end(made);
                if book.file == self.hash && stream.has_positions {
                    (book.end, book.sum) = (stream.at, stream.sum());
                }
                error.map_or(Ok(()), Err)
            })
        });
        match result {
            Ok(()) => self.file.was_written(),
            Err(error) => self.file.tell(error),
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

/// The path with `.PID` (before `.gz`, if the path ends with it) and a zero byte. None means no
/// memory.
fn name_in_child(path: &[u8], process: libc::pid_t) -> Option<Vec<u8>> {
    let (stem, end) = match path.strip_suffix(GZ) {
        Some(stem) => (stem, GZ),
        None => (path, &b""[..]),
    };
    let mut name = Vec::new();
    // "." and a number of at most 10 digits, and the zero byte
    name.try_reserve(path.len() + 12).ok()?;
    name.extend_from_slice(stem);
    write!(Text(&mut name), ".{process}").ok()?;
    name.extend_from_slice(end);
    name.push(0);
    Some(name)
}

/// An event that stands where the rest of a run's text is missing.
struct Mark {
    run: u64,
    /// The nanoseconds since the origin of the file.
    time: u64,
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let (run, micros, nanos) = (self.run, self.time / 1000, self.time % 1000);
        write!(
            f,
            "{{\"ph\":\"i\",\"pid\":{run},\"tid\":0,\"ts\":{micros}.{nanos:03},\"s\":\"g\","
        )?;
        f.write_str("\"name\":\"cut here: the rest of this run was not written\"}")
    }
}

/// The text of a run, which goes to the file in chunks. After an error nothing more is written.
pub struct Stream {
    fd: OwnedFd,
    has_positions: bool,
    gzip: Option<Gzip>,
    /// The text that follows what was written.
    buffer: Vec<u8>,
    /// Offsets in `buffer` at which events begin. The text from `kept` on is at least as long as
    /// the mark, so the events before `kept` may be written as a chunk. `next` is its next value.
    kept: usize,
    next: usize,
    /// The position of the next chunk, in bytes of the file.
    at: u64,
    /// The text behind a chunk that is not the last: an event, and the closing bracket.
    mark: Vec<u8>,
    error: Option<Errno>,
    /// True if the next event is the first one of its array.
    is_first: bool,
    /// True if a chunk of this run is in the file.
    has_begun: bool,
    /// How long to wait for the reader of a FIFO.
    patience: Patience,
}

const CHUNK: usize = 64 << 10;

impl Stream {
    /// A stream that continues the file at `start`. `before` is the checksum of the text before
    /// `start`; None: the stream begins the array.
    fn new(
        fd: OwnedFd,
        start: u64,
        before: Option<Sum>,
        zlib: Option<Zlib>,
    ) -> Result<Stream, Errno> {
        let gzip = zlib.map(|zlib| Gzip::new(zlib, before)).transpose()?;
        // SAFETY: the descriptor is open.
        let has_positions = unsafe { libc::lseek(fd.as_raw_fd(), 0, libc::SEEK_CUR) } >= 0;
        let mut buffer = Vec::new();
        buffer.try_reserve(CHUNK + CHUNK / 4).map_err(|_| NO_MEMORY)?;
        Ok(Stream {
            fd,
            has_positions,
            gzip,
            buffer,
            kept: 0,
            next: 0,
            at: start,
            mark: Vec::new(),
            error: None,
            is_first: before.is_none(),
            has_begun: false,
            patience: Patience::Second,
        })
    }

    fn marked_by(mut self, mark: &Mark) -> Result<Stream, Errno> {
        let made = write!(Text(&mut self.mark), ",\n{mark}{END}");
        made.map(|()| self).map_err(|fmt::Error| NO_MEMORY)
    }

    /// Begins an event: writes the separator, and a chunk if enough events are there.
    pub fn begin_event(&mut self) -> fmt::Result {
        if self.buffer.len() - self.next >= self.mark.len() {
            (self.kept, self.next) = (self.next, self.buffer.len());
        }
        if self.kept >= CHUNK {
            self.write_chunk();
        }
        let is_first = mem::take(&mut self.is_first);
        self.write_str(if is_first { "[\n" } else { ",\n" })
    }

    /// Writes the events before `kept`, and the mark behind them.
    fn write_chunk(&mut self) {
        let (mut all, mark) = (mem::take(&mut self.buffer), mem::take(&mut self.mark));
        if self.error.is_none() {
            self.error = self.put(&all[..self.kept], self.has_positions.then_some(&mark[..])).err();
            self.has_begun |= self.error.is_none();
        }
        all.drain(..self.kept);
        self.next -= self.kept;
        (self.buffer, self.mark, self.kept) = (all, mark, 0);
    }

    /// Writes what is left, or marks the text as cut. Returns the error that has cut it.
    fn end(&mut self, made: fmt::Result) -> Option<Errno> {
        self.error = self.error.or(made.err().map(|fmt::Error| NO_MEMORY));
        if self.error.is_none() {
            let all = mem::take(&mut self.buffer);
            self.error = self.put(&all, Some(END.as_bytes())).err();
        }
        if self.error.is_some() && self.has_positions {
            self.cut();
        }
        self.error
    }

    /// Writes an array with nothing but the mark: no run has written anything yet.
    fn write_mark_alone(&mut self) {
        if self.has_positions {
            let mut mark = mem::take(&mut self.mark);
            mark[0] = b'[';
            let _ = self.put(b"", Some(&mark));
        }
    }

    /// Called when a chunk was written in part, or not at all: writes the mark in its place. The
    /// disk has room for it, because the previous mark stood there. The first chunk of a run has no
    /// previous mark; if the mark does not fit, the file becomes what it was before the run.
    fn cut(&mut self) {
        if !self.has_begun && self.at == 0 {
            return self.write_mark_alone();
        }
        let mark = mem::take(&mut self.mark);
        let event = mark.strip_suffix(END.as_bytes()).unwrap_or_default();
        let marked = self.put(event, Some(END.as_bytes()));
        let _ = marked.or_else(|_| self.put(b"", Some(END.as_bytes())));
    }

    /// Writes the text after what was written, and `end` after the text, in one write if the system
    /// accepts all of it at once. The next text overwrites `end`.
    #[inline(never)] // keeps the library small
    fn put(&mut self, text: &[u8], end: Option<&[u8]>) -> Result<(), Errno> {
        let before = self.gzip.as_ref().map(Gzip::state);
        let result = self.put_at_once(text, end);
        if let (Err(_), Some(gzip), Some(before)) = (result, &mut self.gzip, before) {
            gzip.restore(before);
        }
        result
    }

    fn put_at_once(&mut self, text: &[u8], end: Option<&[u8]>) -> Result<(), Errno> {
        let mut bytes = Vec::new();
        let mut out = Text(&mut bytes);
        let length;
        match &mut self.gzip {
            Some(gzip) => {
                gzip.add(text, &mut |part| Ok(out.add(part)?))?;
                length = out.0.len();
                end.map_or(Ok(()), |end| gzip.end(end, &mut |part| Ok(out.add(part)?)))?;
            }
            None => {
                out.add(text)?;
                length = text.len();
                out.add(end.unwrap_or_default())?;
            }
        }
        let fd = self.fd.as_raw_fd();
        if self.has_positions {
            write_all_at(fd, &bytes, self.at)?;
            // The file may have been longer: somebody else has written to it, or a chunk was
            // written in part.
            // SAFETY: the descriptor is open. A device refuses, and needs none.
            unsafe { libc::ftruncate(fd, (self.at + bytes.len() as u64) as libc::off_t) };
        } else {
            write_all(fd, &bytes, self.patience)?;
        }
        self.at += length as u64;
        Ok(())
    }

    fn sum(&self) -> Sum {
        self.gzip.as_ref().map_or(Sum::EMPTY, |gzip| gzip.state().sum)
    }
}

impl Write for Stream {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.error.is_none() {
            self.error = Text(&mut self.buffer).add(text.as_bytes()).err().map(Errno::from);
        }
        if self.error.is_none() { Ok(()) } else { Err(fmt::Error) }
    }
}
