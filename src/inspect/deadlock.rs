//! Proves that no task of the process can ever continue. Then the process writes the reason, and
//! ends if nothing outside of its tasks could help (`SCHED_DEADLOCK`).
//!
//! # What is proved
//!
//! At one moment all of this holds:
//!
//! 1. In each run of the process each worker is idle, or *stuck*: its thread waits, in the middle
//!    of a task, for a whole run (`queue::run_waits`). Each guest (`policy::guests`) is stuck, or
//!    sleeps in the middle of its call, which counts as a task that waits. No task is queued where
//!    an idle worker could take it. At least one task waits.
//! 2. Each thread of the process sleeps in this library, without a time limit, for something that
//!    only another thread can bring about.
//! 3. The process handles no signal that something outside of it could send.
//! 4. No deadline is pending, and no thread serves one (`deadline`); no task waits for a descriptor
//!    (`runtime::descriptors`). This is checked first: once nothing of this is pending, only a
//!    thread of the program can begin it.
//!
//! Then no thread will ever execute the program's code again: a thread that sleeps is woken by
//! another thread only (2), and the handlers of signals are the only code without a thread of its
//! own (3). Nothing is due at any time (4). So each task that waits (1) waits forever.
//!
//! Nothing is proved if the process has a thread that rule 2 does not count: a thread of the
//! program, of another copy of this library, or of the system (for timers or asynchronous input),
//! because it could still post a semaphore; or a thread that rests between two runs, because it
//! ends at some time and then calls the destructors of the program's thread-local variables.
//!
//! If only the first two rules hold, or something other than a thread of the process might help
//! (`inspect::doubt`), the text is written, once in the process's life, and the process continues.
//!
//! # How
//!
//! An idle worker looks when it has been idle for a second while tasks wait (`Place::idles_long`),
//! and every second from then on. So the look costs nothing while anything happens; a state that
//! becomes complete only after the last worker has become idle is found a second late. A thread
//! that is stuck does not look. It need not: runs that wait for each other in a circle are refused
//! (`queue::run_waits`), so some awaited run has no stuck worker or guest; its workers are idle and
//! look.
//!
//! *Rule 1.* `Policy::when_open` calls back under the lock of a run. The calls are nested, one for
//! each run of the process; so all runs are locked at one moment. Two threads never look at the
//! same time, and other code never holds the locks of two runs. So no order of these locks can lead
//! to a deadlock. The lock of the list of waits is taken last, and nobody takes another lock under
//! it. A run that ends during the look makes the next rule fail. A run that begins during the look
//! changes `registry::runs_made`, which is read before the runs are looked up, and at the end.
//!
//! While all locks are held, a worker counts as stuck if its wait is in the list and has not ended.
//! Nothing ends the wait before the locks are released: the awaited run is one of the locked runs,
//! none of which has ended, so it can neither come to rest nor end. A stuck worker's thread puts no
//! task into its queue any more. So the queues of stuck workers are read next, and the numbers of
//! active workers last: `idle::quiescence` proves that a run whose workers are all idle or stuck,
//! and which has no task queued, stays so. A thief that has taken a task from a stuck worker's
//! queue was counted as active before it took the task; the fence makes that known to the observer,
//! who has seen the queue without the task. If all workers of a run are stuck, its queues may have
//! tasks: no worker will take them.
//!
//! A guest that begins to sleep with tasks in its queue stays active, even when others have taken
//! them. These guests are counted, and their queues read, together with the queues of stuck
//! workers. The bad interleaving: such a guest, which needs no lock for this, wakes up, adds a
//! task, and ends its call; an idle worker takes the task; then the number of active workers and
//! guests is as before. So the guests that sleep are counted once more after that number was read,
//! and must be as many as before. No guest comes while the run is locked; if a worker is active in
//! place of a guest that has gone, the second count is lower.
//!
//! *Rule 2.* The threads that certainly sleep are counted, and their number is compared with the
//! number of threads in /proc/self/task. The count is never too high:
//!
//! | threads | counted | why each of them sleeps on |
//! | --- | --- | --- |
//! | at idle workers | `Worker::owner`s that are not stuck | nothing is queued, the run is locked |
//! | at the places of guests | by the other lines | |
//! | waiting for a pool's rest | under the lock of the run | the rest takes them out of the count |
//! | waiting for a run's end | `Run::ends_awaited` | the run has not ended: tasks wait |
//! | waiting for an object | `waiter::OUTSIDE` | whoever wakes them takes them out of the count |
//! | resting, without a run | `cache::resting` | whoever gives them a job is a thread |
//! | the watcher | `watcher::threads` | it only looks |
//!
//! No thread is counted twice: a thread at an idle worker of a locked run does not leave the
//! worker, and `cache::resting` is read after the workers. A thread may occupy several workers,
//! each in a run that a task of the one before has started. All but the last are stuck, since the
//! waits for these runs are in the list. If the last one is also stuck, the thread waits for a rest
//! or for an end, and is counted in the row of that wait. The directory is read last. A thread that
//! is not counted is found in the directory: it exists until the end of its last call of this
//! library, which needs the lock of a run to queue a task, and any thread that it has created
//! appears behind it.
//!
//! A thread that waits for an object needs no run's lock to be woken. The bad interleaving: it is
//! counted; another thread wakes it, and ends; the directory is read, and lacks that other thread,
//! so the numbers agree. So the count of these threads (`sync::outside`) is read again after the
//! directory, and must be the same word, which changes whenever a thread is woken.
//!
//! The state of a deadlock is stable. As a further guard the look is repeated after `PAUSE`, and
//! the proof counts only if both looks find the same, including the two counts.
//!
//! If the thread of `main` has ended, /proc/self/task lists it all the same (`sys::thread`).
//!
//! *Rule 3.* The actions of all signals are read, except for those that faults raise. (SIGABRT is
//! read, because it may come from outside: `timeout -s ABRT`.)
//!
//! # What is not found
//!
//! Tasks that help (`SCHED_JOIN=help`, or without a stack) wait on workers that are neither idle
//! nor stuck. The same holds for a task of a nested run that waits for an object of the outer run.
//! In these cases, and where /proc cannot be read, the process hangs as before; `SCHED_WATCHDOG`
//! shows the state.

