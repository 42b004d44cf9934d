//! The ways of a task to its worker and back: spawned or queued, by the worker's own thread or another;
//! taken back by who forked it; made to go on after it has waited or given way.
//!
//! What the built-in deque can do is done here, inlined into the interface; the rest is the row's.

use crate::fiber::stack::Stack;
use crate::queue::injector::Refused;
use crate::queue::{Full, Owner};
use crate::runtime::identity::Mine;
use crate::runtime::record::{Row, Run, Worker};
use crate::sys::atomic::{AtomicUsize, Ordering};
use crate::sys::memory::NoMemory;
use crate::sys::{errno, process, registers, thread, time};
use crate::task::{Task, TaskFn};
use std::ffi::{c_int, c_void};
use std::time::Duration;

impl Worker {
    /// Adds the task that `task` makes of `f`, if that is not NULL and the caller the owner of a
    /// built-in deque. Some(false): it is half done, `Row::finish_spawn` does the rest.
    #[inline(always)]
    pub fn put_built_in(
        &self,
        f: Option<TaskFn>,
        task: impl FnOnce(TaskFn) -> Task,
    ) -> Option<bool> {
        let unlike = registers::unlike_thread_pointer(self.spawn_owner.load(Ordering::Relaxed));
        // Both conditions in one comparison: 0 < f where the pointers are equal; else the right
        // side is beyond all addresses.
        if f.map_or(0, |f| f as usize) <= unlike.wrapping_neg() {
            return None;
        }
        let task = task(f?);
        // SAFETY: `spawn_owner` says that the caller is the owner, and that the run has such deques.
        Some(unsafe { Owner::new(&*self.built_in.load(Ordering::Relaxed)).put(task) })
    }

    /// Takes `task`, if the caller is the owner of a built-in deque and it is the youngest there.
    /// Some(false): it is half done, `retake_built_in` does the rest.
    #[inline(always)]
    pub fn take_built_in(&self, task: Task) -> Option<bool> {
        self.take_if(&self.spawn_owner, task)
    }

    /// The same, for a caller that may call the task by a jump.
    #[inline(always)]
    pub fn take_built_in_to_jump(&self, task: Task) -> Option<bool> {
        self.take_if(&self.join_owner, task)
    }

    #[inline(always)]
    fn take_if(&self, owner: &AtomicUsize, task: Task) -> Option<bool> {
        if !registers::is_thread_pointer(owner.load(Ordering::Relaxed)) {
            return None;
        }
        // SAFETY: `spawn_owner` says that the caller is the owner, and that the run has such deques; so does `join_owner`.
        let taken = unsafe { (*self.built_in.load(Ordering::Relaxed)).claim_this(task) };
        if taken {
            self.counters.tasks.add(1);
        }
        Some(taken)
    }

    /// The rest of a `take_built_in`: true if `task` was taken after all.
    ///
    /// # Safety
    /// `take_built_in` returned Some(false) for it just now.
    pub unsafe fn retake_built_in(&self, task: Task) -> bool {
        // SAFETY: as in take_built_in.
        let taken = unsafe { (*self.built_in.load(Ordering::Relaxed)).retake(task) };
        self.counters.tasks.add(usize::from(taken));
        taken
    }

    /// Queues a task that has run already, behind all others. The run goes on meanwhile.
    #[cold]
    #[inline(never)]
    pub fn requeue(&self, task: Task) {
        // SAFETY: the owner's place belongs to a run; row and policy are that run's.
        until_there_is_memory(|| unsafe { (self.row().operations.requeue)(self, task) });
    }

    /// Queues a task of this run that was set aside: soon to go on, if the caller is a worker of this
    /// run; else behind the others. `from`: as for `rouse`.
    pub fn queue_continued(&self, task: Task, from: Option<&Worker>) {
        let Some(mine) = from.and_then(|from| from.mine_in_run_of(self)) else {
            // The run goes on, for the task that waits; or it was a parent process's.
            self.while_it_runs(|_| self.requeue(task));
            return;
        };
        mine.queue_soon(task);
    }

