//! Loops over a range of numbers: `sched_for`. [`range`](super::range) defines units, and
//! [`offer`](super::offer) how parts of a range are offered and joined. This is one file because
//! all rules of the essay meet in one function, `do_and_offer`.
//!
//! # Protocol
//!
//! Lazy splitting (A. Tzannes, G. Caragea, R. Barua and U. Vishkin, "Lazy binary-splitting: a
//! run-time adaptive work-stealing scheduler", 2010): a worker splits its part of the range only
//! when it has no part on offer. The authors test whether the worker's deque is empty. Here the
//! *theft* of the last offer shows that a thief has no tasks; the test reads a word in the owner's
//! frame.
//!
//! At first the owner of a range halves it down to one unit and offers each upper half. Thus many
//! thieves get parts at once, even if there are few long units. The owner does the rest in chunks.
//! Then it takes the youngest offer back, unless a thief has it, does that part in chunks, and so
//! on. Between two chunks, while more than one unit is left, it makes new offers in three cases:
//!
//! - Thieves have taken all offers, at least one of them since the owner last looked. Then thieves
//!   want more, and the owner offers all halves of the rest as at first.
//! - Nothing is on offer, and no thief has come since. The owner offers one half of the rest.
//! - One offer is left, thieves have come before, and the rest is long. The owner offers one half
//!   of it, so that a thief finds an offer even if another has taken one during a long unit.
//!
//! So one worker alone forks 2 log2 n times. If the halves are equal, offer i has at most `n /
//! 2^(i+1)` units. Parts that take less than `pace::WORTHWHILE` at the pace of the loop are not
//! offered. As the pace may change at any moment, a worker whose rest is too short to be offered
//! measures it again after each chunk.
//!
//! A chunk is at most twice as large as the chunk before, since the duration of a unit is unknown
//! at first. A chunk is also at most a quarter of the units that are left, including those of
//! offers that no thief has taken. So a worker that waits for the owner waits for a small part of
//! the whole. (C. Polychronopoulos and D. Kuck, "Guided self-scheduling", 1987.) A chunk costs some
//! 40 ns, so units that together take less than a quarter of `pace::WORTHWHILE` are not divided
//! into chunks. In a loop with a grain a chunk is always one unit.
//!
//! Under some kinds the join of an offer runs the offer's task, on top of the join. Then the task
//! does no units and gives them back to the owner, so the stack is equally deep under all kinds.
//!
//! Sleepers should be woken before the first unit. A loop is expected to take as long for each unit
//! as the last loop with the same body (`pace::past`). If the whole loop is expected to take
//! several times as long as a wake-up, the worker wakes several sleepers before it begins. (This
//! saves 5 to 15 % of loops of 1 ms on 8 and 16 workers. Rejected: to wake several sleepers before
//! each loop. Then loops of 1 µs after gaps of 1 ms took 12 µs instead of 5.)
//!
//! Rejected: one offer at a time from the start. Of n long units on n workers only log2 n would
//! begin at once; the others would be offered only when the first unit is over.
//!
//! Rejected: to look at the pace in the first halving. Another worker may already have measured it
//! in quick units; then thieves could not reach the rest of the owner's part during the owner's
//! first unit, however long that takes (c_tests/loops.c).
//!
//! Rejected: to offer all halves of each part that the owner takes back. If no thief comes, the
//! forks and the small chunks are in vain: 2 to 3 % of a loop. Rejected: to publish half of the
//! offers at once, and the others when a thief asks. A thief that finds no public offer waits for
//! the end of a chunk, or raids: 20 of 150 µs.
//!
//! # Values
//!
//! A relaxed reduction, whose parts may depend on the course of the run
//! ([`relaxed`](super::relaxed)), is a loop whose body adds to a value. A worker does its units in
//! ascending order, since after its own part it takes back the youngest offer, which begins where
//! that part ends. So it adds all of them to one value. A thief begins a value of its own. When the
//! owner joins the thief's offer, its own value stands for all units before the offer, and it
//! combines the two values. Each theft costs one combination; without thefts there is one value. A
//! thief that cannot allocate a value gives the units back to the owner.
//!
//! # Halves of equal time
//!
//! If the units are unequal, two halves of the range take unequal times. The worker that ends first
//! takes the largest offer of the other, then the other steals in turn, and so on: five thefts on
//! two workers in a loop of 1 ms with rising units. Therefore the workers measure each loop that is
//! expected to take long. If two measured loops with the same body took their time in the same
//! parts of the range, the next one is divided into halves of equal time (`pace::shape`), and has
//! one or two thefts. Loops of 0.1 ms with rising units then take 7 to 16 % less time
//! (`bench_c/loops.c`).
//!
//! A measurement is not used if it lacks a unit, or includes a wait. Under kinds with a deque for
//! each worker both are rare: they need a thief that takes an offer just before the owner joins it,
//! or a thief that gives an offer back.