use crate::idle::quiescence::{LockedRun, Sleepers};
use crate::inspect::doubt::{Doubt, doubt};
use crate::inspect::dump::{self, Title};
use crate::policy::Place;
use crate::runtime::record::{Run, Worker};
use crate::runtime::{deadlines, descriptors, registry, run_wait, waiter};
use crate::settings::Deadlock;
use crate::sync::outside::Count;
use crate::sys::atomic::{AtomicU32, Ordering, fence};
use crate::sys::thread::{self, SignalsBlocked, Uncancelled};
use crate::sys::{clock, peek, process, time};
use crate::threads::{cache, watcher};
use std::cell::Cell;
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

/// With more runs than this, nothing is proved.
const MOST_RUNS: usize = 32;

/// The time between the two looks that end a process.
const PAUSE: Duration = Duration::from_millis(50);

/// The least time between two looks, whichever workers look.
const LEAST_GAP: Duration = Duration::from_millis(500);

/// The time of the last look, in nanoseconds. Relaxed: used by one thread at a time.
#[unsafe(link_section = "sched_words")]
static LAST: AtomicU64 = AtomicU64::new(0);

/// The generation of the process in which a thread looks; 0: none does. (Not a flag, since a child
/// of fork does not have that thread.)
#[unsafe(link_section = "sched_words")]
static LOOKING: AtomicU32 = AtomicU32::new(0);

/// The generation of the process in which the text was written although the process continues; 0:
/// none. Relaxed, like `TOLD_ALL`: used by one thread at a time.
#[unsafe(link_section = "sched_words")]
static TOLD: AtomicU32 = AtomicU32::new(0);

/// The generation of the process in which the text need not be written again, even when no signal
/// is handled any more: a signal's handler was not the only reason for the process to continue.
#[unsafe(link_section = "sched_words")]
static TOLD_ALL: AtomicU32 = AtomicU32::new(0);

