//! The text on stderr: its reason, each run with its workers, each waiting task with its awaited
//! object and its place, and the circles of tasks that wait for each other.

use crate::deadline::FOREVER;
use crate::fiber::trace::MOST;
use crate::inspect::doubt::Doubt;
use crate::inspect::known::{Known, KnownRun, KnownTask, KnownWorker, Name, find_out};
use crate::inspect::nodes;
use crate::inspect::objects::Awaited;
use crate::inspect::records::Records;
use crate::inspect::walk::RunAwaited;
use crate::runtime::deadlines;
use crate::sync::forked::SeenForked;
use crate::sys::memory::{self, NoMemory};
use crate::sys::output::Out;
use crate::sys::{descriptor, signal, symbol};
use std::fmt::{self, Write};
use std::time::Duration;

/// The reason why the state is shown.
pub enum Title {
    /// `tasks` tasks wait forever, and nothing else runs. `ends` is true if the process ends.
    Deadlock { tasks: usize, doubt: Option<Doubt>, ends: bool },
    /// No task has ended for this long.
    NoEnd(Duration),
    /// SIGQUIT.
    Asked,
}

/// Returns for how long, at least, a worker (a run's id, an index) has been in its present state.
pub type Since<'a> = &'a dyn Fn(usize, usize) -> Option<Duration>;

pub fn write(title: &Title, since: Since) {
    let mut out = Out::stderr();
    let _ = write_title(&mut out, title).and_then(|()| match find_out() {
        Ok(known) => write_all(&mut out, &known, since, title),
        Err(NoMemory) => writeln!(out, "  (there is no memory to say more)"),
    });
}

fn write_title(out: &mut Out, title: &Title) -> fmt::Result {
    match *title {
        Title::Deadlock { tasks, doubt, ends } => write_deadlock(out, tasks, doubt, ends),
        Title::NoEnd(time) => writeln!(out, "libsched: no task has ended for {time:.1?}"),
        Title::Asked => writeln!(out, "libsched: SIGQUIT"),
    }
}

fn write_deadlock(out: &mut Out, tasks: usize, doubt: Option<Doubt>, ends: bool) -> fmt::Result {
    let wait = Count(tasks, "task waits", "tasks wait");
    match doubt {
        None if tasks == 1 => out.write_str(
            "libsched: deadlock: a task waits for ever, and nothing is left that could wake it",
        ),
        None => write!(
            out,
            "libsched: deadlock: {tasks} tasks wait for ever, and nothing is left that could wake them"
        ),
        Some(Doubt::SharedMemory) => write!(
            out,
            "libsched: perhaps a deadlock: {wait}, and nothing in this process is left that could end \
             the wait; what is awaited may lie in memory that another process shares, although the \
             objects of this library are for one process"
        ),
        Some(Doubt::SharedProcess) => write!(
            out,
            "libsched: perhaps a deadlock: {wait}, and nothing in this process is left that could end \
             the wait; another process runs in its memory"
        ),
        Some(Doubt::Handler(signal)) => {
            write!(out, "libsched: deadlock: {wait}, and nothing is left that could help but ")?;
            write!(out, "the handler of {}", signal::Name(signal))
        }
        Some(Doubt::Threads(threads)) => {
            let threads = Count(threads, "thread waits", "threads wait");
            write!(
                out,
                "libsched: deadlock: {wait}, {threads} outside all runs, and nothing is left "
            )?;
            out.write_str("that could help but a signal that ends the process")
        }
    }?;
    out.write_str(if ends { "\n" } else { "; the process continues\n" })
}

fn write_all(out: &mut Out, known: &Known, since: Since, title: &Title) -> fmt::Result {
    let Known { runs, tasks, all } = known;
    for (at, run) in runs.iter().enumerate() {
        let number = (runs.len() > 1).then_some(at + 1);
        write_run(out, run, number, tasks, since)?;
    }
    for (at, task) in tasks.iter().enumerate() {
        write_task(out, at, task, tasks, runs)?;
    }
    if *all > tasks.len() {
        writeln!(out, "  and {} more tasks", all - tasks.len())?;
    }
    let waiting = if let Title::Deadlock { tasks, .. } = *title { tasks } else { 0 };
    nodes::write(out, *all, waiting)?;
    write_circles(out, tasks)
}

