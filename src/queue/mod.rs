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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::chaselev::ChaseLev;
    use super::locked::Locked;
    use super::{Deque, Full, Owner, Steal};
    use crate::base::lock::{PthreadMutex, Semaphore, Spin};
    use crate::task::{Scheduler, Task};
    use rand::rngs::SmallRng;
    use rand::{RngExt, SeedableRng};
    use std::collections::VecDeque;
    use std::ffi::c_void;

    unsafe extern "C" fn nothing(_: *mut c_void, _: *mut Scheduler) {}

    fn task(n: usize) -> Task {
        Task { f: nothing, closure: std::ptr::without_provenance_mut(n) }
    }

    fn number(task: Task) -> usize {
        task.closure.addr()
    }

    fn made<D: Deque>(limit: usize) -> Box<D> {
        let deque = Box::new(D::new(limit).unwrap());
        // SAFETY: boxed, and not used yet.
        unsafe { deque.settle() };
        deque
    }

    /// The same random operations on the deque and on a plain one give the same results.
    fn behaves_like_a_deque<D: Deque>() {
        let deque = made::<D>(usize::MAX);
        // SAFETY: the only owner.
        let mut owner = unsafe { Owner::new(&*deque) };
        let mut oracle = VecDeque::new();
        let mut rng = SmallRng::seed_from_u64(7);
        for n in 0..200_000 {
            // Phases that mostly push and phases that mostly take, to grow and to wrap.
            let pushes = if n / 3000 % 2 == 0 { 7 } else { 3 };
            match rng.random_range(0..10) {
                d if d < pushes => {
                    owner.push(task(n)).unwrap();
                    oracle.push_back(n);
                }
                d if d % 2 == 0 => {
                    let expected = oracle.pop_back().map(|n| (n, oracle.len() + 1));
                    assert_eq!(owner.pop().map(|(t, queued)| (number(t), queued)), expected);
                }
                _ => match deque.steal() {
                    Steal::Taken(t) => assert_eq!(Some(number(t)), oracle.pop_front()),
                    Steal::Empty => assert!(oracle.is_empty()),
                    Steal::Retry => panic!("nobody else is here"),
                },
            }
            assert_eq!(deque.looks_empty(), oracle.is_empty());
        }
    }

    fn refuses_at_its_limit<D: Deque>() {
        let deque = made::<D>(300);
        // SAFETY: the only owner.
        let mut owner = unsafe { Owner::new(&*deque) };
        for n in 0..300 {
            owner.push(task(n)).unwrap();
        }
        assert_eq!(owner.push(task(300)), Err(Full));
        assert!(matches!(deque.steal(), Steal::Taken(t) if number(t) == 0));
        owner.push(task(301)).unwrap();
        assert_eq!(owner.push(task(302)), Err(Full));
        assert_eq!(owner.pop().map(|(t, queued)| (number(t), queued)), Some((301, 300)));
    }

    #[test]
    fn chaselev() {
        behaves_like_a_deque::<ChaseLev>();
        refuses_at_its_limit::<ChaseLev>();
    }

    #[test]
    fn locked() {
        behaves_like_a_deque::<Locked<PthreadMutex>>();
        behaves_like_a_deque::<Locked<Spin>>();
        behaves_like_a_deque::<Locked<Semaphore>>();
        refuses_at_its_limit::<Locked<PthreadMutex>>();
        refuses_at_its_limit::<Locked<Spin>>();
        refuses_at_its_limit::<Locked<Semaphore>>();
    }
}
