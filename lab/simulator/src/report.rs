//! What the experiment finds: programs, prices, predictions and how they compare with measurements.

use sched_dag::graph::CALM;
use serde::Serialize;

use crate::check::Check;
use crate::policy::Policy;
use crate::prices::Prices;

/// The worker counts of the prediction.
pub const WORKERS: [usize; 11] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];

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
    /// Nanoseconds in blocking sections, which no worker is needed for.
    pub blocked: f64,
    /// The part of its time for which the recorded program had no processor.
    pub lost: f64,
}

#[derive(Clone, Debug, Serialize)]
pub struct Price {
    pub policy: Policy,
    #[serde(flatten)]
    pub prices: Prices,
    /// False: the library does not know the policy; the prices are those of `steal`.
    pub measured: bool,
    /// What a theft costs is that of `steal`.
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
    /// Of the processors, the share that was ours while costs were measured.
    pub share: Option<f64>,
    pub programs: Vec<Program>,
    pub prices: Vec<Price>,
    pub predictions: Vec<Prediction>,
    /// Where this machine has so many processors.
    pub checks: Vec<Check>,
    /// Where thefts have a borrowed price: the prediction that would change most if one cost as much as
    /// one from an owner that does not answer; and by what part.
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
    pub fn is_disturbed(&self) -> bool {
        self.lost > CALM
    }
}
