//! Loops over a range of numbers: `sched_for`. The text counts in units (see
//! [`range`](super::range)).
//!
//! # Protocol
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
//! chunks, and so on. Between two chunks, with more than one unit left, the owner looks at its
//! offers. There are three cases in which it makes new ones:
//!
//! - Thieves have taken all offers, at least one of them since the owner looked last. So thieves
//!   are hungry, and all halves of the rest are offered as at first.
//! - Nothing is on offer, and no thief has come since. One half of the rest is offered.
//! - One offer is left, thieves have come before, and the rest is long. One half of it is offered.
//!   So a thief that takes the offer has one more to take, even if the owner is in a long unit.
//!
//! So one worker alone forks 2 log2 n times. The stack of offers holds one offer for each halving. If
//! the halves are equal, offer i has at most n / 2^(i + 1) units. There are never more than
//! `MAX_OFFERS` offers.
//!
//! A chunk is at most twice as large as the chunk before, since the duration of a unit is unknown
//! at first. A chunk is also at most a quarter of what is left, with the offers that no thief has
//! taken. So a worker that waits for the owner waits for a small part of the whole. (C.
//! Polychronopoulos and D. Kuck, "Guided self-scheduling", 1987.) But a chunk costs some 40 ns. So
//! what takes less than a quarter of `pace::WORTHWHILE` is not divided into chunks. With a grain a
//! chunk is always one unit.
//!
//! An owner that joins an offer may find the offer's task in a queue, on its own thread. The task
//! then does not do the units on top of the join: it gives them back. So the stack is equally deep
//! under all kinds.
//!
//! Rejected: one offer at a time from the start. Of n long units on n workers only log2 n would be
//! begun at once; the next units would be offered when the first unit is over.
//!
//! # Values
//!
//! A reduction whose parts may depend on the course of the run ([`relaxed`](super::relaxed)) is a
//! loop whose body adds to a value. A worker does its units in ascending order: after its own part it
//! takes back the youngest offer, which begins where that part ends. So it adds all of them to one
//! value. A thief begins a value of its own. When the owner joins the offer, the owner's value
//! stands for all units before the offer, and the owner combines the two values. Each theft costs
//! one combination; without thefts there is one value. A thief that cannot allocate a value gives
//! the units back to the owner.
//!
//! # Offers within reach
//!
//! An offer lies in the owner's deque, whose younger part is private (`queue::split`). A thief that
//! finds only private offers waits until the owner pops, or interrupts it by a raid. In a virtual
//! machine a raid takes some 15 µs. Three rules make raids rare:
//!
//! - Between two chunks the owner answers thieves that have asked.
//! - Once the pace of the loop is known, all offers are shared at once, without a question.
//! - Before the pace is known, a worker shares its first offers if at least two others wait for
//!   tasks. (One has the first offer, which is public already: `policy::stealing::lending`.)
//!
//! The *pace* is measured by a thief after its first chunk, and by the first worker of the loop
//! after 2 µs, if others were idle at the beginning. (If all are busy, a loop reads no clock until
//! a thief comes.) A worker that shares its offers also wakes several sleepers, if the rest of the
//! loop takes several times what a wake-up takes. Parts that take less than `pace::WORTHWHILE` at
//! this pace are not offered. The pace may change at any moment. So a worker whose rest is too
//! short to be offered measures the pace again after each chunk.
//!
//! Sleepers should be woken before the first unit. So a worker remembers how long its last loops took
//! (`runtime::past_loops`). A loop with the same body is expected to take as long for each unit. If
//! that is several times what a wake-up takes, the worker wakes several sleepers before it begins.
//! (Without this rule, loops of 1 ms on 8 and 16 workers, after gaps of 1 ms, took 5 to 15 % longer.
//! Rejected: to wake several sleepers before each loop. Then loops of 1 µs after gaps of 1 ms took
//! 12 µs instead of 5.)
//!
//! # Alone at first
//!
//! To wake a worker costs the waker 2 to 15 µs, and 14 to 50 µs pass until the woken one runs. So if all
//! others sleep, and the last loop with the same body was short for a wake-up, a worker begins without
//! offers. If the loop takes longer than expected, and at least as long as a wake-up takes, as measured in
//! this run, the worker makes offers, and the first of them wakes a sleeper (ski rental, as in
//! `idle::Patience`). Short loops that follow each other closely are worth a wake-up together. So a short
//! loop after a pause is not slower than a serial one. If the loop takes longer than a wake-up, the
//! worker tries one, and compares the times: it knows how long the loop takes alone.
//!
//! Rejected: to begin alone with a body that is not known. Its first unit may be long, and all others
//! would sleep until its end (c_tests/for_spread.c).
//!
//! Rejected: to look at the pace while the range is halved at first. Another worker may have
//! measured it already, in quick units; then the rest of the owner's part is out of reach while the
//! owner does its first unit, however long that takes (c_tests/for_spread.c).
//!
//! On two workers, loops of 0.3 and 1 ms with unequal units took 5 to 12 % longer than libgomp's
//! best schedule without these rules, and take 0 to 5 % longer with them (`bench_c/loops.c`).
//!
//! Rejected: all halves of the rest for each part that the owner takes back. If no thief comes,
//! the forks and the small chunks are in vain: they took 2 to 3 % of such a loop. Rejected: a half
//! of the offers shared at once, and the others when they are asked for. A thief that finds no
//! other offer waits for the end of a chunk, or raids: 20 µs of a loop that takes 150.
//!
//! # Halves of equal time
//!
//! If the units are unequal, two halves of the range take unequal times. The worker that ends first
//! takes the largest offer of the other, then the other takes one back, and so on: a loop of 1 ms
//! with rising units had five thefts on two workers, each of which takes 2 to 3 µs. Therefore the
//! workers measure each loop that is expected to take long. If two measured loops with the same body
//! took their time in the same parts of the range, the next one is divided into halves of equal time
//! (`runtime::loop_shape`). Such a loop has one or two thefts. Loops of 0.1 ms with rising units take
//! 7 to 16 % less time, and loops of 1 ms 1 to 3 % less (`bench_c/loops.c`).
//!
//! A measurement is not used if a unit was not measured, or if a wait was measured with the units.
//! Under kinds with a deque for each worker both are rare: a thief takes an offer just before the
//! owner joins it, or gives an offer back.

