//! Waits with deadlines: a grant that meets a deadline is neither lost nor counted twice, and the
//! waiter that gives up leaves a line whose other waiters continue.

use crate::{Scene, grant, ring, suspend, wait, wait_until};
use loom::sync::{Arc, Mutex};
use loom::thread;
use sched::sync::cond;
use sched::sync::node::Node;
use sched_model::{Reached, explore, join, thread_with};

/// The entry of a waiter in a wheel (`deadline`). The lock is the wheel's.
pub struct Entry(Mutex<Option<Name>>);

/// The address of a waiter's node.
struct Name(*const Node);

// SAFETY: the waiter takes the name out before its node ends.
unsafe impl Send for Name {}

/// Nodes that outlive all threads that use them.
pub struct Nodes<const N: usize>(pub [Node; N]);

// SAFETY: loom checks the uses of the nodes.
unsafe impl<const N: usize> Send for Nodes<N> {}
// SAFETY: loom checks the uses of the nodes.
unsafe impl<const N: usize> Sync for Nodes<N> {}

impl Entry {
    pub fn of(node: &Node) -> Entry {
        Entry(Mutex::new(Some(Name(node))))
    }

    /// Does the work of the claim of `api::timed`, and carries out its decision.
    pub fn is_due(&self) {
        let mut entry = self.0.lock().unwrap();
        // SAFETY: the waiter takes the entry out, under the lock, before its node ends.
        let name = entry.take().and_then(|Name(node)| unsafe { Node::expire(node) });
        drop(entry);
        if let Some(name) = name.filter(|&name| name != 0) {
            ring(name);
        }
    }

    /// Like `Deadline::wait` of a task. True if the node was granted.
    pub fn wait(&self, node: &Node) -> bool {
        suspend(node, 0);
        self.0.lock().unwrap().take();
        node.is_granted()
    }
}

/// A deadline that comes now, for a thread: it expires its node itself. True if the node was
/// granted.
pub fn wait_no_longer(node: &Node) -> bool {
    // SAFETY: nobody else expires the node.
    unsafe { Node::expire(node) }.is_none()
}

impl Scene {
    /// Like the rest of `sem_wait_until` in `api::sync`. True if the caller has got a unit.
    fn end_sem_wait(&self, node: &Node, granted: bool) -> bool {
        // SAFETY: the node was linked to be able to leave.
        if !granted && unsafe { self.sem.leave(node) } {
            return false;
        }
        if !granted && node.revive() {
            wait(node);
        }
        assert!(node.is_granted());
        true
    }

    /// Waits for a unit, but no longer than until now.
    fn wait_briefly(&self) -> bool {
        let node = Node::default();
        // SAFETY: the node lives until it is granted, or has left.
        let got = unsafe { self.sem.wait_or_link_to_leave(&node) };
        got || self.end_sem_wait(&node, wait_no_longer(&node))
    }

    /// Waits for the group, but no longer than until now. True if the node was granted.
    fn group_wait_briefly(&self) -> bool {
        let node = Node::default();
        // SAFETY: the node lives until it is granted, or has left.
        unsafe { self.group.link(&node) }.into_iter().for_each(grant);
        // SAFETY: the node was linked above.
        wait_no_longer(&node) || !unsafe { self.group.leave_line(&node, grant) }
    }

    /// Waits for a signal, but no longer than until now. True if there was one. The caller holds
    /// the mutex before and after.
    fn cond_wait_briefly(&self) -> bool {
        let waiting = cond::Waiting::new(&self.cond, &self.mutex);
        // SAFETY: the node lives until it is granted, or has left.
        unsafe { self.cond.link_to_leave(&waiting) };
        self.unlock();
        // SAFETY: the node was linked above.
        if !wait_no_longer(&waiting.node) && unsafe { self.cond.leave(&waiting) } {
            self.lock();
            return false;
        }
        waiting.node.revive();
        wait_until(&waiting.node, 0, |node| self.has_mutex(node));
        true
    }
}

static EXPIRED: Reached = Reached::not_yet();
static GRANTED: Reached = Reached::not_yet();

/// A suspended task, its deadline and a post: the task continues once, with the unit or without.
#[test]
fn a_deadline_meets_a_post() {
    explore("sem, one waits with a deadline", 2, 100, || {
        let scene = Scene::new(0, 0);
        let node = Arc::new(Node::default());
        let entry = Arc::new(Entry::of(&node));
        let due = thread_with(&entry, Entry::is_due);
        let posts = thread_with(&scene, Scene::post);
        // SAFETY: the node lives until it is granted, or has left.
        let got = unsafe { scene.sem.wait_or_link_to_leave(&*node) }
            || scene.end_sem_wait(&node, entry.wait(&node));
        EXPIRED.note(!got);
        GRANTED.note(got);
        join([due, posts]);
        assert_ne!(scene.sem.try_wait(), got);
    });
    EXPIRED.expect("a wait that times out");
    GRANTED.expect("a wait that succeeds");
}

/// A suspended task continues at its deadline, although nobody posts.
#[test]
fn a_deadline_ends_a_wait() {
    explore("sem, one waits, nobody posts", 3, 50, || {
        let scene = Scene::new(0, 0);
        let node = Arc::new(Node::default());
        let entry = Arc::new(Entry::of(&node));
        let due = thread_with(&entry, Entry::is_due);
        // SAFETY: the node lives until it has left.
        assert!(!unsafe { scene.sem.wait_or_link_to_leave(&*node) });
        assert!(!scene.end_sem_wait(&node, entry.wait(&node)));
        due.join().unwrap();
        scene.post();
        assert!(scene.sem.try_wait());
    });
}

