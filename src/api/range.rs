//! Loops and reductions over a range of numbers.
//!
//! # Units
//!
//! A range is cut into *units* of `grain` numbers, from its lower end on; the last unit may be
//! smaller. In a loop without a grain a unit is one number. The following text counts in units.
//!
//! # The loop
//!
//! Lazy splitting (A. Tzannes, G. Caragea, R. Barua and U. Vishkin, "Lazy binary-splitting: a
//! run-time adaptive work-stealing scheduler", 2010): a worker splits its part of the range only
//! when it has no part on offer. The authors test whether the worker's deque is empty. Here the
//! *theft* of the last offer shows that some worker is hungry; the test reads one word in the
//! owner's own frame.
//!
//! ```text
//! from       to
//!  |..chunks..|....offer 2....|...........offer 1............|..................offer 0 ...
//! ```
//! At first the range is halved down to one unit, and each upper half is offered. Thus many
//! hungry workers get their parts at once, however few and long the units are. The owner does the
//! rest in chunks. Then it takes the youngest offer back, if no thief has it, does that part in
//! chunks, and so on. If nothing is on offer between two chunks, and more than one unit is left,
//! there are two cases. If the youngest offer was stolen, thieves are hungry, and all halves of the
//! rest are offered as at first. If the oldest offer was taken back, no thief is hungry, and one
//! half is offered.
//!
//! So one worker alone forks 2 log2 n times. The stack of offers holds one offer for each halving:
//! offer i has at most n / 2^(i + 1) units. There are never more than `MAX_OFFERS` offers.
//!
//! The size of a chunk grows with the rest. It is at most twice the size of the chunk before, since
//! the duration of a unit is unknown at first. And it is at most an eighth of the rest, the
//! youngest offer included, so that a worker that waits for the rest waits for a small part of the
//! whole. (C. Polychronopoulos and D. Kuck, "Guided self-scheduling", 1987.) With a grain a chunk
//! is always one unit.
//!
//! An owner that joins an offer may find the offer's task in a queue, on its own thread. The task
//! then does not do the units on top of the join: it gives them back. So the stack is equally deep
//! under all kinds.
//!
//! Rejected: one offer at a time from the start. Of n long units on n workers only log2 n would be
//! begun at once; the next units would be offered when the first unit is over.
//!
//! # The reduction
//!
//! The reduction is a tree of halves down to one unit, forked eagerly. The shape of the tree
//! determines the order and the bracketing of all combinations. The shape depends on the number of
//! units alone, and this number on the arguments alone. A left half accumulates in the place of the
//! whole. A right half has an accumulator of its own, in the frame that combines the two.

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

/// The C side's `sched_range`; not NULL.
pub type Body = unsafe extern "C" fn(usize, usize, *mut c_void, *mut Scheduler);

/// The numbers from `lo` to `hi`, `hi` excluded, in units of `grain`.
#[derive(Clone, Copy)]
pub struct Range {
    lo: usize,
    hi: usize,
    grain: usize,
}

impl Range {
    /// None if the range is empty. `grain` is at least 1.
    pub fn new(lo: usize, hi: usize, grain: usize) -> Option<Self> {
        (lo < hi).then_some(Range { lo, hi, grain })
    }

    fn units(self) -> usize {
        (self.hi - self.lo).div_ceil(self.grain)
    }

    /// The first number of a unit; for the number of units, the end of the range.
    #[inline]
    fn start_of(self, unit: usize) -> usize {
        // The product saturates; a saturated product is beyond the end of the range, too.
        self.lo + unit.saturating_mul(self.grain).min(self.hi - self.lo)
    }
}

// --- the loop ---------------------------------------------------------------------------

/// The most offers of one worker at a time: see the essay.
const MAX_OFFERS: usize = 32;

/// A chunk is at most the units that are left, divided by this number.
const CHUNK_PART: usize = 8;

#[derive(Clone, Copy)]
pub struct Loop {
    pub range: Range,
    /// The most units with which `body` is called at once.
    pub max_chunk: usize,
    pub body: Body,
    pub ctx: *mut c_void,
}

/// Some units of a loop, which another worker may do.
struct Offer {
    task: Forked,
    whole_loop: *const Loop,
    from: usize,
    to: usize,
    owner: *const Worker,
    /// The owner has come to join the offer.
    join_begun: AtomicBool,
    given_back: AtomicBool,
}

impl Loop {
    /// Calls the body for the whole range. Returns as `sched_for` does.
    ///
    /// # Safety
    /// The body accepts `ctx`, on any thread.
    pub unsafe fn run(&self, worker: &Worker) -> c_int {
        // SAFETY: `within` waits for the closure and calls it on a worker that it owns; the body
        // accepts `ctx`, by the caller's promise.
        unsafe {
            fork::within::<LoopBody, _>(worker, |mine| self.share(0, self.range.units(), mine))
        }
    }

