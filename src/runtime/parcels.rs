//! Parcels: tasks with a copy of their argument (`sched_spawn_copy`).
//!
//! # Layout
//!
//! ```text
//! 16 n + 8   f, or the next empty parcel
//! 16 n + 16  the argument
//! ```
//! The task in the queue is `open` with the argument's address as its closure, and the parcel's size
//! in the four low bits of it. So queues and kinds know nothing of parcels.
//!
//! # Where they come from
//!
//! Each worker has a *stock* of empty parcels, in nine sizes, that it alone touches: last used,
//! first taken, so a parcel is warm in its cache. Tasks may be spawned by one worker and run by
//! another, which then has the parcels: a stock that is too full gives some to the run's *depot*,
//! and an empty one takes from there before it cuts new ones. (The magazines and the depot of
//! J. Bonwick and J. Adams, "Magazines and vmem", 2001.) The memory is the run's, and is freed as
//! a whole when it has ended. A thread that is no worker gets a parcel from the heap.

use crate::lock::mutex::Mutex;
use crate::sys::memory::NoMemory;
use crate::sys::region::Block;
use crate::task::TaskFn;
use std::cell::Cell;
use std::mem::MaybeUninit;
use std::ptr;

/// The most bytes that an argument may have: SCHED_COPY_MAX.
pub const MOST: usize = 256;
/// The size of the library's own record that `spawn_two` puts before the argument.
pub const HEADER: usize = 16;
/// The most bytes of both together.
pub(super) const MOST_IN_ALL: usize = HEADER + MOST;

/// What parcels of each size take, `f` included.
pub(super) const SIZES: [usize; 9] = [16, 32, 48, 64, 96, 128, 192, 272, 288];
/// The "size" of one from the heap.
pub(super) const HEAP: usize = SIZES.len();
pub(super) const SIZE_MASK: usize = 15;
pub(super) const BEFORE: usize = size_of::<usize>(); // what stands before the argument

const _: () = assert!(SIZES[SIZES.len() - 1] - BEFORE >= MOST_IN_ALL && HEAP <= SIZE_MASK);

/// The smallest size for so many bytes, at each multiple of 16.
pub(super) const SIZE_OF: [u8; MOST_IN_ALL / 16 + 2] = {
    let mut table = [0; MOST_IN_ALL / 16 + 2];
    let mut at = 0;
    while at < table.len() {
        let mut size = 0;
        while size < SIZES.len() - 1 && SIZES[size] < 16 * at {
            size += 1;
        }
        table[at] = size as u8;
        at += 1;
    }
    table
};

#[inline]
pub(super) fn size_for(bytes: usize) -> usize {
    SIZE_OF[(bytes + BEFORE).div_ceil(16)] as usize
}

/// Of one size, in a stock: with twice as many, half go to the depot.
pub(super) const BATCH: usize = 32;

/// Memory for parcels comes in pieces of so many lines: the first, and the largest.
pub(super) const FIRST_PIECE: usize = (4 << 10) / size_of::<Line>();
pub(super) const LARGEST_PIECE: usize = (16 << 20) / size_of::<Line>();

