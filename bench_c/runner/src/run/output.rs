//! Reads what a run prints: its line (bench_c/measure.h), and the statistics of the library.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use super::setup::Setup;

/// The line of a benchmark program (bench_c/measure.h).
#[derive(Debug, Serialize)]
pub struct Line {
    pub tasks: u64,
    pub seconds: f64,
    pub ns_per_task: f64,
    pub checksum: String,
    pub user: f64,
    pub sys: f64,
    pub vcsw: u64,
    pub icsw: u64,
    /// Nanoseconds that an iteration of the calibration loop took just before the run. A peer may
    /// have no such loop.
    pub cal: Option<f64>,
    /// The schedule by which OpenMP distributed the loops of `loops`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedule: Option<String>,
    /// The fields that only this program prints.
    pub extra: BTreeMap<String, f64>,
}

/// The fields that [`Line`] names. All other fields of a line are the program's own.
const COMMON: &[&str] = &[
    "bench",
    "n",
    "kind",
    "threads",
    "tasks",
    "seconds",
    "ns_per_task",
    "checksum",
    "user",
    "sys",
    "vcsw",
    "icsw",
    "cal",
    "schedule",
];

/// What `SCHED_STATS=json` says at the end of a run; the sums, if a process has several runs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Stats {
    pub kind: String,
    pub deque: String,
    pub idle: String,
    pub threads: u64,
    /// The number of runs that were summed.
    #[serde(default = "one", skip_deserializing)]
    pub runs: u64,
    pub seconds: f64,
    pub tasks: u64,
    pub steals: u64,
    pub stolen_tasks: u64,
    pub failed_steals: u64,
    pub parks: u64,
    pub naps: u64,
    pub wakes: u64,
    pub queue_peak: u64,
    pub threads_missing: u64,
}

fn one() -> u64 {
    1
}

impl Stats {
    pub fn parse(text: &str) -> Result<Stats> {
        let mut sum: Option<Stats> = None;
        for line in text.lines() {
            let one: Stats = serde_json::from_str(line)
                .with_context(|| format!("cannot read the statistics `{line}`"))?;
            sum = Some(match sum {
                None => one,
                Some(s) => s.plus(&one)?,
            });
        }
        sum.context("the library wrote no statistics (SCHED_STATS=json)")
    }

    fn plus(mut self, more: &Stats) -> Result<Stats> {
        ensure!(
            (&self.kind, &self.deque, &self.idle, self.threads)
                == (&more.kind, &more.deque, &more.idle, more.threads),
            "the settings changed between two runs of one process"
        );
        self.runs += more.runs;
        self.seconds += more.seconds;
        self.tasks += more.tasks;
        self.steals += more.steals;
        self.stolen_tasks += more.stolen_tasks;
        self.failed_steals += more.failed_steals;
        self.parks += more.parks;
        self.naps += more.naps;
        self.wakes += more.wakes;
        self.queue_peak = self.queue_peak.max(more.queue_peak);
        self.threads_missing += more.threads_missing;
        Ok(self)
    }
}

impl Line {
    pub fn parse(text: &str, setup: &Setup) -> Result<Line> {
        let mut lines = text.lines();
        let line = lines.next().context("it printed nothing")?;
        ensure!(lines.next().is_none(), "it printed more than one line");
        let line = Line::read(line, setup.program, setup.n, setup.kind.name(), setup.threads)?;
        ensure!(line.cal.is_some(), "no `cal=` in its line");
        Ok(line)
    }

