//! Joins: the owner takes one particular task.

use crate::{Shared, asker, raider, requester};
use sched::queue::{Deque, PrivatePart};
use sched::task::Task;
use sched_model::{Reached, count, take};

/// A join has taken a public task.
static RETAKEN: Reached = Reached::not_yet();

/// Does the work of a join: if the youngest task, public or not, is the task of cell `i`, takes it
/// and returns true. Otherwise takes the youngest task as the worker's loop does.
fn join(shared: &Shared, i: usize) -> bool {
    let expected = Task { f: count, closure: shared.cells[i].closure() };
    // SAFETY: only the model's main thread, the owner, calls this.
    let (hit, task) = unsafe {
        if shared.deque.claim_this(expected) {
            (true, Some(expected))
        } else if shared.deque.retake(expected) {
            RETAKEN.note(true);
            (true, Some(expected))
        } else {
            (false, shared.deque.pop())
        }
    };
    task.into_iter().for_each(take);
    hit
}

#[test]
fn a_join_beside_a_thief() {
    static HIT: Reached = Reached::not_yet();
    static MISSED: Reached = Reached::not_yet();
    Shared::explore("split, a join beside a thief", 5, 150, 2, |shared, owner| {
        shared.push(owner, 0);
        shared.push(owner, 1);
        assert!(shared.deque.raid());
        let thief = asker(shared, 2);
        HIT.note(join(shared, 1));
        MISSED.note(!join(shared, 0));
        [thief]
    });
    HIT.expect("the child in its place");
    MISSED.expect("a stolen child");
}

#[test]
fn a_join_beside_a_raid() {
    static HIT: Reached = Reached::not_yet();
    static MISSED: Reached = Reached::not_yet();
    Shared::explore("split, a join beside a raid", 5, 10_000, 1, |shared, owner| {
        shared.push(owner, 0);
        let raider = raider(shared, 2);
        let hit = join(shared, 0);
        HIT.note(hit);
        MISSED.note(!hit);
        [raider]
    });
    HIT.expect("the child in its place");
    MISSED.expect("a child behind the split");
}

#[test]
fn joins_beside_a_request() {
    static PUBLISHED: Reached = Reached::not_yet();
    Shared::explore("split, joins beside a request", 4, 2000, 3, |shared, owner| {
        (0..3).for_each(|i| shared.push(owner, i));
        let thief = requester(shared, 2, &PUBLISHED);
        (0..3).rev().for_each(|i| {
            join(shared, i);
        });
        [thief]
    });
    PUBLISHED.expect("a request for which a join publishes");
    RETAKEN.expect("a public child that is at hand");
}

/// The youngest task is not the child. (With three preemptions there are 825,167 executions, and no
/// mutant needs the third.)
#[test]
fn joins_in_another_order_beside_a_raid() {
    Shared::explore(
        "split, joins in another order beside a raid",
        2,
        10_000,
        3,
        |shared, owner| {
            (0..2).for_each(|i| shared.push(owner, i));
            let raider = raider(shared, 2);
            assert!(!join(shared, 0));
            shared.push(owner, 2);
            join(shared, 0);
            [raider]
        },
    );
}
