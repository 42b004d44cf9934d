//! Reads memory of this process that may be gone: the kernel reads it for us, and returns an error
//! where a load would raise SIGSEGV.

use crate::sys::atomic::statics::{AtomicBool, Ordering};
use crate::sys::errno;
use std::mem::MaybeUninit;

/// Set once: the system refuses the call, or no memory will be freed any more.
#[unsafe(link_section = "sched_words")]
static DIRECTLY: AtomicBool = AtomicBool::new(false);

/// From now on memory is read without the system's help. Called when no other thread will run
/// again, so that every object to which a waiting task refers still exists.
pub fn read_directly() {
    DIRECTLY.store(true, Ordering::Relaxed);
}

/// Copies `bytes` bytes. False if not all of them can be read, or the system refuses the call.
///
/// # Safety
/// `to` may be written.
pub unsafe fn copy(from: usize, to: *mut u8, bytes: usize) -> bool {
    if DIRECTLY.load(Ordering::Relaxed) {
        let from = std::ptr::with_exposed_provenance::<u8>(from);
        // SAFETY: the caller of `read_directly` has promised that what is read exists; the two
        // ranges do not overlap, since nobody reads what it writes here.
        unsafe { std::ptr::copy_nonoverlapping(from, to, bytes) };
        return true;
    }
    let (saved, mut done) = (errno::get(), 0);
    while done < bytes {
        let local = libc::iovec { iov_base: to.wrapping_add(done).cast(), iov_len: bytes - done };
        let remote = libc::iovec {
            iov_base: std::ptr::with_exposed_provenance_mut(from + done),
            iov_len: bytes - done,
        };
        // SAFETY: `to` may be written; the kernel checks the other range.
        let n = unsafe {
            libc::process_vm_readv(libc::gettid(), &raw const local, 1, &raw const remote, 1, 0)
        };
        match usize::try_from(n) {
            Ok(n) if n > 0 => done += n,
            _ => break,
        }
    }
    errno::set(errno::Errno(saved));
    done == bytes
}

/// A value whose memory may be gone. None means that it is gone, or the system refuses the call.
///
/// # Safety
/// Any bytes are a valid `T`.
pub unsafe fn read<T: Copy>(from: usize) -> Option<T> {
    let mut value = MaybeUninit::<T>::uninit();
    // SAFETY: the complete `T` fits in the place, and any bytes are valid.
    unsafe { copy(from, value.as_mut_ptr().cast(), size_of::<T>()).then(|| value.assume_init()) }
}

/// A word whose memory may be gone.
pub fn word(from: usize) -> Option<usize> {
    // SAFETY: any bytes are a number.
    unsafe { read(from) }
}
