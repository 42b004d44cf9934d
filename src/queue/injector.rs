//! The queue for tasks that do not come from a worker of the run, first in, first out; and for
//! those that give way, or for which a worker's own queue has no room.
//!
//! It also holds the gate of the run. A task may arrive from a foreign thread at the very
//! moment the run ends; both are decided under one lock, so a task is either accepted
//! before the end, and then the run goes on for it, or refused.
//!
//! # Tasks that have begun
//!
//! One that gives way, or has waited, cannot be refused: nobody else could go on with it. So there is a place for each
//! before it leaves its stack: as many as the run has stacks beside those that its workers began with are *reserved*. A new
//! task never takes the last of these. (Where a place cannot be reserved, the task does not leave its stack.)

use crate::lock::mutex::Mutex;
use crate::queue::run_gate::{Rests, RunGate};
use crate::queue::{End, Full};
use crate::sys::atomic::{AtomicUsize, Ordering};
use crate::sys::memory::NoMemory;
use crate::task::Task;
use std::collections::VecDeque;

pub struct Injector {
    inside: Mutex<Inside>,
    /// The queue's length, readable without the lock. Its stores release to `looks_empty`; but who
    /// then takes a task has it by the lock.
    len: AtomicUsize,
    rests: Rests,
    limit: usize,
}

struct Inside {
    queue: VecDeque<Task>,
    /// At least so many places are there beside those of new tasks.
    reserved: usize,
    gate: RunGate,
}

impl Inside {
    /// Makes room for `n` new tasks.
    fn make_room(&mut self, n: usize) -> Result<(), NoMemory> {
        self.queue.try_reserve(self.reserved.saturating_add(n)).map_err(|_| NoMemory)
    }
}

/// Why a task was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    Closed,
    Full,
}

impl From<Full> for Refused {
    fn from(_: Full) -> Self {
        Refused::Full
    }
}

impl Injector {
    pub fn new(limit: usize, held: bool) -> Self {
        Injector {
            inside: Mutex::new(Inside {
                queue: VecDeque::new(),
                reserved: 0,
                gate: RunGate::new(held),
            }),
            len: AtomicUsize::new(0),
            rests: Rests::new(),
            limit,
        }
    }

    pub fn push(&self, task: Task) -> Result<(), Refused> {
        self.inside.with(|inside| {
            if inside.gate.is_closed() {
                return Err(Refused::Closed);
            }
            if inside.queue.len() >= self.limit || inside.make_room(1).is_err() {
                return Err(Refused::Full);
            }
            inside.queue.push_back(task);
            self.len.store(inside.queue.len(), Ordering::Release);
            Ok(())
        })
    }

    /// So many places more, or less, for tasks that have begun.
    pub fn reserve(&self, more: isize) -> Result<(), NoMemory> {
        self.inside.with(|inside| {
            let reserved = inside.reserved.saturating_add_signed(more);
            if more > 0 {
                inside.queue.try_reserve(reserved).map_err(|_| NoMemory)?;
            }
            inside.reserved = reserved;
            Ok(())
        })
    }

    /// As `push`, for a task that has begun: no limit refuses it, and where a place was reserved for it there is room.
    pub fn put_back(&self, task: Task) -> Result<(), NoMemory> {
        self.inside.with(|inside| {
            inside.queue.try_reserve(1).map_err(|_| NoMemory)?;
            inside.queue.push_back(task);
            self.len.store(inside.queue.len(), Ordering::Release);
            Ok(())
        })
    }

    /// As `put_back`, at most `n` tasks, fewer if the queue would come to hold more than `limit`: as
    /// many as `give` is told, or fewer, from it. The queue is locked meanwhile. Full: not even one.
    pub fn put_back_some(
        &self,
        n: usize,
        limit: usize,
        give: impl FnOnce(usize, &mut dyn FnMut(Task)),
    ) -> Result<(), Full> {
        self.inside.with(|inside| {
            let n = n.min(limit.saturating_sub(inside.queue.len()));
            if n == 0 || inside.make_room(n).is_err() {
                return Err(Full);
            }
            give(n, &mut |task| inside.queue.push_back(task));
            self.len.store(inside.queue.len(), Ordering::Release);
            Ok(())
        })
    }

