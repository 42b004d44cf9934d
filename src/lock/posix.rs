//! The monitors made of what POSIX gives: a mutex with its condition variable, and two semaphores.

use crate::lock::monitor::Monitor;
use crate::sys::atomic::UnsafeCell;
use crate::sys::thread::Uncancelled;
use crate::sys::{errno, time};
use std::mem::MaybeUninit;
use std::time::Duration;

pub struct PthreadMutex {
    mutex: UnsafeCell<libc::pthread_mutex_t>,
    cond: UnsafeCell<libc::pthread_cond_t>,
}

// SAFETY: pthread objects are made to be shared, and all accesses are pthread calls.
unsafe impl Send for PthreadMutex {}
// SAFETY: as above.
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

    unsafe fn wait(&self, limit: Duration) {
        let _uncancelled = Uncancelled::begin();
        let until = time::wall_clock_after(limit);
        self.cond.with_mut(|c| {
            self.mutex.with_mut(|m| {
                // SAFETY: both are initialised and do not move; the caller holds the mutex.
                unsafe { libc::pthread_cond_timedwait(c, m, &raw const until) }
            })
        });
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

/// One POSIX semaphore as the lock, another as the queue of sleepers. (A. Birrell, 2003, shows how
/// little is needed when notifiers count their sleepers under the lock.)
pub struct Semaphore {
    free: UnsafeCell<MaybeUninit<libc::sem_t>>,
    bell: UnsafeCell<MaybeUninit<libc::sem_t>>,
}

// SAFETY: semaphores are made to be shared, and all accesses are sem_ calls.
unsafe impl Send for Semaphore {}
// SAFETY: as above.
unsafe impl Sync for Semaphore {}

fn sem_wait(sem: &UnsafeCell<MaybeUninit<libc::sem_t>>) {
    // SAFETY: `initialize_in_place` has initialised the semaphore.
    if sem.with_mut(|s| unsafe { libc::sem_trywait(s.cast()) }) == 0 {
        return;
    }
    let _uncancelled = Uncancelled::begin(); // sem_wait would be a cancellation point
    // SAFETY: `initialize_in_place` has initialised it. A wait that a signal ends is repeated.
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

// SAFETY: `free` is 0 while the lock is held and otherwise 1; sem_post and sem_wait order memory
// (POSIX, 4.12).
unsafe impl Monitor for Semaphore {
    fn new() -> Self {
        Semaphore {
            free: UnsafeCell::new(MaybeUninit::uninit()),
            bell: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    unsafe fn initialize_in_place(&self) {
        // SAFETY: the address is final and nobody uses it yet; the value is in range.
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

    unsafe fn wait(&self, limit: Duration) {
        sem_post(&self.free);
        let uncancelled = Uncancelled::begin();
        let until = time::wall_clock_after(limit);
        // SAFETY: `initialize_in_place` has initialised the semaphore. A signal may end the wait.
        // (A post that comes after the time limit makes the next wait return spuriously.)
        self.bell.with_mut(|s| unsafe { libc::sem_timedwait(s.cast(), &raw const until) });
        drop(uncancelled);
        sem_wait(&self.free);
    }

    fn notify_one(&self) {
        sem_post(&self.bell);
    }

    fn notify_all(&self, n: usize) {
        (0..n).for_each(|_| sem_post(&self.bell));
    }
}
