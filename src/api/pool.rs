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
use crate::runtime::spawn_copy;
use crate::settings::Config;
use crate::sys::errno::Errno;
use crate::sys::memory::NoMemory;
use crate::sys::thread::Uncancelled;
use crate::sys::{detector, errno, futex, memory, process};
use crate::table;
use crate::task::{Level, Scheduler, Task, TaskFn};
use std::ffi::{c_int, c_void};
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
        let room = memory::boxed(MaybeUninit::uninit());
        let room = room.map_err(|NoMemory| Errno(libc::ENOMEM))?;
        let run = table::open(asked, nthreads, qlen, function_of)?;
        let worker = run.run().worker(0);
        Ok(memory::fill(room, Pool { run, worker, id: worker.run_id() }))
    }

    /// The `s` of the pool. None means that this is a child made by fork.
    pub fn scheduler(&self) -> Option<*mut Scheduler> {
        self.is_alive().then(|| self.worker.handle())
    }

    /// Adds a task, from any thread. Returns what `sched_spawn` returns.
    ///
    /// # Safety
    /// `f` accepts `closure`.
    pub unsafe fn submit(&self, f: TaskFn, closure: *mut c_void) -> c_int {
        if !self.is_alive() {
            return errno::failed(libc::EINVAL);
        }
        // SAFETY: `f` accepts `closure`, by the caller's promise.
        unsafe { self.worker.spawn(Some(f), closure) }
    }

    /// Like `submit`, for a task with a level: see `Worker::spawn_at`.
    ///
    /// # Safety
    /// The contract of `submit`.
    pub unsafe fn submit_at(&self, level: Level, f: TaskFn, closure: *mut c_void) -> c_int {
        if !self.is_alive() {
            return errno::failed(libc::EINVAL);
        }
        // SAFETY: `f` accepts `closure`, by the caller's promise.
        unsafe { self.worker.spawn_at(level, Task { f, closure }) }
    }

    /// Like `submit`, with a copy of the `bytes` bytes at `arg`, at most `arg_blocks::MAX_ARG`.
    ///
    /// # Safety
    /// `arg` may be read, and `f` accepts a pointer to a copy.
    pub unsafe fn submit_copy(&self, f: TaskFn, arg: *const c_void, bytes: usize) -> c_int {
        if !self.is_alive() {
            return errno::failed(libc::EINVAL);
        }
        // SAFETY: `arg` may be read, and `f` accepts a pointer to a copy, by the caller's promise.
        unsafe { spawn_copy::spawn(f, arg, bytes, self.worker) }
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
            // SAFETY: `f` accepts `closure`, by the caller's promise.
            &mut || match unsafe { self.submit(f, closure) } {
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
        self.check_alive()?;
        let _uncancelled = Uncancelled::begin();
        detector::ignored(|| self.run.wait_for_rest(begin, limit))
    }

    /// Waits until no task is left, and ends the run. Afterwards the pool may be dropped.
    pub fn close(&self) -> Result<(), Errno> {
        self.check_alive()?;
        let _uncancelled = Uncancelled::begin();
        detector::ignored(|| self.run.close())
    }

    /// False in a child made by fork.
    fn is_alive(&self) -> bool {
        process::is_known() && self.worker.run_id() == self.id
    }

    /// Fails in a child made by fork.
    fn check_alive(&self) -> Result<(), Errno> {
        if self.is_alive() { Ok(()) } else { Err(Errno(libc::EINVAL)) }
    }
}
