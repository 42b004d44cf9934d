//! Mutex, condition, semaphore and barrier: each waiter continues, and has the awaited object
//! alone. A thread of the model stands for a task. To be suspended is to sleep until a bell rings;
//! the bell's address is the name that the task leaves. A lost wake-up is a deadlock, which loom
//! reports.
#![cfg(loom)]

use loom::cell::UnsafeCell;
use loom::sync::atomic::AtomicBool;
use loom::sync::{Arc, Notify};
use loom::thread::{self, JoinHandle};
use sched::sync::barrier::Barrier;
use sched::sync::cond::{self, Cond};
use sched::sync::members::Members;
use sched::sync::mutex::Mutex;
use sched::sync::node::{LASTING, Node};
use sched::sync::sem::Sem;
use sched::sys::atomic::Ordering;
use sched_model::{explore, join};

/// The bell that wakes a suspended task.
struct Bell {
    rung: AtomicBool,
    notify: Notify,
}

/// Waits until the node is granted, by a name that may be changed.
fn wait(node: &Node) {
    wait_by(node, 0);
}

/// Is suspended until the node is granted, by a name with these bits.
fn wait_by(node: &Node, bits: usize) {
    let bell = Arc::new(Bell { rung: AtomicBool::new(false), notify: Notify::new() });
    // The name is a count of the bell's: the thread that wakes may be late.
    let name = Arc::into_raw(Arc::clone(&bell));
    if node.leave_name(name.expose_provenance() | bits) {
        // As with the queues of tasks, the continued task sees what its waker did.
        while !bell.rung.load(Ordering::Acquire) {
            bell.notify.wait();
        }
        assert!(node.is_granted());
    } else {
        // SAFETY: nobody has learnt of the count.
        drop(unsafe { Arc::from_raw(name) });
    }
}

/// Waits for the object that `get_or_link` asks for, like a task that leaves its stack: the node
/// gets its name first, and is then linked.
fn wait_aside(get_or_link: impl FnOnce(&Node) -> bool) {
    let bell = Arc::new(Bell { rung: AtomicBool::new(false), notify: Notify::new() });
    let name = Arc::into_raw(Arc::clone(&bell));
    let node = Node::named(name.expose_provenance() | LASTING);
    if get_or_link(&node) {
        // SAFETY: nobody has learnt of the count.
        return drop(unsafe { Arc::from_raw(name) });
    }
    while !bell.rung.load(Ordering::Acquire) {
        bell.notify.wait();
    }
    assert!(node.is_granted());
}

/// Like `api::sync`.
fn grant(nodes: impl Iterator<Item = *const Node>) {
    for node in nodes {
        // SAFETY: the node was taken out of a list, once.
        if let Some(name) = unsafe { Node::grant(node) } {
            let name = std::ptr::with_exposed_provenance(name & !LASTING);
            // SAFETY: the name is a count that `wait_by` or `wait_aside` has left.
            let bell: Arc<Bell> = unsafe { Arc::from_raw(name) };
            bell.rung.store(true, Ordering::Release);
            bell.notify.notify();
        }
    }
}

/// All objects, and a number that the mutex guards: loom sees whether its uses are ordered.
struct Scene {
    mutex: Mutex,
    cond: Cond,
    sem: Sem,
    barrier: Barrier,
    group: Members,
    number: UnsafeCell<usize>,
    other: UnsafeCell<usize>,
}

// SAFETY: loom checks the uses of the numbers.
unsafe impl Send for Scene {}
// SAFETY: loom checks the uses of the numbers.
unsafe impl Sync for Scene {}

impl Scene {
    fn new(units: usize, size: usize) -> Arc<Scene> {
        Arc::new(Scene {
            mutex: Mutex::default(),
            cond: Cond::default(),
            sem: Sem::new(units),
            barrier: Barrier::new(size),
            group: Members::default(),
            number: UnsafeCell::new(0),
            other: UnsafeCell::new(0),
        })
    }

    fn thread(this: &Arc<Scene>, f: impl Fn(&Scene) + Send + 'static) -> JoinHandle<()> {
        let scene = Arc::clone(this);
        thread::spawn(move || f(&scene))
    }

