//! Raids: thefts of private tasks, concurrent with the owner.

use crate::{Shared, raider, rob};
use sched::queue::{Deque, Portion, Published};
use sched_model::{Reached, pop, thread_with};

#[test]
fn owner_and_raider_at_the_last_task() {
    static DRAWN_BACK: Reached = Reached::not_yet();
    Shared::explore("split, last private task", 5, 2000, 1, |shared, owner| {
        shared.push(owner, 0);
        let raider = thread_with(shared, |shared| {
            if !shared.deque.looks_empty() {
                DRAWN_BACK.note(!rob(shared));
            }
        });
        pop(owner);
        [raider]
    });
    DRAWN_BACK.expect("a raid that draws back");
}

#[test]
fn a_raid_while_the_owner_pops() {
    Shared::explore("split, pops beside a raid", 4, 30_000, 2, |shared, owner| {
        shared.push(owner, 0);
        shared.push(owner, 1);
        let raider = raider(shared, 2);
        pop(owner);
        pop(owner);
        [raider]
    });
}

#[test]
fn a_raid_while_the_owner_pushes() {
    Shared::explore("split, pushes beside a raid", 4, 10_000, 2, |shared, owner| {
        let raider = raider(shared, 2);
        shared.push(owner, 0);
        shared.push(owner, 1);
        pop(owner);
        [raider]
    });
}

/// The raid may find `bot` unchanged, although the task is another one.
#[test]
fn a_slot_is_reused_beside_a_raid() {
    Shared::explore("split, slot reuse beside a raid", 5, 10_000, 2, |shared, owner| {
        let raider = raider(shared, 1);
        shared.push(owner, 0);
        pop(owner);
        shared.push(owner, 1);
        pop(owner);
        [raider]
    });
}

#[test]
fn a_public_slot_is_reused_beside_a_raid() {
    Shared::explore("split, slot reuse beside two raids", 3, 5000, 3, |shared, owner| {
        shared.push(owner, 0);
        shared.push(owner, 1);
        let raider = raider(shared, 2);
        pop(owner);
        shared.push(owner, 2);
        pop(owner);
        [raider]
    });
}

#[test]
fn a_raid_of_many_while_the_owner_pops() {
    Shared::explore("split, a raid of many", 3, 20_000, 4, |shared, owner| {
        (0..4).for_each(|i| shared.push(owner, i));
        let raider = raider(shared, 2);
        (0..4).for_each(|_| {
            pop(owner);
        });
        [raider]
    });
}

#[test]
fn a_thief_and_a_raider() {
    Shared::explore("split, a thief and a raider", 3, 2000, 2, |shared, owner| {
        shared.push(owner, 0);
        shared.push(owner, 1);
        assert_eq!(owner.publish(Portion::Half), Published::Some);
        let thief = Shared::thief(shared, 1);
        let raider = raider(shared, 1);
        pop(owner);
        [thief, raider]
    });
}

#[test]
fn two_raiders() {
    Shared::explore("split, two raiders", 2, 100_000, 2, |shared, owner| {
        shared.push(owner, 0);
        shared.push(owner, 1);
        let raiders = [raider(shared, 1), raider(shared, 1)];
        pop(owner);
        pop(owner);
        raiders
    });
}

#[test]
fn tasks_are_published_beside_a_raid() {
    Shared::explore("split, publishing beside a raid", 4, 40_000, 3, |shared, owner| {
        shared.push(owner, 0);
        let raider = raider(shared, 2);
        shared.push(owner, 1);
        owner.publish(Portion::Half);
        pop(owner);
        shared.push(owner, 2);
        [raider]
    });
}
