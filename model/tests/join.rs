//! Fork and join, and the wait for a group, in kind `steal`: the shipped `help`, `rouse` and
//! parking, and the shipped states of descriptors and groups; in small scenes, and in whole runs
//! with the shipped worker loop. If a waiter's wake-up is lost, or a waiter sleeps beside a task,
//! loom reports a deadlock. One file: scenes and runs share the worker and the descriptors below.
#![cfg(loom)]

use loom::sync::Arc;
use loom::sync::atomic::AtomicUsize;
use loom::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use loom::thread::{self, JoinHandle};
use sched::idle::eventcount::Role;
use sched::policy::{Awaited, Parts, Place};
use sched::queue::chaselev::ChaseLev;
use sched::queue::split::Split;
use sched::queue::{PrivatePart, Steal};
use sched::sync::forked::Forked as State;
use sched::sync::members::Members;
use sched::sync::node::Node;
use sched::sys::fence::Asymmetric;
use sched::task::{Scheduler, Task, TaskFn};
use sched_model::{
    Cell, Latch, Modelled, Scene, Worker, closure_of, explore, explore_seeing, join, models, open,
    saw, thread_with,
};
use std::ffi::c_void;
use std::marker::PhantomData;
use std::mem::offset_of;

/// A forked task's descriptor, with the cell that its task increments.
struct Forked {
    state: State,
    /// Written by the task, read after the join.
    ran: Cell,
}

/// The name of a worker in a state: not 0.
fn name_of<D: Modelled>(worker: &Worker<D>) -> usize {
    (Place::index(worker) + 1) << 4
}

fn rouse<D: Modelled>(from: &Worker<D>, name: usize) {
    from.rouse((name >> 4) - 1);
}

impl Forked {
    fn new(f: TaskFn) -> Self {
        let state = State::unset();
        state.set(f, std::ptr::null_mut()); // the task gets the descriptor as its closure
        Forked { state, ran: Cell::new() }
    }

    fn closure(&self) -> *mut c_void {
        closure_of(self)
    }

    fn fork<D: Modelled>(&self, worker: &Worker<D>) {
        worker.spawn(run_forked::<D>, self.closure());
    }

    fn join<D: Modelled>(&self, worker: &Worker<D>) {
        worker.help(&Join::<D> { task: self, name: name_of(worker), deque: PhantomData });
        assert_eq!(self.ran.get(), 1);
    }
}

struct Join<'a, D> {
    task: &'a Forked,
    name: usize,
    deque: PhantomData<D>,
}

impl<D: Modelled> Awaited for Join<'_, D> {
    fn over(&self) -> bool {
        self.task.state.is_over()
    }

    fn enlist(&self) -> bool {
        self.task.state.leave_name(self.name).is_some()
    }

    fn thief(&self) -> Option<usize> {
        let runner = self.task.state.runner()?;
        // SAFETY: `run_forked` has passed its worker as the runner.
        Some(Place::index(unsafe { Worker::<D>::of(runner.cast()) }))
    }
}

unsafe extern "C" fn run_forked<D: Modelled>(descriptor: *mut c_void, s: *mut Scheduler) {
    // SAFETY: the models fork descriptors that live until they are joined; `s` is a model's worker.
    let (forked, worker) = unsafe { (&*descriptor.cast::<Forked>(), Worker::<D>::of(s)) };
    // SAFETY: the task was taken out of a queue; the models' tasks are functions of their type.
    unsafe {
        let Task { f, .. } = forked.state.begin(s.cast());
        f(descriptor, s);
    }
    forked.ran.add();
    if let Some(waiter) = forked.state.end() {
        rouse(worker, waiter);
    }
}

/// Runs `root` on all workers.
fn complete<D: Modelled>(workers: usize, root: TaskFn) {
    let scene = Scene::<D>::new(workers, 1);
    scene.places[0].spawn(root, scene.cells[0].closure());
    let others = Scene::run(&scene);
    assert_eq!(scene.cells[0].get(), 1, "the run has ended before its first task");
    join(others);
}

fn sleeps<D: Modelled>(worker: &Worker<D>) -> usize {
    Place::counters(worker).parks.get()
}

fn explore_sleeps(
    name: &str,
    preemptions: usize,
    at_least: usize,
    model: impl Fn() + Sync + Send + 'static,
) {
    explore_seeing("nobody slept in a wait", name, preemptions, at_least, model);
}

