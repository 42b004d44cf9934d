//! Calls to a thread that is made at the first, and rests between its jobs.
//!
//! The protocol is told in `threads::cache`; here is its word, so that a model can run it.

use crate::sys::atomic::{Ordering, Pad, UnsafeCell, spin_loop};
use crate::sys::futex;
use crate::sys::futex::Futex;
use std::time::Duration;

const REST: u32 = 0;
const CALLED: u32 = 1;
const AWAITED: u32 = 2;
const DISMISSED: u32 = 3;
const ASLEEP: u32 = 4;

/// Looks of who waits for a job's end before it sleeps: some microseconds.
const PATIENCE: u32 = if cfg!(loom) { 1 } else { 100 };

pub struct Call {
    word: Pad<Futex>,
    /// Is there a thread? Belongs to who may call.
    alive: UnsafeCell<bool>,
}

/// What a thread that rests is to do.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Order {
    Rest,
    Work,
    End,
}

impl Call {
    #[allow(clippy::new_without_default, reason = "the models' futex has no default")]
    pub fn new() -> Self {
        Call { word: Pad(Futex::new(REST)), alive: UnsafeCell::new(false) }
    }

    /// Has it a thread? For who may call.
    pub fn is_alive(&self) -> bool {
        // SAFETY: the caller's.
        self.alive.with(|alive| unsafe { *alive })
    }

    /// For who may call; tells what was.
    pub fn set_alive(&self, alive: bool) -> bool {
        // SAFETY: the caller's.
        self.alive.with_mut(|was| unsafe { was.replace(alive) })
    }

    /// Gives the thread the job that was written before. `sleeps` is done before one that sleeps is called;
    /// `create` if there is none, and tells if it could be made: so does this.
    pub fn make(&self, sleeps: impl FnOnce(), create: impl FnOnce() -> bool) -> bool {
        // Before the call: after it the thread may do the job, rest, and end, its time being up.
        let alive = self.is_alive();
        if alive && self.word.load(Ordering::Relaxed) == ASLEEP {
            sleeps();
        }
        // Release: pairs with the load in `order`.
        let was = self.word.swap(CALLED, Ordering::AcqRel);
        if alive {
            if was == ASLEEP {
                self.word.wake(1);
            }
            return true;
        }
        // Before: the thread may have done its job, and another call it, when `create` returns.
        self.set_alive(true);
        let made = create();
        if !made {
            self.set_alive(false);
            self.word.store(REST, Ordering::Relaxed); // no thread reads it
        }
        made
    }

    /// Has the thread a job to do, or does it?
    fn works(&self) -> bool {
        // Acquire: pairs with the swap in `done`.
        matches!(self.word.load(Ordering::Acquire), CALLED | AWAITED)
    }

    /// Waits until the job that was called is done.
    pub fn wait(&self) {
        for _ in 0..PATIENCE {
            if !self.works() {
                return;
            }
            spin_loop();
        }
        while self.works() {
            self.word.swap_if(CALLED, AWAITED);
            self.word.wait(AWAITED, futex::LONGEST);
        }
    }

    /// The thread's job is done.
    pub fn done(&self) {
        // Release: what the job wrote is seen by who waits for it.
        if self.word.swap(REST, Ordering::AcqRel) == AWAITED {
            self.word.wake(1);
        }
    }

    /// What the thread is to do now.
    pub fn order(&self) -> Order {
        // Acquire: pairs with the swap in `make`.
        match self.word.load(Ordering::Acquire) {
            REST | ASLEEP => Order::Rest,
            DISMISSED => Order::End,
            _ => Order::Work,
        }
    }

    /// The thread will sleep, if nobody has called it.
    pub fn lie_down(&self) {
        self.word.swap_if(REST, ASLEEP);
    }

    /// The thread sleeps until it is called, or the time is up; it has lain down.
    pub fn sleep(&self, limit: Duration) {
        self.word.wait(ASLEEP, limit);
    }

    /// The thread, which rests, is to end.
    pub fn dismiss(&self) {
        // A swap: of a plain store loom would not know that it comes after the thread's own swap.
        self.word.swap(DISMISSED, Ordering::Release);
        self.word.wake(1);
    }

    /// The process is a child made by fork, and does not have the thread.
    pub fn forget(&self) {
        self.word.store(REST, Ordering::Relaxed);
        self.set_alive(false);
    }
}
