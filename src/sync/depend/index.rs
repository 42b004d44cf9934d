//! From the addresses of a table to their entries: a hash table with linear probing.
//!
//! The addresses often belong to adjacent blocks of equal size. Their common low bits do not
//! distinguish them and are shifted out. Each aligned run of 8 of the numbers that are left has 8
//! adjacent slots, which are two cache lines; so one lookup in 8 misses the cache. A multiplicative
//! hash places the runs (D. E. Knuth, "The Art of Computer Programming", volume 3, 6.4). At most
//! half of the slots are used.
//!
//! Nothing is taken out. When the slots are used up, a new array of the same or twice the length is
//! made, without the addresses whose tasks have ended.

use crate::sync::depend::entry::Entry;
use crate::sys::memory::{self, NoMemory};
use crate::sys::region::Block;
use std::ptr;

/// The bits of a place in a run.
const RUN_BITS: u32 = 3;
const RUN: usize = 1 << RUN_BITS;
/// The least number of runs, as a power of two.
const FEW: u32 = 3;

#[derive(Clone, Copy)]
struct Slot {
    address: usize,
    /// Null: the slot is free.
    entry: *mut Entry,
}

impl Default for Slot {
    fn default() -> Self {
        Slot { address: 0, entry: ptr::null_mut() }
    }
}

pub struct Index {
    slots: Block<Slot>,
    /// The number of runs is 2 to the power of this.
    bits: u32,
    /// The number of bits at the lower end of the addresses that are not used for the place in a
    /// run.
    skipped: u32,
    used: usize,
}

impl Index {
    pub fn new() -> Result<Index, NoMemory> {
        Index::with(FEW, size_of::<usize>().trailing_zeros())
    }

    fn with(bits: u32, skipped: u32) -> Result<Index, NoMemory> {
        // SAFETY: a slot may hold any bytes; zeroes are a free one.
        let slots: Block<Slot> = unsafe { Block::zeroed(RUN << bits) }?;
        Ok(Index { slots, bits, skipped, used: 0 })
    }

    /// The first slot in which an address may be.
    #[inline]
    fn home(&self, address: usize) -> usize {
        let number = address.rotate_right(self.skipped) as u64;
        let run = (number >> RUN_BITS).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - self.bits);
        ((run as usize) << RUN_BITS) | (number as usize % RUN)
    }

    #[inline]
    pub fn prefetch(&self, address: usize) {
        memory::prefetch_to_write(self.slots.start().wrapping_add(self.home(address)).cast());
    }

    /// The entry of an address, which `make` makes if there is none. There is room for one.
    #[inline]
    pub fn find(&mut self, address: usize, make: impl FnOnce() -> *mut Entry) -> *mut Entry {
        let mut at = self.home(address);
        loop {
            // SAFETY: `at` is less than the number of slots, and half of them are free.
            let slot = unsafe { &mut *self.slots.start().add(at) };
            if slot.entry.is_null() {
                *slot = Slot { address, entry: make() };
                self.used += 1;
                return slot.entry;
            }
            if slot.address == address {
                return slot.entry;
            }
            at = (at + 1) & (self.slots.count() - 1);
        }
    }

    #[inline]
    pub fn has_room_for(&self, n: usize) -> bool {
        self.used + n <= self.slots.count() / 2
    }

    /// True if there are more than `n` addresses.
    pub fn is_many(&self, n: usize) -> bool {
        self.used > n
    }

    /// Makes room for `n` more addresses. If `asks`, it leaves out the entries of which `is_over`
    /// is true, and passes them to `forget`. An entry that is over remains so. `soon` gets an entry
    /// that `is_over` will get soon, and one that `is_over` will get even sooner; either may be
    /// null.
    #[cold]
    #[inline(never)]
    pub fn make_room(
        &mut self,
        n: usize,
        asks: bool,
        soon: impl Fn(*mut Entry, *mut Entry),
        is_over: impl Fn(*mut Entry) -> bool,
        mut forget: impl FnMut(*mut Entry),
    ) -> Result<(), NoMemory> {
        // SAFETY: the block has this many slots, all of them written.
        let slots =
            unsafe { std::slice::from_raw_parts_mut(self.slots.start(), self.slots.count()) };
        let mut count = n + self.used;
        for at in (0..slots.len()).filter(|_| asks) {
            let ahead = |n| slots.get(at + n).map_or(ptr::null_mut(), |slot: &Slot| slot.entry);
            soon(ahead(16), ahead(8));
            if !slots[at].entry.is_null() && is_over(slots[at].entry) {
                slots[at].entry = marked(slots[at].entry);
                count -= 1;
            }
        }
        let used = || slots.iter().filter(|slot| !slot.entry.is_null());
        let first = used().next().map_or(0, |slot| slot.address);
        let differ = used().fold(0, |differ, slot| differ | (slot.address ^ first));
        let skipped = if differ == 0 { self.skipped } else { differ.trailing_zeros() };
        // At least three slots for each address, so that the number of addresses can double before
        // the next growth.
        let bits = (3 * count / RUN).max(1).ilog2() + 1;
        let fresh = Index::with(bits.max(FEW), skipped);
        let Ok(mut fresh) = fresh else {
            let is_marked = |slot: &&mut Slot| is_marked(slot.entry);
            slots.iter_mut().filter(is_marked).for_each(|slot| slot.entry = marked(slot.entry));
            return Err(NoMemory);
        };
        for slot in used() {
            if is_marked(slot.entry) {
                forget(marked(slot.entry));
            } else {
                _ = fresh.find(slot.address, || slot.entry);
            }
        }
        *self = fresh;
        Ok(())
    }

    pub fn bytes(&self) -> usize {
        self.slots.count() * size_of::<Slot>()
    }
}

/// An entry that is over, and back. (Entries are aligned.)
fn marked(entry: *mut Entry) -> *mut Entry {
    entry.map_addr(|address| address ^ 1)
}

fn is_marked(entry: *mut Entry) -> bool {
    entry.addr() & 1 != 0
}

#[cfg(test)]
mod tests {
    use super::{Entry, Index};
    use std::ptr;

    #[test]
    fn finds_what_was_added() {
        for stride in [1, 8, 24, 4096, 1 << 20, usize::MAX / 3] {
            let mut index = Index::new().unwrap();
            for n in 0..5000_usize {
                if !index.has_room_for(1) {
                    index.make_room(1, false, |_, _| (), |_| true, |_| unreachable!()).unwrap();
                }
                let made = ptr::without_provenance_mut(64 * (n + 1));
                assert_eq!(index.find(n.wrapping_mul(stride), || made), made);
            }
            for n in 0..5000_usize {
                let found = index.find(n.wrapping_mul(stride), || unreachable!("stride {stride}"));
                assert_eq!(found.addr(), 64 * (n + 1));
            }
        }
    }

    #[test]
    fn forgets_what_is_over() {
        let mut index = Index::new().unwrap();
        for n in 0..100_000_usize {
            if !index.has_room_for(1) {
                let is_over = |entry: *mut Entry| entry.addr() / 64 + 8 <= n;
                index
                    .make_room(1, true, |_, _| (), is_over, |entry| assert!(is_over(entry)))
                    .unwrap();
            }
            _ = index.find(n * 64, || ptr::without_provenance_mut(64 * (n + 1)));
            assert!(index.bytes() <= 2048, "{} bytes for 8 addresses", index.bytes());
            if n > 8 {
                let found = index.find((n - 7) * 64, || unreachable!("{n}"));
                assert_eq!(found.addr(), 64 * (n - 6));
            }
        }
    }
}
