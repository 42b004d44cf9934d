//! A word of one thread's memory that the compiler reads and writes separately.
//!
//! With plain words the compiler copies two neighbours by one load of 16 bytes. If the words have
//! just been written one by one, the processor cannot serve such a load from its store buffer: the
//! load waits until both words are in the cache, longer than the rest of a short function takes.

use std::sync::atomic::{AtomicU64, Ordering};

/// Relaxed: one thread at a time uses a word. Compilers do not combine accesses of atomics.
pub struct Word(AtomicU64);

impl Word {
    pub const fn new(value: u64) -> Self {
        Word(AtomicU64::new(value))
    }

    #[inline(always)]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    #[inline(always)]
    pub fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }
}
