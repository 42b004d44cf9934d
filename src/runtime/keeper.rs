//! The keeper: the thread of `threads::watcher`, for what happens at a time (`deadlines`), for
//! descriptors that nobody polls (`descriptors`), for tasks that wait behind workers which compute
//! for long (`relief`), and for background tasks that wait behind busy workers (`ageing`).

use crate::runtime::{ageing, beside, deadlines, descriptors, registry, relief};
use crate::sys::atomic::{AtomicBool, Ordering};
use crate::sys::futex;
use crate::threads::watcher::Reason;
use std::time::Duration;

/// True if a run wants or may soon want a relief. Only the keeper uses it.
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
    let (next, served) = deadlines::look();
    let has_gone = beside::a_relief_has_gone();
    let may_want = has_gone || served.any || descriptors::may_act();
    let mut wanted = served.serving;
    if may_want || WANTED.load(Ordering::Relaxed) {
        for worker in registry::all_records().filter(|worker| !worker.has_ended()) {
            worker.with_run_of_first(&mut |run| wanted |= relief::look(run));
        }
    }
    WANTED.store(wanted, Ordering::Relaxed);
    next.min(poll).min(ageing::look()).min(if wanted { SOON } else { futex::LONGEST })
}
