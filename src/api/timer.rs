//! Timers: a task that is spawned at a time. The timer lies in the program's memory, and nothing is
//! allocated.
//!
//! # States
//!
//! ```text
//!         start              due                the task begins
//! IDLE  --------->  PENDING  ----->  SPAWNED  ------------------->  IDLE
//!   ^                  |
//!   +------------------+ cancel
//! ```
//! A pending timer has an entry in the process's deadlines, and holds its run like a task that
//! waits. When it is due, the task `run_timer` is queued behind all others; the queue has the
//! address of the timer. The task takes function and argument out of the timer, makes it idle, lets
//! go of the run, and calls the function. So from then on the program may start the timer again, or
//! free its memory. The lock of the entry decides whether a timer is cancelled or due.
//!
//! The claim of the entry tells with which level the task is queued, so the timer has no word for
//! it.
//!
//! # In debug builds
//!
//! `state` also has the timer's address, and a check sum of the function, its argument and the
//! worker. So a copy of a timer, and a timer whose memory was used for something else, are
//! recognised. The wheel checks the links of the entry.
//!
//! # Orderings
//!
//! | operation | ordering | partner |
//! | --- | --- | --- |
//! | `start`: exchange to PENDING | Acquire | the store of IDLE: the last user has left the timer |
//! | `run_timer`, `cancel`: store of IDLE | Release | `start` |
//! | the store of SPAWNED, loads by `cancel` | Relaxed | the entry's lock |

use crate::api::timed;
use crate::deadline::check::sum as check_sum;
use crate::deadline::{Entry, Then, Why};
use crate::runtime::deadlines;
use crate::runtime::forked::misuse;
use crate::runtime::record::Worker;
use crate::sys::atomic::{AtomicUsize, Ordering};
use crate::sys::errno::Errno;
use crate::sys::unwind::{TimerTask, call_guarded};
use crate::sys::{detector, output};
use crate::task::{Level, Scheduler, Task, TaskFn};
use std::cell::Cell;
use std::ffi::c_void;
use std::ptr;

const IDLE: usize = 0;
const PENDING: usize = 1;
const SPAWNED: usize = 2;

/// The levels, as parameters of `claim`.
const NORMAL: u8 = Level::Normal as u8;
const URGENT: u8 = Level::Urgent as u8;
const BACKGROUND: u8 = Level::Background as u8;

/// The bits of `Timer::state` for one of these states.
const STATE: usize = 7;
/// The bits for the state and for the address; the higher bits hold the check sum.
const LOWER: usize = 0xffff_ffff_ffff;

/// The C type `sched_timer`. All bytes zero is an idle timer.
#[repr(C)]
pub struct Timer {
    entry: Entry,
    f: Cell<Option<TaskFn>>,
    closure: Cell<*mut c_void>,
    worker: Cell<*const Worker>,
    state: AtomicUsize,
}

impl Timer {
    pub const fn idle() -> Self {
        Timer {
            entry: Entry::unused(),
            f: Cell::new(None),
            closure: Cell::new(ptr::null_mut()),
            worker: Cell::new(ptr::null()),
            state: AtomicUsize::new(IDLE),
        }
    }

    /// Starts the timer. Fails as `sched_timer_start` does.
    ///
    /// # Safety
    /// `f` accepts `closure`. The timer lives until it is idle.
    pub unsafe fn start(
        &self,
        level: Level,
        deadline: i64,
        f: TaskFn,
        closure: *mut c_void,
        worker: &Worker,
    ) -> Result<(), Errno> {
        detector::ignored(|| {
            let (acquire, relaxed) = (Ordering::Acquire, Ordering::Relaxed);
            let pending = self.in_place(PENDING);
            if let Err(state) = self.state.compare_exchange(IDLE, pending, acquire, relaxed) {
                self.check_place("sched_timer_start", state);
                return Err(Errno(libc::EBUSY));
            }
            detector::own(self);
            let hold = || if worker.hold_run() { Ok(()) } else { Err(Errno(libc::EINVAL)) };
            let held = timed::prepare(worker).map_err(Errno::from).and_then(|()| hold());
            if held.is_err() {
                self.state.store(IDLE, Ordering::Release);
                return held;
            }
            self.f.set(Some(f));
            self.closure.set(closure);
            self.worker.set(worker);
            self.entry.set_claim(match level {
                Level::Normal => claim::<NORMAL>,
                Level::Urgent => claim::<URGENT>,
                Level::Background => claim::<BACKGROUND>,
            });
            if cfg!(debug_assertions) {
                self.state.store(self.whole(PENDING), Ordering::Relaxed);
            }
            detector::release(&raw const self.f);
            // SAFETY: the entry is in no wheel, and the timer lives until it is idle.
            unsafe { deadlines::add(&raw const self.entry, deadline) };
            Ok(())
        })
    }

