//! Reductions over a range of numbers: `sched_reduce`. This is one file because the functions of
//! the recursion call each other.
//!
//! The reduction is a tree of halves down to one unit, forked eagerly. The shape of the tree
//! determines the order and the bracketing of all combinations. The shape depends on the number of
//! units alone, and this number on the arguments alone. A left half accumulates in the place of the
//! whole. A right half has an accumulator of its own, in the frame that combines the two.
//!
//! # Offers within reach
//!
//! Right halves are offered and joined as [`offer`](super::offer) says. Once the
//! [`pace`](crate::pace) is known, the owner publishes long new offers before each unit, unasked:
//! those that take twice as long as is worth a theft. (With four times as long, 16 parts of 6 µs on
//! four workers took 36 µs, and take 32: a thief raids what it finds private.) Offers that are not
//! worth a theft are not published. All except the smallest are made nevertheless: a long part that
//! is not divided would keep its units from other workers when the pace changes.
//!
//! With 100 units of 3 µs and one that takes a fifth of the time, a reduction on two workers took
//! 16 to 17 % more than the ideal time without these rules, and takes 4 to 9 % more with them
//! (`bench_c/reductions.c`).
//!
//! # Few short units
//!
//! Up to `MOST_UNOFFERED` units that together are not worth a theft are reduced without offers, in
//! a small frame: `halves_unoffered`. On one worker, a unit with an empty body then takes 9 ns
//! instead of 13. What is left are two calls and a copy of the identity for each unit, and the
//! frame of a half, a fork and a join for each group of units. Where an offer needs a lock, a unit
//! takes 20 to 25 ns instead of 35 to 45.
//!
//! If the units of such a group become slow, thieves cannot take them for a while. Therefore the
//! worker checks after each left half whether a thief has asked. If one has, the worker measures
//! the pace again, and offers the next right halves if they are long by now. Under some kinds
//! thieves cannot ask; there the worker measures the pace before it divides a group. So at most
//! `MOST_UNOFFERED` units of the part that a worker has begun are out of the thieves' reach.
//!
//! Rejected: to offer right halves only when thieves come, as a loop does. This made a unit 1.5 ns
//! cheaper, and saved no time on two workers. Rejected: fewer units. They would balance worse on
//! many workers. (The units depend on the arguments alone, so they cannot depend on the number of
//! workers or on the pace.)

use crate::api::fork;
use crate::api::offer::{Alone, Beginning, Offer, Part};
use crate::api::range::Range;
use crate::api::scratch::{Few, Scratch};
use crate::pace::Pace;
use crate::runtime::profiled;
use crate::runtime::record::Worker;
use crate::sys::atomic::{AtomicBool, AtomicUsize, Ordering};
use crate::sys::detector::{self, Ignored};
use crate::sys::errno;
use crate::sys::unwind::Reducer;
use crate::task::Scheduler;
use std::ffi::{c_int, c_void};
use std::ptr;

/// The size up to which an accumulator needs no memory from the heap.
pub const INLINE_BYTES: usize = 128;

/// A range without a grain is cut into at most so many units; into fewer if accumulators are large,
/// but not into fewer than `MIN_UNITS`.
const MAX_UNITS: usize = 1024;
const MIN_UNITS: usize = 64;

/// At most so many units are done without offers, if all of them are not worth a theft.
const MOST_UNOFFERED: usize = 8;

/// So many units are worth a measurement of the pace, even if no thief has asked.
const MANY: usize = 64;

/// The C side's `body` of a reduction: from, to, accumulator, context, worker.
pub type Body = unsafe extern "C" fn(usize, usize, *mut c_void, *mut c_void, *mut Scheduler);

/// The C side's `combine`: into, from, context.
pub type Combine = unsafe extern "C" fn(*mut c_void, *const c_void, *mut c_void);

#[derive(Clone, Copy)]
pub struct Reduction {
    pub size: usize,
    pub identity: *const c_void,
    pub body: Body,
    pub combine: Combine,
    pub ctx: *mut c_void,
}

