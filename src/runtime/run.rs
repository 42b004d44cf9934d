//! A run, the same for every kind: from `sched_init` to quiescence, or held open by a pool. This is
//! one file because a run's end takes back, step by step, what its start has made.
//!
//! In a run of `sched_init` the caller's thread occupies worker 0 at first. In a run of a pool each
//! worker, also worker 0, gets a thread that the library makes; the run ends when the pool has
//! released it and no task is left.
//!
//! The run ends when the loop of worker 0 returns: the thread that occupies worker 0 then announces
//! the end. The caller of `sched_init` may have left worker 0 to another thread
//! (`runtime::blocking`), so it waits for the announcement.

use crate::fiber::listeners::Listener;
use crate::fiber::stack;
use crate::lock::mutex::Mutex;
use crate::policy::reliefs::ReliefState;
use crate::policy::{Place, Plan, Policy, ReadyOrder};
use crate::profile::run::Profile;
use crate::queue::run_gate::{Ends, RestAwaited};
use crate::queue::run_waits::{Circle, Until};
use crate::runtime::arg_blocks::BlockPool;
use crate::runtime::host::WorkerStart;
use crate::runtime::life::{Occupation, run_member};
use crate::runtime::record::{Attended, Doctor, FunctionOf, Row, Run, Worker};
use crate::runtime::registry::{self, Lease};
use crate::runtime::run_wait;
use crate::runtime::watch::Watch;
use crate::runtime::{descriptors, observed};
use crate::settings::{Config, DequeOrLock, Stats, Transfers};
use crate::stats::phases::Phases;
use crate::stats::report::{Report, Summary};
use crate::stats::{Times, Totals};
use crate::sys::atomic::{AtomicBool, AtomicUsize, Ordering, Pad};
use crate::sys::errno::Errno;
use crate::sys::memory::NoMemory;
use crate::sys::processors::Mask;
use crate::sys::thread::Uncancelled;
use crate::sys::{clock, detector, futex, memory, stack_room, time, valgrind};
use crate::task::Task;
use crate::threads::cache;
use crate::threads::cache::{Job, RunThreads, Terms};
use crate::threads::event::Event;
use crate::threads::watcher::Duty;
use crate::trace::timeline::Timeline;
use std::cell::Cell;
use std::ptr;
use std::time::Duration;

/// A request for a run, with all settings resolved.
pub struct Request {
    pub config: Config,
    pub transfers: Transfers,
    /// The deque or lock, for the report.
    pub deque: Option<DequeOrLock>,
    pub row: &'static Row,
    pub function_of: FunctionOf,
    pub threads: usize,
    /// The number of places for guests (`policy::guests`).
    pub guests: usize,
    /// The number of places for reliefs (`policy::reliefs`).
    pub reliefs: usize,
    pub qlen: usize,
    /// The processors that the threads of the run may use.
    pub mask: fn() -> Mask,
}

/// The time for which threads, and the memory of queues that were long, are kept without
/// SCHED_WARM. Under valgrind, or with a race detector, threads are not kept: the tool reports a
/// thread that was not joined, or its memory, as a leak.
const DEFAULT_WARM: Duration = Duration::from_millis(100);

thread_local! {
    static LAST_TOTALS: Cell<Option<Totals>> = const { Cell::new(None) };
}

/// The totals of the run that ended last on the calling thread. None means that no run has ended
/// there.
pub fn last_totals() -> Option<Totals> {
    LAST_TOTALS.get()
}

impl Attended {
    fn begin(doctor: &'static Doctor, duty: Duty) -> Attended {
        (doctor.begin)(duty);
        Attended(doctor, duty)
    }
}

impl Drop for Attended {
    fn drop(&mut self) {
        (self.0.end)(self.1);
    }
}

