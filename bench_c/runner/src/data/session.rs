//! A session, with the values of each case, and the sessions together.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use sched_estimate::Estimate;
use serde::{Deserialize, Serialize};

use super::case::{Case, Selector, Size};
use crate::machine::{self, Calibration, Machine};
use crate::quartiles::Quartiles;

/// The sessions by their names: see [`super::condense::SESSIONS`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measurements(pub BTreeMap<String, Session>);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Session {
    #[serde(flatten)]
    pub about: About,
    pub cases: Vec<Measured>,
}

/// How a session was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct About {
    pub machine: Machine,
    /// When the `make results` began that measured it, in UTC; None if another command did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub results: Option<String>,
    /// When it ended, in UTC: `2025-03-01 12:30`, or the day alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// Small sizes, for a first look.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub quick: bool,
    pub rounds: usize,
    pub total_seconds: f64,
    /// Medians of the calibrations: see [`Calibration`].
    pub iteration_ns: f64,
    pub cores_ours: f64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calibration: Vec<Calibration>,
    /// Other systems, with their versions.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub systems: BTreeMap<String, String>,
    /// Settings that this library does not accept, and its messages.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub refused: BTreeMap<String, String>,
    /// The runs that failed: the command, and its output. Such a run was not repeated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<String>,
}

/// The values of a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    #[serde(flatten)]
    pub case: Case,
    pub tasks: u64,
    /// By name, a value for each round of `bench` and `lab`, and for each run of `peers`. None: the
    /// run of that round is missing.
    pub values: BTreeMap<String, Vec<Option<f64>>>,
}

impl About {
    /// The description of a session that begins.
    pub fn new(machine: Machine) -> About {
        About {
            machine,
            results: None,
            date: None,
            quick: false,
            rounds: 0,
            total_seconds: 0.0,
            iteration_ns: 0.0,
            cores_ours: 0.0,
            calibration: Vec::new(),
            systems: BTreeMap::new(),
            refused: BTreeMap::new(),
            failures: Vec::new(),
        }
    }

    /// The session has ended after so long.
    pub fn end(&mut self, elapsed: Duration) {
        let median = |value: fn(&Calibration) -> f64| {
            let values = self.calibration.iter().map(value).collect();
            Quartiles::of(values).map_or(0.0, |q| four_digits(q.median))
        };
        (self.iteration_ns, self.cores_ours) = (median(|c| c.ns), median(|c| c.cores));
        self.total_seconds = elapsed.as_secs_f64().round();
        self.date = Some(sched_tools::provenance::now());
    }

    /// The other systems and their versions. The lines of our own programs begin with the version
    /// of the library.
    fn of_others(&self) -> impl Iterator<Item = (&String, &String)> {
        self.systems.iter().filter(|(_, v)| !v.starts_with(&self.machine.version))
    }

    /// True if the failure belongs to another system's run: it begins with the system's name.
    pub fn is_of_others(&self, failure: &str) -> bool {
        let name = failure.split(':').next().unwrap_or_default();
        self.of_others().any(|(other, _)| other == name)
    }

    /// The versions of the other systems, each with the system's name, unless the version begins
    /// with that name.
    pub fn others(&self) -> Vec<String> {
        let mut texts: Vec<String> = Vec::new();
        for (name, version) in self.of_others() {
            // Boost is two systems: boost.context and boost.fiber.
            let library = name.split('.').next().unwrap_or(name);
            let named = version.to_lowercase().starts_with(library);
            let text = if named { version.clone() } else { format!("{version} ({name})") };
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
        texts
    }
}

impl Session {
    /// The time of the slowest run of a serial program divided by the time of its fastest run: the
    /// median over the serial programs. None if no serial program was repeated. (A neighbour on the
    /// same processor core slows a program without taking time from it, so `cores_ours` does not
    /// show it.)
    pub fn spread(&self) -> Option<f64> {
        let serial = self.cases.iter().filter(|m| ["serial", "none"].contains(&m.case.by.as_str()));
        let times = serial.map(|m| m.values("seconds")).filter(|times| times.len() > 1);
        let spreads = times.map(|times| {
            let slowest = times.iter().copied().fold(f64::MIN, f64::max);
            slowest / times.iter().copied().fold(f64::MAX, f64::min)
        });
        Quartiles::of(spreads.collect()).map(|q| q.median)
    }

