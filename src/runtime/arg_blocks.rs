//! Argument blocks: memory for tasks with a copy of their argument (`sched_spawn_copy`).
//!
//! # Layout
//!
//! ```text
//! 16 n + 8   the function f; in an empty block, the next empty block
//! 16 n + 16  the argument
//! ```
//! The queued task is `run_block`, with the address of the argument as its closure, whose four low
//! bits hold the block's size class. So queues and policies know nothing of blocks.
//!
//! # Where blocks come from
//!
//! Each worker has a *block cache*: lists of empty blocks in nine size classes, which only that
//! worker touches. The block that was freed last is taken first, so it is likely to be in the
//! processor's cache. If one worker spawns a task and another runs it, the block ends in the other
//! worker's cache. So a full block cache gives blocks to the *block pool* of the run, and an empty
//! one takes blocks from the pool before it cuts new ones. (These are the magazines and the depot
//! of J. Bonwick and J. Adams, "Magazines and vmem", 2001.) The memory belongs to the run, and is
//! freed as a whole. A thread that is not a worker gets a block from the heap.
//!
//! # When the memory is freed
//!
//! The memory is freed at the end of the run, or earlier, when all of it is *at home*, in the pool.
//! A worker that has been idle for a while gives all that its cache holds to the pool, including
//! the uncut rest of its piece. The pool counts the bytes of all pieces, and the bytes at home: the
//! blocks in its lists, the ends of pieces, and the few bytes before the first block of each piece.
//! The other bytes are in a cache or in the block of a task. Both counts change only under the
//! pool's lock. So if they are equal, no cache and no task has a block, and the pieces are freed.

use crate::lock::mutex::Mutex;
use crate::sys::atomic::{AtomicBool, Ordering};
use crate::sys::detector;
use crate::sys::memory::{self, NoMemory};
use crate::sys::region::Block;
use crate::task::TaskFn;
use std::cell::Cell;
use std::mem::{self, MaybeUninit};
use std::ptr;

/// The largest size of an argument: SCHED_COPY_MAX.
pub const MAX_ARG: usize = 256;
/// The size of the library's own record that a group puts before an argument.
pub const HEADER: usize = 16;
/// The largest size of the record and the argument together.
pub(super) const MAX_BYTES: usize = HEADER + MAX_ARG;

/// The bytes of a block of each size class, including `f`.
pub(super) const CLASS_BYTES: [usize; 9] = [16, 32, 48, 64, 96, 128, 192, 272, 288];
pub(super) const HEAP_CLASS: usize = CLASS_BYTES.len();
pub(super) const CLASS_MASK: usize = 15;
/// The bytes of the function, which precedes the argument.
pub(super) const FUNCTION_BYTES: usize = size_of::<usize>();

const _: () = assert!(
    CLASS_BYTES[CLASS_BYTES.len() - 1] - FUNCTION_BYTES >= MAX_BYTES && HEAP_CLASS <= CLASS_MASK
);

/// The smallest size class for each multiple of 16 bytes.
pub(super) const CLASS_OF: [u8; MAX_BYTES / 16 + 2] = {
    let mut table = [0; MAX_BYTES / 16 + 2];
    let mut at = 0;
    while at < table.len() {
        let mut class = 0;
        while class < CLASS_BYTES.len() - 1 && CLASS_BYTES[class] < 16 * at {
            class += 1;
        }
        table[at] = class as u8;
        at += 1;
    }
    table
};

#[inline]
pub(super) fn class_for(bytes: usize) -> usize {
    CLASS_OF[(bytes + FUNCTION_BYTES).div_ceil(16)] as usize
}

/// The number of blocks that move between a block cache and the block pool at once. A list in a
/// block cache that reaches twice this length gives half of its blocks away.
pub(super) const BATCH: usize = 32;

/// Sizes, in lines, of the first and the largest piece of memory from which blocks are cut.
pub(super) const FIRST_PIECE: usize = (4 << 10) / size_of::<Line>();
pub(super) const LARGEST_PIECE: usize = (16 << 20) / size_of::<Line>();

