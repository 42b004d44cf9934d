//! A range of numbers, cut into units: for [`loops`](super::loops) and [`reduce`](super::reduce).
//!
//! A *unit* is `grain` numbers, from the lower end on; the last unit may be smaller. In a loop
//! without a grain a unit is one number.

/// The numbers from `lo` to `hi`, `hi` excluded, in units of `grain`.
#[derive(Clone, Copy)]
pub struct Range {
    lo: usize,
    hi: usize,
    grain: usize,
}

impl Range {
    /// None if the range is empty. `grain` is at least 1.
    pub fn new(lo: usize, hi: usize, grain: usize) -> Option<Self> {
        (lo < hi).then_some(Range { lo, hi, grain })
    }

    pub fn units(self) -> usize {
        (self.hi - self.lo).div_ceil(self.grain)
    }

    /// The first number of a unit, and that of the next one. `unit` is less than `units()`.
    #[inline]
    pub fn ends_of(self, unit: usize) -> (usize, usize) {
        let lo = self.lo + unit * self.grain; // less than `hi`
        (lo, lo + self.grain.min(self.hi - lo))
    }

    /// The first number of a unit; for the number of units, the end of the range.
    #[inline]
    pub fn start_of(self, unit: usize) -> usize {
        // The product saturates; a saturated product is beyond the end of the range, too.
        self.lo + unit.saturating_mul(self.grain).min(self.hi - self.lo)
    }
}
