//! The text of a timeline: Google's Trace Event format ("Trace Event Format", 2016).
//!
//! | in the run | in the text |
//! | --- | --- |
//! | the run | a process (`pid`: the number of the run in this process) |
//! | a worker, a guest | a thread (`tid`) |
//! | a slice of a task | events `B` and `E`; merged tasks are one event `X` |
//! | a task waits | an asynchronous slice, `b` and `e`, with the task's number; `cat`: for what |
//! | a task is in a blocking section | `b` and `e` of another `cat`, up to its end |
//! | a task that was left in the middle | on demand: a slice of `cat` `life`, with its waits |
//! | spawn -> begin, wake -> resume | an arrow, `s` and `f` |
//! | block -> unblock on another worker | an arrow |
//! | end of a predecessor -> begin of a node | an arrow ([`edges`](super::edges)) |
//! | steal, raid, wake, block, unblock | an instant, `i` |
//! | a task resumes on another worker | an instant `migrate` there ([`steps`](super::steps)) |
//! | a worker sleeps | a slice `X` |
//! | busy workers, lengths of queues | counters, `C` |
//!
//! The text is made in one pass over each track. It allocates only the table of names, the tables
//! of the tasks that were left in the middle and of the edges' ends, and the list of open slices.
//!
//! An `E` repeats the name of its `B`, and has the arguments of the slice: speedscope ends a frame
//! only by its name, and takes the arguments of a `B` for a part of the name. So if a `B` had the
//! arguments, no two tasks of a function would have the same name. To Perfetto and chrome://tracing
//! the place of the arguments makes no difference. Open slices end when the text is written.

mod slices;

use self::slices::Slices;
use crate::settings::Switch;
use crate::sys::clock::{self, Calibration};
use crate::sys::names::{Nameless, Names};
use crate::sys::output;
use crate::trace::edges::Edges;
use crate::trace::event::{Event, Kind, OUTSIDE};
use crate::trace::output::Stream;
use crate::trace::steps::Steps;
use crate::trace::track::Track;
use std::fmt::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

pub struct Run<'a> {
    pub number: u64,
    pub kind: &'static str,
    /// The tracks of the workers, and after them those of the guests.
    pub tracks: &'a [Track],
    pub workers: usize,
    pub unseen: usize,
    pub lives: Switch,
    pub calibration: Calibration,
    /// The time 0 of the file, in nanoseconds of `clock::nanos`.
    pub origin: u64,
}

/// Writes the events of the run. `flows` counts the arrows of the file.
pub fn write(run: &Run, flows: &mut u64, out: &mut Stream) -> fmt::Result {
    let workers = run.workers;
    let lost = run.tracks.iter().map(|track| track.ring().first()).sum::<usize>();
    let (steps, edges) = (&Steps::of(run.tracks), &Edges::of(run.tracks));
    let mut text = Text { run, steps, edges, names: Names::default(), flows, out };
    text.out.begin_event()?;
    write!(
        text.out,
        "{{\"ph\":\"M\",\"pid\":{},\"name\":\"process_name\",\"args\":{{\"name\":\"libsched run {}: \
         {}, {workers} workers\",\"lost_events\":{lost},\"unseen_tasks\":{}}}}}",
        run.number, run.number, run.kind, run.unseen
    )?;
    for (worker, track) in run.tracks.iter().enumerate() {
        if worker >= workers && track.ring().events().next().is_none() {
            continue; // no guest was here
        }
        let (title, number) =
            if worker < workers { ("worker", worker) } else { ("guest", worker - workers) };
        text.out.begin_event()?;
        write!(
            text.out,
            "{{\"ph\":\"M\",\"pid\":{},\"tid\":{worker},\"name\":\"thread_name\",\"args\":{{\"name\":\
             \"{title} {number}\"}}}}",
            run.number
        )?;
        let (mut open, mut now) = (Slices::default(), clock::ticks());
        for event in track.ring().events() {
            now = now.max(event.time);
            text.event(worker, event, &mut open)?;
        }
        text.end_all(worker, now, &mut open)?;
    }
    if lost > 0 {
        output::say(format_args!(
            "SCHED_TRACE: {lost} events were dropped, the oldest; SCHED_TRACE_SIZE gives more room, \
             SCHED_TRACE_MERGE needs less"
        ));
    }
    text.names.nameless().into_iter().for_each(say_nameless);
    Ok(())
}

/// Says, once in a process, why functions have no names.
fn say_nameless(why: Nameless) {
    #[unsafe(link_section = "sched_words")]
    static SAID: AtomicBool = AtomicBool::new(false);
    if SAID.swap(true, Ordering::Relaxed) {
        return;
    }
    let (why, remedy) = match why {
        Nameless::Stripped => ("was stripped", "; link it without -s"),
        Nameless::OutOfReach => ("cannot be opened now, as after chroot(2)", ""),
    };
    output::say(format_args!(
        "SCHED_TRACE: some functions have no names, since their file {why}{remedy}. (-rdynamic keeps \
         the names of those that are not static; of the others addr2line -f -e FILE OFFSET finds \
         them in an unstripped copy.)"
    ));
}

