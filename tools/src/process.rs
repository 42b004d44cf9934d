//! One child process: its environment, its time limit, what it printed, and what it used.
//!
//! [`run`] is for programs that must succeed: what they print comes through pipes, and a failure is
//! an error. [`run_in_group`] is for tests: the child leads a process group of its own, which is
//! killed with it, and writes to a file; how it ended is for the caller to judge.
//!
//! A thread waits for the end of the child, and leaves it a zombie, so that its number stays its
//! own until it has been killed, if need be, and reaped.

use std::fmt::{self, Display, Formatter};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

/// How the names of variables begin that are settings of this library or of a system that it is
/// compared with. If the caller has set one, it would be a setting of every child.
const SETTINGS: &[&str] = &["SCHED_", "OMP_", "GOMP_", "KMP_", "RAYON_", "GO"];

/// Removes the caller's settings from the environment of the child; the child's own are to be set
/// afterwards.
pub fn without_settings(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        if SETTINGS.iter().any(|prefix| name.to_string_lossy().starts_with(prefix)) {
            command.env_remove(name);
        }
    }
}

/// A child that has ended, or was killed at its limit.
pub struct Ended {
    /// None: it was killed at its limit.
    pub status: Option<ExitStatus>,
    /// Of [`run_in_group`], standard error too, in the order of writing.
    pub stdout: String,
    pub stderr: String,
    /// From its start to its end.
    pub seconds: f64,
    /// Processor time of all its threads, in seconds.
    pub processor: f64,
    /// The most memory that it had at once, in bytes.
    pub peak: u64,
    limit: Duration,
}

impl Ended {
    pub fn passed(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }

    pub fn code(&self) -> Option<i32> {
        self.status?.code()
    }

    /// How it ended, in words.
    pub fn how(&self) -> String {
        match (self.code(), self.status.and_then(|status| status.signal())) {
            (Some(code), _) => format!("exit status {code}"),
            (None, Some(signal)) => format!("killed by signal {signal}"),
            (None, None) => format!("no end within {} s", self.limit.as_secs_f64()),
        }
    }
}

/// Why [`run`] returns nothing: the child had not ended after so long.
#[derive(Debug)]
pub struct TookTooLong(pub Duration);

impl Display for TookTooLong {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "killed: no end after {} s", self.0.as_secs())
    }
}

impl std::error::Error for TookTooLong {}

/// Runs the command to its end. It is an error if it fails, with what it said, or if it takes
/// longer than `limit`: a [`TookTooLong`].
pub fn run(command: &mut Command, limit: Duration) -> Result<Ended> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let start = Instant::now();
    let mut child = command.spawn().with_context(|| cannot_start(command))?;
    let stdout = child.stdout.take().map(in_background);
    let stderr = child.stderr.take().map(in_background);
    if !ends_within(&child, limit, || ()) {
        child.kill().context("cannot kill a child that takes too long")?;
        child.wait()?;
        return Err(TookTooLong(limit).into());
    }
    let seconds = start.elapsed().as_secs_f64();
    let (status, usage) = reap(&child)?;
    // A child of the child may still hold its end of a pipe.
    let read = |pipe: Option<mpsc::Receiver<_>>| -> Result<String> {
        let Some(pipe) = pipe else { return Ok(String::new()) };
        let left = limit.saturating_sub(start.elapsed());
        let bytes: io::Result<Vec<u8>> = pipe.recv_timeout(left).map_err(|_| TookTooLong(limit))?;
        Ok(String::from_utf8_lossy(&bytes?).into_owned())
    };
    let (stdout, stderr) = (read(stdout)?, read(stderr)?);
    if !status.success() {
        let said = if stderr.trim().is_empty() { &stdout } else { &stderr };
        bail!("{status}: {}", said.trim());
    }
    Ok(Ended { stdout, stderr, limit, ..Ended::new(Some(status), seconds, &usage) })
}

