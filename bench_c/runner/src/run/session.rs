//! A session: all repetitions of all setups, interleaved, with progress and failures.
//!
//! The repetition is the outer loop. In each repetition the programs come in an order that is
//! shuffled anew, and each program under all its settings, which are shuffled, too. So a slow
//! minute of the machine affects all settings of a program alike, and what is compared was measured
//! seconds apart.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

use super::progress::Progress;
use crate::run::bench::{Bench, Run};
use crate::run::machine::{Calibration, calibrate};
use crate::run::programs::{OVERHEADS, program_named};
use crate::run::setup::{Group, Kind, Setup};

/// After so many failures the session ends: the rest would only repeat them.
const MOST_FAILURES: usize = 10;

/// How often each setting is measured.
pub struct Repetitions {
    pub least: usize,
    pub most: usize,
    /// After `least` repetitions, a further one is begun only if it would end within this time.
    pub budget: Duration,
}

pub struct Session {
    pub runs: Vec<Run>,
    /// Runs that failed, and runs that disagree.
    pub failures: Vec<String>,
    /// The number of repetitions that were done.
    pub repetitions: usize,
    /// Measured before each repetition and at the end.
    pub calibration: Vec<Calibration>,
}

impl Session {
    pub fn run(bench: &Bench, setups: &[Setup], wanted: &Repetitions, seed: u64) -> Session {
        let start = Instant::now();
        let mut random = StdRng::seed_from_u64(seed);
        let mut order = setups.to_vec();
        let mut session = Session {
            runs: Vec::new(),
            failures: Vec::new(),
            repetitions: 0,
            calibration: Vec::new(),
        };
        let extra = setups.iter().filter(|s| counts_apart(s)).count();
        let once = setups.iter().filter(|s| once(s)).count();
        let progress = Progress::new(wanted.most * (setups.len() - once) + once + extra);

        for repetition in 1..=wanted.most {
            let average = start.elapsed() / repetition.saturating_sub(1).max(1) as u32;
            if repetition > wanted.least && start.elapsed() + average > wanted.budget {
                break;
            }
            session.calibration.push(calibrate(bench.cores));
            shuffle(&mut order, &mut random);
            order.retain(|setup| {
                session.failures.len() >= MOST_FAILURES
                    || session.measure(bench, setup, repetition, &progress)
            });
            if session.failures.len() >= MOST_FAILURES {
                session.failures.push("too many failures, the rest was not run".into());
                break;
            }
            session.repetitions = repetition;
            progress.repetition(repetition, wanted.most);
        }
        session.calibration.push(calibrate(bench.cores));
        progress.end();
        session.failures.extend(session.disagreements());
        session
    }

    /// Measures `setup` once; false if it must not be measured again, because it failed, or because
    /// once is enough.
    fn measure(&mut self, bench: &Bench, setup: &Setup, repetition: usize, at: &Progress) -> bool {
        at.start(setup);
        let apart = counts_apart(setup);
        // Statistics would be a further observer of those that are observed. The statistics of the
        // default pool are not those of one run.
        let without = matches!(setup.group, Group::Observed | Group::Outside);
        let mut passes = vec![(true, !apart && !without)];
        if apart && repetition == 1 {
            passes.push((false, true));
        }
        for (timed, stats) in passes {
            match bench.run(setup, stats) {
                Ok((line, stats)) => {
                    let setup = setup.clone();
                    self.runs.push(Run { setup, repetition, timed, line, stats });
                }
                Err(e) => {
                    let failure = format!("{setup}: {e:#}");
                    at.failure(&failure);
                    self.failures.push(failure);
                    return false;
                }
            }
            at.step();
        }
        !once(setup)
    }

    /// Runs of a program that disagree on the answer or on the number of tasks.
    fn disagreements(&self) -> Vec<String> {
        let mut first: HashMap<_, &Run> = HashMap::new();
        let mut found = Vec::new();
        for run in &self.runs {
            let setup = &run.setup;
            // These run a program with several sizes and data.
            let is_varied = matches!(setup.group, Group::Lab | Group::Observed | Group::Outside);
            let data = is_varied.then_some((setup.n, setup.data));
            let other = first.entry((setup.program, data)).or_insert(run);
            let same_tasks = tasks_vary(setup) || other.line.tasks == run.line.tasks;
            if other.line.checksum != run.line.checksum || !same_tasks {
                found.push(format!(
                    "{}: checksum {} and {} tasks, but {}: checksum {} and {} tasks",
                    run.setup,
                    run.line.checksum,
                    run.line.tasks,
                    other.setup,
                    other.line.checksum,
                    other.line.tasks
                ));
            }
        }
        found
    }
}

/// Shuffles the programs (each with each of its data), and the settings of each.
fn shuffle(order: &mut [Setup], random: &mut StdRng) {
    let what = |s: &Setup| (s.program, s.n, s.data);
    order.shuffle(random);
    let mut place = HashMap::new();
    for setup in order.iter() {
        let next = place.len();
        place.entry(what(setup)).or_insert(next);
    }
    order.sort_by_key(|s| place[&what(s)]);
}

/// True if the statistics of this setup are collected in a run of their own.
fn counts_apart(setup: &Setup) -> bool {
    setup.kind != Kind::None && program_named(setup.program).is_some_and(|p| p.many_runs)
}

/// True if the setup is measured once. The lab compares within rounds, and needs all of them.
fn once(setup: &Setup) -> bool {
    setup.group != Group::Lab && program_named(setup.program).is_some_and(|p| p.once)
}

/// True if the number of tasks depends on the setting, as for an overhead.
fn tasks_vary(setup: &Setup) -> bool {
    matches!(setup.group, Group::Overheads | Group::Outside)
        || OVERHEADS.iter().any(|p| p.name == setup.program)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::plan::Plan;

    #[test]
    fn what_is_compared_is_measured_together() {
        let setups = Plan::new(2, true, &[]).setups;
        let mut order = setups.clone();
        shuffle(&mut order, &mut StdRng::seed_from_u64(1));
        assert_ne!(order, setups);
        let what = |s: &Setup| (s.program, s.n, s.data);
        let runs = order.chunk_by(|a, b| what(a) == what(b)).count();
        let distinct: std::collections::HashSet<_> = setups.iter().map(what).collect();
        assert_eq!(runs, distinct.len());
    }
}
