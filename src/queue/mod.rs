//! L2a: the queues. Each is a data structure and nothing more: who steals from whom, when
//! to sleep and when to end is for higher floors.
//!
//! | file | queue | owner's path |
//! | --- | --- | --- |
//! | [`chaselev`] | growable Chase-Lev deque | lock-free, a full fence in pop |
//! | [`locked`] | ring under a lock, the lock a type parameter | lock, unlock |
//! | [`injector`] | queue for tasks from outside the run | lock, unlock |

pub mod chaselev;
pub mod injector;
#[cfg(not(loom))]
pub mod locked;

use crate::base::mem::NoMemory;
use crate::task::Task;
use std::marker::PhantomData;

/// A push was refused: no memory to grow, or the queue's limit is reached. Nothing changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// What a thief gets.
#[derive(Debug)]
pub enum Steal {
    Empty,
    /// Someone else took the task that was looked at: the deque may hold more.
    Retry,
    Taken(Task),
}

/// A double-ended queue: one owner pushes and pops at the bottom, any thread steals at the
/// top. The methods here are the thieves'; the owner's go through [`Owner`].
pub trait Deque: Send + Sync + Sized {
    /// An empty deque that refuses to hold more than `limit` tasks.
    fn new(limit: usize) -> Result<Self, NoMemory>;

    /// Called once, when the deque has its final address and before its first use.
    ///
    /// # Safety
    /// As said.
    unsafe fn settle(&self) {}

    /// Takes the oldest task.
    fn steal(&self) -> Steal;

    /// A hint, without a lock: may be out of date when it returns.
    fn looks_empty(&self) -> bool;

    /// Adds a task at the bottom.
    ///
    /// # Safety
    /// Only through the one [`Owner`].
    unsafe fn push(&self, task: Task) -> Result<(), Full>;

    /// Takes the youngest task, and tells how many were queued, itself included.
    ///
    /// # Safety
    /// Only through the one [`Owner`].
    unsafe fn pop(&self) -> Option<(Task, usize)>;
}

/// The owner's end of a deque. It belongs to one thread at a time and cannot be shared.
pub struct Owner<'a, D: Deque>(&'a D, PhantomData<*mut ()>);

impl<'a, D: Deque> Owner<'a, D> {
    /// # Safety
    /// While this lives no other owner of the same deque is used, and the last use of an
    /// earlier one happened before this call.
    #[inline]
    pub unsafe fn new(deque: &'a D) -> Self {
        Owner(deque, PhantomData)
    }

    #[inline]
    pub fn push(&mut self, task: Task) -> Result<(), Full> {
        // SAFETY: this is the one owner.
        unsafe { self.0.push(task) }
    }

    #[inline]
    pub fn pop(&mut self) -> Option<(Task, usize)> {
        // SAFETY: this is the one owner.
        unsafe { self.0.pop() }
    }
}
