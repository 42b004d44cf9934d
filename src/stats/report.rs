//! `SCHED_STATS`: the statistics of a run, as a table or as a line of JSON.

use crate::lock::mutex::Mutex;
use crate::settings::{Config, Stats};
use crate::stats::file::File;
use crate::stats::{Totals, Values};
use crate::sys::errno::Errno;
use crate::sys::output::{Out, write_all};
use std::fmt::{self, Write};
use std::mem;

/// Where the statistics of a run go.
pub struct Report {
    format: Stats,
    /// The file of `SCHED_STATS_FILE`; None: stderr.
    file: Option<File>,
}

/// What the report of a run contains.
pub struct Summary<'a, W: Iterator<Item = Values> + Clone> {
    pub kind: &'static str,
    pub deque: &'static str,
    pub idle: &'static str,
    pub qlen: usize,
    pub totals: Totals,
    pub workers: &'a W,
}

/// Runs may end at the same time: this lock separates their reports.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// In the child of a fork, the thread that was printing does not exist.
pub fn after_fork_in_child() {
    // SAFETY: a forked child has one thread.
    unsafe { ONE_AT_A_TIME.reset(()) };
}

impl Report {
    /// Called before the run: a file that cannot be written is an error.
    pub fn new(config: &Config) -> Result<Report, Errno> {
        let file = config.stats_file.filter(|_| config.stats != Stats::Off);
        Ok(Report { format: config.stats, file: file.map(File::new).transpose()? })
    }

    /// Called after the run, on a thread that is not cancelled. If the file refuses the text, the
    /// text goes to stderr after a line that says why. The text leaves by one write(2), except when
    /// there is no memory for the whole text.
    pub fn print<W: Iterator<Item = Values> + Clone>(&self, summary: &Summary<W>) {
        if self.format == Stats::Off {
            return;
        }
        ONE_AT_A_TIME.with(|()| {
            let mut text = Text(Vec::new());
            let made = self.write(&mut text, summary).map_err(|fmt::Error| Errno(libc::ENOMEM));
            if let Some(file) = &self.file {
                match made.and_then(|()| file.append(&text.0)) {
                    Ok(()) => return,
                    Err(error) => file.tell(error),
                }
            }
            let _ = match made {
                // An error here cannot be reported.
                Ok(()) => write_all(2, &text.0).map_err(|_| fmt::Error),
                Err(_) => self.write(&mut Out::stderr(), summary),
            };
        });
    }

    fn write<W: Iterator<Item = Values> + Clone>(
        &self,
        out: &mut dyn Write,
        summary: &Summary<W>,
    ) -> fmt::Result {
        match self.format {
            Stats::Off => Ok(()),
            Stats::Table => table(out, summary),
            Stats::Json => json(out, summary),
        }
    }
}

/// Text in memory. Writing fails if there is no memory for it.
struct Text(Vec<u8>);

impl Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.try_reserve(text.len()).map_err(|_| fmt::Error)?;
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

fn json<W: Iterator<Item = Values> + Clone>(out: &mut dyn Write, s: &Summary<W>) -> fmt::Result {
    let Totals { values: sum, threads, threads_missing, time } = s.totals;
    write!(out, "{{\"kind\":\"{}\",\"deque\":\"{}\",\"idle\":\"{}\"", s.kind, s.deque, s.idle)?;
    write!(out, ",\"threads\":{threads},\"qlen\":{}", s.qlen)?;
    write!(out, ",\"seconds\":{}.{:09}", time.as_secs(), time.subsec_nanos())?;
    members(out, sum, ",")?;
    write!(out, ",\"threads_missing\":{threads_missing},\"workers\":[")?;
    for (i, values) in s.workers.clone().enumerate() {
        out.write_str(if i > 0 { ",{" } else { "{" })?;
        members(out, values, "")?;
        out.write_char('}')?;
    }
    out.write_str("]}\n")
}

/// Writes the values as members of an object; `comma` stands before the first one.
fn members(out: &mut dyn Write, values: Values, mut comma: &str) -> fmt::Result {
    let mut result = Ok(());
    values.each(|name, value| {
        let comma = mem::replace(&mut comma, ",");
        result = result.and_then(|()| write!(out, "{comma}\"{name}\":{value}"));
    });
    result
}

fn table<W: Iterator<Item = Values> + Clone>(out: &mut dyn Write, s: &Summary<W>) -> fmt::Result {
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

fn row(out: &mut dyn Write, values: Values) -> fmt::Result {
    let mut result = Ok(());
    values.each(|_, value| result = result.and_then(|()| write!(out, " {value:>13}")));
    result
}
