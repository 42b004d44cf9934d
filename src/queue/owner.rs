//! The owner's end of a deque, as a value: its holder may push and pop.

use crate::queue::{Batches, Deque, Full, Portion, PrivatePart, Published};
use crate::task::Task;
use std::marker::PhantomData;

/// The owner's end of a deque, or of a capability of it. It belongs to one thread at a time and
/// cannot be shared. The traits document its functions.
pub struct Owner<'a, D>(&'a D, PhantomData<*mut ()>);

/// The owner's functions of a trait.
macro_rules! of_the_owner {
    ($(fn $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?;)+) => {
        $(#[inline(always)]
        pub fn $name(&mut self, $($argument: $type),*) $(-> $result)? {
            // SAFETY: this is the one owner.
            unsafe { self.0.$name($($argument),*) }
        })+
    };
}

impl<'a, D: Deque> Owner<'a, D> {
    /// # Safety
    /// While this value lives, no other owner of the same deque is used. The last use of an earlier
    /// owner happened before this call.
    #[inline]
    pub unsafe fn new(deque: &'a D) -> Self {
        Owner(deque, PhantomData)
    }

    of_the_owner! {
        fn put(task: Task) -> bool;
        fn put_slowly(task: Task) -> Result<(), Full>;
        fn pop() -> Option<Task>;
        fn pop_quickly() -> Option<Task>;
        fn pop_slowly() -> Option<Task>;
        fn pop_youngest() -> Option<Task>;
        fn take_back(task: Task) -> bool;
        fn keeps_memory() -> bool;
        fn give_back();
    }

    #[inline(always)]
    pub fn pop_into(&mut self, then: impl FnOnce(Task)) -> bool {
        // SAFETY: this is the one owner.
        unsafe { self.0.pop_into(then) }
    }

    /// Adds a task, and publishes nothing for the threads that have asked.
    pub fn push(&mut self, task: Task) -> Result<(), Full> {
        if self.put(task) { Ok(()) } else { self.put_slowly(task) }
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
    of_the_owner! {
        fn publish(portion: Portion) -> Published;
        fn rearm();
        fn silence();
    }

    pub fn is_asked(&self) -> bool {
        self.0.is_asked()
    }

    pub fn is_alarmed(&self) -> bool {
        self.0.is_alarmed()
    }

    pub fn alarm(&mut self) {
        self.0.alarm();
    }

    /// Publishes `portion` for the threads that have asked. Then puts become silent, unless a thief
    /// holds the lock. But if `anybody` says that there is a worker to be woken, publishes the
    /// older half or a single task, and puts stay as they are: after the next one the owner
    /// publishes again.
    pub fn publish_and_rearm(&mut self, portion: Portion, anybody: impl Fn() -> bool) {
        let wakes = anybody();
        let published = self.publish(if wakes { Portion::HalfOrLone } else { portion });
        if published != Published::Busy && !wakes {
            self.rearm();
            if anybody() {
                self.0.ask(); // a sleep was announced meanwhile
            }
        }
    }
}

impl<B: Batches> Owner<'_, B> {
    of_the_owner! {
        fn make_room(wanted: usize) -> usize;
    }

    pub fn spill(&mut self, n: usize, to: impl FnMut(Task)) {
        // SAFETY: this is the one owner.
        unsafe { self.0.spill(n, to) }
    }
}
