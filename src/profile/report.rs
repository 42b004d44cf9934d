//! The text of a profile.

use crate::lock::mutex::Mutex;
use crate::profile::figures::{Figures, Stretch};
use crate::profile::speedup::WORKERS;
use crate::settings::Profile;
use crate::sys::names::Names;
use crate::sys::output::Out;
use std::fmt::{self, Write};

/// Runs may end at the same time: this lock separates their texts.
#[unsafe(link_section = "sched_words")]
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Called in the child of a fork, in which the thread that was printing does not exist.
pub fn after_fork_in_child() {
    // SAFETY: a forked child has one thread.
    unsafe { ONE_AT_A_TIME.reset(()) };
}

/// The median task should take at least this many nanoseconds: twenty times the cost to spawn and
/// end a task without a profile, for which 50 ns is a generous figure. The constant is not
/// measured: the tasks of a profiled run have a record each, which costs more than the rest; the
/// burden is the price of a theft, which is rare where tasks are many; and to time spawns would
/// take a second run, without a profile, at the end of each run.
const SHORT: u64 = 1000;

/// A run in which the parallelism is less than this many times the number of workers keeps them
/// busy only if their tasks are spread with luck (C. Leiserson, "The Cilk++ concurrency platform",
/// 2010: at least ten times).
const SLACK: f64 = 10.0;

/// Workers that have nothing to do for more than this part of the time starve.
const IDLE: f64 = 0.2;

/// Tasks that wait for mutexes for more than this part of the work keep each other waiting.
const WAITS: f64 = 0.2;

pub fn print(figures: &Figures, format: Profile, kind: &str, unseen: usize) {
    ONE_AT_A_TIME.with(|()| {
        let mut out = Out::stderr();
        // An error cannot be reported.
        let _ = match format {
            Profile::Off => Ok(()),
            Profile::Table => table(&mut out, figures, kind, unseen),
            Profile::Json => json(&mut out, figures, kind, unseen),
            Profile::Folded => folded(&mut out, figures),
        };
    });
}

/// A length of time in the largest unit in which it is at least 1.
struct Time(u64);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let nanos = self.0 as f64;
        let (number, digits, unit) = match self.0 {
            0..1_000 => (nanos, 0, "ns"),
            1_000..1_000_000 => (nanos / 1e3, 2, "us"),
            1_000_000..1_000_000_000 => (nanos / 1e6, 2, "ms"),
            _ => (nanos / 1e9, 3, "s"),
        };
        let width = f.width().map_or(0, |width| width.saturating_sub(unit.len() + 1));
        write!(f, "{number:>width$.digits$} {unit}")
    }
}

fn table(out: &mut Out, figures: &Figures, kind: &str, unseen: usize) -> fmt::Result {
    let Figures { work, span, tasks, workers, .. } = *figures;
    writeln!(out, "libsched: profile: kind={kind} threads={workers} tasks={tasks}")?;
    writeln!(out, "  work         {:>12}   the time of all tasks", Time(work))?;
    writeln!(out, "  span         {:>12}   the longest path through them", Time(span))?;
    writeln!(out, "  parallelism  {:>12.2}   work / span", figures.parallelism())?;
    let (burdened, burden) = (Time(figures.burdened_span), Time(figures.burden));
    writeln!(
        out,
        "  burdened     {burdened:>12}   the span, with {burden} for each move of a task"
    )?;
    writeln!(out, "  speed-up on {:>8}  at least   at most", "workers")?;
    let measures = figures.measures();
    for n in WORKERS {
        let (least, most) = (measures.least_burdened(n), measures.most(n));
        writeln!(out, "  {n:>20} {least:>9.2} {most:>9.2}")?;
    }
    writeln!(out, "  tasks of at least           number")?;
    let present = || figures.classes.iter().filter(|class| class.1 > 0);
    let most = present().map(|class| class.1).max().unwrap_or(1);
    for &(least, number) in present() {
        const BAR: &str = "########################################";
        let length = (number * BAR.len() as u64).div_ceil(most) as usize;
        writeln!(out, "  {:>20} {number:>12}  {}", Time(least), &BAR[..length])?;
    }
    let mut names = Names::default();
    functions(out, figures, &mut names)?;
    if unseen > 0 {
        writeln!(out, "  {unseen} tasks could not be measured: there was no memory")?;
    }
    advice(figures, &mut names, &mut |text| writeln!(out, "  {text}"))
}

