//! Sorting large elements by pointers to them, and then moving each element to its place. The array
//! is permuted in place: a copy of all elements would write fresh pages and read them again.
//!
//! # How
//!
//! The permutation consists of cycles: a place gets its element from a second place, that place
//! from a third, and so on. In each block of [`BLOCK`] places one element is saved, which makes its
//! place a hole. From each hole a worker follows the cycle, and fills hole after hole, up to a
//! place whose element is saved: the last hole gets the saved element. These paths have no place in
//! common, since each begins where another ends, so several workers follow paths at the same time.
//! One worker alone moves the cycles without a saved element; they are short if the saved places
//! are independent of the permutation.
//!
//! A place that has got its element has the pointer NULL.
//!
//! # A comparison that contradicts itself
//!
//! The sort moves only the pointers and loses none, so they are a permutation in any case.

use crate::api::scratch::Scratch;
use crate::api::sort::elements::{Any, Elements, Pointers};
use crate::api::sort::{MAX_COPY_BYTES, STACK_BYTES, Sorter, in_parts};
use crate::runtime::record::Worker;
use crate::sys::memory;
use crate::sys::memory::NoMemory;
use std::ptr;

/// The number of places of a block. One element of each block is saved.
const BLOCK: usize = 64;

impl Sorter<Any> {
    /// Sorts pointers to the `n` elements at `base`, and then moves the elements.
    pub(super) unsafe fn run_by_pointers(
        self,
        base: *mut u8,
        n: usize,
        worker: &Worker,
    ) -> Result<(), NoMemory> {
        // SAFETY: by the contract of places.
        if n < 2 || unsafe { self.is_in_order(base, n, worker) } {
            return Ok(());
        }
        let kept = n.div_ceil(BLOCK) + 1;
        let bytes = kept.checked_mul(self.elements.size()).ok_or(NoMemory)?;
        let mut saved = Scratch::<STACK_BYTES>::new(bytes)?;
        // The pointers need less memory than the array.
        let mut pointers = Scratch::<STACK_BYTES>::new(2 * n * Pointers.size())?;
        let (saved, pointers) = (saved.start(), pointers.start().cast::<*const u8>());
        // SAFETY: there is room for 2 n pointers.
        let spare = unsafe {
            (0..n).for_each(|i| pointers.add(i).write(self.at(base, i)));
            pointers.add(n)
        };
        let by_pointer = Sorter { elements: Pointers, cmp: self.cmp };
        // SAFETY: the array is only read while the pointers are sorted, and no pointer is lost.
        unsafe {
            by_pointer.sort_in_parts(pointers.cast(), spare.cast(), n, worker);
            Permutation { sorter: self, base, n, pointers, saved }.place(worker);
        }
        Ok(())
    }
}

/// An array of large elements, and the pointers to them in their order.
#[derive(Clone, Copy)]
struct Permutation {
    sorter: Sorter<Any>,
    base: *mut u8,
    n: usize,
    /// `pointers[i]` points to the element that place `i` must get.
    pointers: *mut *const u8,
    /// Room for one element of each block, and one more element.
    saved: *mut u8,
}

impl Permutation {
    fn at(self, i: usize) -> *mut u8 {
        self.sorter.at(self.base, i)
    }

    fn index(self, element: *const u8) -> usize {
        (element.addr() - self.base.addr()) / self.sorter.elements.size()
    }

    fn blocks(self) -> usize {
        self.n.div_ceil(BLOCK)
    }

    /// The place of a block whose element is saved. It varies, because permutations may be
    /// periodic.
    fn saved_place(self, block: usize) -> usize {
        let first = block * BLOCK;
        let place = first + (block.wrapping_mul(2_654_435_761) >> 7) % BLOCK;
        if place < self.n { place } else { first }
    }

    /// # Safety
    /// No pointer of the path is NULL yet; nobody else uses the places of the path.
    unsafe fn follow(self, block: usize) {
        let mut hole = self.saved_place(block);
        loop {
            // SAFETY: a hole is a place of the array, and its pointer points to a place of the
            // array. The copy goes to a hole, whose own element is elsewhere by now.
            unsafe {
                let element = self.pointers.add(hole).replace(ptr::null());
                let from = self.index(element);
                if from == self.saved_place(from / BLOCK) {
                    let saved = self.sorter.at(self.saved, from / BLOCK);
                    return self.sorter.copy(saved, self.at(hole));
                }
                memory::prefetch(*self.pointers.add(from));
                self.sorter.copy(element, self.at(hole));
                hole = from;
            }
        }
    }

    /// Moves the elements of the cycles that have no saved element.
    ///
    /// # Safety
    /// Nobody else uses the array; all paths were followed.
    unsafe fn close(self) {
        let kept = self.sorter.at(self.saved, self.blocks());
        for first in 0..self.n {
            // SAFETY: as in `follow`; `kept` holds the element of `first`.
            unsafe {
                let element = *self.pointers.add(first);
                if element.is_null() || element == self.at(first) {
                    continue;
                }
                self.sorter.copy(self.at(first), kept);
                let mut hole = first;
                loop {
                    let element = self.pointers.add(hole).replace(ptr::null());
                    if element == self.at(first) {
                        break;
                    }
                    self.sorter.copy(element, self.at(hole));
                    hole = self.index(element);
                }
                self.sorter.copy(kept, self.at(hole));
            }
        }
    }

    /// Moves all elements.
    ///
    /// # Safety
    /// The pointers are a permutation of those to the elements. Nobody else uses the array, the
    /// pointers and the room. `worker` is, or was, the caller's worker in this run.
    unsafe fn place(self, worker: &Worker) {
        let function = self.sorter.cmp as usize;
        let part = (MAX_COPY_BYTES / BLOCK).div_ceil(self.sorter.elements.size());
        let part_saved = MAX_COPY_BYTES.div_ceil(self.sorter.elements.size());
        // SAFETY: the array is only read until all elements are saved; then all paths are disjoint.
        unsafe {
            in_parts(0, self.blocks(), part_saved, function, worker, &|from, to| {
                for block in from..to {
                    let place = self.at(self.saved_place(block));
                    self.sorter.copy(place, self.sorter.at(self.saved, block));
                }
            });
            in_parts(0, self.blocks(), part, function, worker, &|from, to| {
                (from..to).for_each(|block| self.follow(block));
            });
            self.close();
        }
    }
}
