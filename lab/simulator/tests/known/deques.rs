//! Deques: thieves and their searches, places, overflow.

use sched_dag::{Graph, Then};
use sched_simulator::engine::simulate;
use sched_simulator::policy::Policy;
use sched_simulator::prices::Prices;

use super::contention::even;
use super::graphs::{FREE, flood, graph, time};

#[test]
fn thieves_of_one_victim_follow_each_other() {
    let prices = Prices { thief: 100.0, ..FREE };
    let graph = flood(1000, 10_000.0);
    let found = time(&graph, Policy::Steal, 1024, &prices);
    assert!(found > 990.0 * 100.0, "{found}");
    let half = time(&graph, Policy::StealHalf, 1024, &prices);
    assert!(half < found / 2.0, "{half} {found}");
}

#[test]
fn a_lone_task_of_a_worker_that_soon_takes_it_back_is_not_stolen() {
    let graph = flood(1000, 50.0);
    let prices = Prices { late: 51.0, thief: 500.0, wake: 200.0, first_wake: 200.0, ..FREE };
    let steals = |policy, prices| simulate(&graph, policy, 2, prices, 1).steals;
    assert_eq!(steals(Policy::Cont, &prices), 0);
    assert!(steals(Policy::Steal, &prices) > 0);
    assert!(steals(Policy::Cont, &Prices { late: 49.0, ..prices }) > 0);
}

#[test]
fn a_search_in_vain_costs_who_uses_the_deque() {
    // The thief is there from the beginning, and patient.
    let prices = Prices { late: 1e9, pause: 100.0, wake: 1e9, line: 25.0, vain: 20.0, ..FREE };
    let found = time(&flood(1000, 50.0), Policy::Cont, 2, &prices);
    // One search each 125 ns, since the thief waits for the owner's line as well.
    let expected = 1000.0 * 50.0 / (1.0 - 20.0 / 125.0);
    assert!((found / expected - 1.0).abs() < 0.01, "{found} of {expected}");
    // An owner that only computes pays nothing. (The other has taken the rest of the first spawn.)
    let spawns = vec![(0.0, Then::Spawn(1)), (0.0, Then::Spawn(2)), (0.0, Then::End)];
    let computes = graph(&[spawns, vec![(0.0, Then::End)], vec![(50_000.0, Then::End)]]);
    assert_eq!(time(&computes, Policy::Cont, 2, &prices), 50_000.0);
    // Without another worker nobody looks.
    assert_eq!(time(&flood(1000, 50.0), Policy::Cont, 1, &prices), 50_000.0);
}

/// A task that spawns others, computes for so long, and ends.
fn busy_owner(others: u32, each: f32, then: f32) -> Graph {
    let spawns = (1..=others).map(|i| (0.0, Then::Spawn(i))).chain([(then, Then::End)]);
    let mut all = vec![spawns.collect()];
    all.resize(others as usize + 1, vec![(each, Then::End)]);
    graph(&all)
}

#[test]
fn an_owner_that_does_not_answer_is_raided() {
    let graph = busy_owner(4, 1000.0, 10_000.0);
    let run = |late| {
        let prices = Prices { wake: 100.0, first_wake: 100.0, late, ..FREE };
        let outcome = simulate(&graph, Policy::Steal, 2, &prices, 1);
        (outcome.steals, outcome.nanoseconds)
    };
    // The thief gets the first task, for which it was woken; half of the other three; and the last.
    assert_eq!(run(300.0), (4, 10_000.0));
    // The owner comes to its other tasks before a raid. It begins one, and gives away half of the
    // rest.
    assert_eq!(run(20_000.0), (2, 12_000.0));
}

#[test]
fn what_a_bounded_deque_has_no_room_for_goes_through_the_queue_of_all() {
    let prices = Prices { fresh: [10.0; 3], ..FREE };
    let alone = |tasks| time(&flood(tasks, 50.0), Policy::StealHalf, 1, &prices);
    assert_eq!(alone(256), 256.0 * 50.0);
    // 128 tasks go to the queue when there are 256, and again with each 128 more.
    assert_eq!(alone(1000), 1000.0 * 50.0 + 6.0 * 128.0 * 10.0);
    let both = time(&flood(1000, 5000.0), Policy::StealHalf, 2, &prices);
    assert!(both < 0.6 * 1000.0 * 5000.0, "{both}");
    // Many workers contend for the lock of the queue, and all tasks are done in the end.
    let prices = Prices {
        spawns: even(10.0, 300.0),
        wake: 2000.0,
        first_wake: 2000.0,
        waker: 500.0,
        first_waker: 500.0,
        line: 30.0,
        ..prices
    };
    for workers in [2, 3, 16, 64] {
        time(&flood(20_000, 5.0), Policy::StealHalf, workers, &prices);
    }
}

#[test]
fn the_first_worker_has_to_be_woken_for_the_end() {
    let prices = Prices { wake: 100.0, first_wake: 100.0, ..FREE };
    let found = time(&busy_owner(1, 10_000.0, 500.0), Policy::Steal, 2, &prices);
    assert_eq!(found, 100.0 + 10_000.0 + 100.0);
}

/// One task that spawns `tasks` others, one each 100 ns, and then computes. They take no time,
/// except for the task in `but`.
fn slow_flood(tasks: u32, but: Option<(u32, f32)>, then: f32) -> Graph {
    let spawns = (1..=tasks).map(|i| (100.0, Then::Spawn(i))).chain([(then, Then::End)]);
    let mut all = vec![spawns.collect()];
    all.resize(tasks as usize + 1, vec![(0.0, Then::End)]);
    if let Some((task, time)) = but {
        all[task as usize] = vec![(time, Then::End)];
    }
    graph(&all)
}

