//! Ageing: background tasks that wait behind busy workers start in time (`queue::background`).
//!
//! The keeper (`runtime::keeper`) looks at the lines of all runs, once in [`PERIOD`] while
//! background tasks wait in any of them. It has this duty from the first background task in a run
//! until the end of that run. So programs without such tasks have no thread for them, and workers
//! never read a clock for them. If the thread cannot be made, no task ages: then a task that yields
//! until a background task has run may yield for ever.
//!
//! # Protocol
//!
//! A thread that adds a background task to an empty line sets `REQUESTED`, and then calls the
//! keeper. The keeper takes the request before it looks at the lines. It forgets all lines (`NEXT`
//! is `u64::MAX`) when it has found each of them empty.
//!
//! *While a line is not empty, and no thread is between two steps of this file, the keeper will
//! look.* Proof: suppose that the keeper finds a line empty and forgets it, and that a task is
//! added to this line later. The adder finds the line empty under the same lock, so it sets
//! `REQUESTED` and calls the keeper. Either the keeper takes this request at a later look; or it
//! has taken the request already, before it looked at the lines. In the second case the adder's
//! Release and the keeper's Acquire order the addition before the look, so the look finds the task,
//! which contradicts the supposition.
//!
//! A request does not hasten a look at other lines, and a new line is *fresh* at its first look. So
//! the oldest task waits for one to two periods before it ages, and then one in each period.
//!
//! # Life
//!
//! The keeper looks at a run under the lock of worker 0, which the run's end takes before the
//! policy is freed (`Worker::with_run_of_first`), as it does for reliefs. The thread that ends the
//! keeper waits for it under the lock of `threads::watcher`. So nobody may want that lock under the
//! lock of a record: the keeper is called, and made, without one.

use crate::queue::background::Line;
use crate::runtime::record::{Run, Worker};
use crate::runtime::registry;
use crate::sys::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::sys::{futex, time};
use crate::threads::watcher;
use std::time::Duration;

/// The time between two looks at the lines of background tasks.
const PERIOD: Duration = Duration::from_millis(50);

/// A line is not empty any more.
#[unsafe(link_section = "sched_words")]
static REQUESTED: AtomicBool = AtomicBool::new(false);

/// The time of the next look; `u64::MAX`: none. Only the keeper uses it.
#[unsafe(link_section = "sched_words")]
static NEXT: AtomicU64 = AtomicU64::new(u64::MAX);

/// Called when a background task was added to the run of the worker, from any thread, without a
/// lock.
pub(super) fn added(worker: &Worker, line: Line) {
    if line == Line::Begins {
        worker.keep_deadlines();
        REQUESTED.swap(true, Ordering::Release); // pairs with `look`
        watcher::call();
    }
}

/// For the keeper: looks at the lines of all runs, if that is due. Returns how long it may sleep.
pub(super) fn look() -> Duration {
    let requested = REQUESTED.swap(false, Ordering::Acquire); // pairs with `added`
    let (now, period) = (time::nanos(), PERIOD.as_nanos() as u64);
    let mut next = NEXT.load(Ordering::Relaxed);
    if next <= now {
        let mut waits = false;
        for worker in registry::all_records().filter(|worker| !worker.has_ended()) {
            // SAFETY: the run does not end during the call.
            let age = |run: &Run| unsafe { run.worker(0).operations_for_any() }.age();
            worker.with_run_of_first(&mut |run| waits |= age(run));
        }
        next = if waits { now + period } else { u64::MAX };
    } else if requested && next == u64::MAX {
        next = now + period;
    }
    NEXT.store(next, Ordering::Relaxed);
    if next == u64::MAX { futex::LONGEST } else { Duration::from_nanos(next - now) }
}
