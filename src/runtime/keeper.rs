//! The keeper: the thread of `threads::watcher`, for what happens at a time (`deadlines`), for
//! descriptors that nobody polls (`descriptors`), for tasks that wait behind workers which compute
//! for long (`relief`), and for background tasks that wait behind busy workers (`ageing`).

use crate::runtime::beside::RELIEFS;
use crate::runtime::{ageing, deadlines, descriptors, registry, relief};
use crate::sys::futex;
use crate::threads::watcher::Reason;
use std::time::Duration;

/// The time after which the keeper looks again at a run that wants a relief.
const SOON: Duration = Duration::from_millis(1);

/// The keeper's duties. Returns how long it may sleep.
pub fn look(reason: Reason) -> Duration {
    if reason == Reason::End {
        return futex::LONGEST;
    }
    let poll = descriptors::keep();
    let (next, served) = deadlines::look();
    let wanted = RELIEFS.look(served, descriptors::may_act(), || {
        let mut wanted = false;
        registry::each_run(&mut |run| wanted |= relief::look(run));
        wanted
    });
    next.min(poll).min(ageing::look()).min(if wanted { SOON } else { futex::LONGEST })
}
