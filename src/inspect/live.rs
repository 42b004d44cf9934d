//! `SCHED_STATS=live`: takes the samples of `stats::live`, on the thread of `threads::watcher`.

use crate::runtime::registry;
use crate::stats::live::{self, PERIOD, Sample};
use crate::stats::report;
use crate::sys::clock;
use crate::threads::watcher::Reason;
use std::time::Duration;

/// Takes a sample of all runs that are to be shown, and draws the line. No report is written to
/// stderr in the meantime, so the sample has no run whose report has erased the line.
pub fn look(reason: Reason) -> Duration {
    if reason == Reason::End {
        return PERIOD;
    }
    report::between(|| {
        let mut sample = Sample::default();
        registry::each_run(&mut |run| {
            if !run.is_live() {
                return;
            }
            let uncounted: usize =
                run.present_workers().map(|worker| worker.uncounted() as usize).sum();
            sample.add_run(run.began(), run.totals().values.tasks + uncounted);
            let now = clock::nanos();
            let phases = (0..run.workers()).filter_map(|worker| run.phases(worker));
            phases.for_each(|phases| sample.add_worker(phases.phase(), phases.times(now)));
        });
        live::draw(&sample);
    });
    PERIOD
}
