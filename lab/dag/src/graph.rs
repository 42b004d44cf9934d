//! The DAG: for each task the steps it does, each a time to compute and what is done then.
//!
//! # What a stamp costs, and who pays it
//!
//! Reading the clock takes longer than a small task. So a process records its run several times,
//! with stamps and without, in turn. Of the runs with stamps each interval is the median: one that
//! was interrupted once counts as the others. Their sum exceeds the time of the runs without stamps
//! (of those of a process the least counts, others on the machine only add to it; of the processes' the
//! middle, since where its memory lies lets one be some per cent faster than the next) by what the stamps took in this
//! very program; so much, divided by their number, is taken off each interval, and what is left is
//! scaled so that the sum is right. Single intervals of a few nanoseconds are therefore not to be
//! trusted, sums of many are.
//!
//! # A busy machine
//!
//! A run that others interrupted has their time in its intervals. What it had of a processor tells
//! how much: runs that lost more than [`CALM`] of their time are left out where there are others, and
//! [`Graph::lost`] says how much those lost that are left. Time in blocking sections is not lost: there
//! a task needs no processor. Nothing is taken off it, and it is no work.
//!
//! The time of the recorder's own queue stays in: it is the floor on which the simulator puts what
//! a policy costs more. Only what its growth cost is taken off, since other policies' queues do not
//! grow where it did.

use anyhow::{Context, Result, bail, ensure};

use sched_estimate::Estimate;

use crate::tape::{Op, Recording, Run};

/// The part of its time that a run may lose to others on the machine.
pub const CALM: f64 = 0.1;

/// What a task does after it has computed for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    Spawn(u32),
    Fork(u32),
    Join(u32),
    /// Waits for the tasks of a group.
    Wait(u32),
    /// Begins a blocking section: the next step is of the section, and ends with `Unblock`.
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
    /// It was forked, not spawned.
    pub forked: bool,
}

/// Task 0 is the first; a task's number is greater than that of the one that spawned it.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    pub tasks: Vec<Task>,
    pub steps: Vec<Step>,
    pub groups: u32,
    /// The greatest part of its time that a recorded run lost to others on the machine.
    pub lost: f64,
}

