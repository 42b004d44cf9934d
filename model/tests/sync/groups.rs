//! Waits for groups whose tasks end, or add others, during the wait.

use crate::Scene;
use loom::sync::Arc;
use loom::thread;
use sched::sync::cancel::Cancellation;
use sched_model::{Reached, explore, join, thread_with};

#[test]
fn two_wait_for_a_group() {
    explore("group of one, two waiters", 2, 1000, || {
        let scene = Scene::new(0, 0);
        scene.group.enter();
        let waits = |scene: &Scene| {
            scene.group_wait();
            assert_eq!(scene.number(), 1);
        };
        let other = thread_with(&scene, waits);
        let task = thread_with(&scene, |scene| {
            scene.add();
            scene.group_leave();
        });
        waits(&scene);
        join([other, task]);
    });
}

/// A task adds another before it ends: either may be the last one.
#[test]
fn a_group_that_grows() {
    explore("group of two, one added by the other", 3, 1000, || {
        let scene = Scene::new(0, 0);
        scene.group.enter();
        let task = {
            let own = Arc::clone(&scene);
            thread::spawn(move || {
                own.group.enter();
                let next = thread_with(&own, Scene::group_leave);
                own.add();
                own.group_leave();
                next.join().unwrap();
            })
        };
        scene.group_wait();
        assert_eq!(scene.number(), 1);
        task.join().unwrap();
    });
}

/// The first waiter to see the end adds a task again. A waiter that is late waits for both ends.
#[test]
fn a_group_that_is_used_again() {
    explore("group used again, two waiters", 1, 500, || {
        let scene = Scene::new(0, 0);
        scene.group.enter();
        let late = thread_with(&scene, Scene::group_wait);
        let task = thread_with(&scene, Scene::group_leave);
        scene.group_wait();
        scene.group.enter();
        scene.group_leave();
        scene.group_wait();
        join([late, task]);
        assert!(scene.group.is_over());
    });
}

/// A group of two tasks that can be cancelled.
struct Cancelled {
    scene: Arc<Scene>,
    cancellation: Cancellation,
}

impl Cancelled {
    /// Like `api::group::run`, for a task that cancels its group after it has written the reason.
    fn cancels(&self) {
        self.scene.add();
        self.cancellation.cancel();
        self.scene.group_leave();
    }

    /// A task that looks whether its group was cancelled.
    fn looks(&self) {
        let is_cancelled = self.cancellation.is_cancelled();
        if is_cancelled {
            assert_eq!(self.scene.number(), 1);
        }
        NOTICED.note(is_cancelled);
        self.scene.group_leave();
    }
}

static NOTICED: Reached = Reached::not_yet();

/// A task cancels its group, and another one looks: the wait reports the cancellation.
#[test]
fn a_group_is_cancelled() {
    explore("group of two, cancelled by a task", 1, 100, || {
        let this = Cancelled { scene: Scene::new(0, 0), cancellation: Cancellation::default() };
        let this = Arc::new(this);
        let thread = |f: fn(&Cancelled)| {
            this.scene.group.enter();
            thread_with(&this, f)
        };
        let tasks = [thread(Cancelled::cancels), thread(Cancelled::looks)];
        this.scene.group_wait(); // like the wait in `api::group`
        assert!(this.cancellation.take_back(), "the cancellation came before the task's end");
        assert!(!this.cancellation.is_cancelled());
        join(tasks);
    });
    NOTICED.expect("a task that finds its group cancelled");
}

/// Two waits have seen the group's end: one of them reports the cancellation.
#[test]
fn a_cancellation_is_reported_once() {
    explore("group, cancelled, and two waits", 3, 5, || {
        let this = Arc::new(Cancellation::default());
        this.cancel();
        let other = thread_with(&this, Cancellation::take_back);
        let reported = [this.take_back(), other.join().unwrap()];
        assert_eq!(reported.into_iter().filter(|&is| is).count(), 1);
    });
}
