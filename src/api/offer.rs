//! Parts of a range that a worker offers to others: the common base of [`loops`](super::loops) and
//! [`reduce`](super::reduce), which decide when a worker divides its part.
//!
//! ```text
//! from       to
//!  |...own....|....offer 2.....|...........offer 1............|..................offer 0 ...
//! ```
//! A worker divides its part of the range, offers the upper piece, and keeps the lower one. An
//! offer is a forked task. Thieves take the oldest offer first. When the worker has done its own
//! piece, it joins the youngest offer: if nobody has begun the offer, the worker takes it back and
//! does its units; otherwise it waits for the thief. While it waits, it may run other parts of the
//! same range on top of the wait (`Awaited::parts`).
//!
//! # Offers within reach
//!
//! An offer is in the owner's deque, whose younger part is private (`queue::split`). A thief that
//! finds only private offers waits until the owner pops, or interrupts it by a raid. In a virtual
//! machine a raid takes some 15 µs. Three rules make raids rare:
//!
//! - Between two units or chunks the owner publishes its offers if thieves have asked.
//! - Once the [`pace`](crate::pace) is known, the owner publishes offers unasked, if the oldest one
//!   is worth a theft.
//! - Before the pace is known, a worker publishes its first offers if at least two others wait for
//!   tasks. (A single one gets the first offer, which is already public:
//!   `policy::stealing::eager`.)
//!
//! A thief measures the pace after its first units, and the first worker after 2 µs, if others were
//! idle at the beginning. (If all are busy, a loop reads no clock until a thief comes.) A worker
//! that publishes its offers also wakes several sleepers, if the rest takes several times as long
//! as a wake-up. (With these rules, loops of 0.3 and 1 ms with unequal units take 0 to 5 % longer
//! on two workers than with libgomp's best schedule, and without them 5 to 12 %:
//! `bench_c/loops.c`.)
//!
//! # Alone at first
//!
//! To wake a worker costs the waker 2 to 15 µs, and the woken one runs 14 to 50 µs later. So if all
//! others sleep, and the last loop with the same body was too short for a wake-up, a worker begins
//! without offers. If the loop takes longer than expected, and at least as long as a wake-up takes
//! in this run, the worker makes offers, and the first of them wakes a sleeper (ski rental, as in
//! `idle::Patience`). So a short loop after a pause is not slower than a serial one. Short loops
//! that follow each other closely are together worth a wake-up. If such a loop takes longer than a
//! wake-up, the worker tries a wake-up, and compares the time with the time of the loop on one
//! worker.
//!
//! Rejected: to begin alone with an unknown body. Its first unit may be long, and all others would
//! sleep until its end (c_tests/loops.c).

use crate::api::fork::Forked;
use crate::pace::Pace;
use crate::pace::shape::LoopShape;
use crate::runtime::forked;
use crate::runtime::record::Worker;
use crate::sys::atomic::AtomicUsize;
use crate::sys::detector::Ignored;
use crate::sys::time::Instant;
use crate::sys::unwind::{ProgramFunction, call_guarded};
use crate::task::{Scheduler, Task};
use std::ffi::c_void;
use std::time::Duration;

/// The data of an offer besides its units: its task's input, and the place of the task's result.
pub trait Part: Sized {
    /// The kind of the program's function that the part calls, for messages.
    type Function: ProgramFunction;

    /// The address of the data that all parts of the range share.
    fn whole(&self) -> *const ();

    /// The offer's task: does its units.
    ///
    /// # Safety
    /// The caller is the offer's task, and owns `worker`.
    unsafe fn run(offer: &Offer<Self>, worker: &Worker);

    /// Notes that `worker` now waits for the offer's task; None: it runs another part during its
    /// wait.
    #[inline(always)]
    fn await_on(&self, _worker: Option<&Worker>) {}
}

/// Units that another worker may do.
pub struct Offer<P> {
    task: Forked,
    pub from: usize,
    pub to: usize,
    pub part: P,
}

impl<P: Part> Offer<P> {
    /// An offer that `make` has not made yet.
    #[inline(always)]
    pub fn new((from, to): (usize, usize), part: P) -> Self {
        Offer { task: Forked::unset(), from, to, part }
    }

    /// Offers the units to other workers. `function` is the address of the program's function.
    /// Returns false if no queue has room.
    ///
    /// # Safety
    /// The caller owns `worker`, and joins the offer before the offer and the shared data end.
    #[inline(always)]
    pub unsafe fn make(&self, function: usize, worker: &Worker) -> bool {
        let offer = (&raw const *self).cast_mut().cast();
        // SAFETY: `run_offer` accepts the offer, which lives until it is joined.
        unsafe { self.task.offer(run_offer::<P>, offer, function, worker) }
    }

    /// True if no thief has taken the offer.
    #[inline]
    pub fn is_untaken(&self) -> bool {
        self.task.is_untaken()
    }

