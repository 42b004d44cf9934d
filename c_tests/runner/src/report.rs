//! Runs jobs in parallel, and counts and prints their outcomes.

use std::collections::HashMap;
use std::io::{IsTerminal, Write};
use std::sync::{Mutex, mpsc};
use std::time::Instant;

use anyhow::Result;

use crate::options::Options;
use crate::setting::Setting;

pub enum Outcome {
    Passed,
    Skipped(String),
    /// What happened, with the output and a command line that repeats it.
    Failed(String),
}

/// One test. Its work gets the number of a worker, for the names of files that no other job uses.
pub struct Job {
    /// The name of the program: its jobs are counted together.
    pub group: String,
    /// The rest of its name.
    pub detail: String,
    /// The setting of the matrix that it runs with.
    pub setting: Option<Setting>,
    /// The test sleeps nearly all the time and needs hardly any processor time.
    pub sleeps: bool,
    /// It builds a program, and counts as a test only if it fails: what is built is run.
    pub builds: bool,
    /// Seconds that the test may take, if its limit is known. Those that may take longest come
    /// first, so that none of them is left when other workers have nothing to do any more.
    pub limit: f64,
    pub work: Box<dyn Fn(usize) -> Result<Outcome> + Send + Sync>,
}

impl Job {
    pub fn new<F>(group: impl Into<String>, detail: impl Into<String>, work: F) -> Job
    where
        F: Fn(usize) -> Result<Outcome> + Send + Sync + 'static,
    {
        let (group, detail, work) = (group.into(), detail.into(), Box::new(work));
        Job { group, detail, setting: None, sleeps: false, builds: false, limit: 0.0, work }
    }

    pub fn name(&self) -> String {
        format!("{} {}", self.group, self.detail).trim().to_string()
    }
}

pub struct Report {
    filter: String,
    list: bool,
    verbose: bool,
    workers: usize,
    passed: usize,
    failed: usize,
    skipped: usize,
    terminal: bool,
    /// Failures so far of each group whose jobs are alike.
    told: HashMap<String, usize>,
}

/// Seconds between two lines of progress, if the output is not a terminal.
const PROGRESS: f64 = 10.0;
/// After so many failures of one program, or of one part whose jobs are alike, only the names of
/// further ones are printed.
const FULLY_TOLD: usize = 6;
/// Parts whose jobs test one thing each: what one says when it fails explains no other failure.
const DISTINCT: &[&str] = &["script", "symbols", "makefile", "documents"];

/// How much of a failure is printed.
#[derive(Debug, PartialEq, Eq)]
enum Told {
    Fully,
    /// Only its name, with a word on how to see the rest: the first such failure of its group.
    FirstName,
    Name,
}

impl Report {
    /// For so many jobs at a time.
    pub fn new(options: &Options, workers: usize) -> Report {
        Report {
            filter: options.filter.clone(),
            list: options.list,
            verbose: options.verbose,
            workers,
            passed: 0,
            failed: 0,
            skipped: 0,
            terminal: std::io::stdout().is_terminal(),
            told: HashMap::new(),
        }
    }

    pub fn wants(&self, name: &str) -> bool {
        name.contains(&self.filter)
    }

