//! Loops and reductions over a range of numbers.
//!
//! # Units
//!
//! A range is cut into *units* of `grain` numbers from its lower end on; the last may be smaller.
//! Without a grain a loop's unit is one number. What follows counts in units.
//!
//! # The loop
//!
//! Lazy splitting (A. Tzannes, G. Caragea, R. Barua and U. Vishkin, "Lazy binary-splitting: a
//! run-time adaptive work-stealing scheduler", 2010): what is not on offer is split only when
//! nothing is on offer. They look whether the deque is empty; here it is the *theft* of what was
//! offered last that says that somebody is hungry, a word of the own frame.
//!
//! ```text
//! from       to
//!  |..chunks..|....offer 2....|...........offer 1............|..................offer 0 ...
//! ```
//! At first the range is halved down to one unit, and each upper half offered, so that many
//! hungry workers have their part at once, however few and long the units are. The rest is done
//! in chunks, and then the youngest offer is taken back, if nobody has it, and so on. Where
//! nothing is on offer between two chunks, and more than one unit is left, there are two cases.
//! The youngest offer was stolen: those who steal are hungry, and all halves of what is left are
//! offered as at first. The oldest was taken back: nobody is hungry, and one half will do.
//!
//! So one worker alone forks 2 log2 n times, and the stack of offers holds one for each
//! halving: the one at place i has at most n / 2^(i + 1) units. Beyond `MOST_OFFERS` nothing is
//! offered.
//!
//! A chunk is the larger, the more is left: at most twice the one before, since at first nobody
//! knows how long a unit takes, and at most an eighth of what is left, the youngest offer
//! included, so that who waits for the rest waits for a small part of the whole. (C.
//! Polychronopoulos and D. Kuck, "Guided self-scheduling", 1987.) With a grain it is always one
//! unit.
//!
//! An offer whose owner joins it, and finds it out of a queue on its own thread, is not run
//! there, on top of the join, but given back: the stack is as deep under all kinds.
//!
//! Rejected: one offer at a time from the start. Of n long units on n workers only log2 n are then
//! begun at once; the next are offered when the first of them is over.
//!
//! # The reduction
//!
//! A tree of halves down to one unit, forked eagerly. Its shape, and thus the order and the
//! brackets of all combinations, follows from the number of units alone, and this from the
//! arguments alone. A left half accumulates in place of the whole; a right half has an
//! accumulator of its own, in the frame that combines the two.

use crate::api::fork;
use crate::api::fork::Forked;
use crate::api::scratch::Scratch;
use crate::runtime::record::Worker;
use crate::sys::atomic::{AtomicBool, Ordering};
use crate::sys::errno;
use crate::sys::unwind::{LoopBody, Reducer, call_guarded};
use crate::task::Scheduler;
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr;

/// The C side's `sched_range`, not NULL.
pub type Body = unsafe extern "C" fn(usize, usize, *mut c_void, *mut Scheduler);

/// The numbers from `lo` to `hi`, in units of `grain`.
#[derive(Clone, Copy)]
pub struct Range {
    lo: usize,
    hi: usize,
    grain: usize,
}

impl Range {
    /// None if it is empty. `grain`: at least 1.
    pub fn new(lo: usize, hi: usize, grain: usize) -> Option<Self> {
        (lo < hi).then_some(Range { lo, hi, grain })
    }

    fn units(self) -> usize {
        (self.hi - self.lo).div_ceil(self.grain)
    }

    /// The number at which a unit starts; that after the last one is the end.
    #[inline]
    fn start_of(self, unit: usize) -> usize {
        // A product too large for the type is beyond the end, as well.
        self.lo + unit.saturating_mul(self.grain).min(self.hi - self.lo)
    }
}

// --- the loop ---------------------------------------------------------------------------

/// See the essay.
const MOST_OFFERS: usize = 32;

/// Chunks are at most this part of what is left.
const PART: usize = 8;

#[derive(Clone, Copy)]
pub struct Loop {
    pub range: Range,
    /// The most units that `body` is called with at once.
    pub most: usize,
    pub body: Body,
    pub ctx: *mut c_void,
}

