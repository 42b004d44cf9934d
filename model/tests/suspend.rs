//! A task is suspended and continues: the shipped `hold`, `let_go`, `requeue`, quiescence, and the
//! state of a group, in whole runs of kind `steal` with the shipped worker loop. A switch of stacks
//! cannot be modelled: here a task consists of two functions, and a cell stands for the data that
//! it leaves on its stack. A worker that continues the task too early touches the cell together
//! with the worker that suspends it, which loom reports. If a continuation is lost, or a run ends
//! before it, a cell was not counted, or there is a deadlock.
#![cfg(loom)]

use loom::sync::Arc;
use sched::policy::{LookFirst, Place, Policy};
use sched::queue::chaselev::ChaseLev;
use sched::queue::split::Split;
use sched::sync::members::Members;
use sched::sync::node::{LASTING, Node};
use sched::sync::sem::Sem;
use sched::sys::atomic::UnsafeCell;
use sched::sys::fence::Asymmetric;
use sched::task::{Scheduler, Task, TaskFn};
use sched_model::{
    Cell, Modelled, Scene, SmallRing, Worker, count, explore_seeing, join, models, saw, thread_with,
};
use std::ffi::c_void;

/// One task that waits, and the group that it waits for.
struct Story {
    members: Members,
    node: Node,
    sem: Sem,
    /// The node of a task that leaves its stack first. Not made by `Story::new`.
    aside: UnsafeCell<Node>,
    ran: [Cell; 2],
    /// Stands for the task's stack: incremented when the task is suspended, and when it resumes.
    frame: Cell,
    done: Cell,
}

// SAFETY: the node belongs to the task and to the thread that ends the group, in turn, as its word
// says.
unsafe impl Send for Story {}
// SAFETY: as above.
unsafe impl Sync for Story {}

impl Story {
    fn new() -> Arc<Self> {
        Arc::new(Story {
            members: Members::default(),
            node: Node::default(),
            sem: Sem::new(0),
            aside: UnsafeCell::new(Node::default()),
            ran: [Cell::new(), Cell::new()],
            frame: Cell::new(),
            done: Cell::new(),
        })
    }

    fn closure(&self) -> *mut c_void {
        std::ptr::from_ref(self).cast_mut().cast()
    }

    /// # Safety
    /// `closure` comes from `Story::closure`; the story lives until the run has ended.
    unsafe fn of<'a>(closure: *mut c_void) -> &'a Story {
        // SAFETY: by the caller's promise `closure` is a living story.
        unsafe { &*closure.cast() }
    }

    /// The task's second half.
    fn goes_on(&self, members: usize) {
        assert_eq!(self.frame.get(), 1, "continued twice, or before it was suspended");
        self.frame.add();
        for ran in &self.ran[..members] {
            assert_eq!(ran.get(), 1);
        }
        self.done.add();
    }
}

/// Like `api::sync`: `go` queues the tasks that have left their names.
fn wake(nodes: impl Iterator<Item = *const Node>, go: impl Fn(*mut c_void)) {
    for node in nodes {
        // SAFETY: the nodes were taken out of a group.
        if let Some(name) = unsafe { Node::grant(node) } {
            go(std::ptr::with_exposed_provenance_mut(name));
        }
    }
}

/// The end of a task's first half, like a wait in `api::group`. False if it continues at once.
fn set_aside<D: Modelled>(story: &Story, worker: &Worker<D>) -> bool {
    worker.scheduler().hold(worker);
    story.frame.add();
    // SAFETY: the node lives until the run has ended.
    if let Some(nodes) = unsafe { story.members.link(&story.node) } {
        wake(nodes, |_| unreachable!("it has not left its name"));
    }
    if story.node.leave_name(story.closure().expose_provenance()) {
        saw(1);
        return true; // and touches nothing of the task any more
    }
    worker.scheduler().let_go(worker);
    assert!(story.members.is_over());
    false
}

/// The second half of a task, taken out of a queue.
unsafe extern "C" fn resume<D: Modelled, const MEMBERS: usize>(
    closure: *mut c_void,
    s: *mut Scheduler,
) {
    // SAFETY: the models' closures are stories; `s` is a worker of the model.
    let (story, worker) = unsafe { (Story::of(closure), Worker::<D>::of(s)) };
    worker.scheduler().let_go(worker);
    story.goes_on(MEMBERS);
}