/// `number` is the run's number, if there are several runs.
fn write_run(
    out: &mut Out,
    known: &KnownRun,
    number: Option<usize>,
    tasks: &[KnownTask],
    since: Since,
) -> fmt::Result {
    let run = &known.seen;
    match number {
        Some(number) => write!(out, "  run {number}: {}", run.kind)?,
        None => write!(out, "  run: {}", run.kind)?,
    }
    if let Some(deque) = run.deque {
        write!(out, " ({deque})")?;
    }
    let waiting = Count(run.waiting + run.waiting_for_runs, "task waits", "tasks wait");
    let queued = Count(run.queued_for_all, "is queued for all", "are queued for all");
    let workers = Count(run.own_workers(), "worker", "workers");
    writeln!(out, ", {workers}; {waiting}, {queued}")?;
    for (index, worker) in run.workers.iter().enumerate() {
        if worker.is_guest && !worker.has_thread && worker.queued == 0 {
            continue; // nobody is there
        }
        write!(out, "    {}: ", run.name_of(index))?;
        let waiting = tasks.iter().position(|task| {
            let is_here = task.seen.run == run.id && task.seen.fiber == worker.fiber;
            is_here && task.seen.waits.is_some() && task.trace.is_none()
        });
        // A task that waits with its thread: for a run, or as the call of a guest.
        let keeps_thread = tasks.iter().position(|task| {
            task.seen.fiber == worker.fiber
                && (task.seen.waits_for_run.is_some()
                    || task.seen.is_guest() && task.seen.waits.is_some())
        });
        match (worker.has_thread, worker.is_idle, keeps_thread) {
            (true, _, Some(at)) => {
                write!(out, "runs {}, which waits", Numbered(at, &tasks[at]))?;
            }
            (true, false, None) => {
                let is_observed = worker.record.is_observed();
                let waiting = waiting.map(|at| Numbered(at, &tasks[at]));
                let KnownWorker { records, sleeps_in } = &known.workers[index];
                write_running(out, records.as_ref(), is_observed, waiting)?;
                if let Some(call) = sleeps_in {
                    write!(out, ", which sleeps in {call}")?;
                }
            }
            (true, true, None) => out.write_str("idle")?,
            (false, ..) if worker.is_guest => out.write_str("has gone")?,
            (false, ..) => out.write_str("has no thread")?,
        }
        let time = if worker.has_thread { since(run.id, index) } else { None };
        if let Some(time) = time.filter(|time| !time.is_zero()) {
            write!(out, ", for at least {time:.1?}")?;
        }
        writeln!(out, "; {} queued", worker.queued)?;
    }
    Ok(())
}

/// Writes what a worker runs. `waiting` is a waiting task on the worker's fiber, on top of which
/// the worker runs others.
fn write_running(
    out: &mut Out,
    records: Option<&Records>,
    is_observed: bool,
    waiting: Option<Numbered>,
) -> fmt::Result {
    match (records, waiting) {
        (None, Some(waiting)) => write!(out, "runs tasks on top of {waiting}"),
        (None, None) if is_observed => out.write_str("runs a task or looks for one"),
        (None, None) => out.write_str("runs a task"),
        (Some(records), Some(waiting)) if !records.are_several() => {
            write!(out, "looks for tasks to run on top of {waiting}")
        }
        (Some(records), waiting) => {
            write!(out, "runs a task ({})", Name::at(records.innermost()).text())?;
            match (waiting, records.outermost()) {
                (Some(waiting), _) => write!(out, " on top of {waiting}"),
                (None, Some(outermost)) if records.are_several() => {
                    write!(out, " on top of another ({})", Name::at(outermost).text())
                }
                _ => Ok(()),
            }
        }
    }
}

