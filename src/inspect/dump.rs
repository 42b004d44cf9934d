//! The text on stderr: why it is written, each run with its workers, each waiting task with what it
//! waits for and where, and the circles of tasks that wait for each other.

use crate::fiber::trace::MOST;
use crate::inspect::objects::{Awaited, awaited};
use crate::inspect::trace::Trace;
use crate::inspect::walk::{SeenRun, SeenTask, walk};
use crate::runtime::wait_note::Object;
use crate::sync::forked::SeenForked;
use crate::sys::memory::{self, NoMemory};
use crate::sys::output::Out;
use crate::sys::symbol;
use std::fmt::{self, Write};
use std::time::Duration;

/// Why the state is shown.
pub enum Title {
    /// So many tasks wait for ever, and nothing else goes on.
    Deadlock(usize),
    /// No task has ended for so long.
    NoEnd(Duration),
    /// SIGQUIT.
    Asked,
}

/// Tells for how long worker `.1` of run `.0` has been doing what it does, at least.
pub type Since<'a> = &'a dyn Fn(usize, usize) -> Option<Duration>;

/// The most tasks that are shown; the others are only counted.
const MOST_TASKS: usize = 256;
/// The longest name of a function in the text.
const MOST_LETTERS: usize = 79;

/// A task with what was found out about it.
struct Known {
    seen: SeenTask,
    awaited: Option<Awaited>,
    trace: Option<Trace>,
    function: Name,
}

/// The beginning of a function's name.
#[derive(Clone, Copy)]
struct Name {
    letters: [u8; MOST_LETTERS],
    count: usize,
}

impl Name {
    const NONE: Name = Name { letters: [0; MOST_LETTERS], count: 0 };

    fn of(place: &symbol::Place) -> Name {
        let mut name = Name::NONE;
        let _ = match place.name {
            Some(function) => name.write_str(function),
            None => write!(name, "{}+{:#x}", place.module, place.offset),
        };
        name
    }

    fn text(&self) -> &str {
        std::str::from_utf8(&self.letters[..self.count]).unwrap_or("?")
    }
}

impl Write for Name {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for &byte in text.as_bytes().iter().take(MOST_LETTERS - self.count) {
            self.letters[self.count] = byte;
            self.count += 1;
        }
        Ok(())
    }
}

/// Writes everything.
pub fn write(title: &Title, since: Since) {
    let mut out = Out::stderr();
    let _ = write_title(&mut out, title).and_then(|()| match seen() {
        Ok(Seen { runs, tasks, all }) => write_all(&mut out, &runs, &tasks, all, since),
        Err(NoMemory) => writeln!(out, "  (there is no memory to say more)"),
    });
}

struct Seen {
    runs: Vec<SeenRun>,
    tasks: Vec<Known>,
    /// The number of tasks, of which not all are among `tasks`.
    all: usize,
}

fn seen() -> Result<Seen, NoMemory> {
    let (runs, tasks) = walk()?;
    let all = tasks.len();
    Ok(Seen { runs, tasks: look_at(tasks)?, all })
}

fn write_title(out: &mut Out, title: &Title) -> fmt::Result {
    match *title {
        Title::Deadlock(1) => writeln!(
            out,
            "libsched: deadlock: a task waits for ever, and nothing is left that could wake it"
        ),
        Title::Deadlock(n) => writeln!(
            out,
            "libsched: deadlock: {n} tasks wait for ever, and nothing is left that could wake them"
        ),
        Title::NoEnd(time) => writeln!(out, "libsched: no task has ended for {time:.1?}"),
        Title::Asked => writeln!(out, "libsched: SIGQUIT"),
    }
}

fn write_all(
    out: &mut Out,
    runs: &[SeenRun],
    tasks: &[Known],
    all: usize,
    since: Since,
) -> fmt::Result {
    for run in runs {
        write_run(out, run, tasks, since)?;
    }
    for (at, task) in tasks.iter().enumerate() {
        write_task(out, at, task, tasks, runs)?;
    }
    if all > tasks.len() {
        writeln!(out, "  and {} more tasks", all - tasks.len())?;
    }
    write_circles(out, tasks)
}

/// Finds out about each task what can be found out.
fn look_at(seen: Vec<SeenTask>) -> Result<Vec<Known>, NoMemory> {
    let mut seen = seen;
    seen.truncate(MOST_TASKS);
    let forked = |task: &SeenTask| match task.waits?.waits_for.object() {
        (Object::Forked, at) => Some(at),
        _ => None,
    };
    let mut descriptors = memory::list(seen.iter().filter_map(forked))?;
    descriptors.sort_unstable();
    let look = |seen: SeenTask| {
        let trace = Trace::of(&seen, &descriptors);
        let mut function = Name::NONE;
        if let Some(trace) = &trace {
            // The outermost is the task's own.
            trace.each_frame(&mut |place| function = Name::of(place));
        }
        Known { awaited: awaited(&seen), seen, trace, function }
    };
    let mut known = memory::list(seen.into_iter().map(look))?;
    // A descriptor has one task. If two look like it, an old word on a stack has misled.
    for at in 0..known.len() {
        let descriptor = known[at].trace.as_ref().and_then(|trace| trace.descriptor);
        let alike = known.iter().filter(|task| descriptor.is_some_and(|at| task.runs(at))).count();
        if alike > 1 {
            let traces = known.iter_mut().filter_map(|task| task.trace.as_mut());
            let misled = traces.filter(|trace| trace.descriptor == descriptor);
            misled.for_each(|trace| trace.descriptor = None);
        }
    }
    Ok(known)
}

