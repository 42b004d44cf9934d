//! Waits for groups, whose tasks end or add others meanwhile.

use crate::Scene;
use loom::sync::Arc;
use loom::thread;
use sched_model::{explore, join};

#[test]
fn two_wait_for_a_group() {
    explore("group of one, two waiters", 2, 1000, || {
        let scene = Scene::new(0, 0);
        scene.group.enter();
        let waits = |scene: &Scene| {
            scene.group_wait();
            assert_eq!(scene.number(), 1);
        };
        let other = Scene::thread(&scene, waits);
        let task = Scene::thread(&scene, |scene| {
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
                let next = Scene::thread(&own, Scene::group_leave);
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

/// The first waiter to see the end adds a task to the group again. Another waiter may see the end
/// late, and then waits for both.
#[test]
fn a_group_that_is_used_again() {
    explore("group used again, two waiters", 1, 500, || {
        let scene = Scene::new(0, 0);
        scene.group.enter();
        let late = Scene::thread(&scene, Scene::group_wait);
        let task = Scene::thread(&scene, Scene::group_leave);
        scene.group_wait();
        scene.group.enter();
        scene.group_leave();
        scene.group_wait();
        join([late, task]);
        assert!(scene.group.is_over());
    });
}