    fn lock(&self) {
        if !self.mutex.try_lock() {
            // SAFETY: the node lives until it is granted.
            wait_aside(|node| unsafe { self.mutex.lock_or_link(node) });
        }
    }

    /// Like a thread that sleeps, or a task that helps.
    fn lock_outside(&self) {
        if !self.mutex.try_lock() {
            let node = Node::default();
            // SAFETY: the node lives until it is granted.
            if !unsafe { self.mutex.lock_or_link(&node) } {
                wait(&node);
            }
        }
    }

    fn unlock(&self) {
        grant(self.mutex.unlock().expect("it is locked").into_iter());
    }

    /// Like the wait for a group in `api::group`.
    fn group_wait(&self) {
        while !self.group.is_over() {
            let node = Node::default();
            // SAFETY: the node lives until it is granted.
            if let Some(nodes) = unsafe { self.group.link(&node) } {
                grant(nodes);
            }
            wait(&node);
        }
    }

    /// A task of the group ends; it was counted in.
    fn group_leave(&self) {
        // SAFETY: the task was counted in.
        grant(unsafe { self.group.leave() }.into_iter().flatten());
    }

    fn cond_wait(&self) {
        let waiting = cond::Waiting::new(&self.mutex);
        // SAFETY: the node lives until it is granted.
        unsafe { self.cond.link(&waiting) };
        self.unlock();
        wait(&waiting.node);
    }

    fn signal(&self) {
        // SAFETY: the node was taken out of the condition's list.
        grant(self.cond.signal().into_iter().filter(|&node| unsafe { cond::relock(node) }));
    }

    fn broadcast(&self) {
        // SAFETY: the nodes were taken out of the condition's list.
        grant(self.cond.broadcast().filter(|&node| unsafe { cond::relock(node) }));
    }

    fn wait(&self) {
        if !self.sem.try_wait() {
            // SAFETY: the node lives until it is granted.
            wait_aside(|node| unsafe { self.sem.wait_or_link(node) });
        }
    }

    /// Like a thread that sleeps, or a task that helps.
    fn wait_outside(&self) {
        let node = Node::default();
        // SAFETY: the node lives until it is granted.
        if !unsafe { self.sem.wait_or_link(&node) } {
            wait(&node);
        }
    }

    fn post(&self) {
        grant(self.sem.post().expect("there is room").into_iter());
    }

    fn arrive(&self) -> bool {
        let node = Node::default();
        // SAFETY: the node lives until it is granted.
        match unsafe { self.barrier.arrive(&node) } {
            None => {
                wait_by(&node, LASTING);
                false
            }
            Some(others) => {
                grant(others);
                true
            }
        }
    }

    fn add(&self) {
        // SAFETY: loom checks the access for races.
        self.number.with_mut(|number| unsafe { *number += 1 });
    }

    fn number(&self) -> usize {
        // SAFETY: loom checks the access for races.
        self.number.with(|number| unsafe { *number })
    }
}

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
        let threads = [Scene::thread(&scene, add), Scene::thread(&scene, add)];
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
        let posts = Arc::clone(&sem);
        let thread = thread::spawn(move || {
            // SAFETY: loom checks the access for races.
            grant(posts.with(|sem| unsafe { (*sem).post() }).expect("there is room").into_iter());
        });
        // SAFETY: the node lives until it is granted; loom checks the rest.
        wait_aside(|node| sem.with(|sem| unsafe { (*sem).wait_or_link(node) }));
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
            Scene::thread(&scene, wait),
            Scene::thread(&scene, Scene::wait_outside),
            Scene::thread(&scene, |scene| scene.post()),
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
        let other = Scene::thread(&scene, |scene| scene.post());
        scene.post();
        other.join().unwrap();
        assert!(nodes.iter().all(Node::is_granted));
        scene.post();
        assert!(scene.sem.try_wait());
    });
}

/// Each task sees what the others did before they arrived, and no task is in two rounds at once.
#[test]
fn a_barrier_in_rounds() {
    explore("barrier of two, three rounds", 3, 100, || {
        let scene = Scene::new(0, 2);
        let other = Scene::thread(&scene, |scene| {
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
        let threads = [Scene::thread(&scene, arrive), Scene::thread(&scene, arrive)];
        arrive(&scene);
        join(threads);
        assert_eq!(scene.number(), 1); // one task was signalled
    });
}

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