use crate::api::fork;
use crate::api::offer::{Alone, Beginning, Offer, Part};
use crate::api::range::Range;
use crate::api::stop::Stop;
use crate::pace::shape::{LoopShape, LoopTimes};
use crate::pace::{ChunkLimit, Pace};
use crate::profile::path::Lengths;
use crate::runtime::profiled;
use crate::runtime::record::Worker;
use crate::sys::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering, Pad};
use crate::sys::detector;
use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::ptr;
use std::time::Duration;

mod body;
mod offers;

pub use body::{Body, Plain};
use offers::{Offers, Room};

/// A chunk is at most the units that are left, divided by this number.
const CHUNK_PART: usize = 4;

/// Units that together take less than `pace::WORTHWHILE` divided by this number are one chunk.
const WORTHWHILE_CHUNKS: usize = 4;

/// A rest is long if it takes at least this many times `pace::WORTHWHILE`.
const LONG: usize = 4;

/// A loop that is expected to take longer than this publishes its first offers unasked, and is
/// measured. (The measurement takes less than 1 µs.)
const WELL_WORTH: Duration = Duration::from_micros(40);

pub struct Loop<'a, B: Body> {
    range: Range,
    /// The most units of one call of `body`.
    max_chunk: usize,
    body: B,
    /// The expected shape. None means that it is even or unknown.
    shape: Option<LoopShape>,
    stop: &'a Stop,
    findings: Pad<Findings>,
}

/// What the workers find out during the loop. It has cache lines of its own: when a thief writes
/// its pace, the owner keeps the lines that the workers only read.
struct Findings {
    /// True if the workers measure how long their units take, and have so far measured all of them.
    /// (Relaxed: a worker that reads an outdated value measures in vain; the joins order the value
    /// that the worker of the whole loop reads at the end.)
    is_measured: AtomicBool,
    /// The most units that take less than `pace::WORTHWHILE` by the last measurement of any worker;
    /// 0: the pace is not known. (Relaxed: the number orders no other memory.)
    small: AtomicUsize,
    /// In a profiled run, the longest path and the longest burdened path through a unit, in ticks.
    longest: AtomicU64,
    longest_burdened: AtomicU64,
}

/// A part of a loop that is on offer. Each offer begins on a cache line of its own, since a thief
/// writes to its offer while the owner reads the others.
#[repr(align(64))]
struct LoopPart<B: Body> {
    whole: *const Loop<'static, B>, // its record of a stop lives as long as the loop
    /// The worker that joins the offer; null: none.
    joiner: AtomicPtr<Worker>,
    /// The value of the units, and how long they took. The offer's task writes both, and the owner
    /// reads them after the join. None means that the task has not run, or has given the units
    /// back.
    outcome: UnsafeCell<Option<(B::Value, LoopTimes)>>,
}

