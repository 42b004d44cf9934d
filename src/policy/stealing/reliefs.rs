//! What a relief takes in a run of kind `steal` or `cont`: see `policy::reliefs`.

use crate::policy::stealing::state::Stealing;
use crate::policy::{Mine, Place};
use crate::queue::{Deque, Owner};
use crate::sys::time;
use crate::task::Task;
use std::time::Duration;

impl<D: Deque> Stealing<D> {
    /// Takes a task from outside that was suspended, unless the relief must go.
    #[cold]
    #[inline(never)]
    pub(super) fn take_suspended<P: Place>(&self, place: Mine<'_, P>) -> Option<Task> {
        let may = self.has_outside() && !place.is_dismissed();
        if may { self.injector.take_if(P::is_continuation) } else { None }
    }

    /// The relief goes: its own tasks are queued for the workers. (If there is no memory for that,
    /// this waits.)
    #[cold]
    #[inline(never)]
    pub(super) fn hand_on(&self, place: Mine<'_, impl Place>) {
        // SAFETY: the caller has the place.
        let mut own = unsafe { Owner::new(self.deque_at(place)) };
        while let Some(task) = own.pop() {
            while self.injector.put_back_new(task).is_err() {
                time::sleep(Duration::from_millis(1));
            }
            self.added_outside(&*place, 1);
        }
    }
}
