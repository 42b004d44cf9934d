//! The figures of `make bench`. A kind has one colour in all of them.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::chart::{Bars, Figure, Key, Panel, Series, Shape};
use crate::machine::Machine;
use crate::plan::{
    Group, IDLE_PROGRAMS, IDLES, JOINS, KINDS, Kind, LOCK_PROGRAMS, LOCKS, PROGRAMS, Plan,
};
use crate::summary::{Measured, Quartiles, Summary};
use crate::svg::Colour;

/// Where a task does next to nothing and its price is the scheduler's.
const EMPTY_TASKS: &[&str] = &["tree", "flood", "fib"];

/// The name of the figure that the README shows.
pub const SPEEDUP: &str = "speedup-by-threads";

/// Writes each figure as SVG, PNG and PDF, with its values as CSV; returns what is written.
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

/// Those for which there are runs, each with the name of its files.
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

/// The hues of Okabe and Ito, told apart by colour-blind eyes, each in a lightness of its own.
pub fn kind_key(kind: Kind) -> Key {
    let (colour, shape) = match kind {
        Kind::None => (Colour(90, 90, 90), Shape::Wedge),
        Kind::Lifo => (Colour(222, 100, 10), Shape::Square),
        Kind::Fifo => (Colour(0, 66, 140), Shape::Triangle),
        Kind::Steal => (Colour(0, 128, 92), Shape::Circle),
        Kind::Cont => (Colour(214, 140, 182), Shape::Diamond),
    };
    Key { name: kind.name().into(), colour, shape }
}

/// A series a kind, with a point for each of `over`.
pub fn by_kind<T: Copy>(
    kinds: &[Kind],
    over: &[T],
    value: impl Fn(Kind, T) -> Option<Quartiles>,
) -> Vec<Series> {
    let series = |&kind: &Kind| Series {
        key: kind_key(kind),
        points: over.iter().map(|&x| value(kind, x)).collect(),
    };
    kinds.iter().map(series).collect()
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

/// Under steal alone.
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
        title: format!("{program}, {}", count(threads)),
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

/// On the left, how long it took; on the right, what it cost the machine meanwhile.
fn idles(plan: &Plan, summary: &Summary) -> Vec<Panel> {
    // All of it is steal: the colour stays, lighter with more threads than cores.
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
                key: Key { name: format!("steal, {}", count(threads)), colour, shape },
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

pub fn names(threads: &[usize]) -> Vec<String> {
    threads.iter().map(ToString::to_string).collect()
}

pub fn count(threads: usize) -> String {
    format!("{threads} thread{}", if threads == 1 { "" } else { "s" })
}

pub fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_set_apart() {
        let texts = [7, 1000, 524_289].map(thousands);
        assert_eq!(texts, ["7", "1,000", "524,289"]);
    }
}
