//! Few distinct values: a part of the array is sorted by partitions into three, as long as samples
//! have many equal elements.
//!
//! # Why
//!
//! A merge sort profits from equal elements only when its runs have groups of them. A partition
//! divides the elements into those before, equal to and behind a pivot, and the elements that equal
//! the pivot are then in place. So partitions need log2(d) comparisons for each element if d values
//! are distinct. For 16 values a merge sort makes 10.6 comparisons for each element, and partitions
//! make 3.5; ten million ints take 120 ms instead of 340. For distinct elements partitions do not
//! pay: they compare and move each element more often than a merge sort.
//!
//! # How
//!
//! ```text
//! here    [ before the pivot | read already | to be read          ]
//! there   [ behind the pivot ->             <- equal to the pivot ]
//! ```
//! Each element is read once, and is moved once, to one of the three places. So no element is lost
//! whatever the comparison returns. Both rooms have enough space: the elements before the pivot are
//! at most those that have been read, and all others together are at most `n`. No branch depends on
//! the outcome. Then the equal elements, which are in the opposite order, are copied to `here` in
//! reverse, and those behind the pivot after them. All keep their order, so the sort is stable.
//!
//! The part is small enough for a cache. Sorted parts are merged group by group.
//!
//! # Why it ends soon
//!
//! Each partition needs a sample with many equal elements, and the nesting of partitions is limited
//! ([`MAX_DEPTH`]); otherwise the merge sort continues. So a misleading sample costs one comparison
//! for each element and level.

use crate::api::fork;
use crate::api::sort::elements::Elements;
use crate::api::sort::{
    INDIRECT_SIZE, MIN_GIVING_WAY, MIN_SAMPLED, PREFETCH_DISTANCE, Run, Sorter, To, select,
};
use crate::runtime::record::Worker;
use crate::sys::unwind::Comparison;
use std::mem::MaybeUninit;

/// The number of elements of a sample.
const SAMPLE: usize = 32;
/// The most distinct values of a sample for which partitions seem to pay.
const MAX_DISTINCT: usize = 28;
/// `MIN_SAMPLED` for elements that come from a partition, and so probably have few distinct values.
/// (10,000 ints with 16 values take 60 µs; with `MIN_SAMPLED` for all samples they took 180.)
const MIN_SAMPLED_AGAIN: usize = 256;
/// The deepest nesting of partitions.
const MAX_DEPTH: usize = 12;

/// A copy of one element, with the alignment of the room.
#[repr(align(64))]
struct Pivot(MaybeUninit<[u8; INDIRECT_SIZE]>);

// The contract of places (`api::sort`) holds for each unsafe function here.
impl<E: Elements> Sorter<E> {
    /// Sorts the `n` elements at `here`, and leaves them at `to`: by partitions if they seem to
    /// have few distinct values, otherwise by merges.
    pub(super) unsafe fn sort_part(
        self,
        here: *mut u8,
        there: *mut u8,
        n: usize,
        to: To,
        worker: &Worker,
    ) {
        // SAFETY: by the contract of places.
        unsafe {
            if !self.sort_ties(here, there, n, MAX_DEPTH, worker) {
                self.sort(here, there, n, to, worker);
            } else if to == To::There {
                self.copy_run(Run { start: here, count: n }, there);
            }
        }
    }

    /// If a sample has few distinct values, sorts the `n` elements at `here` and returns true.
    /// Otherwise returns false, and the elements keep their order.
    unsafe fn sort_ties(
        self,
        here: *mut u8,
        there: *mut u8,
        n: usize,
        depth: usize,
        worker: &Worker,
    ) -> bool {
        let least = if depth == MAX_DEPTH { MIN_SAMPLED } else { MIN_SAMPLED_AGAIN };
        if n < least || depth == 0 {
            return false;
        }
        // SAFETY: by the contract of places.
        let Some((before, equal)) = (unsafe { self.partition_by_sample(here, there, n, worker) })
        else {
            return false;
        };
        let rest = |from: usize, to: usize, on: &Worker| {
            let (here, there) = (self.at(here, from), self.at(there, from));
            // SAFETY: by the contract of places.
            unsafe {
                if !self.sort_ties(here, there, to - from, depth - 1, on) {
                    self.sort(here, there, to - from, To::Here, on);
                }
            }
        };
        let behind = before + equal;
        if before < MIN_SAMPLED || n - behind < MIN_SAMPLED {
            rest(0, before, worker);
            rest(behind, n, worker);
        } else {
            // SAFETY: by the contract of places; each closure gets a worker that it owns.
            unsafe {
                fork::both::<Comparison, _>(
                    self.cmp as usize,
                    worker,
                    |on| rest(0, before, on),
                    |on| rest(behind, n, on),
                );
            }
        }
        true
    }

