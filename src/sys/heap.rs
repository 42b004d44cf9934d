//! The library's allocator: the allocator of the C library. It tells a race detector that sees the
//! library's own code that the memory is the library's.

use crate::sys::detector;
use std::alloc::{GlobalAlloc, Layout, System};

struct Heap;

#[global_allocator]
static HEAP: Heap = Heap;

fn owned(place: *mut u8, bytes: usize) -> *mut u8 {
    if detector::may_be_present() && !place.is_null() {
        detector::own_bytes(place.addr(), bytes);
    }
    place
}

// SAFETY: each function calls that of `System` with the same arguments.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the layout has a size that is not zero.
        owned(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the layout has a size that is not zero.
        owned(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: the place comes from this allocator, with this layout; `bytes` is not zero.
        owned(unsafe { System.realloc(place, layout, bytes) }, bytes)
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: the place comes from this allocator, with this layout.
        unsafe { System.dealloc(place, layout) };
    }
}