/// Runs the command in a process group of its own, with both outputs going to the file `log`. The
/// whole group is killed at the limit, and also when the child has ended before. `hung` is called
/// for a child at its limit, before it is killed, and what it returns is added to the output.
pub fn run_in_group(
    command: &mut Command,
    log: &Path,
    limit: Duration,
    hung: impl FnOnce(u32) -> String,
) -> Result<Ended> {
    File::create(log).with_context(|| log.display().to_string())?;
    let file = OpenOptions::new().append(true).open(log)?;
    command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file).process_group(0);
    let start = Instant::now();
    let child = command.spawn().with_context(|| cannot_start(command))?;
    let mut said = String::new();
    let ended = ends_within(&child, limit, || {
        said = hung(child.id());
        kill_group(&child);
    });
    let seconds = start.elapsed().as_secs_f64();
    kill_group(&child);
    let (status, usage) = reap(&child)?;
    let stdout = String::from_utf8_lossy(&fs::read(log)?).into_owned() + &said;
    let status = ended.then_some(status);
    Ok(Ended { stdout, limit, ..Ended::new(status, seconds, &usage) })
}

impl Ended {
    fn new(status: Option<ExitStatus>, seconds: f64, usage: &libc::rusage) -> Ended {
        let time = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 / 1e6;
        Ended {
            status,
            stdout: String::new(),
            stderr: String::new(),
            seconds,
            processor: time(usage.ru_utime) + time(usage.ru_stime),
            peak: usage.ru_maxrss as u64 * 1024,
            limit: Duration::ZERO,
        }
    }
}

fn cannot_start(command: &Command) -> String {
    format!("cannot start {}", command.get_program().to_string_lossy())
}

/// The two ends of a pipe: for reading, and for writing. No other process inherits them.
pub fn pipe() -> io::Result<(File, OwnedFd)> {
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
    Ok((reader.into(), writer))
}

/// Reads a pipe to its end, in a thread, so that its writer never waits for a reader.
fn in_background<R: Read + Send + 'static>(mut pipe: R) -> mpsc::Receiver<io::Result<Vec<u8>>> {
    let (send, receive) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let result = pipe.read_to_end(&mut bytes).map(|_| bytes);
        let _ = send.send(result); // nobody receives it after a timeout
    });
    receive
}

/// Waits for the end of the child, which stays a zombie; false if it had not ended within the
/// limit, and the caller has to kill it, or `at_limit` did.
///
/// The limit is counted in slices. A slice that took longer than its length counts with its length:
/// the machine was stopped meanwhile, and the child with it.
fn ends_within(child: &Child, limit: Duration, at_limit: impl FnOnce()) -> bool {
    const SLICE: Duration = Duration::from_secs(1);
    let (send, receive) = mpsc::channel();
    let id = pid(child);
    thread::spawn(move || {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while waitid(WaitId::Pid(id), options).is_err_and(|e| e == rustix::io::Errno::INTR) {}
        let _ = send.send(()); // nobody receives it after the limit
    });
    let mut left = limit;
    while !left.is_zero() {
        let slice = left.min(SLICE);
        if receive.recv_timeout(slice).is_ok() {
            return true;
        }
        left -= slice;
    }
    at_limit();
    false
}

fn pid(child: &Child) -> Pid {
    Pid::from_child(child)
}

fn kill_group(child: &Child) {
    // An error says that none of it is left.
    let _ = kill_process_group(pid(child), Signal::KILL);
}

/// Waits for a child that has ended or was killed, and returns what it used, which [`Child::wait`]
/// does not tell.
fn reap(child: &Child) -> Result<(ExitStatus, libc::rusage)> {
    use std::mem::MaybeUninit;

    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    loop {
        // SAFETY: the pointers are to an int and a rusage. The process is our child, and nobody has
        // reaped it: whoever has the `Child` waits for it here only.
        let pid = unsafe { libc::wait4(child.id() as i32, &mut status, 0, usage.as_mut_ptr()) };
        if pid >= 0 {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error).context("wait4");
        }
    }
    // SAFETY: all zeroes is a rusage, and wait4 has filled it.
    let usage = unsafe { usage.assume_init() };
    Ok((ExitStatus::from_raw(status), usage))
}