/// Looks whether the proof holds, and acts if it does.
pub fn check() {
    let here = process::generation();
    // Acquire: pairs with the Release below; one thread at a time takes the locks.
    if here == 0 || LOOKING.swap(here, Ordering::Acquire) == here {
        return;
    }
    let _uncancelled = Uncancelled::begin();
    let now = clock::nanos();
    if now.saturating_sub(LAST.load(Ordering::Relaxed)) >= LEAST_GAP.as_nanos() as u64 {
        let is_told = TOLD_ALL.load(Ordering::Relaxed) == here
            || TOLD.load(Ordering::Relaxed) == here
                && thread::handled_signal(&watcher::handlers()).is_some();
        if let Some(first) = (!is_told).then(proof).flatten() {
            time::sleep(PAUSE);
            if proof() == Some(first) {
                tell_by_thread(&first);
            }
        }
        LAST.store(clock::nanos(), Ordering::Relaxed);
    }
    LOOKING.store(0, Ordering::Release);
}

/// A state in which no task can continue, unless a signal's handler helps.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Proof {
    tasks: usize,
    runs_made: usize,
    threads: Count,
    word: Deadlock,
}

/// The state, if the first two rules hold.
fn proof() -> Option<Proof> {
    if deadlines::may_act() || descriptors::may_act() {
        return None; // rule 4
    }
    let runs_made = registry::runs_made();
    let (threads, Sum { tasks, word, .. }) = waiter::OUTSIDE.unchanged_while(wait_for_ever)?;
    (registry::runs_made() == runs_made).then_some(Proof { tasks, runs_made, threads, word })
}

/// A locked run, and those that were locked before it.
struct Locked<'a> {
    run: &'a Run,
    state: &'a LockedRun<'a>,
    before: Option<&'a Locked<'a>>,
    /// How many of its workers are stuck.
    workers: Cell<usize>,
    /// How many of its guests are stuck.
    guests: Cell<usize>,
    /// How many of its guests sleep although they count as active.
    sleepers: Cell<usize>,
    /// True if one of these workers and guests has tasks in its queue.
    has_queued: Cell<bool>,
}

/// The sum over all runs.
struct Sum {
    tasks: usize,
    threads: usize,
    word: Deadlock,
}

/// The sum over all runs, if the first two rules hold. `waiting` threads wait for an object.
fn wait_for_ever(waiting: Count) -> Option<Sum> {
    let mut found = 0;
    let mut runs: [Option<&Worker>; MOST_RUNS] = [None; MOST_RUNS];
    for worker in registry::all_records().filter(|worker| !worker.has_ended()) {
        let mut is_first = false;
        worker.with_run_of_first(&mut |_| is_first = true);
        if is_first {
            *runs.get_mut(found)? = Some(worker);
            found += 1;
        }
    }
    let mut proved = None;
    when_all_locked(&runs[..found], None, &mut |all| {
        proved = sum(all).filter(|sum| {
            sum.tasks > 0 && sum.word != Deadlock::Off && is_every_thread(sum.threads, waiting)
        });
    });
    proved
}

/// Locks these runs in addition to those in `before`, and calls `then`.
fn when_all_locked(
    runs: &[Option<&Worker>],
    before: Option<&Locked>,
    then: &mut dyn FnMut(&Locked),
) {
    let Some((&Some(first), rest)) = runs.split_first() else { return };
    first.when_run_is_open(&mut |run, state| {
        let [workers, guests, sleepers] = [const { Cell::new(0) }; 3];
        let has_queued = Cell::new(false);
        let locked = Locked { run, state, before, workers, guests, sleepers, has_queued };
        if rest.is_empty() {
            then(&locked);
        } else {
            when_all_locked(rest, Some(&locked), then);
        }
    });
}

