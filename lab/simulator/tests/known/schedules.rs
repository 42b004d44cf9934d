//! Schedules that are known without any cost, or with a cost for each call.

use sched::profile::speedup::Measures;
use sched_dag::{Graph, Then};
use sched_simulator::engine::simulate;
use sched_simulator::policy::Policy;
use sched_simulator::prices::Prices;

use super::graphs::{FREE, any, chain, flood, graph, time};

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

/// R. Graham's bound, by the formula that the library's profile prints.
#[test]
fn without_costs_every_policy_is_greedy() {
    for seed in 0..300 {
        let graph = any(seed);
        let (work, span) = (graph.work(), graph.span().unwrap());
        let measures = Measures { work, span, burdened_span: span };
        for policy in Policy::ALL {
            assert!((time(&graph, policy, 1, &FREE) - work).abs() < 1e-3 * (1.0 + work));
            for workers in [2, 3, 8, 100] {
                if work == 0.0 {
                    continue;
                }
                let found = work / time(&graph, policy, workers, &FREE);
                let (least, most) = (measures.least(workers as u32), measures.most(workers as u32));
                assert!(
                    found >= least * 0.999 && found <= most * 1.001,
                    "{policy:?} {workers} seed {seed}: {found} is not in {least} to {most}"
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
    // A call that costs less than the recorder's shortens what follows.
    let found = time(&flood(100, 50.0), Policy::Lifo, 1, &Prices { run: -4.0, ..FREE });
    assert_eq!(found, 100.0 * 46.0);
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
