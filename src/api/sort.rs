//! A parallel, stable qsort(3): a merge sort with *room* for a copy of all elements. This is one
//! file because its functions are the steps of one recursion over the same two arrays.
//!
//! # Why a merge sort
//!
//! The comparison is a call through a pointer and takes some nanoseconds. A branch on its outcome
//! is mispredicted half of the time, which costs at least as much. A merge sort needs the fewest
//! comparisons, and none of these branches: the outcome chooses an address and advances pointers.
//! The halves are independent of each other, a merge can be split (see below), the time is O(n log
//! n) for any input, and equal elements keep their order. The price is the room.
//!
//! Rejected: to sort in place by partitions, as introsort does. The first pass over the whole array
//! is serial, or also needs room; and the sort is not stable.
//!
//! # How
//!
//! ```text
//! sort(n):   n < 8: a network sorts four elements, the others are inserted
//!            a part that fits into a cache, and has few distinct values: sort by partitions
//!            else: sort both halves, perhaps on two workers, and merge them
//! merge:     already in order, or in the opposite order: copy the runs
//!            large: split by rank into two merges, perhaps on two workers
//!            many equal elements: find the end of each group of them, and copy the group
//!            else: merge from both ends at once
//! ```
//! First, several workers check whether the elements are already in order, or in opposite order.
//!
//! The elements move back and forth between the array and the room, with one copy for each level.
//!
//! *From both ends*: one step writes the first and the last of the remaining elements. The two
//! halves of a step do not wait for each other's loads and comparisons. For as many steps as the
//! shorter run has elements, no test for the end of a run is needed, since a step takes at most one
//! element from each end of a run. (O. Peters' quadsort, 2021, and L. Bergdoll's and O. Peters'
//! driftsort, 2024, in Rust's library. The network for four elements is also theirs.)
//!
//! *Split by rank*: of the first k elements of the outcome, i are from the left run and k - i from
//! the right run; a binary search finds i. Two independent merges of k and n - k elements follow,
//! equally long for k = n / 2. (C. Siebert and J. Träff, "Perfectly load-balanced, optimal, stable,
//! parallel merge", 2013.)
//!
//! *Groups of equal elements*: if few values are distinct, runs consist of long groups of equal
//! elements. The end of a group is found by steps of doubling length and a binary search. (T.
//! Peters' timsort, 2002.) If a group proves to be short, the rest is merged from both ends.
//!
//! *Few distinct values*: [`ties`] sorts parts with few distinct values by partitions into three.
//!
//! # A comparison that contradicts itself
//!
//! Whatever the comparison returns, the sort touches nothing outside of the two arrays, and the
//! outcome is some permutation of the elements. Only the merge from both ends could duplicate an
//! element, if its two fronts pass each other. This is detected, and the merge is repeated from one
//! end, which cannot duplicate an element.

mod elements;
mod merge;
mod place;
mod ties;

use self::elements::{Any, Elements, Fixed};
use crate::api::fork;
use crate::api::scratch::Scratch;
use crate::runtime::record::Worker;
use crate::sys::atomic::{AtomicBool, Ordering};
use crate::sys::memory::NoMemory;
use crate::sys::unwind::Comparison;
use crate::sys::{detector, errno};
use std::ffi::{c_int, c_void};
use std::ptr;

/// `one` if the condition is true, otherwise `other`; a conditional move, not a branch.
#[inline(always)]
fn select(condition: bool, one: *mut u8, other: *mut u8) -> *mut u8 {
    #[cfg(sched_rust_1_88)]
    #[allow(clippy::incompatible_msrv, reason = "the condition says that it is there")]
    {
        std::hint::select_unpredictable(condition, one, other)
    }
    #[cfg(not(sched_rust_1_88))]
    if condition { one } else { other }
}

/// The place where a sort leaves its elements.
#[derive(Clone, Copy, PartialEq, Eq)]
enum To {
    /// In the room in which the elements were.
    Here,
    /// In the other room.
    There,
}

impl To {
    fn other(self) -> To {
        match self {
            To::Here => To::There,
            To::There => To::Here,
        }
    }
}

/// The comparison of qsort(3); not NULL.
pub type Compare = unsafe extern "C" fn(*const c_void, *const c_void) -> c_int;

