//! The ring: each task is taken once, by one thread, after what its pusher wrote. Its positions
//! wrap around 2^32 after the first push.
#![cfg(loom)]

use loom::sync::Arc;
use loom::thread::JoinHandle;
use sched::idle::eventcount::Role;
use sched::policy::{LookFirst, Policy};
use sched::queue::ring::Ring;
use sched::queue::{Batches, Deque, Owner, Steal};
use sched::task::Task;
use sched_model::{Scene, count, explore, pop, take, thread_with};

type Pair = sched_model::Shared<Ring<2>>;
type Four = sched_model::Shared<Ring<4>>;

fn take_if_stolen(steal: Steal) {
    if let Steal::Taken(task) = steal {
        take(task);
    }
}

/// Steals half of the tasks, `attempts` times.
fn thief<const N: usize>(
    shared: &Arc<sched_model::Shared<Ring<N>>>,
    attempts: usize,
) -> JoinHandle<()> {
    thread_with(shared, move |shared| {
        for _ in 0..attempts {
            take_if_stolen(shared.deque.steal_half(N, take));
        }
    })
}

/// Pushes a task. A full ring first gives its oldest task away or, if that fails, the pushed one.
fn push<const N: usize>(
    shared: &sched_model::Shared<Ring<N>>,
    owner: &mut Owner<Ring<N>>,
    i: usize,
) {
    let task = shared.task(i);
    if owner.push(task).is_err() {
        owner.spill(1, take);
        if owner.push(task).is_err() {
            take(task);
        }
    }
}

/// Takes task `i` back; it was counted when it was made.
fn take_back<D: Deque>(shared: &sched_model::Shared<D>, owner: &mut Owner<D>, i: usize) {
    let task = sched::task::Task { f: sched_model::count, closure: shared.cells[i].closure() };
    if owner.take_back(task) {
        take(task);
    }
}

#[test]
fn owner_and_thief_meet_at_the_last_task() {
    Pair::explore("ring, last task", 5, 30, 1, |shared, owner| {
        let thief = Pair::thief(shared, 1);
        shared.push(owner, 0);
        pop(owner);
        [thief]
    });
}

#[test]
fn push_and_pop_beside_a_thief() {
    Four::explore("ring, push and pop beside a thief", 4, 500, 4, |shared, owner| {
        push(shared, owner, 0);
        push(shared, owner, 1);
        push(shared, owner, 2);
        let thief = thief(shared, 2);
        pop(owner);
        push(shared, owner, 3);
        pop(owner);
        [thief]
    });
}

/// After the thief has left, the owner's pops do not keep another thief out.
#[test]
fn a_theft_after_a_pop() {
    Four::explore("ring, a theft after a pop beside a thief", 4, 10, 3, |shared, owner| {
        push(shared, owner, 0);
        push(shared, owner, 1);
        let thief = thief(shared, 1);
        pop(owner);
        thief.join().unwrap();
        push(shared, owner, 2);
        assert!(shared.steal());
        []
    });
}

#[test]
fn two_thieves_and_the_owner() {
    Four::explore("ring, two thieves", 3, 800, 4, |shared, owner| {
        for i in 0..4 {
            push(shared, owner, i);
        }
        let thieves = [thief(shared, 1), thief(shared, 1)];
        pop(owner);
        thieves
    });
}

#[test]
fn a_slot_is_reused_after_its_thief() {
    Pair::explore("ring, slot reuse", 4, 400, 4, |shared, owner| {
        push(shared, owner, 0);
        push(shared, owner, 1);
        let thief = thief(shared, 1);
        pop(owner);
        push(shared, owner, 2);
        push(shared, owner, 3);
        [thief]
    });
}

#[test]
fn a_slot_is_reused_beside_two_thieves() {
    Pair::explore("ring, slot reuse beside two thieves", 3, 1000, 4, |shared, owner| {
        push(shared, owner, 0);
        push(shared, owner, 1);
        let thieves = [thief(shared, 1), thief(shared, 1)];
        push(shared, owner, 2);
        push(shared, owner, 3);
        thieves
    });
}

/// Half of a full ring is given away or, beside a thief, the new task.
#[test]
fn overflow_beside_a_thief() {
    Pair::explore("ring, overflow", 4, 500, 5, |shared, owner| {
        push(shared, owner, 0);
        push(shared, owner, 1);
        let thief = thief(shared, 2);
        push(shared, owner, 2);
        push(shared, owner, 3);
        push(shared, owner, 4);
        [thief]
    });
}

#[test]
fn a_join_beside_a_thief() {
    Four::explore("ring, the youngest task is taken back", 4, 500, 4, |shared, owner| {
        push(shared, owner, 0);
        let thief = thief(shared, 2);
        push(shared, owner, 1);
        push(shared, owner, 2);
        take_back(shared, owner, 2);
        take_back(shared, owner, 1);
        push(shared, owner, 3);
        take_back(shared, owner, 3);
        [thief]
    });
}

