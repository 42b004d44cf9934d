//! Merging two runs: from both ends at once, from one end, or split by rank into two merges. The essay of
//! [`super`] says why, and where each is from.

use crate::api::fork;
use crate::api::sort::elements::Elements;
use crate::api::sort::{AHEAD, LEAF, Run, Sorter};
use crate::runtime::record::Worker;
use crate::sys::unwind::Comparison;
use std::hint::select_unpredictable;

/// From so many elements on a merge may be done by two workers.
const FORK_MERGE: usize = 8192;

// The promise that all unsafe functions here ask for, and pass on, is the one that stands in `super`.
impl<E: Elements> Sorter<E> {
    /// Merges two runs; of equal elements those of the left one come first.
    ///
    /// # Safety
    /// As promised above.
    pub(super) unsafe fn merge(self, left: Run, right: Run, to: *mut u8, worker: &Worker) {
        let n = left.count + right.count;
        let last_of = |run: Run| self.at(run.start, run.count - 1);
        // SAFETY: by the promise above.
        unsafe {
            if left.count == 0 || right.count == 0 || !self.after(last_of(left), right.start) {
                self.copy_run(right, self.copy_run(left, to));
            } else if self.after(left.start, last_of(right)) {
                self.copy_run(left, self.copy_run(right, to));
            } else if n < FORK_MERGE {
                self.merge_here(left, right, to);
            } else {
                let (from_left, from_right) = self.rank(left, right, n / 2);
                let (left, upper_left) = self.split(left, from_left);
                let (right, upper_right) = self.split(right, from_right);
                fork::both::<Comparison, _>(
                    worker,
                    |on| self.merge(left, right, to, on),
                    |on| self.merge(upper_left, upper_right, self.at(to, n / 2), on),
                );
            }
        }
    }

    /// How many of the first `k` elements of the merge are from the left, and how many from the
    /// right.
    ///
    /// # Safety
    /// As promised above.
    unsafe fn rank(self, left: Run, right: Run, k: usize) -> (usize, usize) {
        let (mut low, mut high) = (k.saturating_sub(right.count), k.min(left.count));
        while low < high {
            let i = low + (high - low) / 2;
            let (one, other) = (self.at(left.start, i), self.at(right.start, k - i - 1));
            // SAFETY: by the promise above.
            if unsafe { self.after(one, other) } { high = i } else { low = i + 1 }
        }
        (low, k - low)
    }

    /// Merges without help.
    ///
    /// # Safety
    /// As promised above.
    unsafe fn merge_here(self, mut left: Run, mut right: Run, mut to: *mut u8) {
        loop {
            let steps = left.count.min(right.count);
            if steps < LEAF {
                break;
            }
            // SAFETY: by the promise above.
            let Some(rest) = (unsafe { self.merge_from_both_ends(left, right, to, steps) }) else {
                break;
            };
            (left, right) = rest;
            to = self.at(to, steps);
        }
        // SAFETY: by the promise above.
        unsafe { self.merge_from_one_end(left, right, to) };
    }

    /// Writes the first `steps` elements of the merge, and the last. Returns what is left of
    /// both; None if the comparison has contradicted itself. `steps`: at most the length of the
    /// shorter run.
    ///
    /// # Safety
    /// As promised above.
    #[inline(always)]
    unsafe fn merge_from_both_ends(
        self,
        left: Run,
        right: Run,
        to: *mut u8,
        steps: usize,
    ) -> Option<(Run, Run)> {
        let size = self.elements.size();
        let (mut first_left, mut first_right, mut first) = (left.start, right.start, to);
        let mut last_left = self.at(left.start, left.count - 1);
        let mut last_right = self.at(right.start, right.count - 1);
        let mut last = self.at(to, left.count + right.count - 1);
        let (end_left, end_right) = (last_left, last_right);
        let ahead = AHEAD * size;
        for _ in 0..steps {
            // SAFETY: by the promise above.
            unsafe {
                self.elements.announce(|| first_left.wrapping_add(ahead).min(end_left));
                self.elements.announce(|| first_right.wrapping_add(ahead).min(end_right));
                self.elements.announce(|| last_left.wrapping_sub(ahead).max(left.start));
                self.elements.announce(|| last_right.wrapping_sub(ahead).max(right.start));
                let of_right = self.after(first_left, first_right);
                self.copy(select_unpredictable(of_right, first_right, first_left), first);
                first_right = first_right.wrapping_add(size * usize::from(of_right));
                first_left = first_left.wrapping_add(size * usize::from(!of_right));
                first = first.wrapping_add(size);

                let of_left = self.after(last_left, last_right);
                self.copy(select_unpredictable(of_left, last_left, last_right), last);
                last_left = last_left.wrapping_sub(size * usize::from(of_left));
                last_right = last_right.wrapping_sub(size * usize::from(!of_left));
                last = last.wrapping_sub(size);
            }
        }
        let rest = |first: *mut u8, last: *mut u8| {
            let bytes = (last.addr() + size).checked_sub(first.addr())?;
            Some(Run { start: first, count: bytes / size })
        };
        Some((rest(first_left, last_left)?, rest(first_right, last_right)?))
    }

    /// Merges step by step, each element exactly once whatever the comparison says.
    ///
    /// # Safety
    /// As promised above.
    unsafe fn merge_from_one_end(self, left: Run, right: Run, mut to: *mut u8) {
        let (mut from_left, end_left) = (left.start, self.at(left.start, left.count));
        let (mut from_right, end_right) = (right.start, self.at(right.start, right.count));
        let size = self.elements.size();
        while from_left != end_left && from_right != end_right {
            // SAFETY: by the promise above.
            unsafe {
                let of_right = self.after(from_left, from_right);
                self.copy(select_unpredictable(of_right, from_right, from_left), to);
                from_right = from_right.wrapping_add(size * usize::from(of_right));
                from_left = from_left.wrapping_add(size * usize::from(!of_right));
            }
            to = to.wrapping_add(size);
        }
        let rest = |from: *mut u8, end: *mut u8| Run {
            start: from,
            count: (end.addr() - from.addr()) / size,
        };
        // SAFETY: by the promise above.
        unsafe {
            to = self.copy_run(rest(from_left, end_left), to);
            self.copy_run(rest(from_right, end_right), to);
        }
    }
}
