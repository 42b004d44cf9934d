//! Scans over a range of numbers: `sched_scan`. This is one file because the steps of the leader
//! and of its helpers are one protocol.
//!
//! # What is computed
//!
//! The range consists of parts of `grain` numbers ([`range`](super::range)). `S(k)` is the value of
//! part k alone, which the body adds to a copy of the identity. `B(k)` is the value of all parts
//! before k: `B(0)` is the identity, and `B(k + 1)` is `B(k)` combined with `S(k)`. The body gets
//! `B(k)`, and writes the results of part k: each is `B(k)` combined with the value of the part's
//! numbers so far. So all brackets depend on the parts alone, and any worker may compute any part
//! at any time.
//!
//! There are two ways to do a part:
//!
//! - *Pass*: if `B(k)` is known, one call of the body computes `S(k)` and writes the results.
//! - *Fold*, and later *write*: one call computes `S(k)` without `B(k)`; when `B(k)` is known, a
//!   second call writes the results. This is twice the work, but parts can be folded in any order.
//!
//! # Protocol
//!
//! The worker that begins, the *leader*, passes parts in ascending order. If nobody helps, it
//! passes all: one call for each part, as in a serial program. Otherwise, with p workers:
//!
//! ```text
//!        from            ahead                          end             to
//! round 1 |....passed......|....folded by helpers.........|...............|
//! then                     |....written by anyone.........|...round 2.....|
//! ```
//! 1. The leader passes the first `1 / (p + 1)` of the parts, and offers the parts behind them for
//!    folding. A helper that takes the offer offers the same to others, and *claims* parts in
//!    ascending order from a counter, until the leader closes the counter.
//! 2. When the leader arrives at `ahead`, it closes the counter. All parts from `ahead` to `end`
//!    are then folded, or are being folded, and nobody folds others. It joins the offer, which
//!    waits for at most one claim of each helper, and combines the values: a chain of combinations.
//! 3. It offers the folded parts for writing, in halves as a reduction is forked, and begins the
//!    next round at `end`.
//!
//! If the p workers are equally fast and the parts equally long, round 1 folds all parts but the
//! first and the last `1 / (p + 1)`, and then all workers write: `2 / (p + 1)` of the time of a
//! serial scan. This is the least for a scan of twice the work. If no helper has come, the leader
//! has lost nothing, and offers the next `p / (p + 1)` of the rest.
//!
//! *A claimed part is folded.* The exchange that closes the counter orders the claims: a helper
//! whose addition comes before it has a number below `end`, and folds these parts before its task
//! ends; a helper that comes later gets a number beyond all parts. The join of the offer waits for
//! the helper's task, which joins the tasks of the next helpers. So no further synchronisation is
//! needed, and the counter's accesses are Relaxed. After a request to stop ([`stop`](super::stop))
//! claimed parts may be left out; then the leader does not look at their values.
//!
//! *A helper that is not needed.* An offer that the leader takes back has no effect. Under some
//! kinds its task runs on top of the join; then the counter is closed, and the task does nothing.
//!
//! [`offer`](super::offer) says how offers come within the reach of thieves, and when a worker
//! begins alone. Parts that are not worth a theft by the [`pace`](crate::pace) are passed without
//! offers.
//!
//! # Memory
//!
//! A window of parts can be folded at a time. The table has two values for each of its parts:
//!
//! ```text
//! S(k % window), ...  | B(k % window), ...
//! ```
//! It is allocated when the leader makes its first offer. If there is no memory, the leader passes
//! all parts. So a scan fails only if its first two values cannot be allocated. If the range has
//! more parts than the window, the parts of each window are done before the next ones begin.
//!
//! Rejected: to fold all parts first and then to write all, or halves of a tree as in
//! [`reduce`](super::reduce). On two workers the first takes as long as one worker that passes all,
//! and the second, whose thief folds a half of the range, `3 / 4` of that time instead of `2 / 3`.
//! Rejected: to add each part's numbers directly to `B(k)`. A result would then cost one operation
//! instead of two, but one worker would need two calls for each part to get the same brackets.