impl<B: Body> Loop<'_, B> {
    /// Calls the body for the whole range, with at most `max_chunk` units at a time, which it adds
    /// to the value at `into`. Returns what `sched_for` returns.
    ///
    /// # Safety
    /// The body may be called for these numbers on any thread. `into` is the place of a value.
    pub unsafe fn run(
        range: Range,
        max_chunk: usize,
        body: B,
        into: *mut c_void,
        worker: &Worker,
    ) -> c_int {
        let stop = &Stop::default();
        // SAFETY: `within` waits for the closure and calls it on a worker that it owns, in a task
        // of that worker's run; the body may be called for these numbers on any thread.
        let outcome = unsafe {
            fork::within::<B::Function, _>(body.address(), worker, |mine| {
                detector::ignored(|| {
                    let (beginning, pace, alone) =
                        Beginning::new(mine, body.address(), range.units(), mine.is_asked());
                    let expected = beginning.expects(mine).filter(|&(time, _)| time > WELL_WORTH);
                    let whole = Loop {
                        range,
                        max_chunk,
                        body,
                        shape: expected.and_then(|(_, shape)| shape),
                        stop,
                        findings: Pad(Findings {
                            is_measured: AtomicBool::new(expected.is_some()),
                            small: AtomicUsize::new(0),
                            longest: AtomicU64::new(0),
                            longest_burdened: AtomicU64::new(0),
                        }),
                    };
                    let (worker, times) = stop.begin(mine, || {
                        whole.run_on(mine, into, pace, alone, expected.map(|(time, _)| time))
                    });
                    if !stop.is_asked() {
                        let shape = whole.is_measured().then(|| whole.shape().corrected(&times));
                        beginning.end(worker, shape);
                    }
                });
            })
        };
        stop.result(outcome)
    }

    /// Runs the loop. Returns the worker on which it has ended, and the times if it is measured.
    ///
    /// # Safety
    /// The contract of `run`; the caller owns `worker`.
    unsafe fn run_on<'w>(
        &self,
        worker: &'w Worker,
        into: *mut c_void,
        mut pace: Pace,
        alone: Option<Alone>,
        expected: Option<Duration>,
    ) -> (&'w Worker, LoopTimes) {
        detector::own(self);
        let before = profiled::path_lengths(worker);
        let units = self.range.units();
        // SAFETY: the caller owns `worker`. Another worker may have resumed the loop after a wait.
        let (worker, times) = unsafe {
            let done = match alone {
                Some(alone) => self.begin_alone(alone, units, into, worker, &mut pace),
                None => 0,
            };
            let worker = Worker::current_in_run_of(worker.handle());
            let times = if done < units && !self.stop.is_asked() {
                self.do_and_offer(done, units, into, worker, pace, expected)
            } else {
                LoopTimes::default()
            };
            (Worker::current_in_run_of(worker.handle()), times)
        };
        if let Some(before) = before {
            // Relaxed: the joins order the lengths.
            let path = self.findings.longest.load(Ordering::Relaxed);
            let burdened = self.findings.longest_burdened.load(Ordering::Relaxed);
            profiled::note_loop(worker, before, units, Lengths { path, burdened });
        }
        (worker, times)
    }

    fn small(&self) -> usize {
        self.findings.small.load(Ordering::Relaxed)
    }

    fn is_measured(&self) -> bool {
        self.findings.is_measured.load(Ordering::Relaxed)
    }

    fn shape(&self) -> LoopShape {
        self.shape.unwrap_or(LoopShape::EVEN)
    }

    /// The first unit of the second half of the units `from` to `to`. There are at least two units.
    #[inline]
    fn middle_of(&self, from: usize, to: usize) -> usize {
        match &self.shape {
            Some(shape) => shape.middle_of(from..to, self.range.units()),
            None => from + (to - from) / 2,
        }
    }

    /// Calls the body for the units `from` to `to`, which it adds to the value at `into`.
    ///
    /// # Safety
    /// The contract of `run`; the caller owns `worker`.
    #[inline]
    unsafe fn call(&self, from: usize, to: usize, into: *mut c_void, worker: &Worker) {
        let (lo, hi) = (self.range.start_of(from), self.range.start_of(to));
        // SAFETY: the caller is within the loop and owns `worker`; `into` is the place of a value.
        let body = || unsafe { self.body.call(lo, hi, into, worker.handle()) };
        let lengths = profiled::call_aside(worker, || detector::heeded(body));
        if let Some(Lengths { path, burdened }) = lengths {
            let units = (to - from) as u64;
            // Relaxed: the joins order the lengths.
            self.findings.longest.fetch_max(path / units, Ordering::Relaxed);
            self.findings.longest_burdened.fetch_max(burdened / units, Ordering::Relaxed);
        }
    }

    /// Does up to `units` units without offers, as long as `alone` lasts. Returns their number.
    ///
    /// # Safety
    /// The contract of `run`; the caller owns `worker`.
    unsafe fn begin_alone(
        &self,
        mut alone: Alone,
        units: usize,
        into: *mut c_void,
        mut worker: &Worker,
        pace: &mut Pace,
    ) -> usize {
        let mut done = 0;
        while done < alone.next_look || alone.lasts(done, worker) {
            let chunk = (alone.next_look - done).min(self.max_chunk).min(units - done);
            // SAFETY: the caller owns the worker, and promises the rest.
            unsafe { self.call(done, done + chunk, into, worker) };
            done += chunk;
            if done == units || self.stop.is_asked() {
                break;
            }
            // SAFETY: as in `do_and_offer`.
            worker = unsafe { Worker::current_in_run_of(worker.handle()) };
        }
        pace.done += done;
        self.findings.is_measured.store(false, Ordering::Relaxed);
        if done < units {
            pace.measure(&self.findings.small);
        }
        done
    }

    /// Does the units `from` to `to`, adds them to the value at `into`, and offers parts of them to
    /// other workers. `pace` has begun if the caller has taken the units from another worker.
    /// `expected` is how long these units will take, if that is known. Returns how long they took,
    /// or no times if the loop is not measured.
    ///
    /// # Safety
    /// The contract of `call`.
    unsafe fn do_and_offer(
        &self,
        mut from: usize,
        mut to: usize,
        into: *mut c_void,
        mut worker: &Worker,
        mut pace: Pace,
        expected: Option<Duration>,
    ) -> LoopTimes {
        let mut room = Room::new();
        let mut offers = Offers::within(&mut room);
        let mut taken = 0; // the number of offers that are known to be taken
        let mut last_taken = None; // the value of `taken` when all halves were last offered
        let mut times = LoopTimes::default();
        let (first, mut begun) = (from, pace.begun().filter(|_| self.is_measured()));
        let mut chunk = 1;
        let mut limit = ChunkLimit::at_first();
        let mut knows_pace = self.small() > 0; // or the first offers are published after a chunk
        loop {
            taken = offers.taken(taken);
            let untaken = offers.count() - taken;
            let is_long = pace.is_begun() && (1..(to - from) / LONG).contains(&self.small());
            if untaken <= usize::from(is_long) && to - from > 1 {
                let is_first = last_taken.is_none();
                let thieves_wait =
                    untaken == 0 && last_taken.replace(taken).is_none_or(|before| before < taken);
                if thieves_wait || to - from < 2 * self.small() {
                    pace.measure(&self.findings.small);
                }
                let least = self.small().max(1); // at first 1: down to one unit
                while to - from >= 2 * least {
                    let middle = self.middle_of(from, to);
                    let (part, function) = (LoopPart::of(self), self.body.address());
                    // SAFETY: the caller owns the worker; the offers are joined below.
                    if !unsafe { offers.push((middle, to), part, function, worker) } {
                        break;
                    }
                    to = middle;
                    if !thieves_wait {
                        break;
                    }
                }
                if is_first && self.small() == 0 && offers.count() > 1 {
                    worker.publish_tasks(expected);
                } else if pace.is_begun() {
                    offers.publish(taken, from, &pace, self.small(), worker);
                }
            }
            let end = offers.oldest_but(taken).map_or(to, |offer| offer.to);
            let most = ((end - from) / CHUNK_PART).max(self.small() / WORTHWHILE_CHUNKS).max(1);
            chunk = chunk.min(most).min(self.max_chunk).min(limit.units()).min(to - from);
            // SAFETY: the caller owns the worker, and promises the rest.
            unsafe { self.call(from, from + chunk, into, worker) };
            // SAFETY: the caller owned this worker before the body, which may have waited.
            worker = unsafe { Worker::current_in_run_of(worker.handle()) };
            from += chunk;
            pace.done += chunk;
            if self.stop.is_asked() {
                from = to;
            }
            if worker.has_outside() {
                worker = worker.give_way();
            }
            limit.add(chunk);
            let learns_pace = !knows_pace && pace.is_begun();
            if offers.count() > 0 && (learns_pace || worker.is_asked()) {
                pace.measure(&self.findings.small);
                knows_pace = self.small() > 0;
                offers.publish(taken, from, &pace, self.small(), worker);
            }
            chunk = chunk.saturating_mul(2);
            while from == to {
                taken = offers.taken(taken);
                if let (true, Some(since)) = (taken == offers.count(), begun) {
                    begun = None;
                    times = self.shape().times(first..from, self.range.units(), since.elapsed());
                }
                let Some(offer) = offers.pop() else { return times };
                // SAFETY: the caller owns the worker and the offer. When the offer's task has
                // ended, only the owner uses the outcome.
                let outcome = unsafe {
                    let is_back = offer.take_back(worker);
                    if is_back { None } else { (*offer.part.outcome.get()).take() }
                };
                // True if a thief has taken the offer since `taken` looked, or has given it back.
                if self.is_measured() && outcome.is_none() != begun.is_some() {
                    self.findings.is_measured.store(false, Ordering::Relaxed);
                }
                match outcome {
                    None if self.stop.is_asked() => {}
                    None => (from, to) = (offer.from, offer.to),
                    Some((value, took)) => {
                        times += took;
                        // SAFETY: the offer begins with the unit after the last one that is done.
                        unsafe { detector::heeded(|| self.body.combine(into, B::place(&value))) };
                    }
                }
                taken = taken.min(offers.count());
                last_taken = last_taken.map(|last_taken| last_taken.min(offers.count()));
                // SAFETY: the caller owned this worker before the join and the combination, which
                // may have waited (the join even if it got the units back).
                worker = unsafe { Worker::current_in_run_of(worker.handle()) };
            }
        }
    }
}

