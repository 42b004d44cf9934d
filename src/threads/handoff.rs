//! A place whose occupant leaves it for a while, and another that is called to take it over.
//!
//! One word tells which of the two has it: whether the occupant is out, whether another is on
//! its way, and how often the place was left.
//!
//! ```text
//! the occupant   leave      VACANT is set; COMING, too: if it was not, another must be called
//!                come_back  VACANT goes, by compare-and-swap: the place is its own again
//! the other      look       COMING goes, by compare-and-swap, and VACANT with it: then the place is its own
//! ```
//! So who has left has one attempt at coming back, and it fails if the other was there: its count is the word's no
//! more, or the bits are not. Who is called does not know whether the place is needed still when it comes. If
//! it was left again meanwhile, short leavings are frequent there, and to call somebody for each would cost
//! more than they take: the other stays to watch, and those who leave find it coming. It takes the place when it finds it
//! left twice by the same leaving, and goes when it was not left since the last look. It is what Go's monitor does for
//! system calls, which take no thread's place before that has seen the same call twice (its
//! runtime's proc.go: `retake`, `exitsyscallfast`).
//!
//! # The bad interleavings it excludes
//!
//! *Two occupants.* Who has left comes back while the other arrives: both change the same word by
//! compare-and-swap.
//!
//! *A later leaving taken for one's own.* T leaves; U takes the place, and leaves it as well; T would find it
//! vacant, and somebody coming. The count differs. (It has 62 bits: it does not come round.)
//!
//! *Nobody comes.* T leaves, finds U coming, and calls nobody, while U finds that it is not needed. U's
//! compare-and-swap fails, or T sees that COMING is gone.

use crate::sys::atomic::{AtomicUsize, Ordering};

const VACANT: usize = 1;
const COMING: usize = 2;
/// How often it was left: the rest of the word.
const ONE: usize = 4;

#[derive(Default)]
pub struct Handoff {
    word: AtomicUsize,
    /// The count for which the other was called. Relaxed: written before the call, and while nobody is coming.
    called: AtomicUsize,
}

/// What the other has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// The place is its own.
    Vacant,
    /// It may go.
    Occupied,
    /// It is to look again after a while.
    Busy,
}

impl Handoff {
    /// The occupant leaves the place. What it gets is for `come_back`, and true if it must call another; if
    /// there is none, `nobody_comes`.
    pub fn leave(&self) -> (usize, bool) {
        // Release: pairs with the swap in `look`. Acquire: with the same, so that `called` is written after it was read.
        let was = self.word.fetch_add(ONE + VACANT, Ordering::AcqRel);
        let left = (was + ONE + VACANT) | COMING;
        let calls = was & COMING == 0;
        if calls {
            // Nobody else uses the word before the call.
            self.called.store(left & !(ONE - 1), Ordering::Relaxed);
            self.word.store(left, Ordering::Release); // as above
        }
        (left, calls)
    }

    /// The place is the caller's again, who has left it just now.
    pub fn nobody_comes(&self) {
        self.word.fetch_and(!(VACANT | COMING), Ordering::Relaxed); // as in leave
    }

    /// Who has left wants the place back. False if it is another's.
    pub fn come_back(&self, left: usize) -> bool {
        // Relaxed: nobody else has used the place.
        let back = left - VACANT;
        self.word.compare_exchange(left, back, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// The process is a child made by fork, and nobody uses the place.
    pub fn forget(&self) {
        self.word.store(0, Ordering::Relaxed);
    }

    /// What the other has seen when it is called.
    pub fn called(&self) -> usize {
        self.called.load(Ordering::Relaxed)
    }

    /// The other looks; `seen` is what it has seen before. Not again once it was not `Busy`.
    pub fn look(&self, seen: &mut usize) -> Found {
        let word = self.word.load(Ordering::Relaxed); // the swap tells if it is outdated
        let count = word & !(ONE - 1);
        if std::mem::replace(seen, count) != count {
            return Found::Busy;
        }
        // Acquire: what was done at the place by who has left it. Release: `leave`.
        match self.word.compare_exchange(word, count, Ordering::AcqRel, Ordering::Relaxed) {
            Ok(_) if word & VACANT != 0 => Found::Vacant,
            Ok(_) => Found::Occupied,
            Err(_) => Found::Busy,
        }
    }
}
