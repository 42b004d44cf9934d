//! Tasks with a level: how they are added. An urgent task begins before all others that are queued,
//! a background task when a worker finds nothing else; the policies keep both in the queue for all
//! workers. They go there from any thread, so in kind `cont` too the caller continues.
//!
//! A task with the level `Normal` is queued as well: in kind `cont` it is not called at once, as
//! one of `sched_spawn` is.

use crate::queue::Full;
use crate::queue::background::Line;
use crate::queue::injector::{Limit, Refused};
use crate::runtime::outsider::retry_until_memory;
use crate::runtime::record::Worker;
use crate::runtime::{ageing, observed};
use crate::sys::memory::NoMemory;
use crate::sys::{detector, errno, unwind};
use crate::task::{Level, Task};
use std::ffi::c_int;

impl Worker {
    /// Adds a task of this level to this worker's run, from any thread. Returns what `sched_spawn`
    /// returns.
    ///
    /// # Safety
    /// `task.f` accepts its closure.
    pub unsafe fn spawn_at(&self, level: Level, task: Task) -> c_int {
        // SAFETY: `task.f` accepts its closure.
        match detector::ignored(|| unsafe { self.spawn_at_now(level, task) }) {
            Ok(()) => 0,
            Err(Refused::Full) => errno::failed(libc::EAGAIN),
            Err(Refused::Closed) => errno::failed(libc::EINVAL),
        }
    }

    /// # Safety
    /// The contract of `spawn_at`.
    unsafe fn spawn_at_now(&self, level: Level, task: Task) -> Result<(), Refused> {
        let Some(mine) = self.mine() else {
            // SAFETY: `with_open_run` keeps the run open; nobody else has a refused task.
            let added = self.with_open_run(|run, _| unsafe {
                let task = observed::wrap_outside(run, task);
                self.add(level, task, Limit::Applies)
                    .inspect_err(|_| _ = observed::unwrap(task, None))
            });
            let added = added.unwrap_or(Err(Refused::Closed));
            return added.map(|line| ageing::added(self, line));
        };
        let is_observed = mine.row().plain.is_some();
        let function = mine.worker().function_of(task);
        let task =
            if is_observed { observed::wrap::<unwind::Task>(mine, task, function) } else { task };
        let added = match level {
            Level::Normal => {
                mine.operations().spawn(task).map_err(|Full| Refused::Full).map(|()| Line::GoesOn)
            }
            // SAFETY: the run does not end while the caller occupies a place of it.
            _ => unsafe { mine.add(level, task, Limit::Applies) },
        };
        // SAFETY: a task that was refused has not left this thread.
        let added = added.inspect_err(|_| _ = unsafe { observed::unwrap(task, Some(mine)) });
        added.map(|line| ageing::added(self, line))
    }

    /// Queues a task of this level in a run that is held, from any thread. If there is no memory,
    /// this waits.
    ///
    /// # Safety
    /// `task.f` accepts its closure.
    pub unsafe fn queue_held(&self, level: Level, task: Task) {
        let mut line = Line::GoesOn;
        retry_until_memory(|| {
            let queued = self.with_open_run(|run, _| {
                let task = observed::wrap_outside(run, task);
                // SAFETY: a task that was refused has not left this thread.
                unsafe {
                    self.add(level, task, Limit::Waived)
                        .inspect_err(|_| _ = observed::unwrap(task, None))
                }
            });
            match queued {
                Some(Err(Refused::Full)) => return Err(NoMemory),
                Some(Ok(added)) => line = added,
                None | Some(Err(Refused::Closed)) => {} // the run is a parent process's
            }
            Ok(())
        });
        ageing::added(self, line);
    }

    /// Adds a task to the queue for all workers.
    ///
    /// # Safety
    /// The run of this worker does not end during the call.
    unsafe fn add(&self, level: Level, task: Task, limit: Limit) -> Result<Line, Refused> {
        // SAFETY: the run does not end during the call.
        unsafe { self.operations_for_any() }.inject_at(task, level, limit)
    }
}
