//! A session of the comparison. In each round and for each workload all systems run one after the
//! other, in an order that is shuffled anew.

use std::collections::HashMap;
use std::fmt;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use sched_tools::process::{self, TookTooLong};
use serde::Serialize;

use super::systems::System;
use super::workloads::Workload;
use crate::pages::options::Options;
use crate::run::machine::{Calibration, Machine, calibrate};
use crate::run::output::Line;

/// After two rounds, a further one is begun only if it would end within this time, taking as long
/// as the round before.
const BUDGET: Duration = Duration::from_secs(260);

/// What was measured: a system, a workload, and a number of threads.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Case {
    pub system: String,
    pub program: &'static str,
    pub n: u64,
    /// The argument of `-d`.
    pub data: Option<&'static str>,
    pub threads: usize,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} -n {} -t {}", self.system, self.program, self.n, self.threads)?;
        self.data.map_or(Ok(()), |data| write!(f, " -d {data}"))
    }
}

#[derive(Debug, Serialize)]
pub struct Run {
    #[serde(flatten)]
    pub case: Case,
    pub round: usize,
    /// True if it only warmed the process up.
    pub warm_up: bool,
    #[serde(flatten)]
    pub line: Line,
    /// The most memory that the process had at once in all its runs, in bytes.
    pub peak: u64,
}

pub struct Session {
    pub runs: Vec<Run>,
    /// The number of rounds that were done.
    pub rounds: usize,
    pub failures: Vec<String>,
    /// The cases that reached the time limit, and were not run again.
    pub too_long: Vec<Case>,
    pub calibration: Vec<Calibration>,
}

/// A process to run: of a system, or of a baseline of the workload.
struct Entry<'a> {
    case: Case,
    kind: &'a str,
    /// None for a baseline, which is called with `words`.
    system: Option<&'a System>,
    words: &'a [&'a str],
}

impl Session {
    pub fn run(
        options: &Options,
        machine: &Machine,
        systems: &[System],
        workloads: &[Workload],
    ) -> Session {
        let start = Instant::now();
        let mut random = StdRng::seed_from_u64(options.seed);
        let mut session = Session {
            runs: Vec::new(),
            rounds: 0,
            failures: Vec::new(),
            too_long: Vec::new(),
            calibration: Vec::new(),
        };
        let mut failed: Vec<Case> = Vec::new();
        let rounds = workloads.iter().map(|w| w.rounds).max().unwrap_or(0);
        let mut last = Duration::ZERO;
        for round in 1..=rounds {
            let begun = start.elapsed();
            if round > 2 && options.repetitions.is_none() && begun + last > BUDGET {
                break;
            }
            session.calibration.push(calibrate(machine.cores));
            for workload in workloads.iter().filter(|w| round <= w.rounds) {
                let mut entries = entries(workload, systems);
                entries.shuffle(&mut random);
                for entry in &entries {
                    if failed.contains(&entry.case) {
                        continue;
                    }
                    if let Err(e) = session.measure(options, workload, entry, &systems[0], round) {
                        failed.push(entry.case.clone());
                        if e.is::<TookTooLong>() {
                            session.too_long.push(entry.case.clone());
                        } else {
                            session.failures.push(format!("{}: {e:#}", entry.case));
                        }
                        eprintln!("sched-bench: {}: {e:#}", entry.case);
                    }
                }
                let seconds = start.elapsed().as_secs();
                eprintln!("round {round} of {rounds}: {} done, {seconds} s", workload.program);
            }
            session.rounds = round;
            last = start.elapsed() - begun;
        }
        session.calibration.push(calibrate(machine.cores));
        session.failures.extend(session.disagreements());
        session
    }

    fn measure(
        &mut self,
        options: &Options,
        workload: &Workload,
        entry: &Entry,
        libsched: &System,
        round: usize,
    ) -> Result<()> {
        let Case { program, n, threads, .. } = entry.case;
        let compiles = entry.system.map_or(0, |s| s.compiles);
        let warm_up = workload.warm_up + compiles;
        let mut command = entry.system.unwrap_or(libsched).command(program);
        let numbers =
            [("-n", n), ("-t", threads as u64), ("-r", (warm_up + workload.counted) as u64)];
        for (option, value) in numbers {
            command.args([option, &value.to_string()]);
        }
        command.args(entry.case.data.iter().flat_map(|data| ["-d", data]));
        command.args(entry.words);
        process::without_settings(&mut command);
        let ended = process::run(&mut command, options.limit)?;
        let lines: Vec<&str> = ended.stdout.lines().collect();
        ensure!(lines.len() == warm_up + workload.counted, "it printed {} lines", lines.len());
        let name = entry.system.map_or(program.to_owned(), |s| s.says(program));
        for (i, line) in lines.into_iter().enumerate() {
            let line = Line::read(line, &name, n, entry.kind, threads)
                .with_context(|| format!("run {}", i + 1))?;
            let case = entry.case.clone();
            let warm_up = i < warm_up;
            self.runs.push(Run { case, round, warm_up, line, peak: ended.peak });
        }
        Ok(())
    }

