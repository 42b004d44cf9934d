//! The lock primitives that the course asks to compare, behind one trait. The lock is a type
//! parameter of the queue that it guards.
//!
//! | type | lock | place to wait |
//! | --- | --- | --- |
//! | [`PthreadMutex`] | pthread_mutex_t | pthread_cond_t |
//! | [`Spin`] | test-and-test-and-set, exponential backoff, then sched_yield | futex |
//! | [`Semaphore`] | sem_t at 1 | sem_t at 0 |

use crate::lock::trylock::TryLock;
use crate::sys::atomic::{Ordering, UnsafeCell};
use crate::sys::errno;
use crate::sys::futex::Futex;
use crate::sys::thread::Uncancelled;
use std::mem::MaybeUninit;

/// A lock with a place to wait, as a monitor has (C. A. R. Hoare, 1974).
///
/// # Safety
/// Between `lock` and `unlock` the holder must be alone, and the next holder must see everything
/// that this one wrote.
pub unsafe trait Monitor: Send + Sync + 'static {
    fn new() -> Self;

    /// Called once, when the value has its final address, before its first use.
    ///
    /// # Safety
    /// The value does not move afterwards, and nobody has used it yet.
    unsafe fn initialize_in_place(&self) {}

    fn lock(&self);

    /// # Safety
    /// The caller holds the lock.
    unsafe fn unlock(&self);

    /// Unlocks, sleeps until a `notify` that comes after the unlocking, and locks again. May return
    /// without a reason: callers loop on their condition.
    ///
    /// # Safety
    /// The caller holds the lock.
    unsafe fn wait(&self);

    /// Wakes one of the threads in `wait`; at least one is there.
    fn notify_one(&self);

    /// Wakes all threads in `wait`; at most `n` are there.
    fn notify_all(&self, n: usize);
}

pub struct PthreadMutex {
    mutex: UnsafeCell<libc::pthread_mutex_t>,
    cond: UnsafeCell<libc::pthread_cond_t>,
}

// SAFETY: pthread objects are made to be shared, and all accesses are pthread calls.
unsafe impl Send for PthreadMutex {}
// SAFETY: pthread objects are made to be shared, and all accesses are pthread calls.
unsafe impl Sync for PthreadMutex {}

// SAFETY: a pthread mutex excludes and orders. The pointers in all methods name initialised objects
// that do not move while in use.
unsafe impl Monitor for PthreadMutex {
    fn new() -> Self {
        PthreadMutex {
            mutex: UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER),
            cond: UnsafeCell::new(libc::PTHREAD_COND_INITIALIZER),
        }
    }

    fn lock(&self) {
        // SAFETY: the mutex is initialised and does not move.
        self.mutex.with_mut(|m| unsafe { libc::pthread_mutex_lock(m) });
    }

    unsafe fn unlock(&self) {
        // SAFETY: the mutex is initialised and does not move; the caller holds it.
        self.mutex.with_mut(|m| unsafe { libc::pthread_mutex_unlock(m) });
    }

    unsafe fn wait(&self) {
        let _uncancelled = Uncancelled::begin();
        // SAFETY: mutex and condition are initialised and do not move; the caller holds the mutex.
        self.cond.with_mut(|c| self.mutex.with_mut(|m| unsafe { libc::pthread_cond_wait(c, m) }));
    }

    fn notify_one(&self) {
        // SAFETY: the condition is initialised and does not move.
        self.cond.with_mut(|c| unsafe { libc::pthread_cond_signal(c) });
    }

    fn notify_all(&self, _n: usize) {
        // SAFETY: the condition is initialised and does not move.
        self.cond.with_mut(|c| unsafe { libc::pthread_cond_broadcast(c) });
    }
}

impl Drop for PthreadMutex {
    fn drop(&mut self) {
        // SAFETY: a value that is dropped is used by nobody else.
        self.cond.with_mut(|c| unsafe { libc::pthread_cond_destroy(c) });
        // SAFETY: a value that is dropped is used by nobody else.
        self.mutex.with_mut(|m| unsafe { libc::pthread_mutex_destroy(m) });
    }
}

/// A [`TryLock`] that is always locked by spinning, and an epoch to sleep on.
pub struct Spin {
    lock: TryLock,
    epoch: Futex,
}

// SAFETY: the lock goes from free to held in one step, with Acquire; only the holder frees it, with
// Release.
unsafe impl Monitor for Spin {
    fn new() -> Self {
        Spin { lock: TryLock::new(), epoch: Futex::new(0) }
    }

    #[inline]
    fn lock(&self) {
        self.lock.lock();
    }

    #[inline]
    unsafe fn unlock(&self) {
        // SAFETY: the caller holds the lock.
        unsafe { self.lock.unlock() };
    }

    unsafe fn wait(&self) {
        // A notify after the unlock changes the epoch that was read before it; then the futex does
        // not sleep, and no wake-up is lost. Relaxed: the caller sees the changed condition under
        // the lock, and the epoch publishes nothing.
        let epoch = self.epoch.load(Ordering::Relaxed);
        // SAFETY: the caller holds the lock.
        unsafe { self.unlock() };
        self.epoch.wait(epoch, crate::sys::futex::LONGEST);
        self.lock();
    }

    fn notify_one(&self) {
        self.epoch.add(1, Ordering::Release);
        self.epoch.wake(1);
    }

    fn notify_all(&self, _n: usize) {
        self.epoch.add(1, Ordering::Release);
        self.epoch.wake(i32::MAX);
    }
}

