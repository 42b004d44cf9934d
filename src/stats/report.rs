//! `SCHED_STATS`: the statistics of a run, as a table or as a line of JSON.

use crate::lock::mutex::Mutex;
use crate::settings::{Config, Stats};
use crate::stats::bars;
use crate::stats::file::{self, File};
use crate::stats::{Phase, Times, Totals, Values, live};
use crate::sys::errno::Errno;
use crate::sys::memory::Text;
use crate::sys::output::{self, Out, Patience, write_all};
use crate::sys::terminal::Screen;
use std::fmt::{self, Write};
use std::mem;

/// The destination of the statistics of a run.
pub struct Report {
    format: Stats,
    /// The file of `SCHED_STATS_FILE`; None: stderr.
    file: Option<File>,
    is_live: bool,
}

pub struct Summary<'a, W: Iterator<Item = (Values, Times)> + Clone> {
    pub kind: &'static str,
    pub deque: &'static str,
    pub idle: &'static str,
    pub qlen: usize,
    pub totals: Totals,
    pub workers: &'a W,
}

impl<W: Iterator<Item = (Values, Times)> + Clone> Summary<'_, W> {
    fn times(&self) -> Times {
        let mut sum = Times::default();
        self.workers.clone().for_each(|(_, times)| sum.merge(times));
        sum
    }
}

const VARIABLE: &str = "SCHED_STATS_FILE";

/// Runs may end at the same time: this lock separates their reports on stderr.
#[unsafe(link_section = "sched_words")]
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Called in the child of a fork, in which the thread that was printing does not exist.
pub fn after_fork_in_child() {
    // SAFETY: a forked child has one thread.
    unsafe { ONE_AT_A_TIME.reset(()) };
}

/// Calls `f` while no report is written to stderr. If one is being written, does nothing: the
/// report's terminal may be stopped.
pub fn between(f: impl FnOnce()) {
    ONE_AT_A_TIME.try_with(|()| f());
}

impl Report {
    /// Called before the run. A file that cannot be written is reported on stderr.
    pub fn new(config: &Config) -> Report {
        let path = config.stats_file.filter(|_| config.stats != Stats::Off);
        let named = |path| {
            let file = File::new(path, VARIABLE);
            file.inspect_err(|&error| file::tell_once(VARIABLE, path, error)).ok()
        };
        let file = path.and_then(named);
        file.iter().for_each(|file| _ = file.check().inspect_err(|&error| file.tell(error)));
        Report {
            format: config.stats,
            is_live: config.stats == Stats::Live && live::is_possible(),
            file,
        }
    }

    /// Called after the run, on a thread that is not cancelled. If the file refuses the text, the
    /// text goes to stderr after a line that says why. The text leaves by one write(2), except when
    /// there is no memory for the whole text.
    pub fn print<W: Iterator<Item = (Values, Times)> + Clone>(&self, summary: &Summary<W>) {
        if self.format == Stats::Off {
            return;
        }
        if self.is_live {
            live::ended(summary.totals.values.tasks, summary.times());
        }
        let make = |screen| {
            let mut text = Vec::new();
            self.write(&mut Text(&mut text), summary, screen).map(|()| text)
        };
        if let Some(file) = &self.file {
            let made = make(Screen::Plain).map_err(|fmt::Error| Errno(libc::ENOMEM));
            match made.and_then(|text| file.append(&text)) {
                Ok(()) => return,
                Err(error) => file.tell(error),
            }
        }
        ONE_AT_A_TIME.with(|()| {
            let screen = Screen::of_stderr();
            output::clear_line_for_text();
            let _ = match make(screen) {
                // An error here cannot be reported.
                Ok(text) => write_all(2, &text, Patience::Second).map_err(|_| fmt::Error),
                Err(_) => self.write(&mut Out::stderr(), summary, screen),
            };
        });
    }

    /// True if a line is drawn while the run is in progress.
    pub fn is_live(&self) -> bool {
        self.is_live
    }

    fn write<W: Iterator<Item = (Values, Times)> + Clone>(
        &self,
        out: &mut dyn Write,
        summary: &Summary<W>,
        screen: Screen,
    ) -> fmt::Result {
        match self.format {
            Stats::Off => Ok(()),
            Stats::Table | Stats::Live => {
                table(out, summary)?;
                let workers = summary.workers.clone().map(|(_, times)| times);
                bars::write(out, workers, summary.totals.threads, screen)
            }
            Stats::Json => json(out, summary),
        }
    }
}

fn json<W>(out: &mut dyn Write, s: &Summary<W>) -> fmt::Result
where
    W: Iterator<Item = (Values, Times)> + Clone,
{
    let Totals { values: sum, threads, threads_missing, time } = s.totals;
    write!(out, "{{\"kind\":\"{}\",\"deque\":\"{}\",\"idle\":\"{}\"", s.kind, s.deque, s.idle)?;
    write!(out, ",\"threads\":{threads},\"qlen\":{}", s.qlen)?;
    write!(out, ",\"seconds\":{}.{:09}", time.as_secs(), time.subsec_nanos())?;
    members(out, sum, ",")?;
    times_members(out, s.times())?;
    write!(out, ",\"threads_missing\":{threads_missing},\"workers\":[")?;
    for (i, (values, times)) in s.workers.clone().enumerate() {
        out.write_str(if i > 0 { ",{" } else { "{" })?;
        members(out, values, "")?;
        times_members(out, times)?;
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

/// Writes the times as members of an object, behind others.
fn times_members(out: &mut dyn Write, times: Times) -> fmt::Result {
    Phase::ALL
        .into_iter()
        .try_for_each(|phase| write!(out, ",\"{}_ns\":{}", phase.word(), times.of(phase)))
}

fn table<W>(out: &mut dyn Write, s: &Summary<W>) -> fmt::Result
where
    W: Iterator<Item = (Values, Times)> + Clone,
{
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
    for (i, (values, _)) in s.workers.clone().enumerate() {
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
