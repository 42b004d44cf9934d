//! The place of a relief (`runtime::relief`): its state, and how it is left.

use crate::policy::guests::Purpose;
use crate::policy::reliefs::{Gone, QUIET};
use crate::policy::{LoopStack, Place};
use crate::runtime::outsider::retry_until_memory;
use crate::runtime::record::{Fiber, ReliefState, Worker};
use crate::sys::atomic::Ordering;
use crate::threads::watcher;

/// The states of a run: see `runtime::relief`.
pub(super) const NONE: u32 = 0;
pub(super) const WANTED: u32 = 1;
pub(super) const CALLED: u32 = 2;
pub(super) const DISMISSED: u32 = 3;

#[unsafe(link_section = "sched_words")]
static GONE: Gone = Gone::new();

/// For the keeper: true if a relief has gone since the last call.
pub(super) fn a_relief_has_gone() -> bool {
    GONE.take()
}

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

    /// The run has no relief any more. The keeper looks whether it wants another one, since a task
    /// may have been queued after the last look of this one.
    pub(super) fn gone(&self) {
        self.set(NONE);
        GONE.note();
        watcher::call();
    }
}

/// The last thread at a relief's place has left it.
pub(super) fn go(place: &'static Worker) {
    place.with_run(|run| {
        // SAFETY: the run has not ended, since the place is active; the caller owns it.
        let operations = unsafe { place.owned() }.operations();
        run.relief.set(DISMISSED); // so what it takes now are its own tasks
        while let Some(task) = operations.take_for_relief() {
            retry_until_memory(|| operations.put_back(task));
        }
        operations.go(Purpose::Relief);
        run.relief.gone();
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
    /// The loop of a relief, until the relief goes, or the stack belongs to a worker's place.
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