    /// Runs that disagree with the first on the answer or on the number of tasks.
    fn disagreements(&self) -> Vec<String> {
        let mut first: HashMap<_, &Run> = HashMap::new();
        let mut found = Vec::new();
        for run in &self.runs {
            let Case { program, n, data, .. } = run.case;
            let other = first.entry((program, n, data)).or_insert(run);
            let said = |run: &Run| match run.case.program {
                // Our program has further tasks: one for each worker, and one that spawns the
                // others.
                "idleburn" | "yield" | "suspend" => format!("checksum {}", run.line.checksum),
                _ => format!("checksum {}, {} tasks", run.line.checksum, run.line.tasks),
            };
            if said(run) != said(other) {
                let (case, other_case) = (&run.case, &other.case);
                let [one, other] = [said(run), said(other)];
                found.push(format!("answers differ: {case}: {one}, but {other_case}: {other}"));
            }
        }
        found
    }

    /// The runs of a system, or of a baseline, that did not warm it up.
    pub fn counted<'a>(
        &'a self,
        workload: &'a Workload,
        system: &'a str,
        threads: usize,
    ) -> impl Iterator<Item = &'a Run> {
        self.runs.iter().filter(move |r| {
            !r.warm_up
                && r.case.system == system
                && r.case.program == workload.program
                && r.case.n == workload.n
                && r.case.data == workload.data
                && r.case.threads == threads
        })
    }

    pub fn ran_too_long(&self, workload: &Workload, system: &str, threads: usize) -> bool {
        self.too_long.iter().any(|case| {
            case.system == system
                && (case.program, case.n, case.data)
                    == (workload.program, workload.n, workload.data)
                && case.threads == threads
        })
    }

    /// The times of the calibration loop that the programs measured just before their runs.
    pub fn cals(&self) -> Vec<f64> {
        self.runs.iter().filter_map(|r| r.line.cal).collect()
    }
}

fn entries<'a>(workload: &Workload, systems: &'a [System]) -> Vec<Entry<'a>> {
    let case = |system: &str, threads| Case {
        system: system.to_owned(),
        program: workload.program,
        n: workload.n,
        data: workload.data,
        threads,
    };
    let mut entries: Vec<Entry> = Vec::new();
    for system in systems.iter().filter(|s| s.has(workload)) {
        for &threads in &workload.threads {
            let case = case(&system.name, threads);
            entries.push(Entry { case, kind: system.kind, system: Some(system), words: &[] });
        }
    }
    entries.extend(workload.baselines.iter().map(|baseline| {
        let case = case(baseline.name, 1);
        Entry { case, kind: "none", system: None, words: baseline.words }
    }));
    entries
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::peers::workloads;

    fn run(system: &str, checksum: &str) -> Run {
        let line = format!(
            "bench=tree n=8 kind={system} threads=2 tasks=9 seconds=0.5 ns_per_task=7 \
             checksum={checksum} user=0.25 sys=0 vcsw=1 icsw=2 ok"
        );
        Run {
            case: Case { system: system.into(), program: "tree", n: 8, data: None, threads: 2 },
            round: 1,
            warm_up: false,
            line: Line::read(&line, "tree", 8, system, 2).unwrap(),
            peak: 0,
        }
    }

    fn session(runs: Vec<Run>) -> Session {
        Session {
            runs,
            rounds: 1,
            failures: Vec::new(),
            too_long: Vec::new(),
            calibration: Vec::new(),
        }
    }

    #[test]
    fn another_answer_than_the_others_is_a_failure() {
        assert!(session(vec![run("go", "ab"), run("java", "ab")]).disagreements().is_empty());
        let found = session(vec![run("go", "ab"), run("java", "cd")]).disagreements();
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("answers differ: java: tree -n 8 -t 2: checksum cd"));
    }
    #[test]
    fn what_differs_in_its_data_alone_is_another_workload() {
        let with = |data, checksum| {
            let mut run = run("go", checksum);
            run.case.data = Some(data);
            run
        };
        let session = session(vec![with("even", "ab"), with("rising", "cd")]);
        assert!(session.disagreements().is_empty());
        let mut workload = workloads::all(&[1, 2], None).remove(0);
        (workload.program, workload.n, workload.data) = ("tree", 8, Some("rising"));
        let counted: Vec<_> = session.counted(&workload, "go", 2).collect();
        assert_eq!(counted.len(), 1);
        assert_eq!(counted[0].line.checksum, "cd");
    }
}
