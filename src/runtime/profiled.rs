//! What loops, groups and joins tell the profile of a run. Some paths branch and meet at places
//! where no task begins, ends, is suspended or wakes another one; [`steps`](super::steps) does not
//! see these places.

use crate::profile::path::{Lengths, Point};
use crate::runtime::identity::Mine;
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

/// True if the worker's run, which has not ended, is profiled.
pub fn is_profiled(worker: &Worker) -> bool {
    worker.sums().is_some()
}

/// The lengths of the paths to where the caller is, if the run is profiled.
#[inline]
pub fn path_lengths(worker: &Worker) -> Option<Lengths> {
    profiled_task(worker).map(|task| task.path.lengths_at(clock::ticks()))
}

/// Calls `aside`, which counts as parallel to the rest of the caller's task. Afterwards the paths
/// of the task go on from the lengths that they had before the call. Returns the lengths of the
/// paths through `aside`, if the run is profiled.
#[inline]
pub fn call_aside(worker: &Worker, aside: impl FnOnce()) -> Option<Lengths> {
    if is_profiled(worker) {
        return call_aside_of_path(worker, aside);
    }
    aside();
    None
}

/// Apart from `call_aside`, so that the stack has a `Point` in profiled runs only.
#[cold]
#[inline(never)]
fn call_aside_of_path(worker: &Worker, aside: impl FnOnce()) -> Option<Lengths> {
    let Some(task) = profiled_task(worker) else {
        aside();
        return None;
    };
    let before = Point::default();
    task.path.mark(&before, clock::ticks());
    aside();
    Some(task.path.set_back(&before, clock::ticks()))
}

/// The caller's loop of `units` units is over. `before`: the lengths of the paths before the loop;
/// `longest`: those of the longest paths through one unit. The workers have halved the loop again
/// and again. At each halving, one half may have moved to another worker, and its end may have
/// moved back. So the burdened path has two moves for each halving. (Some halves really were tasks.
/// Their own moves are not added, since the next run makes tasks of other halves.) The time that
/// the owner spends between its chunks is added before the longest unit. If another worker has done
/// that unit in this time, the span is too long by as much.
#[cold]
pub fn note_loop(worker: &Worker, before: Lengths, units: usize, longest: Lengths) {
    let Some(profile) = worker.watch().and_then(Watch::profile) else { return };
    profiled_task(worker).inspect(|task| {
        let now = clock::ticks();
        task.path.settle(now);
        let passed = task.path.lengths_at(now).path.saturating_sub(before.path);
        task.path.extend(longest.path);
        let halvings = u64::from(units.max(1).next_power_of_two().ilog2());
        let moves = 2 * halvings * profile.burden();
        task.path.set_burdened(before.burdened + passed + longest.burdened + moves);
    });
}

/// The caller's task has done nothing but give its work back, or its group is cancelled: the
/// profile does not count it as a task.
#[cold]
pub fn note_not_called(worker: &Worker) {
    profiled_task(worker).inspect(|task| task.path.make_void());
}

/// The caller's task, which belongs to the group, has called its function. What follows until the
/// task ends is the library's.
#[inline]
pub fn note_group_end<G>(worker: &Worker, group: &G) {
    if let Some(watch) = worker.watch() {
        note_group_end_in(watch, worker, group);
    }
}

#[cold]
fn note_group_end_in<G>(watch: &Watch, worker: &Worker, group: &G) {
    detector::own(group);
    detector::release(group);
    detector::ignore_to_the_end();
    let group = ptr::from_ref(group).addr();
    if let Some(task) = profiled_task(worker) {
        task.path.settle(clock::ticks());
        watch.profile().inspect(|profile| profile.leave(group, task.path.length()));
    }
}

/// The caller has waited for the group. (A thread outside of the run must not look at the run,
/// which may end at any moment.)
#[inline]
pub fn note_group_over(worker: Option<&Worker>, group: usize) {
    let Some(worker) = worker else { return };
    let fiber = worker.mine().map(Mine::fiber).or_else(|| worker.section_of_caller());
    if let Some(fiber) = fiber
        && let Some(profile) = worker.watch().and_then(Watch::profile)
        && let Some(longest) = profile.forget(group)
        && let Some(task) = fiber.youngest_task()
    {
        task.path.meet(&longest, profile.burden(), clock::ticks());
    }
}
