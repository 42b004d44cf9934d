//! A policy's view of a worker; and the check for joins that wait for a lost task.

use crate::fiber::stack;
use crate::policy::operations::Hosted;
use crate::policy::reliefs::LOOK;
use crate::policy::turns::Turns;
use crate::policy::{Place, Step, TICK};
use crate::runtime::record::{Run, Worker};
use crate::runtime::suspend::is_continuation;
use crate::runtime::{deadlines, descriptors, identity, observed};
use crate::stats::Counters;
use crate::sync::forked::Forked;
use crate::sys::atomic::Ordering;
use crate::sys::futex::Futex;
use crate::sys::{detector, output, probe, symbol};
use crate::task::Task;
use rand::RngExt;
use std::ptr;
use std::time::Duration;

impl Place for Worker {
    #[inline]
    fn index(&self) -> usize {
        self.index.get()
    }

    #[inline]
    fn counters(&self) -> &Counters {
        &self.counters
    }

    #[inline]
    fn turns(&self) -> &Turns {
        &self.turns
    }

    #[inline]
    fn looked_outside(&self) {
        self.until_injector.set(TICK);
    }

    #[cold]
    fn start(&self, worker: usize) -> bool {
        // SAFETY: the run's end waits for the caller; each worker is started at most once.
        unsafe { (*self.run.get()).threads.start(worker) }
    }

    fn random_below(&self, n: usize) -> usize {
        debug_assert!(self.is_mine());
        // SAFETY: only the owner calls this, and the reference ends with the call.
        unsafe { &mut *self.rng.get() }.random_range(0..n)
    }

    #[inline]
    fn call(&self, task: Task) {
        probe::passing!("start", task.f, task.closure, self.handle());
        self.call_at_once(task);
        probe::passing!("end");
    }

    #[inline]
    fn step(&self, step: Step) {
        step.count(&self.counters);
        self.tell(step);
    }

    #[inline]
    fn sleeping<R>(&self, sleep: impl FnOnce() -> R) -> R {
        self.step(Step::Park);
        self.record_sleep(sleep)
    }

    #[inline]
    fn is_continuation(task: Task) -> bool {
        is_continuation(task)
    }

    #[cold]
    unsafe fn suits_relief(task: Task) -> bool {
        // SAFETY: the task is queued, and nobody takes it during the call.
        is_continuation(task) || deadlines::is_of_timer(unsafe { observed::inner(task) })
    }

    #[cold]
    fn at_rest(&self) {
        // SAFETY: the `Run` outlives the run, whose end waits for the caller.
        unsafe { &*self.run.get() }.check_joins();
    }

    fn all_idle(&self) {
        stack::free::trim();
    }

    #[cold]
    fn idles_long(&self) {
        (self.row().doctor.idles_long)();
    }

    fn until_deadline(&self, limit: Duration) -> Duration {
        if self.covers_deadline.get() {
            deadlines::uncover(); // it was woken for a task, and has not called `serve_deadlines`
        }
        let (limit, covers) = deadlines::cover(limit);
        self.covers_deadline.set(covers);
        limit
    }

    fn serve_deadlines(&self) {
        descriptors::leave_poller();
        if self.covers_deadline.take() {
            deadlines::uncover();
            deadlines::serve();
        }
    }

    fn is_dismissed(&self) -> bool {
        // SAFETY: the caller is the relief here, so the run has not ended.
        unsafe { (*self.run.get()).relief.is_dismissed() }
    }

    #[inline]
    fn poll(&self) -> bool {
        descriptors::poll()
    }

    #[cold]
    fn serve_events(&self) {
        // SAFETY: the policy calls this after a sleep that has given it events.
        unsafe { descriptors::serve_held() };
    }

    fn keeps_memory(&self) -> bool {
        self.block_cache.keeps_memory()
    }

    fn give_back(&self) {
        // SAFETY: the caller occupies this place, and the run has not ended.
        unsafe { detector::ignored(|| self.block_cache.give_back()) };
    }