/// Fewer elements than this are sorted without recursion.
const MIN_RECURSION: usize = 8;
/// The fewest elements whose two halves two workers may sort: some microseconds of work.
const MIN_FORKED_SORT: usize = 1024;
/// The fewest elements for which the worker first looks for tasks from outside the run.
const MIN_GIVING_WAY: usize = 64;
/// The size from which on elements are sorted by pointers to them: they are compared where they
/// are, and each is moved once.
const INDIRECT_SIZE: usize = 160;
/// The distance between the element that is prefetched and the element that is used.
const PREFETCH_DISTANCE: usize = 8;
/// The fewest elements from which a sample is taken, to find out whether few values are distinct.
/// The sample costs at most one comparison in a hundred.
const MIN_SAMPLED: usize = 2048;
/// The most bytes of a part that one worker may partition: the part and its room fit into a cache.
const MAX_PART_BYTES: usize = 512 << 10;
/// Parts are smaller than `MAX_PART_BYTES` if there would be fewer parts than workers, since one
/// worker alone makes the first partition of a part. They then have at least this many elements.
/// (100,000 ints with 16 values take 430 µs on two workers, and 530 as one part; 20,000 take 98 µs
/// as one part, and 105 as two.)
const MIN_PART: usize = 16 << 10;
/// The most elements whose order one worker checks at a time.
const MAX_CHECKED: usize = 16 << 10;
/// The most bytes that one worker copies at a time.
const MAX_COPY_BYTES: usize = 128 << 10;
/// The most bytes of room that are taken from the stack.
const STACK_BYTES: usize = 1024;

/// Sorts `n` elements of `size` bytes. Returns what `sched_sort` returns.
///
/// # Safety
/// The elements may be read and written. On any thread `cmp` accepts pointers to them and to
/// copies.
pub unsafe fn sort(
    base: *mut c_void,
    n: usize,
    size: usize,
    cmp: Compare,
    worker: &Worker,
) -> c_int {
    let base = base.cast::<u8>();
    let failed = AtomicBool::new(false);
    let work = |mine: &Worker| {
        // SAFETY: `cmp` accepts the elements; each sorter has the size of the elements.
        let outcome = unsafe {
            match size {
                4 => Sorter { elements: Fixed::<4>, cmp }.run(base, n, mine),
                8 => Sorter { elements: Fixed::<8>, cmp }.run(base, n, mine),
                12 => Sorter { elements: Fixed::<12>, cmp }.run(base, n, mine),
                16 => Sorter { elements: Fixed::<16>, cmp }.run(base, n, mine),
                24 => Sorter { elements: Fixed::<24>, cmp }.run(base, n, mine),
                32 => Sorter { elements: Fixed::<32>, cmp }.run(base, n, mine),
                ..INDIRECT_SIZE => Sorter { elements: Any(size), cmp }.run(base, n, mine),
                _ => Sorter { elements: Any(size), cmp }.run_by_pointers(base, n, mine),
            }
        };
        if outcome.is_err() {
            // Relaxed: `within` orders the flag.
            detector::ignored(|| failed.store(true, Ordering::Relaxed));
        }
    };
    // SAFETY: `within` waits for `work`, so its variables outlive it; any thread may run `work`.
    let outcome = unsafe { fork::within::<Comparison, _>(cmp as usize, worker, work) };
    if outcome == 0 && failed.load(Ordering::Relaxed) {
        return errno::failed(libc::ENOMEM);
    }
    outcome
}

/// Halves the range `from..to` down to parts of at most `max_part` elements, and calls `part` for
/// each of them, perhaps on several workers.
///
/// # Safety
/// `part` may be called on other threads; `worker` is, or was, the caller's worker in this run.
unsafe fn in_parts(
    from: usize,
    to: usize,
    max_part: usize,
    function: usize,
    worker: &Worker,
    part: &impl Fn(usize, usize),
) {
    if to - from <= max_part {
        return part(from, to);
    }
    let middle = from + (to - from) / 2;
    // SAFETY: `part` may be called on other threads; each closure gets a worker that it owns.
    unsafe {
        fork::both::<Comparison, _>(
            function,
            worker,
            |on| in_parts(from, middle, max_part, function, on, part),
            |on| in_parts(middle, to, max_part, function, on, part),
        );
    }
}

/// A sequence of elements that lie next to each other.
#[derive(Clone, Copy)]
struct Run {
    start: *mut u8,
    count: usize,
}

#[derive(Clone, Copy)]
struct Sorter<E> {
    elements: E,
    cmp: Compare,
}

// *The contract of places* holds for each unsafe function of a sorter, even if its comment does not
// name it: the elements that the arguments name lie in the array or in the room, nobody else uses
// their places during the call, and a copy never goes to its source.
impl<E: Elements> Sorter<E> {
    #[inline(always)]
    fn at(self, start: *mut u8, i: usize) -> *mut u8 {
        start.wrapping_add(i * self.elements.size())
    }

    /// True if `a` must stand after `b`. (Equal elements may keep their order.)
    #[inline(always)]
    unsafe fn after(self, a: *const u8, b: *const u8) -> bool {
        // SAFETY: by the contract of places.
        unsafe { (self.cmp)(self.elements.compared(a), self.elements.compared(b)) > 0 }
    }

