//! A run, the same for every kind: from `sched_init` to quiescence, or held open by a pool.
//!
//! In a run of `sched_init` the caller's thread is worker 0 at first. In a pool's all workers are threads
//! of the run's threads; it ends when the pool has let it go and no task is left. All else is the same.
//!
//! The return of worker 0's loop is the end: whoever occupies that place then announces it. The
//! caller of `sched_init` may have left it to another thread ([`section`]), and waits for that.

use crate::fiber::valgrind;
use crate::policy::{Place, Plan, Policy, ReadyOrder};
use crate::queue::run_gate::Ends;
use crate::runtime::arg_blocks::BlockPool;
use crate::runtime::host::WorkerStart;
use crate::runtime::life::{Occupation, run_member};
use crate::runtime::record::{FiberSettings, Row, Run, Worker};
use crate::runtime::registry::{self, Lease};
use crate::settings::{Config, Deque, Join, Transfers};
use crate::stats::Totals;
use crate::stats::report::{Report, Summary};
use crate::sys::atomic::AtomicUsize;
use crate::sys::errno::Errno;
use crate::sys::memory::NoMemory;
use crate::sys::thread::Uncancelled;
use crate::sys::{futex, memory, stack_room};
use crate::task::Task;
use crate::threads::cache;
use crate::threads::cache::{Job, RunThreads, Terms};
use crate::threads::event::Event;
use std::cell::Cell;
use std::ptr;
use std::time::{Duration, Instant};

/// What a run is asked to be, its settings resolved.
pub struct Request {
    pub config: Config,
    pub transfers: Transfers,
    /// The deque or lock, for the statistics.
    pub deque: Option<Deque>,
    pub row: &'static Row,
    pub threads: usize,
    pub qlen: usize,
}

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

impl Run {
    /// Of a run whose workers below `first` need no thread of the run's threads.
    ///
    /// # Safety
    /// The terms live for as long as the run.
    unsafe fn new(
        request: &Request,
        terms: &Terms,
        leases: &[Lease],
        first: usize,
    ) -> Result<Run, Errno> {
        let &Request { config, deque, qlen, .. } = request;
        let report = Report::new(&config)?;
        let began = Instant::now();
        let workers = memory::slice(leases.len(), |i| Ok(leases[i].worker())).map_err(no_memory)?;
        let job =
            |worker: &&'static Worker| Job { main: run_member, arg: ptr::from_ref(*worker).cast() };
        // SAFETY: by the caller's promise.
        let threads = unsafe { RunThreads::new(terms, first, workers[first..].iter().map(job)) };
        let threads = threads.map_err(no_memory)?;
        let fiber_settings = FiberSettings {
            stack_size: config.stack.unwrap_or_else(stack_room::default_stack),
            suspends_joins: config.join == Join::Suspend,
            float_control: threads.terms().float(),
        };
        let block_pool = BlockPool::default();
        let end = Event::new();
        let outside = AtomicUsize::new(0);
        Ok(Run {
            threads,
            workers,
            block_pool,
            fiber_settings,
            report,
            end,
            outside,
            began,
            config,
            deque,
            qlen,
        })
    }

    /// Makes the records the workers of a run. A thread that is none may then use it.
    ///
    /// # Safety
    /// Called once; run and kind, which is of the run's K, stay where they are until the run has
    /// ended.
    unsafe fn settle<P: Policy>(&self, row: &'static Row, policy: &P) {
        // SAFETY: by the caller's promise.
        unsafe { policy.initialize_in_place() };
        let seed = self.config.seed.unwrap_or_else(some_seed);
        for (i, worker) in self.workers.iter().enumerate() {
            worker.assign(i, row, policy, self, seed);
        }
    }

    /// Brings threads to the workers from 1. Those that can be had do the work; the statistics say
    /// how many cannot.
    ///
    /// # Safety
    /// Called once, when the run has settled.
    unsafe fn call_others(&self) {
        // SAFETY: each once; the run lives until the run's threads has finished.
        (1..self.workers()).for_each(|i| _ = unsafe { self.call(i) });
    }

    /// Waits for the end of the run. From then on no foreign thread can wake a worker, so none is called
    /// any more; those that work are waited for.
    fn finish(&self) {
        self.end.wait();
        self.workers.iter().for_each(|worker| worker.retire());
        self.threads.finish();
        // SAFETY: all threads are back on stacks of their own.
        self.workers.iter().for_each(|worker| unsafe { worker.stacks.close() });
        let totals = self.totals();
        LAST.set(Some(totals));
        self.report.print(&Summary {
            kind: self.config.kind.word(),
            deque: self.deque.map_or("none", |d| d.word()),
            idle: self.config.idle.word(),
            qlen: self.qlen,
            totals,
            workers: &self.present_workers().map(|worker| worker.counters().values()),
        });
    }
}

