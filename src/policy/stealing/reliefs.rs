//! What a relief takes in a run of kind `steal` or `cont`: see `policy::reliefs`.

use crate::policy::reliefs::MOST_LOOKS;
use crate::policy::stealing::state::Stealing;
use crate::policy::{Mine, Place};
use crate::queue::Deque;
use crate::task::Task;

impl<D: Deque> Stealing<D> {
    /// Takes a task from outside that suits a relief, unless the relief must go.
    #[cold]
    #[inline(never)]
    pub(super) fn take_outside_for_relief<P: Place>(&self, place: Mine<'_, P>) -> Option<Task> {
        let may = self.has_outside() && !place.is_dismissed();
        // SAFETY: the injector is locked during the call.
        let suits = |task| unsafe { P::suits_relief(task) };
        if may { self.injector.take_if(suits, MOST_LOOKS) } else { None }
    }
}
