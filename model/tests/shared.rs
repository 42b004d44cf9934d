//! Whole runs of the kinds `lifo`, `fifo` and `serial`: the shipped policies over a monitor of
//! loom's mutex and condition variable. A sleeper beside a task, and a run that does not end, are
//! deadlocks, which loom reports. A task that is lost, or runs twice, or runs after the end of its
//! run, shows as a cell whose count is not 1.
#![cfg(loom)]

use loom::sync::atomic::AtomicBool;
use loom::sync::atomic::Ordering::{Acquire, Release};
use loom::sync::{Arc, Condvar, Mutex};
use sched::policy::serial::Serial;
use sched::policy::shared::{self, Shared};
use sched::policy::{Awaited, Place};
use sched::queue::injector::{Limit, Refused};
use sched::queue::run_gate::Ends;
use sched::task::{Level, Scheduler, Task, TaskFn};
use sched_model::{
    Cell, LoomMonitor, ModelledPolicy, SceneOf, WorkerOf, closure_of, count, explore,
    explore_seeing, join, models, saw, task_of, thread_with, wait_for_rest,
};
use std::ffi::c_void;

type Lifo = Shared<LoomMonitor, shared::Lifo>;
type Fifo = Shared<LoomMonitor, shared::Fifo>;

trait Named: ModelledPolicy {
    const NAME: &'static str;
}

impl Named for Lifo {
    const NAME: &'static str = "lifo";
}

impl Named for Fifo {
    const NAME: &'static str = "fifo";
}

impl Named for Serial {
    const NAME: &'static str = "serial";
}

/// Runs `first`, whose closure is the cells, on all workers. When worker 0's loop has returned, the
/// run is closed, and each task has run once.
fn complete<P: Named>(workers: usize, tasks: usize, first: TaskFn) {
    complete_in(&SceneOf::<P>::new(workers, tasks), first);
}

fn complete_in<P: Named>(scene: &Arc<SceneOf<P>>, first: TaskFn) {
    scene.places[0].spawn(first, closure_of(&scene.cells));
    let others = SceneOf::run(scene);
    scene.each_ran_once();
    let late = Task { f: count, closure: std::ptr::null_mut() };
    assert_eq!(scene.scheduler.inject(&scene.places[0], late), Err(Refused::Closed));
    join(others);
}

/// Spawns a task for each cell but the first, and increments the first itself.
unsafe extern "C" fn spawns<P: Named>(closure: *mut c_void, s: *mut Scheduler) {
    // SAFETY: the models pass their cells.
    let (cells, worker) = unsafe { task_of::<P, Vec<Cell>>(closure, s) };
    cells[1..].iter().for_each(|cell| worker.spawn(count, cell.closure()));
    cells[0].add();
}

/// Spawns a background task.
unsafe extern "C" fn spawns_behind<P: Named>(closure: *mut c_void, s: *mut Scheduler) {
    // SAFETY: as above.
    let (cells, worker) = unsafe { task_of::<P, Vec<Cell>>(closure, s) };
    worker.inject_at(Level::Background, count, cells[1].closure());
    cells[0].add();
}

/// Like `spawns`, but the task that it spawns spawns the last one.
unsafe extern "C" fn spawns_a_chain<P: Named>(closure: *mut c_void, s: *mut Scheduler) {
    // SAFETY: as above.
    let (cells, worker) = unsafe { task_of::<P, Vec<Cell>>(closure, s) };
    cells[0].add();
    worker.spawn(spawns_the_last::<P>, closure);
}

unsafe extern "C" fn spawns_the_last<P: Named>(closure: *mut c_void, s: *mut Scheduler) {
    // SAFETY: as above.
    let (cells, worker) = unsafe { task_of::<P, Vec<Cell>>(closure, s) };
    cells[1].add();
    worker.spawn(count, cells[2].closure());
}