    /// Takes a sample, and if it has few distinct values, partitions the elements by one of them.
    /// Returns the numbers of elements before the pivot and equal to it.
    ///
    /// # Safety
    /// The contract of places; `n` is at least twice `SAMPLE`.
    #[inline(never)] // its copy of an element leaves the stack before the parts are sorted
    unsafe fn partition_by_sample(
        self,
        here: *mut u8,
        there: *mut u8,
        n: usize,
        worker: &Worker,
    ) -> Option<(usize, usize)> {
        let mut pivot = Pivot(MaybeUninit::uninit());
        let pivot = pivot.0.as_mut_ptr().cast::<u8>();
        // SAFETY: by the contract of places; an element has less than INDIRECT_SIZE bytes.
        unsafe {
            let chosen = self.sample(here, there, n, worker)?;
            self.copy(chosen, pivot);
            Some(self.partition(here, there, n, pivot, worker))
        }
    }

    /// Sorts a sample at `there`, and chooses the pivot: the middle element if another one equals
    /// it, otherwise one of the largest group. None means that the sample has many values, or it
    /// has several and was in order: merges take elements in order as they are.
    ///
    /// # Safety
    /// The contract of places; `n` is at least twice `SAMPLE`.
    unsafe fn sample(
        self,
        here: *mut u8,
        there: *mut u8,
        n: usize,
        worker: &Worker,
    ) -> Option<*mut u8> {
        let stride = (n / SAMPLE - 1) | 1; // odd, so that it differs from most periods
        // SAFETY: by the contract of places; fewer than MIN_FORKED_SORT elements are sorted here.
        let was_in_order = unsafe {
            for i in 0..SAMPLE {
                self.copy(self.at(here, i * stride), self.at(there, i));
            }
            let was_in_order = self.goes_on(there, 1, SAMPLE, false);
            self.sort(there, self.at(there, SAMPLE), SAMPLE, To::Here, worker);
            was_in_order
        };
        let (mut groups, mut start, mut largest, mut chosen) = (0, 0, 0, 0);
        for end in 1..=SAMPLE {
            let [one, other] = [end - 1, end.min(SAMPLE - 1)].map(|i| self.at(there, i));
            // SAFETY: by the contract of places.
            if end < SAMPLE && !unsafe { self.after(other, one) } {
                continue;
            }
            let has_middle = start <= SAMPLE / 2 && SAMPLE / 2 < end;
            let weight = if has_middle && end - start > 1 { SAMPLE } else { end - start };
            if weight > largest {
                (largest, chosen) = (weight, start);
            }
            groups += 1;
            start = end;
        }
        let pays = groups <= MAX_DISTINCT && !(was_in_order && groups > 1);
        pays.then(|| self.at(there, chosen))
    }

    /// Partitions the elements, stably: those before the pivot, those equal to it, those behind it.
    /// Returns the numbers of the first two.
    ///
    /// # Safety
    /// The contract of places; the pivot is in neither room.
    unsafe fn partition(
        self,
        here: *mut u8,
        there: *mut u8,
        n: usize,
        pivot: *const u8,
        mut worker: &Worker,
    ) -> (usize, usize) {
        let size = self.elements.size();
        let (mut before, mut behind, mut equal) = (here, there, self.at(there, n));
        let (mut from, last) = (here, self.at(here, n - 1));
        for i in 0..n {
            if i % MIN_GIVING_WAY == 0 && worker.has_outside() {
                worker = worker.give_way();
            }
            // SAFETY: by the contract of places.
            unsafe {
                self.elements.announce(|| from.wrapping_add(PREFETCH_DISTANCE * size).min(last));
                let order = (self.cmp)(self.elements.compared(from), self.elements.compared(pivot));
                let (is_before, is_behind) = (order < 0, order > 0);
                let next_equal = equal.wrapping_sub(size);
                let to = select(is_behind, behind, next_equal);
                let to = select(is_before, before, to);
                if to != from {
                    self.copy(from, to);
                }
                before = before.wrapping_add(size * usize::from(is_before));
                behind = behind.wrapping_add(size * usize::from(is_behind));
                equal = select(is_before | is_behind, equal, next_equal);
                from = from.wrapping_add(size);
            }
        }
        let count = |from: *mut u8, to: *mut u8| (to.addr() - from.addr()) / size;
        let (before, equal) = (count(here, before), count(equal, self.at(there, n)));
        // SAFETY: by the contract of places.
        unsafe {
            for i in 0..equal {
                self.copy(self.at(there, n - 1 - i), self.at(here, before + i));
            }
            let behind = Run { start: there, count: n - before - equal };
            self.copy_run(behind, self.at(here, before + equal));
        }
        (before, equal)
    }
}
