//! The gate of a run: open as long as tasks may come in. A run that is *held open* (a pool's run)
//! does not end when no task is left; it is then at *rest*, and continues with the next task.
//!
//! # State
//!
//! [`RunGate`] lies under the lock that decides whether a task is left: the injector's lock, or the
//! lock of a shared queue. `closed`: no further task comes in. `ends`: whether the run is still
//! held open. `awaited`: how many threads wait for a rest. [`Rests`], beside that lock, counts the
//! announced rests; waiting threads sleep on it. [`RestAwaited`] is the wait of one thread; it
//! tells others whether the wait is over (`queue::run_waits`).
//!
//! # Protocol
//!
//! A worker that finds, under the lock, that no task is left calls `rest`. This closes the gate;
//! or, if the gate is held open, announces the rest to the waiting threads. A waiting thread reads
//! the count first, then checks, under the lock, whether the run is at rest. If not, and if the
//! count is unchanged, it adds itself to `awaited`, and sleeps until the count changes. A thread
//! that stops holding the gate open does so under the lock, where it also checks whether the run is
//! at rest. If so, this thread ends the run; otherwise the worker that later finds the rest does.
//!
//! # The bad interleavings
//!
//! *The missed rest.* The last task ends between the check and the sleep. Its worker then takes the
//! lock after the check, finds `awaited`, and changes the count before the sleep; so nobody sleeps.
//!
//! *A finished wait is taken for a pending one.* A thread has found the run at rest, but has not
//! left its wait, when a new task of the run asks whether the wait is pending. So the thread notes
//! under the lock that it has found a rest, and an announced rest changes the count under the lock.
//! The new task came in under that lock, later, so whoever runs it sees the note and the count.
//!
//! *A thread that gives up*, because its deadline has come, looks once more under the lock, and
//! takes itself out of `awaited` unless a rest was announced. A rest that it finds then counts.
//!
//! *Another thread's rest.* The rest that wakes a thread may be one for which another thread waits.
//! The count has changed since this thread read it, so that rest came after this thread's call. It
//! counts for this thread as well, whatever tasks have come in since.
//!
//! # Orderings
//!
//! | operation | ordering | partner |
//! | --- | --- | --- |
//! | `announce`: addition to the count | Release | the load in `wait`: what the run's tasks wrote |
//! | `wait`: loads of the loop | Acquire | `announce` |
//! | `begin`: load | Relaxed | none: an old count only makes the wait look again |
//! | `expect_rest`: load and stores | Relaxed | the lock, under which `announce` is called |
//! | `is_over`: loads | Relaxed | the lock, by the task that came in after the rest |

use crate::sys::atomic::{AtomicBool, AtomicUsize, Ordering};
use crate::sys::futex;
use crate::sys::futex::Futex;
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// The run ends at its first rest.
    AtRest,
    /// The run is held open until its release, and ends at the first rest after that.
    AfterRelease,
}

/// The state of the gate. Used under the lock of the run.
pub struct RunGate {
    closed: bool,
    ends: Ends,
    awaited: usize,
}

impl RunGate {
    /// An open gate.
    pub fn new(ends: Ends) -> Self {
        RunGate { closed: false, ends, awaited: 0 }
    }

    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Called when no task is left. Closes the gate unless it is held open; true if it closed it.
    pub fn rest(&mut self, rests: &Rests) -> bool {
        if self.ends == Ends::AfterRelease {
            if std::mem::take(&mut self.awaited) > 0 {
                rests.announce();
            }
            return false;
        }
        self.closed = true;
        true
    }

    /// Returns `rests`, which is true if no task is left now. If a task is left, counts this thread
    /// in `awaited`, so that the next rest is announced to it, unless the rest for which it waits
    /// has already come. Called under the lock, like `rest`.
    pub fn expect_rest(&mut self, rests: bool, thread: &RestAwaited) -> bool {
        // Relaxed: the lock orders these accesses with those of `announce`
        if rests {
            thread.state.store(FOUND, Ordering::Relaxed);
        } else if thread.gives_up.load(Ordering::Relaxed) {
            // A rest that was announced has taken all threads out of the count.
            let counted = thread.count_is_same() && thread.counted.load(Ordering::Relaxed);
            self.awaited -= usize::from(counted);
        } else if thread.count_is_same() && !thread.counted.swap(true, Ordering::Relaxed) {
            self.awaited += 1;
        }
        rests
    }

