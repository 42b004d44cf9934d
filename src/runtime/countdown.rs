//! Once in so many times.

use std::cell::Cell;

/// Its owner's alone.
pub struct Countdown(Cell<u32>);

impl Countdown {
    /// `ticks`, not 0: the so many-th `tick` is the first to give true.
    pub fn new(ticks: u32) -> Self {
        Countdown(Cell::new(ticks))
    }

    /// From now on as a new one.
    #[inline]
    pub fn set(&self, ticks: u32) {
        self.0.set(ticks);
    }

    /// True the last time of as many as were set; from then on, of `again`, not 0.
    #[inline(always)]
    pub fn tick(&self, again: u32) -> bool {
        self.0.set(self.0.get() - 1);
        self.0.get() == 0 && self.begin_again(again)
    }

    #[cold]
    fn begin_again(&self, ticks: u32) -> bool {
        self.0.set(ticks);
        true
    }
}
