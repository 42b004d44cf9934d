//! Barriers, in rounds.

use crate::Scene;
use sched_model::{explore, join, thread_with};

/// Each task sees what the others did before they arrived, and no task is in two rounds at once.
#[test]
fn a_barrier_in_rounds() {
    explore("barrier of two, three rounds", 3, 100, || {
        let scene = Scene::new(0, 2);
        let other = thread_with(&scene, |scene| {
            scene.add();
            scene.arrive();
            // SAFETY: loom checks the access for races.
            scene.other.with(|other| unsafe { assert_eq!(*other, 1) });
            scene.arrive();
            scene.arrive();
        });
        // SAFETY: loom checks the access for races.
        scene.other.with_mut(|other| unsafe { *other = 1 });
        scene.arrive();
        assert_eq!(scene.number(), 1);
        scene.arrive();
        // SAFETY: loom checks the access for races; the other task has read the number.
        scene.other.with_mut(|other| unsafe { *other = 2 });
        scene.arrive();
        other.join().unwrap();
    });
}

#[test]
fn a_barrier_of_three() {
    explore("barrier of three", 1, 100, || {
        let scene = Scene::new(0, 3);
        let arrive = |scene: &Scene| {
            if scene.arrive() {
                scene.add();
            }
        };
        let threads = [thread_with(&scene, arrive), thread_with(&scene, arrive)];
        arrive(&scene);
        join(threads);
        assert_eq!(scene.number(), 1); // one task was signalled
    });
}
