//! Mutexes: each waiter gets the mutex once, and alone.

use crate::{Scene, wait_until};
use sched::sync::node::{Node, PATIENCE};
use sched_model::{explore, explore_seeing, join, saw, thread_with};

#[test]
fn a_mutex_excludes() {
    explore("mutex, three tasks", 2, 1000, || {
        let scene = Scene::new(0, 0);
        let threads = [thread_with(&scene, Scene::section), thread_with(&scene, Scene::section)];
        scene.section_outside();
        join(threads);
        assert!(scene.mutex.try_lock());
        assert_eq!(scene.number(), 3);
    });
}

#[test]
fn a_mutex_is_handed_over_again_and_again() {
    explore("mutex, two tasks twice each", 3, 1000, || {
        let scene = Scene::new(0, 0);
        let thread = thread_with(&scene, |scene| {
            for _ in 0..2 {
                scene.section();
            }
        });
        for _ in 0..2 {
            scene.section_outside();
        }
        thread.join().unwrap();
        assert!(scene.mutex.try_lock());
        assert_eq!(scene.number(), 4);
    });
}

/// Two waiting tasks get the mutex in their order, even if others overtake them.
#[test]
fn a_mutex_keeps_the_order() {
    explore_seeing("nobody has overtaken", "mutex, order of two waiters", 3, 1000, || {
        let scene = Scene::new(0, 0);
        assert!(scene.mutex.try_lock());
        let nodes = [Node::default(), Node::default()];
        // SAFETY: the nodes live until the end.
        unsafe {
            assert!(!scene.mutex.lock_or_link(&nodes[0]));
            assert!(!scene.mutex.lock_or_link(&nodes[1]));
        }
        let other = thread_with(&scene, Scene::section);
        scene.unlock();
        for (i, node) in nodes.iter().enumerate() {
            wait_until(node, 0, |node| scene.has_mutex(node));
            saw(scene.number() - i);
            scene.add();
            scene.unlock();
        }
        other.join().unwrap();
        assert!(scene.mutex.try_lock());
        assert_eq!(scene.number(), 3);
    });
}

/// A waiting task is overtaken as often as is allowed, and then gets the mutex.
#[test]
fn a_waiter_is_overtaken_so_often() {
    const MOST: usize = PATIENCE as usize;
    explore_seeing("the bound was not reached", "mutex, one is overtaken", 3, 10_000, || {
        let scene = Scene::new(0, 0);
        assert!(scene.mutex.try_lock());
        let node = Node::default();
        // SAFETY: the node lives until the end.
        assert!(!unsafe { scene.mutex.lock_or_link(&node) });
        let other = thread_with(&scene, |scene| {
            for _ in 0..=MOST {
                scene.section_outside();
            }
        });
        scene.unlock();
        wait_until(&node, 0, |node| scene.has_mutex(node));
        let overtaken = scene.number();
        assert!(overtaken <= MOST, "overtaken {overtaken} times");
        saw(usize::from(overtaken == MOST));
        scene.add();
        scene.unlock();
        other.join().unwrap();
        assert_eq!(scene.number(), MOST + 2);
    });
}
