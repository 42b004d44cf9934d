//! A parallel, stable qsort(3): merge sort with room for as many elements again.
//!
//! # Why a merge sort
//!
//! The comparison is a call through a pointer, some nanoseconds; a branch on its outcome is
//! guessed wrongly half of the time, and costs as much again or more. Merging needs the fewest
//! comparisons, and can do without the branches: the outcome chooses an address, and steps
//! pointers. Halves are independent of each other, merging splits as well (below), the time is
//! O(n log n) for any input, and equal elements keep their order. The price is the room.
//!
//! Rejected: to sort in place by partitions, as introsort does. The first pass over the whole
//! array is serial, or needs room, too; and it is not stable.
//!
//! # How
//!
//! ```text
//! sort(n):   n < 8: four by a network, the others inserted
//!            else both halves, perhaps on two workers, and merge
//! merge:     in order already, or the other way round: copied
//!            large: split by rank into two merges, perhaps on two workers
//!            else from both ends at once
//! ```
//! Elements go back and forth between the array and the room, one copy a level.
//!
//! *From both ends*: one step writes the first of what is left, and the last; the two do not
//! wait for each other's loads and comparisons. So many steps as the shorter run has elements
//! need no test for a run's end: a front takes at most one element from it at each. (O. Peters'
//! quadsort, 2021, and L. Bergdoll's and O. Peters' driftsort, 2024, in Rust's library; the
//! network for four is theirs, too.)
//!
//! *Split by rank*: of the first k elements of the outcome i are from the left run and k - i
//! from the right one; a binary search finds i. Two merges of k and n - k elements follow,
//! equally long. (C. Siebert and J. Träff, "Perfectly load-balanced, optimal, stable, parallel
//! merge", 2013.)
//!
//! # A comparison that contradicts itself
//!
//! No place outside of the two arrays is touched, and the outcome has the same elements: it is
//! always some permutation. The one step that could duplicate an element is from both ends,
//! where the fronts might pass each other; that is noticed, and the merge done again from one
//! end, which cannot.

mod elements;
mod merge;

use self::elements::{Any, Elements, Fixed, Pointers};
use crate::api::fork;
use crate::api::scratch::Scratch;
use crate::runtime::record::Worker;
use crate::sys::atomic::{AtomicBool, Ordering};
use crate::sys::memory::NoMemory;
use crate::sys::unwind::Comparison;
use crate::sys::{errno, memory};
use std::ffi::{c_int, c_void};
use std::hint::select_unpredictable;
use std::ptr;

/// The comparison of qsort(3), not NULL.
pub type Compare = unsafe extern "C" fn(*const c_void, *const c_void) -> c_int;

/// Fewer elements are sorted without recursion.
const LEAF: usize = 8;
/// From so many elements on the two halves may be sorted by two workers: some microseconds of work.
const FORK_SORT: usize = 1024;
/// Elements of so many bytes and more are compared where they are, and moved twice in all.
const FAR: usize = 160;
/// So many of them before they are, they are fetched into the cache.
const AHEAD: usize = 8;
/// So many bytes are copied by one worker.
const FORK_COPY: usize = 128 << 10;
/// So many bytes of room are on the stack.
const ON_STACK: usize = 1024;

/// Sorts `n` elements of `size` bytes; returns as `sched_sort`.
///
/// # Safety
/// They may be read and written; `cmp` accepts pointers to them and to copies, on any thread.
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
        // SAFETY: passed on; sizes as said.
        let outcome = unsafe {
            match size {
                4 => Sorter { elements: Fixed::<4>, cmp }.run(base, n, mine),
                8 => Sorter { elements: Fixed::<8>, cmp }.run(base, n, mine),
                12 => Sorter { elements: Fixed::<12>, cmp }.run(base, n, mine),
                16 => Sorter { elements: Fixed::<16>, cmp }.run(base, n, mine),
                24 => Sorter { elements: Fixed::<24>, cmp }.run(base, n, mine),
                32 => Sorter { elements: Fixed::<32>, cmp }.run(base, n, mine),
                ..FAR => Sorter { elements: Any(size), cmp }.run(base, n, mine),
                _ => run_far(Sorter { elements: Any(size), cmp }, base, n, mine),
            }
        };
        if outcome.is_err() {
            failed.store(true, Ordering::Relaxed); // seen after the wait
        }
    };
    // SAFETY: it waits.
    let outcome = unsafe { fork::within::<Comparison, _>(worker, work) };
    if outcome == 0 && failed.load(Ordering::Relaxed) {
        return errno::failed(libc::ENOMEM);
    }
    outcome
}

