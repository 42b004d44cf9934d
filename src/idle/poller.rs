//! The wait for the kernel's events, by one of the threads that have nothing else to do.
//!
//! A thread without work sleeps on a futex word of its own (`idle::eventcount`, `policy::shared`,
//! `policy::serial`). While tasks wait for descriptors, one sleeper, the *poller*, sleeps in
//! `epoll_wait` instead; the others sleep on their words as before. So no thread exists for polling
//! alone, and the thread that gets an event can run the task that waited for it.
//!
//! # State
//!
//! ```text
//! turn    null      nobody polls
//!         TAKEN     a thread has the turn: it takes events from the kernel, or hands them on
//!         a word    that thread sleeps in the kernel; whoever changes this word rings the bell
//! users   how many waits for descriptors are pending: nobody polls while there are none
//! ```
//!
//! # Protocol
//!
//! ```text
//! the poller                                 a waker of the poller's word
//!   turn: null -> TAKEN; else: futex           changes the word
//!   turn = word                                fence
//!   fence                                      turn == word ? rings the bell
//!   word still as expected ?                                : wakes the futex
//!     sleeps in the kernel
//!   turn = TAKEN, hands the events on
//!   turn = null
//! ```
//! The bell is an event of the kernel's list that stays until a poller has taken it.
//!
//! A thread that is not going to sleep also takes the turn to look for events (`look`). A poller
//! that has got an event gives the turn back before it runs a task. So somebody must look until the
//! next thread becomes the poller: every worker that runs out of tasks does, and while there is no
//! poller a thread looks every millisecond ([`super::standby`]).
//!
//! # The bad interleavings
//!
//! 1. *The lost wake-up.* The waker reads `turn` before the poller has stored its word, and wakes
//!    the futex, on which nobody sleeps; the poller reads its word before the waker has changed it,
//!    and sleeps in the kernel. The two fences exclude this: one side sees the other's store.
//! 2. *The bell of another.* The poller leaves, another thread becomes the poller, and the bell of
//!    the first one wakes the second one. It returns without an event, as from a futex that was
//!    woken for no reason, and sleeps again. The first one needs no bell any more.
//! 3. *The event between two pollers.* An event that comes when nobody polls stays in the kernel's
//!    list, and ends the next poller's sleep at once.
//!
//! # Orderings
//!
//! | operation | ordering | partner |
//! | --- | --- | --- |
//! | `turn`: exchange from null | Acquire | the store of null: the former holder has left `events` |
//! | `turn`: store of null | Release | the exchange |
//! | fence between the store of the word's address and the load of the word | SeqCst | `rings`: fence |
//! | `rings`: fence between the caller's change of the word and the load | SeqCst | that fence |
//! | `give_back`: fence after the store of null | SeqCst | the fences of `Standby` |
//! | `users` | SeqCst, loads Relaxed | the fences of `Standby`; else a stale value delays a look |
//! | `events`, `found`, `rounds` | none, Relaxed | the turn |

use crate::sys::atomic::{AtomicPtr, AtomicUsize, Ordering, UnsafeCell, const_fn, fence};
use crate::sys::epoll::{Epoll, Event, MOST, NOTHING};
use crate::sys::futex::Futex;
use std::ptr;
use std::time::Duration;

pub struct Poller {
    turn: AtomicPtr<Futex>,
    users: AtomicUsize,
    pub epoll: Epoll,
    /// The events of the last wait, and their number. For the holder of the turn.
    events: UnsafeCell<([Event; MOST], usize)>,
    /// How often the turn was given back, modulo a power of two.
    rounds: AtomicUsize,
}

// SAFETY: `events` belongs to the holder of the turn.
unsafe impl Sync for Poller {}

/// The value of `turn` while its holder does not sleep: no word has this address.
const TAKEN: *mut Futex = ptr::without_provenance_mut(1);

impl Poller {
    const_fn! {
        #[allow(clippy::new_without_default, reason = "one constructor is enough")]
        pub fn new() -> Self {
            Poller {
                turn: AtomicPtr::new(ptr::null_mut()),
                users: AtomicUsize::new(0),
                epoll: Epoll::new(),
                events: UnsafeCell::new(([NOTHING; MOST], 0)),
                rounds: AtomicUsize::new(0),
            }
        }
    }

    /// Called when a wait for a descriptor begins. The kernel's list was opened.
    pub fn begin_wait(&self) {
        self.users.fetch_add(1, Ordering::SeqCst);
    }

