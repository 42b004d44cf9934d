//! The default pool of the process, and what NULL stands for in place of an `s`: the run of the caller's task; for a
//! caller that is none, the default pool, which is made at the first use.
//!
//! # Its life
//!
//! It is a run that is held open, as `ext::pool` has them, with what the environment asks for; nobody but the process
//! has it. Without tasks its workers sleep as `SCHED_IDLE` says.
//!
//! *In a child made by fork* there is none at first, and the next use makes one (`worker::standing`). The parent's
//! memory stays: the run has no threads there that could end it.
//!
//! *At exit* the run is let go: it ends when no task is left, which is waited for `AT_MOST`. If it has ended by then,
//! the statistics are written, and its threads go to the kept ones (`base::crew`). If not, because a task runs or waits,
//! it stays as it is, and ends with the process, as a pool does that a program does not destroy. No thread is joined
//! here: SCHED_WARM=0, by which a run's threads are joined at its end, does not hold for this pool. A task of the pool
//! that calls `exit` does not wait for the run's end, which would wait for the task.
//!
//! *When a plugin that contains the library is unloaded* the run's end is waited for, and that of its threads, whose
//! code is about to go.
//!
//! Rejected: to wait at exit until no task is left. A task may wait for what the exiting thread holds.

use super::run::Open;
use super::section;
use super::table;
use super::worker::{Worker, registry, standing};
use crate::base::mem::{self, NoMemory};
use crate::base::sync::{AtomicBool, AtomicPtr, Ordering};
use crate::base::thread::Uncancelled;
use crate::base::{Errno, crew, process};
use crate::fiber::valgrind;
use std::mem::MaybeUninit;
use std::ptr;
use std::time::Duration;

/// How long `exit` waits for the end of the run. Workers that have just run out of tasks need some microseconds.
const AT_MOST: Duration = Duration::from_millis(100);

struct Made {
    run: Box<dyn Open>,
    #[allow(dead_code, reason = "so that leak checkers find what is never freed")]
    older: *const Made,
}

/// Written by who has `standing`'s lock; the newest is this process's, if that has one.
static NEWEST: AtomicPtr<Made> = AtomicPtr::new(ptr::null_mut());

/// A worker of the caller's run, if the caller is a task: of the innermost run, where one lies on top of another.
#[cold]
#[inline(never)]
pub fn current<'a>() -> Option<&'a Worker> {
    section::task()
}

/// A worker of the run that NULL stands for. An error if the default pool cannot be made.
#[cold]
#[inline(never)]
pub fn worker<'a>() -> Result<&'a Worker, Errno> {
    if let Some(worker) = current() {
        return Ok(worker);
    }
    let _uncancelled = Uncancelled::begin(); // with the lock held, above all
    registry::watch_process(); // a fork handler of the program's may come before the library's
    standing::get_or_make(make)
}

/// As `worker`, but no pool is made: None if there is none, and there was none before.
#[cold]
#[inline(never)]
pub fn known<'a>() -> Option<&'a Worker> {
    current().or_else(|| {
        registry::watch_process();
        standing::get().or_else(standing::former)
    })
}

/// Under `standing`'s lock.
fn make() -> Result<&'static Worker, Errno> {
    // First: a run that is open must be closed before it can be dropped.
    let room = mem::boxed(MaybeUninit::uninit());
    let room = room.map_err(|NoMemory| Errno(libc::ENOMEM))?;
    let run = table::open_standing()?;
    let worker = run.team().worker(0);
    let older = NEWEST.load(Ordering::Relaxed);
    let made = Box::into_raw(Box::write(room, Made { run, older }));
    NEWEST.store(made, Ordering::Release); // pairs with the load in `at_exit`
    static REGISTERED: AtomicBool = AtomicBool::new(false);
    if !REGISTERED.swap(true, Ordering::Relaxed) {
        // SAFETY: a function of the right type, which stays mapped: a plugin's are called before it is unloaded.
        unsafe { libc::atexit(at_exit) };
    }
    Ok(worker)
}

/// Called before `crew`'s handler, which was registered when the run was opened.
extern "C" fn at_exit() {
    if !process::is_known() {
        return; // a child of fork has no pool
    }
    let Some(worker) = standing::get() else { return };
    if worker.mine().is_some() || section::lies_below(worker) {
        return; // a task of the pool has called exit
    }
    standing::forget();
    let _uncancelled = Uncancelled::begin();
    // SAFETY: this process's, and never freed.
    let made = unsafe { &mut *NEWEST.load(Ordering::Acquire) };
    let ended = if crew::is_unloaded() {
        made.run.close();
        true
    } else {
        // Under valgrind no thread is kept, and its leak check wants each to be joined.
        let may_drop = made.run.team().keeps_threads() || valgrind::is_here();
        made.run.close_within(AT_MOST) && may_drop
    };
    if ended {
        // SAFETY: nobody else finds it.
        unsafe { ptr::drop_in_place(&raw mut made.run) };
    }
}