    /// True if others had more than a tenth of the cores, or slowed serial programs by more than a
    /// tenth for a while.
    pub fn is_busy(&self) -> bool {
        machine::is_taken(self.about.cores_ours, self.about.machine.cores)
            || self.spread().is_some_and(|spread| spread > 1.1)
    }

    /// True if others had more than a tenth of the cores in at least half of the measurements.
    pub fn is_taken(&self) -> bool {
        machine::is_busy(&self.about.calibration, self.about.machine.cores)
    }

    /// Prints how fast the machine was; `load` is that before the session.
    pub fn print_calibration(&self, load: Option<f64>) {
        let cals: Vec<f64> = self.cases.iter().flat_map(|m| m.values("cal")).collect();
        let About { calibration, machine, .. } = &self.about;
        machine::print_calibration(calibration, &cals, machine.cores, load);
    }

    /// Adds the values of a run. In `round`, from 1; without a round they come after the others.
    pub fn add(
        &mut self,
        case: &Case,
        tasks: u64,
        round: Option<usize>,
        values: BTreeMap<String, f64>,
    ) {
        let at = match self.cases.iter().position(|m| m.case == *case) {
            Some(at) => at,
            None => {
                let values = BTreeMap::new();
                self.cases.push(Measured { case: case.clone(), tasks, values });
                self.cases.len() - 1
            }
        };
        for (name, value) in values {
            let all = self.cases[at].values.entry(name).or_default();
            let place = round.map_or(all.len(), |round| round - 1);
            all.resize(all.len().max(place + 1), None);
            all[place] = Some(value);
        }
    }
}

impl Measured {
    /// The values of the rounds that have one.
    pub fn values(&self, name: &str) -> Vec<f64> {
        self.rounds(name).into_iter().flatten().collect()
    }

    /// The value of each round. Some values are computed from others:
    ///
    /// - `gain`: the time of the tasks' loops alone, of so many iterations as the data say, divided
    ///   by that of the run
    /// - `slept`: how often a thread slept at a lock, in per cent of the uses of the lock, of which
    ///   a task has two: when it is spawned, and when it is taken. Sleeps for want of tasks do not
    ///   count.
    /// - `preempted`: how often a thread lost its processor to another, likewise
    pub fn rounds(&self, name: &str) -> Vec<Option<f64>> {
        let of = |name: &str| self.values.get(name).cloned().unwrap_or_default();
        let tasks = self.tasks as f64;
        let two = |a: &str, b: &str, f: &dyn Fn(f64, f64) -> f64| -> Vec<Option<f64>> {
            of(a).into_iter().zip(of(b)).map(|(a, b)| Some(f(a?, b?))).collect()
        };
        match name {
            "gain" => {
                let each = self.case.data.as_ref().and_then(|d| d.parse().ok()).unwrap_or(f64::NAN);
                two("cal", "seconds", &|cal, seconds| tasks * each * cal * 1e-9 / seconds)
            }
            "slept" => two("vcsw", "sleeps", &|switches, idle| {
                100.0 * (switches - idle).max(0.0) / (2.0 * tasks)
            }),
            "ns_a_task" => of("seconds").into_iter().map(|s| Some(s? * 1e9 / tasks)).collect(),
            "preempted" => two("icsw", "icsw", &|switches, _| 100.0 * switches / (2.0 * tasks)),
            _ => of(name),
        }
    }

    /// Median and quartiles of a value. `ns` is the time of a task, `ms` and `us` are times of a
    /// run.
    pub fn quartiles(&self, name: &str) -> Result<Quartiles> {
        let (name, scale) = match name {
            "ns" => ("seconds", 1e9 / self.tasks as f64),
            "us" => ("seconds", 1e6),
            "us_a_task" => ("seconds", 1e6 / self.tasks as f64),
            "ms" => ("seconds", 1e3),
            "processor_ms" => ("cpu", 1e3),
            "peak_mb" => ("peak", 1e-6),
            other => (other, 1.0),
        };
        let quartiles = Quartiles::of(self.values(name));
        let quartiles = quartiles.with_context(|| format!("no {name} of {}", self.case))?;
        Ok(quartiles.scaled(scale))
    }
}

impl Measurements {
    pub fn session(&self, name: &str) -> Result<&Session> {
        self.0.get(name).with_context(|| format!("no session `{name}`"))
    }

