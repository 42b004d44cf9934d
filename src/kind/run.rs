//! A run, the same for every kind: from `sched_init` to quiescence, or held open by a pool.
//!
//! In a run of `sched_init` the caller's thread is worker 0, and the return of that worker's loop is
//! the end. In a pool's all workers are threads of the crew; it ends when the pool has let it go
//! and no task is left. All else is the same.

use super::parcel::Depot;
use super::table::{Request, Row};
use super::worker::{self, Lease, Worker};
use super::{Kind, Place, Plan};
use crate::base::config::{Config, Overflow};
use crate::base::cpu::Mask;
use crate::base::crew::{Crew, Job, Terms};
use crate::base::mem::{self, NoMemory};
use crate::base::thread::Uncancelled;
use crate::base::{Errno, frontier, futex};
use crate::probe::Totals;
use crate::probe::report::{Report, Summary};
use crate::task::Task;
use std::cell::Cell;
use std::ffi::c_void;
use std::ptr;
use std::time::Instant;

const NO_MEMORY: Errno = Errno(libc::ENOMEM);

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
    // Dropped in this order: no worker is there any more when the parcels and the kind go.
    crew: Crew,
    leases: Box<[Lease]>,
    depot: Depot,
    report: Report,
    began: Instant,
    config: Config,
    row: &'static Row,
    qlen: usize,
}

struct Run<K> {
    team: Team, // before `kind`: see there
    kind: K,
}

/// A worker's loop, inside the frontier.
unsafe extern "C" fn work<K: Kind>(worker: *mut c_void) {
    // SAFETY: a record of a run of K; records are never freed.
    let worker = unsafe { &*worker.cast_const().cast::<Worker>() };
    worker.occupy();
    // SAFETY: occupied just now; the run lives until this worker has left.
    unsafe { worker.kind::<K>().work(worker) };
    worker.vacate();
}

/// The job of a thread of the crew.
unsafe fn member<K: Kind>(worker: *const c_void) {
    // SAFETY: `work::<K>` takes a worker of a run of K, which `Run::new` passes.
    unsafe { frontier::inside(work::<K>, worker.cast_mut()) };
}

impl Team {
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

    pub fn depot(&self) -> &Depot {
        &self.depot
    }

    pub fn worker(&self, index: usize) -> &'static Worker {
        self.leases[index].worker()
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
        totals.threads_missing = self.workers() - totals.threads;
        totals
    }

    /// The run has ended. From now on no foreign thread can wake a worker, so none is called any
    /// more; those that work are waited for.
    fn finish(&self) {
        self.leases.iter().for_each(Lease::retire);
        self.crew.finish();
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

impl<K: Kind> Run<K> {
    /// A run whose workers below `first` need no thread of the crew.
    fn new(request: &Request, first: usize, held: bool) -> Result<Run<K>, Errno> {
        let &Request { config, row, threads, qlen } = request;
        worker::watch_process();
        let report = Report::open(&config)?;
        let began = Instant::now();
        futex::probe();
        let mask = Mask::of_caller();
        let plan = Plan {
            idle: config.idle,
            held,
            shuffled: config.seed.is_some(),
            workers: threads,
            limit: if config.overflow == Overflow::Refuse { qlen } else { usize::MAX },
            processors: mask.count(),
        };
        let kind = K::new(&plan).map_err(|NoMemory| NO_MEMORY)?;
        let leases = mem::slice(threads, |_| Lease::new()).map_err(|NoMemory| NO_MEMORY)?;
        let job =
            |lease: &Lease| Job { main: member::<K>, arg: ptr::from_ref(lease.worker()).cast() };
        let crew =
            Crew::new(Terms::of_caller(mask, config.warm), first, leases[first..].iter().map(job))
                .map_err(|NoMemory| NO_MEMORY)?;
        let depot = Depot::default();
        Ok(Run { team: Team { crew, leases, depot, report, began, config, row, qlen }, kind })
    }

    /// Makes the records its workers. A thread that is none may then use the run.
    ///
    /// # Safety
    /// Called once; the run stays where it is until it has ended.
    unsafe fn settle(&self) {
        // SAFETY: by the caller's promise.
        unsafe { self.kind.settle() };
        let seed = self.team.config.seed.unwrap_or_else(some_seed);
        for (i, lease) in self.team.leases.iter().enumerate() {
            lease.worker().assign(i, self.team.row, &self.kind, &self.team, seed);
        }
    }

    /// Brings threads to the workers from 1, unless they sleep until there is a task for them.
    ///
    /// # Safety
    /// Called once, when the run has settled.
    unsafe fn call_others(&self) {
        if !self.kind.starts_asleep() {
            // Those that can be had do the work; the statistics say how many cannot.
            // SAFETY: each once; the run lives until the crew has finished.
            (1..self.team.workers()).for_each(|i| _ = unsafe { self.team.call(i) });
        }
    }
}

/// Runs the first task and all that comes from it, on the caller's thread and others.
pub fn start<K: Kind>(
    request: &Request,
    uncancelled: &Uncancelled,
    first: Task,
) -> Result<(), Errno> {
    let run = Run::<K>::new(request, 1, false)?;
    let worker = run.team.worker(0);
    // SAFETY: once; `run` stays where it is until the end of this function.
    unsafe { run.settle() };
    // SAFETY: the run has not started.
    unsafe { run.kind.spawn(worker, first) }.map_err(|_| NO_MEMORY)?;
    // SAFETY: once, settled.
    unsafe { run.call_others() };
    // The tasks may be cancelled, and end the process thereby; the rest of the run must not be.
    let worker = ptr::from_ref(worker).cast_mut().cast();
    // SAFETY: `work::<K>` takes a worker of this run.
    uncancelled.except(|| unsafe { frontier::inside(work::<K>, worker) });
    run.team.finish();
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
}

impl<K: Kind> Open for Run<K> {
    fn team(&self) -> &Team {
        &self.team
    }

    fn wait_for_rest(&self) {
        self.kind.wait_for_rest();
    }

    fn close(&self) {
        self.kind.release();
        self.team.crew.wait(0); // its loop ends with the run
        self.team.finish();
    }
}

/// Starts a run that stays open, on threads of its own.
pub fn open<K: Kind>(request: &Request) -> Result<Box<dyn Open>, Errno> {
    let run = mem::boxed(Run::<K>::new(request, 0, true)?).map_err(|NoMemory| NO_MEMORY)?;
    // SAFETY: once; in its box it stays where it is.
    unsafe { run.settle() };
    // SAFETY: once, settled; it has not started before.
    if !unsafe { run.team.call(0) } {
        return Err(Errno(libc::EAGAIN));
    }
    // SAFETY: once, settled.
    unsafe { run.call_others() };
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
