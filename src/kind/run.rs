//! A run, the same for every kind: from `sched_init` to quiescence, or held open by a pool.
//!
//! In a run of `sched_init` the caller's thread is worker 0 at first. In a pool's all workers are threads
//! of the crew; it ends when the pool has let it go and no task is left. All else is the same.
//!
//! The return of worker 0's loop is the end: whoever occupies that place then announces it. The
//! caller of `sched_init` may have left it to another thread ([`section`]), and waits for that.

use super::parcel::Depot;
use super::strand::As;
use super::table::{Request, Row};
use super::worker::Worker;
use super::worker::registry::{self, Lease};
use super::{Kind, Place, Plan, strand};
use crate::base::config::{Config, Join};
use crate::base::crew::{self, Crew, Job, Terms};
use crate::base::event::Event;
use crate::base::mem::{self, NoMemory};
use crate::base::sync::{AtomicUsize, Ordering};
use crate::base::thread::{self, Uncancelled};
use crate::base::{Errno, frontier, futex};
use crate::fiber::valgrind;
use crate::probe::Totals;
use crate::probe::report::{Report, Summary};
use crate::task::Task;
use std::cell::Cell;
use std::ffi::c_void;
use std::ptr;
use std::time::{Duration, Instant};

/// How long threads are kept if SCHED_WARM does not say it. Under valgrind they are not kept: it reports the memory of a
/// thread that is there at exit as a leak.
const WARM: Duration = Duration::from_millis(100);

const NO_MEMORY: Errno = Errno(libc::ENOMEM);

fn no_memory(_: NoMemory) -> Errno {
    NO_MEMORY
}

thread_local! {
    /// Of the last run that ended on this thread.
    static LAST: Cell<Option<Totals>> = const { Cell::new(None) };
}

/// What the last run that ended on the calling thread did.
pub fn last_totals() -> Option<Totals> {
    LAST.get()
}

/// What a run has, whatever its kind.
pub struct Team {
    // Dropped in this order: no worker is there any more when the parcels go.
    crew: Crew,
    leases: Box<[Lease]>,
    depot: Depot,
    strands: strand::Terms,
    report: Report,
    /// Worker 0's loop has returned.
    end: Event,
    /// Tasks that were called at once by a thread that is no worker: no queue had room for them.
    outside: AtomicUsize,
    began: Instant,
    config: Config,
    row: &'static Row,
    qlen: usize,
}

/// A thread's life as a worker.
struct Life {
    worker: &'static Worker,
    comes: As,
    /// The thread has left its worker in the middle of the run.
    surplus: bool,
}

impl Life {
    /// True if the thread is surplus.
    ///
    /// # Safety
    /// The place is the caller's to occupy, and the run goes on until it has left it.
    unsafe fn lead(worker: &'static Worker, comes: As) -> bool {
        let mut life = Life { worker, comes, surplus: false };
        // SAFETY: `work` takes a life.
        unsafe { frontier::inside(work, (&raw mut life).cast()) };
        life.surplus
    }
}

/// Inside the frontier.
unsafe extern "C" fn work(life: *mut c_void) {
    // SAFETY: `lead` passes one.
    let life = unsafe { &mut *life.cast::<Life>() };
    life.worker.occupy();
    // SAFETY: occupied just now; by the promise to `lead`.
    if unsafe { strand::host(life.worker, life.comes) } {
        life.worker.announce_end();
        life.worker.vacate();
    } else {
        life.surplus = true;
    }
}

/// The job of a thread of the crew.
unsafe fn member(worker: *const c_void) -> bool {
    // SAFETY: `Team::new` passes a worker, which is never freed.
    let worker = unsafe { &*worker.cast::<Worker>() };
    // SAFETY: the run lives until the crew has finished.
    unsafe { Life::lead(worker, if worker.index() == 0 { As::First } else { As::Idle }) }
}

/// The job of a relief.
unsafe fn relief(worker: *const c_void) -> bool {
    // SAFETY: `relieve` passes a worker, which is never freed.
    let worker = unsafe { &*worker.cast::<Worker>() };
    // SAFETY: its thread has left it, and only who is needed comes; else as in `member`.
    !worker.is_needed() || unsafe { Life::lead(worker, As::Relief) }
}

