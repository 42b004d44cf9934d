//! Commands that are measured as whole processes, from their start to their end. The first run of
//! each is not timed: it reads files into memory, and tells what else is to be known of a command. Then
//! in each repetition the commands of a group run one after the other, in an order that is shuffled
//! anew.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::Result;
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use sched_tools::process::Ended;

use super::session::Repetitions;
use crate::data::{About, Case, Session};
use crate::machine::{Machine, calibrate};

pub type Values = BTreeMap<String, f64>;

/// A session of commands, and those that failed: such a command was not run again.
pub struct Commands {
    pub session: Session,
    pub failed: Vec<Case>,
}

impl Commands {
    pub fn new(machine: Machine) -> Commands {
        let session = Session { about: About::new(machine), cases: Vec::new() };
        Commands { session, failed: Vec::new() }
    }

    fn fail(&mut self, case: &Case, name: &str, why: &anyhow::Error) {
        let failure = format!("{name}: {why:#}");
        eprintln!("sched-bench: {failure}");
        self.session.about.failures.push(failure);
        self.failed.push(case.clone());
    }

    /// Runs each command of a group once, in order. `first` returns the values of that run.
    pub fn first_runs(
        &mut self,
        group: &[Case],
        name: impl Fn(&Case) -> String,
        mut first: impl FnMut(usize, &Case) -> Result<Values>,
    ) {
        for (i, case) in group.iter().enumerate() {
            match first(i, case) {
                Ok(values) => self.session.add(case, 1, Some(1), values),
                Err(e) => self.fail(case, &name(case), &e),
            }
        }
    }

    pub fn repeat(
        &mut self,
        groups: &[Vec<Case>],
        wanted: &Repetitions,
        seed: u64,
        name: impl Fn(&Case) -> String,
        mut again: impl FnMut(&Case) -> Result<Ended>,
    ) {
        let start = Instant::now();
        let mut random = StdRng::seed_from_u64(seed);
        let cores = self.session.about.machine.cores;
        let mut last = Duration::ZERO;
        for repetition in 1..=wanted.most {
            let begun = start.elapsed();
            if repetition > wanted.least && begun + last > wanted.budget {
                break;
            }
            self.session.about.calibration.push(calibrate(cores));
            for group in groups {
                let mut order: Vec<&Case> = group.iter().collect();
                order.shuffle(&mut random);
                order.retain(|case| !self.failed.contains(case));
                for case in order {
                    match again(case) {
                        Ok(Ended { seconds, processor, peak, .. }) => {
                            let values =
                                [("seconds", seconds), ("cpu", processor), ("peak", peak as f64)];
                            let values = values.map(|(name, value)| (name.to_owned(), value));
                            self.session.add(case, 1, Some(repetition), values.into());
                        }
                        Err(e) => self.fail(case, &name(case), &e),
                    }
                }
            }
            self.session.about.rounds = repetition;
            last = start.elapsed() - begun;
            eprintln!("repetition {repetition}: {:.0} s so far", start.elapsed().as_secs_f64());
        }
        self.session.about.calibration.push(calibrate(cores));
        self.session.about.end(start.elapsed());
    }
}