    pub fn end_wait(&self) {
        self.users.fetch_sub(1, Ordering::SeqCst);
    }

    /// True if a wait is pending. A hint.
    #[inline]
    pub fn is_used(&self) -> bool {
        self.users.load(Ordering::Relaxed) != 0
    }

    /// True if a thread sleeps as the poller. A hint. (A thread that has the turn for a look leaves
    /// the kernel's list at once.)
    pub fn is_polled(&self) -> bool {
        let turn = self.turn.load(Ordering::Relaxed);
        !turn.is_null() && turn != TAKEN
    }

    /// How often the turn was given back.
    pub fn rounds(&self) -> usize {
        self.rounds.load(Ordering::Relaxed)
    }

    /// Sleeps as `Futex::wait` does, perhaps as the poller. True if the caller has events and the
    /// turn, and must `serve`.
    pub fn sleep(&self, word: &Futex, expected: u32, limit: Duration) -> bool {
        if !self.is_used() || !self.take_turn() {
            word.wait(expected, limit);
            return false;
        }
        self.turn.store(ptr::from_ref(word).cast_mut(), Ordering::Relaxed);
        fence(Ordering::SeqCst); // pairs with the fence in `rings`: interleaving 1
        if word.load(Ordering::Relaxed) != expected {
            self.give_back();
            return false;
        }
        self.take_events(limit)
    }

    /// Looks for events without waiting. True if the caller has events and the turn, and must
    /// `serve`.
    pub fn look(&self) -> bool {
        self.is_used() && self.take_turn() && self.take_events(Duration::ZERO)
    }

    /// Called by a thread that has changed the word, in place of a futex wake-up. False if the
    /// word's sleeper is not the poller.
    #[inline]
    pub fn rings(&self, word: &Futex) -> bool {
        fence(Ordering::SeqCst); // pairs with the fence in `sleep`
        let is_poller = ptr::eq(self.turn.load(Ordering::Relaxed), word);
        if is_poller {
            self.epoll.ring();
        }
        is_poller
    }

    /// Calls `each` for each event, and gives the turn back.
    ///
    /// # Safety
    /// `sleep` or `look` has given the turn to the calling thread.
    pub unsafe fn serve(&self, mut each: impl FnMut(Event)) {
        // SAFETY: the caller has the turn.
        let (events, found) = self.events.with(|held| unsafe { *held });
        events[..found].iter().for_each(|&event| each(event));
        self.give_back();
    }

    fn take_turn(&self) -> bool {
        let (acquire, relaxed) = (Ordering::Acquire, Ordering::Relaxed);
        self.turn.load(relaxed).is_null()
            && self.turn.compare_exchange(ptr::null_mut(), TAKEN, acquire, relaxed).is_ok()
    }

    /// For the holder of the turn. The turn is given back if there is no event.
    fn take_events(&self, limit: Duration) -> bool {
        let found = self.events.with_mut(|held| {
            // SAFETY: the caller has the turn.
            let (events, found) = unsafe { &mut *held };
            *found = self.epoll.wait(limit, events);
            *found
        });
        if found == 0 {
            self.give_back();
        } else {
            self.turn.store(TAKEN, Ordering::Relaxed);
        }
        found > 0
    }

    fn give_back(&self) {
        self.rounds.store(self.rounds().wrapping_add(1), Ordering::Relaxed);
        self.turn.store(ptr::null_mut(), Ordering::Release);
        fence(Ordering::SeqCst); // pairs with the fences of `Standby`
    }

    /// Forgets the parent's waits in the child of a fork.
    ///
    /// # Safety
    /// No other thread of this process uses this value.
    pub unsafe fn forget(&self) {
        // SAFETY: no other thread uses the value.
        unsafe { self.epoll.forget() };
        self.users.store(0, Ordering::Relaxed);
        self.turn.store(ptr::null_mut(), Ordering::Relaxed);
    }
}

/// Sleeps on a word of a thread that may become the poller. See `Poller::sleep`.
pub fn sleep(poller: Option<&Poller>, word: &Futex, expected: u32, limit: Duration) -> bool {
    match poller {
        Some(poller) => poller.sleep(word, expected, limit),
        None => {
            word.wait(expected, limit);
            false
        }
    }
}

/// Wakes the thread that sleeps on the word, which the caller has changed.
pub fn wake(poller: Option<&Poller>, word: &Futex) {
    if !poller.is_some_and(|poller| poller.rings(word)) {
        word.wake(1);
    }
}
