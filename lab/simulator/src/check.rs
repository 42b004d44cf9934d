//! Compares a prediction with measurements.
//!
//! Other users of the machine only add to the time of a run: for hundredths of a second or for
//! minutes, and at times they add half as much again. So of the runs of a process, which does the
//! same each time, the *least* time counts. There is one process in each round, and of these the
//! *middle* counts, as estimated by Hodges and Lehmann. The least of the processes would not do:
//! one in a dozen is a tenth faster than the others because of where its memory happens to lie, so
//! that the least, or any other quantile, is such a process in one row and not in the next. Prices
//! and recordings are taken in the same way, and so a prediction is about the usual process, too.
//!
//! It is different if workers contend for a lock, and take longer than one worker alone: a worker
//! that is kept away by other users lets the rest go on, and the least time is that of a run in
//! which the workers did not meet. The prediction, not the measurement, tells which rows are of
//! this kind. For them the median run of a process counts, as in the calibration.

use sched_estimate::Estimate;
use serde::Serialize;

use crate::policy::Policy;

/// The error up to which a prediction is said to agree.
pub const AGREES: f64 = 0.10;

#[derive(Clone, Debug, Serialize)]
pub struct Check {
    pub program: String,
    pub policy: Policy,
    pub workers: usize,
    /// All workers use one lock, and are predicted to take longer than one worker: medians of
    /// processes count.
    pub contended: bool,
    /// Nanoseconds.
    pub predicted: f64,
    pub measured: Estimate,
    /// The part of the rounds that came within a tenth of the least.
    pub undisturbed: f64,
}

impl Check {
    /// `predicted`: for one worker and for `workers`. `rounds`: the measured runs of each round.
    /// None if nothing was measured.
    pub fn new(
        (program, policy, workers): (&str, Policy, usize),
        [alone, predicted]: [f64; 2],
        rounds: &[Vec<f64>],
    ) -> Option<Check> {
        let contended = policy.has_lock() && predicted > alone;
        let leasts: Vec<f64> = rounds.iter().filter_map(|runs| least(runs)).collect();
        let near = least(&leasts)? * (1.0 + AGREES);
        let near = leasts.iter().filter(|&&run| run <= near).count();
        let middles: Vec<f64> = rounds.iter().filter_map(|runs| median(runs)).collect();
        Some(Check {
            program: program.to_owned(),
            policy,
            workers,
            contended,
            predicted,
            measured: Estimate::of(if contended { &middles } else { &leasts })?,
            undisturbed: near as f64 / rounds.len() as f64,
        })
    }

    /// By how much the prediction is too long, as a part of the measured time.
    pub fn error(&self) -> f64 {
        self.predicted / self.measured.value - 1.0
    }

    /// The figures themselves are within a tenth.
    pub fn agrees(&self) -> bool {
        self.error().abs() <= AGREES
    }

    /// The measured interval is wider than a tenth.
    pub fn is_wide(&self) -> bool {
        self.measured.high > self.measured.low * (1.0 + AGREES)
    }

    /// The prediction is within a tenth of the measured interval.
    pub fn may_agree(&self) -> bool {
        let Estimate { low, high, .. } = self.measured;
        (low * (1.0 - AGREES)..=high * (1.0 + AGREES)).contains(&self.predicted)
    }

    /// Twice as long and half as long are equally far.
    pub fn distance(&self) -> f64 {
        (self.predicted / self.measured.value).ln().abs()
    }
}

fn least(runs: &[f64]) -> Option<f64> {
    runs.iter().copied().reduce(f64::min)
}

fn median(runs: &[f64]) -> Option<f64> {
    let mut runs = runs.to_vec();
    runs.sort_by(f64::total_cmp);
    runs.get(runs.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(predicted: [f64; 2], rounds: &[&[f64]]) -> Check {
        let rounds: Vec<Vec<f64>> = rounds.iter().map(|runs| runs.to_vec()).collect();
        Check::new(("fib", Policy::Lifo, 2), predicted, &rounds).unwrap()
    }

    #[test]
    fn the_middle_of_the_leasts_counts_where_workers_are_a_help() {
        let rounds: [&[f64]; 7] = [
            &[150.0, 155.0],
            &[90.0, 180.0],
            &[],
            &[160.0, 100.0],
            &[118.0, 170.0],
            &[94.0],
            &[200.0, 96.0],
        ];
        let close = check([200.0, 109.0], &rounds);
        assert!(!close.contended && close.agrees() && close.may_agree() && close.is_wide());
        assert_eq!(close.measured, Estimate { low: 90.0, value: 104.0, high: 150.0 });
        assert_eq!(close.undisturbed, 3.0 / 7.0);
        assert!((close.error() - 5.0 / 104.0).abs() < 1e-9);
        let far = check([200.0, 125.0], &rounds);
        assert!(!far.agrees() && far.may_agree());
        assert!(!check([200.0, 166.0], &rounds).may_agree());
        assert!(!check([200.0, 80.0], &rounds).may_agree());
        let rounds = rounds.map(<[f64]>::to_vec);
        let lockless = Check::new(("fib", Policy::Cont, 2), [50.0, 107.0], &rounds).unwrap();
        assert!(!lockless.contended && lockless.agrees());
    }

    #[test]
    fn the_median_counts_where_workers_are_in_each_others_way() {
        let rounds: [&[f64]; 7] =
            [&[100.0, 300.0, 900.0], &[310.0], &[290.0], &[], &[300.0, 200.0], &[280.0], &[320.0]];
        let check = check([90.0, 280.0], &rounds);
        assert!(check.contended && check.agrees());
        assert_eq!(check.measured, Estimate { low: 280.0, value: 300.0, high: 320.0 });
    }

    #[test]
    fn nothing_measured_is_no_check() {
        assert!(Check::new(("fib", Policy::Lifo, 2), [1.0, 1.0], &[]).is_none());
    }
}