use crate::api::fork;
use crate::api::offer::{Alone, Beginning, Offer, Part};
use crate::api::range::Range;
use crate::api::reduce::{Combine, INLINE_BYTES};
use crate::api::scratch::{Few, Many, Scratch};
use crate::api::stop::Stop;
use crate::pace::Pace;
use crate::runtime::record::{Run, Worker};
use crate::sys::atomic::{AtomicPtr, AtomicUsize, Ordering};
use crate::sys::detector::{self, Ignored};
use crate::sys::errno;
use crate::sys::unwind::Scanner;
use crate::task::Scheduler;
use std::ffi::{c_int, c_void};
use std::ptr;

/// The most bytes of the table, if these are enough for `MIN_WINDOW` parts; and the most parts.
const TABLE_BYTES: usize = 1 << 20;
const MIN_WINDOW: usize = 16;
const MAX_WINDOW: usize = 1024;

/// The most parts that are done without offers, if all of them together are not worth a theft.
const MOST_UNOFFERED: usize = 8;

/// A scan of at least this many parts measures the pace even if no thief has asked.
const MANY: usize = 64;

/// The most rounds whose folded parts the leader has on offer. (In later rounds, it helps to write
/// the folded parts before it passes the next ones. So its stack has a limit.)
const MOST_PENDING: usize = 8;

/// A helper offers the parts to this many further helpers.
const FURTHER: usize = 2;

/// A claim takes at most the time that is worth a theft, divided by this number.
const CLAIMS: usize = 4;

/// In `Round::next`: no part can be claimed.
const CLOSED: usize = usize::MAX / 2;

/// The `body` of a scan: from, to, accumulator, the value before or NULL, context, worker.
pub type Body =
    unsafe extern "C" fn(usize, usize, *mut c_void, *const c_void, *mut c_void, *mut Scheduler);

#[derive(Clone, Copy)]
pub struct Scan {
    pub size: usize,
    pub identity: *const c_void,
    pub body: Body,
    pub combine: Combine,
    pub ctx: *mut c_void,
}

/// The data that all parts of a scan share.
struct Shared {
    scan: Scan,
    range: Range,
    stop: Stop,
    /// The most parts that are not worth a theft by the last measurement of any worker; 0: the pace
    /// is not known. (Relaxed: the number orders no other memory.)
    small: AtomicUsize,
    /// The number of the table's parts, and the distance between two values.
    window: usize,
    stride: usize,
    /// Null: there is none yet. (Relaxed: the leader writes it; a fork orders it before the others'
    /// loads.)
    table: AtomicPtr<u8>,
}

/// The parts that helpers fold in a round.
struct Round {
    /// The next part that nobody has claimed, or at least `CLOSED`.
    next: AtomicUsize,
    /// The end of the parts that may be claimed.
    to: usize,
    /// The number of helpers that the parts have been offered to, and the greatest number allowed.
    asked: AtomicUsize,
    helpers: usize,
}

/// Parts that are on offer.
struct Piece {
    whole: *const Shared,
    /// The round, for parts that are to be folded; null: they are folded and are to be written.
    round: *const Round,
}

/// The part that only the leader has.
struct Leader {
    values: Values,
    /// The workers that could help it; 0 if there is no memory for a table.
    helpers: usize,
    /// None if it has made no offer yet.
    table: Option<Many>,
}

/// The places of the leader's two values.
#[derive(Clone, Copy)]
struct Values {
    /// `B` of the next part.
    before: *mut c_void,
    /// The place for `S` of the part that the leader passes.
    acc: *mut c_void,
}

/// The state of a worker in its part of the range.
struct Walk<'a> {
    /// The calling thread owns it.
    worker: &'a Worker,
    pace: Pace,
    /// The parts of the largest offer made since offers were last published.
    unpublished: usize,
    /// Some while the worker makes no offers yet.
    alone: Option<Alone>,
}

impl Scan {
    /// Does all parts, and writes the value of the range to `result` if that is not NULL. Returns
    /// what `sched_scan` returns.
    ///
    /// # Safety
    /// Both functions accept `ctx` and places of `size` bytes, on any thread. `identity` and
    /// `result`, if it is not NULL, are places of `size` bytes.
    pub unsafe fn run(&self, range: Option<Range>, result: *mut c_void, worker: &Worker) -> c_int {
        let size = self.size;
        let scratch = Scratch::<INLINE_BYTES>::new(size);
        let (Ok(mut before), Ok(mut acc)) = (scratch, Scratch::<INLINE_BYTES>::new(size)) else {
            return errno::failed(libc::ENOMEM);
        };
        let values = Values { before: before.start().cast(), acc: acc.start().cast() };
        // SAFETY: both places have `size` bytes.
        unsafe { ptr::copy_nonoverlapping(self.identity.cast::<u8>(), before.start(), size) };
        if let Some(range) = range {
            // SAFETY: both functions accept places of `size` bytes, on any thread.
            let outcome = unsafe { self.run_parts(range, values, worker) };
            if outcome != 0 {
                return outcome;
            }
        }
        if !result.is_null() {
            // SAFETY: both places have `size` bytes.
            unsafe { ptr::copy_nonoverlapping(before.start(), result.cast(), size) };
        }
        0
    }

