//! The timeline of a run: a track for each worker, and the clock.

use crate::lock::mutex::Mutex;
use crate::settings::{Config, Switch};
use crate::stats::file;
use crate::sys::clock::{Calibration, Moment, ticks_in};
use crate::sys::errno::Errno;
use crate::sys::futex::Futex;
use crate::sys::memory;
use crate::sys::thread::SignalsBlocked;
use crate::sys::time::Instant;
use crate::threads::watcher::LAST_LOOK;
use crate::trace::json::{self, Run};
use crate::trace::output::{self, Output};
use crate::trace::track::{Shared, Track};
use std::cell::Cell;
use std::ffi::CStr;
use std::mem;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// The least time between two records of a queue's length.
const SAMPLING: Duration = Duration::from_micros(20);

const UNWRITTEN: u32 = 0;
const WRITING: u32 = 1;
const WRITTEN: u32 = 2;

pub struct Timeline {
    tracks: Box<[Track]>,
    workers: usize,
    /// The data that all tracks share; the tracks refer to it.
    shared: Box<Shared>,
    begin: Moment,
    output: Output,
    kind: &'static str,
    lives: Switch,
    /// The number of tasks that could not be recorded, because there was no memory.
    unseen: AtomicUsize,
    /// `UNWRITTEN`, `WRITING` or `WRITTEN`.
    state: Futex,
    /// Links the timelines of the runs that have not ended; used under the lock of `OPEN`.
    next: Cell<*const Timeline>,
}

// SAFETY: `next` is used under a lock; the tracks say for themselves who may use them.
unsafe impl Sync for Timeline {}

/// The timelines of the runs that have not ended. A thread that uses the list, or a timeline's
/// file, has blocked the signals: otherwise a fatal signal's handler on that thread would wait for
/// the watcher, and the watcher for the locks.
#[unsafe(link_section = "sched_words")]
static OPEN: Mutex<Open> = Mutex::new(Open(ptr::null()));

struct Open(*const Timeline);

// SAFETY: the timelines in the list live until they have removed themselves.
unsafe impl Send for Open {}

/// Writes the timelines of the runs that have not ended: the process is about to end.
pub fn write_open() {
    let _blocked = SignalsBlocked::block();
    OPEN.with(|open| {
        let mut next = open.0;
        // SAFETY: a timeline removes itself from the list, under this lock, before it is gone.
        while let Some(timeline) = unsafe { next.as_ref() } {
            timeline.write();
            next = timeline.next.get();
        }
    });
}

/// Called in the child of a fork, in which no run of the parent continues.
pub fn after_fork_in_child() {
    // SAFETY: a forked child has one thread.
    unsafe { OPEN.reset(Open(ptr::null())) };
    output::after_fork_in_child();
}

impl Timeline {
    /// The timeline that `config` asks for. The run has `workers` workers, and `places` places for
    /// these and for guests (`policy::guests`). Returns None if `config` asks for no timeline;
    /// also, after a line on stderr, if the file cannot be written or memory is missing.
    pub fn new(config: &Config, workers: usize, places: usize) -> Option<Box<Timeline>> {
        let path = config.trace?;
        let _blocked = SignalsBlocked::block();
        let timeline = Timeline::of_file(path, config, workers, places);
        timeline.inspect_err(|&error| file::tell_once(output::VARIABLE, path, error)).ok()
    }

    fn of_file(
        path: &CStr,
        config: &Config,
        workers: usize,
        places: usize,
    ) -> Result<Box<Timeline>, Errno> {
        let output = Output::new(path)?; // before `begin`: the file's time begins here
        let shared = memory::boxed(Shared::new(ticks_in(config.trace_merge), ticks_in(SAMPLING)))?;
        // SAFETY: the box lives as long as the tracks.
        let track = |i| unsafe { Track::new(&raw const *shared, i as u16, config.trace_size) };
        let tracks = memory::slice(places, track)?;
        let timeline = Timeline {
            tracks,
            workers,
            shared,
            begin: Moment::now(),
            output,
            kind: config.kind.word(),
            lives: config.trace_lives,
            unseen: AtomicUsize::new(0),
            state: Futex::new(UNWRITTEN),
            next: Cell::new(ptr::null()),
        };
        let timeline = memory::boxed(timeline)?;
        OPEN.with(|open| timeline.next.set(mem::replace(&mut open.0, &raw const *timeline)));
        Ok(timeline)
    }

    pub fn track(&self, worker: usize) -> &Track {
        &self.tracks[worker]
    }

    pub fn shared(&self) -> &Shared {
        &self.shared
    }

    /// Counts a task that cannot be recorded.
    pub fn miss(&self) {
        self.unseen.fetch_add(1, Ordering::Relaxed);
    }

    /// Writes the timeline to its file, once. An error is reported on stderr. If another thread is
    /// already writing it, waits for that thread: the process may end when this returns.
    pub fn write(&self) {
        let _blocked = SignalsBlocked::block();
        if !self.state.swap_if(UNWRITTEN, WRITING) {
            self.wait_until_written();
            return;
        }
        self.write_to_file();
        self.state.store(WRITTEN, Ordering::Relaxed);
        self.state.wake(i32::MAX);
    }

    /// The writer may be stuck, if the file is a pipe that nobody reads. So the wait has a limit,
    /// the same as the wait of a fatal signal's handler.
    #[cold]
    fn wait_until_written(&self) {
        let begin = Instant::now();
        // Relaxed, like the store: the text is in the file, not in memory.
        while self.state.load(Ordering::Relaxed) == WRITING {
            let Some(left) = LAST_LOOK.checked_sub(begin.elapsed()) else { return };
            self.state.wait(WRITING, left);
        }
    }

    fn write_to_file(&self) {
        let calibration = Calibration::since(self.begin);
        self.output.write(|stream, part| {
            let run = Run {
                number: part.run,
                kind: self.kind,
                lives: self.lives,
                tracks: &self.tracks,
                workers: self.workers,
                unseen: self.unseen.load(Ordering::Relaxed),
                calibration,
                origin: part.origin,
            };
            json::write(&run, part.flows, stream)
        });
    }
}

impl Drop for Timeline {
    fn drop(&mut self) {
        let _blocked = SignalsBlocked::block();
        OPEN.with(|open| {
            let this = ptr::from_ref(self);
            if open.0 == this {
                open.0 = self.next.get();
                return;
            }
            let mut next = open.0;
            // SAFETY: as in `write_open`.
            while let Some(timeline) = unsafe { next.as_ref() } {
                if timeline.next.get() == this {
                    timeline.next.set(self.next.get());
                }
                next = timeline.next.get();
            }
        });
    }
}