    /// How many threads wait for a rest that has not come.
    pub fn awaited(&self) -> usize {
        self.awaited
    }

    /// From now on `rest` closes the gate.
    pub fn release(&mut self) {
        self.ends = Ends::AtRest;
    }
}

/// The wait of a thread for a rest.
pub struct RestAwaited<'a> {
    rests: &'a Rests,
    /// The number of rests when the wait began, or one of the values below.
    state: AtomicUsize,
    /// The thread is counted in `awaited`, until the next rest.
    counted: AtomicBool,
    /// Returns the longest sleep of the thread before it looks again. None means that it gives up.
    limit: &'a dyn Fn() -> Option<Duration>,
    gives_up: AtomicBool,
}

/// The limit of a thread that never gives up.
pub fn no_limit() -> Option<Duration> {
    Some(futex::LONGEST)
}

/// The wait has not begun.
const TO_COME: usize = usize::MAX;
/// The thread has found the run at rest.
const FOUND: usize = usize::MAX - 1;

impl<'a> RestAwaited<'a> {
    /// A wait that has not begun.
    pub fn new(rests: &'a Rests, limit: &'a dyn Fn() -> Option<Duration>) -> Self {
        RestAwaited {
            rests,
            state: AtomicUsize::new(TO_COME),
            counted: AtomicBool::new(false),
            limit,
            gives_up: AtomicBool::new(false),
        }
    }

    /// Begins the wait: the rest for which the thread waits comes later than this call.
    pub fn begin(&self) {
        self.state.store(self.rests.0.load(Ordering::Relaxed) as usize, Ordering::Relaxed);
    }

    /// For other threads: true if the run was at rest after the wait began. The caller knows a task
    /// of the run that has not ended, and sees what was written before that task began. No `begin`
    /// runs concurrently: the caller excludes it.
    pub fn is_over(&self) -> bool {
        // Relaxed: the lock of the run, under which that task came in
        match self.state.load(Ordering::Relaxed) {
            TO_COME => false,
            FOUND => true,
            seen => self.rests.0.load(Ordering::Relaxed) as usize != seen,
        }
    }

    /// True if the rest for which the thread waits has not been announced.
    fn count_is_same(&self) -> bool {
        self.rests.0.load(Ordering::Relaxed) as usize == self.state.load(Ordering::Relaxed)
    }

    /// Returns when the run was at rest at some moment since `begin`; the caller then sees what the
    /// run's tasks wrote before. `now` calls `expect_rest` under the lock, and returns its result.
    pub fn wait(&self, now: impl Fn() -> bool) {
        let word = &self.rests.0;
        let seen = self.state.load(Ordering::Relaxed) as u32;
        while word.load(Ordering::Acquire) == seen && !now() {
            match (self.limit)() {
                Some(limit) => word.wait(seen, limit),
                None => {
                    self.gives_up.store(true, Ordering::Relaxed);
                    // A rest that has come by now counts.
                    let found = now() || word.load(Ordering::Acquire) != seen;
                    return self.gives_up.store(!found, Ordering::Relaxed);
                }
            }
        }
    }

    /// True if the thread has given up: the rest for which it waited has not come.
    pub fn has_given_up(&self) -> bool {
        self.gives_up.load(Ordering::Relaxed)
    }
}

/// The number of announced rests.
pub struct Rests(Futex);

impl Rests {
    #[allow(clippy::new_without_default, reason = "the models' futex has no default")]
    pub fn new() -> Self {
        Rests(Futex::new(0))
    }

    fn announce(&self) {
        self.0.add(1, Ordering::Release); // pairs with the Acquire load in `wait`
        self.0.wake(i32::MAX);
    }
}
