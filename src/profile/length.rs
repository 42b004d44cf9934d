//! The length of a path, in ticks, and how it divides among the functions of its tasks.
//!
//! The length of the longest *burdened* path to the same point is kept beside it. On a burdened
//! path each edge on which a task may move to another worker adds the cost of the move, the burden.
//! The longest burdened path may be another path, with more work or with more edges, so the two
//! lengths are followed separately.

use crate::profile::parts::Parts;
use crate::sys::word::Word;

/// The length of a path. Only one thread at a time uses it.
pub struct Length {
    parts: Parts,
    burdened: Word,
}

impl Default for Length {
    #[inline(always)]
    fn default() -> Self {
        Length { parts: Parts::default(), burdened: Word::new(0) }
    }
}

impl Length {
    pub fn ticks(&self) -> u64 {
        self.parts.ticks()
    }

    /// The length of the longest burdened path.
    pub fn burdened(&self) -> u64 {
        self.burdened.get()
    }

    pub fn set_burdened(&self, ticks: u64) {
        self.burdened.set(ticks);
    }

    pub fn parts(&self) -> &Parts {
        &self.parts
    }

    /// A path of length `other` also leads here, over an edge with this burden. Takes the longer of
    /// the two lengths, and the longer of the two burdened lengths. True if `other` is longer.
    #[inline]
    pub fn become_longer(&self, other: &Length, burden: u64) -> bool {
        let burdened = self.burdened().max(other.burdened() + burden);
        let is_longer = other.ticks() > self.ticks();
        if is_longer {
            self.become_equal(other, 0);
        }
        self.burdened.set(burdened);
        is_longer
    }

    /// A path continues from one of length `other` over an edge with this burden.
    #[inline]
    pub fn become_equal(&self, other: &Length, burden: u64) {
        self.burdened.set(other.burdened() + burden);
        self.parts.copy(&other.parts);
    }

    /// The path continues in this function.
    pub fn enter(&self, function: u32) {
        self.parts.grow(function);
    }

    #[inline]
    pub fn clear(&self) {
        self.parts.clear();
    }

    /// The path continues for this many ticks.
    #[inline]
    pub fn add(&self, ticks: u64) {
        self.parts.add(ticks);
        self.burdened.set(self.burdened.get() + ticks);
    }

    /// The path goes through one more task of its function.
    #[inline]
    pub fn add_task(&self) {
        self.parts.add_task();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(length: &Length) -> Vec<(u32, u64)> {
        length.parts().all().map(|part| (part.function, part.ticks)).collect()
    }

    fn go(length: &Length, function: u32, ticks: u64) {
        length.enter(function);
        length.add(ticks);
    }

    #[test]
    fn the_longer_one_counts() {
        let (short, long) = (Length::default(), Length::default());
        go(&short, 1, 10);
        go(&long, 2, 20);
        assert!(!long.become_longer(&short, 0));
        assert_eq!(parts(&long), [(2, 20)]);
        assert!(short.become_longer(&long, 0));
        assert_eq!(parts(&short), [(2, 20)]);
    }

    #[test]
    fn the_burdened_path_may_be_another_one() {
        let (work, edges) = (Length::default(), Length::default());
        go(&work, 1, 100);
        for _ in 0..3 {
            edges.become_equal(&edges, 40);
            go(&edges, 2, 10);
        }
        assert_eq!((edges.ticks(), edges.burdened()), (30, 150));
        assert!(!work.become_longer(&edges, 5));
        assert_eq!((work.ticks(), work.burdened()), (100, 155));
        assert!(edges.become_longer(&work, 5));
        assert_eq!((edges.ticks(), edges.burdened()), (100, 160));
    }
}
