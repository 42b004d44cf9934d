//! A session: all repetitions of all setups, interleaved, with progress and failures.
//!
//! The repetition is the outer loop. In each repetition the programs come in an order that is
//! shuffled anew, and each program under all its settings, which are also shuffled. So a slow
//! minute of the machine affects all settings of a program equally, and compared values were
//! measured seconds apart.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

use super::bench::Bench;
use super::output::Line;
use super::plan::{Planned, program_named};
use super::progress::Progress;
use crate::data::{About, Case, Session};
use crate::machine::{Machine, calibrate};

/// After this many failures the session ends: the rest would only repeat them.
const MOST_FAILURES: usize = 10;

/// How often each setting is measured.
pub struct Repetitions {
    pub least: usize,
    pub most: usize,
    /// After `least` repetitions, a further one is begun only if it would end within this time.
    pub budget: Duration,
}

/// Runs all of it. In `bench` what takes as long as it is told is run once; the laboratory compares
/// within rounds, and needs all of them.
pub fn run(
    bench: &Bench,
    machine: Machine,
    cases: &[Planned],
    wanted: &Repetitions,
    (seed, all_rounds): (u64, bool),
) -> Session {
    let start = Instant::now();
    let mut random = StdRng::seed_from_u64(seed);
    let mut order = cases.to_vec();
    let mut running = Running {
        session: Session { about: About::new(machine), cases: Vec::new() },
        answers: HashMap::new(),
        all_rounds,
    };
    let apart = cases.iter().filter(|p| counts_apart(p)).count();
    let once = cases.iter().filter(|p| running.is_once(p)).count();
    let progress = Progress::new(wanted.most * (cases.len() - once) + once + apart);
    for repetition in 1..=wanted.most {
        let average = start.elapsed() / repetition.saturating_sub(1).max(1) as u32;
        if repetition > wanted.least && start.elapsed() + average > wanted.budget {
            break;
        }
        running.session.about.calibration.push(calibrate(bench.cores));
        shuffle(&mut order, &mut random);
        order.retain(|planned| {
            running.session.about.failures.len() >= MOST_FAILURES
                || running.measure(bench, planned, repetition, &progress)
        });
        if running.session.about.failures.len() >= MOST_FAILURES {
            let end = "too many failures, the rest was not run";
            running.session.about.failures.push(end.into());
            break;
        }
        running.session.about.rounds = repetition;
        progress.repetition(repetition, wanted.most);
    }
    let mut session = running.session;
    session.about.calibration.push(calibrate(bench.cores));
    progress.end();
    session.about.end(start.elapsed());
    session
}

/// A program, its size and its data.
type What = (String, u64, Option<String>);
/// A case, its checksum, and its number of tasks.
type Answer = (String, String, u64);

struct Running {
    session: Session,
    /// The first answer of each program; if the answer depends on the data, the first answer for
    /// each of its data.
    answers: HashMap<What, Answer>,
    all_rounds: bool,
}

impl Running {
    /// Measures a case once; false if it must not be measured again, because it failed, or because
    /// once is enough.
    fn measure(&mut self, bench: &Bench, planned: &Planned, round: usize, at: &Progress) -> bool {
        let Planned { case, stats, .. } = planned;
        at.start(case);
        let apart = counts_apart(planned);
        let mut passes = vec![(true, !apart && *stats)];
        if apart && round == 1 {
            passes.push((false, true));
        }
        for (timed, stats) in passes {
            let (line, stats) = match bench.run(case, stats) {
                Ok(found) => found,
                Err(e) => {
                    let failure = format!("{case}: {e:#}");
                    at.failure(&failure);
                    self.session.about.failures.push(failure);
                    return false;
                }
            };
            let counters = stats.iter().flat_map(|stats| stats.values());
            let values = if timed { line.values.clone() } else { Default::default() };
            let values = values.into_iter().chain(counters).collect();
            self.session.add(case, line.tasks, Some(round), values);
            self.compare(planned, &line);
            at.step();
        }
        !self.is_once(planned)
    }

    /// Runs of a program that disagree on the answer or on the number of tasks fail.
    fn compare(&mut self, planned: &Planned, line: &Line) {
        let Planned { case, by_data, .. } = planned;
        let data = case.data.clone().filter(|_| *by_data);
        let said = (case.to_string(), line.checksum.clone(), line.tasks);
        let key = (case.program.clone(), case.n, data);
        let (other, checksum, tasks) = self.answers.entry(key).or_insert_with(|| said.clone());
        let varies = program_named(&case.program).is_some_and(|p| p.varies);
        if *checksum != line.checksum || !varies && *tasks != line.tasks {
            self.session.about.failures.push(format!(
                "{case}: checksum {} and {} tasks, but {other}: checksum {checksum} and {tasks} tasks",
                line.checksum, line.tasks
            ));
        }
    }

    fn is_once(&self, planned: &Planned) -> bool {
        !self.all_rounds && program_named(&planned.case.program).is_some_and(|p| p.once)
    }
}

/// The settings that the library refuses, and its messages: tries each on a run of two tasks.
pub fn refused(bench: &Bench, cases: &[Planned]) -> Vec<(Case, String)> {
    /// The beginning of the library's message about a value that it does not accept.
    const REFUSAL: &str = "libsched: SCHED_";
    let mut seen = HashSet::new();
    let with_kind = cases.iter().map(|p| &p.case).filter(|case| case.by != "none");
    let settings = with_kind.filter(|case| seen.insert(case.variables()));
    let why = |case: &Case| {
        let probe = Case { program: "tree".into(), n: 1, threads: 2, data: None, ..case.clone() };
        let error = format!("{:#}", bench.run(&probe, false).err()?);
        // Any other error occurs again when the setting is measured, and counts as a failure then.
        let line = error.lines().find_map(|line| Some(line.split_once(REFUSAL)?.1))?;
        Some((case.clone(), format!("SCHED_{line}")))
    };
    settings.filter_map(why).collect()
}

/// Shuffles the programs (each with each of its data), and the settings of each.
fn shuffle(order: &mut [Planned], random: &mut StdRng) {
    order.shuffle(random);
    let mut place = HashMap::new();
    for planned in order.iter() {
        let next = place.len();
        place.entry(what(planned)).or_insert(next);
    }
    order.sort_by_key(|planned| place[&what(planned)]);
}

fn what(planned: &Planned) -> What {
    let Case { program, n, data, .. } = planned.case.clone();
    (program, n, data)
}

/// True if the statistics of this case are collected in a run of their own.
fn counts_apart(planned: &Planned) -> bool {
    let Planned { case, stats, .. } = planned;
    *stats && case.by != "none" && program_named(&case.program).is_some_and(|p| p.many_runs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::plan::Plan;

    #[test]
    fn what_is_compared_is_measured_together() {
        let cases = Plan { cores: 2, quick: true }.bench(&[]).unwrap();
        let mut order = cases.clone();
        shuffle(&mut order, &mut StdRng::seed_from_u64(1));
        assert_ne!(order, cases);
        let runs = order.chunk_by(|a, b| what(a) == what(b)).count();
        let distinct: HashSet<_> = cases.iter().map(what).collect();
        assert_eq!(runs, distinct.len());
    }
}
