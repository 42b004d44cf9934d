//! The functions that bring a task to a queue of its run, and back: a task is spawned or queued, by
//! the worker's own thread or by another; it is taken back by the task that forked it; it continues
//! after it has waited or yielded.
//!
//! The operations of the built-in deque are inlined here into the functions of the interface. For
//! all other queues the functions call the worker's row. The loads of `spawn_owner`, `join_owner`
//! and `built_in` are Relaxed for the reason that [`record`](super::record) gives.

use crate::fiber::stack::Stack;
use crate::idle::quiescence::LockedRun;
use crate::policy::Turn;
use crate::queue::injector::Refused;
use crate::queue::{Full, Owner, PrivatePart};
use crate::runtime::entry;
use crate::runtime::identity::Mine;
use crate::runtime::observed;
use crate::runtime::record::{Row, Run, Worker};
use crate::sys::atomic::{AtomicUsize, Ordering};
use crate::sys::memory::NoMemory;
use crate::sys::{errno, process, registers, thread, time};
use crate::task::{Task, TaskFn};
use std::ffi::{c_int, c_void};
use std::time::Duration;

/// How far an operation on a built-in deque has come.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum BuiltInStep {
    Done,
    /// The first half is done, and the second must follow.
    Unfinished,
    /// The built-in part does not apply, and nothing was done.
    NotApplicable,
}

impl Worker {
    /// Adds the task that `task` makes of `f`. NotApplicable: `f` is NULL, or the calling thread
    /// does not own a built-in deque. Unfinished: `entry::finish_spawn` must follow.
    #[inline(always)]
    pub fn put_built_in(
        &self,
        f: Option<TaskFn>,
        task: impl FnOnce(TaskFn) -> Task,
    ) -> BuiltInStep {
        let Some(f) = f else { return BuiltInStep::NotApplicable };
        if !registers::is_thread_pointer(self.spawn_owner.load(Ordering::Relaxed)) {
            return BuiltInStep::NotApplicable;
        }
        let task = task(f);
        // SAFETY: `spawn_owner` is the calling thread's pointer, so that thread is the owner, and
        // `built_in` is not null.
        let put = unsafe { Owner::new(&*self.built_in.load(Ordering::Relaxed)).put(task) };
        if put { BuiltInStep::Done } else { BuiltInStep::Unfinished }
    }

    /// Takes `task` back, if it is the youngest in a built-in deque of the calling thread.
    /// NotApplicable: the thread has no such deque. Unfinished: `retake_built_in` must follow.
    #[inline(always)]
    pub fn take_built_in(&self, task: Task) -> BuiltInStep {
        self.take_as_owner(&self.spawn_owner, task)
    }

    /// `take_built_in`, for a caller that will call the task by a jump: see `Worker::join_owner`.
    #[inline(always)]
    pub fn take_built_in_to_jump(&self, task: Task) -> BuiltInStep {
        self.take_as_owner(&self.join_owner, task)
    }

    #[inline(always)]
    fn take_as_owner(&self, owner: &AtomicUsize, task: Task) -> BuiltInStep {
        if !registers::is_thread_pointer(owner.load(Ordering::Relaxed)) {
            return BuiltInStep::NotApplicable;
        }
        // SAFETY: `spawn_owner` or `join_owner` is the calling thread's pointer, so that thread is
        // the owner, and `built_in` is not null.
        let taken = unsafe { (*self.built_in.load(Ordering::Relaxed)).claim_this(task) };
        if !taken {
            return BuiltInStep::Unfinished;
        }
        self.counters.tasks.add(1);
        BuiltInStep::Done
    }

