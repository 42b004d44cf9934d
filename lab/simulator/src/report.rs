//! The findings of the experiment: programs, prices, predictions, and comparisons with
//! measurements.

use sched::profile::speedup::Measures;
use sched_dag::graph::CALM;
use serde::Serialize;

use crate::check::Check;
use crate::policy::Policy;
use crate::prices::Prices;

/// The numbers of workers of the predictions: those of the library's profile.
pub const WORKERS: [usize; 11] = {
    let mut workers = [0; sched::profile::speedup::WORKERS.len()];
    let mut at = 0;
    while at < workers.len() {
        workers[at] = sched::profile::speedup::WORKERS[at] as usize;
        at += 1;
    }
    workers
};

/// A recorded program.
#[derive(Clone, Debug, Serialize)]
pub struct Program {
    pub name: String,
    pub n: u64,
    pub tasks: usize,
    /// Nanoseconds of all tasks, one after the other: T1.
    pub work: f64,
    /// Nanoseconds of the longest chain: T∞.
    pub span: f64,
    /// The same, with what a theft costs on each edge on which a task may move to another worker.
    pub burdened_span: f64,
    /// Nanoseconds in blocking sections, which need no worker.
    pub blocked: f64,
    /// The part of its time for which the program had no processor while it was recorded.
    pub lost: f64,
}

#[derive(Clone, Debug, Serialize)]
pub struct Price {
    pub policy: Policy,
    #[serde(flatten)]
    pub prices: Prices,
    /// False if the library does not know the policy: the prices are those of `steal`.
    pub measured: bool,
    /// True if the price of a theft is that of `steal`.
    pub borrows_theft: bool,
}

#[derive(Clone, Debug, Serialize)]
pub struct Prediction {
    pub program: String,
    pub policy: Policy,
    pub workers: usize,
    pub nanoseconds: f64,
    /// Over one worker of `steal`.
    pub speedup: f64,
    pub steals: u64,
    pub wakes: u64,
}

#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// The share of the processors that was ours while costs were measured.
    pub share: Option<f64>,
    pub programs: Vec<Program>,
    pub prices: Vec<Price>,
    pub predictions: Vec<Prediction>,
    /// For numbers of workers for which this machine has the processors.
    pub checks: Vec<Check>,
    /// Of the predictions that use a borrowed price of a theft: the one that would change most if
    /// each theft cost as much as a theft from an owner that does not answer, and the part by which
    /// it would change.
    pub theft_matters: Option<(Prediction, f64)>,
}

impl Report {
    pub fn prediction(&self, program: &str, policy: Policy, workers: usize) -> Option<&Prediction> {
        self.predictions.iter().find(|prediction| {
            prediction.program == program
                && (prediction.policy, prediction.workers) == (policy, workers)
        })
    }
}

impl Program {
    /// `work`: how long one worker takes.
    pub fn measures(&self, work: f64) -> Measures {
        Measures { work, span: self.span, burdened_span: self.burdened_span }
    }

    pub fn is_disturbed(&self) -> bool {
        self.lost > CALM
    }
}
