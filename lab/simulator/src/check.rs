//! A prediction beside what was measured, and whether they agree.
//!
//! Others have the other half of a core, or a neighbour's memory, for hundredths of a second or for
//! minutes: that only adds to what a run takes, and at times half as much again. So of the runs of a
//! process that does the same each time the *least* time counts. Of the processes, one in each round,
//! the *lower quartile* does: it is of a moment without others even if they are there half of the time,
//! and, other than the least, not of the one process in a dozen that is a tenth faster by where its memory
//! happens to lie. So it is with the prices and the recordings, and a prediction is of that. The
//! interval is that of the order statistics between which the quartile of all such processes lies
//! with 95 %, by the binomial distribution.
//!
//! Where workers contend for a lock, so that they take longer than one alone, it is the other way
//! round: who is kept away by others lets the rest go on, and the least is of a run in which the
//! workers did not meet. By the prediction, not by what was measured, such a row is known. There
//! the median counts, and the interval is that between the quartiles of all runs.

use sched_dag::typical;
use serde::Serialize;

use crate::policy::Policy;

/// The error up to which a prediction is said to agree.
pub const AGREES: f64 = 0.10;

/// Nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    pub low: f64,
    pub value: f64,
    pub high: f64,
}

impl Estimate {
    /// The lower quartile of what the rounds took at least.
    fn typical(mut leasts: Vec<f64>) -> Option<Estimate> {
        leasts.sort_by(f64::total_cmp);
        let (low, high) = around_quartile(leasts.len());
        let (&low, &high) = (leasts.get(low)?, leasts.get(high)?);
        Some(Estimate { low, value: typical(leasts), high })
    }

    fn quartiles(mut all: Vec<f64>) -> Option<Estimate> {
        all.sort_by(f64::total_cmp);
        let at = |part: usize| all.get(all.len().saturating_sub(1) * part / 4).copied();
        Some(Estimate { low: at(1)?, value: at(2)?, high: at(3)? })
    }

    /// More than a tenth.
    pub fn is_wide(&self) -> bool {
        self.high > self.low * (1.0 + AGREES)
    }
}

/// Which two of so many values, in their order, the quartile of all lies between.
fn around_quartile(n: usize) -> (usize, usize) {
    const MISSES: f64 = 0.05;
    let (mut exactly, mut sum) = (0.75f64.powi(n as i32), 0.0);
    // That at most k are below the quartile: so the value at k is not.
    let at_most = (0..n).map(|k| {
        sum += exactly;
        exactly *= (n - k) as f64 / (k + 1) as f64 / 3.0;
        sum
    });
    let at_most: Vec<f64> = at_most.collect();
    let low = at_most.iter().rposition(|&above| above <= MISSES / 2.0).unwrap_or(0);
    let missed = at_most.get(low).copied().unwrap_or(1.0);
    let high = at_most.iter().position(|&above| 1.0 - above <= MISSES - missed);
    (low, high.unwrap_or(n.saturating_sub(1)))
}

#[derive(Clone, Debug, Serialize)]
pub struct Check {
    pub program: String,
    pub policy: Policy,
    pub workers: usize,
    /// Has a lock of all, and is predicted to take longer than one worker: medians count.
    pub contended: bool,
    pub predicted: f64,
    pub measured: Estimate,
    /// How many of the rounds came within a tenth of the least.
    pub undisturbed: f64,
}

impl Check {
    /// Of predictions for one worker and for so many, and rounds of measured runs. None: nothing was
    /// measured.
    pub fn new(
        (program, policy, workers): (&str, Policy, usize),
        [alone, predicted]: [f64; 2],
        rounds: &[Vec<f64>],
    ) -> Option<Check> {
        let of_round = |runs: &Vec<f64>| runs.iter().copied().reduce(f64::min);
        let leasts: Vec<f64> = rounds.iter().filter_map(of_round).collect();
        let least = leasts.iter().copied().reduce(f64::min)?;
        let near = leasts.iter().filter(|&&run| run <= least * (1.0 + AGREES)).count();
        let contended = policy.has_lock() && predicted > alone;
        Some(Check {
            program: program.to_owned(),
            policy,
            workers,
            contended,
            predicted,
            measured: if contended {
                Estimate::quartiles(rounds.concat())?
            } else {
                Estimate::typical(leasts)?
            },
            undisturbed: near as f64 / rounds.len() as f64,
        })
    }

    /// By how much the prediction is too long, as a part of what was measured.
    pub fn error(&self) -> f64 {
        self.predicted / self.measured.value - 1.0
    }

    /// Figure by figure.
    pub fn agrees(&self) -> bool {
        self.error().abs() <= AGREES
    }

    /// Within a tenth of the interval of what was measured.
    pub fn may_agree(&self) -> bool {
        let Estimate { low, high, .. } = self.measured;
        (low * (1.0 - AGREES)..=high * (1.0 + AGREES)).contains(&self.predicted)
    }

    /// As many times too long as too short count the same.
    pub fn distance(&self) -> f64 {
        (self.predicted / self.measured.value).ln().abs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(predicted: [f64; 2], rounds: &[&[f64]]) -> Check {
        let rounds: Vec<Vec<f64>> = rounds.iter().map(|runs| runs.to_vec()).collect();
        Check::new(("fib", Policy::Lifo, 2), predicted, &rounds).unwrap()
    }

    #[test]
    fn the_quartile_of_the_leasts_counts_where_workers_are_a_help() {
        let rounds: [&[f64]; 5] =
            [&[150.0, 155.0], &[90.0, 180.0], &[], &[160.0, 100.0], &[118.0, 170.0]];
        let close = check([200.0, 107.0], &rounds);
        assert!(!close.contended && close.agrees() && close.may_agree());
        assert_eq!(close.measured, Estimate { low: 90.0, value: 100.0, high: 150.0 });
        assert_eq!(close.undisturbed, 0.2);
        assert!((close.error() - 0.07).abs() < 1e-9);
        let far = check([200.0, 125.0], &rounds);
        assert!(!far.agrees() && far.may_agree() && far.measured.is_wide());
        assert!(!check([200.0, 166.0], &rounds).may_agree());
        assert!(!check([200.0, 80.0], &rounds).may_agree());
        let rounds = rounds.map(<[f64]>::to_vec);
        let lockless = Check::new(("fib", Policy::Cont, 2), [50.0, 107.0], &rounds).unwrap();
        assert!(!lockless.contended && lockless.agrees());
    }

    #[test]
    fn an_interval_of_the_quartile_has_95_percent() {
        // Of 12 values all are above it in 3.2 %, and more than 6 below it in 1.4 %; of 20 at most 1 in 2.4 %,
        // and more than 9 in 1.4 %.
        assert_eq!(
            [0, 1, 3, 12, 20].map(around_quartile),
            [(0, 0), (0, 0), (0, 2), (0, 6), (1, 9)]
        );
    }

    #[test]
    fn the_median_counts_where_workers_are_in_each_others_way() {
        let rounds: [&[f64]; 2] = [&[100.0, 200.0, 300.0], &[400.0, 500.0]];
        let check = check([90.0, 280.0], &rounds);
        assert!(check.contended && check.agrees());
        assert_eq!(check.measured, Estimate { low: 200.0, value: 300.0, high: 400.0 });
    }

    #[test]
    fn nothing_measured_is_no_check() {
        assert!(Check::new(("fib", Policy::Lifo, 2), [1.0, 1.0], &[]).is_none());
    }
}
