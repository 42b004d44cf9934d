//! Argument blocks: tasks with a copy of their argument (`sched_spawn_copy`).
//!
//! # Layout
//!
//! ```text
//! 16 n + 8   f, or the next empty block
//! 16 n + 16  the argument
//! ```
//! The task in the queue is `open` with the argument's address as its closure, and the block's size
//! in the four low bits of it. So queues and kinds know nothing of blocks.
//!
//! # Where they come from
//!
//! Each worker has a *block cache* of empty blocks, in nine sizes, that it alone touches: last used,
//! first taken, so a block is warm in its cache. Tasks may be spawned by one worker and run by
//! another, which then has the blocks: a block cache that is too full gives some to the run's *block pool*,
//! and an empty one takes from there before it cuts new ones. (The magazines and the block pool of
//! J. Bonwick and J. Adams, "Magazines and vmem", 2001.) The memory is the run's, and is freed as
//! a whole when it has ended. A thread that is no worker gets a block from the heap.

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

/// What blocks of each size take, `f` included.
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

/// Of one size, in a block cache: with twice as many, half go to the block pool.
pub(super) const BATCH: usize = 32;

/// Memory for blocks comes in pieces of so many lines: the first, and the largest.
pub(super) const FIRST_PIECE: usize = (4 << 10) / size_of::<Line>();
pub(super) const LARGEST_PIECE: usize = (16 << 20) / size_of::<Line>();

#[repr(align(64))]
pub(super) struct Line(#[allow(dead_code, reason = "room")] MaybeUninit<[u8; 64]>);

/// The word before a block's argument.
pub(super) union Head {
    pub(super) f: TaskFn,
    next: *mut Head,
}

/// A list of empty blocks of one size, which are the list's alone.
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
        let block = self.first;
        // SAFETY: an empty block of the list.
        self.first = unsafe { (*block).next };
        self.count -= 1;
        Some(block)
    }

    #[inline]
    pub(super) fn push(&mut self, block: *mut Head) {
        // SAFETY: the caller gives up an empty block.
        unsafe { (*block).next = self.first };
        self.first = block;
        self.count += 1;
    }
}

/// A worker's empty blocks. Only its owner's.
pub struct BlockCache {
    pub(super) lists: [Cell<List>; SIZES.len()],
    /// What is left of the piece that new ones are cut from.
    pub(super) rest: Cell<*mut u8>,
    pub(super) end: Cell<*mut u8>,
    pub(super) next_piece: Cell<usize>,
    pub(super) block_pool: Cell<*const BlockPool>,
}

/// A run's.
pub struct BlockPool(Mutex<Inside>);

pub(super) struct Inside {
    pub(super) spare: [List; SIZES.len()],
    /// The memory of all blocks, until it is dropped.
    pub(super) pieces: Vec<Block<Line>>,
}

// SAFETY: empty blocks and memory may be used by any thread.
unsafe impl Send for Inside {}

impl Default for BlockPool {
    fn default() -> Self {
        BlockPool(Mutex::new(Inside { spare: [List::EMPTY; SIZES.len()], pieces: Vec::new() }))
    }
}

impl BlockPool {
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

impl Default for BlockCache {
    fn default() -> Self {
        BlockCache {
            lists: [const { Cell::new(List::EMPTY) }; SIZES.len()],
            rest: Cell::new(ptr::null_mut()),
            end: Cell::new(ptr::null_mut()),
            next_piece: Cell::new(FIRST_PIECE),
            block_pool: Cell::new(ptr::null()),
        }
    }
}

impl BlockCache {
    /// An empty block cache, for a run.
    pub fn open(&self, block_pool: &BlockPool) {
        self.lists.iter().for_each(|list| list.set(List::EMPTY));
        self.rest.set(ptr::null_mut());
        self.end.set(ptr::null_mut());
        self.next_piece.set(FIRST_PIECE);
        self.block_pool.set(block_pool);
    }

    /// # Safety
    /// The caller owns the block cache, and the run has not ended.
    #[inline]
    pub(super) unsafe fn take(&self, size: usize) -> Result<*mut Head, NoMemory> {
        let mut list = self.lists[size].get();
        let Some(block) = list.pop() else {
            // SAFETY: passed on.
            return unsafe { self.refill(size) };
        };
        self.lists[size].set(list);
        Ok(block)
    }

    /// # Safety
    /// As for `take`.
    #[cold]
    #[inline(never)]
    pub(super) unsafe fn refill(&self, size: usize) -> Result<*mut Head, NoMemory> {
        let bytes = SIZES[size];
        let left = self.end.get() as usize - self.rest.get() as usize;
        // SAFETY: the block pool lives until the run has ended.
        let block_pool = unsafe { &*self.block_pool.get() };
        if left < bytes + BEFORE || left % 4096 < bytes {
            // Now and then, lest memory is cut that others have for nothing.
            let mut list = List::EMPTY;
            block_pool.0.with(|inside| {
                while list.count < BATCH
                    && let Some(block) = inside.spare[size].pop()
                {
                    list.push(block);
                }
            });
            if let Some(block) = list.pop() {
                self.lists[size].set(list);
                return Ok(block);
            }
        }
        if left < bytes + BEFORE {
            let lines = self.next_piece.get();
            let piece = block_pool.piece(lines)?;
            self.next_piece.set((lines * 2).min(LARGEST_PIECE));
            self.end.set(piece.wrapping_add(lines * size_of::<Line>()));
            self.rest.set(piece.wrapping_add(BEFORE)); // so that arguments are aligned to 16
        }
        let block = self.rest.get();
        self.rest.set(block.wrapping_add(bytes));
        Ok(block.cast())
    }

    /// # Safety
    /// As for `take`; the block is of this size, empty, and the caller's.
    #[inline]
    pub(super) unsafe fn put(&self, block: *mut Head, size: usize) {
        let mut list = self.lists[size].get();
        list.push(block);
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
        // SAFETY: the block pool lives until the run has ended.
        let block_pool = unsafe { &*self.block_pool.get() };
        block_pool.0.with(|inside| {
            for _ in 0..BATCH {
                if let Some(block) = list.pop() {
                    inside.spare[size].push(block);
                }
            }
        });
    }
}
