//! Whole runs with three or four workers, with the shipped policies, deques, injector, event count
//! and quiescence: every task runs once, no run ends before its tasks, and every worker's loop
//! ends. A lost wake-up is a deadlock, which shuttle reports. Loom does not finish these scenarios.
#![cfg(loom)]

use loom::sync::Arc;
use sched::policy::Policy;
use sched::policy::shared::{self, Shared};
use sched::queue::chaselev::ChaseLev;
use sched::queue::injector::Refused;
use sched::queue::split::Split;
use sched::sync::members::Members;
use sched::sync::node::Node;
use sched::sys::fence::Asymmetric;
use sched::task::{Scheduler, Task};
use sched_model::{
    Cell, LoomMonitor, ModelledPolicy, SceneOf, SmallRing, closure_of, count, explore, join,
    task_of, thread_with, wait_for_rest,
};
use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};

type Stealing<D> = sched::policy::stealing::Stealing<D>;
type Lifo = Shared<LoomMonitor, shared::Lifo>;
type Fifo = Shared<LoomMonitor, shared::Fifo>;

/// How many changes of priorities a schedule has, at most.
const CHANGES: usize = 4;

fn explore_whole(name: &str, model: impl Fn() + Sync + Send + 'static) {
    explore(name, CHANGES, 1, model);
}

/// A binary tree: node i has the children 2 i + 1 and 2 i + 2. A node is its task's closure.
struct Tree {
    nodes: Vec<(AtomicUsize, usize)>,
}

impl Tree {
    fn new(nodes: usize) -> Arc<Tree> {
        Arc::new(Tree { nodes: (0..nodes).map(|i| (AtomicUsize::new(0), i)).collect() })
    }

    fn each_ran_once(&self) {
        let counts = self.nodes.iter().map(|node| node.0.load(Ordering::Relaxed));
        assert!(counts.clone().all(|n| n == 1), "{:?}", counts.collect::<Vec<_>>());
    }
}

unsafe extern "C" fn grow<P: ModelledPolicy>(at: *mut c_void, s: *mut Scheduler) {
    // SAFETY: the models pass a node of a tree, as `Tree` describes.
    let (nodes, worker) = unsafe { task_of::<P, (AtomicUsize, usize)>(at, s) };
    let (ran, i) = nodes;
    let here = std::ptr::from_ref(nodes);
    // SAFETY: node i is behind i others.
    let root = unsafe { here.sub(*i) };
    TREE_SIZE.with(|size| {
        for child in [2 * i + 1, 2 * i + 2].into_iter().filter(|&child| child < size.get()) {
            let child = root.wrapping_add(child).cast_mut().cast();
            worker.spawn(grow::<P>, child);
        }
    });
    ran.fetch_add(1, Ordering::Relaxed);
}

