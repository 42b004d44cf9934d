//! Sleeping beside split deques: the shipped spawn and the shipped park of kind `steal`, in small
//! scenes. A sleeper that is left beside a task is a deadlock, which loom reports.
#![cfg(loom)]

use loom::sync::Arc;
use loom::thread;
use sched::kind::stealing::Stealing;
use sched::queue::split::Split;
use sched::queue::{Deque, Owner, Steal};
use sched_model::{Cell, Worker, count, explore, scheduler};

type Deck = Split<false>;

/// Worker 0 spawns, worker 1 sleeps.
struct Scene {
    places: Vec<Worker<Deck>>,
    scheduler: Box<Stealing<Deck>>,
    cells: Vec<Cell>,
}

// SAFETY: each place is used by one thread; the rest is made to be shared.
unsafe impl Send for Scene {}
// SAFETY: as above.
unsafe impl Sync for Scene {}

impl Scene {
    fn new(workers: usize, cells: usize) -> Arc<Scene> {
        let scheduler = Box::new(scheduler(workers));
        Arc::new(Scene {
            places: (0..workers).map(|i| Worker::new(i, &scheduler)).collect(),
            scheduler,
            cells: (0..cells).map(|_| Cell::new()).collect(),
        })
    }

    /// Only the model's main thread calls this and `pop`.
    fn spawn(&self, i: usize) {
        self.places[0].spawn(count, self.cells[i].closure());
    }

    fn pop(&self) -> bool {
        // SAFETY: the main thread occupies place 0.
        let mut owner = unsafe { Owner::new(self.scheduler.deque(0)) };
        owner.pop().is_some()
    }

    /// Takes worker 0's oldest task, public or not. Asks nobody.
    fn rob(&self) -> bool {
        let deque = self.scheduler.deque(0);
        deque.raid();
        matches!(deque.steal(), Steal::Taken(_))
    }

    fn thread(this: &Arc<Self>, f: impl Fn(&Scene) + Send + 'static) -> thread::JoinHandle<()> {
        let scene = Arc::clone(this);
        thread::spawn(move || f(&scene))
    }

    /// Worker `me` sleeps once, and takes nothing.
    fn dozer(this: &Arc<Self>, me: usize) -> thread::JoinHandle<()> {
        Scene::thread(this, move |scene| {
            scene.scheduler.sleep(&scene.places[me], false);
        })
    }

    /// Worker `me` sleeps until it gets a task.
    fn sleeper(this: &Arc<Self>, me: usize) -> thread::JoinHandle<()> {
        Scene::thread(this, move |scene| {
            let mut searching = false;
            loop {
                scene.scheduler.sleep(&scene.places[me], searching);
                searching = true;
                if scene.rob() {
                    scene.scheduler.wake_for_more(&scene.places[me]);
                    break;
                }
                thread::yield_now();
            }
        })
    }
}

#[test]
fn a_sleeper_beside_its_first_task() {
    explore("sleep, first task", 4, 1, || {
        let scene = Scene::new(2, 1);
        let sleeper = Scene::sleeper(&scene, 1);
        scene.spawn(0);
        sleeper.join().unwrap();
    });
}

/// The second spawn makes the owner's puts silent again.
#[test]
fn a_sleeper_beside_an_owner_that_arms() {
    explore("sleep, the owner arms and empties its deque", 3, 1, || {
        let scene = Scene::new(2, 3);
        let sleeper = Scene::sleeper(&scene, 1);
        scene.spawn(0);
        scene.spawn(1);
        let popped = scene.pop() && scene.pop();
        if popped {
            scene.spawn(2);
        }
        sleeper.join().unwrap();
    });
}

#[test]
fn a_sleeper_beside_an_armed_owner() {
    explore("sleep, the owner is armed", 4, 1, || {
        let scene = Scene::new(2, 3);
        scene.spawn(0);
        scene.spawn(1);
        assert!(scene.pop() && scene.pop());
        let sleeper = Scene::sleeper(&scene, 1);
        scene.spawn(2);
        sleeper.join().unwrap();
    });
}

/// A thief takes the tasks that the sleeper would have seen, and does not come back.
#[test]
fn a_sleeper_and_a_thief_beside_an_owner_that_arms() {
    explore("sleep, the owner arms and a thief empties its deque", 2, 1, || {
        let scene = Scene::new(2, 3);
        scene.spawn(0);
        let thief = Scene::thread(&scene, |scene| {
            let sleepers = scene.scheduler.sleepers();
            if sleepers.start_search(1) {
                scene.rob();
                scene.rob();
                scene.scheduler.wake_for_more(&scene.places[1]);
            }
        });
        let sleeper = Scene::dozer(&scene, 1);
        scene.spawn(1);
        scene.spawn(2); // stays: the thief takes two at most
        sleeper.join().unwrap();
        thief.join().unwrap();
    });
}

/// Somebody who will not come back asks the owner while the sleeper looks.
#[test]
fn a_sleeper_and_an_asker() {
    explore("sleep, somebody else asks", 3, 1, || {
        let scene = Scene::new(2, 4);
        scene.spawn(0);
        scene.spawn(1);
        scene.pop();
        scene.scheduler.deque(0).ask();
        let sleeper = Scene::dozer(&scene, 1);
        let asker = Scene::thread(&scene, |scene| scene.scheduler.deque(0).ask());
        scene.spawn(2); // answers, and arms
        scene.pop();
        scene.pop();
        scene.spawn(3); // stays
        sleeper.join().unwrap();
        asker.join().unwrap();
    });
}

#[test]
fn two_sleepers() {
    explore("sleep, two sleepers", 1, 1, || {
        let scene = Scene::new(3, 2);
        let sleepers = [Scene::sleeper(&scene, 1), Scene::sleeper(&scene, 2)];
        scene.spawn(0);
        scene.spawn(1);
        for sleeper in sleepers {
            sleeper.join().unwrap();
        }
    });
}