/// Displays a number, followed by a text for one or for several.
struct Count(usize, &'static str, &'static str);

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{} {}", self.0, if self.0 == 1 { self.1 } else { self.2 })
    }
}

/// Displays a task: its number and its function.
struct Numbered<'a>(usize, &'a KnownTask);

impl fmt::Display for Numbered<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "task {}", self.0 + 1)?;
        if !self.1.function.is_none() {
            write!(f, " ({})", self.1.function.text())?;
        }
        Ok(())
    }
}

fn write_task(
    out: &mut Out,
    at: usize,
    task: &KnownTask,
    tasks: &[KnownTask],
    runs: &[KnownRun],
) -> fmt::Result {
    write!(out, "  {}", Numbered(at, task))?;
    if task.seen.is_guest() {
        out.write_str(", the call of a guest,")?;
    }
    match task.awaited {
        None => {
            out.write_str(" is in a blocking section")?;
            // The section is that of the innermost task.
            if let Some(records) = task.records.filter(Records::are_several) {
                write!(out, " of {}", Name::at(records.innermost()).text())?;
            }
            if let Some(call) = task.sleeps_in {
                write!(out, ", and sleeps in {call}")?;
            }
        }
        Some(Awaited::Mutex { at, holder, after_signal }) => {
            write!(out, " waits for the mutex {at:#x}{}", symbol::Variable(at))?;
            if after_signal {
                out.write_str(", after the signal of a condition")?;
            }
            write!(out, "; ")?;
            write_holder(out, holder, tasks, runs)?;
        }
        Some(Awaited::Cond { at, mutex }) => write!(
            out,
            " waits for the condition {at:#x}{}, with the mutex {mutex:#x}{}",
            symbol::Variable(at),
            symbol::Variable(mutex)
        )?,
        Some(Awaited::Sem { at }) => {
            write!(out, " waits for the semaphore {at:#x}{}", symbol::Variable(at))?;
        }
        Some(Awaited::Barrier { at, arrived, size }) => write!(
            out,
            " waits at the barrier {at:#x}{}; {arrived} of {size} have come",
            symbol::Variable(at)
        )?,
        Some(Awaited::Forked { at, state }) => {
            let child = tasks.iter().position(|task| task.runs(at));
            let on = runs.iter().find_map(|run| run.worker_with(at));
            match (child, on, state) {
                (Some(child), ..) => write!(out, " joins {}", Numbered(child, &tasks[child]))?,
                (None, Some((place, f)), _) => {
                    let name = Name::at(f);
                    write!(out, " joins a task ({}), which {place} runs", name.text())?;
                }
                (None, None, SeenForked::Function { f, .. }) => {
                    write!(out, " joins a task{}", symbol::Function(f))?;
                }
                (None, None, SeenForked::Begun(_)) => {
                    out.write_str(" joins a task that has begun")?;
                }
                (None, None, SeenForked::Over) => out.write_str(" joins a task that has ended")?,
            }
        }
        Some(Awaited::Group { at, tasks: left }) => write!(
            out,
            " waits for the group {at:#x}{}; {}",
            symbol::Variable(at),
            Count(left, "task is left", "tasks are left")
        )?,
        Some(Awaited::Channel { at }) => write!(out, " waits for the channel {at:#x}")?,
        Some(Awaited::Event { at }) => {
            write!(out, " waits for the event {at:#x}{}", symbol::Variable(at))?;
        }
        Some(Awaited::Sleep { deadline: FOREVER }) => out.write_str(" sleeps without end")?,
        Some(Awaited::Sleep { deadline }) => {
            let left = deadline.saturating_sub(deadlines::now()).max(0);
            write!(out, " sleeps for another {:.1} s", left as f64 / 1e9)?;
        }
        Some(Awaited::Descriptor { fd, events }) => {
            write!(out, " waits for the descriptor {fd}, {}", descriptor::Events(events))?;
            write!(out, "{}", descriptor::Kind(fd))?;
        }
        Some(Awaited::Run(awaited)) => write_awaited_run(out, awaited, tasks, runs)?,
        Some(Awaited::Unknown) => out.write_str(" waits")?,
    }
    writeln!(out)?;
    if let Some(trace) = &task.trace {
        let mut shown = 0;
        trace.each_frame(&mut |place| {
            let _ = match place.name {
                Some(name) => writeln!(out, "      {name}+{:#x} ({})", place.offset, place.module),
                None => writeln!(out, "      {}+{:#x}", place.module, place.offset),
            };
            shown += 1;
        });
        if shown == MOST {
            writeln!(out, "      ...")?;
        }
    }
    Ok(())
}

