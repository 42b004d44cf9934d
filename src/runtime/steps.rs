//! The steps of workers and tasks that are reported to observers. Each step is defined here once,
//! and told to all its consumers: the probes, the watch of the worker ([`Watch`]: timeline,
//! profile, phases), and the race detector. [`observed`](super::observed) lists the steps of a
//! task, and `policy::Step` has the steps of a worker.

use crate::policy::{Activity, Place, Step};
use crate::profile::run::Profile;
use crate::profile::sums::Sums;
use crate::runtime::identity;
use crate::runtime::record::{Fiber, Worker};
use crate::runtime::wait_note::Object;
use crate::runtime::watch::{Watch, Watched};
use crate::stats::Phase;
use crate::sys::atomic::Ordering;
use crate::sys::probe::probe;
use crate::sys::{clock, detector};
use crate::task::Task;
use crate::trace::event::{Kind, Wait};
use crate::trace::track::Track;
use std::ptr;

/// Told when the calling thread is about to queue a suspended task on this fiber. `from` is a
/// worker of that thread, if it has one.
#[inline(always)]
pub(super) fn tell_resumable(fiber: &Fiber, from: Option<&Worker>) {
    if !fiber.observed.get().is_null() {
        tell_resumable_slowly(fiber, from);
    }
}

#[cold]
#[inline(never)]
fn tell_resumable_slowly(fiber: &Fiber, from: Option<&Worker>) {
    let Some(woken) = fiber.youngest_task() else { return };
    let mine = from.and_then(|from| from.mine_in_run_of(fiber.worker()));
    woken.slice.wake(mine.map(|mine| mine.index() as u16));
    if !woken.path.is_used() {
        return;
    }
    // If the woken task joins the task that has just ended here, it learns that task's path later
    // (`observed::joined`); a task below the ended one is not part of that path.
    let joins = from.and_then(Worker::sums).is_some_and(Sums::wakes_joiner);
    let here = identity::current_fiber();
    let here = here.filter(|here| !joins && here.worker().run_id() == fiber.worker().run_id());
    if let Some(waker) = here.and_then(Fiber::youngest_task) {
        let now = clock::ticks();
        waker.path.settle(now);
        woken.path.follow(waker.path.length(), fiber.worker().burden(), now);
    }
}

impl Fiber {
    /// The youngest task here, in an observed run. The caller is on the fiber, or can resume it.
    pub(super) fn youngest_task(&self) -> Option<&Watched> {
        // SAFETY: the task is in the middle of its run here.
        unsafe { self.observed.get().as_ref() }
    }

    /// Calls `wait`, in which the youngest task waits. The caller is on the fiber.
    #[inline]
    pub fn while_waiting(&self, wait: impl FnOnce()) {
        let timed = || self.youngest_task().map(|task| &task.path).filter(|path| path.is_used());
        timed().inspect(|path| path.begin_wait(clock::ticks()));
        wait();
        timed().inspect(|path| path.end_wait(clock::ticks()));
    }

    /// Told when the task on the fiber is about to be suspended. The caller is on the fiber.
    #[inline(always)]
    pub(super) fn tell_suspension(&self) {
        probe!("suspend", ptr::from_ref(self), self.worker().handle());
    }

    fn kind_of_wait(&self) -> Wait {
        match self.wait.read().map(|noted| noted.waits_for.object().0) {
            None => Wait::Other,
            Some(Object::Mutex) => Wait::Mutex,
            Some(Object::Cond) => Wait::Condition,
            Some(Object::Sem) => Wait::Semaphore,
            Some(Object::Barrier) => Wait::Barrier,
            Some(Object::Forked) => Wait::Join,
            Some(Object::Group) => Wait::Group,
            Some(Object::Channel) => Wait::Channel,
            Some(Object::Sleep) => Wait::Sleep,
            Some(Object::Descriptor) => Wait::Descriptor,
            Some(Object::Event) => Wait::Event,
        }
    }

    fn waits_for_mutex(&self) -> bool {
        self.wait.read().is_some_and(|noted| noted.waits_for.object().0 == Object::Mutex)
    }

