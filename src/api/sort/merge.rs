//! Merging two runs: from both ends at once, from one end, or split by rank into two merges. The
//! essay of `api::sort` gives the reasons and the sources.

use crate::api::fork;
use crate::api::sort::elements::Elements;
use crate::api::sort::{MIN_RECURSION, PREFETCH_DISTANCE, Run, Sorter, select};
use crate::runtime::record::Worker;
use crate::sys::unwind::Comparison;

/// The fewest elements that two workers may merge together.
const MIN_FORKED_MERGE: usize = 8192;
/// The most steps of a merge from both ends before the worker looks for tasks from outside the run.
const MOST_STEPS: usize = 64;
/// The fewest elements of a run that is searched for groups of equal elements.
const MIN_GROUPED: usize = 128;
/// The fewest equal elements that make a group.
const MIN_GROUP: usize = 8;

// The contract of places (`api::sort`) holds for each unsafe function here.
impl<E: Elements> Sorter<E> {
    /// Merges two runs. Of equal elements, those of the left run come first.
    pub(super) unsafe fn merge(self, left: Run, right: Run, to: *mut u8, worker: &Worker) {
        let n = left.count + right.count;
        let last_of = |run: Run| self.at(run.start, run.count - 1);
        // SAFETY: by the contract of places.
        unsafe {
            if left.count == 0 || right.count == 0 || !self.after(last_of(left), right.start) {
                self.copy_run(right, self.copy_run(left, to));
            } else if self.after(left.start, last_of(right)) {
                self.copy_run(left, self.copy_run(right, to));
            } else if n >= MIN_FORKED_MERGE {
                let (from_left, from_right) = self.rank(left, right, n / 2);
                let (left, upper_left) = self.split(left, from_left);
                let (right, upper_right) = self.split(right, from_right);
                fork::both::<Comparison, _>(
                    self.cmp as usize,
                    worker,
                    |on| self.merge(left, right, to, on),
                    |on| self.merge(upper_left, upper_right, self.at(to, n / 2), on),
                );
            } else if self.has_groups(left) && self.has_groups(right) {
                self.merge_groups(left, right, to, worker);
            } else {
                self.merge_alone(left, right, to, worker);
            }
        }
    }

    /// How many of the first `k` elements of the merge are from the left, and from the right run.
    unsafe fn rank(self, left: Run, right: Run, k: usize) -> (usize, usize) {
        let (mut low, mut high) = (k.saturating_sub(right.count), k.min(left.count));
        while low < high {
            let i = low + (high - low) / 2;
            let (one, other) = (self.at(left.start, i), self.at(right.start, k - i - 1));
            // SAFETY: by the contract of places.
            if unsafe { self.after(one, other) } { high = i } else { low = i + 1 }
        }
        (low, k - low)
    }

    /// Merges on the calling thread alone.
    #[inline(never)]
    unsafe fn merge_alone(
        self,
        mut left: Run,
        mut right: Run,
        mut to: *mut u8,
        mut worker: &Worker,
    ) {
        loop {
            let steps = left.count.min(right.count).min(MOST_STEPS);
            if steps < MIN_RECURSION {
                break;
            }
            // SAFETY: by the contract of places.
            let Some(rest) = (unsafe { self.merge_from_both_ends(left, right, to, steps) }) else {
                break;
            };
            (left, right) = rest;
            to = self.at(to, steps);
            if worker.has_outside() {
                worker = worker.give_way();
            }
        }
        // SAFETY: by the contract of places.
        unsafe { self.merge_from_one_end(left, right, to) };
    }

    /// True if the run seems to consist of groups of equal elements, by one comparison.
    unsafe fn has_groups(self, run: Run) -> bool {
        let at = |i| self.at(run.start, i);
        let middle = run.count / 2;
        // SAFETY: by the contract of places.
        run.count >= MIN_GROUPED && !unsafe { self.after(at(middle + MIN_GROUP), at(middle)) }
    }

    /// Merges on the calling thread group by group, and after a short group from both ends.
    #[cold]
    #[inline(never)] // few sorts need it
    unsafe fn merge_groups(self, mut left: Run, mut right: Run, mut to: *mut u8, worker: &Worker) {
        let (mut group, mut other_group);
        while left.count > 0 && right.count > 0 {
            // SAFETY: by the contract of places.
            unsafe {
                let before = |element: *mut u8| !self.after(element, right.start);
                (group, left) = self.split(left, self.length_of_front(left, before));
                to = self.copy_run(group, to);
                if left.count == 0 {
                    break;
                }
                let before = |element: *mut u8| self.after(left.start, element);
                (other_group, right) = self.split(right, self.length_of_front(right, before));
                to = self.copy_run(other_group, to);
            }
            if group.count + other_group.count < 2 * MIN_GROUP {
                break;
            }
        }
        // SAFETY: by the contract of places.
        unsafe { self.merge_alone(left, right, to, worker) };
    }

    /// The number of elements at the front of the run for which `is_front` is true. It is true up
    /// to some element, and false behind that.
    fn length_of_front(self, run: Run, is_front: impl Fn(*mut u8) -> bool) -> usize {
        let is_front = |i| is_front(self.at(run.start, i));
        let (mut low, mut step) = (0, 1); // the elements below `low` are at the front
        while low + step <= run.count && is_front(low + step - 1) {
            low += step;
            step *= 2;
        }
        let mut high = run.count.min(low + step - 1); // none from `high` on is at the front
        while low < high {
            let middle = low + (high - low) / 2;
            if is_front(middle) { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// Writes the first `steps` elements of the merge, and the last `steps`. Returns the rests of
    /// both runs. None means that the comparison has contradicted itself. No run is shorter than
    /// `steps`.
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
        let ahead = PREFETCH_DISTANCE * size;
        for _ in 0..steps {
            // SAFETY: by the contract of places.
            unsafe {
                self.elements.announce(|| first_left.wrapping_add(ahead).min(end_left));
                self.elements.announce(|| first_right.wrapping_add(ahead).min(end_right));
                self.elements.announce(|| last_left.wrapping_sub(ahead).max(left.start));
                self.elements.announce(|| last_right.wrapping_sub(ahead).max(right.start));
                let of_right = self.after(first_left, first_right);
                self.copy(select(of_right, first_right, first_left), first);
                first_right = first_right.wrapping_add(size * usize::from(of_right));
                first_left = first_left.wrapping_add(size * usize::from(!of_right));
                first = first.wrapping_add(size);

                let of_left = self.after(last_left, last_right);
                self.copy(select(of_left, last_left, last_right), last);
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

    /// Merges step by step. Each element is copied exactly once, whatever the comparison returns.
    unsafe fn merge_from_one_end(self, left: Run, right: Run, mut to: *mut u8) {
        let (mut from_left, end_left) = (left.start, self.at(left.start, left.count));
        let (mut from_right, end_right) = (right.start, self.at(right.start, right.count));
        let size = self.elements.size();
        while from_left != end_left && from_right != end_right {
            // SAFETY: by the contract of places.
            unsafe {
                let of_right = self.after(from_left, from_right);
                self.copy(select(of_right, from_right, from_left), to);
                from_right = from_right.wrapping_add(size * usize::from(of_right));
                from_left = from_left.wrapping_add(size * usize::from(!of_right));
            }
            to = to.wrapping_add(size);
        }
        let rest = |from: *mut u8, end: *mut u8| Run {
            start: from,
            count: (end.addr() - from.addr()) / size,
        };
        // SAFETY: by the contract of places.
        unsafe {
            to = self.copy_run(rest(from_left, end_left), to);
            self.copy_run(rest(from_right, end_right), to);
        }
    }
}
