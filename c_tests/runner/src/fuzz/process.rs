//! Runs the interpreter, and finds out that it hangs, however busy the machine is.
//!
//! A process that waits for its processor has a thread that can run. One that hangs has none: all
//! its threads sleep at each of many looks. (One look does not suffice: a thread that naps for a
//! millisecond at a time sleeps at nearly every look.) The processor time shows a process that
//! computes without end.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

/// Between two looks at the threads.
const LOOK: Duration = Duration::from_millis(500);
/// Processor time that no batch of programs takes, in clock ticks of 10 ms.
const MOST_TICKS: u64 = 12_000;

/// How a process has ended.
pub struct Ended {
    /// None: it hung, and was killed.
    pub status: Option<std::process::ExitStatus>,
    pub output: String,
}

impl Ended {
    pub fn passed(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }

    pub fn how(&self) -> String {
        self.status.map_or("it hangs".to_string(), |status| status.to_string())
    }
}

/// Runs the command, which writes to the file `log`. It hangs if no thread can run at so many looks
/// in succession. `hung` is called before a process that hangs is killed, and its answer is added
/// to the output.
pub fn run(
    command: &mut Command,
    log: &Path,
    looks: usize,
    hung: impl FnOnce(u32) -> String,
) -> Result<Ended> {
    let file = File::create(log).with_context(|| log.display().to_string())?;
    command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
    let mut child = command.spawn()?;
    let mut asleep = 0;
    let mut said = String::new();
    let status = loop {
        if let Some(status) = wait(&mut child, LOOK)? {
            break Some(status);
        }
        let (runs, ticks) = threads(child.id());
        asleep = if runs { 0 } else { asleep + 1 };
        if asleep >= looks || ticks > MOST_TICKS {
            said = hung(child.id());
            child.kill()?;
            child.wait()?;
            break None;
        }
    };
    let output = String::from_utf8_lossy(&fs::read(log)?).into_owned() + &said;
    Ok(Ended { status, output })
}

/// Waits for so long for the end of the child.
fn wait(child: &mut Child, limit: Duration) -> Result<Option<std::process::ExitStatus>> {
    let began = Instant::now();
    let mut pause = Duration::from_micros(200);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if began.elapsed() >= limit {
            return Ok(None);
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(10));
    }
}

/// Whether a thread of the process can run, and the processor time of all its threads.
fn threads(pid: u32) -> (bool, u64) {
    let (mut runs, mut ticks) = (false, 0);
    for task in fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten() {
        let Ok(stat) = fs::read_to_string(task.path().join("stat")) else { continue };
        // The name, in brackets, may contain anything.
        let fields: Vec<&str> =
            stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        runs |= !matches!(fields.first(), Some(&"S"));
        let number = |at: usize| fields.get(at).and_then(|n| n.parse::<u64>().ok()).unwrap_or(0);
        ticks += number(11) + number(12);
    }
    (runs, ticks)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, looks: usize) -> Ended {
        let log = sched_tools::process::scratch_file(&format!("fuzz-{}", script.len()));
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let ended = run(&mut command, &log, looks, |_| "hung".to_string()).unwrap();
        fs::remove_file(log).unwrap();
        ended
    }

    #[test]
    fn one_that_sleeps_hangs_and_one_that_ends_does_not() {
        let ended = shell("exec sleep 1000", 2);
        assert_eq!((ended.passed(), ended.how().as_str()), (false, "it hangs"));
        assert_eq!(ended.output, "hung");
        let ended = shell("echo one; echo two >&2; exit 3", 2);
        assert_eq!((ended.output.as_str(), ended.passed()), ("one\ntwo\n", false));
        assert!(ended.status.is_some());
        // It computes for longer than two looks.
        let spins = "i=0; while [ $i -lt 1000000 ]; do i=$((i+1)); done; echo spun";
        assert_eq!(shell(spins, 2).output, "spun\n");
    }
}
