//! A ring of fixed size with the positions of owner and thief in one word. It is the local queue of
//! Tokio's scheduler (C. Lerche, "Making the Tokio scheduler 10x faster", 2019). Tokio's queue is
//! Go's (D. Vyukov, "Scalable Go scheduler design doc", 2012) with a second head position, `steal`,
//! which protects the slots that a thief is copying. The ring is FIFO even for its owner.
//!
//! # State
//!
//! ```text
//!        steal     head              tail
//!          v         v                v
//! [..|   |a|b|c|d|e|f|g|h|i|j|k|l|m|n|   |..]      slot of position p: p mod N
//!         ^^^^^^^^^^ ^^^^^^^^^^^^^^^^^
//!      a thief's     queued: head .. tail
//!
//! word   steal : 32 | head : 32      changed by compare-and-swap, by owner and thieves
//! tail                               written by the owner
//! ```
//! Positions count up, modulo 2^32. If `steal == head`, no thief is at work. Slots from `steal` to
//! `tail` are used.
//!
//! # Protocol
//!
//! *put* writes the slot, then `tail + 1`. *pop* takes the oldest task by one compare-and-swap
//! (called a swap below): `head + 1`, and also `steal + 1` if no thief is at work. *steal* reserves
//! half of the tasks, or one, by a swap that moves `head` past them; copies them; and releases
//! their slots by a swap that moves `steal` up to the present `head`. A second thief sees steal !=
//! head and gives up. The user of the ring decides what happens when it is full: `spill` takes the
//! oldest tasks out, like pop, if no thief is at work. While a thief is at work, `spill` takes
//! nothing, since it could free no slot.
//!
//! A thief reads `word`, then `tail`, and then swaps `word`. If `word` has not changed, the tail
//! has only grown, so the reservation is right. Therefore an operation that takes a task at the
//! tail must change the word. *take_back* does this (Tokio's queue has no such operation, because
//! it has no joins). *take_back* moves all positions up by 2N, which changes no slot: first `steal`
//! and `head`, by a swap, and then the tail, minus the taken task, by a store. Between the swap and
//! the store the tail is behind `head`: a thief sees more than N tasks and tries again. If the
//! positions moved up by N only, a thief would see a full ring as empty in this state. Thus owners
//! can take the youngest task in joins, although the ring is FIFO in all else.
//!
//! # The bad interleavings
//!
//! 1. *A slot is overwritten while a thief copies it.* The slot is in use until the thief has moved
//!    `steal`, by a Release swap, with which the owner's Acquire load in `free_slots` pairs.
//! 2. *The positions wrap around* (<https://github.com/tokio-rs/tokio/issues/5041>). A thief is
//!    stopped between its read of `tail` and its swap, until `word` has the same value again, with
//!    fewer tasks behind it. With positions of 16 bits that took a millisecond. With 32 bits (pull
//!    request 5042) the owner must meanwhile take exactly a multiple of 2^32 tasks, or take back a
//!    multiple of 2^23. This is unlikely, not impossible.
//!
//! Rejected: a word that also contains the tail (three times 21 bits, which makes interleaving 2
//! likely); a mark in the slot of a task that is taken back (a swap for each stolen task).
//!
//! # Orderings
//!
//! | operation | ordering | partner |
//! | --- | --- | --- |
//! | `put`, `take_youngest`: store of `tail` | Release | a thief's load of `tail`: the slots are written |
//! | a thief's load of `tail` | Acquire | these stores |
//! | a thief's load of `word` | Relaxed | its swap fails if the word has changed |
//! | a thief's first swap | Release | the fence of `Quiescence::enter`: the thief has left `idle` |
//! | a thief's last swap | Release | `free_slots`: the thief has read the slots (1) |
//! | `free_slots`: load of `word` | Acquire | a thief's last swap |
//! | the owner's swaps | Relaxed | they continue the release sequence of the thieves' swaps |
//! | the owner's loads of `tail`, slots | Relaxed | the owner alone writes these |

mod word;

use self::word::Word;
use crate::queue::length::Length;
use crate::queue::{Batches, Deque, End, Full, Steal};
use crate::stats::Counter;
use crate::sys::atomic::{AtomicU32, AtomicU64, MODEL, Ordering, Pad};
use crate::sys::memory;
use crate::sys::memory::NoMemory;
use crate::task::{Slot, Task};
use std::convert::Infallible;
use std::mem::offset_of;

/// The number of slots in Tokio's and Go's queues.
const SLOTS: usize = 256;

/// The first position: each ring passes 2^32 early in its life, in models after one push.
const FIRST: u32 = 0u32.wrapping_sub(if MODEL { 1 } else { 100 });

pub struct Ring<const N: usize = SLOTS> {
    /// A [`Word`].
    word: Pad<AtomicU64>,
    /// Written by the owner at each put.
    tail: Pad<AtomicU32>,
    seldom: Pad<Seldom>,
}

/// Fields that the owner reads, on cache lines that thieves never write.
struct Seldom {
    slots: Box<[Slot]>,
    /// The position at which put must read `word` again: the ring is full or the limit is reached
    /// there, according to the last look at `word`. Used by the owner only.
    full_at: AtomicU32,
    /// The most tasks that the ring may hold; at most N.
    limit: u32,
    peak: Counter,
}

