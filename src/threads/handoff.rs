//! The hand-over of a worker. The *occupant* of the worker's *place*, which is the thread that
//! serves the worker, leaves the place for a while, and another thread is called to take it over.
//!
//! One word tells which of the two threads has the place. It says whether the occupant is out
//! (VACANT), whether another thread is coming (COMING), and how often the place was left.
//!
//! ```text
//! the occupant       leave      sets VACANT and COMING; must call a thread if COMING was not set
//!                    come_back  clears VACANT by compare-and-swap: has the place again
//! the called thread  look       clears COMING by compare-and-swap; if VACANT was set, clears it in
//!                               the same step, and has the place
//! a third thread     claim      clears VACANT by compare-and-swap: has the place
//! ```
//! The occupant has one attempt to come back. The attempt fails if the called thread was there: the
//! CAS fails because the count or a flag has changed.
//!
//! When the called thread arrives, it does not know whether the place still needs a thread. If the
//! count has changed since the call, the place was left again in between. Short absences are then
//! frequent, and calling a thread for each of them would cost more than they take. So the called
//! thread stays and watches, and an occupant that leaves finds COMING set. The called thread takes
//! the place when two of its looks find the same absence. It goes away when the place was not left
//! since its last look. Go's monitor does the same for system calls: it takes a thread's place only
//! after it has seen the same call twice (`retake` and `exitsyscallfast` in proc.go).
//!
//! A third thread that could work at the place, for instance one that has lost another place,
//! claims it at once: no thread has to be woken for this. COMING stays set, because the called
//! thread still comes. (If the absence is short, the occupant loses the place to a thread that
//! would otherwise go to sleep; one of the two sleeps in either case.) Rejected: to claim the place
//! only after some microseconds of the same absence. An echo server then took the same processor
//! time for an answer, or up to a third more.
//!
//! # The bad interleavings
//!
//! *Two occupants.* The occupant comes back while the called thread arrives. Both change the same
//! word by compare-and-swap, so one of them fails.
//!
//! *Confusing a later absence with one's own.* T leaves; U takes the place, and leaves it as well.
//! T would find the place vacant and a thread coming, as after its own leaving. But the count
//! differs. (It has 62 bits and does not wrap.)
//!
//! *Nobody comes.* T leaves, finds U coming, and calls nobody, while U finds that it is not needed.
//! Either U's compare-and-swap fails, and U looks again, or T sees COMING cleared, and calls.
//!
//! *Claimed in the middle of `leave`.* T has set VACANT, and is about to store the word with
//! COMING. If a third thread claimed the place between the two steps, the store would make the
//! place vacant again. So a place is claimed only when COMING is set.
//!
//! *Nobody comes to the claimant.* T leaves, and cannot call a thread. Meanwhile C claims the
//! place, leaves it, finds COMING set, and calls nobody. So `nobody_comes` clears both bits in one
//! step: if VACANT was set, T has the place, even if the absence was C's.
//!
//! # Orderings
//!
//! | operation | ordering | partner |
//! | --- | --- | --- |
//! | `leave`: addition | AcqRel | `look`: see the comment in `leave` |
//! | `leave`: store with COMING | Release | `look` |
//! | `look`: exchange | AcqRel | both of `leave` |
//! | `look`: load | Relaxed | none: the exchange fails if it is stale |
//! | `come_back`: exchange | Relaxed | none: on success nobody else had the place |
//! | `claim`: exchange | AcqRel | both of `leave` |
//! | `claim`: load | Relaxed | none: the exchange fails if it is stale |
//! | `nobody_comes` | AcqRel | `leave` of a thread that has claimed the place and left it |
//! | `called` | Relaxed | the call of the thread |

use crate::sys::atomic::{AtomicUsize, Ordering};

const VACANT: usize = 1;
const COMING: usize = 2;
/// One absence in the count, which is the rest of the word.
const ABSENCE: usize = 4;

#[derive(Default)]
pub struct Handoff {
    word: AtomicUsize,
    /// The count for which a thread was called. Relaxed: written while no thread is coming.
    called: AtomicUsize,
}

/// The state that the called thread has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// The place was vacant and is now the called thread's.
    Vacant,
    /// The place is occupied: the called thread may go.
    Occupied,
    /// The called thread must look again after a while.
    Busy,
}

impl Handoff {
    /// Called by the occupant when it leaves the place. Returns the word, for `come_back`, and true
    /// if the caller must call a thread. If no thread can be called, `nobody_comes` must follow.
    pub fn leave(&self) -> (usize, bool) {
        // Release: pairs with the exchange in `look`; the new occupant sees the place. Acquire:
        // pairs with it, so that `called` is written after the last called thread has read it.
        let was = self.word.fetch_add(ABSENCE + VACANT, Ordering::AcqRel);
        let left = (was + ABSENCE + VACANT) | COMING;
        let calls = was & COMING == 0;
        if calls {
            // No other thread uses the word before the call.
            self.called.store(left & !(ABSENCE - 1), Ordering::Relaxed);
            self.word.store(left, Ordering::Release); // pairs with the exchange in `look`
        }
        (left, calls)
    }

    /// The caller has left the place and could not call a thread. True if the caller has the place
    /// again. False if another thread has claimed it.
    pub fn nobody_comes(&self) -> bool {
        // Acquire: pairs with the Release in the other thread's `leave`. Release: pairs with the
        // Acquire in `leave`.
        let was = self.word.fetch_and(!(VACANT | COMING), Ordering::AcqRel);
        was & VACANT != 0
    }

    /// For a thread that was not called: takes the place if its occupant is out.
    pub fn claim(&self) -> bool {
        // Relaxed: the exchange fails if this is stale.
        let word = self.word.load(Ordering::Relaxed);
        if word & (VACANT | COMING) != VACANT | COMING {
            return false; // without COMING the occupant is still in `leave`
        }
        // Acquire: pairs with the Release in `leave`; the place's state is seen. Release: pairs
        // with the Acquire in `leave`.
        let claimed = word & !VACANT;
        self.word.compare_exchange(word, claimed, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Called by the occupant when it wants the place back. False if another thread has the place.
    pub fn come_back(&self, left: usize) -> bool {
        // Relaxed: on success no other thread has used the place since.
        let back = left - VACANT;
        self.word.compare_exchange(left, back, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// Called in the child of a fork, where no thread uses the place.
    pub fn forget(&self) {
        self.word.store(0, Ordering::Relaxed);
    }

    /// The first value of `seen` for a thread that was just called: see `look`.
    pub fn called(&self) -> usize {
        self.called.load(Ordering::Relaxed)
    }

    /// Called by the called thread: looks at the place. `seen` is the count at its previous look.
    /// Must not be called again after a result other than `Busy`.
    pub fn look(&self, seen: &mut usize) -> Found {
        // Relaxed: the exchange below fails if this is stale.
        let word = self.word.load(Ordering::Relaxed);
        let count = word & !(ABSENCE - 1);
        if std::mem::replace(seen, count) != count {
            return Found::Busy;
        }
        // Acquire: pairs with the Release in `leave`; the place's state is seen. Release: pairs
        // with the Acquire in `leave`.
        match self.word.compare_exchange(word, count, Ordering::AcqRel, Ordering::Relaxed) {
            Ok(_) if word & VACANT != 0 => Found::Vacant,
            Ok(_) => Found::Occupied,
            Err(_) => Found::Busy,
        }
    }
}
