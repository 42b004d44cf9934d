//! A block of memory for `T`s that grows without copying its contents. Blocks of a quarter of a
//! megabyte or more consist of mapped pages, which the kernel moves (mremap). Fresh pages cost no
//! memory until they are touched, and all pages return to the system when the block is dropped. A
//! block of some megabytes or more is aligned for huge pages and asks for them, because the page
//! faults of small pages took more than half of the time of a flood of spawns.

use crate::sys::detector;
use crate::sys::memory::{self, NoMemory, page_size};
use std::alloc::Layout;
use std::marker::PhantomData;
use std::mem;
use std::ptr::{self, NonNull};

/// Blocks of at least this many bytes are mapped; smaller ones come from the allocator.
const MAPPED: usize = memory::LONG;

/// The size of a huge page on x86-64 and, with pages of 4 KiB, on aarch64.
const HUGE: usize = 2 << 20;
/// Blocks of at least this many bytes ask for huge pages, since each may waste most of one.
const HUGE_FROM: usize = 4 * HUGE;

/// Room for `len` values of `T`.
pub struct Block<T> {
    start: NonNull<T>,
    len: usize,
    values: PhantomData<T>,
}

// SAFETY: the block owns its values, as a boxed slice does.
unsafe impl<T: Send> Send for Block<T> {}
// SAFETY: the block owns its values, as a boxed slice does.
unsafe impl<T: Sync> Sync for Block<T> {}

impl<T> Block<T> {
    /// # Safety
    /// Any bytes must be a valid `T`; `T` has a size and nothing to drop.
    pub unsafe fn new(len: usize) -> Result<Self, NoMemory> {
        // SAFETY: the layout's size is not zero.
        Self::with(len, HUGE_FROM, |layout| unsafe { std::alloc::alloc(layout) })
    }

    /// A block of zero bytes, all of which will soon be used.
    ///
    /// # Safety
    /// The contract of `new`.
    pub unsafe fn zeroed(len: usize) -> Result<Self, NoMemory> {
        // SAFETY: the layout's size is not zero. New pages are zero.
        Self::with(len, HUGE, |layout| unsafe { std::alloc::alloc_zeroed(layout) })
    }

    /// `huge_from` is the least number of bytes that ask for huge pages.
    fn with(
        len: usize,
        huge_from: usize,
        small: impl FnOnce(Layout) -> *mut u8,
    ) -> Result<Self, NoMemory> {
        let layout = Self::layout(len)?;
        let start = if layout.size() >= MAPPED {
            let pages = pages(layout.size(), huge_from)?;
            detector::own_bytes(pages.addr(), layout.size());
            pages
        } else {
            small(layout)
        };
        let start = NonNull::new(start.cast()).ok_or(NoMemory)?;
        Ok(Block { start, len, values: PhantomData })
    }

    fn layout(len: usize) -> Result<Layout, NoMemory> {
        let layout = Layout::array::<T>(len).map_err(|_| NoMemory)?;
        assert!(layout.size() > 0);
        Ok(layout)
    }

    pub fn start(&self) -> *mut T {
        self.start.as_ptr()
    }

    pub fn count(&self) -> usize {
        self.len
    }

    /// Grows the block to `len` values. The block may move; on failure nothing changes.
    pub fn grow(&mut self, len: usize) -> Result<(), NoMemory> {
        assert!(len >= self.len);
        let (old, new) = (Self::layout(self.len)?, Self::layout(len)?);
        if old.size() < MAPPED {
            // SAFETY: the caller of `new` has promised that any bytes are a valid `T`.
            let fresh = unsafe { Self::new(len) }?;
            // SAFETY: both blocks hold at least `self.len` values and do not overlap.
            unsafe { ptr::copy_nonoverlapping(self.start(), fresh.start(), self.len) };
            *self = fresh;
            return Ok(());
        }
        // SAFETY: the block is a whole mapping of ours, which nothing else refers to.
        let at = unsafe { move_pages(self.start().cast(), old.size(), new.size()) }?;
        detector::own_bytes(at.addr(), new.size());
        self.start = NonNull::new(at.cast()).ok_or(NoMemory)?;
        self.len = len;
        Ok(())
    }

    /// Replaces the memory by a new block of `len` values. Returns the old memory; on failure
    /// nothing changes.
    pub fn renew(&mut self, len: usize) -> Result<Block<T>, NoMemory> {
        // SAFETY: the caller of `new` has promised that any bytes are a valid `T`.
        Ok(mem::replace(self, unsafe { Self::new(len) }?))
    }
}

