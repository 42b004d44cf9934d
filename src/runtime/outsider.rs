//! Operations on a run for any thread, even one that is not a worker of the run: to spawn tasks, to
//! queue suspended tasks, to look at the run. [`owner`](super::owner) has a worker's operations.

use crate::idle::quiescence::LockedRun;
use crate::policy::Turn;
use crate::policy::operations::AnyThread;
use crate::queue::injector::Refused;
use crate::runtime::observed;
use crate::runtime::record::{Fiber, Run, Worker};
use crate::sys::atomic::Ordering;
use crate::sys::memory::NoMemory;
use crate::sys::{errno, process, thread, time};
use crate::task::{Task, TaskFn};
use std::ffi::{c_int, c_void};
use std::time::Duration;

type Operations<'a> = AnyThread<'a, Worker, Fiber>;

impl Worker {
    /// # Safety
    /// The run does not end while the result is used.
    #[inline(always)]
    pub unsafe fn operations_for_any(&self) -> Operations<'_> {
        // SAFETY: the run does not end while the result is used; the row is the run's.
        unsafe { AnyThread::new(self, &self.row().operations) }
    }

    /// Queues a suspended task behind all others, from any thread. The run must not end.
    #[cold]
    #[inline(never)]
    pub fn requeue(&self, task: Task) {
        // SAFETY: the run does not end during the call.
        retry_until_memory(|| unsafe { self.operations_for_any() }.requeue(task));
    }

    /// `requeue` for a task whose blocking section has ended.
    #[cold]
    #[inline(never)]
    pub(super) fn requeue_ended(&self, task: Task) {
        // SAFETY: the run does not end during the call.
        retry_until_memory(|| unsafe { self.operations_for_any() }.requeue_ended(task));
    }

    /// True if the relief that has come to this worker first looks at the queue for all workers.
    pub(super) fn relief_looks_outside(&self) -> bool {
        // SAFETY: the run does not end before its relief has come.
        let has_first = unsafe { self.operations_for_any() }.has_first();
        if has_first { !self.own_turn() } else { self.tick() }
    }

    /// Queues a suspended task of this run: at this `turn` if the calling thread is a worker of
    /// this run, and otherwise behind all others. `from` is explained at `rouse`.
    pub fn queue_continued(&self, task: Task, from: Option<&Worker>, turn: Turn) {
        let Some(mine) = from.and_then(|from| from.mine_in_run_of(self)) else {
            // The run has not ended, since the task counts as waiting, or is a parent process's.
            self.with_open_run(|_, _| self.requeue(task));
            return;
        };
        match turn {
            Turn::Soon => mine.queue_soon(task),
            Turn::Next => mine.queue_next(task),
        }
    }

    /// `spawn` by a thread that is not this worker's owner, or of a NULL function.
    ///
    /// # Safety
    /// The contract of `spawn`.
    #[cold]
    #[inline(never)]
    pub unsafe extern "C" fn spawn_elsewhere(
        f: Option<TaskFn>,
        closure: *mut c_void,
        worker: &Worker,
    ) -> c_int {
        let Some(f) = f else { return errno::failed(libc::EINVAL) };
        let Some(mine) = worker.mine() else {
            // SAFETY: `f` accepts `closure`.
            return unsafe { worker.inject(f, closure) };
        };
        // SAFETY: the thread occupies `mine`, so its run has not ended, and the row is the run's.
        unsafe { (mine.row().spawn)(Some(f), closure, &mine) }
    }

    /// Queues a task for this worker's run, from any thread. Returns the value of `sched_spawn`.
    ///
    /// # Safety
    /// `task.f` accepts its closure, as for sched_spawn.
    pub unsafe fn queue(&self, task: Task) -> c_int {
        match self.mine() {
            // SAFETY: `task.f` accepts its closure.
            None => unsafe { self.inject(task.f, task.closure) },
            Some(mine) => mine.queue(task),
        }
    }

    /// Adds a task to this worker's run, from a thread that is not a worker of that run.
    ///
    /// # Safety
    /// `f` accepts `closure`, as for sched_spawn.
    #[cold]
    #[inline(never)]
    pub(super) unsafe fn inject(&self, f: TaskFn, closure: *mut c_void) -> c_int {
        let task = Task { f, closure };
        let outcome = self.with_open_run(|run, operations| {
            let task = observed::wrap_outside(run, task);
            // SAFETY: a task that was refused has not left this thread.
            operations.inject(task).inspect_err(|_| _ = unsafe { observed::unwrap(task, None) })
        });
        match outcome {
            Some(Ok(())) => 0,
            Some(Err(Refused::Full)) => errno::failed(libc::EAGAIN),
            Some(Err(Refused::Closed)) | None => errno::failed(libc::EINVAL),
        }
    }

    /// Keeps this worker's run from ending, on behalf of a task that will be queued by `queue_held`
    /// and then calls `let_go`, or until `let_go_of_run`. From any thread. False if the run has
    /// ended.
    pub fn hold_run(&self) -> bool {
        match self.mine() {
            Some(mine) => {
                mine.operations().hold();
                true
            }
            None => self.with_open_run(|_, operations| operations.hold_outside()) == Some(true),
        }
    }

    /// Undoes `hold_run`, from any thread.
    pub fn let_go_of_run(&self) {
        match self.mine() {
            Some(mine) => mine.operations().let_go(),
            None => _ = self.with_open_run(|_, operations| operations.let_go_outside()),
        }
    }

    /// Calls `look` with this worker's run, from any thread. None if the run has ended.
    pub fn with_run<R>(&self, look: impl FnOnce(&Run) -> R) -> Option<R> {
        match self.mine() {
            // SAFETY: the run does not end while the caller's task runs.
            Some(mine) => Some(look(unsafe { &*mine.run.get() })),
            None => self.with_open_run(|run, _| look(run)),
        }
    }

    /// Calls `then` with this worker's run, locked, if the run is open: see `Policy::when_open`.
    pub fn when_run_is_open(&self, then: &mut dyn FnMut(&Run, &LockedRun)) {
        self.with_open_run(|run, operations| {
            operations.when_open(&mut |locked| then(run, locked));
        });
    }

    /// Has the deadlines of this worker's run kept until its end, from any thread, which has no
    /// lock of a record (`runtime::ageing` says why).
    pub fn keep_deadlines(&self) {
        if let Some(mine) = self.mine() {
            // SAFETY: the run does not end while the caller's task runs.
            return unsafe { &*mine.run.get() }.keep_deadlines();
        }
        let is_needed = self.with_open_run(|run, _| !run.keeps_deadlines()) == Some(true);
        if is_needed && self.hold_run() {
            // SAFETY: the run is held.
            unsafe { &*self.run.get() }.keep_deadlines();
            self.let_go_of_run();
        }
    }

    /// Calls `look` with this worker's run, if the run has not ended and this is its worker 0. The
    /// caller occupies no worker of the run, or holds no lock of the run.
    pub fn with_run_of_first(&self, look: &mut dyn FnMut(&Run)) {
        self.with_open_run(|run, _| {
            if self.index.get() == 0 {
                look(run);
            }
        });
    }

    /// Calls `work` if the run has not ended. The run cannot end before `work` returns, since
    /// `retire` takes `run_lock` as well.
    pub(super) fn with_open_run<R>(
        &self,
        work: impl FnOnce(&Run, Operations<'_>) -> R,
    ) -> Option<R> {
        if !process::is_known() {
            // The child of a fork that ran no handlers: a thread of the parent may hold the lock.
            return None;
        }
        // A cancelled thread would leave the lock held.
        let _uncancelled = thread::Uncancelled::begin();
        self.run_lock.with(|()| {
            // Acquire: pairs with the Release in `assign`, so that row and policy are the run's
            let runs = self.run_tag.load(Ordering::Acquire) != 0;
            // SAFETY: the run has not ended, and the lock keeps it open.
            runs.then(|| unsafe { work(&*self.run.get(), self.operations_for_any()) })
        })
    }

    /// Wakes the worker if it sleeps in `help`. `from` is any worker, or None. If the calling
    /// thread occupies a worker of the run of `from`, and `self` belongs to the same run, that run
    /// cannot end during the call, and no lock is needed.
    pub fn rouse(&self, from: Option<&Worker>) {
        if from.is_some_and(|from| from.mine_in_run_of(self).is_some()) {
            // SAFETY: the run does not end while the caller's task runs.
            unsafe { self.operations_for_any() }.rouse();
        } else {
            // The worker may have seen itself that its wait is over, and the run may have ended.
            self.with_open_run(|_, operations| operations.rouse());
        }
    }
}

/// Repeats `queue` until it succeeds. A suspended task is queued at the first try: `take_stack`, or
/// the beginning of its blocking section, has reserved a slot for it.
pub(super) fn retry_until_memory(mut queue: impl FnMut() -> Result<(), NoMemory>) {
    while queue().is_err() {
        time::sleep(Duration::from_millis(1)); // no thread wakes this one; memory may be free then
    }
}