    /// The only case that is selected. If the session ran the program at several sizes, and none is
    /// named, the smallest counts.
    pub fn case(&self, selector: &Selector) -> Result<&Measured> {
        let cases = &self.session(&selector.session)?.cases;
        let mut found: Vec<_> = cases.iter().filter(|m| selector.selects(&m.case)).collect();
        let sizes = found.iter().map(|m| m.case.n);
        let size = if selector.n == Size::Most { sizes.max() } else { sizes.min() };
        found.retain(|m| Some(m.case.n) == size);
        ensure!(found.len() == 1, "{} cases, not one: {selector:?}", found.len());
        Ok(found[0])
    }

    /// The case in the words of a template, if there is one.
    pub fn find(&self, words: &str) -> Option<&Measured> {
        self.case(&Selector::parse(words).ok()?).ok()
    }

    pub fn estimate(&self, what: &Selector) -> Option<Estimate> {
        Estimate::of(&self.case(what).ok()?.values(&what.of))
    }

    /// The geometric mean, over pairs, of the first value divided by the second, within each round,
    /// with its 95 % interval. Pairs that were not measured are left out, and so are rounds in
    /// which a value of the other pairs is missing.
    pub fn mean_ratio(&self, pairs: &[(Selector, Selector)]) -> Option<Estimate> {
        let values =
            |s: &Selector| Some(self.case(s).ok()?.rounds(&s.of)).filter(|v| !v.is_empty());
        let pairs = pairs.iter().filter_map(|(what, over)| Some((values(what)?, values(over)?)));
        let pairs: Vec<_> = pairs.collect();
        let in_round = |round: usize| -> Option<f64> {
            let logarithms = pairs.iter().map(|(what, over)| {
                let of = |values: &[Option<f64>]| values.get(round).copied().flatten();
                Some((of(what)? / of(over)?).ln()).filter(|ratio| ratio.is_finite())
            });
            Some(logarithms.sum::<Option<f64>>()? / pairs.len() as f64)
        };
        let rounds = 0..pairs.first()?.0.len();
        Estimate::of_ratio(&rounds.filter_map(in_round).collect::<Vec<_>>())
    }
}

/// The value to four digits that matter: more are noise.
pub fn four_digits(value: f64) -> f64 {
    format!("{value:.3e}").parse().expect("a number that was just written")
}

#[cfg(test)]
pub mod tests {
    use sched_estimate::Verdict;

    use super::*;

    /// A session of cases in words, whose values in a round are what `value` says.
    pub fn session(cases: &[&str], rounds: usize, value: impl Fn(&Case, usize) -> f64) -> Session {
        let machine = Machine { cores: 2, ..Machine::default() };
        let mut session = Session { about: About::new(machine), cases: Vec::new() };
        for case in cases.iter().map(|words| Case::parse(words).unwrap()) {
            for round in 1..=rounds {
                let value = value(&case, round);
                let names = ["seconds", "cpu", "cal", "steals", "burn_percent", "wake_us"];
                let values = names.map(|name| (name.to_owned(), value)).into();
                session.add(&case, 9, Some(round), values);
            }
        }
        session
    }

    /// Noise of up to a factor of a thousand, the same each time for a case and a round.
    pub fn noise(case: &Case, round: usize, spread: f64) -> f64 {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let part = |round: usize| {
            let mut hasher = DefaultHasher::new();
            (case, round).hash(&mut hasher);
            (hasher.finish() % 1000) as f64 / 1000.0
        };
        0.01 * 10f64.powf(spread * part(0)) * (1.0 + 0.2 * part(round))
    }

