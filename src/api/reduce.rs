//! Reductions over a range of numbers: `sched_reduce`. This is one file because the functions of
//! the recursion call each other.
//!
//! The reduction is a tree of halves down to one unit, forked eagerly. The shape of the tree
//! determines the order and the bracketing of all combinations. The shape depends only on the
//! number of units, and this number only on the arguments. A left half uses the accumulator of the
//! whole. A right half has an accumulator of its own, in the frame that combines the two.
//!
//! # Offers within reach
//!
//! [`offer`](super::offer) describes how right halves are offered and joined. Once the
//! [`pace`](crate::pace) is known, the owner publishes new offers before each unit, unasked, if
//! they take at least twice as long as is worth a theft. (With four times as long, 16 parts of 6 µs
//! on four workers took 36 µs instead of 32, because thieves raid private offers.) Offers that are
//! not worth a theft are not published. All except the smallest are still made, since the pace may
//! change, and the units of an undivided part are out of the other workers' reach.
//!
//! A reduction of 100 units of 3 µs and one long unit takes 4 to 9 % more than the ideal time on
//! two workers, and took 16 to 17 % more without these rules (`bench_c/reductions.c`).
//!
//! # Few short units
//!
//! Up to `MOST_UNOFFERED` units that together are not worth a theft are reduced without offers, in
//! a small frame: `halves_unoffered`. On one worker, a unit with an empty body then takes 9 ns
//! instead of 13, and 20 to 25 ns instead of 35 to 45 if an offer takes a lock.
//!
//! If the units of a group become slow, thieves cannot take them for a while. Therefore the worker
//! checks after each left half whether a thief has asked. If one has, the worker measures the pace
//! again, and offers the next right halves if they are now long. Under kinds whose thieves cannot
//! ask, the worker measures the pace before each group. So at most `MOST_UNOFFERED` units of the
//! part that a worker has begun are out of the thieves' reach.
//!
//! Rejected: to offer right halves only when thieves come, as a loop does. This made a unit 1.5 ns
//! cheaper, and saved no time on two workers. Rejected: fewer units. The load would be less
//! balanced on many workers. (Units may depend on the arguments only, not on workers or pace.)

use crate::api::fork;
use crate::api::offer::{Alone, Beginning, Offer, Part};
use crate::api::range::Range;
use crate::api::scratch::{Few, Scratch};
use crate::api::stop::Stop;
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

/// The largest accumulator that needs no memory from the heap.
pub const INLINE_BYTES: usize = 128;

/// The number of units of a long range without a grain; down to `MIN_UNITS` for large accumulators.
const MAX_UNITS: usize = 1024;
const MIN_UNITS: usize = 64;

/// The most units that are done without offers, if all of them together are not worth a theft.
const MOST_UNOFFERED: usize = 8;

/// A reduction of at least this many units measures the pace even if no thief has asked.
const MANY: usize = 64;

/// The `body` of a reduction: from, to, accumulator, context, worker.
pub type Body = unsafe extern "C" fn(usize, usize, *mut c_void, *mut c_void, *mut Scheduler);

/// The `combine` of a reduction: into, from, context.
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
    stop: Stop,
    /// True if there was no memory for an accumulator.
    failed: AtomicBool,
    /// The most units that are not worth a theft by the last measurement of any worker; 0: the pace
    /// is not known. (Relaxed: the number orders no other memory.)
    small: AtomicUsize,
}

/// A right half that is on offer.
struct Half {
    whole: *const Shared,
    accumulator: *mut u8,
    /// The owner's next older offer that is not joined yet; NULL: none.
    older: *const Offer<Half>,
}

/// The state of a worker in its part of the range.
struct Walk<'a> {
    /// The calling thread owns it.
    worker: &'a Worker,
    pace: Pace,
    /// The youngest offer that is not joined yet; NULL: none.
    youngest: *const Offer<Half>,
    /// The units of the largest offer made since offers were last published.
    unpublished: usize,
    /// The result of `Shared::most_unoffered`.
    most_unoffered: usize,
    /// True once a thief has come. From then on this worker publishes long offers unasked.
    is_wanted: bool,
    /// While the pace is unknown, this worker calls `look` when it has done this many units.
    next_look: usize,
    /// Some while the worker makes no offers yet.
    alone: Option<Alone>,
}

