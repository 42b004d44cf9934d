//! Reductions over a range of numbers: `sched_reduce`.
//!
//! The reduction is a tree of halves down to one unit, forked eagerly. The shape of the tree
//! determines the order and the bracketing of all combinations. The shape depends on the number of
//! units alone, and this number on the arguments alone. A left half accumulates in the place of the
//! whole. A right half has an accumulator of its own, in the frame that combines the two.
//!
//! # Offers within reach
//!
//! The right halves on offer lie in the owner's deque, whose younger part is private. As in a loop
//! (the essay of [`loops`](super::loops)), the owner answers thieves between two units. Once the
//! [`pace`](super::pace) is known, it also shares long new offers before each unit, without a
//! question: those that take twice as long as is worth a theft. (With four times as long, 16 parts
//! of 6 µs on four workers took 36 µs, and take 32: a thief raids what it finds private.) Offers
//! that are not worth a theft are not shared. All except the smallest are made nevertheless: a long
//! part that is not divided would keep its units from other workers when the pace changes.
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
use crate::api::fork::Forked;
use crate::api::pace::Pace;
use crate::api::range::Range;
use crate::api::scratch::{Few, Scratch};
use crate::runtime::record::Worker;
use crate::runtime::{forked, profiled};
use crate::sys::atomic::{AtomicBool, AtomicUsize, Ordering};
use crate::sys::detector::{self, Ignored};
use crate::sys::errno;
use crate::sys::time::Instant;
use crate::sys::unwind::{Reducer, call_guarded};
use crate::task::{Scheduler, Task};
use std::ffi::{c_int, c_void};
use std::ptr;
use std::time::Duration;

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

/// A right half, which another worker may reduce.
struct Offer<'a> {
    task: Forked,
    whole: &'a Shared,
    from: usize,
    to: usize,
    accumulator: *mut u8,
    /// The offer that the owner has made before and not joined yet; NULL: there is none.
    older: *const Offer<'a>,
}

/// A worker in its part of the range.
struct Walk<'a> {
    worker: &'a Worker,
    pace: Pace,
    /// The last offer that is not joined yet; NULL: there is none.
    youngest: *const Offer<'a>,
    /// The units of the largest offer that was made since offers were shared.
    unshared: usize,
    /// At most so many units are done without offers.
    most_unoffered: usize,
    /// True once a thief has come. Then this worker shares long offers without being asked.
    is_wanted: bool,
    /// As long as nobody knows the pace, this worker calls `look` after so many units.
    next_look: usize,
    /// None: the worker makes offers.
    alone: Option<Alone>,
}

