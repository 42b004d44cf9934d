//! Graphs whose schedules are known.

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use sched_dag::{Graph, Then};
use sched_simulator::engine::simulate;
use sched_simulator::policy::Policy;
use sched_simulator::prices::{Contention, Prices, THINKS, Turns};

const CALM: Contention =
    Contention { turns: [Turns { alone: 0.0, two: 0.0 }; THINKS.len()], least: 0.0 };

const FREE: Prices = Prices {
    push: 0.0,
    run: 0.0,
    fork: 0.0,
    fresh: [0.0; 3],
    thief: 0.0,
    robbed: 0.0,
    late: 0.0,
    look: 0.0,
    pause: 0.0,
    vain: 0.0,
    wake: 0.0,
    first_wake: 0.0,
    waker: 0.0,
    first_waker: 0.0,
    spawns: CALM,
    forks: CALM,
    line: 0.0,
    init: 0.0,
    init_worker: 0.0,
};

fn time(graph: &Graph, policy: Policy, workers: usize, prices: &Prices) -> f64 {
    simulate(graph, policy, workers, prices, 1).nanoseconds
}

fn graph(tasks: &[Vec<(f32, Then)>]) -> Graph {
    let slices: Vec<&[(f32, Then)]> = tasks.iter().map(Vec::as_slice).collect();
    Graph::from_lists(&slices).unwrap()
}

/// Each task spawns the next as its last act.
fn chain(length: u32) -> Graph {
    let task = |i: u32| match i + 1 < length {
        true => vec![(100.0, Then::Spawn(i + 1)), (0.0, Then::End)],
        false => vec![(100.0, Then::End)],
    };
    graph(&(0..length).map(task).collect::<Vec<_>>())
}

/// One task spawns all others, which do the same.
fn flood(tasks: u32, each: f32) -> Graph {
    let spawns = (1..=tasks).map(|i| (0.0, Then::Spawn(i))).chain([(0.0, Then::End)]);
    let mut all = vec![spawns.collect()];
    all.resize(tasks as usize + 1, vec![(each, Then::End)]);
    graph(&all)
}

/// A random tree of tasks that fork, spawn and join.
fn any(seed: u64) -> Graph {
    let mut rng = SmallRng::seed_from_u64(seed);
    let mut tasks: Vec<Vec<(f32, Then)>> = vec![Vec::new()];
    let most = rng.random_range(1..400);
    let mut at = 0;
    while at < tasks.len() {
        let mut forked = Vec::new();
        for _ in 0..rng.random_range(0..5) {
            if tasks.len() >= most {
                break;
            }
            let child = tasks.len() as u32;
            tasks.push(Vec::new());
            let time = rng.random_range(0..1000) as f32;
            if rng.random_bool(0.5) {
                tasks[at].push((time, Then::Spawn(child)));
            } else {
                tasks[at].push((time, Then::Fork(child)));
                forked.push(child);
            }
        }
        if rng.random_bool(0.3) {
            forked.reverse(); // joined in the order of the forks
        }
        while let Some(child) = forked.pop() {
            tasks[at].push((rng.random_range(0..1000) as f32, Then::Join(child)));
        }
        tasks[at].push((rng.random_range(0..1000) as f32, Then::End));
        at += 1;
    }
    graph(&tasks)
}

#[test]
fn a_chain_has_no_speed_up() {
    let graph = chain(1000);
    for policy in Policy::ALL {
        for workers in [1, 2, 7, 1024] {
            assert_eq!(time(&graph, policy, workers, &FREE), 1e5, "{policy:?} {workers}");
        }
    }
}

#[test]
fn independent_equal_tasks_speed_up_by_the_number_of_workers() {
    let graph = flood(1024, 50.0);
    for policy in Policy::ALL {
        for workers in [1, 2, 4, 64, 1024] {
            let expected = 50.0 * 1024.0 / workers as f64;
            let found = time(&graph, policy, workers, &FREE);
            assert_eq!(found, expected, "{policy:?} {workers}");
        }
    }
}

/// R. Graham's bound, 1966: a greedy schedule takes no longer than T1/P + T∞.
#[test]
fn without_costs_every_policy_is_greedy() {
    for seed in 0..300 {
        let graph = any(seed);
        let (work, span) = (graph.work(), graph.span().unwrap());
        for policy in Policy::ALL {
            assert!((time(&graph, policy, 1, &FREE) - work).abs() < 1e-3 * (1.0 + work));
            for workers in [2, 3, 8, 100] {
                let found = time(&graph, policy, workers, &FREE);
                let least = span.max(work / workers as f64);
                assert!(
                    found >= least * 0.999,
                    "{policy:?} {workers} seed {seed}: {found} < {least}"
                );
                let most = work / workers as f64 + span;
                assert!(
                    found <= most * 1.001,
                    "{policy:?} {workers} seed {seed}: {found} > {most}"
                );
            }
        }
    }
}

