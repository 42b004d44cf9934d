//! Ageing: the keeper lets the oldest background task start behind busy workers. A task that it
//! forgets leaves the keeper asleep forever, which loom reports as a deadlock; a task that is lost,
//! or runs twice, shows as a cell whose count is not 1.
//!
//! There is no clock: a sleep until a time ends at once, at that time.
#![cfg(loom)]

use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use sched::policy::Policy;
use sched::queue::ageing::Ageing;
use sched::queue::background::Line;
use sched::queue::chaselev::ChaseLev;
use sched::queue::injector::{Injector, Limit};
use sched::queue::run_gate::Ends;
use sched::sys::futex::LONGEST;
use sched::task::{Level, Task};
use sched::threads::requests::{ASKED, NEWS, Requests};
use sched_model::{
    Cell, SceneOf, count, explore, explore_seeing, join, saw, take, thread_with, wait_for_rest,
};

type Stealing = sched::policy::stealing::Stealing<ChaseLev>;

/// A run whose only worker is busy, and the keeper.
struct Scene {
    injector: Injector,
    ageing: Ageing,
    requests: Requests,
    cells: Vec<Cell>,
    ran: AtomicUsize,
}

impl Scene {
    fn new(cells: usize) -> Arc<Self> {
        Arc::new(Scene {
            injector: Injector::new(usize::MAX, Ends::AfterRelease),
            ageing: Ageing::new(),
            requests: Requests::new(),
            cells: (0..cells).map(|_| Cell::new()).collect(),
            ran: AtomicUsize::new(0),
        })
    }

    /// Adds the background task of cell `i`, as `runtime::ageing::added`.
    fn add(&self, i: usize) {
        let task = Task { f: count, closure: self.cells[i].closure() };
        let line = self.injector.push_background(task, Limit::Applies);
        if line.expect("the run goes on") == Line::Begins {
            self.ageing.request();
            self.requests.add(NEWS);
        }
    }

    /// Runs a task that was taken. The last one ends the keeper's life.
    fn run(&self, task: Task) {
        take(task);
        if self.ran.fetch_add(1, Ordering::Relaxed) + 1 == self.cells.len() {
            self.requests.add(ASKED);
        }
    }

    /// A worker that finds nothing else takes a background task.
    fn take_background(&self) {
        let task = self.injector.take_background();
        saw(usize::from(task.is_some()));
        task.into_iter().for_each(|task| self.run(task));
    }

    /// The keeper's life, as in `runtime::ageing` and `threads::watcher`, until all tasks have run.
    /// After each look the busy worker has a turn.
    fn keep(&self) {
        let mut now = 0;
        loop {
            self.requests.take();
            let next = self.ageing.look(now, || self.injector.age(|_| ()));
            self.injector.take().into_iter().for_each(|task| self.run(task));
            if self.ran.load(Ordering::Relaxed) == self.cells.len() {
                return;
            } else if next == u64::MAX {
                self.requests.sleep(LONGEST);
            } else {
                now = next;
            }
        }
    }
}

/// Explores the keeper's life beside `others`, who add a task for each cell.
fn beside_the_keeper(tasks: usize, others: impl Fn(&Arc<Scene>)) {
    let scene = Scene::new(tasks);
    let keeper = thread_with(&scene, Scene::keep);
    others(&scene);
    join([keeper]);
    scene.cells.iter().for_each(|cell| assert_eq!(cell.get(), 1));
}

/// The second task may be added to the line of the first, or to an empty one.
#[test]
fn two_tasks() {
    explore("ageing, two tasks beside the keeper", 4, 2_000, || {
        beside_the_keeper(2, |scene| (0..2).for_each(|i| scene.add(i)));
    });
}

#[test]
fn two_adders() {
    explore("ageing, two adders beside the keeper", 3, 4_500, || {
        beside_the_keeper(2, |scene| {
            let other = thread_with(scene, |scene| scene.add(1));
            scene.add(0);
            join([other]);
        });
    });
}

#[test]
fn a_worker() {
    let name = "ageing, a worker beside the keeper";
    explore_seeing("the worker never had a task", name, 3, 22_000, || {
        beside_the_keeper(2, |scene| {
            let worker = thread_with(scene, Scene::take_background);
            (0..2).for_each(|i| scene.add(i));
            join([worker]);
        });
    });
}

/// The task ages while an idle worker looks for tasks, and then sleeps.
#[test]
fn a_worker_that_will_sleep() {
    explore("ageing, beside a worker that will sleep", 3, 10_000, || {
        let scene = SceneOf::<Stealing>::held(1, 1);
        let workers = SceneOf::start(&scene, 0..1);
        scene.places[0].inject_at(Level::Background, count, scene.cells[0].closure());
        (0..2).for_each(|_| _ = scene.scheduler.age(&scene.places[0]));
        wait_for_rest(&*scene.scheduler);
        scene.each_ran_once();
        scene.scheduler.release();
        join(workers);
    });
}