    /// Copies one element.
    #[inline(always)]
    unsafe fn copy(self, from: *const u8, to: *mut u8) {
        // SAFETY: by the contract of places.
        unsafe { self.elements.copy(from, to) }
    }

    /// Copies all elements of a run. Returns the place after the copy.
    #[inline]
    unsafe fn copy_run(self, run: Run, to: *mut u8) -> *mut u8 {
        // SAFETY: by the contract of places.
        unsafe { ptr::copy_nonoverlapping(run.start, to, run.count * self.elements.size()) };
        self.at(to, run.count)
    }

    fn split(self, run: Run, count: usize) -> (Run, Run) {
        let rest = Run { start: self.at(run.start, count), count: run.count - count };
        (Run { count, ..run }, rest)
    }

    /// Sorts `n` elements at `base`.
    unsafe fn run(self, base: *mut u8, n: usize, worker: &Worker) -> Result<(), NoMemory> {
        // SAFETY: by the contract of places.
        if n < 2 || unsafe { self.is_in_order(base, n, worker) } {
            return Ok(());
        }
        let bytes = n.checked_mul(self.elements.size()).ok_or(NoMemory)?;
        let mut room = Scratch::<STACK_BYTES>::new(bytes)?;
        // SAFETY: by the contract of places.
        unsafe {
            if n < MIN_SAMPLED {
                self.sort(base, room.start(), n, To::Here, worker);
            } else {
                self.sort_in_parts(base, room.start(), n, worker);
            }
        }
        Ok(())
    }

    /// True if the elements are in order. If they are in strictly opposite order, reverses them.
    /// For other inputs the scan usually ends early.
    ///
    /// # Safety
    /// The contracts of places and of `in_parts`; `n` is at least 2.
    unsafe fn is_in_order(self, base: *mut u8, n: usize, worker: &Worker) -> bool {
        // SAFETY: by the contract of places.
        let is_descending = unsafe { self.after(base, self.at(base, 1)) };
        // SAFETY: by the contract of places.
        let goes_on = |from, to| unsafe { self.goes_on(base, from, to, is_descending) };
        if !goes_on(2, n.min(MAX_CHECKED)) {
            return false;
        }
        let breaks_off = AtomicBool::new(false); // Relaxed: `in_parts` orders the flag
        detector::own(&breaks_off);
        let is_over = || detector::ignored(|| breaks_off.load(Ordering::Relaxed));
        // SAFETY: the array is only read; `worker` was the caller's when it called this.
        unsafe {
            in_parts(n.min(MAX_CHECKED), n, MAX_CHECKED, self.cmp as usize, worker, &|from, to| {
                if !is_over() && !goes_on(from, to) {
                    detector::ignored(|| breaks_off.store(true, Ordering::Relaxed));
                }
            });
        }
        if is_over() {
            return false;
        }
        if is_descending {
            // SAFETY: by the contract of places; each pair is exchanged once.
            unsafe {
                in_parts(0, n / 2, MAX_CHECKED, self.cmp as usize, worker, &|from, to| {
                    for i in from..to {
                        let (one, other) = (self.at(base, i), self.at(base, n - 1 - i));
                        ptr::swap_nonoverlapping(one, other, self.elements.size());
                    }
                });
            }
        }
        true
    }

    /// True if the elements `from - 1..to` are in order; with `is_descending`, strictly descending.
    unsafe fn goes_on(self, base: *mut u8, from: usize, to: usize, is_descending: bool) -> bool {
        let mut before = self.at(base, from - 1);
        for _ in from..to {
            let element = before.wrapping_add(self.elements.size());
            // SAFETY: by the contract of places.
            if unsafe { self.after(before, element) } != is_descending {
                return false;
            }
            before = element;
        }
        true
    }

    /// Sorts the `n` elements at `here`. Sorts parts with few distinct values by partitions.
    unsafe fn sort_in_parts(self, here: *mut u8, there: *mut u8, n: usize, worker: &Worker) {
        let workers = worker.with_run(|run| run.workers()).unwrap_or(1);
        // One half may have a few elements more than the other.
        let most = (n / workers + MIN_RECURSION).max(2 * MIN_PART);
        let most = most.min(MAX_PART_BYTES / self.elements.size());
        // SAFETY: by the contract of places.
        unsafe { self.sort_parts(here, there, n, most, To::Here, worker) };
    }

