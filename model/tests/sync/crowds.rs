//! The waiters of a mutex that have a deadline: each gets the mutex, alone, or gives up. Afterwards
//! the mutex is free.

use crate::deadlines::{Entry, Nodes, wait_no_longer};
use crate::{Scene, grant, ring, wait};
use loom::sync::Arc;
use loom::thread::JoinHandle;
use sched::sync::crowd::{Crowds, Granted, Server};
use sched::sync::node::Node;
use sched_model::{Reached, explore, join, thread_with};

loom::lazy_static! {
    static ref CROWDS: Crowds = Crowds::new();
}

/// Like `serve_crowd` in `api::until`.
pub fn serve(server: *const Server) {
    // SAFETY: the delegate of the crowd was granted.
    match unsafe { CROWDS.find_holder(server) } {
        Ok(Granted { name, .. }) => name.into_iter().for_each(ring),
        Err(mutex) => grant(mutex.unlock().expect("it is locked").into_iter()),
    }
}

/// # Safety
/// The name of a server is its address: see `serve`.
unsafe fn not_called(_: *const Server) {
    unreachable!("the models call `serve`");
}

/// The sections of tasks with a deadline, and the tasks that have given up.
static LOCKED: Reached = Reached::not_yet();
static GAVE_UP: Reached = Reached::not_yet();

impl Scene {
    /// Like `mutex_lock_until` in `api::until`, with a section. `wait` returns true if the node was
    /// granted.
    fn lock_until(&self, node: &Node, wait: impl FnOnce(&Node) -> bool) {
        let holds = self.mutex.try_lock() || {
            // SAFETY: the node lives until it is granted, or has left the crowd.
            unsafe { CROWDS.join(&self.mutex, node, not_called) }.expect("there is memory")
        };
        // SAFETY: the node has joined the crowd, and the wait has ended.
        let holds = holds || wait(node) || !unsafe { CROWDS.leave(&self.mutex, node) };
        if holds {
            self.add();
            self.unlock();
        }
        LOCKED.note(holds);
        GAVE_UP.note(!holds);
    }

    /// A task whose deadline has come when it has joined.
    fn lock_briefly(&self) {
        self.lock_until(&Node::default(), |node| wait_no_longer(node) && node.is_granted());
    }

    /// A task with a late deadline.
    fn lock_at_length(&self) {
        let granted = |node: &Node| {
            wait(node);
            true
        };
        self.lock_until(&Node::default(), granted);
    }
}

/// Explores `tasks` beside a section of the main thread, which has begun before.
fn beside_a_section(
    name: &str,
    (preemptions, at_least): (usize, usize),
    tasks: impl Fn(&Arc<Scene>) -> Vec<JoinHandle<()>> + Sync + Send + 'static,
) {
    explore(name, preemptions, at_least, move || {
        let scene = Scene::new(0, 0);
        assert!(scene.mutex.try_lock());
        let threads = tasks(&scene);
        scene.add();
        scene.unlock();
        join(threads);
        assert!(scene.mutex.try_lock());
    });
}

/// The deadline of a suspended task comes as the mutex is handed over.
#[test]
fn a_deadline_meets_an_unlock() {
    beside_a_section("crowd, a deadline meets an unlock", (3, 11_000), |scene| {
        let nodes = Arc::new(Nodes([Node::default()]));
        let entry = Arc::new(Entry::of(&nodes.0[0]));
        let due = Arc::clone(&entry);
        let task = thread_with(scene, move |scene| {
            scene.lock_until(&nodes.0[0], |node| entry.wait(node));
        });
        vec![task, thread_with(scene, move |_| due.is_due())]
    });
    LOCKED.expect("a task that gets the mutex");
    GAVE_UP.expect("a task that gives up");
}

/// One of two waiters gives up.
#[test]
fn one_of_two_gives_up() {
    beside_a_section("crowd, one of two gives up", (3, 18_000), |scene| {
        vec![thread_with(scene, Scene::lock_briefly), thread_with(scene, Scene::lock_at_length)]
    });
}

#[test]
fn two_wait() {
    beside_a_section("crowd, two wait", (2, 5_500), |scene| {
        vec![thread_with(scene, Scene::lock_at_length), thread_with(scene, Scene::lock_at_length)]
    });
}

/// A waiter without a deadline stands in the same line.
#[test]
fn a_waiter_beside_the_delegate() {
    beside_a_section("crowd, a waiter beside the delegate", (2, 3_500), |scene| {
        vec![thread_with(scene, Scene::lock_at_length), thread_with(scene, Scene::section)]
    });
}
