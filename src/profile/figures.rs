//! The measures that follow from the sums of a run.

use crate::profile::sums::{CLASSES, Sums};
use crate::sys::clock::Calibration;

/// The numbers of workers for which a speed-up is predicted.
pub const WORKERS: [u32; 11] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];

pub struct Figures {
    /// In nanoseconds.
    pub work: u64,
    pub span: u64,
    pub tasks: u64,
    pub workers: usize,
    /// The least nanoseconds of each class of tasks, and the number of its tasks.
    pub classes: [(u64, u64); CLASSES],
    /// The nanoseconds of a task such that half of the tasks are shorter.
    pub median: u64,
}

impl Figures {
    pub fn new(sums: &Sums, workers: usize, calibration: Calibration) -> Self {
        let nanos = |ticks| calibration.length(ticks);
        let mut classes = [(0, 0); CLASSES];
        for (class, place) in classes.iter_mut().enumerate() {
            *place = (nanos(1 << class), sums.class(class).0);
        }
        let tasks = classes.iter().map(|class| class.1).sum();
        // The average of the class that contains the task in the middle.
        let mut below = 0;
        let middle = (0..CLASSES).find(|&class| {
            below += classes[class].1;
            2 * below >= tasks
        });
        let median = middle.map_or(0, |class| {
            let (n, ticks) = sums.class(class);
            nanos(ticks / n.max(1))
        });
        let (work, span) = (nanos(sums.work()), nanos(sums.span()));
        Figures { work, span, tasks, workers, classes, median }
    }

    pub fn parallelism(&self) -> f64 {
        self.work as f64 / self.span.max(1) as f64
    }

    /// On so many workers no scheduler makes the run quicker than by this factor.
    pub fn most_speedup(&self, workers: u32) -> f64 {
        self.parallelism().min(f64::from(workers))
    }

    /// A scheduler that leaves no worker idle while a task is ready makes the run at least so much
    /// quicker: T1 / (T1 / P + T∞ (P - 1) / P) (R. Graham, "Bounds on multiprocessing timing
    /// anomalies", 1969).
    pub fn least_speedup(&self, workers: u32) -> f64 {
        let workers = f64::from(workers);
        let (work, span) = (self.work.max(1) as f64, self.span as f64);
        work / (work / workers + span * (workers - 1.0) / workers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::path::Path;
    use crate::sys::clock::Moment;

    #[test]
    fn the_bounds_of_grahams_theorem() {
        let sums = Sums::default();
        // A task of 100 ms, and nine that begin when it does.
        for length in [100_u64; 10] {
            let path = Path::new(0);
            path.go_on(0);
            sums.end(&path, length << 20);
        }
        let figures = Figures::new(&sums, 2, Calibration::since(Moment::now()));
        let is = |found: f64, meant: f64| assert!((found - meant).abs() < 0.001, "{found} {meant}");
        assert_eq!(figures.tasks, 10);
        is(figures.parallelism(), 10.0);
        is(figures.most_speedup(4), 4.0);
        is(figures.most_speedup(1024), 10.0);
        is(figures.least_speedup(1), 1.0);
        is(figures.least_speedup(4), 10.0 / (10.0 / 4.0 + 3.0 / 4.0));
        is(figures.median as f64 / figures.span as f64, 1.0);
    }
}
