//! One measurement: runs a process with its settings in the environment, and reads its line and its
//! statistics.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use sched_tools::process::{self, scratch_file};
use serde::Serialize;

use super::output::{Line, Stats};
use super::programs::program_named;
use super::setup::{Kind, Setup};

/// The results of a run, and its settings.
#[derive(Debug, Serialize)]
pub struct Run {
    #[serde(flatten)]
    pub setup: Setup,
    pub repetition: usize,
    /// False if the run was for its statistics: its time does not count.
    pub timed: bool,
    #[serde(flatten)]
    pub line: Line,
    pub stats: Option<Stats>,
}

/// How to run a setup: the folder of the programs, the file for statistics, the time limit.
pub struct Bench<'a> {
    programs: &'a Path,
    stats_file: PathBuf,
    timeout: Duration,
    pub cores: usize,
}

impl Drop for Bench<'_> {
    fn drop(&mut self) {
        // The file is gone already if the last run was a serial one.
        let _ = std::fs::remove_file(&self.stats_file);
    }
}

impl<'a> Bench<'a> {
    pub fn new(programs: &'a Path, timeout: Duration, cores: usize) -> Self {
        Bench { programs, stats_file: scratch_file("stats.jsonl"), timeout, cores }
    }

    /// Runs `setup` once. With `stats`, also returns the library's counters.
    pub fn run(&self, setup: &Setup, stats: bool) -> Result<(Line, Option<Stats>)> {
        let stats = stats && setup.kind != Kind::None;
        let output = self.output(&self.command(setup, stats))?;
        let line = Line::parse(&output, setup)?;
        if !stats {
            return Ok((line, None));
        }
        let text = std::fs::read_to_string(&self.stats_file)
            .context("the library wrote no statistics file (SCHED_STATS_FILE)")?;
        let stats = Stats::parse(&text)?;
        check_stats(&stats, &line, setup)?;
        Ok((line, Some(stats)))
    }

    /// The words of the command line, and the environment.
    fn command(&self, setup: &Setup, stats: bool) -> Launch {
        let mut launch = Launch {
            program: self.programs.join(setup.program),
            args: setup.words(),
            env: Vec::new(),
        };
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

    /// What the process prints; an error says if it failed, by which exit code or signal, or took
    /// too long.
    fn output(&self, launch: &Launch) -> Result<String> {
        // The run before may have left the file, and the library appends.
        if let Err(e) = std::fs::remove_file(&self.stats_file)
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
    program: PathBuf,
    args: Vec<String>,
    env: Vec<(&'static str, String)>,
}

/// Checks that the library ran what was asked for, and every task of it.
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