#[repr(align(64))]
pub(super) struct Line(#[allow(dead_code, reason = "room")] MaybeUninit<[u8; 64]>);

/// The word before a parcel's argument.
pub(super) union Head {
    pub(super) f: TaskFn,
    next: *mut Head,
}

/// A list of empty parcels of one size, which are the list's alone.
#[derive(Clone, Copy)]
pub(super) struct List {
    pub(super) first: *mut Head,
    pub(super) count: usize,
}

impl List {
    const EMPTY: List = List { first: ptr::null_mut(), count: 0 };

    #[inline]
    pub(super) fn pop(&mut self) -> Option<*mut Head> {
        if self.first.is_null() {
            return None;
        }
        let parcel = self.first;
        // SAFETY: an empty parcel of the list.
        self.first = unsafe { (*parcel).next };
        self.count -= 1;
        Some(parcel)
    }

    #[inline]
    pub(super) fn push(&mut self, parcel: *mut Head) {
        // SAFETY: the caller gives up an empty parcel.
        unsafe { (*parcel).next = self.first };
        self.first = parcel;
        self.count += 1;
    }
}

/// A worker's empty parcels. Only its owner's.
pub struct Stock {
    pub(super) lists: [Cell<List>; SIZES.len()],
    /// What is left of the piece that new ones are cut from.
    pub(super) rest: Cell<*mut u8>,
    pub(super) end: Cell<*mut u8>,
    pub(super) next_piece: Cell<usize>,
    pub(super) depot: Cell<*const Depot>,
}

/// A run's.
pub struct Depot(Mutex<Inside>);

pub(super) struct Inside {
    pub(super) spare: [List; SIZES.len()],
    /// The memory of all parcels, until it is dropped.
    pub(super) pieces: Vec<Block<Line>>,
}

// SAFETY: empty parcels and memory may be used by any thread.
unsafe impl Send for Inside {}

impl Default for Depot {
    fn default() -> Self {
        Depot(Mutex::new(Inside { spare: [List::EMPTY; SIZES.len()], pieces: Vec::new() }))
    }
}

impl Depot {
    pub(super) fn piece(&self, lines: usize) -> Result<*mut u8, NoMemory> {
        self.0.with(|inside| {
            inside.pieces.try_reserve(1).map_err(|_| NoMemory)?;
            // SAFETY: a line may hold any bytes.
            let piece = unsafe { Block::new(lines) }?;
            let start = piece.start();
            inside.pieces.push(piece);
            Ok(start.cast())
        })
    }
}

impl Default for Stock {
    fn default() -> Self {
        Stock {
            lists: [const { Cell::new(List::EMPTY) }; SIZES.len()],
            rest: Cell::new(ptr::null_mut()),
            end: Cell::new(ptr::null_mut()),
            next_piece: Cell::new(FIRST_PIECE),
            depot: Cell::new(ptr::null()),
        }
    }
}

impl Stock {
    /// An empty stock, for a run.
    pub fn open(&self, depot: &Depot) {
        self.lists.iter().for_each(|list| list.set(List::EMPTY));
        self.rest.set(ptr::null_mut());
        self.end.set(ptr::null_mut());
        self.next_piece.set(FIRST_PIECE);
        self.depot.set(depot);
    }

    /// # Safety
    /// The caller owns the stock, and the run has not ended.
    #[inline]
    pub(super) unsafe fn take(&self, size: usize) -> Result<*mut Head, NoMemory> {
        let mut list = self.lists[size].get();
        let Some(parcel) = list.pop() else {
            // SAFETY: passed on.
            return unsafe { self.restock(size) };
        };
        self.lists[size].set(list);
        Ok(parcel)
    }

    /// # Safety
    /// As for `take`.
    #[cold]
    #[inline(never)]
    pub(super) unsafe fn restock(&self, size: usize) -> Result<*mut Head, NoMemory> {
        let bytes = SIZES[size];
        let left = self.end.get() as usize - self.rest.get() as usize;
        // SAFETY: the depot lives until the run has ended.
        let depot = unsafe { &*self.depot.get() };
        if left < bytes + BEFORE || left % 4096 < bytes {
            // Now and then, lest memory is cut that others have for nothing.
            let mut list = List::EMPTY;
            depot.0.with(|inside| {
                while list.count < BATCH
                    && let Some(parcel) = inside.spare[size].pop()
                {
                    list.push(parcel);
                }
            });
            if let Some(parcel) = list.pop() {
                self.lists[size].set(list);
                return Ok(parcel);
            }
        }
        if left < bytes + BEFORE {
            let lines = self.next_piece.get();
            let piece = depot.piece(lines)?;
            self.next_piece.set((lines * 2).min(LARGEST_PIECE));
            self.end.set(piece.wrapping_add(lines * size_of::<Line>()));
            self.rest.set(piece.wrapping_add(BEFORE)); // so that arguments are aligned to 16
        }
        let parcel = self.rest.get();
        self.rest.set(parcel.wrapping_add(bytes));
        Ok(parcel.cast())
    }

    /// # Safety
    /// As for `take`; the parcel is of this size, empty, and the caller's.
    #[inline]
    pub(super) unsafe fn put(&self, parcel: *mut Head, size: usize) {
        let mut list = self.lists[size].get();
        list.push(parcel);
        if list.count >= 2 * BATCH {
            // SAFETY: passed on.
            unsafe { self.share(&mut list, size) };
        }
        self.lists[size].set(list);
    }

    /// # Safety
    /// As for `take`.
    #[cold]
    #[inline(never)]
    pub(super) unsafe fn share(&self, list: &mut List, size: usize) {
        // SAFETY: the depot lives until the run has ended.
        let depot = unsafe { &*self.depot.get() };
        depot.0.with(|inside| {
            for _ in 0..BATCH {
                if let Some(parcel) = list.pop() {
                    inside.spare[size].push(parcel);
                }
            }
        });
    }
}
