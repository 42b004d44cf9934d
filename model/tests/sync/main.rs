//! Mutex, condition, semaphore, barrier and channel: each waiter continues, and has the awaited
//! object alone. A thread of the model stands for a task. A suspension is a sleep until a bell
//! rings; the bell's address is the task's name. A lost wake-up is a deadlock, which loom reports.
#![cfg(loom)]

mod barriers;
mod channels;
mod conditions;
mod crowds;
mod dags;
mod deadlines;
mod depends;
mod groups;
mod mutexes;
mod semaphores;

use loom::cell::UnsafeCell;
use loom::sync::atomic::AtomicBool;
use loom::sync::{Arc, Notify};
use sched::sync::barrier::Barrier;
use sched::sync::cond::{self, Cond};
use sched::sync::crowd::SERVER;
use sched::sync::members::Members;
use sched::sync::mutex::{Look, Mutex};
use sched::sync::node::{LASTING, Node};
use sched::sync::sem::Sem;
use sched::sys::atomic::Ordering;

/// The bell that wakes a suspended task.
struct Bell {
    rung: AtomicBool,
    notify: Notify,
}

impl Bell {
    /// The name holds a reference to the bell, since the thread that wakes may be late.
    fn new() -> (Arc<Bell>, *const Bell) {
        let bell = Arc::new(Bell { rung: AtomicBool::new(false), notify: Notify::new() });
        (Arc::clone(&bell), Arc::into_raw(bell))
    }

    fn wait(&self) {
        // As with the queues of tasks, the resumed task sees what its waker did.
        while !self.rung.load(Ordering::Acquire) {
            self.notify.wait();
        }
    }
}

/// Suspends the caller until the node is granted. The name that it leaves may be changed.
fn wait(node: &Node) {
    wait_by(node, 0);
}

/// Suspends the caller until the node is granted. The name that it leaves has these bits.
fn wait_by(node: &Node, bits: usize) {
    suspend(node, bits);
    assert!(node.is_granted());
}

/// Suspends the caller, if its node was not granted before, until its bell rings.
fn suspend(node: &Node, bits: usize) {
    let (bell, name) = Bell::new();
    if node.leave_name(name.expose_provenance() | bits) {
        bell.wait();
    } else {
        // SAFETY: nobody else has got the name.
        drop(unsafe { Arc::from_raw(name) });
    }
}

/// Waits for the object that `get_or_link` asks for, like a task that leaves its stack: the node
/// gets its name first, and is then linked. `has_it` is called when the node was granted.
fn wait_aside(get_or_link: impl FnOnce(&Node) -> bool, has_it: impl Fn(&Node) -> bool) {
    let (bell, name) = Bell::new();
    let node = Node::named(name.expose_provenance() | LASTING);
    if get_or_link(&node) {
        // SAFETY: nobody else has got the name.
        return drop(unsafe { Arc::from_raw(name) });
    }
    bell.wait();
    assert!(node.is_granted());
    if !has_it(&node) {
        wait_until(&node, LASTING, has_it);
    }
}

/// Waits until the node is granted, and `has_it` returns true.
fn wait_until(node: &Node, bits: usize, has_it: impl Fn(&Node) -> bool) {
    loop {
        wait_by(node, bits);
        if has_it(node) {
            return;
        }
    }
}

/// Like `api::sync`.
fn grant(nodes: impl Iterator<Item = *const Node>) {
    for node in nodes {
        // SAFETY: the node was taken out of a list, once.
        if let Some(name) = unsafe { Node::grant(node) } {
            ring(name);
        }
    }
}

/// Wakes the task that registered under this name, or calls the server with this name.
fn ring(name: usize) {
    if name & SERVER != 0 {
        return crowds::serve(std::ptr::with_exposed_provenance(name & !SERVER));
    }
    let name = std::ptr::with_exposed_provenance(name & !LASTING);
    // SAFETY: the waiter made the name from a reference, and gave that up.
    let bell: Arc<Bell> = unsafe { Arc::from_raw(name) };
    bell.rung.store(true, Ordering::Release);
    bell.notify.notify();
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

    fn lock(&self) {
        if !self.mutex.try_lock() {
            // SAFETY: the node lives until its thread holds the mutex.
            let lock_or_link = |node: &Node| unsafe { self.mutex.lock_or_link(node) };
            wait_aside(lock_or_link, |node| self.has_mutex(node));
        }
    }

    /// The node was granted. True if its thread holds the mutex.
    fn has_mutex(&self, node: &Node) -> bool {
        // SAFETY: the node was linked, and was granted just now.
        unsafe { self.mutex.lock_again_or_wait(node, Look::Once) }
    }

    /// Like a thread that sleeps, or a task that helps.
    fn lock_outside(&self) {
        if !self.mutex.try_lock() {
            let node = Node::default();
            // SAFETY: the node lives until its thread holds the mutex.
            if !unsafe { self.mutex.lock_or_link(&node) } {
                wait_until(&node, 0, |node| self.has_mutex(node));
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
        let waiting = cond::Waiting::new(&self.cond, &self.mutex);
        // SAFETY: the node lives until it is granted.
        unsafe { self.cond.link(&waiting) };
        self.unlock();
        wait_until(&waiting.node, 0, |node| self.has_mutex(node));
    }

    fn signal(&self) {
        // SAFETY: the node was taken out of the condition's list.
        grant(self.cond.signal().into_iter().filter_map(|node| unsafe { cond::relock(node) }));
    }

    fn broadcast(&self) {
        // SAFETY: the nodes were taken out of the condition's list.
        grant(self.cond.broadcast().filter_map(|node| unsafe { cond::relock(node) }));
    }

    fn wait(&self) {
        if !self.sem.try_wait() {
            // SAFETY: the node lives until it is granted.
            wait_aside(|node| unsafe { self.sem.wait_or_link(node) }, |_| true);
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

    fn section(&self) {
        self.lock();
        self.add();
        self.unlock();
    }

    /// Like `section`, by a thread that sleeps, or a task that helps.
    fn section_outside(&self) {
        self.lock_outside();
        self.add();
        self.unlock();
    }

    /// Waits in a section until another thread has changed the number, and adds to it.
    fn section_after_a_signal(&self, pass_on: impl FnOnce(&Scene)) {
        self.lock();
        while self.number() == 0 {
            self.cond_wait();
        }
        self.add();
        pass_on(self);
        self.unlock();
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
