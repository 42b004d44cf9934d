//! The tables of the programs over kinds and thread counts, and of fork and join.

use sched_tools::number::{count, short};
use sched_tools::table::Table;

use crate::run::plan::Plan;
use crate::run::programs::{ALSO_JOIN, JOINS, KINDS};
use crate::run::setup::Kind;
use crate::statistics::quartiles::with_quartiles;
use crate::statistics::summary::{Measured, Summary};

/// A program over kinds and thread counts, with a row for each.
pub fn kinds(plan: &Plan, summary: &Summary, program: &str) -> Table {
    let head = [
        "kind",
        "threads",
        "ms [quartiles]",
        "speed-up",
        "ns/task",
        "cpu ms",
        "steals",
        "failed",
        "sleeps",
        "wakes",
    ];
    let mut table = Table::new(2, &head);
    let serial = summary.serial(program);
    let mut row = |name: &str, threads: usize, m: &Measured| {
        let speedup = serial.map(|s| m.seconds.under(s.seconds.median).median);
        let count = |value: Option<f64>| value.map_or("-".into(), count);
        let counters = m.counters;
        table.add_row(vec![
            name.into(),
            threads.to_string(),
            with_quartiles(m.seconds.scaled(1e3)),
            speedup.map_or("-".into(), short),
            short(m.ns_per_task().median),
            short(m.cpu.median * 1e3),
            count(counters.map(|c| c.steals.median)),
            count(counters.map(|c| c.failed_steals.median)),
            count(counters.map(|c| c.sleeps)),
            count(counters.map(|c| c.wakes)),
        ]);
    };
    if let Some(m) = serial {
        row("serial", 1, m);
    }
    for &kind in KINDS {
        for &threads in &plan.threads {
            if let Some(m) = summary.kind(program, kind, threads) {
                row(kind.name(), threads, m);
            }
        }
    }
    table
}

/// A row for each program: what its tasks cost on one thread, and what more threads gain.
pub fn joins(plan: &Plan, summary: &Summary) -> Table {
    let head = ["program -n", "Ts, ms [quartiles]", "T1, ms [quartiles]", "T1, ns", "T1/Ts"];
    let mut head = head.map(String::from).to_vec();
    let more: Vec<usize> = plan.threads.iter().copied().filter(|&t| t > 1).collect();
    head.extend(more.iter().map(|t| format!("Ts/T{t}")));
    let mut table = Table::new(1, &head);
    for name in ALSO_JOIN.iter().copied().chain(JOINS.iter().map(|p| p.name)) {
        let joins = |kind, threads| summary.joins(name, kind, threads);
        let Some((serial, one)) = joins(Kind::None, 1).zip(joins(Kind::Steal, 1)) else { continue };
        let mut row = vec![
            format!("{name} {}", plan.size(name)),
            with_quartiles(serial.seconds.scaled(1e3)),
            with_quartiles(one.seconds.scaled(1e3)),
            short(one.ns_per_task().median),
            short(one.seconds.median / serial.seconds.median),
        ];
        for &threads in &more {
            let ratio = |all: &Measured| short(serial.seconds.median / all.seconds.median);
            row.push(joins(Kind::Steal, threads).map_or("-".into(), ratio));
        }
        table.add_row(row);
    }
    table
}
