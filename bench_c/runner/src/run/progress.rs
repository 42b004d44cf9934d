//! Shows how far a session is.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::data::Case;

/// A bar on a terminal; otherwise a line for each repetition.
pub struct Progress {
    bar: ProgressBar,
    plain: bool,
    start: Instant,
}

impl Progress {
    pub fn new(steps: usize) -> Progress {
        let plain = !(std::io::stdout().is_terminal() && std::io::stderr().is_terminal());
        let target = if plain {
            ProgressDrawTarget::hidden()
        } else {
            ProgressDrawTarget::stderr_with_hz(4)
        };
        let bar = ProgressBar::with_draw_target(Some(steps as u64), target);
        let style = ProgressStyle::with_template("{elapsed:>4} [{bar:30}] {pos}/{len} {msg}");
        if let Ok(style) = style {
            bar.set_style(style.progress_chars("=> "));
        }
        Progress { bar, plain, start: Instant::now() }
    }

    pub fn start(&self, case: &Case) {
        if !self.plain {
            self.bar.set_message(case.to_string());
        }
    }

    pub fn step(&self) {
        self.bar.inc(1);
    }

    pub fn failure(&self, what: &str) {
        self.bar.suspend(|| eprintln!("sched-bench: {what}"));
    }

    pub fn repetition(&self, done: usize, of: usize) {
        if self.plain {
            let seconds = seconds(self.start.elapsed());
            eprintln!("repetition {done} of {of} done, {seconds} s");
        }
    }

    pub fn end(&self) {
        self.bar.finish_and_clear();
    }
}

fn seconds(d: Duration) -> u64 {
    d.as_secs_f64().round() as u64
}
