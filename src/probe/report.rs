//! `SCHED_STATS`: the statistics of a run, as a table or as a line of JSON.

use super::{Totals, Values};
use crate::base::Errno;
use crate::base::config::{Config, Stats};
use crate::base::io::Out;
use crate::base::sync::Mutex;
use crate::base::thread;
use std::fmt::{self, Write};

/// Where the statistics of a run go; opened before it, so that a path that cannot be
/// written is an error of `sched_init`.
pub struct Report {
    format: Stats,
    /// The file of `SCHED_STATS_FILE`; without it, stderr.
    file: Option<i32>,
}

/// What a run has to tell.
pub struct Summary<'a, W: Iterator<Item = Values> + Clone> {
    pub kind: &'static str,
    pub deque: &'static str,
    pub idle: &'static str,
    pub qlen: usize,
    pub totals: Totals,
    pub workers: &'a W,
}

/// Runs may end at the same time: their reports come one after the other.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// The thread that was printing, if any, is not in the child.
pub fn after_fork_in_child() {
    // SAFETY: a forked child has one thread.
    unsafe { ONE_AT_A_TIME.reset(()) };
}

impl Report {
    pub fn open(config: &Config) -> Result<Report, Errno> {
        let mut file = None;
        if config.stats != Stats::Off
            && let Some(path) = config.stats_file
        {
            let flags = libc::O_WRONLY | libc::O_APPEND | libc::O_CREAT | libc::O_CLOEXEC;
            let fd = loop {
                // SAFETY: a path that ends with a zero byte.
                let fd = unsafe { libc::open(path.as_ptr(), flags, 0o666) };
                if fd >= 0 || thread::errno() != libc::EINTR {
                    break fd;
                }
            };
            if fd < 0 {
                let error = Errno(thread::errno());
                let mut out = Out::stderr();
                let _ = write!(out, "libsched: SCHED_STATS_FILE={}: ", path.to_string_lossy());
                // SAFETY: strerror gives a text that ends with a zero byte, for any number.
                let why = unsafe { std::ffi::CStr::from_ptr(libc::strerror(error.0)) };
                let _ = writeln!(out, "{}", why.to_string_lossy());
                return Err(error);
            }
            file = Some(fd);
        }
        Ok(Report { format: config.stats, file })
    }

    pub fn print<W: Iterator<Item = Values> + Clone>(&self, summary: &Summary<W>) {
        if self.format == Stats::Off {
            return;
        }
        ONE_AT_A_TIME.with(|()| {
            let mut out = Out::new(self.file.unwrap_or(2));
            let _ = match self.format {
                Stats::Off => Ok(()),
                Stats::Table => table(&mut out, summary),
                Stats::Json => json(&mut out, summary),
            };
        });
    }
}

impl Drop for Report {
    fn drop(&mut self) {
        if let Some(fd) = self.file {
            // SAFETY: opened by `open`.
            unsafe { libc::close(fd) };
        }
    }
}

fn json<W: Iterator<Item = Values> + Clone>(out: &mut Out, s: &Summary<W>) -> fmt::Result {
    let Totals { values: sum, threads, threads_missing, time } = s.totals;
    write!(out, "{{\"kind\":\"{}\",\"deque\":\"{}\",\"idle\":\"{}\"", s.kind, s.deque, s.idle)?;
    write!(out, ",\"threads\":{threads},\"qlen\":{}", s.qlen)?;
    write!(out, ",\"seconds\":{}.{:09}", time.as_secs(), time.subsec_nanos())?;
    members(out, sum, true)?;
    write!(out, ",\"threads_missing\":{threads_missing},\"workers\":[")?;
    for (i, values) in s.workers.clone().enumerate() {
        out.write_str(if i > 0 { ",{" } else { "{" })?;
        members(out, values, false)?;
        out.write_char('}')?;
    }
    out.write_str("]}\n")
}

fn members(out: &mut Out, values: Values, mut comma: bool) -> fmt::Result {
    let mut result = Ok(());
    values.each(|name, value| {
        let comma = if std::mem::replace(&mut comma, true) { "," } else { "" };
        result = result.and_then(|()| write!(out, "{comma}\"{name}\":{value}"));
    });
    result
}

fn table<W: Iterator<Item = Values> + Clone>(out: &mut Out, s: &Summary<W>) -> fmt::Result {
    let Totals { values: sum, threads, threads_missing, time } = s.totals;
    writeln!(
        out,
        "libsched: kind={} deque={} idle={} threads={threads} threads_missing={threads_missing} qlen={} seconds={}.{:06}",
        s.kind,
        s.deque,
        s.idle,
        s.qlen,
        time.as_secs(),
        time.subsec_micros()
    )?;
    let mut result = write!(out, "{:>6}", "worker");
    sum.each(|name, _| result = result.and_then(|()| write!(out, " {name:>13}")));
    result?;
    for (i, values) in s.workers.clone().enumerate() {
        write!(out, "\n{i:>6}")?;
        row(out, values)?;
    }
    write!(out, "\n{:>6}", "all")?;
    row(out, sum)?;
    writeln!(out)
}

fn row(out: &mut Out, values: Values) -> fmt::Result {
    let mut result = Ok(());
    values.each(|_, value| result = result.and_then(|()| write!(out, " {value:>13}")));
    result
}
