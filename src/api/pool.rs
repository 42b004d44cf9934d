//! Pools: runs that are held open, and the program's handles to them. `queue::run_gate` describes
//! how an open run rests and ends.
//!
//! Each use of a pool goes through the record of its worker 0, as a call with an `s` from a foreign
//! thread does. So a task that a worker of the pool adds goes to that worker's own queue, and any
//! other task to the injector.
//!
//! In a child made by fork the parent's pool has no threads. The records of its workers have been
//! closed there (`runtime::registry`), and may belong to another run by now. So each use compares
//! the run of worker 0 with the run of the pool. The comparison cannot be mistaken: a run's number
//! is the address of its policy, and the policy of a pool is freed only when the pool is destroyed,
//! which fails in the child.

use crate::api::group::Group;
use crate::api::names::function_of;
use crate::api::timed;
use crate::queue::run_gate::no_limit;
use crate::runtime::deadlines;
use crate::runtime::record::Worker;
use crate::runtime::run::Open;
use crate::settings::Config;
use crate::sys::errno::Errno;
use crate::sys::thread::Uncancelled;
use crate::sys::{detector, errno, futex, memory, process};
use crate::table;
use crate::task::TaskFn;
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::time::Duration;

/// How often a task that waits for a pool looks whether its group is cancelled.
const CANCEL_LOOK: Duration = Duration::from_millis(1);

/// The C type `struct sched_pool`.
pub struct Pool {
    run: Box<dyn Open>,
    /// Worker 0, and the number of the run.
    worker: &'static Worker,
    id: usize,
}

impl Pool {
    /// Makes a pool and its threads. `nthreads` and `qlen` mean the same as for `sched_init`.
    pub fn create(asked: &Config, nthreads: i32, qlen: i32) -> Result<Box<Pool>, Errno> {
        let _uncancelled = Uncancelled::begin();
        // The memory is allocated first: an open run must be closed before it can be dropped.
        let room = memory::boxed(MaybeUninit::uninit())?;
        let run = table::open(asked, nthreads, qlen, function_of)?;
        let worker = run.run().worker(0);
        Ok(memory::fill(room, Pool { run, worker, id: worker.run_id() }))
    }

    /// Worker 0, for a call with its `s`. Fails with EINVAL in a child made by fork.
    pub fn worker(&self) -> Result<&'static Worker, Errno> {
        let is_alive = process::is_known() && self.worker.run_id() == self.id;
        if is_alive { Ok(self.worker) } else { Err(Errno(libc::EINVAL)) }
    }

    /// Waits until the run has had, since the call, a moment without tasks.
    pub fn wait(&self) -> Result<(), Errno> {
        self.wait_after(&mut || Ok(()), &no_limit)
    }

    /// Like `wait`, but no longer than until the deadline. Returns what `sched_pool_wait_until`
    /// returns. The caller's thread sleeps. If the caller is a task of a group, it looks from time
    /// to time whether the group is cancelled.
    pub fn wait_until(&self, deadline: i64) -> Result<(), Errno> {
        let is_cancelled = || timed::group_of_caller().is_some_and(Group::is_cancelled);
        let longest = if timed::group_of_caller().is_some() { CANCEL_LOOK } else { futex::LONGEST };
        let limit = || {
            let left = deadline.saturating_sub(deadlines::now());
            (left > 0 && !is_cancelled()).then(|| Duration::from_nanos(left as u64).min(longest))
        };
        let outcome = self.wait_after(&mut || Ok(()), &limit);
        let timed_out = outcome == Err(Errno(libc::ETIMEDOUT));
        if timed_out && is_cancelled() { Err(Errno(libc::ECANCELED)) } else { outcome }
    }

    /// Adds a task, and waits until no task is left.
    ///
    /// # Safety
    /// `f` accepts `closure`.
    pub unsafe fn run(&self, f: TaskFn, closure: *mut c_void) -> Result<(), Errno> {
        self.wait_after(
            // SAFETY: `f` accepts `closure`.
            &mut || match unsafe { self.worker.spawn(Some(f), closure) } {
                0 => Ok(()),
                _ => Err(Errno(errno::get())),
            },
            &no_limit,
        )
    }

    /// Calls `begin`, and then waits as `Open::wait_for_rest` does.
    fn wait_after(
        &self,
        begin: &mut dyn FnMut() -> Result<(), Errno>,
        limit: &dyn Fn() -> Option<Duration>,
    ) -> Result<(), Errno> {
        self.worker()?;
        let _uncancelled = Uncancelled::begin();
        detector::ignored(|| self.run.wait_for_rest(begin, limit))
    }

    /// Waits until no task is left, and ends the run. Afterwards the pool may be dropped.
    pub fn close(&self) -> Result<(), Errno> {
        self.worker()?;
        let _uncancelled = Uncancelled::begin();
        detector::ignored(|| self.run.close())
    }
}