    /// Like `sort`, but sorts parts of at most `most` elements with few distinct values by
    /// partitions.
    unsafe fn sort_parts(
        self,
        here: *mut u8,
        there: *mut u8,
        n: usize,
        most: usize,
        to: To,
        worker: &Worker,
    ) {
        // SAFETY: by the contract of places.
        unsafe {
            if n <= most {
                self.sort_part(here, there, n, to, worker);
            } else {
                self.sort_halves(here, there, n, to, worker, |s, here, there, n, to, on| {
                    s.sort_parts(here, there, n, most, to, on)
                });
            }
        }
    }

    /// Sorts the `n` elements at `here`, and leaves them at `to`. Overwrites both rooms.
    unsafe fn sort(self, here: *mut u8, there: *mut u8, n: usize, to: To, worker: &Worker) {
        if n < MIN_RECURSION {
            // SAFETY: by the contract of places.
            unsafe { self.sort_few(here, there, n) };
            if to == To::Here {
                // SAFETY: by the contract of places.
                unsafe { self.copy_run(Run { start: there, count: n }, here) };
            }
            return;
        }
        // SAFETY: by the contract of places.
        unsafe {
            self.sort_halves(here, there, n, to, worker, |s, here, there, n, to, on| {
                s.sort(here, there, n, to, on)
            })
        };
    }

    /// Sorts both halves by `sort`, and merges them.
    ///
    /// # Safety
    /// The contract of places, which is also that of `sort`; `n` is at least `MIN_RECURSION`.
    #[inline(always)]
    unsafe fn sort_halves(
        self,
        here: *mut u8,
        there: *mut u8,
        n: usize,
        to: To,
        worker: &Worker,
        sort: impl Copy + Fn(Self, *mut u8, *mut u8, usize, To, &Worker),
    ) {
        let gives_way = n >= MIN_GIVING_WAY && worker.has_outside();
        let worker = if gives_way { worker.give_way() } else { worker };
        let half = (n / 2) & !3; // leaves of four are the cheapest
        let lower = |on: &Worker| sort(self, here, there, half, to.other(), on);
        let upper = |on: &Worker| {
            let (here, there) = (self.at(here, half), self.at(there, half));
            sort(self, here, there, n - half, to.other(), on);
        };
        if n < MIN_FORKED_SORT {
            lower(worker);
            upper(worker);
        } else {
            // SAFETY: by the contract of places.
            unsafe { fork::both::<Comparison, _>(self.cmp as usize, worker, lower, upper) };
        }
        let (from, to) = match to {
            To::Here => (there, here),
            To::There => (here, there),
        };
        let (left, right) = self.split(Run { start: from, count: n }, half);
        // SAFETY: by the contract of places.
        unsafe { self.merge(left, right, to, worker) };
    }

    /// Sorts fewer than `MIN_RECURSION` elements from `from` to `to`.
    #[inline]
    unsafe fn sort_few(self, from: *mut u8, to: *mut u8, n: usize) {
        let sorted = if n >= 4 {
            // SAFETY: by the contract of places.
            unsafe { self.sort_four(from, to) };
            4
        } else {
            // SAFETY: by the contract of places.
            unsafe { self.copy_run(Run { start: from, count: n.min(1) }, to) };
            1
        };
        for i in sorted..n {
            let element = self.at(from, i);
            let mut hole = self.at(to, i);
            while hole > to {
                let before = hole.wrapping_sub(self.elements.size());
                // SAFETY: by the contract of places.
                if !unsafe { self.after(before, element) } {
                    break;
                }
                // SAFETY: by the contract of places.
                unsafe { self.copy(before, hole) };
                hole = before;
            }
            // SAFETY: by the contract of places.
            unsafe { self.copy(element, hole) };
        }
    }

    /// Sorts four elements by a stable network of five comparisons.
    #[inline(always)]
    unsafe fn sort_four(self, from: *mut u8, to: *mut u8) {
        // SAFETY: by the contract of places.
        unsafe {
            let [v0, v1, v2, v3] = [0, 1, 2, 3].map(|i| self.at(from, i));
            let (swap, swap_too) = (self.after(v0, v1), self.after(v2, v3));
            let (a, b) = (select(swap, v1, v0), select(swap, v0, v1)); // a, b in order
            let (c, d) = (select(swap_too, v3, v2), select(swap_too, v2, v3)); // c, d in order
            let (c_first, b_last) = (self.after(a, c), self.after(b, d));
            let (first, last) = (select(c_first, c, a), select(b_last, b, d));
            // The two middle elements, in their original order.
            let one = select(c_first, a, select(b_last, c, b));
            let other = select(b_last, d, select(c_first, b, c));
            let swap = self.after(one, other);
            self.copy(first, to);
            self.copy(select(swap, other, one), self.at(to, 1));
            self.copy(select(swap, one, other), self.at(to, 2));
            self.copy(last, self.at(to, 3));
        }
    }
}
