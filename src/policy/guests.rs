//! Guests: threads that are not workers of a run, but work in it on their own calls.
//!
//! A run that is held open has further places beside its workers' places. A thread that calls a
//! loop, a reduction or a sort from outside *comes* to a free place, works there as a worker does,
//! on its own stack, and *goes* when its call is over. The place has a deque of its own, if the
//! policy has a deque for each worker. (oneTBB reserves slots of an arena for such threads; in
//! OpenMP the caller is thread 0 of its team.)
//!
//! # States of a place
//!
//! ```text
//!        come                 go, and no task is left
//! FREE --------> TAKEN -------------------------------> FREE
//!                  ^  |
//!       come again |  | go, and tasks are left
//!        or serve  |  v
//!                 LEFT
//! ```
//! SLEEPING is TAKEN by a guest that sleeps in the middle of its call, with tasks in its deque.
//!
//! TAKEN: one thread owns the place and the owner's end of its deque. LEFT: nobody owns it; thieves
//! take the tasks in its deque as they do from any other. A change to TAKEN acquires, and the
//! changes to the other two states release, so each owner sees the writes of the previous one.
//!
//! # Tokens
//!
//! An idle worker finds the tasks of a LEFT place. But if all workers are busy, these tasks must
//! not wait for longer than other tasks from outside. So a place whose tasks nobody works on has a
//! *token*: an entry in the line of the injector. A worker that takes the token *serves* the place:
//! it takes the oldest task and, if the deque has more, queues the token again, behind all others.
//! (With an entry for each task, a flood of spawns would take a lock for each.) The state's bit
//! TOKEN is set while the token is queued or a worker holds it, so there is at most one.
//!
//! A place counts as active for `idle::quiescence` from `come` until it is FREE again. So the run
//! neither ends nor rests while a guest works or tasks are left. A LEFT place always has a token,
//! and a worker that serves a LEFT place without tasks frees it, so no place stays active forever.
//!
//! # The bad interleavings
//!
//! *The place without a token.* A worker holds the token and finds the deque empty. The guest adds
//! a task, sees TOKEN, relies on it, and goes. The worker drops the token. Therefore a token is
//! dropped by a compare-and-swap from TAKEN with TOKEN to TAKEN without it. This fails if the guest
//! has gone or sleeps, because the guest changes the state before it relies on the token or queues
//! one. A SLEEPING place gets no new tasks, and all its tasks are stealable, so its token may be
//! dropped when they are gone. A worker that serves a LEFT place owns it: the worker takes the
//! place before it looks at the deque, so no guest adds a task in between.
//!
//! *The second sleep.* A worker holds the token of a SLEEPING place and finds the deque empty. The
//! guest wakes up, adds a task, sleeps again, and relies on the token. The worker's
//! compare-and-swap succeeds and drops the token. Therefore the worker looks once more after it has
//! dropped the token. If there are tasks, it takes the token back, unless the guest has woken up or
//! has queued a new one.
//!
//! *Two owners.* The worker that serves a LEFT place and the guest that comes again both change
//! LEFT to TAKEN by a compare-and-swap; one fails. A guest that fails takes another place.
//!
//! # Which places are looked at
//!
//! `seen` is the number of places that a search looks at: the workers' places, and the guests' up
//! to the highest that was ever taken. The lowest free place is taken first, so a run without
//! guests searches only the workers' places. `seen` grows before the guest adds its first task; the
//! fences that order a task and a sleeper's last look (`idle::eventcount`) also order `seen`.
//!
//! # Orderings
//!
//! | operation | ordering | partner |
//! | --- | --- | --- |
//! | to TAKEN: compare-and-swap | Acquire | the Release of the change to FREE or LEFT |
//! | to LEFT, to FREE | Release | that compare-and-swap |
//! | to SLEEPING | Release | `drop_token`, `sleeping`: they see the tasks that are stealable now |
//! | `drop_token` | Acquire | the change to SLEEPING |
//! | `take_token_back` | Relaxed | the injector's lock orders the token |
//! | `sleeping`: load | Acquire | the change to SLEEPING |
//! | `thread` | Relaxed | none: a thread compares it with the number that it has stored itself |
//! | `seen` | Relaxed | the fences of a sleeper and of a spawn; otherwise a hint |
//! | `keeps_memory` | Relaxed | none: a hint; the place is taken before its memory is looked at |

