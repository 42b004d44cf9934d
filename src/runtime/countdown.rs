//! A counter that reports every n-th call of `tick`.

use std::cell::Cell;

/// The number of ticks that are left. Only the counter's owner uses it.
pub struct Countdown(Cell<u32>);

impl Countdown {
    /// The `ticks`-th call of `tick` is the first to return true. `ticks` is not 0.
    pub fn new(ticks: u32) -> Self {
        Countdown(Cell::new(ticks))
    }

    /// Starts the countdown over: the `ticks`-th call of `tick` from now on returns true.
    #[inline]
    pub fn set(&self, ticks: u32) {
        self.0.set(ticks);
    }

    /// Returns true if this was the last tick; the next countdown then has `next_ticks` ticks,
    /// which is not 0.
    #[inline(always)]
    pub fn tick(&self, next_ticks: u32) -> bool {
        self.0.set(self.0.get() - 1);
        self.0.get() == 0 && self.restart(next_ticks)
    }

    #[cold]
    fn restart(&self, ticks: u32) -> bool {
        self.0.set(ticks);
        true
    }
}