/// The command as one would type it.
pub fn shown(command: &Command) -> String {
    let quote = |text: &str| {
        if text.chars().all(|c| c.is_ascii_alphanumeric() || "-_./=+:,".contains(c)) {
            text.to_string()
        } else {
            format!("'{text}'")
        }
    };
    std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| quote(&word.to_string_lossy()))
        .collect::<Vec<_>>()
        .join(" ")
}

/// A path in the folder of temporary files that no other process uses.
pub fn scratch_file(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("sched-{}-{name}", std::process::id()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn what_a_child_prints_comes_back_however_much_it_is() {
        let ended = run(&mut shell("seq 100000; seq 50000 >&2"), LONG).unwrap();
        assert!(ended.stdout.ends_with("\n100000\n") && ended.stderr.ends_with("\n50000\n"));
        assert!(ended.passed() && ended.seconds > 0.0 && ended.peak > 0);
    }

    #[test]
    fn a_failure_is_an_error_with_what_was_said() {
        let error = run(&mut shell("echo out; echo why >&2; exit 3"), LONG).err().unwrap();
        assert_eq!(error.to_string(), "exit status: 3: why");
        let error = run(&mut Command::new("/no/such/program"), LONG).err().unwrap();
        assert_eq!(error.to_string(), "cannot start /no/such/program");
    }

    #[test]
    fn a_child_is_killed_at_its_limit_even_if_it_has_closed_its_output() {
        let hangs = "exec >&- 2>&-; sleep 1000";
        let error = run(&mut shell(hangs), Duration::from_millis(50)).err().unwrap();
        assert!(error.is::<TookTooLong>());
    }

    #[test]
    fn a_group_is_killed_with_its_leader() {
        let log = scratch_file("group.log");
        let limit = Duration::from_millis(200);
        // The grandchild would be found by its number, which the leader prints.
        let mut command = shell("sleep 1000 & echo $!; echo both >&2; sleep 1000");
        // A shell that a busy machine starts late is killed when it has printed all.
        let has_printed = || fs::read_to_string(&log).unwrap().contains("both");
        let hung = |_| {
            let began = Instant::now();
            while !has_printed() && began.elapsed() < LONG {
                thread::sleep(Duration::from_millis(1));
            }
            "threads".into()
        };
        let ended = run_in_group(&mut command, &log, limit, hung).unwrap();
        fs::remove_file(&log).unwrap();
        assert_eq!((ended.code(), ended.passed()), (None, false));
        assert_eq!(ended.how(), "no end within 0.2 s");
        let (grandchild, rest) = ended.stdout.split_once('\n').unwrap();
        assert_eq!(rest, "both\nthreads");
        let state = || fs::read_to_string(format!("/proc/{grandchild}/stat")).unwrap_or_default();
        // Somebody may have to reap it first.
        while !state().is_empty() && !state().contains(") Z ") {
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn how_a_child_ended_is_said() {
        let log = scratch_file("how.log");
        let how = |script: &str| {
            run_in_group(&mut shell(script), &log, LONG, |_| String::new()).unwrap().how()
        };
        assert_eq!(how("exit 77"), "exit status 77");
        assert_eq!(how("kill -9 $$"), "killed by signal 9");
        fs::remove_file(&log).unwrap();
    }

    #[test]
    fn a_command_is_shown_as_it_is_typed() {
        let mut command = Command::new("cc");
        command.args(["-o", "a b", "c.c"]);
        assert_eq!(shown(&command), "cc -o 'a b' c.c");
    }
}
