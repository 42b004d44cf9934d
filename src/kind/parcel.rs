//! Parcels: tasks with a copy of their argument (`sched_spawn_copy`).
//!
//! A parcel is a block of memory: a header, and the bytes of the argument. The task in the queue
//! is `open` with the parcel as its closure, so queues and kinds know nothing of them.
//!
//! Each worker has a *stock* of empty parcels, in four sizes, that it alone touches: last used,
//! first taken, so a parcel is warm in its cache. Tasks may be spawned by one worker and run by
//! another, which then has the parcels: a stock that is too full gives half of it to the run's
//! *depot*, and an empty one takes from there before it cuts new ones. (The magazines and the depot
//! of J. Bonwick and J. Adams, "Magazines and vmem", 2001.) The memory is the run's, and is freed
//! as a whole when it has ended. A thread that is no worker gets a parcel from the heap.

use super::worker::Worker;
use crate::base::mem::NoMemory;
use crate::base::sync::Mutex;
use crate::task::{Scheduler, TaskFn};
use std::alloc::Layout;
use std::cell::Cell;
use std::ffi::c_void;
use std::ptr;

/// The most bytes that an argument may have: SCHED_COPY_MAX.
pub const MOST: usize = 256;

/// The sizes of a parcel's argument; the header adds 16.
const SIZES: [usize; 4] = [16, 48, 112, MOST];
/// The `size` of one from the heap.
const HEAP: usize = SIZES.len();

/// Of one size, in a stock: with twice as many, half go to the depot.
const BATCH: usize = 32;
/// Bytes of memory that a stock cuts parcels from: the first piece, and the largest.
const FIRST_PIECE: usize = 4 << 10;
const LARGEST_PIECE: usize = 1 << 20;

#[repr(C, align(16))]
pub struct Parcel {
    /// Of an empty one: the next in its list.
    content: Content,
    /// Which of `SIZES`, or `HEAP`.
    size: usize,
}

#[derive(Clone, Copy)]
union Content {
    f: TaskFn,
    next: *mut Parcel,
}

fn layout(size: usize) -> Layout {
    let bytes = size_of::<Parcel>() + SIZES[size.min(SIZES.len() - 1)];
    // SAFETY: a power of two, and far from overflowing.
    unsafe { Layout::from_size_align_unchecked(bytes, align_of::<Parcel>()) }
}

/// A list of empty parcels of one size.
#[derive(Clone, Copy)]
struct List {
    first: *mut Parcel,
    count: usize,
}

impl List {
    const EMPTY: List = List { first: ptr::null_mut(), count: 0 };

    #[inline]
    fn pop(&mut self) -> Option<*mut Parcel> {
        if self.first.is_null() {
            return None;
        }
        let parcel = self.first;
        // SAFETY: an empty parcel of the list.
        self.first = unsafe { (*parcel).content.next };
        self.count -= 1;
        Some(parcel)
    }

    #[inline]
    fn push(&mut self, parcel: *mut Parcel) {
        // SAFETY: the caller gives up an empty parcel.
        unsafe { (*parcel).content.next = self.first };
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
    /// The memory of all parcels, to be freed.
    pieces: Vec<(*mut u8, Layout)>,
}

// SAFETY: empty parcels and memory may be used by any thread.
unsafe impl Send for Inside {}

impl Depot {
    pub const fn new() -> Self {
        Depot(Mutex::new(Inside { spare: [List::EMPTY; SIZES.len()], pieces: Vec::new() }))
    }

    fn piece(&self, bytes: usize) -> Result<*mut u8, NoMemory> {
        let layout = Layout::from_size_align(bytes, 64).map_err(|_| NoMemory)?;
        self.0.with(|inside| {
            inside.pieces.try_reserve(1).map_err(|_| NoMemory)?;
            // SAFETY: the layout has a size.
            let piece = unsafe { std::alloc::alloc(layout) };
            if piece.is_null() {
                return Err(NoMemory);
            }
            inside.pieces.push((piece, layout));
            Ok(piece)
        })
    }
}

impl Drop for Depot {
    fn drop(&mut self) {
        self.0.with(|inside| {
            for &(piece, layout) in &inside.pieces {
                // SAFETY: allocated by `piece` with this layout; the run has ended.
                unsafe { std::alloc::dealloc(piece, layout) };
            }
        });
    }
}

impl Stock {
    pub const fn new() -> Self {
        Stock {
            lists: [const { Cell::new(List::EMPTY) }; SIZES.len()],
            rest: Cell::new(ptr::null_mut()),
            end: Cell::new(ptr::null_mut()),
            next_piece: Cell::new(FIRST_PIECE),
            depot: Cell::new(ptr::null()),
        }
    }

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
    unsafe fn take(&self, size: usize) -> Result<*mut Parcel, NoMemory> {
        let mut list = self.lists[size].get();
        let parcel = match list.pop() {
            Some(parcel) => parcel,
            // SAFETY: passed on.
            None => return unsafe { self.restock(size) },
        };
        self.lists[size].set(list);
        Ok(parcel)
    }