/// The thief has counted the tasks before the join, and reserves after it.
#[test]
fn a_join_at_a_full_ring() {
    Pair::explore("ring, the youngest of a full one is taken back", 5, 200, 3, |shared, owner| {
        push(shared, owner, 0);
        push(shared, owner, 1);
        let thief = thief(shared, 1);
        take_back(shared, owner, 1);
        take_back(shared, owner, 0);
        push(shared, owner, 2);
        [thief]
    });
}

/// A batch is put into a ring that has little room, and that another thief takes from.
#[test]
fn a_batch_on_its_way() {
    explore("ring, a thief of a thief", 3, 400, || {
        let victim = Four::new(5);
        let mine = Arc::new(Ring::<1>::new(usize::MAX).expect("there is memory"));
        {
            let mut owner = victim.owner();
            (0..4).for_each(|i| push(&victim, &mut owner, i));
        }
        let third = {
            let mine = Arc::clone(&mine);
            thread_with(&victim, move |victim| {
                let steals = [mine.steal(), victim.deque.steal(), mine.steal()];
                steals.into_iter().for_each(take_if_stolen);
            })
        };
        // SAFETY: this thread is the only owner.
        let mut own = unsafe { Owner::new(&*mine) };
        own.push(victim.task(4)).expect("it is empty");
        for _ in 0..2 {
            let room = own.make_room(8);
            let steal =
                victim.deque.steal_half(room, |task| own.push(task).expect("room was made"));
            take_if_stolen(steal);
        }
        third.join().unwrap();
        while pop(&mut own) {}
        victim.check(victim.owner());
    });
}

/// A sleeper has looked at the thief's deque, then the batch goes there, then the sleeper looks at
/// the victim's deque. No other worker searches.
#[test]
fn a_sleeper_beside_a_batch() {
    explore("ring, a sleeper beside a batch", 3, 900, || {
        let scene = Scene::<Ring<4>>::new(2, 3);
        for cell in &scene.cells {
            scene.places[1].spawn(count, cell.closure());
        }
        let sleeper = thread_with(&scene, |scene| {
            let mut role = Role::Sleeper;
            loop {
                scene.scheduler.sleep(scene.places[1].mine(), role);
                role = Role::Searcher;
                if matches!(scene.scheduler.deque(0).steal(), Steal::Taken(_)) {
                    return scene.scheduler.wake_for_more(scene.places[1].mine());
                }
                loom::thread::yield_now();
            }
        });
        // This thread is the owner of both deques.
        assert!(scene.scheduler.rob(1, scene.places[0].mine()).is_some());
        // SAFETY: this thread is the owner of both deques.
        let mut owner = unsafe { Owner::new(scene.scheduler.deque(1)) };
        assert!(owner.pop().is_some());
        sleeper.join().unwrap();
    });
}

/// A spawn finds the ring full, perhaps during a theft: no task is lost, or taken twice.
#[test]
fn a_full_ring_of_a_worker() {
    explore("ring, overflow of a worker's", 3, 20, || {
        let scene = Scene::<Ring<2>>::new(1, 3);
        let spawn = |i: usize| scene.places[0].spawn(count, scene.cells[i].closure());
        spawn(0);
        spawn(1);
        let thief = thread_with(&scene, |scene| take_if_stolen(scene.scheduler.deque(0).steal()));
        spawn(2);
        thief.join().unwrap();
        // SAFETY: this thread occupies the place.
        let mut owner = unsafe { Owner::new(scene.scheduler.deque(0)) };
        while pop(&mut owner) {}
        let next = || scene.scheduler.next_in_line(scene.places[0].mine(), LookFirst::AtHome);
        std::iter::from_fn(next).for_each(take);
        scene.each_ran_once();
    });
}

/// A task yields beside a thief: the next task is taken, then the yielding task stands in line. If
/// the thief has not released the slot, the yielding task goes to the injector.
#[test]
fn a_yield_beside_a_thief() {
    explore("ring, a yield beside a thief", 3, 20, || {
        let scene = Scene::<Ring<2>>::new(1, 3);
        let place = &scene.places[0];
        (0..2).for_each(|i| place.spawn(count, scene.cells[i].closure()));
        let thief = thread_with(&scene, |scene| take_if_stolen(scene.scheduler.deque(0).steal()));
        let rest = Task { f: count, closure: scene.cells[2].closure() };
        let next = || scene.scheduler.next_in_line(place.mine(), LookFirst::AtHome);
        let first = next();
        scene.scheduler.line_up(place.mine(), rest).expect("there is memory");
        first.into_iter().chain(std::iter::from_fn(next)).for_each(take);
        thief.join().unwrap();
        scene.each_ran_once();
    });
}
