//! The place of a relief (`runtime::relief`): how it is left.

use crate::policy::guests::Purpose;
use crate::policy::reliefs::{QUIET, Reliefs};
use crate::policy::{LoopStack, Place};
use crate::runtime::outsider::retry_until_memory;
use crate::runtime::record::{Fiber, Run, Worker};
use crate::threads::watcher;

#[unsafe(link_section = "sched_words")]
pub(super) static RELIEFS: Reliefs = Reliefs::new();

/// Called when the run has no relief any more: see `ReliefState::go`.
pub(super) fn gone(run: &Run) {
    run.relief.go(&RELIEFS);
    watcher::call();
}

/// Has the keeper look for a task that suits a relief. Called by a worker that has queued such a
/// task, and may run others before it.
#[cold]
pub fn request_look() {
    RELIEFS.request_look();
    watcher::call();
}

/// Called when the last thread at a relief's place has left it.
pub(super) fn go(place: &'static Worker) {
    place.with_run(|run| {
        // SAFETY: the run has not ended, since the place is active; the caller owns it.
        let operations = unsafe { place.owned() }.operations();
        run.relief.dismiss(); // so from now on it takes its own tasks
        while let Some(task) = operations.take_for_relief() {
            retry_until_memory(|| operations.put_back(task));
        }
        operations.go(Purpose::Relief);
        gone(run);
    });
}

impl Worker {
    /// True if this is a relief's place. The caller occupies it.
    pub fn is_relief(&self) -> bool {
        // SAFETY: the run has not ended, since the caller occupies a place of it.
        self.index() >= unsafe { &*self.run.get() }.numbers()
    }

    /// True if this is a guest's or a relief's place: no other task runs on top of a task there.
    /// The caller occupies it.
    pub fn is_visitor(&self) -> bool {
        // SAFETY: as in `is_relief`.
        self.index() >= unsafe { &*self.run.get() }.workers()
    }
}

impl Fiber {
    /// The loop of a relief, until the relief leaves, or the stack belongs to a worker's place.
    ///
    /// # Safety
    /// The caller is on the fiber, which is at a relief's place.
    #[cold]
    pub(super) unsafe fn relieve(&self) {
        let mut quiet = 0;
        while self.place().is_relief() {
            // SAFETY: the caller is on the fiber, so it occupies the place.
            let mine = unsafe { self.mine() };
            if let Some(task) = mine.operations().take_for_relief() {
                quiet = 0;
                self.run(task);
                continue;
            }
            mine.stay();
            self.out_of_tasks();
            if quiet == QUIET || mine.is_dismissed() || mine.operations().has_idle_worker() {
                return;
            }
            quiet += 1;
            mine.rest_beside();
        }
    }
}
