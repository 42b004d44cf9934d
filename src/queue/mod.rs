//! L2a: the queues. Each is a data structure and nothing more: who steals from whom, when
//! to sleep and when to end is for higher floors.
//!
//! | file | queue | owner's path |
//! | --- | --- | --- |
//! | [`split`] | growable deque, a part of it the owner's own | no fence, no shared write |
//! | [`chaselev`] | growable Chase-Lev deque | lock-free, a full fence in pop |
//! | [`locked`] | ring under a lock, the lock a type parameter | lock, unlock |
//! | [`injector`] | queue for tasks from outside the run | lock, unlock |

pub mod chaselev;
pub mod injector;
#[cfg(not(loom))]
pub mod locked;
pub mod split;

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
pub trait Deque: Send + Sync + Sized + 'static {
    /// An empty deque that refuses to hold more than `limit` tasks.
    fn new(limit: usize) -> Result<Self, NoMemory>;

    /// Called once, when the deque has its final address and before its first use.
    ///
    /// # Safety
    /// As said.
    unsafe fn settle(&self) {}

    // --- thieves ---------------------------------------------------------------------

    /// Takes the oldest task that is there for the taking.
    fn steal(&self) -> Steal;

    /// True if `steal` may succeed now, as far as one can see. If not, and the owner has to be
    /// asked for tasks, it is asked.
    fn offers(&self) -> bool {
        !self.looks_empty()
    }

    /// Makes tasks stealable that the owner keeps to itself, without its help. Dear. True if
    /// there are any to steal afterwards.
    fn raid(&self) -> bool {
        false
    }

    /// A hint, without a lock: may be out of date when it returns.
    fn looks_empty(&self) -> bool;

    // --- sleepers --------------------------------------------------------------------

    /// True if an owner's `put` returns true only while nobody has asked it for attention. Of
    /// other deques the owner looks for sleepers after each put.
    const QUIET: bool = false;

    /// Asks for the owner's attention at its next put.
    fn ask(&self) {}

    /// Itself, if it is of this type: `sched_spawn` has its `put` built in, and after a fork in a
    /// task the child's copy is abandoned.
    fn quick(&self) -> Option<&split::Split<false>> {
        None
    }

    // --- the owner, through the one `Owner` -------------------------------------------

    /// Adds a task at the bottom. If false, the owner calls `put_slowly` with the same task at
    /// once, and then, if the deque is quiet, answers those who asked.
    ///
    /// # Safety
    /// Only through the one [`Owner`].
    unsafe fn put(&self, task: Task) -> bool;

    /// The rest of a `put` that returned false.
    ///
    /// # Safety
    /// As said there.
    unsafe fn put_slowly(&self, task: Task) -> Result<(), Full>;

    /// Offers tasks to thieves, if they have none to steal. One task alone it keeps, since its owner
    /// will most likely take it next, unless `even_one`; they ask again, or raid. False if they should go
    /// on asking.
    ///
    /// # Safety
    /// Only through the one [`Owner`].
    unsafe fn publish(&self, _even_one: bool) -> bool {
        true
    }

    /// From now on puts are quiet until somebody asks again. It ends with a full fence: whose
    /// question it overwrites, and who wrote something and fenced before asking, has that seen by
    /// what the owner reads next.
    ///
    /// # Safety
    /// Only through the one [`Owner`].
    unsafe fn rearm(&self) {}

    /// Takes the youngest task.
    ///
    /// # Safety
    /// Only through the one [`Owner`].
    unsafe fn pop(&self) -> Option<Task>;

    /// `pop`, the task handed to `then`: an Option in between would cost a test. True if there was
    /// one.
    ///
    /// # Safety
    /// Only through the one [`Owner`].
    #[inline(always)]
    unsafe fn pop_into(&self, then: impl FnOnce(Task)) -> bool {
        // SAFETY: passed on.
        unsafe { self.pop() }.map(then).is_some()
    }

    /// Takes the youngest task, if it is this one.
    ///
    /// # Safety
    /// Only through the one [`Owner`].
    unsafe fn take_back(&self, task: Task) -> bool {
        // SAFETY: passed on.
        unsafe {
            match self.pop() {
                Some(youngest) if youngest == task => true,
                Some(other) => {
                    // There is room: it was there just now.
                    let _ = self.put(other) || self.put_slowly(other).is_ok();
                    false
                }
                None => false,
            }
        }
    }

    /// The most tasks that a pop has found.
    fn peak(&self) -> usize;
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

    #[inline(always)]
    pub fn put(&mut self, task: Task) -> bool {
        // SAFETY: this is the one owner.
        unsafe { self.0.put(task) }
    }

    pub fn put_slowly(&mut self, task: Task) -> Result<(), Full> {
        // SAFETY: this is the one owner.
        unsafe { self.0.put_slowly(task) }
    }

    /// `put`, to its end; who asked is not answered.
    pub fn push(&mut self, task: Task) -> Result<(), Full> {
        if self.put(task) { Ok(()) } else { self.put_slowly(task) }
    }

    /// Does what it was asked for: thieves want tasks, sleepers want to be woken for them. As long as
    /// there is `anybody` to be woken, each push is to ask anew.
    pub fn answer(&mut self, anybody: impl Fn() -> bool) {
        let wakes = anybody();
        if self.publish(wakes) && !wakes {
            self.rearm();
            if anybody() {
                self.0.ask(); // it was announced meanwhile
            }
        }
    }

    pub fn publish(&mut self, even_one: bool) -> bool {
        // SAFETY: this is the one owner.
        unsafe { self.0.publish(even_one) }
    }

    pub fn rearm(&mut self) {
        // SAFETY: this is the one owner.
        unsafe { self.0.rearm() }
    }

    #[inline(always)]
    pub fn pop(&mut self) -> Option<Task> {
        // SAFETY: this is the one owner.
        unsafe { self.0.pop() }
    }

    pub fn take_back(&mut self, task: Task) -> bool {
        // SAFETY: this is the one owner.
        unsafe { self.0.take_back(task) }
    }

    #[inline(always)]
    pub fn pop_into(&mut self, then: impl FnOnce(Task)) -> bool {
        // SAFETY: this is the one owner.
        unsafe { self.0.pop_into(then) }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::chaselev::ChaseLev;
    use super::locked::Locked;
    use super::split::Split;
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

    /// Steals, as a thief in need does.
    fn take_oldest<D: Deque>(deque: &D) -> Option<usize> {
        if !deque.offers() && !deque.raid() {
            return None;
        }
        match deque.steal() {
            Steal::Taken(task) => Some(number(task)),
            Steal::Empty => None,
            Steal::Retry => panic!("nobody else is here"),
        }
    }

    /// The same random operations on the deque and on a plain one give the same results.
    fn behaves_like_a_deque<D: Deque>() {
        let deque = made::<D>(usize::MAX);
        // SAFETY: the only owner.
        let mut owner = unsafe { Owner::new(&*deque) };
        let mut oracle = VecDeque::new();
        let mut peak = 0;
        let mut rng = SmallRng::seed_from_u64(7);
        for n in 0..200_000 {
            // Phases that mostly push and phases that mostly take, to grow and to wrap.
            let pushes = if n / 3000 % 2 == 0 { 7 } else { 3 };
            match rng.random_range(0..10) {
                d if d < pushes => {
                    owner.push(task(n)).unwrap();
                    oracle.push_back(n);
                }
                d if d % 3 == 0 => {
                    peak = peak.max(oracle.len());
                    assert_eq!(owner.pop().map(number), oracle.pop_back());
                }
                d if d % 3 == 1 => assert_eq!(take_oldest(&*deque), oracle.pop_front()),
                _ if owner.publish(n % 2 == 0) => owner.rearm(),
                _ => (),
            }
            assert_eq!(deque.looks_empty(), oracle.is_empty());
        }
        assert_eq!(deque.peak(), peak);
    }

    fn refuses_at_its_limit<D: Deque>() {
        let deque = made::<D>(300);
        // SAFETY: the only owner.
        let mut owner = unsafe { Owner::new(&*deque) };
        for n in 0..300 {
            owner.push(task(n)).unwrap();
        }
        assert_eq!(owner.push(task(300)), Err(Full));
        assert_eq!(take_oldest(&*deque), Some(0));
        owner.push(task(301)).unwrap();
        assert_eq!(owner.push(task(302)), Err(Full));
        assert_eq!(owner.pop().map(number), Some(301));
        assert_eq!(deque.peak(), 300);

        // Nor does it hold more when it was emptied by thieves far from where it starts.
        (0..150).for_each(|n| assert_eq!(take_oldest(&*deque), Some(n + 1)));
        (0..150).for_each(|n| owner.push(task(n)).unwrap());
        while take_oldest(&*deque).is_some() {}
        assert!(owner.pop().is_none());
        (0..300).for_each(|n| owner.push(task(n)).unwrap());
        assert_eq!(owner.push(task(300)), Err(Full));
    }

    #[test]
    fn split() {
        behaves_like_a_deque::<Split<false>>();
        behaves_like_a_deque::<Split<true>>();
        refuses_at_its_limit::<Split<false>>();
        refuses_at_its_limit::<Split<true>>();
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
