//! The measurements of a report: what the last `make bench`, `make lab` and `make bench-peers`
//! found, without what the report does not use.
//!
//! The folder of results is not part of the repository. So `make report` keeps a condensed copy in
//! `docs/report/measurements.json`, one line for each case, and makes the report from that copy.
//! Whoever has the repository can make the same report, and a test can.

use std::collections::BTreeMap;
use std::fmt::Write;

use anyhow::{Context, Result, bail, ensure};
use sched_estimate::Estimate;
use serde::{Deserialize, Serialize};

use crate::run::machine;
use crate::statistics::quartiles::Quartiles;

/// The sessions by their names: `bench`, `lab`, `peers`.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurements(pub BTreeMap<String, Session>);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Session {
    #[serde(flatten)]
    pub about: About,
    pub cases: Vec<Case>,
}

/// How a session was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct About {
    pub machine: Machine,
    /// When it ended, in UTC: `2025-03-01 12:30`, or the day alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    pub rounds: usize,
    pub total_seconds: f64,
    /// Medians of the calibrations: see [`crate::run::machine::Calibration`].
    pub iteration_ns: f64,
    pub cores_ours: f64,
    /// Other systems, with their versions.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub systems: BTreeMap<String, String>,
    /// The runs of other systems that failed: the command, and what it said. Such a run was not
    /// repeated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    pub cpu: String,
    /// See [`crate::run::machine::Machine`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_details: Option<String>,
    pub cores: usize,
    pub kernel: String,
    pub version: String,
    pub commit: Option<String>,
}

/// A program under one choice of settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Case {
    pub program: String,
    pub n: u64,
    /// The kind, or the system. `none` is the serial program.
    pub by: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deque: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    pub threads: usize,
    pub tasks: u64,
    /// By name, a value for each round of `lab`, and for each run of the other sessions. None: the
    /// run of that round is missing.
    pub values: BTreeMap<String, Vec<Option<f64>>>,
}

impl Machine {
    /// The line under a figure.
    pub fn line(&self) -> String {
        let Machine { cpu, cores, kernel, version, commit, .. } = self;
        let commit = commit.as_ref().map_or(String::new(), |c| format!(" ({c})"));
        format!("{cpu}, {cores} cores, Linux {kernel}, libsched {version}{commit}")
    }
}

impl Session {
    /// The time of the slowest run of a serial program divided by that of its fastest run: the
    /// median over the serial programs. None if no serial program was repeated. (A neighbour on the
    /// same processor core slows a program without taking time from it, so `cores_ours` does not
    /// show it.)
    pub fn spread(&self) -> Option<f64> {
        let serial = self.cases.iter().filter(|c| ["serial", "none"].contains(&c.by.as_str()));
        let times = serial.map(|case| case.values("seconds")).filter(|times| times.len() > 1);
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
}

impl About {
    /// The other systems and their versions. Those of our own begin with the version of the library.
    fn of_others(&self) -> impl Iterator<Item = (&String, &String)> {
        self.systems.iter().filter(|(_, v)| !v.starts_with(&self.machine.version))
    }

    /// True if a failure is that of another system's run, which begins with the system's name.
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

impl Case {
    pub fn values(&self, name: &str) -> Vec<f64> {
        self.values.get(name).into_iter().flatten().copied().flatten().collect()
    }

    /// Median and quartiles of a value. `ns` is the time of a task, `ms` and `us` that of a run.
    pub fn quartiles(&self, name: &str) -> Result<Quartiles> {
        let (name, scale) = match name {
            "ns" => ("seconds", 1e9 / self.tasks as f64),
            "us" => ("seconds", 1e6),
            "ms" => ("seconds", 1e3),
            "processor_ms" => ("cpu", 1e3),
            other => (other, 1.0),
        };
        let quartiles = Quartiles::of(self.values(name));
        let quartiles = quartiles.with_context(|| format!("no {name} of {}", self.name()))?;
        Ok(quartiles.scaled(scale))
    }