/// The table shows this many functions with most work, and this many with most of the longest path.
const FUNCTIONS: usize = 10;

/// The indices in `Figures::functions` of the functions that the table shows.
fn shown(figures: &Figures) -> impl Iterator<Item = usize> {
    let is_shown = |&at: &usize| at < FUNCTIONS || figures.is_long_on_path(at, FUNCTIONS);
    let has_tasks = |&at: &usize| figures.functions[at].tasks > 0;
    (0..figures.functions.len()).filter(has_tasks).filter(is_shown)
}

/// The time that the longest path spends in a function, in nanoseconds. If it is known exactly,
/// both fields are equal.
struct InSpan {
    least: u64,
    most: u64,
}

impl InSpan {
    fn of(figures: &Figures, function: usize) -> InSpan {
        let beside = InSpan { least: 0, most: figures.most_beside };
        figures.on_path(function).map_or(beside, InSpan::stretch)
    }

    fn stretch(Stretch { nanos, missing, .. }: Stretch) -> InSpan {
        InSpan { least: nanos, most: nanos + missing }
    }
}

impl fmt::Display for InSpan {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let (sign, nanos) = match *self {
            InSpan { least, most } if least == most => ("", least),
            InSpan { least: 0, most } => ("<= ", most),
            InSpan { least, .. } => (">= ", least),
        };
        let width = f.width().map_or(0, |width| width.saturating_sub(sign.len()));
        write!(f, "{sign}{:>width$}", Time(nanos))
    }
}

/// The name that stands for the functions of a path that are not told apart.
const OTHERS: &str = "(others)";

fn name_on_path<'a>(names: &'a mut Names, figures: &Figures, function: Option<usize>) -> &'a str {
    function.map_or(OTHERS, |at| names.get(figures.functions[at].address))
}

fn functions(out: &mut Out, figures: &Figures, names: &mut Names) -> fmt::Result {
    let title = "time of the tasks";
    writeln!(out, "  {title:>20} {:>12} {:>12}  function", "number", "in the span")?;
    for at in shown(figures) {
        let (function, in_span) = (&figures.functions[at], InSpan::of(figures, at));
        let name = names.get(function.address);
        let (work, tasks) = (Time(function.work), function.tasks);
        writeln!(out, "  {work:>20} {tasks:>12} {in_span:>12}  {name}")?;
    }
    write!(out, "  longest path: ")?;
    for (i, &(function, stretch)) in figures.path.iter().enumerate() {
        let arrow = if i > 0 { " -> " } else { "" };
        let name = name_on_path(names, figures, function);
        write!(out, "{arrow}{name} {}", InSpan::stretch(stretch))?;
        if stretch.tasks > 1 {
            write!(out, " ({} tasks)", stretch.tasks)?;
        }
    }
    writeln!(out)
}

/// A line for each context: its functions, and the nanoseconds of its tasks.
fn folded(out: &mut Out, figures: &Figures) -> fmt::Result {
    let mut names = Names::default();
    for (stack, nanos) in figures.stacks.iter().filter(|(_, nanos)| *nanos > 0) {
        for (i, &function) in stack.iter().enumerate() {
            write!(out, "{}{}", if i > 0 { ";" } else { "" }, names.get(function))?;
        }
        writeln!(out, " {nanos}")?;
    }
    Ok(())
}