unsafe extern "C" fn nothing(_: *mut c_void, _: *mut Scheduler) {}

// --- whole runs ---------------------------------------------------------------------------------

/// A child that blocks until a task that it spawned has run on the other worker: the worker of its
/// waiter, which may have gone to sleep.
#[repr(C)]
struct Blocking {
    forked: Forked,
    latch: Arc<Latch>,
}

impl Blocking {
    fn new(f: TaskFn) -> Self {
        Blocking { forked: Forked::new(f), latch: Latch::new() }
    }
}

// SAFETY: the fields are loom's, or never written.
unsafe impl Send for Blocking {}
// SAFETY: the fields are loom's, or never written.
unsafe impl Sync for Blocking {}

unsafe extern "C" fn block<D: Modelled>(descriptor: *mut c_void, s: *mut Scheduler) {
    // SAFETY: the descriptor is the first field of a Blocking.
    let (child, worker) = unsafe { (&*descriptor.cast::<Blocking>(), Worker::<D>::of(s)) };
    worker.spawn(open, closure_of(&*child.latch));
    child.latch.wait();
}

unsafe extern "C" fn fork_a_blocking_one<D: Modelled>(closure: *mut c_void, s: *mut Scheduler) {
    // SAFETY: `complete` passes a cell.
    let (done, worker) = unsafe { (Cell::of(closure), Worker::<D>::of(s)) };
    let child = Blocking::new(block::<D>);
    let before = sleeps(worker);
    child.forked.fork(worker);
    child.forked.join(worker);
    saw(sleeps(worker) - before);
    done.add();
}

fn a_child_that_blocks<D: Modelled>(preemptions: usize, at_least: usize) {
    let name = format!("join over {}, a child that blocks for a task", D::NAME);
    explore_sleeps(&name, preemptions, at_least, || complete::<D>(2, fork_a_blocking_one::<D>));
}

unsafe extern "C" fn fork_another<D: Modelled>(_: *mut c_void, s: *mut Scheduler) {
    // SAFETY: `s` is a worker of the model.
    let worker = unsafe { Worker::<D>::of(s) };
    let child = Forked::new(nothing);
    child.fork(worker);
    child.join(worker);
}

// --- a group --------------------------------------------------------------------------------

struct Group {
    members: Members,
    ran: [Cell; 2],
}

struct Wait<'a> {
    node: &'a Node,
    name: usize,
}

impl Awaited for Wait<'_> {
    fn over(&self) -> bool {
        self.node.is_granted()
    }

    fn enlist(&self) -> bool {
        self.node.leave_name(self.name)
    }
}

fn leave<D: Modelled>(group: &Group, from: &Worker<D>) {
    // SAFETY: the task was counted in before.
    if let Some(nodes) = unsafe { group.members.leave() } {
        grant(nodes, |name| rouse(from, name));
    }
}

fn grant(nodes: impl Iterator<Item = *const Node>, wake: impl Fn(usize)) {
    // SAFETY: the nodes were taken out of a group.
    nodes.filter_map(|node| unsafe { Node::grant(node) }).for_each(wake);
}

// --- scenes: worker 0 waits for what the others do ------------------------------------------

/// The `s` of a task that is called, not taken out of a queue.
fn handle<D: Modelled>(worker: &Worker<D>) -> *mut Scheduler {
    std::ptr::from_ref(worker).cast_mut().cast()
}

/// Runs the child as a thief does.
fn thief<D: Modelled>(scene: &Arc<Scene<D>>, child: &Arc<Blocking>) -> JoinHandle<()> {
    let child = Arc::clone(child);
    thread_with(scene, move |scene| {
        // SAFETY: only this thread runs the child.
        unsafe { run_forked::<D>(child.forked.closure(), handle(&scene.places[1])) };
    })
}

fn join_in_scene<D: Modelled>(scene: &Scene<D>, child: &Blocking) {
    child.forked.join(&scene.places[0]);
    saw(sleeps(&scene.places[0]));
}

fn against<D: Modelled>(what: &str, child: TaskFn, preemptions: usize, at_least: usize) {
    let name = format!("join over {}, against {what}", D::NAME);
    explore_sleeps(&name, preemptions, at_least, move || {
        let (scene, child) = (Scene::<D>::new(2, 0), Arc::new(Blocking::new(child)));
        let thief = thief(&scene, &child);
        join_in_scene(&scene, &child);
        thief.join().unwrap();
    });
}

