//! The two ends of a bounded queue: a lock for each end, and the place of the next element there.
//! The caller stores the elements (`api::channel`).
//!
//! # Protocol
//!
//! Each end has a word on a cache line of its own: twice the number of elements that have passed
//! the end, plus 1 while a thread holds its lock. An element passes an end under that end's lock.
//! So a sender and a receiver work at the same time, and share only the two words. Each end
//! remembers the other's count, and reads it again when the queue seems full or empty.
//!
//! A call that waits, serves waiting calls or closes the queue takes both locks, the senders'
//! first. While calls wait or the queue is closed, both ends are *shared*: every call takes both
//! locks. `is_shared` is written under both locks and read under one. So a call under one lock
//! either ends before both locks are taken, or reads the new value.
//!
//! Without places every call takes both locks, for which the senders' lock stands alone.
//!
//! *Freed under the sender.* A receiver that has got its element may free the queue. So one store
//! both counts the sender's element and unlocks, and it is the sender's last access. A call with
//! both locks unlocks the other side's end last.
//!
//! | operation | ordering | partner |
//! | --- | --- | --- |
//! | `lock`: exchange | Acquire | `set`: what the last holder has written |
//! | `set`: store | Release | `lock`; `count`: the element is in its place, or was taken out |
//! | `count`: load of the other end's word | Acquire | `set` |
//! | `lock`: load | Relaxed | none: the exchange fails if it is stale |
//! | `seen`, `place` | Relaxed | none: used under the lock |
//! | `is_shared`: store, and load under a lock | Relaxed | none: the locks order them |
//! | `is_shared`: first load | Relaxed | none: a hint that spares a lock |
//!
//! (One lock an end: M. Michael, M. Scott, "Simple, fast, and practical non-blocking and blocking
//! concurrent queue algorithms", 1996. The remembered count: P. Lee, T. Bu, G. Chandranmenon, "A
//! lock-free, cache-efficient multi-core synchronization mechanism for line-rate network traffic
//! monitoring", 2010.)

use crate::lock::trylock::Backoff;
use crate::sys::atomic::{AtomicBool, AtomicUsize, Ordering, Pad};

/// The two ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Send,
    Receive,
}

pub struct Ends {
    ends: [Pad<End>; 2],
    capacity: usize,
}

struct End {
    word: AtomicUsize,
    /// True if every call takes both locks.
    is_shared: AtomicBool,
    /// The other end's count at its last reading. (A count is twice a number of elements.)
    seen: AtomicUsize,
    /// The place of the next element that passes.
    place: AtomicUsize,
}

/// The bit of a word that says that a thread has locked the end.
const LOCKED: usize = 1;
/// The number that an element adds to a word.
const ONE: usize = 2;

impl Side {
    pub fn other(self) -> Side {
        if self == Side::Send { Side::Receive } else { Side::Send }
    }
}

impl End {
    fn new(is_shared: bool) -> Self {
        let [word, seen, place] = [const { 0 }; 3].map(AtomicUsize::new);
        End { word, is_shared: AtomicBool::new(is_shared), seen, place }
    }

    /// Twice the number of elements that have passed.
    #[inline]
    fn count(&self) -> usize {
        self.word.load(Ordering::Acquire) & !LOCKED // pairs with `set`
    }

    /// Returns the count.
    #[inline]
    fn lock(&self) -> usize {
        let count = self.word.load(Ordering::Relaxed) & !LOCKED;
        if self.try_lock(count) { count } else { self.lock_contended() }
    }

    #[inline]
    fn try_lock(&self, count: usize) -> bool {
        let (acquire, relaxed) = (Ordering::Acquire, Ordering::Relaxed); // pairs with `set`
        self.word.compare_exchange(count, count | LOCKED, acquire, relaxed).is_ok()
    }

    #[cold]
    fn lock_contended(&self) -> usize {
        let mut backoff = Backoff::default();
        loop {
            backoff.wait();
            let word = self.word.load(Ordering::Relaxed);
            if word & LOCKED == 0 && self.try_lock(word) {
                return word;
            }
        }
    }

    /// Stores the word of an end that the caller has locked: unlocks it, or only counts an element.
    #[inline]
    fn set(&self, word: usize) {
        self.word.store(word, Ordering::Release); // pairs with `lock` and `count`
    }
}

impl Ends {
    pub fn new(capacity: usize) -> Self {
        let capacity = capacity.min(usize::MAX / ONE); // no memory has more elements than that
        Ends { ends: [(); 2].map(|()| Pad(End::new(capacity == 0))), capacity }
    }

    fn end(&self, side: Side) -> &End {
        &self.ends[side as usize]
    }

    /// Passes the next element: `copy` gets its place. Returns the count afterwards. None if there
    /// is no room, or no element. The caller holds the lock of this side's end, whose count is
    /// `count`.
    #[inline]
    fn pass_locked(&self, side: Side, count: usize, copy: impl FnOnce(usize)) -> Option<usize> {
        let (end, other) = (self.end(side), self.end(side.other()));
        let bound = if side == Side::Send { self.capacity * ONE } else { 0 };
        let is_at_bound = |seen: usize| count.wrapping_sub(seen) == bound;
        if is_at_bound(end.seen.load(Ordering::Relaxed)) {
            let seen = other.count();
            end.seen.store(seen, Ordering::Relaxed);
            if is_at_bound(seen) {
                return None;
            }
        }
        let place = end.place.load(Ordering::Relaxed);
        copy(place);
        let next = if place + 1 == self.capacity { 0 } else { place + 1 };
        end.place.store(next, Ordering::Relaxed);
        Some(count.wrapping_add(ONE))
    }

    /// Sends or receives the next element: `copy` copies it into this place, or out of it. False if
    /// there is no room or no element, or the ends are shared.
    #[inline]
    pub fn pass(&self, side: Side, copy: impl FnOnce(usize)) -> bool {
        let end = self.end(side);
        if end.is_shared.load(Ordering::Relaxed) {
            return false;
        }
        let count = end.lock();
        let is_shared = end.is_shared.load(Ordering::Relaxed);
        let passed = if is_shared { None } else { self.pass_locked(side, count, copy) };
        end.set(passed.unwrap_or(count));
        passed.is_some()
    }

    /// Calls `work` under both locks, for a call of this side. `work` also returns whether the ends
    /// are shared from now on.
    #[inline]
    pub fn both<R>(&self, side: Side, work: impl FnOnce(&Both) -> (R, bool)) -> R {
        let (first, last) = (self.end(side), self.end(side.other()));
        let takes_both = self.capacity > 0;
        self.end(Side::Send).lock();
        if takes_both {
            self.end(Side::Receive).lock();
        }
        let (result, is_shared) = work(&Both(self));
        if takes_both {
            first.is_shared.store(is_shared, Ordering::Relaxed);
            last.is_shared.store(is_shared, Ordering::Relaxed);
            first.set(first.count());
            last.set(last.count());
        } else {
            self.end(Side::Send).set(0);
        }
        result
    }
}

/// The ends, while the caller holds both locks.
pub struct Both<'a>(&'a Ends);

impl Both<'_> {
    /// Like [`Ends::pass`]. Returns false if there is no room, or no element.
    #[inline]
    pub fn pass(&self, side: Side, copy: impl FnOnce(usize)) -> bool {
        let end = self.0.end(side);
        let passed = self.0.pass_locked(side, end.count(), copy);
        passed.inspect(|count| end.set(count | LOCKED)).is_some()
    }
}