    /// The rest of a `take_built_in` that is unfinished. True if `task` was taken after all.
    ///
    /// # Safety
    /// `take_built_in` has left this task unfinished just now.
    pub unsafe fn retake_built_in(&self, task: Task) -> bool {
        // SAFETY: `take_built_in` has found that the calling thread owns the deque.
        let taken = unsafe { (*self.built_in.load(Ordering::Relaxed)).retake(task) };
        self.counters.tasks.add(usize::from(taken));
        if !taken {
            // SAFETY: the calling thread owns this worker, and the row is that of its run.
            unsafe { (self.row().operations.restored)(self) };
        }
        taken
    }

    /// True if `is_asked` tells when thieves ask for this worker's tasks; else it is always false.
    #[inline]
    pub fn can_be_asked(&self) -> bool {
        !self.built_in.load(Ordering::Relaxed).is_null()
    }

    /// True if a thief or a sleeper has asked for this worker's tasks. One load.
    #[inline]
    pub fn is_asked(&self) -> bool {
        let deque = self.built_in.load(Ordering::Relaxed);
        // SAFETY: the deque of a worker lives as long as the run that the caller belongs to.
        !deque.is_null() && unsafe { (*deque).is_asked() }
    }

    /// True if the alarm of a built-in deque is set: perhaps tasks from outside the run have their turn.
    #[inline]
    pub fn is_alarmed(&self) -> bool {
        let deque = self.built_in.load(Ordering::Relaxed);
        // SAFETY: as in `is_asked`.
        !deque.is_null() && unsafe { (*deque).is_alarmed() }
    }

    /// See `Policy::share`.
    ///
    /// # Safety
    /// The caller owns this worker.
    pub unsafe fn share(&self, takes: Option<Duration>) {
        debug_assert!(self.is_mine(), "a worker's tasks are shared by another thread");
        // SAFETY: by the caller's promise the run goes on, and row and policy are those of the run.
        unsafe { (self.row().operations.share)(self, takes) };
    }

    /// See `Policy::wakes_at_spawn`. The calling thread occupies a place of the run.
    pub fn wakes_at_spawn(&self) -> Option<Duration> {
        // SAFETY: by the caller's promise the run goes on, and row and policy are those of the run.
        unsafe { (self.row().operations.wakes_at_spawn)(self) }
    }

    /// Queues a task that has run already, behind all others. From any thread; the run does not end
    /// during the call.
    #[cold]
    #[inline(never)]
    pub fn requeue(&self, task: Task) {
        // SAFETY: the run does not end during the call, so row and policy are those of the run.
        retry_until_memory(|| unsafe { (self.row().operations.requeue)(self, task) });
    }

    /// As `requeue`, for a task whose blocking section has ended.
    #[cold]
    #[inline(never)]
    pub(super) fn requeue_ended(&self, task: Task) {
        // SAFETY: the run does not end during the call, so row and policy are those of the run.
        retry_until_memory(|| unsafe { (self.row().operations.requeue_ended)(self, task) });
    }

    /// True if a task of this run whose blocking section has ended waits for a worker. A hint; from
    /// any thread, while the run goes on.
    pub(super) fn has_ended_sections(&self) -> bool {
        // SAFETY: as above.
        unsafe { (self.row().operations.has_ended)(self) }
    }

    /// True if the relief that has come to this place looks at the queue for all workers first.
    pub(super) fn relief_looks_outside(&self) -> bool {
        if self.has_ended_sections() { !self.own_turn() } else { self.tick() }
    }

    /// Queues a task of this run that was suspended: for this `turn` if the calling thread is a
    /// worker of this run, and behind all others if not. `from`: as for `rouse`.
    pub fn queue_continued(&self, task: Task, from: Option<&Worker>, turn: Turn) {
        let Some(mine) = from.and_then(|from| from.mine_in_run_of(self)) else {
            // The run has not ended, since the task counts as waiting; or it is that of a parent
            // process.
            self.with_open_run(|_| self.requeue(task));
            return;
        };
        match turn {
            Turn::Soon => mine.queue_soon(task),
            Turn::Next => mine.queue_next(task),
        }
    }

