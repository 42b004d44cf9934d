//! Conditions: no signal is lost, and each wakes one waiter.

use crate::Scene;
use sched_model::{explore, join};

#[test]
fn a_signal_is_not_lost() {
    explore("cond, one waits, one signals", 3, 100, || {
        let scene = Scene::new(0, 0);
        let waits = Scene::thread(&scene, |scene| {
            scene.lock();
            while scene.number() == 0 {
                scene.cond_wait();
            }
            scene.add();
            scene.unlock();
        });
        scene.lock();
        scene.add();
        scene.unlock();
        scene.signal(); // without the mutex
        waits.join().unwrap();
        assert_eq!(scene.number(), 2);
    });
}

#[test]
fn all_hear_a_broadcast() {
    explore("cond, two wait, one broadcasts", 2, 1000, || {
        let scene = Scene::new(0, 0);
        let waits = |scene: &Scene| {
            scene.lock();
            while scene.number() == 0 {
                scene.cond_wait();
            }
            scene.add();
            scene.unlock();
        };
        let threads = [Scene::thread(&scene, waits), Scene::thread(&scene, waits)];
        scene.lock();
        scene.add();
        scene.broadcast();
        scene.unlock();
        join(threads);
        assert_eq!(scene.number(), 3);
    });
}

#[test]
fn each_signal_wakes_one() {
    explore("cond, two wait, each passes it on", 2, 1000, || {
        let scene = Scene::new(0, 0);
        let waits = |scene: &Scene| {
            scene.lock();
            while scene.number() == 0 {
                scene.cond_wait();
            }
            scene.add();
            scene.signal();
            scene.unlock();
        };
        let threads = [Scene::thread(&scene, waits), Scene::thread(&scene, waits)];
        scene.lock();
        scene.add();
        scene.signal();
        scene.unlock();
        join(threads);
        assert_eq!(scene.number(), 3);
    });
}
