//! A deque under a lock: the course's section 4 to the letter. It has two type parameters: the
//! lock, so that programs can compare the primitives, and the end at which the owner pops. With
//! [`Oldest`] the owner pops at the thieves' end, and the deque is a FIFO queue like those of the
//! fiber scheduler whose benchmarks are in `bench_c` (`fiber.h`).
//!
//! # Orderings
//!
//! | operation | ordering | partner |
//! | --- | --- | --- |
//! | store of `len`, under the lock | Release | the load in `looks_empty` |
//! | `looks_empty`: load of `len` | Acquire | that store; a thief then takes the lock |
//! | `len_hint`: load of `len` | Relaxed | none: a hint |

use crate::lock::monitor::Monitor;
use crate::queue::length::Length;
use crate::queue::room::{IsLong, TaskQueue};
use crate::queue::{BATCH, Batches, Deque, End, Full, Steal};
use crate::stats::Counter;
use crate::sys::atomic::{AtomicUsize, Ordering, UnsafeCell};
use crate::sys::memory::NoMemory;
use crate::task::Task;
use std::convert::Infallible;
use std::marker::PhantomData;
use std::mem::offset_of;

/// The end at which the owner pops, as a type.
pub trait OwnerEnd: 'static {
    const END: End;
}

/// The owner pops the oldest task.
pub struct Oldest;

impl OwnerEnd for Oldest {
    const END: End = End::Oldest;
}

/// The owner pops the youngest task.
pub struct Youngest;

impl OwnerEnd for Youngest {
    const END: End = End::Youngest;
}

pub struct Locked<L: Monitor, E: OwnerEnd = Youngest> {
    lock: L,
    /// Front: top, the thieves' end. Back: bottom, where the owner adds. Used under `lock`.
    ring: UnsafeCell<TaskQueue>,
    /// The ring's length, for `looks_empty`: written under the lock, read without it.
    len: AtomicUsize,
    limit: usize,
    peak: Counter,
    is_long: IsLong,
    owner_end: PhantomData<fn() -> E>,
}

// SAFETY: the ring is only used under the lock.
unsafe impl<L: Monitor, E: OwnerEnd> Sync for Locked<L, E> {}

impl<L: Monitor, E: OwnerEnd> Locked<L, E> {
    fn with<R>(&self, work: impl FnOnce(&mut TaskQueue) -> R) -> R {
        self.lock.lock();
        let result = self.ring.with_mut(|ring| {
            // SAFETY: the lock is held until after the last use of the reference.
            let ring = unsafe { &mut *ring };
            let result = work(ring);
            // Release: pairs with the Acquire load in `looks_empty`. An idle thief that sees a task
            // here finds the task when it then takes the lock.
            self.len.store(ring.len(), Ordering::Release);
            result
        });
        // SAFETY: the lock was taken above.
        unsafe { self.lock.unlock() };
        result
    }

    fn pop_by(&self, take: impl FnOnce(&mut TaskQueue) -> Option<Task>) -> Option<Task> {
        self.with(|ring| {
            let task = take(ring)?;
            self.peak.peak(ring.len() + 1);
            Some(task)
        })
    }
}

impl<L: Monitor, E: OwnerEnd> Deque for Locked<L, E> {
    type Private = Infallible;
    type Batches = Self;
    const OWNER_POPS: End = E::END;
    const LENGTH: Length =
        Length::word(offset_of!(Self, len)).in_vec_deque(offset_of!(Self, ring) + TaskQueue::TASKS);

    #[inline(always)]
    fn batches(&self) -> Option<&Self> {
        Some(self)
    }

    fn new(limit: usize) -> Result<Self, NoMemory> {
        Ok(Locked {
            lock: L::new(),
            ring: UnsafeCell::new(TaskQueue::new()),
            len: AtomicUsize::new(0),
            limit,
            peak: Counter::default(),
            is_long: IsLong::default(),
            owner_end: PhantomData,
        })
    }

    unsafe fn initialize_in_place(&self) {
        // SAFETY: the deque has its final address and is not used yet.
        unsafe { self.lock.initialize_in_place() };
    }

    unsafe fn put(&self, task: Task) -> bool {
        // SAFETY: the caller is the owner, by its own promise.
        unsafe { self.put_slowly(task) }.is_ok()
    }

    unsafe fn put_slowly(&self, task: Task) -> Result<(), Full> {
        self.with(|ring| {
            if ring.len() >= self.limit || ring.make_room(1, &self.is_long).is_err() {
                return Err(Full);
            }
            ring.push_back(task);
            Ok(())
        })
    }

    unsafe fn pop(&self) -> Option<Task> {
        self.pop_by(|ring| match E::END {
            End::Oldest => ring.pop_front(),
            End::Youngest => ring.pop_back(),
        })
    }

    unsafe fn pop_youngest(&self) -> Option<Task> {
        self.pop_by(|ring| ring.pop_back())
    }

    unsafe fn take_back(&self, task: Task) -> bool {
        self.with(|ring| ring.back() == Some(&task) && ring.pop_back().is_some())
    }

    unsafe fn keeps_memory(&self) -> bool {
        self.is_long.get()
    }

    unsafe fn give_back(&self) {
        if let Some(mut long) = self.with(|ring| ring.take_long(0, &self.is_long)) {
            long.discard();
            self.with(|ring| ring.keep(long));
        }
    }

    fn peak(&self) -> usize {
        self.peak.get()
    }

    fn steal(&self) -> Steal {
        match self.with(|ring| ring.pop_front()) {
            Some(task) => Steal::Taken(task),
            None => Steal::Empty,
        }
    }

    fn len_hint(&self) -> usize {
        self.len.load(Ordering::Relaxed)
    }

    fn looks_empty(&self) -> bool {
        self.len.load(Ordering::Acquire) == 0
    }
}

impl<L: Monitor, E: OwnerEnd> Batches for Locked<L, E> {
    /// Calls `keep` without the lock: `keep` may take the lock of another deque.
    fn steal_half(&self, rest: usize, mut keep: impl FnMut(Task)) -> Steal {
        let mut others = [None; BATCH - 1];
        let first = self.with(|ring| {
            let rest = ring.len().div_ceil(2).min(1 + rest.min(others.len())).saturating_sub(1);
            let first = ring.pop_front();
            others.iter_mut().zip(ring.drain(..rest)).for_each(|(other, task)| *other = Some(task));
            first
        });
        others.into_iter().map_while(|other| other).for_each(&mut keep);
        first.map_or(Steal::Empty, Steal::Taken)
    }

    unsafe fn make_room(&self, wanted: usize) -> usize {
        self.with(|ring| {
            let allowed = wanted.min(self.limit - ring.len().min(self.limit));
            if ring.make_room(allowed, &self.is_long).is_ok() { allowed } else { 0 }
        })
    }

    unsafe fn spill(&self, n: usize, to: impl FnMut(Task)) {
        self.with(|ring| {
            let n = n.min(ring.len());
            ring.drain(..n).for_each(to);
        });
    }
}
