//! The runs of a process, and the file to which they are recorded.

use std::ffi::{OsString, c_void};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicPtr, Ordering};

use sched_dag::tape;

use crate::clock::{Moment, ticks_of_a_stamp};
use crate::refuse;
use crate::stack::{Serial, TaskFn};

/// What is kept between the runs of a process, so that its memory is warm.
struct Kept {
    serial: Box<Serial>,
    file: BufWriter<File>,
    runs: u32,
}

// SAFETY: it is used under the lock, by one run at a time.
unsafe impl Send for Kept {}

/// The current run, or null.
static CURRENT: AtomicPtr<Serial> = AtomicPtr::new(ptr::null_mut());

/// The current run, if there is one.
pub fn current() -> Option<*mut Serial> {
    Some(CURRENT.load(Ordering::Relaxed)).filter(|s| !s.is_null())
}

static KEPT: Mutex<Option<Kept>> = Mutex::new(None);

impl Kept {
    fn open(path: OsString) -> std::io::Result<Kept> {
        let mut file = BufWriter::new(File::create(path)?);
        tape::write_head(&mut file, ticks_of_a_stamp())?;
        Ok(Kept { serial: Box::new(Serial::new()), file, runs: 0 })
    }

    fn run(&mut self, f: TaskFn, closure: *mut c_void) -> std::io::Result<()> {
        // The first run has stamps, because it may be the only one. A run after one with stamps
        // finds the caches full of the tape, so two runs without stamps follow.
        let stamped = self.runs % 3 == 0;
        self.runs += 1;
        let s = &raw mut *self.serial;
        let start = Moment::now();
        CURRENT.store(s, Ordering::Relaxed);
        // SAFETY: the box lives until this returns, and is used by this thread only.
        unsafe { Serial::run(s, f, closure, stamped) };
        CURRENT.store(ptr::null_mut(), Ordering::Relaxed);
        let elapsed = start.elapsed();
        tape::write_run(&mut self.file, elapsed, &self.serial.tape.events)?;
        self.file.flush() // the process may end at any time
    }
}

/// Runs the first task, and appends the recording to the file `SCHED_RECORD`.
pub fn run(f: TaskFn, closure: *mut c_void) {
    let Ok(mut kept) = KEPT.try_lock() else {
        refuse("a run within a run, or beside another, cannot be recorded")
    };
    let Some(path) = std::env::var_os("SCHED_RECORD") else {
        refuse("SCHED_RECORD=FILE is to say where the recording goes")
    };
    let written = match &mut *kept {
        Some(kept) => kept.run(f, closure),
        None => Kept::open(path.clone()).and_then(|new| kept.insert(new).run(f, closure)),
    };
    if let Err(error) = written {
        refuse(format_args!("{}: {error}", path.to_string_lossy()));
    }
}
