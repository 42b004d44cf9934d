//! The models' `sys::region`. The values of a block are of loom's types, which cannot be made of
//! zeroes. Growing moves the values to lower addresses and adds fresh ones behind them. The second
//! growth, or one soon after it, is refused.

use crate::sys::memory::NoMemory;
use std::mem::{self, MaybeUninit};

pub struct Block<T> {
    /// The block's `len` values begin at `start`.
    memory: Box<[MaybeUninit<T>]>,
    start: usize,
    len: usize,
}

impl<T: Default> Block<T> {
    /// # Safety
    /// None is needed here; the real block's function is unsafe.
    pub unsafe fn new(len: usize) -> Result<Self, NoMemory> {
        let memory = Box::new_uninit_slice(3 * len);
        let mut block = Block { start: memory.len(), memory, len: 0 };
        block.grow(len)?;
        Ok(block)
    }

    /// A block of values that stand for zeroes.
    ///
    /// # Safety
    /// The contract of `new`.
    pub unsafe fn zeroed(len: usize) -> Result<Self, NoMemory> {
        // SAFETY: as above.
        unsafe { Self::new(len) }
    }

    pub fn start(&self) -> *mut T {
        self.memory[self.start..].as_ptr().cast_mut().cast()
    }

    pub fn count(&self) -> usize {
        self.len
    }

    pub fn grow(&mut self, len: usize) -> Result<(), NoMemory> {
        let new = self.start.checked_sub(len).ok_or(NoMemory)?;
        for i in 0..len {
            let value = if i < self.len {
                // SAFETY: the block has a value at each index below `len`.
                mem::take(unsafe { self.memory[self.start + i].assume_init_mut() })
            } else {
                T::default()
            };
            self.memory[new + i].write(value);
        }
        (self.start, self.len) = (new, len);
        Ok(())
    }

    /// Drops the values, and makes room for `len` new ones at the first addresses of the memory.
    /// Returns an empty block.
    pub fn renew(&mut self, len: usize) -> Result<Block<T>, NoMemory> {
        self.drop_values();
        (self.start, self.len) = (self.memory.len(), 0);
        self.grow(len)?;
        Ok(Block { memory: Box::new_uninit_slice(0), start: 0, len: 0 })
    }
}

impl<T> Block<T> {
    fn drop_values(&mut self) {
        for value in &mut self.memory[self.start..] {
            // SAFETY: every place from `start` on holds a value.
            unsafe { value.assume_init_drop() };
        }
    }
}

impl<T> Drop for Block<T> {
    fn drop(&mut self) {
        self.drop_values();
    }
}
