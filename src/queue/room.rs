//! A queue of tasks under a lock, whose memory goes back to the system when the queue is empty.
//!
//! The queue then gets a short buffer, and the pages of the long one are discarded. The long buffer
//! itself is kept as a *spare*, for the next time that the queue grows. Rejected: freeing it. glibc
//! would then serve later buffers of that size from its heap, where the memory that they leave
//! behind when they grow stays resident.

use crate::sys::memory::{self, NoMemory};
use crate::task::Task;
use std::collections::VecDeque;
use std::mem::{self, offset_of};
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};

pub struct QueueOf<T> {
    tasks: VecDeque<T>,
    /// A buffer whose pages are discarded, or none.
    spare: Long<T>,
}

pub type TaskQueue = QueueOf<Task>;

/// True while a queue has a long buffer. Written under the queue's lock, read without it, as a
/// hint. (std's atomic, which the models do not explore.)
#[derive(Default)]
pub struct IsLong(AtomicBool);

impl IsLong {
    pub fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// A buffer without tasks.
pub struct Long<T = Task>(Vec<T>);

impl<T> Long<T> {
    /// Returns the buffer's pages to the system. This may take milliseconds.
    pub fn discard(&mut self) {
        let room = self.0.spare_capacity_mut();
        // SAFETY: the bytes are the buffer's, which has no tasks.
        unsafe { memory::discard_within(room.as_mut_ptr().cast(), size_of_val(room)) };
    }
}

impl<T> QueueOf<T> {
    /// The offset of the `VecDeque`, for a debugger.
    pub const TASKS: usize = offset_of!(QueueOf<T>, tasks);

    pub const fn new() -> Self {
        QueueOf { tasks: VecDeque::new(), spare: Long(Vec::new()) }
    }

    #[inline(always)]
    pub fn make_room(&mut self, n: usize, is_long: &IsLong) -> Result<(), NoMemory> {
        if self.tasks.capacity() - self.tasks.len() >= n { Ok(()) } else { self.grow(n, is_long) }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, n: usize, is_long: &IsLong) -> Result<(), NoMemory> {
        if self.spare.0.capacity() >= self.tasks.len().saturating_add(n) {
            let mut longer: VecDeque<T> = mem::take(&mut self.spare.0).into();
            longer.extend(self.tasks.drain(..));
            self.tasks = longer;
        } else {
            self.tasks.try_reserve(n).map_err(|_| NoMemory)?;
        }
        if self.tasks.capacity() * size_of::<T>() >= memory::LONG {
            is_long.0.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Takes the long buffer of an empty queue, and leaves one for `reserved` tasks. The caller
    /// unlocks, discards the buffer, and brings it back to `keep`. None if the queue has tasks or a
    /// short buffer, or there is no memory.
    pub fn take_long(&mut self, reserved: usize, is_long: &IsLong) -> Option<Long<T>> {
        let mut short = VecDeque::new();
        if !is_long.get() || !self.tasks.is_empty() || short.try_reserve(reserved).is_err() {
            return None;
        }
        is_long.0.store(false, Ordering::Relaxed);
        Some(Long(mem::replace(&mut self.tasks, short).into()))
    }

    pub fn keep(&mut self, long: Long<T>) {
        if self.spare.0.capacity() < long.0.capacity() {
            self.spare = long;
        }
    }
}

impl<T> Default for QueueOf<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Deref for QueueOf<T> {
    type Target = VecDeque<T>;

    #[inline(always)]
    fn deref(&self) -> &VecDeque<T> {
        &self.tasks
    }
}

impl<T> DerefMut for QueueOf<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut VecDeque<T> {
        &mut self.tasks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_buffer_is_kept_for_the_next_growth() {
        extern "C" fn nothing(_: *mut std::ffi::c_void, _: *mut crate::task::Scheduler) {}
        let task = Task { f: nothing, closure: std::ptr::null_mut() };
        let (mut queue, is_long) = (TaskQueue::new(), IsLong::default());
        let fill = |queue: &mut TaskQueue, n| {
            (0..n).for_each(|_| {
                queue.make_room(1, &is_long).unwrap();
                queue.push_back(task);
            });
        };
        fill(&mut queue, 100);
        queue.clear();
        assert!(!is_long.get() && queue.take_long(0, &is_long).is_none());
        fill(&mut queue, 50_000);
        assert!(is_long.get() && queue.take_long(0, &is_long).is_none());
        queue.clear();
        let mut long = queue.take_long(10, &is_long).unwrap();
        assert!(!is_long.get() && (10..1000).contains(&queue.capacity()));
        let capacity = long.0.capacity();
        long.discard();
        fill(&mut queue, 1);
        queue.keep(long);
        fill(&mut queue, 50_000);
        assert!(is_long.get());
        assert_eq!((queue.len(), queue.capacity()), (50_001, capacity));
    }
}
