//! A range of numbers, divided into units, for [`loops`](super::loops) and
//! [`reduce`](super::reduce).
//!
//! A *unit* consists of `grain` successive numbers; the first unit begins at the lower end, and the
//! last may be smaller. In a loop without a grain a unit is one number.

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

    /// The first number of a unit, and the number after its last. `unit` is less than `units()`.
    #[inline]
    pub fn ends_of(self, unit: usize) -> (usize, usize) {
        let lo = self.lo + unit * self.grain; // less than `hi`
        (lo, lo + self.grain.min(self.hi - lo))
    }

    /// The first number of a unit; the end of the range if `unit` is the number of units.
    #[inline]
    pub fn start_of(self, unit: usize) -> usize {
        // A saturated product is also beyond the end of the range.
        self.lo + unit.saturating_mul(self.grain).min(self.hi - self.lo)
    }
}