    pub fn name(&self) -> String {
        let Case { program, n, by, threads, .. } = self;
        format!("{program} -n {n} by {by} on {threads}")
    }
}

/// Which case, in the words of the template: `lab tree steal 2 deque=spin`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Selector {
    pub session: String,
    pub program: String,
    pub by: String,
    pub threads: usize,
    pub n: Option<u64>,
    pub deque: Option<String>,
    pub idle: Option<String>,
    pub warm: Option<String>,
    pub data: Option<String>,
    /// The value; the time, if none is named.
    pub of: String,
}

impl Selector {
    pub fn parse(words: &[&str]) -> Result<Selector> {
        let [session, program, by, rest @ ..] = words else {
            bail!("a session, a program and a kind or system, not `{}`", words.join(" "));
        };
        let mut selector = Selector {
            session: (*session).into(),
            program: (*program).into(),
            // The name of a system may have blanks.
            by: by.replace('~', " "),
            threads: 1,
            of: "seconds".into(),
            ..Selector::default()
        };
        for word in rest {
            let value = |text: &str| Some(text.to_owned());
            match word.split_once('=') {
                None => selector.threads = word.parse().with_context(|| (*word).to_owned())?,
                Some(("n", n)) => selector.n = Some(n.parse()?),
                Some(("deque", text)) => selector.deque = value(text),
                Some(("idle", text)) => selector.idle = value(text),
                Some(("warm", text)) => selector.warm = value(text),
                Some(("data", text)) => selector.data = value(text),
                Some(("of", text)) => selector.of = text.to_owned(),
                Some((other, _)) => bail!("no case is selected by `{other}`"),
            }
        }
        Ok(selector)
    }

    fn selects(&self, case: &Case) -> bool {
        (&self.program, &self.by, self.threads) == (&case.program, &case.by, case.threads)
            && self.n.is_none_or(|n| n == case.n)
            && (&self.deque, &self.idle) == (&case.deque, &case.idle)
            && (&self.warm, &self.data) == (&case.warm, &case.data)
    }
}

impl Measurements {
    pub fn session(&self, name: &str) -> Result<&Session> {
        self.0.get(name).with_context(|| format!("no session `{name}`"))
    }

    /// The only case that is selected. If the session ran the program at several sizes, and none is
    /// named, the smallest counts.
    pub fn case(&self, selector: &Selector) -> Result<&Case> {
        let cases = &self.session(&selector.session)?.cases;
        let mut found: Vec<&Case> = cases.iter().filter(|case| selector.selects(case)).collect();
        let least = found.iter().map(|case| case.n).min();
        found.retain(|case| Some(case.n) == least);
        ensure!(found.len() == 1, "{} cases, not one: {selector:?}", found.len());
        Ok(found[0])
    }

    /// The case in the words of the template, if there is one.
    pub fn find(&self, words: &str) -> Option<&Case> {
        let words: Vec<&str> = words.split(' ').collect();
        self.case(&Selector::parse(&words).ok()?).ok()
    }

    /// The first value divided by the second, within each round, with its 95 % interval.
    pub fn ratio(&self, what: &Selector, over: &Selector) -> Result<Estimate> {
        ensure!(what.session == "lab" && over.session == "lab", "only the laboratory has rounds");
        let values = |selector: &Selector| -> Result<Vec<Option<f64>>> {
            let case = self.case(selector)?;
            let values = case.values.get(&selector.of);
            values.cloned().with_context(|| format!("no {} of {}", selector.of, case.name()))
        };
        let pairs = values(what)?.into_iter().zip(values(over)?);
        let logarithms = pairs.filter_map(|(a, b)| Some((a? / b?).ln()).filter(|l| l.is_finite()));
        Estimate::of_ratio(&logarithms.collect::<Vec<_>>()).context("no rounds")
    }

    pub fn read(text: &str) -> Result<Measurements> {
        Ok(Measurements(serde_json::from_str(text)?))
    }

    /// A line for each case, so that a new measurement changes the lines that it concerns.
    pub fn write(&self) -> Result<String> {
        let mut text = String::from("{");
        for (i, (name, session)) in self.0.iter().enumerate() {
            let about = serde_json::to_string(&session.about)?;
            let about = about.strip_suffix('}').context("an object")?;
            let comma = if i > 0 { "," } else { "" };
            write!(text, "{comma}\n\"{name}\": {about}")?;
            text.push_str(",\n\"cases\": [\n");
            let lines = session.cases.iter().map(serde_json::to_string);
            text.push_str(&lines.collect::<Result<Vec<_>, _>>()?.join(",\n"));
            text.push_str("\n]}");
        }
        text.push_str("\n}\n");
        Ok(text)
    }
}
