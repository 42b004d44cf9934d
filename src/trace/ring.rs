//! A ring of events. When it is full, a new event replaces the oldest one.
//!
//! One thread writes: the owner. `end` is the number of the next event; event n lies in slot n
//! modulo the size. The owner may take back its last events, and write others in their place.
//! `highest` is the greatest value that `end` has had: slots hold the events from `highest` - size
//! on.
//!
//! # Readers
//!
//! Another thread may read the events at any time (`super`). It sees a complete event in each slot
//! that the owner filled before it stored `end`, and has neither overwritten nor taken back since.
//! If the owner overwrites the slot at the same time, the reader may see words of both events: a
//! wrong time or name. It reads no other memory, since a slot's index is taken modulo the size.
//!
//! | operation | ordering | partner |
//! | --- | --- | --- |
//! | `push`, `truncate`: store of `end` | Release | `events`: sees the words before `end` |
//! | `events`: load of `end` | Acquire | `push`, `truncate` |
//! | the words, `highest` | Relaxed | none: a reader that is late finds a newer event in the slot |

use crate::sys::atomic::{AtomicU64, AtomicUsize, MODEL, Ordering};
use crate::sys::memory::{self, NoMemory};
use crate::trace::event::Event;

#[derive(Default)]
struct Slot([AtomicU64; 4]);

pub struct Ring {
    slots: Box<[Slot]>,
    end: AtomicUsize,
    highest: AtomicUsize,
}

pub const EVENT_BYTES: usize = 4 * size_of::<u64>();

const LEAST: usize = if MODEL { 2 } else { 64 };

impl Ring {
    /// A ring for the greatest power of two of events that fits into `bytes` bytes, but for at
    /// least `LEAST` events. The memory is committed when it is first written.
    pub fn new(bytes: usize) -> Result<Ring, NoMemory> {
        let events = (bytes / EVENT_BYTES).max(LEAST);
        let events = 1 << events.ilog2();
        // SAFETY: a slot whose bytes are all zero is valid, and its size is not zero.
        let slots = unsafe { memory::zeroed(events) }?;
        Ok(Ring { slots, end: AtomicUsize::new(0), highest: AtomicUsize::new(0) })
    }

    #[inline]
    fn slot(&self, n: usize) -> &Slot {
        // SAFETY: the number of slots is a power of two, so the index is less than it.
        unsafe { self.slots.get_unchecked(n & (self.slots.len() - 1)) }
    }

    #[inline]
    pub fn end(&self) -> usize {
        self.end.load(Ordering::Relaxed)
    }

    /// The number of the oldest event that is still there.
    #[inline]
    pub fn first(&self) -> usize {
        self.highest.load(Ordering::Relaxed).saturating_sub(self.slots.len()).min(self.end())
    }

    /// Called by the owner.
    #[inline]
    pub fn push(&self, event: Event) {
        let n = self.end();
        self.write(n, event);
        // Release: pairs with the Acquire in `events`.
        self.end.store(n + 1, Ordering::Release);
        if n + 1 > self.highest.load(Ordering::Relaxed) {
            self.highest.store(n + 1, Ordering::Relaxed);
        }
    }

    /// Overwrites event `n`. Called by the owner.
    #[inline]
    pub fn write(&self, n: usize, event: Event) {
        for (word, value) in self.slot(n).0.iter().zip(event.words()) {
            word.store(value, Ordering::Relaxed);
        }
    }

    pub fn get(&self, n: usize) -> Option<Event> {
        if !(self.first()..self.end()).contains(&n) {
            return None;
        }
        let words = self.slot(n).0.each_ref().map(|word| word.load(Ordering::Relaxed));
        Event::of(words)
    }

    /// Takes back the events from `n` on. Called by the owner.
    pub fn truncate(&self, n: usize) {
        self.end.store(n, Ordering::Release); // pairs with the Acquire in `events`
    }

    /// The events that are still there, in their order; from any thread.
    pub fn events(&self) -> impl Iterator<Item = Event> {
        let end = self.end.load(Ordering::Acquire); // pairs with the Release in `push`
        (self.first()..end).filter_map(|n| self.get(n))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::event::Kind;

    fn event(time: u64) -> Event {
        Event::plain(time, Kind::Wake, 0, 0)
    }

    fn times(ring: &Ring) -> Vec<u64> {
        ring.events().map(|event| event.time).collect()
    }

    #[test]
    fn a_full_ring_keeps_the_youngest() {
        let ring = Ring::new(0).unwrap();
        (0..100).for_each(|time| ring.push(event(time)));
        assert_eq!(times(&ring), (36..100).collect::<Vec<_>>());
        assert_eq!(ring.first(), 36);
    }

    #[test]
    fn what_was_overwritten_does_not_come_back_when_events_are_taken_back() {
        let ring = Ring::new(0).unwrap();
        (0..100).for_each(|time| ring.push(event(time)));
        ring.truncate(90);
        ring.push(event(1000));
        assert_eq!(times(&ring), (36..90).chain([1000]).collect::<Vec<_>>());
        ring.truncate(10); // more than the ring holds
        assert_eq!(times(&ring), Vec::<u64>::new());
    }
}
