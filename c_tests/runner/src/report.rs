//! Counts and prints the outcomes of jobs.

use std::collections::HashMap;
use std::io::{IsTerminal, Write};
use std::time::Instant;

use crate::dispatch::{Job, Outcome, dispatch};
use crate::options::Options;

pub struct Report {
    filter: String,
    list: bool,
    verbose: bool,
    threads: usize,
    passed: usize,
    failed: usize,
    skipped: usize,
    terminal: bool,
    /// Failures so far of each group whose jobs are alike.
    told: HashMap<String, usize>,
}

/// Seconds between two lines of progress, if the output is not a terminal.
const PROGRESS: f64 = 10.0;
/// After this many failures of one program, or of one part whose jobs are alike, only the names of
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
    /// A report for this many jobs at a time.
    pub fn new(options: &Options, threads: usize) -> Report {
        Report {
            filter: options.filter.clone(),
            list: options.list,
            verbose: options.verbose,
            threads,
            passed: 0,
            failed: 0,
            skipped: 0,
            terminal: std::io::stdout().is_terminal(),
            told: HashMap::new(),
        }
    }

    /// Whether the filter takes the test: by its name, or by that of its program.
    pub fn wants(&self, program: &str, name: &str) -> bool {
        program == self.filter || name.contains(&self.filter)
    }

    /// Runs the jobs that the filter lets through, and prints a line for each group that is
    /// complete.
    pub fn run(&mut self, mut jobs: Vec<Job>) {
        jobs.retain(|job| job.builds || self.wants(&job.program, &job.name()));
        if self.list {
            jobs.iter().for_each(|job| println!("{}", job.name()));
            return;
        }
        let mut groups: Vec<Group> = Vec::new();
        for job in jobs.iter().filter(|job| !job.builds) {
            match groups.iter_mut().find(|group| group.name == job.group) {
                Some(group) => group.left += 1,
                None => groups.push(Group::new(&job.group)),
            }
        }
        let (mut done, mut shown, began, all) = (0, 0.0, Instant::now(), jobs.len());
        dispatch(self.threads, &jobs, |job, outcome, seconds| {
            done += 1;
            if !job.builds || !matches!(outcome, Outcome::Passed) {
                self.count(job, &outcome, seconds);
            }
            let group = groups.iter_mut().find(|group| group.name == job.group && !job.builds);
            if let Some(group) = group {
                group.add(&outcome, seconds);
                if group.left == 0 && !self.verbose {
                    self.line(&group.summary());
                }
            }
            let seconds = began.elapsed().as_secs_f64();
            if self.terminal {
                print!("\r{done}/{all} {:60.60}\r", job.name());
                let _ = std::io::stdout().flush();
            } else if seconds >= shown + PROGRESS {
                shown = seconds;
                println!("({done} of {all} after {seconds:.0} s)");
            }
        });
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
        let none = self.passed + self.failed + self.skipped == 0 && !self.list;
        if none && !self.filter.is_empty() {
            self.line(&format!("no test has a name that contains '{}'", self.filter));
            return false;
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
    use clap::Parser;

    use super::*;

    fn report() -> Report {
        Report::new(&Options::parse_from(["sched-ctest", "--prefix", "none"]), 1)
    }

    #[test]
    fn a_build_counts_only_if_it_fails() {
        let build = |name, outcome: fn() -> Outcome| {
            let job = Job::new(name, "(build)", move |_| Ok(outcome()));
            Job { builds: true, ..job }
        };
        let mut report = report();
        report.run(vec![
            build("right", || Outcome::Passed),
            build("wrong", || Outcome::Failed("an error".into())),
            Job::new("test", "", |_| Ok(Outcome::Passed)),
        ]);
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