    /// Runs the jobs that the filter lets through, and prints a line for each group that is
    /// complete. Returns the names of the programs that could not be built.
    pub fn run(&mut self, mut jobs: Vec<Job>) -> Vec<String> {
        jobs.retain(|job| job.builds || self.wants(&job.name()));
        if self.list {
            jobs.iter().for_each(|job| println!("{}", job.name()));
            return Vec::new();
        }
        jobs.sort_by(|one, other| other.limit.total_cmp(&one.limit));
        let mut broken = Vec::new();
        let mut groups: Vec<Group> = Vec::new();
        for job in jobs.iter().filter(|job| !job.builds) {
            match groups.iter_mut().find(|group| group.name == job.group) {
                Some(group) => group.left += 1,
                None => groups.push(Group::new(&job.group)),
            }
        }
        let (mut done, mut shown, began) = (0, 0.0, Instant::now());
        in_parallel(self.workers, &jobs, |job, outcome, seconds| {
            done += 1;
            if job.builds && !matches!(outcome, Outcome::Passed) {
                broken.push(job.group.clone());
            }
            if !job.builds || !matches!(outcome, Outcome::Passed) {
                self.count(job, &outcome, seconds);
            }
            if let Some(group) = groups.iter_mut().find(|group| group.name == job.group) {
                group.add(&outcome, seconds);
                if group.left == 0 && !self.verbose {
                    self.line(&group.summary());
                }
            }
            let seconds = began.elapsed().as_secs_f64();
            if self.terminal {
                print!("\r{done}/{} {:60.60}\r", jobs.len(), job.name());
                let _ = std::io::stdout().flush();
            } else if seconds >= shown + PROGRESS {
                shown = seconds;
                println!("({done} of {} after {seconds:.0} s)", jobs.len());
            }
        });
        broken
    }

    fn count(&mut self, job: &Job, outcome: &Outcome, seconds: f64) {
        match outcome {
            Outcome::Passed => {
                self.passed += 1;
                if self.verbose {
                    self.line(&format!("passed  {} ({seconds:.3} s)", job.name()));
                }
            }
            Outcome::Skipped(why) => {
                self.skipped += 1;
                self.line(&format!("skipped {}: {}", job.name(), why.trim()));
            }
            Outcome::Failed(what) => {
                self.failed += 1;
                self.line(&format!("FAILED  {}", job.name()));
                match self.told(&job.group) {
                    Told::Fully => {
                        for line in shortened(what) {
                            self.line(&format!("        {line}"));
                        }
                    }
                    Told::FirstName => self.line("        (not shown from here on: --filter NAME)"),
                    Told::Name => {}
                }
            }
        }
    }

    /// How much is printed of the next failure in the group.
    fn told(&mut self, group: &str) -> Told {
        if DISTINCT.contains(&group) {
            return Told::Fully;
        }
        let told = self.told.entry(group.to_string()).or_default();
        *told += 1;
        match *told {
            ..=FULLY_TOLD => Told::Fully,
            n if n == FULLY_TOLD + 1 => Told::FirstName,
            _ => Told::Name,
        }
    }

    /// Counts a job that `run` does not run.
    pub fn add(&mut self, job: &Job, outcome: &Outcome) {
        self.count(job, outcome, 0.0);
    }

    fn line(&self, text: &str) {
        if self.terminal {
            print!("\r\x1b[K");
        }
        println!("{text}");
    }

    /// Prints the closing line; true if nothing failed.
    pub fn close(&self) -> bool {
        if self.skipped > 0 {
            self.line(&format!(
                "{} passed, {} failed, {} skipped",
                self.passed, self.failed, self.skipped
            ));
        } else {
            self.line(&format!("{} passed, {} failed", self.passed, self.failed));
        }
        self.failed == 0
    }
}

/// The lines of what a failed test said: of many the first and the last ones, since a compiler's
/// first error and a script's last message say what failed.
fn shortened(what: &str) -> Vec<&str> {
    let lines: Vec<&str> = what.lines().collect();
    match lines.len() {
        ..=120 => lines,
        n => [&lines[..80], &["..."], &lines[n - 40..]].concat(),
    }
}

/// How many of the jobs that sleep run beside each worker.
const SLEEPERS: usize = 3;

