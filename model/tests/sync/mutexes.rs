//! Mutexes: each waiter gets the mutex once, and alone.

use crate::{Scene, grant};
use sched::sync::node::Node;
use sched_model::{explore, join};

#[test]
fn a_mutex_excludes() {
    explore("mutex, three tasks", 2, 1000, || {
        let scene = Scene::new(0, 0);
        let add = |scene: &Scene| {
            scene.lock();
            scene.add();
            scene.unlock();
        };
        let threads = [Scene::thread(&scene, add), Scene::thread(&scene, add)];
        scene.lock_outside();
        scene.add();
        scene.unlock();
        join(threads);
        assert!(scene.mutex.try_lock());
        assert_eq!(scene.number(), 3);
    });
}

#[test]
fn a_mutex_is_handed_over_again_and_again() {
    explore("mutex, two tasks twice each", 3, 1000, || {
        let scene = Scene::new(0, 0);
        let thread = Scene::thread(&scene, |scene| {
            for _ in 0..2 {
                scene.lock();
                scene.add();
                scene.unlock();
            }
        });
        for _ in 0..2 {
            scene.lock_outside();
            scene.add();
            scene.unlock();
        }
        thread.join().unwrap();
        assert!(scene.mutex.try_lock());
        assert_eq!(scene.number(), 4);
    });
}

/// Two tasks that wait before the holder unlocks get the mutex in their order.
#[test]
fn a_mutex_keeps_the_order() {
    explore("mutex, order of two waiters", 2, 10, || {
        let scene = Scene::new(0, 0);
        assert!(scene.mutex.try_lock());
        let nodes = [Node::default(), Node::default(), Node::default()];
        // SAFETY: the nodes live until the end.
        unsafe {
            assert!(!scene.mutex.lock_or_link(&nodes[0]));
            assert!(!scene.mutex.lock_or_link(&nodes[1]));
        }
        let late = Scene::thread(&scene, |scene| {
            scene.lock();
            scene.add();
            scene.unlock();
        });
        for node in &nodes[..2] {
            let next = scene.mutex.unlock().expect("it is locked").expect("they wait");
            assert!(std::ptr::eq(next, node));
            grant(std::iter::once(next));
            scene.add();
        }
        scene.unlock();
        late.join().unwrap();
        assert!(scene.mutex.try_lock());
        assert_eq!(scene.number(), 3);
    });
}