/// Passes on what the figures advise, a sentence at a time.
fn advice(
    figures: &Figures,
    names: &mut Names,
    to: &mut dyn FnMut(fmt::Arguments) -> fmt::Result,
) -> fmt::Result {
    let Figures { median, workers, .. } = *figures;
    let (workers, parallelism) = (workers as f64, figures.parallelism());
    let mut fine = true;
    if figures.tasks > 1 && median < SHORT {
        fine = false;
        to(format_args!(
            "Half of the tasks take less than about {}: much of the time goes into spawning them. \
             Give each task more to do.",
            Time(median)
        ))?;
    }
    if parallelism < workers {
        fine = false;
        to(format_args!(
            "The span bounds this run: no more than {parallelism:.1} of the {workers} workers can \
             be busy. Split the longest path."
        ))?;
    } else if parallelism < SLACK * workers && workers > 1.0 {
        fine = false;
        to(format_args!(
            "There is little to spare: the parallelism of {parallelism:.1} is less than ten for each \
             of the {workers} workers. More and shorter paths would keep them busy when tasks take \
             unequal times."
        ))?;
    }
    let idle = figures.idle.unwrap_or(0.0);
    if parallelism >= 2.0 * workers && workers > 1.0 && idle > IDLE {
        fine = false;
        to(format_args!(
            "The workers starved for {:.0} % of the time, although the parallelism is \
             {parallelism:.1}: tasks were spawned too late, one by one, or by a single task, or \
             there are many short loops, and workers are woken for each. Spawn tasks earlier and \
             from several tasks; make one loop of several.",
            100.0 * idle
        ))?;
    }
    if workers > 1.0 && figures.waits() as f64 > WAITS * figures.work as f64 {
        fine = false;
        let most = figures.functions.iter().max_by_key(|function| function.waits);
        let name = most.map_or("?", |function| names.get(function.address));
        to(format_args!(
            "Tasks waited for mutexes for {} in all, those of {name} most of all. Hold the mutex \
             for less time, or share less.",
            Time(figures.waits())
        ))?;
    }
    if fine {
        to(format_args!(
            "Nothing stands in the way of {workers} workers. At ten for each worker, the \
             parallelism is enough for up to {}.",
            (parallelism / SLACK).max(workers) as u64
        ))?;
    }
    Ok(())
}

