//! The DAG of a recorded run: each task is a sequence of steps. A step is a time to compute, and
//! the operation that follows it.
//!
//! # What a stamp costs, and who pays it
//!
//! Reading the clock takes longer than a small task. So a process records its run several times, in
//! turn with stamps and without. Each interval is the median of the runs with stamps, so that an
//! interval that was interrupted in one run counts like the others. The sum of the intervals
//! exceeds the time of the runs without stamps by what the stamps took in this very program. (Of
//! the runs without stamps of one process the least counts, because other users of the machine only
//! add to the time; of several processes the middle counts, because one is some per cent faster
//! than another by where its memory lies.) This excess, divided by the number of stamps, is
//! subtracted from each interval, and the rest is scaled so that the sum is right. Therefore single
//! intervals of a few nanoseconds cannot be trusted, but sums of many can.
//!
//! # A busy machine
//!
//! If others interrupted a run, their time is in its intervals. The processor time of the run tells
//! how much: runs that lost more than [`CALM`] of their time are left out if there are others, and
//! [`Graph::lost`] says how much the remaining runs lost. Time in blocking sections is not lost,
//! because a task needs no processor there. Nothing is subtracted from it, and it is no work.
//!
//! The time of the recorder's own queue is not subtracted: it is the floor to which the simulator
//! adds what a policy costs beyond it. Only the cost of its growth is subtracted, because the
//! queues of other policies do not grow at the same tasks.

use anyhow::{Context, Result, bail, ensure};

use sched_estimate::Estimate;

use crate::tape::{Op, Recording, Run};

/// The part of its time that a run may lose to other users of the machine.
pub const CALM: f64 = 0.1;

/// What a task does after it has computed for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    Spawn(u32),
    Fork(u32),
    Join(u32),
    /// The task waits for the tasks of a group.
    Wait(u32),
    /// The task begins a blocking section. The next step is the section, and ends with `Unblock`.
    Block,
    Unblock,
    End,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    pub nanoseconds: f32,
    pub then: Then,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    /// Its first step.
    pub first: u32,
    pub group: Option<u32>,
    /// True if it was forked, not spawned.
    pub forked: bool,
}

/// Task 0 is the first. A task's number is greater than that of the task that spawned it.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    pub tasks: Vec<Task>,
    pub steps: Vec<Step>,
    pub groups: u32,
    /// The greatest part of its time that a recorded run lost to other users of the machine.
    pub lost: f64,
}

impl Graph {
    /// The graph of recordings of the same run, each by a process of its own. A task that makes the
    /// recorder's queue longer than it ever was in the run costs more than other tasks; `growth`
    /// returns the additional nanoseconds for that length.
    pub fn of(recordings: &[Recording], growth: impl Fn(usize) -> f64) -> Result<Graph> {
        let stamp = recordings.first().context("there is no recording")?.stamp;
        let runs = || recordings.iter().flat_map(|recording| &recording.runs);
        let is_timed = |run: &&Run| !run.ops.is_empty();
        // The first run of a process finds cold memory, of the program and of the recorder.
        let warm = recordings.iter().flat_map(|recording| recording.runs.iter().skip(1));
        let mut timed: Vec<&Run> = warm.filter(is_timed).collect();
        if timed.is_empty() {
            timed = runs().filter(is_timed).collect();
        }
        let calm = |run: &&Run| run.lost() <= CALM;
        if timed.iter().any(calm) {
            timed.retain(calm);
        }
        let first = *timed.first().context("no run was recorded task by task")?;
        let same = timed.iter().all(|run| run.ops == first.ops);
        // The program does something different each time: its middle run is taken.
        let (run, mut intervals) = if same {
            (first, medians(&timed))
        } else {
            timed.sort_by(|a, b| a.nanoseconds.total_cmp(&b.nanoseconds));
            let middle = timed[timed.len() / 2];
            (middle, middle.intervals.clone())
        };
        let whole: Vec<f64> = recordings.iter().filter_map(least_whole).collect();
        let whole = Estimate::of(&whole).map(|whole| whole.value);
        let sections = run.in_sections();
        let mut computed: Vec<f32> = outside(&intervals, &sections).copied().collect();
        take_stamps_off(&mut computed, whole, stamp);
        take_growth_off(&mut computed, longest(&run.ops), growth);
        let places = intervals.iter_mut().zip(&sections).filter(|(_, blocked)| !**blocked);
        places.zip(computed).for_each(|((place, _), interval)| *place = interval);
        let lost = timed.iter().map(|run| run.lost()).fold(0.0, f64::max);
        Ok(Graph { lost, ..Graph::from_events(&run.ops, &intervals)? })
    }

