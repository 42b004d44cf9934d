//! Reliefs: threads for workers that theirs have left in the middle of the run, to block.
//!
//! A job returns true when its thread has left its worker for good while the run goes on: the
//! thread is *surplus*. Its hand, a relief's or a member's, is then *spare*, and the next who needs a
//! relief takes the one that was put last, before those that are warm or blank. So a run has at
//! most so many threads beside those of its workers as SCHED_BLOCKING says, and of these as many as were ever needed at
//! once. All go back with the members' hands; a thread that is spare for as long as a
//! warm one is kept ends before (its hand stays spare). One that finds its worker occupied when it comes
//! (`base::vacancy`) is surplus at once; who calls for that worker before its hand is spare takes another.
//!
//! # The bad interleaving
//!
//! A hand is put before its job is done, since after that the crew may be gone; so it may be taken before
//! that, too, and a word that says `CALLED` would be overwritten by the `REST` of the job before.
//! So who takes it waits for the job's end, which is near: the thread has nothing to do but say so.

use super::{Crew, Hand, Job, LISTS, Lists, Terms, get};
use crate::base::thread::Uncancelled;
use std::cell::Cell;
use std::ptr;
use std::time::Instant;

/// Threads that a run may have beside those of its workers, where SCHED_BLOCKING does not say. As many as Tokio has
/// for blocking calls by default, and for the same reason: it ends a flood of them, and nothing else.
pub const MOST_RELIEFS: usize = 512;

/// All under the lists' lock.
pub(super) struct Reliefs {
    /// Linked by `beside`; grows at the head.
    all: Cell<*const Hand>,
    /// Linked by `next`.
    spare: Cell<*const Hand>,
    count: Cell<usize>,
    /// Who has started the run has left its worker for good, and is no hand that could be spare: one more relief has that
    /// place. Else a run with a limit of one would have no section any more.
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
    /// Every hand that was taken from the lists as a relief, as far as there are now.
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

    /// One more, if there may be.
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
    /// Brings worker `index`, which its thread has left, another, which does `job`. False if there is
    /// none to be had. For a job of this crew, or who has started the run.
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
            // SAFETY: its job is done, and such threads rest never.
            unsafe { hand.join() };
        }
        // SAFETY: passed on; the hand is ours.
        let works = unsafe { hand.call(job, index, self, false) };
        if !works {
            self.spare(hand);
        }
        works
    }

    /// Who has started the run has left its worker in the middle of it.
    pub fn caller_has_left(&self) {
        LISTS.with(|_| self.reliefs.caller_left.set(true));
    }

    /// The thread of this hand, or who wanted to call it, does not need it.
    pub(super) fn spare(&self, hand: &Hand) {
        let until = Instant::now() + self.terms().keep.unwrap_or_default();
        LISTS.with(|_| self.reliefs.put_spare(hand, until));
    }
}
