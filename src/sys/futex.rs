//! A word to sleep on: Linux's futex (H. Franke, R. Russell, M. Kirkwood, 2002).
//!
//! `wait` may return without a reason, so callers loop on their condition. If a seccomp filter
//! refuses futex, `wait` sleeps briefly and returns, and `wake` does nothing: the program becomes
//! slower, but its results stay the same.

#[cfg(not(loom))]
use crate::sys::atomic::AtomicBool;
use crate::sys::atomic::{AtomicU32, Ordering};
#[cfg(not(loom))]
use crate::sys::errno;
#[cfg(not(loom))]
use crate::sys::time;
use std::time::Duration;

#[cfg(not(loom))]
pub struct Futex(AtomicU32);

/// How long `wait` sleeps where futex is refused and no wake-up can come.
#[cfg(not(loom))]
const REFUSED_WAIT: Duration = Duration::from_micros(100);

/// The longest sleep of a thread that waits for a wake-up. There is a limit because a filter that
/// refuses futex may be installed in the middle of a run. Sleeping threads can then no longer be
/// woken; they wake by themselves after this time. (It is an hour in builds that look for lost
/// wake-ups: see `fuzz`.)
#[cfg(not(loom))]
pub const LONGEST: Duration = Duration::from_secs(if cfg!(sched_fuzz) { 3600 } else { 1 });

/// True if waking is refused, so that no thread may wait without a time limit. All accesses are
/// Relaxed: a thread that learns of the refusal late sleeps `LONGEST` once.
#[cfg(not(loom))]
#[unsafe(link_section = "sched_words")]
static FUTEX_REFUSED: AtomicBool = AtomicBool::new(false);

/// Asks the kernel whether wake-ups work. Called at the start of each run.
#[cfg(not(loom))]
pub fn probe() -> bool {
    let word = Futex::new(0);
    let works = word.wake(1);
    FUTEX_REFUSED.store(!works, Ordering::Relaxed);
    works
}

/// The last known answer of `probe`.
#[cfg(not(loom))]
pub fn works() -> bool {
    !FUTEX_REFUSED.load(Ordering::Relaxed)
}

/// The lower half of a word: the 32 bits that change most.
#[cfg(all(not(loom), target_endian = "little"))]
impl From<&crate::sys::atomic::AtomicUsize> for &Futex {
    fn from(word: &crate::sys::atomic::AtomicUsize) -> Self {
        // SAFETY: the reference covers 32 aligned bits of the word, and both types are atomics.
        unsafe { &*std::ptr::from_ref(word).cast() }
    }
}

#[cfg(not(loom))]
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
pub struct SpentWord(Shared);

#[cfg(not(loom))]
type Shared = Futex;
/// The model's futex lives until the last wake-up, which needs more than an address.
#[cfg(loom)]
type Shared = std::sync::Arc<Futex>;

impl SpentWord {
    #[inline]
    pub fn new(value: u32) -> Self {
        #[allow(clippy::useless_conversion, reason = "in the models it makes an Arc")]
        SpentWord(Futex::new(value).into())
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
        #[cfg(not(loom))]
        {
            // SAFETY: the address alone is taken.
            let word = unsafe { &raw const (*this).0 };
            // SAFETY: by the caller's promise the word lives until the store.
            unsafe { (*word).store(value, Ordering::Release) };
            Futex::wake_at(word, 1);
        }
        #[cfg(loom)]
        {
            // SAFETY: by the caller's promise the word lives until the store.
            let word = unsafe { (*this).0.clone() };
            word.store(value, Ordering::Release);
            word.wake(1);
        }
    }
}

#[cfg(loom)]
pub const LONGEST: Duration = Duration::MAX;

#[cfg(loom)]
pub fn probe() -> bool {
    true
}

#[cfg(loom)]
pub fn works() -> bool {
    true
}

/// The model's futex. A lost wake-up is a deadlock, which loom reports.
#[cfg(loom)]
pub struct Futex {
    word: AtomicU32,
    queue: loom::sync::Mutex<()>,
    bell: loom::sync::Condvar,
}

#[cfg(loom)]
impl Futex {
    pub fn new(value: u32) -> Self {
        Futex {
            word: AtomicU32::new(value),
            queue: loom::sync::Mutex::new(()),
            bell: loom::sync::Condvar::new(),
        }
    }

    pub fn load(&self, order: Ordering) -> u32 {
        self.word.load(order)
    }

    pub fn store(&self, value: u32, order: Ordering) {
        self.word.store(value, order);
    }

    pub fn add(&self, n: u32, order: Ordering) -> u32 {
        self.word.fetch_add(n, order)
    }

    pub fn swap(&self, value: u32, order: Ordering) -> u32 {
        self.word.swap(value, order)
    }

    pub fn set_bits(&self, bits: u32, order: Ordering) -> u32 {
        self.word.fetch_or(bits, order)
    }

    pub fn keep_bits(&self, bits: u32, order: Ordering) -> u32 {
        self.word.fetch_and(bits, order)
    }

    pub fn swap_if(&self, old: u32, new: u32) -> bool {
        self.word.compare_exchange(old, new, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    pub fn acquire_if(&self, old: u32, new: u32) -> bool {
        self.word.compare_exchange(old, new, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// A sleep with a time limit ends at once.
    pub fn wait(&self, expected: u32, limit: Duration) {
        if limit < LONGEST {
            return loom::thread::yield_now();
        }
        let queue = self.queue.lock().expect("a model that panics is over");
        if self.word.load(Ordering::SeqCst) == expected {
            drop(self.bell.wait(queue));
        }
    }

    pub fn wake(&self, n: i32) -> bool {
        let _queue = self.queue.lock().expect("a model that panics is over");
        if n == 1 {
            self.bell.notify_one();
        } else {
            self.bell.notify_all();
        }
        true
    }
}
