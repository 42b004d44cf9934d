//! Reductions over a range of numbers: `sched_reduce`.
//!
//! The reduction is a tree of halves down to one unit, forked eagerly. The shape of the tree
//! determines the order and the bracketing of all combinations. The shape depends on the number of
//! units alone, and this number on the arguments alone. A left half accumulates in the place of the
//! whole. A right half has an accumulator of its own, in the frame that combines the two.

use crate::api::fork;
use crate::api::range::Range;
use crate::api::scratch::Scratch;
use crate::runtime::record::Worker;
use crate::sys::atomic::{AtomicBool, Ordering};
use crate::sys::errno;
use crate::sys::unwind::Reducer;
use crate::task::Scheduler;
use std::ffi::{c_int, c_void};
use std::ptr;

/// The size up to which an accumulator needs no memory from the heap.
const INLINE_BYTES: usize = 128;

/// A range without a grain is cut into at most so many units; into fewer if accumulators are large,
/// but not into fewer than `MIN_UNITS`.
const MAX_UNITS: usize = 1024;
const MIN_UNITS: usize = 64;

#[derive(Clone, Copy)]
pub struct Reduction {
    pub size: usize,
    pub identity: *const c_void,
    pub body: unsafe extern "C" fn(usize, usize, *mut c_void, *mut c_void, *mut Scheduler),
    pub combine: unsafe extern "C" fn(*mut c_void, *const c_void, *mut c_void),
    pub ctx: *mut c_void,
}

/// The data that all parts of a reduction share.
struct Shared {
    reduction: Reduction,
    range: Range,
    /// There was no memory for an accumulator.
    failed: AtomicBool,
}

/// The grain of a reduction over `n` numbers that is given none.
pub fn default_grain(n: usize, size: usize) -> usize {
    let units = (MAX_UNITS * INLINE_BYTES / size.max(INLINE_BYTES)).max(MIN_UNITS);
    n.div_ceil(units).max(1)
}

fn no_memory() -> c_int {
    errno::failed(libc::ENOMEM)
}

impl Reduction {
    /// Writes the reduction of the range to `result`. Returns as `sched_reduce` does.
    ///
    /// # Safety
    /// Both functions accept `ctx` and places of `size` bytes, on any thread. `identity` and
    /// `result` are such places.
    pub unsafe fn run(&self, range: Option<Range>, result: *mut c_void, worker: &Worker) -> c_int {
        let Some(range) = range else {
            // SAFETY: both places have `size` bytes, by the caller's promise.
            unsafe { ptr::copy(self.identity.cast::<u8>(), result.cast(), self.size) };
            return 0;
        };
        let Ok(mut whole) = Scratch::<INLINE_BYTES>::new(self.size) else { return no_memory() };
        let accumulator = whole.start();
        let shared = Shared { reduction: *self, range, failed: AtomicBool::new(false) };
        // SAFETY: `within` waits for the closure and calls it on a worker that it owns; the rest is
        // the caller's promise.
        let outcome = unsafe {
            fork::within::<Reducer, _>(worker, |mine| {
                shared.reduce(0, range.units(), accumulator, mine)
            })
        };
        if outcome != 0 {
            return outcome;
        }
        if shared.failed.load(Ordering::Relaxed) {
            return no_memory();
        }
        // SAFETY: both places have `size` bytes, and the accumulator is filled.
        unsafe { ptr::copy_nonoverlapping(accumulator, result.cast(), self.size) };
        0
    }
}

impl Shared {
    /// Reduces the units `from` to `to`, at least one, into `accumulator`.
    ///
    /// # Safety
    /// As for `Reduction::run`; `accumulator` has `size` bytes; the caller owns `worker`.
    unsafe fn reduce(&self, from: usize, to: usize, accumulator: *mut u8, worker: &Worker) {
        let Reduction { size, identity, body, combine, ctx } = self.reduction;
        if to - from == 1 {
            let (lo, hi) = (self.range.start_of(from), self.range.start_of(to));
            // SAFETY: the body accepts `ctx` and an accumulator of `size` bytes, by the caller's
            // promise.
            unsafe {
                ptr::copy_nonoverlapping(identity.cast(), accumulator, size);
                body(lo, hi, accumulator.cast(), ctx, worker.handle());
            }
            return;
        }
        let Ok(mut scratch) = Scratch::<INLINE_BYTES>::new(size) else {
            self.failed.store(true, Ordering::Relaxed); // the join orders the flag
            return;
        };
        let upper = scratch.start();
        let middle = from + (to - from) / 2;
        // SAFETY: each half has an accumulator of its own; the rest is the caller's promise.
        unsafe {
            fork::both::<Reducer, _>(
                worker,
                |mine| self.reduce(from, middle, accumulator, mine),
                |other| self.reduce(middle, to, upper, other),
            );
        }
        if !self.failed.load(Ordering::Relaxed) {
            // SAFETY: both accumulators are filled, and `combine` accepts them.
            unsafe { combine(accumulator.cast(), upper.cast(), ctx) };
        }
    }
}
