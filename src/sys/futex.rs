//! A word to sleep on: Linux's futex (H. Franke, R. Russell, M. Kirkwood, 2002).
//!
//! `wait` may return without a reason, so callers loop on their condition. If a seccomp filter
//! refuses futex, `wait` sleeps briefly and returns, and `wake` does nothing: the program becomes
//! slower, but its results stay the same.

use crate::sys::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use crate::sys::errno;
use crate::sys::time;
use std::time::Duration;

pub struct Futex(AtomicU32);

/// How long `wait` sleeps where futex is refused and no wake-up can come.
const REFUSED_WAIT: Duration = Duration::from_micros(100);

/// The longest sleep of a thread that waits for a wake-up. There is a limit because a filter that
/// refuses futex may be installed in the middle of a run. Sleeping threads can then no longer be
/// woken; they wake by themselves after this time. (It is an hour in builds that look for lost
/// wake-ups: see `fuzz`.)
pub const LONGEST: Duration = Duration::from_secs(if cfg!(sched_fuzz) { 3600 } else { 1 });

/// True if waking is refused, so that no thread may wait without a time limit. All accesses are
/// Relaxed: a thread that learns of the refusal late sleeps `LONGEST` once.
#[unsafe(link_section = "sched_words")]
static FUTEX_REFUSED: AtomicBool = AtomicBool::new(false);

/// Asks the kernel whether wake-ups work. Called at the start of each run.
pub fn probe() -> bool {
    let word = Futex::new(0);
    let works = word.wake(1);
    FUTEX_REFUSED.store(!works, Ordering::Relaxed);
    works
}

/// The last known answer of `probe`.
pub fn works() -> bool {
    !FUTEX_REFUSED.load(Ordering::Relaxed)
}

/// The lower half of a word: the 32 bits that change most.
#[cfg(target_endian = "little")]
impl From<&AtomicUsize> for &Futex {
    fn from(word: &AtomicUsize) -> Self {
        // SAFETY: the reference covers 32 aligned bits of the word, and both types are atomics.
        unsafe { &*std::ptr::from_ref(word).cast() }
    }
}

impl Futex {
    pub const fn new(value: u32) -> Self {
        Futex(AtomicU32::new(value))
    }

    #[inline]
    pub fn load(&self, order: Ordering) -> u32 {
        self.0.load(order)
    }

    #[inline]
    pub fn store(&self, value: u32, order: Ordering) {
        self.0.store(value, order);
    }

    #[inline]
    pub fn add(&self, n: u32, order: Ordering) -> u32 {
        self.0.fetch_add(n, order)
    }

    #[inline]
    pub fn swap(&self, value: u32, order: Ordering) -> u32 {
        self.0.swap(value, order)
    }

    /// Sets these bits. Returns the former value.
    pub fn set_bits(&self, bits: u32, order: Ordering) -> u32 {
        self.0.fetch_or(bits, order)
    }

    /// Clears all bits except `bits`. Returns the former value.
    pub fn keep_bits(&self, bits: u32, order: Ordering) -> u32 {
        self.0.fetch_and(bits, order)
    }

    /// Replaces `old` by `new` if the word is still `old`. Relaxed suffices: after a
    /// read-modify-write, acquiring `new` also acquires what was released with `old`.
    pub fn swap_if(&self, old: u32, new: u32) -> bool {
        self.0.compare_exchange(old, new, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// Like `swap_if`; the caller acquires what was released with `old`.
    #[inline]
    pub fn acquire_if(&self, old: u32, new: u32) -> bool {
        self.0.compare_exchange(old, new, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Sleeps if the word is still `expected`, until a wake-up, a signal, or the end of `limit`.
    pub fn wait(&self, expected: u32, limit: Duration) {
        let limit = if FUTEX_REFUSED.load(Ordering::Relaxed) { REFUSED_WAIT } else { limit };
        let limit = time::timespec(limit);
        // SAFETY: the word lives as long as `self`; `limit` is a timespec.
        let slept = unsafe {
            libc::syscall(
                libc::SYS_futex,
                self.0.as_ptr(),
                libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
                expected,
                &raw const limit,
            )
        };
        if slept != 0 {
            match errno::get() {
                libc::EAGAIN | libc::EINTR | libc::ETIMEDOUT => {}
                _ => time::sleep(REFUSED_WAIT),
            }
        }
    }

    /// Wakes up to `n` sleepers. False if the kernel refuses.
    pub fn wake(&self, n: i32) -> bool {
        Futex::wake_at(self, n)
    }

    /// Like `wake`, for a word whose memory may already be freed.
    #[allow(clippy::not_unsafe_ptr_arg_deref, reason = "the kernel does not read it")]
    pub fn wake_at(word: *const Futex, n: i32) -> bool {
        // SAFETY: the kernel uses only the word's address.
        let woken = unsafe {
            libc::syscall(libc::SYS_futex, word, libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG, n)
                >= 0
        };
        if !woken {
            FUTEX_REFUSED.store(true, Ordering::Relaxed);
        }
        woken
    }
}

/// A word whose last store lets its owner free it. So the thread that stores may afterwards use
/// only the word's address, for the wake-up.
pub struct SpentWord(Futex);

impl SpentWord {
    #[inline]
    pub fn new(value: u32) -> Self {
        SpentWord(Futex::new(value))
    }

    pub fn load(&self, order: Ordering) -> u32 {
        self.0.load(order)
    }

    /// See `Futex::wait`.
    pub fn wait(&self, expected: u32, limit: Duration) {
        self.0.wait(expected, limit);
    }

    /// Stores `value` with Release, and wakes the sleeper.
    ///
    /// # Safety
    /// The word lives until its owner has loaded `value`.
    pub unsafe fn store_and_wake(this: *const Self, value: u32) {
        // SAFETY: the address alone is taken.
        let word = unsafe { &raw const (*this).0 };
        // SAFETY: the word lives until the store.
        unsafe { (*word).store(value, Ordering::Release) };
        Futex::wake_at(word, 1);
    }
}