    fn guest_gives_back(&self, index: usize) {
        // SAFETY: the caller owns that place, and occupies this one of the same run.
        unsafe { (*self.run.get()).place(index).give_back() };
    }

    #[inline]
    fn stay(&self) {
        // Relaxed: the calling thread, or the fork that made its process, has written `owner`
        if self.owner.load(Ordering::Relaxed) == 0 {
            identity::check_no_section_left();
            returned_in_child();
        }
    }
}

/// Ends the process: a task that has called fork returns in the child, where it has no run.
#[cold]
fn returned_in_child() -> ! {
    output::die(format_args!(
        "a task returned in a child that it made by fork; the child must end by _exit or exec"
    ))
}

/// The word on which reliefs sleep; nobody changes it.
#[unsafe(link_section = "sched_words")]
static BESIDE: Futex = Futex::new(0);

impl Worker {
    /// A relief without tasks waits for events, for a while.
    pub(super) fn rest_beside(&self) {
        if descriptors::POLLER.sleep(&BESIDE, 0, LOOK) {
            self.serve_events();
        } else {
            descriptors::leave_poller();
        }
    }
}

impl Hosted for Worker {
    #[inline(always)]
    unsafe fn policy<P>(&self) -> &P {
        // SAFETY: `policy` is a `P`, which lives as long as the run.
        unsafe { &*self.policy.get().cast::<P>() }
    }
}

impl Worker {
    /// `Place::call` without the probes `start` and `end`. It serves kind `cont`, where a probe
    /// after the call would cost each spawn some instructions.
    #[inline]
    pub(super) fn call_at_once(&self, task: Task) {
        #[cfg(debug_assertions)]
        let (fiber, before, function) = (
            self.fiber.get(),
            // SAFETY: only the owner calls a task.
            unsafe { self.owned() }.fiber().count_forks(0),
            self.function_of(task), // now: the descriptor may be gone afterwards
        );
        // SAFETY: the program promises that `f` accepts its closure and returns.
        unsafe { (task.f)(task.closure, self.handle()) };
        #[cfg(debug_assertions)]
        // SAFETY: a task may change its worker, but not its fiber, which the caller is on.
        if unsafe { &*fiber }.count_forks(0) != before {
            output::die(format_args!(
                "sched_fork: a task{}, or one that it has joined, did not join a task that it forked: \
                 a sched_join is missing",
                symbol::Function(function)
            ));
        }
    }

    /// Notes that a task here is about to wait for `forked`, which no worker has begun. The caller
    /// occupies this worker. Relaxed: `check_join` reads the note when all workers are idle, and
    /// becoming idle (`idle::quiescence`) orders the two.
    pub fn note_join(&self, forked: &Forked) {
        self.unbegun_join.store(ptr::from_ref(forked).cast_mut(), Ordering::Relaxed);
    }

    /// Removes the note when the task that called `note_join` continues, perhaps on another worker.
    /// Another task may have replaced the note. Relaxed: see `note_join`.
    pub fn forget_join(&self, forked: &Forked) {
        let noted = ptr::from_ref(forked).cast_mut();
        let (relaxed, none) = (Ordering::Relaxed, ptr::null_mut());
        let _ = self.unbegun_join.compare_exchange(noted, none, relaxed, relaxed);
    }

    /// Ends the process if a task waits for a task that no worker has begun. Must be called when
    /// all workers of the run are idle and nothing is queued, so that no worker can begin it later.
    pub fn check_join(&self) {
        // SAFETY: no worker runs a task, so the waiting task has not continued; it keeps the
        // descriptor until its join is over.
        let lost = unsafe { self.unbegun_join.load(Ordering::Relaxed).as_ref() };
        if let Some(lost) = lost.filter(|lost| lost.is_lost()) {
            output::die(format_args!(
                "sched_join: a task waits for one that is in no queue: its descriptor was copied, \
                 joined before, or not forked in this run{}",
                symbol::Function(lost.function())
            ));
        }
    }
}

impl Run {
    /// Calls `Worker::check_join` for all workers: see `Place::at_rest`.
    pub fn check_joins(&self) {
        self.all_places().for_each(|worker| worker.check_join());
    }
}