fn children<P: Named>(workers: usize, preemptions: usize, at_least: usize) {
    let name = format!("{}, {workers} workers, two children", P::NAME);
    explore(&name, preemptions, at_least, move || {
        complete::<P>(workers, 3, spawns::<P>);
    });
}

fn chain<P: Named>(workers: usize, preemptions: usize, at_least: usize) {
    let name = format!("{}, {workers} workers, a chain", P::NAME);
    explore(&name, preemptions, at_least, move || {
        complete::<P>(workers, 3, spawns_a_chain::<P>);
    });
}

/// A meeting of tasks: each waits until all have begun.
struct Meeting {
    begun: Mutex<usize>,
    all: Condvar,
    tasks: usize,
}

impl Meeting {
    fn wait(&self) {
        let mut begun = self.begun.lock().unwrap();
        *begun += 1;
        if *begun == self.tasks {
            self.all.notify_all();
        }
        while *begun < self.tasks {
            begun = self.all.wait(begun).unwrap();
        }
    }
}

/// Spawns the other tasks of the meeting, and takes part in it.
unsafe extern "C" fn invites<P: Named>(meeting: *mut c_void, s: *mut Scheduler) {
    // SAFETY: the model passes its meeting, which lives until the run has ended; `s` is a worker of
    // the model.
    let (here, worker) = unsafe { (&*meeting.cast::<Meeting>(), WorkerOf::<P>::of(s)) };
    for _ in 1..here.tasks {
        worker.spawn(meets, meeting);
    }
    here.wait();
}

unsafe extern "C" fn meets(meeting: *mut c_void, _: *mut Scheduler) {
    // SAFETY: as above.
    unsafe { &*meeting.cast::<Meeting>() }.wait();
}

/// There are as many tasks as workers: no worker sleeps beside a task.
fn meeting<P: Named>(workers: usize, preemptions: usize, at_least: usize) {
    let name = format!("{}, {workers} workers meet", P::NAME);
    explore(&name, preemptions, at_least, move || {
        let meeting = Meeting { begun: Mutex::new(0), all: Condvar::new(), tasks: workers };
        let scene = SceneOf::<P>::new(workers, 0);
        scene.places[0].spawn(invites::<P>, closure_of(&meeting));
        let others = SceneOf::run(&scene);
        join(others);
        assert_eq!(*meeting.begun.lock().unwrap(), workers);
    });
}

/// Like `meeting`, in a run whose workers get threads when there are tasks for them, and with one
/// more worker, for which there is no thread.
fn arrivals<P: Named>(tasks: usize, refused: usize, preemptions: usize, at_least: usize) {
    let workers = tasks + usize::from(refused > 0);
    let name = format!("{}, {tasks} workers of {workers} arrive and meet", P::NAME);
    explore(&name, preemptions, at_least, move || {
        let meeting = Meeting { begun: Mutex::new(0), all: Condvar::new(), tasks };
        let (scene, doors) = SceneOf::<P>::lazily(workers, 0, refused);
        scene.places[0].spawn(invites::<P>, closure_of(&meeting));
        assert!(scene.scheduler.starts_asleep());
        let arrive = |i| {
            let doors = Arc::clone(&doors);
            thread_with(&scene, move |scene| {
                if doors.wait(i) {
                    scene.work(i);
                }
            })
        };
        let others = (1..workers).map(arrive).collect::<Vec<_>>();
        scene.work(0);
        doors.close();
        join(others);
        assert_eq!(*meeting.begun.lock().unwrap(), tasks);
    });
}

/// A task from outside comes in before the run's end, or is refused.
fn foreign<P: Named>(level: Level, workers: usize, preemptions: usize, at_least: usize) {
    let name = format!("{}, {workers} workers, a foreign task ({level:?})", P::NAME);
    explore_seeing("the task was never accepted", &name, preemptions, at_least, move || {
        let scene = SceneOf::<P>::new(workers, 2);
        scene.places[0].spawn(count, scene.cells[0].closure());
        let others = SceneOf::start(&scene, 1..workers);
        let foreign = thread_with(&scene, move |scene| {
            let task = Task { f: count, closure: scene.cells[1].closure() };
            match scene.scheduler.inject_at(&scene.places[0], task, level, Limit::Applies) {
                Ok(_) => saw(1),
                Err(refused) => {
                    assert_eq!(refused, Refused::Closed);
                    scene.cells[1].add();
                }
            }
        });
        scene.work(0);
        join(others);
        foreign.join().unwrap();
        scene.each_ran_once();
    });
}