use crate::api::fork;
use crate::api::pace::{ChunkLimit, Pace};
use crate::api::range::Range;
use crate::profile::path::Lengths;
use crate::runtime::loop_shape::{LoopShape, LoopTimes};
use crate::runtime::profiled;
use crate::runtime::record::Worker;
use crate::sys::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, Pad};
use crate::sys::detector::{self, Ignored};
use crate::sys::unwind::call_guarded;
use crate::task::Scheduler;
use std::ffi::{c_int, c_void};
use std::time::Duration;

mod body;
mod offers;

pub use body::{Body, Plain};
use offers::{Offer, Offers, Room};

/// A chunk is at most the units that are left, divided by this number.
const CHUNK_PART: usize = 4;

/// What takes less than `pace::WORTHWHILE`, divided by this number, is one chunk.
const WORTHWHILE_CHUNKS: usize = 4;

/// A rest is long if it takes so many times `pace::WORTHWHILE`.
const LONG: usize = 4;

/// A loop that is expected to take so long shares its first offers without a question, and is
/// measured. (The measurement takes less than 1 µs.)
const WELL_WORTH: Duration = Duration::from_micros(40);

pub struct Loop<B: Body> {
    range: Range,
    /// The most units with which `body` is called at once.
    max_chunk: usize,
    body: B,
    /// The expected shape. None: it is even, or not known.
    shape: Option<LoopShape>,
    findings: Pad<Findings>,
}

/// What the workers find out during the loop. It is apart from what they only read: when a thief
/// writes its pace, the owner's next chunk need not wait for the rest of the loop.
struct Findings {
    /// The workers measure how long their units take, and so far all units of the loop are measured.
    /// (Relaxed: a worker that reads an outdated value measures in vain; the joins order the value
    /// that the worker of the whole loop reads at the end.)
    is_measured: AtomicBool,
    /// The most units that take less than `pace::WORTHWHILE`, as the last measurement of any worker
    /// says; 0: the pace is not known. (Relaxed: the figure orders no other memory.)
    small: AtomicUsize,
    /// In a profiled run, the lengths of the longest path and of the longest burdened path through
    /// a unit, in ticks.
    longest: AtomicU64,
    longest_burdened: AtomicU64,
}