    /// Adds a task to this worker's run, from any thread; returns as `sched_spawn` does.
    ///
    /// # Safety
    /// `f` accepts `closure`, as for sched_spawn.
    #[inline(always)]
    pub unsafe fn spawn(&self, f: Option<TaskFn>, closure: *mut c_void) -> c_int {
        // All ways out are returns, or calls of one signature in tail position: jumps, and no
        // prologue here.
        match self.put_built_in(f, |f| Task { f, closure }) {
            Some(true) => 0,
            // SAFETY: begun just now.
            Some(false) => unsafe { (self.row().finish_spawn)(f, closure, self) },
            // SAFETY: passed on.
            None => unsafe { (self.row().spawn)(f, closure, self) },
        }
    }

    /// `spawn`, but for the worker's own thread.
    ///
    /// # Safety
    /// As for that.
    #[cold]
    #[inline(never)]
    pub unsafe extern "C" fn spawn_elsewhere(
        f: Option<TaskFn>,
        closure: *mut c_void,
        worker: &Worker,
    ) -> c_int {
        let Some(f) = f else { return errno::failed(libc::EINVAL) };
        let Some(mine) = worker.mine() else {
            // SAFETY: passed on.
            return unsafe { worker.inject(f, closure) };
        };
        // SAFETY: the owner's place belongs to a run; row and policy are that run's.
        unsafe { (mine.row().spawn)(Some(f), closure, &mine) }
    }

    /// Queues a task for this worker's run, from any thread; returns as `sched_spawn` does.
    ///
    /// # Safety
    /// `task.f` accepts its closure, as for sched_spawn.
    pub unsafe fn queue(&self, task: Task) -> c_int {
        let Task { f, closure } = task;
        let Some(mine) = self.mine() else {
            // SAFETY: passed on.
            return unsafe { self.inject(f, closure) };
        };
        // SAFETY: the owner's place belongs to a run; row and policy are that run's.
        unsafe { (mine.row().queue)(f, closure, &mine) }
    }

    /// Adds a task to this worker's run, from a thread that is no worker of it.
    ///
    /// # Safety
    /// `f` accepts `closure`, as for sched_spawn.
    #[cold]
    #[inline(never)]
    unsafe fn inject(&self, f: TaskFn, closure: *mut c_void) -> c_int {
        let task = Task { f, closure };
        // SAFETY: the run goes on meanwhile.
        match self.while_it_runs(|row| unsafe { (row.operations.inject)(self, task) }) {
            Some(Ok(())) => 0,
            Some(Err(Refused::Full)) => errno::failed(libc::EAGAIN),
            Some(Err(Refused::Closed)) | None => errno::failed(libc::EINVAL),
        }
    }

    /// Calls `look` with the run of this worker's run, from any thread; None if that has ended.
    pub fn with_run<R>(&self, look: impl FnOnce(&Run) -> R) -> Option<R> {
        match self.mine() {
            // SAFETY: the caller's task holds the run open.
            Some(mine) => Some(look(unsafe { &*mine.run.get() })),
            // SAFETY: the run goes on meanwhile.
            None => self.while_it_runs(|_| look(unsafe { &*self.run.get() })),
        }
    }

    /// Does `work` if the run has not ended, which it then cannot before that is done.
    fn while_it_runs<R>(&self, work: impl FnOnce(&Row) -> R) -> Option<R> {
        if !process::is_known() {
            return None; // a child of a fork that ran no handlers: a thread of the parent may hold the gate
        }
        let _uncancelled = thread::Uncancelled::begin(); // with the gate held, above all
        self.run_lock.with(|()| {
            // Acquire: pairs with the Release in assign, so that row and kind are this run's.
            let runs = self.run_tag.load(Ordering::Acquire) != 0;
            runs.then(|| work(self.row()))
        })
    }

    /// Wakes the worker if it sleeps in `help`. `from`: the caller's worker, or any of a run of
    /// which it is no worker, or none.
    pub fn rouse(&self, from: Option<&Worker>) {
        if from.is_some_and(|from| from.mine_in_run_of(self).is_some()) {
            // SAFETY: the caller's task holds the run open.
            unsafe { (self.row().operations.rouse)(self) };
        } else {
            // What it waited for may have been seen meanwhile, and the run have ended.
            // SAFETY: the run goes on meanwhile.
            self.while_it_runs(|row| unsafe { (row.operations.rouse)(self) });
        }
    }
}

