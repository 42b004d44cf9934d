//! What a sort knows of its elements: their size, when it is compiled, or only when it runs; or that they
//! are pointers to what is compared.

use crate::sys::memory;
use crate::sys::memory::copy_few;
use std::ffi::c_void;
use std::ptr;

/// What is known of the elements. They may lie at any address.
pub(super) trait Elements: Copy {
    fn size(self) -> usize;

    /// Copies one.
    ///
    /// # Safety
    /// As for a copy of two places that do not overlap.
    #[inline(always)]
    unsafe fn copy(self, from: *const u8, to: *mut u8) {
        // SAFETY: passed on.
        unsafe { ptr::copy_nonoverlapping(from, to, self.size()) }
    }

    /// What the comparison gets for the element at a place.
    ///
    /// # Safety
    /// There is one.
    #[inline(always)]
    unsafe fn compared(self, at: *const u8) -> *const c_void {
        at.cast()
    }

    /// The element at a place will be compared soon: for those that are elsewhere.
    ///
    /// # Safety
    /// There is one.
    #[inline(always)]
    unsafe fn announce(self, _at: impl FnOnce() -> *const u8) {}
}

#[derive(Clone, Copy)]
pub(super) struct Fixed<const SIZE: usize>;

impl<const SIZE: usize> Elements for Fixed<SIZE> {
    #[inline(always)]
    fn size(self) -> usize {
        SIZE
    }
}

#[derive(Clone, Copy)]
pub(super) struct Any(pub usize);

impl Elements for Any {
    #[inline(always)]
    fn size(self) -> usize {
        self.0
    }

    #[inline(always)]
    unsafe fn copy(self, from: *const u8, to: *mut u8) {
        // SAFETY: passed on; all parts are within the bytes, and may overlap.
        unsafe {
            match self.0 {
                0..4 => {
                    for i in [0, self.0 / 2, self.0 - 1] {
                        *to.add(i) = *from.add(i);
                    }
                }
                4..8 => {
                    for i in [0, self.0 - 4] {
                        let word = from.add(i).cast::<u32>().read_unaligned();
                        to.add(i).cast::<u32>().write_unaligned(word);
                    }
                }
                size => copy_few(from, to, size),
            }
        }
    }
}

/// Pointers, sorted by what they point to.
#[derive(Clone, Copy)]
pub(super) struct Pointers;

impl Elements for Pointers {
    #[inline(always)]
    fn size(self) -> usize {
        size_of::<*const c_void>()
    }

    #[inline(always)]
    unsafe fn compared(self, at: *const u8) -> *const c_void {
        // SAFETY: by the caller's promise; arrays of them are aligned.
        unsafe { at.cast::<*const c_void>().read() }
    }

    #[inline(always)]
    unsafe fn announce(self, at: impl FnOnce() -> *const u8) {
        // SAFETY: passed on.
        memory::prefetch(unsafe { self.compared(at()) }.cast());
    }
}