    /// A session of all these cases, with all values that a page of it shows.
    pub fn made_up(cases: &[crate::run::plan::Planned], spread: f64) -> Session {
        let names = [
            "seconds",
            "cpu",
            "cal",
            "vcsw",
            "icsw",
            "steals",
            "stolen_tasks",
            "failed_steals",
            "sleeps",
            "wakes",
            "burn_percent",
            "wake_us",
            "p90_us",
            "p99_us",
            "burn_us",
            "us_per_run",
            "ns_a_turn",
            "ns_a_yield",
            "us_a_phase",
            "over_ideal",
            "handover_ns",
            "back_ns",
            "tasks_per_second",
            "answers_per_second",
            "least",
            "computed",
            "ns_a_section",
            "first_us",
            "before_end",
            "start_us",
            "p50_us",
            "cpu_us",
            "alone_us",
            "most_us",
            "loops",
            "work",
            "span",
            "allows",
            "slow_turns",
        ];
        let mut session = session(&[], 0, |_, _| 0.0);
        for planned in cases {
            for round in 1..=6 {
                let value = noise(&planned.case, round, spread);
                let values = names.map(|name| (name.to_owned(), value)).into();
                session.add(&planned.case, 1_048_577, Some(round), values);
            }
        }
        session
    }

    fn lab(session: Session) -> Measurements {
        Measurements([("lab".to_owned(), session)].into())
    }

    fn ratio(data: &Measurements, pairs: &[&str]) -> Option<Estimate> {
        let two = |pair: &&str| {
            let (a, b) = pair.split_once(" / ").unwrap();
            (Selector::parse(a).unwrap(), Selector::parse(b).unwrap())
        };
        data.mean_ratio(&pairs.iter().map(two).collect::<Vec<_>>())
    }

    #[test]
    fn drift_cancels_within_a_round() {
        let drift = [1.0, 3.0, 2.0, 9.0, 5.0, 1.5];
        let part = |case: &Case| if case.by == "steal" { 0.5 } else { 1.0 };
        let value = |case: &Case, round: usize| drift[round - 1] * part(case);
        let data = lab(session(&["tree steal 2 n=8", "tree fifo 2 n=8"], 6, value));
        let e = ratio(&data, &["lab tree steal 2 / lab tree fifo 2"]).unwrap();
        assert!((e.value - 0.5).abs() < 1e-12 && e.against(1.0) == Verdict::Less);
        let same = ratio(&data, &["lab tree fifo 2 / lab tree fifo 2"]).unwrap();
        assert_eq!(same.against(1.0), Verdict::Open);
    }

    #[test]
    fn a_machine_is_busy_if_cores_are_taken_or_serial_programs_slowed() {
        let seconds = |_: &Case, round: usize| [0.5, 0.4, 0.6][round - 1];
        let mut session = session(&["tree steal 2 n=8"], 3, seconds);
        session.about.cores_ours = 1.7;
        assert!(session.is_busy());
        session.about.cores_ours = 2.0;
        assert!(!session.is_busy() && session.spread().is_none());
        session.cases[0].case.by = "serial".into();
        assert!(session.is_busy() && (session.spread().unwrap() - 1.5).abs() < 1e-12);
    }

    #[test]
    fn what_was_not_measured_is_left_out() {
        let value = |case: &Case, _| if case.by == "steal" { 1.0 } else { 2.0 };
        let data = lab(session(&["tree steal 2 n=8", "tree fifo 2 n=8"], 6, value));
        assert!(ratio(&data, &["lab tree steal 2 / lab tree cont 2"]).is_none());
        let pairs = ["lab tree steal 2 / lab tree fifo 2", "lab tree steal 2 / lab tree cont 2"];
        assert!((ratio(&data, &pairs).unwrap().value - 0.5).abs() < 1e-12);
    }

    #[test]
    fn a_size_is_the_smallest_or_the_one_that_is_asked_for() {
        let data = lab(session(&["tree steal 2 n=8", "tree steal 2 n=64"], 1, |c, _| c.n as f64));
        let seconds = |words: &str| data.find(words).map(|m| m.values("seconds")[0]);
        assert_eq!(seconds("lab tree steal 2"), Some(8.0));
        assert_eq!(seconds("lab tree steal 2 n=64"), Some(64.0));
        assert_eq!(seconds("lab tree steal 2 n=most"), Some(64.0));
        assert_eq!(seconds("lab tree steal 2 n=9"), None);
    }
}