impl Run {
    /// Makes a run. Its workers from `first` on get threads of the run; the others have threads.
    ///
    /// # Safety
    /// The terms live for as long as the run.
    unsafe fn new(
        request: &Request,
        terms: &Terms,
        leases: &[Lease],
        first: usize,
    ) -> Result<Run, Errno> {
        let &Request { config, deque, qlen, function_of, .. } = request;
        let report = Report::new(&config);
        let places = leases.len();
        let timeline = Timeline::new(&config, request.threads, places);
        let attended = [
            config.watchdog.map(|_| Attended::begin(request.row.doctor, Duty::Doctor)),
            report.is_live().then(|| Attended::begin(request.row.doctor, Duty::Live)),
            timeline.as_ref().map(|_| Attended::begin(request.row.doctor, Duty::Timeline)),
        ];
        let profile = Profile::new(&config, request.threads, places)?;
        let is_observed = observed::is_observed(&config);
        let listener = observed::hears_of_switches(&config).then(Listener::new);
        let began = clock::nanos();
        let is_timed = config.stats != Stats::Off || profile.is_some();
        let timed = if is_timed { places } else { 0 };
        let phases = memory::slice(timed, |_| Ok(Pad(Phases::new(began))))?;
        let watches = if is_observed { places } else { timed };
        let watch = |i: usize| {
            let phases = phases.get(i).map(|phases| &**phases);
            // SAFETY: `timeline`, `profile` and `phases` are boxed, and belong to the run.
            Ok(unsafe { Watch::new(timeline.as_deref(), profile.as_deref(), phases, i) })
        };
        let watches = memory::slice(watches, watch)?;
        let (workers, guests) = leases.split_at(request.threads);
        let records = |leases: &[Lease]| memory::slice(leases.len(), |i| Ok(leases[i].worker()));
        let (workers, guests) = (records(workers)?, records(guests)?);
        let job =
            |worker: &&'static Worker| Job { main: run_member, arg: ptr::from_ref(*worker).cast() };
        // SAFETY: the terms live for as long as the run.
        let threads = unsafe { RunThreads::new(terms, first, workers[first..].iter().map(job)) }?;
        Ok(Run {
            threads,
            attended,
            keeper: Mutex::new(None),
            has_keeper: AtomicBool::new(false),
            first_guest: workers.len(),
            first_relief: places - request.reliefs,
            relief: ReliefState::default(),
            workers,
            guests,
            block_pool: BlockPool::default(),
            stack_size: config.stack.unwrap_or_else(stack_room::default_stack),
            report,
            timeline,
            listener,
            profile,
            phases,
            watches,
            function_of,
            end: Event::new(),
            ends_awaited: AtomicUsize::new(0),
            outside: AtomicUsize::new(0),
            began,
            config,
            deque,
            qlen,
        })
    }

    /// Makes the records the workers of this run. From then on any thread may use the run.
    ///
    /// # Safety
    /// Called once. The run and the policy, which is of the type of the row, stay at their
    /// addresses until the run has ended.
    unsafe fn make_ready<P: Policy>(&self, row: &'static Row, policy: &P) {
        // SAFETY: called once, and the policy has its final address.
        unsafe { policy.initialize_in_place() };
        let seed = self.config.seed.unwrap_or_else(random_seed);
        // Worker 0 is assigned last: the observers of all runs (the watchdog, the proof of a
        // deadlock) find a run through worker 0, and then look at the other workers.
        for i in (0..self.places()).rev() {
            self.place(i).assign(i, row, policy, self, seed);
        }
        registry::run_is_ready();
    }

    /// Calls threads for the workers from 1 on. If the system provides fewer threads, these do the
    /// work, and the statistics report how many are missing.
    ///
    /// # Safety
    /// Called once, after `make_ready`.
    unsafe fn call_other_workers(&self) {
        // SAFETY: each worker once; the run lives until all jobs of its threads have ended.
        (1..self.workers()).for_each(|i| _ = unsafe { self.threads.start(i) });
    }

    /// Closes the records of a run that has ended, or that cannot start. When this returns, the
    /// observers of all runs (the watchdog, the proof of a deadlock) have let go of the run, and no
    /// longer find it. So it has to be called before the run or its policy is dropped.
    fn withdraw(&self) {
        self.all_places().for_each(|worker| worker.retire());
    }

    /// Has the run's deadlines kept (`runtime::deadlines`) until its end.
    pub(super) fn keep_deadlines(&self) {
        if self.keeps_deadlines() {
            return;
        }
        let begin = || Attended::begin(self.worker(0).row().doctor, Duty::Clock);
        self.keeper.with(|keeper| _ = keeper.get_or_insert_with(begin));
        self.has_keeper.store(true, Ordering::Release);
    }

    pub(super) fn keeps_deadlines(&self) -> bool {
        self.has_keeper.load(Ordering::Acquire) // pairs with the store in `keep_deadlines`
    }