/// The thief is there from the beginning, is patient, and soon has each task that it is given.
const PATIENT: Prices = Prices { late: 1e9, wake: 1e9, ..FREE };

#[test]
fn places_that_thieves_have_emptied_are_not_used_until_the_tasks_move() {
    let prices = Prices { fresh: [10.0; 3], ..PATIENT };
    // At most two tasks are in the deque. When they have come to the end of its 255 places, they
    // move.
    assert_eq!(time(&slow_flood(200, None, 0.0), Policy::Steal, 2, &prices), 200.0 * 110.0);
    assert_eq!(time(&slow_flood(1000, None, 0.0), Policy::Steal, 2, &prices), 1e5 + 255.0 * 10.0);
    // The thief has taken n tasks, and is away until the last spawn.
    let taken = |n| slow_flood(1000, Some((n, 150_000.0)), 1e5);
    let found = |n| time(&taken(n), Policy::Steal, 2, &prices) - 2e5;
    // When the room ends, 128 tasks are left, more than half the number of places: the deque grows,
    // and the emptied places stay empty.
    assert_eq!(found(128), 1000.0 * 10.0);
    // 127 tasks are left: they move, and the places are enough until all are in use.
    assert_eq!(found(129), (1000.0 - 129.0) * 10.0);
    // Without thieves each task has a place of its own.
    assert_eq!(time(&slow_flood(1000, None, 0.0), Policy::Steal, 1, &prices), 1e5 + 1e4);
}

/// Does this `times` times: spawns tasks, of which the other worker takes all but the last, and
/// then joins a task that the other worker runs; there the joining task goes on.
fn in_turns(times: u32, spawns: u32) -> Graph {
    let (mut first, mut others) = (Vec::new(), Vec::new());
    let mut next = 0..;
    let mut task = |time: f32, others: &mut Vec<Vec<(f32, Then)>>| {
        others.push(vec![(time, Then::End)]);
        next.next().map_or(0, |i: u32| i + 1)
    };
    for _ in 0..times {
        for _ in 0..spawns {
            first.push((100.0, Then::Spawn(task(0.0, &mut others))));
        }
        let (theirs, own) = (task(1000.0, &mut others), task(0.0, &mut others));
        first.extend([(100.0, Then::Fork(theirs)), (100.0, Then::Fork(own))]);
        first.extend([(100.0, Then::Join(own)), (100.0, Then::Join(theirs))]);
    }
    first.push((0.0, Then::End));
    others.insert(0, first);
    graph(&others)
}

#[test]
fn a_deque_that_is_found_empty_starts_over() {
    let fresh = |times| {
        let graph = in_turns(times, 50);
        let of = |fresh| {
            let prices = Prices { fresh: [fresh; 3], ..PATIENT };
            time(&graph, Policy::Steal, 2, &prices)
        };
        of(1.0) - of(0.0)
    };
    // The task uses 52 places of one deque, then of the other, and then the same places again. (The
    // last place is paid for while the other worker's task runs.)
    assert_eq!([1, 2, 4].map(fresh), [51.0, 102.0, 102.0]);
}

#[test]
fn a_search_waits_for_a_line_that_was_written_since_the_last() {
    let prices = Prices { pause: 100.0, line: 25.0, vain: 20.0, ..PATIENT };
    let events = |prices: &Prices| {
        let spawns = vec![(0.0, Then::Spawn(1)), (0.0, Then::Spawn(2)), (0.0, Then::End)];
        let computes = graph(&[spawns, vec![(0.0, Then::End)], vec![(50_000.0, Then::End)]]);
        simulate(&computes, Policy::Cont, 2, prices, 1).events
    };
    // The owner uses its deque no more.
    assert!(events(&prices).abs_diff(events(&Prices { line: 0.0, ..prices })) < 5);
    assert!(events(&prices) > 490);
}

#[test]
fn who_has_searched_does_not_pay_for_that() {
    let prices = Prices { pause: 100.0, vain: 1000.0, ..PATIENT };
    // The other worker takes the first task, searches for a while, and takes the second, which
    // spawns one more.
    let first = [(0.0, Then::Spawn(1)), (10_000.0, Then::Spawn(2)), (0.0, Then::Spawn(3))];
    let taken = vec![(0.0, Then::Spawn(4)), (100_000.0, Then::End)];
    let mut tasks = vec![vec![(0.0, Then::End)]; 5];
    tasks[0] = first.into_iter().chain([(0.0, Then::End)]).collect();
    tasks[2] = taken;
    let found = time(&graph(&tasks), Policy::Steal, 2, &prices);
    // The searches until then have cost the owner once, when it gave the second task away.
    assert!((111_000.0..111_300.0).contains(&found), "{found}");
}

#[test]
fn a_join_that_takes_its_task_back_pays_for_no_search() {
    let turns = (1..=100).flat_map(|i| [(50.0, Then::Fork(i)), (50.0, Then::Join(i))]);
    let mut tasks = vec![turns.chain([(0.0, Then::End)]).collect()];
    tasks.resize(101, vec![(0.0, Then::End)]);
    let prices = Prices { pause: 10.0, vain: 5.0, ..PATIENT };
    // The other worker has taken the first task, for which it was woken.
    let found = time(&graph(&tasks), Policy::Steal, 2, &prices);
    assert_eq!(found, 100.0 * 100.0 + 99.0 * 5.0);
}