/// Sorts pointers to the elements, then puts these into the room in their order, and back.
///
/// # Safety
/// As for `Sorter::run`.
unsafe fn run_far(
    sorter: Sorter<Any>,
    base: *mut u8,
    n: usize,
    worker: &Worker,
) -> Result<(), NoMemory> {
    // SAFETY: passed on.
    if n < 2 || unsafe { sorter.is_in_order(base, n) } {
        return Ok(());
    }
    let size = sorter.elements.size();
    let mut room = Scratch::<ON_STACK>::new(n.checked_mul(size).ok_or(NoMemory)?)?;
    let mut pointers = Scratch::<ON_STACK>::new(2 * n * Pointers.size())?; // less than the room
    let (room, pointers) = (room.start(), pointers.start().cast::<*const u8>());
    // SAFETY: there is room for twice n pointers.
    let spare = unsafe {
        (0..n).for_each(|i| pointers.add(i).write(sorter.at(base, i)));
        pointers.add(n)
    };
    let by_pointer = Sorter { elements: Pointers, cmp: sorter.cmp };
    let at_once = FORK_COPY.div_ceil(size);
    // SAFETY: the array is only read until all elements are in the room; each worker has places
    // of its own.
    unsafe {
        by_pointer.sort(pointers.cast(), spare.cast(), n, false, worker);
        in_parts(0, n, at_once, worker, &|from, to| {
            for i in from..to {
                memory::prefetch(*pointers.add((i + AHEAD).min(n - 1)));
                sorter.copy(*pointers.add(i), sorter.at(room, i));
            }
        });
        in_parts(0, n, at_once, worker, &|from, to| {
            let run = Run { start: sorter.at(room, from), count: to - from };
            sorter.copy_run(run, sorter.at(base, from));
        });
    }
    Ok(())
}

/// Calls `part` for halves of halves of the range, of at most `most`.
///
/// # Safety
/// `part` may be called on other threads; the caller owns `worker`.
unsafe fn in_parts(
    from: usize,
    to: usize,
    most: usize,
    worker: &Worker,
    part: &impl Fn(usize, usize),
) {
    if to - from <= most {
        return part(from, to);
    }
    let middle = from + (to - from) / 2;
    // SAFETY: passed on.
    unsafe {
        fork::both::<Comparison, _>(
            worker,
            |on| in_parts(from, middle, most, on, part),
            |on| in_parts(middle, to, most, on, part),
        );
    }
}

/// Elements that follow each other.
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

// The promise that all unsafe functions here ask for, and pass on: the elements named lie in the
// array or in the room, nobody else uses these places meanwhile, and what is copied goes to
// another place.
impl<E: Elements> Sorter<E> {
    #[inline(always)]
    fn at(self, start: *mut u8, i: usize) -> *mut u8 {
        start.wrapping_add(i * self.elements.size())
    }

    /// Is `a` to stand after `b`, in whatever order they stood?
    ///
    /// # Safety
    /// As promised above.
    #[inline(always)]
    unsafe fn after(self, a: *const u8, b: *const u8) -> bool {
        // SAFETY: by the promise above.
        unsafe { (self.cmp)(self.elements.compared(a), self.elements.compared(b)) > 0 }
    }

    /// Copies one element.
    ///
    /// # Safety
    /// As promised above.
    #[inline(always)]
    unsafe fn copy(self, from: *const u8, to: *mut u8) {
        // SAFETY: by the promise above.
        unsafe { self.elements.copy(from, to) }
    }

    /// Copies all of a run; returns the place after the copy.
    ///
    /// # Safety
    /// As promised above.
    #[inline]
    unsafe fn copy_run(self, run: Run, to: *mut u8) -> *mut u8 {
        // SAFETY: by the promise above.
        unsafe { ptr::copy_nonoverlapping(run.start, to, run.count * self.elements.size()) };
        self.at(to, run.count)
    }

    fn split(self, run: Run, count: usize) -> (Run, Run) {
        let rest = Run { start: self.at(run.start, count), count: run.count - count };
        (Run { count, ..run }, rest)
    }

    /// Sorts `n` elements at `base`.
    ///
    /// # Safety
    /// As promised above.
    unsafe fn run(self, base: *mut u8, n: usize, worker: &Worker) -> Result<(), NoMemory> {
        // SAFETY: by the promise above.
        if n < 2 || unsafe { self.is_in_order(base, n) } {
            return Ok(());
        }
        let bytes = n.checked_mul(self.elements.size()).ok_or(NoMemory)?;
        let mut room = Scratch::<ON_STACK>::new(bytes)?;
        // SAFETY: by the promise above.
        unsafe { self.sort(base, room.start(), n, false, worker) };
        Ok(())
    }