/// Two threads wait briefly, and one posts: at most one of the two has the unit.
#[test]
fn a_unit_is_for_one_of_those_that_give_up() {
    explore("sem, two give up, one posts", 1, 100, || {
        let scene = Scene::new(0, 0);
        let other = thread_with(&scene, |scene| usize::from(scene.wait_briefly()));
        let posts = thread_with(&scene, Scene::post);
        let got = usize::from(scene.wait_briefly()) + other.join().unwrap();
        posts.join().unwrap();
        assert_eq!(got + usize::from(scene.sem.try_wait()), 1);
    });
}

/// In a line of four the second and the third give up, and another comes: the others get units in
/// their order.
#[test]
fn the_middle_of_a_line_is_left() {
    explore("sem, four in line, two give up", 2, 50, || {
        let scene = Scene::new(0, 0);
        let nodes = Arc::new(Nodes(<[Node; 4]>::default()));
        for (i, node) in nodes.0.iter().enumerate() {
            // SAFETY: the nodes live until the end.
            let got = unsafe {
                match i {
                    1 | 2 => scene.sem.wait_or_link_to_leave(node),
                    _ => scene.sem.wait_or_link(node),
                }
            };
            assert!(!got);
        }
        let threads = [1, 2].map(|i| {
            let nodes = Arc::clone(&nodes);
            thread_with(&scene, move |scene| {
                let granted = wait_no_longer(&nodes.0[i]);
                assert!(!scene.end_sem_wait(&nodes.0[i], granted), "nobody posts yet");
            })
        });
        join(threads);
        scene.post();
        assert!(nodes.0[0].is_granted());
        scene.post();
        assert!(nodes.0[3].is_granted());
        scene.post();
        assert!(scene.sem.try_wait() && !scene.sem.try_wait());
    });
}

/// The first of a line gives up, while a unit comes: it is for the first or for the second.
#[test]
fn the_beginning_of_a_line_is_left() {
    explore("sem, the first gives up, one posts", 3, 100, || {
        let scene = Scene::new(0, 0);
        let nodes = Arc::new(Nodes(<[Node; 2]>::default()));
        for node in &nodes.0 {
            // SAFETY: the nodes live until the end.
            assert!(!unsafe { scene.sem.wait_or_link_to_leave(node) });
        }
        let first = {
            let (scene, nodes) = (Arc::clone(&scene), Arc::clone(&nodes));
            thread::spawn(move || scene.end_sem_wait(&nodes.0[0], wait_no_longer(&nodes.0[0])))
        };
        scene.post();
        if first.join().unwrap() {
            assert!(!nodes.0[1].is_granted());
            scene.post();
        }
        assert!(nodes.0[1].is_granted());
        scene.post();
        assert!(scene.sem.try_wait() && !scene.sem.try_wait());
    });
}

/// The last of a line gives up, while another comes.
#[test]
fn the_end_of_a_line_is_left() {
    explore("sem, the last gives up, another comes", 3, 10, || {
        let scene = Scene::new(0, 0);
        let nodes: [Node; 2] = Default::default();
        // SAFETY: the nodes live until the end.
        assert!(!unsafe { scene.sem.wait_or_link(&nodes[0]) });
        let leaves = thread_with(&scene, |scene| assert!(!scene.wait_briefly()));
        // SAFETY: as above.
        assert!(!unsafe { scene.sem.wait_or_link(&nodes[1]) });
        leaves.join().unwrap();
        scene.post();
        scene.post();
        assert!(nodes.iter().all(Node::is_granted));
    });
}

static LEFT: Reached = Reached::not_yet();

/// A waiter for a group gives up while the last task ends: the other waiter continues.
#[test]
fn one_of_two_gives_up_a_group() {
    explore("group, one of two gives up", 2, 1000, || {
        let scene = Scene::new(0, 0);
        scene.group.enter();
        let brief = thread_with(&scene, |scene| LEFT.note(!scene.group_wait_briefly()));
        let task = thread_with(&scene, |scene| {
            scene.add();
            scene.group_leave();
        });
        scene.group_wait();
        assert_eq!(scene.number(), 1);
        join([brief, task]);
        assert!(scene.group.is_over());
    });
    LEFT.expect("a waiter that gives up");
}

static SIGNALLED: Reached = Reached::not_yet();

/// A waiter gives up while another thread signals: the other waiter gets the signal, or the one
/// that was signalled passes it on.
#[test]
fn a_deadline_meets_a_signal() {
    explore("cond, one of two gives up", 1, 500, || {
        let scene = Scene::new(0, 0);
        let waits = thread_with(&scene, |scene| {
            scene.lock();
            while scene.number() == 0 {
                scene.cond_wait();
            }
            scene.unlock();
        });
        let signals = thread_with(&scene, |scene| {
            scene.section();
            scene.signal();
        });
        scene.lock();
        let signalled = scene.cond_wait_briefly();
        SIGNALLED.note(signalled);
        if signalled {
            scene.signal();
        }
        scene.unlock();
        join([waits, signals]);
        assert!(scene.mutex.try_lock());
    });
    SIGNALLED.expect("a signal to the one that gives up");
}
