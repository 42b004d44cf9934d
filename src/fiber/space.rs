//! Address space for stacks: pages that are committed when they are touched, above a guard.
//!
//! On Linux 6.13 and later MADV_GUARD_INSTALL makes the guard, and neighbouring stacks share one
//! mapping of the kernel's; a process may have some 65,000 mappings. On older kernels mprotect
//! makes the guard, which costs two mappings per stack.
//!
//! # Where new mappings are locked
//!
//! After mlockall(MCL_FUTURE) the kernel makes a new mapping resident at once: 8 MiB for each
//! stack. The program wants to avoid page faults that read from a disk; it does not want memory
//! that nobody touches. So such a stack is first mapped without access, which commits no pages;
//! then locked on fault (MLOCK_ONFAULT); then made accessible. A new mapping that is resident
//! before it was touched shows that new mappings are locked.

use crate::fiber::limit;
use crate::sys::atomic::{AtomicBool, Ordering};
use crate::sys::memory::{self, NoMemory, page_size};

/// Since Linux 6.13.
const MADV_GUARD_INSTALL: i32 = 102;
const MLOCK_ONFAULT: i32 = 1; // since Linux 4.4

const OPEN: i32 = libc::PROT_READ | libc::PROT_WRITE;

/// True if the last mapping was locked. Relaxed: only a hint.
#[unsafe(link_section = "sched_words")]
static LOCKED: AtomicBool = AtomicBool::new(false);

/// Maps `bytes` bytes with a guard in the lowest `guard` bytes; both are whole pages.
pub fn map(bytes: usize, guard: usize) -> Result<*mut u8, NoMemory> {
    let locked = LOCKED.load(Ordering::Relaxed) && {
        let probe = memory::map(page_size(), OPEN, libc::MAP_STACK)?;
        let locked = is_resident(probe);
        // SAFETY: the mapping is our own, and nobody uses it.
        unsafe { unmap(probe, page_size()) };
        LOCKED.store(locked, Ordering::Relaxed);
        locked
    };
    let low = if locked { map_on_fault(bytes) } else { map_unlocked(bytes) }?;
    // SAFETY: the guard is the first pages of our own mapping.
    if unsafe { libc::madvise(low.cast(), guard, MADV_GUARD_INSTALL) } != 0 {
        limit::guards_are_mappings();
        // SAFETY: the guard is the first pages of our own mapping.
        if unsafe { libc::mprotect(low.cast(), guard, libc::PROT_NONE) } != 0 {
            // SAFETY: the mapping is our own and not used yet.
            unsafe { unmap(low, bytes) };
            return Err(NoMemory);
        }
    }
    Ok(low)
}

fn map_unlocked(bytes: usize) -> Result<*mut u8, NoMemory> {
    let low = memory::map(bytes, OPEN, libc::MAP_STACK)?;
    if is_resident(low) {
        LOCKED.store(true, Ordering::Relaxed);
        // SAFETY: the mapping is our own and not used yet.
        unsafe { unmap(low, bytes) };
        return map_on_fault(bytes);
    }
    Ok(low)
}

fn map_on_fault(bytes: usize) -> Result<*mut u8, NoMemory> {
    let low = memory::map(bytes, libc::PROT_NONE, libc::MAP_STACK)?;
    // SAFETY: the mapping is our own. If mlock2 is refused, the mapping is unlocked, and its pages
    // are also committed when they are touched.
    unsafe {
        if libc::syscall(libc::SYS_mlock2, low, bytes, MLOCK_ONFAULT) != 0 {
            libc::munlock(low.cast(), bytes);
        }
        if libc::mprotect(low.cast(), bytes, OPEN) != 0 {
            unmap(low, bytes);
            return Err(NoMemory);
        }
    }
    Ok(low)
}

/// True if the page at this address has memory.
fn is_resident(at: *mut u8) -> bool {
    let mut state = 0;
    // SAFETY: the page is our own, and `state` has room for its state.
    unsafe { libc::mincore(at.cast(), page_size(), &raw mut state) == 0 && state & 1 != 0 }
}

/// # Safety
/// The range consists of whole mappings of `map`, which nobody uses any more.
pub unsafe fn unmap(low: *mut u8, bytes: usize) {
    // SAFETY: the range consists of whole mappings, which nobody uses any more.
    unsafe { libc::munmap(low.cast(), bytes) };
}