    /// Told when the blocking section of the youngest task is over.
    pub(super) fn tell_end_of_section(&self) {
        let Some(task) = self.youngest_task() else { return };
        task.slice.unblock();
        if task.path.is_used() {
            let now = clock::ticks();
            task.path.block(false, now);
            task.path.stop(now);
        }
    }
}

impl Worker {
    /// The worker's watch, if its run is observed or prints statistics.
    #[inline]
    pub(super) fn watch(&self) -> Option<&Watch> {
        // SAFETY: it lives as long as the run.
        unsafe { self.watch.get().as_ref() }
    }

    /// The worker's track, if its run is traced.
    #[inline]
    pub(super) fn track(&self) -> Option<&Track> {
        self.watch()?.track()
    }

    /// The worker's sums for the profile, if its run is profiled.
    #[inline]
    pub(super) fn sums(&self) -> Option<&Sums> {
        self.watch()?.sums()
    }

    /// True if observers of the worker's run, of which the caller is a task, hear of edges.
    #[inline]
    pub fn hears_of_edges(&self) -> bool {
        self.watch().is_some()
    }

    /// Told when the caller's task has ended, before the task of the node that follows it
    /// (`sync::dag`) can begin. `node` is the node's address.
    #[cold]
    pub fn tell_edge(&self, node: usize) {
        let (Some(watch), Some(mine)) = (self.watch(), self.mine()) else { return };
        watch.track().inspect(|track| track.note_edge(node));
        if let (Some(profile), Some(task)) = (watch.profile(), mine.fiber().youngest_task()) {
            task.path.settle(clock::ticks());
            profile.leave(node, task.path.length());
        }
    }

    /// Told when the task of a node, which is the caller's task, begins.
    #[cold]
    pub fn tell_end_of_edges(&self, node: usize) {
        let (Some(watch), Some(mine)) = (self.watch(), self.mine()) else { return };
        let Some(task) = mine.fiber().youngest_task() else { return };
        watch.track().inspect(|track| track.note_end_of_edges(node, &task.slice));
        let Some(profile) = watch.profile() else { return };
        if let Some(longest) = profile.forget(node) {
            task.path.follow(&longest, profile.burden(), clock::ticks());
        }
    }

    /// The cost of a task's move to another worker, if the run is profiled; otherwise 0.
    pub(super) fn burden(&self) -> u64 {
        self.watch().and_then(Watch::profile).map_or(0, Profile::burden)
    }

    /// Calls `wake`, which wakes the task that joins a forked task that has ended on this worker.
    pub(super) fn while_waking_joiner(&self, wake: impl FnOnce()) {
        let set = |wakes| _ = self.sums().inspect(|sums| sums.set_wakes_joiner(wakes));
        set(true);
        wake();
        set(false);
    }

    pub(super) fn function_of(&self, task: Task) -> usize {
        // SAFETY: the calling thread occupies the worker, so the run has not ended.
        unsafe { &*self.run.get() }.function_of(task)
    }

    /// Told when the worker, which the calling thread occupies, is about to leave its fiber.
    pub(super) fn tell_departure(&self) {
        // SAFETY: the calling thread is on the fiber.
        if let Some(fiber) = unsafe { self.fiber.get().as_ref() } {
            self.tell_departure_from(fiber);
        }
    }

    #[cold]
    fn tell_departure_from(&self, fiber: &Fiber) {
        if let (Some(watch), Some(task)) = (self.watch(), fiber.youngest_task()) {
            watch.track().inspect(|track| track.suspend(&task.slice, fiber.kind_of_wait()));
            watch.sums().inspect(|_| task.path.stop(clock::ticks()));
            detector::release(fiber);
        }
    }

    /// Told when the worker, which the calling thread occupies, leaves the fiber `from` for the
    /// fiber that `worker.fiber` already names.
    #[cold]
    pub(super) fn tell_switch(&self, from: &Fiber) {
        self.tell_departure_from(from);
        // SAFETY: the stack of the owner's fiber is in use.
        self.tell_arrival(unsafe { &*self.fiber.get() });
    }