/// Tells whether the owner takes its oldest tasks while a thief copies older ones.
#[derive(Clone, Copy)]
enum BesideThief {
    Take,
    /// Taking a task would free no slot before the thief has finished.
    TakeNone,
}

/// The owner has taken `n` of `queued` tasks, from position `from` on.
struct Taken {
    from: u32,
    n: u32,
    queued: u32,
}

impl<const N: usize> Ring<N> {
    const SIZE: u32 = {
        assert!(N.is_power_of_two() && N <= 1 << 16);
        N as u32
    };
    const SHIFT: u32 = 2 * Self::SIZE;

    fn slot(&self, position: u32) -> &Slot {
        // SAFETY: there are N slots, and the index is less than N.
        unsafe { self.seldom.slots.get_unchecked(position as usize % N) }
    }

    fn word(&self, order: Ordering) -> Word {
        Word(self.word.load(order))
    }

    fn swap(&self, from: Word, to: Word, order: Ordering) -> Result<(), Word> {
        let swapped = self.word.compare_exchange(from.0, to.0, order, Ordering::Relaxed);
        swapped.map(|_| ()).map_err(Word)
    }

    /// The owner's view of the tail. Relaxed: only the owner writes it.
    fn own_tail(&self) -> u32 {
        self.tail.load(Ordering::Relaxed)
    }

    /// Takes at most `n` of the oldest tasks; the owner then owns their slots, from `from` on.
    #[inline]
    fn take_oldest(&self, n: u32, beside_thief: BesideThief) -> Taken {
        let tail = self.own_tail();
        let mut word = self.word(Ordering::Relaxed);
        loop {
            let queued = tail.wrapping_sub(word.head());
            let n = match beside_thief {
                BesideThief::TakeNone if word.has_thief() => 0,
                _ => n.min(queued),
            };
            // Relaxed: only the owner writes the slots. A thread that reads the word after this
            // swap sees what the thieves' earlier swaps released: they form one release sequence.
            match if n > 0 { self.swap(word, word.taken(n), Ordering::Relaxed) } else { Ok(()) } {
                Ok(()) => return Taken { from: word.head(), n, queued },
                Err(now) => word = now,
            }
        }
    }

    /// # Safety
    /// The position is the caller's: an owner has taken it from the queue, or a thief has reserved
    /// and not yet released it.
    #[inline]
    unsafe fn task(&self, position: u32) -> Task {
        // SAFETY: a slot of the queue holds a whole task, and is not written while it is taken.
        unsafe { self.slot(position).read().confirmed() }
    }

    /// Takes the youngest task if it `fits`.
    fn take_youngest(&self, fits: impl FnOnce(Task) -> bool) -> Option<(Task, u32)> {
        let tail = self.own_tail();
        let mut word = self.word(Ordering::Relaxed);
        let last = tail.wrapping_sub(1);
        if tail == word.head() {
            return None;
        }
        // SAFETY: the owner wrote the slot itself: it is queued, and is not overwritten.
        let task = unsafe { self.task(last) };
        if !fits(task) {
            return None;
        }
        while tail != word.head() {
            match self.swap(word, word.shifted(Self::SHIFT), Ordering::Relaxed) {
                Ok(()) => {
                    let full_at = &self.seldom.full_at;
                    let shifted = full_at.load(Ordering::Relaxed).wrapping_add(Self::SHIFT);
                    full_at.store(shifted, Ordering::Relaxed);
                    // Release: pairs with the thieves' Acquire loads of `tail`, as in put.
                    self.tail.store(last.wrapping_add(Self::SHIFT), Ordering::Release);
                    return Some((task, tail.wrapping_sub(word.head())));
                }
                Err(now) => word = now,
            }
        }
        None
    }

    /// Reads `word` again. Returns how many tasks may be put.
    fn free_slots(&self) -> u32 {
        let tail = self.own_tail();
        // Acquire: pairs with the thieves' Release swaps: interleaving 1.
        let word = self.word(Ordering::Acquire);
        let slots = Self::SIZE - tail.wrapping_sub(word.steal());
        let allowed = self.seldom.limit - tail.wrapping_sub(word.head()).min(self.seldom.limit);
        let room = slots.min(allowed);
        self.seldom.full_at.store(tail.wrapping_add(room), Ordering::Relaxed);
        room
    }

