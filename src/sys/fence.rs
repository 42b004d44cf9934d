//! An asymmetric fence: free for the frequent side, expensive for the rare side.
//!
//! Two threads that each write one word and then read the other's word (Dekker's pattern) need a
//! full fence each; without the fences both may read the old values. Where one side runs a million
//! times for each run of the other, Linux lets the rare side pay for both:
//! `membarrier(PRIVATE_EXPEDITED)` makes every running thread of the process execute a full fence.
//! So
//!
//! ```text
//! frequent:  write A; light(); read B        light = only a compiler fence
//! rare:      write B; heavy(); read A        heavy = membarrier
//! ```
//!
//! and at least one side reads the other's write. Proof: at the moment of the barrier the frequent
//! thread either has already done its write, and `heavy` makes that write visible; or it has not
//! yet done its read, and the read finds B. The idea is the membarrier of M. Desnoyers (Linux 4.14,
//! 2017); D. Dice and others got the same effect from page protection (2001).
//!
//! Where the kernel or a seccomp filter refuses membarrier, `light` is a real fence. This is
//! decided once per process. Membarrier lies outside the memory models of C11 and Rust; in the
//! models (`sys/model/fence.rs`) both sides are full fences.

use crate::sys::atomic::{AtomicU32, Ordering, fence};
use std::sync::atomic::compiler_fence;

/// membarrier is not registered yet, or not available: `light` is a real fence.
const FENCED: u32 = 0;
/// membarrier works: `light` is free.
const ASYMMETRIC: u32 = 1;
/// membarrier worked and no longer does. `light` is a real fence again, but some thread may be
/// in the middle of a free `light`, so `heavy` guarantees nothing from now on.
const BROKEN: u32 = 2;

/// `prepare` sets the mode before the threads of a run start. Only BROKEN may come later; a
/// thread that has not seen BROKEN yet counts as one in the middle of a free `light`.
#[unsafe(link_section = "sched_words")]
static MODE: AtomicU32 = AtomicU32::new(FENCED);

const REGISTER_PRIVATE_EXPEDITED: i32 = 1 << 4;
const PRIVATE_EXPEDITED: i32 = 1 << 3;

fn membarrier(command: i32) -> bool {
    // SAFETY: the call takes no pointer.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}

/// Registers the process with the kernel. Called before the threads of a run start. Two threads
/// may call this at once, and a fork may come in between: each step is complete in itself.
pub fn prepare() {
    #[unsafe(link_section = "sched_words")]
    static TRIED: AtomicU32 = AtomicU32::new(0);
    // Acquire: pairs with the Release store of TRIED below, so that no run starts with a mode
    // that is about to change. Otherwise the run's `heavy` would rely on real fences that its
    // frequent side no longer executes.
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

/// The frequent side's half of the fence.
#[inline(always)]
pub fn light() {
    if is_free() {
        Asymmetric::light();
    } else {
        Fenced::light();
    }
}

/// The rare side's half of the fence. False if membarrier fails because it was forbidden after
/// the first run had started. Then the caller must not wait without a time limit.
pub fn heavy() -> bool {
    fence(Ordering::SeqCst);
    match MODE.load(Ordering::Relaxed) {
        FENCED => true,
        ASYMMETRIC if membarrier(PRIVATE_EXPEDITED) => true,
        // A child of fork inherits the registration, but kernels may differ: register again.
        ASYMMETRIC if membarrier(REGISTER_PRIVATE_EXPEDITED) && membarrier(PRIVATE_EXPEDITED) => {
            true
        }
        _ => {
            MODE.store(BROKEN, Ordering::SeqCst);
            false
        }
    }
}

/// The two halves of a fence whose mode is known at compile time.
pub trait Mode: Send + Sync + 'static {
    /// True if [`Mode::light`] is free.
    const IS_FREE: bool;

    /// [`light`] in this mode. It pairs with [`heavy`], and with [`Mode::heavy`] of the same mode.
    fn light();

    /// [`heavy`] for a frequent side of this mode.
    fn heavy() -> bool;
}

/// The process can use membarrier: the frequent side's half is free.
pub struct Asymmetric;

impl Mode for Asymmetric {
    const IS_FREE: bool = true;

    #[inline(always)]
    fn light() {
        compiler_fence(Ordering::SeqCst);
    }

    fn heavy() -> bool {
        heavy()
    }
}

/// The process cannot use membarrier: both halves are real fences, so `heavy` cannot fail.
pub struct Fenced;

impl Mode for Fenced {
    const IS_FREE: bool = false;

    #[inline(always)]
    fn light() {
        fence(Ordering::SeqCst);
    }

    fn heavy() -> bool {
        fence(Ordering::SeqCst);
        true
    }
}
