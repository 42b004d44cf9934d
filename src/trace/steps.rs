//! The state of a task before it resumes. An event tells where a task resumes, and not where it was
//! left, so that recording it costs no more. When the text of a run is made, one table has the
//! steps of all tasks that were left in the middle:
//!
//! ```text
//! task 7   begins on worker 0 | resumes on worker 0 | resumes on worker 3 | ...
//! task 9   begins on worker 1 | blocks | resumes on worker 2
//! ```
//! The table is sorted by task and time, so a binary search finds the previous step. The times come
//! from the clocks of different processors. Two steps of a task are further apart than these clocks
//! differ, since the task is left and queued between them.
//!
//! Tasks that were never left are not in the table; usually these are nearly all tasks. To make the
//! table, the tracks are read twice: first for the steps with which tasks resume, then for the
//! other steps of the same tasks. Without memory the table is empty, and no previous step is found.

use crate::trace::event::{Event, Kind};
use crate::trace::track::Track;

/// The steps, sorted by task and time. The worker of a step is the worker of its track.
#[derive(Default)]
pub struct Steps(Vec<Event>);

impl Steps {
    pub fn of(tracks: &[Track]) -> Steps {
        let mut steps = Vec::new();
        let goes_on = |event: &Event, _: &[Event]| {
            matches!(event.kind, Kind::Again | Kind::Resume | Kind::Unblock)
        };
        let before = |event: &Event, going_on: &[Event]| {
            matches!(event.kind, Kind::Begin | Kind::Block) && has_task(going_on, event.task)
        };
        let all = add(&mut steps, tracks, goes_on).and_then(|()| add(&mut steps, tracks, before));
        all.map_or(Steps::default(), |()| Steps(steps))
    }

    /// True if the task was left in the middle and has resumed.
    pub fn has(&self, task: u64) -> bool {
        has_task(&self.0, task)
    }

    pub fn before(&self, task: u64, time: u64) -> Option<&Event> {
        let at = self.0.partition_point(|event| (event.task, event.time) < (task, time));
        self.0[..at].last().filter(|before| before.task == task)
    }
}

/// Adds the events for which `wanted` returns true, and sorts all by task and time. `wanted` also
/// gets the sorted events that were there before the call. None means that there is no memory.
pub(super) fn add(
    steps: &mut Vec<Event>,
    tracks: &[Track],
    wanted: impl Fn(&Event, &[Event]) -> bool,
) -> Option<()> {
    let before = steps.len();
    for (worker, track) in tracks.iter().enumerate() {
        for event in track.ring().events() {
            if wanted(&event, &steps[..before]) {
                steps.try_reserve(1).ok()?;
                steps.push(Event { worker: worker as u16, ..event }); // within the capacity
            }
        }
    }
    steps.sort_unstable_by_key(key);
    Some(())
}

/// The sort key. In one tick of a slow clock a task may begin or resume, and then block.
fn key(event: &Event) -> (u64, u64, bool) {
    (event.task, event.time, event.kind == Kind::Block)
}

fn has_task(sorted: &[Event], task: u64) -> bool {
    sorted.binary_search_by_key(&task, |event| event.task).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_begins_before_it_blocks_in_the_same_tick() {
        let step = |time, kind| Event { task: 7, ..Event::plain(time, kind, 1, 0) };
        let same_tick = [step(100, Kind::Begin), step(100, Kind::Block)];
        for [first, second] in [same_tick, [same_tick[1], same_tick[0]]] {
            let mut steps = vec![step(200, Kind::Unblock), first, second];
            steps.sort_unstable_by_key(key);
            let steps = Steps(steps);
            assert_eq!(steps.before(7, 200).map(|before| before.kind), Some(Kind::Block));
            assert_eq!(steps.before(7, 100), None);
        }
    }
}
