//! Whole runs of kind `steal`, with the shipped worker loop, deque, event count, injector and
//! quiescence: every task runs once, before the run ends, and every worker comes home.
#![cfg(loom)]

use loom::sync::Arc;
use loom::thread;
use sched::kind::Kind;
use sched::queue::injector::Refused;
use sched::task::{Scheduler, Task};
use sched_model::{Cell, Steal, Worker, count, explore, first, scheduler};
use std::ffi::c_void;

struct Run {
    workers: Vec<Worker>,
    scheduler: Box<Steal>,
    cells: Vec<Cell>,
}

// SAFETY: each worker is used by one thread; the rest is made to be shared.
unsafe impl Send for Run {}
// SAFETY: as above.
unsafe impl Sync for Run {}

impl Run {
    fn new(workers: usize, cells: usize) -> Arc<Run> {
        let scheduler = Box::new(scheduler(workers));
        Arc::new(Run {
            workers: (0..workers).map(|i| Worker::new(i, &scheduler)).collect(),
            scheduler,
            cells: (0..cells).map(|_| Cell::new()).collect(),
        })
    }

    fn work(&self, index: usize) {
        // SAFETY: each index is worked by one thread.
        unsafe { self.scheduler.work(&self.workers[index]) };
    }

    fn others(this: &Arc<Self>) -> Vec<thread::JoinHandle<()>> {
        (1..this.workers.len())
            .map(|i| {
                let run = Arc::clone(this);
                thread::spawn(move || run.work(i))
            })
            .collect()
    }

    /// Runs `f`, given all the cells, on all workers, and checks that each cell was counted
    /// once when worker 0's loop has ended, as the return of sched_init promises.
    fn complete(this: &Arc<Self>, f: unsafe extern "C" fn(*mut c_void, *mut Scheduler)) {
        let closure = std::ptr::from_ref(&this.cells).cast_mut().cast();
        first(&this.scheduler, &this.workers[0], f, closure);
        let others = Run::others(this);
        this.work(0);
        for (i, cell) in this.cells.iter().enumerate() {
            assert_eq!(cell.get(), 1, "task {i}");
        }
        for other in others {
            other.join().unwrap();
        }
    }
}

/// Spawns a counting task for each cell.
unsafe extern "C" fn spawn_all(closure: *mut c_void, s: *mut Scheduler) {
    // SAFETY: `complete` passes its cells, and `s` is a worker of the model.
    let (cells, worker) = unsafe { (&*closure.cast::<Vec<Cell>>(), Worker::of(s)) };
    for cell in cells {
        worker.spawn(count, cell.closure());
    }
}

/// Counts the first cell and spawns a task that counts the second.
unsafe extern "C" fn chain(closure: *mut c_void, s: *mut Scheduler) {
    // SAFETY: as above.
    let (cells, worker) = unsafe { (&*closure.cast::<Vec<Cell>>(), Worker::of(s)) };
    worker.spawn(chain_end, closure);
    cells[0].add();
}

unsafe extern "C" fn chain_end(closure: *mut c_void, s: *mut Scheduler) {
    // SAFETY: as above.
    let (cells, worker) = unsafe { (&*closure.cast::<Vec<Cell>>(), Worker::of(s)) };
    worker.spawn(count, cells[1].closure());
}

/// Spawns a task and blocks its thread until that has run, on the other worker.
unsafe extern "C" fn spawn_and_block(closure: *mut c_void, s: *mut Scheduler) {
    // SAFETY: the model passes its latch, and `s` is a worker of the model.
    let (latch, worker) = unsafe { (&*closure.cast::<Latch>(), Worker::of(s)) };
    worker.spawn(open, closure);
    let mut opened = latch.opened.lock().unwrap();
    while !*opened {
        opened = latch.bell.wait(opened).unwrap();
    }
}

unsafe extern "C" fn open(closure: *mut c_void, _s: *mut Scheduler) {
    // SAFETY: as above.
    let latch = unsafe { &*closure.cast::<Latch>() };
    *latch.opened.lock().unwrap() = true;
    latch.bell.notify_one();
}

struct Latch {
    opened: loom::sync::Mutex<bool>,
    bell: loom::sync::Condvar,
}

/// A sleeper that misses the child leaves everybody asleep.
#[test]
fn a_blocked_parent_two_workers() {
    explore("run, a parent that blocks for its child", 3, 1000, || {
        let run = Run::new(2, 0);
        let latch = Arc::new(Latch {
            opened: loom::sync::Mutex::new(false),
            bell: loom::sync::Condvar::new(),
        });
        let closure = std::ptr::from_ref(&*latch).cast_mut().cast();
        first(&run.scheduler, &run.workers[0], spawn_and_block, closure);
        let others = Run::others(&run);
        run.work(0);
        for other in others {
            other.join().unwrap();
        }
        assert!(*latch.opened.lock().unwrap());
    });
}

#[test]
fn one_child_two_workers() {
    explore("run, one child on two workers", 3, 1000, || {
        Run::complete(&Run::new(2, 1), spawn_all);
    });
}

#[test]
fn two_children_two_workers() {
    explore("run, two children on two workers", 3, 1000, || {
        Run::complete(&Run::new(2, 2), spawn_all);
    });
}

#[test]
fn a_chain_on_two_workers() {
    explore("run, a chain on two workers", 2, 1000, || {
        Run::complete(&Run::new(2, 2), chain);
    });
}

#[test]
fn one_child_three_workers() {
    explore("run, one child on three workers", 2, 1000, || {
        Run::complete(&Run::new(3, 1), spawn_all);
    });
}

#[test]
fn a_foreign_task_runs_or_is_refused() {
    explore("run, a foreign spawn against the end", 2, 1000, || {
        let run = Run::new(2, 1);
        let cell = Arc::new(Cell::new());
        first(&run.scheduler, &run.workers[0], count, run.cells[0].closure());
        let foreigner = {
            let (run, cell) = (Arc::clone(&run), Arc::clone(&cell));
            thread::spawn(move || {
                match run.scheduler.inject(Task { f: count, closure: cell.closure() }) {
                    Ok(()) => 1,
                    Err(Refused::Closed) => 0,
                    Err(Refused::Full) => panic!("there is memory"),
                }
            })
        };
        let others = Run::others(&run);
        run.work(0);
        assert_eq!(run.cells[0].get(), 1);
        let ran = cell.get(); // accepted or not, that is settled when the run has ended
        for other in others {
            other.join().unwrap();
        }
        assert_eq!(foreigner.join().unwrap(), ran);
    });
}