    /// Does all parts, and leaves the value of the range at `values.before`, where the identity is.
    ///
    /// # Safety
    /// The contract of `run`.
    unsafe fn run_parts(&self, range: Range, values: Values, worker: &Worker) -> c_int {
        // Small values are computed on stacks and then copied; others in the table, on cache lines
        // of their own.
        let align = if self.size <= INLINE_BYTES { 16 } else { 64 };
        let stride = self.size.next_multiple_of(align);
        let shared = Shared {
            scan: *self,
            range,
            stop: Stop::default(),
            small: AtomicUsize::new(0),
            window: (TABLE_BYTES / 2 / stride).clamp(MIN_WINDOW, MAX_WINDOW).min(range.units()),
            stride,
            table: AtomicPtr::default(),
        };
        detector::own(&shared);
        // SAFETY: `within` waits for the closure and calls it on its own worker; the caller
        // promises the rest.
        let outcome = unsafe {
            fork::within::<Scanner, _>(self.body as usize, worker, |mine| {
                let units = range.units();
                let at_once = mine.is_asked() || units >= MANY;
                let (beginning, pace, alone) =
                    Beginning::new(mine, self.body as usize, units, at_once);
                let mut walk = Walk { worker: mine, pace, unpublished: 0, alone };
                let mut leader = Leader { values, helpers: helpers(mine), table: None };
                shared.stop.begin(mine, || {
                    detector::ignored(|| shared.lead_all(&mut leader, &mut walk));
                });
                if !shared.stop.is_asked() {
                    beginning.end(walk.worker, None);
                }
            })
        };
        shared.stop.result(outcome)
    }
}

/// The workers that could help the caller, which occupies `worker`.
fn helpers(worker: &Worker) -> usize {
    let workers = worker.with_run(Run::workers).unwrap_or(1);
    let is_worker = worker.mine().is_some_and(|mine| !mine.is_guest());
    workers - usize::from(is_worker)
}

impl Shared {
    /// Does all parts, as the leader.
    ///
    /// # Safety
    /// The contract of `Scan::run`; the caller owns the worker of `walk`.
    unsafe fn lead_all(&self, leader: &mut Leader, walk: &mut Walk) {
        let (mut from, units) = (0, self.range.units());
        while from < units && !self.stop.is_asked() {
            let to = if leader.helpers > 0 { from + self.window.min(units - from) } else { units };
            // SAFETY: the caller owns the worker of `walk`; the values have `size` bytes.
            unsafe { self.lead(from, to, leader, MOST_PENDING, walk) };
            from = to;
        }
    }

    /// Does the parts `from` to `to`, which are within a window, as the leader. `pending` is the
    /// number of rounds whose folded parts may be on offer.
    ///
    /// # Safety
    /// The contract of `lead_all`.
    unsafe fn lead(
        &self,
        mut from: usize,
        to: usize,
        leader: &mut Leader,
        pending: usize,
        walk: &mut Walk,
    ) {
        while from < to && !self.stop.is_asked() {
            let alone = self.parts_alone(to - from, leader, walk);
            if alone > 0 || !self.has_table(leader) {
                let until = from + alone.max(1);
                // SAFETY: the caller owns the worker of `walk`; the values have `size` bytes.
                unsafe { self.pass_all(from, until, leader.values, walk) };
                from = until;
                continue;
            }
            let small = self.small.load(Ordering::Relaxed);
            let own = ((to - from) / (leader.helpers + 2)).max(small.min(to - from - 2)).max(1);
            let ahead = from + own;
            // SAFETY: the caller owns the worker of `walk`, and there is a table.
            let end = unsafe { self.pass_and_fold(from, ahead, to, leader, walk) };
            from = end;
            if end == ahead || self.stop.is_asked() {
                continue;
            }
            // SAFETY: the parts are folded; the rest is the caller's promise.
            unsafe {
                self.chain(ahead, end, leader.values, walk);
                if pending == 0 {
                    self.write(ahead, end, walk);
                    continue;
                }
                let offer = Offer::new((ahead, end), Piece { whole: self, round: ptr::null() });
                detector::own(&offer);
                let offered = self.make(&offer, walk);
                self.lead(end, to, leader, pending - 1, walk);
                if !offered || self.take_back(&offer, walk) {
                    self.write(ahead, end, walk);
                }
            }
            return;
        }
    }

