//! The sentences of the report: what was found, how predictions and measurements agree, and how far
//! to trust them.

use std::fmt::Write;

use sched_tools::number::short;

use crate::check::{AGREES, Check};
use crate::policy::Policy;
use crate::report::{Prediction, Program, Report};

impl Report {
    /// A sentence on the predictions of a program.
    pub fn verdict(&self, program: &Program) -> String {
        let of = |policy| {
            let mine = self.predictions.iter().filter(move |p| p.program == program.name);
            mine.filter(move |p| p.policy == policy)
        };
        let best = |a: &&Prediction, b: &&Prediction| a.speedup.total_cmp(&b.speedup);
        let all = Policy::ALL.into_iter().filter_map(|policy| of(policy).max_by(best));
        let all: Vec<&Prediction> = all.collect();
        let Some(first) = all.iter().max_by(|a, b| best(a, b)) else { return String::new() };
        // The fewest workers that reach nine tenths of the policy's greatest speed-up.
        let ends = |policy| {
            let points: Vec<&Prediction> = of(policy).collect();
            let top = points.iter().map(|p| p.speedup).fold(0.0, f64::max);
            let enough = points.iter().find(|p| p.speedup >= 0.9 * top);
            enough.map_or(0, |p| p.workers)
        };
        let ends = Policy::ALL.map(|policy| format!("{} {}", policy.name(), ends(policy)));
        format!(
            "*{}*: the greatest speed-up is {}, at P = {} by {}; work and span allow {} there. Each \
             policy reaches nine tenths of its own greatest speed-up at P =: {}.",
            program.name,
            short(first.speedup),
            first.workers,
            first.policy.name(),
            short(self.allowed(program, first.workers)),
            ends.join(", ")
        )
    }

    /// The greatest possible speed-up over one worker.
    fn allowed(&self, program: &Program, workers: usize) -> f64 {
        // The work alone does not say how long one worker takes if tasks block.
        let alone =
            self.prediction(&program.name, Policy::Steal, 1).filter(|_| program.blocked > 0.0);
        let work = alone.map_or(program.work, |alone| alone.nanoseconds);
        program.measures(work).most(workers as u32)
    }

    /// A sentence on how many predictions agree with the measurements.
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

    /// Sentences on the rows in which the measurements allow no verdict, or contradict the
    /// prediction.
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
            "{:.0} % of the rounds came within {:.0} % of the least of their row; the others were disturbed, or \
             had their memory elsewhere. Contended: {}. Measured too uncertainly for a verdict, because the \
             interval is wider than {:.0} %: {}. Predicted wrongly, whatever the interval: {}.",
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
Recordings, prices and measurements were taken in turn, one process each, round after round. Other users of the machine
only add to the time of a program, so the least run of a process counts, for predictions and measurements alike. There
is one process in each round, and the middle of the processes counts (Hodges and Lehmann, 1963), because some are a
tenth faster by where their memory lies. The interval is that of Wilcoxon's signed ranks, which has 95 % if a round is
about as often above the middle as below. *Contended*: all workers want one lock, and are predicted to take longer than
one worker. A worker that is kept away from the lock lets the others go on, so in these rows the median run of a process
counts. *Within the interval*: the prediction is not within a tenth of the figure, but within a tenth of its interval.
No price is fitted to these rows. But some choices were made with this table in view: the shape of the calibration's
tree of forks (of three, the one that costs what fib's does), the length of its samples and floods, that the price of
contention depends on the time to think between two operations, that a search in vain has a price, that thieves leave
empty places behind, that the middle of the processes counts, and which rows count as contended. So the table is no test
on programs never seen.";

pub const LIMITS: &str = "\
*Where this cannot be trusted.* The predictions were compared with measurements for as many workers as this machine has
processors; beyond that they are a calculation. It leaves out: the bandwidth of memory, the capacity of caches and the
distance between sockets, which matter more with more workers; two threads that share a core, as the processors of a
virtual machine do from time to time; a clock that slows down when all cores are busy; the kernel's scheduler; and that
a task runs slower if its data are elsewhere. Costs are added up, although a processor overlaps the calls with what the
tasks around them compute: so tasks of a few nanoseconds are predicted too slow, under slow policies more than under
fast ones. A line of memory costs what it costs between the two processors of the calibration. The price of a search in
vain is measured with one thief and one owner, and a search waits for the line of one owner, however many owners have
written theirs. A recording is of the tasks of one run, and its steps of a few nanoseconds are known by their sum alone.
For programs marked *contended* the curve says only that they do not scale: what happens at the lock depends on who
comes some nanoseconds earlier, and on where the machine has put the two processors. The price of contention is
measured with two workers; that more workers get no more out of the lock than two that never think is an assumption. A
task in a blocking section is back after as long as in the recording, which ran one section after the other: that the
sections may share a disk, and that their number is limited, is left out.
So trust the order of the policies, and the place where a curve bends, more than its height; and with many workers trust
the programs whose tasks share little (fib, uts, mandelbrot) more than those that move memory (quicksort, flood).";
