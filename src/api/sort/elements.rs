//! The elements of a sort: of a size known at compile time, of any other size, or pointers to the
//! values that are compared.

use crate::sys::memory;
use crate::sys::memory::copy_few;
use std::ffi::c_void;
use std::ptr;

/// A type of elements, which may lie at any address.
pub(super) trait Elements: Copy {
    fn size(self) -> usize;

    /// Copies one element.
    ///
    /// # Safety
    /// The source may be read, the target may be written, and they do not overlap.
    #[inline(always)]
    unsafe fn copy(self, from: *const u8, to: *mut u8) {
        // SAFETY: both places have `size` bytes and do not overlap.
        unsafe { ptr::copy_nonoverlapping(from, to, self.size()) }
    }

    /// The pointer that the comparison gets for the element at a place.
    ///
    /// # Safety
    /// There is an element at the place.
    #[inline(always)]
    unsafe fn compared(self, at: *const u8) -> *const c_void {
        at.cast()
    }

    /// Prefetches the value of the element at a place, if the element is a pointer.
    ///
    /// # Safety
    /// There is an element at the place.
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
        // SAFETY: both places have `size` bytes. All parts lie within them; the parts of one
        // element may overlap each other.
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

/// Pointers, which are sorted by the values that they point to.
#[derive(Clone, Copy)]
pub(super) struct Pointers;

impl Elements for Pointers {
    #[inline(always)]
    fn size(self) -> usize {
        size_of::<*const c_void>()
    }

    #[inline(always)]
    unsafe fn compared(self, at: *const u8) -> *const c_void {
        // SAFETY: there is an element at the place, and arrays of pointers are aligned.
        unsafe { at.cast::<*const c_void>().read() }
    }

    #[inline(always)]
    unsafe fn announce(self, at: impl FnOnce() -> *const u8) {
        // SAFETY: there is an element at the place.
        memory::prefetch(unsafe { self.compared(at()) }.cast());
    }
}
