//! The runs of the session, by setup and round.

use std::collections::{BTreeMap, HashMap};

use sched_estimate::Estimate;

use super::page::interval;
use crate::run::bench::Run;
use crate::run::setup::Setup;
use crate::statistics::summary::{Measured, Summary};

pub struct Data<'a> {
    rounds: HashMap<&'a Setup, BTreeMap<usize, &'a Run>>,
    summary: Summary,
}

/// A figure of a run.
pub type Value = fn(&Run) -> f64;

pub fn seconds(run: &Run) -> f64 {
    run.line.seconds
}

impl<'a> Data<'a> {
    pub fn new(runs: &'a [Run]) -> Data<'a> {
        let mut rounds: HashMap<&Setup, BTreeMap<usize, &Run>> = HashMap::new();
        for run in runs.iter().filter(|r| r.timed) {
            rounds.entry(&run.setup).or_default().insert(run.repetition, run);
        }
        Data { rounds, summary: Summary::new(runs) }
    }

    /// Medians and quartiles.
    pub fn of(&self, setup: &Setup) -> Option<&Measured> {
        self.summary.of(setup)
    }

    pub fn has(&self, setup: &Setup) -> bool {
        self.rounds.contains_key(setup)
    }

    pub fn estimate(&self, setup: &Setup, value: Value) -> Option<Estimate> {
        let runs = self.rounds.get(setup)?;
        Estimate::of(&runs.values().map(|r| value(r)).collect::<Vec<_>>())
    }

    /// The time of one setup divided by that of another.
    pub fn ratio(&self, what: &Setup, over: &Setup) -> Option<Estimate> {
        self.mean_ratio(&[(what.clone(), over.clone())], seconds)
    }

    /// The geometric mean, over pairs of setups, of the first value divided by the second. Pairs
    /// that were not measured are left out, and so are rounds in which a run of the other pairs is
    /// missing.
    pub fn mean_ratio(&self, pairs: &[(Setup, Setup)], value: Value) -> Option<Estimate> {
        let pairs: Vec<_> = pairs
            .iter()
            .filter_map(|(what, over)| Some((self.rounds.get(what)?, self.rounds.get(over)?)))
            .collect();
        let in_round = |round: &usize| -> Option<f64> {
            let logarithms = pairs.iter().map(|(what, over)| {
                let ratio = value(what.get(round)?) / value(over.get(round)?);
                (ratio.is_finite() && ratio > 0.0).then(|| ratio.ln())
            });
            let sum: f64 = logarithms.sum::<Option<f64>>()?;
            Some(sum / pairs.len() as f64)
        };
        let rounds = pairs.first()?.0.keys();
        Estimate::of_ratio(&rounds.filter_map(in_round).collect::<Vec<_>>())
    }

    /// "spin 0.80 [0.75–0.86] (less)": the mean ratio over pairs of what has this name and of what
    /// it is compared with. `less` and `more` are the words for a ratio below and above 1.
    pub fn told(
        &self,
        name: &str,
        pairs: &[(Setup, Setup)],
        value: Value,
        [less, more]: [&'static str; 2],
    ) -> Option<String> {
        let e = self.mean_ratio(pairs, value)?;
        Some(format!("{name} {} ({})", interval(Some(e)), e.against(1.0).says(less, more)))
    }

    /// The greatest number of threads up to which more threads are seen to be faster: no greater
    /// number is seen to be faster than it.
    pub fn gains_up_to(&self, threads: &[usize], setup: impl Fn(usize) -> Setup) -> Option<usize> {
        use sched_estimate::Verdict;
        let mut best = *threads.first()?;
        self.of(&setup(best))?;
        for &more in &threads[1..] {
            let ratio = self.ratio(&setup(more), &setup(best));
            if ratio.is_some_and(|r| r.against(1.0) == Verdict::Less) {
                best = more;
            }
        }
        Some(best)
    }
}

#[cfg(test)]
pub mod tests {
    use sched_estimate::Verdict;

    use super::*;
    use crate::pages::lab::settings::{GLOBAL_FIFO, SPLIT};
    use crate::run::output::{Line, Stats};

    /// A run in a round that took so long.
    pub fn run(setup: &Setup, repetition: usize, seconds: f64) -> Run {
        let Setup { program, n, kind, threads, .. } = setup;
        let line = format!(
            "bench={program} n={n} kind={} threads={threads} tasks=9 seconds={seconds} \
             ns_per_task=7 checksum=ab user=0.25 sys=0 vcsw=1 icsw=2 cal=0.5 \
             burn_percent=3 wake_us=50 ok",
            kind.name()
        );
        let line = Line::read(&line, program, *n, kind.name(), *threads).unwrap();
        let stats = r#"{"kind":"steal","deque":"split","idle":"park","threads":2,"qlen":0,
            "seconds":0.1,"tasks":9,"steals":1,"stolen_tasks":1,"failed_steals":2,"parks":0,
            "naps":0,"wakes":1,"queue_peak":4,"threads_missing":0,"workers":[]}"#
            .replace('\n', "");
        let stats = Some(Stats::parse(&stats).unwrap());
        Run { setup: setup.clone(), repetition, timed: true, line, stats }
    }

    #[test]
    fn drift_cancels_within_a_round() {
        let (fast, slow) = (SPLIT.setup("tree", 8, 2), GLOBAL_FIFO.setup("tree", 8, 2));
        let rounds = [1.0, 3.0, 2.0, 9.0, 5.0, 1.5];
        let runs: Vec<Run> = rounds
            .iter()
            .enumerate()
            .flat_map(|(i, drift)| [run(&fast, i, 0.5 * drift), run(&slow, i, *drift)])
            .collect();
        let data = Data::new(&runs);
        let e = data.ratio(&fast, &slow).unwrap();
        assert!((e.value - 0.5).abs() < 1e-12 && e.against(1.0) == Verdict::Less);
        assert_eq!(data.ratio(&fast, &fast).unwrap().against(1.0), Verdict::Open);
    }

    #[test]
    fn what_was_not_measured_is_left_out() {
        let (a, b) = (SPLIT.setup("tree", 8, 2), GLOBAL_FIFO.setup("tree", 8, 2));
        let absent = SPLIT.setup("tree", 9, 2);
        let runs: Vec<Run> = (0..6).flat_map(|i| [run(&a, i, 1.0), run(&b, i, 2.0)]).collect();
        let data = Data::new(&runs);
        assert!(data.ratio(&a, &absent).is_none());
        let pairs = [(a.clone(), b.clone()), (a.clone(), absent)];
        assert!((data.mean_ratio(&pairs, seconds).unwrap().value - 0.5).abs() < 1e-12);
    }

    #[test]
    fn gains_end_where_none_is_seen() {
        let setup = |threads| SPLIT.setup("tree", 8, threads);
        let seconds = [(1, 1.0), (2, 0.5), (4, 0.5), (8, 0.7)];
        let runs: Vec<Run> =
            (0..6).flat_map(|i| seconds.map(|(threads, s)| run(&setup(threads), i, s))).collect();
        assert_eq!(Data::new(&runs).gains_up_to(&[1, 2, 4, 8], setup), Some(2));
    }
}
