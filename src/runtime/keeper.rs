//! The keeper: the thread of `threads::watcher`, for what happens at a time (`deadlines`), for
//! descriptors that nobody polls (`descriptors`), and for tasks that wait behind workers which
//! compute for long (`relief`).

use crate::runtime::{deadlines, descriptors, registry, relief};
use crate::sys::atomic::{AtomicBool, Ordering};
use crate::sys::futex;
use crate::threads::watcher::Reason;
use std::time::Duration;

/// True if a run wants a relief. Only the keeper uses it.
#[unsafe(link_section = "sched_words")]
static WANTED: AtomicBool = AtomicBool::new(false);

/// How soon the keeper looks again at a run that wants a relief.
const SOON: Duration = Duration::from_millis(1);

/// What the keeper does. Returns how long it may sleep.
pub fn look(reason: Reason) -> Duration {
    if reason == Reason::End {
        return futex::LONGEST;
    }
    let poll = descriptors::keep();
    let (next, is_due) = deadlines::look();
    let may_want = is_due || descriptors::may_act() || WANTED.load(Ordering::Relaxed);
    let mut wanted = false;
    if may_want {
        for worker in registry::all_records().filter(|worker| !worker.has_ended()) {
            worker.with_run_of_first(&mut |run| wanted |= relief::look(run));
        }
    }
    WANTED.store(wanted, Ordering::Relaxed);
    next.min(poll).min(if wanted { SOON } else { futex::LONGEST })
}