    /// Adds a task to this worker's run, from any thread; returns as `sched_spawn` does.
    ///
    /// # Safety
    /// `f` accepts `closure`, as for sched_spawn.
    #[inline(always)]
    pub unsafe fn spawn(&self, f: Option<TaskFn>, closure: *mut c_void) -> c_int {
        // Each way out is a return, or a call of the same signature in tail position, which the
        // compiler makes a jump. So this function needs no prologue.
        match self.put_built_in(f, |f| Task { f, closure }) {
            BuiltInStep::Done => 0,
            // SAFETY: `put_built_in` has left the spawn of these arguments unfinished.
            BuiltInStep::Unfinished => unsafe { entry::finish_spawn(f, closure, self) },
            // SAFETY: by the caller's promise; the row is that of the worker's run, or of its last
            // run.
            BuiltInStep::NotApplicable => unsafe { (self.row().spawn)(f, closure, self) },
        }
    }

    /// `spawn` by a thread that is not this worker's owner, or with NULL.
    ///
    /// # Safety
    /// As for `spawn`.
    #[cold]
    #[inline(never)]
    pub unsafe extern "C" fn spawn_elsewhere(
        f: Option<TaskFn>,
        closure: *mut c_void,
        worker: &Worker,
    ) -> c_int {
        let Some(f) = f else { return errno::failed(libc::EINVAL) };
        let Some(mine) = worker.mine() else {
            // SAFETY: by the caller's promise, the same as that to `inject`.
            return unsafe { worker.inject(f, closure) };
        };
        // SAFETY: the thread occupies `mine`, so its run goes on, and the row is that of the run.
        unsafe { (mine.row().spawn)(Some(f), closure, &mine) }
    }

    /// Queues a task for this worker's run, from any thread; returns as `sched_spawn` does.
    ///
    /// # Safety
    /// `task.f` accepts its closure, as for sched_spawn.
    pub unsafe fn queue(&self, task: Task) -> c_int {
        match self.mine() {
            // SAFETY: by the caller's promise, the same as that to `inject`.
            None => unsafe { self.inject(task.f, task.closure) },
            Some(mine) => mine.queue(task),
        }
    }

    /// Adds a task to this worker's run, from a thread that is no worker of it.
    ///
    /// # Safety
    /// `f` accepts `closure`, as for sched_spawn.
    #[cold]
    #[inline(never)]
    pub(super) unsafe fn inject(&self, f: TaskFn, closure: *mut c_void) -> c_int {
        let task = Task { f, closure };
        // SAFETY: the run does not end during `with_open_run`, and the row is that of the run. A
        // task that was refused has not left this thread.
        let outcome = self.with_open_run(|row| unsafe {
            let task = observed::wrap_outside(&*self.run.get(), task);
            (row.operations.inject)(self, task).inspect_err(|_| _ = observed::unwrap(task, None))
        });
        match outcome {
            Some(Ok(())) => 0,
            Some(Err(Refused::Full)) => errno::failed(libc::EAGAIN),
            Some(Err(Refused::Closed)) | None => errno::failed(libc::EINVAL),
        }
    }

    /// Calls `look` with the record of this worker's run; from any thread. None if the run has
    /// ended.
    pub fn with_run<R>(&self, look: impl FnOnce(&Run) -> R) -> Option<R> {
        match self.mine() {
            // SAFETY: the run does not end while the caller's task runs.
            Some(mine) => Some(look(unsafe { &*mine.run.get() })),
            // SAFETY: the run does not end during `with_open_run`.
            None => self.with_open_run(|_| look(unsafe { &*self.run.get() })),
        }
    }

    /// Calls `then` with this worker's run, locked, if the run goes on: see `Policy::when_open`.
    pub fn when_run_is_open(&self, then: &mut dyn FnMut(&Run, &LockedRun)) {
        self.with_open_run(|row| {
            // SAFETY: the run does not end during `with_open_run`, and the row is that of the run.
            let run = unsafe { &*self.run.get() };
            // SAFETY: as above.
            unsafe { (row.operations.when_open)(self, &mut |locked| then(run, locked)) };
        });
    }

