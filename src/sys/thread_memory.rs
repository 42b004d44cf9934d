//! Memory for the library's threads, under valgrind's DRD.
//!
//! Normally the C library gives a thread its memory: the stack, and above it the record to which
//! the thread's id points. It keeps the memory of joined threads, and gives it to new ones.
//!
//! DRD's pthread_join first calls the C library's, and then tells DRD the id of the joined thread.
//! In between, other threads run. If one of them creates a thread, the new thread may get the
//! memory of the joined one, and so its id. Then DRD takes the new thread for the joined one,
//! forgets it, and ends the process when the new thread continues: "Assertion 'drd_tid !=
//! DRD_INVALID_THREADID' failed".
//!
//! So under DRD the library maps memory for each of its threads, and unmaps it after the join, when
//! DRD knows of the join. Until then no other thread can have the same id. If a task has detached
//! the thread, nobody joins it, and its memory stays mapped.
//!
//! Rejected: a lock that threads take to create or to join a thread. The program would have to take
//! it, and a join under it would wait forever if the joined thread must first create another.

use crate::sys::detector;
use crate::sys::memory::{self, NoMemory, page_size};
use std::ffi::c_void;
use std::ptr;

/// The memory of a thread: a page that may not be accessed, and above it the stack.
pub struct ThreadMemory {
    low: *mut c_void,
    bytes: usize,
}

impl ThreadMemory {
    /// Memory with a stack of `stack` bytes for a thread that is created with these attributes.
    /// None means that the C library gives the thread its memory.
    pub fn give(
        attributes: &mut libc::pthread_attr_t,
        stack: usize,
    ) -> Result<Option<ThreadMemory>, NoMemory> {
        if detector::may_be_present() { Self::give_for_drd(attributes, stack) } else { Ok(None) }
    }

    #[cold]
    fn give_for_drd(
        attributes: &mut libc::pthread_attr_t,
        stack: usize,
    ) -> Result<Option<ThreadMemory>, NoMemory> {
        if !detector::is_drd() {
            return Ok(None);
        }
        let page = page_size();
        let stack = stack.checked_next_multiple_of(page).ok_or(NoMemory)?;
        let bytes = stack.checked_add(page).ok_or(NoMemory)?;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let low = memory::map(bytes, access, libc::MAP_STACK)?.cast();
        let memory = ThreadMemory { low, bytes };
        // SAFETY: the page is the lowest one of our own mapping, and the stack all of the rest; the
        // attributes are initialised.
        let refused = unsafe {
            libc::mprotect(low, page, libc::PROT_NONE) != 0
                || libc::pthread_attr_setstack(attributes, low.byte_add(page), stack) != 0
        };
        if refused {
            // SAFETY: no thread has the memory.
            unsafe { memory.unmap() };
            return Err(NoMemory);
        }
        Ok(Some(memory))
    }

    /// The memory that was given to this thread.
    ///
    /// # Safety
    /// `id` names a thread of the library that was not joined.
    pub unsafe fn of(id: libc::pthread_t) -> Option<ThreadMemory> {
        // SAFETY: `id` is a thread of the library that is not joined yet.
        if detector::may_be_present() { unsafe { Self::of_for_drd(id) } } else { None }
    }

    /// # Safety
    /// `id` names a thread of the library that was not joined.
    #[cold]
    unsafe fn of_for_drd(id: libc::pthread_t) -> Option<ThreadMemory> {
        if !detector::is_drd() {
            return None;
        }
        let (mut stack, mut bytes) = (ptr::null_mut(), 0);
        // SAFETY: all zero is a valid value; the places are valid; the thread is not joined yet;
        // the attributes are destroyed if they were made.
        unsafe {
            let mut attributes = std::mem::zeroed();
            if libc::pthread_getattr_np(id, &raw mut attributes) != 0 {
                return None;
            }
            libc::pthread_attr_getstack(&raw const attributes, &raw mut stack, &raw mut bytes);
            libc::pthread_attr_destroy(&raw mut attributes);
        }
        let page = page_size();
        Some(ThreadMemory { low: stack.wrapping_byte_sub(page), bytes: bytes + page })
    }

    /// # Safety
    /// No thread has the memory: none was created, or it was joined.
    pub unsafe fn unmap(self) {
        // SAFETY: the mapping is the library's, and nobody uses it.
        unsafe { libc::munmap(self.low, self.bytes) };
    }
}