impl Graph {
    /// Of recordings of the same run, each by a process of its own. `growth` tells the nanoseconds that
    /// the recorder spends on a task that makes its queue so long as it never was in the run, beyond
    /// others.
    pub fn of(recordings: &[Recording], growth: impl Fn(usize) -> f64) -> Result<Graph> {
        let stamp = recordings.first().context("there is no recording")?.stamp;
        let runs = || recordings.iter().flat_map(|recording| &recording.runs);
        let is_timed = |run: &&Run| !run.ops.is_empty();
        // A process's first run finds cold memory, the program's and the recorder's.
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
        // A program that does something else each time: one run of it, the middle one.
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

    /// Recorded while others had the processor for so long that its times are theirs as well.
    pub fn is_disturbed(&self) -> bool {
        self.lost > CALM
    }

    /// An interval before a beginning is the cost of taking the task from the queue: the task's.
    fn from_events(ops: &[Op], intervals: &[f32]) -> Result<Graph> {
        let mut steps: Vec<Vec<Step>> = vec![Vec::new()];
        let mut groups_of: Vec<Option<u32>> = vec![None];
        let mut begun = vec![0.0]; // nanoseconds before each task began; NaN: it has not
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
                // Sections without any other call in them: it is cut in two.
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

    /// The steps of a task, from a list that names them: for tests.
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

    /// Nanoseconds of all tasks together, but for those in blocking sections: T1.
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
        let unknown = f64::NAN;
        let (mut start, mut end) =
            (vec![unknown; self.tasks.len()], vec![unknown; self.tasks.len()]);
        let mut members: Vec<Vec<u32>> = vec![Vec::new(); self.groups as usize];
        start[0] = 0.0;
        let mut longest: f64 = 0.0;
        // Tasks in the middle of which another has to be followed first: task, next step, time.
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
                    let ends = awaited.iter().map(|&t| end[t as usize]);
                    now = ends.fold(now, f64::max);
                    match step.then {
                        Then::Spawn(child) | Then::Fork(child) => {
                            start[child as usize] = now;
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

/// Those that are of no blocking section.
fn outside<'a>(intervals: &'a [f32], sections: &'a [bool]) -> impl Iterator<Item = &'a f32> {
    let both = intervals.iter().zip(sections);
    both.filter(|(_, blocked)| !**blocked).map(|(interval, _)| interval)
}

/// Nanoseconds of the fastest run without stamps, if there was one.
fn least_whole(recording: &Recording) -> Option<f64> {
    let whole = recording.runs.iter().filter(|run| run.ops.is_empty());
    whole.map(|run| run.nanoseconds).reduce(f64::min)
}

/// Of each interval the median of all runs, which have the same ops.
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

/// See above; `whole`: nanoseconds of a run without stamps, if there was one; else the stamps are
/// believed to have taken what they take in a loop.
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

/// The most tasks that the recorder had queued.
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

/// See above: evenly off all, since single ones are not known so well.
fn take_growth_off(intervals: &mut [f32], longest: usize, growth: impl Fn(usize) -> f64) {
    let sum = intervals.iter().map(|&x| f64::from(x)).sum::<f64>();
    let off = (1..=longest).map(growth).sum::<f64>();
    if sum > 0.0 {
        let part = (1.0 - off / sum).max(0.0);
        intervals.iter_mut().for_each(|x| *x = (f64::from(*x) * part) as f32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(intervals: &[f32], ops: &[Op]) -> Run {
        let nanoseconds = intervals.iter().map(|&x| f64::from(x)).sum();
        Run { nanoseconds, wall: nanoseconds, ops: ops.to_vec(), intervals: intervals.to_vec() }
    }

    /// Two forked tasks, of which one is joined on top of the first and both take 100 and 50.
    const FORKS: [Op; 9] = [
        Op::Begin(0),
        Op::Fork,
        Op::Fork,
        Op::Join(2),
        Op::Begin(2),
        Op::End,
        Op::Join(1),
        Op::Begin(1),
        Op::End,
    ];

    #[test]
    fn tasks_get_their_own_intervals() {
        let ops: Vec<Op> = FORKS.into_iter().chain([Op::End]).collect();
        let times = [1.0, 10.0, 10.0, 5.0, 2.0, 100.0, 3.0, 4.0, 50.0, 7.0];
        let graph = Graph::from_events(&ops, &times).unwrap();
        let step = |nanoseconds, then| Step { nanoseconds, then };
        let first = [
            step(11.0, Then::Fork(1)),
            step(10.0, Then::Fork(2)),
            step(5.0, Then::Join(2)),
            step(3.0, Then::Join(1)),
            step(7.0, Then::End),
        ];
        assert_eq!(graph.steps_of(0), first);
        assert_eq!(graph.steps_of(1), [step(54.0, Then::End)]);
        assert_eq!(graph.steps_of(2), [step(102.0, Then::End)]);
        assert_eq!(graph.work(), 192.0);
        assert_eq!(graph.span().unwrap(), 11.0 + 10.0 + 102.0 + 3.0 + 7.0);
    }

    #[test]
    fn a_group_ends_with_its_longest() {
        let member = Op::Spawn { group: Some(1) };
        let ops = [
            Op::Begin(0),
            member,
            member,
            Op::Spawn { group: None },
            Op::Wait(1),
            Op::Begin(2),
            Op::End,
            Op::Begin(1),
            Op::End,
            Op::End,
            Op::Begin(3),
            Op::End,
        ];
        let times = [0.0, 1.0, 1.0, 1.0, 1.0, 0.0, 30.0, 0.0, 90.0, 1.0, 0.0, 500.0];
        let graph = Graph::from_events(&ops, &times).unwrap();
        assert_eq!(graph.span().unwrap(), 503.0);
        let shorter: Vec<f32> = times.iter().map(|&t| if t == 500.0 { 2.0 } else { t }).collect();
        assert_eq!(Graph::from_events(&ops, &shorter).unwrap().span().unwrap(), 92.0);
    }

    #[test]
    fn a_recording_without_an_end_is_refused() {
        assert!(Graph::from_events(&FORKS, &[1.0; 9]).is_err());
        assert!(Graph::from_events(&[Op::End], &[1.0]).is_err());
        assert!(Graph::from_events(&[Op::Begin(0), Op::Begin(0)], &[1.0; 2]).is_err());
    }

    #[test]
    fn stamps_are_taken_off_and_the_sum_is_that_without() {
        let ops = [Op::Begin(0), Op::Spawn { group: None }, Op::End, Op::Begin(1), Op::End];
        let whole = |nanoseconds| Run { nanoseconds, ..Run::default() };
        let recording = Recording {
            stamp: 1.0,
            runs: vec![
                run(&[900.0; 5], &ops), // cold
                whole(150.0),
                run(&[20.0, 20.0, 120.0, 20.0, 70.0], &ops),
                whole(150.0),
                run(&[20.0, 20.0, 9000.0, 20.0, 70.0], &ops), // interrupted
                whole(4000.0),
                whole(150.0),
                run(&[20.0, 20.0, 120.0, 20.0, 70.0], &ops),
            ],
        };
        let graph = Graph::of(&[recording], |_| 0.0).unwrap();
        // 250 with stamps, 150 without: each takes 20.
        assert!((graph.work() - 150.0).abs() < 1e-3);
        assert!((graph.steps_of(0)[1].nanoseconds - 100.0).abs() < 1e-3);
        assert!((graph.steps_of(1)[0].nanoseconds - 50.0).abs() < 1e-3);
        assert_eq!(graph.steps_of(0)[0].nanoseconds, 0.0);
    }

    #[test]
    fn of_processes_the_middle_of_their_fastest_runs_counts() {
        let ops = [Op::Begin(0), Op::End];
        let whole = |nanoseconds| Run { nanoseconds, ..Run::default() };
        let recordings = [60.0, 40.0, 900.0, 50.0].map(|fastest| Recording {
            stamp: 1.0,
            runs: vec![run(&[0.0, 200.0], &ops), whole(fastest + 70.0), whole(fastest)],
        });
        assert!((Graph::of(&recordings, |_| 0.0).unwrap().work() - 57.5).abs() < 1e-3);
    }

    #[test]
    fn what_the_queue_of_the_recorder_cost_to_grow_is_taken_off() {
        let spawn = Op::Spawn { group: None };
        let first = [Op::Begin(0), spawn, spawn, spawn, Op::End];
        let others = [3, 2, 1].map(|task| [Op::Begin(task), Op::End]);
        let ops = [&first[..], &others.concat()].concat();
        assert_eq!(longest(&ops), 3);
        assert_eq!(longest(&FORKS), 2);
        let recording =
            Recording { stamp: 0.0, runs: vec![run(&[10.0; 11], &ops), run(&[10.0; 11], &ops)] };
        let graph = Graph::of(&[recording], |length| if length > 1 { 11.0 } else { 0.0 }).unwrap();
        assert!((graph.work() - 88.0).abs() < 1e-3);
    }

    #[test]
    fn without_a_whole_run_a_stamp_takes_what_it_takes_in_a_loop() {
        let ops = [Op::Begin(0), Op::End];
        let recording = Recording { stamp: 8.0, runs: vec![run(&[10.0, 50.0], &ops)] };
        assert_eq!(Graph::of(&[recording], |_| 0.0).unwrap().work(), 44.0);
    }

    #[test]
    fn runs_that_lost_their_processor_are_left_out_or_told() {
        let ops = [Op::Begin(0), Op::End];
        let calm = |interval| run(&[0.0, interval], &ops);
        let busy = || Run { nanoseconds: 240.0, ..run(&[0.0, 2342.0], &ops) };
        let graph = |runs| Graph::of(&[Recording { stamp: 0.0, runs }], |_| 0.0).unwrap();
        let some = graph(vec![calm(1.0), busy(), calm(230.0), busy(), calm(250.0), calm(240.0)]);
        assert_eq!((some.work(), some.lost), (240.0, 0.0));
        let all = graph(vec![busy(), busy()]);
        assert!(all.is_disturbed() && (all.lost - 0.8975).abs() < 1e-4);
        assert!(!graph(vec![calm(1.0)]).is_disturbed());
    }

    #[test]
    fn time_in_a_section_is_no_work_but_is_of_the_longest_chain() {
        let ops = [Op::Begin(0), Op::Block, Op::Unblock, Op::End];
        let blocks = Run { nanoseconds: 40.0, ..run(&[10.0, 10.0, 5000.0, 20.0], &ops) };
        let whole = Run { nanoseconds: 31.0, wall: 5031.0, ..Run::default() };
        let recording = Recording { stamp: 3.0, runs: vec![blocks, whole] };
        let graph = Graph::of(&[recording], |_| 0.0).unwrap();
        assert!((graph.work() - 31.0).abs() < 1e-4);
        assert!((graph.span().unwrap() - 5031.0).abs() < 1e-3);
        assert_eq!(graph.blocked(), 5000.0);
        let then: Vec<Then> = graph.steps.iter().map(|step| step.then).collect();
        assert_eq!(then, [Then::Block, Then::Unblock, Then::End]);
        assert!(!graph.is_disturbed());
    }

    #[test]
    fn a_spawn_in_a_section_cuts_it_in_two() {
        let spawn = Op::Spawn { group: None };
        let ops = [Op::Begin(0), Op::Block, spawn, Op::Unblock, Op::End, Op::Begin(1), Op::End];
        let graph = Graph::from_events(&ops, &[0.0, 1.0, 20.0, 30.0, 2.0, 0.0, 5.0]).unwrap();
        let steps = graph.steps_of(0).iter().map(|step| (step.nanoseconds, step.then));
        let expected = [
            (1.0, Then::Block),
            (20.0, Then::Unblock),
            (0.0, Then::Spawn(1)),
            (0.0, Then::Block),
            (30.0, Then::Unblock),
            (2.0, Then::End),
        ];
        assert_eq!(steps.collect::<Vec<_>>(), expected);
        assert_eq!(graph.work(), 8.0);
        let nested = [Op::Begin(0), Op::Block, Op::Block];
        assert!(Graph::from_events(&nested, &[0.0; 3]).is_err());
    }
}
