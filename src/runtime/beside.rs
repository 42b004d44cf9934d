//! The place of a relief (`runtime::relief`): its state, and how it is left.

use crate::policy::Place;
use crate::policy::guests::Purpose;
use crate::runtime::record::{ReliefState, Worker};
use crate::runtime::suspend;
use crate::sys::atomic::Ordering;

/// The states of a run: see `runtime::relief`.
pub(super) const NONE: u32 = 0;
pub(super) const WANTED: u32 = 1;
pub(super) const CALLED: u32 = 2;
pub(super) const DISMISSED: u32 = 3;

impl ReliefState {
    pub fn is_dismissed(&self) -> bool {
        self.get() == DISMISSED
    }

    pub(super) fn get(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    pub(super) fn set(&self, state: u32) {
        self.0.store(state, Ordering::Relaxed);
    }
}

/// The last thread at a relief's place has left it.
pub(super) fn go(place: &'static Worker) {
    place.with_run(|run| {
        // SAFETY: the run has not ended, since the place is active; the caller owns it.
        unsafe { place.owned() }.operations().go(Purpose::Relief);
        run.relief.set(NONE);
    });
}

/// Called in a task: moves it to a worker, if it is at a relief's place and can be suspended.
#[cold]
pub fn leave() {
    while let Some(mine) = Worker::current().filter(|mine| mine.is_relief()) {
        let (fiber, worker) = (mine.fiber(), mine.worker());
        // SAFETY: the caller occupies the place, so the run has not ended.
        unsafe { (*worker.run.get()).relief.set(DISMISSED) };
        let publish = move |task| {
            worker.requeue(task);
            true
        };
        // SAFETY: the caller is a task on the fiber; `requeue` publishes the task.
        if unsafe { suspend::suspend(fiber, publish) }.is_err() {
            return;
        }
    }
}

impl Worker {
    /// True if this is a relief's place. The caller occupies it.
    pub fn is_relief(&self) -> bool {
        // SAFETY: the run has not ended, since the caller occupies a place of it.
        self.index() >= unsafe { &*self.run.get() }.numbers()
    }
}
