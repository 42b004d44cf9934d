//! Each monitor excludes, and wakes the threads that wait. The fair lock keeps the order.

use crate::lock::bell::{Adaptive, Fair, Spin};
use crate::lock::fair::FairLock;
use crate::lock::monitor::{Monitor, RawLock};
use crate::lock::posix::{PthreadMutex, Semaphore};
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
                    unsafe { shared.lock.wait(crate::sys::futex::LONGEST) };
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

#[test]
fn fair() {
    excludes::<Fair>();
    wakes::<Fair>();
}

#[test]
fn adaptive() {
    excludes::<Adaptive>();
    wakes::<Adaptive>();
}

/// While the lock is held, three threads come one after the other. The holder unlocks it, and at
/// once locks it again. The holder gets it after the three threads.
#[test]
fn the_fair_lock_keeps_the_order() {
    let lock = &FairLock::new();
    let order = &std::sync::Mutex::new(Vec::new());
    let note = |who: usize| order.lock().expect("no thread has panicked").push(who);
    std::thread::scope(|scope| {
        lock.lock();
        for who in 1..=3 {
            let waiters = lock.newcomers();
            scope.spawn(move || {
                lock.lock();
                note(who);
                // SAFETY: this thread holds the lock.
                unsafe { lock.unlock() };
            });
            while lock.newcomers() == waiters {
                std::thread::yield_now();
            }
        }
        // SAFETY: this thread holds the lock.
        unsafe { lock.unlock() };
        lock.lock();
        note(4);
        // SAFETY: this thread holds the lock.
        unsafe { lock.unlock() };
    });
    assert_eq!(*order.lock().expect("no thread has panicked"), [1, 2, 3, 4]);
}