    /// An interval before the beginning of a task is the cost of taking it from the queue, and
    /// belongs to the task.
    fn from_events(ops: &[Op], intervals: &[f32]) -> Result<Graph> {
        let mut steps: Vec<Vec<Step>> = vec![Vec::new()];
        let mut groups_of: Vec<Option<u32>> = vec![None];
        let mut begun = vec![0.0]; // nanoseconds before each task began; NaN if it has not begun
        begun[0] = f32::NAN;
        let mut running: Vec<usize> = Vec::new();
        let mut in_section = vec![false];
        let mut groups = 0;
        for (&op, &interval) in ops.iter().zip(intervals) {
            if let Op::Begin(task) = op {
                let task = task as usize;
                ensure!(begun.get(task).is_some_and(|at| at.is_nan()), "task {task} begins twice");
                begun[task] = interval;
                running.push(task);
                continue;
            }
            let &task = running.last().context("something happens outside of any task")?;
            let next = u32::try_from(steps.len())?;
            let then = match op {
                Op::Spawn { .. } => Then::Spawn(next),
                Op::Fork => Then::Fork(next),
                Op::Join(other) => {
                    ensure!((other as usize) < steps.len(), "a join of no task");
                    Then::Join(other)
                }
                Op::Wait(group) => Then::Wait(group),
                Op::Block => Then::Block,
                Op::Unblock => Then::Unblock,
                Op::End | Op::Begin(_) => Then::End,
            };
            let before = std::mem::replace(&mut begun[task], 0.0);
            let nanoseconds = before + interval;
            let step = |nanoseconds, then| Step { nanoseconds, then };
            match then {
                Then::Block | Then::Unblock => {
                    let begins = then == Then::Block;
                    ensure!(
                        in_section[task] != begins,
                        "a section within a section, or the end of none"
                    );
                    in_section[task] = begins;
                    steps[task].push(step(nanoseconds, then));
                }
                // A section contains no other call: the step is cut in two.
                _ if in_section[task] => steps[task].extend([
                    step(nanoseconds, Then::Unblock),
                    step(0.0, then),
                    step(0.0, Then::Block),
                ]),
                _ => steps[task].push(step(nanoseconds, then)),
            }
            match op {
                Op::Spawn { group } => groups_of.push(group),
                Op::Fork => groups_of.push(None),
                Op::End => _ = running.pop(),
                _ => (),
            }
            if groups_of.len() > steps.len() {
                steps.push(Vec::new());
                begun.push(f32::NAN);
                in_section.push(false);
            }
            if let Op::Wait(group) | Op::Spawn { group: Some(group) } = op {
                groups = groups.max(group + 1);
            }
        }
        Graph::from_tasks(steps, groups_of, groups)
    }

    fn from_tasks(steps: Vec<Vec<Step>>, of: Vec<Option<u32>>, groups: u32) -> Result<Graph> {
        let mut graph = Graph { groups, ..Graph::default() };
        for (number, (steps, group)) in steps.into_iter().zip(of).enumerate() {
            let ends = steps.last().is_some_and(|step| step.then == Then::End);
            ensure!(ends, "task {number} has no end: did the program end before its run?");
            let first = u32::try_from(graph.steps.len())?;
            graph.tasks.push(Task { first, group, forked: false });
            graph.steps.extend(steps);
        }
        for step in &graph.steps {
            if let Then::Fork(child) = step.then {
                graph.tasks[child as usize].forked = true;
            }
        }
        Ok(graph)
    }

    /// A graph from the lists of steps of its tasks, for tests.
    pub fn from_lists(tasks: &[&[(f32, Then)]]) -> Result<Graph> {
        let steps = tasks.iter().map(|steps| {
            steps.iter().map(|&(nanoseconds, then)| Step { nanoseconds, then }).collect()
        });
        Graph::from_tasks(steps.collect(), vec![None; tasks.len()], 0)
    }

    /// The steps of a task.
    pub fn steps_of(&self, task: usize) -> &[Step] {
        let end = self.tasks.get(task + 1).map_or(self.steps.len(), |next| next.first as usize);
        &self.steps[self.tasks[task].first as usize..end]
    }

    /// Nanoseconds of all tasks together, without those in blocking sections: T1.
    pub fn work(&self) -> f64 {
        let computes = self.steps.iter().filter(|step| step.then != Then::Unblock);
        computes.map(|step| f64::from(step.nanoseconds)).sum()
    }

    /// Nanoseconds in blocking sections, of all tasks together.
    pub fn blocked(&self) -> f64 {
        let sections = self.steps.iter().filter(|step| step.then == Then::Unblock);
        sections.map(|step| f64::from(step.nanoseconds)).sum()
    }

    /// Nanoseconds of the longest chain of steps that wait for each other: T∞.
    pub fn span(&self) -> Result<f64> {
        self.burdened_span(0.0)
    }