#[test]
fn one_worker_pays_for_each_call() {
    let prices = Prices { push: 7.0, run: 5.0, fresh: [2.0; 3], init: 1000.0, ..FREE };
    // 100 spawns, each to a place that is fresh; the last task ends the run.
    let found = time(&flood(100, 50.0), Policy::Steal, 1, &prices);
    assert_eq!(found, 1000.0 + 100.0 * (50.0 + 7.0 + 5.0 + 2.0));
    let forks = graph(&[
        vec![(10.0, Then::Fork(1)), (10.0, Then::Join(1)), (0.0, Then::End)],
        vec![(10.0, Then::End)],
    ]);
    let found = time(&forks, Policy::Steal, 1, &Prices { fork: 8.0, ..FREE });
    assert_eq!(found, 38.0);
    // What costs less than the recorder's is taken off what follows.
    let found = time(&flood(100, 50.0), Policy::Lifo, 1, &Prices { run: -4.0, ..FREE });
    assert_eq!(found, 100.0 * 46.0);
}

#[test]
fn a_shared_queue_serves_one_after_the_other() {
    let graph = flood(10_000, 1.0);
    for policy in [Policy::Lifo, Policy::Fifo] {
        let prices = Prices { push: 10.0, run: 10.0, ..FREE };
        let free = time(&graph, policy, 16, &prices);
        assert!(free >= 10_000.0 * 20.0, "a push and a take for each task: {free}");
        let prices = Prices { spawns: even(20.0, 100.0), ..prices };
        let two = time(&graph, policy, 2, &prices);
        assert!((2e6..2.01e6).contains(&two), "{policy:?}: {two}");
        // No number of workers gets more out of it; those who find it empty come in between.
        for workers in [3, 16] {
            let found = time(&graph, policy, workers, &prices);
            assert!(found >= two, "{policy:?} {workers}: {found}");
        }
        // One worker has no rival.
        assert_eq!(time(&graph, policy, 1, &prices), free_alone(&graph, policy));
    }
}

/// A push and a take of 10 ns each.
fn free_alone(graph: &Graph, policy: Policy) -> f64 {
    time(graph, policy, 1, &Prices { push: 10.0, run: 10.0, ..FREE })
}

/// However long they think, an operation takes so long in addition to that.
fn even(alone: f64, two: f64) -> Contention {
    let mut turns = [Turns::default(); THINKS.len()];
    for (turns, think) in turns.iter_mut().zip(THINKS) {
        *turns = Turns { alone: alone + f64::from(think), two: two + f64::from(think) / 2.0 };
    }
    Contention { turns, least: 0.0 }
}

/// As those of `even`, but each its own.
const UNEVEN: [[f64; THINKS.len()]; 2] = [[60.0, 70.0, 80.0, 110.0], [120.0, 100.0, 140.0, 180.0]];

fn uneven(own: &[f64; THINKS.len()], forks: bool) -> Contention {
    let mut contention = even(10.0, 0.0);
    for ((turns, think), two) in contention.turns.iter_mut().zip(THINKS).zip(own) {
        let think = f64::from(think);
        *turns = Turns { alone: 10.0 + if forks { think } else { think / 2.0 }, two: *two };
    }
    contention
}

/// The calibration's tree, whose tasks think: the steps of a task, which are pushed on `tasks` at `own`.
fn fork_tree(leaves: u32, think: f32, own: usize, tasks: &mut Vec<Vec<(f32, Then)>>) {
    tasks[own].push((think, Then::End)); // to be replaced
    if leaves == 1 {
        return;
    }
    let fewer = leaves * 3 / 8 + u32::from(leaves == 2);
    let child = tasks.len();
    *tasks[own].last_mut().unwrap() = (think, Then::Fork(child as u32));
    tasks.push(Vec::new());
    fork_tree(fewer, think, child, tasks);
    fork_tree(leaves - fewer, think, own, tasks);
    let (time, _) = tasks[own].pop().unwrap();
    tasks[own].push((time, Then::Join(child as u32)));
    tasks[own].push((0.0, Then::End));
}

