//! The profile's view of loops, groups and joins, where paths branch and meet although no task
//! begins, ends, is suspended or wakes another: [`steps`](super::steps) does not see these places.

use crate::profile::path::{Lengths, Point};
use crate::runtime::identity::Mine;
use crate::runtime::record::Worker;
use crate::runtime::watch::{Watch, Watched};
use crate::sys::{clock, detector};
use std::ptr;

/// The calling thread's youngest task on this worker, or on the worker of the same run that it
/// occupies by now. None if the run is not profiled.
#[inline]
fn profiled_task(worker: &Worker) -> Option<&Watched> {
    worker.sums()?;
    worker.mine().and_then(|mine| mine.fiber().youngest_task())
}

/// True if the worker's run, which has not ended, is profiled.
pub fn is_profiled(worker: &Worker) -> bool {
    worker.sums().is_some()
}

/// The lengths of the paths to the caller's present position, if the run is profiled.
#[inline]
pub fn path_lengths(worker: &Worker) -> Option<Lengths> {
    profiled_task(worker).map(|task| task.path.lengths_at(clock::ticks()))
}

/// Calls `aside`, which counts as parallel to the rest of the caller's task: afterwards the paths
/// of the task have the lengths from before the call again. Returns the lengths of the paths
/// through `aside`, if the run is profiled.
#[inline]
pub fn call_aside(worker: &Worker, aside: impl FnOnce()) -> Option<Lengths> {
    if is_profiled(worker) {
        return call_aside_of_path(worker, aside);
    }
    aside();
    None
}

/// A separate function, so that only profiled runs have a `Point` on the stack.
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

/// Called when the caller's loop of `units` units is over. `before` has the lengths of the paths
/// before the loop, and `longest` the lengths of the longest paths through one unit.
///
/// The workers have halved the loop repeatedly. At each halving, one half may have moved to another
/// worker, and its end may have moved back. So the burdened path has two moves for each halving.
/// (The moves of halves that really were tasks are not added, since the next run makes tasks of
/// other halves.) The time that the owner spends between its chunks is added before the longest
/// unit; if another worker has done that unit in this time, the span is too long by that time.
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

/// Does not count the caller's task: it has only given its work back, or its group is cancelled.
#[cold]
pub fn note_not_called(worker: &Worker) {
    profiled_task(worker).inspect(|task| task.path.make_void());
}

/// Called when the caller's task, which belongs to a group, has called its function: the library
/// runs the rest of the task.
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

/// Called when the caller has waited for the group. (A thread outside of the run must not look at
/// the run, which may end at any moment.)
#[inline]
pub fn note_group_over(worker: Option<&Worker>, group: usize) {
    let Some(worker) = worker else { return };
    let fiber = worker.mine().map(Mine::fiber).or_else(|| worker.section_of_caller());
    let Some(fiber) = fiber else { return };
    let Some(profile) = worker.watch().and_then(Watch::profile) else { return };
    let Some(longest) = profile.forget(group) else { return };
    let Some(task) = fiber.youngest_task() else { return };
    task.path.meet(&longest, profile.burden(), clock::ticks());
}
