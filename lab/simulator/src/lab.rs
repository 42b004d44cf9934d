//! The experiment: it records the programs, measures the prices, predicts, and compares the
//! predictions with measurements for as many workers as this machine has processors.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Context, Result};
use sched_dag::{Graph, Recording};

use crate::calibrate::Calibration;
use crate::check::Check;
use crate::engine::{Outcome, simulate};
use crate::policy::Policy;
use crate::prices::{Prices, fresh_at};
use crate::process::{self, Places};
use crate::report::{Prediction, Price, Program, Report, WORKERS};

/// A program of bench_c, its size in a full experiment and in a quick one.
const PROGRAMS: [(&str, u64, u64); 5] = [
    ("quicksort", 1 << 18, 1 << 16),
    ("fib", 27, 24),
    ("uts", 7, 6),
    ("flood", 250_000, 60_000),
    ("mandelbrot", 640, 256),
];

/// The number of runs in a recording. Every third has stamps; the first of these finds cold memory.
const RECORDED: usize = 6;

/// The number of runs of a measured process. The first finds cold memory, and does not count.
const MEASURED: usize = 4;

pub struct Options {
    pub places: Places,
    /// Small sizes, and fewer rounds.
    pub quick: bool,
    pub rounds: Option<usize>,
    pub seed: u64,
}

/// A graph, and the program that it was recorded from.
struct Subject {
    name: String,
    n: u64,
    graph: Graph,
}

/// The whole experiment; `progress` is told what is done.
pub fn run(options: &Options, progress: impl Fn(&str)) -> Result<Report> {
    let Options { places, quick, .. } = options;
    let rounds = options.rounds.unwrap_or(if *quick { 8 } else { 20 });
    let known = known(places)?;
    let programs = PROGRAMS.map(|(name, full, small)| (name, if *quick { small } else { full }));
    let mut recordings: [Vec<Recording>; PROGRAMS.len()] = Default::default();
    let mut calibration = Calibration::new(&known);
    let mut measured: BTreeMap<(usize, Policy, usize), Vec<Vec<f64>>> = BTreeMap::new();
    let processors = thread::available_parallelism()?.get();
    // In rounds, so that a change of the machine affects all of them.
    for round in 1..=rounds {
        progress(&format!("recording and measuring, round {round} of {rounds}"));
        for (recordings, (name, n)) in recordings.iter_mut().zip(programs) {
            recordings.push(places.record(name, n, RECORDED)?);
        }
        calibration.round(places)?;
        for (p, (name, n)) in programs.into_iter().enumerate() {
            for &policy in &known {
                for workers in WORKERS.into_iter().filter(|&workers| workers <= processors) {
                    let threads = workers.to_string();
                    let threads = [("SCHED_THREADS", threads.as_str())];
                    let settings = [policy.environment(), &threads].concat();
                    let runs = places.measure(name, n, MEASURED, &settings)?;
                    measured.entry((p, policy, workers)).or_default().push(runs[1..].to_vec());
                }
            }
        }
    }
    progress("predicting");
    let growth = calibration.growth_of_recorder()?;
    let mut subjects = Vec::new();
    for (recordings, (name, n)) in recordings.into_iter().zip(programs) {
        let graph = Graph::of(&recordings, |length| fresh_at(&growth, length))
            .with_context(|| format!("the recording of {name}"))?;
        subjects.push(Subject { name: name.to_owned(), n, graph });
    }
    let mut report = Report::new(&subjects, all_prices(&calibration)?, options.seed)?;
    report.share = calibration.share();
    report.check(&subjects, &measured);
    Ok(report)
}

/// Predicts a recording of the user's. The report lists the reasons to doubt it.
pub fn replay(options: &Options, file: &Path) -> Result<Report> {
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let recording = process::read(file)?;
    let mut calibration = Calibration::new(&known(&options.places)?);
    for _ in 0..3 {
        calibration.round(&options.places)?;
    }
    let growth = calibration.growth_of_recorder()?;
    let graph = Graph::of(&[recording], |length| fresh_at(&growth, length))?;
    let subject = Subject { name, n: 0, graph };
    let report = Report::new(&[subject], all_prices(&calibration)?, options.seed)?;
    Ok(Report { share: calibration.share(), ..report })
}

/// The policies that the library has.
fn known(places: &Places) -> Result<Vec<Policy>> {
    let mut known = Vec::new();
    for policy in Policy::ALL {
        if places.knows(policy.environment())? {
            known.push(policy);
        }
    }
    Ok(known)
}