/// What two workers need in the calibration is predicted for them.
#[test]
fn the_price_of_contention_is_that_of_the_calibration() {
    let [spawns, forks] = UNEVEN;
    let prices = Prices {
        push: 10.0,
        run: 10.0,
        fork: 20.0,
        spawns: uneven(&spawns, false),
        forks: uneven(&forks, true),
        ..FREE
    };
    let leaves = 5000;
    for (i, think) in THINKS.into_iter().enumerate() {
        let mut tree = vec![Vec::new()];
        fork_tree(leaves, think as f32, 0, &mut tree);
        // Where only one of the two thinks, it is less exact.
        let spawning = (flood(leaves, think as f32), spawns[i], 0.2);
        let forking = (graph(&tree), forks[i], 0.01);
        for (graph, two, most) in [spawning, forking] {
            for policy in [Policy::Lifo, Policy::Fifo] {
                let found = time(&graph, policy, 2, &prices) / f64::from(2 * leaves);
                assert!(
                    (found / two - 1.0).abs() < most,
                    "{policy:?} think {think}: {found} of {two}"
                );
            }
        }
    }
}

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
    // One each 125 ns, since it waits for the owner's line as well.
    let expected = 1000.0 * 50.0 / (1.0 - 20.0 / 125.0);
    assert!((found / expected - 1.0).abs() < 0.01, "{found} of {expected}");
    // An owner that only computes pays nothing. (The other has taken the rest of the first spawn.)
    let spawns = vec![(0.0, Then::Spawn(1)), (0.0, Then::Spawn(2)), (0.0, Then::End)];
    let computes = graph(&[spawns, vec![(0.0, Then::End)], vec![(50_000.0, Then::End)]]);
    assert_eq!(time(&computes, Policy::Cont, 2, &prices), 50_000.0);
    // Where nobody else is, nobody looks.
    assert_eq!(time(&flood(1000, 50.0), Policy::Cont, 1, &prices), 50_000.0);
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let prices = Prices {
        thief: 100.0,
        look: 5.0,
        wake: 500.0,
        first_wake: 500.0,
        waker: 100.0,
        first_waker: 100.0,
        ..FREE
    };
    let run = |graph, seed| simulate(graph, Policy::StealHalf, 8, &prices, seed);
    let graphs: Vec<Graph> = (0..20).map(any).collect();
    assert!(graphs.iter().all(|graph| run(graph, 3) == run(graph, 3)));
    assert!(graphs.iter().any(|graph| run(graph, 3) != run(graph, 4)));
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
    // The first, for which it was woken; half of the other three; the last.
    assert_eq!(run(300.0), (4, 10_000.0));
    // Its owner comes to the rest before that, and with the first of it gives away half of the others.
    assert_eq!(run(20_000.0), (2, 12_000.0));
}

#[test]
fn what_a_bounded_deque_has_no_room_for_goes_through_the_queue_of_all() {
    let prices = Prices { fresh: [10.0; 3], ..FREE };
    let alone = |tasks| time(&flood(tasks, 50.0), Policy::StealHalf, 1, &prices);
    assert_eq!(alone(256), 256.0 * 50.0);
    // 128 go when there are 256, and then with each 128 more.
    assert_eq!(alone(1000), 1000.0 * 50.0 + 6.0 * 128.0 * 10.0);
    let both = time(&flood(1000, 5000.0), Policy::StealHalf, 2, &prices);
    assert!(both < 0.6 * 1000.0 * 5000.0, "{both}");
    // Many contend for its lock, and all is done in the end.
    let prices = Prices {
        spawns: even(10.0, 300.0),
        wake: 2000.0,
        first_wake: 2000.0,
        waker: 500.0,
        first_waker: 500.0,
        line: 30.0,
        ..prices
    };
    for workers in [2, 3, 16, 1024] {
        time(&flood(20_000, 5.0), Policy::StealHalf, workers, &prices);
    }
}

#[test]
fn the_first_worker_has_to_be_woken_for_the_end() {
    let prices = Prices { wake: 100.0, first_wake: 100.0, ..FREE };
    let found = time(&busy_owner(1, 10_000.0, 500.0), Policy::Steal, 2, &prices);
    assert_eq!(found, 100.0 + 10_000.0 + 100.0);
}

/// One task that spawns these, one each 100 ns, and then computes. Each takes no time, but for one.
fn slow_flood(tasks: u32, but: Option<(u32, f32)>, then: f32) -> Graph {
    let spawns = (1..=tasks).map(|i| (100.0, Then::Spawn(i))).chain([(then, Then::End)]);
    let mut all = vec![spawns.collect()];
    all.resize(tasks as usize + 1, vec![(0.0, Then::End)]);
    if let Some((task, time)) = but {
        all[task as usize] = vec![(time, Then::End)];
    }
    graph(&all)
}

/// The thief is there from the beginning, patient, and soon has each task that it is given.
const PATIENT: Prices = Prices { late: 1e9, wake: 1e9, ..FREE };