fn against_the_end<D: Modelled>(preemptions: usize, at_least: usize) {
    against::<D>("the child's end", nothing, preemptions, at_least);
}

/// Only the waiter can run the task that the child waits for.
fn against_a_task<D: Modelled>(preemptions: usize, at_least: usize) {
    against::<D>("a task that the child waits for", block::<D>, preemptions, at_least);
}

/// The child also forks and joins: the outer waiter may take the child's child.
fn against_another_join<D: Modelled>(preemptions: usize, at_least: usize) {
    against::<D>("the child's own", fork_another::<D>, preemptions, at_least);
}

/// A child, for which the waiter waits, and two tasks that the child forks. One task is a part of
/// the event that the waiter waits for. The other is not, so it must not run on top of the waiter.
#[repr(C)]
struct Parted {
    child: Forked,
    part: Forked,
    other: Forked,
    /// The part was forked before the other task.
    part_is_older: bool,
    /// 1 while worker 0 waits awake.
    awake: AtomicUsize,
    /// 1 if the older task has run on worker 0: the part on top of the waiter, the other task after
    /// the wait.
    taken: AtomicUsize,
}

// SAFETY: the fields are loom's, or never written.
unsafe impl Send for Parted {}
// SAFETY: the fields are loom's, or never written.
unsafe impl Sync for Parted {}

impl Parted {
    fn oldest_first(&self) -> [&Forked; 2] {
        if self.part_is_older { [&self.part, &self.other] } else { [&self.other, &self.part] }
    }

    /// True on worker 0 while it waits awake.
    fn is_on_top<D: Modelled>(&self, s: *mut Scheduler) -> bool {
        // SAFETY: `s` is a worker of the model.
        let index = Place::index(unsafe { Worker::<D>::of(s) });
        index == 0 && self.awake.load(Relaxed) == 1
    }
}

unsafe extern "C" fn join_both<D: Modelled>(descriptor: *mut c_void, s: *mut Scheduler) {
    // SAFETY: `descriptor` is `Parted::child`, the first field of a Parted. `s` is a worker of the
    // model.
    let (parted, worker) = unsafe { (&*descriptor.cast::<Parted>(), Worker::<D>::of(s)) };
    for task in parted.oldest_first().into_iter().rev() {
        task.join(worker);
    }
}

unsafe extern "C" fn part<D: Modelled>(descriptor: *mut c_void, s: *mut Scheduler) {
    // SAFETY: the descriptor is the field of a Parted.
    let parted = unsafe { &*descriptor.byte_sub(offset_of!(Parted, part)).cast::<Parted>() };
    if parted.part_is_older {
        parted.taken.store(usize::from(parted.is_on_top::<D>(s)), Relaxed);
    }
}

unsafe extern "C" fn other<D: Modelled>(descriptor: *mut c_void, s: *mut Scheduler) {
    // SAFETY: the descriptor is the field of a Parted.
    let parted = unsafe { &*descriptor.byte_sub(offset_of!(Parted, other)).cast::<Parted>() };
    assert!(!parted.is_on_top::<D>(s), "it is no part of what the waiter waits for");
    if !parted.part_is_older {
        // SAFETY: `s` is a worker of the model.
        let index = Place::index(unsafe { Worker::<D>::of(s) });
        parted.taken.store(usize::from(index == 0), Relaxed);
    }
}

/// The wait for a child with parts.
struct JoinParted<'a, D>(Join<'a, D>, &'a dyn Fn(Task) -> bool);

impl<D: Modelled> Awaited for JoinParted<'_, D> {
    fn over(&self) -> bool {
        self.0.over()
    }

    fn enlist(&self) -> bool {
        self.0.enlist()
    }

    fn thief(&self) -> Option<usize> {
        self.0.thief()
    }

    fn parts(&self) -> Parts<'_> {
        Some(self.1)
    }
}

/// Worker 0 first waits awake. If it takes the child's part, it runs the part.
fn against_a_part<D: Modelled>(preemptions: usize, at_least: usize) {
    awake::<D>("against a part", true, preemptions, at_least);
}

