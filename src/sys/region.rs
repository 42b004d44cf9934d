//! A block of memory for `T`s that grows without being copied: past a quarter of a megabyte
//! its pages are mapped, and the kernel moves them (mremap), not their contents. Fresh ones
//! cost no memory until they are touched, and all go back to the system when it is dropped. Past
//! some megabytes it asks for huge pages, aligned as those must be: the faults of small ones took
//! more than half of the time of a flood of spawns.

use crate::sys::memory::NoMemory;

#[cfg(not(loom))]
pub use real::Block;

#[cfg(not(loom))]
mod real {
    use super::NoMemory;
    use std::alloc::Layout;
    use std::marker::PhantomData;
    use std::ptr::{self, NonNull};

    /// Blocks of this many bytes and more are mapped; smaller ones are the allocator's.
    const MAPPED: usize = 256 * 1024;

    /// What a huge page is, on x86-64 and, with pages of 4 KiB, on aarch64.
    const HUGE: usize = 2 << 20;
    /// Blocks of this many bytes and more ask for huge pages: at most one of them is for nothing.
    const HUGE_FROM: usize = 4 * HUGE;

    /// Room for `len` values of `T`.
    pub struct Block<T> {
        start: NonNull<T>,
        len: usize,
        own: PhantomData<T>,
    }

    // SAFETY: the block owns its values, as a boxed slice does.
    unsafe impl<T: Send> Send for Block<T> {}
    // SAFETY: as above.
    unsafe impl<T: Sync> Sync for Block<T> {}

    impl<T> Block<T> {
        /// # Safety
        /// Any bytes must be a valid `T`, which has a size and nothing to drop.
        pub unsafe fn new(len: usize) -> Result<Self, NoMemory> {
            let layout = Self::layout(len)?;
            let start = if layout.size() >= MAPPED {
                pages(layout.size())?
            } else {
                // SAFETY: the layout has a size.
                unsafe { std::alloc::alloc(layout) }
            };
            let start = NonNull::new(start.cast()).ok_or(NoMemory)?;
            Ok(Block { start, len, own: PhantomData })
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

        /// Makes it `len` values long. It may move; on failure nothing has changed.
        pub fn grow(&mut self, len: usize) -> Result<(), NoMemory> {
            assert!(len >= self.len);
            let (old, new) = (Self::layout(self.len)?, Self::layout(len)?);
            if old.size() < MAPPED {
                // SAFETY: `new` was allowed for this type.
                let fresh = unsafe { Self::new(len) }?;
                // SAFETY: both hold `self.len` values, and are different blocks.
                unsafe { ptr::copy_nonoverlapping(self.start(), fresh.start(), self.len) };
                *self = fresh;
                return Ok(());
            }
            // SAFETY: the whole of a mapping of ours, which nothing else refers to.
            let at = unsafe { move_pages(self.start().cast(), old.size(), new.size()) }?;
            self.start = NonNull::new(at.cast()).ok_or(NoMemory)?;
            self.len = len;
            Ok(())
        }
    }

    fn map(size: usize, access: i32) -> Result<*mut u8, NoMemory> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new mapping at no fixed address.
        let at = unsafe { libc::mmap(ptr::null_mut(), size, access, flags, -1, 0) };
        if at == libc::MAP_FAILED { Err(NoMemory) } else { Ok(at.cast()) }
    }

