//! Fork and join: a task on a descriptor of the caller's, and the wait for its end.
//!
//! # Protocol
//!
//! The queues hold the task {`run_forked`, descriptor} and know nothing of forks. *join* pops the
//! youngest task of the own deque, if that is the child, as it is unless somebody stole it; then it is
//! called like a function, and the descriptor is written once more, to mark it as joined. If not, the caller waits
//! (`ext`).
//!
//! What the descriptor's words say is told in `sync::forked`.
//!
//! # Cost
//!
//! Fork writes the descriptor's two words and the deque's; join compares the latter, marks the descriptor as joined,
//! and jumps. The cost of that store could not be measured (fib, tree; one worker); without it a second join
//! would wait for ever. In a process with C++'s runtime, join calls the task in a frame that no exception passes
//! (`sys::unwind`). Such a frame in each join of a C program would make fib 7 % slower.

use crate::api::Latch;
pub use crate::runtime::forked::{misuse, run_forked};
use crate::runtime::forked::{queued_task, run_now};
use crate::runtime::identity::Mine;
use crate::runtime::record::Worker;
use crate::runtime::waiter::Waiter;
pub use crate::sync::forked::Forked;
use crate::sys::atomic::AtomicUsize;
use crate::sys::unwind::{ForkedTask, ProgramFunction, call_guarded};
use crate::task::{Scheduler, Task, TaskFn};
use std::ffi::{c_int, c_void};
use std::ptr;

impl Forked {
    /// Forks `f(closure)`: `sched_fork`.
    ///
    /// # Safety
    /// `f` accepts `closure`; the descriptor lives until it is joined.
    #[inline(always)]
    pub unsafe fn fork(&self, f: Option<TaskFn>, closure: *mut c_void, worker: &Worker) {
        #[cfg(debug_assertions)]
        self.note_fork(worker);
        // As in Worker::spawn, all ways out are jumps.
        match worker.put_built_in(f, |f| self.to_queue(f, closure)) {
            Some(true) => (),
            // SAFETY: begun just now.
            Some(false) => unsafe { fork_slowly(self, f, closure, worker) },
            // SAFETY: by the caller's promise.
            None => unsafe { (worker.row().fork)(self, f, closure, worker) },
        }
    }

    /// `fork`, of what the caller can do itself as well: false if no queue has room for it, and it
    /// was not forked.
    ///
    /// # Safety
    /// As for `fork`.
    #[inline]
    pub unsafe fn offer(&self, f: TaskFn, closure: *mut c_void, worker: &Worker) -> bool {
        let offered = match worker.put_built_in(Some(f), |f| self.to_queue(f, closure)) {
            Some(true) => true,
            // SAFETY: begun just now.
            Some(false) => unsafe { queue_slowly(self, worker) },
            // SAFETY: the descriptor's task.
            None => unsafe { worker.queue(self.to_queue(f, closure)) == 0 },
        };
        #[cfg(debug_assertions)]
        if offered {
            self.note_fork(worker);
        }
        offered
    }

    /// Waits until the task has ended; calls it, if nobody has begun it: `sched_join`.
    ///
    /// # Safety
    /// It was forked, and not joined yet.
    #[inline(always)]
    pub unsafe fn join(&self, worker: &Worker) {
        #[cfg(debug_assertions)]
        self.note_join(worker);
        match worker.take_built_in_to_jump(queued_task(self)) {
            // SAFETY: taken, so not begun, and the caller's.
            Some(true) => unsafe {
                let Task { f, closure } = self.take();
                f(closure, worker.handle());
            },
            // SAFETY: begun just now.
            Some(false) => unsafe { join_slowly(self, worker) },
            // Most often, where fork calls the task at once.
            None if self.is_over() => self.forget(),
            // SAFETY: by the caller's promise.
            None => unsafe { join_elsewhere(self, worker) },
        }
    }

    /// `fork`, where there is no run to be had: the task is run at once.
    ///
    /// # Safety
    /// `f` accepts `closure`, and NULL for its `s`.
    #[cold]
    #[inline(never)] // its frame is guarded
    pub unsafe fn run_outside(&self, f: TaskFn, closure: *mut c_void) {
        #[cfg(debug_assertions)]
        self.note_fork_outside();
        self.set(f, closure);
        // SAFETY: by the caller's promise.
        call_guarded::<ForkedTask, _>(|| unsafe { f(closure, ptr::null_mut()) });
        self.end_unawaited();
    }

    /// `join`, by a thread that is in no task and without a run.
    #[cold]
    pub fn join_outside(&self) {
        #[cfg(debug_assertions)]
        self.note_join_outside();
        if self.was_joined() {
            joined_before();
        }
        crate::api::wait_outside(self);
        self.forget();
    }

