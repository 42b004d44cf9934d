//! Conclusions from the work and the span of a program about its speed-up. The library predicts
//! with these formulas for runs that it profiles, and the laboratory for programs that it records.
//!
//! The *work* T1 is the time of all tasks, the *span* T∞ the longest path through them. The
//! *burdened span* is the longest path if each edge on which a task may move to another worker (a
//! spawn, a join, a wake-up) takes as long as such a move. (Y. He, C. Leiserson and W. Leiserson,
//! "The Cilkview scalability analyzer", 2010.)

/// The numbers of workers for which a speed-up is predicted.
pub const WORKERS: [u32; 11] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];

/// The measures of a program, all in one unit of time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measures {
    pub work: f64,
    pub span: f64,
    pub burdened_span: f64,
}

impl Measures {
    pub fn parallelism(&self) -> f64 {
        ratio(self.work, self.span)
    }

    pub fn burdened_parallelism(&self) -> f64 {
        ratio(self.work, self.burdened_span)
    }

    /// No scheduler makes the program quicker than by this factor on this many workers.
    pub fn most(&self, workers: u32) -> f64 {
        self.parallelism().min(f64::from(workers))
    }

    /// A scheduler without costs that leaves no worker idle while a task is ready makes the program
    /// quicker at least by this factor.
    pub fn least(&self, workers: u32) -> f64 {
        greedy(self.work, self.span, workers)
    }

    /// Like `least`, for a scheduler that pays for each move of a task to another worker.
    pub fn least_burdened(&self, workers: u32) -> f64 {
        greedy(self.work, self.burdened_span, workers)
    }
}

fn ratio(work: f64, span: f64) -> f64 {
    if span > 0.0 { work / span } else { f64::INFINITY }
}

/// T1 / (T1 / P + T∞ (P - 1) / P): R. Graham, "Bounds on multiprocessing timing anomalies", 1969.
fn greedy(work: f64, span: f64, workers: u32) -> f64 {
    let workers = f64::from(workers);
    let time = work / workers + span * (workers - 1.0) / workers;
    if time > 0.0 { work / time } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is(found: f64, meant: f64) {
        assert!((found - meant).abs() < 1e-9, "{found} instead of {meant}");
    }

    #[test]
    fn ten_tasks_side_by_side() {
        let ten = Measures { work: 1000.0, span: 100.0, burdened_span: 120.0 };
        is(ten.parallelism(), 10.0);
        is(ten.burdened_parallelism(), 1000.0 / 120.0);
        is(ten.most(4), 4.0);
        is(ten.most(1024), 10.0);
        is(ten.least(4), 10.0 / (10.0 / 4.0 + 3.0 / 4.0));
        is(ten.least_burdened(4), 1000.0 / (250.0 + 90.0));
        // One worker moves nothing.
        is(ten.least(1), 1.0);
        is(ten.least_burdened(1), 1.0);
    }

    #[test]
    fn the_bounds_are_in_their_order_and_grow() {
        for (work, span, burdened_span) in [(1e9, 1e3, 1e4), (5.0, 5.0, 9.0), (1e6, 2e5, 2e5)] {
            let measures = Measures { work, span, burdened_span };
            let all = WORKERS.map(|n| {
                let (burdened, least, most) =
                    (measures.least_burdened(n), measures.least(n), measures.most(n));
                assert!(burdened <= least && least <= most, "{n}: {burdened} {least} {most}");
                least
            });
            assert!(all.is_sorted());
        }
    }

    /// A run without tasks.
    #[test]
    fn nothing_speeds_up_nothing() {
        let nothing = Measures { work: 0.0, span: 0.0, burdened_span: 0.0 };
        is(nothing.least_burdened(8), 1.0);
        is(nothing.most(8), 8.0);
    }
}
