//! One measurement: runs a process with its settings in the environment, and reads its line and its
//! statistics.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use sched_tools::process::{self, scratch_file};

use super::output::{Line, Stats};
use super::plan::program_named;
use crate::data::Case;

/// How to run a case: the folder of the programs, the file for statistics, the time limit.
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

    /// Runs `case` once. With `stats`, also returns the library's counters.
    pub fn run(&self, case: &Case, stats: bool) -> Result<(Line, Option<Stats>)> {
        let stats = stats && case.by != "none";
        let output = self.output(self.command(case, stats))?;
        let line = Line::parse(&output, case)?;
        if !stats {
            return Ok((line, None));
        }
        let text = match std::fs::read_to_string(&self.stats_file) {
            // Threads of the program alone share an object: there is no run.
            Err(e) if e.kind() == std::io::ErrorKind::NotFound && case.makes_no_run() => {
                return Ok((line, None));
            }
            text => text.context("the library wrote no statistics file (SCHED_STATS_FILE)")?,
        };
        let stats = Stats::parse(&text)?;
        check_stats(&stats, &line, case)?;
        Ok((line, Some(stats)))
    }

    fn command(&self, case: &Case, stats: bool) -> Command {
        let mut command = Command::new(self.programs.join(&case.program));
        process::without_settings(&mut command);
        command.args(case.words());
        if case.by != "none" {
            command.envs(case.variables()).env("SCHED_THREADS", case.threads.to_string());
        }
        if stats {
            command.env("SCHED_STATS", "json").env("SCHED_STATS_FILE", &self.stats_file);
        }
        command
    }

    /// The output of the process. An error says with which exit code or signal it failed, or that
    /// it took too long.
    fn output(&self, mut command: Command) -> Result<String> {
        // The run before may have left the file, and the library appends.
        match std::fs::remove_file(&self.stats_file) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                return Err(e).context("cannot remove the old statistics file");
            }
            _ => (),
        }
        Ok(process::run(&mut command, self.timeout)?.stdout)
    }
}

/// Checks that the library ran in the requested way, and ran every task.
fn check_stats(stats: &Stats, line: &Line, case: &Case) -> Result<()> {
    let not_tasks = program_named(&case.program).is_some_and(|p| p.not_tasks);
    ensure!(
        not_tasks || stats.tasks == line.tasks,
        "the library counted {} tasks, the program {}",
        stats.tasks,
        line.tasks
    );
    let asked = [
        ("kind", &stats.kind, Some(&case.by)),
        ("deque", &stats.deque, case.deque.as_ref()),
        ("idle", &stats.idle, case.idle.as_ref()),
    ];
    for (key, ran, asked) in asked {
        if let Some(asked) = asked {
            ensure!(ran == asked, "the library ran {key} {ran} where {asked} was asked for");
        }
    }
    ensure!(
        stats.threads_missing == 0 && stats.threads == case.threads as u64,
        "the library ran on {} threads where {} were asked for",
        stats.threads,
        case.threads
    );
    Ok(())
}
