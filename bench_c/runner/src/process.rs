//! One process: its settings, its time limit, what it printed, and how much memory it took.

use std::io::Read;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// Settings of whoever called us would be settings of every run: ours and the peers'.
const SETTINGS: &[&str] = &["SCHED_", "OMP_", "GOMP_", "KMP_", "RAYON_", "GO"];

pub struct Ended {
    pub stdout: String,
    /// From its start to its end.
    pub seconds: f64,
    /// Processor time of all its threads, in seconds.
    pub processor: f64,
    /// The most memory it had at once, in bytes.
    pub peak: u64,
}

/// Why there is nothing of a run: so long it was waited for.
#[derive(Debug)]
pub struct TookTooLong(pub Duration);

impl std::fmt::Display for TookTooLong {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "killed: no end after {} s", self.0.as_secs())
    }
}

impl std::error::Error for TookTooLong {}

/// Removes the settings of the caller; the run's own are to be set afterwards.
pub fn without_settings(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        if SETTINGS.iter().any(|prefix| name.to_string_lossy().starts_with(prefix)) {
            command.env_remove(name);
        }
    }
}

/// Runs to its end, or to its limit: the error is then a [`TookTooLong`].
pub fn run(command: &mut Command, limit: Duration) -> Result<Ended> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let name = command.get_program().to_string_lossy().into_owned();
    let start = Instant::now();
    let mut child = command.spawn().with_context(|| format!("cannot start {name}"))?;

    let (send, receive) = mpsc::channel();
    let pipes = pipes(&mut child);
    let count = pipes.len();
    for (is_error, mut pipe) in pipes {
        let send = send.clone();
        thread::spawn(move || {
            let mut text = String::new();
            let result = pipe.read_to_string(&mut text).map(|_| text);
            // Nobody listens any more after a timeout.
            let _ = send.send((is_error, result));
        });
    }
    let (mut stdout, mut stderr) = (String::new(), String::new());
    for _ in 0..count {
        match receive.recv_timeout(limit.saturating_sub(start.elapsed())) {
            Ok((false, text)) => stdout = text?,
            Ok((true, text)) => stderr = text?,
            Err(_) => {
                child.kill().context("cannot kill a run that takes too long")?;
                child.wait()?;
                return Err(TookTooLong(limit).into());
            }
        }
    }
    let (status, usage) = wait(child)?;
    let seconds = start.elapsed().as_secs_f64();
    if !status.success() {
        let said = if stderr.trim().is_empty() { &stdout } else { &stderr };
        bail!("{status}: {}", said.trim());
    }
    let time = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 / 1e6;
    let processor = time(usage.ru_utime) + time(usage.ru_stime);
    Ok(Ended { stdout, seconds, processor, peak: usage.ru_maxrss as u64 * 1024 })
}

type Pipe = Box<dyn Read + Send>;

fn pipes(child: &mut Child) -> Vec<(bool, Pipe)> {
    let stdout = child.stdout.take().map(|p| (false, Box::new(p) as Pipe));
    let stderr = child.stderr.take().map(|p| (true, Box::new(p) as Pipe));
    stdout.into_iter().chain(stderr).collect()
}

/// The child's own resources: `Child::wait` does not tell them.
fn wait(child: Child) -> Result<(ExitStatus, libc::rusage)> {
    use std::mem::MaybeUninit;
    use std::os::unix::process::ExitStatusExt;

    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    loop {
        // SAFETY: the pointers are to an int and a rusage. The process is our child, and
        // nobody has waited for it: `child` is ours, and is not used again.
        let pid = unsafe { libc::wait4(child.id() as i32, &mut status, 0, usage.as_mut_ptr()) };
        if pid >= 0 {
            break;
        }
        let error = std::io::Error::last_os_error();
        if error.kind() != std::io::ErrorKind::Interrupted {
            return Err(error).context("wait4");
        }
    }
    // SAFETY: all zeroes is a rusage, and wait4 has filled it.
    let usage = unsafe { usage.assume_init() };
    Ok((ExitStatus::from_raw(status), usage))
}
