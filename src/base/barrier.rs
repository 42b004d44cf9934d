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

#[cfg(not(loom))]
use super::sync::{AtomicBool, Ordering, fence};

/// True once membarrier is known to work: written before the first run starts, and once
/// more if it ever stops working.
#[cfg(not(loom))]
static ASYMMETRIC: AtomicBool = AtomicBool::new(false);

#[cfg(not(loom))]
const REGISTER_PRIVATE_EXPEDITED: i32 = 1 << 4;
#[cfg(not(loom))]
const PRIVATE_EXPEDITED: i32 = 1 << 3;

#[cfg(not(loom))]
fn membarrier(command: i32) -> bool {
    // SAFETY: the call takes no pointer.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}

/// Registers the process with the kernel; called before the threads of a run start.
#[cfg(not(loom))]
pub fn prepare() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        ASYMMETRIC.store(membarrier(REGISTER_PRIVATE_EXPEDITED), Ordering::Relaxed);
    });
}

/// The frequent side's half.
#[cfg(not(loom))]
#[inline(always)]
pub fn light() {
    if ASYMMETRIC.load(Ordering::Relaxed) {
        std::sync::atomic::compiler_fence(Ordering::SeqCst);
    } else {
        fence(Ordering::SeqCst);
    }
}

/// The rare side's half. False if it could not be had, which happens when membarrier is
/// forbidden after the first run has started: a frequent side may just then be between its
/// two steps without a fence, so the caller must not wait for it without a limit of time.
#[cfg(not(loom))]
pub fn heavy() -> bool {
    fence(Ordering::SeqCst);
    if !ASYMMETRIC.load(Ordering::Relaxed) || membarrier(PRIVATE_EXPEDITED) {
        return true;
    }
    if membarrier(REGISTER_PRIVATE_EXPEDITED) && membarrier(PRIVATE_EXPEDITED) {
        return true;
    }
    ASYMMETRIC.store(false, Ordering::SeqCst);
    false
}

#[cfg(loom)]
pub fn light() {
    loom::sync::atomic::fence(loom::sync::atomic::Ordering::SeqCst);
}

#[cfg(loom)]
pub fn heavy() -> bool {
    loom::sync::atomic::fence(loom::sync::atomic::Ordering::SeqCst);
    true
}
