//! The length of a path, in ticks, and how it divides among the functions of its tasks.
//!
//! Beside it goes the length of the longest *burdened* path to the same point: each edge on which a
//! task may move to another worker counts with the cost of that, its burden. It may be another path,
//! with more work or with more edges, so the two lengths are followed on their own.

use crate::sys::word::Word;
use std::cell::Cell;
use std::mem::MaybeUninit;
use std::ptr;

/// A path is divided among so many functions at most, those that it meets first. The last part has
/// the rest.
pub const PARTS: usize = 6;

/// The part of a path that lies in the tasks of a function.
#[derive(Clone, Copy, Default)]
pub struct Part {
    /// The function's number: see `Context::number`. `REST` for several functions.
    pub function: u32,
    /// How many tasks of the function the path goes through.
    pub tasks: u32,
    pub ticks: u64,
}

/// The functions that have no part of their own.
pub const REST: u32 = u32::MAX;

/// A part in two words: the number of the function below the number of tasks, and the ticks.
struct Stored([Word; 2]);

impl Stored {
    #[inline(always)]
    fn set(&self, part: Part) {
        self.0[0].set(u64::from(part.tasks) << 32 | u64::from(part.function));
        self.0[1].set(part.ticks);
    }

    #[inline(always)]
    fn get(&self) -> Part {
        let (counts, ticks) = (self.0[0].get(), self.0[1].get());
        Part { function: counts as u32, tasks: (counts >> 32) as u32, ticks }
    }

    #[inline(always)]
    fn add_ticks(&self, ticks: u64) {
        self.0[1].set(self.0[1].get() + ticks);
    }
}

/// Only one thread at a time uses it.
pub struct Length {
    ticks: Word,
    burdened: Word,
    /// In the order in which the path meets the functions.
    /// The first `used` of them were written. (To write all of them for each task takes a tenth of
    /// its time.)
    parts: [MaybeUninit<Stored>; PARTS],
    used: Cell<u8>,
}

impl Default for Length {
    #[inline(always)]
    fn default() -> Self {
        let parts = [const { MaybeUninit::uninit() }; PARTS];
        Length { ticks: Word::new(0), burdened: Word::new(0), parts, used: Cell::new(0) }
    }
}

impl Length {
    pub fn ticks(&self) -> u64 {
        self.ticks.get()
    }

    /// That of the longest burdened path.
    pub fn burdened(&self) -> u64 {
        self.burdened.get()
    }

    pub fn set_burdened(&self, ticks: u64) {
        self.burdened.set(ticks);
    }

    fn used(&self) -> &[Stored] {
        let used = &self.parts[..usize::from(self.used.get())];
        // SAFETY: the first `used` parts were written, and the two types have one layout.
        unsafe { &*(ptr::from_ref(used) as *const [Stored]) }
    }

    /// A part that is in use.
    #[inline]
    fn part(&self, at: u8) -> &Stored {
        assert!(at < self.used.get(), "the path has such a part");
        // SAFETY: there are at most `PARTS` in use, and the two types have one layout. Each of them
        // was written, or the caller writes it now: the words of a part are atomics, of which a
        // reference may be made before their first value is stored.
        unsafe { &*self.parts.as_ptr().add(usize::from(at)).cast() }
    }

    /// The parts, whose sum is the length.
    pub fn parts(&self) -> impl Iterator<Item = Part> {
        self.used().iter().map(Stored::get)
    }

    /// A path of the other length leads here, too, over an edge with this burden. This becomes the
    /// other length, if that is longer. Returns true if it was.
    pub fn become_longer(&self, other: &Length, burden: u64) -> bool {
        let burdened = self.burdened().max(other.burdened() + burden);
        let is_longer = other.ticks() > self.ticks();
        if is_longer {
            self.become_equal(other, 0);
        }
        self.burdened.set(burdened);
        is_longer
    }

    /// A path goes on from one of the other length over an edge with this burden.
    pub fn become_equal(&self, other: &Length, burden: u64) {
        self.ticks.set(other.ticks());
        self.burdened.set(other.burdened() + burden);
        self.used.set(other.used.get());
        for at in 0..other.used.get() {
            self.part(at).set(other.part(at).get());
        }
    }

    /// The place of the function's part.
    pub fn part_of(&self, function: u32) -> u8 {
        let used = self.used.get();
        let known = self.used().iter().position(|part| part.get().function == function);
        if let Some(known) = known {
            return known as u8;
        }
        if usize::from(used) == PARTS {
            let last = self.part(used - 1);
            last.set(Part { function: REST, ..last.get() });
            return used - 1;
        }
        self.used.set(used + 1);
        self.part(used).set(Part { function, ..Part::default() });
        used
    }

    /// The path goes on for so many ticks, in a part that `part_of` has returned.
    pub fn add(&self, part: u8, ticks: u64) {
        self.ticks.set(self.ticks.get() + ticks);
        self.burdened.set(self.burdened.get() + ticks);
        self.part(part).add_ticks(ticks);
    }

    /// The path goes through one more task of this part.
    pub fn add_task(&self, part: u8) {
        let part = self.part(part);
        part.set(Part { tasks: part.get().tasks.saturating_add(1), ..part.get() });
    }

    /// Shortens the path to so many ticks: first this part, then those that came last. The burdened
    /// path is the caller's to set.
    pub fn cut(&self, part: u8, ticks: u64) {
        let mut excess = self.ticks().saturating_sub(ticks);
        self.ticks.set(self.ticks() - excess);
        let own = self.used().get(usize::from(part)).into_iter();
        for part in own.chain(self.used().iter().rev()) {
            let less = excess.min(part.get().ticks);
            excess -= less;
            part.set(Part { ticks: part.get().ticks - less, ..part.get() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(length: &Length) -> Vec<(u32, u64)> {
        length.parts().map(|part| (part.function, part.ticks)).collect()
    }

    #[test]
    fn the_parts_add_up() {
        let length = Length::default();
        for function in 1..=8 {
            length.add(length.part_of(function), 10 * u64::from(function));
        }
        let own = length.part_of(2);
        length.add(own, 5);
        let meant = vec![(1, 10), (2, 25), (3, 30), (4, 40), (5, 50), (REST, 60 + 70 + 80)];
        assert_eq!(parts(&length), meant);
        assert_eq!(length.ticks(), 365);
        length.cut(own, 330);
        assert_eq!(parts(&length)[1], (2, 0));
        assert_eq!(parts(&length)[5], (REST, 200));
        assert_eq!(length.parts().map(|part| part.ticks).sum::<u64>(), length.ticks());
    }

    #[test]
    fn the_longer_one_counts() {
        let (short, long) = (Length::default(), Length::default());
        short.add(short.part_of(1), 10);
        long.add(long.part_of(2), 20);
        assert!(!long.become_longer(&short, 0));
        assert_eq!(parts(&long), [(2, 20)]);
        assert!(short.become_longer(&long, 0));
        assert_eq!(parts(&short), [(2, 20)]);
    }

    #[test]
    fn the_burdened_path_may_be_another_one() {
        let (work, edges) = (Length::default(), Length::default());
        work.add(work.part_of(1), 100);
        for _ in 0..3 {
            edges.become_equal(&edges, 40);
            edges.add(edges.part_of(2), 10);
        }
        assert_eq!((edges.ticks(), edges.burdened()), (30, 150));
        assert!(!work.become_longer(&edges, 5));
        assert_eq!((work.ticks(), work.burdened()), (100, 155));
        assert!(edges.become_longer(&work, 5));
        assert_eq!((edges.ticks(), edges.burdened()), (100, 160));
    }
}
