//! Makes the condensed measurements from the files in the folder of results.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::measurements::{About, Case, Machine, Measurements, Session};
use crate::statistics::quartiles::Quartiles;

/// The names of the sessions, their files, and the commands that write them.
pub const SESSIONS: &[(&str, &str, &str)] = &[
    ("bench", "results.json", "make bench"),
    ("lab", "lab.json", "make lab"),
    ("peers", "peers.json", "make bench-peers"),
];

/// What the files of all sessions have.
#[derive(Deserialize)]
struct Results {
    machine: Machine,
    date: Option<String>,
    calibration: Vec<Calibration>,
    #[serde(alias = "repetitions")]
    rounds: usize,
    quick: bool,
    total_seconds: f64,
    failures: Vec<String>,
    #[serde(default)]
    systems: Vec<System>,
    runs: Vec<Run>,
}

#[derive(Deserialize)]
struct Calibration {
    ns: f64,
    cores: f64,
}

#[derive(Deserialize)]
struct System {
    name: String,
    version: String,
}

#[derive(Deserialize)]
struct Run {
    #[serde(alias = "system")]
    kind: String,
    program: String,
    n: u64,
    deque: Option<String>,
    idle: Option<String>,
    warm: Option<String>,
    data: Option<String>,
    threads: usize,
    #[serde(default)]
    knobs: Vec<(String, String)>,
    /// Of `bench` and `lab`; from 1.
    repetition: Option<usize>,
    timed: Option<bool>,
    /// Of `peers`.
    warm_up: Option<bool>,
    tasks: u64,
    seconds: f64,
    user: f64,
    sys: f64,
    extra: BTreeMap<String, f64>,
    stats: Option<Stats>,
}

#[derive(Deserialize)]
struct Stats {
    steals: u64,
    failed_steals: u64,
}

/// Those of the sessions with the names `of` whose files are in the folder.
pub fn sessions(folder: &Path, of: &[&str]) -> Result<BTreeMap<String, Session>> {
    let mut found = BTreeMap::new();
    for (name, file, _) in SESSIONS.iter().filter(|(name, _, _)| of.contains(name)) {
        let path = folder.join(file);
        if !path.is_file() {
            continue;
        }
        let text = std::fs::read_to_string(&path)?;
        let session = session(&text).with_context(|| path.display().to_string())?;
        found.insert((*name).to_owned(), session);
    }
    Ok(found)
}

/// Puts new sessions in the place of old ones of the same name. It is an error if one of
/// [`SESSIONS`] is then missing.
pub fn merge(old: Option<Measurements>, new: BTreeMap<String, Session>) -> Result<Measurements> {
    let mut all = old.map_or(BTreeMap::new(), |old| old.0);
    all.extend(new);
    for (name, _, command) in SESSIONS {
        ensure!(all.contains_key(*name), "no results of `{command}`: run it first");
    }
    Ok(Measurements(all))
}

fn session(text: &str) -> Result<Session> {
    let results: Results = serde_json::from_str(text)?;
    ensure!(!results.quick, "a report is not made of a quick session");
    let median = |value: fn(&Calibration) -> f64| {
        let values = results.calibration.iter().map(value).collect();
        Quartiles::of(values).map_or(f64::NAN, |q| four_digits(q.median))
    };
    let about = About {
        machine: results.machine.clone(),
        date: results.date.clone(),
        rounds: results.rounds,
        total_seconds: results.total_seconds.round(),
        iteration_ns: median(|c| c.ns),
        cores_ours: median(|c| c.cores),
        systems: results.systems.iter().map(|s| (s.name.clone(), s.version.clone())).collect(),
        failures: results.failures.clone(),
    };
    // A run of another system that fails is a result, too.
    let ours: Vec<_> = about.failures.iter().filter(|f| !about.is_of_others(f)).collect();
    ensure!(ours.is_empty(), "the session failed: {ours:?}");
    let runs = results.runs.iter().filter(|r| r.counts());
    let mut cases: BTreeMap<_, Vec<&Run>> = BTreeMap::new();
    for run in runs {
        cases.entry(run.settings()).or_default().push(run);
    }
    Ok(Session { about, cases: cases.into_values().map(|runs| case(&runs)).collect() })
}

impl Run {
    /// The algorithms of the fiber scheduler, which are runs with further variables, are in LAB.md
    /// alone.
    fn counts(&self) -> bool {
        self.timed != Some(false)
            && self.warm_up != Some(true)
            && self.knobs.is_empty()
            && !self.program.starts_with("fiber_")
    }

    fn settings(&self) -> impl Ord + use<> {
        let settings = [&self.deque, &self.idle, &self.warm, &self.data].map(Clone::clone);
        (self.program.clone(), self.n, self.kind.clone(), settings, self.threads)
    }

    fn values(&self) -> BTreeMap<String, f64> {
        let mut values = self.extra.clone();
        values.insert("seconds".to_owned(), self.seconds);
        // Processor time is compared where idle policies are.
        if self.idle.is_some() {
            values.insert("cpu".to_owned(), self.user + self.sys);
        }
        if let Some(stats) = &self.stats {
            values.extend([
                ("steals".to_owned(), stats.steals as f64),
                ("failed_steals".to_owned(), stats.failed_steals as f64),
            ]);
        }
        values
    }
}

