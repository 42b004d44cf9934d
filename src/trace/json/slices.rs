//! The open slices of a track, while its text is written.

use crate::trace::event::Event;

/// The slices of a track that have begun and not ended.
#[derive(Default)]
pub(super) struct Slices {
    /// The first events of the slices, the outermost slice first.
    begun: Vec<Event>,
    /// The number of further open slices, for which there was no memory.
    more: usize,
}

impl Slices {
    pub(super) fn push(&mut self, event: Event) {
        if self.more > 0 || self.begun.try_reserve(1).is_err() {
            self.more += 1;
        } else {
            self.begun.push(event); // within the capacity
        }
    }

    /// The innermost slice. None means that there is none, or there was no memory to keep it.
    pub(super) fn innermost(&self) -> Option<Event> {
        self.begun.last().filter(|_| self.more == 0).copied()
    }

    /// Takes out the innermost slice. None means that there is none. Some(None): there was no
    /// memory to keep it.
    pub(super) fn pop(&mut self) -> Option<Option<Event>> {
        if self.more > 0 {
            self.more -= 1;
            return Some(None);
        }
        self.begun.pop().map(Some)
    }
}