    /// True if the elements are in order, or are now, since they were strictly in the opposite one.
    /// Others are found out soon, as a rule.
    ///
    /// # Safety
    /// As promised above.
    unsafe fn is_in_order(self, base: *mut u8, n: usize) -> bool {
        // SAFETY: by the promise above.
        let descends = unsafe { self.after(base, self.at(base, 1)) };
        for i in 2..n {
            let (before, it) = (self.at(base, i - 1), self.at(base, i));
            // SAFETY: by the promise above.
            if unsafe { self.after(before, it) } != descends {
                return false;
            }
        }
        if descends {
            for i in 0..n / 2 {
                let (one, other) = (self.at(base, i), self.at(base, n - 1 - i));
                // SAFETY: by the promise above.
                unsafe { ptr::swap_nonoverlapping(one, other, self.elements.size()) };
            }
        }
        true
    }

    /// Sorts `n` elements at `here`: to `there` if `away`, else in place. Both are used.
    ///
    /// # Safety
    /// As promised above.
    unsafe fn sort(self, here: *mut u8, there: *mut u8, n: usize, away: bool, worker: &Worker) {
        if n < LEAF {
            // SAFETY: by the promise above.
            unsafe { self.sort_few(here, there, n) };
            if !away {
                // SAFETY: by the promise above.
                unsafe { self.copy_run(Run { start: there, count: n }, here) };
            }
            return;
        }
        let half = (n / 2) & !3; // leaves of four are the cheapest
        // SAFETY: by the promise above.
        let lower = |on: &Worker| unsafe { self.sort(here, there, half, !away, on) };
        let upper = |on: &Worker| {
            let (here, there) = (self.at(here, half), self.at(there, half));
            // SAFETY: by the promise above.
            unsafe { self.sort(here, there, n - half, !away, on) }
        };
        if n < FORK_SORT {
            lower(worker);
            upper(worker);
        } else {
            // SAFETY: by the promise above.
            unsafe { fork::both::<Comparison, _>(worker, lower, upper) };
        }
        let (from, to) = if away { (here, there) } else { (there, here) };
        let (left, right) = self.split(Run { start: from, count: n }, half);
        // SAFETY: by the promise above.
        unsafe { self.merge(left, right, to, worker) };
    }

    /// Sorts less than `LEAF` elements from `from` to `to`.
    ///
    /// # Safety
    /// As promised above.
    #[inline]
    unsafe fn sort_few(self, from: *mut u8, to: *mut u8, n: usize) {
        let sorted = if n >= 4 {
            // SAFETY: by the promise above.
            unsafe { self.sort_four(from, to) };
            4
        } else {
            // SAFETY: by the promise above.
            unsafe { self.copy_run(Run { start: from, count: n.min(1) }, to) };
            1
        };
        for i in sorted..n {
            let it = self.at(from, i);
            let mut hole = self.at(to, i);
            while hole > to {
                let before = hole.wrapping_sub(self.elements.size());
                // SAFETY: by the promise above.
                if !unsafe { self.after(before, it) } {
                    break;
                }
                // SAFETY: by the promise above.
                unsafe { self.copy(before, hole) };
                hole = before;
            }
            // SAFETY: by the promise above.
            unsafe { self.copy(it, hole) };
        }
    }

    /// A stable network of five comparisons.
    ///
    /// # Safety
    /// As promised above.
    #[inline(always)]
    unsafe fn sort_four(self, from: *mut u8, to: *mut u8) {
        let pick = |condition, one, other| select_unpredictable::<*mut u8>(condition, one, other);
        // SAFETY: by the promise above.
        unsafe {
            let [v0, v1, v2, v3] = [0, 1, 2, 3].map(|i| self.at(from, i));
            let (swap, swap_too) = (self.after(v0, v1), self.after(v2, v3));
            let (a, b) = (pick(swap, v1, v0), pick(swap, v0, v1)); // a, b in order
            let (c, d) = (pick(swap_too, v3, v2), pick(swap_too, v2, v3)); // c, d too
            let (c_first, b_last) = (self.after(a, c), self.after(b, d));
            let (first, last) = (pick(c_first, c, a), pick(b_last, b, d));
            // The two others, as they stood.
            let one = pick(c_first, a, pick(b_last, c, b));
            let other = pick(b_last, d, pick(c_first, b, c));
            let swap = self.after(one, other);
            self.copy(first, to);
            self.copy(pick(swap, other, one), self.at(to, 1));
            self.copy(pick(swap, one, other), self.at(to, 2));
            self.copy(last, self.at(to, 3));
        }
    }
}
