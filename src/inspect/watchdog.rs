//! `SCHED_WATCHDOG`: shows the state of the process when no task of a run has ended for so long,
//! although tasks are queued or wait; and at SIGQUIT. The thread is that of `threads::watcher`.

use crate::inspect::dump::{self, Title};
use crate::inspect::walk::{SeenRun, walk};
use crate::sys::time::Instant;
use crate::threads::watcher::Reason;
use std::cell::RefCell;
use std::time::Duration;

/// The thread looks so often within the shortest time of `SCHED_WATCHDOG`, within limits.
const LOOKS: u32 = 8;
const SHORTEST: Duration = Duration::from_millis(2);
const LONGEST: Duration = Duration::from_secs(1);

/// What the thread remembers of a run.
struct Known {
    id: usize,
    ended: usize,
    since: Instant,
    /// The state was shown since a task has ended.
    is_shown: bool,
    /// The progress of each worker, and since when it is this.
    workers: Vec<(usize, Instant)>,
}

thread_local! {
    /// The watcher's. A child of fork begins with another thread, so with nothing.
    static KNOWN: RefCell<Vec<Known>> = const { RefCell::new(Vec::new()) };
}

/// A look of the thread at all runs. Returns the time until the next look.
pub fn look(reason: Reason) -> Duration {
    let (runs, _) = walk();
    KNOWN.with_borrow_mut(|known| {
        let now = Instant::now();
        known.retain(|known| runs.iter().any(|run| run.id == known.id));
        let mut hangs = None;
        let mut pause = LONGEST;
        for run in &runs {
            let known = remember(known, run, now);
            let Some(limit) = run.watchdog else { continue };
            pause = pause.min(limit / LOOKS);
            if !known.is_shown && run.has_work() && now - known.since >= limit {
                known.is_shown = true;
                hangs = Some(now - known.since);
            }
        }
        let asked = (reason == Reason::Asked).then_some(Title::Asked);
        let title = asked.or(hangs.map(Title::NoEnd));
        if let Some(title) = title {
            dump::write(&title, &|run, worker| {
                let known = known.iter().find(|known| known.id == run)?;
                known.workers.get(worker).map(|(_, since)| now - *since)
            });
        }
        pause.max(SHORTEST)
    })
}

/// Brings what is known of the run up to date.
fn remember<'a>(all: &'a mut Vec<Known>, run: &SeenRun, now: Instant) -> &'a mut Known {
    let at = all.iter().position(|known| known.id == run.id).unwrap_or_else(|| {
        all.push(Known {
            id: run.id,
            ended: run.ended,
            since: now,
            is_shown: false,
            workers: run.workers.iter().map(|worker| (worker.progress, now)).collect(),
        });
        all.len() - 1
    });
    let known = &mut all[at];
    if known.ended != run.ended || !run.has_work() {
        (known.ended, known.since, known.is_shown) = (run.ended, now, false);
    }
    for (worker, (progress, since)) in run.workers.iter().zip(&mut known.workers) {
        if std::mem::replace(progress, worker.progress) != worker.progress {
            *since = now;
        }
    }
    known
}
