//! Reliefs: threads for workers whose own threads have left them in the middle of the run, to block.
//!
//! A job returns true when its thread has left its worker for good while the run goes on: the thread
//! is *surplus*. Its hand, a relief's or a member's, is then *spare*. The next worker that needs a
//! relief takes the hand that became spare last, before a warm or a blank one. So beside the threads of
//! its workers a run has at most as many as SCHED_BLOCKING says, and of these only as many as were
//! needed at once. All hands go back with the members' at the run's end. A thread that is spare for as
//! long as a warm one is kept ends earlier; its hand stays spare. A thread that finds its worker
//! occupied when it comes (`base::vacancy`) is surplus at once. A caller that needs a thread for that
//! worker before this hand is spare takes another.
//!
//! # The bad interleaving
//!
//! A hand becomes spare before its job is done, since the crew may be gone afterwards. So it may also be
//! taken before its job is done, and then the `REST` that ends the job would overwrite the new `CALLED`.
//! Therefore the thread that takes a hand waits for the end of its job. The wait is short: the job has
//! nothing left to do but to say so.

use super::{Crew, Hand, Job, LISTS, Lists, Terms, get};
use crate::base::thread::Uncancelled;
use std::cell::Cell;
use std::ptr;
use std::time::Instant;

/// Threads that a run may have beside those of its workers where SCHED_BLOCKING is not set. Tokio has as many for
/// blocking calls by default, for the same reason: the limit stops a flood of them, and nothing else.
pub const MOST_RELIEFS: usize = 512;

/// All under the lists' lock.
pub(super) struct Reliefs {
    /// Linked by `beside`; grows at the head.
    all: Cell<*const Hand>,
    /// Linked by `next`.
    spare: Cell<*const Hand>,
    count: Cell<usize>,
    /// The thread that has started the run has left its worker for good. It has no hand that could become spare, so one
    /// more relief may be made in its place: else a run with a limit of one would have no further blocking section.
    caller_left: Cell<bool>,
}

impl Default for Reliefs {
    fn default() -> Self {
        let none = Cell::new(ptr::null());
        Reliefs {
            all: none.clone(),
            spare: none,
            count: Cell::new(0),
            caller_left: Cell::new(false),
        }
    }
}

impl Reliefs {
    /// Every hand that has been taken from the lists as a relief so far.
    pub(super) fn all(&self) -> impl Iterator<Item = &'static Hand> {
        let first = LISTS.with(|_| self.all.get());
        // SAFETY: hands, or null; their links do not change.
        std::iter::successors(unsafe { get(first) }, |hand| unsafe { get(hand.beside.get()) })
    }

    fn take_spare(&self) -> Option<&'static Hand> {
        // SAFETY: the list holds hands.
        let hand = unsafe { get(self.spare.get()) }?;
        self.spare.set(hand.next.get());
        hand.spare.set(false);
        Some(hand)
    }

    fn put_spare(&self, hand: &Hand, until: Instant) {
        hand.until.set(until);
        hand.spare.set(true);
        hand.next.set(self.spare.get());
        self.spare.set(hand);
    }

    /// One more relief, if the limit allows it.
    fn recruit(
        &self,
        lists: &mut Lists,
        terms: &Terms,
        new: Option<&'static Hand>,
    ) -> Option<&'static Hand> {
        if self.count.get() >= terms.most_reliefs + usize::from(self.caller_left.get()) {
            return None;
        }
        let warm = if terms.keeps() { lists.take_warm() } else { None };
        let hand = warm.or_else(|| lists.take_blank()).or(new)?;
        self.count.set(self.count.get() + 1);
        hand.beside.set(self.all.get());
        self.all.set(hand);
        Some(hand)
    }
}

impl Crew {
    /// Brings worker `index`, whose thread has left it, another thread, which does `job`. False if there
    /// is none to be had. To be called by a job of this crew, or by the thread that has started the run.
    ///
    /// # Safety
    /// Before `finish`; job and crew stay as they are until then.
    #[cold]
    pub unsafe fn relieve(&self, job: Job, index: usize) -> bool {
        let _uncancelled = Uncancelled::begin(); // pthread_join is a cancellation point
        let terms = self.terms();
        let found = LISTS.with(|lists| {
            let spare = self.reliefs.take_spare();
            spare.or_else(|| self.reliefs.recruit(lists, terms, None))
        });
        let new = || {
            let new = Hand::new().ok()?;
            LISTS.with(|lists| {
                let hand = self.reliefs.recruit(lists, terms, Some(new));
                if !hand.is_some_and(|hand| ptr::eq(hand, new)) {
                    lists.add_blank(new);
                }
                hand
            })
        };
        let Some(hand) = found.or_else(new) else { return false };
        hand.call.wait();
        if !terms.keeps() {
            // SAFETY: its job is done, and such threads never rest.
            unsafe { hand.join() };
        }
        // SAFETY: passed on; the hand is ours.
        let works = unsafe { hand.call(job, index, self, false) };
        if !works {
            self.spare(hand);
        }
        works
    }

    /// The thread that has started the run has left its worker in the middle of it.
    pub fn caller_has_left(&self) {
        LISTS.with(|_| self.reliefs.caller_left.set(true));
    }

    /// Neither the thread of this hand nor a caller needs the hand now.
    pub(super) fn spare(&self, hand: &Hand) {
        let until = Instant::now() + self.terms().keep.unwrap_or_default();
        LISTS.with(|_| self.reliefs.put_spare(hand, until));
    }
}
