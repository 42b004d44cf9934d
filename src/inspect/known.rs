//! The known facts of each worker and each waiting task: the name of its function, its descriptor,
//! and the tasks that could end its wait.

use crate::inspect::objects::{Awaited, awaited};
use crate::inspect::records::Records;
use crate::inspect::trace::Trace;
use crate::inspect::walk::{PlaceName, SeenRun, SeenTask, walk};
use crate::runtime::wait_note::Object;
use crate::sys::memory::{self, NoMemory};
use crate::sys::symbol;
use crate::sys::system_call::{self, Sleeper, SystemCall};
use std::fmt::{self, Write};
use std::ops::Range;

/// The most tasks that are shown; the others are only counted.
const MOST_TASKS: usize = 256;
const MOST_LETTERS: usize = 79;

/// The runs of the process, and what is known of their tasks.
pub struct Known {
    pub runs: Vec<KnownRun>,
    pub tasks: Vec<KnownTask>,
    /// The number of tasks that wait, of which not all are among `tasks`.
    pub all: usize,
}

pub struct KnownRun {
    pub seen: SeenRun,
    pub workers: Vec<KnownWorker>,
}

pub struct KnownWorker {
    pub records: Option<Records>,
    /// The system call in which its thread sleeps.
    pub sleeps_in: Option<SystemCall>,
}

/// A task that waits, or is in a blocking section.
pub struct KnownTask {
    pub seen: SeenTask,
    pub awaited: Option<Awaited>,
    pub trace: Option<Trace>,
    pub records: Option<Records>,
    /// The name of the outermost function.
    pub function: Name,
    /// The system call in which a thread sleeps in the task.
    pub sleeps_in: Option<SystemCall>,
}

/// The beginning of a function's name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Name {
    letters: [u8; MOST_LETTERS],
    count: usize,
}

impl Name {
    pub const NONE: Name = Name { letters: [0; MOST_LETTERS], count: 0 };

    /// The function's name, or the module and the offset there.
    fn of(place: &symbol::Place) -> Name {
        let mut name = Name::NONE;
        let _ = match place.name {
            Some(function) => name.write_str(function),
            None => write!(name, "{}+{:#x}", place.module, place.offset),
        };
        name
    }

    /// The name of the function that begins at this address.
    pub fn at(function: usize) -> Name {
        let mut name = Name::NONE;
        symbol::locate(function, &mut |place| name = Name::of(place));
        name
    }

    pub fn is_none(&self) -> bool {
        self.count == 0
    }

    pub fn text(&self) -> &str {
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

/// Walks the runs, and looks at each worker and each waiting task.
pub fn find_out() -> Result<Known, NoMemory> {
    let (seen_runs, seen_tasks) = walk()?;
    let all = seen_tasks.len();
    let mut sleepers = Vec::new();
    let mut outcome = Ok(());
    system_call::each_sleeper(&mut |sleeper| {
        outcome = outcome.and_then(|()| memory::push(&mut sleepers, sleeper));
    });
    outcome?;
    let mut runs = Vec::new();
    for seen in seen_runs {
        let workers = seen.workers.iter().map(|worker| {
            if !worker.has_thread || worker.is_idle {
                return KnownWorker { records: None, sleeps_in: None };
            }
            let records = Records::of_worker(worker.record);
            KnownWorker { records, sleeps_in: sleeps_on(&sleepers, worker.low..worker.fiber) }
        });
        let workers = memory::list(workers)?;
        memory::push(&mut runs, KnownRun { seen, workers })?;
    }
    Ok(Known { runs, tasks: look_at(seen_tasks, &sleepers)?, all })
}

/// The system call in which a thread sleeps on this stack.
fn sleeps_on(sleepers: &[Sleeper], stack: Range<usize>) -> Option<SystemCall> {
    let found = sleepers.iter().find(|sleeper| stack.start > 0 && stack.contains(&sleeper.sp));
    found.map(|sleeper| sleeper.call)
}

fn look_at(seen: Vec<SeenTask>, sleepers: &[Sleeper]) -> Result<Vec<KnownTask>, NoMemory> {
    let mut seen = seen;
    seen.truncate(MOST_TASKS);
    let forked = |task: &SeenTask| match task.waits?.waits_for.object() {
        (Object::Forked, at) => Some(at),
        _ => None,
    };
    let mut descriptors = memory::list(seen.iter().filter_map(forked))?;
    descriptors.sort_unstable();
    let look_at = |seen| KnownTask::look_at(seen, &descriptors, sleepers);
    let mut known = memory::list(seen.into_iter().map(look_at))?;
    // A descriptor has one task. If two tasks seem to have it, an old word on a stack has misled.
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

impl KnownRun {
    /// The worker or guest that runs the task of this descriptor, and the task's function.
    pub fn worker_with(&self, descriptor: usize) -> Option<(PlaceName, usize)> {
        let function = |worker: &KnownWorker| worker.records.as_ref()?.function_of(descriptor);
        let mut workers = self.workers.iter().enumerate();
        workers.find_map(|(index, worker)| Some((self.seen.name_of(index), function(worker)?)))
    }
}

impl KnownTask {
    /// `descriptors` are sorted.
    fn look_at(seen: SeenTask, descriptors: &[usize], sleepers: &[Sleeper]) -> KnownTask {
        let sleeps_in = sleeps_on(sleepers, seen.low..seen.fiber);
        let records = if seen.worker.is_observed() { Records::on(seen.fiber) } else { None };
        let trace = Trace::of(&seen, descriptors);
        let mut function = Name::NONE;
        if let Some(trace) = &trace {
            // The outermost function is the task's own.
            trace.each_frame(&mut |place| function = Name::of(place));
        }
        if function.is_none() {
            let outermost = records.and_then(|records| records.outermost());
            function = outermost.map_or(function, Name::at);
        }
        KnownTask { awaited: awaited(&seen), seen, trace, records, function, sleeps_in }
    }

    /// True if the descriptor is that of this task.
    pub fn runs(&self, descriptor: usize) -> bool {
        self.records.is_some_and(|records| records.function_of(descriptor).is_some())
            || self.trace.as_ref().is_some_and(|trace| trace.descriptor == Some(descriptor))
    }

    /// True if the wait of the task cannot end before `other` continues.
    pub fn needs(&self, other: &KnownTask) -> bool {
        match self.awaited {
            Some(Awaited::Mutex { holder, .. }) => holder == other.seen.fiber,
            Some(Awaited::Forked { at, .. }) => other.runs(at),
            Some(Awaited::Group { at, .. }) => other.seen.group == at,
            Some(Awaited::Run(run)) => other.seen.run == run.id,
            _ => false,
        }
    }
}