    /// Takes the older half of the tasks, but at most `rest` beside the oldest.
    fn steal_tasks(&self, rest: usize, mut keep: impl FnMut(Task)) -> Steal {
        // Relaxed: the swap fails if this is stale. A tail that is older than this word is behind
        // `head`, and is seen as more than N tasks.
        let word = self.word(Ordering::Relaxed);
        if word.has_thief() {
            return Steal::Empty; // another thief is at work
        }
        // Acquire: pairs with the Release stores of put and take_youngest: the slots are written.
        let queued = self.tail.load(Ordering::Acquire).wrapping_sub(word.head());
        if queued == 0 {
            return Steal::Empty;
        }
        if queued > Self::SIZE {
            return Steal::Retry; // word and tail are not of one moment
        }
        let rest = queued.div_ceil(2).min(1 + rest as u32) - 1;
        let head = word.head();
        let reserved = Word::new(head, head.wrapping_add(1 + rest));
        // Release: an owner that finds the tasks gone sees this thief leave (`idle::quiescence`).
        if self.swap(word, reserved, Ordering::Release).is_err() {
            return Steal::Retry;
        }
        // SAFETY: this thief has reserved the position, and not released it yet.
        let first = unsafe { self.task(head) };
        for i in 1..=rest {
            // SAFETY: this thief has reserved the position, and not released it yet.
            keep(unsafe { self.task(head.wrapping_add(i)) });
        }
        let mut word = reserved;
        // Release: pairs with the load in `free_slots`, after this thief's reads: interleaving 1.
        while let Err(now) = self.swap(word, Word::at(word.head()), Ordering::Release) {
            word = now; // the owner has popped, or taken back
        }
        Steal::Taken(first)
    }
}

impl<const N: usize> Deque for Ring<N> {
    type Private = Infallible;
    type Batches = Self;
    const OWNER_POPS: End = End::Oldest;
    const SLOTS: Option<usize> = Some(N);
    /// `head` is the lower half of the word.
    const LENGTH: Length = {
        let (tail, head) = (offset_of!(Self, tail), offset_of!(Self, word));
        Length::difference([tail, tail], head, 1, size_of::<u32>())
            .in_slice(offset_of!(Self, seldom) + offset_of!(Seldom, slots))
    };

    #[inline(always)]
    fn batches(&self) -> Option<&Self> {
        Some(self)
    }

    fn new(limit: usize) -> Result<Self, NoMemory> {
        // SAFETY: a slot consists of two pointer-sized atomics, for which zero is valid.
        let slots = unsafe { memory::zeroed(N) }?;
        Ok(Ring {
            word: Pad(AtomicU64::new(Word::at(FIRST).0)),
            tail: Pad(AtomicU32::new(FIRST)),
            seldom: Pad(Seldom {
                slots,
                full_at: AtomicU32::new(FIRST),
                limit: limit.min(N) as u32,
                peak: Counter::default(),
            }),
        })
    }

    #[inline]
    unsafe fn put(&self, task: Task) -> bool {
        let tail = self.own_tail();
        if tail == self.seldom.full_at.load(Ordering::Relaxed) {
            return false;
        }
        self.slot(tail).write(task);
        // Release: pairs with the thieves' Acquire loads of `tail`.
        self.tail.store(tail.wrapping_add(1), Ordering::Release);
        true
    }

    #[cold]
    #[inline(never)]
    unsafe fn put_slowly(&self, task: Task) -> Result<(), Full> {
        if self.free_slots() == 0 {
            return Err(Full);
        }
        // SAFETY: the caller is the owner, by its own promise.
        let put = unsafe { self.put(task) };
        debug_assert!(put, "free_slots has promised a slot");
        Ok(())
    }

    #[inline]
    unsafe fn pop(&self) -> Option<Task> {
        let Taken { from, n, queued } = self.take_oldest(1, BesideThief::Take);
        if n == 0 {
            return None;
        }
        self.seldom.peak.peak(queued as usize);
        // SAFETY: the owner has taken this position.
        Some(unsafe { self.task(from) })
    }

    unsafe fn pop_youngest(&self) -> Option<Task> {
        let (task, queued) = self.take_youngest(|_| true)?;
        self.seldom.peak.peak(queued as usize);
        Some(task)
    }

    unsafe fn take_back(&self, task: Task) -> bool {
        self.take_youngest(|youngest| youngest == task).is_some()
    }

    fn peak(&self) -> usize {
        self.seldom.peak.get()
    }

    fn steal(&self) -> Steal {
        self.steal_tasks(0, |_| ())
    }

    fn has_public(&self) -> bool {
        !self.word(Ordering::Relaxed).has_thief() && !self.looks_empty()
    }

    fn len_hint(&self) -> usize {
        let head = self.word(Ordering::Relaxed).head();
        self.tail.load(Ordering::Relaxed).wrapping_sub(head) as usize
    }

    #[inline]
    fn looks_empty(&self) -> bool {
        // Relaxed: a hint. A thread that must not miss a task executes a fence first. The thread
        // that puts the task does the same.
        let head = self.word(Ordering::Relaxed).head();
        self.tail.load(Ordering::Relaxed) == head
    }
}

impl<const N: usize> Batches for Ring<N> {
    fn steal_half(&self, rest: usize, keep: impl FnMut(Task)) -> Steal {
        self.steal_tasks(rest, keep)
    }

    unsafe fn make_room(&self, _wanted: usize) -> usize {
        self.free_slots() as usize
    }

    unsafe fn spill(&self, n: usize, mut to: impl FnMut(Task)) {
        let Taken { from, n, .. } = self.take_oldest(n.min(N) as u32, BesideThief::TakeNone);
        // SAFETY: the owner has taken these positions.
        (0..n).for_each(|i| to(unsafe { self.task(from.wrapping_add(i)) }));
    }
}
