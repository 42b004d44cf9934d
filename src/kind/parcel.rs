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

use super::worker::Worker;
use crate::base::block::Block;
use crate::base::frontier::{CopyTask, guarded};
use crate::base::mem::NoMemory;
use crate::base::sync::Mutex;
use crate::base::thread;
use crate::task::{Scheduler, Task, TaskFn};
use std::alloc::Layout;
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr;

/// The most bytes that an argument may have: SCHED_COPY_MAX.
pub const MOST: usize = 256;
/// The size of the library's own record that `spawn_two` puts before the argument.
pub const HEADER: usize = 16;
/// The most bytes of both together.
const MOST_IN_ALL: usize = HEADER + MOST;

/// What parcels of each size take, `f` included.
const SIZES: [usize; 9] = [16, 32, 48, 64, 96, 128, 192, 272, 288];
/// The "size" of one from the heap.
const HEAP: usize = SIZES.len();
const SIZE_MASK: usize = 15;
const BEFORE: usize = size_of::<usize>(); // what stands before the argument

const _: () = assert!(SIZES[SIZES.len() - 1] - BEFORE >= MOST_IN_ALL && HEAP <= SIZE_MASK);

/// The smallest size for so many bytes, at each multiple of 16.
const SIZE_OF: [u8; MOST_IN_ALL / 16 + 2] = {
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
fn size_for(bytes: usize) -> usize {
    SIZE_OF[(bytes + BEFORE).div_ceil(16)] as usize
}

/// Of one size, in a stock: with twice as many, half go to the depot.
const BATCH: usize = 32;

/// Memory for parcels comes in pieces of so many lines: the first, and the largest.
const FIRST_PIECE: usize = (4 << 10) / size_of::<Line>();
const LARGEST_PIECE: usize = (16 << 20) / size_of::<Line>();

#[repr(align(64))]
struct Line(#[allow(dead_code, reason = "room")] MaybeUninit<[u8; 64]>);

/// The word before a parcel's argument.
union Head {
    f: TaskFn,
    next: *mut Head,
}

/// A list of empty parcels of one size, which are the list's alone.
#[derive(Clone, Copy)]
struct List {
    first: *mut Head,
    count: usize,
}

impl List {
    const EMPTY: List = List { first: ptr::null_mut(), count: 0 };

    #[inline]
    fn pop(&mut self) -> Option<*mut Head> {
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
    fn push(&mut self, parcel: *mut Head) {
        // SAFETY: the caller gives up an empty parcel.
        unsafe { (*parcel).next = self.first };
        self.first = parcel;
        self.count += 1;
    }
}

/// A worker's empty parcels. Only its owner's.
pub struct Stock {
    lists: [Cell<List>; SIZES.len()],
    /// What is left of the piece that new ones are cut from.
    rest: Cell<*mut u8>,
    end: Cell<*mut u8>,
    next_piece: Cell<usize>,
    depot: Cell<*const Depot>,
}

/// A run's.
pub struct Depot(Mutex<Inside>);

struct Inside {
    spare: [List; SIZES.len()],
    /// The memory of all parcels, until it is dropped.
    pieces: Vec<Block<Line>>,
}

// SAFETY: empty parcels and memory may be used by any thread.
unsafe impl Send for Inside {}

impl Default for Depot {
    fn default() -> Self {
        Depot(Mutex::new(Inside { spare: [List::EMPTY; SIZES.len()], pieces: Vec::new() }))
    }
}

impl Depot {
    fn piece(&self, lines: usize) -> Result<*mut u8, NoMemory> {
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
    unsafe fn take(&self, size: usize) -> Result<*mut Head, NoMemory> {
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
    unsafe fn restock(&self, size: usize) -> Result<*mut Head, NoMemory> {
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
    unsafe fn put(&self, parcel: *mut Head, size: usize) {
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
    unsafe fn share(&self, list: &mut List, size: usize) {
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

/// A parcel from the heap: 8 bytes for nothing, so that its argument is aligned.
const HEAP_LAYOUT: Layout = match Layout::from_size_align(16 + MOST_IN_ALL, 16) {
    Ok(layout) => layout,
    Err(_) => panic!("16 is a power of two"),
};

/// A task for `worker`, the calling thread's, with an argument of `bytes` bytes, at most `MOST_IN_ALL`, which `fill`
/// writes. Without a worker the parcel is from the heap.
///
/// # Safety
/// The caller owns `worker`.
#[inline]
unsafe fn pack(
    worker: Option<&Worker>,
    f: TaskFn,
    bytes: usize,
    fill: impl FnOnce(*mut u8),
) -> Result<Task, NoMemory> {
    let (parcel, size) = if let Some(worker) = worker {
        let size = size_for(bytes);
        // SAFETY: the caller owns the worker, so its run has not ended.
        (unsafe { worker.stock().take(size) }?, size)
    } else {
        // SAFETY: the layout has a size.
        let place = unsafe { std::alloc::alloc(HEAP_LAYOUT) };
        if place.is_null() {
            return Err(NoMemory);
        }
        (place.wrapping_add(16 - BEFORE).cast(), HEAP)
    };
    // SAFETY: the parcel is ours and has room for so many bytes.
    unsafe {
        parcel.write(Head { f });
        let copy = parcel.add(1).cast();
        fill(copy);
        Ok(Task { f: open, closure: copy.wrapping_add(size).cast() })
    }
}

/// Copies a few bytes; 8 to 32 of them without a call, in words: an argument has often just been
/// written in words, and a processor that reads two of them at once must wait until they have
/// left its store buffer.
///
/// # Safety
/// As for a copy of two places that do not overlap.
#[inline(always)]
pub unsafe fn copy_few(from: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: by the caller's promise; the words are within the bytes, and may overlap.
    unsafe {
        match bytes {
            8..=16 => {
                let (first, last) = (word(from), word(from.add(bytes - 8)));
                to.cast::<u64>().write_unaligned(first);
                to.add(bytes - 8).cast::<u64>().write_unaligned(last);
            }
            17..=32 => {
                let (first, second) = (word(from), word(from.add(8)));
                let (third, last) = (word(from.add(bytes - 16)), word(from.add(bytes - 8)));
                to.cast::<u64>().write_unaligned(first);
                to.add(8).cast::<u64>().write_unaligned(second);
                to.add(bytes - 16).cast::<u64>().write_unaligned(third);
                to.add(bytes - 8).cast::<u64>().write_unaligned(last);
            }
            0 => {}
            _ => ptr::copy_nonoverlapping(from, to, bytes),
        }
    }
}

/// Eight bytes, by a load of their own: the compiler would join it with its neighbours.
///
/// # Safety
/// They may be read.
#[inline(always)]
unsafe fn word(at: *const u8) -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: by the caller's promise.
    unsafe {
        let word;
        std::arch::asm!("mov {}, [{}]", out(reg) word, in(reg) at,
                        options(pure, readonly, nostack, preserves_flags));
        word
    }
    #[cfg(not(target_arch = "x86_64"))]
    // SAFETY: by the caller's promise.
    unsafe {
        at.cast::<u64>().read_unaligned()
    }
}

/// Spawns `f` with a copy of the `bytes` bytes at `arg`, at most `MOST`; returns as `sched_spawn`.
///
/// # Safety
/// `arg` may be read, and `f` accepts a pointer to a copy.
#[inline]
pub unsafe fn spawn(f: TaskFn, arg: *const c_void, bytes: usize, worker: &Worker) -> c_int {
    // SAFETY: by the caller's promise; there is room for so many.
    let fill = |copy| unsafe { copy_few(arg.cast(), copy, bytes) };
    // SAFETY: passed on.
    unsafe { spawn_filled(f, bytes, fill, worker) }
}

/// The same, with a copy of the `HEADER` bytes at `header` before the copy of the argument.
///
/// # Safety
/// Both may be read, and `f` accepts a pointer to such a copy.
pub unsafe fn spawn_two(
    f: TaskFn,
    header: *const c_void,
    arg: *const c_void,
    bytes: usize,
    worker: &Worker,
) -> c_int {
    // SAFETY: by the caller's promise; there is room for so many.
    let fill = |copy: *mut u8| unsafe {
        copy_few(header.cast(), copy, HEADER);
        copy_few(arg.cast(), copy.add(HEADER), bytes);
    };
    // SAFETY: passed on.
    unsafe { spawn_filled(f, HEADER + bytes, fill, worker) }
}

/// Spawns `f` with an argument of `bytes` bytes, which `fill` writes; returns as `sched_spawn` does.
///
/// # Safety
/// `f` accepts a pointer to what `fill` writes.
#[inline]
unsafe fn spawn_filled(
    f: TaskFn,
    bytes: usize,
    fill: impl FnOnce(*mut u8),
    worker: &Worker,
) -> c_int {
    let mine = worker.mine();
    // SAFETY: `mine` is the calling thread's.
    let Task { f, closure } = match unsafe { pack(mine, f, bytes, fill) } {
        Ok(task) => task,
        Err(NoMemory) => return thread::failed(libc::EAGAIN),
    };
    // SAFETY: a task of ours.
    let outcome = unsafe { mine.unwrap_or(worker).spawn(Some(f), closure) };
    if outcome != 0 {
        // SAFETY: not sent; `mine` as above.
        unsafe { discard(closure, mine) };
    }
    outcome
}

/// The parcel behind a closure, and its size.
#[inline]
fn unwrap(closure: *mut c_void) -> (*mut Head, usize) {
    let size = closure as usize & SIZE_MASK;
    (closure.wrapping_byte_sub(size + BEFORE).cast(), size)
}

/// Gives an opened, or unsent, parcel back.
///
/// # Safety
/// It is the caller's, who owns `worker`, if it is there; it is not used afterwards. Without one
/// the parcel is from the heap.
#[inline]
unsafe fn discard(closure: *mut c_void, worker: Option<&Worker>) {
    let (parcel, size) = unwrap(closure);
    match worker {
        // SAFETY: passed on.
        Some(worker) if size != HEAP => unsafe { worker.stock().put(parcel, size) },
        // SAFETY: allocated by `pack` with this layout.
        _ => unsafe {
            std::alloc::dealloc(parcel.cast::<u8>().wrapping_sub(16 - BEFORE), HEAP_LAYOUT);
        },
    }
}

/// The task of a parcel.
///
/// # Safety
/// `closure` is from `pack`, and was given to the run of `s`.
unsafe extern "C" fn open(closure: *mut c_void, s: *mut Scheduler) {
    let (parcel, _) = unwrap(closure);
    // SAFETY: a full parcel; its function accepts a pointer to a copy of its argument.
    guarded::<CopyTask, _>(|| unsafe { ((*parcel).f)(parcel.add(1).cast(), s) });
    // SAFETY: as above; the calling thread's worker, which may be another than `s` by now.
    unsafe { discard(closure, Some(Worker::now(s))) };
}
