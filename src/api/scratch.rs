//! Memory for the duration of a call: on the stack if it is small, otherwise from the heap.

use crate::sys::memory::NoMemory;
use crate::sys::region::Block;
use std::mem::{ManuallyDrop, MaybeUninit};

/// The unit of memory from the heap: a cache line, whose alignment suffices for any type.
#[repr(align(64))]
struct Line(#[allow(dead_code, reason = "room")] MaybeUninit<[u8; 64]>);

/// The bytes of a small `Scratch`.
#[repr(align(64))]
pub struct Few<const FEW: usize>(MaybeUninit<[u8; FEW]>);

impl<const FEW: usize> Few<FEW> {
    #[inline]
    pub fn empty() -> Self {
        Few(MaybeUninit::uninit())
    }

    /// The start of the bytes. They move with the value.
    #[inline]
    pub fn start(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }
}

/// Bytes from the heap, aligned for any type.
pub struct Many(ManuallyDrop<Block<Line>>);

impl Many {
    /// `size` is at least 1.
    pub fn new(size: usize) -> Result<Self, NoMemory> {
        // SAFETY: a line may hold any bytes.
        let block = unsafe { Block::new(size.div_ceil(size_of::<Line>())) }?;
        Ok(Many(ManuallyDrop::new(block)))
    }

    pub fn start(&self) -> *mut u8 {
        self.0.start().cast()
    }
}

impl Drop for Many {
    #[cold]
    #[inline(never)] // without memory from the heap, a frame only compares a pointer with NULL
    fn drop(&mut self) {
        // SAFETY: the block is dropped once.
        unsafe { ManuallyDrop::drop(&mut self.0) }
    }
}

/// Bytes, aligned for any type. Up to `FEW` bytes are in the value itself.
pub struct Scratch<const FEW: usize> {
    few: Few<FEW>,
    many: Option<Many>,
}

impl<const FEW: usize> Scratch<FEW> {
    #[inline]
    pub fn new(size: usize) -> Result<Self, NoMemory> {
        let many = if size <= FEW { None } else { Some(Many::new(size)?) };
        Ok(Scratch { few: Few::empty(), many })
    }

    /// The start of the bytes. They move with the value.
    #[inline]
    pub fn start(&mut self) -> *mut u8 {
        match &self.many {
            None => self.few.start(),
            Some(many) => many.start(),
        }
    }
}
