//! Reads the output of a run: its line (bench_c/measure.h), and the statistics of the library.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use crate::data::Case;

/// The line of a benchmark program (bench_c/measure.h).
#[derive(Debug)]
pub struct Line {
    pub tasks: u64,
    pub checksum: String,
    /// The schedule by which OpenMP distributed the loops of `loops`.
    pub schedule: Option<String>,
    /// All other fields by their names; `cpu` is the processor time of all threads, user and
    /// system. `cal` are the nanoseconds that an iteration of the calibration loop took just before
    /// the run: a peer may have no such loop.
    pub values: BTreeMap<String, f64>,
}

/// The fields that are not values of a run, or are computed from others.
const NAMED: &[&str] =
    &["bench", "n", "kind", "threads", "tasks", "checksum", "schedule", "ns_per_task"];

/// The values that `SCHED_STATS=json` prints at the end of a run; the sums, if a process has
/// several runs.
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
    pub fn parse(text: &str, case: &Case) -> Result<Line> {
        let mut lines = text.lines();
        let line = lines.next().context("it printed nothing")?;
        ensure!(lines.next().is_none(), "it printed more than one line");
        let line = Line::read(line, &case.program, case.n, &case.by, case.threads)?;
        ensure!(line.values.contains_key("cal"), "no `cal=` in its line");
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
        let mut values = BTreeMap::new();
        for (name, value) in fields.iter().filter(|(name, _)| !NAMED.contains(name)) {
            let value = value.parse().with_context(|| format!("`{name}={value}` is no number"))?;
            values.insert((*name).to_owned(), value);
        }
        let mut part = |name| values.remove(name).with_context(|| format!("no `{name}=`"));
        let cpu = part("user")? + part("sys")?;
        values.insert("cpu".into(), cpu);
        for name in ["seconds", "vcsw", "icsw"] {
            ensure!(values.contains_key(name), "no `{name}=` in its line `{line}`");
        }
        Ok(Line {
            tasks: field("tasks")?.parse()?,
            checksum: field("checksum")?.to_owned(),
            schedule: fields.get("schedule").map(|&schedule| schedule.to_owned()),
            values,
        })
    }
}

impl Stats {
    /// The library's counters by their names. A worker sleeps when it parks and when it naps.
    pub fn values(&self) -> impl Iterator<Item = (String, f64)> + use<> {
        let counters = [
            ("steals", self.steals),
            ("stolen_tasks", self.stolen_tasks),
            ("failed_steals", self.failed_steals),
            ("sleeps", self.parks + self.naps),
            ("wakes", self.wakes),
        ];
        counters.into_iter().map(|(name, count)| (name.to_owned(), count as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setup() -> Case {
        Case::parse("tree steal 2 n=8").unwrap()
    }

    const LINE: &str = "bench=tree n=8 kind=steal threads=2 tasks=9 seconds=0.5 ns_per_task=7 \
                        checksum=ab user=0.25 sys=0 vcsw=1 icsw=2 cal=0.5 wake_us=2.5";

    #[test]
    fn a_line_is_read() {
        let line = Line::parse(&format!("{LINE} ok\n"), &setup()).unwrap();
        let values = ["seconds", "cpu", "cal", "wake_us", "vcsw"].map(|name| line.values[name]);
        assert_eq!((line.tasks, values), (9, [0.5, 0.25, 0.5, 2.5, 1.0]));
        assert_eq!((line.checksum.as_str(), line.values.len(), line.schedule), ("ab", 6, None));
        let line = Line::parse(&format!("{LINE} schedule=guided ok\n"), &setup()).unwrap();
        assert_eq!((line.schedule.as_deref(), line.values.len()), (Some("guided"), 6));
        assert!(Line::parse(&format!("{LINE} us_a_loop=guided ok\n"), &setup()).is_err());
        let lacks = |field: &str| Line::parse(&format!("{} ok", LINE.replace(field, "")), &setup());
        assert!(lacks("seconds=0.5").is_err() && lacks("cal=0.5").is_err());
    }

    #[test]
    fn a_wrong_answer_and_another_setting_are_refused() {
        assert!(Line::parse(&format!("{LINE} WRONG\n"), &setup()).is_err());
        let four = Case { threads: 4, ..setup() };
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
