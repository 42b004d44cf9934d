//! The Chase-Lev deque: D. Chase and Y. Lev, "Dynamic circular work-stealing deque" (2005),
//! with the orderings of N. M. Lê, A. Pop, A. Cohen and F. Zappa Nardelli, "Correct and
//! efficient work-stealing for weak memory models" (2013).
//!
//! # States
//!
//! ```text
//!   top             bottom
//!    v                v
//! [..|a|b|c|d|e|f|g|h|..]      tasks at top .. bottom; positions never decrease
//!    ^ thieves        ^ owner  slot of position p: p mod capacity
//! ```
//! `top` only grows, by compare-and-swap. Only the owner writes `bottom`. If top >= bottom, the
//! deque is empty.
//!
//! # Protocol
//!
//! *push* writes the slot, then `bottom + 1`. *pop* announces its claim by writing `bottom - 1`,
//! and only then reads `top`. If `top` is below the claimed position, no thief can reach the
//! claimed task. For the last task, owner and thieves compete by the same compare-and-swap on
//! `top`. *steal* reads `top`, then `bottom`, then the slot, and takes the task by that exchange.
//!
//! # The bad interleaving
//!
//! One task is left: t = top = b - 1. The owner writes bottom = t, and a thief reads bottom. If
//! each could miss the other's write, the owner would see two tasks (stale top) where the thief
//! sees one, and both would run the last task. The full fences in pop (between its write of bottom
//! and its read of top) and in steal (between its read of top and its read of bottom) exclude this:
//! one of the two fences comes first, and the side whose fence comes second sees what the other
//! side wrote or read before its fence.
//!
//! There are three departures from the paper. First, push does not read `top`, which thieves write;
//! it compares with a position remembered from its last look. `top` only grows, so the deque is
//! never fuller than that position says. Second, every store to `bottom` is a Release store. If pop
//! stored Relaxed, a thief that reads the stored value would not be ordered after the earlier
//! pushes (loom finds this). Third, a push publishes by its Release store rather than by a fence
//! before the store. This costs the same on x86-64 and aarch64, and race detectors understand it.
//!
//! # Growth
//!
//! The owner copies the tasks into a buffer of twice the size. A thief may still read the old
//! buffer, so it stays, unchanged, until the deque is dropped (all old buffers together are smaller
//! than the newest). The owner may reuse a slot of the new buffer for a later position. In that
//! case `top` has moved past the old position, and the compare-and-swap of a thief that read the
//! old slot fails. Otherwise both buffers hold the same task there.
//!
//! # Giving memory back
//!
//! The owner of an empty deque returns the pages of the long buffers to the system (`give_back`);
//! the buffers themselves stay, since a thief may still read them. The pages then read as zero. A
//! thief that reads such a slot has seen a task at position t = top. The deque is empty by then, so
//! the task at t was taken, which has moved `top`: the thief's exchange fails. (The owner reads
//! `top` with Acquire first. So a thief that did take the task at t had read its slot before the
//! owner discarded the pages.) Rejected: replacing the long buffers by a short one. The long ones
//! would have to stay anyway, and each later peak would add more.
//!
//! # Orderings
//!
//! | operation | ordering | partner |
//! | --- | --- | --- |
//! | `put`: store of `bottom` | Release | steal's load of `bottom`: the slot is written |
//! | `pop`: stores of `bottom` | Release | the same: a thief that reads them sees the pushes before |
//! | `pop`: fence | SeqCst | steal's fence: the bad interleaving |
//! | `pop`: load of `top` | Relaxed | the fence before it |
//! | `pop`, steal: exchange of `top` | SeqCst | `make_room`; AcqRel would do beside the fences |
//! | steal: load of `top` | Acquire | the exchanges of `top` |
//! | steal: fence | SeqCst | pop's fence |
//! | steal: load of `bottom` | Acquire | the stores of `bottom` |
//! | steal: load of the buffer | Acquire | `grow`: the copies are written |
//! | `grow`: store of the buffer | Release | steal's load of it |
//! | `make_room`, `give_back`: load of `top` | Acquire | the thieves' exchanges: their reads of the slots are over |
//! | slots | Relaxed | a thief's exchange confirms what it has read |

use crate::queue::length::Length;
use crate::queue::{Deque, Full, Steal};
use crate::stats::Counter;
use crate::sys::atomic::{AtomicIsize, AtomicPtr, MODEL, Ordering, Pad, fence};
use crate::sys::memory;
use crate::sys::memory::NoMemory;
use crate::task::{Slot, Task};
use std::convert::Infallible;
use std::mem::offset_of;
use std::sync::atomic::AtomicBool;

/// The capacity of a new deque: small in models, so that they reach growth and wrap-around.
const FIRST_CAPACITY: usize = if MODEL { 2 } else { 256 };

/// After giving memory back, the owner passes this many positions before it does so again.
const FEW: isize = if MODEL { 1 } else { 4096 };

