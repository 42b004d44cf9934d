//! The tables of values of one setting: lock primitives, idle policies, ways to give a task its
//! arguments.

use sched_tools::number::{count, short, threads};
use sched_tools::table::Table;

use crate::run::plan::Plan;
use crate::run::programs::{
    CLOSURE_WAYS, IDLE_PROGRAMS, IDLES, LOCK_PROGRAMS, LOCKS, OBSERVED, OBSERVERS,
};
use crate::run::setup::Kind;
use crate::statistics::quartiles::with_quartiles;
use crate::statistics::summary::Summary;

pub fn locks(plan: &Plan, summary: &Summary) -> Table {
    let mut head = vec!["program".to_owned(), "kind".into(), "deque".into()];
    head.extend(plan.lock_threads.iter().map(|&t| threads(t)));
    let mut table = Table::new(3, &head);
    for program in LOCK_PROGRAMS {
        for kind in [Kind::Lifo, Kind::Steal] {
            for lock in LOCKS {
                let found = plan.lock_threads.iter().map(|&t| summary.lock(program, kind, lock, t));
                let found: Vec<_> = found.collect();
                if found.iter().all(Option::is_none) {
                    continue;
                }
                let mut row = vec![(*program).to_owned(), kind.name().into(), (*lock).into()];
                row.extend(
                    found
                        .into_iter()
                        .map(|m| m.map_or("-".into(), |m| with_quartiles(m.ns_per_task()))),
                );
                table.add_row(row);
            }
        }
    }
    table
}

pub fn observed(plan: &Plan, summary: &Summary) -> Table {
    let mut head = vec!["program".to_owned(), "observed by".into()];
    head.extend(plan.observed_threads.iter().map(|&t| threads(t)));
    let mut table = Table::new(2, &head);
    for (program, _) in OBSERVED {
        for &(observer, knobs) in OBSERVERS {
            let found: Vec<_> = plan
                .observed_threads
                .iter()
                .filter_map(|&t| summary.observed(program, knobs, t))
                .map(|m| with_quartiles(m.ns_per_task()))
                .collect();
            if found.len() == plan.observed_threads.len() {
                let what = [(*program).to_owned(), observer.into()];
                table.add_row(what.into_iter().chain(found).collect());
            }
        }
    }
    table
}

pub fn idles(plan: &Plan, summary: &Summary) -> Table {
    let mut head = vec!["program".to_owned(), "idle".into()];
    for &t in &plan.idle_threads {
        head.extend([threads(t), "cpu ms".into(), "sleeps".into()]);
    }
    let mut table = Table::new(2, &head);
    for program in IDLE_PROGRAMS {
        for idle in IDLES {
            let found = plan.idle_threads.iter().map(|&t| summary.idle(program, idle, t));
            let found: Vec<_> = found.collect();
            if found.iter().all(Option::is_none) {
                continue;
            }
            let mut row = vec![(*program).to_owned(), (*idle).into()];
            for m in found {
                row.extend(match m {
                    None => ["-".to_owned(), "-".into(), "-".into()],
                    Some(m) => [
                        with_quartiles(m.seconds.scaled(1e3)),
                        short(m.cpu.median * 1e3),
                        m.counters.map_or("-".into(), |c| count(c.sleeps)),
                    ],
                });
            }
            table.add_row(row);
        }
    }
    table
}

pub fn closures(plan: &Plan, summary: &Summary) -> Table {
    let mut head = vec!["tasks".to_owned(), "arguments".into()];
    head.extend(plan.closure_threads.iter().map(|&t| threads(t)));
    let mut table = Table::new(2, &head);
    for way in CLOSURE_WAYS {
        let (shape, how) = way.split_once('-').unwrap_or(("tree", way));
        let ns = |&t: &usize| summary.closures(way, t).map(|m| with_quartiles(m.ns_per_task()));
        let mut row = vec![shape.to_owned(), how.into()];
        row.extend(plan.closure_threads.iter().map(|t| ns(t).unwrap_or("-".into())));
        table.add_row(row);
    }
    table
}
