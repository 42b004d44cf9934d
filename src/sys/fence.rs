//! An asymmetric fence: free for the frequent side, dear for the rare one.
//!
//! Two threads that each write one word and then read the other's (Dekker's pattern) need
//! a full fence each, or both may read the old values. Where one side runs a million
//! times for each run of the other, Linux lets the rare side pay for both:
//! `membarrier(PRIVATE_EXPEDITED)` makes every running thread of the process execute a
//! full fence. So
//!
//! ```text
//! frequent:  write A; light(); read B        light = nothing but a compiler fence
//! rare:      write B; heavy(); read A        heavy = membarrier
//! ```
//!
//! and at least one of them reads the other's write: at the moment of the barrier, the
//! frequent thread either has its write behind it (then `heavy` makes it visible) or has
//! its read before it (then the read finds B). The idea is the membarrier of M. Desnoyers
//! (Linux 4.14, 2017); D. Dice and others used it before through page protection (2001).
//!
//! Where the kernel or a seccomp filter refuses it, `light` is a real fence, chosen once
//! per process. The two lie outside the memory models of C11 and Rust; under loom both
//! are full fences.

use crate::sys::atomic::{Ordering, fence};

#[cfg(not(loom))]
pub use real::{heavy, is_free, light, prepare};

#[cfg(not(loom))]
mod real {
    use crate::sys::atomic::{AtomicU32, Ordering, fence};

    /// membarrier is not registered yet, or not to be had: `light` is a real fence.
    const FENCED: u32 = 0;
    /// It works: `light` is free.
    const ASYMMETRIC: u32 = 1;
    /// It worked and no longer does: `light` is a real fence again, but some thread may be in
    /// the middle of a free one, so `heavy` vouches for nothing any more.
    const BROKEN: u32 = 2;

    /// Settled before the threads of a run start (`prepare`). BROKEN comes later: a thread that has
    /// not seen it yet is one in the middle of a free fence.
    static MODE: AtomicU32 = AtomicU32::new(FENCED);

    const REGISTER_PRIVATE_EXPEDITED: i32 = 1 << 4;
    const PRIVATE_EXPEDITED: i32 = 1 << 3;

    fn membarrier(command: i32) -> bool {
        // SAFETY: the call takes no pointer.
        unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
    }

    /// Registers the process with the kernel; called before the threads of a run start. Two
    /// threads may do it at once, and a fork may come in between: each step is complete in
    /// itself.
    pub fn prepare() {
        static TRIED: AtomicU32 = AtomicU32::new(0);
        // Acquire: pairs with the Release below, so that no run starts with a mode that is about to
        // change: its `heavy` would trust in real fences that its frequent side makes no more.
        if TRIED.load(Ordering::Acquire) == 0 {
            if membarrier(REGISTER_PRIVATE_EXPEDITED) {
                let (from, to) = (FENCED, ASYMMETRIC);
                let _ = MODE.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed);
            }
            TRIED.store(1, Ordering::Release);
        }
    }

    /// True if `light` is free.
    #[inline(always)]
    pub fn is_free() -> bool {
        MODE.load(Ordering::Relaxed) == ASYMMETRIC
    }

    /// The frequent side's half.
    #[inline(always)]
    pub fn light() {
        if is_free() {
            super::light_for::<false>();
        } else {
            super::light_for::<true>();
        }
    }

    /// The rare side's half. False if it could not be had, which happens when membarrier is
    /// forbidden after the first run has started: then the caller must not wait for the
    /// frequent side without a limit of time.
    pub fn heavy() -> bool {
        fence(Ordering::SeqCst);
        match MODE.load(Ordering::Relaxed) {
            FENCED => true,
            ASYMMETRIC if membarrier(PRIVATE_EXPEDITED) => true,
            // A child of fork inherits the registration, but kernels may differ: once more.
            ASYMMETRIC
                if membarrier(REGISTER_PRIVATE_EXPEDITED) && membarrier(PRIVATE_EXPEDITED) =>
            {
                true
            }
            _ => {
                MODE.store(BROKEN, Ordering::SeqCst);
                false
            }
        }
    }
}

/// [`light`] where the mode is known when the code is compiled: a real fence if `FENCED`.
/// It pairs with [`heavy`], and with [`heavy_for`] of the same mode.
#[inline(always)]
pub fn light_for<const FENCED: bool>() {
    #[cfg(loom)]
    light();
    #[cfg(not(loom))]
    if FENCED {
        fence(Ordering::SeqCst);
    } else {
        std::sync::atomic::compiler_fence(Ordering::SeqCst);
    }
}

/// [`heavy`] for a frequent side whose mode is known: with real fences there, it cannot fail.
pub fn heavy_for<const FENCED: bool>() -> bool {
    if FENCED {
        fence(Ordering::SeqCst);
        return true;
    }
    heavy()
}

/// Loom changes threads before an access, not before a fence: without this one, a store and the
/// fence behind it would be a single step.
#[cfg(loom)]
fn turn() {
    loom::lazy_static! {
        static ref TURN: crate::sys::atomic::AtomicU32 = crate::sys::atomic::AtomicU32::new(0);
    }
    TURN.fetch_add(1, Ordering::Relaxed);
}

#[cfg(loom)]
pub fn light() {
    turn();
    fence(Ordering::SeqCst);
}

#[cfg(loom)]
pub fn heavy() -> bool {
    turn();
    fence(Ordering::SeqCst);
    true
}
