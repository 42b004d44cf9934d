//! The prices of each policy, measured on this machine.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use sched_estimate::Estimate;

use crate::busy;
use crate::policy::Policy;
use crate::prices::{Contention, Fresh, LENGTHS, Prices, THINKS};
use crate::process::{Costs, Places};

/// Numbers of workers. The cost of a look, and of setting up a worker, is the slope between two of
/// them.
const TWO: &str = "2";
const FEW: &str = "64";
const MANY: &str = "256";

const SPIN: [(&str, &str); 1] = [("SCHED_IDLE", "spin")];

/// Measured values, by name.
type Measured = BTreeMap<String, Vec<f64>>;

/// All measured values of all rounds.
#[derive(Default)]
pub struct Calibration {
    recorder: Measured,
    /// Values that do not depend on the policy.
    machine: Measured,
    policies: Vec<(Policy, Measured)>,
    searches: Measured,
    /// Our share of the processors, at the beginning and at the end of each round.
    shares: Vec<f64>,
}

impl Calibration {
    /// For these policies, which the library knows.
    pub fn new(known: &[Policy]) -> Calibration {
        let policies = known.iter().map(|&policy| (policy, Measured::new())).collect();
        Calibration { policies, ..Calibration::default() }
    }

    /// Measures everything once more.
    pub fn round(&mut self, places: &Places) -> Result<()> {
        self.shares.push(busy::share());
        add(&mut self.recorder, places.costs_of_recorder("alone")?);
        for threads in [TWO, FEW, MANY] {
            let settings = [SPIN[0], ("SCHED_THREADS", threads)];
            add_as(&mut self.searches, threads, &places.costs("searching", &settings)?, "search")?;
        }
        for (policy, measured) in &mut self.policies {
            let with = |threads| [policy.environment(), &[("SCHED_THREADS", threads)]].concat();
            add(measured, places.costs("alone", &with("1"))?);
            // This mode chooses the number of workers of each of its runs itself.
            add(measured, places.costs("together", policy.environment())?);
            if !policy.shares() {
                let spin = [policy.environment(), &SPIN].concat();
                add(measured, places.costs("lone", &spin)?);
                if policy.is_private() {
                    add(measured, places.costs("vain", &spin)?);
                }
            }
            if policy.has_lock() {
                for threads in ["1", TWO] {
                    for (name, value) in places.costs("contended", &with(threads))? {
                        let name = format!("{name}, {threads}");
                        measured.entry(name).or_default().push(value);
                    }
                }
            }
            for threads in ["1", FEW] {
                let empty = places.costs("empty", &with(threads))?;
                add_as(measured, &format!("init {threads}"), &empty, "init")?;
            }
        }
        add(&mut self.machine, places.costs("machine", &[])?);
        self.shares.push(busy::share());
        Ok(())
    }

    /// Our share of the processors: the middle of all trials.
    pub fn share(&self) -> Option<f64> {
        Estimate::of(&self.shares).map(|share| share.value)
    }

    /// What the recorder spends on a place that was never used, by the length of its queue.
    pub fn growth_of_recorder(&self) -> Result<Fresh> {
        growth(&self.recorder)
    }

    fn measured(&self, policy: Policy) -> Option<&Measured> {
        let found = self.policies.iter().find(|(known, _)| *known == policy);
        found.map(|(_, measured)| measured)
    }

    /// True if a theft is taken to cost what it costs under `steal`. In the flood of the
    /// calibration `cont` has hardly anything to steal, and a bounded deque sends most tasks
    /// through the queue of all. `steal` itself has nobody to borrow from.
    pub fn borrows_theft(&self, policy: Policy) -> bool {
        let own = |rounds| usual_of_most(rounds, "thief", "wake").is_some_and(|thief| thief > 0.0);
        !policy.shares()
            && policy != Policy::Steal
            && (policy.places().is_some() || !self.measured(policy).is_some_and(own))
    }

