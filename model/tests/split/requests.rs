//! Requests: the owner publishes private tasks for a thief.

use crate::{Shared, requester, spawn};
use sched::queue::{Deque, Portion, PrivatePart, Published, Raid};
use sched_model::{Reached, explore, pop, thread_with};

#[test]
fn a_request_while_the_owner_pops() {
    static PUBLISHED: Reached = Reached::not_yet();
    Shared::explore("split, pops beside a request", 4, 2000, 3, |shared, owner| {
        (0..3).for_each(|i| shared.push(owner, i));
        let thief = requester(shared, 2, &PUBLISHED);
        (0..3).for_each(|_| {
            pop(owner);
        });
        [thief]
    });
    PUBLISHED.expect("a request for which the owner publishes");
}

#[test]
fn a_request_while_the_owner_pushes() {
    static PUBLISHED: Reached = Reached::not_yet();
    Shared::explore("split, pushes beside a request", 4, 100_000, 3, |shared, owner| {
        let thief = requester(shared, 2, &PUBLISHED);
        spawn(shared, owner, 0);
        spawn(shared, owner, 1);
        pop(owner);
        spawn(shared, owner, 2);
        pop(owner);
        [thief]
    });
    PUBLISHED.expect("a request for which the owner publishes");
}

/// One thief requests, another raids while the request is pending.
#[test]
fn a_request_and_a_raid_beside_pops() {
    static RAIDED: Reached = Reached::not_yet();
    Shared::explore("split, a request, a raid and pops", 2, 3000, 3, |shared, owner| {
        (0..3).for_each(|i| shared.push(owner, i));
        let requester = thread_with(shared, |shared| _ = shared.deque.request());
        let raider = thread_with(shared, |shared| {
            if shared.deque.raid_if_requested() == Raid::Published {
                RAIDED.note(shared.steal());
            }
        });
        pop(owner);
        pop(owner);
        [requester, raider]
    });
    RAIDED.expect("a raid after a request");
}

/// The requested task may be gone. Then the deque must look empty, or no worker would ever sleep.
#[test]
fn a_request_for_what_is_gone() {
    explore("split, a late request", 5, 100, || {
        let shared = Shared::new(3);
        let mut owner = shared.owner();
        shared.push(&mut owner, 0);
        shared.push(&mut owner, 1);
        let thief = thread_with(&shared, |shared| _ = shared.deque.request());
        pop(&mut owner);
        pop(&mut owner);
        thief.join().unwrap();
        assert_eq!(shared.deque.raid_if_requested(), Raid::NotMade);
        assert!(shared.deque.looks_empty());
        shared.push(&mut owner, 2);
        pop(&mut owner);
        shared.check(owner);
    });
}

/// A thief that takes the last public task requests more.
#[test]
fn growth_beside_a_request() {
    static PUBLISHED: Reached = Reached::not_yet();
    Shared::explore("split, growth beside a request", 2, 10_000, 4, |shared, owner| {
        shared.push(owner, 0);
        shared.push(owner, 1);
        assert_eq!(owner.publish(Portion::Half), Published::Some);
        let thief = requester(shared, 2, &PUBLISHED);
        shared.push(owner, 2);
        shared.push(owner, 3);
        pop(owner);
        pop(owner);
        [thief]
    });
    PUBLISHED.expect("a request for which the owner publishes");
}
