//! Tasks in blocking sections.

use sched_dag::{Graph, Then};
use sched_simulator::policy::Policy;
use sched_simulator::prices::Prices;

use super::graphs::{FREE, graph, time};

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
    // In each section the worker is without a thread for as long as a wake-up takes.
    assert!((1e5 + 200.0..1e5 + 12_000.0).contains(&longer), "{longer}");
}

/// A task that waits for a task in a section goes on when the section's task has ended.
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