impl Team {
    /// Of a run whose workers below `first` need no thread of the crew.
    ///
    /// # Safety
    /// The terms live for as long as the team.
    unsafe fn new(request: &Request, terms: &Terms, first: usize) -> Result<Team, Errno> {
        let &Request { config, row, threads, qlen } = request;
        let report = Report::new(&config)?;
        let began = Instant::now();
        let leases = mem::slice(threads, |_| Lease::new()).map_err(no_memory)?;
        let job = |lease: &Lease| Job { main: member, arg: ptr::from_ref(lease.worker()).cast() };
        // SAFETY: by the caller's promise.
        let crew = unsafe { Crew::new(terms, first, leases[first..].iter().map(job)) };
        let crew = crew.map_err(no_memory)?;
        let strands = strand::Terms {
            stack: config.stack.unwrap_or_else(thread::default_stack),
            sets_aside: config.join == Join::Suspend,
            float: crew.terms().float(),
        };
        let depot = Depot::default();
        let end = Event::new();
        let outside = AtomicUsize::new(0);
        Ok(Team { crew, leases, depot, strands, report, end, outside, began, config, row, qlen })
    }

    /// Makes the records the workers of a run. A thread that is none may then use it.
    ///
    /// # Safety
    /// Called once; team and kind, which is of the team's K, stay where they are until the run has
    /// ended.
    unsafe fn settle<K: Kind>(&self, kind: &K) {
        // SAFETY: by the caller's promise.
        unsafe { kind.settle() };
        let seed = self.config.seed.unwrap_or_else(some_seed);
        for (i, lease) in self.leases.iter().enumerate() {
            lease.worker().assign(i, self.row, kind, self, seed);
        }
    }

    /// Brings threads to the workers from 1. Those that can be had do the work; the statistics say
    /// how many cannot.
    ///
    /// # Safety
    /// Called once, when the run has settled.
    unsafe fn call_others(&self) {
        // SAFETY: each once; the run lives until the crew has finished.
        (1..self.workers()).for_each(|i| _ = unsafe { self.call(i) });
    }

    /// True if its threads are kept for later runs when it ends, and not joined.
    pub fn keeps_threads(&self) -> bool {
        self.crew.terms().keeps()
    }

    pub fn workers(&self) -> usize {
        self.leases.len()
    }

    /// Brings worker `index` a thread; see `Crew::call`.
    ///
    /// # Safety
    /// As for that.
    pub unsafe fn call(&self, index: usize) -> bool {
        // SAFETY: passed on.
        unsafe { self.crew.call(index) }
    }

    /// Brings a worker that its thread has left another; see `Crew::relieve`. For that thread.
    pub fn relieve(&self, worker: &Worker) -> bool {
        let job = Job { main: relief, arg: ptr::from_ref(worker).cast() };
        // SAFETY: the thread's task holds the run open.
        unsafe { self.crew.relieve(job, worker.index()) }
    }

    /// Sleeps for so long, or until the run has ended.
    pub fn sleep(&self, limit: Duration) {
        self.end.sleep(limit);
    }

    /// Worker 0's loop has returned.
    pub fn announce_end(&self) {
        self.end.happen();
    }

    /// Counts a task as `outside` says, from any thread.
    pub fn count_outside(&self) {
        self.outside.fetch_add(1, Ordering::Relaxed);
    }

    /// What its strands have in common.
    pub fn strands(&self) -> strand::Terms {
        self.strands
    }

    pub fn depot(&self) -> &Depot {
        &self.depot
    }

    pub fn worker(&self, index: usize) -> &'static Worker {
        self.leases[index].worker()
    }

    /// See `Place::at_rest`.
    pub fn check_joins(&self) {
        self.leases.iter().for_each(|lease| lease.worker().check_join());
    }

    fn present(&self) -> impl Iterator<Item = &'static Worker> + Clone {
        let there = |i: &usize| !self.crew.is_missing(*i);
        (0..self.workers()).filter(there).map(|i| self.worker(i))
    }

    /// What all workers did so far.
    pub fn totals(&self) -> Totals {
        let mut totals = Totals { time: self.began.elapsed(), ..Totals::default() };
        for worker in self.present() {
            totals.values.merge(worker.counters().values());
            totals.threads += 1;
        }
        totals.values.tasks += self.outside.load(Ordering::Relaxed);
        totals.threads_missing = self.workers() - totals.threads;
        totals
    }

    /// Waits for the end of the run. From then on no foreign thread can wake a worker, so none is called
    /// any more; those that work are waited for.
    fn finish(&self) {
        self.end.wait();
        self.leases.iter().for_each(Lease::retire);
        self.crew.finish();
        // SAFETY: all threads are back on stacks of their own.
        self.leases.iter().for_each(|lease| unsafe { lease.worker().rack.close() });
        let totals = self.totals();
        LAST.set(Some(totals));
        self.report.print(&Summary {
            kind: self.config.kind.word(),
            deque: self.row.deque.map_or("none", |d| d.word()),
            idle: self.config.idle.word(),
            qlen: self.qlen,
            totals,
            workers: &self.present().map(|worker| worker.counters().values()),
        });
    }
}