/// The grain of a reduction over `n` numbers, if the caller gives none.
pub fn default_grain(n: usize, size: usize) -> usize {
    let units = (MAX_UNITS * INLINE_BYTES / size.max(INLINE_BYTES)).max(MIN_UNITS);
    n.div_ceil(units).max(1)
}

impl Reduction {
    /// Writes the reduction of the range to `result`. Returns what `sched_reduce` returns.
    ///
    /// # Safety
    /// Both functions accept `ctx` and places of `size` bytes, on any thread. `identity` and
    /// `result` are places of `size` bytes.
    pub unsafe fn run(&self, range: Option<Range>, result: *mut c_void, worker: &Worker) -> c_int {
        let Some(range) = range else {
            // SAFETY: both places have `size` bytes.
            unsafe { ptr::copy(self.identity.cast::<u8>(), result.cast(), self.size) };
            return 0;
        };
        let Ok(mut whole) = Scratch::<INLINE_BYTES>::new(self.size) else {
            return errno::failed(libc::ENOMEM);
        };
        let accumulator = whole.start();
        let shared = Shared {
            reduction: *self,
            range,
            stop: Stop::default(),
            failed: AtomicBool::new(false),
            small: AtomicUsize::new(0),
        };
        detector::own(&shared);
        // SAFETY: `within` waits for the closure and calls it on its own worker; the caller
        // promises the rest.
        let outcome = unsafe {
            fork::within::<Reducer, _>(self.body as usize, worker, |mine| {
                let (is_asked, units) = (mine.is_asked(), range.units());
                let at_once = is_asked || units >= MANY;
                let (beginning, pace, alone) =
                    Beginning::new(mine, self.body as usize, units, at_once);
                let mut walk = Walk::new(mine, &shared, pace, is_asked);
                walk.alone = alone;
                shared.stop.begin(mine, || {
                    detector::ignored(|| shared.reduce(0, units, accumulator, &mut walk));
                });
                if !shared.stop.is_asked() {
                    beginning.end(walk.worker, None);
                }
            })
        };
        let outcome = shared.stop.result(outcome);
        if outcome != 0 {
            return outcome;
        }
        if shared.failed.load(Ordering::Relaxed) {
            return errno::failed(libc::ENOMEM);
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
    /// The contract of `Reduction::run`; `accumulator` has `size` bytes, and the calling thread owns
    /// the worker of `walk`.
    #[inline(always)]
    unsafe fn reduce(&self, from: usize, to: usize, accumulator: *mut u8, walk: &mut Walk) {
        if to - from == 1 {
            // SAFETY: the body accepts the accumulator, which has `size` bytes.
            unsafe { self.unit(from, accumulator, walk) };
        } else if self.stop.is_asked() {
            // SAFETY: both places have `size` bytes.
            unsafe { copy(self.reduction.identity.cast(), accumulator, self.reduction.size) };
        } else if to - from <= walk.most_unoffered && self.are_short(to - from, walk) {
            self.publish_new_offers(from, walk);
            // SAFETY: both functions accept the accumulator, which has `size` bytes.
            unsafe { self.halves_unoffered(from, to, accumulator, walk) };
        } else {
            // SAFETY: both functions accept the accumulator, which has `size` bytes.
            unsafe { self.halves(from, to, accumulator, walk) };
        }
    }

    /// Like `reduce`, for at least two units. (A single unit does without this large frame.)
    ///
    /// # Safety
    /// The contract of `reduce`.
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
        // SAFETY: each half has its own accumulator; the offer is joined; the caller promises the
        // rest.
        unsafe {
            let offered = !Alone::is_so(&mut walk.alone, &mut walk.pace, &self.small, walk.worker)
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
                // A thief had the offer, and the join may have waited.
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

    /// The most units that `worker` does without offers. (0 in a profiled run, so that the profile
    /// shows the same parallelism at any pace.)
    fn most_unoffered(&self, worker: &Worker) -> usize {
        let is_plain = self.reduction.size <= INLINE_BYTES
            && !detector::is_present()
            && !profiled::is_profiled(worker);
        if is_plain { MOST_UNOFFERED } else { 0 }
    }

    /// True if, as far as the worker knows, `units` units are not worth a theft. False before the
    /// worker's first unit, because another worker may have measured the known pace in quick units.
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

    /// Like `halves`, but does not offer the right half. For few units that are not worth a theft,
    /// accumulators of at most `INLINE_BYTES`, and processes without a race detector.
    ///
    /// # Safety
    /// The contract of `reduce`.
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
    /// The contract of `reduce`; both accumulators are filled.
    #[inline(always)]
    unsafe fn combine(&self, into: *mut u8, from: *mut u8, walk: &mut Walk) {
        let Reduction { combine, ctx, .. } = self.reduction;
        // SAFETY: `combine` accepts the accumulators. The caller owned this worker before the
        // call, which may have waited.
        unsafe {
            combine(into.cast(), from.cast(), ctx);
            walk.worker = Worker::current_in_run_of(walk.worker.handle());
        }
    }

    /// Reduces one unit into `accumulator`. Before and after, publishes offers that thieves may
    /// want.
    ///
    /// # Safety
    /// The contract of `reduce`.
    #[inline(always)]
    unsafe fn unit(&self, unit: usize, accumulator: *mut u8, walk: &mut Walk) {
        self.publish_new_offers(unit, walk);
        // SAFETY: the body accepts the accumulator, which has `size` bytes.
        unsafe { self.call(unit, accumulator, walk) };
        if !walk.youngest.is_null() {
            self.publish_if_asked(unit + 1, walk);
        }
    }

    /// Publishes offers made since offers were last published, if a thief has come, the pace is
    /// known, and they are long; measures an unknown pace. `from` is the worker's next unit.
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

    /// Reduces one unit into `accumulator`, and counts the unit.
    ///
    /// # Safety
    /// The contract of `reduce`.
    #[inline(always)]
    unsafe fn call(&self, unit: usize, accumulator: *mut u8, walk: &mut Walk) {
        let Reduction { size, identity, body, ctx, .. } = self.reduction;
        let (lo, hi) = self.range.ends_of(unit);
        // SAFETY: the body accepts `ctx` and an accumulator of `size` bytes. The caller owned this
        // worker before the body, which may have waited.
        unsafe {
            let heeded = Ignored::pause();
            copy(identity.cast(), accumulator, size);
            if !self.stop.is_asked() {
                body(lo, hi, accumulator.cast(), ctx, walk.worker.handle());
            }
            drop(heeded);
            walk.worker = Worker::current_in_run_of(walk.worker.handle());
        }
        walk.pace.done += 1;
        if walk.worker.has_outside() {
            walk.worker = walk.worker.give_way();
        }
    }

    /// If thieves have asked, measures the pace and publishes offers. `from` is the next own unit.
    #[inline(always)]
    fn publish_if_asked(&self, from: usize, walk: &mut Walk) {
        if walk.worker.is_asked() {
            walk.is_wanted = true;
            walk.pace.measure(&self.small);
            self.publish_offers(from, walk);
        }
    }

    /// Measures the unknown pace; before the first unit, publishes offers if several thieves wait.
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
        // SAFETY: an offer lives until it is joined; thieves use only its task and read the rest.
        while let Some(offer) = unsafe { next.as_ref() }.filter(|offer| offer.is_untaken()) {
            (oldest, next) = (Some(offer), offer.part.older);
        }
        if oldest.is_some_and(|offer| offer.publish(from, &walk.pace, small, walk.worker)) {
            walk.unpublished = 0;
        }
    }
}

/// Like `ptr::copy_nonoverlapping`, but without a call for the most frequent size.
///
/// # Safety
/// The contract of `ptr::copy_nonoverlapping`.
#[inline(always)]
unsafe fn copy(from: *const u8, to: *mut u8, size: usize) {
    // SAFETY: the ranges have `size` bytes each, and do not overlap.
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
            let whole = &*whole;
            let part = || whole.reduce(offer.from, offer.to, accumulator, &mut walk);
            whole.stop.within(worker, part);
        }
    }
}