    /// Calls `look` with this worker's run, if the run goes on and this is its worker 0. The caller
    /// occupies no worker of the run, or holds no lock of it.
    pub fn with_run_of_first(&self, look: &mut dyn FnMut(&Run)) {
        self.with_open_run(|_| {
            if self.index.get() == 0 {
                // SAFETY: the run does not end during `with_open_run`.
                look(unsafe { &*self.run.get() });
            }
        });
    }

    /// Calls `work` if the run has not ended. The run cannot end before `work` returns, since
    /// `retire` takes `run_lock`, too.
    fn with_open_run<R>(&self, work: impl FnOnce(&Row) -> R) -> Option<R> {
        if !process::is_known() {
            // The child of a fork that ran no handlers: a thread of the parent may hold the lock.
            return None;
        }
        // Above all a thread that holds the lock must not be cancelled.
        let _uncancelled = thread::Uncancelled::begin();
        self.run_lock.with(|()| {
            // Acquire: pairs with the Release in `assign`, so that row and policy are those of the
            // run
            let runs = self.run_tag.load(Ordering::Acquire) != 0;
            runs.then(|| work(self.row()))
        })
    }

    /// Wakes the worker if it sleeps in `help`. `from` is any worker, or None. If the calling
    /// thread occupies a worker of the run of `from`, and this is the run of `self`, too, then the
    /// run cannot end during the call, and no lock is needed.
    pub fn rouse(&self, from: Option<&Worker>) {
        if from.is_some_and(|from| from.mine_in_run_of(self).is_some()) {
            // SAFETY: the run does not end while the caller's task runs.
            unsafe { (self.row().operations.rouse)(self) };
        } else {
            // The worker may have seen by itself that its wait is over, and the run may have ended.
            // SAFETY: the run does not end during `with_open_run`.
            self.with_open_run(|row| unsafe { (row.operations.rouse)(self) });
        }
    }
}