// --- a task that waits --------------------------------------------------------------------------

/// A child that its parent waits for.
struct Child {
    over: AtomicBool,
    ran: Cell,
    cells: *mut c_void,
    /// The worker that waits.
    parent: usize,
}

impl Awaited for Child {
    fn over(&self) -> bool {
        self.over.load(Acquire)
    }

    fn enlist(&self) -> bool {
        true // the child always rouses its parent's worker
    }
}

/// Waits for a child.
unsafe extern "C" fn waits<P: Named>(closure: *mut c_void, s: *mut Scheduler) {
    // SAFETY: as above.
    unsafe { waits_for::<P>(Level::Normal, closure, s) };
}

/// Waits for a child that is a background task.
unsafe extern "C" fn waits_for_background<P: Named>(closure: *mut c_void, s: *mut Scheduler) {
    // SAFETY: as above.
    unsafe { waits_for::<P>(Level::Background, closure, s) };
}

/// # Safety
/// The contract of `task_of`.
unsafe fn waits_for<P: Named>(level: Level, closure: *mut c_void, s: *mut Scheduler) {
    // SAFETY: by the caller's promise.
    let (cells, worker) = unsafe { task_of::<P, Vec<Cell>>(closure, s) };
    let child = Child {
        over: AtomicBool::new(false),
        ran: Cell::new(),
        cells: closure,
        parent: worker.index(),
    };
    let parks = worker.counters().parks.get();
    let closure = closure_of(&child);
    match level {
        Level::Normal => worker.spawn(awaited::<P>, closure),
        _ => worker.inject_at(level, awaited::<P>, closure),
    }
    worker.help(&child);
    saw(worker.counters().parks.get() - parks);
    assert_eq!(child.ran.get(), 1);
    cells[0].add();
}

/// Spawns a task, for which the parent may be woken, and ends. Then the parent's frame may be gone.
unsafe extern "C" fn awaited<P: Named>(child: *mut c_void, s: *mut Scheduler) {
    // SAFETY: the parent passes its child, which lives until that is over; `s` is a worker of the
    // model.
    let (child, worker) = unsafe { (&*child.cast::<Child>(), WorkerOf::<P>::of(s)) };
    // SAFETY: as above.
    let cells = unsafe { &*child.cells.cast::<Vec<Cell>>() };
    worker.spawn(count, cells[1].closure());
    child.ran.add();
    let parent = child.parent;
    child.over.store(true, Release);
    worker.rouse(parent);
}

fn helper<P: Named>(workers: usize, preemptions: usize, at_least: usize) {
    let name = format!("{}, {workers} workers, a parent waits", P::NAME);
    explore_seeing("the parent never slept", &name, preemptions, at_least, move || {
        complete::<P>(workers, 2, waits::<P>);
    });
}

// --- a run that is held open --------------------------------------------------------------------

/// A wait returns when no task is left and not before; the run ends when it has been released.
fn rest<P: Named>(workers: usize, preemptions: usize, at_least: usize) {
    let name = format!("{}, {workers} workers, a held run rests", P::NAME);
    explore(&name, preemptions, at_least, move || {
        let scene = SceneOf::<P>::held(workers, 3);
        let workers = SceneOf::start(&scene, 0..workers);
        scene.places[0].inject(spawns_a_chain::<P>, closure_of(&scene.cells));
        wait_for_rest(&*scene.scheduler);
        scene.each_ran_once();
        scene.scheduler.release();
        join(workers);
    });
}

