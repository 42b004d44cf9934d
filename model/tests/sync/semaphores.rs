//! Semaphores: each unit is taken once.

use crate::{Scene, grant, wait_aside};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use sched::sync::node::Node;
use sched::sync::sem::Sem;
use sched_model::{explore, join, thread_with};

/// The one unit is passed on: the semaphore serves as a mutex.
#[test]
fn a_unit_is_passed_on() {
    explore("sem, one unit, three tasks", 2, 1000, || {
        let scene = Scene::new(1, 0);
        let add = |scene: &Scene| {
            scene.wait();
            scene.add();
            scene.post();
        };
        let threads = [thread_with(&scene, add), thread_with(&scene, add)];
        scene.wait_outside();
        scene.add();
        scene.post();
        join(threads);
        assert!(scene.sem.try_wait());
        assert_eq!(scene.number(), 3);
        assert!(!scene.sem.try_wait());
    });
}

/// The task that gets the last unit frees the semaphore: no other task touches it any more.
#[test]
fn a_semaphore_is_freed_by_who_gets_the_unit() {
    explore("sem, freed after the last unit", 3, 100, || {
        let sem = Arc::new(UnsafeCell::new(Sem::new(0)));
        let thread = thread_with(&sem, |sem| {
            // SAFETY: loom checks the access for races.
            grant(sem.with(|sem| unsafe { (*sem).post() }).expect("there is room").into_iter());
        });
        // SAFETY: the node lives until it is granted; loom checks the rest.
        wait_aside(|node| sem.with(|sem| unsafe { (*sem).wait_or_link(node) }), |_| true);
        // SAFETY: loom checks the access for races.
        sem.with_mut(|sem| unsafe { *sem = Sem::new(0) });
        thread.join().unwrap();
    });
}

#[test]
fn two_units_for_two() {
    explore("sem, two wait, two post", 1, 100, || {
        let scene = Scene::new(0, 0);
        let wait = |scene: &Scene| scene.wait();
        let threads = [
            thread_with(&scene, wait),
            thread_with(&scene, Scene::wait_outside),
            thread_with(&scene, |scene| scene.post()),
        ];
        scene.post();
        join(threads);
        assert!(!scene.sem.try_wait());
    });
}

#[test]
fn two_post_to_two_who_wait() {
    explore("sem, two linked, two post", 3, 10, || {
        let scene = Scene::new(0, 0);
        let nodes = [Node::default(), Node::default()];
        for node in &nodes {
            // SAFETY: the nodes live until the end.
            assert!(!unsafe { scene.sem.wait_or_link(node) });
        }
        let other = thread_with(&scene, |scene| scene.post());
        scene.post();
        other.join().unwrap();
        assert!(nodes.iter().all(Node::is_granted));
        scene.post();
        assert!(scene.sem.try_wait());
    });
}
