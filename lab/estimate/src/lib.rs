//! Estimates with 95 % intervals, and verdicts from them.
//!
//! All settings are measured in every round, one shortly after the other. So a slow minute of the
//! machine affects all of them, and cancels in a ratio within the round. A round gives one sample,
//! however many pairs of settings it averages, because only rounds are independent of each other.
//! The estimate is that of Hodges and Lehmann (1963), the median of the means of all pairs of
//! samples, and its interval the exact one of Wilcoxon's signed ranks (1945). They assume only that
//! the noise is about as often above as below, and a few disturbed rounds do not move them.

use serde::Serialize;

/// An estimate between the ends of its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    pub low: f64,
    pub value: f64,
    pub high: f64,
}

impl Estimate {
    /// None without samples. Fewer than six samples decide nothing at 95 %: the interval is
    /// infinite.
    pub fn of(samples: &[f64]) -> Option<Estimate> {
        let mut means = Vec::new();
        for (i, a) in samples.iter().enumerate() {
            means.extend(samples[i..].iter().map(|b| (a + b) / 2.0));
        }
        means.sort_by(f64::total_cmp);
        let last = means.len().checked_sub(1)?;
        let value = (means[last / 2] + means[last.div_ceil(2)]) / 2.0;
        let (low, high) = match rank(samples.len()) {
            0 => (f64::NEG_INFINITY, f64::INFINITY),
            c => (means[c - 1], means[last + 1 - c]),
        };
        Some(Estimate { low, value, high })
    }

    /// The estimate of a ratio, from samples of its logarithm.
    pub fn of_ratio(logarithms: &[f64]) -> Option<Estimate> {
        let e = Estimate::of(logarithms)?;
        Some(Estimate { low: e.low.exp(), value: e.value.exp(), high: e.high.exp() })
    }

    pub fn against(self, bound: f64) -> Verdict {
        if self.high < bound {
            Verdict::Less
        } else if self.low > bound {
            Verdict::More
        } else {
            Verdict::Open
        }
    }
}

/// The number of ordered means outside each end: the greatest c such that a sum of signed ranks
/// below c has a probability of at most 2.5 %, or 0 if there is none.
fn rank(samples: usize) -> usize {
    // ways[s]: the number of subsets of the ranks 1 to n whose sum is s.
    let mut ways = vec![0.0; samples * (samples + 1) / 2 + 1];
    ways[0] = 1.0;
    for rank in 1..=samples {
        for sum in (rank..ways.len()).rev() {
            ways[sum] += ways[sum - rank];
        }
    }
    let all = 2f64.powi(samples as i32);
    let below = ways.iter().scan(0.0, |sum, w| {
        *sum += w / all;
        Some(*sum)
    });
    below.take_while(|p| *p <= 0.025).count()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The whole interval is below the bound.
    Less,
    More,
    /// The interval contains the bound.
    Open,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_those_of_the_tables() {
        // Wilcoxon's critical value, two-sided at 5 %, is one less.
        let tables = [(5, 0), (6, 1), (7, 3), (8, 4), (9, 6), (10, 9), (12, 14), (15, 26)];
        for (n, c) in tables {
            assert_eq!(rank(n), c, "{n} samples");
        }
    }

    #[test]
    fn six_samples_span_their_interval() {
        let e = Estimate::of(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        assert_eq!((e.low, e.value, e.high), (1.0, 3.5, 6.0));
        assert_eq!(Estimate::of(&[]), None);
    }

    #[test]
    fn few_samples_decide_nothing() {
        let e = Estimate::of(&[0.1; 5]).unwrap();
        assert_eq!((e.value, e.against(1.0)), (0.1, Verdict::Open));
        assert_eq!(Estimate::of(&[0.1; 6]).unwrap().against(1.0), Verdict::Less);
    }

    #[test]
    fn one_wild_round_does_not_decide() {
        let mut logs = vec![-0.10, -0.11, -0.09, -0.10, -0.12, -0.10, -0.11, -0.09];
        assert_eq!(Estimate::of_ratio(&logs).unwrap().against(1.0), Verdict::Less);
        logs[3] = 0.5;
        let e = Estimate::of_ratio(&logs).unwrap();
        assert!((e.value - 0.9).abs() < 0.02, "{e:?}");
    }

    #[test]
    fn verdicts() {
        let e = |low, high| Estimate { low, value: (low + high) / 2.0, high };
        assert_eq!(e(0.8, 0.9).against(1.0), Verdict::Less);
        assert_eq!(e(1.1, 1.2).against(1.0), Verdict::More);
        assert_eq!(e(0.9, 1.1).against(1.0), Verdict::Open);
        assert_eq!(e(0.9, 1.0).against(1.0), Verdict::Open);
    }

    /// About one in twenty intervals, from noise around a known ratio, misses it.
    #[test]
    fn intervals_hold_what_they_say() {
        use rand::rngs::StdRng;
        use rand::{RngExt, SeedableRng};
        let mut random = StdRng::seed_from_u64(1);
        let trials = 2000;
        let mut missed = 0;
        for _ in 0..trials {
            let sample = |r: &mut StdRng| (0..4).map(|_| r.random_range(-0.5..0.5)).sum::<f64>();
            let logs: Vec<f64> = (0..9).map(|_| 0.2 + sample(&mut random)).collect();
            let e = Estimate::of(&logs).unwrap();
            missed += usize::from(!(e.low..=e.high).contains(&0.2));
        }
        assert!((50..=120).contains(&missed), "{missed} of {trials} missed");
    }
}
