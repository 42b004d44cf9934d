//! `SCHED_STATS=live`: a line on a terminal. Once a second it shows the activity of the runs in
//! progress.
//!
//! The line covers all runs in progress of the process. Its figures are for the last second: the
//! difference between two samples. When a run ends, it adds its sums to `ENDED`, so that it is not
//! lost if it ends between two samples. For a moment the run is in neither sum, or not all its
//! counters are seen; so a sample's sums count as no less than the previous sample's.

use crate::stats::bars;
use crate::stats::{Phase, Times};
use crate::sys::memory::Text;
use crate::sys::terminal::{self, Screen};
use crate::sys::{clock, memory, output};
use std::cell::Cell;
use std::fmt::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The time between two samples.
pub const PERIOD: Duration = Duration::from_secs(1);

/// The tasks of the runs that have ended, and the nanoseconds in which their workers were busy.
#[unsafe(link_section = "sched_words")]
static ENDED: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// True if stderr can show the line.
pub fn is_possible() -> bool {
    Screen::of_stderr() != Screen::Plain
}

/// Called when a shown run has ended. Relaxed, as in `draw`: `not_below` corrects a late sample.
pub fn ended(tasks: usize, times: Times) {
    ENDED[0].fetch_add(tasks as u64, Ordering::Relaxed);
    ENDED[1].fetch_add(times.of(Phase::Busy), Ordering::Relaxed);
}

/// The runs in progress, and the sums since the process began.
#[derive(Default)]
pub struct Sample {
    /// The time at which the oldest run in progress began. None if there is none.
    began: Option<u64>,
    tasks: u64,
    busy: u64,
    phases: Vec<Phase>,
}

impl Sample {
    /// Adds a run that began at `began` and has had `tasks` tasks.
    pub fn add_run(&mut self, began: u64, tasks: usize) {
        self.began = Some(self.began.map_or(began, |other| other.min(began)));
        self.tasks += tasks as u64;
    }

    /// Adds a worker of a run in progress. Without memory its letter is missing.
    pub fn add_worker(&mut self, phase: Phase, times: Times) {
        let _ = memory::push(&mut self.phases, phase);
        self.busy += times.of(Phase::Busy);
    }
}

/// The sums of a sample, and when it was taken.
#[derive(Clone, Copy, Default)]
struct Taken {
    at: u64,
    tasks: u64,
    busy: u64,
}

thread_local! {
    /// The last sample of the thread that takes the samples.
    static LAST: Cell<Option<Taken>> = const { Cell::new(None) };
}

/// Draws the line for the time since the last sample, if there is one; erases the line if no run is
/// in progress. Called by one thread, while no report is written.
pub fn draw(sample: &Sample) {
    let now = clock::nanos();
    let Some(began) = sample.began else {
        LAST.set(None);
        return output::clear_line();
    };
    let [tasks, busy] = ENDED.each_ref().map(|sum| sum.load(Ordering::Relaxed));
    let this = Taken { at: now, tasks: sample.tasks + tasks, busy: sample.busy + busy };
    let figures = LAST.get().and_then(|last| {
        let this = this.not_below(last);
        LAST.set(Some(this));
        Figures::between(last, this, now - began, sample)
    });
    if figures.is_none() {
        LAST.set(Some(this));
    }
    let figures = figures.filter(|_| !terminal::is_in_background());
    if let Some(Ok(line)) = figures.map(|figures| figures.line(terminal::columns())) {
        output::show_line(&line);
    }
}

impl Taken {
    fn not_below(self, last: Taken) -> Taken {
        let (tasks, busy) = (self.tasks.max(last.tasks), self.busy.max(last.busy));
        Taken { tasks, busy, ..self }
    }
}

struct Figures<'a> {
    seconds: u64,
    tasks: u64,
    /// Tasks a second.
    rate: f64,
    /// How many workers were busy, on the average.
    busy: f64,
    phases: &'a [Phase],
}

