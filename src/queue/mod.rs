//! L2a: the queues. Each is a data structure and nothing more: who steals from whom, when
//! to sleep and when to end is for higher floors.
//!
//! | file | queue | owner's path |
//! | --- | --- | --- |
//! | [`split`] | growable deque, a part of it the owner's own | no fence, no shared write |
//! | [`chaselev`] | growable Chase-Lev deque | lock-free, a full fence in pop |
//! | [`ring`] | ring of 256 slots, first in, first out | lock-free, a swap in pop |
//! | [`locked`] | ring under a lock, first or last in, first out; both type parameters | lock, unlock |
//! | [`injector`] | queue for tasks from outside the run | lock, unlock |

pub mod chaselev;
pub mod injector;
#[cfg(not(loom))]
pub mod locked;
pub mod ring;
pub mod run_gate;
pub mod split;
#[cfg(all(test, not(loom)))]
mod tests;

use crate::sys::memory::NoMemory;
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

/// The most tasks that a thief takes at once: half of Tokio's ring. What it holds in its hands nobody
/// else can have.
pub const BATCH: usize = 128;

/// A double-ended queue: one owner pushes and pops at the bottom, any thread steals at the
/// top. (Of a FIFO one the owner pops at the top, too.) The methods here are the thieves'; the owner's go through [`Owner`].
pub trait Deque: Send + Sync + Sized + 'static {
    /// An empty deque that refuses to hold more than `limit` tasks.
    fn new(limit: usize) -> Result<Self, NoMemory>;

    /// Called once, when the deque has its final address and before its first use.
    ///
    /// # Safety
    /// As said.
    unsafe fn initialize_in_place(&self) {}

    // --- thieves ---------------------------------------------------------------------

    /// Takes the oldest task that is there for the taking.
    fn steal(&self) -> Steal;

    /// True if it has `steal_half`, `room` and `spill`.
    const SHARES: bool = false;

    /// Takes the older half of the tasks, an odd one included: returns the oldest, and gives `keep` the
    /// others in the order of their age, at most `rest`; no more than [`BATCH`] in all.
    fn steal_half(&self, _rest: usize, _keep: impl FnMut(Task)) -> Steal {
        self.steal()
    }

    /// True if `steal` may succeed now, as far as one can see. If not, and the owner has to be
    /// asked for tasks, it is asked.
    fn offers(&self) -> bool {
        !self.looks_empty()
    }

    /// Requests that the owner shares its private tasks, if it has any, at its next pop or join. Cheap.
    fn request(&self) {}

    /// `raid`, if the owner has private tasks and has not answered a request; None otherwise.
    fn press(&self) -> Option<bool> {
        None
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

    /// True if a child made by fork in a task finds its copy abandoned, so that its pops take nothing.
    const ABANDONED_IN_CHILD: bool = false;

    // --- the owner, through the one `Owner` -------------------------------------------

    /// True if the owner's `pop` takes the oldest task, not the youngest.
    const FIFO: bool = false;

    /// The number of tasks at which it is full for good, if it cannot grow.
    const SLOTS: Option<usize> = None;

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
    /// will most likely take it next, unless `even_one`.
    ///
    /// # Safety
    /// Only through the one [`Owner`].
    unsafe fn publish(&self, _even_one: bool) -> Published {
        Published::Some
    }

    /// From now on puts are quiet until somebody asks again. It ends with a full fence: whose
    /// question it overwrites, and who wrote something and fenced before asking, has that seen by
    /// what the owner reads next.
    ///
    /// # Safety
    /// Only through the one [`Owner`].
    unsafe fn rearm(&self) {}

    /// Makes room for `wanted` tasks, or for fewer; tells how many can be put now, whatever thieves do.
    ///
    /// # Safety
    /// Only through the one [`Owner`].
    unsafe fn room(&self, _wanted: usize) -> usize {
        0
    }

    /// Takes out the `n` oldest tasks, to make room; none if that would make none.
    ///
    /// # Safety
    /// Only through the one [`Owner`].
    unsafe fn spill(&self, _n: usize, _to: impl FnMut(Task)) {}

    /// Takes the youngest task, or the oldest: see `FIFO`.
    ///
    /// # Safety
    /// Only through the one [`Owner`].
    unsafe fn pop(&self) -> Option<Task>;

    /// The first half of `pop`. If None, the owner calls `pop_slowly` at once.
    ///
    /// # Safety
    /// Only through the one [`Owner`].
    unsafe fn pop_quickly(&self) -> Option<Task> {
        // SAFETY: passed on.
        unsafe { self.pop() }
    }

    /// The rest of a `pop_quickly` that returned None.
    ///
    /// # Safety
    /// As said there.
    unsafe fn pop_slowly(&self) -> Option<Task> {
        None
    }

    /// Takes the youngest task.
    ///
    /// # Safety
    /// Only through the one [`Owner`].
    unsafe fn pop_youngest(&self) -> Option<Task> {
        // SAFETY: passed on.
        unsafe { self.pop() }
    }

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

/// The outcome of an owner's `publish`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Published {
    /// There are public tasks.
    Some,
    /// The owner has no task to spare.
    None,
    /// A thief holds the lock: thieves should go on asking.
    Busy,
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
    /// there is `anybody` to be woken, or `searched` says that a worker searches and no task is public, the next push
    /// answers again.
    pub fn answer(&mut self, anybody: impl Fn() -> bool, searched: impl Fn() -> bool) {
        let wakes = anybody();
        let quiet = match self.publish(wakes) {
            Published::Some => true,
            Published::None => !searched(),
            Published::Busy => false,
        };
        if quiet && !wakes {
            self.rearm();
            if anybody() {
                self.0.ask(); // it was announced meanwhile
            }
        }
    }

    pub fn publish(&mut self, even_one: bool) -> Published {
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

    #[inline(always)]
    pub fn pop_quickly(&mut self) -> Option<Task> {
        // SAFETY: this is the one owner.
        unsafe { self.0.pop_quickly() }
    }

    pub fn pop_slowly(&mut self) -> Option<Task> {
        // SAFETY: this is the one owner.
        unsafe { self.0.pop_slowly() }
    }

    pub fn pop_youngest(&mut self) -> Option<Task> {
        // SAFETY: this is the one owner.
        unsafe { self.0.pop_youngest() }
    }

    pub fn room(&mut self, wanted: usize) -> usize {
        // SAFETY: this is the one owner.
        unsafe { self.0.room(wanted) }
    }

    pub fn spill(&mut self, n: usize, to: impl FnMut(Task)) {
        // SAFETY: this is the one owner.
        unsafe { self.0.spill(n, to) }
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