    /// Publishes the worker's offers, and returns true, if the pace is known and this offer, the
    /// oldest that nobody has taken, is worth a theft. (Younger ones are expected to take less
    /// time.) `worker` has made the offer, and will do the units from `from` on.
    pub fn publish(&self, from: usize, pace: &Pace, small: usize, worker: &Worker) -> bool {
        let pays = (1..=self.to - self.from).contains(&small);
        if pays {
            worker.publish_tasks(Some(pace.time_of(self.to - from, small)));
        }
        pays
    }

    /// Joins the offer. Returns true if nobody had begun it: then its units are the caller's again.
    ///
    /// # Safety
    /// The caller owns `worker` and the offer, which is not joined yet.
    #[inline(always)]
    pub unsafe fn take_back(&self, worker: &Worker) -> bool {
        self.part.await_on(Some(worker));
        let is_part = |task: Task| {
            let Some((function, offer)) = forked::call_of(task) else { return false };
            let is = function == run_offer::<P> as *const () as usize && {
                // SAFETY: the function's closure is an offer, which is not joined before it has
                // run.
                let part = unsafe { &(*offer.cast::<Self>()).part };
                part.whole() == self.part.whole()
            };
            if is {
                self.part.await_on(None);
            }
            is
        };
        // SAFETY: the task was forked and is not joined yet.
        unsafe { self.task.take_back_amid(Some(&is_part), worker) }
    }
}

/// The task of an offer.
///
/// # Safety
/// `offer` points to an offer that its owner has not joined; `s` is the worker that runs the task.
unsafe extern "C" fn run_offer<P: Part>(offer: *mut c_void, s: *mut Scheduler) {
    // SAFETY: the offer lives until it is joined; `s` is the worker that runs the task.
    let (offer, worker) = unsafe { (&*offer.cast::<Offer<P>>(), Worker::of(s)) };
    let _ignored = Ignored::begin();
    // SAFETY: this is the offer's task, on its own worker.
    call_guarded::<P::Function, _>(|| unsafe { P::run(offer, worker) });
}

/// A loop or reduction that has begun. Its time is a hint for the next one with the same body.
pub struct Beginning {
    body: usize,
    units: usize,
    /// None if the time is not measured.
    begun: Option<Instant>,
    is_alone: bool,
}

/// A worker that makes no offers yet: see "Alone at first" above.
pub struct Alone {
    since: Instant,
    /// It makes offers after this time.
    time: Duration,
    /// It reads the clock again when it has done this many units.
    pub next_look: usize,
}

impl Beginning {
    /// Begins a loop on `worker`, which the caller owns. `body` is the address of the program's
    /// function. With `at_once` the pace is measured even if no worker is idle.
    #[inline(always)]
    pub fn new(
        worker: &Worker,
        body: usize,
        units: usize,
        at_once: bool,
    ) -> (Self, Pace, Option<Alone>) {
        let wake_cost = worker.wakes_at_spawn();
        let pace = Pace::of_first(at_once || wake_cost.is_some());
        let begun = pace.begun();
        let time = wake_cost.and_then(|cost| worker.past_loops.lone_time(cost, body, units));
        let alone = time.zip(begun).map(|(time, since)| Alone { since, time, next_look: 1 });
        (Beginning { body, units, begun, is_alone: alone.is_some() }, pace, alone)
    }

    /// The expected time and shape of the loop, if they are known and its time is measured.
    pub fn expects(&self, worker: &Worker) -> Option<(Duration, Option<LoopShape>)> {
        self.begun.and_then(|_| worker.past_loops.expects(self.body, self.units))
    }

    /// Ends the loop, on `worker`, which the caller owns. `shape` is None if it was not measured.
    #[inline(always)]
    pub fn end(self, worker: &Worker, shape: Option<LoopShape>) {
        let Some(begun) = self.begun else { return };
        let took = begun.elapsed();
        worker.past_loops.add(self.body, self.units, took, self.is_alone, shape);
    }
}

impl Alone {
    /// True if the worker makes no offers yet. If that has just changed, `alone` becomes None, and
    /// the pace is measured.
    #[inline]
    pub fn is_so(
        alone: &mut Option<Alone>,
        pace: &mut Pace,
        small: &AtomicUsize,
        worker: &Worker,
    ) -> bool {
        let Some(state) = alone else { return false };
        let lasts = pace.done < state.next_look || state.lasts(pace.done, worker);
        if !lasts {
            *alone = None;
            pace.measure(small);
        }
        lasts
    }

    /// True if the worker still makes no offers after `done` > 0 units. Then sets `next_look`.
    #[cold]
    pub fn lasts(&mut self, done: usize, worker: &Worker) -> bool {
        let taken = self.since.elapsed();
        if taken >= self.time || worker.wakes_at_spawn().is_none() {
            return false;
        }
        // Reads the clock again after about a quarter of the time left, since the pace may change.
        let unit = taken.as_nanos() as usize / done;
        let quarter = (self.time - taken).as_nanos() as usize / 4;
        self.next_look = done + (quarter / unit.max(1)).clamp(1, done.saturating_mul(8));
        true
    }
}
