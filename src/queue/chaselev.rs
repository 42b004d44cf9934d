//! The Chase-Lev deque: D. Chase and Y. Lev, "Dynamic circular work-stealing deque" (2005),
//! with the orderings of N. M. Lê, A. Pop, A. Cohen and F. Zappa Nardelli, "Correct and
//! efficient work-stealing for weak memory models" (2013).
//!
//! # States
//!
//! ```text
//!   top             bottom
//!    v                v
//! [..|a|b|c|d|e|f|g|h|..]      tasks at top .. bottom, positions never go down
//!    ^ thieves        ^ owner  slot of position p: p mod capacity
//! ```
//! `top` only grows, by compare-and-swap. `bottom` is written by the owner alone. The deque
//! is empty when top >= bottom.
//!
//! # Protocol
//!
//! *push* writes the slot, then `bottom + 1`. *pop* announces its claim by `bottom - 1`,
//! and only then reads `top`: with a task to spare between the two, no thief can reach the
//! claimed one. For the last task owner and thieves compete by the same compare-and-swap on
//! `top`. *steal* reads `top`, then `bottom`, then the slot, and takes it by the swap.
//!
//! # The bad interleaving
//!
//! One task left, t = top = b - 1. The owner writes bottom = t, a thief reads bottom; if
//! each may miss the other's write, the owner sees two tasks (stale top) where the thief
//! sees one: both run the last task. The full fences in pop (between its write of bottom
//! and its read of top) and in steal (between its read of top and its read of bottom)
//! exclude it: in the order of the fences one comes first, and the other side then sees
//! what was written or read before it.
//!
//! Three departures from the paper. Push does not read `top`, which thieves write, but compares
//! with a position remembered from its last look: `top` only grows, so the deque is never
//! fuller than that says. Every store to `bottom` is a Release store: where pop
//! stored Relaxed, a thief that reads that value would not be ordered after the pushes that
//! a Release fence published (loom finds it). And a push publishes by the store rather
//! than by a fence before it, which costs the same on x86-64 and aarch64 and is understood
//! by race detectors.
//!
//! # Growth
//!
//! The owner copies into a buffer of twice the size. A thief may still read the old one: it
//! stays, unchanged, until the deque is dropped (all old ones together are smaller than the
//! newest). A thief that reads a slot of the old buffer that was since reused in the new
//! one reads the same task, or fails its swap, because `top` has moved on.

use crate::queue::{Deque, Full, Steal};
use crate::stats::Counter;
use crate::sys::atomic::{AtomicIsize, AtomicPtr, Ordering, Pad, fence};
use crate::sys::memory;
use crate::sys::memory::NoMemory;
use crate::task::{Slot, Task};
use std::convert::Infallible;

/// Capacity of a new deque: small under the model, so that it reaches growth and wrap-around.
#[cfg(not(loom))]
const FIRST_CAPACITY: usize = 256;
#[cfg(loom)]
const FIRST_CAPACITY: usize = 2;

pub struct ChaseLev {
    /// Written by the owner at each operation.
    bottom: Pad<AtomicIsize>,
    /// Written by thieves, and by the owner for the last task.
    top: Pad<AtomicIsize>,
    seldom: Pad<Seldom>,
}

/// What a push reads without disturbing thieves, nor being disturbed.
struct Seldom {
    buffer: AtomicPtr<Buffer>,
    /// The position at which push must look at `top` again: as `top` was last seen, the buffer
    /// or the limit is reached there. Owner only.
    full_at: AtomicIsize,
    /// The most tasks the deque may hold.
    limit: usize,
    peak: Counter,
}

struct Buffer {
    slots: Box<[Slot]>,
    /// The buffer that this one replaced.
    outgrown: *mut Buffer,
}

impl Buffer {
    fn new(capacity: usize, outgrown: *mut Buffer) -> Result<*mut Buffer, NoMemory> {
        let place = memory::allocate::<Buffer>()?;
        #[cfg(not(loom))]
        // SAFETY: a slot is two pointer-sized atomics, for which zero is a value.
        let slots = unsafe { memory::zeroed(capacity) };
        #[cfg(loom)]
        let slots = memory::slice(capacity, |_| Ok(Slot::default()));
        match slots {
            Ok(slots) => {
                // SAFETY: `place` is room for a buffer.
                unsafe { place.write(Buffer { slots, outgrown }) };
                Ok(place.as_ptr())
            }
            Err(NoMemory) => {
                // SAFETY: allocated by `room` with this layout, not used.
                unsafe {
                    std::alloc::dealloc(place.as_ptr().cast(), std::alloc::Layout::new::<Buffer>());
                }
                Err(NoMemory)
            }
        }
    }

    #[inline]
    fn slot(&self, position: isize) -> &Slot {
        // The capacity is a power of two, so the mask is in range: no bounds check remains.
        let mask = self.slots.len() - 1;
        // SAFETY: masked by the length less one.
        unsafe { self.slots.get_unchecked(position as usize & mask) }
    }
}

// SAFETY: the buffers are reached through atomics, and freed only by drop.
unsafe impl Send for ChaseLev {}
// SAFETY: as above.
unsafe impl Sync for ChaseLev {}

impl ChaseLev {
    /// The owner's view of the buffer: no one else writes the pointer.
    #[inline]
    fn own_buffer(&self) -> &Buffer {
        // SAFETY: never null, and freed only by drop.
        unsafe { &*self.seldom.buffer.load(Ordering::Relaxed) }
    }