    /// None if the library does not know the policy.
    pub fn prices(&self, policy: Policy) -> Result<Option<Prices>> {
        let Some(rounds) = self.measured(policy) else { return Ok(None) };
        let more = |name: &str| {
            Ok::<f64, anyhow::Error>(usual(rounds, name)? - usual(&self.recorder, name)?)
        };
        let (push, run) = (more("push")?, more("run")?);
        let workers = |count: &str| count.parse::<f64>().context("a number");
        let between = |few: f64, many: f64, slope: f64| (slope / (many - few)).max(0.0);
        let (few, many) = (workers(FEW)?, workers(MANY)?);
        let searching = usual(&self.searches, MANY)? - usual(&self.searches, FEW)?;
        let look = between(few, many, searching);
        let setting_up = usual(rounds, &format!("init {FEW}"))? - usual(rounds, "init 1")?;
        let steals = |borrows: bool, name: &str| {
            if policy.shares() {
                return Ok(0.0);
            }
            let other = borrows.then(|| self.measured(Policy::Steal)).flatten();
            usual(other.unwrap_or(rounds), name)
        };
        let borrows_theft = self.borrows_theft(policy);
        Ok(Some(Prices {
            push,
            run,
            fork: more("fork")?,
            fresh: growth(rounds)?,
            thief: steals(borrows_theft, "thief")?.max(0.0),
            robbed: steals(borrows_theft, "robbed")?.max(0.0),
            late: if policy.shares() { 0.0 } else { usual(rounds, "late")? },
            look: if policy.shares() { 0.0 } else { look },
            pause: if policy.shares() { 0.0 } else { usual(&self.searches, TWO)? - look }.max(0.0),
            // A deque that is not private gives its only task away, so its searches are not in
            // vain: their measured cost would include thefts.
            vain: steals(!policy.is_private(), "vain")?.max(0.0),
            wake: usual(rounds, "wake")?,
            waker: usual(rounds, "waker")?,
            first_wake: usual(rounds, "first wake")?,
            first_waker: usual(rounds, "first waker")?,
            spawns: self.contention(policy, rounds, "spawns", &["push", "run"])?,
            forks: self.contention(policy, rounds, "forks", &["fork"])?,
            line: usual(&self.machine, "line")?,
            init: usual(rounds, "init 1")?,
            init_worker: between(1.0, few, setting_up),
        }))
    }

    /// The contention for the queue, if it has a lock. `least` is the sum of what the recorder's
    /// `calls` cost.
    fn contention(
        &self,
        policy: Policy,
        rounds: &Measured,
        does: &str,
        calls: &[&str],
    ) -> Result<Contention> {
        let mut contention = Contention::default();
        if policy.has_lock() {
            // Operations for each task. A bounded deque moves tasks to the queue in batches.
            let each = if policy.shares() { 2.0 } else { 1.0 };
            for (turns, think) in contention.turns.iter_mut().zip(THINKS) {
                let of = |threads| format!("{does} {think}, {threads}");
                turns.alone = usual(rounds, &of("1"))? / each;
                turns.two = usual(rounds, &of(TWO))? / each;
            }
            for call in calls {
                contention.least += usual(&self.recorder, call)? / each;
            }
        }
        Ok(contention)
    }
}

/// How much more a task costs than others if it makes the queue longer than it ever was.
fn growth(measured: &Measured) -> Result<Fresh> {
    let each = usual(measured, "push")? + usual(measured, "run")?;
    let mut fresh = [0.0; LENGTHS.len()];
    let (mut shorter, mut all_of_shorter) = (0.0, 0.0);
    for (price, length) in fresh.iter_mut().zip(LENGTHS) {
        let all = length as f64 * usual(measured, &format!("flood {length}"))?;
        *price = (all - all_of_shorter) / (length as f64 - shorter) - each;
        (shorter, all_of_shorter) = (length as f64, all);
    }
    Ok(fresh)
}