/// One POSIX semaphore as the lock, another as the queue of sleepers. (A. Birrell, 2003, shows how
/// little is needed when notifiers count their sleepers under the lock.)
pub struct Semaphore {
    free: UnsafeCell<MaybeUninit<libc::sem_t>>,
    bell: UnsafeCell<MaybeUninit<libc::sem_t>>,
}

// SAFETY: semaphores are made to be shared, and all accesses are sem_ calls.
unsafe impl Send for Semaphore {}
// SAFETY: semaphores are made to be shared, and all accesses are sem_ calls.
unsafe impl Sync for Semaphore {}

fn sem_wait(sem: &UnsafeCell<MaybeUninit<libc::sem_t>>) {
    // SAFETY: `initialize_in_place` has initialised the semaphore.
    if sem.with_mut(|s| unsafe { libc::sem_trywait(s.cast()) }) == 0 {
        return;
    }
    let _uncancelled = Uncancelled::begin(); // sem_wait would be a cancellation point
    // SAFETY: `initialize_in_place` has initialised the semaphore. After a signal the wait is
    // repeated.
    while sem.with_mut(|s| unsafe { libc::sem_wait(s.cast()) }) != 0 {
        if errno::get() != libc::EINTR {
            crate::sys::output::die(format_args!("sem_wait has failed (errno {})", errno::get()));
        }
    }
}

fn sem_post(sem: &UnsafeCell<MaybeUninit<libc::sem_t>>) {
    // SAFETY: `initialize_in_place` has initialised the semaphore.
    sem.with_mut(|s| unsafe { libc::sem_post(s.cast()) });
}

// SAFETY: `free` is 1 when nobody holds the lock and 0 otherwise; sem_post and sem_wait order
// memory (POSIX, 4.12).
unsafe impl Monitor for Semaphore {
    fn new() -> Self {
        Semaphore {
            free: UnsafeCell::new(MaybeUninit::uninit()),
            bell: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    unsafe fn initialize_in_place(&self) {
        // SAFETY: the semaphore has its final address, by the caller's promise; the value is in
        // range.
        self.free.with_mut(|s| unsafe { libc::sem_init(s.cast(), 0, 1) });
        // SAFETY: the semaphore has its final address, by the caller's promise; the value is in
        // range.
        self.bell.with_mut(|s| unsafe { libc::sem_init(s.cast(), 0, 0) });
    }

    fn lock(&self) {
        sem_wait(&self.free);
    }

    unsafe fn unlock(&self) {
        sem_post(&self.free);
    }

    unsafe fn wait(&self) {
        sem_post(&self.free);
        sem_wait(&self.bell);
        sem_wait(&self.free);
    }

    fn notify_one(&self) {
        sem_post(&self.bell);
    }

    fn notify_all(&self, n: usize) {
        (0..n).for_each(|_| sem_post(&self.bell));
    }
}

#[cfg(test)]
mod tests {
    use super::{Monitor, PthreadMutex, Semaphore, Spin};
    use std::cell::UnsafeCell;

    struct Shared<L> {
        lock: L,
        count: UnsafeCell<usize>,
    }

    // SAFETY: the count is only used under the lock.
    unsafe impl<L: Monitor> Sync for Shared<L> {}

    fn shared<L: Monitor>() -> Box<Shared<L>> {
        let shared = Box::new(Shared { lock: L::new(), count: UnsafeCell::new(0) });
        // SAFETY: the value is boxed and not used yet.
        unsafe { shared.lock.initialize_in_place() };
        shared
    }

    fn excludes<L: Monitor>() {
        let shared = &*shared::<L>();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..20_000 {
                        shared.lock.lock();
                        // SAFETY: the lock is held.
                        unsafe { *shared.count.get() += 1 };
                        // SAFETY: the lock is held.
                        unsafe { shared.lock.unlock() };
                    }
                });
            }
        });
        // SAFETY: the threads have ended.
        assert_eq!(unsafe { *shared.count.get() }, 80_000);
    }

    /// Three threads wait for three values of the count; each change wakes all waiters.
    fn wakes<L: Monitor>() {
        let shared = &*shared::<L>();
        let waiting = &std::sync::atomic::AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for want in 1..=3 {
                scope.spawn(move || {
                    shared.lock.lock();
                    // SAFETY: the lock is held, here and after each wait.
                    while unsafe { *shared.count.get() } < want {
                        waiting.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                        // SAFETY: the lock is held.
                        unsafe { shared.lock.wait() };
                    }
                    // SAFETY: the lock is held.
                    unsafe { shared.lock.unlock() };
                });
            }
            for _ in 0..3 {
                shared.lock.lock();
                // SAFETY: the lock is held.
                unsafe { *shared.count.get() += 1 };
                let sleepers = waiting.swap(0, std::sync::atomic::Ordering::Relaxed);
                // SAFETY: the lock is held.
                unsafe { shared.lock.unlock() };
                if sleepers == 1 {
                    shared.lock.notify_one();
                } else {
                    shared.lock.notify_all(sleepers);
                }
            }
        });
    }

    #[test]
    fn mutex() {
        excludes::<PthreadMutex>();
        wakes::<PthreadMutex>();
    }

    #[test]
    fn spin() {
        excludes::<Spin>();
        wakes::<Spin>();
    }

    #[test]
    fn semaphore() {
        excludes::<Semaphore>();
        wakes::<Semaphore>();
    }
}