    /// `join`, but what nobody has begun, and is at hand, is left to the caller: true.
    ///
    /// # Safety
    /// As for `join`.
    #[inline(always)]
    pub unsafe fn take_back(&self, worker: &Worker) -> bool {
        #[cfg(debug_assertions)]
        self.note_join(worker);
        match worker.take_built_in(queued_task(self)) {
            Some(true) => true,
            // SAFETY: begun just now.
            Some(false) => unsafe { retake_or_wait(self, worker) },
            // SAFETY: by the caller's promise.
            None => unsafe { join_any(self, worker) },
        }
    }

    /// Sets it: what lies in the queue from now on.
    #[inline(always)]
    fn to_queue(&self, f: TaskFn, closure: *mut c_void) -> Task {
        self.set(f, closure);
        queued_task(self)
    }
}

impl Latch for Forked {
    fn word(&self) -> &AtomicUsize {
        Forked::word(self)
    }

    fn is_over(&self) -> bool {
        Forked::is_over(self)
    }

    fn leave_word(&self, waiter: Waiter) -> Option<usize> {
        self.leave_name(waiter.pack())
    }

    fn thief(&self) -> Option<&Worker> {
        // SAFETY: a worker's record, which is never freed.
        self.runner().map(|thief| unsafe { Worker::of(thief.cast()) })
    }
}

/// The rest of a put that was half done: false if the queue has no room for it.
///
/// # Safety
/// As said, just now.
#[cold]
#[inline(never)]
unsafe fn queue_slowly(forked: &Forked, worker: &Worker) -> bool {
    let queued = queued_task(forked);
    // SAFETY: passed on.
    unsafe { (worker.row().finish_spawn)(Some(queued.f), queued.closure, worker) == 0 }
}

/// The rest of a fork whose quick put was half done.
///
/// # Safety
/// As said, just now, with the same arguments.
#[cold]
#[inline(never)]
pub unsafe extern "C" fn fork_slowly(
    forked: &Forked,
    f: Option<TaskFn>,
    closure: *mut c_void,
    worker: &Worker,
) {
    // SAFETY: passed on; if there is no room for it, nobody else has it.
    unsafe {
        if !queue_slowly(forked, worker) {
            run_now(forked, f, closure, worker);
        }
    }
}

/// The rest of a join whose quick take was half done.
///
/// # Safety
/// As said, just now.
#[cold]
#[inline(never)] // its frame is guarded
pub unsafe extern "C" fn join_slowly(forked: &Forked, worker: &Worker) {
    // SAFETY: passed on; taken, so not begun, and the caller's.
    unsafe {
        if retake_or_wait(forked, worker) {
            let Task { f, closure } = forked.take();
            call_guarded::<ForkedTask, _>(|| f(closure, worker.handle()));
        } else {
            forked.forget();
        }
    }
}

/// The same, but a task that nobody has begun, and is at hand, is left to the caller: true.
///
/// # Safety
/// As for `join_slowly`.
#[cold]
#[inline(never)]
unsafe fn retake_or_wait(forked: &Forked, worker: &Worker) -> bool {
    // SAFETY: passed on.
    let taken = unsafe { worker.retake_built_in(queued_task(forked)) };
    if !taken {
        if forked.was_joined() {
            joined_before();
        }
        wait(forked, worker);
    }
    taken
}

/// `ext::wait`. While the task seems not to have begun, the wait is registered with the worker's run: if all workers
/// of the run become idle and all its queues are empty, nobody will ever begin the task, and the process ends with a
/// message.
fn wait(forked: &Forked, worker: &Worker) -> bool {
    let mine = if forked.is_fresh() { worker.mine() } else { None };
    mine.inspect(|mine| mine.note_join(forked));
    let waited = crate::api::wait(forked, worker);
    mine.inspect(|mine| mine.forget_join(forked));
    waited
}

/// A join in any other case; with C++'s runtime in the process, every join.
///
/// # Safety
/// The descriptor was forked, and not joined yet.
#[inline(never)] // its frame is guarded
unsafe extern "C" fn join_elsewhere(forked: &Forked, worker: &Worker) {
    // SAFETY: passed on; taken back, so not begun, and the caller's.
    unsafe {
        let taken = match worker.take_built_in(queued_task(forked)) {
            Some(true) => true,
            Some(false) => return join_slowly(forked, worker),
            None => join_any(forked, worker),
        };
        if taken {
            let Task { f, closure } = forked.take();
            let s = worker.mine().map_or(worker, Mine::worker).handle();
            call_guarded::<ForkedTask, _>(|| f(closure, s));
        } else {
            forked.forget();
        }
    }
}