use crate::sys::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering, Pad};
use crate::sys::memory;
use crate::sys::memory::NoMemory;

const FREE: u32 = 0;
const TAKEN: u32 = 1;
const LEFT: u32 = 2;
const SLEEPING: u32 = 3;
/// Added to a state if the place's token is in the injector, or a worker has taken it out.
const TOKEN: u32 = 4;

struct GuestPlace {
    state: AtomicU32,
    /// The thread that took the place last.
    thread: AtomicUsize,
    /// The place has memory to give back once it is free. Relaxed: a hint.
    keeps_memory: AtomicBool,
}

/// The reason why a thread comes to a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The thread works on a call of its own.
    Work,
    /// The thread adds tasks, and leaves at once.
    AddTasks,
    /// The thread runs tasks beside the workers: see [`super::reliefs`].
    Relief,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    Free(usize),
    /// The thread had left the place with tasks, so the place counts as active already.
    Left(usize),
}

/// A worker's action on a token that it has taken out of the injector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
    /// A guest is at the place. The worker may steal; if there is no task, it drops the token.
    Stranger(Guest),
    /// The worker owns the place.
    Owner,
    /// The place is free, and the token is gone.
    Nobody,
}

/// The activity of a guest at its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guest {
    Works,
    /// The guest sleeps, and all its tasks are stealable.
    Sleeps,
}

pub struct Guests {
    places: Box<[Pad<GuestPlace>]>,
    /// The number of the run's workers, which is the index of the first of these places.
    workers: usize,
    /// How many of the places are for guests; the others are for reliefs.
    guests: usize,
    seen: AtomicUsize,
}

impl GuestPlace {
    fn new() -> Self {
        GuestPlace {
            state: AtomicU32::new(FREE),
            thread: AtomicUsize::new(0),
            keeps_memory: AtomicBool::new(false),
        }
    }

    /// Changes the state from `from`, with or without a token, to TAKEN. False in any other state.
    fn take(&self, from: u32) -> bool {
        self.change(from, TAKEN).is_some()
    }

    /// Changes the state from `from` to `to`. Returns whether there is a token; None: no change.
    fn change(&self, from: u32, to: u32) -> Option<bool> {
        let mut state = self.state.load(Ordering::Relaxed);
        while state & !TOKEN == from {
            let new = to | state & TOKEN;
            match self.state.compare_exchange(state, new, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return Some(state & TOKEN != 0),
                Err(now) => state = now,
            }
        }
        None
    }
}

impl Guests {
    pub fn new(workers: usize, guests: usize, reliefs: usize) -> Result<Self, NoMemory> {
        Ok(Guests {
            places: memory::slice(guests + reliefs, |_| Ok(Pad(GuestPlace::new())))?,
            workers,
            guests,
            seen: AtomicUsize::new(workers),
        })
    }

    pub fn workers(&self) -> usize {
        self.workers
    }

    #[inline]
    pub fn seen(&self) -> usize {
        self.seen.load(Ordering::Relaxed)
    }

    fn place(&self, index: usize) -> &GuestPlace {
        &self.places[index - self.workers]
    }

    // --- the guest -----------------------------------------------------------------

    /// Takes the place that `thread` has left with tasks, or else the lowest free place. `thread`
    /// is a number that no two living threads share.
    pub fn take(&self, thread: usize, purpose: Purpose) -> Option<Taken> {
        let seen = &self.places[..(self.seen() - self.workers).min(self.guests)];
        let is_mine = |place: &GuestPlace| {
            purpose != Purpose::Relief && place.thread.load(Ordering::Relaxed) == thread
        };
        if let Some(left) = seen.iter().position(|place| is_mine(place) && place.take(LEFT)) {
            return Some(Taken::Left(self.workers + left));
        }
        let (guests, reliefs) = self.places.split_at(self.guests);
        let free = match purpose {
            Purpose::Relief => self.guests + reliefs.iter().position(|place| place.take(FREE))?,
            Purpose::Work | Purpose::AddTasks => {
                guests.iter().position(|place| place.take(FREE))?
            }
        };
        self.places[free].thread.store(thread, Ordering::Relaxed);
        let index = self.workers + free;
        if index >= self.seen() {
            self.seen.fetch_max(index + 1, Ordering::Relaxed);
        }
        Some(Taken::Free(index))
    }

