//! A hierarchical timing wheel: a set of deadlines, to which an entry is added and from which it is
//! removed by a few instructions, however many there are. (G. Varghese and T. Lauck, "Hashed and
//! hierarchical timing wheels", 1987; levels chosen by the highest differing bits as in Tokio's
//! timer, 2019.)
//!
//! # Structure
//!
//! Time is counted in *grains* of 2^[`GRAIN`] nanoseconds. A level has 64 slots, each a list of
//! entries. A slot of level 0 is a grain, and a slot of each level above is as long as all slots of
//! the level below. `now` is the grain up to which the wheel has been turned. An entry lies at the
//! level of the highest group of six bits in which its grain differs from `now`. So at each level
//! all entries lie in slots ahead of `now`'s, and every entry of a lower level comes before all
//! entries of a higher level.
//!
//! When the wheel is turned to the beginning of a slot above level 0, the entries of that slot move
//! to lower levels. An entry moves at most once per level. Most entries are removed before they are
//! due, and never move.
//!
//! An entry's grain is its deadline rounded up, and `now` is rounded down. So no entry is due too
//! early, and each is due at most a grain late.
//!
//! # Rejected
//!
//! A binary heap with the entry's place in the entry: it needs a block of memory that grows, so
//! that adding could fail; and adding and removing take a number of cache misses that grows with
//! the number of entries. A pairing heap needs no memory, and adds in constant time; but its first
//! removal of the least of 10^6 entries visits all of them.

use crate::deadline::check::{ensure, sum};
use crate::sys::atomic::MODEL;
use std::cell::Cell;
use std::mem::offset_of;
use std::ptr;

/// A grain is 2^GRAIN ns: about a microsecond, the kernel's own precision of a wake-up at best.
pub const GRAIN: u32 = 10;
/// A level has 2^BITS slots. (A wheel of the models must fit on their small stacks.)
const BITS: u32 = if MODEL { 2 } else { 6 };
const SLOTS: usize = 1 << BITS;
/// Enough for every deadline: the last grain is 2^(63 - GRAIN).
const LEVELS: usize = (64 - GRAIN).div_ceil(BITS) as usize;

/// If the first slot has more entries than this, their least deadline is not looked up: the wheel
/// is turned at the beginning of the slot.
const FEW: usize = 8;

/// The bits of `Links::slot` for the number of the slot.
const NUMBER: usize = 0xffff;

/// An entry of a wheel. It lies in memory of its owner, and does not move while it is in the wheel.
/// All fields are used under the lock of the wheel.
#[repr(C)]
pub struct Links {
    next: Cell<*const Links>,
    previous: Cell<*const Links>,
    deadline: Cell<i64>,
    /// 1 + the number of the slot; 0: in no wheel. In debug builds the upper bits are a check sum
    /// of the other fields and of the address. An entry is checked before its links are followed,
    /// so that the wheel follows no address that the program has written.
    slot: Cell<usize>,
}

impl Links {
    /// The offset of the deadline, for an observer.
    pub const DEADLINE: usize = offset_of!(Links, deadline);

    pub const fn unused() -> Self {
        Links {
            next: Cell::new(ptr::null()),
            previous: Cell::new(ptr::null()),
            deadline: Cell::new(0),
            slot: Cell::new(0),
        }
    }

    #[cfg(test)]
    fn is_in_wheel(&self) -> bool {
        self.slot.get() != 0
    }

    /// In nanoseconds.
    pub fn deadline(&self) -> i64 {
        self.deadline.get()
    }

    /// The time in nanoseconds from which the entry is due: the deadline, rounded up to a grain.
    pub fn due(&self) -> u64 {
        self.grain() << GRAIN
    }

    fn grain(&self) -> u64 {
        let deadline = self.deadline.get().max(0) as u64;
        deadline.div_ceil(1 << GRAIN)
    }

    /// Must be called after each change of a field of an entry in a wheel.
    #[inline(always)]
    fn seal(&self) {
        if cfg!(debug_assertions) {
            let number = self.slot.get() & NUMBER;
            self.slot.set(self.sealed(number));
        }
    }

    fn sealed(&self, number: usize) -> usize {
        let (next, previous) = (self.next.get().addr(), self.previous.get().addr());
        let deadline = self.deadline.get() as usize;
        sum(&[next, previous, deadline, number, ptr::from_ref(self).addr()]) & !NUMBER | number
    }

    /// True if all fields are as they were set in a wheel.
    fn is_whole(&self) -> bool {
        let number = self.slot.get() & NUMBER;
        number != 0 && self.slot.get() == self.sealed(number)
    }

    /// True if this entry is whole, and in this slot, behind the entry `previous`.
    fn is_at(&self, slot: usize, previous: *const Links) -> bool {
        self.is_whole() && self.slot.get() & NUMBER == 1 + slot && self.previous.get() == previous
    }
}

#[derive(Clone, Copy)]
struct Slot {
    first: *const Links,
    last: *const Links,
}

