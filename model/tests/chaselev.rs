//! The Chase-Lev deque: each task is taken once, by one thread, after what its pusher wrote.
#![cfg(loom)]

use sched::queue::chaselev::ChaseLev;
use sched_model::{explore, pop};

type Shared = sched_model::Shared<ChaseLev>;

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
