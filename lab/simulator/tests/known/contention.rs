//! Workers that contend for a lock.

use sched_dag::{Graph, Then};
use sched_simulator::policy::Policy;
use sched_simulator::prices::{Contention, Prices, THINKS, Turns};

use super::graphs::{FREE, flood, graph, time};

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
        // No number of workers gets more out of the queue; the looks of those who find it empty
        // come in between.
        for workers in [3, 16] {
            let found = time(&graph, policy, workers, &prices);
            assert!(found >= two, "{policy:?} {workers}: {found}");
        }
        // One worker has no rival.
        assert_eq!(time(&graph, policy, 1, &prices), free_alone(&graph, policy));
    }
}

/// Nanoseconds of an operation for each of THINKS, of spawns and of forks.
const UNEVEN: [[f64; THINKS.len()]; 2] = [[60.0, 70.0, 80.0, 110.0], [120.0, 100.0, 140.0, 180.0]];

/// A push and a take of 10 ns each.
fn free_alone(graph: &Graph, policy: Policy) -> f64 {
    time(graph, policy, 1, &Prices { push: 10.0, run: 10.0, ..FREE })
}

/// An operation takes this long in addition to the time to think, however long that is.
pub fn even(alone: f64, two: f64) -> Contention {
    let mut turns = [Turns::default(); THINKS.len()];
    for (turns, think) in turns.iter_mut().zip(THINKS) {
        *turns = Turns { alone: alone + f64::from(think), two: two + f64::from(think) / 2.0 };
    }
    Contention { turns, least: 0.0 }
}

fn uneven(own: &[f64; THINKS.len()], forks: bool) -> Contention {
    let mut contention = even(10.0, 0.0);
    for ((turns, think), two) in contention.turns.iter_mut().zip(THINKS).zip(own) {
        let think = f64::from(think);
        *turns = Turns { alone: 10.0 + if forks { think } else { think / 2.0 }, two: *two };
    }
    contention
}

/// The calibration's tree, whose tasks think. Pushes the steps of the task `own` on `tasks[own]`.
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

/// The prediction for two workers is what two workers needed in the calibration.
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
        // The prediction is less exact where only one of the two workers thinks.
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