    /// Told when the worker, which the calling thread occupies, has come to the fiber.
    #[cold]
    pub(super) fn tell_arrival(&self, fiber: &Fiber) {
        if let (Some(watch), Some(task)) = (self.watch(), fiber.youngest_task()) {
            detector::acquire(fiber);
            watch.track().inspect(|track| track.arrive(&task.slice));
            if let Some(sums) = watch.sums() {
                let left_for = task.path.come_back(clock::ticks());
                if fiber.waits_for_mutex() {
                    sums.add_wait_for_mutex(&task.path, left_for);
                }
            }
        }
    }

    /// Told when a blocking section has begun. The calling thread still occupies the worker.
    pub(super) fn tell_section(&self, fiber: &Fiber) {
        if let (Some(watch), Some(task)) = (self.watch(), fiber.youngest_task()) {
            watch.track().inspect(|track| track.block(&task.slice));
            watch.sums().inspect(|_| task.path.block(true, clock::ticks()));
        }
        self.begin_phase(Phase::Blocked);
    }

    /// Told when the blocking section of the task on the fiber is over, and the calling thread has
    /// occupied the worker for that task.
    pub(super) fn tell_return_from_section(&self, fiber: &Fiber) {
        self.begin_phase(Phase::Busy);
        fiber.tell_end_of_section();
        self.tell_arrival(fiber);
    }

    /// Told when the worker, which the calling thread occupies, resumes the task on the fiber.
    #[inline(always)]
    pub(super) fn tell_resumption(&self, fiber: *const Fiber) {
        probe!("resume", fiber, self.handle());
    }

    /// The number of tasks in the worker's queue, if the policy knows it.
    pub fn queued(&self) -> Option<usize> {
        // SAFETY: the run of the worker has not ended.
        unsafe { self.operations_for_any() }.queued()
    }

    /// Reports a step of the worker, which the calling thread occupies.
    #[inline]
    pub(super) fn tell(&self, step: Step) {
        match step {
            Step::Steal(victim) => self.tell_steal(victim),
            Step::Raid(victim) => self.record(Kind::Raid, victim, 0),
            Step::Wake(0) | Step::FailedSearch | Step::Nap => {}
            Step::Wake(woken) => self.tell_wake(woken),
            Step::OutOfTasks => _ = self.watch().inspect(|watch| watch.out_of_tasks()),
            Step::Park => self.tell_park(),
            Step::Phase(phase) => _ = self.watch().inspect(|watch| watch.begin(phase)),
            Step::Activity(activity) => {
                self.is_idle.store(activity == Activity::Idle, Ordering::Relaxed);
            }
        }
    }

    // Not inlined: tools attach to each place of a probe, and such a function is one place.

    #[inline(never)]
    fn tell_steal(&self, victim: usize) {
        probe!("steal", self.index(), victim);
        self.record(Kind::Steal, victim, 0);
    }

    #[inline(never)]
    fn tell_wake(&self, woken: usize) {
        probe!("wake", self.index(), woken);
        self.record(Kind::Wake, self.index(), woken);
    }

    #[inline(never)]
    fn tell_park(&self) {
        probe!("park", self.index(), self.handle());
    }

    /// Records an event that concerns the worker `whom`, or `number` workers, if the run is traced.
    fn record(&self, kind: Kind, whom: usize, number: usize) {
        self.track().inspect(|track| track.note(kind, whom as u16, number as u64));
    }

    /// Begins a phase of the worker, which the calling thread occupies.
    #[inline]
    pub(super) fn begin_phase(&self, phase: Phase) {
        self.tell(Step::Phase(phase));
    }

    /// Calls `sleep`, and records its duration. The worker searches before and afterwards.
    pub(super) fn record_sleep<R>(&self, sleep: impl FnOnce() -> R) -> R {
        let Some(watch) = self.watch() else { return sleep() };
        let begun = watch.track().map(Track::now);
        watch.begin(Phase::Parked);
        let result = sleep();
        watch.begin(Phase::Searching);
        if let (Some(track), Some(begun)) = (watch.track(), begun) {
            track.slept(begun);
        }
        result
    }
}