/// The sum over all runs, if rule 1 holds. All of them are locked.
fn sum(all: &Locked) -> Option<Sum> {
    let runs = || std::iter::successors(Some(all), |locked| locked.before);
    let with_id = |id: usize| runs().find(|locked| locked.run.worker(0).run_id() == id);
    run_wait::WAITS.each(&mut |wait| {
        let Some(locked) = with_id(wait.waiter.run) else { return };
        if with_id(wait.run).is_none() || !wait.goes_on() {
            return;
        }
        let Some(place) = locked.run.place_at(wait.waiter.worker) else { return };
        let is_worker = place.index() < locked.run.workers();
        let stuck = if is_worker { &locked.workers } else { &locked.guests };
        let has_queued = place.queued().is_some_and(|tasks| tasks > 0);
        stuck.set(stuck.get() + 1);
        locked.has_queued.set(locked.has_queued.get() | has_queued);
    });
    for Locked { state, sleepers, has_queued, .. } in runs() {
        let Sleepers { number, have_tasks } = (state.sleepers)();
        sleepers.set(number);
        has_queued.set(has_queued.get() | have_tasks);
    }
    fence(Ordering::SeqCst); // a thief that has emptied one of these queues was active before
    let mut sum = Sum { tasks: 0, threads: 0, word: Deadlock::Abort };
    for Locked { run, state, workers, guests, sleepers, has_queued, .. } in runs() {
        let (workers, sleepers) = (workers.get(), sleepers.get());
        let still = workers + guests.get() + sleepers;
        let is_still = (state.active)() == still && (state.sleepers)().number == sleepers;
        let has_idle = workers < run.workers();
        let has_queued = state.queued > 0 || has_queued.get();
        if !is_still || has_idle && has_queued {
            return None;
        }
        sum.word = gentler(sum.word, run.config().deadlock);
        sum.tasks += (state.tasks)() + still;
        sum.threads += run.threads_inside() - workers + state.threads;
    }
    Some(sum)
}

/// The gentler of the values of `SCHED_DEADLOCK` that two runs have.
fn gentler(a: Deadlock, b: Deadlock) -> Deadlock {
    use Deadlock::{Abort, Auto, Off, Report};
    [Off, Report, Auto].into_iter().find(|word| [a, b].contains(word)).unwrap_or(Abort)
}

/// True if these threads and those without a run are all threads of the process: rule 2.
fn is_every_thread(in_runs: usize, waiting: Count) -> bool {
    let others = cache::resting().wrapping_add(waiting.number()).wrapping_add(watcher::threads());
    thread::count() == Some(in_runs.wrapping_add(others))
}

/// True if the system does not let the process read its own memory.
fn cannot_peek() -> bool {
    let here = 0_usize;
    peek::word(ptr::from_ref(&here).addr()).is_none()
}

/// Calls `tell` in a new thread, since the calling worker's stack may be small. The state does not
/// change any more, so the locks need not be held.
#[cold]
fn tell_by_thread(proof: &Proof) {
    let proof = ptr::from_ref(proof).cast_mut().cast();
    let writer = {
        let _blocked = SignalsBlocked::block();
        // SAFETY: the argument is a proof, which lives until the thread is joined.
        unsafe { thread::create(tell, proof, None) }
    };
    match writer {
        // SAFETY: the thread is ours, and joined once.
        Ok(id) => _ = unsafe { thread::join(id) },
        Err(_) => _ = tell(proof),
    }
}

/// Acts on a deadlock. Only this function decides how.
extern "C" fn tell(proof: *mut c_void) -> *mut c_void {
    // SAFETY: `tell_by_thread` passes a proof.
    let &Proof { tasks, threads, word, .. } = unsafe { &*proof.cast_const().cast() };
    let doubt = doubt(threads);
    let ends = word == Deadlock::Abort || word == Deadlock::Auto && doubt.is_none();
    let here = process::generation();
    let was_told = TOLD.swap(here, Ordering::Relaxed) == here;
    if !matches!(doubt, None | Some(Doubt::Handler(_))) || word == Deadlock::Report {
        TOLD_ALL.store(here, Ordering::Relaxed);
    }
    if ends && cannot_peek() {
        peek::read_directly();
    }
    if ends || !was_told {
        dump::write(&Title::Deadlock { tasks, doubt, ends }, &|_, _| None);
    }
    if ends {
        // SAFETY: abort takes nothing and does not return.
        unsafe { libc::abort() }
    }
    ptr::null_mut()
}