/// Worker 0 may take the other task, and runs that task only after it has waited awake.
fn against_no_part<D: Modelled>(preemptions: usize, at_least: usize) {
    awake::<D>("against a task that is no part", false, preemptions, at_least);
}

fn awake<D: Modelled>(what: &str, part_is_older: bool, preemptions: usize, at_least: usize) {
    let name = format!("join over {}, {what}", D::NAME);
    explore_seeing("the waiter got no task", &name, preemptions, at_least, move || {
        let scene = Scene::<D>::new(2, 0);
        let parted = Arc::new(Parted {
            child: Forked::new(join_both::<D>),
            part: Forked::new(part::<D>),
            other: Forked::new(other::<D>),
            part_is_older,
            awake: AtomicUsize::new(0),
            taken: AtomicUsize::new(0),
        });
        for task in parted.oldest_first() {
            task.fork(&scene.places[1]);
        }
        let thief = {
            let parted = Arc::clone(&parted);
            thread_with(&scene, move |scene| {
                // SAFETY: only this thread runs the child.
                unsafe { run_forked::<D>(parted.child.closure(), handle(&scene.places[1])) };
            })
        };
        let worker = &scene.places[0];
        let task = &parted.child;
        let join = Join::<D> { task, name: name_of(worker), deque: PhantomData };
        parted.awake.store(1, Relaxed);
        worker.wait_awake(&JoinParted(join, &|task| task.closure == parted.part.closure()));
        parted.awake.store(0, Relaxed);
        parted.child.join(worker); // and runs the other task, if this worker has it
        saw(parted.taken.load(Relaxed));
        thief.join().unwrap();
    });
}

/// The child spawns a task and ends. The waiter may have been woken for the task, and then see that
/// the child is over: it must leave the task to a sleeping worker.
fn against_a_task_and_the_end<D: Modelled>(preemptions: usize, at_least: usize) {
    let name = format!("join over {}, against a task and the end", D::NAME);
    explore_sleeps(&name, preemptions, at_least, || {
        let (scene, child) = (Scene::<D>::new(3, 0), Arc::new(Blocking::new(leave_a_task::<D>)));
        let gone = Arc::new(AtomicUsize::new(0));
        let sleeper = {
            let (child, gone) = (Arc::clone(&child), Arc::clone(&gone));
            thread_with(&scene, move |scene| {
                sleep_until_open(scene, &child.latch);
                gone.store(1, Release);
            })
        };
        let thief = thief(&scene, &child);
        join_in_scene(&scene, &child);
        child.latch.wait();
        while gone.load(Acquire) == 0 {
            // The sleeper may have looked too early to see the end.
            scene.scheduler.sleepers().wake_all();
            thread::yield_now();
        }
        thief.join().unwrap();
        sleeper.join().unwrap();
    });
}

unsafe extern "C" fn leave_a_task<D: Modelled>(descriptor: *mut c_void, s: *mut Scheduler) {
    // SAFETY: the descriptor is the first field of a Blocking.
    let (child, worker) = unsafe { (&*descriptor.cast::<Blocking>(), Worker::<D>::of(s)) };
    worker.spawn(open, closure_of(&*child.latch));
}

/// Worker 2 sleeps until there is a task for it, or another worker has run that task.
fn sleep_until_open<D: Modelled>(scene: &Scene<D>, latch: &Latch) {
    let mut role = Role::Sleeper;
    while !latch.is_open() {
        scene.scheduler.sleep(scene.places[2].mine(), role);
        role = Role::Searcher;
        let deque = scene.scheduler.deque(1);
        if deque.has_public() || deque.private_part().is_some_and(PrivatePart::raid) {
            if let Steal::Taken(task) = deque.steal() {
                // SAFETY: the task is `open`, and its closure is a latch.
                unsafe { (task.f)(task.closure, handle(&scene.places[2])) };
            }
        }
        thread::yield_now();
    }
}

