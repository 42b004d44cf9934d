//! Ageing: background tasks that wait behind busy workers start in time (`queue::background`).
//!
//! The keeper (`runtime::keeper`) looks at the lines of all runs, twenty times a second while
//! background tasks wait in any of them ([`Ageing`]). It has this duty from the first background
//! task in a run until the end of that run. So programs without such tasks have no thread for them,
//! and workers never read a clock for them. If the thread cannot be made, no task ages: then a task
//! that yields until a background task has run may yield for ever.
//!
//! # Life
//!
//! The keeper looks at a run under the lock of worker 0, which the run's end takes before the
//! policy is freed (`Worker::with_run_of_first`), as it does for reliefs. The thread that ends the
//! keeper waits for it under the lock of `threads::watcher`. So nobody may want that lock under the
//! lock of a record: the keeper is called, and made, without one.

use crate::queue::ageing::Ageing;
use crate::queue::background::Line;
use crate::runtime::record::Worker;
use crate::runtime::registry;
use crate::sys::{futex, time};
use crate::threads::watcher;
use std::time::Duration;

#[unsafe(link_section = "sched_words")]
static AGEING: Ageing = Ageing::new();

/// Called when a background task was added to the run of the worker, from any thread, without a
/// lock.
pub(super) fn added(worker: &Worker, line: Line) {
    if line == Line::Begins {
        worker.keep_deadlines();
        AGEING.request();
        watcher::call();
    }
}

/// For the keeper: looks at the lines of all runs, if that is due. Returns how long it may sleep.
pub(super) fn look() -> Duration {
    let now = time::nanos();
    let next = AGEING.look(now, || {
        let mut waits = false;
        // SAFETY: the run does not end during the call.
        registry::each_run(&mut |run| waits |= unsafe { run.worker(0).operations_for_any() }.age());
        waits
    });
    if next == u64::MAX { futex::LONGEST } else { Duration::from_nanos(next - now) }
}