impl Report {
    /// Predicts each subject, under each policy.
    fn new(subjects: &[Subject], prices: Vec<Price>, seed: u64) -> Result<Report> {
        let jobs: Vec<(&Subject, &Price, usize)> = subjects
            .iter()
            .flat_map(|subject| prices.iter().map(move |price| (subject, price)))
            .flat_map(|(subject, price)| WORKERS.map(|workers| (subject, price, workers)))
            .collect();
        let outcomes = in_parallel(&jobs, |&(subject, price, workers)| {
            simulate(&subject.graph, price.policy, workers, &price.prices, seed)
        });
        let of = |wanted: &Subject| {
            let mut all = jobs.iter().zip(&outcomes);
            let found = all.find(|&(&(subject, price, workers), _)| {
                std::ptr::eq(subject, wanted) && (price.policy, workers) == (Policy::Steal, 1)
            });
            found.map_or(f64::NAN, |(_, outcome)| outcome.nanoseconds)
        };
        let predictions =
            jobs.iter().zip(&outcomes).map(|(&(subject, price, workers), outcome)| Prediction {
                program: subject.name.clone(),
                policy: price.policy,
                workers,
                nanoseconds: outcome.nanoseconds,
                speedup: of(subject) / outcome.nanoseconds,
                steals: outcome.steals,
                wakes: outcome.wakes,
            });
        let predictions: Vec<Prediction> = predictions.collect();
        let doubtful: Vec<usize> = (0..jobs.len()).filter(|&i| jobs[i].1.borrows_theft).collect();
        let dearer = in_parallel(&doubtful, |&i| {
            let (subject, price, workers) = jobs[i];
            let thief = price.prices.thief.max(price.prices.late);
            let prices = Prices { thief, ..price.prices };
            simulate(&subject.graph, price.policy, workers, &prices, seed)
        });
        let changes = doubtful.into_iter().zip(dearer).map(|(i, outcome)| {
            let change = outcome.nanoseconds / outcomes[i].nanoseconds - 1.0;
            (predictions[i].clone(), change)
        });
        let theft_matters = changes.max_by(|(_, a), (_, b)| a.abs().total_cmp(&b.abs()));
        let burden = prices.iter().find(|price| price.policy == Policy::Steal);
        let burden = burden.map_or(0.0, |price| price.prices.of_a_move());
        let programs = subjects.iter().map(|subject| Program::of(subject, burden));
        let programs = programs.collect::<Result<_>>()?;
        Ok(Report { programs, prices, predictions, theft_matters, ..Report::default() })
    }

    /// Compares with what was measured, by subject, policy and workers.
    fn check(
        &mut self,
        subjects: &[Subject],
        measured: &BTreeMap<(usize, Policy, usize), Vec<Vec<f64>>>,
    ) {
        let checks = measured.iter().filter_map(|(&(p, policy, workers), rounds)| {
            let name = &subjects[p].name;
            let predicted = |workers| Some(self.prediction(name, policy, workers)?.nanoseconds);
            Check::new((name, policy, workers), [predicted(1)?, predicted(workers)?], rounds)
        });
        self.checks = checks.collect();
    }
}

impl Program {
    fn of(subject: &Subject, burden: f64) -> Result<Program> {
        let Subject { name, n, graph } = subject;
        let (work, span) = (graph.work(), graph.span()?);
        let burdened_span = graph.burdened_span(burden)?;
        let (name, tasks, blocked) = (name.clone(), graph.tasks.len(), graph.blocked());
        let lost = graph.lost;
        Ok(Program { name, n: *n, tasks, work, span, burdened_span, blocked, lost })
    }
}

fn all_prices(calibration: &Calibration) -> Result<Vec<Price>> {
    let steal = calibration.prices(Policy::Steal)?.unwrap_or_default();
    Policy::ALL
        .into_iter()
        .map(|policy| {
            let prices = calibration.prices(policy)?;
            let measured = prices.is_some();
            let borrows_theft = calibration.borrows_theft(policy);
            Ok(Price { policy, prices: prices.unwrap_or(steal), measured, borrows_theft })
        })
        .collect()
}

/// The results of `work` for all jobs, in their order, computed on all processors.
fn in_parallel<T: Sync>(jobs: &[T], work: impl Fn(&T) -> Outcome + Sync) -> Vec<Outcome> {
    let next = AtomicUsize::new(0);
    let outcomes = Mutex::new(vec![Outcome::default(); jobs.len()]);
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let job = next.fetch_add(1, Ordering::Relaxed);
                    let Some(input) = jobs.get(job) else { break };
                    let outcome = work(input);
                    outcomes.lock().expect("no thread panics with it")[job] = outcome;
                }
            });
        }
    });
    outcomes.into_inner().expect("no thread panics with it")
}