thread_local! {
    /// A model and its threads run on one thread.
    static TREE_SIZE: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

fn a_tree<P: ModelledPolicy>(name: &str, workers: usize, tasks: usize) {
    explore_whole(name, move || {
        TREE_SIZE.set(tasks);
        let (scene, tree) = (SceneOf::<P>::new(workers, 0), Tree::new(tasks));
        scene.places[0].spawn(grow::<P>, closure_of(&tree.nodes[0]));
        let others = SceneOf::run(&scene);
        tree.each_ran_once();
        join(others);
    });
}

#[test]
fn split_a_tree() {
    a_tree::<Stealing<Split<Asymmetric>>>("whole: split, a tree of 15 on 4 workers", 4, 15);
}

#[test]
fn chaselev_a_tree() {
    a_tree::<Stealing<ChaseLev>>("whole: chaselev, a tree of 15 on 4 workers", 4, 15);
}

/// The ring has two slots: half of it goes to the injector again and again.
#[test]
fn ring_a_tree_that_overflows() {
    a_tree::<Stealing<SmallRing>>("whole: ring of 2, a tree of 15 on 3 workers", 3, 15);
}

#[test]
fn lifo_a_tree() {
    a_tree::<Lifo>("whole: lifo, a tree of 15 on 4 workers", 4, 15);
}

#[test]
fn fifo_a_tree() {
    a_tree::<Fifo>("whole: fifo, a tree of 15 on 4 workers", 4, 15);
}

/// Two threads outside the run spawn tasks until the run refuses one. All accepted tasks have run
/// when worker 0 returns.
fn foreign_tasks<P: ModelledPolicy>(name: &str) {
    explore_whole(name, || {
        TREE_SIZE.set(7);
        let (scene, tree) = (SceneOf::<P>::new(3, 4), Tree::new(7));
        scene.places[0].spawn(grow::<P>, closure_of(&tree.nodes[0]));
        let outside: Vec<_> = (0..2)
            .map(|i| {
                thread_with(&scene, move |scene| {
                    for cell in &scene.cells[2 * i..2 * i + 2] {
                        let task = Task { f: count, closure: cell.closure() };
                        match scene.scheduler.inject(&scene.places[0], task) {
                            Ok(()) => cell.add(), // twice, if it was accepted and has run
                            Err(Refused::Closed) => return,
                            Err(Refused::Full) => panic!("there is memory"),
                        }
                    }
                })
            })
            .collect();
        let others = SceneOf::run(&scene);
        tree.each_ran_once();
        join(others);
        join(outside);
        for cell in &scene.cells {
            assert!([0, 2].contains(&cell.get()), "accepted, and not run once: {}", cell.get());
        }
    });
}

#[test]
fn split_foreign_tasks() {
    foreign_tasks::<Stealing<Split<Asymmetric>>>("whole: split, foreign tasks, 3 workers");
}

#[test]
fn chaselev_foreign_tasks() {
    foreign_tasks::<Stealing<ChaseLev>>("whole: chaselev, foreign tasks, 3 workers");
}

/// A pool gets tasks from two threads, each of which waits twice for a rest. Then it is destroyed.
#[test]
fn split_a_pool() {
    type P = Stealing<Split<Asymmetric>>;
    explore_whole("whole: split, a pool of 3 workers, two users", || {
        let scene = SceneOf::<P>::held(3, 4);
        let workers = SceneOf::start(&scene, 0..3);
        let users: Vec<_> = (0..2)
            .map(|i| {
                thread_with(&scene, move |scene| {
                    for cell in &scene.cells[2 * i..2 * i + 2] {
                        scene.places[0].inject(count, cell.closure());
                        wait_for_rest(&*scene.scheduler);
                        assert_eq!(cell.get(), 1, "the wait has returned before the task");
                    }
                })
            })
            .collect();
        join(users);
        scene.scheduler.release();
        join(workers);
    });
}

/// A task that spawns two others and waits, suspended, for them: its second half is another task.
struct Parent {
    members: Members,
    node: Node,
    ran: [Cell; 2],
    done: Cell,
}

// SAFETY: the node belongs to the task and to the thread that ends the group, in turn.
unsafe impl Send for Parent {}
// SAFETY: as above.
unsafe impl Sync for Parent {}

unsafe extern "C" fn parents<P: ModelledPolicy>(all: *mut c_void, s: *mut Scheduler) {
    // SAFETY: the model passes its parents.
    let (parents, worker) = unsafe { task_of::<P, Vec<Parent>>(all, s) };
    for parent in parents {
        worker.spawn(waits::<P>, closure_of(parent));
    }
}

unsafe extern "C" fn waits<P: ModelledPolicy>(closure: *mut c_void, s: *mut Scheduler) {
    // SAFETY: the model passes a parent.
    let (parent, worker) = unsafe { task_of::<P, Parent>(closure, s) };
    for child in [child::<P, 0>, child::<P, 1>] {
        parent.members.enter();
        worker.spawn(child, closure);
    }
    worker.scheduler().hold(worker);
    // SAFETY: the node lives until the run has ended.
    if let Some(nodes) = unsafe { parent.members.link(&parent.node) } {
        for node in nodes {
            // SAFETY: the node was taken out just now.
            assert!(unsafe { Node::grant(node) }.is_none(), "it has not left its name");
        }
    }
    if !parent.node.leave_name(closure.expose_provenance()) {
        worker.scheduler().let_go(worker);
        goes_on(parent);
    }
}

fn goes_on(parent: &Parent) {
    assert!(parent.ran.iter().all(|ran| ran.get() == 1));
    parent.done.add();
}

unsafe extern "C" fn resume<P: ModelledPolicy>(closure: *mut c_void, s: *mut Scheduler) {
    // SAFETY: the model passes a parent.
    let (parent, worker) = unsafe { task_of::<P, Parent>(closure, s) };
    worker.scheduler().let_go(worker);
    goes_on(parent);
}

unsafe extern "C" fn child<P: ModelledPolicy, const I: usize>(
    closure: *mut c_void,
    s: *mut Scheduler,
) {
    // SAFETY: the model passes a parent.
    let (parent, worker) = unsafe { task_of::<P, Parent>(closure, s) };
    parent.ran[I].add();
    // SAFETY: `waits` has counted the task in.
    for node in unsafe { parent.members.leave() }.into_iter().flatten() {
        // SAFETY: the node was taken out just now.
        if let Some(name) = unsafe { Node::grant(node) } {
            worker.spawn(resume::<P>, std::ptr::with_exposed_provenance_mut(name));
        }
    }
}

fn suspended_parents<P: ModelledPolicy>(name: &str) {
    explore_whole(name, || {
        let scene = SceneOf::<P>::new(3, 0);
        let new = |_| Parent {
            members: Members::default(),
            node: Node::default(),
            ran: [Cell::new(), Cell::new()],
            done: Cell::new(),
        };
        let all: Vec<Parent> = (0..3).map(new).collect();
        scene.places[0].spawn(parents::<P>, closure_of(&all));
        let others = SceneOf::run(&scene);
        assert!(all.iter().all(|parent| parent.done.get() == 1), "a parent has not gone on");
        join(others);
    });
}

#[test]
fn split_suspended_parents() {
    suspended_parents::<Stealing<Split<Asymmetric>>>("whole: split, 3 suspended parents");
}

#[test]
fn chaselev_suspended_parents() {
    suspended_parents::<Stealing<ChaseLev>>("whole: chaselev, 3 suspended parents");
}
