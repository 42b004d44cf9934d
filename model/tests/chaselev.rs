//! The Chase-Lev deque: each task is taken once, by one thread, after what its pusher wrote.
#![cfg(loom)]

use loom::sync::Arc;
use loom::thread;
use sched::queue::chaselev::ChaseLev;
use sched::queue::{Deque, Owner, Steal};
use sched::task::Task;
use sched_model::{Cell, count, explore};
use std::ffi::c_void;

struct Shared {
    deque: ChaseLev,
    cells: Vec<Cell>,
}

impl Shared {
    fn new(cells: usize) -> Arc<Shared> {
        let deque = ChaseLev::new(usize::MAX).expect("there is memory");
        Arc::new(Shared { deque, cells: (0..cells).map(|_| Cell::new()).collect() })
    }

    fn owner(&self) -> Owner<'_, ChaseLev> {
        // SAFETY: only the model's main thread calls this, once.
        unsafe { Owner::new(&self.deque) }
    }

    /// Pushes cell `i`, counted once already: its taker counts it again.
    fn push(&self, owner: &mut Owner<ChaseLev>, i: usize) {
        self.cells[i].add();
        let closure: *mut c_void = self.cells[i].closure();
        owner.push(Task { f: count, closure }).expect("there is memory");
    }

    fn thief(this: &Arc<Self>, attempts: usize) -> thread::JoinHandle<()> {
        let shared = Arc::clone(this);
        thread::spawn(move || {
            for _ in 0..attempts {
                if let Steal::Taken(task) = shared.deque.steal() {
                    take(task);
                }
            }
        })
    }

    /// After all threads have ended: what is left is taken, then each was taken once.
    fn check(&self, mut owner: Owner<ChaseLev>) {
        while pop(&mut owner) {}
        for (i, cell) in self.cells.iter().enumerate() {
            assert_eq!(cell.get(), 2, "task {i} was taken {} times", cell.get() - 1);
        }
    }
}

fn pop(owner: &mut Owner<ChaseLev>) -> bool {
    let popped = owner.pop();
    if let Some(task) = popped {
        take(task);
    }
    popped.is_some()
}

fn take(task: Task) {
    // SAFETY: the task is `count` with a cell that lives.
    unsafe { (task.f)(task.closure, std::ptr::null_mut()) }
}

#[test]
fn owner_and_thief_meet_at_the_last_task() {
    explore("chaselev, last task", 5, 60, || {
        let shared = Shared::new(1);
        let mut owner = shared.owner();
        let thief = Shared::thief(&shared, 1);
        shared.push(&mut owner, 0);
        pop(&mut owner);
        thief.join().unwrap();
        shared.check(owner);
    });
}

#[test]
fn push_and_pop_beside_a_thief() {
    explore("chaselev, push and pop beside a thief", 5, 500, || {
        let shared = Shared::new(3);
        let mut owner = shared.owner();
        shared.push(&mut owner, 0);
        let thief = Shared::thief(&shared, 2);
        shared.push(&mut owner, 1);
        pop(&mut owner);
        shared.push(&mut owner, 2);
        pop(&mut owner);
        thief.join().unwrap();
        shared.check(owner);
    });
}

#[test]
fn two_thieves_and_the_owner() {
    explore("chaselev, two thieves", 5, 1000, || {
        let shared = Shared::new(2);
        let mut owner = shared.owner();
        shared.push(&mut owner, 0);
        shared.push(&mut owner, 1);
        let thieves = [Shared::thief(&shared, 1), Shared::thief(&shared, 1)];
        pop(&mut owner);
        for thief in thieves {
            thief.join().unwrap();
        }
        shared.check(owner);
    });
}

#[test]
fn growth_beside_a_thief() {
    // The capacity is 2 under the model: the third push grows the ring, after it has wrapped.
    explore("chaselev, growth and wrap-around", 5, 3000, || {
        let shared = Shared::new(5);
        let mut owner = shared.owner();
        shared.push(&mut owner, 0);
        pop(&mut owner);
        shared.push(&mut owner, 1);
        let thief = Shared::thief(&shared, 2);
        shared.push(&mut owner, 2);
        shared.push(&mut owner, 3);
        shared.push(&mut owner, 4);
        pop(&mut owner);
        thief.join().unwrap();
        shared.check(owner);
    });
}

#[test]
fn a_slot_is_reused_after_its_thief() {
    explore("chaselev, slot reuse", 5, 100, || {
        let shared = Shared::new(4);
        let mut owner = shared.owner();
        shared.push(&mut owner, 0);
        shared.push(&mut owner, 1);
        let thief = Shared::thief(&shared, 1);
        pop(&mut owner);
        shared.push(&mut owner, 2);
        shared.push(&mut owner, 3);
        thief.join().unwrap();
        shared.check(owner);
    });
}
