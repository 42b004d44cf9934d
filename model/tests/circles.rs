//! Tasks that wait for whole runs (`queue::run_waits`): a wait is refused only if it would never
//! end, and one of the waits that would form a circle is refused.
#![cfg(loom)]

use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use sched::lock::mutex::Mutex;
use sched::queue::run_gate::{Ends, RestAwaited, Rests, RunGate, no_limit};
use sched::queue::run_waits::{Circle, RunWait, RunWaits, Until, Waiter};
use sched_model::{explore, join, thread_with};

/// A run that is held open, reduced to the number of its tasks and its gate.
struct Run {
    state: Mutex<(usize, RunGate)>,
    rests: Rests,
}

struct Process {
    runs: [Run; 3],
    waits: RunWaits,
    refused: AtomicUsize,
    returned: AtomicBool,
}

impl Process {
    /// `tasks`: the number of tasks of each run.
    fn new(tasks: [usize; 3]) -> Arc<Self> {
        let run = |tasks| Run {
            state: Mutex::new((tasks, RunGate::new(Ends::AfterRelease))),
            rests: Rests::new(),
        };
        Arc::new(Process {
            runs: tasks.map(run),
            waits: RunWaits::new(),
            refused: AtomicUsize::new(0),
            returned: AtomicBool::new(false),
        })
    }

    fn submit(&self, run: usize) {
        self.runs[run].state.with(|(tasks, _)| *tasks += 1);
    }

    /// A task of the run ends.
    fn end(&self, run: usize) {
        let Run { state, rests } = &self.runs[run];
        state.with(|(tasks, gate)| {
            *tasks -= 1;
            if *tasks == 0 {
                gate.rest(rests);
            }
        });
    }

    /// A task of run `of` waits for a rest of the run `for_run`. The numbers of runs begin with 1.
    fn wait(&self, of: usize, for_run: usize) -> Result<(), Circle> {
        let Run { state, rests } = &self.runs[for_run];
        let rest = RestAwaited::new(rests, &no_limit);
        let waiter = Waiter { run: of + 1, worker: 0, fiber: 0 };
        let wait = RunWait::new(waiter, for_run + 1, Until::Rest(&rest));
        self.waits.during(&wait, || {
            self.waits.begin(&rest);
            rest.wait(|| state.with(|(tasks, gate)| gate.expect_rest(*tasks == 0, &rest)));
        })
    }

    /// A task of the run `of` that waits, and then ends.
    fn task(&self, of: usize, for_run: usize) {
        if self.wait(of, for_run).is_err() {
            self.refused.fetch_add(1, Ordering::Relaxed);
        }
        self.end(of);
    }
}

/// A task of A waits for B. B rests, and gets another task, which waits for A. This second wait is
/// refused only if the first has not seen that B rested.
#[test]
fn a_wait_that_is_over() {
    explore("circles, a wait that is over", 3, 150, || {
        let process = Process::new([1, 1, 0]);
        let first = thread_with(&process, |other| {
            match other.wait(0, 1) {
                Ok(()) => other.returned.store(true, Ordering::Relaxed),
                Err(Circle) => _ = other.refused.fetch_add(1, Ordering::Relaxed),
            }
            other.end(0);
        });
        process.end(1);
        process.submit(1);
        if process.wait(1, 0).is_err() {
            assert!(!process.returned.load(Ordering::Relaxed), "the wait could have ended");
            assert_eq!(process.refused.load(Ordering::Relaxed), 0);
        }
        process.end(1);
        first.join().unwrap();
    });
}

#[test]
fn two_that_wait_for_each_other() {
    explore("circles, two that wait for each other", 3, 60, || {
        let process = Process::new([1, 1, 0]);
        let first = thread_with(&process, |process| process.task(0, 1));
        process.task(1, 0);
        first.join().unwrap();
        assert_eq!(process.refused.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn a_circle_of_three() {
    explore("circles, three that wait for each other", 2, 400, || {
        let process = Process::new([1, 1, 1]);
        let others =
            [0, 1].map(|of| thread_with(&process, move |process| process.task(of, of + 1)));
        process.task(2, 0);
        join(others);
        assert_eq!(process.refused.load(Ordering::Relaxed), 1);
    });
}