    /// Waits for the end of the run, after which no thread can wake a worker, and so no thread is
    /// called. Then waits for the threads that are still at work, and prints the report.
    fn finish(&self) {
        self.ends_awaited.fetch_add(1, Ordering::Relaxed); // before this thread sleeps
        self.end.wait();
        self.withdraw();
        self.threads.finish();
        detector::acquire(self);
        // SAFETY: `threads.finish` has waited for all jobs, so no thread is on a stack of the run.
        self.all_places().for_each(|worker| unsafe { worker.stacks.close() });
        stack::free::trim();
        let now = clock::nanos();
        self.timeline().inspect(|timeline| timeline.write());
        self.profile.as_deref().inspect(|profile| profile.print(self.times(now)));
        let totals = self.totals_at(now);
        LAST_TOTALS.set(Some(totals));
        self.report.print(&Summary {
            kind: self.config.kind.word(),
            deque: self.deque.map_or("none", |d| d.word()),
            idle: self.config.idle.word(),
            qlen: self.qlen,
            totals,
            workers: &self
                .present_workers()
                .map(|worker| (worker.counters().values(), self.times_of(worker.index(), now)))
                .chain(
                    self.used_guests().map(|guest| (guest.counters().values(), Times::default())),
                ),
        });
    }

    /// How the worker has spent its time until now; zeroes if that was not recorded.
    fn times_of(&self, worker: usize, now: u64) -> Times {
        self.phases(worker).map(|phases| phases.times(now)).unwrap_or_default()
    }

    /// The sums of all workers that have threads.
    fn times(&self, now: u64) -> Times {
        let mut all = Times::default();
        self.present_workers().for_each(|worker| all.merge(self.times_of(worker.index(), now)));
        all
    }
}

/// Prepares the process for a run and returns the terms of the caller's thread. Must be called
/// first.
fn prepare(request: &Request) -> Terms {
    registry::watch_process();
    futex::probe();
    let joined = valgrind::is_running() || detector::is_present();
    let warm = if joined { Duration::ZERO } else { DEFAULT_WARM };
    let most_reliefs = request.config.blocking.unwrap_or(cache::MOST_RELIEFS);
    Terms::of_caller(request.config.warm.unwrap_or(warm), most_reliefs, (request.mask)())
}

/// Takes records for the workers of the run. They rest again after the run is dropped.
fn lease_records(request: &Request) -> Result<Box<[Lease]>, NoMemory> {
    let places = request.threads + request.guests + request.reliefs;
    memory::slice(places, |_| Lease::new(request.row))
}

/// Makes the plan of the policy. (Not inlined, since each policy has a copy of the callers.)
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
        guests: request.guests,
        reliefs: request.reliefs,
        qlen: request.qlen,
        overflow: transfers.overflow,
        steal: transfers.steal,
        global: transfers.global,
        join: config.join,
        processors: terms.processors(),
        warm: config.warm.unwrap_or(DEFAULT_WARM),
        poller: Some(&descriptors::POLLER),
    }
}

/// Runs the first task and all tasks that it spawns, on the caller's thread and others.
pub fn start<P: Policy>(
    request: &Request,
    uncancelled: &Uncancelled,
    first: Task,
) -> Result<(), Errno> {
    let terms = prepare(request);
    let leases = lease_records(request)?;
    let policy; // declared before the run, so dropped after it, like the terms and the leases
    // SAFETY: the terms are dropped after the run.
    let run = unsafe { Run::new(request, &terms, &leases, 1) }?;
    policy = P::new(&plan(request, &terms, Ends::AtRest))?;
    // The three lie on this thread's stack, and other threads use them.
    detector::own(&terms);
    detector::own(&run);
    detector::own(&policy);
    // SAFETY: called once; the run and the policy keep their addresses until this function returns.
    unsafe { run.make_ready(request.row, &policy) };
    // From now on the caller's task waits for the run. No task of the run has begun, so none waits
    // for the caller's run, and the waits form no circle.
    let run_id = run.worker(0).run_id();
    let mut outcome = Ok(());
    let mut wait = || outcome = work(uncancelled, &run, &policy, first);
    run_wait::during(run_id, Until::End, &mut wait).expect("nobody waits for a task of a new run");
    outcome
}