/// To be called first: the caller's process and thread, as a run needs them.
fn terms(request: &Request) -> Terms {
    registry::watch_process();
    futex::probe();
    let warm = if valgrind::is_here() { Duration::ZERO } else { WARM };
    let most_reliefs = request.config.blocking.unwrap_or(crew::MOST_RELIEFS);
    Terms::of_caller(request.config.warm.unwrap_or(warm), most_reliefs)
}

fn plan(request: &Request, terms: &Terms, held: bool) -> Plan {
    let config = &request.config;
    Plan {
        idle: config.idle,
        held,
        shuffled: config.seed.is_some(),
        workers: request.threads,
        qlen: request.qlen,
        overflow: config.overflow(),
        steal: config.steal(),
        global: config.global,
        join: config.join,
        processors: terms.processors(),
    }
}

/// Runs the first task and all that comes from it, on the caller's thread and others.
pub fn start<K: Kind>(
    request: &Request,
    uncancelled: &Uncancelled,
    first: Task,
) -> Result<(), Errno> {
    let terms = terms(request);
    let kind; // outlives the team, as do the terms
    // SAFETY: see above.
    let team = unsafe { Team::new(request, &terms, 1) }?;
    kind = K::new(&plan(request, &terms, false)).map_err(no_memory)?;
    // SAFETY: once; both stay where they are until the end of this function.
    unsafe { team.settle(&kind) };
    let worker = team.worker(0);
    // SAFETY: the run has not started.
    unsafe { kind.spawn(worker, first) }.map_err(|_| NO_MEMORY)?;
    if !kind.starts_asleep() {
        // SAFETY: once, settled.
        unsafe { team.call_others() };
    }
    // The tasks may be cancelled, and end the process thereby; the rest of the run must not be.
    // SAFETY: nobody else comes to worker 0 before its thread has left it.
    let surplus = uncancelled.except(|| unsafe { Life::lead(worker, As::First) });
    if surplus {
        team.crew.caller_has_left();
    }
    team.finish();
    Ok(())
}

/// A run that stays open until it is closed.
pub trait Open {
    fn team(&self) -> &Team;

    /// Waits until no task is left, at one moment since the call. Not for a task of the run.
    fn wait_for_rest(&self);

    /// Waits until no task is left, and ends the run. Called once, before it is dropped, and not by
    /// a task of the run.
    fn close(&self);

    /// As `close`, but waits no longer than `limit`. False: tasks are left, and the run is not finished when it ends.
    fn close_within(&self, limit: Duration) -> bool;
}

struct Held<K> {
    team: Team, // dropped first
    kind: K,
    #[allow(dead_code, reason = "the team refers to them")]
    terms: Box<Terms>,
}

impl<K: Kind> Open for Held<K> {
    fn team(&self) -> &Team {
        &self.team
    }

    fn wait_for_rest(&self) {
        self.kind.wait_for_rest();
    }

    fn close(&self) {
        self.kind.release();
        self.team.finish();
    }

    fn close_within(&self, limit: Duration) -> bool {
        self.kind.release();
        let ended = self.team.end.happens_within(limit);
        if ended {
            self.team.finish();
        }
        ended
    }
}

/// Starts a run that stays open, on threads of its own.
pub fn open<K: Kind>(request: &Request) -> Result<Box<dyn Open>, Errno> {
    let terms = mem::boxed(terms(request)).map_err(no_memory)?;
    // SAFETY: the terms are dropped after the team, here or in `Held`.
    let team = unsafe { Team::new(request, &terms, 0) }?;
    let kind = K::new(&plan(request, &terms, true)).map_err(no_memory)?;
    let run = mem::boxed(Held { team, kind, terms }).map_err(no_memory)?;
    // SAFETY: once; in their box both stay where they are.
    unsafe { run.team.settle(&run.kind) };
    let asleep = run.kind.starts_asleep();
    // SAFETY: once, settled; from now on the run has started.
    if !unsafe { run.team.call(0) } {
        return Err(Errno(libc::EAGAIN));
    }
    if !asleep {
        // SAFETY: once, settled.
        unsafe { run.team.call_others() };
    }
    Ok(run)
}

/// A seed that differs between runs: the clock's nanoseconds, and this frame's address, which
/// the system randomises.
fn some_seed() -> u64 {
    let here = 0u8;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = now.map_or(0, |t| t.as_nanos() as u64);
    now ^ (ptr::from_ref(&here) as u64).rotate_left(32)
}
