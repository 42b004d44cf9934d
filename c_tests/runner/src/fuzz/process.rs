//! Runs the interpreter, and finds out that it hangs, however busy the machine is.
//!
//! A process that waits for its processor has a thread that can run. One that hangs has none: all
//! its threads sleep at each of many looks. (One look does not suffice: a thread that naps for a
//! millisecond at a time sleeps at nearly every look.)
//!
//! Few looks suffice if the process stands *still*: it says nothing, and none of its threads has
//! gone to sleep since the last look. A thread that can run during this time computes, and waits
//! for the action of another thread (`meanwhile` in the language of the programs, or an idle worker
//! that spins). The process hangs when each such thread has had more processor time than any
//! program takes.

use std::collections::HashMap;
use std::ffi::OsString;
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

/// Looks at a process that stands still, after which it hangs: four seconds.
const STILL_LOOKS: usize = 8;
/// The processor time that each thread that can run has had since the last look.
const STILL_TICKS: u64 = 100;

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

/// Runs the command, which writes to the file `log`. It hangs if no thread can run at this many
/// looks in succession. `hung` is called before a process that hangs is killed, and its answer is
/// added to the output.
pub fn run(
    command: &mut Command,
    log: &Path,
    looks: usize,
    hung: impl FnOnce(u32) -> String,
) -> Result<Ended> {
    let file = File::create(log).with_context(|| log.display().to_string())?;
    command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
    let mut child = command.spawn()?;
    let (mut asleep, mut still) = (0, 0);
    let (mut last, mut since) = (None, HashMap::new());
    let mut said = String::new();
    let status = loop {
        if let Some(status) = wait(&mut child, LOOK)? {
            break Some(status);
        }
        let Threads { running, sleeps, ticks } = threads(child.id());
        asleep = if running.is_empty() { asleep + 1 } else { 0 };
        let seen = Some((sleeps, fs::metadata(log)?.len()));
        if seen == last {
            still += 1;
        } else {
            (still, since) = (0, ticks.clone());
        }
        last = seen;
        let computed =
            |id| ticks[id] >= since.get(id).unwrap_or(&u64::MAX).saturating_add(STILL_TICKS);
        let stands = still >= looks.min(STILL_LOOKS) && running.iter().all(computed);
        let ticks: u64 = ticks.values().sum();
        if asleep >= looks || stands || ticks > MOST_TICKS {
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
    let longest = Duration::from_millis(2);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if began.elapsed() >= limit {
            return Ok(None);
        }
        thread::sleep(pause);
        pause = (pause * 2).min(longest);
    }
}

/// The activities of the threads of a process.
#[derive(Default)]
struct Threads {
    /// The threads that can run.
    running: Vec<OsString>,
    /// How often each has gone to sleep.
    sleeps: HashMap<OsString, String>,
    /// The processor time of each.
    ticks: HashMap<OsString, u64>,
}

fn threads(pid: u32) -> Threads {
    let mut all = Threads::default();
    for task in fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten() {
        let read = |name| fs::read_to_string(task.path().join(name));
        let (Ok(stat), Ok(status)) = (read("stat"), read("status")) else { continue };
        // The name, in brackets, may contain anything.
        let fields: Vec<&str> =
            stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        let id = task.file_name();
        if !matches!(fields.first(), Some(&"S")) {
            all.running.push(id.clone());
        }
        let sleeps = status.lines().find(|line| line.starts_with("voluntary_ctxt_switches"));
        all.sleeps.insert(id.clone(), sleeps.unwrap_or_default().to_string());
        let number = |at: usize| fields.get(at).and_then(|n| n.parse::<u64>().ok()).unwrap_or(0);
        all.ticks.insert(id, number(11) + number(12));
    }
    all
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
        let spins = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; echo spun";
        assert_eq!(shell(spins, 2).output, "spun\n");
        // It computes for ever: the processor time of a standstill comes before that of any
        // process.
        let ended = shell("while :; do :; done", 2);
        assert_eq!((ended.how().as_str(), ended.output.as_str()), ("it hangs", "hung"));
    }
}