/// The data that all parts of a reduction share.
struct Shared {
    reduction: Reduction,
    range: Range,
    /// There was no memory for an accumulator.
    failed: AtomicBool,
    /// The most units that are not worth a theft, as the last measurement of any worker says; 0:
    /// the pace is not known. (Relaxed: the figure orders no other memory.)
    small: AtomicUsize,
}

/// A right half that is on offer.
struct Half {
    whole: *const Shared,
    accumulator: *mut u8,
    /// The offer that the owner has made before and not joined yet; NULL: there is none.
    older: *const Offer<Half>,
}

/// A worker in its part of the range.
struct Walk<'a> {
    /// The calling thread owns it.
    worker: &'a Worker,
    pace: Pace,
    /// The last offer that is not joined yet; NULL: there is none.
    youngest: *const Offer<Half>,
    /// The units of the largest offer that was made since offers were published.
    unpublished: usize,
    /// At most so many units are done without offers.
    most_unoffered: usize,
    /// True once a thief has come. Then this worker publishes long offers unasked.
    is_wanted: bool,
    /// As long as nobody knows the pace, this worker calls `look` after so many units.
    next_look: usize,
    /// None: the worker makes offers.
    alone: Option<Alone>,
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
        let shared = Shared {
            reduction: *self,
            range,
            failed: AtomicBool::new(false),
            small: AtomicUsize::new(0),
        };
        detector::own(&shared);
        // SAFETY: `within` waits for the closure and calls it on a worker that it owns; the rest is
        // the caller's promise.
        let outcome = unsafe {
            fork::within::<Reducer, _>(self.body as usize, worker, |mine| {
                let (is_asked, units) = (mine.is_asked(), range.units());
                let at_once = is_asked || units >= MANY;
                let (beginning, pace, alone) =
                    Beginning::new(mine, self.body as usize, units, at_once);
                let mut walk = Walk::new(mine, &shared, pace, is_asked);
                walk.alone = alone;
                detector::ignored(|| shared.reduce(0, units, accumulator, &mut walk));
                beginning.end(walk.worker, None);
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
    /// As for `Reduction::run`; `accumulator` has `size` bytes.
    #[inline(always)]
    unsafe fn reduce(&self, from: usize, to: usize, accumulator: *mut u8, walk: &mut Walk) {
        if to - from == 1 {
            // SAFETY: by the caller's promise.
            unsafe { self.unit(from, accumulator, walk) };
        } else if to - from <= walk.most_unoffered && self.are_short(to - from, walk) {
            self.publish_new_offers(from, walk);
            // SAFETY: by the caller's promise.
            unsafe { self.halves_unoffered(from, to, accumulator, walk) };
        } else {
            // SAFETY: by the caller's promise.
            unsafe { self.halves(from, to, accumulator, walk) };
        }
    }

    /// As `reduce`, for at least two units. (The frame is large, and a unit does without it.)
    ///
    /// # Safety
    /// As for `reduce`.
    #[inline(never)]
    unsafe fn halves(&self, from: usize, to: usize, accumulator: *mut u8, walk: &mut Walk) {
        let Ok(mut scratch) = Scratch::<INLINE_BYTES>::new(self.reduction.size) else {
            self.failed.store(true, Ordering::Relaxed); // the join orders the flag
            return;
        };
        let upper = scratch.start();
        let middle = from + (to - from) / 2;
        let half = Half { whole: self, accumulator: upper, older: walk.youngest };
        let offer = Offer::new((middle, to), half);
        detector::own(&offer);
        // SAFETY: each half has an accumulator of its own. The offer is joined below; the rest is
        // the caller's promise.
        unsafe {
            let offered = !walk.is_alone(&self.small)
                && offer.make(self.reduction.body as usize, walk.worker);
            if offered {
                walk.youngest = &raw const offer;
                walk.unpublished = walk.unpublished.max(to - middle);
            }
            self.reduce(from, middle, accumulator, walk);
            walk.youngest = offer.part.older;
            if !offered || offer.take_back(walk.worker) {
                self.reduce(middle, to, upper, walk);
            } else {
                // A thief has come, and the join may have waited.
                walk.is_wanted = true;
                walk.worker = Worker::current_in_run_of(walk.worker.handle());
                walk.pace.measure(&self.small);
            }
        }
        if !self.failed.load(Ordering::Relaxed) {
            // SAFETY: the halves have filled both accumulators; the caller promises the rest.
            detector::heeded(|| unsafe { self.combine(accumulator, upper, walk) });
        }
    }

    /// At most so many units are done without offers on this worker. (A profile shows the same
    /// parallelism at any pace.)
    fn most_unoffered(&self, worker: &Worker) -> usize {
        let is_plain = self.reduction.size <= INLINE_BYTES
            && !detector::is_present()
            && !profiled::is_profiled(worker);
        if is_plain { MOST_UNOFFERED } else { 0 }
    }

    /// True if so many units are not worth a theft, as far as the worker knows. False before the
    /// worker's first unit: the known pace may be that of another worker, which has measured quick
    /// units.
    #[inline(always)]
    fn are_short(&self, units: usize, walk: &mut Walk) -> bool {
        if walk.pace.is_unknown() {
            return false;
        }
        if !walk.worker.can_be_asked() && walk.alone.is_none() {
            walk.pace.measure(&self.small); // no thief will make this worker measure it
        }
        walk.pace.are_short(units, &self.small)
    }

    /// As `halves`, for few units that are not worth a theft. It does not offer the right half. An
    /// accumulator has at most `INLINE_BYTES`, and there is no detector.
    ///
    /// # Safety
    /// As for `reduce`.
    #[inline(never)]
    unsafe fn halves_unoffered(
        &self,
        from: usize,
        to: usize,
        accumulator: *mut u8,
        walk: &mut Walk,
    ) {
        let mut few = Few::<INLINE_BYTES>::empty();
        let upper = few.start();
        let middle = from + (to - from) / 2;
        // SAFETY: each half has an accumulator of its own; the rest is the caller's promise.
        unsafe {
            if middle - from == 1 {
                self.call(from, accumulator, walk);
            } else {
                self.halves_unoffered(from, middle, accumulator, walk);
            }
            self.publish_if_asked(middle, walk);
            if to - middle == 1 {
                self.call(middle, upper, walk);
            } else {
                self.reduce(middle, to, upper, walk); // the pace may have changed
            }
            self.combine(accumulator, upper, walk);
        }
    }

    /// Combines two accumulators.
    ///
    /// # Safety
    /// Both are filled; the rest as for `reduce`.
    #[inline(always)]
    unsafe fn combine(&self, into: *mut u8, from: *mut u8, walk: &mut Walk) {
        let Reduction { combine, ctx, .. } = self.reduction;
        // SAFETY: `combine` accepts the accumulators, by the caller's promise. The worker is the
        // caller's; if the call has waited, it is the one that has continued it.
        unsafe {
            combine(into.cast(), from.cast(), ctx);
            walk.worker = Worker::current_in_run_of(walk.worker.handle());
        }
    }

    /// Reduces one unit into `accumulator`, and publishes offers before and after it.
    ///
    /// # Safety
    /// As for `reduce`.
    #[inline(always)]
    unsafe fn unit(&self, unit: usize, accumulator: *mut u8, walk: &mut Walk) {
        self.publish_new_offers(unit, walk);
        // SAFETY: by the caller's promise.
        unsafe { self.call(unit, accumulator, walk) };
        if !walk.youngest.is_null() {
            self.publish_if_asked(unit + 1, walk);
        }
    }

    /// Publishes the offers that were made since the last time, if thieves may want them: if the
    /// pace is known, and the offers are long. The worker will do the units from `from` on.
    #[inline(always)]
    fn publish_new_offers(&self, from: usize, walk: &mut Walk) {
        if walk.unpublished > 0 {
            let small = self.small.load(Ordering::Relaxed);
            if small == 0 && walk.pace.done >= walk.next_look {
                self.look(walk);
            } else if walk.is_wanted && small > 0 && walk.pace.are_long(walk.unpublished, small) {
                self.publish_offers(from, walk);
            }
        }
    }

    /// Reduces one unit into `accumulator`, and counts it.
    ///
    /// # Safety
    /// As for `reduce`.
    #[inline(always)]
    unsafe fn call(&self, unit: usize, accumulator: *mut u8, walk: &mut Walk) {
        let Reduction { size, identity, body, ctx, .. } = self.reduction;
        let (lo, hi) = self.range.ends_of(unit);
        // SAFETY: the body accepts `ctx` and an accumulator of `size` bytes, by the caller's
        // promise. The worker is the caller's; if the body has waited, it is the one that has
        // continued it.
        unsafe {
            let heeded = Ignored::pause();
            copy(identity.cast(), accumulator, size);
            body(lo, hi, accumulator.cast(), ctx, walk.worker.handle());
            drop(heeded);
            walk.worker = Worker::current_in_run_of(walk.worker.handle());
        }
        walk.pace.done += 1;
        if walk.worker.has_outside() {
            walk.worker = walk.worker.give_way();
        }
    }

    /// Measures the pace and publishes offers, if thieves have asked. The worker will do the units
    /// from `from` on.
    #[inline(always)]
    fn publish_if_asked(&self, from: usize, walk: &mut Walk) {
        if walk.worker.is_asked() {
            walk.is_wanted = true;
            walk.pace.measure(&self.small);
            self.publish_offers(from, walk);
        }
    }

    /// Measures the pace, which is not known yet. Before the first unit, publishes the first offers
    /// if several thieves wait for them.
    #[cold]
    fn look(&self, walk: &mut Walk) {
        walk.next_look = match walk.next_look {
            0 if walk.is_wanted => 1,
            0 if walk.pace.is_begun() => MANY / 2,
            0 => usize::MAX,
            units => units.saturating_mul(2),
        };
        if walk.pace.done == 0 {
            walk.worker.publish_tasks(None);
        } else {
            walk.pace.measure(&self.small);
        }
    }

    /// See `Offers::publish`.
    #[cold]
    #[inline(never)]
    fn publish_offers(&self, from: usize, walk: &mut Walk) {
        let small = self.small.load(Ordering::Relaxed);
        let (mut oldest, mut next) = (None, walk.youngest);
        // SAFETY: offers that are not joined live; thieves use only their tasks and read the rest.
        while let Some(offer) = unsafe { next.as_ref() }
            && offer.is_untaken()
        {
            (oldest, next) = (Some(offer), offer.part.older);
        }
        if oldest.is_some_and(|offer| offer.publish(from, &walk.pace, small, walk.worker)) {
            walk.unpublished = 0;
        }
    }
}

/// As `ptr::copy_nonoverlapping`, but without a call for the most frequent size.
///
/// # Safety
/// As for `ptr::copy_nonoverlapping`.
#[inline(always)]
unsafe fn copy(from: *const u8, to: *mut u8, size: usize) {
    // SAFETY: by the caller's promise.
    unsafe {
        if size == size_of::<u64>() {
            to.cast::<u64>().write_unaligned(from.cast::<u64>().read_unaligned());
        } else {
            ptr::copy_nonoverlapping(from, to, size);
        }
    }
}

impl<'a> Walk<'a> {
    fn new(worker: &'a Worker, whole: &Shared, pace: Pace, is_wanted: bool) -> Self {
        Walk {
            worker,
            pace,
            youngest: ptr::null(),
            unpublished: 0,
            most_unoffered: whole.most_unoffered(worker),
            is_wanted,
            next_look: 0,
            alone: None,
        }
    }

    /// True if the worker makes no offers yet.
    #[inline]
    fn is_alone(&mut self, small: &AtomicUsize) -> bool {
        let Some(alone) = &mut self.alone else { return false };
        let done = self.pace.done;
        let lasts = done < alone.next_look || alone.lasts(done, self.worker);
        if !lasts {
            self.alone = None;
            self.pace.measure(small);
        }
        lasts
    }
}

impl Part for Half {
    type Function = Reducer;

    fn whole(&self) -> *const () {
        self.whole.cast()
    }

    unsafe fn run(offer: &Offer<Self>, worker: &Worker) {
        let Half { whole, accumulator, .. } = offer.part;
        // SAFETY: the reduction lives until the offer is joined, as does the accumulator.
        unsafe {
            let mut walk = Walk::new(worker, &*whole, Pace::from_now(), true);
            (*whole).reduce(offer.from, offer.to, accumulator, &mut walk);
        }
    }
}
