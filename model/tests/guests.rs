//! Guests of runs of kind `steal` (`policy::guests`): threads from outside that come to a place,
//! add tasks to its deque, and go. Every task runs once; a wait for a rest returns when no task is
//! left, and not before; the run ends.
#![cfg(loom)]

use loom::sync::Arc;
use loom::thread::JoinHandle;
use sched::policy::guests::Purpose;
use sched::policy::{Place, Policy};
use sched::queue::chaselev::ChaseLev;
use sched::queue::split::Split;
use sched::sys::fence::Asymmetric;
use sched::task::Task;
use sched_model::{Modelled, Scene, count, explore, join, models, thread_with, wait_for_rest};

/// A run with this many workers, and room for one guest.
fn run<D: Modelled>(workers: usize, cells: usize) -> (Arc<Scene<D>>, Vec<JoinHandle<()>>) {
    let scene = Scene::held_for_guests(workers, 1, cells);
    let threads = Scene::start(&scene, 0..workers);
    (scene, threads)
}

/// Visits the run as thread `name`, and adds a task that counts each of these cells. Returns false
/// if the run has ended, or another guest is there.
fn visit<D: Modelled>(scene: &Scene<D>, name: usize, cells: std::ops::Range<usize>) -> bool {
    let Some(index) = scene.scheduler.come(name, Purpose::AddTasks) else { return false };
    let place = &scene.places[index];
    for cell in &scene.cells[cells] {
        place.spawn(count, cell.closure());
    }
    scene.scheduler.go(place.mine(), Purpose::AddTasks);
    true
}

/// The guest leaves its tasks to the workers, and waits for the rest.
fn tasks_are_left<D: Modelled>(workers: usize, tasks: usize, preemptions: usize, at_least: usize) {
    let name = format!("guests over {}, {workers} workers, {tasks} tasks are left", D::NAME);
    explore(&name, preemptions, at_least, move || {
        let (scene, threads) = run::<D>(workers, tasks);
        assert!(visit(&scene, 1, 0..tasks));
        wait_for_rest(&*scene.scheduler);
        scene.each_ran_once();
        scene.scheduler.release();
        join(threads);
    });
}

/// The guest leaves a task and comes again with another, perhaps after the place was freed.
fn a_guest_comes_again<D: Modelled>(workers: usize, preemptions: usize, at_least: usize) {
    let name = format!("guests over {}, {workers} workers, comes again", D::NAME);
    explore(&name, preemptions, at_least, move || {
        let (scene, threads) = run::<D>(workers, 2);
        assert!(visit(&scene, 1, 0..1));
        // (A worker that is freeing the place occupies it for an instant.)
        let again = visit(&scene, 1, 1..2);
        wait_for_rest(&*scene.scheduler);
        assert_eq!(scene.cells[0].get(), 1);
        assert_eq!(scene.cells[1].get(), usize::from(again));
        scene.scheduler.release();
        join(threads);
    });
}

/// The guest runs its tasks that no thief has taken.
fn a_guest_runs_its_own<D: Modelled>(workers: usize, preemptions: usize, at_least: usize) {
    let name = format!("guests over {}, {workers} workers, runs its own", D::NAME);
    explore(&name, preemptions, at_least, move || {
        let (scene, threads) = run::<D>(workers, 1);
        let index = scene.scheduler.come(1, Purpose::Work).expect("nobody else comes");
        let place = &scene.places[index];
        let task = Task { f: count, closure: scene.cells[0].closure() };
        place.spawn(task.f, task.closure);
        scene.scheduler.run_own(place.on_stack(), &|found| found == task);
        scene.scheduler.go(place.mine(), Purpose::Work);
        wait_for_rest(&*scene.scheduler);
        scene.each_ran_once();
        scene.scheduler.release();
        join(threads);
    });
}

/// The run is released while the guest comes: it refuses the guest, or waits for the guest's task.
fn a_guest_beside_the_end<D: Modelled>(workers: usize, preemptions: usize, at_least: usize) {
    let name = format!("guests over {}, {workers} workers, beside the end", D::NAME);
    explore(&name, preemptions, at_least, move || {
        let (scene, threads) = run::<D>(workers, 1);
        let guest = thread_with(&scene, |scene| {
            if !visit(scene, 1, 0..1) {
                scene.cells[0].add();
            }
        });
        scene.scheduler.release();
        join(threads);
        guest.join().unwrap();
        scene.each_ran_once();
    });
}

/// The guest sleeps twice, each time with a task in its queue. A worker that looks only at the
/// queue for all workers holds the token during that time. It does not drop the token for the
/// second task.
fn a_guest_sleeps_again<D: Modelled>(preemptions: usize, at_least: usize) {
    let name = format!("guests over {}, sleeps again", D::NAME);
    explore(&name, preemptions, at_least, move || {
        let scene = Scene::<D>::held_for_guests(1, 1, 2);
        let index = scene.scheduler.come(1, Purpose::Work).expect("nobody else comes");
        let worker = thread_with(&scene, move |scene| {
            let place = scene.places[0].mine();
            for task in [scene.scheduler.rob(index, place), scene.scheduler.take_outside(place)] {
                task.into_iter().for_each(|task| scene.places[0].call(task));
            }
        });
        let place = &scene.places[index];
        let add = |cell: usize| place.spawn(count, scene.cells[cell].closure());
        add(0);
        scene.scheduler.sleep_as_guest(place.mine(), &mut || ());
        add(1);
        let mut worker = Some(worker);
        scene.scheduler.sleep_as_guest(place.mine(), &mut || {
            join(worker.take());
            let left = !scene.scheduler.deque(index).looks_empty();
            assert!(!left || scene.scheduler.queued_for_all() > 0, "a task that no token tells of");
        });
        scene.scheduler.run_own(place.on_stack(), &|_| true);
        scene.each_ran_once();
    });
}

// `two_left` has one preemption: with two, raids beside alarms take more than 25 seconds, and no
// mutant needs them.
models! {
    chaselev: ChaseLev {
        left: tasks_are_left(1, 1, 3, 10_000);
        again: a_guest_comes_again(1, 2, 3_000);
        beside: a_guest_beside_the_end(1, 3, 5_000);
        asleep: a_guest_sleeps_again(2, 1_000);
    }
    split: Split<Asymmetric> {
        left: tasks_are_left(1, 1, 2, 10_000);
        two_left: tasks_are_left(1, 2, 1, 1_000);
        again: a_guest_comes_again(1, 1, 1_000);
        own: a_guest_runs_its_own(1, 2, 100_000);
        beside: a_guest_beside_the_end(1, 2, 10_000);
    }
}