/// Maps `size` bytes of new pages.
fn pages(size: usize, huge_from: usize) -> Result<*mut u8, NoMemory> {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    if size < huge_from {
        return memory::map(size, access, 0);
    }
    // SAFETY: nobody uses the mapping yet.
    Ok(unsafe { align_mapping(memory::map(size + HUGE, access, 0)?, size) })
}

/// Cuts a mapping of `size` + `HUGE` bytes to `size` aligned bytes, and asks for huge pages.
///
/// # Safety
/// `mapping` is a whole mapping; afterwards only the returned part is used.
unsafe fn align_mapping(mapping: *mut u8, size: usize) -> *mut u8 {
    let before = mapping.align_offset(HUGE);
    let at = mapping.wrapping_add(before);
    // SAFETY: the cut parts are mapped and unused.
    unsafe {
        unmap(mapping, before);
        // munmap needs whole pages; mmap has rounded the end of the mapping up in the same way.
        unmap(at.wrapping_add(size.next_multiple_of(page_size())), HUGE - before);
        libc::madvise(at.cast(), size, libc::MADV_HUGEPAGE); // a refusal does no harm
    }
    at
}

/// Resizes a mapping from `old` to `new` bytes, perhaps at another address.
///
/// # Safety
/// The `old` bytes at `from` are a whole mapping.
unsafe fn move_pages(from: *mut u8, old: usize, new: usize) -> Result<*mut u8, NoMemory> {
    let reserved =
        if new >= HUGE_FROM { memory::map(new + HUGE, libc::PROT_NONE, 0).ok() } else { None };
    if let Some(reserved) = reserved {
        // SAFETY: the reserved mapping is new and ours alone; the pages are moved into it.
        unsafe {
            let to = align_mapping(reserved, new);
            let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
            let at = libc::mremap(from.cast(), old, new, flags, to.cast::<libc::c_void>());
            if at != libc::MAP_FAILED {
                libc::madvise(at, new, libc::MADV_HUGEPAGE); // a refusal does no harm
                return Ok(to);
            }
            // The reserved mapping is not unmapped here: the kernel may have unmapped it before
            // it failed, and another thread may have received the address since.
        }
    }
    // SAFETY: `from` is a whole mapping of `old` bytes.
    let at = unsafe { libc::mremap(from.cast(), old, new, libc::MREMAP_MAYMOVE) };
    if at == libc::MAP_FAILED { Err(NoMemory) } else { Ok(at.cast()) }
}

/// # Safety
/// The pages belong to a mapping of ours that nobody uses, or `size` is 0.
unsafe fn unmap(at: *mut u8, size: usize) {
    if size > 0 {
        // SAFETY: nobody uses the pages.
        let result = unsafe { libc::munmap(at.cast(), size) };
        debug_assert_eq!(result, 0);
    }
}

impl<T> Drop for Block<T> {
    fn drop(&mut self) {
        let Ok(layout) = Self::layout(self.len) else { return };
        // SAFETY: `new` or `grow` allocated the block in this way, and it is dropped once.
        unsafe {
            if layout.size() >= MAPPED {
                libc::munmap(self.start().cast(), layout.size());
            } else {
                std::alloc::dealloc(self.start().cast(), layout);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Block;
    use std::mem::MaybeUninit;

    #[test]
    fn grows_from_heap_to_map_and_on() {
        // SAFETY: any bytes are a valid MaybeUninit.
        let mut block: Block<MaybeUninit<usize>> = unsafe { Block::new(10) }.unwrap();
        let mut filled = 0;
        for len in [100, 40_000, 100_000, 5_000_000] {
            block.grow(len).unwrap();
            assert_eq!(block.count(), len);
            // SAFETY: the block has `len` values, and nobody else uses it.
            let values = unsafe { std::slice::from_raw_parts_mut(block.start(), len) };
            let kept = values[..filled].iter().enumerate().all(|(i, v)| {
                // SAFETY: the previous round wrote the first `filled` values.
                unsafe { v.assume_init() == i }
            });
            assert!(kept);
            filled = len;
            values.iter_mut().enumerate().for_each(|(i, v)| _ = v.write(i));
        }
        assert!(block.grow(usize::MAX / 64).is_err());
        assert_eq!(block.count(), 5_000_000);
    }
}