    /// Calls the body for the units `from` to `to`.
    ///
    /// # Safety
    /// As for `run`; the caller owns `worker`.
    #[inline]
    unsafe fn call(&self, from: usize, to: usize, worker: &Worker) {
        let (lo, hi) = (self.range.start_of(from), self.range.start_of(to));
        // SAFETY: the body accepts `ctx`, by the caller's promise.
        unsafe { (self.body)(lo, hi, self.ctx, worker.handle()) };
    }

    /// Does the units `from` to `to`, of which it offers parts to other workers.
    ///
    /// # Safety
    /// As for `call`.
    unsafe fn share(&self, mut from: usize, mut to: usize, mut worker: &Worker) {
        // The offers are used through pointers only, since other threads have references to them.
        let mut room = [const { MaybeUninit::<Offer>::uninit() }; MAX_OFFERS];
        let offers: *mut Offer = (&raw mut room).cast();
        let mut count = 0;
        let mut thieves_hungry = true;
        let mut chunk = 1;
        loop {
            if count == 0 || thieves_hungry {
                while to - from > 1 && count < MAX_OFFERS {
                    let middle = from + (to - from) / 2;
                    // SAFETY: the place is within the array, and no task uses it. The task is
                    // joined below.
                    if !unsafe { self.offer(offers.add(count), middle, to, worker) } {
                        break;
                    }
                    count += 1;
                    to = middle;
                    if !thieves_hungry {
                        break;
                    }
                }
            }
            // SAFETY: the place is within the array and holds an offer.
            let youngest = (count > 0).then(|| unsafe { &*offers.add(count - 1) });
            let units_left = to - from + youngest.map_or(0, |offer| offer.to - offer.from);
            chunk = chunk.min(units_left / CHUNK_PART).clamp(1, self.max_chunk.min(to - from));
            // SAFETY: the same contract, word for word.
            unsafe { self.call(from, from + chunk, worker) };
            // SAFETY: this is the caller's worker; if the body has waited, the worker that has
            // continued it.
            worker = unsafe { Worker::current_in_run_of(worker.handle()) };
            from += chunk;
            chunk = chunk.saturating_mul(2);
            while from == to {
                if count == 0 {
                    return;
                }
                count -= 1;
                // SAFETY: the place is within the array and holds an offer that is not joined yet.
                let offer = unsafe { &*offers.add(count) };
                // SAFETY: the caller owns the worker and the offer, which is not joined yet.
                if unsafe { offer.take_back(worker) } {
                    (from, to) = (offer.from, offer.to);
                }
            }
            // SAFETY: the place is within the array and holds an offer.
            thieves_hungry = count > 0 && unsafe { !(*offers.add(count - 1)).task.is_fresh() };
        }
    }

    /// Offers the units `from` to `to` to other workers. False if no queue has room.
    ///
    /// # Safety
    /// As for `call`; only the caller uses `at` until it has joined the task.
    #[inline]
    unsafe fn offer(&self, at: *mut Offer, from: usize, to: usize, worker: &Worker) -> bool {
        // SAFETY: `at` may be written, and stays until the task is joined, by the caller's promise.
        unsafe {
            at.write(Offer {
                task: Forked::unset(),
                whole_loop: self,
                from,
                to,
                owner: worker,
                join_begun: AtomicBool::new(false),
                given_back: AtomicBool::new(false),
            });
            (*at).task.offer(run_offer, at.cast(), worker)
        }
    }
}

impl Offer {
    /// Joins the offer. True: the units are the owner's again. False: they are done.
    ///
    /// # Safety
    /// The caller owns `worker` and the offer, which is not joined yet.
    #[inline]
    unsafe fn take_back(&self, worker: &Worker) -> bool {
        // Relaxed: the owner's thread reads its own store; to other threads the value is a hint.
        self.join_begun.store(true, Ordering::Relaxed);
        // SAFETY: the caller owns the offer, whose task was forked and is not joined yet.
        let taken = unsafe { self.task.take_back(worker) };
        // Relaxed: the join, which pairs with the task's end, orders the flag.
        taken || self.given_back.load(Ordering::Relaxed)
    }
}

/// The task of an offer.
///
/// # Safety
/// `offer` points to an offer that its owner has not joined.
unsafe extern "C" fn run_offer(offer: *mut c_void, s: *mut Scheduler) {
    // SAFETY: the offer and the loop live until the offer is joined; `s` is the worker that runs
    // the task.
    let (offer, worker) = unsafe { (&*offer.cast::<Offer>(), Worker::of(s)) };
    if ptr::eq(offer.owner, worker) && offer.join_begun.load(Ordering::Relaxed) {
        // Relaxed: the task's end releases the flag to the join.
        offer.given_back.store(true, Ordering::Relaxed);
    } else {
        // SAFETY: the loop lives until the offer is joined, and its body accepts `ctx`.
        call_guarded::<LoopBody, _>(|| unsafe {
            (*offer.whole_loop).share(offer.from, offer.to, worker)
        });
    }
}

// --- the reduction ----------------------------------------------------------------------

/// The size up to which an accumulator needs no memory from the heap.
const INLINE_BYTES: usize = 128;

/// The most units of a range without a grain. Large accumulators reduce the number, down to
/// `MIN_UNITS`.
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