/// To be called first: the caller's process and thread, as a run needs them.
fn terms(request: &Request) -> Terms {
    registry::watch_process();
    futex::probe();
    let warm = if valgrind::is_running() { Duration::ZERO } else { WARM };
    let most_reliefs = request.config.blocking.unwrap_or(cache::MOST_RELIEFS);
    Terms::of_caller(request.config.warm.unwrap_or(warm), most_reliefs)
}

/// Records for the workers of the run. They go back to rest after the run is gone.
fn lease(request: &Request) -> Result<Box<[Lease]>, Errno> {
    memory::slice(request.threads, |_| Lease::new(request.row)).map_err(no_memory)
}

/// (Not in each policy's functions, which are many.)
#[inline(never)]
fn plan(request: &Request, terms: &Terms, ends: Ends) -> Plan {
    let Request { config, transfers, .. } = request;
    Plan {
        idle: config.idle,
        ends,
        ready_order: if config.seed.is_some() {
            ReadyOrder::Random
        } else {
            ReadyOrder::YoungestFirst
        },
        workers: request.threads,
        qlen: request.qlen,
        overflow: transfers.overflow,
        steal: transfers.steal,
        global: transfers.global,
        join: config.join,
        processors: terms.processors(),
    }
}

/// Runs the first task and all that comes from it, on the caller's thread and others.
pub fn start<P: Policy>(
    request: &Request,
    uncancelled: &Uncancelled,
    first: Task,
) -> Result<(), Errno> {
    let terms = terms(request);
    let leases = lease(request)?;
    let policy; // outlives the run, as do the terms and the leases
    // SAFETY: see above.
    let run = unsafe { Run::new(request, &terms, &leases, 1) }?;
    policy = P::new(&plan(request, &terms, Ends::AtRest)).map_err(no_memory)?;
    // SAFETY: once; both stay where they are until the end of this function.
    unsafe { run.settle(request.row, &policy) };
    let worker = run.worker(0);
    // SAFETY: the run has not started.
    unsafe { policy.spawn(worker, first) }.map_err(|_| NO_MEMORY)?;
    if !policy.starts_asleep() {
        // SAFETY: once, settled.
        unsafe { run.call_others() };
    }
    // The tasks may be cancelled, and end the process thereby; the rest of the run must not be.
    // SAFETY: nobody else comes to worker 0 before its thread has left it.
    let surplus = uncancelled.except(|| unsafe { Occupation::run(worker, WorkerStart::FirstTask) });
    if surplus {
        run.threads.caller_has_left();
    }
    run.finish();
    Ok(())
}

/// A run that stays open until it is closed.
pub trait Open {
    fn run(&self) -> &Run;

    /// Waits until no task is left, at one moment since the call. Not for a task of the run.
    fn wait_for_rest(&self);

    /// Waits until no task is left, and ends the run. Called once, before it is dropped, and not by
    /// a task of the run.
    fn close(&self);

    /// As `close`, but waits no longer than `limit`. False: tasks are left, and the run is not finished when it ends.
    fn close_within(&self, limit: Duration) -> bool;
}

struct Held<P> {
    run: Run, // dropped first
    policy: P,
    #[allow(dead_code, reason = "the run's workers are on loan")]
    leases: Box<[Lease]>,
    #[allow(dead_code, reason = "the run refers to them")]
    terms: Box<Terms>,
}

impl<P: Policy> Open for Held<P> {
    fn run(&self) -> &Run {
        &self.run
    }

    fn wait_for_rest(&self) {
        self.policy.wait_for_rest();
    }

    fn close(&self) {
        self.policy.release();
        self.run.finish();
    }

    fn close_within(&self, limit: Duration) -> bool {
        self.policy.release();
        let ended = self.run.end.happens_within(limit);
        if ended {
            self.run.finish();
        }
        ended
    }
}

/// Starts a run that stays open, on threads of its own.
pub fn open<P: Policy>(request: &Request) -> Result<Box<dyn Open>, Errno> {
    let terms = memory::boxed(terms(request)).map_err(no_memory)?;
    let leases = lease(request)?;
    // SAFETY: the terms are dropped after the run, here or in `Held`.
    let run = unsafe { Run::new(request, &terms, &leases, 0) }?;
    let policy = P::new(&plan(request, &terms, Ends::AfterRelease)).map_err(no_memory)?;
    let run = memory::boxed(Held { run, policy, leases, terms }).map_err(no_memory)?;
    // SAFETY: once; in their box both stay where they are.
    unsafe { run.run.settle(request.row, &run.policy) };
    let asleep = run.policy.starts_asleep();
    // SAFETY: once, settled; from now on the run has started.
    if !unsafe { run.run.call(0) } {
        return Err(Errno(libc::EAGAIN));
    }
    if !asleep {
        // SAFETY: once, settled.
        unsafe { run.run.call_others() };
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
