//! Graphs of known shapes, prices of zero, and the time of a run.

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use sched_dag::{Graph, Then};
use sched_simulator::engine::simulate;
use sched_simulator::policy::Policy;
use sched_simulator::prices::{Contention, Prices, THINKS, Turns};

pub const CALM: Contention =
    Contention { turns: [Turns { alone: 0.0, two: 0.0 }; THINKS.len()], least: 0.0 };

pub const FREE: Prices = Prices {
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

pub fn time(graph: &Graph, policy: Policy, workers: usize, prices: &Prices) -> f64 {
    simulate(graph, policy, workers, prices, 1).nanoseconds
}

pub fn graph(tasks: &[Vec<(f32, Then)>]) -> Graph {
    let slices: Vec<&[(f32, Then)]> = tasks.iter().map(Vec::as_slice).collect();
    Graph::from_lists(&slices).unwrap()
}

/// Each task spawns the next as its last act.
pub fn chain(length: u32) -> Graph {
    let task = |i: u32| match i + 1 < length {
        true => vec![(100.0, Then::Spawn(i + 1)), (0.0, Then::End)],
        false => vec![(100.0, Then::End)],
    };
    graph(&(0..length).map(task).collect::<Vec<_>>())
}

/// One task spawns all others, which do the same.
pub fn flood(tasks: u32, each: f32) -> Graph {
    let spawns = (1..=tasks).map(|i| (0.0, Then::Spawn(i))).chain([(0.0, Then::End)]);
    let mut all = vec![spawns.collect()];
    all.resize(tasks as usize + 1, vec![(each, Then::End)]);
    graph(&all)
}

/// A random tree of tasks that fork, spawn and join.
pub fn any(seed: u64) -> Graph {
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
