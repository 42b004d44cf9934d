//! The prices of each policy, measured on this machine.

use anyhow::{Context, Result, ensure};

use crate::policy::Policy;
use crate::prices::Prices;
use crate::process::{Costs, Places, typical};

/// Worker counts between which the cost of a look, and of setting up a worker, is the slope.
const FEW: &str = "64";
const MANY: &str = "256";

const SPIN: [(&str, &str); 1] = [("SCHED_IDLE", "spin")];

/// Everything measured, again and again.
#[derive(Default)]
pub struct Calibration {
    recorder: Vec<Costs>,
    policies: Vec<(Policy, Vec<Costs>)>,
    searches: Vec<Costs>,
}

impl Calibration {
    /// Of these policies, which the library knows.
    pub fn new(known: &[Policy]) -> Calibration {
        let policies = known.iter().map(|&policy| (policy, Vec::new())).collect();
        Calibration { policies, ..Calibration::default() }
    }

    /// Measures everything once more.
    pub fn round(&mut self, places: &Places) -> Result<()> {
        self.recorder.push(places.costs_of_recorder("alone")?);
        let mut searches = Costs::new();
        for threads in [FEW, MANY] {
            let settings = [SPIN[0], ("SCHED_THREADS", threads)];
            let costs = places.costs("searching", &settings)?;
            searches.insert(threads.to_owned(), value(&costs, "search")?);
        }
        self.searches.push(searches);
        for (policy, rounds) in &mut self.policies {
            let with = |threads| [policy.environment(), &[("SCHED_THREADS", threads)]].concat();
            let mut costs = places.costs("alone", &with("1"))?;
            costs.extend(places.costs("together", &with("2"))?);
            if !policy.shares() {
                costs.extend(places.costs("lone", &[&with("2")[..], &SPIN].concat())?);
            }
            for threads in ["1", FEW] {
                let empty = places.costs("empty", &with(threads))?;
                costs.insert(format!("init {threads}"), value(&empty, "init")?);
            }
            rounds.push(costs);
        }
        Ok(())
    }

    fn rounds(&self, policy: Policy) -> Option<&[Costs]> {
        let found = self.policies.iter().find(|(known, _)| *known == policy);
        found.map(|(_, rounds)| &rounds[..])
    }

    /// None: the library does not know the policy.
    pub fn prices(&self, policy: Policy) -> Result<Option<Prices>> {
        let Some(rounds) = self.rounds(policy) else { return Ok(None) };
        let more =
            |name: &str| Ok::<f64, anyhow::Error>(of(rounds, name)? - of(&self.recorder, name)?);
        let (push, run) = (more("push")?, more("run")?);
        let workers = |count: &str| count.parse::<f64>().context("a number");
        let between = |few: f64, many: f64, slope: f64| (slope / (many - few)).max(0.0);
        let (few, many) = (workers(FEW)?, workers(MANY)?);
        let searching = of(&self.searches, MANY)? - of(&self.searches, FEW)?;
        let setting_up = of(rounds, &format!("init {FEW}"))? - of(rounds, "init 1")?;
        // In the flood of the calibration `cont` may have nothing to steal, and a bounded deque sends
        // most tasks through the queue of all: then a theft is taken to cost what it costs `steal`.
        let steals = |name: &str| {
            if policy.shares() {
                return Ok(0.0);
            }
            let own = of(rounds, "thief").is_ok_and(|thief| thief > 0.0);
            of(if own { rounds } else { self.rounds(Policy::Steal).unwrap_or(rounds) }, name)
        };
        Ok(Some(Prices {
            push,
            run,
            fork: more("fork")?,
            fresh: more("flood")? - push - run,
            thief: steals("thief")?.max(0.0),
            robbed: steals("robbed")?.max(0.0),
            late: if policy.shares() { 0.0 } else { of(rounds, "late")? },
            look: if policy.shares() { 0.0 } else { between(few, many, searching) },
            wake: of(rounds, "wake")?,
            waker: of(rounds, "waker")?,
            syscall: of(rounds, "syscall")?,
            line: of(rounds, "line")?,
            init: of(rounds, "init 1")?,
            init_worker: between(1.0, few, setting_up),
        }))
    }
}

fn value(costs: &Costs, name: &str) -> Result<f64> {
    costs.get(name).copied().with_context(|| format!("costs did not print {name}"))
}

/// Of all rounds in which it could be measured: on a busy machine two workers may never
/// have run at the same time.
fn of(rounds: &[Costs], name: &str) -> Result<f64> {
    let values: Vec<f64> = rounds.iter().filter_map(|costs| costs.get(name).copied()).collect();
    ensure!(!values.is_empty(), "costs did not print {name} in any of {} rounds", rounds.len());
    Ok(typical(values))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn costs(values: &[(&str, f64)]) -> Costs {
        values.iter().map(|&(name, value)| (name.to_owned(), value)).collect()
    }

    #[test]
    fn prices_are_what_a_policy_costs_more_than_the_recorder() {
        let library = [
            ("push", 9.0),
            ("run", 4.0),
            ("fork", 20.0),
            ("flood", 33.0),
            ("thief", 150.0),
            ("robbed", -3.0),
            ("late", 900.0),
            ("wake", 5000.0),
            ("waker", 2000.0),
            ("syscall", 200.0),
            ("line", 80.0),
            ("init 1", 1000.0),
            ("init 64", 7300.0),
        ];
        let calibration = Calibration {
            recorder: vec![costs(&[("push", 3.0), ("run", 5.0), ("fork", 8.0), ("flood", 10.0)])],
            policies: vec![(Policy::Steal, vec![costs(&library)])],
            searches: vec![costs(&[("64", 1000.0), ("256", 1960.0)])],
        };
        let prices = calibration.prices(Policy::Steal).unwrap().unwrap();
        let expected = Prices {
            push: 6.0,
            run: -1.0,
            fork: 12.0,
            fresh: 18.0,
            thief: 150.0,
            robbed: 0.0,
            late: 900.0,
            look: 5.0,
            wake: 5000.0,
            waker: 2000.0,
            syscall: 200.0,
            line: 80.0,
            init: 1000.0,
            init_worker: 100.0,
        };
        assert_eq!(prices, expected);
        assert_eq!(calibration.prices(Policy::Cont).unwrap(), None);
    }
}