unsafe extern "C" fn waits<D: Modelled, const MEMBERS: usize>(
    closure: *mut c_void,
    s: *mut Scheduler,
) {
    // SAFETY: the models' closures are stories; `s` is a worker of the model.
    let (story, worker) = unsafe { (Story::of(closure), Worker::<D>::of(s)) };
    for task in [member::<D, 0, MEMBERS>, member::<D, 1, MEMBERS>].into_iter().take(MEMBERS) {
        story.members.enter();
        worker.spawn(task, closure);
    }
    if !set_aside(story, worker) {
        story.goes_on(MEMBERS);
    }
}

unsafe extern "C" fn member<D: Modelled, const I: usize, const MEMBERS: usize>(
    closure: *mut c_void,
    s: *mut Scheduler,
) {
    // SAFETY: the models' closures are stories; `s` is a worker of the model.
    let (story, worker) = unsafe { (Story::of(closure), Worker::<D>::of(s)) };
    story.ran[I].add();
    // SAFETY: `waits` has counted the task in.
    if let Some(nodes) = unsafe { story.members.leave() } {
        wake(nodes, |closure| worker.spawn(resume::<D, MEMBERS>, closure));
    }
}

/// Waits for a thread outside the run: nothing in the run knows that more will come.
unsafe extern "C" fn waits_outside<D: Modelled>(closure: *mut c_void, s: *mut Scheduler) {
    // SAFETY: the models' closures are stories; `s` is a worker of the model.
    let (story, worker) = unsafe { (Story::of(closure), Worker::<D>::of(s)) };
    if !set_aside(story, worker) {
        story.goes_on(0);
    }
}

/// Like the wait for a semaphore in `api::sync`: the task has left its stack, and its worker links
/// a node with the task's name. If there is a unit by then, the task is queued at once.
unsafe extern "C" fn waits_aside<D: Modelled>(closure: *mut c_void, s: *mut Scheduler) {
    // SAFETY: the models' closures are stories; `s` is a worker of the model.
    let (story, worker) = unsafe { (Story::of(closure), Worker::<D>::of(s)) };
    worker.spawn(posts::<D>, closure);
    worker.scheduler().hold(worker);
    let name = closure.expose_provenance() | LASTING;
    // SAFETY: the node is not linked yet.
    story.aside.with_mut(|node| unsafe { *node = Node::named(name) });
    story.frame.add();
    // SAFETY: the node lives until the run has ended, and only the semaphore changes it.
    if story.aside.with(|node| unsafe { story.sem.wait_or_link(&*node) }) {
        worker.spawn(resume::<D, 0>, closure); // like `queue_soon`
    } else {
        saw(1);
    }
}

unsafe extern "C" fn posts<D: Modelled>(closure: *mut c_void, s: *mut Scheduler) {
    // SAFETY: the models' closures are stories; `s` is a worker of the model.
    let (story, worker) = unsafe { (Story::of(closure), Worker::<D>::of(s)) };
    let granted = story.sem.post().expect("there is room");
    wake(granted.into_iter(), |name| {
        worker.spawn(resume::<D, 0>, name.map_addr(|name| name & !LASTING));
    });
}

/// Queues its second half behind the other tasks, for any worker.
unsafe extern "C" fn yields<D: Modelled>(closure: *mut c_void, s: *mut Scheduler) {
    // SAFETY: the models' closures are stories; `s` is a worker of the model.
    let (story, worker) = unsafe { (Story::of(closure), Worker::<D>::of(s)) };
    story.frame.add();
    saw(1);
    let rest = Task { f: resume_yielded, closure };
    worker.scheduler().requeue(worker, rest).expect("there is memory");
}

/// Spawns two tasks, and yields as `runtime::yielding` does: takes the next task, then puts its
/// second half in line, for the worker or a thief.
unsafe extern "C" fn yields_in_line<D: Modelled>(closure: *mut c_void, s: *mut Scheduler) {
    // SAFETY: the models' closures are stories; `s` is a worker of the model.
    let (story, worker) = unsafe { (Story::of(closure), Worker::<D>::of(s)) };
    for ran in &story.ran {
        worker.spawn(count, ran.closure());
    }
    let next = worker.scheduler().next_in_line(worker.mine(), LookFirst::AtHome);
    story.frame.add();
    let Some(next) = next else { return story.goes_on(0) };
    saw(1);
    let rest = Task { f: resume_yielded, closure };
    worker.scheduler().line_up(worker.mine(), rest).expect("there is memory");
    worker.call(next);
}

