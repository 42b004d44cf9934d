//! What a relief takes in a run of kind `steal` or `cont`: see `policy::reliefs`.

use crate::policy::reliefs::MOST_LOOKS;
use crate::policy::stealing::state::Stealing;
use crate::policy::{Mine, Place};
use crate::queue::Deque;
use crate::task::Task;

impl<D: Deque> Stealing<D> {
    /// Takes a task from outside that was suspended, unless the relief must go.
    #[cold]
    #[inline(never)]
    pub(super) fn take_suspended<P: Place>(&self, place: Mine<'_, P>) -> Option<Task> {
        let may = self.has_outside() && !place.is_dismissed();
        if may { self.injector.take_if(P::is_continuation, MOST_LOOKS) } else { None }
    }
}
