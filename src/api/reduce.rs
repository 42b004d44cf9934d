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
//! question. Offers that are not worth a theft are not shared, but they are made: a part that is
//! not divided would keep its units from other workers when the pace changes.
//!
//! With 100 units of 3 µs and one that takes a fifth of the time, a reduction on two workers took
//! 16 to 17 % more than the ideal time without these rules, and takes 4 to 9 % more with them
//! (`bench_c/reductions.c`). What is left with 1024 short units is the price of a unit, 14 ns: two
//! calls, a copy of the identity, the frame of a half, a fork and a join. Fewer units would balance
//! worse on many workers.
//!
//! Rejected: right halves offered when thieves come, as a loop does. Of the price of a unit that
//! saved 1.5 ns, and no time on two workers. Rejected: no offers of what takes a microsecond or
//! less. That saved no time on two workers, either.

use crate::api::fork;
use crate::api::fork::Forked;
use crate::api::pace::Pace;
use crate::api::range::Range;
use crate::api::scratch::Scratch;
use crate::runtime::record::Worker;
use crate::sys::atomic::{AtomicBool, AtomicUsize, Ordering};
use crate::sys::detector::{self, Ignored};
use crate::sys::errno;
use crate::sys::unwind::{Reducer, call_guarded};
use crate::task::Scheduler;
use std::ffi::{c_int, c_void};
use std::ptr;

/// The size up to which an accumulator needs no memory from the heap.
const INLINE_BYTES: usize = 128;

/// A range without a grain is cut into at most so many units; into fewer if accumulators are large,
/// but not into fewer than `MIN_UNITS`.
const MAX_UNITS: usize = 1024;
const MIN_UNITS: usize = 64;

/// An offer is shared without a question if it is so many times as long as one that is worth a
/// theft: about as long as the raid that it saves.
const UNASKED: usize = 4;

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
    /// Offers before the first unit were shared, if thieves wanted them.
    has_offered: bool,
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
                let mut walk = Walk::new(mine, Pace::of_first(mine.is_asked()));
                detector::ignored(|| shared.reduce(0, range.units(), accumulator, &mut walk));
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
            let offered = offer.task.offer(run_offer, closure, body as usize, walk.worker);
            if offered {
                walk.youngest = &raw const offer;
                walk.unshared = walk.unshared.max(to - middle);
            }
            self.reduce(from, middle, accumulator, walk);
            walk.youngest = offer.older;
            if !offered || offer.task.take_back(walk.worker) {
                self.reduce(middle, to, upper, walk);
            } else {
                // The join may have waited.
                walk.worker = Worker::current_in_run_of(walk.worker.handle());
                walk.pace.measure(&self.small);
            }
        }
        if !self.failed.load(Ordering::Relaxed) {
            let Reduction { combine, ctx, .. } = self.reduction;
            let _heeded = Ignored::pause();
            // SAFETY: both accumulators are filled, and `combine` accepts them.
            unsafe { combine(accumulator.cast(), upper.cast(), ctx) };
        }
    }

    /// Reduces one unit into `accumulator`, and shares offers before and after it.
    ///
    /// # Safety
    /// As for `reduce`.
    #[inline(always)]
    unsafe fn unit<'a>(&'a self, unit: usize, accumulator: *mut u8, walk: &mut Walk<'a>) {
        let Reduction { size, identity, body, ctx, .. } = self.reduction;
        if walk.unshared > 0 && (walk.pace.is_begun() || !walk.has_offered) {
            // SAFETY: the caller owns the worker.
            unsafe { self.share_new_offers(walk) };
        }
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
        if !walk.youngest.is_null() && walk.worker.is_asked() {
            walk.pace.measure(&self.small);
            // SAFETY: the caller owns the worker.
            unsafe { self.share_offers(walk) };
        }
    }

    /// Shares offers that were made since offers were shared last, without a question: if the pace
    /// is known, and they are long. As long as it is not, the first offers are shared if thieves
    /// want them.
    ///
    /// # Safety
    /// The caller owns the walk's worker.
    unsafe fn share_new_offers(&self, walk: &mut Walk) {
        if self.small.load(Ordering::Relaxed) == 0 {
            walk.pace.measure(&self.small);
        }
        let small = self.small.load(Ordering::Relaxed);
        // SAFETY: the caller owns the worker.
        unsafe {
            if small > 0 && walk.unshared / UNASKED >= small {
                self.share_offers(walk);
            } else if small == 0 && !walk.has_offered {
                walk.worker.share(None);
            }
        }
        walk.has_offered = true;
    }

    /// Shares the offers with thieves, if the pace is known and the largest offer that nobody has
    /// taken is worth a theft.
    ///
    /// # Safety
    /// The caller owns the walk's worker.
    #[cold]
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
    fn new(worker: &'a Worker, pace: Pace) -> Self {
        Walk { worker, pace, youngest: ptr::null(), unshared: 0, has_offered: false }
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
    let mut walk = Walk::new(worker, Pace::from_now());
    // SAFETY: as in `Shared::reduce`, for this half.
    let reduce = || unsafe {
        offer.whole.reduce(offer.from, offer.to, offer.accumulator, &mut walk);
    };
    call_guarded::<Reducer, _>(|| detector::ignored(reduce));
}
