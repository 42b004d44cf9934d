//! The Chase-Lev deque: each task is taken once, by one thread, after what its pusher wrote.
#![cfg(loom)]

use sched::queue::chaselev::ChaseLev;
use sched_model::pop;

type Shared = sched_model::Shared<ChaseLev>;

#[test]
fn owner_and_thief_meet_at_the_last_task() {
    Shared::explore("chaselev, last task", 5, 60, 1, |shared, owner| {
        let thief = Shared::thief(shared, 1);
        shared.push(owner, 0);
        pop(owner);
        [thief]
    });
}

#[test]
fn push_and_pop_beside_a_thief() {
    Shared::explore("chaselev, push and pop beside a thief", 5, 500, 3, |shared, owner| {
        shared.push(owner, 0);
        let thief = Shared::thief(shared, 2);
        shared.push(owner, 1);
        pop(owner);
        shared.push(owner, 2);
        pop(owner);
        [thief]
    });
}

#[test]
fn two_thieves_and_the_owner() {
    Shared::explore("chaselev, two thieves", 5, 1000, 2, |shared, owner| {
        shared.push(owner, 0);
        shared.push(owner, 1);
        let thieves = [Shared::thief(shared, 1), Shared::thief(shared, 1)];
        pop(owner);
        thieves
    });
}

#[test]
fn growth_beside_a_thief() {
    // The capacity is 2 under the model: the third push grows the ring, after it has wrapped.
    Shared::explore("chaselev, growth and wrap-around", 5, 3000, 5, |shared, owner| {
        shared.push(owner, 0);
        pop(owner);
        shared.push(owner, 1);
        let thief = Shared::thief(shared, 2);
        shared.push(owner, 2);
        shared.push(owner, 3);
        shared.push(owner, 4);
        pop(owner);
        [thief]
    });
}

#[test]
fn a_slot_is_reused_after_its_thief() {
    Shared::explore("chaselev, slot reuse", 5, 100, 4, |shared, owner| {
        shared.push(owner, 0);
        shared.push(owner, 1);
        let thief = Shared::thief(shared, 1);
        pop(owner);
        shared.push(owner, 2);
        shared.push(owner, 3);
        [thief]
    });
}

/// The owner gives back the slots of the long buffer, one of which the thief may have read. A deque
/// that has tasks gives nothing back.
#[test]
fn memory_is_given_back_beside_a_thief() {
    Shared::explore("chaselev, memory given back beside a thief", 4, 1000, 5, |shared, owner| {
        (0..3).for_each(|i| shared.push(owner, i)); // the third push grows the buffer
        let thief = Shared::thief(shared, 2);
        pop(owner);
        owner.give_back();
        pop(owner);
        pop(owner);
        owner.give_back();
        shared.push(owner, 3);
        shared.push(owner, 4);
        pop(owner);
        [thief]
    });
}