#[test]
fn places_that_thieves_have_emptied_are_not_used_until_the_tasks_move() {
    let prices = Prices { fresh: [10.0; 3], ..PATIENT };
    // Two tasks at most are in the deque. They come to be at the end of its 255 places, and then move.
    assert_eq!(time(&slow_flood(200, None, 0.0), Policy::Steal, 2, &prices), 200.0 * 110.0);
    assert_eq!(time(&slow_flood(1000, None, 0.0), Policy::Steal, 2, &prices), 1e5 + 255.0 * 10.0);
    // The thief has taken so many, and is away until the last spawn.
    let taken = |n| slow_flood(1000, Some((n, 150_000.0)), 1e5);
    let found = |n| time(&taken(n), Policy::Steal, 2, &prices) - 2e5;
    // 128 are left when the room ends, more than half as many as places: it grows, and what is empty stays so.
    assert_eq!(found(128), 1000.0 * 10.0);
    // 127: they move, and their places are enough until all are in use.
    assert_eq!(found(129), (1000.0 - 129.0) * 10.0);
    // Without thieves each has its own.
    assert_eq!(time(&slow_flood(1000, None, 0.0), Policy::Steal, 1, &prices), 1e5 + 1e4);
}

/// So often: spawns of which the other worker takes all but the last, and a join that waits for the other,
/// where it goes on.
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
    // 52 places of the one deque, then of the other, and then the same again. (The last is paid for while the
    // other's task runs.)
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
    // The other takes the first, searches for a while, takes the second, which spawns one more.
    let first = [(0.0, Then::Spawn(1)), (10_000.0, Then::Spawn(2)), (0.0, Then::Spawn(3))];
    let taken = vec![(0.0, Then::Spawn(4)), (100_000.0, Then::End)];
    let mut tasks = vec![vec![(0.0, Then::End)]; 5];
    tasks[0] = first.into_iter().chain([(0.0, Then::End)]).collect();
    tasks[2] = taken;
    let found = time(&graph(&tasks), Policy::Steal, 2, &prices);
    // What was searched until then has cost the owner once, when it gave the second away.
    assert!((111_000.0..111_300.0).contains(&found), "{found}");
}

#[test]
fn a_join_that_takes_its_task_back_pays_for_no_search() {
    let turns = (1..=100).flat_map(|i| [(50.0, Then::Fork(i)), (50.0, Then::Join(i))]);
    let mut tasks = vec![turns.chain([(0.0, Then::End)]).collect()];
    tasks.resize(101, vec![(0.0, Then::End)]);
    let prices = Prices { pause: 10.0, vain: 5.0, ..PATIENT };
    // The other has taken the first, for which it was woken.
    let found = time(&graph(&tasks), Policy::Steal, 2, &prices);
    assert_eq!(found, 100.0 * 100.0 + 99.0 * 5.0);
}

/// Each task computes, blocks for a time, and computes again.
fn blockers(tasks: u32, blocked: f32) -> Graph {
    let spawns = (1..=tasks).map(|i| (0.0, Then::Spawn(i))).chain([(0.0, Then::End)]);
    let mut all = vec![spawns.collect()];
    let task = vec![(100.0, Then::Block), (blocked, Then::Unblock), (100.0, Then::End)];
    all.resize(tasks as usize + 1, task);
    graph(&all)
}

#[test]
fn tasks_in_blocking_sections_need_no_worker() {
    let graph = blockers(8, 1e6);
    assert_eq!(graph.work(), 1600.0);
    assert_eq!(graph.span().unwrap(), 1e6 + 200.0);
    for policy in Policy::ALL {
        for workers in [1, 2, 64] {
            let all = time(&graph, policy, workers, &FREE);
            let least = 1e6 + 200.0;
            assert!((least..least + 1700.0).contains(&all), "{policy:?} {workers}: {all}");
        }
    }
}

#[test]
fn a_short_section_keeps_its_worker() {
    let graph = blockers(8, 900.0);
    let prices = Prices { wake: 1000.0, first_wake: 1000.0, ..FREE };
    assert_eq!(time(&graph, Policy::Steal, 1, &prices), 8.0 * 1100.0);
    let longer = time(&blockers(8, 1e5), Policy::Steal, 1, &prices);
    // Of each its worker is without a thread for as long as a wake-up takes.
    assert!((1e5 + 200.0..1e5 + 12_000.0).contains(&longer), "{longer}");
}

/// One that waits for a task which is in a section goes on when that is over.
#[test]
fn joins_and_sections_meet() {
    let tasks: [Vec<(f32, Then)>; 2] = [
        vec![
            (10.0, Then::Fork(1)),
            (5.0, Then::Join(1)),
            (50.0, Then::Block),
            (3000.0, Then::Unblock),
            (7.0, Then::End),
        ],
        vec![(20.0, Then::Block), (4000.0, Then::Unblock), (30.0, Then::End)],
    ];
    let graph = graph(&tasks);
    for policy in Policy::ALL {
        for workers in [1, 2] {
            let all = time(&graph, policy, workers, &FREE);
            let least = 10.0 + 20.0 + 4000.0 + 30.0 + 50.0 + 3000.0 + 7.0;
            assert!((least..least + 30.0).contains(&all), "{policy:?} {workers}: {all}");
        }
    }
}
