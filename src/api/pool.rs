//! Pools: a run that is held open, and what the program holds of it. How it rests and ends is told in
//! `queue::run_gate`.
//!
//! A pool is used through the record of its worker 0, as a foreign thread uses an `s`: so a task that
//! comes from a worker of the pool goes to that worker's own queue, any other to the injector.
//!
//! In a child made by fork the parent's pool has no threads. Its records have been closed there
//! (`kind::worker`), and may be another run's by now; so each use asks whether worker 0 is still of
//! this run. That cannot be mistaken: a run's number is the address of its kind, and a pool's kind is
//! freed when it is destroyed, which is refused in the child.

use crate::runtime::record::Worker;
use crate::runtime::run::Open;
use crate::runtime::{identity, spawn_copy};
use crate::settings::Config;
use crate::sys::errno::Errno;
use crate::sys::memory::NoMemory;
use crate::sys::thread::Uncancelled;
use crate::sys::{errno, memory, process};
use crate::table;
use crate::task::TaskFn;
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;

/// The C side's `struct sched_pool`.
pub struct Pool {
    run: Box<dyn Open>,
    /// Worker 0, and the number of the run.
    worker: &'static Worker,
    id: usize,
}

impl Pool {
    /// A pool with its threads; the numbers are as for `sched_init`.
    pub fn create(asked: &Config, nthreads: i32, qlen: i32) -> Result<Box<Pool>, Errno> {
        let _uncancelled = Uncancelled::begin();
        // First: a run that is open must be closed before it can be dropped.
        let room = memory::boxed(MaybeUninit::uninit());
        let room = room.map_err(|NoMemory| Errno(libc::ENOMEM))?;
        let run = table::open(asked, nthreads, qlen)?;
        let worker = run.run().worker(0);
        Ok(Box::write(room, Pool { run, worker, id: worker.run_id() }))
    }

    /// Adds a task, from any thread; returns as `sched_spawn` does.
    ///
    /// # Safety
    /// `f` accepts `closure`.
    pub unsafe fn submit(&self, f: TaskFn, closure: *mut c_void) -> c_int {
        if !self.is_alive() {
            return errno::failed(libc::EINVAL);
        }
        // SAFETY: by the caller's promise.
        unsafe { self.worker.spawn(Some(f), closure) }
    }

    /// As `submit`, with a copy of the `bytes` bytes at `arg`, at most `block::MOST`.
    ///
    /// # Safety
    /// `arg` may be read, and `f` accepts a pointer to a copy.
    pub unsafe fn submit_copy(&self, f: TaskFn, arg: *const c_void, bytes: usize) -> c_int {
        if !self.is_alive() {
            return errno::failed(libc::EINVAL);
        }
        // SAFETY: by the caller's promise.
        unsafe { spawn_copy::spawn(f, arg, bytes, self.worker) }
    }

    /// Waits until no task is left, at one moment since the call.
    pub fn wait(&self) -> Result<(), Errno> {
        self.may_wait()?;
        let _uncancelled = Uncancelled::begin();
        self.run.wait_for_rest();
        Ok(())
    }

    /// Adds a task, and waits until none is left; returns as `sched_init` does.
    ///
    /// # Safety
    /// `f` accepts `closure`.
    pub unsafe fn run(&self, f: TaskFn, closure: *mut c_void) -> c_int {
        if let Err(Errno(error)) = self.may_wait() {
            return errno::failed(error);
        }
        // SAFETY: passed on.
        if unsafe { self.submit(f, closure) } != 0 {
            return -1;
        }
        let _uncancelled = Uncancelled::begin();
        self.run.wait_for_rest();
        0
    }

    /// Waits until no task is left, and ends the run. Afterwards the pool may be dropped.
    pub fn close(&self) -> Result<(), Errno> {
        self.may_wait()?;
        let _uncancelled = Uncancelled::begin();
        self.run.close();
        Ok(())
    }

    /// Not so in a child of fork.
    fn is_alive(&self) -> bool {
        process::is_known() && self.worker.run_id() == self.id
    }

    /// A task of the pool would wait for itself.
    fn may_wait(&self) -> Result<(), Errno> {
        if !self.is_alive() {
            Err(Errno(libc::EINVAL))
        } else if self.worker.mine().is_some() || identity::any_section_in_run_of(self.worker) {
            Err(Errno(libc::EDEADLK))
        } else {
            Ok(())
        }
    }
}
