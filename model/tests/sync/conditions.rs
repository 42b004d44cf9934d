//! Conditions: no signal is lost, and each wakes one waiter.

use crate::Scene;
use sched_model::{explore, join, thread_with};

#[test]
fn a_signal_is_not_lost() {
    explore("cond, one waits, one signals", 3, 100, || {
        let scene = Scene::new(0, 0);
        let waits = thread_with(&scene, |scene| scene.section_after_a_signal(|_| ()));
        scene.section();
        scene.signal(); // without the mutex
        waits.join().unwrap();
        assert_eq!(scene.number(), 2);
    });
}

/// Two threads wait for the number to change. The thread that changes it calls `wake`; each waiter
/// calls `pass_on` before it unlocks.
fn two_wait(name: &str, wake: fn(&Scene), pass_on: fn(&Scene)) {
    explore(name, 2, 1000, move || {
        let scene = Scene::new(0, 0);
        let waits = move |scene: &Scene| scene.section_after_a_signal(pass_on);
        let threads = [thread_with(&scene, waits), thread_with(&scene, waits)];
        scene.lock();
        scene.add();
        wake(&scene);
        scene.unlock();
        join(threads);
        assert_eq!(scene.number(), 3);
    });
}

#[test]
fn all_hear_a_broadcast() {
    two_wait("cond, two wait, one broadcasts", Scene::broadcast, |_| ());
}

#[test]
fn each_signal_wakes_one() {
    two_wait("cond, two wait, each passes it on", Scene::signal, Scene::signal);
}

/// A signal without the mutex, which others want: the signaller locks it for a moment.
#[test]
fn a_signal_meets_a_newcomer() {
    explore("cond, a signal and a newcomer", 2, 1000, || {
        let scene = Scene::new(0, 0);
        let waits = thread_with(&scene, |scene| scene.section_after_a_signal(|_| ()));
        let newcomer = thread_with(&scene, |scene| {
            scene.section_outside();
            scene.signal();
        });
        scene.section_outside();
        join([waits, newcomer]);
        assert!(scene.mutex.try_lock());
        assert_eq!(scene.number(), 3);
    });
}