/// All bytes zero is a wheel without entries.
pub struct Wheel {
    now: u64,
    /// A bit for each slot, set if the slot has entries.
    occupied: [u64; LEVELS],
    slots: [[Slot; SLOTS]; LEVELS],
}

// SAFETY: the wheel is used under a lock, and so are its entries.
unsafe impl Send for Wheel {}

impl Wheel {
    pub const fn new() -> Self {
        let empty = Slot { first: ptr::null(), last: ptr::null() };
        Wheel { now: 0, occupied: [0; LEVELS], slots: [[empty; SLOTS]; LEVELS] }
    }

    pub fn is_empty(&self) -> bool {
        self.occupied == [0; LEVELS]
    }

    /// Adds an entry.
    ///
    /// # Safety
    /// The entry is in no wheel, and lives until it is taken out.
    pub unsafe fn insert(&mut self, entry: *const Links, deadline: i64) {
        // SAFETY: the entry is in no wheel, and lives until it is taken out.
        unsafe {
            (*entry).deadline.set(deadline);
            self.link(entry);
        }
    }

    /// Takes an entry out.
    ///
    /// # Safety
    /// The entry is in this wheel.
    pub unsafe fn remove(&mut self, entry: *const Links) {
        // SAFETY: the entry and its neighbours are in this wheel.
        unsafe {
            ensure(|| (*entry).is_whole());
            let (next, previous) = ((*entry).next.get(), (*entry).previous.get());
            let number = ((*entry).slot.replace(0) & NUMBER) - 1;
            let (level, index) = (number / SLOTS, number % SLOTS);
            let slot = &mut self.slots[level][index];
            match previous.as_ref() {
                Some(previous) => {
                    ensure(|| previous.is_whole() && previous.next.get() == entry);
                    previous.next.set(next);
                    previous.seal();
                }
                None => {
                    ensure(|| slot.first == entry);
                    slot.first = next;
                }
            }
            match next.as_ref() {
                Some(next) => {
                    ensure(|| next.is_whole() && next.previous.get() == entry);
                    next.previous.set(previous);
                    next.seal();
                }
                None => {
                    ensure(|| slot.last == entry);
                    slot.last = previous;
                }
            }
            if slot.first.is_null() {
                self.occupied[level] &= !(1 << index);
            }
        }
    }

    /// Takes out an entry that is due at this time, in nanoseconds. Entries come in the order of
    /// their grains. Entries of the same grain come in the order in which they were added, unless
    /// they have moved down from different levels.
    pub fn take_due(&mut self, time: i64) -> Option<*const Links> {
        let grain = time.max(0) as u64 >> GRAIN;
        loop {
            let Some((level, index, begin)) = self.first_slot().filter(|first| first.2 <= grain)
            else {
                self.now = self.now.max(grain);
                return None;
            };
            self.now = self.now.max(begin);
            let first = self.slots[level][index].first;
            if level == 0 {
                // SAFETY: the entry is in this wheel.
                unsafe {
                    ensure(|| (*first).is_at(index, ptr::null()));
                    self.remove(first);
                }
                return Some(first);
            }
            self.move_down(level, index);
        }
    }

    /// Moves the entries of a slot, which begins at `now`, to lower levels.
    fn move_down(&mut self, level: usize, index: usize) {
        let empty = Slot { first: ptr::null(), last: ptr::null() };
        let mut next = std::mem::replace(&mut self.slots[level][index], empty).first;
        self.occupied[level] &= !(1 << index);
        let mut previous = ptr::null();
        // SAFETY: the entries were in the slot.
        while let Some(entry) = unsafe { next.as_ref() } {
            ensure(|| entry.is_at(level * SLOTS + index, previous));
            (previous, next) = (ptr::from_ref(entry), entry.next.get());
            // SAFETY: the entry was taken out just now, and lives until its owner takes it out.
            unsafe { self.link(entry) };
        }
    }

    /// The time in nanoseconds before which no entry is due; `u64::MAX` if there is no entry. It is
    /// the first deadline, or earlier.
    pub fn next(&self) -> u64 {
        let Some((level, index, begin)) = self.first_slot() else { return u64::MAX };
        let entries = || {
            // SAFETY: the entries are in the slot.
            let get = |entry: *const Links| unsafe { entry.as_ref() };
            let first = get(self.slots[level][index].first);
            std::iter::successors(first, move |entry| {
                ensure(|| entry.is_whole());
                get(entry.next.get())
            })
        };
        let grain = if level > 0 && entries().nth(FEW).is_none() {
            entries().map(Links::grain).min().unwrap_or(begin)
        } else {
            begin
        };
        grain << GRAIN
    }

    /// Calls `look` with each entry, until it returns false.
    pub fn each(&self, look: &mut dyn FnMut(&Links) -> bool) {
        for slot in self.slots.iter().flatten() {
            let mut next = slot.first;
            // SAFETY: the entries are in the wheel.
            while let Some(entry) = unsafe { next.as_ref() } {
                ensure(|| entry.is_whole());
                if !look(entry) {
                    return;
                }
                next = entry.next.get();
            }
        }
    }

