//! What loops, groups and joins tell the profile of a run: where paths branch and meet that are not
//! seen where tasks begin, end, suspend and wake each other ([`hooks`](super::hooks)).

use crate::runtime::record::Worker;
use crate::runtime::watch::{Watch, Watched};
use crate::sys::{clock, detector};
use std::ptr;

/// The youngest task of the calling thread on this worker, or on the worker of the same run that it
/// occupies by now, if the run is profiled.
#[inline]
fn profiled_task(worker: &Worker) -> Option<&Watched> {
    worker.sums()?;
    worker.mine().and_then(|mine| mine.fiber().youngest_task())
}

/// The length of the path to where the caller is, if the run is profiled.
#[inline]
pub fn path_length(worker: &Worker) -> Option<u64> {
    profiled_task(worker).map(|task| task.path.length_at(clock::ticks()))
}

/// The caller has done something that is parallel to the rest of its task. The path goes on from
/// where it was `before`. Returns the length of what was done.
#[cold]
pub fn take_path_back(worker: &Worker, before: u64) -> u64 {
    profiled_task(worker).map_or(0, |task| {
        task.path.settle(clock::ticks());
        let after = task.path.length().ticks();
        task.path.set_back(before);
        after.saturating_sub(before)
    })
}

/// The caller's loop is over: the longest path through one of its units was so long.
#[inline]
pub fn note_loop(worker: &Worker, longest: u64) {
    if longest > 0
        && let Some(task) = profiled_task(worker)
    {
        task.path.extend(longest);
    }
}

/// The caller's task has done nothing but give its work back.
pub fn note_given_back(worker: &Worker) {
    profiled_task(worker).inspect(|task| task.path.make_void());
}

/// The caller's task, which belongs to the group, has called its function.
#[inline]
pub fn note_group_end(worker: &Worker, group: usize) {
    if let Some(watch) = worker.watch() {
        note_group_end_in(watch, worker, group);
    }
}

#[cold]
fn note_group_end_in(watch: &Watch, worker: &Worker, group: usize) {
    detector::release(ptr::without_provenance::<()>(group));
    if let Some(task) = profiled_task(worker) {
        task.path.settle(clock::ticks());
        watch.profile().inspect(|profile| profile.leave(group, task.path.length()));
    }
}

/// The caller has waited for the group.
#[inline]
pub fn note_group_over(worker: Option<&Worker>, group: usize) {
    let Some(worker) = worker else { return };
    if let Some(task) = profiled_task(worker) {
        let profile = worker.watch().and_then(Watch::profile);
        let longest = profile.and_then(|profile| profile.forget(group));
        longest.inspect(|longest| task.path.meet(longest, clock::ticks()));
    }
}