    /// The number of parts that the leader, with `left` parts left, passes without an offer.
    #[inline]
    fn parts_alone(&self, left: usize, leader: &Leader, walk: &mut Walk) -> usize {
        // With two parts left, a helper could fold the second; but to write it takes as long.
        let may_offer = leader.helpers > 0 && left >= 3;
        if !may_offer || Alone::is_so(&mut walk.alone, &mut walk.pace, &self.small, walk.worker) {
            return 1;
        }
        walk.pace.measure(&self.small);
        let ahead = left - left / (leader.helpers + 2);
        if walk.pace.are_short(ahead, &self.small) { left.min(MOST_UNOFFERED) } else { 0 }
    }

    /// Allocates the table if there is none. Returns false if there is no memory for it.
    fn has_table(&self, leader: &mut Leader) -> bool {
        if leader.table.is_none() {
            let bytes = self.stride.checked_mul(2 * self.window);
            leader.table = bytes.and_then(|bytes| Many::new(bytes).ok());
            match &leader.table {
                Some(table) => self.table.store(table.start(), Ordering::Relaxed),
                None => leader.helpers = 0,
            }
        }
        leader.table.is_some()
    }

    /// Passes the parts `from` to `ahead`, while helpers fold parts from `ahead` on, but not the
    /// last before `to`, whose value no other part needs. Returns the end of the folded parts.
    ///
    /// # Safety
    /// The contract of `lead`; there is a table.
    #[inline(never)] // its frame is not needed during the next round
    unsafe fn pass_and_fold(
        &self,
        from: usize,
        ahead: usize,
        to: usize,
        leader: &Leader,
        walk: &mut Walk,
    ) -> usize {
        let (next, asked, helpers) = (AtomicUsize::new(ahead), AtomicUsize::new(1), leader.helpers);
        let round = Round { next, to: to - 1, asked, helpers };
        let offer = Offer::new((ahead, to - 1), Piece { whole: self, round: &raw const round });
        detector::own(&round);
        detector::own(&offer);
        // SAFETY: the caller owns the worker of `walk`, and joins the offer.
        unsafe {
            let offered = self.make(&offer, walk);
            self.pass_all(from, ahead, leader.values, walk);
            let end = round.next.swap(CLOSED, Ordering::Relaxed).min(round.to);
            if !offered || self.take_back(&offer, walk) { ahead } else { end }
        }
    }

    /// Folds parts of the round that are not claimed yet.
    ///
    /// # Safety
    /// The contract of `Scan::run`; the caller owns the worker of `walk`, and the round lives.
    unsafe fn fold(&self, round: *const Round, walk: &mut Walk) {
        // SAFETY: the leader joins this task before the round ends.
        let Round { next, to, asked, helpers } = unsafe { &*round };
        let from = next.load(Ordering::Relaxed);
        if from >= *to {
            return;
        }
        let further: [_; FURTHER] =
            std::array::from_fn(|_| Offer::new((from, *to), Piece { whole: self, round }));
        detector::own(&further);
        let mut offered = 0;
        // SAFETY: the offers are joined below; the rest is the caller's promise.
        unsafe {
            for offer in &further {
                let is_enough = asked.fetch_add(1, Ordering::Relaxed) >= *helpers;
                if is_enough || !self.make(offer, walk) {
                    break;
                }
                offered += 1;
            }
            loop {
                let claim = (self.small.load(Ordering::Relaxed) / CLAIMS).max(1);
                let first = next.fetch_add(claim, Ordering::Relaxed);
                let until = first.saturating_add(claim).min(*to);
                if first >= until || self.stop.is_asked() {
                    break;
                }
                (first..until).for_each(|part| self.fold_part(part, walk));
            }
            for offer in further[..offered].iter().rev() {
                self.take_back(offer, walk); // what is taken back needs no work
            }
        }
    }

