//! Running one process in a group of its own, with a time limit.

use std::fs::{self, File, OpenOptions};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process_group};

pub struct Ended {
    /// `None`: it ran past its limit and was killed.
    pub code: Option<i32>,
    pub signal: Option<i32>,
    /// Standard output and error together.
    pub output: String,
    pub seconds: f64,
}

impl Ended {
    pub fn passed(&self) -> bool {
        self.code == Some(0)
    }

    /// How it ended, in words.
    pub fn how(&self, limit: f64) -> String {
        match (self.code, self.signal) {
            (Some(code), _) => format!("exit status {code}"),
            (None, Some(signal)) => format!("killed by signal {signal}"),
            (None, None) => format!("no end within {limit} s"),
        }
    }
}

/// Runs the command, what it writes going to the file `log`, for at most `limit` seconds.
/// The whole process group is killed then, and also after a normal end.
pub fn run(command: &mut Command, log: &Path, limit: f64) -> Result<Ended> {
    File::create(log).with_context(|| log.display().to_string())?;
    let file = OpenOptions::new().append(true).open(log)?;
    let start = Instant::now();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(file.try_clone()?)
        .stderr(file)
        .process_group(0)
        .spawn()
        .with_context(|| format!("{:?}", command.get_program()))?;
    let (mut step, mut waited) = (Duration::from_micros(300), Duration::ZERO);
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break Some(status);
        }
        if waited.as_secs_f64() > limit {
            break None;
        }
        let before = Instant::now();
        std::thread::sleep(step);
        // A sleep that takes longer is that of a machine that was stopped, its processes with it.
        waited += before.elapsed().min(Duration::from_secs(1));
        step = (step * 5 / 4).min(Duration::from_millis(5));
    };
    let seconds = start.elapsed().as_secs_f64();
    let threads = if status.is_none() { describe(child.id()) } else { String::new() };
    kill_group(&mut child);
    let output = String::from_utf8_lossy(&fs::read(log)?).into_owned() + &threads;
    Ok(Ended {
        code: status.and_then(|status| status.code()),
        signal: status.and_then(|status| status.signal()),
        output,
        seconds,
    })
}

fn kill_group(child: &mut Child) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        // Nothing may be left of it; that is no error.
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.wait();
}

/// What the threads of a process that hangs are doing: from gdb where it is, else /proc.
fn describe(pid: u32) -> String {
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
    if let Ok(gdb) = gdb
        && gdb.status.success()
    {
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
