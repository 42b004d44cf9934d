//! What the thread that occupies a worker does with tasks: it spawns them, takes them back, and
//! queues those that continue. Other threads: [`outsider`](super::outsider).
//!
//! The operations of the built-in deque are inlined here into the functions of the interface. For
//! all other queues the functions call the worker's row. The loads of `spawn_owner`, `join_owner`
//! and `built_in` are Relaxed for the reason that [`record`](super::record) gives.

use crate::fiber::stack::Stack;
use crate::queue::{Full, Owner, PrivatePart};
use crate::runtime::entry;
use crate::runtime::identity::Mine;
use crate::runtime::outsider::retry_until_memory;
use crate::runtime::record::Worker;
use crate::sys::atomic::{AtomicUsize, Ordering};
use crate::sys::memory::NoMemory;
use crate::sys::registers;
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
            // SAFETY: the calling thread owns this worker.
            unsafe { self.owned() }.operations().restored();
        }
        taken
    }

    /// True if thieves can ask this worker; else `is_asked` is always false.
    #[inline]
    pub fn can_be_asked(&self) -> bool {
        !self.built_in.load(Ordering::Relaxed).is_null()
    }

    /// True if a thief or a sleeper has asked this worker to publish tasks. One load.
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

    /// See `Policy::publish_tasks`. Only the owner can publish this worker's tasks.
    pub fn publish_tasks(&self, takes: Option<Duration>) {
        debug_assert!(self.is_mine(), "a worker's tasks are published by another thread");
        if let Some(mine) = self.mine() {
            mine.operations().publish_tasks(takes);
        }
    }

    /// See `Policy::wakes_at_spawn`. The calling thread occupies a place of the run.
    pub fn wakes_at_spawn(&self) -> Option<Duration> {
        // SAFETY: by the caller's promise the run goes on.
        unsafe { self.operations_for_any() }.wakes_at_spawn()
    }
}

impl Mine<'_> {
    /// Queues a task. Returns as `sched_spawn` does.
    pub fn queue(self, task: Task) -> c_int {
        entry::outcome(self.operations().spawn(task))
    }

    /// Takes `task` back out of the queue, if the policy can, so that the caller can call it now.
    pub fn take_back(self, task: Task) -> bool {
        let taken = self.operations().take_back(task);
        self.counters.tasks.add(usize::from(taken));
        taken
    }

    /// Queues a task again that was taken out of a queue and has not begun. It runs soon.
    pub fn put_back(self, task: Task) -> Result<(), NoMemory> {
        let operations = self.operations();
        operations.spawn(task).or_else(|Full| operations.put_back(task))
    }

    /// Takes a stack for a new fiber. Each stack comes with a reserved slot in the run's queue, so
    /// that there is a slot for each suspended fiber.
    #[inline]
    pub fn take_stack(self) -> Result<Stack, NoMemory> {
        self.stacks.pop().map_or_else(|| self.take_stack_slowly(), Ok)
    }

    #[cold]
    fn take_stack_slowly(self) -> Result<Stack, NoMemory> {
        self.reserve(1)?;
        self.stacks.take().inspect_err(|NoMemory| _ = self.reserve(-1))
    }

    /// Reserves `more` slots in the run's queue for tasks that have begun, or gives slots back,
    /// which cannot fail.
    pub fn reserve(self, more: isize) -> Result<(), NoMemory> {
        self.operations().reserve(more)
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
        // SAFETY: by the caller's promise.
        unsafe { self.stacks.move_one_to_store() };
        let _ = self.reserve(-1); // to reserve fewer cannot fail
    }

    /// Queues a task that yields; see `Policy::line_up`.
    pub fn line_up(self, task: Task) {
        retry_until_memory(|| self.operations().line_up(task));
    }

    /// Queues a task that the run has accepted before. It runs soon if the worker's queue has room,
    /// and behind all others if not.
    #[inline]
    pub fn queue_soon(self, task: Task) {
        if self.operations().spawn(task).is_err() {
            self.requeue(task);
        }
    }

    /// Queues a task that this worker will take next, because the caller's task is about to end:
    /// see `Policy::spawn_last`. Else as `queue_soon`.
    pub fn queue_next(self, task: Task) {
        if self.operations().spawn_last(task).is_err() {
            self.requeue(task);
        }
    }

    /// See `Policy::hold`.
    #[inline]
    pub fn hold(self) {
        // SAFETY: null, or the run's, which goes on.
        match unsafe { self.waiting.get().as_ref() } {
            Some(waiting) => waiting.hold(),
            None => self.hold_in_policy(),
        }
    }

    /// `hold`, where the policy has no counter of its own for each worker.
    #[cold]
    #[inline(never)]
    fn hold_in_policy(self) {
        self.operations().hold();
    }

    /// See `Policy::hold`.
    #[inline]
    pub fn let_go(self) {
        // SAFETY: as in `hold`.
        match unsafe { self.waiting.get().as_ref() } {
            Some(waiting) => waiting.let_go(),
            None => self.let_go_in_policy(),
        }
    }

    /// `let_go`, where the policy has no counter of its own for each worker.
    #[cold]
    #[inline(never)]
    fn let_go_in_policy(self) {
        self.operations().let_go();
    }
}