impl Mine<'_> {
    /// Queues a task. Returns as `sched_spawn` does.
    pub fn queue(self, task: Task) -> c_int {
        // SAFETY: the thread occupies the place, so its run goes on; row and policy are those of
        // the run.
        entry::outcome(unsafe { (self.row().operations.spawn)(&self, task) })
    }

    /// Takes `task` back out of the queue, if the policy can, so that the caller can call it now.
    pub fn take_back(self, task: Task) -> bool {
        // SAFETY: the thread occupies the place, so its run goes on; row and policy are those of
        // the run.
        let taken = unsafe { (self.row().operations.take_back)(&self, task) };
        self.counters.tasks.add(usize::from(taken));
        taken
    }

    /// Queues a task again that was taken out of a queue and has not begun. It runs soon.
    pub fn put_back(self, task: Task) -> Result<(), NoMemory> {
        // SAFETY: the thread occupies the place, so its run goes on; row and policy are those of
        // the run.
        unsafe {
            let operations = &self.row().operations;
            (operations.spawn)(&self, task).or_else(|Full| (operations.put_back)(&self, task))
        }
    }

    /// Takes a stack for a new fiber. Each stack comes with a reserved slot in the run's queue, so
    /// that there is a slot for each suspended fiber.
    #[inline]
    pub fn take_stack(self) -> Result<Stack, NoMemory> {
        self.stacks.pop().map_or_else(|| self.take_stack_slowly(), Ok)
    }

    #[cold]
    fn take_stack_slowly(self) -> Result<Stack, NoMemory> {
        // SAFETY: the thread occupies the place, so its run goes on; row and policy are those of
        // the run.
        unsafe {
            (self.row().operations.reserve)(&self, 1)?;
            self.stacks
                .take()
                .inspect_err(|NoMemory| _ = (self.row().operations.reserve)(&self, -1))
        }
    }

    /// Reserves `more` slots in the run's queue for tasks that have begun, or gives slots back,
    /// which cannot fail.
    pub fn reserve(self, more: isize) -> Result<(), NoMemory> {
        // SAFETY: the thread occupies the place, so its run goes on; row and policy are those of
        // the run.
        unsafe { (self.row().operations.reserve)(&self, more) }
    }

    /// Returns a stack to the worker's cache: one that is free, or that the caller is about to
    /// leave for good.
    ///
    /// # Safety
    /// As for `StackCache::put`.
    #[inline(always)]
    pub unsafe fn put_stack(self, stack: Stack) {
        // SAFETY: by the caller's promise; there is room for the stack after `thin_stacks`.
        unsafe {
            if self.stacks.is_full() {
                self.thin_stacks();
            }
            self.stacks.put(stack);
        }
    }

    /// Moves a stack from the worker's cache to the process's store.
    ///
    /// # Safety
    /// As for `StackCache::move_one_to_store`.
    #[cold]
    #[inline(never)]
    unsafe fn thin_stacks(self) {
        // SAFETY: by the caller's promise; row and policy are those of the owner's run.
        unsafe {
            self.stacks.move_one_to_store();
            let _ = (self.row().operations.reserve)(&self, -1); // to reserve fewer cannot fail
        }
    }

    /// Queues a task that yields; see `Policy::line_up`.
    pub fn line_up(self, task: Task) {
        // SAFETY: the thread occupies the place, so its run goes on; row and policy are those of
        // the run.
        retry_until_memory(|| unsafe { (self.row().operations.line_up)(&self, task) });
    }

    /// Queues a task that the run has accepted before. It runs soon if the worker's queue has room,
    /// and behind all others if not.
    #[inline]
    pub fn queue_soon(self, task: Task) {
        // SAFETY: the thread occupies the place, so its run goes on; row and policy are those of
        // the run.
        unsafe {
            if (self.row().operations.spawn)(&self, task).is_err() {
                self.requeue(task);
            }
        }
    }

    /// Queues a task that this worker will take next, because the caller's task is about to end:
    /// see `Policy::spawn_last`. Else as `queue_soon`.
    pub fn queue_next(self, task: Task) {
        // SAFETY: as in `queue_soon`.
        unsafe {
            if (self.row().operations.spawn_last)(&self, task).is_err() {
                self.requeue(task);
            }
        }
    }

    /// See `Policy::hold`.
    #[inline]
    pub fn hold(self) {
        // SAFETY: the thread occupies the place, so its run goes on; `waiting`, row and policy are
        // those of the run.
        unsafe {
            match self.waiting.get().as_ref() {
                Some(waiting) => waiting.hold(),
                None => self.hold_in_policy(),
            }
        }
    }

    /// `hold`, where the policy has no counter of its own for each worker.
    #[cold]
    #[inline(never)]
    fn hold_in_policy(self) {
        // SAFETY: as in `hold`.
        unsafe { (self.row().operations.hold)(&self) };
    }

    /// See `Policy::hold`.
    #[inline]
    pub fn let_go(self) {
        // SAFETY: as in `hold`.
        unsafe {
            match self.waiting.get().as_ref() {
                Some(waiting) => waiting.let_go(),
                None => self.let_go_in_policy(),
            }
        }
    }

    /// `let_go`, where the policy has no counter of its own for each worker.
    #[cold]
    #[inline(never)]
    fn let_go_in_policy(self) {
        // SAFETY: as in `hold`.
        unsafe { (self.row().operations.let_go)(&self) };
    }
}

/// Repeats `queue` until it succeeds. A suspended task never waits here, since `take_stack`, or the
/// beginning of its blocking section, has reserved a slot in the queue for it.
fn retry_until_memory(queue: impl Fn() -> Result<(), NoMemory>) {
    while queue().is_err() {
        time::sleep(Duration::from_millis(1)); // no thread wakes this one; memory may be free then
    }
}