    /// The same, if each edge on which a task may move to another worker takes so many nanoseconds:
    /// from a spawn or fork to the new task, and from the end of a task to the join or group wait.
    pub fn burdened_span(&self, burden: f64) -> Result<f64> {
        let unknown = f64::NAN;
        let (mut start, mut end) =
            (vec![unknown; self.tasks.len()], vec![unknown; self.tasks.len()]);
        let mut members: Vec<Vec<u32>> = vec![Vec::new(); self.groups as usize];
        start[0] = 0.0;
        let mut longest: f64 = 0.0;
        // The tasks that the walk has left in the middle, to follow another task first: task, next
        // step, time.
        let mut open: Vec<(usize, usize, f64)> = Vec::new();
        for first in 0..self.tasks.len() {
            if end[first].is_nan() {
                open.push((first, 0, start[first]));
            }
            'task: while let Some((task, from, mut now)) = open.pop() {
                for (index, step) in self.steps_of(task).iter().enumerate().skip(from) {
                    let awaited = match step.then {
                        Then::Join(other) => &[other][..],
                        Then::Wait(group) => &members[group as usize][..],
                        _ => &[],
                    };
                    if let Some(&missing) = awaited.iter().find(|&&t| end[t as usize].is_nan()) {
                        ensure!(open.len() < self.tasks.len(), "tasks wait for each other");
                        let missing = missing as usize;
                        ensure!(!start[missing].is_nan(), "a join before the fork");
                        open.push((task, index, now));
                        open.push((missing, 0, start[missing]));
                        continue 'task;
                    }
                    now += f64::from(step.nanoseconds);
                    let ends = awaited.iter().map(|&t| end[t as usize] + burden);
                    now = ends.fold(now, f64::max);
                    match step.then {
                        Then::Spawn(child) | Then::Fork(child) => {
                            start[child as usize] = now + burden;
                            if let Some(group) = self.tasks[child as usize].group {
                                members[group as usize].push(child);
                            }
                        }
                        Then::End => end[task] = now,
                        Then::Join(_) | Then::Wait(_) | Then::Block | Then::Unblock => (),
                    }
                }
                if end[task].is_nan() {
                    bail!("task {task} has no end");
                }
                longest = longest.max(end[task]);
            }
        }
        Ok(longest)
    }
}

/// The steps that are not in a blocking section.
fn outside<'a>(intervals: &'a [f32], sections: &'a [bool]) -> impl Iterator<Item = &'a f32> {
    let both = intervals.iter().zip(sections);
    both.filter(|(_, blocked)| !**blocked).map(|(interval, _)| interval)
}

/// Nanoseconds of the fastest run without stamps, if there is one.
fn least_whole(recording: &Recording) -> Option<f64> {
    let whole = recording.runs.iter().filter(|run| run.ops.is_empty());
    whole.map(|run| run.nanoseconds).reduce(f64::min)
}

/// The median of each interval over all runs, which have the same ops.
fn medians(runs: &[&Run]) -> Vec<f32> {
    let mut all = vec![0.0; runs.len()];
    (0..runs[0].intervals.len())
        .map(|i| {
            for (value, run) in all.iter_mut().zip(runs) {
                *value = run.intervals[i];
            }
            all.sort_by(f32::total_cmp);
            all[all.len() / 2]
        })
        .collect()
}

/// Subtracts the cost of the stamps, as described above. `whole`: nanoseconds of a run without
/// stamps. If there is none, a stamp is taken to cost what it costs in a loop.
fn take_stamps_off(intervals: &mut [f32], whole: Option<f64>, in_a_loop: f64) {
    let sum = |intervals: &[f32]| intervals.iter().map(|&x| f64::from(x)).sum::<f64>();
    let with = sum(intervals);
    let count = intervals.len() as f64;
    let stamp = whole.map_or(in_a_loop, |whole| ((with - whole) / count).max(0.0));
    for interval in &mut *intervals {
        *interval = (f64::from(*interval) - stamp).max(0.0) as f32;
    }
    let target = whole.unwrap_or(with - stamp * count).max(0.0);
    let left = sum(intervals);
    if left > 0.0 {
        intervals.iter_mut().for_each(|x| *x = (f64::from(*x) * target / left) as f32);
    }
}

/// The greatest number of tasks that the recorder had queued.
fn longest(ops: &[Op]) -> usize {
    let (mut queued, mut longest) = (1usize, 0); // the first task
    for op in ops {
        match op {
            Op::Spawn { .. } | Op::Fork => queued += 1,
            Op::Begin(_) => queued = queued.saturating_sub(1),
            Op::End | Op::Join(_) | Op::Wait(_) | Op::Block | Op::Unblock => (),
        }
        longest = longest.max(queued);
    }
    longest
}

/// Subtracts the cost of the growth of the recorder's queue: the same part of all intervals,
/// because single intervals are not known well enough.
fn take_growth_off(intervals: &mut [f32], longest: usize, growth: impl Fn(usize) -> f64) {
    let sum = intervals.iter().map(|&x| f64::from(x)).sum::<f64>();
    let off = (1..=longest).map(growth).sum::<f64>();
    if sum > 0.0 {
        let part = (1.0 - off / sum).max(0.0);
        intervals.iter_mut().for_each(|x| *x = (f64::from(*x) * part) as f32);
    }
}

#[cfg(test)]
mod tests;