struct Text<'a> {
    run: &'a Run<'a>,
    steps: &'a Steps,
    edges: &'a Edges,
    names: Names,
    /// How many arrows the file has.
    flows: &'a mut u64,
    out: &'a mut Stream,
}

/// Displays nanoseconds as microseconds.
struct Micros(u64);

impl fmt::Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1000, self.0 % 1000)
    }
}

impl Text<'_> {
    /// The time at this tick, since the origin of the file.
    fn time(&self, ticks: u64) -> Micros {
        Micros(self.run.calibration.nanos(ticks).saturating_sub(self.run.origin))
    }

    /// Begins an event of a worker; its members and a brace must follow.
    fn begin(&mut self, phase: char, worker: usize, ticks: u64) -> fmt::Result {
        let (run, time) = (self.run.number, self.time(ticks));
        self.out.begin_event()?;
        write!(self.out, "{{\"ph\":\"{phase}\",\"pid\":{run},\"tid\":{worker},\"ts\":{time}")
    }

    fn event(&mut self, worker: usize, event: Event, open: &mut Slices) -> fmt::Result {
        let Event { time, kind, worker: other, length, task, function, .. } = event;
        match kind {
            Kind::Begin | Kind::Again | Kind::Resume | Kind::Unblock => {
                match kind {
                    Kind::Resume => self.wait('e', worker, time, &event)?,
                    Kind::Unblock => {
                        self.wait('e', worker, time.saturating_sub(length), &event)?;
                    }
                    _ => {}
                }
                if kind == Kind::Begin {
                    self.life('b', worker, time, &event, None)?;
                }
                self.begin('B', worker, time)?;
                self.name(function)?;
                self.out.write_str("}")?;
                open.push(event);
                if kind != Kind::Begin {
                    self.migrate(worker, &event)?;
                }
                if kind == Kind::Unblock {
                    self.unblock(worker, &event)?;
                }
                if matches!(kind, Kind::Begin | Kind::Resume) && other != OUTSIDE {
                    let name = if kind == Kind::Begin { "spawn" } else { "wake" };
                    let from = time.saturating_sub(length);
                    self.arrow(name, (usize::from(other), from), (worker, time))?;
                }
            }
            Kind::End => {
                let ended = open.innermost();
                self.end(worker, time, open)?;
                if let Some(task) = ended {
                    self.life('e', worker, time, &task, None)?;
                }
            }
            Kind::Suspend | Kind::Leave => {
                self.end_all(worker, time, open)?;
                if kind == Kind::Suspend {
                    self.wait('b', worker, time, &event)?;
                }
            }
            Kind::Merged => {
                self.begin('X', worker, time)?;
                let length = Micros(self.length(time, task));
                write!(self.out, ",\"dur\":{length}")?;
                self.times(event.length, function)?;
                write!(self.out, ",\"args\":{{\"tasks\":{}}}}}", event.length)?;
            }
            Kind::Slept => {
                let begun = time.saturating_sub(length);
                self.begin('X', worker, begun)?;
                let length = Micros(self.length(begun, length));
                write!(self.out, ",\"dur\":{length},\"name\":\"parked\",\"cat\":\"idle\"}}")?;
            }
            Kind::Steal | Kind::Raid => {
                let name = if kind == Kind::Steal { "steal" } else { "raid" };
                self.begin('i', worker, time)?;
                write!(
                    self.out,
                    ",\"s\":\"t\",\"name\":\"{name}\",\"args\":{{\"victim\":{other}}}}}"
                )?;
            }
            Kind::Wake => {
                self.begin('i', worker, time)?;
                write!(
                    self.out,
                    ",\"s\":\"t\",\"name\":\"wake\",\"args\":{{\"woken\":{length}}}}}"
                )?;
            }
            Kind::Block => {
                self.task_instant("block", worker, &event)?;
                self.wait('b', worker, time, &event)?;
            }
            Kind::Edge => {
                let leads_from_here = length == 0;
                let end = self.edges.end_of(&event).filter(|_| leads_from_here);
                if let Some(&Event { time: begins, worker: to, .. }) = end {
                    self.arrow("edge", (worker, time), (usize::from(to), begins))?;
                }
            }
            Kind::Busy => {
                self.begin('C', 0, time)?;
                write!(self.out, ",\"name\":\"busy workers\",\"args\":{{\"busy\":{length}}}}}")?;
            }
            Kind::Queue => {
                self.begin('C', worker, time)?;
                write!(
                    self.out,
                    ",\"name\":\"tasks queued, worker {worker}\",\"args\":{{\"tasks\":{length}}}}}"
                )?;
            }
        }
        Ok(())
    }

    /// If the task that resumes here was last on another worker, names that worker.
    fn migrate(&mut self, worker: usize, event: &Event) -> fmt::Result {
        let Event { time, task, .. } = *event;
        let before = self.steps.before(task, time).map(|before| usize::from(before.worker));
        let Some(from) = before.filter(|from| *from != worker) else { return Ok(()) };
        self.begin('i', worker, time)?;
        write!(
            self.out,
            ",\"s\":\"t\",\"name\":\"migrate\",\"args\":{{\"task\":{task},\"from\":{from}}}}}"
        )
    }

    /// The task resumes after a blocking section.
    fn unblock(&mut self, worker: usize, event: &Event) -> fmt::Result {
        self.task_instant("unblock", worker, event)?;
        let before = self
            .steps
            .before(event.task, event.time)
            .filter(|before| before.kind == Kind::Block && usize::from(before.worker) != worker);
        let Some(&Event { worker: from, time: begun, .. }) = before else { return Ok(()) };
        self.arrow("unblock", (usize::from(from), begun), (worker, event.time))
    }

    fn task_instant(&mut self, name: &str, worker: usize, event: &Event) -> fmt::Result {
        self.begin('i', worker, event.time)?;
        let task = event.task;
        write!(self.out, ",\"s\":\"t\",\"name\":\"{name}\",\"args\":{{\"task\":{task}}}}}")
    }

    fn length(&self, begin: u64, ticks: u64) -> u64 {
        let nanos = |ticks| self.run.calibration.nanos(ticks);
        nanos(begin.saturating_add(ticks)).saturating_sub(nanos(begin))
    }

    /// Ends the innermost slice. False if none is open. (Its beginning may have been dropped.)
    fn end(&mut self, worker: usize, time: u64, open: &mut Slices) -> Result<bool, fmt::Error> {
        let Some(slice) = open.pop() else { return Ok(false) };
        self.begin('E', worker, time)?;
        if let Some(Event { kind, worker: by, task, function, .. }) = slice {
            self.name(function)?;
            write!(self.out, ",\"args\":{{\"task\":{task}")?;
            if kind == Kind::Begin && by != OUTSIDE {
                write!(self.out, ",\"spawned_by\":{by}")?;
            }
            write!(self.out, ",\"begins\":{}}}", kind == Kind::Begin)?;
        }
        self.out.write_str("}")?;
        Ok(true)
    }

    fn end_all(&mut self, worker: usize, time: u64, open: &mut Slices) -> fmt::Result {
        while self.end(worker, time, open)? {}
        Ok(())
    }

    /// Begins or ends, at this tick, the time in which a task waits or is in a blocking section.
    fn wait(&mut self, phase: char, worker: usize, ticks: u64, event: &Event) -> fmt::Result {
        let category = match event.kind {
            Kind::Block | Kind::Unblock => "blocked",
            _ => event.wait.word(),
        };
        self.begin(phase, worker, ticks)?;
        let (run, task) = (self.run.number, event.task);
        write!(self.out, ",\"name\":\"{}: {category}\"", self.names.get(event.function))?;
        write!(self.out, ",\"cat\":\"{category}\",\"id\":\"{run}.{task:x}\"}}")?;
        self.life(phase, worker, ticks, event, Some(category))
    }

    /// If the task has a slice of its life, begins or ends it, or a wait inside it, at this tick.
    fn life(
        &mut self,
        phase: char,
        worker: usize,
        ticks: u64,
        event: &Event,
        wait: Option<&str>,
    ) -> fmt::Result {
        let Event { task, function, .. } = *event;
        if self.run.lives == Switch::Off || !self.steps.has(task) {
            return Ok(());
        }
        self.begin(phase, worker, ticks)?;
        let (run, between) = (self.run.number, wait.map_or("", |_| ": "));
        let (name, wait) = (self.names.get(function), wait.unwrap_or_default());
        write!(self.out, ",\"name\":\"{name}{between}{wait}\"")?;
        write!(self.out, ",\"cat\":\"life\",\"id\":\"{run}.{task:x}\"}}")
    }

    /// Writes an arrow between two workers and ticks.
    fn arrow(&mut self, name: &str, from: (usize, u64), to: (usize, u64)) -> fmt::Result {
        *self.flows += 1;
        for (end, (worker, ticks)) in [("\"s\"", from), ("\"f\",\"bp\":\"e\"", to)] {
            let (run, number, time) = (self.run.number, *self.flows, self.time(ticks));
            self.out.begin_event()?;
            write!(
                self.out,
                "{{\"ph\":{end},\"pid\":{run},\"tid\":{worker},\"ts\":{time},\"name\":\"{name}\",\
                 \"cat\":\"{name}\",\"id\":{number}}}"
            )?;
        }
        Ok(())
    }

    fn name(&mut self, function: usize) -> fmt::Result {
        write!(self.out, ",\"name\":\"{}\"", self.names.get(function))
    }

    /// Writes the member `name` of `n` merged tasks.
    fn times(&mut self, n: u64, function: usize) -> fmt::Result {
        match n {
            1 => self.name(function),
            _ => write!(self.out, ",\"name\":\"{n} × {}\"", self.names.get(function)),
        }
    }
}