/// Runs the jobs, and calls `each` with each outcome, and the seconds it took, as they come.
fn in_parallel<'a>(workers: usize, jobs: &'a [Job], mut each: impl FnMut(&'a Job, Outcome, f64)) {
    let (asleep, awake): (Vec<_>, Vec<_>) = jobs.iter().partition(|job| job.sleeps);
    let queues = [awake, asleep].map(|jobs| Mutex::new(jobs.into_iter()));
    let (send, receive) = mpsc::channel();
    std::thread::scope(|scope| {
        for worker in 0..workers * (1 + SLEEPERS) {
            let (queue, send) = (&queues[usize::from(worker >= workers)], send.clone());
            scope.spawn(move || {
                loop {
                    let Some(job) = queue.lock().expect("no holder panics").next() else { return };
                    let start = Instant::now();
                    let outcome = (job.work)(worker)
                        .unwrap_or_else(|error| Outcome::Failed(format!("{error:#}\n")));
                    if send.send((job, outcome, start.elapsed().as_secs_f64())).is_err() {
                        return;
                    }
                }
            });
        }
        drop(send);
        receive.into_iter().for_each(|(job, outcome, seconds)| each(job, outcome, seconds));
    });
}

struct Group {
    name: String,
    left: usize,
    passed: usize,
    failed: usize,
    seconds: f64,
}

impl Group {
    fn new(name: &str) -> Group {
        Group { name: name.to_string(), left: 1, passed: 0, failed: 0, seconds: 0.0 }
    }

    fn add(&mut self, outcome: &Outcome, seconds: f64) {
        self.left -= 1;
        self.passed += usize::from(matches!(outcome, Outcome::Passed));
        self.failed += usize::from(matches!(outcome, Outcome::Failed(_)));
        self.seconds += seconds;
    }

    fn summary(&self) -> String {
        let failed =
            if self.failed > 0 { format!("  {} FAILED", self.failed) } else { String::new() };
        format!("{:18} {:5} passed{failed}  {:6.1} s", self.name, self.passed, self.seconds)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use clap::Parser;

    use super::*;

    fn report() -> Report {
        Report::new(&Options::parse_from(["sched-ctest", "--prefix", "none"]), 1)
    }

    #[test]
    fn those_that_may_take_longest_come_first() {
        let order = Arc::new(Mutex::new(Vec::new()));
        let job = |(name, limit): (&'static str, f64)| {
            let order = Arc::clone(&order);
            let job = Job::new(name, "", move |_| {
                order.lock().unwrap().push(name);
                Ok(Outcome::Passed)
            });
            Job { limit, ..job }
        };
        let jobs = [("unknown", 0.0), ("usual", 30.0), ("long", 240.0), ("usual, too", 30.0)];
        report().run(jobs.map(job).into());
        assert_eq!(*order.lock().unwrap(), ["long", "usual", "usual, too", "unknown"]);
    }

    #[test]
    fn a_build_counts_only_if_it_fails() {
        let build = |name, outcome: fn() -> Outcome| {
            let job = Job::new(name, "(build)", move |_| Ok(outcome()));
            Job { builds: true, ..job }
        };
        let mut report = report();
        let broken = report.run(vec![
            build("right", || Outcome::Passed),
            build("wrong", || Outcome::Failed("an error".into())),
            Job::new("test", "", |_| Ok(Outcome::Passed)),
        ]);
        assert_eq!(broken, ["wrong"]);
        assert_eq!((report.passed, report.failed, report.skipped), (1, 1, 0));
        assert!(!report.close());
    }

    #[test]
    fn each_script_says_why_it_fails() {
        let mut report = report();
        assert!((0..100).all(|_| report.told("script") == Told::Fully));
        let header: Vec<Told> = (0..8).map(|_| report.told("header")).collect();
        assert!(header[..6].iter().all(|told| *told == Told::Fully));
        assert_eq!(header[6..], [Told::FirstName, Told::Name]);
    }

    #[test]
    fn of_many_lines_the_first_and_the_last_are_shown() {
        let text: String = (1..=500).map(|n| format!("{n}\n")).collect();
        let shown = shortened(&text);
        assert_eq!((shown.len(), shown[0], shown[120]), (121, "1", "500"));
        assert_eq!(shortened("one\ntwo\n"), ["one", "two"]);
    }
}