    /// Computes `B` of the parts `from` to `to`, and of the next part, from their `S`.
    ///
    /// # Safety
    /// The contract of `lead`; the parts are folded.
    unsafe fn chain(&self, from: usize, to: usize, values: Values, walk: &mut Walk) {
        for part in from..to {
            let (sum, before) = self.places(part);
            // SAFETY: the places have `size` bytes and do not overlap; the caller promises the
            // rest.
            unsafe {
                let heeded = Ignored::pause();
                ptr::copy_nonoverlapping(values.before.cast::<u8>(), before.cast(), self.scan.size);
                (self.scan.combine)(values.before, sum, self.scan.ctx);
                drop(heeded);
                walk.renew();
            }
        }
    }

    /// Writes the results of the folded parts `from` to `to`, at least one.
    ///
    /// # Safety
    /// The contract of `Scan::run`; the caller owns the worker of `walk`; the parts have their `B`.
    unsafe fn write(&self, from: usize, to: usize, walk: &mut Walk) {
        // SAFETY: the caller owns the worker of `walk`, and the parts have their `B`.
        unsafe {
            let is_few = to - from <= MOST_UNOFFERED && !walk.pace.is_unknown();
            if to - from == 1 || is_few && walk.pace.are_short(to - from, &self.small) {
                (from..to).for_each(|part| self.write_part(part, walk));
            } else {
                self.write_halves(from, to, walk);
            }
        }
    }

    /// Like `write`, for at least two parts.
    ///
    /// # Safety
    /// The contract of `write`.
    #[inline(never)]
    unsafe fn write_halves(&self, from: usize, to: usize, walk: &mut Walk) {
        let middle = from + (to - from) / 2;
        let offer = Offer::new((middle, to), Piece { whole: self, round: ptr::null() });
        detector::own(&offer);
        // SAFETY: the offer is joined; the rest is the caller's promise.
        unsafe {
            let offered = self.make(&offer, walk);
            self.write(from, middle, walk);
            if !offered || self.take_back(&offer, walk) {
                self.write(middle, to, walk);
            }
        }
    }

    /// Passes the parts `from` to `to`.
    ///
    /// # Safety
    /// The contract of `lead`.
    #[inline]
    unsafe fn pass_all(&self, from: usize, to: usize, values: Values, walk: &mut Walk) {
        for part in from..to {
            if self.stop.is_asked() {
                return;
            }
            // SAFETY: the caller owns the worker of `walk`; both values have `size` bytes.
            unsafe {
                self.call(part, values.acc, values.before, walk);
                if self.stop.is_asked() {
                    return; // the body may have stopped the scan and left no value
                }
                let heeded = Ignored::pause();
                (self.scan.combine)(values.before, values.acc, self.scan.ctx);
                drop(heeded);
                walk.renew();
            }
            self.publish_if_asked(walk);
        }
    }

    /// Computes `S` of a part.
    ///
    /// # Safety
    /// The contract of `fold`.
    #[inline]
    unsafe fn fold_part(&self, part: usize, walk: &mut Walk) {
        let (sum, _) = self.places(part);
        let mut few = Few::<INLINE_BYTES>::empty();
        // SAFETY: the body accepts places of `size` bytes, which both places have.
        unsafe {
            if self.scan.size <= INLINE_BYTES {
                self.call(part, few.start().cast(), ptr::null(), walk);
                ptr::copy_nonoverlapping(few.start(), sum.cast(), self.scan.size);
            } else {
                self.call(part, sum, ptr::null(), walk);
            }
        }
        self.publish_if_asked(walk);
    }

    /// Writes the results of a part that has its `B`.
    ///
    /// # Safety
    /// The contract of `write`.
    #[inline]
    unsafe fn write_part(&self, part: usize, walk: &mut Walk) {
        let (sum, before) = self.places(part);
        let mut few = Few::<INLINE_BYTES>::empty();
        let acc = if self.scan.size <= INLINE_BYTES { few.start().cast() } else { sum };
        // SAFETY: the part has its `B`, and `acc` has `size` bytes.
        unsafe { self.call(part, acc, before, walk) };
        self.publish_if_asked(walk);
    }