#[repr(align(64))]
pub(super) struct Line(#[allow(dead_code, reason = "room")] MaybeUninit<[u8; 64]>);

/// The word before the argument of a block.
pub(super) union BlockHead {
    pub(super) f: TaskFn,
    next: *mut BlockHead,
}

/// A list of empty blocks of one size class. Only the list's owner uses the blocks.
#[derive(Clone, Copy)]
pub(super) struct BlockList {
    pub(super) first: *mut BlockHead,
    pub(super) count: usize,
}

impl BlockList {
    const EMPTY: BlockList = BlockList { first: ptr::null_mut(), count: 0 };

    #[inline]
    pub(super) fn pop(&mut self) -> Option<*mut BlockHead> {
        if self.first.is_null() {
            return None;
        }
        let block = self.first;
        // SAFETY: the block is empty, so its head holds the link.
        self.first = unsafe { (*block).next };
        self.count -= 1;
        Some(block)
    }

    #[inline]
    pub(super) fn push(&mut self, block: *mut BlockHead) {
        // SAFETY: the caller gives up an empty block.
        unsafe { (*block).next = self.first };
        self.first = block;
        self.count += 1;
    }
}

/// The empty blocks of a worker. Only the worker's owner uses them.
pub struct BlockCache {
    pub(super) lists: [Cell<BlockList>; CLASS_BYTES.len()],
    /// The part of the current piece from which no block has been cut yet.
    pub(super) uncut: Cell<*mut u8>,
    pub(super) uncut_end: Cell<*mut u8>,
    pub(super) next_piece_lines: Cell<usize>,
    pub(super) block_pool: Cell<*const BlockPool>,
}

/// The block pool of a run: empty blocks from block caches, and the memory of all blocks.
pub struct BlockPool {
    state: Mutex<PoolState>,
    /// The pieces are large enough for idle workers to give their memory back. Written under the
    /// lock; read without it, as a hint.
    is_long: AtomicBool,
}

pub(super) struct PoolState {
    pub(super) spare: [BlockList; CLASS_BYTES.len()],
    /// The memory of all blocks of the run.
    pub(super) pieces: Vec<Block<Line>>,
    /// The bytes of all pieces.
    bytes: usize,
    /// The bytes at home that are not in a block of `spare`.
    uncut: usize,
}

impl PoolState {
    const EMPTY: PoolState = PoolState {
        spare: [BlockList::EMPTY; CLASS_BYTES.len()],
        pieces: Vec::new(),
        bytes: 0,
        uncut: 0,
    };

    fn is_all_at_home(&self) -> bool {
        let blocks = self.spare.iter().zip(CLASS_BYTES).map(|(list, bytes)| list.count * bytes);
        blocks.sum::<usize>() + self.uncut == self.bytes
    }
}

// SAFETY: any thread may use the empty blocks and the memory.
unsafe impl Send for PoolState {}

impl Default for BlockPool {
    fn default() -> Self {
        BlockPool { state: Mutex::new(PoolState::EMPTY), is_long: AtomicBool::new(false) }
    }
}

impl BlockPool {
    /// Allocates a piece. `left` is the number of bytes of the caller's last piece that will never
    /// be cut.
    pub(super) fn allocate_piece(&self, lines: usize, left: usize) -> Result<*mut u8, NoMemory> {
        self.state.with(|state| {
            state.pieces.try_reserve(1).map_err(|_| NoMemory)?;
            // SAFETY: a line may hold any bytes.
            let piece = unsafe { Block::new(lines) }?;
            let start = piece.start();
            state.pieces.push(piece);
            state.bytes += lines * size_of::<Line>();
            state.uncut += FUNCTION_BYTES + left;
            if state.bytes >= memory::LONG {
                self.is_long.store(true, Ordering::Relaxed);
            }
            Ok(start.cast())
        })
    }
}

impl Default for BlockCache {
    fn default() -> Self {
        BlockCache {
            lists: [const { Cell::new(BlockList::EMPTY) }; CLASS_BYTES.len()],
            uncut: Cell::new(ptr::null_mut()),
            uncut_end: Cell::new(ptr::null_mut()),
            next_piece_lines: Cell::new(FIRST_PIECE),
            block_pool: Cell::new(ptr::null()),
        }
    }
}

impl BlockCache {
    /// Empties the block cache for a new run.
    pub fn reset(&self, block_pool: &BlockPool) {
        self.lists.iter().for_each(|list| list.set(BlockList::EMPTY));
        self.uncut.set(ptr::null_mut());
        self.uncut_end.set(ptr::null_mut());
        self.next_piece_lines.set(FIRST_PIECE);
        self.block_pool.set(block_pool);
    }

    /// # Safety
    /// The caller owns the block cache, and the run has not ended.
    #[inline]
    pub(super) unsafe fn take(&self, class: usize) -> Result<*mut BlockHead, NoMemory> {
        let mut list = self.lists[class].get();
        let Some(block) = list.pop() else {
            // SAFETY: the caller owns the block cache, and the run has not ended.
            return unsafe { detector::ignored(|| self.refill(class)) };
        };
        self.lists[class].set(list);
        Ok(block)
    }

    /// Takes a block from the block pool, along with more for this list, or cuts a new one.
    ///
    /// # Safety
    /// The contract of `take`; the list of this size class is empty.
    #[cold]
    #[inline(never)]
    pub(super) unsafe fn refill(&self, class: usize) -> Result<*mut BlockHead, NoMemory> {
        let bytes = CLASS_BYTES[class];
        let left = self.uncut_end.get() as usize - self.uncut.get() as usize;
        // SAFETY: the block pool lives until the run has ended.
        let block_pool = unsafe { &*self.block_pool.get() };
        if left < bytes + FUNCTION_BYTES || left % 4096 < bytes {
            // Look into the pool once per page and at the end of a piece, so that no memory is cut
            // while the pool has empty blocks.
            let mut list = BlockList::EMPTY;
            block_pool.state.with(|state| {
                while list.count < BATCH {
                    let Some(block) = state.spare[class].pop() else { break };
                    list.push(block);
                }
            });
            if let Some(block) = list.pop() {
                detector::acquire(block_pool);
                self.lists[class].set(list);
                return Ok(block);
            }
        }
        if left < bytes + FUNCTION_BYTES {
            let lines = self.next_piece_lines.get();
            let piece = block_pool.allocate_piece(lines, left)?;
            self.next_piece_lines.set((lines * 2).min(LARGEST_PIECE));
            self.uncut_end.set(piece.wrapping_add(lines * size_of::<Line>()));
            // This aligns the argument of each block to 16 bytes.
            self.uncut.set(piece.wrapping_add(FUNCTION_BYTES));
        }
        let block = self.uncut.get();
        self.uncut.set(block.wrapping_add(bytes));
        Ok(block.cast())
    }

    /// # Safety
    /// The contract of `take`; the block is empty, has this size class, and nobody else uses it.
    #[inline]
    pub(super) unsafe fn put(&self, block: *mut BlockHead, class: usize) {
        let mut list = self.lists[class].get();
        list.push(block);
        if list.count >= 2 * BATCH {
            // SAFETY: the caller owns the block cache, and the run has not ended.
            unsafe { detector::ignored(|| self.give_half(&mut list, class)) };
        }
        self.lists[class].set(list);
    }

    /// True if an idle worker should call `give_back`. The caller owns the cache.
    pub fn keeps_memory(&self) -> bool {
        // SAFETY: null, or the block pool, which lives until the run has ended.
        let block_pool = unsafe { self.block_pool.get().as_ref() };
        block_pool.is_some_and(|pool| pool.is_long.load(Ordering::Relaxed)) && !self.is_empty()
    }

    fn is_empty(&self) -> bool {
        self.uncut.get().is_null() && self.lists.iter().all(|list| list.get().first.is_null())
    }

    /// Gives everything to the block pool, which frees the run's blocks if all are then at home.
    ///
    /// # Safety
    /// The contract of `take`.
    #[cold]
    pub unsafe fn give_back(&self) {
        // SAFETY: the block pool lives until the run has ended.
        let block_pool = unsafe { &*self.block_pool.get() };
        detector::release(block_pool);
        let freed = block_pool.state.with(|state| {
            for (list, spare) in self.lists.iter().zip(&mut state.spare) {
                let mut blocks = list.replace(BlockList::EMPTY);
                while let Some(block) = blocks.pop() {
                    spare.push(block);
                }
            }
            let left = self.uncut_end.get() as usize - self.uncut.get() as usize;
            state.uncut += left;
            self.uncut.set(ptr::null_mut());
            self.uncut_end.set(ptr::null_mut());
            self.next_piece_lines.set(FIRST_PIECE);
            state.is_all_at_home().then(|| {
                block_pool.is_long.store(false, Ordering::Relaxed);
                mem::replace(state, PoolState::EMPTY)
            })
        });
        drop(freed);
    }

    /// Gives half of a list that has become too long to the block pool.
    ///
    /// # Safety
    /// The contract of `take`.
    #[cold]
    #[inline(never)]
    pub(super) unsafe fn give_half(&self, list: &mut BlockList, class: usize) {
        // SAFETY: the block pool lives until the run has ended.
        let block_pool = unsafe { &*self.block_pool.get() };
        detector::release(block_pool);
        block_pool.state.with(|state| {
            for _ in 0..BATCH {
                if let Some(block) = list.pop() {
                    state.spare[class].push(block);
                }
            }
        });
    }
}