impl<B: Body> Loop<B> {
    /// Calls the body for the whole range, into the value at `into`, at most `max_chunk` units at
    /// once. Returns as `sched_for` does.
    ///
    /// # Safety
    /// The body may be called for these numbers, on any thread. `into` is the place of a value.
    pub unsafe fn run(
        range: Range,
        max_chunk: usize,
        body: B,
        into: *mut c_void,
        worker: &Worker,
    ) -> c_int {
        // SAFETY: `within` waits for the closure and calls it on a worker that it owns, in a task of
        // that worker's run; the body may be called, by the caller's promise.
        unsafe {
            fork::within::<B::Function, _>(body.address(), worker, |mine| {
                detector::ignored(|| {
                    let wake_cost = mine.wakes_at_spawn();
                    let pace = Pace::of_first(mine.is_asked() || wake_cost.is_some());
                    let begun = pace.begun(); // None: nobody wants parts
                    let known =
                        begun.and_then(|_| mine.past_loops.expects(body.address(), range.units()));
                    let expected = known.filter(|&(takes, _)| takes > WELL_WORTH);
                    let lone_time = wake_cost.and_then(|cost| {
                        mine.past_loops.lone_time(cost, body.address(), range.units())
                    });
                    let whole = Loop {
                        range,
                        max_chunk,
                        body,
                        shape: expected.and_then(|(_, shape)| shape),
                        findings: Pad(Findings {
                            is_measured: AtomicBool::new(expected.is_some()),
                            small: AtomicUsize::new(0),
                            longest: AtomicU64::new(0),
                            longest_burdened: AtomicU64::new(0),
                        }),
                    };
                    let expected = expected.map(|(takes, _)| takes);
                    whole.run_on(mine, into, pace, lone_time, expected);
                });
            })
        }
    }