    /// Calls the body for a part, with a copy of the identity at `acc`, unless the scan is stopped.
    ///
    /// # Safety
    /// The contract of `Scan::run`; the caller owns the worker of `walk`; `acc` has `size` bytes.
    #[inline(always)]
    unsafe fn call(&self, part: usize, acc: *mut c_void, before: *const c_void, walk: &mut Walk) {
        let Scan { size, identity, body, ctx, .. } = self.scan;
        let (lo, hi) = self.range.ends_of(part);
        // SAFETY: the body accepts these arguments, and the caller owned the worker of `walk`.
        unsafe {
            let heeded = Ignored::pause();
            ptr::copy_nonoverlapping(identity.cast::<u8>(), acc.cast(), size);
            if !self.stop.is_asked() {
                body(lo, hi, acc, before, ctx, walk.worker.handle());
            }
            drop(heeded);
            walk.renew();
        }
        walk.pace.done += 1;
        if walk.worker.has_outside() {
            walk.worker = walk.worker.give_way();
        }
    }

    /// The places of `S` and `B` of a part in the table.
    fn places(&self, part: usize) -> (*mut c_void, *mut c_void) {
        let table = self.table.load(Ordering::Relaxed);
        let place = part % self.window;
        let at = |place: usize| table.wrapping_add(place * self.stride).cast();
        (at(place), at(self.window + place))
    }

    /// Makes the offer, and publishes it if it is worth a theft. Returns false if it is not made.
    ///
    /// # Safety
    /// The contract of `Offer::make`, for the worker of `walk`.
    #[inline]
    unsafe fn make(&self, offer: &Offer<Piece>, walk: &mut Walk) -> bool {
        // SAFETY: the caller owns the worker of `walk`, and joins the offer before its data end.
        let made = unsafe { offer.make(self.scan.body as usize, walk.worker) };
        if made {
            let (units, small) = (offer.to - offer.from, self.small.load(Ordering::Relaxed));
            walk.unpublished = walk.unpublished.max(units);
            if small == 0 {
                walk.worker.publish_tasks(None);
            } else if walk.pace.are_long(units, small) {
                walk.publish(small);
            }
        }
        made
    }

    /// Joins the offer. Returns true if nobody had begun it.
    ///
    /// # Safety
    /// The contract of `Offer::take_back`, for the worker of `walk`.
    #[inline]
    unsafe fn take_back(&self, offer: &Offer<Piece>, walk: &mut Walk) -> bool {
        // SAFETY: the caller owns the worker of `walk` and the offer, which is not joined yet.
        unsafe {
            let is_back = offer.take_back(walk.worker);
            if !is_back {
                walk.renew(); // the join may have waited
                walk.pace.measure(&self.small);
            }
            is_back
        }
    }

    /// If thieves have asked, measures the pace, and publishes offers that are worth a theft.
    #[inline(always)]
    fn publish_if_asked(&self, walk: &mut Walk) {
        if walk.unpublished > 0 && walk.worker.is_asked() {
            self.publish_offers(walk);
        }
    }

    #[cold]
    #[inline(never)]
    fn publish_offers(&self, walk: &mut Walk) {
        walk.pace.measure(&self.small);
        let small = self.small.load(Ordering::Relaxed);
        if (1..=walk.unpublished).contains(&small) {
            walk.publish(small);
        }
    }
}

impl Walk<'_> {
    /// Finds the caller's worker after a call that may have waited.
    ///
    /// # Safety
    /// The caller owned `worker` before the call.
    #[inline(always)]
    unsafe fn renew(&mut self) {
        // SAFETY: the caller owned the worker before, so this thread is a worker of the run.
        self.worker = unsafe { Worker::current_in_run_of(self.worker.handle()) };
    }

    fn publish(&mut self, small: usize) {
        self.worker.publish_tasks(Some(self.pace.time_of(self.unpublished, small)));
        self.unpublished = 0;
    }
}

impl Part for Piece {
    type Function = Scanner;

    fn whole(&self) -> *const () {
        self.whole.cast()
    }

    unsafe fn run(offer: &Offer<Self>, worker: &Worker) {
        let Piece { whole, round } = offer.part;
        // SAFETY: the scan and the round live until the offer is joined.
        unsafe {
            let whole = &*whole;
            let mut walk = Walk { worker, pace: Pace::from_now(), unpublished: 0, alone: None };
            let part = || match round.is_null() {
                true => whole.write(offer.from, offer.to, &mut walk),
                false => whole.fold(round, &mut walk),
            };
            whole.stop.within(worker, part);
        }
    }
}