/// The part of `start` after the run is ready.
fn work<P: Policy>(
    uncancelled: &Uncancelled,
    run: &Run,
    policy: &P,
    first: Task,
) -> Result<(), Errno> {
    let worker = run.worker(0);
    let first = observed::wrap_outside(run, first);
    // SAFETY: the run has not started, so nobody occupies the worker.
    if policy.spawn(unsafe { worker.owned() }, first).is_err() {
        // SAFETY: a task that was refused has not left this thread.
        unsafe { observed::unwrap(first, None) };
        run.withdraw();
        return Err(NoMemory.into());
    }
    if !policy.starts_asleep() {
        // SAFETY: called once, after `make_ready`.
        unsafe { run.call_other_workers() };
    }
    // A task may be cancelled, which ends the process. The rest of the run must not be cancelled.
    // SAFETY: no other thread has worker 0, and the run does not end before this thread leaves it.
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

    /// Calls `begin`, and then waits until the run has had a moment without tasks since that call.
    /// If `begin` fails, returns its error at once. Fails with EDEADLK, without the call, if the
    /// wait would never end because the caller is a task of this run, or of a run for which tasks
    /// of this run wait, directly or through others.
    /// `limit` gives the greatest length of each sleep; if it returns None, and the run has had no
    /// such moment, this fails with ETIMEDOUT.
    fn wait_for_rest(
        &self,
        begin: &mut dyn FnMut() -> Result<(), Errno>,
        limit: &dyn Fn() -> Option<Duration>,
    ) -> Result<(), Errno>;

    /// Waits until no task is left, and ends the run. Fails like `wait_for_rest`. Must succeed once
    /// before the value is dropped.
    fn close(&self) -> Result<(), Errno>;

    /// Like `close`, within `limit`. Returns false if tasks are left; then nobody finishes the run.
    fn close_within(&self, limit: Duration) -> bool;
}

struct OpenRun<P> {
    run: Run, // dropped first: it refers to the other fields
    policy: P,
    #[allow(dead_code, reason = "to drop them gives the records back")]
    leases: Box<[Lease]>,
    #[allow(dead_code, reason = "the run has pointers to them")]
    terms: Box<Terms>,
}

/// Calls `wait`, which waits for this run. Fails with EDEADLK if the wait would never end.
fn while_awaited(run: &Run, until: Until, wait: &mut dyn FnMut()) -> Result<(), Errno> {
    let run = run.worker(0).run_id();
    run_wait::during(run, until, wait).map_err(|Circle| Errno(libc::EDEADLK))
}

impl<P: Policy> Open for OpenRun<P> {
    fn run(&self) -> &Run {
        &self.run
    }

    fn wait_for_rest(
        &self,
        begin: &mut dyn FnMut() -> Result<(), Errno>,
        limit: &dyn Fn() -> Option<Duration>,
    ) -> Result<(), Errno> {
        let rest = RestAwaited::new(self.policy.rests(), limit);
        detector::own(&rest);
        let mut outcome = Ok(());
        while_awaited(&self.run, Until::Rest(&rest), &mut || {
            outcome = begin();
            if outcome.is_ok() {
                run_wait::WAITS.begin(&rest);
                self.policy.wait_for_rest(&rest);
                if rest.has_given_up() {
                    outcome = Err(Errno(libc::ETIMEDOUT));
                } else {
                    detector::acquire(&raw const self.run);
                }
            }
        })?;
        outcome
    }

    fn close(&self) -> Result<(), Errno> {
        while_awaited(&self.run, Until::End, &mut || {
            self.policy.release();
            self.run.finish();
        })
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
    let terms = memory::boxed(prepare(request))?;
    let leases = lease_records(request)?;
    // SAFETY: the terms are dropped after the run, here or in the returned value.
    let run = unsafe { Run::new(request, &terms, &leases, 0) }?;
    let policy = P::new(&plan(request, &terms, Ends::AfterRelease))?;
    let run = memory::boxed(OpenRun { run, policy, leases, terms })?;
    // SAFETY: called once; the run and the policy keep their addresses in the box.
    unsafe { run.run.make_ready(request.row, &run.policy) };
    let asleep = run.policy.starts_asleep();
    // SAFETY: called once, after `make_ready`. From now on the run has started.
    if !unsafe { run.run.threads.start(0) } {
        run.run.withdraw();
        return Err(Errno(libc::EAGAIN));
    }
    if !asleep {
        // SAFETY: called once, after `make_ready`.
        unsafe { run.run.call_other_workers() };
    }
    Ok(run)
}

/// A seed that differs between runs: the clock's nanoseconds combined with the address of this
/// frame, which the system randomises.
fn random_seed() -> u64 {
    let here = 0u8;
    let now = time::wall_clock().as_nanos() as u64;
    now ^ (ptr::from_ref(&here) as u64).rotate_left(32)
}