    /// # Safety
    /// As for `run`; the caller owns `worker`.
    unsafe fn run_on(
        &self,
        worker: &Worker,
        into: *mut c_void,
        mut pace: Pace,
        lone_time: Option<Duration>,
        expected: Option<Duration>,
    ) {
        detector::own(self);
        let before = profiled::path_lengths(worker);
        let begun = pace.begun();
        let units = self.range.units();
        // SAFETY: by the caller's promise; the loop may have waited, and have been continued by
        // another worker.
        let (worker, times) = unsafe {
            let done = match lone_time {
                Some(time) => self.begin_alone(time, units, into, worker, &mut pace),
                None => 0,
            };
            let worker = Worker::current_in_run_of(worker.handle());
            let times = if done < units {
                self.share(done, units, into, worker, pace, expected)
            } else {
                LoopTimes::default()
            };
            (Worker::current_in_run_of(worker.handle()), times)
        };
        if let Some(begun) = begun {
            let shape = self.is_measured().then(|| self.shape().corrected(&times));
            let took = begun.elapsed();
            let was_alone = lone_time.is_some();
            worker.past_loops.add(self.body.address(), units, took, was_alone, shape);
            if was_alone {
                worker.past_loops.add_lone(took);
            }
        }
        if let Some(before) = before {
            // Relaxed: the joins order the figures.
            let path = self.findings.longest.load(Ordering::Relaxed);
            let burdened = self.findings.longest_burdened.load(Ordering::Relaxed);
            profiled::note_loop(worker, before, units, Lengths { path, burdened });
        }
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

    /// Calls the body for the units `from` to `to`, into the value at `into`.
    ///
    /// # Safety
    /// As for `run`; the caller owns `worker`.
    #[inline]
    unsafe fn call(&self, from: usize, to: usize, into: *mut c_void, worker: &Worker) {
        let (lo, hi) = (self.range.start_of(from), self.range.start_of(to));
        // SAFETY: by the caller's promise.
        let body = || unsafe { self.body.call(lo, hi, into, worker.handle()) };
        let lengths = profiled::call_aside(worker, || detector::heeded(body));
        if let Some(Lengths { path, burdened }) = lengths {
            let units = (to - from) as u64;
            // Relaxed: the joins order the figures.
            self.findings.longest.fetch_max(path / units, Ordering::Relaxed);
            self.findings.longest_burdened.fetch_max(burdened / units, Ordering::Relaxed);
        }
    }

    /// Does the first of `units` units without offers, as long as an offer would wake a worker, and for
    /// `time` at most: see "Alone at first". Returns how many.
    ///
    /// # Safety
    /// As for `run`; the caller owns `worker`.
    unsafe fn begin_alone(
        &self,
        time: Duration,
        units: usize,
        into: *mut c_void,
        mut worker: &Worker,
        pace: &mut Pace,
    ) -> usize {
        let begun = pace.begin();
        let (mut done, mut chunk) = (0, 1);
        while done < units {
            chunk = chunk.min(self.max_chunk).min(units - done);
            // SAFETY: the caller owns the worker; the rest is its promise.
            unsafe { self.call(done, done + chunk, into, worker) };
            done += chunk;
            if done == units {
                break;
            }
            // SAFETY: as in `share`.
            worker = unsafe { Worker::current_in_run_of(worker.handle()) };
            let taken = begun.elapsed();
            if taken >= time || worker.wakes_at_spawn().is_none() {
                break;
            }
            // So many units take a quarter of what is left, but the pace may change.
            let unit = taken.as_nanos() as usize / done;
            let quarter = (time - taken).as_nanos() as usize / 4;
            chunk = (quarter / unit.max(1)).clamp(1, chunk.saturating_mul(8));
        }
        pace.done += done;
        self.findings.is_measured.store(false, Ordering::Relaxed);
        if done < units {
            pace.measure(&self.findings.small);
        }
        done
    }

    /// Does the units `from` to `to`, into the value at `into`, and offers parts of them to other
    /// workers. `pace` has begun if the caller has taken the units from another worker. `expected`:
    /// how long these units will take, if that is known. Returns how long they took; nothing if the
    /// loop is not measured.
    ///
    /// # Safety
    /// As for `call`.
    unsafe fn share(
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
        let mut times = LoopTimes::default();
        let (first, mut begun) = (from, pace.begun().filter(|_| self.is_measured()));
        let mut chunk = 1;
        let mut limit = ChunkLimit::new();
        let mut knows_pace = self.small() > 0; // else the first offers are shared after a chunk
        loop {
            // SAFETY: the caller owns the worker and the offers.
            let untaken = unsafe { offers.untaken() };
            let is_long = pace.is_begun() && (1..(to - from) / LONG).contains(&self.small());
            if untaken <= usize::from(is_long) && to - from > 1 {
                let is_first = offers.is_unanswered();
                let thieves_hungry = untaken == 0 && offers.answer();
                if thieves_hungry || to - from < 2 * self.small() {
                    pace.measure(&self.findings.small);
                }
                let least = self.small().max(1); // once: the first division goes down to one unit
                while to - from >= 2 * least && !offers.is_full() {
                    let middle = self.middle_of(from, to);
                    let function = self.body.address();
                    // SAFETY: the caller owns the worker; the offers are joined below.
                    let offered = unsafe {
                        offers.push(self, (middle, to), run_offer::<B>, function, worker)
                    };
                    if !offered {
                        break;
                    }
                    to = middle;
                    if !thieves_hungry {
                        break;
                    }
                }
                // SAFETY: the caller owns the worker and the offers.
                unsafe {
                    if is_first && self.small() == 0 && offers.count() > 1 {
                        worker.share(expected);
                    } else if pace.is_begun() {
                        self.share_offers(from, &offers, &pace, worker);
                    }
                }
            }
            // SAFETY: as above.
            let end = unsafe { offers.oldest_untaken() }.map_or(to, |offer| offer.to);
            let most = ((end - from) / CHUNK_PART).max(self.small() / WORTHWHILE_CHUNKS).max(1);
            chunk = chunk.min(most).min(self.max_chunk).min(limit.units()).min(to - from);
            // SAFETY: the caller owns the worker; the rest is its promise.
            unsafe { self.call(from, from + chunk, into, worker) };
            // SAFETY: this is the caller's worker; if the body has waited, the worker that has
            // continued it.
            worker = unsafe { Worker::current_in_run_of(worker.handle()) };
            from += chunk;
            pace.done += chunk;
            if worker.has_outside() {
                worker = worker.give_way();
            }
            limit.add(chunk);
            let learns_pace = !knows_pace && pace.is_begun();
            if offers.count() > 0 && (learns_pace || worker.is_asked()) {
                pace.measure(&self.findings.small);
                knows_pace = self.small() > 0;
                // SAFETY: the caller owns the worker and the offers.
                unsafe { self.share_offers(from, &offers, &pace, worker) };
            }
            chunk = chunk.saturating_mul(2);
            while from == to {
                // SAFETY: as above.
                let untaken = unsafe { offers.untaken() };
                if let (0, Some(since)) = (untaken, begun) {
                    begun = None;
                    times = self.shape().times(first..from, self.range.units(), since.elapsed());
                }
                let Some(offer) = offers.pop() else { return times };
                // SAFETY: the caller owns the worker and the offer, which is not joined yet.
                let offer = unsafe { &*offer };
                // SAFETY: as above.
                let value = unsafe { offer.join(run_offer::<B>, worker) };
                // A thief has taken the offer since `untaken` looked, or has given it back.
                if self.is_measured() && value.is_none() != begun.is_some() {
                    self.findings.is_measured.store(false, Ordering::Relaxed);
                }
                match value {
                    None => (from, to) = (offer.from, offer.to),
                    // SAFETY: the offer's task has ended. The first unit of the offer is the one
                    // after the last unit that is done.
                    Some(value) => unsafe {
                        if self.is_measured() {
                            times += offer.times();
                        }
                        detector::heeded(|| self.body.combine(into, B::place(&value)));
                    },
                }
                // SAFETY: as after the body: the join may have waited, also for units that it got
                // back, and so may the combination.
                worker = unsafe { Worker::current_in_run_of(worker.handle()) };
            }
        }
    }

    /// Shares the offers with thieves, if the pace is known and the oldest offer that nobody has taken
    /// is worth a theft. The caller will do the units from `from` on.
    ///
    /// # Safety
    /// The caller owns `worker`, which has made these offers.
    unsafe fn share_offers(
        &self,
        from: usize,
        offers: &Offers<Self, B::Value>,
        pace: &Pace,
        worker: &Worker,
    ) {
        let small = self.small();
        // SAFETY: by the caller's promise. (An offer that is younger is expected to take less time.)
        let Some(oldest) = (unsafe { offers.oldest_untaken() }) else { return };
        if (1..=oldest.to - oldest.from).contains(&small) {
            // SAFETY: the caller owns the worker.
            unsafe { worker.share(Some(pace.time_of(oldest.to - from, small))) };
        }
    }
}

/// The task of an offer.
///
/// # Safety
/// `offer` points to an offer that its owner has not joined; `s` is the worker that runs the task.
unsafe extern "C" fn run_offer<B: Body>(offer: *mut c_void, s: *mut Scheduler) {
    // SAFETY: the offer and the loop live until the offer is joined, by the caller's promise.
    let (offer, worker) = unsafe { (&*offer.cast::<Offer<Loop<B>, B::Value>>(), Worker::of(s)) };
    // SAFETY: as above.
    let whole = unsafe { offer.whole_loop() };
    let _ignored = Ignored::begin();
    // SAFETY: as above.
    let value = if offer.is_back(worker) { None } else { unsafe { whole.body.value() } };
    let Some(value) = value else {
        profiled::note_not_called(worker);
        return;
    };
    let into = B::place(&value);
    // SAFETY: the loop lives until the offer is joined, its body may be called, and the value is
    // this task's.
    let times = call_guarded::<B::Function, _>(|| unsafe {
        whole.share(offer.from, offer.to, into, worker, Pace::from_now(), None)
    });
    // SAFETY: this is the offer's task.
    unsafe { offer.done(value, whole.is_measured().then_some(times)) };
}