    /// Looks at `top` again, grows if there is still no room, and sets `full_at` anew.
    fn make_room(&self, bottom: isize) -> Result<(), Full> {
        // Acquire: a slot whose thief has moved `top` past it may be written again, after the
        // thief's reads of it.
        let top = self.top.load(Ordering::Acquire);
        let queued = (bottom - top) as usize;
        if queued >= self.seldom.limit {
            return Err(Full);
        }
        let mut capacity = self.own_buffer().slots.len();
        if queued >= capacity {
            capacity = self.grow(top, bottom)?.slots.len();
        }
        let room = capacity.min(self.seldom.limit);
        self.seldom.full_at.store(top + room as isize, Ordering::Relaxed);
        Ok(())
    }

    fn grow(&self, top: isize, bottom: isize) -> Result<&Buffer, Full> {
        let old = self.own_buffer();
        let outgrown = self.seldom.buffer.load(Ordering::Relaxed);
        let capacity = old.slots.len().checked_mul(2).ok_or(Full)?;
        let new = Buffer::new(capacity, outgrown).map_err(|_| Full)?;
        // SAFETY: just made, and freed only by drop.
        let fresh = unsafe { &*new };
        for position in top..bottom {
            // SAFETY: the owner reads what it wrote itself: slots from top to bottom hold
            // whole tasks.
            fresh.slot(position).write(unsafe { old.slot(position).read().confirmed() });
        }
        // Release: pairs with the thieves' Acquire load, so that they see the copies.
        self.seldom.buffer.store(new, Ordering::Release);
        Ok(fresh)
    }
}

impl Deque for ChaseLev {
    type Private = Infallible;
    type Batches = Infallible;

    fn new(limit: usize) -> Result<Self, NoMemory> {
        Ok(ChaseLev {
            bottom: Pad(AtomicIsize::new(0)),
            top: Pad(AtomicIsize::new(0)),
            seldom: Pad(Seldom {
                buffer: AtomicPtr::new(Buffer::new(FIRST_CAPACITY, std::ptr::null_mut())?),
                full_at: AtomicIsize::new(0),
                limit,
                peak: Counter::default(),
            }),
        })
    }

    #[inline]
    unsafe fn put(&self, task: Task) -> bool {
        let bottom = self.bottom.load(Ordering::Relaxed);
        if bottom >= self.seldom.full_at.load(Ordering::Relaxed) {
            return false;
        }
        self.own_buffer().slot(bottom).write(task);
        // Release: pairs with the Acquire load of `bottom` in steal.
        self.bottom.store(bottom + 1, Ordering::Release);
        true
    }

    #[cold]
    #[inline(never)]
    unsafe fn put_slowly(&self, task: Task) -> Result<(), Full> {
        self.make_room(self.bottom.load(Ordering::Relaxed))?;
        // SAFETY: passed on.
        let put = unsafe { self.put(task) };
        debug_assert!(put, "there is room");
        Ok(())
    }

    #[inline]
    unsafe fn pop(&self) -> Option<Task> {
        let bottom = self.bottom.load(Ordering::Relaxed) - 1;
        self.bottom.store(bottom, Ordering::Release);
        fence(Ordering::SeqCst); // with the fence in steal: see the essay
        let top = self.top.load(Ordering::Relaxed);
        if top > bottom {
            self.bottom.store(bottom + 1, Ordering::Release);
            return None;
        }
        let pair = self.own_buffer().slot(bottom).read();
        if top == bottom {
            // The last one: compete for it as a thief would.
            let won = self
                .top
                .compare_exchange(top, top + 1, Ordering::SeqCst, Ordering::Relaxed)
                .is_ok();
            self.bottom.store(bottom + 1, Ordering::Release);
            if !won {
                return None;
            }
        }
        self.seldom.peak.peak((bottom - top) as usize + 1);
        // SAFETY: the slot is the owner's own writing, and no thief has it: top < bottom
        // after the fence, or the swap was won.
        Some(unsafe { pair.confirmed() })
    }

    fn peak(&self) -> usize {
        self.seldom.peak.get()
    }

    fn steal(&self) -> Steal {
        // Acquire: pairs with the swaps, so that `bottom` is not older than what their thieves saw.
        let top = self.top.load(Ordering::Acquire);
        fence(Ordering::SeqCst); // with the fence in pop: see the essay
        // Acquire: pairs with the Release store of push, so that the slot is written.
        let bottom = self.bottom.load(Ordering::Acquire);
        if top >= bottom {
            return Steal::Empty;
        }
        // Acquire: pairs with the Release store of grow.
        // SAFETY: never null, and freed only by drop.
        let buffer = unsafe { &*self.seldom.buffer.load(Ordering::Acquire) };
        let pair = buffer.slot(top).read();
        match self.top.compare_exchange(top, top + 1, Ordering::SeqCst, Ordering::Relaxed) {
            // SAFETY: `top` had not moved, so the slot was not written again meanwhile: the
            // pair is whole, and it is ours alone.
            Ok(_) => Steal::Taken(unsafe { pair.confirmed() }),
            Err(_) => Steal::Retry,
        }
    }

    #[inline]
    fn looks_empty(&self) -> bool {
        let top = self.top.load(Ordering::Acquire);
        self.bottom.load(Ordering::Acquire) <= top
    }
}

impl Drop for ChaseLev {
    fn drop(&mut self) {
        let mut next = self.seldom.buffer.load(Ordering::Relaxed);
        while !next.is_null() {
            // SAFETY: made by `Buffer::new` in memory of a box's layout, in this list once,
            // and nobody else has access any more.
            let buffer = unsafe { Box::from_raw(next) };
            next = buffer.outgrown;
        }
    }
}