fn write_awaited_run(
    out: &mut Out,
    awaited: RunAwaited,
    tasks: &[KnownTask],
    runs: &[KnownRun],
) -> fmt::Result {
    match runs.iter().position(|run| run.seen.id == awaited.id) {
        None => out.write_str(" waits for a run that has ended")?,
        Some(at) if awaited.is_end => write!(out, " waits for the end of run {}", at + 1)?,
        Some(at) => write!(out, " waits until run {} has no task", at + 1)?,
    }
    match tasks.iter().position(|task| task.seen.run == awaited.id) {
        Some(at) => write!(out, "; {} is left", Numbered(at, &tasks[at])),
        None => Ok(()),
    }
}

fn write_holder(
    out: &mut Out,
    holder: usize,
    tasks: &[KnownTask],
    runs: &[KnownRun],
) -> fmt::Result {
    if let Some(at) = tasks.iter().position(|task| task.seen.fiber == holder) {
        return write!(out, "{} holds it", Numbered(at, &tasks[at]));
    }
    let runs_at = |KnownRun { seen, .. }: &KnownRun| {
        let index = seen.workers.iter().position(|worker| worker.fiber == holder)?;
        Some(seen.name_of(index))
    };
    match runs.iter().find_map(runs_at) {
        _ if holder == 0 => out.write_str("its holder is not known"),
        Some(place) => write!(out, "the task on {place} holds it"),
        None => out.write_str("its holder is no task that waits"),
    }
}

/// Names each circle of tasks in which each task needs the next one. Names none if there is no
/// memory.
fn write_circles(out: &mut Out, tasks: &[KnownTask]) -> fmt::Result {
    // True at a task's index: the search is done with that task. If not, the task is on the path
    // once, or not at all.
    let Ok(mut done) = memory::list(tasks.iter().map(|_| false)) else { return Ok(()) };
    let mut path: Vec<(usize, usize)> = Vec::new();
    if path.try_reserve_exact(tasks.len()).is_err() {
        return Ok(());
    }
    for first in 0..tasks.len() {
        path.push((first, 0)); // within the capacity, as below
        while let Some((at, next)) = path.last_mut() {
            let (at, other) = (*at, *next);
            *next += 1;
            if done[at] || other == tasks.len() {
                done[at] = true;
                path.pop();
            } else if tasks[at].needs(&tasks[other]) {
                match path.iter().position(|&(on_path, _)| on_path == other) {
                    Some(start) => write_circle(out, &path[start..], tasks)?,
                    None if !done[other] => path.push((other, 0)),
                    None => {}
                }
            }
        }
    }
    Ok(())
}

fn write_circle(out: &mut Out, circle: &[(usize, usize)], tasks: &[KnownTask]) -> fmt::Result {
    out.write_str("  a circle: ")?;
    for (step, &(at, _)) in circle.iter().enumerate() {
        let other = circle[(step + 1) % circle.len()].0;
        let (task, other) = (Numbered(at, &tasks[at]), Numbered(other, &tasks[other]));
        if step > 0 {
            out.write_str(", ")?;
        }
        match tasks[at].awaited {
            Some(Awaited::Mutex { .. }) => {
                write!(out, "{task} waits for the mutex that {other} holds")?
            }
            Some(Awaited::Group { .. }) => write!(out, "{task} waits for the group of {other}")?,
            Some(Awaited::Run(_)) => write!(out, "{task} waits for the run of {other}")?,
            _ => write!(out, "{task} joins {other}")?,
        }
    }
    writeln!(out)
}
