//! The models' `sys::futex`. A lost wake-up is a deadlock, which loom reports.

use crate::sys::atomic::{AtomicU32, Ordering};
use loom::sync::{Condvar, Mutex};
use std::sync::Arc;
use std::time::Duration;

pub const LONGEST: Duration = Duration::MAX;

pub fn probe() -> bool {
    true
}

pub fn works() -> bool {
    true
}

pub struct Futex {
    word: AtomicU32,
    queue: Mutex<()>,
    bell: Condvar,
}

impl Futex {
    pub fn new(value: u32) -> Self {
        Futex { word: AtomicU32::new(value), queue: Mutex::new(()), bell: Condvar::new() }
    }

    pub fn load(&self, order: Ordering) -> u32 {
        self.word.load(order)
    }

    pub fn store(&self, value: u32, order: Ordering) {
        self.word.store(value, order);
    }

    pub fn add(&self, n: u32, order: Ordering) -> u32 {
        self.word.fetch_add(n, order)
    }

    pub fn swap(&self, value: u32, order: Ordering) -> u32 {
        self.word.swap(value, order)
    }

    pub fn set_bits(&self, bits: u32, order: Ordering) -> u32 {
        self.word.fetch_or(bits, order)
    }

    pub fn keep_bits(&self, bits: u32, order: Ordering) -> u32 {
        self.word.fetch_and(bits, order)
    }

    pub fn swap_if(&self, old: u32, new: u32) -> bool {
        self.word.compare_exchange(old, new, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    pub fn acquire_if(&self, old: u32, new: u32) -> bool {
        self.word.compare_exchange(old, new, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// A sleep with a time limit ends at once.
    pub fn wait(&self, expected: u32, limit: Duration) {
        if limit < LONGEST {
            return loom::thread::yield_now();
        }
        let queue = self.queue.lock().expect("a model that panics is over");
        if self.word.load(Ordering::SeqCst) == expected {
            drop(self.bell.wait(queue));
        }
    }

    pub fn wake(&self, n: i32) -> bool {
        let _queue = self.queue.lock().expect("a model that panics is over");
        if n == 1 {
            self.bell.notify_one();
        } else {
            self.bell.notify_all();
        }
        true
    }
}

/// Outlives its owner, since a wake-up here needs more than an address.
pub struct SpentWord(Arc<Futex>);

impl SpentWord {
    pub fn new(value: u32) -> Self {
        SpentWord(Arc::new(Futex::new(value)))
    }

    pub fn load(&self, order: Ordering) -> u32 {
        self.0.load(order)
    }

    pub fn wait(&self, expected: u32, limit: Duration) {
        self.0.wait(expected, limit);
    }

    /// # Safety
    /// The word lives until its owner has loaded `value`.
    pub unsafe fn store_and_wake(this: *const Self, value: u32) {
        // SAFETY: the word lives until the store.
        let word = unsafe { (*this).0.clone() };
        word.store(value, Ordering::Release);
        word.wake(1);
    }
}