impl Mine<'_> {
    /// Takes `task` back, if it is at hand, to be called now.
    pub fn take_back(self, task: Task) -> bool {
        // SAFETY: the owner's place belongs to a run; row and policy are that run's.
        let taken = unsafe { (self.row().operations.take_back)(&self, task) };
        self.counters.tasks.add(usize::from(taken));
        taken
    }

    /// Queues a task again that was taken out of a queue and has not begun, to run soon.
    pub fn put_back(self, task: Task) -> Result<(), NoMemory> {
        // SAFETY: the owner's place belongs to a run; row and policy are that run's.
        unsafe {
            let operations = &self.row().operations;
            (operations.spawn)(&self, task).or_else(|Full| (operations.put_back)(&self, task))
        }
    }

    /// A stack for another fiber. With each stack a place in the run's queue is reserved, so that the run has one for
    /// each fiber that waits.
    #[inline]
    pub fn take_stack(self) -> Result<Stack, NoMemory> {
        self.stacks.pop().map_or_else(|| self.take_stack_slowly(), Ok)
    }

    #[cold]
    fn take_stack_slowly(self) -> Result<Stack, NoMemory> {
        // SAFETY: the owner's place belongs to a run; row and policy are that run's.
        unsafe {
            (self.row().operations.reserve)(&self, 1)?;
            self.stacks
                .take()
                .inspect_err(|NoMemory| _ = (self.row().operations.reserve)(&self, -1))
        }
    }

    /// Gives back a stack that is free, or will be.
    ///
    /// # Safety
    /// As for `StackCache::put`.
    #[inline(always)]
    pub unsafe fn put_stack(self, stack: Stack) {
        // SAFETY: passed on.
        unsafe {
            if self.stacks.is_full() {
                self.thin_stacks();
            }
            self.stacks.put(stack);
        }
    }

    /// Gives a stack of the stack cache to the process's store.
    ///
    /// # Safety
    /// As for `put_stack`.
    #[cold]
    #[inline(never)]
    unsafe fn thin_stacks(self) {
        // SAFETY: passed on. (To reserve fewer places cannot fail.)
        unsafe {
            self.stacks.move_one_to_store();
            let _ = (self.row().operations.reserve)(&self, -1);
        }
    }

    /// Queues a task that gives way; see `Policy::line_up`.
    pub fn line_up(self, task: Task) {
        // SAFETY: the owner's place belongs to a run; row and policy are that run's.
        until_there_is_memory(|| unsafe { (self.row().operations.line_up)(&self, task) });
    }

    /// Queues a task that the run has accepted before, to run soon, if that can be.
    #[inline]
    pub fn queue_soon(self, task: Task) {
        // SAFETY: the owner's place belongs to a run; row and policy are that run's.
        unsafe {
            if (self.row().operations.spawn)(&self, task).is_err() {
                self.requeue(task);
            }
        }
    }

    /// See `Policy::hold`.
    #[inline]
    pub fn hold(self) {
        // SAFETY: the owner's place belongs to a run; the number, row and policy are that run's.
        unsafe {
            match self.waiting.get().as_ref() {
                Some(waiting) => waiting.hold(),
                None => (self.row().operations.hold)(&self),
            }
        }
    }

    /// See `Policy::hold`.
    #[inline]
    pub fn let_go(self) {
        // SAFETY: as in hold.
        unsafe {
            match self.waiting.get().as_ref() {
                Some(waiting) => waiting.let_go(),
                None => (self.row().operations.let_go)(&self),
            }
        }
    }
}

/// Repeats `queue` until it succeeds. A task that was set aside never waits here: its place in the queue was reserved
/// (`take_stack`). A task that returns from a blocking section may wait: its place is reserved with the stack of the
/// thread that took over its worker, and there may have been no memory for that.
fn until_there_is_memory(queue: impl Fn() -> Result<(), NoMemory>) {
    while queue().is_err() {
        time::sleep(Duration::from_millis(1)); // nobody wakes it; memory may be free then
    }
}