/// True if returning the pages of a buffer with `slots` slots is worth a system call.
fn is_long(slots: usize) -> bool {
    if MODEL {
        return slots > FIRST_CAPACITY;
    }
    slots * size_of::<Slot>() >= memory::LONG
}

pub struct ChaseLev {
    /// Written by the owner at each operation.
    bottom: Pad<AtomicIsize>,
    /// Written by thieves, and by the owner for the last task.
    top: Pad<AtomicIsize>,
    seldom: Pad<Seldom>,
}

/// Fields that a push reads, on cache lines that thieves never write.
struct Seldom {
    buffer: AtomicPtr<Buffer>,
    /// The position at which push must read `top` again: the buffer is full or the limit is reached
    /// there, according to the last look at `top`. Used by the owner only.
    full_at: AtomicIsize,
    /// True if the buffer is long and more than a few of its pages may be resident. Used by the
    /// owner only. (std's atomic, which the models do not explore.)
    is_touched: AtomicBool,
    /// The most tasks that the deque may hold.
    limit: usize,
    peak: Counter,
}

struct Buffer {
    slots: Box<[Slot]>,
    /// The buffer that this one has replaced.
    outgrown: *mut Buffer,
}

impl Buffer {
    fn new(capacity: usize, outgrown: *mut Buffer) -> Result<*mut Buffer, NoMemory> {
        let room = memory::allocate::<Buffer>()?;
        // SAFETY: a slot consists of two pointer-sized atomics, for which zero is valid.
        let slots = unsafe { memory::zeroed(capacity) };
        match slots {
            Ok(slots) => {
                // SAFETY: `room` is uninitialised memory for a buffer.
                unsafe { room.write(Buffer { slots, outgrown }) };
                Ok(room.as_ptr())
            }
            Err(NoMemory) => {
                // SAFETY: `allocate` has made this memory with this layout, and nobody uses it.
                unsafe {
                    std::alloc::dealloc(room.as_ptr().cast(), std::alloc::Layout::new::<Buffer>());
                }
                Err(NoMemory)
            }
        }
    }

    /// Returns the pages of the slots to the system: from now on the slots are empty.
    ///
    /// # Safety
    /// The caller is the deque's owner. Nobody takes a task that is in the buffer now.
    unsafe fn discard(&self) {
        if MODEL {
            return self.slots.iter().for_each(Slot::clear);
        }
        let (at, bytes) = (self.slots.as_ptr().cast_mut(), size_of_val(&*self.slots));
        // SAFETY: the bytes are the slots', which nobody needs.
        unsafe { memory::discard_within(at.cast(), bytes) };
    }

    #[inline]
    fn slot(&self, position: isize) -> &Slot {
        // The capacity is a power of two, so the mask makes a bounds check needless.
        let mask = self.slots.len() - 1;
        // SAFETY: an index masked by the length minus one is less than the length.
        unsafe { self.slots.get_unchecked(position as usize & mask) }
    }
}

// SAFETY: the buffers are reached through atomics, and freed only by drop.
unsafe impl Send for ChaseLev {}
// SAFETY: the buffers are reached through atomics, and freed only by drop.
unsafe impl Sync for ChaseLev {}

impl ChaseLev {
    /// The owner's view of the buffer. Relaxed: only the owner writes the pointer.
    #[inline]
    fn own_buffer(&self) -> &Buffer {
        // SAFETY: the pointer is never null, and buffers are freed only by drop.
        unsafe { &*self.seldom.buffer.load(Ordering::Relaxed) }
    }

    /// Reads `top` again, grows the buffer if there is still no room, and recomputes `full_at`.
    fn make_room(&self, bottom: isize) -> Result<(), Full> {
        // Acquire: pairs with the thieves' exchanges of `top`. A slot that a thief has passed may
        // be written again, after the thief's reads of it.
        let top = self.top.load(Ordering::Acquire);
        let queued = (bottom - top) as usize;
        if queued >= self.seldom.limit {
            return Err(Full);
        }
        let mut capacity = self.own_buffer().slots.len();
        if queued >= capacity {
            capacity = self.grow(top, bottom)?.slots.len();
        }
        self.seldom.is_touched.store(is_long(capacity), Ordering::Relaxed);
        let room = capacity.min(self.seldom.limit);
        self.seldom.full_at.store(top + room as isize, Ordering::Relaxed);
        Ok(())
    }

    fn grow(&self, top: isize, bottom: isize) -> Result<&Buffer, Full> {
        let old = self.own_buffer();
        let outgrown = self.seldom.buffer.load(Ordering::Relaxed);
        let capacity = old.slots.len().checked_mul(2).ok_or(Full)?;
        let new = Buffer::new(capacity, outgrown).map_err(|_| Full)?;
        // SAFETY: the buffer was just made, and buffers are freed only by drop.
        let fresh = unsafe { &*new };
        for position in top..bottom {
            // SAFETY: the owner wrote the slots from top to bottom itself: they hold whole tasks.
            fresh.slot(position).write(unsafe { old.slot(position).read().confirmed() });
        }
        // Release: pairs with the thieves' Acquire load of the buffer, so that they see the copies.
        self.seldom.buffer.store(new, Ordering::Release);
        Ok(fresh)
    }
}

