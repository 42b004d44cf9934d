//! Reliefs of a run of kind `lifo` or `fifo`: see `policy::reliefs`.

use crate::idle::poller;
use crate::lock::monitor::Monitor;
use crate::policy::reliefs::{LOOK, QUIET, Relief};
use crate::policy::shared::queue::Order;
use crate::policy::shared::state::{AWAKE, Shared, State};
use crate::policy::{LoopStack, OnStack, Place};
use crate::settings::Idle;
use crate::task::Task;

impl<L: Monitor, O: Order> Shared<L, O> {
    /// See `Policy::wants_relief`.
    pub(super) fn needs_relief<P: Place>(&self, _place: &P) -> bool {
        self.with(|state| !self.has_idle_worker(state) && state.queue.has_suspended::<P>())
    }

    fn has_idle_worker(&self, state: &State) -> bool {
        let asleep = state.asleep + state.absent + state.joiners.len();
        self.idle != Idle::Park || asleep + state.tickets + state.arriving > 0
    }

    /// Takes a task that a relief may run.
    pub(super) fn take_for_relief<P: Place>(&self, place: &P) -> Option<Task> {
        if place.is_dismissed() {
            return None;
        }
        self.with(|state| {
            let task = state.queue.take_suspended::<P>();
            self.count_outside(state);
            task
        })
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
            if let Some(task) = self.take_for_relief(&*place) {
                quiet = 0;
                stack.run(task);
                continue;
            }
            place.stay();
            let has_idle_worker = self.with(|state| self.has_idle_worker(state));
            if has_idle_worker || place.is_dismissed() || quiet == QUIET {
                return Relief::Over;
            }
            quiet += 1;
            let word = &*self.joiner_words[place.index()]; // nobody changes it
            if poller::sleep(self.poller, word, AWAKE, LOOK) {
                place.serve_events();
            }
        }
    }
}
