//! The tables of what main and the program's own threads get, outside of any task.

use sched_tools::number::{short, threads};
use sched_tools::table::Table;

use crate::run::plan::Plan;
use crate::run::programs::{BESIDE, FLOODS, KINDS, SHORTS, SPARSE};
use crate::run::setup::Kind;
use crate::statistics::quartiles::{Quartiles, with_quartiles};
use crate::statistics::summary::{Measured, Summary};

fn cell(value: Option<Quartiles>) -> String {
    value.map_or("-".into(), with_quartiles)
}

/// A row of fields, unless it was not measured. The first two have their quartiles.
fn add_fields(table: &mut Table, label: Vec<String>, found: Option<&Measured>, fields: &[&str]) {
    let Some(found) = found else { return };
    let cells = fields.iter().enumerate().map(|(i, field)| match found.own(field) {
        value if i < 2 => cell(value),
        value => value.map_or("-".into(), |q| short(q.median)),
    });
    table.add_row(label.into_iter().chain(cells).collect());
}

/// Short loops, groups, sums and sorts: serial, by a task, and by main.
pub fn shorts(plan: &Plan, summary: &Summary) -> Table {
    let mut table = Table::new(1, &["", "serial", "in a task", "from main", "main / serial"]);
    for call in SHORTS {
        let us = |data, kind, threads| {
            summary.outside("phases", data, kind, threads).and_then(|m| m.own("us_a_phase"))
        };
        let t = plan.overhead_threads;
        let serial = us(call.in_task, Kind::None, 1);
        let in_task = us(call.in_task, Kind::Steal, t);
        let from_main = us(call.from_main, Kind::Steal, t);
        let ratio = from_main.zip(serial).map(|(main, serial)| short(main.median / serial.median));
        if from_main.is_some() {
            let cells = [serial, in_task, from_main].map(cell);
            let ratio = ratio.unwrap_or("-".into());
            table.add_row([call.what.to_owned()].into_iter().chain(cells).chain([ratio]).collect());
        }
    }
    table
}

/// Empty tasks.
pub fn floods(plan: &Plan, summary: &Summary) -> Table {
    let counts = [1, plan.overhead_threads];
    let head = ["handed over by".to_owned()].into_iter().chain(counts.map(threads));
    let mut table = Table::new(1, &head.collect::<Vec<_>>());
    for (what, data) in FLOODS {
        let found = counts.map(|t| summary.outside("outside_flood", data, Kind::Steal, t));
        if found.iter().any(Option::is_some) {
            let cells = found.map(|m| cell(m.map(Measured::ns_per_task)));
            table.add_row([(*what).to_owned()].into_iter().chain(cells).collect());
        }
    }
    table
}

/// Jobs with pauses between them.
pub fn sparse(plan: &Plan, summary: &Summary) -> Table {
    let mut table = Table::new(2, &["by", "to", "until it starts", "until it ends", "99 %", "cpu"]);
    for (who, pool, list, _) in SPARSE {
        let mut add = |data, kind, threads, to: &str| {
            let found = summary.outside("outside_sparse", data, kind, threads);
            let label = vec![(*who).to_owned(), to.into()];
            add_fields(&mut table, label, found, &["start_us", "p50_us", "p99_us", "cpu_us"]);
        };
        add(list, Kind::None, 1, "a list");
        for &kind in KINDS {
            add(pool, kind, plan.overhead_threads, kind.name());
        }
    }
    table
}

/// Loops of main's beside a long job of another thread's.
pub fn beside(plan: &Plan, summary: &Summary) -> Table {
    let mut table = Table::new(1, &["beside", "alone", "median", "99 %", "longest", "loops"]);
    for (what, data) in BESIDE {
        let found = summary.outside("outside_beside", data, Kind::Steal, plan.overhead_threads);
        let fields = ["alone_us", "p50_us", "p99_us", "most_us", "loops"];
        add_fields(&mut table, vec![(*what).to_owned()], found, &fields);
    }
    table
}
