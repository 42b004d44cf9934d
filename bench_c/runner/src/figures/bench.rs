//! The figures of `make bench`.

use std::path::{Path, PathBuf};

use anyhow::Result;
use sched_tools::number::{thousands, threads as threads_words};

use super::keys::{by_kind, names};
use crate::figures::chart::{Bars, Colour, Figure, Key, Panel, Series, Shape};

use crate::run::machine::Machine;
use crate::run::plan::Plan;
use crate::run::programs::{IDLE_PROGRAMS, IDLES, JOINS, KINDS, LOCK_PROGRAMS, LOCKS, PROGRAMS};
use crate::run::setup::{Group, Kind};
use crate::statistics::quartiles::Quartiles;
use crate::statistics::summary::{Measured, Summary};

/// Programs whose tasks do next to nothing, so that the price of a task is the scheduler's.
const EMPTY_TASKS: &[&str] = &["tree", "flood", "fib"];

/// The name of the figure that the README shows.
pub const SPEEDUP: &str = "speedup-by-threads";

/// Writes each figure as SVG, PNG and PDF, and its values as CSV; returns the paths.
pub fn draw_all(
    folder: &Path,
    plan: &Plan,
    summary: &Summary,
    machine: &Machine,
) -> Result<Vec<PathBuf>> {
    let note = machine.line();
    let mut written = Vec::new();
    for (name, figure) in all(plan, summary) {
        written.extend(figure.write(&folder.join(name), &note)?);
    }
    Ok(written)
}

/// The figures for which there are runs, each with the name of its files.
pub fn all(plan: &Plan, summary: &Summary) -> Vec<(&'static str, Figure<'static>)> {
    let speedup = Figure {
        title: "Speed-up over the serial program, by threads",
        reference: Some("as fast as serial"),
        bars: Bars::Quartiles,
        panels: speedups(plan, summary),
        columns: 3,
        panel_height: 260,
    };
    let joins = Figure {
        title: "Fork, join, groups and loops: speed-up over serial, by threads",
        reference: Some("as fast as serial"),
        bars: Bars::Quartiles,
        panels: join_speedups(plan, summary),
        columns: 3,
        panel_height: 240,
    };
    let cost = Figure {
        title: "Cost of a task, by kind",
        reference: None,
        bars: Bars::Quartiles,
        panels: costs(plan, summary),
        columns: 1,
        panel_height: 300,
    };
    let locks = Figure {
        title: "The lock primitives side by side",
        reference: None,
        bars: Bars::Quartiles,
        panels: if plan.has(Group::Locks) { locks(plan, summary) } else { Vec::new() },
        columns: LOCK_PROGRAMS.len(),
        panel_height: 320,
    };
    let idle = Figure {
        title: "The idle policies of work stealing side by side",
        reference: None,
        bars: Bars::Quartiles,
        panels: if plan.has(Group::Idle) { idles(plan, summary) } else { Vec::new() },
        columns: 2,
        panel_height: 300,
    };
    let mut figures = vec![
        (SPEEDUP, speedup),
        ("speedup-fork-join", joins),
        ("cost-per-task", cost),
        ("lock-primitives", locks),
        ("idle-policies", idle),
    ];
    figures.retain(|(_, figure)| !figure.panels.is_empty());
    figures
}

fn speedups(plan: &Plan, summary: &Summary) -> Vec<Panel> {
    let panel = |name: &str| {
        let serial = summary.serial(name)?;
        let series = by_kind(KINDS, &plan.threads, |kind, threads| {
            let m = summary.kind(name, kind, threads)?;
            Some(m.seconds.under(serial.seconds.median))
        });
        Some(speedup(plan, format!("{name} ({} tasks)", thousands(serial.tasks)), series))
    };
    PROGRAMS.iter().filter_map(|p| panel(p.name)).collect()
}

/// The speed-ups of fork and join, under steal only.
fn join_speedups(plan: &Plan, summary: &Summary) -> Vec<Panel> {
    let panel = |name: &str| {
        let serial = summary.joins(name, Kind::None, 1)?;
        let series = by_kind(&[Kind::Steal], &plan.threads, |kind, threads| {
            let m = summary.joins(name, kind, threads)?;
            Some(m.seconds.under(serial.seconds.median))
        });
        Some(speedup(plan, name.to_owned(), series))
    };
    JOINS.iter().filter_map(|p| panel(p.name)).collect()
}

fn speedup(plan: &Plan, title: String, series: Vec<Series>) -> Panel {
    Panel {
        title,
        x_title: "threads",
        y_title: "speed-up",
        x_names: names(&plan.threads),
        series,
        log: false,
        lines: true,
        reference: Some(1.0),
    }
}

fn costs(plan: &Plan, summary: &Summary) -> Vec<Panel> {
    let panel = |name: &&str| {
        let tasks = summary.serial(name)?.tasks;
        Some(Panel {
            title: format!("{name} ({} tasks)", thousands(tasks)),
            x_title: "threads",
            y_title: "ns per task (log scale)",
            x_names: names(&plan.threads),
            series: by_kind(KINDS, &plan.threads, |kind, threads| {
                summary.kind(name, kind, threads).map(Measured::ns_per_task)
            }),
            log: true,
            lines: false,
            reference: None,
        })
    };
    EMPTY_TASKS.iter().filter_map(panel).collect()
}

fn locks(plan: &Plan, summary: &Summary) -> Vec<Panel> {
    let panel = |program: &str, threads: usize| Panel {
        title: format!("{program}, {}", threads_words(threads)),
        x_title: "SCHED_DEQUE",
        y_title: "ns per task (log scale)",
        x_names: LOCKS.iter().map(ToString::to_string).collect(),
        series: by_kind(&[Kind::Lifo, Kind::Steal], LOCKS, |kind, lock| {
            summary.lock(program, kind, lock, threads).map(Measured::ns_per_task)
        }),
        log: true,
        lines: false,
        reference: None,
    };
    let row = |&t| LOCK_PROGRAMS.iter().map(move |&program| (program, t));
    plan.lock_threads.iter().flat_map(row).map(|(program, t)| panel(program, t)).collect()
}

/// On the left the time of a run, on the right its processor time.
fn idles(plan: &Plan, summary: &Summary) -> Vec<Panel> {
    // All series are steal: the colour is the same, but lighter for more threads than cores.
    let shades = [(Colour(0, 128, 92), Shape::Circle), (Colour(118, 190, 160), Shape::Diamond)];
    let panel = |program: &str, y_title, value: fn(&Measured) -> Quartiles| Panel {
        title: program.to_owned(),
        x_title: "SCHED_IDLE",
        y_title,
        x_names: IDLES.iter().map(ToString::to_string).collect(),
        series: plan
            .idle_threads
            .iter()
            .zip(shades)
            .map(|(&threads, (colour, shape))| Series {
                key: Key { name: format!("steal, {}", threads_words(threads)), colour, shape },
                points: IDLES
                    .iter()
                    .map(|idle| summary.idle(program, idle, threads).map(value))
                    .collect(),
            })
            .collect(),
        log: true,
        lines: false,
        reference: None,
    };
    let row = |program: &&str| {
        [
            panel(program, "ms (log scale)", |m| m.seconds.scaled(1e3)),
            panel(program, "processor ms (log scale)", |m| m.cpu.scaled(1e3)),
        ]
    };
    IDLE_PROGRAMS.iter().flat_map(row).collect()
}