impl Deque for ChaseLev {
    type Private = Infallible;
    type Batches = Infallible;
    const LENGTH: Length = {
        let bottom = offset_of!(ChaseLev, bottom);
        let buffer = offset_of!(ChaseLev, seldom) + offset_of!(Seldom, buffer);
        Length::difference([bottom, bottom], offset_of!(ChaseLev, top), 1, size_of::<isize>())
            .in_slice_via(buffer, offset_of!(Buffer, slots))
    };

    fn new(limit: usize) -> Result<Self, NoMemory> {
        Ok(ChaseLev {
            bottom: Pad(AtomicIsize::new(0)),
            top: Pad(AtomicIsize::new(0)),
            seldom: Pad(Seldom {
                buffer: AtomicPtr::new(Buffer::new(FIRST_CAPACITY, std::ptr::null_mut())?),
                full_at: AtomicIsize::new(0),
                is_touched: AtomicBool::new(false),
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
        // SAFETY: the caller is the owner, by its own promise.
        let put = unsafe { self.put(task) };
        debug_assert!(put, "make_room has left no room");
        Ok(())
    }

    #[inline]
    unsafe fn pop(&self) -> Option<Task> {
        let bottom = self.bottom.load(Ordering::Relaxed) - 1;
        self.bottom.store(bottom, Ordering::Release);
        fence(Ordering::SeqCst); // pairs with the fence in steal: see the essay
        let top = self.top.load(Ordering::Relaxed);
        if top > bottom {
            self.bottom.store(bottom + 1, Ordering::Release);
            return None;
        }
        let pair = self.own_buffer().slot(bottom).read();
        if top == bottom {
            // The last task: the owner competes for it as a thief would.
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
        // SAFETY: the owner wrote the slot itself, and no thief has the task: top < bottom after
        // the fence, or the owner's exchange has succeeded.
        Some(unsafe { pair.confirmed() })
    }

    unsafe fn keeps_memory(&self) -> bool {
        self.seldom.is_touched.load(Ordering::Relaxed)
    }

    #[cold]
    unsafe fn give_back(&self) {
        let bottom = self.bottom.load(Ordering::Relaxed);
        // Acquire: pairs with the thieves' exchanges of `top`, as in `make_room`.
        if self.top.load(Ordering::Acquire) < bottom {
            return;
        }
        self.seldom.is_touched.store(false, Ordering::Relaxed);
        let full_at = self.seldom.full_at.load(Ordering::Relaxed);
        self.seldom.full_at.store(full_at.min(bottom + FEW), Ordering::Relaxed);
        let mut next = self.seldom.buffer.load(Ordering::Relaxed);
        while !next.is_null() {
            // SAFETY: buffers are freed only by drop.
            let buffer = unsafe { &*next };
            if is_long(buffer.slots.len()) {
                // SAFETY: the caller is the owner, and the deque is empty.
                unsafe { buffer.discard() };
            }
            next = buffer.outgrown;
        }
    }

    fn peak(&self) -> usize {
        self.seldom.peak.get()
    }

    fn steal(&self) -> Steal {
        // Acquire: pairs with the exchanges of `top`, so that `bottom` is not older than the value
        // that earlier thieves saw.
        let top = self.top.load(Ordering::Acquire);
        fence(Ordering::SeqCst); // pairs with the fence in pop: see the essay
        // Acquire: pairs with the Release store of `bottom` in push, so that the slot is written.
        let bottom = self.bottom.load(Ordering::Acquire);
        if top >= bottom {
            return Steal::Empty;
        }
        // Acquire: pairs with the Release store of the buffer in grow.
        // SAFETY: the pointer is never null, and buffers are freed only by drop.
        let buffer = unsafe { &*self.seldom.buffer.load(Ordering::Acquire) };
        let pair = buffer.slot(top).read();
        match self.top.compare_exchange(top, top + 1, Ordering::SeqCst, Ordering::Relaxed) {
            // SAFETY: `top` has not moved, so the slot was not written again meanwhile: the pair is
            // whole, and only this thief has the task.
            Ok(_) => Steal::Taken(unsafe { pair.confirmed() }),
            Err(_) => Steal::Retry,
        }
    }

    fn len_hint(&self) -> usize {
        let top = self.top.load(Ordering::Relaxed);
        usize::try_from(self.bottom.load(Ordering::Relaxed) - top).unwrap_or(0)
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
            // SAFETY: `Buffer::new` made the buffer in memory of a box's layout; it is in this list
            // once, and a deque that is dropped is used by nobody else.
            let buffer = unsafe { Box::from_raw(next) };
            next = buffer.outgrown;
        }
    }
}
