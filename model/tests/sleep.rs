//! Sleeping beside split deques: the shipped spawn and the shipped parking of kind `steal`, in
//! small scenes. A sleeper that is left beside a task is a deadlock, which loom reports.
#![cfg(loom)]

use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, fence};
use loom::thread::{self, JoinHandle};
use sched::idle::eventcount::Role;
use sched::policy::Policy;
use sched::queue::chaselev::ChaseLev;
use sched::queue::split::Split;
use sched::queue::{Deque, Owner, Portion, PrivatePart, Steal};
use sched::sys::fence::{self, Asymmetric};
use sched::task::Task;
use sched_model::{Modelled, Reached, count, explore, join, thread_with};
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

type Deck = Split<Asymmetric>;

/// Worker 0 spawns. A sleeper uses only its place's parker, so it may share worker 0's place.
type Scene = sched_model::Scene<Deck>;

/// Only the model's main thread calls this and `pop`.
fn spawn(scene: &Scene, i: usize) {
    scene.places[0].spawn(count, scene.cells[i].closure());
}

fn pop(scene: &Scene) -> bool {
    // SAFETY: the main thread occupies place 0.
    let mut owner = unsafe { Owner::new(scene.scheduler.deque(0)) };
    owner.pop().is_some()
}

/// A scene whose owner was asked once, has armed, and has no task. Cells 0 and 1 are used.
fn armed(workers: usize, tasks: usize) -> Arc<Scene> {
    let scene = Scene::new(workers, tasks);
    spawn(&scene, 0);
    spawn(&scene, 1);
    assert!(pop(&scene) && pop(&scene));
    scene
}

/// Takes worker 0's oldest task, public or not. Requests nothing.
fn rob(scene: &Scene) -> bool {
    scene.scheduler.deque(0).raid();
    steal(scene)
}

fn steal(scene: &Scene) -> bool {
    matches!(scene.scheduler.deque(0).steal(), Steal::Taken(_))
}

/// Worker `me` sleeps once, and takes nothing.
fn dozer(scene: &Arc<Scene>, me: usize) -> JoinHandle<()> {
    thread_with(scene, move |scene| {
        scene.scheduler.sleep(scene.places[me].mine(), Role::Sleeper);
    })
}

/// Worker `me` sleeps until it gets a task.
fn sleeper(scene: &Arc<Scene>, me: usize) -> JoinHandle<()> {
    thread_with(scene, move |scene| {
        let mut role = Role::Sleeper;
        loop {
            scene.scheduler.sleep(scene.places[me].mine(), role);
            role = Role::Searcher;
            if rob(scene) {
                scene.scheduler.wake_for_more(scene.places[me].mine());
                break;
            }
            thread::yield_now();
        }
    })
}

#[test]
fn a_sleeper_beside_its_first_task() {
    explore("sleep, first task", 4, 200, || {
        let scene = Scene::new(1, 1);
        let sleeper = sleeper(&scene, 0);
        spawn(&scene, 0);
        sleeper.join().unwrap();
    });
}

/// The second spawn makes the owner's pushes silent again. (A third preemption takes five minutes,
/// and no mutant needs it.)
#[test]
fn a_sleeper_beside_an_owner_that_arms() {
    explore("sleep, the owner arms and empties its deque", 2, 25_000, || {
        let scene = Scene::new(1, 3);
        let sleeper = sleeper(&scene, 0);
        spawn(&scene, 0);
        spawn(&scene, 1);
        let popped = pop(&scene) && pop(&scene);
        if popped {
            spawn(&scene, 2);
        }
        sleeper.join().unwrap();
    });
}

/// A join whose task was taken claims the owner's youngest task, and then restores it. A worker
/// that goes to sleep between the two does not see that task.
#[test]
fn a_sleeper_beside_a_failed_join() {
    explore("sleep, a failed join", 4, 200, || {
        let scene = armed(1, 3);
        let sleeper = sleeper(&scene, 0);
        spawn(&scene, 2);
        let other = Task { f: count, closure: std::ptr::null_mut() };
        assert!(!scene.scheduler.take_back(scene.places[0].mine(), other));
        sleeper.join().unwrap();
    });
}

#[test]
fn a_sleeper_beside_an_armed_owner() {
    explore("sleep, the owner is armed", 4, 200, || {
        let scene = armed(1, 3);
        let sleeper = sleeper(&scene, 0);
        spawn(&scene, 2);
        sleeper.join().unwrap();
    });
}

/// A thief takes the tasks that the sleeper would have seen, and does not search again.
#[test]
fn a_sleeper_and_a_thief_beside_an_owner_that_arms() {
    explore("sleep, the owner arms and a thief empties its deque", 2, 80_000, || {
        let scene = Scene::new(1, 3);
        spawn(&scene, 0);
        scene.scheduler.deque(0).raid(); // so the owner need not publish when it is asked next
        assert_eq!(scene.scheduler.sleepers().start_search(0), Role::Searcher); // as the thief
        let thief = thread_with(&scene, |scene| {
            scene.scheduler.deque(0).raid();
            steal(scene);
            steal(scene);
            scene.scheduler.wake_for_more(scene.places[0].mine());
        });
        let sleeper = dozer(&scene, 0);
        spawn(&scene, 1);
        spawn(&scene, 2); // it stays: the thief takes at most two
        sleeper.join().unwrap();
        thief.join().unwrap();
    });
}

