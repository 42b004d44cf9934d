//! The default pool of the process, and the meaning of NULL in place of an `s`: in a task, NULL
//! means the run of this task; elsewhere, the default pool, which is made when it is first used.
//!
//! # The life of the pool
//!
//! The pool is a run that is held open, as in `api::pool`, with the settings of the environment.
//! The program has no handle to it. Its workers idle as `SCHED_IDLE` says. The pool has the
//! processors of the process (`sys::process_mask`), not the processors of the thread that uses it
//! first, which may be pinned. Their number is read once: no later change adds workers to the run.
//!
//! *In a child made by fork* there is no pool at first; the next use makes one
//! (`runtime::default_worker`). The memory of the parent's pool is never freed there: the child has
//! no threads that could end that run.
//!
//! *At exit* the run is released: it ends when no task is left. `exit` waits for that, but not
//! longer than `MAX_EXIT_WAIT`. If the run has ended by then, the statistics are written, and its
//! threads are kept (`threads::cache`). If a task still runs or waits, the run stays as it is and
//! ends with the process, like a pool that the program does not destroy. No thread is joined:
//! SCHED_WARM=0, which makes a run join its threads at its end, does not apply to this pool. A task
//! of the pool that calls `exit` does not release the run, whose end would wait for this task.
//!
//! *When a plugin that contains the library is unloaded*, the unloading waits until the run and its
//! threads have ended: their code is about to be unmapped.
//!
//! Rejected: to wait at exit for all tasks. A task may wait for what the exiting thread holds.

use crate::api::names::function_of;
use crate::runtime::record::{Fiber, Worker};
use crate::runtime::run::Open;
use crate::runtime::{default_worker, identity, registry};
use crate::sys::atomic::{AtomicBool, AtomicPtr, Ordering};
use crate::sys::errno::Errno;
use crate::sys::thread::Uncancelled;
use crate::sys::{detector, memory, process, valgrind};
use crate::table;
use crate::threads::cache;
use std::mem::MaybeUninit;
use std::ptr;
use std::time::Duration;

/// The longest time that `exit` waits for the end of the run. Workers that have just run out of
/// tasks need some microseconds to end.
const MAX_EXIT_WAIT: Duration = Duration::from_millis(100);

struct DefaultPool {
    run: Box<dyn Open>,
    #[allow(dead_code, reason = "leak checkers find the pools that are never freed through it")]
    older: *const DefaultPool,
}

/// The newest pool. It belongs to this process, or to a parent if this process has made none.
/// Written under `default_worker`'s lock.
#[unsafe(link_section = "sched_words")]
static NEWEST: AtomicPtr<DefaultPool> = AtomicPtr::new(ptr::null_mut());

/// A worker of the run that NULL means. Fails if that run is the default pool's and cannot be made.
#[cold]
#[inline(never)] // the callers' usual path has an `s`
pub fn worker<'a>() -> Result<&'a Worker, Errno> {
    identity::task_worker().map_or_else(of_pool, Ok)
}

/// A worker of the default pool, which is made if there is none.
#[cold]
#[inline(never)]
fn of_pool<'a>() -> Result<&'a Worker, Errno> {
    // A thread must not be cancelled while it holds the lock.
    let _uncancelled = Uncancelled::begin();
    detector::ignored(|| {
        registry::watch_process(); // a fork handler of the program may run before the library's
        default_worker::get_or_make(make)
    })
}

/// Like `worker`, but makes no pool. May return a former pool's worker. None if there never was a
/// pool.
#[cold]
#[inline(never)] // as `worker`
pub fn known<'a>() -> Option<&'a Worker> {
    detector::ignored(|| identity::task_worker().or_else(known_pool))
}

/// A worker of the default pool, or of the former pool. None if there never was a pool.
#[cold]
#[inline(never)]
fn known_pool<'a>() -> Option<&'a Worker> {
    registry::watch_process();
    default_worker::get().or_else(default_worker::former)
}

/// Makes the pool. The caller holds the lock of `default_worker`.
fn make() -> Result<&'static Worker, Errno> {
    // The memory is allocated first: an open run must be closed before it can be dropped.
    let room = memory::boxed(MaybeUninit::uninit())?;
    let run = table::open_standing(function_of)?;
    let worker = run.run().worker(0);
    let older = NEWEST.load(Ordering::Relaxed);
    let pool = Box::into_raw(memory::fill(room, DefaultPool { run, older }));
    NEWEST.store(pool, Ordering::Release); // pairs with the load in `at_exit`
    #[unsafe(link_section = "sched_words")]
    static REGISTERED: AtomicBool = AtomicBool::new(false);
    if !REGISTERED.swap(true, Ordering::Relaxed) {
        // SAFETY: the function has the right type and stays mapped: a plugin's handlers are called
        // before the plugin is unmapped.
        unsafe { libc::atexit(at_exit) };
    }
    Ok(worker)
}

/// Runs before the handler of `threads::cache`, which was registered when the run was opened.
extern "C" fn at_exit() {
    if !process::is_known() {
        return; // a child made by fork has no pool
    }
    let Some(worker) = default_worker::get() else { return };
    let is_in_run = |fiber: &Fiber| fiber.worker().run_id() == worker.run_id();
    if worker.mine().is_some() || identity::any_section(is_in_run) {
        return; // a task of the pool has called exit
    }
    let _uncancelled = Uncancelled::begin();
    let newest = || NEWEST.load(Ordering::Acquire);
    let Some(pool) = default_worker::forget(newest) else { return };
    // SAFETY: a pool is never freed. `forget` calls `newest` before any thread can make another
    // pool, so this is the pool that was forgotten. Only one caller gets it.
    let pool = unsafe { &mut *pool };
    detector::ignored(|| end(pool));
}

/// Ends the run of the pool: always if the library is being unloaded, otherwise only if that takes
/// less than `MAX_EXIT_WAIT`.
fn end(pool: &mut DefaultPool) {
    let ended = if cache::is_unloaded() {
        pool.run.close().expect("no task of the pool waits for the thread that unloads its code");
        true
    } else {
        // Under valgrind, or with a race detector, no thread is kept, and the run joins its
        // threads: the tool would report them as leaks otherwise.
        let is_watched = valgrind::is_running() || detector::is_present();
        let may_drop = pool.run.run().keeps_threads() || is_watched;
        pool.run.close_within(MAX_EXIT_WAIT) && may_drop
    };
    if ended {
        // SAFETY: the run has ended, and `default_worker` has forgotten it: nobody else uses it.
        unsafe { ptr::drop_in_place(&raw mut pool.run) };
    }
}
