//! The owner's end of a deque, as a value: its holder may push and pop.

use crate::queue::{Batches, Deque, Full, Portion, PrivatePart, Published};
use crate::task::Task;
use std::marker::PhantomData;

/// The owner's end of a deque. It belongs to one thread at a time and cannot be shared.
pub struct Owner<'a, D>(&'a D, PhantomData<*mut ()>);

impl<'a, D: Deque> Owner<'a, D> {
    /// # Safety
    /// While this value lives, no other owner of the same deque is used. The last use of an earlier
    /// owner happened before this call.
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

    /// Adds a task, and leaves the threads that asked without an answer.
    pub fn push(&mut self, task: Task) -> Result<(), Full> {
        if self.put(task) { Ok(()) } else { self.put_slowly(task) }
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

    pub fn take_back(&mut self, task: Task) -> bool {
        // SAFETY: this is the one owner.
        unsafe { self.0.take_back(task) }
    }

    #[inline(always)]
    pub fn pop_into(&mut self, then: impl FnOnce(Task)) -> bool {
        // SAFETY: this is the one owner.
        unsafe { self.0.pop_into(then) }
    }

    pub fn keeps_memory(&self) -> bool {
        // SAFETY: this is the one owner.
        unsafe { self.0.keeps_memory() }
    }

    pub fn give_back(&mut self) {
        // SAFETY: this is the one owner.
        unsafe { self.0.give_back() };
    }

    /// The owner's end of the private part.
    #[inline(always)]
    pub fn private_part(&mut self) -> Option<Owner<'_, D::Private>> {
        self.0.private_part().map(|private| Owner(private, PhantomData))
    }

    /// The owner's end, for several tasks at once.
    #[inline(always)]
    pub fn batches(&mut self) -> Option<Owner<'_, D::Batches>> {
        self.0.batches().map(|batches| Owner(batches, PhantomData))
    }
}

impl<P: PrivatePart> Owner<'_, P> {
    /// Does what the owner was asked for: thieves want tasks, and get this `portion`; sleepers want
    /// to be woken for tasks. The next push answers again, as long as `anybody` says that there is a
    /// worker to be woken.
    pub fn answer(&mut self, portion: Portion, anybody: impl Fn() -> bool) {
        let wakes = anybody();
        let published = self.publish(if wakes { Portion::HalfOrLone } else { portion });
        if published != Published::Busy && !wakes {
            self.rearm();
            if anybody() {
                self.0.ask(); // a sleep was announced meanwhile
            }
        }
    }

    pub fn publish(&mut self, portion: Portion) -> Published {
        // SAFETY: this is the one owner.
        unsafe { self.0.publish(portion) }
    }

    pub fn is_asked(&self) -> bool {
        self.0.is_asked()
    }

    pub fn rearm(&mut self) {
        // SAFETY: this is the one owner.
        unsafe { self.0.rearm() }
    }

    pub fn is_alarmed(&self) -> bool {
        self.0.is_alarmed()
    }

    pub fn alarm(&mut self) {
        self.0.alarm();
    }

    pub fn silence(&mut self) {
        // SAFETY: this is the one owner.
        unsafe { self.0.silence() }
    }

    pub fn defer_alarm(&mut self) {
        // SAFETY: this is the one owner.
        unsafe { self.0.defer_alarm() }
    }
}

impl<B: Batches> Owner<'_, B> {
    pub fn make_room(&mut self, wanted: usize) -> usize {
        // SAFETY: this is the one owner.
        unsafe { self.0.make_room(wanted) }
    }

    pub fn spill(&mut self, n: usize, to: impl FnMut(Task)) {
        // SAFETY: this is the one owner.
        unsafe { self.0.spill(n, to) }
    }
}