/// A lone task has been taken: the next one is public at once, and a sleeper is woken for it.
#[test]
fn a_sleeper_beside_an_eager_owner() {
    explore("sleep, the owner is eager", 4, 200, || {
        let scene = Scene::new(2, 2);
        spawn(&scene, 0);
        assert!(scene.scheduler.rob(0, scene.places[1].mine()).is_some());
        let sleeper = dozer(&scene, 1);
        spawn(&scene, 1);
        assert!(scene.scheduler.deque(0).has_public(), "the task is public at once");
        sleeper.join().unwrap();
    });
}

/// Like `a_sleeper_beside_an_eager_owner`, but a thief pushes: its earlier pushes were silent.
#[test]
fn a_sleeper_beside_an_eager_thief() {
    explore("sleep, the thief is eager", 4, 200, || {
        let scene = armed(2, 4);
        scene.places[1].spawn(count, scene.cells[2].closure());
        assert!(scene.scheduler.rob(1, scene.places[0].mine()).is_some());
        let sleeper = dozer(&scene, 1);
        spawn(&scene, 3);
        assert!(scene.scheduler.deque(0).has_public(), "the task is public at once");
        sleeper.join().unwrap();
    });
}

/// A worker that does not search again asks the owner while the sleeper looks.
#[test]
fn a_sleeper_and_an_asker() {
    explore("sleep, somebody else asks", 3, 20_000, || {
        let scene = Scene::new(1, 4);
        spawn(&scene, 0);
        spawn(&scene, 1);
        pop(&scene);
        scene.scheduler.deque(0).ask();
        let sleeper = dozer(&scene, 0);
        let asker = thread_with(&scene, |scene| scene.scheduler.deque(0).ask());
        spawn(&scene, 2); // publishes, and arms
        pop(&scene);
        pop(&scene);
        spawn(&scene, 3); // it stays
        sleeper.join().unwrap();
        asker.join().unwrap();
    });
}

/// The essential race: an owner that was asked arms and pushes; a sleeper announces itself, asks
/// and looks; and a third worker asks. If the push was silent, the sleeper has seen the task.
#[test]
fn the_question_overwritten() {
    static SILENT: Reached = Reached::not_yet();
    explore("sleep, the question overwritten", 5, 60_000, || {
        let deque = Arc::new(Deck::new(usize::MAX).expect("there is memory"));
        let announced = Arc::new(AtomicBool::new(false));
        let pushed = Arc::new(AtomicBool::new(false));
        let task = Task { f: count, closure: std::ptr::null_mut() };
        // SAFETY: this thread is the only owner.
        let mut owner = unsafe { Owner::new(&*deque) };
        owner.push(task).expect("there is room");
        assert!(deque.raid()); // so the owner need not publish
        let sleeper = {
            let (deque, announced) = (Arc::clone(&deque), Arc::clone(&announced));
            let pushed = Arc::clone(&pushed);
            thread::spawn(move || {
                announced.store(true, Relaxed);
                fence(SeqCst);
                deque.ask();
                fence::heavy();
                pushed.load(Relaxed)
            })
        };
        let asker = thread_with(&deque, Deck::ask);
        owner.publish_and_rearm(Portion::Half, || announced.load(Relaxed));
        pushed.store(true, Relaxed);
        let silent = owner.put(task);
        SILENT.note(silent);
        asker.join().unwrap();
        assert!(sleeper.join().unwrap() || !silent);
    });
    SILENT.expect("a silent push");
}

#[test]
fn two_sleepers() {
    explore("sleep, two sleepers", 2, 100_000, || {
        let scene = Scene::new(3, 2);
        let sleepers = [sleeper(&scene, 1), sleeper(&scene, 2)];
        spawn(&scene, 0);
        spawn(&scene, 1);
        join(sleepers);
    });
}

/// Two workers search when a task that is about to end spawns its last task. Then one goes to
/// sleep, and the other finds a task elsewhere: the last task must not be left beside the sleeper.
fn a_sleeper_beside_a_last_spawn<D: Modelled>(
    name: &str,
    at_least: usize,
    prepare: fn(&sched_model::Scene<D>),
) {
    explore(name, 2, at_least, move || {
        let scene = sched_model::Scene::<D>::new(4, 3);
        prepare(&scene);
        for worker in [1, 2] {
            assert_eq!(scene.scheduler.sleepers().start_search(worker), Role::Searcher);
        }
        let finder = thread_with(&scene, |scene| {
            scene.scheduler.wake_for_more(scene.places[1].mine());
        });
        let sleeper = thread_with(&scene, |scene| {
            scene.scheduler.sleep(scene.places[2].mine(), Role::Searcher);
        });
        scene.places[0].spawn_last(count, scene.cells[0].closure());
        join([finder, sleeper]);
    });
}

#[test]
fn a_last_spawn_of_an_asked_owner() {
    let name = "sleep, a last spawn, the owner is asked";
    a_sleeper_beside_a_last_spawn::<Deck>(name, 250, |_| ());
}

#[test]
fn a_last_spawn_of_an_armed_owner() {
    let name = "sleep, a last spawn, the owner is armed";
    a_sleeper_beside_a_last_spawn::<Deck>(name, 200, |scene| {
        spawn(scene, 1);
        spawn(scene, 2);
        assert!(pop(scene) && pop(scene));
    });
}

#[test]
fn a_last_spawn_into_a_public_deque() {
    let name = "sleep, a last spawn, all of the deque is public";
    a_sleeper_beside_a_last_spawn::<ChaseLev>(name, 150, |_| ());
}