    /// The level, the index and the first grain of the slot whose entries come first.
    fn first_slot(&self) -> Option<(usize, usize, u64)> {
        let level = self.occupied.iter().position(|&occupied| occupied != 0)?;
        let index = self.occupied[level].trailing_zeros();
        let shift = BITS * level as u32;
        let above = self.now >> shift >> BITS << BITS; // the bits of the higher levels
        Some((level, index as usize, (above | u64::from(index)) << shift))
    }

    /// # Safety
    /// The entry is in no wheel, and lives until it is taken out.
    unsafe fn link(&mut self, entry: *const Links) {
        // SAFETY: the entry lives until it is taken out.
        let entry = unsafe { &*entry };
        let grain = entry.grain().max(self.now);
        let highest = 63 - ((grain ^ self.now) | 1).leading_zeros();
        let level = (highest / BITS) as usize;
        let index = (grain >> (BITS * level as u32)) as usize % SLOTS;
        let slot = &mut self.slots[level][index];
        entry.previous.set(slot.last);
        entry.next.set(ptr::null());
        // SAFETY: the last entry of the slot is in this wheel.
        match unsafe { slot.last.as_ref() } {
            Some(last) => {
                ensure(|| last.is_whole() && last.next.get().is_null());
                last.next.set(entry);
                last.seal();
            }
            None => slot.first = entry,
        }
        slot.last = entry;
        entry.slot.set(1 + level * SLOTS + index);
        entry.seal();
        self.occupied[level] |= 1 << index;
    }
}

impl Default for Wheel {
    fn default() -> Self {
        Wheel::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::SmallRng;
    use rand::{RngExt, SeedableRng};

    fn deadlines() -> impl Iterator<Item = i64> {
        let mut rng = SmallRng::seed_from_u64(1);
        std::iter::repeat_with(move || {
            let bits = rng.random_range(1..40);
            rng.random_range(0..1_i64 << bits)
        })
    }

    /// Adds, removes and turns at random; a sorted list is the oracle.
    #[test]
    fn entries_are_due_in_time_and_in_order() {
        let mut rng = SmallRng::seed_from_u64(7);
        let entries: Vec<Links> = (0..500).map(|_| Links::unused()).collect();
        let mut wheel = Box::new(Wheel::new());
        let mut present: Vec<usize> = Vec::new();
        let mut time = 0_i64;
        for deadline in deadlines().take(20_000) {
            let i = rng.random_range(0..entries.len());
            // SAFETY: an entry is in the wheel if it says so.
            unsafe {
                if entries[i].is_in_wheel() {
                    wheel.remove(&entries[i]);
                    present.retain(|&k| k != i);
                } else {
                    wheel.insert(&entries[i], time + deadline);
                    present.push(i);
                }
            }
            let least = present.iter().map(|&k| entries[k].grain().max(wheel.now)).min();
            assert!(wheel.next() <= least.map_or(u64::MAX, |grain| grain << GRAIN));
            assert_eq!(wheel.next() == u64::MAX, present.is_empty());
            if rng.random_range(0..4) == 0 {
                time += deadlines().nth(i).unwrap_or(0) / 8;
                let mut last = 0;
                while let Some(due) = wheel.take_due(time) {
                    let k = entries.iter().position(|entry| ptr::eq(entry, due));
                    let k = k.expect("an entry of this test");
                    assert!(present.contains(&k) && entries[k].deadline() <= time);
                    present.retain(|&other| other != k);
                    assert!(
                        entries[k].grain().max(last) == entries[k].grain() || last == wheel.now
                    );
                    last = entries[k].grain();
                }
                let now = time as u64 >> GRAIN;
                assert!(present.iter().all(|&k| entries[k].grain() > now), "one was missed");
            }
        }
    }

    #[test]
    fn the_ends_of_the_type_are_deadlines() {
        let mut wheel = Box::new(Wheel::new());
        let entries = [Links::unused(), Links::unused()];
        // SAFETY: the entries are in no wheel, and outlive the wheel.
        unsafe {
            wheel.insert(&entries[0], i64::MAX);
            wheel.insert(&entries[1], i64::MIN);
        }
        assert_eq!(wheel.take_due(0), Some(&raw const entries[1]));
        assert_eq!(wheel.take_due(i64::MAX - (1 << GRAIN)), None);
        assert!(wheel.next() > 0 && entries[0].is_in_wheel());
    }

    #[test]
    fn a_lone_deadline_is_known_exactly() {
        let mut wheel = Box::new(Wheel::new());
        let entry = Links::unused();
        // SAFETY: the entry is in no wheel, and outlives the wheel.
        unsafe { wheel.insert(&entry, 123_456_789) };
        assert_eq!(wheel.next(), 123_456_789_u64.div_ceil(1 << GRAIN) << GRAIN);
    }
}
