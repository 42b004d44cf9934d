//! A table for each workload: the figure of each system, and its ratio to libsched's of the same
//! session.

use std::collections::BTreeMap;

use sched_tools::number::short;
use sched_tools::table::Table;
use sched_tools::text::say;

use super::session::{Run, Session};
use super::systems::{LIBSCHED, System};
use super::workloads::{Figure, Workload};
use crate::statistics::quartiles::Quartiles;
use crate::statistics::quartiles::with_quartiles;

pub fn print_all(workloads: &[Workload], systems: &[System], session: &Session) {
    for workload in workloads {
        let data = workload.data.map_or(String::new(), |data| format!(" -d {data}"));
        say(format!("\n{} -n {}{data}: {}", workload.program, workload.n, workload.what));
        println!("{}", one(workload, systems, session));
        for (name, why) in workload.lacking().filter(|(n, _)| systems.iter().any(|s| s.name == *n))
        {
            say(format!("without {name}: {why}"));
        }
    }
    say("\nMedians [quartiles]. × is a system's figure over libsched's: above 1, libsched is the \
         better. The speed-up is over the same system with 1 worker.");
    for case in &session.too_long {
        say(format!("{case}: not waited for: it took longer than the limit"));
    }
}

fn one(workload: &Workload, systems: &[System], session: &Session) -> Table {
    let unit = workload.figure.unit();
    let speedup = workload.threads.len() > 1;
    let mut head = vec!["".to_owned()];
    for t in &workload.threads {
        head.extend([format!("{t} thread{}: {unit}", if *t == 1 { "" } else { "s" }), "×".into()]);
    }
    if speedup {
        head.push("speed-up".into());
    }
    if workload.memory {
        head.extend(workload.threads.iter().map(|t| format!("peak MB, {t}")));
    }
    head.extend(workload.more.iter().map(|(head, _)| (*head).to_owned()));
    if workload.schedules {
        head.push("schedule".into());
    }
    let mut table = Table::new(1, &head);

    let figures = |system: &str, threads| {
        let figure = |run| figure(workload.figure, run);
        quartiles(session.counted(workload, system, threads).filter_map(figure))
    };
    let names = systems.iter().filter(|s| s.has(workload)).map(|s| s.name.as_str());
    let names = names.map(|name| (name, false));
    let baselines = workload.baselines.iter().map(|b| (b.name, true));
    for (name, is_baseline) in names.chain(baselines) {
        let mut row = vec![name.to_owned()];
        for (i, &threads) in workload.threads.iter().enumerate() {
            // A baseline has one thread, and stands in the first column.
            let own = if is_baseline {
                (i == 0).then(|| figures(name, 1)).flatten()
            } else {
                figures(name, threads)
            };
            let too_long = session.ran_too_long(workload, name, threads);
            let ratio =
                own.zip(figures(LIBSCHED, threads)).map(|(own, ours)| own.median / ours.median);
            row.push(own.map_or(if too_long { "too long" } else { "-" }.into(), with_quartiles));
            row.push(ratio.map_or("-".into(), short));
        }
        let first = workload.threads[0];
        let last = workload.threads[workload.threads.len() - 1];
        let measured = if is_baseline { 1 } else { last };
        if speedup {
            let both = figures(name, first).zip(figures(name, last)).filter(|_| !is_baseline);
            row.push(both.map_or("-".into(), |(one, all)| short(one.median / all.median)));
        }
        if workload.memory {
            for (i, &threads) in workload.threads.iter().enumerate() {
                let runs =
                    session.counted(workload, name, threads).filter(|_| i == 0 || !is_baseline);
                let peak = quartiles(runs.map(|r| r.peak as f64 / 1e6));
                row.push(peak.map_or("-".into(), |q| short(q.median)));
            }
        }
        for (_, field) in workload.more {
            let runs = session.counted(workload, name, measured);
            let found = quartiles(runs.filter_map(|r| r.line.extra.get(*field).copied()));
            row.push(found.map_or("-".into(), |q| short(q.median)));
        }
        if workload.schedules {
            row.push(schedules(session.counted(workload, name, measured)));
        }
        table.add_row(row);
    }
    table
}

/// The schedules that the runs of a system name, and after each how often it was the best.
fn schedules<'a>(runs: impl Iterator<Item = &'a Run>) -> String {
    let mut times = BTreeMap::new();
    for schedule in runs.filter_map(|r| r.line.schedule.as_deref()) {
        *times.entry(schedule).or_insert(0) += 1;
    }
    let texts: Vec<_> =
        times.iter().map(|(schedule, times)| format!("{schedule} {times}")).collect();
    if texts.is_empty() { "-".into() } else { texts.join(", ") }
}

fn quartiles(values: impl Iterator<Item = f64>) -> Option<Quartiles> {
    Quartiles::of(values.collect())
}

fn figure(figure: Figure, run: &Run) -> Option<f64> {
    match figure {
        Figure::PerTask => Some(run.line.seconds * 1e9 / run.line.tasks as f64),
        Figure::PerRun => Some(run.line.seconds * 1e6 / run.line.tasks as f64),
        Figure::Whole => Some(run.line.seconds * 1e3),
        Figure::Own(name, _) => run.line.extra.get(name).copied(),
    }
}
