//! The word of a ring: the positions of owner and thief.

use std::fmt;

/// `steal` in the upper half, `head` in the lower half.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Word(pub(super) u64);

impl fmt::Debug for Word {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "steal {} head {}", self.steal(), self.head())
    }
}

impl Word {
    pub(super) fn new(steal: u32, head: u32) -> Self {
        Word((u64::from(steal) << 32) | u64::from(head))
    }

    /// The word while no thief is at work.
    pub(super) fn at(head: u32) -> Self {
        Word::new(head, head)
    }

    pub(super) fn steal(self) -> u32 {
        (self.0 >> 32) as u32
    }

    pub(super) fn head(self) -> u32 {
        self.0 as u32
    }

    pub(super) fn has_thief(self) -> bool {
        self.steal() != self.head()
    }

    /// The word after the owner has taken the `n` oldest tasks.
    pub(super) fn taken(self, n: u32) -> Self {
        let head = self.head().wrapping_add(n);
        if self.has_thief() { Word::new(self.steal(), head) } else { Word::at(head) }
    }

    /// The word with both positions moved up by `by`, a multiple of N: the same slots, but a value
    /// that no thief has read.
    pub(super) fn shifted(self, by: u32) -> Self {
        Word::new(self.steal().wrapping_add(by), self.head().wrapping_add(by))
    }
}