    /// Reads a line. It is an error if its answer is wrong, or if it is of another run than asked
    /// for.
    pub fn read(line: &str, program: &str, n: u64, kind: &str, threads: usize) -> Result<Line> {
        let fields: BTreeMap<&str, &str> =
            line.split(' ').filter_map(|field| field.split_once('=')).collect();
        let field = |key: &str| {
            let value = fields.get(key).copied();
            value.with_context(|| format!("no `{key}=` in its line `{line}`"))
        };
        ensure!(line.ends_with(" ok"), "its answer is wrong: `{line}`");
        for (key, expected) in [
            ("bench", program),
            ("n", &n.to_string()),
            ("kind", kind),
            ("threads", &threads.to_string()),
        ] {
            let said = field(key)?;
            ensure!(said == expected, "it says {key}={said} where {expected} was asked for");
        }
        Ok(Line {
            tasks: field("tasks")?.parse()?,
            seconds: field("seconds")?.parse()?,
            ns_per_task: field("ns_per_task")?.parse()?,
            checksum: field("checksum")?.to_owned(),
            user: field("user")?.parse()?,
            sys: field("sys")?.parse()?,
            vcsw: field("vcsw")?.parse()?,
            icsw: field("icsw")?.parse()?,
            cal: fields.get("cal").map(|cal| cal.parse()).transpose()?,
            schedule: fields.get("schedule").map(|&schedule| schedule.to_owned()),
            extra: extra(&fields)?,
        })
    }
}

fn extra(fields: &BTreeMap<&str, &str>) -> Result<BTreeMap<String, f64>> {
    let own = fields.iter().filter(|(name, _)| !COMMON.contains(name));
    own.map(|(name, value)| {
        let value = value.parse().with_context(|| format!("`{name}={value}` is no number"))?;
        Ok(((*name).to_owned(), value))
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::setup::{Group, Kind};

    fn setup() -> Setup {
        Setup {
            group: Group::Kinds,
            program: "tree",
            n: 8,
            kind: Kind::Steal,
            deque: None,
            idle: None,
            warm: None,
            data: None,
            threads: 2,
            knobs: &[],
        }
    }

    const LINE: &str = "bench=tree n=8 kind=steal threads=2 tasks=9 seconds=0.5 ns_per_task=7 \
                        checksum=ab user=0.25 sys=0 vcsw=1 icsw=2 cal=0.5 wake_us=2.5";

    #[test]
    fn a_line_is_read() {
        let line = Line::parse(&format!("{LINE} ok\n"), &setup()).unwrap();
        assert_eq!((line.tasks, line.seconds, line.user), (9, 0.5, 0.25));
        assert_eq!(line.checksum, "ab");
        assert_eq!((line.cal, line.extra["wake_us"], line.extra.len()), (Some(0.5), 2.5, 1));
        assert_eq!(line.schedule, None);
        let line = Line::parse(&format!("{LINE} schedule=guided ok\n"), &setup()).unwrap();
        assert_eq!((line.schedule.as_deref(), line.extra.len()), (Some("guided"), 1));
        assert!(Line::parse(&format!("{LINE} us_a_loop=guided ok\n"), &setup()).is_err());
    }

    #[test]
    fn a_wrong_answer_and_another_setting_are_refused() {
        assert!(Line::parse(&format!("{LINE} WRONG\n"), &setup()).is_err());
        let four = Setup { threads: 4, ..setup() };
        assert!(Line::parse(&format!("{LINE} ok\n"), &four).is_err());
        assert!(Line::parse("", &setup()).is_err());
    }

    #[test]
    fn statistics_of_many_runs_are_added() {
        let one = r#"{"kind":"steal","deque":"chaselev","idle":"park","threads":2,"qlen":0,
            "seconds":0.1,"tasks":9,"steals":1,"stolen_tasks":1,"failed_steals":2,"parks":3,
            "naps":0,"wakes":1,"queue_peak":4,"threads_missing":0,"workers":[]}"#
            .replace('\n', "");
        let sum = Stats::parse(&format!("{one}\n{one}\n")).unwrap();
        assert_eq!((sum.tasks, sum.parks, sum.queue_peak), (18, 6, 4));
        assert_eq!(sum.seconds, 0.2);
        assert!(Stats::parse("").is_err());
    }
}