fn write_run(out: &mut Out, run: &SeenRun, tasks: &[Known], since: Since) -> fmt::Result {
    write!(out, "  run: {}", run.kind)?;
    if let Some(deque) = run.deque {
        write!(out, " ({deque})")?;
    }
    let waiting = Count(run.waiting, "task waits", "tasks wait");
    let queued = Count(run.queued_for_all, "is queued for all", "are queued for all");
    let workers = Count(run.workers.len(), "worker", "workers");
    writeln!(out, ", {workers}; {waiting}, {queued}")?;
    for (index, worker) in run.workers.iter().enumerate() {
        write!(out, "    worker {index}: ")?;
        let helps = tasks.iter().position(|task| {
            task.seen.run == run.id && task.seen.fiber == worker.fiber && task.trace.is_none()
        });
        match (worker.has_thread, worker.is_idle, helps) {
            (true, false, Some(task)) => write!(out, "runs tasks on top of task {}", task + 1)?,
            (true, false, None) => out.write_str("runs a task")?,
            (true, true, _) => out.write_str("idle")?,
            (false, ..) => out.write_str("has no thread")?,
        }
        if worker.has_thread
            && let Some(time) = since(run.id, index)
        {
            write!(out, ", for at least {time:.1?}")?;
        }
        writeln!(out, "; {} queued", worker.queued)?;
    }
    Ok(())
}

/// A number with its noun or verb.
struct Count(usize, &'static str, &'static str);

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{} {}", self.0, if self.0 == 1 { self.1 } else { self.2 })
    }
}

/// Displays a task: its number and its function.
struct Numbered<'a>(usize, &'a Known);

impl fmt::Display for Numbered<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "task {}", self.0 + 1)?;
        if self.1.function.count > 0 {
            write!(f, " ({})", self.1.function.text())?;
        }
        Ok(())
    }
}

fn write_task(
    out: &mut Out,
    at: usize,
    task: &Known,
    tasks: &[Known],
    runs: &[SeenRun],
) -> fmt::Result {
    write!(out, "  {}", Numbered(at, task))?;
    match task.awaited {
        None => out.write_str(" is in a blocking section")?,
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
            match (child, state) {
                (Some(child), _) => write!(out, " joins {}", Numbered(child, &tasks[child]))?,
                (None, SeenForked::Function(f)) => {
                    write!(out, " joins a task{}", symbol::Function(f))?;
                }
                (None, SeenForked::Begun(_)) => out.write_str(" joins a task that has begun")?,
                (None, SeenForked::Over) => out.write_str(" joins a task that has ended")?,
            }
        }
        Some(Awaited::Group { at, tasks: left }) => write!(
            out,
            " waits for the group {at:#x}{}; {}",
            symbol::Variable(at),
            Count(left, "task is left", "tasks are left")
        )?,
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

fn write_holder(out: &mut Out, holder: usize, tasks: &[Known], runs: &[SeenRun]) -> fmt::Result {
    if let Some(at) = tasks.iter().position(|task| task.seen.fiber == holder) {
        return write!(out, "{} holds it", Numbered(at, &tasks[at]));
    }
    let runs_at = |run: &SeenRun| run.workers.iter().position(|worker| worker.fiber == holder);
    match runs.iter().find_map(runs_at) {
        _ if holder == 0 => out.write_str("its holder is not known"),
        Some(index) => write!(out, "the task on worker {index} holds it"),
        None => out.write_str("its holder is no task that waits"),
    }
}

impl Known {
    /// True if the task is that of the descriptor.
    fn runs(&self, descriptor: usize) -> bool {
        self.trace.as_ref().is_some_and(|trace| trace.descriptor == Some(descriptor))
    }

    /// True if the wait of the task cannot end before `other` goes on.
    fn needs(&self, other: &Known) -> bool {
        match self.awaited {
            Some(Awaited::Mutex { holder, .. }) => holder == other.seen.fiber,
            Some(Awaited::Forked { at, .. }) => other.runs(at),
            Some(Awaited::Group { at, .. }) => other.seen.group == at,
            _ => false,
        }
    }
}

/// Names each circle of tasks of which each needs the next one. Without memory for the search it
/// names none.
fn write_circles(out: &mut Out, tasks: &[Known]) -> fmt::Result {
    // Whether the search is done with a task. A task that is not done may be on the path, which has
    // each task once.
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

fn write_circle(out: &mut Out, circle: &[(usize, usize)], tasks: &[Known]) -> fmt::Result {
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
            _ => write!(out, "{task} joins {other}")?,
        }
    }
    writeln!(out)
}
