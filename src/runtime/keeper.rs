//! The keeper: the thread of `threads::watcher`, for what happens at a time (`deadlines`), for
//! descriptors that nobody polls (`descriptors`), and for tasks that wait behind workers which
//! compute for long (`relief`).

use crate::runtime::{deadlines, descriptors, registry, relief};
use crate::sys::futex;
use crate::threads::watcher::Reason;
use std::time::Duration;

/// What the keeper does. Returns how long it may sleep.
pub fn look(reason: Reason) -> Duration {
    if reason == Reason::End {
        return futex::LONGEST;
    }
    let poll = descriptors::keep();
    if poll < futex::LONGEST {
        for worker in registry::all_records().filter(|worker| !worker.has_ended()) {
            worker.with_run_of_first(&mut relief::look);
        }
    }
    deadlines::look(reason).min(poll)
}