    /// New pages, `size` bytes.
    fn pages(size: usize) -> Result<*mut u8, NoMemory> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        if size < HUGE_FROM {
            return map(size, access);
        }
        // SAFETY: a mapping that nobody uses yet.
        Ok(unsafe { aligned(map(size + HUGE, access)?, size) })
    }

    /// Cuts a mapping of `size` + `HUGE` bytes down to `size` that huge pages can hold, and asks for
    /// them.
    ///
    /// # Safety
    /// The whole of a mapping; only the part that is returned is used afterwards.
    unsafe fn aligned(mapping: *mut u8, size: usize) -> *mut u8 {
        let before = mapping.align_offset(HUGE);
        let at = mapping.wrapping_add(before);
        // SAFETY: by the caller's promise.
        unsafe {
            unmap(mapping, before);
            // munmap wants whole pages; the end of the mapping was rounded up in the same way.
            unmap(at.wrapping_add(size.next_multiple_of(page())), HUGE - before);
            libc::madvise(at.cast(), size, libc::MADV_HUGEPAGE); // it may be refused
        }
        at
    }

    /// Makes the `old` bytes of pages at `from` `new` bytes long, at another address perhaps.
    ///
    /// # Safety
    /// They are the whole of a mapping.
    unsafe fn move_pages(from: *mut u8, old: usize, new: usize) -> Result<*mut u8, NoMemory> {
        if new >= HUGE_FROM
            && let Ok(reserved) = map(new + HUGE, libc::PROT_NONE)
        {
            // SAFETY: just made, and nobody else's; the pages are moved into it.
            unsafe {
                let to = aligned(reserved, new);
                let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
                let at = libc::mremap(from.cast(), old, new, flags, to.cast::<libc::c_void>());
                if at != libc::MAP_FAILED {
                    libc::madvise(at, new, libc::MADV_HUGEPAGE); // it may be refused
                    return Ok(to);
                }
                // Not unmapped: the kernel may have done so before it failed, and another thread may
                // have been given the place since.
            }
        }
        // SAFETY: by the caller's promise.
        let at = unsafe { libc::mremap(from.cast(), old, new, libc::MREMAP_MAYMOVE) };
        if at == libc::MAP_FAILED { Err(NoMemory) } else { Ok(at.cast()) }
    }

    fn page() -> usize {
        // SAFETY: no pointers.
        usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
    }

    /// # Safety
    /// Pages of ours, or none.
    unsafe fn unmap(at: *mut u8, size: usize) {
        if size > 0 {
            // SAFETY: by the caller's promise.
            let result = unsafe { libc::munmap(at.cast(), size) };
            debug_assert_eq!(result, 0);
        }
    }

    impl<T> Drop for Block<T> {
        fn drop(&mut self) {
            let Ok(layout) = Self::layout(self.len) else { return };
            // SAFETY: made by `new` or `grow` in this way, and dropped once.
            unsafe {
                if layout.size() >= MAPPED {
                    libc::munmap(self.start().cast(), layout.size());
                } else {
                    std::alloc::dealloc(self.start().cast(), layout);
                }
            }
        }
    }
}

/// The model's block: its values are loom's, which cannot be made of zeroes. Growing moves them to
/// lower addresses and leaves fresh ones behind; the second time it is refused, or soon after.
#[cfg(loom)]
pub struct Block<T> {
    /// Values from `start` on, `len` of them the block's.
    memory: Box<[std::mem::MaybeUninit<T>]>,
    start: usize,
    len: usize,
}

#[cfg(loom)]
impl<T: Default> Block<T> {
    /// # Safety
    /// None needed here: see the real one.
    pub unsafe fn new(len: usize) -> Result<Self, NoMemory> {
        let memory = Box::new_uninit_slice(3 * len);
        let mut block = Block { start: memory.len(), memory, len: 0 };
        block.grow(len)?;
        Ok(block)
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
                // SAFETY: below `len`.
                std::mem::take(unsafe { self.memory[self.start + i].assume_init_mut() })
            } else {
                T::default()
            };
            self.memory[new + i].write(value);
        }
        (self.start, self.len) = (new, len);
        Ok(())
    }
}

#[cfg(loom)]
impl<T> Drop for Block<T> {
    fn drop(&mut self) {
        for value in &mut self.memory[self.start..] {
            // SAFETY: all from `start` on are values.
            unsafe { value.assume_init_drop() };
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::Block;
    use std::mem::MaybeUninit;

    #[test]
    fn grows_from_heap_to_map_and_on() {
        // SAFETY: any bytes are one.
        let mut block: Block<MaybeUninit<usize>> = unsafe { Block::new(10) }.unwrap();
        let mut filled = 0;
        for len in [100, 40_000, 100_000, 5_000_000] {
            block.grow(len).unwrap();
            assert_eq!(block.count(), len);
            // SAFETY: the block has `len` values, and nobody else uses it.
            let values = unsafe { std::slice::from_raw_parts_mut(block.start(), len) };
            // SAFETY: written by the round before.
            let kept =
                values[..filled].iter().enumerate().all(|(i, v)| unsafe { v.assume_init() } == i);
            assert!(kept);
            filled = len;
            values.iter_mut().enumerate().for_each(|(i, v)| _ = v.write(i));
        }
        assert!(block.grow(usize::MAX / 64).is_err());
        assert_eq!(block.count(), 5_000_000);
    }
}
