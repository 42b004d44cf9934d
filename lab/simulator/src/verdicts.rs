//! The sentences of the report: what was found, how predictions and measurements agree, and how far to trust them.

use std::fmt::Write;

use sched_tools::number::short;

use crate::check::{AGREES, Check};
use crate::policy::Policy;
use crate::report::{Prediction, Program, Report};

impl Report {
    /// A sentence on a program, from the predictions.
    pub fn verdict(&self, program: &Program) -> String {
        let of = |policy| {
            let mine = self.predictions.iter().filter(move |p| p.program == program.name);
            mine.filter(move |p| p.policy == policy)
        };
        let best = |a: &&Prediction, b: &&Prediction| a.speedup.total_cmp(&b.speedup);
        let all = Policy::ALL.into_iter().filter_map(|policy| of(policy).max_by(best));
        let all: Vec<&Prediction> = all.collect();
        let Some(first) = all.iter().max_by(|a, b| best(a, b)) else { return String::new() };
        // From where on more workers bring less than a tenth more.
        let ends = |policy| {
            let points: Vec<&Prediction> = of(policy).collect();
            let top = points.iter().map(|p| p.speedup).fold(0.0, f64::max);
            let enough = points.iter().find(|p| p.speedup >= 0.9 * top);
            enough.map_or(0, |p| p.workers)
        };
        let ends = Policy::ALL.map(|policy| format!("{} {}", policy.name(), ends(policy)));
        format!(
            "*{}*: the most is {} at P = {} by {}, where work and span allow {}. Nine tenths of its most \
             each has by P =: {}.",
            program.name,
            short(first.speedup),
            first.workers,
            first.policy.name(),
            short(self.allowed(program).min(first.workers as f64)),
            ends.join(", ")
        )
    }

    /// The greatest speed-up over one worker, however many there are.
    fn allowed(&self, program: &Program) -> f64 {
        // What one worker does while tasks block is not known from the work alone.
        let alone =
            self.prediction(&program.name, Policy::Steal, 1).filter(|_| program.blocked > 0.0);
        alone.map_or(program.work, |alone| alone.nanoseconds) / program.span
    }

    /// A sentence on how many of the predictions agree with what was measured.
    pub fn agreement(&self) -> String {
        let count = |of: &dyn Fn(&&Check) -> bool| {
            let checks: Vec<&Check> = self.checks.iter().filter(of).collect();
            let agree = checks.iter().filter(|check| check.agrees()).count();
            format!("{agree} of {}", checks.len())
        };
        let mut text = format!("Within {:.0} %: {} predictions", 100.0 * AGREES, count(&|_| true));
        for policy in Policy::ALL {
            if self.checks.iter().any(|check| check.policy == policy) {
                let own = count(&|check| check.policy == policy);
                write!(text, "; {} {own}", policy.name()).expect("a string takes all");
            }
        }
        if self.checks.iter().any(|check| check.contended) {
            let others = count(&|check| !check.contended);
            write!(text, "; of those that are not contended {others}").expect("a string takes all");
        }
        if self.checks.iter().any(|check| check.is_wide()) {
            let certain = count(&|check| !check.is_wide());
            let tenth = 100.0 * AGREES;
            write!(text, "; of those measured to within {tenth:.0} % {certain}")
                .expect("a string takes all");
        }
        let unsure = self.checks.iter().filter(|check| !check.agrees() && check.may_agree());
        let unsure = unsure.count();
        if unsure > 0 {
            write!(
                text,
                ". {unsure} more {} within {:.0} % of what was measured, whose interval is wide",
                if unsure == 1 { "is" } else { "are" },
                100.0 * AGREES
            )
            .expect("a string takes all");
        }
        let worst = self.checks.iter().max_by(|a, b| a.distance().total_cmp(&b.distance()));
        if let Some(worst) = worst {
            write!(
                text,
                ". The farthest off: {} under {} at P = {}, by {:+.0} %",
                worst.program,
                worst.policy.name(),
                worst.workers,
                100.0 * worst.error()
            )
            .expect("a string takes all");
        }
        text + "."
    }

    /// Where the measurements say that no prediction can be trusted.
    pub fn reliability(&self) -> String {
        let names = |of: &dyn Fn(&&Check) -> bool| {
            let name = |check: &Check| {
                format!("{} under {} at P = {}", check.program, check.policy.name(), check.workers)
            };
            let names: Vec<String> = self.checks.iter().filter(of).map(name).collect();
            if names.is_empty() { "none".to_owned() } else { names.join(", ") }
        };
        let all = self.checks.iter().map(|check| check.undisturbed).sum::<f64>();
        format!(
            "Of the rounds {:.0} % came within {:.0} % of the least of their row; the others were disturbed, or had their \
             memory elsewhere. \
             In each other's way: {}. Too uncertain, as measured, for a verdict on a prediction, since the interval is \
             wider than {:.0} %: {}. Predicted wrongly, whatever the interval: {}.",
            100.0 * all / self.checks.len().max(1) as f64,
            100.0 * AGREES,
            names(&|check| check.contended),
            100.0 * AGREES,
            names(&|check| check.is_wide()),
            names(&|check| !check.may_agree()),
        )
    }
}

pub const METHOD: &str = "\
Recordings, prices and measurements were taken in turn, a process each, round after round. Others on the machine only
add to what a program takes, so that the least run of a process counts, on both sides. Of the processes, one in each
round, the middle counts (Hodges and Lehmann, 1963; the interval is that of Wilcoxon's signed ranks, which has 95 % if a
round is about as often above as below): one in some is a tenth faster by where its memory lies. *Contended*: all want
one lock, and are predicted to take longer than one worker. There who is kept away lets the others go on, so that the
median run of a process counts. *Within the interval*: not within a tenth of the figure, but of its interval. No price
is fitted to these rows, but the shape of the calibration's tree of forks (of three, that which costs what fib's does),
how long its samples and its floods are, that the price of contention depends on the time to think between two
operations, that a search in vain has a price, that thieves leave empty places behind, that the middle of the processes
counts, and which rows count as contended were chosen with this table in view: it is no test on programs never seen.";

pub const LIMITS: &str = "\
*Where this cannot be trusted.* It was compared with what this machine has processors for, and beyond that is a
calculation. Not in it are the bandwidth of memory, the capacity of caches, and the distance between sockets, of which
more workers take their share; two threads of one core, which the processors of a virtual machine are from time to
time; a clock that slows down when all cores are busy; the kernel's scheduler; and that a task runs slower where its
data are not. Costs are added up, while a processor does what a task of some nanoseconds computes, or waits for, at the
same time as the calls around it: so tasks so small are predicted too slow, under slow policies more than under fast
ones. A line of memory costs what it costs between the two processors of the calibration. What a search in vain costs is
measured of one thief and one owner, and a search waits for one owner's line, however many have written theirs. A
recording is of one run's tasks, and its steps of a few nanoseconds are known by their sum alone. Of programs marked
*contended* the curve says that they do not scale, and no more: what happens at the lock depends on who comes some
nanoseconds earlier, and on where the machine has put the two processors; its price is of two workers, and that more get
no more out of the lock than two that never think is an assumption. A task in a blocking section is back after as long as it
was in the recording, which ran one section after the other: that they share a disk, and that there is a most of them, is not
in it.
So trust the order of the policies and where a curve bends before its height, and with many workers the programs whose
tasks share little (fib, uts, mandelbrot) before those that move memory (quicksort, flood).";