/// What another worker may do: some units of a loop.
struct Offer {
    task: Forked,
    all: *const Loop,
    from: usize,
    to: usize,
    owner: *const Worker,
    /// The owner has come to join it.
    wanted: AtomicBool,
    given_back: AtomicBool,
}

impl Loop {
    /// Calls the body for the whole range; returns as `sched_for`.
    ///
    /// # Safety
    /// The body accepts `ctx`, on any thread.
    pub unsafe fn run(&self, worker: &Worker) -> c_int {
        // SAFETY: `within` waits, and calls it on its worker; the rest is passed on.
        unsafe {
            fork::within::<LoopBody, _>(worker, |mine| self.share(0, self.range.units(), mine))
        }
    }

    /// # Safety
    /// As for `run`; the caller owns `worker`.
    #[inline]
    unsafe fn call(&self, from: usize, to: usize, worker: &Worker) {
        let (lo, hi) = (self.range.start_of(from), self.range.start_of(to));
        // SAFETY: by the caller's promise.
        unsafe { (self.body)(lo, hi, self.ctx, worker.handle()) };
    }

    /// Does the units `from` to `to`, of which it offers parts to others.
    ///
    /// # Safety
    /// As for `call`.
    unsafe fn share(&self, mut from: usize, mut to: usize, mut worker: &Worker) {
        // Pointers only: others have references to the offers.
        let mut room = [const { MaybeUninit::<Offer>::uninit() }; MOST_OFFERS];
        let offers: *mut Offer = (&raw mut room).cast();
        let mut count = 0;
        let mut hungry = true;
        let mut chunk = 1;
        loop {
            if count == 0 || hungry {
                while to - from > 1 && count < MOST_OFFERS {
                    let middle = from + (to - from) / 2;
                    // SAFETY: within the room, and of no task. It is joined below.
                    if !unsafe { self.offer(offers.add(count), middle, to, worker) } {
                        break;
                    }
                    count += 1;
                    to = middle;
                    if !hungry {
                        break;
                    }
                }
            }
            // SAFETY: within the room, and made.
            let youngest = (count > 0).then(|| unsafe { &*offers.add(count - 1) });
            let left = to - from + youngest.map_or(0, |offer| offer.to - offer.from);
            chunk = chunk.min(left / PART).clamp(1, self.most.min(to - from));
            // SAFETY: passed on.
            unsafe { self.call(from, from + chunk, worker) };
            // SAFETY: the caller's, or the one that has come with the task, if the body has waited.
            worker = unsafe { Worker::current_in_run_of(worker.handle()) };
            from += chunk;
            chunk = chunk.saturating_mul(2);
            while from == to {
                if count == 0 {
                    return;
                }
                count -= 1;
                // SAFETY: within the room, made, and not joined yet.
                let offer = unsafe { &*offers.add(count) };
                // SAFETY: as above.
                if unsafe { offer.take_back(worker) } {
                    (from, to) = (offer.from, offer.to);
                }
            }
            // SAFETY: as above.
            hungry = count > 0 && unsafe { !(*offers.add(count - 1)).task.is_fresh() };
        }
    }

    /// Offers the units `from` to `to` to others; false if no queue has room.
    ///
    /// # Safety
    /// As for `call`; `at` is the caller's until it has joined the task.
    #[inline]
    unsafe fn offer(&self, at: *mut Offer, from: usize, to: usize, worker: &Worker) -> bool {
        // SAFETY: by the caller's promise.
        unsafe {
            at.write(Offer {
                task: Forked::unset(),
                all: self,
                from,
                to,
                owner: worker,
                wanted: AtomicBool::new(false),
                given_back: AtomicBool::new(false),
            });
            (*at).task.offer(run_offer, at.cast(), worker)
        }
    }
}

impl Offer {
    /// True if the units are the owner's again; false if they are done.
    ///
    /// # Safety
    /// The caller owns `worker` and the offer, which is joined by this.
    #[inline]
    unsafe fn take_back(&self, worker: &Worker) -> bool {
        self.wanted.store(true, Ordering::Relaxed); // a hint, unless read by the same thread
        // SAFETY: passed on.
        let taken = unsafe { self.task.take_back(worker) };
        taken || self.given_back.load(Ordering::Relaxed) // written before the task's end
    }
}

