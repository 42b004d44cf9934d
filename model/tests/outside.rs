//! Tasks from outside the run, beside a worker with tasks of its own: between two steps, a task in
//! the injector has a worker that searches, or an alarm (`policy::stealing::outside`). An urgent one
//! has an alarm, and is the next that the worker takes.
#![cfg(loom)]

use loom::sync::Arc;
use loom::thread::JoinHandle;
use sched::idle::eventcount::Role;
use sched::policy::{LookFirst, Policy};
use sched::queue::PrivatePart;
use sched::queue::split::Split;
use sched::sys::fence::Asymmetric;
use sched::task::Level;
use sched_model::{Reached, count, explore, explore_seeing, join, saw, thread_with};

type Scene = sched_model::Scene<Split<Asymmetric>>;

/// Another thread adds the task of cell `i`.
fn stranger(scene: &Arc<Scene>, level: Level, i: usize) -> JoinHandle<()> {
    thread_with(scene, move |scene| {
        scene.places[0].inject_at(level, count, scene.cells[i].closure());
    })
}

/// Worker 1 stops searching, since it has found another task.
fn finder(scene: &Arc<Scene>) -> JoinHandle<()> {
    assert_eq!(scene.scheduler.sleepers().start_search(1), Role::Searcher);
    thread_with(scene, |scene| scene.scheduler.wake_for_more(scene.places[1].mine()))
}

/// Runs the next task of worker 0. False if there is none.
fn run_next(scene: &Scene) -> bool {
    // SAFETY: the main thread occupies place 0, and runs each task once.
    unsafe {
        let next = scene.scheduler.next_in_line(scene.places[0].mine(), LookFirst::AtHome);
        next.map(|task| (task.f)(task.closure, std::ptr::null_mut())).is_some()
    }
}

fn is_alarmed(scene: &Scene) -> bool {
    scene.scheduler.deque(0).is_alarmed()
}

#[test]
fn a_task_beside_the_last_searcher() {
    explore("outside, the last searcher stops", 4, 20, || {
        let scene = Scene::new(2, 1);
        let finder = finder(&scene);
        join([stranger(&scene, Level::Normal, 0), finder]);
        assert!(is_alarmed(&scene), "nobody looks for the task");
    });
}

#[test]
fn two_tasks_beside_a_busy_owner() {
    static SEEN: Reached = Reached::not_yet();
    explore("outside, two tasks and a busy owner", 2, 1000, || {
        let scene = Scene::new(2, 3);
        scene.places[0].spawn(count, scene.cells[2].closure());
        let threads = [stranger(&scene, Level::Normal, 0), stranger(&scene, Level::Normal, 1)];
        assert!(run_next(&scene));
        SEEN.note(scene.scheduler.queued(0) == Some(1));
        join(threads);
        let waiting = scene.scheduler.queued_for_all();
        assert!(waiting == 0 || is_alarmed(&scene), "nobody looks for the task");
        while run_next(&scene) {}
        scene.each_ran_once();
    });
    SEEN.expect("a task from outside before an own one");
}

/// The worker is within a task, and looks whether it must give way. It removes its alarm if it sees
/// no task, while one comes.
fn an_owner_that_looks(name: &str, level: Level) {
    explore_seeing("the owner has always seen the task", name, 4, 100, move || {
        let scene = Scene::new(2, 2);
        scene.places[0].inject(count, scene.cells[0].closure());
        assert!(run_next(&scene)); // the alarm stays: it may stand for more than one task
        let stranger = stranger(&scene, level, 1);
        let due = scene.scheduler.is_turn_due(scene.places[0].mine());
        saw(usize::from(!due));
        stranger.join().unwrap();
        assert!(is_alarmed(&scene), "nobody looks for the task");
        assert!(run_next(&scene) && !run_next(&scene));
    });
}

#[test]
fn a_task_beside_an_owner_that_looks() {
    an_owner_that_looks("outside, an owner that looks", Level::Normal);
}

/// The urgent task has an alarm, whether or not a worker still searches.
#[test]
fn an_urgent_task_beside_the_last_searcher() {
    explore("outside, an urgent task, and the last searcher stops", 4, 20, || {
        let scene = Scene::new(2, 1);
        let finder = finder(&scene);
        stranger(&scene, Level::Urgent, 0).join().unwrap();
        assert!(is_alarmed(&scene), "nobody looks for the urgent task");
        finder.join().unwrap();
        assert!(is_alarmed(&scene), "nobody looks for the urgent task");
    });
}

/// The owner pops while an ordinary task and an urgent one come. When both are there, the urgent one
/// is the next.
#[test]
fn an_urgent_task_beside_an_ordinary_one() {
    static LATE: Reached = Reached::not_yet();
    static EARLY: Reached = Reached::not_yet();
    explore("outside, an urgent task beside an ordinary one", 2, 1000, || {
        let scene = Scene::new(2, 4);
        scene.places[0].spawn(count, scene.cells[2].closure());
        scene.places[0].spawn(count, scene.cells[3].closure());
        let threads = [stranger(&scene, Level::Normal, 0), stranger(&scene, Level::Urgent, 1)];
        assert!(run_next(&scene));
        join(threads);
        EARLY.note(scene.cells[1].get() == 1);
        if scene.cells[1].get() == 0 {
            LATE.note(true);
            assert!(is_alarmed(&scene), "nobody looks for the urgent task");
            assert!(run_next(&scene));
            assert_eq!(scene.cells[1].get(), 1, "another task has gone before the urgent one");
        }
        while run_next(&scene) {}
        scene.each_ran_once();
    });
    EARLY.expect("an urgent task before an own one");
    LATE.expect("an urgent task after an own one");
}

#[test]
fn an_urgent_task_beside_an_owner_that_looks() {
    an_owner_that_looks("outside, an urgent task and an owner that looks", Level::Urgent);
}
