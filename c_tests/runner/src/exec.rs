//! Runs one test in a process group of its own, with a time limit.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::Result;
use sched_tools::process::{Ended, run_in_group};

/// The limit of a test is for a machine that does nothing else. Beside other programs a test takes
/// longer, so the runner kills it only after this many times its limit.
const PATIENCE: f64 = 4.0;

/// Runs the command, which should end within `limit` seconds, with its output going to the file
/// `log`. If it has not ended after `PATIENCE` times as long, a list of what its threads are doing
/// is added to the output.
pub fn run(command: &mut Command, log: &Path, limit: f64) -> Result<Ended> {
    run_in_group(command, log, Duration::from_secs_f64(PATIENCE * limit), threads_of)
}

/// Describes what the threads of a process that hangs are doing, by gdb, or by /proc if there is no
/// gdb.
pub fn threads_of(pid: u32) -> String {
    let gdb = Command::new("timeout")
        .args([
            "20",
            "gdb",
            "-batch",
            "-p",
            &pid.to_string(),
            "-ex",
            "thread apply all backtrace 12",
        ])
        .stdin(Stdio::null())
        .output();
    if let Some(gdb) = gdb.ok().filter(|gdb| gdb.status.success()) {
        let text = String::from_utf8_lossy(&gdb.stdout).into_owned();
        let kept: Vec<&str> =
            text.lines().filter(|l| l.starts_with('#') || l.starts_with("Thread")).collect();
        if !kept.is_empty() {
            return format!("its threads:\n{}\n", kept.join("\n"));
        }
    }
    let mut text = String::from("its threads:\n");
    for task in fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten() {
        let read = |name| fs::read_to_string(task.path().join(name)).unwrap_or_default();
        let state = read("status").lines().find(|l| l.starts_with("State")).map(str::to_string);
        text +=
            &format!("{} {} {}\n", read("comm").trim(), state.unwrap_or_default(), read("wchan"));
    }
    text
}
