//! Runs of kind `steal` that are held open, with the shipped worker loop, deque, event count,
//! injector, gate and quiescence. A wait returns when no task is left and not before; the run ends
//! when it is no longer held open and no task is left; every worker's loop ends.
#![cfg(loom)]

use loom::thread::JoinHandle;
use sched::policy::Policy;
use sched::queue::chaselev::ChaseLev;
use sched::queue::split::Split;
use sched::sys::fence::Asymmetric;
use sched::task::{Scheduler, TaskFn};
use sched_model::{
    Cell, Modelled, Scene, Worker, closure_of, count, explore, join, models, thread_with,
    wait_for_rest,
};
use std::ffi::c_void;

/// The program's view of a pool.
struct Pool<D: Modelled> {
    scene: loom::sync::Arc<Scene<D>>,
    workers: Vec<JoinHandle<()>>,
}

impl<D: Modelled> Pool<D> {
    fn new(workers: usize, cells: usize) -> Self {
        let scene = Scene::held(workers, cells);
        Pool { workers: Scene::start(&scene, 0..workers), scene }
    }

    fn submit(&self, f: TaskFn, closure: *mut c_void) {
        self.scene.places[0].inject(f, closure);
    }

    fn wait(&self) {
        wait_for_rest(&*self.scene.scheduler);
    }

    fn destroy(self) {
        self.scene.scheduler.release();
        join(self.workers);
    }
}

/// Increments the first cell and spawns a task that increments the second.
unsafe extern "C" fn two<D: Modelled>(closure: *mut c_void, s: *mut Scheduler) {
    // SAFETY: the models pass their cells, and `s` is a worker of the model.
    let (cells, worker) = unsafe { (&*closure.cast::<Vec<Cell>>(), Worker::<D>::of(s)) };
    worker.spawn(count, cells[1].closure());
    cells[0].add();
}

/// Like `two`, but through the injector: while a task runs, others are accepted.
unsafe extern "C" fn two_from_outside<D: Modelled>(closure: *mut c_void, s: *mut Scheduler) {
    // SAFETY: the models pass their cells, and `s` is a worker of the model.
    let (cells, worker) = unsafe { (&*closure.cast::<Vec<Cell>>(), Worker::<D>::of(s)) };
    worker.inject(count, cells[1].closure());
    cells[0].add();
}

/// The waiting thread sees what the task wrote, without any other synchronisation.
fn a_task_is_awaited<D: Modelled>(workers: usize, preemptions: usize, at_least: usize) {
    let name = format!("pool over {}, {workers} workers, a task is awaited", D::NAME);
    explore(&name, preemptions, at_least, move || {
        let pool = Pool::<D>::new(workers, 1);
        pool.submit(count, pool.scene.cells[0].closure());
        pool.wait();
        assert_eq!(pool.scene.cells[0].get(), 1);
        pool.destroy();
    });
}

fn a_task_and_its_child_are_awaited<D: Modelled>(
    workers: usize,
    preemptions: usize,
    at_least: usize,
) {
    let name = format!("pool over {}, {workers} workers, a task and its child", D::NAME);
    explore(&name, preemptions, at_least, move || {
        let pool = Pool::<D>::new(workers, 2);
        pool.submit(two::<D>, closure_of(&pool.scene.cells));
        pool.wait();
        pool.scene.each_ran_once();
        pool.destroy();
    });
}

/// One thread submits a task while another waits and then destroys the pool.
fn a_submission_beside_a_wait<D: Modelled>(workers: usize, preemptions: usize, at_least: usize) {
    let name = format!("pool over {}, {workers} workers, submit against wait", D::NAME);
    explore(&name, preemptions, at_least, move || {
        let pool = Pool::<D>::new(workers, 1);
        let submitter = thread_with(&pool.scene, |scene| {
            scene.places[0].inject(count, scene.cells[0].closure());
        });
        pool.wait();
        submitter.join().unwrap();
        let scene = loom::sync::Arc::clone(&pool.scene);
        pool.destroy();
        assert_eq!(scene.cells[0].get(), 1);
    });
}

/// The pool is destroyed at each possible step of its worker's way to rest.
fn a_pool_is_destroyed_with_a_task<D: Modelled>(
    workers: usize,
    preemptions: usize,
    at_least: usize,
) {
    let name = format!("pool over {}, {workers} workers, destroyed with tasks", D::NAME);
    explore(&name, preemptions, at_least, move || {
        let pool = Pool::<D>::new(workers, 2);
        pool.submit(two_from_outside::<D>, closure_of(&pool.scene.cells));
        let scene = loom::sync::Arc::clone(&pool.scene);
        pool.destroy();
        scene.each_ran_once();
    });
}

/// Two threads wait for the rest after one task.
fn two_wait<D: Modelled>(workers: usize, preemptions: usize, at_least: usize) {
    let name = format!("pool over {}, {workers} workers, two wait", D::NAME);
    explore(&name, preemptions, at_least, move || {
        let pool = Pool::<D>::new(workers, 1);
        pool.submit(count, pool.scene.cells[0].closure());
        let other = thread_with(&pool.scene, |scene| {
            wait_for_rest(&*scene.scheduler);
            assert_eq!(scene.cells[0].get(), 1);
        });
        pool.wait();
        assert_eq!(pool.scene.cells[0].get(), 1);
        other.join().unwrap();
        pool.destroy();
    });
}

// Two workers have deques without alarms, and one preemption: over `Split` each task from outside
// sets alarms, of which `outside.rs` has models, and this file took more than half an hour. A
// submission beside a wait has one worker: with two there are more than 200,000 executions.
models! {
    chaselev: ChaseLev {
        awaited: a_task_is_awaited(1, 3, 1_000);
        awaited_two_workers: a_task_is_awaited(2, 1, 2_500);
        child: a_task_and_its_child_are_awaited(2, 1, 6_000);
        beside: a_submission_beside_a_wait(1, 3, 40_000);
        destroyed: a_pool_is_destroyed_with_a_task(1, 3, 400);
        destroyed_two_workers: a_pool_is_destroyed_with_a_task(2, 1, 1_000);
        two_wait: two_wait(1, 3, 15_000);
    }
    split: Split<Asymmetric> {
        awaited: a_task_is_awaited(1, 3, 20_000);
        beside: a_submission_beside_a_wait(1, 2, 30_000);
        destroyed: a_pool_is_destroyed_with_a_task(1, 3, 20_000);
        two_wait: two_wait(1, 2, 30_000);
    }
}