impl Figures<'_> {
    /// None if the time between the samples is not about `PERIOD`: the thread had other duties, or
    /// the machine was suspended.
    fn between(last: Taken, this: Taken, runs: u64, sample: &Sample) -> Option<Figures<'_>> {
        let time = Duration::from_nanos(this.at.saturating_sub(last.at));
        let phases = &sample.phases[..];
        (PERIOD / 2..PERIOD * 3).contains(&time).then(|| Figures {
            seconds: runs / 1_000_000_000,
            tasks: this.tasks,
            rate: (this.tasks - last.tasks) as f64 / time.as_secs_f64(),
            busy: ((this.busy - last.busy) as f64 / time.as_nanos() as f64)
                .min(phases.len() as f64),
            phases,
        })
    }

    /// The line, without the parts that do not fit into a terminal of this many columns. (The last
    /// column stays free: from there the cursor might move to the next line.)
    fn line(&self, columns: usize) -> Result<String, fmt::Error> {
        let Figures { seconds, tasks, rate, busy, phases } = self;
        let (rate, tasks) = (Amount(*rate), Amount(*tasks as f64));
        let mut line = Vec::new();
        for part in [
            format_args!("libsched: {seconds} s"),
            format_args!("  {rate} tasks/s"),
            format_args!("  {busy:.1} of {} workers busy", phases.len()),
            format_args!("  {tasks} tasks"),
            format_args!("  {}", Letters(phases)),
        ] {
            let before = line.len();
            Text(&mut line).write_fmt(part)?;
            if line.len() >= columns {
                line.truncate(before);
                break;
            }
        }
        String::from_utf8(line).map_err(|_| fmt::Error)
    }
}

struct Letters<'a>(&'a [Phase]);

impl fmt::Display for Letters<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        self.0.iter().try_for_each(|&phase| f.write_char(bars::letter(phase)))
    }
}

/// A number with three digits.
struct Amount(f64);

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let (mut number, mut units) = (self.0, ["", " k", " M", " G", " T"].into_iter());
        let mut unit = units.next();
        while number >= 999.5 {
            let Some(next) = units.next() else { break };
            (number, unit) = (number / 1000.0, Some(next));
        }
        let unit = unit.unwrap_or("");
        let digits = match number {
            _ if unit.is_empty() => 0,
            ..9.995 => 2,
            ..99.95 => 1,
            _ => 0,
        };
        write!(f, "{number:.digits$}{unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn sample(phases: &[Phase]) -> Sample {
        let mut sample = Sample::default();
        phases.iter().for_each(|&phase| sample.add_worker(phase, Times([7, 0, 0, 0])));
        sample
    }

    #[test]
    fn the_figures_are_those_between_two_samples() {
        let sample = sample(&[Phase::Busy, Phase::Searching, Phase::Parked, Phase::Blocked]);
        let last = Taken { at: 5 * SECOND, tasks: 1000, busy: SECOND };
        let this = Taken { at: 7 * SECOND, tasks: 9000, busy: 4 * SECOND };
        let figures = Figures::between(last, this, 3 * SECOND, &sample).unwrap();
        let line = figures.line(200).unwrap();
        assert_eq!(
            line,
            "libsched: 3 s  4.00 k tasks/s  1.5 of 4 workers busy  9.00 k tasks  #s.b"
        );
        assert_eq!(figures.line(line.len() + 1).unwrap(), line);
        assert_eq!(figures.line(line.len()).unwrap(), line.strip_suffix("  #s.b").unwrap());
        assert_eq!(figures.line(29).unwrap(), "libsched: 3 s");
    }

    #[test]
    fn samples_that_are_not_a_second_apart_are_not_compared() {
        let sample = sample(&[Phase::Busy]);
        let at = |at| Taken { at, ..Taken::default() };
        for (time, is_shown) in [(SECOND / 10, false), (SECOND, true), (60 * SECOND, false)] {
            let figures = Figures::between(at(0), at(time), time, &sample);
            assert_eq!(figures.is_some(), is_shown, "{time}");
        }
    }

    #[test]
    fn no_more_workers_are_busy_than_there_are() {
        let sample = sample(&[Phase::Busy, Phase::Busy]);
        let this = Taken { at: SECOND, tasks: 0, busy: 100 * SECOND };
        let figures = Figures::between(Taken::default(), this, SECOND, &sample).unwrap();
        assert!(figures.line(80).unwrap().contains("2.0 of 2 workers busy"));
        let less = Taken { at: 2 * SECOND, tasks: 0, busy: 0 }.not_below(this);
        let figures = Figures::between(this, less, SECOND, &sample).unwrap();
        assert!(figures.line(80).unwrap().contains("0.0 of 2 workers busy"));
    }

    #[test]
    fn sums_of_several_runs() {
        let mut sample = sample(&[Phase::Busy, Phase::Parked]);
        sample.add_run(30, 5);
        sample.add_run(20, 6);
        sample.add_run(40, 7);
        assert_eq!((sample.began, sample.tasks, sample.busy), (Some(20), 18, 14));
    }

    #[test]
    fn amounts_have_three_digits() {
        let shown = [
            (0.0, "0"),
            (1.0, "1"),
            (999.4, "999"),
            (999.6, "1.00 k"),
            (9994.0, "9.99 k"),
            (9996.0, "10.0 k"),
            (99_960.0, "100 k"),
            (123_456_789.0, "123 M"),
            (4.5e15, "4500 T"),
        ];
        for (number, text) in shown {
            assert_eq!(Amount(number).to_string(), text);
        }
    }
}
