//! The walk over runs, workers and waiting tasks. It collects words, and prints nothing.

use crate::fiber::stack;
use crate::policy::Place;
use crate::queue::run_waits::Until;
use crate::runtime::record::{Fiber, Run, Worker};
use crate::runtime::registry;
use crate::runtime::run_wait;
use crate::runtime::seen::SeenFiber;
use crate::runtime::wait_note::Noted;
use crate::runtime::{deadlines, descriptors};
use crate::settings::Config;
use crate::sys::memory::{self, NoMemory};
use std::fmt;
use std::time::Duration;

/// A run at some moment.
pub struct SeenRun {
    pub id: usize,
    /// The time at which the run began (`sys::clock`). A later run may have the same `id`, but not
    /// the same time.
    pub began: u64,
    pub kind: &'static str,
    pub deque: Option<&'static str>,
    pub watchdog: Option<Duration>,
    pub queued_for_all: usize,
    /// The places of workers and guests, by their indices.
    pub workers: Vec<SeenWorker>,
    pub ended: usize,
    /// How many tasks wait, with a stack of their own.
    pub waiting: usize,
    /// How many other tasks wait for a run, and keep their thread.
    pub waiting_for_runs: usize,
}

impl SeenRun {
    /// True if a task could run, or waits for something other than time and descriptors. (If a
    /// deadline is pending, or a descriptor is awaited, and all workers are idle, tasks wait for
    /// these.)
    pub fn has_work(&self) -> bool {
        let queued: usize = self.workers.iter().map(|worker| worker.queued).sum();
        let waits_for_the_world = || {
            let may_act = deadlines::may_act() || descriptors::may_act();
            may_act && self.workers.iter().all(|worker| worker.is_idle)
        };
        queued + self.queued_for_all > 0 || self.waiting > 0 && !waits_for_the_world()
    }

    pub fn own_workers(&self) -> usize {
        self.workers.iter().filter(|worker| !worker.is_guest).count()
    }

    /// The name of the place with this index.
    pub fn name_of(&self, index: usize) -> PlaceName {
        PlaceName { index, is_guest: self.workers[index].is_guest }
    }
}

/// Displays a place: `worker 0`, `guest 2`.
#[derive(Clone, Copy)]
pub struct PlaceName {
    index: usize,
    is_guest: bool,
}

impl fmt::Display for PlaceName {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{} {}", if self.is_guest { "guest" } else { "worker" }, self.index)
    }
}

pub struct SeenWorker {
    pub record: &'static Worker,
    /// True for the place of a guest: see `policy::guests`.
    pub is_guest: bool,
    pub has_thread: bool,
    pub is_idle: bool,
    pub queued: usize,
    pub progress: usize,
    pub fiber: usize,
    /// The lowest address of the fiber's stack; 0: it is a thread's own stack.
    pub low: usize,
}

/// A task that waits, or is in a blocking section.
pub struct SeenTask {
    pub fiber: usize,
    /// The lowest address of its stack; 0: it is the call of a guest, on the thread's own stack.
    pub low: usize,
    pub run: usize,
    pub worker: &'static Worker,
    /// The object that the task waits for. None if it waits for a run, or is in a blocking section.
    pub waits: Option<Noted>,
    /// The task waits for this whole run, and keeps its thread.
    pub waits_for_run: Option<RunAwaited>,
    pub group: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunAwaited {
    pub id: usize,
    /// The task waits for the end of the run, and not for a moment in which it has no task.
    pub is_end: bool,
}

impl SeenTask {
    /// The task on the fiber, if it waits, or is in a blocking section.
    fn on(fiber: &SeenFiber, run: usize, waits_for_run: Option<RunAwaited>) -> Option<SeenTask> {
        let is_still = fiber.waits.is_some() || waits_for_run.is_some() || fiber.is_in_section;
        is_still.then_some(SeenTask {
            fiber: fiber.address,
            low: fiber.low,
            run,
            worker: fiber.worker,
            waits: fiber.waits,
            waits_for_run,
            group: fiber.group,
        })
    }

    pub fn is_guest(&self) -> bool {
        self.low == 0
    }

    /// True if by now the task waits for something else, or no longer waits.
    pub fn waits_for_other(&self) -> bool {
        let mut same = false;
        stack::for_each(|stack| {
            same |= stack.low() == self.low && Fiber::wait_on(stack).read() == self.waits;
        });
        !same
    }
}

pub fn walk() -> Result<(Vec<SeenRun>, Vec<SeenTask>), NoMemory> {
    let (mut runs, mut tasks, mut run_waits) = (Vec::new(), Vec::new(), Vec::new());
    let mut outcome = Ok(());
    run_wait::WAITS.each(&mut |wait| {
        if wait.goes_on() {
            let awaited = RunAwaited { id: wait.run, is_end: matches!(wait.until, Until::End) };
            let entry = (wait.waiter.fiber, awaited);
            outcome = outcome.and_then(|()| memory::push(&mut run_waits, entry));
        }
    });
    registry::each_run(&mut |run| {
        let add = |()| memory::push(&mut runs, see_run(run)?);
        outcome = outcome.and_then(add);
    });
    let places = runs.iter().flat_map(|run: &SeenRun| &run.workers);
    let guests = places.filter(|place| place.is_guest && place.has_thread);
    let guests = memory::list(guests.map(|place| place.record))?;
    let mut see = |fiber: SeenFiber| {
        let id = fiber.worker.run_id();
        let Some(run) = runs.iter_mut().find(|run| run.id == id) else { return };
        run.ended += fiber.uncounted as usize;
        if fiber.worker.seen_fiber() == fiber.address {
            let on_it = run.workers.iter_mut().find(|seen| seen.fiber == fiber.address);
            if let Some(worker) = on_it {
                worker.low = fiber.low;
            }
        }
        let waits_for_run = run_waits.iter().find(|(waiter, _)| *waiter == fiber.address);
        let waits_for_run = waits_for_run.map(|(_, run)| *run);
        run.waiting += usize::from(fiber.waits.is_some());
        run.waiting_for_runs += usize::from(fiber.waits.is_none() && waits_for_run.is_some());
        if let Some(task) = SeenTask::on(&fiber, id, waits_for_run) {
            outcome = outcome.and_then(|()| memory::push(&mut tasks, task));
        }
    };
    guests.into_iter().filter_map(SeenFiber::of_guest).for_each(&mut see);
    stack::for_each(|stack| _ = SeenFiber::on(stack).map(&mut see));
    tasks.reverse(); // the list begins with the youngest stack
    outcome.map(|()| (runs, tasks))
}

fn see_run(run: &Run) -> Result<SeenRun, NoMemory> {
    let first = run.worker(0);
    let see = |worker: &'static Worker| SeenWorker {
        record: worker,
        is_guest: worker.index() >= run.workers(),
        has_thread: worker.has_thread(),
        is_idle: worker.is_idle(),
        queued: worker.queued().unwrap_or(0),
        progress: worker.progress(),
        fiber: worker.seen_fiber(),
        low: 0,
    };
    let &Config { kind, watchdog, .. } = run.config();
    Ok(SeenRun {
        id: first.run_id(),
        began: run.began(),
        kind: kind.word(),
        deque: run.deque().map(|deque| deque.word()),
        watchdog,
        // SAFETY: the run does not end while `each_run` looks at it.
        queued_for_all: unsafe { first.operations_for_any() }.queued_for_all(),
        workers: memory::list(run.all_places().map(see))?,
        ended: run.totals().values.tasks,
        waiting: 0,
        waiting_for_runs: 0,
    })
}
