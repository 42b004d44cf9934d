//! `SCHED_WATCHDOG`: shows the state of the process at SIGQUIT, and when no task of a run has ended
//! for the given time although tasks are queued or wait. The watchdog's thread is the thread of
//! `threads::watcher`.

use crate::inspect::dump::{self, Title};
use crate::inspect::walk::{SeenRun, walk};
use crate::sys::memory::{self, NoMemory};
use crate::sys::time::Instant;
use crate::threads::watcher::Reason;
use std::cell::RefCell;
use std::mem::ManuallyDrop;
use std::time::Duration;

/// The number of looks in the time of `SCHED_WATCHDOG`. If the runs have different times, the
/// shortest counts. The time between two looks is at least `SHORTEST` and at most `LONGEST`.
const LOOKS: u32 = 8;
const SHORTEST: Duration = Duration::from_millis(2);
const LONGEST: Duration = Duration::from_secs(1);

/// The thread's memory of a run.
struct Known {
    id: usize,
    began: u64,
    ended: usize,
    since: Instant,
    /// The state was shown after the last end of a task.
    is_shown: bool,
    /// The progress of each worker, and the time since which the progress has this value.
    workers: Vec<(usize, Instant)>,
}

impl Known {
    /// True if this is the record of that run, and not of an earlier run at the same address.
    fn is_of(&self, run: &SeenRun) -> bool {
        (self.id, self.began) == (run.id, run.began)
    }
}

thread_local! {
    /// The list of the watcher's thread. A child of fork has another thread, which begins with an
    /// empty list. There is no destructor, since the C library ends a process that has no memory to
    /// register one: the last look frees the list.
    static KNOWN: ManuallyDrop<RefCell<Vec<Known>>> =
        const { ManuallyDrop::new(RefCell::new(Vec::new())) };
}

pub fn look(reason: Reason) -> Duration {
    KNOWN.with(|known| {
        let known = &mut known.borrow_mut();
        if reason == Reason::End {
            **known = Vec::new();
            return LONGEST;
        }
        look_at_runs(reason, known).unwrap_or_else(|NoMemory| {
            if reason == Reason::Asked {
                dump::write(&Title::Asked, &|_, _| None);
            }
            LONGEST // there may be memory for the next look
        })
    })
}

fn look_at_runs(reason: Reason, known: &mut Vec<Known>) -> Result<Duration, NoMemory> {
    let (runs, _) = walk()?;
    let now = Instant::now();
    known.retain(|known| runs.iter().any(|run| known.is_of(run)));
    let mut hangs = None;
    let mut pause = LONGEST;
    for run in &runs {
        let known = remember(known, run, now)?;
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
    Ok(pause.max(SHORTEST))
}

/// Brings the record of the run up to date.
fn remember<'a>(
    all: &'a mut Vec<Known>,
    run: &SeenRun,
    now: Instant,
) -> Result<&'a mut Known, NoMemory> {
    let at = all.iter().position(|known| known.is_of(run));
    if at.is_none() {
        let workers = memory::list(run.workers.iter().map(|worker| (worker.progress, now)))?;
        let &SeenRun { id, began, ended, .. } = run;
        memory::push(all, Known { id, began, ended, since: now, is_shown: false, workers })?;
    }
    let at = at.unwrap_or(all.len() - 1);
    let known = &mut all[at];
    if known.ended != run.ended || !run.has_work() {
        (known.ended, known.since, known.is_shown) = (run.ended, now, false);
    }
    for (worker, (progress, since)) in run.workers.iter().zip(&mut known.workers) {
        if std::mem::replace(progress, worker.progress) != worker.progress {
            *since = now;
        }
    }
    Ok(known)
}