/// Like `released`, while tasks of other runs wait for descriptors: idle workers look there before
/// they sleep, and one sleeps as the poller.
fn polled<P: Named>(workers: usize, preemptions: usize, at_least: usize) {
    let name = format!("{}, {workers} workers, a held run beside waits", P::NAME);
    explore(&name, preemptions, at_least, move || {
        let (scene, _) = SceneOf::<P>::beside_a_wait(workers, 1, Ends::AfterRelease);
        let workers = SceneOf::start(&scene, 0..workers);
        scene.places[0].inject(count, scene.cells[0].closure());
        wait_for_rest(&*scene.scheduler);
        scene.each_ran_once();
        scene.scheduler.release();
        join(workers);
    });
}

/// The last wait for a descriptor ends at each possible step of a worker that looks for tasks: the
/// run does not end before its background task has run.
fn unpolled<P: Named>(workers: usize, preemptions: usize, at_least: usize) {
    let name = format!("{}, {workers} workers, a background task as waits end", P::NAME);
    explore(&name, preemptions, at_least, move || {
        complete_as_waits_end::<P>(workers, spawns_behind::<P>);
    });
}

/// Like `unpolled`, for a worker that waits in the middle of a task: it does not sleep beside the
/// background task, which is the one that it waits for.
fn helper_unpolled<P: Named>(workers: usize, preemptions: usize, at_least: usize) {
    let name = format!("{}, {workers} workers, a parent waits as waits end", P::NAME);
    explore(&name, preemptions, at_least, move || {
        complete_as_waits_end::<P>(workers, waits_for_background::<P>);
    });
}

fn complete_as_waits_end<P: Named>(workers: usize, first: TaskFn) {
    let (scene, poller) = SceneOf::<P>::beside_a_wait(workers, 2, Ends::AtRest);
    let ends = thread_with(&scene, |_| poller.end_wait());
    complete_in(&scene, first);
    join([ends]);
}

/// The run is released at each possible step of its tasks.
fn released<P: Named>(workers: usize, preemptions: usize, at_least: usize) {
    let name = format!("{}, {workers} workers, a held run is released", P::NAME);
    explore(&name, preemptions, at_least, move || {
        let scene = SceneOf::<P>::held(workers, 3);
        let workers = SceneOf::start(&scene, 0..workers);
        scene.places[0].inject(spawns_a_chain::<P>, closure_of(&scene.cells));
        scene.scheduler.release();
        join(workers);
        scene.each_ran_once();
    });
}

models! {
    lifo: Lifo {
        children: children(2, 5, 300);
        children_three_workers: children(3, 3, 3700);
        helper: helper(2, 4, 600);
        rest: rest(2, 3, 9000);
        polled: polled(2, 2, 100);
        unpolled: unpolled(1, 4, 90);
        helper_unpolled: helper_unpolled(2, 2, 18000);
        arrivals: arrivals(3, 0, 2, 100);
    }
    fifo: Fifo {
        children: children(2, 5, 300);
        chain: chain(3, 3, 3700);
        foreign: foreign(Level::Normal, 2, 3, 400);
        urgent: foreign(Level::Urgent, 2, 3, 400);
        background: foreign(Level::Background, 2, 3, 400);
        meeting: meeting(3, 2, 1200);
        helper: helper(2, 4, 600);
        rest: rest(1, 4, 150);
        released: released(2, 3, 1400);
        polled: polled(1, 3, 50);
        unpolled: unpolled(2, 2, 8000);
        helper_unpolled: helper_unpolled(1, 4, 130);
        arrivals_without_a_thread: arrivals(2, 1, 2, 100);
    }
    serial: Serial {
        foreign: foreign(Level::Normal, 1, 4, 10);
        urgent: foreign(Level::Urgent, 1, 4, 10);
        background: foreign(Level::Background, 1, 4, 10);
        rest: rest(1, 3, 600);
        released: released(1, 3, 200);
        unpolled: unpolled(1, 4, 14);
        polled: polled(1, 3, 20);
    }
}