fn add(to: &mut Measured, costs: Costs) {
    for (name, value) in costs {
        to.entry(name).or_default().push(value);
    }
}

fn add_as(to: &mut Measured, new: &str, costs: &Costs, name: &str) -> Result<()> {
    let &value = costs.get(name).with_context(|| format!("costs did not print {name}"))?;
    to.entry(new.to_owned()).or_default().push(value);
    Ok(())
}

/// The values of all rounds in which this could be measured: on a busy machine two workers may
/// never have run at the same time.
fn all<'a>(measured: &'a Measured, name: &str) -> Result<&'a [f64]> {
    let values = measured.get(name).map_or(&[][..], |values| values);
    ensure!(!values.is_empty(), "costs did not print {name} in any round");
    Ok(values)
}

/// The usual value. The values differ because of other users of the machine, and because of where
/// the memory of a process lies.
fn usual(measured: &Measured, name: &str) -> Result<f64> {
    Ok(Estimate::of(all(measured, name)?).map_or(f64::NAN, |of| of.value))
}

/// The usual value, if most rounds have one. The process that prints it also prints `always`, which
/// every round has. If few rounds have a value, these rounds are unusual, and so is their middle:
/// the rounds without a value cannot outweigh them.
fn usual_of_most(measured: &Measured, name: &str, always: &str) -> Option<f64> {
    let rounds = all(measured, always).ok()?.len();
    let values = all(measured, name).ok()?;
    if 2 * values.len() > rounds { usual(measured, name).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prices::Turns;

    fn costs(values: &[(&str, f64)]) -> Measured {
        values.iter().map(|&(name, value)| (name.to_owned(), vec![value])).collect()
    }

    #[test]
    fn prices_are_what_a_policy_costs_more_than_the_recorder() {
        let library = [
            ("push", 9.0),
            ("run", 4.0),
            ("fork", 20.0),
            ("flood 16384", 33.0),
            ("flood 65536", 33.0),
            ("flood 262144", 66.0),
            ("thief", 150.0),
            ("robbed", -3.0),
            ("late", 900.0),
            ("vain", 40.0),
            ("wake", 5000.0),
            ("waker", 2000.0),
            ("first wake", 60_000.0),
            ("first waker", 20_000.0),
            ("init 1", 1000.0),
            ("init 64", 7300.0),
        ];
        let mut half = costs(&library);
        half.remove("vain");
        for (does, think) in ["spawns", "forks"].iter().flat_map(|d| THINKS.map(|t| (d, t))) {
            for threads in [1, 2] {
                half.insert(format!("{does} {think}, {threads}"), vec![1.0]);
            }
        }
        let mut cont = costs(&library);
        cont.extend(costs(&[("vain", 7.0), ("thief", -1.0)]));
        let calibration = Calibration {
            recorder: costs(&[
                ("push", 3.0),
                ("run", 5.0),
                ("fork", 8.0),
                ("flood 16384", 10.0),
                ("flood 65536", 10.0),
                ("flood 262144", 10.0),
            ]),
            machine: costs(&[("line", 80.0)]),
            policies: vec![
                (Policy::Steal, costs(&library)),
                (Policy::StealHalf, half),
                (Policy::Cont, cont),
            ],
            searches: costs(&[("2", 70.0), ("64", 1000.0), ("256", 1960.0)]),
            shares: Vec::new(),
        };
        let prices = calibration.prices(Policy::Steal).unwrap().unwrap();
        let expected = Prices {
            push: 6.0,
            run: -1.0,
            fork: 12.0,
            fresh: [20.0, 20.0, 20.0 + 33.0 * 4.0 / 3.0],
            thief: 150.0,
            robbed: 0.0,
            late: 900.0,
            look: 5.0,
            pause: 65.0,
            vain: 40.0,
            wake: 5000.0,
            waker: 2000.0,
            first_wake: 60_000.0,
            first_waker: 20_000.0,
            spawns: Contention::default(),
            forks: Contention::default(),
            line: 80.0,
            init: 1000.0,
            init_worker: 100.0,
        };
        assert_eq!(prices, expected);
        let vain = |policy| calibration.prices(policy).unwrap().map(|prices| prices.vain);
        assert_eq!(Policy::ALL.map(vain), [Some(40.0), Some(40.0), Some(7.0), None, None]);
        let borrows = |policy| calibration.borrows_theft(policy);
        assert_eq!(Policy::ALL.map(borrows), [false, true, true, false, false]);
        assert_eq!(calibration.growth_of_recorder().unwrap(), [2.0; 3]);
        assert_eq!(calibration.prices(Policy::Lifo).unwrap(), None);
    }

    /// Twenty rounds, some of which have measured the price of a theft.
    fn rounds(thefts: &[f64]) -> Measured {
        let mut rounds = Measured::new();
        rounds.insert("thief".to_owned(), thefts.to_vec());
        rounds.insert("wake".to_owned(), vec![12_000.0; 20]);
        rounds
    }

    #[test]
    fn a_theft_in_a_few_rounds_is_not_the_usual_one() {
        let absurd = 759_326.0;
        let borrows = |policy, thefts: &[f64]| {
            let policies = vec![(policy, rounds(thefts))];
            let calibration = Calibration { policies, ..Calibration::default() };
            calibration.borrows_theft(policy)
        };
        for thefts in [&[][..], &[absurd], &[absurd; 10]] {
            assert!(borrows(Policy::Cont, thefts), "{thefts:?}");
            assert!(!borrows(Policy::Steal, thefts), "{thefts:?}");
        }
        assert!(!borrows(Policy::Cont, &[40.0; 11]));
    }

    #[test]
    fn one_absurd_theft_among_many_does_not_count() {
        let mut thefts = [40.0; 11];
        thefts[3] = 759_326.0;
        assert_eq!(usual_of_most(&rounds(&thefts), "thief", "wake"), Some(40.0));
    }

    #[test]
    fn contention_is_an_operation_of_one_and_of_two() {
        let mut measured = Measured::new();
        for (i, think) in THINKS.into_iter().enumerate() {
            for (does, each) in [("spawns", 10.0), ("forks", 100.0)] {
                let alone = each + i as f64;
                let rounds = [2.0, -2.0, 1.0, -1.0].map(|more| alone + more).to_vec();
                measured.insert(format!("{does} {think}, 1"), rounds);
                measured.insert(
                    format!("{does} {think}, 2"),
                    [-9.0, 9.0, 1.0, -1.0].map(|more| 4.0 * alone + more).to_vec(),
                );
            }
        }
        let recorder = costs(&[("push", 3.0), ("run", 5.0), ("fork", 7.0)]);
        let calibration = Calibration { recorder, ..Calibration::default() };
        let of = |policy| {
            let of = |does, calls: &[&str]| calibration.contention(policy, &measured, does, calls);
            [of("spawns", &["push", "run"]).unwrap(), of("forks", &["fork"]).unwrap()]
        };
        // Two operations for each task, but one if it overflows from a bounded deque.
        for (policy, part) in [(Policy::Fifo, 0.5), (Policy::StealHalf, 1.0)] {
            let [spawns, forks] = of(policy);
            assert_eq!([spawns.least, forks.least], [8.0 * part, 7.0 * part]);
            for (i, (spawns, forks)) in spawns.turns.iter().zip(&forks.turns).enumerate() {
                for (turns, each) in [(spawns, 10.0), (forks, 100.0)] {
                    let alone = (each + i as f64) * part;
                    assert_eq!(*turns, Turns { alone, two: 4.0 * alone });
                }
            }
        }
        assert_eq!(of(Policy::Steal), [Contention::default(); 2]);
    }
}
