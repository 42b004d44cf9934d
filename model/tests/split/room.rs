//! Growth, tasks that move down, and refusals at the limit.

use crate::{Deck, Shared, asker, raider, refuses, rob, spawn};
use sched::queue::{Owner, Portion, PrivatePart, Published};
use sched_model::{Reached, explore, pop, thread_with};

#[test]
fn growth_beside_a_thief() {
    Shared::explore("split, growth beside a thief", 4, 800, 3, |shared, owner| {
        shared.push(owner, 0);
        shared.push(owner, 1);
        assert_eq!(owner.publish(Portion::Half), Published::Some);
        let thief = asker(shared, 2);
        shared.push(owner, 2);
        pop(owner);
        pop(owner);
        [thief]
    });
}

#[test]
fn growth_beside_a_raid() {
    Shared::explore("split, growth beside a raid", 4, 20_000, 3, |shared, owner| {
        shared.push(owner, 0);
        shared.push(owner, 1);
        let raider = raider(shared, 2);
        shared.push(owner, 2);
        pop(owner);
        [raider]
    });
}

/// The end of the room moves with the block, whatever other threads do: no push lies outside the
/// room. While the raider has the lock, the owner cannot publish after the growth, and so does not
/// arm `lim`.
#[test]
fn pushes_after_growth_beside_a_raid() {
    Shared::explore("split, pushes after growth beside a raid", 3, 5000, 6, |shared, owner| {
        (0..2).for_each(|i| spawn(shared, owner, i));
        let raider = thread_with(shared, |shared| {
            let _ = shared.deque.raid() && shared.steal(); // without having asked
        });
        (2..6).for_each(|i| spawn(shared, owner, i));
        [raider]
    });
}

#[test]
fn tasks_move_down_beside_a_raid() {
    Shared::explore("split, moving down beside a raid", 3, 100_000, 5, |shared, owner| {
        shared.push(owner, 0);
        shared.push(owner, 1);
        assert!(rob(shared) && rob(shared));
        let raider = raider(shared, 2);
        shared.push(owner, 2); // in the spare slot: moved down
        shared.push(owner, 3);
        pop(owner);
        shared.push(owner, 4);
        pop(owner);
        [raider]
    });
}

#[test]
fn tasks_move_down_beside_a_thief() {
    Shared::explore("split, moving down beside a thief", 3, 30, 6, |shared, owner| {
        // The block has grown once, to room for 4 tasks; the last of them is queued, and public.
        (0..4).for_each(|i| shared.push(owner, i));
        assert!((0..3).all(|_| rob(shared)));
        assert!(shared.deque.raid());
        let thief = Shared::thief(shared, 2);
        shared.push(owner, 4); // in the spare slot: moved down
        shared.push(owner, 5);
        pop(owner);
        pop(owner);
        [thief]
    });
}

/// The owner replaces a long block when the deque is empty, and only then.
fn gives_back(owner: &mut Owner<Deck>) {
    owner.give_back();
    while pop(owner) {}
    owner.give_back();
    assert!(!owner.keeps_memory());
}

#[test]
fn a_block_is_given_back_beside_a_raid() {
    Shared::explore("split, a block given back beside a raid", 3, 1000, 5, |shared, owner| {
        (0..3).for_each(|i| shared.push(owner, i)); // the block grows
        (0..2).for_each(|_| _ = pop(owner));
        let raider = raider(shared, 1);
        gives_back(owner);
        spawn(shared, owner, 3);
        spawn(shared, owner, 4);
        pop(owner);
        [raider]
    });
}

#[test]
fn a_block_is_given_back_beside_a_thief() {
    Shared::explore("split, a block given back beside a thief", 4, 100, 5, |shared, owner| {
        (0..3).for_each(|i| shared.push(owner, i));
        pop(owner);
        assert_eq!(owner.publish(Portion::Half), Published::Some);
        let thief = asker(shared, 2);
        gives_back(owner);
        spawn(shared, owner, 3);
        spawn(shared, owner, 4);
        pop(owner);
        [thief]
    });
}

/// The refused task returns to its spawner only.
#[test]
fn the_limit_beside_a_raid() {
    static FULL: Reached = Reached::not_yet();
    static ROOM: Reached = Reached::not_yet();
    explore("split, the limit beside a raid", 5, 60_000, || {
        let shared = Shared::limited(2, 1);
        let mut owner = shared.owner();
        shared.push(&mut owner, 0);
        let raider = raider(&shared, 2);
        let refused = refuses(&shared, &mut owner, 1);
        FULL.note(refused);
        ROOM.note(!refused);
        pop(&mut owner);
        raider.join().unwrap();
        shared.check(owner);
    });
    FULL.expect("a refusal");
    ROOM.expect("a raid that makes room");
}

/// Two raids before the first theft, as two raiders make them: the refused task was public.
#[test]
fn a_public_task_is_refused() {
    explore("split, the limit beside two raids", 4, 20_000, || {
        let shared = Shared::limited(2, 1);
        let mut owner = shared.owner();
        shared.push(&mut owner, 0);
        let raider = thread_with(&shared, |shared| {
            shared.deque.raid();
            shared.deque.raid();
            shared.steal();
            shared.steal();
        });
        refuses(&shared, &mut owner, 1);
        pop(&mut owner);
        raider.join().unwrap();
        shared.check(owner);
    });
}

#[test]
fn refused_growth_beside_a_raid() {
    static FULL: Reached = Reached::not_yet();
    static MOVED: Reached = Reached::not_yet();
    Shared::explore("split, refused growth beside a raid", 4, 3000, 5, |shared, owner| {
        (0..4).for_each(|i| shared.push(owner, i)); // the model's block grows once
        let raider = raider(shared, 2);
        let refused = refuses(shared, owner, 4);
        FULL.note(refused);
        MOVED.note(!refused);
        pop(owner);
        [raider]
    });
    FULL.expect("a refusal");
    MOVED.expect("a move instead of growth");
}