    /// Takes the oldest task, and then passes tasks to `keep`, taken at the end `from`, until `keep`
    /// refuses one. The queue is locked meanwhile.
    pub fn take_all(&self, from: End, mut keep: impl FnMut(Task) -> bool) -> Option<Task> {
        self.inside.with(|inside| {
            let queue = &mut inside.queue;
            let first = queue.pop_front();
            match from {
                End::Oldest => {
                    while queue.front().copied().is_some_and(&mut keep) {
                        queue.pop_front();
                    }
                }
                End::Youngest => {
                    while queue.back().copied().is_some_and(&mut keep) {
                        queue.pop_back();
                    }
                }
            }
            self.len.store(queue.len(), Ordering::Release);
            first
        })
    }

    pub fn take(&self) -> Option<Task> {
        self.inside.with(|inside| {
            let task = inside.queue.pop_front();
            self.len.store(inside.queue.len(), Ordering::Release);
            task
        })
    }

    /// Takes the oldest task, if it is a `fit` one, for another that is to come in its place at the end: then the
    /// queue is locked until `end_exchange`, which must follow on the same thread.
    #[cfg(not(loom))]
    #[inline]
    pub fn begin_exchange(&self, fit: impl FnOnce(Task) -> bool) -> Option<Task> {
        if self.looks_empty() {
            return None;
        }
        // SAFETY: unlocked below, or by `end_exchange`.
        let inside = unsafe { self.inside.lock() };
        let fits = inside.queue.front().is_some_and(|&task| fit(task));
        let task = if fits { inside.queue.pop_front() } else { None };
        if task.is_none() {
            // SAFETY: locked above.
            unsafe { self.inside.unlock() };
        }
        task
    }

    /// # Safety
    /// `begin_exchange` has given the calling thread a task.
    #[cfg(not(loom))]
    #[inline]
    pub unsafe fn end_exchange(&self, task: Task) {
        // SAFETY: locked by this thread; it is only needed to write the queue.
        unsafe {
            // There is room: a task was taken out. And the length is what it was.
            self.inside.locked().queue.push_back(task);
            self.inside.unlock();
        }
    }

    pub fn looks_empty(&self) -> bool {
        self.len.load(Ordering::Acquire) == 0
    }

    /// True if the queue is empty and the gate open, seen under the lock.
    pub fn is_quiet(&self) -> bool {
        self.inside.with(|inside| inside.queue.is_empty() && !inside.gate.is_closed())
    }

    /// Closes the gate for good, unless it is held, if the queue is empty and `still` holds, both
    /// seen under the lock. True if this call closed it.
    pub fn close_if(&self, still: impl FnOnce() -> bool) -> bool {
        self.inside.with(|inside| self.close(inside, still))
    }

    /// Lets a held gate go, and then as `close_if`.
    pub fn release(&self, still: impl FnOnce() -> bool) -> bool {
        self.inside.with(|inside| {
            inside.gate.release();
            self.close(inside, still)
        })
    }

    fn close(&self, inside: &mut Inside, still: impl FnOnce() -> bool) -> bool {
        !inside.gate.is_closed()
            && inside.queue.is_empty()
            && still()
            && inside.gate.rest(&self.rests)
    }

    /// Waits for a moment when the queue is empty and `still` holds.
    pub fn wait_for_rest(&self, still: impl Fn() -> bool) {
        self.rests.wait(|| {
            self.inside.with(|inside| {
                let rests = inside.queue.is_empty() && still();
                if !rests {
                    inside.gate.expect_rest();
                }
                rests
            })
        });
    }
}