    /// # Safety
    /// As for `take`.
    #[cold]
    #[inline(never)]
    unsafe fn restock(&self, size: usize) -> Result<*mut Parcel, NoMemory> {
        // SAFETY: the depot lives until the run has ended.
        let depot = unsafe { &*self.depot.get() };
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
        let bytes = layout(size).size();
        if (self.end.get() as usize) - (self.rest.get() as usize) < bytes {
            let length = self.next_piece.get();
            let piece = depot.piece(length)?;
            self.next_piece.set((length * 2).min(LARGEST_PIECE));
            self.rest.set(piece);
            self.end.set(piece.wrapping_add(length));
        }
        let parcel = self.rest.get();
        self.rest.set(parcel.wrapping_add(bytes));
        Ok(parcel.cast())
    }

    /// # Safety
    /// As for `take`; the parcel is of this size, empty, and the caller's.
    #[inline]
    unsafe fn put(&self, parcel: *mut Parcel, size: usize) {
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
                list.pop().into_iter().for_each(|parcel| inside.spare[size].push(parcel));
            }
        });
    }
}

impl Parcel {
    /// A parcel with a copy of the `bytes` bytes at `arg`, at most `MOST`, for a task of `worker`, the
    /// calling thread's; without one, from the heap.
    ///
    /// # Safety
    /// `arg` may be read, and the caller owns `worker`.
    #[inline]
    pub unsafe fn pack(
        worker: Option<&Worker>,
        f: TaskFn,
        arg: *const c_void,
        bytes: usize,
    ) -> Result<*mut Parcel, NoMemory> {
        let (parcel, size) = match worker {
            Some(worker) => {
                let size = match bytes {
                    0..=16 => 0,
                    17..=48 => 1,
                    49..=112 => 2,
                    _ => 3,
                };
                // SAFETY: the caller owns the worker, so its run has not ended.
                (unsafe { worker.stock().take(size) }?, size)
            }
            None => {
                // SAFETY: the layout has a size.
                let parcel: *mut Parcel = unsafe { std::alloc::alloc(layout(HEAP)) }.cast();
                if parcel.is_null() {
                    return Err(NoMemory);
                }
                (parcel, HEAP)
            }
        };
        // SAFETY: the parcel is ours and has room for so many bytes.
        unsafe {
            parcel.write(Parcel { content: Content { f }, size });
            if bytes > 0 {
                ptr::copy_nonoverlapping(arg.cast::<u8>(), parcel.add(1).cast(), bytes);
            }
        }
        Ok(parcel)
    }

    /// Gives an opened, or unsent, parcel back.
    ///
    /// # Safety
    /// It is the caller's, who owns `worker`, if it is there; it is not used afterwards. Without
    /// one the parcel is from the heap.
    #[inline]
    pub unsafe fn discard(this: *mut Parcel, worker: Option<&Worker>) {
        // SAFETY: a parcel.
        let size = unsafe { (*this).size };
        match worker {
            // SAFETY: passed on.
            Some(worker) if size != HEAP => unsafe { worker.stock().put(this, size) },
            // SAFETY: allocated by `pack` with this layout.
            _ => unsafe { std::alloc::dealloc(this.cast(), layout(HEAP)) },
        }
    }

    /// The task of a parcel.
    ///
    /// # Safety
    /// `parcel` is one, and was given to the run of `s`.
    pub unsafe extern "C" fn open(parcel: *mut c_void, s: *mut Scheduler) {
        let parcel: *mut Parcel = parcel.cast();
        // SAFETY: a full parcel; its function accepts a pointer to a copy of its argument.
        unsafe { ((*parcel).content.f)(parcel.add(1).cast(), s) };
        // SAFETY: the task runs on the worker `s`, whose owner the calling thread is.
        unsafe { Parcel::discard(parcel, Some(Worker::of(s))) };
    }
}
