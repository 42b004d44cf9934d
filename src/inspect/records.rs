//! The tasks on a fiber, by their records: which function of the program each was given, and which
//! descriptor is its own. Only the tasks of observed runs have records (`runtime::observed`); runs
//! with `SCHED_WATCHDOG` are observed. Nothing else tells which function a worker runs: there may
//! be no return address into its frame, and its registers are on a processor.
//!
//! ```text
//! Fiber::observed -> youngest task's record -> below -> ... -> outermost task's -> 0
//! ```
//! The worker continues while an observer reads. The bad interleaving: the observer reads
//! `Fiber::observed`; that task ends, and its block serves for another record or for an argument;
//! the observer reads a word of the new content. So everything is read twice. The worker's progress
//! is read before and after. Both must be the same: the progress changes whenever a task of the
//! worker ends (`Worker::progress`). A record is complete before a fiber leads to it: the fence is
//! in `run_observed`. A block may be gone, so all is read by `sys::peek`.

use crate::runtime::record::{Fiber, Worker};
use crate::runtime::watch::Watched;
use crate::sys::peek;

/// The most tasks of a fiber that are looked at, the youngest ones.
const MOST: usize = 64;

/// The tasks on a fiber, the youngest first.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Records {
    functions: [usize; MOST],
    descriptors: [usize; MOST],
    count: usize,
    has_more: bool,
}

impl Records {
    /// The tasks on the fiber of a worker. None means that there are none, the run is not observed,
    /// or the worker has continued in the meantime.
    pub fn of_worker(worker: &Worker) -> Option<Records> {
        if !worker.is_observed() {
            return None;
        }
        let (progress, fiber) = (worker.progress(), worker.seen_fiber());
        let records = Records::on(fiber)?;
        (worker.progress() == progress && worker.seen_fiber() == fiber).then_some(records)
    }

    /// The tasks on a fiber. None means that there are none, or they change.
    pub fn on(fiber: usize) -> Option<Records> {
        let first = Records::read(fiber)?;
        Records::read(fiber).filter(|second| *second == first)
    }

    fn read(fiber: usize) -> Option<Records> {
        let word = |record: usize, offset: usize| peek::word(record.wrapping_add(offset));
        let mut record = word(fiber, Fiber::OBSERVED)?;
        let [functions, descriptors] = [[0; MOST]; 2];
        let mut found = Records { functions, descriptors, count: 0, has_more: false };
        while record != 0 && found.count < MOST {
            found.functions[found.count] = word(record, Watched::FUNCTION)?;
            found.descriptors[found.count] = Watched::seen_descriptor(record)?;
            found.count += 1;
            record = word(record, Watched::BELOW)?;
        }
        found.has_more = record != 0;
        (found.count > 0).then_some(found)
    }

    pub fn innermost(&self) -> usize {
        self.functions[0]
    }

    /// The function of the oldest task; None: there are more tasks than were looked at.
    pub fn outermost(&self) -> Option<usize> {
        (!self.has_more).then(|| self.functions[self.count - 1])
    }

    /// True if tasks lie on top of each other.
    pub fn are_several(&self) -> bool {
        self.count > 1
    }

    /// The function of the task that has this descriptor, if that task is here.
    pub fn function_of(&self, descriptor: usize) -> Option<usize> {
        let at = self.descriptors[..self.count].iter().position(|at| *at == descriptor)?;
        Some(self.functions[at])
    }
}
