//! Reliefs of a run of kind `steal` or `cont`: see `policy::reliefs`.

use crate::idle::poller;
use crate::policy::reliefs::{LOOK, QUIET, Relief};
use crate::policy::stealing::state::Stealing;
use crate::policy::{LoopStack, Mine, OnStack, Place};
use crate::queue::Deque;
use crate::task::Task;

impl<D: Deque> Stealing<D> {
    /// See `Policy::wants_relief`.
    pub(super) fn needs_relief<P: Place>(&self, _place: &P) -> bool {
        !self.has_idle_worker() && self.has_outside() && self.injector.has(P::is_continuation)
    }

    fn has_idle_worker(&self) -> bool {
        !self.parks() || self.sleepers.has_sleepers() || self.sleepers.searching() > 0
    }

    /// Takes a task that a relief may run.
    pub(super) fn take_for_relief<P: Place>(&self, place: Mine<'_, P>) -> Option<Task> {
        self.own(place).pop().or_else(|| self.take_suspended(place))
    }

    /// Takes a task from outside that was suspended, for a relief.
    pub(super) fn take_suspended<P: Place>(&self, place: Mine<'_, P>) -> Option<Task> {
        let may = !place.is_dismissed() && self.has_outside();
        if may { self.injector.take_if(P::is_continuation) } else { None }
    }

    /// The loop of a relief.
    #[cold]
    #[inline(never)]
    pub(super) fn relieve(&self, stack: OnStack<'_, impl LoopStack>) -> Relief {
        let mut quiet = 0;
        loop {
            let place = stack.place();
            if place.index() < self.reliefs {
                return Relief::Moved;
            }
            if let Some(task) = self.take_for_relief(place) {
                quiet = 0;
                stack.run(task);
                continue;
            }
            place.stay();
            if self.has_idle_worker() || place.is_dismissed() || quiet == QUIET {
                return Relief::Over;
            }
            quiet += 1;
            stack.out_of_tasks();
            if poller::sleep(self.poller, &self.relief_sleep, 0, LOOK) {
                place.serve_events();
            }
        }
    }
}
