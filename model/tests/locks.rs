//! The locks that are made of futexes: each holder is alone and sees what the last one wrote, and
//! each waiter gets its turn. A lost wake-up leaves a thread asleep forever, which loom reports as
//! a deadlock. A model of `sync` shows the fair lock's order of waiters: the mutex has the same
//! line.
#![cfg(loom)]

use loom::sync::Arc;
use sched::lock::bell::{Adaptive, Fair, WithBell};
use sched::lock::monitor::{Monitor, RawLock};
use sched::lock::three_states::ThreeStates;
use sched_model::{Cell, explore, join, models, thread_with};
use std::time::Duration;

trait Named: Monitor {
    const NAME: &'static str;
}

impl Named for Fair {
    const NAME: &'static str = "fair";
}

impl Named for Adaptive {
    const NAME: &'static str = "adaptive";
}

/// The library's own mutex, as it is without the models.
struct Own(ThreeStates);

// SAFETY: `ThreeStates` has one holder at a time, and orders.
unsafe impl RawLock for Own {
    fn new() -> Self {
        Own(ThreeStates::new())
    }

    fn lock(&self) {
        self.0.lock();
    }

    unsafe fn unlock(&self) {
        // SAFETY: the caller holds the lock.
        unsafe { self.0.unlock() };
    }
}

impl Named for WithBell<Own> {
    const NAME: &'static str = "mutex";
}

struct Scene<L: Named> {
    lock: L,
    number: Cell,
}

impl<L: Named> Scene<L> {
    fn new() -> Arc<Self> {
        Arc::new(Scene { lock: L::new(), number: Cell::new() })
    }

    /// Locks, increments the number and unlocks, `times` times.
    fn add(&self, times: usize) {
        for _ in 0..times {
            self.lock.lock();
            self.number.add();
            // SAFETY: this thread holds the lock.
            unsafe { self.lock.unlock() };
        }
    }
}

/// Each of the `threads` locks `times` times.
fn excludes<L: Named>(threads: usize, times: usize, preemptions: usize, at_least: usize) {
    let name = format!("{}, {threads} threads, {times} times each", L::NAME);
    explore(&name, preemptions, at_least, move || {
        let scene = Scene::<L>::new();
        let others: Vec<_> =
            (1..threads).map(|_| thread_with(&scene, move |scene| scene.add(times))).collect();
        scene.add(times);
        join(others);
        scene.lock.lock();
        assert_eq!(scene.number.get(), threads * times);
    });
}

/// A thread waits until another one has incremented the number.
fn notifies<L: Named>(preemptions: usize, at_least: usize) {
    let name = format!("{}, a notification", L::NAME);
    explore(&name, preemptions, at_least, || {
        let scene = Scene::<L>::new();
        let other = thread_with(&scene, |scene| {
            scene.add(1);
            scene.lock.notify_one();
        });
        scene.lock.lock();
        while scene.number.get() == 0 {
            // SAFETY: this thread holds the lock.
            unsafe { scene.lock.wait(Duration::MAX) };
        }
        // SAFETY: this thread holds the lock.
        unsafe { scene.lock.unlock() };
        other.join().unwrap();
    });
}

models! {
    fair: Fair {
        excludes: excludes(3, 1, 2, 500);
        excludes_again: excludes(2, 2, 3, 2000);
        notifies: notifies(3, 200);
    }
    adaptive: Adaptive {
        excludes: excludes(3, 1, 3, 2000);
        excludes_again: excludes(2, 2, 3, 100);
        notifies: notifies(3, 90);
    }
    mutex: WithBell<Own> {
        excludes: excludes(3, 1, 2, 100);
        excludes_again: excludes(2, 2, 3, 90);
    }
}
