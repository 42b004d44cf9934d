//! Operations on tasks by the thread that occupies a worker: it spawns tasks, takes them back, and
//! queues suspended ones. [`outsider`](super::outsider) has the operations of other threads.
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

/// The progress of an operation on a built-in deque.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum BuiltInStep {
    Done,
    /// The first half is done, and the second must follow.
    Unfinished,
    /// The built-in part does not apply, and nothing was done.
    NotApplicable,
}

impl Worker {
    /// Adds a task to this worker's run, from any thread. Returns the value of `sched_spawn`.
    ///
    /// # Safety
    /// `f` accepts `closure`, as for sched_spawn.
    #[inline(always)]
    pub unsafe fn spawn(&self, f: Option<TaskFn>, closure: *mut c_void) -> c_int {
        // Each exit is a return, or a call of the same signature in tail position, which the
        // compiler makes a jump. So this function needs no prologue.
        match self.put_built_in(f, |f| Task { f, closure }) {
            BuiltInStep::Done => 0,
            // SAFETY: `put_built_in` has left the spawn of these arguments unfinished.
            BuiltInStep::Unfinished => unsafe { entry::finish_spawn(f, closure, self) },
            // SAFETY: `f` accepts `closure`; the row is that of the worker's current or last run.
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
        // SAFETY: `spawn_owner` is this thread's pointer, so it owns the worker; `built_in` is set.
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
        // SAFETY: `owner` is this thread's pointer, so it owns the worker; `built_in` is set.
        let taken = unsafe { (*self.built_in.load(Ordering::Relaxed)).claim_this(task) };
        if !taken {
            return BuiltInStep::Unfinished;
        }
        self.counters.tasks.add(1);
        BuiltInStep::Done
    }

    /// The second half of a `take_built_in` that is unfinished. True if `task` was taken after all.
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

    /// True if `is_asked` works for this worker's deque; otherwise `is_asked` always returns false.
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

    /// True if a built-in deque's alarm is set: tasks from outside the run may have their turn.
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

    /// See `Policy::wakes_at_spawn`. The calling thread occupies a worker of the run.
    pub fn wakes_at_spawn(&self) -> Option<Duration> {
        // SAFETY: the caller occupies a worker of the run, so the run does not end.
        unsafe { self.operations_for_any() }.wakes_at_spawn()
    }
}

impl Mine<'_> {
    /// Queues a task. Returns the value of `sched_spawn`.
    pub fn queue(self, task: Task) -> c_int {
        entry::outcome(self.operations().spawn(task))
    }

    /// Takes `task` back out of the queue, if the policy can, so that the caller can run it now.
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

    /// Takes a stack for a new fiber. Each stack has a reserved slot in the run's queue.
    #[inline]
    pub fn take_stack(self) -> Result<Stack, NoMemory> {
        self.stacks.pop().map_or_else(|| self.take_stack_slowly(), Ok)
    }

    #[cold]
    fn take_stack_slowly(self) -> Result<Stack, NoMemory> {
        self.reserve(1)?;
        self.stacks.take().inspect_err(|NoMemory| _ = self.reserve(-1))
    }

    /// Reserves `more` slots in the run's queue for begun tasks; fails only if `more` > 0.
    pub fn reserve(self, more: isize) -> Result<(), NoMemory> {
        self.operations().reserve(more)
    }

    /// Returns a stack that is free, or that the caller leaves for good, to the worker's cache.
    ///
    /// # Safety
    /// The contract of `StackCache::put`.
    #[inline(always)]
    pub unsafe fn put_stack(self, stack: Stack) {
        // SAFETY: the stack is the run's and nobody stays on it; `thin_stacks` makes room.
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
    /// The contract of `StackCache::move_one_to_store`.
    #[cold]
    #[inline(never)]
    unsafe fn thin_stacks(self) {
        // SAFETY: no thread is on a stack of the cache.
        unsafe { self.stacks.move_one_to_store() };
        let _ = self.reserve(-1); // to reserve fewer cannot fail
    }

    /// Queues a task that yields; see `Policy::line_up`.
    pub fn line_up(self, task: Task) {
        retry_until_memory(|| self.operations().line_up(task));
    }

    /// Queues a task that the run has accepted before: to run soon if the worker's queue has room,
    /// and otherwise behind all others.
    #[inline]
    pub fn queue_soon(self, task: Task) {
        if self.operations().spawn(task).is_err() {
            self.requeue(task);
        }
    }

    /// Queues a task that this worker takes next, because the caller's task is about to end: see
    /// `Policy::spawn_last`. If the queue is full, the task goes behind all others.
    pub fn queue_next(self, task: Task) {
        if self.operations().spawn_last(task).is_err() {
            self.requeue(task);
        }
    }

    /// See `Policy::hold`.
    #[inline]
    pub fn hold(self) {
        // SAFETY: null, or a counter of the run, which has not ended.
        match unsafe { self.waiting.get().as_ref() } {
            Some(waiting) => waiting.hold(),
            None => self.hold_in_policy(),
        }
    }

    /// Does `hold` for a policy without a counter for each worker.
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

    /// Does `let_go` for a policy without a counter for each worker.
    #[cold]
    #[inline(never)]
    fn let_go_in_policy(self) {
        self.operations().let_go();
    }
}
