//! The split deque: each task is taken once, by one thread, after what its pusher wrote. Under the
//! model both halves of the asymmetric fence are full fences. A new block has room for 2 tasks and
//! a spare slot.
#![cfg(loom)]

use loom::sync::Arc;
use loom::thread::JoinHandle;
use sched::queue::split::Split;
use sched::queue::{Deque, Full, LoneTask, Owner, Press, PrivatePart, Published};
use sched::sys::fence::Asymmetric;
use sched::task::Task;
use sched_model::{Reached, count, explore, pop, take};

type Deck = Split<Asymmetric>;
type Shared = sched_model::Shared<Deck>;

/// A push that answers requests, like a spawn while no worker sleeps. A refused task is run.
fn spawn(shared: &Shared, owner: &mut Owner<Deck>, i: usize) {
    let task = shared.task(i);
    if !owner.put(task) {
        match owner.put_slowly(task) {
            Err(Full) => take(task),
            Ok(()) if owner.publish(LoneTask::Keep) != Published::Busy => owner.rearm(),
            Ok(()) => (),
        }
    }
}

/// True if the push was refused; the task is then run.
fn refuses(shared: &Shared, owner: &mut Owner<Deck>, i: usize) -> bool {
    let task = shared.task(i);
    let refused = owner.push(task).is_err();
    if refused {
        take(task);
    }
    refused
}

/// Takes the oldest task, public or not.
fn rob(shared: &Shared) -> bool {
    (shared.deque.offers() || shared.deque.raid()) && shared.steal()
}

fn raider(shared: &Arc<Shared>, attempts: usize) -> JoinHandle<()> {
    Shared::thread(shared, move |shared| {
        for _ in 0..attempts {
            rob(shared);
        }
    })
}

/// Takes a public task, or asks for one.
fn asker(shared: &Arc<Shared>, attempts: usize) -> JoinHandle<()> {
    Shared::thread(shared, move |shared| {
        for _ in 0..attempts {
            if shared.deque.offers() {
                shared.steal();
            }
        }
    })
}

// --- thieves ------------------------------------------------------------------------------

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

// --- raids --------------------------------------------------------------------------------