    /// True if the token of the place, which the caller owns, is queued or about to be served.
    pub fn has_token(&self, index: usize) -> bool {
        self.place(index).state.load(Ordering::Relaxed) & TOKEN != 0
    }

    /// Leaves the caller's place with tasks. True if the caller must queue its token.
    pub fn leave(&self, index: usize) -> bool {
        let state = self.place(index).state.swap(LEFT | TOKEN, Ordering::AcqRel);
        state & TOKEN == 0
    }

    /// Called when the guest will sleep, and all its tasks are stealable. True if it must queue the
    /// token.
    pub fn begin_sleep(&self, index: usize) -> bool {
        let state = self.place(index).state.swap(SLEEPING | TOKEN, Ordering::AcqRel);
        state & TOKEN == 0
    }

    /// Called when the guest at the place no longer sleeps.
    pub fn end_sleep(&self, index: usize) {
        self.place(index).change(SLEEPING, TAKEN);
    }

    /// Frees the place, which the caller owns. Its deque is empty.
    pub fn free(&self, index: usize) {
        self.place(index).change(TAKEN, FREE);
    }

    /// For an observer: the indices of the places whose guests sleep with tasks. Acquire: pairs
    /// with the Release of the changes; the observer sees the tasks that the guest had added.
    pub fn sleeping(&self) -> impl Iterator<Item = usize> {
        let sleeps =
            |index: &usize| self.place(*index).state.load(Ordering::Acquire) & !TOKEN == SLEEPING;
        (self.workers..self.seen()).filter(sleeps)
    }

    // --- memory --------------------------------------------------------------------

    /// Notes whether the place, which the caller owns, has memory to give back.
    pub fn set_keeps_memory(&self, index: usize, keeps: bool) {
        let flag = &self.place(index).keeps_memory;
        if flag.load(Ordering::Relaxed) != keeps {
            flag.store(keeps, Ordering::Relaxed);
        }
    }

    pub fn keeping_memory(&self) -> impl Iterator<Item = usize> {
        let keeps = |index: &usize| self.place(*index).keeps_memory.load(Ordering::Relaxed);
        (self.workers..self.seen()).filter(keeps)
    }

    /// Takes the place, if it is free, without coming as a guest. `free` gives it back.
    pub fn take_free(&self, index: usize) -> bool {
        self.place(index).take(FREE)
    }

    // --- the worker that has taken the token -----------------------------------------

    /// Called when the caller has taken the token of the place out of the injector.
    pub fn serve(&self, index: usize) -> Served {
        let place = self.place(index);
        loop {
            if place.take(LEFT) {
                return Served::Owner;
            }
            match place.state.load(Ordering::Relaxed) & !TOKEN {
                LEFT => {}
                TAKEN => return Served::Stranger(Guest::Works),
                SLEEPING => return Served::Stranger(Guest::Sleeps),
                _ if self.drop_token_of(index, FREE) => return Served::Nobody,
                _ => {}
            }
        }
    }

    /// Drops the token of a place without stealable tasks. `guest` is the activity in which the
    /// caller has seen the place's guest. False if that has changed; then the caller serves the
    /// place again.
    pub fn drop_token(&self, index: usize, guest: Guest) -> bool {
        self.drop_token_of(index, if guest == Guest::Works { TAKEN } else { SLEEPING })
    }

    /// Called when the caller has dropped the token of the place, and the deque has stealable tasks
    /// after all. True if the guest sleeps and there is no token: then the caller has it again.
    pub fn take_token_back(&self, index: usize) -> bool {
        let (new, relaxed) = (SLEEPING | TOKEN, Ordering::Relaxed);
        self.place(index).state.compare_exchange(SLEEPING, new, relaxed, relaxed).is_ok()
    }

    fn drop_token_of(&self, index: usize, state: u32) -> bool {
        let (from, relaxed) = (state | TOKEN, Ordering::Relaxed);
        self.place(index).state.compare_exchange(from, state, Ordering::AcqRel, relaxed).is_ok()
    }

    /// Frees the place, which the caller serves, and drops its token. The deque is empty.
    pub fn free_with_token(&self, index: usize) {
        self.place(index).state.store(FREE, Ordering::Release);
    }
}