fn json(out: &mut Out, figures: &Figures, kind: &str, unseen: usize) -> fmt::Result {
    let Figures { work, span, tasks, workers, median, .. } = *figures;
    write!(out, "{{\"kind\":\"{kind}\",\"threads\":{workers},\"tasks\":{tasks}")?;
    write!(out, ",\"work_ns\":{work},\"span_ns\":{span}")?;
    let (burdened, burden) = (figures.burdened_span, figures.burden);
    write!(out, ",\"burdened_span_ns\":{burdened},\"burden_ns\":{burden}")?;
    write!(out, ",\"parallelism\":{:.4},\"median_ns\":{median}", figures.parallelism())?;
    write!(out, ",\"mutex_waits_ns\":{}", figures.waits())?;
    if let Some(idle) = figures.idle {
        write!(out, ",\"idle\":{idle:.4}")?;
    }
    write!(out, ",\"unseen\":{unseen},\"speedup\":[")?;
    let measures = figures.measures();
    for (i, n) in WORKERS.into_iter().enumerate() {
        let comma = if i > 0 { "," } else { "" };
        write!(out, "{comma}{{\"workers\":{n},\"least\":{:.4}", measures.least(n))?;
        let (burdened, most) = (measures.least_burdened(n), measures.most(n));
        write!(out, ",\"least_burdened\":{burdened:.4},\"most\":{most:.4}}}")?;
    }
    write!(out, "],\"lengths\":[")?;
    let present = figures.classes.iter().filter(|class| class.1 > 0);
    for (i, (least, number)) in present.enumerate() {
        let comma = if i > 0 { "," } else { "" };
        write!(out, "{comma}{{\"least_ns\":{least},\"tasks\":{number}}}")?;
    }
    write!(out, "],\"functions\":[")?;
    let mut names = Names::default();
    let with_tasks = figures.functions.iter().enumerate().filter(|(_, of)| of.tasks > 0);
    for (i, (at, function)) in with_tasks.enumerate() {
        let comma = if i > 0 { "," } else { "" };
        let (work, tasks) = (function.work, function.tasks);
        let name = names.get(function.address);
        write!(out, "{comma}{{\"name\":\"{name}\",\"work_ns\":{work},\"tasks\":{tasks}")?;
        let InSpan { least, most } = InSpan::of(figures, at);
        write!(out, ",\"in_span_ns\":{least},\"in_span_most_ns\":{most}}}")?;
    }
    write!(out, "],\"path\":[")?;
    for (i, &(function, Stretch { nanos, tasks, .. })) in figures.path.iter().enumerate() {
        let comma = if i > 0 { "," } else { "" };
        let name = name_on_path(&mut names, figures, function);
        write!(out, "{comma}{{\"name\":\"{name}\",\"ns\":{nanos},\"tasks\":{tasks}}}")?;
    }
    write!(out, "],\"advice\":[")?;
    let mut comma = "";
    advice(figures, &mut names, &mut |text| {
        write!(out, "{comma}\"{text}\"")?;
        comma = ",";
        Ok(())
    })?;
    writeln!(out, "]}}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::figures::Function;
    use crate::profile::sums::CLASSES;

    /// A run on 4 workers about which the report has no advice.
    fn fine() -> Figures {
        let function = Function { address: 0, tasks: 1000, work: 100_000_000, waits: 0 };
        Figures {
            work: 100_000_000,
            span: 1_000_000,
            burdened_span: 1_100_000,
            burden: 1000,
            tasks: 1000,
            workers: 4,
            idle: Some(0.05),
            classes: [(0, 0); CLASSES],
            median: 100_000,
            functions: vec![function],
            path: Vec::new(),
            most_beside: 0,
            stacks: Vec::new(),
        }
    }

    fn advice_on(figures: &Figures) -> Vec<String> {
        let mut all = Vec::new();
        let add = &mut |text: fmt::Arguments| {
            all.push(text.to_string());
            Ok(())
        };
        advice(figures, &mut Names::default(), add).unwrap();
        all
    }

    #[test]
    fn what_is_not_known_exactly_is_marked() {
        let function = || Function { address: 0, tasks: 1, work: 1, waits: 0 };
        let stretch = |nanos, missing| Stretch { nanos, tasks: 1, missing };
        let figures = Figures {
            functions: (0..14).map(|_| function()).collect(),
            path: vec![
                (Some(0), stretch(3, 0)),
                (Some(12), stretch(500, 2)),
                (None, stretch(9, 0)),
            ],
            most_beside: 2,
            ..fine()
        };
        let text = |at| format!("{:>12}", InSpan::of(&figures, at));
        assert_eq!([0, 12, 13].map(text), ["        3 ns", ">=    500 ns", "<=      2 ns"]);
        assert_eq!(format!("{}", InSpan::of(&figures, 12)), ">= 500 ns");
        let exact = Figures { most_beside: 0, path: Vec::new(), ..figures };
        assert_eq!(format!("{}", InSpan::of(&exact, 13)), "0 ns");
    }

    #[test]
    fn the_table_has_those_with_most_work_and_those_with_most_of_the_span() {
        let function = || Function { address: 0, tasks: 1, work: 1, waits: 0 };
        let nanos = |at| if at % 2 == 1 { at as u64 } else { 0 };
        let path = (0..40).map(|at| (Some(at), Stretch { nanos: nanos(at), tasks: 1, missing: 0 }));
        let functions = (0..40).map(|_| function()).collect();
        let figures = Figures { functions, path: path.collect(), ..fine() };
        let meant = (0..10).chain((21..40).step_by(2));
        assert!(shown(&figures).eq(meant));
    }

    #[test]
    fn each_figure_has_its_advice() {
        let fine = fine();
        let alone = |figures: Figures, beginning: &str| {
            let all = advice_on(&figures);
            assert!(all.len() == 1 && all[0].starts_with(beginning), "{all:?}");
        };
        assert!(advice_on(&fine)[0].starts_with("Nothing stands in the way of 4 workers"));
        alone(Figures { median: 100, ..self::fine() }, "Half of the tasks take less");
        alone(Figures { span: 50_000_000, ..self::fine() }, "The span bounds this run");
        alone(Figures { span: 10_000_000, ..self::fine() }, "There is little to spare");
        alone(Figures { idle: Some(0.5), ..self::fine() }, "The workers starved for 50 %");
        let mut locks = self::fine();
        locks.functions[0].waits = 50_000_000;
        alone(locks, "Tasks waited for mutexes for 50.00 ms in all");
        // A single worker neither starves nor waits.
        let mut serial = Figures { workers: 1, idle: Some(0.5), ..self::fine() };
        serial.functions[0].waits = 50_000_000;
        alone(serial, "Nothing stands");
    }
}