unsafe extern "C" fn resume_yielded(closure: *mut c_void, _: *mut Scheduler) {
    // SAFETY: the models' closures are stories.
    unsafe { Story::of(closure) }.goes_on(0);
}

/// Runs `first` on all workers, beside `outside`.
fn complete<D: Modelled>(
    workers: usize,
    first: TaskFn,
    story: &Arc<Story>,
    outside: Option<fn(&Scene<D>, &Story)>,
) {
    let scene = Scene::<D>::new(workers, 0);
    scene.places[0].spawn(first, story.closure());
    let woken_by_a_task = outside.is_none();
    let mut others = Scene::start(&scene, 1..workers);
    if let Some(outside) = outside {
        let story = Arc::clone(story);
        others.push(thread_with(&scene, move |scene| outside(scene, &story)));
    }
    scene.work(0);
    assert_eq!(story.done.get(), 1, "the run has ended before its task");
    join(others);
    if woken_by_a_task {
        let was_at_rest = scene.places.iter().any(Worker::was_at_rest);
        assert!(
            !was_at_rest,
            "nothing was to happen, although a task was left that wakes the other"
        );
    }
}

fn explore_aside(
    name: &str,
    preemptions: usize,
    at_least: usize,
    model: impl Fn() + Sync + Send + 'static,
) {
    explore_seeing("nobody was suspended", name, preemptions, at_least, model);
}

/// Runs `first` on two workers.
fn on_two<D: Modelled>(what: &str, first: TaskFn, preemptions: usize, at_least: usize) {
    let name = format!("suspend over {}, {what}", D::NAME);
    explore_aside(&name, preemptions, at_least, move || {
        complete::<D>(2, first, &Story::new(), None);
    });
}

fn for_one<D: Modelled>(preemptions: usize, at_least: usize) {
    on_two::<D>("for a group of one", waits::<D, 1>, preemptions, at_least);
}

fn for_two<D: Modelled>(preemptions: usize, at_least: usize) {
    on_two::<D>("for a group of two", waits::<D, 2>, preemptions, at_least);
}

fn for_one_outside<D: Modelled>(preemptions: usize, at_least: usize) {
    let name = format!("suspend over {}, for a thread outside", D::NAME);
    explore_aside(&name, preemptions, at_least, || {
        let story = Story::new();
        story.members.enter();
        complete::<D>(1, waits_outside::<D>, &story, Some(ends_outside::<D>));
    });
}

/// Like the end of a group's task in a thread outside the run.
fn ends_outside<D: Modelled>(scene: &Scene<D>, story: &Story) {
    // SAFETY: the model has counted the task in.
    if let Some(nodes) = unsafe { story.members.leave() } {
        wake(nodes, |closure| {
            let rest = Task { f: resume::<D, 0>, closure };
            scene.scheduler.requeue(&scene.places[0], rest).expect("there is memory");
        });
    }
}

fn behind_the_others<D: Modelled>(preemptions: usize, at_least: usize) {
    on_two::<D>("a yield", yields::<D>, preemptions, at_least);
}

fn for_a_unit<D: Modelled>(preemptions: usize, at_least: usize) {
    on_two::<D>("for a unit, aside", waits_aside::<D>, preemptions, at_least);
}

/// A thief steals half of the queued tasks while a task is put in line in the same queue.
fn in_line<D: Modelled>(preemptions: usize, at_least: usize) {
    let name = format!("suspend over {}, a yield in line", D::NAME);
    explore_aside(&name, preemptions, at_least, || {
        let story = Story::new();
        complete::<D>(2, yields_in_line::<D>, &story, None);
        for ran in &story.ran {
            assert_eq!(ran.get(), 1);
        }
    });
}

models! {
    chaselev: ChaseLev {
        for_one(1, 4_000);
        for_a_unit(1, 1000);
        for_one_outside(2, 150);
        behind_the_others(1, 500);
    }
    ring: SmallRing {
        in_line(1, 4000);
    }
    split: Split<Asymmetric> {
        for_one(1, 1000);
        for_two(1, 5000);
        for_a_unit(1, 1000);
        for_one_outside(2, 150);
        behind_the_others(1, 250);
    }
}