/// The same, but a task that nobody has begun, and is at hand, is left to the caller: true.
///
/// # Safety
/// As for `join_elsewhere`.
#[cold]
unsafe fn join_any(forked: &Forked, worker: &Worker) -> bool {
    if forked.is_over() {
        return false;
    }
    if forked.was_joined() {
        joined_before();
    }
    if forked.is_fresh()
        && let Some(mine) = worker.mine()
        && mine.take_back(queued_task(forked))
    {
        return true;
    }
    if !wait(forked, worker) {
        misuse(
            "sched_join",
            "the run of s has ended, or goes on in the parent of this child made by fork, which cannot join its tasks",
        );
    }
    false
}

#[cold]
#[inline(never)]
fn joined_before() -> ! {
    misuse(
        "sched_join",
        "the descriptor has no task: it was joined already, forked on twice before it was joined, or never forked",
    )
}

/// Calls `here`, and `there`, which another worker may take meanwhile; returns when both have
/// ended. Each gets the worker that it runs on. `C` is what they call of the program's.
///
/// # Safety
/// The caller owns `worker`; `there` may be called on another thread.
#[inline]
pub unsafe fn both<C: ProgramFunction, T: FnOnce(&Worker) + Copy>(
    worker: &Worker,
    here: impl FnOnce(&Worker),
    there: T,
) {
    let forked = Forked::unset();
    // SAFETY: `there` and the descriptor live until the task was joined, below.
    unsafe {
        let offered = forked.offer(call::<C, T>, (&raw const there).cast_mut().cast(), worker);
        here(worker);
        let worker = Worker::current_in_run_of(worker.handle()); // `here` may have waited
        if !offered || forked.take_back(worker) {
            there(worker);
        }
    }
}

/// Calls `work` on a worker of the run: the caller's own, or any, for a thread that has none,
/// and then waits. Returns as `sched_spawn` does. `C` is what it calls of the program's.
///
/// # Safety
/// `work` may be called on another thread.
pub unsafe fn within<C: ProgramFunction, T: FnOnce(&Worker) + Copy>(
    worker: &Worker,
    work: T,
) -> c_int {
    if let Some(mine) = worker.mine() {
        work(&mine);
        return 0;
    }
    let forked = Forked::unset();
    let queued = forked.to_queue(call::<C, T>, (&raw const work).cast_mut().cast());
    // SAFETY: `work` and the descriptor live until the task is over, which is waited for.
    if unsafe { worker.queue(queued) } != 0 {
        return -1;
    }
    crate::api::wait_elsewhere(&forked);
    0
}

/// The task of a function of ours.
///
/// # Safety
/// `work` points to a `T`, which may be called here.
unsafe extern "C" fn call<C: ProgramFunction, T: FnOnce(&Worker) + Copy>(
    work: *mut c_void,
    s: *mut Scheduler,
) {
    // SAFETY: by the caller's promise; `s` is the worker that runs the task.
    call_guarded::<C, _>(|| unsafe { (*work.cast::<T>())(Worker::of(s)) });
}

/// What debug builds know of a descriptor.
#[cfg(debug_assertions)]
mod check {
    use super::{Forked, Worker, misuse};
    use crate::runtime::identity;
    use crate::sys::atomic::Ordering;

    /// With the run's address and the descriptor's below: those have 48 bits.
    const FORKED: usize = 0x5ced << 48;
    const JOINED: usize = 2;

    /// On the fiber of the task that forks or joins, whichever run `s` is of: that stays the same.
    fn note(more: isize) {
        if let Some(fiber) = identity::current_fiber() {
            fiber.count_forks(more);
        }
    }

    impl Forked {
        pub fn note_fork(&self, worker: &Worker) {
            self.check.store(self.forked_in(worker.run_id()), Ordering::Relaxed);
            note(1);
        }

        /// In which run, 0 for none, and on which descriptor: who copies that copies this.
        fn forked_in(&self, run: usize) -> usize {
            FORKED | (run ^ std::ptr::from_ref(self).addr())
        }

        /// See `run_outside`.
        pub fn note_fork_outside(&self) {
            self.check.store(self.forked_in(0), Ordering::Relaxed);
            note(1);
        }

        /// See `join_outside`.
        pub fn note_join_outside(&self) {
            self.note_join_by(|_| true);
        }

        pub fn note_join(&self, worker: &Worker) {
            // A thread that is no worker may come when the run has ended.
            self.note_join_by(|run| run == worker.run_id() || worker.has_ended());
        }

        /// `may`: whether what was forked in this run may be joined by the caller.
        fn note_join_by(&self, may: impl Fn(usize) -> bool) {
            match self.check.swap(JOINED, Ordering::Relaxed) {
                JOINED => misuse("sched_join", "the task was joined already"),
                check if check >> 48 != FORKED >> 48 => {
                    misuse("sched_join", "the descriptor was not forked")
                }
                check if check != self.forked_in(0) && !may(self.forked_in(check) & !FORKED) => {
                    misuse(
                        "sched_join",
                        "the task was forked in another run, or its descriptor was copied",
                    )
                }
                _ => {}
            }
            note(-1);
        }
    }
}