/// The task of an offer.
///
/// # Safety
/// It is one, which its owner has not joined.
unsafe extern "C" fn run_offer(offer: *mut c_void, s: *mut Scheduler) {
    // SAFETY: the offer and the loop live until it is joined; `s` is the worker that runs the task.
    let (offer, worker) = unsafe { (&*offer.cast::<Offer>(), Worker::of(s)) };
    if ptr::eq(offer.owner, worker) && offer.wanted.load(Ordering::Relaxed) {
        offer.given_back.store(true, Ordering::Relaxed); // the task's end releases it
    } else {
        // SAFETY: as above.
        call_guarded::<LoopBody, _>(|| unsafe { (*offer.all).share(offer.from, offer.to, worker) });
    }
}

// --- the reduction ----------------------------------------------------------------------

/// Accumulators of so many bytes need no memory from the heap.
const SMALL: usize = 128;

/// Without a grain a range has at most so many units, and with large accumulators fewer.
const MOST_UNITS: usize = 1024;
const FEWEST_UNITS: usize = 64;

#[derive(Clone, Copy)]
pub struct Reduction {
    pub size: usize,
    pub identity: *const c_void,
    pub body: unsafe extern "C" fn(usize, usize, *mut c_void, *mut c_void, *mut Scheduler),
    pub combine: unsafe extern "C" fn(*mut c_void, *const c_void, *mut c_void),
    pub ctx: *mut c_void,
}

/// What all parts of a reduction share.
struct Shared {
    what: Reduction,
    range: Range,
    /// There was no memory for an accumulator.
    failed: AtomicBool,
}

/// The grain of a reduction over `n` numbers that has none.
pub fn default_grain(n: usize, size: usize) -> usize {
    let units = (MOST_UNITS * SMALL / size.max(SMALL)).max(FEWEST_UNITS);
    n.div_ceil(units).max(1)
}

fn no_memory() -> c_int {
    errno::failed(libc::ENOMEM)
}

impl Reduction {
    /// Writes the reduction of the range to `result`; returns as `sched_reduce`.
    ///
    /// # Safety
    /// Both functions accept `ctx` and places of `size` bytes, on any thread; `identity` and
    /// `result` are such.
    pub unsafe fn run(&self, range: Option<Range>, result: *mut c_void, worker: &Worker) -> c_int {
        let Some(range) = range else {
            // SAFETY: by the caller's promise.
            unsafe { ptr::copy(self.identity.cast::<u8>(), result.cast(), self.size) };
            return 0;
        };
        let Ok(mut whole) = Scratch::<SMALL>::new(self.size) else { return no_memory() };
        let accumulator = whole.start();
        let shared = Shared { what: *self, range, failed: AtomicBool::new(false) };
        // SAFETY: `within` waits, and calls it on its worker; the rest is passed on.
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
        // SAFETY: both have so many bytes, and the accumulator is filled.
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
        let Reduction { size, identity, body, combine, ctx } = self.what;
        if to - from == 1 {
            let (lo, hi) = (self.range.start_of(from), self.range.start_of(to));
            // SAFETY: by the caller's promise.
            unsafe {
                ptr::copy_nonoverlapping(identity.cast(), accumulator, size);
                body(lo, hi, accumulator.cast(), ctx, worker.handle());
            }
            return;
        }
        let Ok(mut scratch) = Scratch::<SMALL>::new(size) else {
            self.failed.store(true, Ordering::Relaxed); // seen after the joins
            return;
        };
        let upper = scratch.start();
        let middle = from + (to - from) / 2;
        // SAFETY: each has an accumulator of its own; the rest is passed on.
        unsafe {
            fork::both::<Reducer, _>(
                worker,
                |mine| self.reduce(from, middle, accumulator, mine),
                |other| self.reduce(middle, to, upper, other),
            );
        }
        if !self.failed.load(Ordering::Relaxed) {
            // SAFETY: both are filled.
            unsafe { combine(accumulator.cast(), upper.cast(), ctx) };
        }
    }
}
