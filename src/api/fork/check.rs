//! In debug builds: checks on the descriptors of forked tasks.

use crate::runtime::forked::misuse;
use crate::runtime::identity;
use crate::runtime::record::Worker;
use crate::sync::forked::Forked;
use crate::sys::atomic::Ordering;

/// The mark of a forked descriptor. The other 48 bits are those of `forked_in`.
const FORKED: usize = 0x5ced << 48;
const JOINED: usize = 2;

/// Counts forks and joins in the calling task's fiber, which the task keeps for its whole life.
fn note(more: isize) {
    if let Some(fiber) = identity::current_fiber() {
        fiber.count_forks(more);
    }
}

impl Forked {
    pub fn note_fork(&self, worker: &Worker) {
        self.check.store(self.forked_in(worker.run_id()), Ordering::Relaxed);
        note(1);
    }

    /// The check word: the run of the fork, 0 for none, combined with the address of the
    /// descriptor. A copy of the descriptor has the wrong address.
    fn forked_in(&self, run: usize) -> usize {
        FORKED | (run ^ std::ptr::from_ref(self).addr())
    }

    /// `note_fork` for `run_outside`.
    pub fn note_fork_outside(&self) {
        self.check.store(self.forked_in(0), Ordering::Relaxed);
        note(1);
    }

    /// `note_join` for `join_outside`.
    pub fn note_join_outside(&self) {
        self.note_join_by(|_| true);
    }

    pub fn note_join(&self, worker: &Worker) {
        // Any thread may join when the run has ended.
        self.note_join_by(|run| run == worker.run_id() || worker.has_ended());
    }

    /// `may` tells whether the caller may join a task that was forked in this run.
    fn note_join_by(&self, may: impl Fn(usize) -> bool) {
        match self.check.swap(JOINED, Ordering::Relaxed) {
            JOINED => misuse("sched_join", "the task was joined already"),
            check if check >> 48 != FORKED >> 48 => {
                misuse("sched_join", "the descriptor was not forked")
            }
            check if check != self.forked_in(0) && !may(self.forked_in(check) & !FORKED) => misuse(
                "sched_join",
                "the task was forked in another run, or its descriptor was copied",
            ),
            _ => {}
        }
        note(-1);
    }
}