impl<B: Body> LoopPart<B> {
    fn of(whole: &Loop<B>) -> Self {
        LoopPart {
            whole: ptr::from_ref(whole).cast(),
            joiner: AtomicPtr::default(),
            outcome: UnsafeCell::new(None),
        }
    }
}

impl<B: Body> Part for LoopPart<B> {
    type Function = B::Function;

    fn whole(&self) -> *const () {
        self.whole.cast()
    }

    unsafe fn run(offer: &Offer<Self>, worker: &Worker) {
        // SAFETY: the loop lives until the offer is joined.
        let whole = unsafe { &*offer.part.whole };
        // Relaxed: only this worker stores its own address, and a thread sees its own stores.
        let is_back = ptr::eq(offer.part.joiner.load(Ordering::Relaxed), worker);
        let is_skipped = is_back || whole.stop.is_asked();
        // SAFETY: the caller is within the loop.
        let Some(value) = (if is_skipped { None } else { unsafe { whole.body.value() } }) else {
            profiled::note_not_called(worker);
            return;
        };
        let (from, to, into) = (offer.from, offer.to, B::place(&value));
        // SAFETY: the body may be called, and the value is this task's own. The owner reads the
        // outcome after the end of the task.
        unsafe {
            let part = || whole.do_and_offer(from, to, into, worker, Pace::from_now(), None);
            let times = whole.stop.within(worker, part);
            *offer.part.outcome.get() = Some((value, times));
        }
    }

    #[inline(always)]
    fn await_on(&self, worker: Option<&Worker>) {
        // Relaxed: the worker's thread reads its own store; for other threads the value is a hint.
        let joiner = worker.map_or(ptr::null_mut(), |worker| ptr::from_ref(worker).cast_mut());
        self.joiner.store(joiner, Ordering::Relaxed);
    }
}