    /// Cancels the timer. Fails as `sched_timer_cancel` does.
    pub fn cancel(&self) -> Result<(), Errno> {
        detector::ignored(|| {
            let state = self.state.load(Ordering::Relaxed);
            self.check_place("sched_timer_cancel", state);
            // SAFETY: a pending timer was started.
            let is_pending = state & STATE == PENDING
                && unsafe { deadlines::DEADLINES.remove(&raw const self.entry) };
            if !is_pending {
                return Err(Errno(libc::EALREADY));
            }
            detector::acquire(&raw const self.f);
            self.check_whole(PENDING);
            // SAFETY: records are never freed.
            let worker = unsafe { &*self.worker.get() };
            self.state.store(IDLE, Ordering::Release);
            worker.let_go_of_run();
            Ok(())
        })
    }

    /// The value of the field `state` while the timer is in this state and its fields are being
    /// set.
    fn in_place(&self, state: usize) -> usize {
        if cfg!(debug_assertions) { ptr::from_ref(self).addr() & LOWER | state } else { state }
    }

    /// The value of the field `state` after the fields were set.
    fn whole(&self, state: usize) -> usize {
        if !cfg!(debug_assertions) {
            return state;
        }
        let f = self.f.get().map_or(0, |f| f as usize);
        let sum = check_sum(&[f, self.closure.get().addr(), self.worker.get().addr()]);
        self.in_place(state) | sum & !LOWER
    }

    /// In debug builds: ends the process if `state`, which was found here, is not a state of a
    /// timer.
    fn check_place(&self, function: &str, state: usize) {
        let is_one = |of: usize| state & LOWER == self.in_place(of);
        if cfg!(debug_assertions) && state != IDLE && !is_one(PENDING) && !is_one(SPAWNED) {
            misuse(
                function,
                "the timer was not initialised, was copied, or its memory was used for something else",
            );
        }
    }

    /// In debug builds: ends the process if the timer has changed since its start, or is not in
    /// this state.
    fn check_whole(&self, state: usize) {
        if cfg!(debug_assertions) && self.state.load(Ordering::Relaxed) != self.whole(state) {
            output::die(format_args!(
                "the memory of a sched_timer was freed or used for something else before its function began"
            ));
        }
    }
}

/// See `deadline::Claim`.
///
/// # Safety
/// The entry is that of a [`Timer`].
unsafe fn claim<const LEVEL: u8>(entry: *const Entry, _why: Why) -> Option<Then> {
    let timer: *const Timer = entry.cast();
    // SAFETY: the timer lives until it is idle.
    unsafe {
        (*timer).check_whole(PENDING);
        (*timer).state.store((*timer).whole(SPAWNED), Ordering::Relaxed);
        let worker = (*timer).worker.get().expose_provenance();
        Some(Then { act: spawn::<LEVEL>, with: [timer.expose_provenance(), worker] })
    }
}

/// Queues the task of a timer that is due.
fn spawn<const LEVEL: u8>([timer, worker]: [usize; 2]) {
    // SAFETY: records are never freed.
    let worker = unsafe { &*ptr::with_exposed_provenance::<Worker>(worker) };
    let task = Task { f: run_timer, closure: ptr::with_exposed_provenance_mut(timer) };
    let level = match LEVEL {
        URGENT => Level::Urgent,
        BACKGROUND => Level::Background,
        _ => Level::Normal,
    };
    // SAFETY: `run_timer` accepts the timer; the run is held.
    unsafe { deadlines::queue_of_timer(worker, level, task) };
}

/// The function of a timer's task.
///
/// # Safety
/// `timer` is a [`Timer`] whose task was queued. `s` is the calling thread's worker.
unsafe extern "C" fn run_timer(timer: *mut c_void, s: *mut Scheduler) {
    // SAFETY: the timer's task was queued, so the timer lives; it is the program's after the store.
    unsafe {
        let timer = &*timer.cast::<Timer>();
        let (f, closure) = detector::ignored(|| {
            timer.check_whole(SPAWNED);
            let function = (timer.f.get(), timer.closure.get());
            detector::acquire(&raw const timer.f);
            timer.state.store(IDLE, Ordering::Release);
            Worker::of(s).owned().operations().let_go();
            function
        });
        if let Some(f) = f {
            call_guarded::<TimerTask, _>(|| f(closure, s));
        }
    }
}

/// The program's function of a timer's task. None if the task is not a timer's.
pub fn function_of(f: TaskFn, closure: *mut c_void) -> Option<usize> {
    ptr::fn_addr_eq(f, run_timer as TaskFn)
        // SAFETY: the task is queued, so the timer exists.
        .then(|| unsafe { (*closure.cast::<Timer>()).f.get() })?
        .map(|f| f as usize)
}