#[test]
fn owner_and_raider_at_the_last_task() {
    static DRAWN_BACK: Reached = Reached::not_yet();
    Shared::explore("split, last private task", 5, 2000, 1, |shared, owner| {
        shared.push(owner, 0);
        let raider = Shared::thread(shared, |shared| {
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
        assert_eq!(owner.publish(LoneTask::Keep), Published::Some);
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
        owner.publish(LoneTask::Keep);
        pop(owner);
        shared.push(owner, 2);
        [raider]
    });
}

// --- requests -----------------------------------------------------------------------------

/// Requests, and takes what the owner gives away; makes no raid.
fn requester(shared: &Arc<Shared>, attempts: usize, taken: &'static Reached) -> JoinHandle<()> {
    Shared::thread(shared, move |shared| {
        for _ in 0..attempts {
            shared.deque.request();
            taken.note(shared.deque.offers() && shared.steal());
        }
    })
}

#[test]
fn a_request_while_the_owner_pops() {
    static ANSWERED: Reached = Reached::not_yet();
    Shared::explore("split, pops beside a request", 4, 2000, 3, |shared, owner| {
        (0..3).for_each(|i| shared.push(owner, i));
        let thief = requester(shared, 2, &ANSWERED);
        (0..3).for_each(|_| {
            pop(owner);
        });
        [thief]
    });
    ANSWERED.expect("a request that is answered");
}

#[test]
fn a_request_while_the_owner_pushes() {
    static ANSWERED: Reached = Reached::not_yet();
    Shared::explore("split, pushes beside a request", 4, 100_000, 3, |shared, owner| {
        let thief = requester(shared, 2, &ANSWERED);
        spawn(shared, owner, 0);
        spawn(shared, owner, 1);
        pop(owner);
        spawn(shared, owner, 2);
        pop(owner);
        [thief]
    });
    ANSWERED.expect("a request that is answered");
}

/// One thief requests, another raids an owner that has not answered.
#[test]
fn a_request_and_a_raid_beside_pops() {
    static PRESSED: Reached = Reached::not_yet();
    Shared::explore("split, a request, a raid and pops", 2, 3000, 3, |shared, owner| {
        (0..3).for_each(|i| shared.push(owner, i));
        let requester = Shared::thread(shared, |shared| shared.deque.request());
        let raider = Shared::thread(shared, |shared| {
            if shared.deque.press() == Press::Opened {
                PRESSED.note(shared.steal());
            }
        });
        pop(owner);
        pop(owner);
        [requester, raider]
    });
    PRESSED.expect("a raid after a request");
}

/// The requested task may be gone: the deque is then as empty as it looks. Otherwise no worker
/// would ever sleep.
#[test]
fn a_request_for_what_is_gone() {
    explore("split, a late request", 5, 100, || {
        let shared = Shared::new(3);
        let mut owner = shared.owner();
        shared.push(&mut owner, 0);
        shared.push(&mut owner, 1);
        let thief = Shared::thread(&shared, |shared| shared.deque.request());
        pop(&mut owner);
        pop(&mut owner);
        thief.join().unwrap();
        assert_eq!(shared.deque.press(), Press::NoRaid);
        assert!(shared.deque.looks_empty());
        shared.push(&mut owner, 2);
        pop(&mut owner);
        shared.check(owner);
    });
}

/// A thief that takes the last public task requests more.
#[test]
fn growth_beside_a_request() {
    static ANSWERED: Reached = Reached::not_yet();
    Shared::explore("split, growth beside a request", 2, 10_000, 4, |shared, owner| {
        shared.push(owner, 0);
        shared.push(owner, 1);
        assert_eq!(owner.publish(LoneTask::Keep), Published::Some);
        let thief = requester(shared, 2, &ANSWERED);
        shared.push(owner, 2);
        shared.push(owner, 3);
        pop(owner);
        pop(owner);
        [thief]
    });
    ANSWERED.expect("a request that is answered");
}

// --- joins --------------------------------------------------------------------------------

/// A join has taken a public task.
static RETAKEN: Reached = Reached::not_yet();

/// What a join does: takes the youngest task if it is that of cell `i`, public or not, and returns
/// true. Otherwise takes the youngest task as the worker's loop does.
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
    static ANSWERED: Reached = Reached::not_yet();
    Shared::explore("split, joins beside a request", 4, 2000, 3, |shared, owner| {
        (0..3).for_each(|i| shared.push(owner, i));
        let thief = requester(shared, 2, &ANSWERED);
        (0..3).rev().for_each(|i| {
            join(shared, i);
        });
        [thief]
    });
    ANSWERED.expect("a request that a join answers");
    RETAKEN.expect("a public child that is at hand");
}

/// The youngest task is not the child.
#[test]
fn joins_in_another_order_beside_a_raid() {
    Shared::explore(
        "split, joins in another order beside a raid",
        3,
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

// --- room ---------------------------------------------------------------------------------

#[test]
fn growth_beside_a_thief() {
    Shared::explore("split, growth beside a thief", 4, 800, 3, |shared, owner| {
        shared.push(owner, 0);
        shared.push(owner, 1);
        assert_eq!(owner.publish(LoneTask::Keep), Published::Some);
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

/// The end of the room moves with the block, whatever happens beside it: no push lies outside the
/// room.
#[test]
fn pushes_after_growth_beside_a_raid() {
    Shared::explore("split, pushes after growth beside a raid", 2, 20_000, 6, |shared, owner| {
        spawn(shared, owner, 0);
        assert!(!shared.deque.offers()); // asks: a lone task belongs to its owner
        spawn(shared, owner, 1);
        assert!(shared.steal()); // so the next slow push has nothing public
        let raider = raider(shared, 1);
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

// --- refusals -----------------------------------------------------------------------------

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
        let raider = Shared::thread(&shared, |shared| {
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
