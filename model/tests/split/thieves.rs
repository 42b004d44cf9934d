//! Thefts of public tasks, concurrent with the owner.

use crate::{Shared, asker, raider, spawn};
use sched::queue::{Portion, PrivatePart, Published};
use sched_model::pop;

#[test]
fn owner_and_thief_at_the_last_task() {
    Shared::explore("split, last public task", 5, 20, 1, |shared, owner| {
        shared.push(owner, 0);
        assert!(shared.deque.raid());
        let thief = Shared::thief(shared, 1);
        pop(owner);
        [thief]
    });
}

#[test]
fn half_is_taken_back_beside_a_thief() {
    Shared::explore("split, taking back beside a thief", 5, 60, 4, |shared, owner| {
        (0..4).for_each(|i| shared.push(owner, i));
        for _ in 0..3 {
            assert!(shared.deque.raid());
        }
        let thief = Shared::thief(shared, 2);
        pop(owner);
        pop(owner);
        [thief]
    });
}

#[test]
fn two_thieves_and_the_owner() {
    Shared::explore("split, two thieves", 4, 5000, 2, |shared, owner| {
        shared.push(owner, 0);
        shared.push(owner, 1);
        assert!(shared.deque.raid());
        assert!(shared.deque.raid());
        let thieves = [Shared::thief(shared, 1), Shared::thief(shared, 1)];
        pop(owner);
        thieves
    });
}

#[test]
fn tasks_are_published_beside_a_thief() {
    Shared::explore("split, publishing beside a thief", 4, 20_000, 3, |shared, owner| {
        let thief = asker(shared, 2);
        spawn(shared, owner, 0);
        spawn(shared, owner, 1);
        spawn(shared, owner, 2);
        pop(owner);
        [thief]
    });
}

#[test]
fn all_tasks_are_published_beside_a_thief() {
    Shared::explore("split, publishing all beside a thief", 4, 100_000, 3, |shared, owner| {
        shared.push(owner, 0);
        shared.push(owner, 1);
        assert_eq!(owner.publish(Portion::HalfOrLone), Published::Some);
        let thief = Shared::thief(shared, 3);
        shared.push(owner, 2);
        assert_ne!(owner.publish(Portion::All), Published::None);
        pop(owner);
        pop(owner);
        pop(owner);
        [thief]
    });
}

#[test]
fn an_emptied_deque_starts_over_beside_a_thief() {
    Shared::explore("split, starting over beside a thief", 4, 40_000, 3, |shared, owner| {
        shared.push(owner, 0);
        shared.push(owner, 1);
        assert!(shared.deque.raid());
        let thief = raider(shared, 2);
        pop(owner);
        pop(owner);
        shared.push(owner, 2);
        pop(owner);
        [thief]
    });
}
