//! The lock primitives that the course asks to compare, behind one trait: a type
//! parameter of the queues they guard.
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
/// Between `lock` and `unlock` the holder must be alone, and everything that the holder
/// wrote must be visible to the next one.
pub unsafe trait Monitor: Send + Sync + 'static {
    fn new() -> Self;

    /// Called once, when the value has its final address and before its first use.
    ///
    /// # Safety
    /// As said.
    unsafe fn settle(&self) {}

    fn lock(&self);

    /// # Safety
    /// The caller holds the lock.
    unsafe fn unlock(&self);

    /// Unlocks, sleeps until a `notify` that comes after the unlocking, and locks again.
    /// May return for no reason: callers loop on their condition.
    ///
    /// # Safety
    /// The caller holds the lock.
    unsafe fn wait(&self);

    /// Wakes one of the threads in `wait`, of which there is at least one.
    fn notify_one(&self);

    /// Wakes all the threads in `wait`, of which there are at most `n`.
    fn notify_all(&self, n: usize);
}

pub struct PthreadMutex {
    mutex: UnsafeCell<libc::pthread_mutex_t>,
    cond: UnsafeCell<libc::pthread_cond_t>,
}

// SAFETY: pthread objects are made to be shared; all access goes through pthread calls.
unsafe impl Send for PthreadMutex {}
// SAFETY: as above.
unsafe impl Sync for PthreadMutex {}

// SAFETY: a pthread mutex excludes and orders. In all methods the pointers are those of
// initialised objects that do not move while in use.
unsafe impl Monitor for PthreadMutex {
    fn new() -> Self {
        PthreadMutex {
            mutex: UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER),
            cond: UnsafeCell::new(libc::PTHREAD_COND_INITIALIZER),
        }
    }

    fn lock(&self) {
        // SAFETY: see the impl.
        self.mutex.with_mut(|m| unsafe { libc::pthread_mutex_lock(m) });
    }

    unsafe fn unlock(&self) {
        // SAFETY: see the impl; the caller holds it.
        self.mutex.with_mut(|m| unsafe { libc::pthread_mutex_unlock(m) });
    }

    unsafe fn wait(&self) {
        let _uncancelled = Uncancelled::begin();
        // SAFETY: see the impl; the caller holds the mutex.
        self.cond.with_mut(|c| self.mutex.with_mut(|m| unsafe { libc::pthread_cond_wait(c, m) }));
    }

    fn notify_one(&self) {
        // SAFETY: see the impl.
        self.cond.with_mut(|c| unsafe { libc::pthread_cond_signal(c) });
    }

    fn notify_all(&self, _n: usize) {
        // SAFETY: see the impl.
        self.cond.with_mut(|c| unsafe { libc::pthread_cond_broadcast(c) });
    }
}

impl Drop for PthreadMutex {
    fn drop(&mut self) {
        // SAFETY: nobody else has access any more.
        self.cond.with_mut(|c| unsafe { libc::pthread_cond_destroy(c) });
        // SAFETY: as above.
        self.mutex.with_mut(|m| unsafe { libc::pthread_mutex_destroy(m) });
    }
}

/// A [`TryLock`] that nobody only tries, and an epoch to sleep on.
pub struct Spin {
    lock: TryLock,
    epoch: Futex,
}

// SAFETY: the lock goes from free to held in one step, with Acquire, and the holder alone frees
// it, with Release.
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
        // SAFETY: passed on.
        unsafe { self.lock.unlock() };
    }

    unsafe fn wait(&self) {
        // A notify after the unlock changes the epoch read before it, and the futex does
        // not sleep: no wake-up is lost. (What was changed is seen under the lock: the epoch
        // publishes nothing.)
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

/// A POSIX semaphore as lock, another as the queue of sleepers (A. Birrell, 2003, shows
/// how little is needed when notifiers count their sleepers under the lock).
pub struct Semaphore {
    free: UnsafeCell<MaybeUninit<libc::sem_t>>,
    bell: UnsafeCell<MaybeUninit<libc::sem_t>>,
}

// SAFETY: semaphores are made to be shared; all access goes through sem_ calls.
unsafe impl Send for Semaphore {}
// SAFETY: as above.
unsafe impl Sync for Semaphore {}

fn sem_wait(sem: &UnsafeCell<MaybeUninit<libc::sem_t>>) {
    // SAFETY: initialised by `settle`.
    if sem.with_mut(|s| unsafe { libc::sem_trywait(s.cast()) }) == 0 {
        return;
    }
    let _uncancelled = Uncancelled::begin(); // sem_wait would be a cancellation point
    // SAFETY: as above. A signal interrupts the wait: again.
    while sem.with_mut(|s| unsafe { libc::sem_wait(s.cast()) }) != 0 {
        if errno::get() != libc::EINTR {
            crate::sys::output::die(format_args!("sem_wait: errno {}", errno::get()));
        }
    }
}

fn sem_post(sem: &UnsafeCell<MaybeUninit<libc::sem_t>>) {
    // SAFETY: initialised by `settle`.
    sem.with_mut(|s| unsafe { libc::sem_post(s.cast()) });
}

// SAFETY: `free` is 1 when nobody holds the lock and 0 otherwise; sem_post and sem_wait
// order memory (POSIX, 4.12).
unsafe impl Monitor for Semaphore {
    fn new() -> Self {
        Semaphore {
            free: UnsafeCell::new(MaybeUninit::uninit()),
            bell: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    unsafe fn settle(&self) {
        // SAFETY: valid places at their final address; the values are in range.
        self.free.with_mut(|s| unsafe { libc::sem_init(s.cast(), 0, 1) });
        // SAFETY: as above.
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

    // SAFETY: the count is used under the lock.
    unsafe impl<L: Monitor> Sync for Shared<L> {}

    fn shared<L: Monitor>() -> Box<Shared<L>> {
        let shared = Box::new(Shared { lock: L::new(), count: UnsafeCell::new(0) });
        // SAFETY: boxed, and not used yet.
        unsafe { shared.lock.settle() };
        shared
    }

    fn excludes<L: Monitor>() {
        let shared = &*shared::<L>();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..20_000 {
                        shared.lock.lock();
                        // SAFETY: locked around it.
                        unsafe { *shared.count.get() += 1 };
                        // SAFETY: locked above.
                        unsafe { shared.lock.unlock() };
                    }
                });
            }
        });
        // SAFETY: the threads have ended.
        assert_eq!(unsafe { *shared.count.get() }, 80_000);
    }

    /// Three threads wait for the count to reach theirs; each change wakes all who wait.
    fn wakes<L: Monitor>() {
        let shared = &*shared::<L>();
        let waiting = &std::sync::atomic::AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for want in 1..=3 {
                scope.spawn(move || {
                    shared.lock.lock();
                    // SAFETY: locked, here and after each wait.
                    while unsafe { *shared.count.get() } < want {
                        waiting.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                        // SAFETY: locked.
                        unsafe { shared.lock.wait() };
                    }
                    // SAFETY: locked.
                    unsafe { shared.lock.unlock() };
                });
            }
            for _ in 0..3 {
                shared.lock.lock();
                // SAFETY: locked around it.
                unsafe { *shared.count.get() += 1 };
                let sleepers = waiting.swap(0, std::sync::atomic::Ordering::Relaxed);
                // SAFETY: locked above.
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