/// The case of these runs, which have the same settings.
fn case(runs: &[&Run]) -> Case {
    // Runs without a number are numbered as they come.
    let place = |i: usize, run: &Run| run.repetition.map_or(i, |n| n - 1);
    let count = runs.iter().enumerate().map(|(i, run)| place(i, run) + 1).max().unwrap_or(0);
    let mut values: BTreeMap<String, Vec<Option<f64>>> = BTreeMap::new();
    for (i, run) in runs.iter().enumerate() {
        for (name, value) in run.values() {
            let all = values.entry(name).or_insert_with(|| vec![None; count]);
            all[place(i, run)] = Some(four_digits(value));
        }
    }
    let first = runs[0];
    Case {
        program: first.program.clone(),
        n: first.n,
        by: first.kind.clone(),
        deque: first.deque.clone(),
        idle: first.idle.clone(),
        warm: first.warm.clone(),
        data: first.data.clone(),
        threads: first.threads,
        tasks: first.tasks,
        values,
    }
}

/// The value to four digits that matter: more are noise.
fn four_digits(value: f64) -> f64 {
    format!("{value:.3e}").parse().expect("a number that was just written")
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: &str = r#""program":"tree","n":8,"deque":null,"idle":null,"warm":null,"data":null,
        "threads":2,"tasks":9,"user":0.25,"sys":0.5,"extra":{},"stats":null"#;

    fn results(runs: &[String], more: &str) -> String {
        let runs = runs.join(",");
        format!(
            r#"{{"machine":{{"cpu":"a","cores":2,"kernel":"6","version":"1","commit":"0"}},
            "date":"2025-03-01 12:30",
            "calibration":[{{"ns":0.5,"cores":2.0}}],"total_seconds":1.0,{more},
            "runs":[{runs}]}}"#
        )
    }

    #[test]
    fn runs_of_a_case_stand_in_their_rounds() {
        let run = |kind, round, seconds, timed| {
            format!(
                r#"{{{RUN},"kind":"{kind}","repetition":{round},"timed":{timed},"seconds":{seconds}}}"#
            )
        };
        let runs = [
            run("steal", 3, 0.123_456, true),
            run("lifo", 1, 2.0, true),
            run("steal", 1, 1.0, true),
            run("steal", 1, 9.0, false),
        ];
        let session =
            session(&results(&runs, r#""rounds":3,"quick":false,"failures":[]"#)).unwrap();
        let seconds: Vec<_> =
            session.cases.iter().map(|c| (&c.by[..], c.values["seconds"].clone())).collect();
        let steal = vec![Some(1.0), None, Some(0.1235)];
        assert_eq!(seconds, [("lifo", vec![Some(2.0)]), ("steal", steal)]);
    }

    #[test]
    fn runs_of_other_systems_are_in_order_without_those_that_warm_up() {
        let run = |warm_up, seconds| {
            format!(r#"{{{RUN},"system":"go","round":1,"warm_up":{warm_up},"seconds":{seconds}}}"#)
        };
        let runs = [run(true, 9.0), run(false, 2.0), run(false, 1.0)];
        let session =
            session(&results(&runs, r#""rounds":1,"quick":false,"failures":[]"#)).unwrap();
        assert_eq!(session.cases[0].values("seconds"), [2.0, 1.0]);
        assert_eq!(session.cases[0].by, "go");
        assert_eq!(session.about.date.as_deref(), Some("2025-03-01 12:30"));
    }

    #[test]
    fn a_run_that_fails_is_shown_unless_it_is_ours() {
        let of = |failures: &str| {
            let systems = r#""systems":[{"name":"libsched","version":"1, as by default"},
                {"name":"go","version":"Go 1.19"}]"#;
            let more = r#""rounds":1,"quick":false"#;
            session(&results(&[], &format!("{more},{systems},\"failures\":[{failures}]")))
        };
        let go = "go: tree -n 8 -t 2: it waits";
        assert_eq!(of(&format!("\"{go}\"")).unwrap().about.failures, [go]);
        let both = format!("\"{go}\",\"libsched: tree -n 8 -t 2: it waits\"");
        let error = of(&both).unwrap_err().to_string();
        assert_eq!(error, "the session failed: [\"libsched: tree -n 8 -t 2: it waits\"]");
        assert!(of("\"answers differ: go: tree -n 8 -t 2: 1, but libsched: 2\"").is_err());
    }

    #[test]
    fn quick_and_missing_sessions_make_no_report() {
        assert!(session(&results(&[], r#""rounds":1,"quick":true,"failures":[]"#)).is_err());
        let lab = session(&results(&[], r#""rounds":1,"quick":false,"failures":[]"#)).unwrap();
        let error = merge(None, [("lab".to_owned(), lab)].into()).unwrap_err();
        assert_eq!(error.to_string(), "no results of `make bench`: run it first");
    }
}
