//! The process's deadlines (`deadline`): the threads that look at the clock, and their duties.
//!
//! The keeper is the thread of `threads::watcher`. It has this duty from the first deadline in a
//! run until the end of that run; so programs without deadlines have no thread for them. If the
//! thread cannot be made, idle workers serve the due entries, and busy workers do so when they
//! become idle. Idle workers then also look from time to time (`WITHOUT_KEEPER`) whether waits are
//! to be cut off.
//!
//! Threads outside of all runs that wait with a deadline need no entry: they sleep until then at
//! the latest.

use crate::deadline::{Deadlines, Entry, FOREVER, Served};
use crate::runtime::record::Worker;
use crate::sync::cancel::Cancellation;
use crate::sync::cuts::Cuts;
use crate::sys::atomic::{AtomicPtr, AtomicUsize, Ordering};
use crate::sys::memory::NoMemory;
use crate::sys::time;
use crate::task::{Level, Task};
use crate::threads::watcher;
use std::cell::Cell;
use std::time::Duration;
use std::{mem, ptr};

#[unsafe(link_section = "sched_words")]
pub static DEADLINES: Deadlines = Deadlines::new();

/// The function of the tasks of timers (`api::timer`), once one was due. Relaxed: the queue of the
/// tasks orders it.
#[unsafe(link_section = "sched_words")]
static OF_TIMERS: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());

#[unsafe(link_section = "sched_words")]
pub static CUTS: Cuts = Cuts::new();

/// The number that the next thread gets. Relaxed: the numbers need only differ.
#[unsafe(link_section = "sched_words")]
static NEXT_NUMBER: AtomicUsize = AtomicUsize::new(1);

thread_local! {
    /// The thread's number; 0 if the thread has added no entry yet.
    static NUMBER: Cell<usize> = const { Cell::new(0) };
}

fn number_of_thread() -> usize {
    NUMBER.with(|number| {
        if number.get() == 0 {
            number.set(NEXT_NUMBER.fetch_add(1, Ordering::Relaxed));
        }
        number.get()
    })
}

/// A worker takes out this many batches of due entries before it runs the tasks. (With one, 1,000
/// timers that were due at once took 800 µs instead of 150, for searches and wake-ups between the
/// batches.)
const BATCHES: usize = 32;

/// The time between two looks of an idle worker if tasks wait and there is no keeper.
const WITHOUT_KEEPER: Duration = Duration::from_millis(20);

/// Cuts off the waits that a cancellation has reached. (It is a function of a higher floor, always
/// the same one.)
pub type Cut = fn(&Deadlines);

#[unsafe(link_section = "sched_words")]
static CUT: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());

/// CLOCK_MONOTONIC in nanoseconds.
pub fn now() -> i64 {
    i64::try_from(time::nanos()).unwrap_or(FOREVER)
}

/// Must be called before the first `add` in the run of `worker`.
pub fn prepare(worker: &Worker, cut: Cut) -> Result<(), NoMemory> {
    DEADLINES.prepare()?;
    // Relaxed: all callers store the same function. Without the comparison all threads would write
    // to one cache line at each start of a timer.
    if CUT.load(Ordering::Relaxed).is_null() {
        CUT.store(cut as *mut (), Ordering::Release);
    }
    worker.keep_deadlines();
    Ok(())
}

/// Adds an entry.
///
/// # Safety
/// The contract of `Deadlines::add`; `prepare` has succeeded.
pub unsafe fn add(entry: *const Entry, deadline: i64) {
    // SAFETY: `prepare` has succeeded; the entry is in no wheel, and lives until it is taken out.
    if unsafe { DEADLINES.add(entry, deadline, number_of_thread()) } {
        watcher::call();
    }
}

/// Queues the task of a timer that is due, in the run of the worker, which is held.
///
/// # Safety
/// `task.f` accepts its closure, and is the function of all timers.
pub unsafe fn queue_of_timer(worker: &Worker, level: Level, task: Task) {
    let function = task.f as *mut ();
    if OF_TIMERS.load(Ordering::Relaxed) != function {
        OF_TIMERS.store(function, Ordering::Relaxed);
    }
    // SAFETY: `task.f` accepts its closure.
    unsafe { worker.queue_held(level, task) };
}

pub(super) fn is_of_timer(task: Task) -> bool {
    ptr::eq(task.f as *const (), OF_TIMERS.load(Ordering::Relaxed))
}

/// Cancels the group, and has the keeper cut off the waits that this reaches. Async-signal-safe.
pub fn cancel(group: &Cancellation) {
    if CUTS.cancel(group, &DEADLINES) {
        watcher::call();
    }
}

/// Called in the cases that `Cuts::waits` names.
pub fn waits_in_group(is_reached: impl FnOnce() -> bool) {
    if CUTS.waits(&DEADLINES, is_reached) {
        watcher::call();
    }
}

/// True if a task may be queued or resumed without any thread of the program: for the proof of a
/// deadlock.
pub fn may_act() -> bool {
    CUTS.may_act() || DEADLINES.may_act()
}

/// Forgets all deadlines in the child of a fork.
///
/// # Safety
/// No other thread of this process uses this file.
pub unsafe fn forget() {
    // SAFETY: no other thread uses the deadlines.
    unsafe { DEADLINES.forget() };
    CUTS.forget();
}

/// The keeper's duty for the deadlines. Returns how long it may sleep, and whether tasks may have
/// been queued since the last call.
pub fn look() -> (Duration, Served) {
    cut_requested(); // a later request has called the keeper, which is this thread
    while DEADLINES.serve(time::nanos()) {
        time::give_way();
    }
    let now = time::nanos();
    let next = Duration::from_nanos(DEADLINES.arm(now).saturating_sub(now));
    (next, DEADLINES.served())
}

/// See `Cuts::serve`.
fn cut_requested() -> bool {
    CUTS.serve(|| {
        let cut = CUT.load(Ordering::Acquire); // pairs with `prepare`
        if !cut.is_null() {
            // SAFETY: it is null, or the function that `prepare` has stored.
            unsafe { mem::transmute::<*mut (), Cut>(cut)(&DEADLINES) };
        }
    })
}

/// Returns how long an idle worker may sleep, at most `limit`, and whether it looks afterwards,
/// because something is due then, or because nobody else looks.
pub fn cover(limit: Duration) -> (Duration, bool) {
    let looks = watcher::threads() == 0 && DEADLINES.has_entries();
    let limit = if looks { limit.min(WITHOUT_KEEPER) } else { limit };
    match DEADLINES.cover(time::nanos) {
        None => (limit, looks),
        Some(next) => {
            let left = Duration::from_nanos(next.saturating_sub(time::nanos()));
            (limit.min(left), true)
        }
    }
}

/// Called by a worker for which `cover` gave true, after its sleep.
#[cold]
pub fn uncover() {
    DEADLINES.uncover();
}

/// Does what is due, after `uncover`. The caller holds no lock.
#[cold]
pub fn serve() {
    if cut_requested() {
        watcher::call();
    }
    for _ in 0..BATCHES {
        if !DEADLINES.serve(time::nanos()) {
            return;
        }
    }
}