/// A worker begins alone if an offer would wake another one ("Alone at first" in the essay of
/// [`loops`](super::loops)).
struct Alone {
    since: Instant,
    /// It makes offers after so long.
    time: Duration,
    /// It reads the clock again after so many units.
    next_look: usize,
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
                let wake_cost = mine.wakes_at_spawn();
                let pace = Pace::of_first(is_asked || units >= MANY || wake_cost.is_some());
                let begun = pace.begun();
                let mut walk = Walk::new(mine, &shared, pace, is_asked);
                let body = self.body as usize;
                let lone_time =
                    wake_cost.and_then(|cost| mine.past_loops.lone_time(cost, body, units));
                walk.alone =
                    lone_time.zip(begun).map(|(time, since)| Alone { since, time, next_look: 1 });
                detector::ignored(|| shared.reduce(0, units, accumulator, &mut walk));
                if let Some(begun) = begun {
                    let took = begun.elapsed();
                    let was_alone = lone_time.is_some();
                    walk.worker.past_loops.add(body, units, took, was_alone, None);
                    if was_alone {
                        walk.worker.past_loops.add_lone(took);
                    }
                }
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
    /// As for `Reduction::run`; `accumulator` has `size` bytes; the caller owns the walk's worker,
    /// and owns the worker that the walk names afterwards.
    #[inline(always)]
    unsafe fn reduce<'a>(
        &'a self,
        from: usize,
        to: usize,
        accumulator: *mut u8,
        walk: &mut Walk<'a>,
    ) {
        if to - from == 1 {
            // SAFETY: by the caller's promise.
            unsafe { self.unit(from, accumulator, walk) };
        } else if to - from <= walk.most_unoffered && self.are_short(to - from, walk) {
            // SAFETY: by the caller's promise.
            unsafe {
                self.share_new_offers(walk);
                self.halves_unoffered(from, to, accumulator, walk);
            }
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
    unsafe fn halves<'a>(
        &'a self,
        from: usize,
        to: usize,
        accumulator: *mut u8,
        walk: &mut Walk<'a>,
    ) {
        let Reduction { size, body, .. } = self.reduction;
        let Ok(mut scratch) = Scratch::<INLINE_BYTES>::new(size) else {
            self.failed.store(true, Ordering::Relaxed); // the join orders the flag
            return;
        };
        let upper = scratch.start();
        let middle = from + (to - from) / 2;
        let offer = Offer {
            task: Forked::unset(),
            whole: self,
            from: middle,
            to,
            accumulator: upper,
            older: walk.youngest,
        };
        detector::own(&offer);
        // SAFETY: each half has an accumulator of its own. The offer lives until it is joined,
        // below; the rest is the caller's promise.
        unsafe {
            let closure = (&raw const offer).cast_mut().cast();
            let offered = !walk.is_alone(&self.small)
                && offer.task.offer(run_offer, closure, body as usize, walk.worker);
            if offered {
                walk.youngest = &raw const offer;
                walk.unshared = walk.unshared.max(to - middle);
            }
            self.reduce(from, middle, accumulator, walk);
            walk.youngest = offer.older;
            let is_part = |task| self.is_part(task);
            if !offered || offer.task.take_back_amid(Some(&is_part), walk.worker) {
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

    /// True if the task is that of an offer of this reduction.
    fn is_part(&self, task: Task) -> bool {
        forked::call_of(task).is_some_and(|(function, offer)| {
            // SAFETY: the function's closure is an offer, which is not joined before it has run.
            function == run_offer as *const () as usize
                && ptr::eq(unsafe { (*offer.cast::<Offer>()).whole }, self)
        })
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
    unsafe fn halves_unoffered<'a>(
        &'a self,
        from: usize,
        to: usize,
        accumulator: *mut u8,
        walk: &mut Walk<'a>,
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
            self.answer(walk);
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
    unsafe fn combine<'a>(&'a self, into: *mut u8, from: *mut u8, walk: &mut Walk<'a>) {
        let Reduction { combine, ctx, .. } = self.reduction;
        // SAFETY: `combine` accepts the accumulators, by the caller's promise. The worker is the
        // caller's; if the call has waited, it is the one that has continued it.
        unsafe {
            combine(into.cast(), from.cast(), ctx);
            walk.worker = Worker::current_in_run_of(walk.worker.handle());
        }
    }

    /// Reduces one unit into `accumulator`, and shares offers before and after it.
    ///
    /// # Safety
    /// As for `reduce`.
    #[inline(always)]
    unsafe fn unit<'a>(&'a self, unit: usize, accumulator: *mut u8, walk: &mut Walk<'a>) {
        // SAFETY: the caller owns the worker.
        unsafe { self.share_new_offers(walk) };
        // SAFETY: by the caller's promise.
        unsafe {
            self.call(unit, accumulator, walk);
            if !walk.youngest.is_null() {
                self.answer(walk);
            }
        }
    }

    /// Shares offers that were made since offers were shared last, if thieves may want them: if the
    /// pace is known, and the offers are long.
    ///
    /// # Safety
    /// The caller owns the walk's worker.
    #[inline(always)]
    unsafe fn share_new_offers(&self, walk: &mut Walk) {
        if walk.unshared > 0 {
            let small = self.small.load(Ordering::Relaxed);
            if small == 0 && walk.pace.done >= walk.next_look {
                // SAFETY: the caller owns the worker.
                unsafe { self.look(walk) };
            } else if walk.is_wanted && small > 0 && walk.pace.are_long(walk.unshared, small) {
                // SAFETY: the caller owns the worker.
                unsafe { self.share_offers(walk) };
            }
        }
    }

    /// Reduces one unit into `accumulator`, and counts it.
    ///
    /// # Safety
    /// As for `reduce`.
    #[inline(always)]
    unsafe fn call<'a>(&'a self, unit: usize, accumulator: *mut u8, walk: &mut Walk<'a>) {
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

    /// Measures the pace and shares offers, if thieves have asked.
    ///
    /// # Safety
    /// The caller owns the walk's worker.
    #[inline(always)]
    unsafe fn answer(&self, walk: &mut Walk) {
        if walk.worker.is_asked() {
            walk.is_wanted = true;
            walk.pace.measure(&self.small);
            // SAFETY: the caller owns the worker.
            unsafe { self.share_offers(walk) };
        }
    }

    /// Measures the pace, which is not known yet. Before the first unit, shares the first offers if
    /// several thieves wait for them.
    ///
    /// # Safety
    /// The caller owns the walk's worker.
    #[cold]
    unsafe fn look(&self, walk: &mut Walk) {
        walk.next_look = match walk.next_look {
            0 if walk.is_wanted => 1,
            0 if walk.pace.is_begun() => MANY / 2,
            0 => usize::MAX,
            units => units.saturating_mul(2),
        };
        if walk.pace.done == 0 {
            // SAFETY: the caller owns the worker.
            unsafe { walk.worker.share(None) };
        } else {
            walk.pace.measure(&self.small);
        }
    }

    /// Shares the offers with thieves, if the pace is known and the largest offer that nobody has
    /// taken is worth a theft.
    ///
    /// # Safety
    /// The caller owns the walk's worker.
    #[cold]
    #[inline(never)]
    unsafe fn share_offers(&self, walk: &mut Walk) {
        let small = self.small.load(Ordering::Relaxed);
        let (mut largest, mut all) = (0, 0);
        let mut next = walk.youngest;
        // SAFETY: offers that are not joined live; thieves use only their tasks and read the rest.
        while let Some(offer) = unsafe { next.as_ref() }
            && offer.task.is_untaken()
        {
            largest = offer.to - offer.from; // an older offer is not smaller
            all += largest;
            next = offer.older;
        }
        if (1..=largest).contains(&small) {
            // SAFETY: the caller owns the worker.
            unsafe { walk.worker.share(Some(walk.pace.time_of(all, small))) };
            walk.unshared = 0;
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
            unshared: 0,
            most_unoffered: whole.most_unoffered(worker),
            is_wanted,
            next_look: 0,
            alone: None,
        }
    }

    /// True if the worker makes no offers yet.
    #[inline]
    fn is_alone(&mut self, small: &AtomicUsize) -> bool {
        match &self.alone {
            None => false,
            Some(alone) if self.pace.done < alone.next_look => true,
            Some(_) => self.stays_alone(small),
        }
    }

    #[cold]
    fn stays_alone(&mut self, small: &AtomicUsize) -> bool {
        let Some(alone) = &mut self.alone else { return false };
        let (done, taken) = (self.pace.done, alone.since.elapsed());
        if done > 0 && (taken >= alone.time || self.worker.wakes_at_spawn().is_none()) {
            self.alone = None;
            self.pace.measure(small);
            return false;
        }
        // So many units take a quarter of what is left, but the pace may change.
        let unit = taken.as_nanos() as usize / done.max(1);
        let quarter = alone.time.saturating_sub(taken).as_nanos() as usize / 4;
        alone.next_look = done + (quarter / unit.max(1)).clamp(1, done.saturating_mul(8).max(1));
        true
    }
}

/// The task of an offer.
///
/// # Safety
/// `offer` points to an offer that its owner has not joined; `s` is a worker.
unsafe extern "C" fn run_offer(offer: *mut c_void, s: *mut Scheduler) {
    // SAFETY: the offer and what it refers to live until it is joined; `s` is the worker that runs
    // the task.
    let (offer, worker) = unsafe { (&*offer.cast::<Offer>(), Worker::of(s)) };
    let mut walk = Walk::new(worker, offer.whole, Pace::from_now(), true);
    // SAFETY: as in `Shared::reduce`, for this half.
    let reduce = || unsafe {
        offer.whole.reduce(offer.from, offer.to, offer.accumulator, &mut walk);
    };
    call_guarded::<Reducer, _>(|| detector::ignored(reduce));
}