/// A helping waiter has left its worker's name, and then suspends itself under another name. The
/// name that it has left last wakes it, or it finds that the child is over.
#[test]
fn a_name_in_place_of_another() {
    const NAMES: [usize; 2] = [16, 36];
    explore("join, a name in place of another", 5, 40, || {
        let child = Arc::new((Forked::new(nothing), AtomicUsize::new(0)));
        let thief = thread_with(&child, |(forked, woken)| {
            // SAFETY: only this thread begins the task.
            unsafe { forked.state.begin(forked.closure()) };
            forked.ran.add();
            woken.store(forked.state.end().unwrap_or(0), Release);
        });
        let (forked, woken) = &*child;
        let left = NAMES.map(|name| forked.state.leave_name(name).is_some());
        if !left[1] {
            assert!(forked.state.is_over());
            assert_eq!(forked.ran.get(), 1);
        }
        thief.join().unwrap();
        let last = left.iter().rposition(|&left| left);
        assert_eq!(woken.load(Acquire), last.map_or(0, |last| NAMES[last]));
    });
}

/// A waiter finds that the task has not begun. Later it looks lost only if it still has not begun.
#[test]
fn a_task_that_was_begun_is_not_lost() {
    explore("join, as the child begins", 5, 20, || {
        let child = Arc::new(Forked::new(nothing));
        let thief = thread_with(&child, |child| {
            // SAFETY: only this thread begins the task.
            unsafe { child.state.begin(child.closure()) };
        });
        assert!(child.state.leave_name(16).is_some());
        thief.join().unwrap();
        assert!(!child.state.is_lost());
        assert_eq!(child.state.end(), Some(16));
        let lost = Forked::new(nothing);
        assert!(lost.state.leave_name(16).is_some());
        assert!(lost.state.is_lost());
    });
}

/// Two tasks of a group end.
fn group_against_its_ends<D: Modelled>(preemptions: usize, at_least: usize) {
    let name = format!("wait over {}, against the ends of two", D::NAME);
    explore_sleeps(&name, preemptions, at_least, || {
        let scene = Scene::<D>::new(3, 0);
        let group =
            Arc::new(Group { members: Members::default(), ran: [Cell::new(), Cell::new()] });
        (0..2).for_each(|_| group.members.enter());
        let members = [0, 1].map(|i| {
            let group = Arc::clone(&group);
            thread_with(&scene, move |scene| {
                group.ran[i].add();
                leave(&group, &scene.places[1 + i]);
            })
        });
        let node = Node::default();
        // SAFETY: the node lives until it is granted.
        if let Some(nodes) = unsafe { group.members.link(&node) } {
            grant(nodes, |_| unreachable!("it has not left its name"));
        }
        scene.places[0].help(&Wait { node: &node, name: name_of(&scene.places[0]) });
        assert!(group.members.is_over());
        assert!(group.ran.iter().all(|ran| ran.get() == 1));
        saw(sleeps(&scene.places[0]));
        join(members);
    });
}

/// An end that wakes nobody: the waiting worker must look again.
#[derive(Default)]
struct Silent(AtomicUsize);

impl Awaited for Silent {
    fn over(&self) -> bool {
        self.0.load(Acquire) != 0
    }

    fn enlist(&self) -> bool {
        false
    }
}

fn against_an_end_without_a_word<D: Modelled>(preemptions: usize, at_least: usize) {
    let name = format!("wait over {}, against an end without a word", D::NAME);
    explore_sleeps(&name, preemptions, at_least, || {
        let (scene, silent) = (Scene::<D>::new(1, 0), Arc::new(Silent::default()));
        let other = thread_with(&silent, |silent| silent.0.store(1, Release));
        scene.places[0].help(&*silent);
        saw(sleeps(&scene.places[0]));
        other.join().unwrap();
    });
}

// `against_a_task_and_the_end` has one preemption: with two it takes minutes, and its mutant dies
// with one. `against_no_part` is not over `Split`, where a push looks for sleepers when it was
// asked: there are 300 times as many executions, and its mutants need none of them.
models! {
    chaselev: ChaseLev {
        against_the_end(7, 3000);
        against_a_task(3, 4_000);
        against_another_join(2, 4_000);
        against_a_part(2, 4_000);
        against_no_part(1, 500);
        group_against_its_ends(2, 1000);
    }
    split: Split<Asymmetric> {
        against_the_end(7, 3000);
        against_a_task(3, 15_000);
        against_a_task_and_the_end(1, 1_000);
        against_another_join(2, 50_000);
        against_a_part(1, 5_000);
        group_against_its_ends(3, 10_000);
        against_an_end_without_a_word(3, 30);
        a_child_that_blocks(1, 1500);
    }
}
