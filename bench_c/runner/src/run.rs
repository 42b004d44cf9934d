//! One measurement: a process with its settings in the environment, its line and its
//! statistics read back.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use crate::plan::{Kind, Setup, program_named};
use crate::process;

/// What a run said, and under which settings.
#[derive(Debug, Serialize)]
pub struct Run {
    #[serde(flatten)]
    pub setup: Setup,
    pub repetition: usize,
    /// False: the run was for its statistics, its time does not count.
    pub timed: bool,
    #[serde(flatten)]
    pub line: Line,
    pub stats: Option<Stats>,
}

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
    /// Nanoseconds an iteration of the calibration loop took, just before the run; a peer
    /// may have no such loop.
    pub cal: Option<f64>,
    /// The fields of this program only.
    pub extra: BTreeMap<String, f64>,
}

/// The fields every program prints; what else stands in a line is the program's own.
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
];

/// What `SCHED_STATS=json` says at the end of a run; summed where a process has many.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Stats {
    pub kind: String,
    pub deque: String,
    pub idle: String,
    pub threads: u64,
    /// How many were summed.
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
    fn parse(text: &str, setup: &Setup) -> Result<Line> {
        let mut lines = text.lines();
        let line = lines.next().context("it printed nothing")?;
        ensure!(lines.next().is_none(), "it printed more than one line");
        let line = Line::read(line, setup.program, setup.n, setup.kind.name(), setup.threads)?;
        ensure!(line.cal.is_some(), "no `cal=` in its line");
        Ok(line)
    }

    /// The line must be right, and of the run that was asked for.
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

/// Where the programs are, where a run may put its statistics, how long it may take.
pub struct Bench<'a> {
    pub programs: &'a Path,
    pub stats_file: &'a Path,
    pub timeout: Duration,
    pub cores: usize,
}

impl Bench<'_> {
    /// Runs `setup` once. With `stats`, the library's counters come back too.
    pub fn run(&self, setup: &Setup, stats: bool) -> Result<(Line, Option<Stats>)> {
        let stats = stats && setup.kind != Kind::None;
        let output = self.output(&self.command(setup, stats))?;
        let line = Line::parse(&output, setup)?;
        if !stats {
            return Ok((line, None));
        }
        let text = std::fs::read_to_string(self.stats_file)
            .context("the library wrote no statistics file (SCHED_STATS_FILE)")?;
        let stats = Stats::parse(&text)?;
        check_stats(&stats, &line, setup)?;
        Ok((line, Some(stats)))
    }

    /// The words of the command line, and its environment.
    fn command(&self, setup: &Setup, stats: bool) -> Launch {
        let mut launch = Launch {
            program: self.programs.join(setup.program),
            args: vec!["-n".into(), setup.n.to_string()],
            env: Vec::new(),
        };
        match (setup.kind, setup.data) {
            (_, Some(data)) => launch.args.extend(["-d".into(), data.to_owned()]),
            (Kind::None, None) => launch.args.push("-s".into()),
            _ => (),
        }
        if setup.kind == Kind::None {
            return launch;
        }
        let mut set = |name, value: &str| launch.env.push((name, value.to_owned()));
        set("SCHED_KIND", setup.kind.name());
        set("SCHED_THREADS", &setup.threads.to_string());
        if let Some(deque) = setup.deque {
            set("SCHED_DEQUE", deque);
        }
        if let Some(idle) = setup.idle {
            set("SCHED_IDLE", idle);
        }
        if let Some(warm) = setup.warm {
            set("SCHED_WARM", warm);
        }
        setup.knobs.iter().for_each(|(name, value)| set(name, value));
        if stats {
            set("SCHED_STATS", "json");
            set("SCHED_STATS_FILE", &self.stats_file.to_string_lossy());
        }
        launch
    }

    /// What the process prints, or why it failed: an exit code, a signal, no end in time.
    fn output(&self, launch: &Launch) -> Result<String> {
        // Left by the run before: the library may append.
        if let Err(e) = std::fs::remove_file(self.stats_file)
            && e.kind() != std::io::ErrorKind::NotFound
        {
            return Err(e).context("cannot remove the old statistics file");
        }
        let mut command = Command::new(&launch.program);
        process::without_settings(&mut command);
        command.args(&launch.args).envs(launch.env.iter().map(|(k, v)| (k, v)));
        Ok(process::run(&mut command, self.timeout)?.stdout)
    }
}

struct Launch {
    program: std::path::PathBuf,
    args: Vec<String>,
    env: Vec<(&'static str, String)>,
}

/// The library must have run what was asked for, and every task of it.
fn check_stats(stats: &Stats, line: &Line, setup: &Setup) -> Result<()> {
    let not_tasks = program_named(setup.program).is_some_and(|p| p.not_tasks);
    ensure!(
        not_tasks || stats.tasks == line.tasks,
        "the library counted {} tasks, the program {}",
        stats.tasks,
        line.tasks
    );
    let asked = [
        ("kind", &stats.kind, Some(setup.kind.name())),
        ("deque", &stats.deque, setup.deque),
        ("idle", &stats.idle, setup.idle),
    ];
    for (key, ran, asked) in asked {
        if let Some(asked) = asked {
            ensure!(ran == asked, "the library ran {key} {ran} where {asked} was asked for");
        }
    }
    ensure!(
        stats.threads_missing == 0 && stats.threads == setup.threads as u64,
        "the library ran on {} threads where {} were asked for",
        stats.threads,
        setup.threads
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Group;

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
