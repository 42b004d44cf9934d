//! An entry of the deadlines, and the part of them that is under one lock. [`super`] has the
//! protocol.

use crate::deadline::wheel::{Links, Wheel};
use crate::lock::mutex::Mutex;
use crate::sys::atomic::{AtomicU64, AtomicUsize, Ordering, const_fn};
use std::cell::Cell;

/// No deadline: the greatest time.
pub const FOREVER: i64 = i64::MAX;

/// Why an entry is taken out of its wheel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    Due,
    /// The owner of the entry is to give up before its deadline.
    Cut,
}

/// The decision of a claim: a function and its arguments, to be called without a lock.
#[derive(Clone, Copy)]
pub struct Then {
    pub act: fn([usize; 2]),
    pub with: [usize; 2],
}

/// Called under the lock when the entry was taken out of its wheel.
pub type Claim = unsafe fn(*const Entry, Why) -> Option<Then>;

/// An event that is to happen at a deadline.
#[repr(C)]
pub struct Entry {
    pub(super) links: Links,
    pub(super) claim: Cell<Option<Claim>>,
    /// The number of the shard whose wheel has the entry: see `Deadlines::place_in`; 0: none.
    pub(super) place: AtomicUsize,
}

impl Entry {
    /// The offset of the deadline, for an observer.
    pub const DEADLINE: usize = Links::DEADLINE;

    const_fn! {
        pub fn unused() -> Self {
            Entry { links: Links::unused(), claim: Cell::new(None), place: AtomicUsize::new(0) }
        }
    }

    const_fn! {
        pub fn new(claim: Claim) -> Self {
            Entry {
                links: Links::unused(),
                claim: Cell::new(Some(claim)),
                place: AtomicUsize::new(0),
            }
        }
    }

    pub fn set_claim(&self, claim: Claim) {
        self.claim.set(Some(claim));
    }

    /// In nanoseconds of CLOCK_MONOTONIC.
    pub fn deadline(&self) -> i64 {
        self.links.deadline()
    }
}

/// All bytes zero is a shard without entries.
#[derive(Default)]
pub(super) struct Shard {
    pub(super) wheel: Mutex<Wheel>,
    pub(super) next: Time,
    /// The number of entries, and how many of them have the deadline `FOREVER`.
    pub(super) entries: AtomicUsize,
    pub(super) endless: AtomicUsize,
}

/// A time in nanoseconds, `u64::MAX` at first. (The complement is stored, so that zeroed memory
/// means `u64::MAX`.)
#[derive(Default)]
pub(super) struct Time(AtomicU64);

impl Time {
    const_fn! {
        pub fn never() -> Self {
            Time(AtomicU64::new(0))
        }
    }

    pub fn get(&self) -> u64 {
        !self.0.load(Ordering::Relaxed)
    }

    pub fn set(&self, time: u64) {
        self.0.store(!time, Ordering::Relaxed);
    }
}

impl Shard {
    /// Changes the number of entries by `more`. Under the lock.
    pub fn count(&self, entry: &Links, more: isize) {
        let count = |number: &AtomicUsize| {
            let sum = number.load(Ordering::Relaxed).wrapping_add_signed(more);
            number.store(sum, Ordering::Relaxed);
        };
        count(&self.entries);
        if entry.deadline() == FOREVER {
            count(&self.endless);
        }
    }

    /// Calls `claim` for an entry that was taken out of the wheel, under the lock.
    pub fn claim(&self, links: *const Links, why: Why) -> Option<Then> {
        // SAFETY: the links are an entry's first field, and the entry lives until its claim.
        unsafe {
            self.count(&*links, -1);
            let entry = links.cast::<Entry>();
            let then = (*entry).claim.get().and_then(|claim| claim(entry, why));
            (*entry).place.store(0, Ordering::Release); // pairs with `remove`; the last access
            then
        }
    }
}
