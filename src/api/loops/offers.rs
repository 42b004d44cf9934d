//! The stack of offers that a worker has in a loop.

use crate::api::offer::{Offer, Part};
use crate::pace::Pace;
use crate::runtime::record::Worker;
use crate::sys::detector;
use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// The most offers of one worker at a time.
const MAX_OFFERS: usize = 32;

/// Memory for the offers of one worker.
pub struct Room<P>([MaybeUninit<Offer<P>>; MAX_OFFERS]);

/// The offers of a worker that are not joined yet, the oldest first. Thieves take the oldest first.
pub struct Offers<'a, P> {
    /// The offers are used through pointers only, since other threads have references to them.
    /// `push` has written all below `count`.
    room: *mut Offer<P>,
    count: usize,
    lives: PhantomData<&'a mut Room<P>>,
}

impl<P> Room<P> {
    pub const fn new() -> Self {
        Room([const { MaybeUninit::uninit() }; MAX_OFFERS])
    }
}

impl<'a, P: Part> Offers<'a, P> {
    /// No offers.
    pub fn within(room: &'a mut Room<P>) -> Self {
        detector::own(room);
        Offers { room: (&raw mut room.0).cast(), count: 0, lives: PhantomData }
    }

    fn at(&self, i: usize) -> *mut Offer<P> {
        self.room.wrapping_add(i)
    }

    pub fn count(&self) -> usize {
        self.count
    }

    /// Offers some units to other workers, as the youngest offer. `function` is the address of the
    /// program's function. Returns false if there are `MAX_OFFERS`, or no queue has room.
    ///
    /// # Safety
    /// The caller owns `worker`, and joins all offers before the room and the loop end.
    #[inline]
    pub unsafe fn push(
        &mut self,
        units: (usize, usize),
        part: P,
        function: usize,
        worker: &Worker,
    ) -> bool {
        if self.count == MAX_OFFERS {
            return false;
        }
        let at = self.at(self.count);
        // SAFETY: the place is within the room, and no task uses it. The offer stays there until
        // the task is joined.
        let offered = unsafe {
            at.write(Offer::new(units, part));
            (*at).make(function, worker)
        };
        self.count += usize::from(offered);
        offered
    }

    /// The number of offers that thieves have taken, which are the oldest; at least `known`.
    #[inline]
    pub fn taken(&self, known: usize) -> usize {
        let mut taken = known;
        while self.oldest_but(taken).is_some_and(|offer| !offer.is_untaken()) {
            taken += 1;
        }
        taken
    }

    /// The oldest offer except the first `taken` ones.
    #[inline]
    pub fn oldest_but(&self, taken: usize) -> Option<&Offer<P>> {
        // SAFETY: there is such an offer.
        (taken < self.count).then(|| unsafe { &*self.at(taken) })
    }

    /// Publishes the offers, if the oldest except the first `taken` is worth it: see
    /// `Offer::publish`.
    pub fn publish(&self, taken: usize, from: usize, pace: &Pace, small: usize, worker: &Worker) {
        if let Some(oldest) = self.oldest_but(taken) {
            oldest.publish(from, pace, small, worker);
        }
    }

    /// The youngest offer, which the caller must join.
    pub fn pop(&mut self) -> Option<&Offer<P>> {
        self.count = self.count.checked_sub(1)?;
        // SAFETY: the offer was below `count`. Other threads have only shared references.
        Some(unsafe { &*self.at(self.count) })
    }
}
