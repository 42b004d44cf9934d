//! Fork and join: a task with a descriptor in the caller's memory, and the wait for its end. This
//! is one file because each way to join falls back on the next: own deque, elsewhere, wait.
//!
//! # Protocol
//!
//! The queues hold the task {`run_forked`, descriptor} and know nothing of forks. `join` pops the
//! youngest task of the worker's own deque if that task is the child, marks the descriptor as
//! joined, and calls the child. If the child was stolen, the caller waits (`api::wait`).
//!
//! The *built-in part* of fork and join is inlined code for the default deque (`runtime::owner`).
//! The functions here call it first, and do the rest if it does not apply or does not finish.
//! `sync::forked` describes the words of the descriptor.
//!
//! # Cost
//!
//! Fork writes two words of the descriptor and two words of the deque. Join compares the words of
//! the deque, marks the descriptor as joined, and jumps to the child. The cost of the mark could
//! not be measured (fib, tree; one worker); without the mark a second join would wait forever. In a
//! process with the C++ runtime, join calls the child in a frame that stops exceptions
//! (`sys::unwind`). This frame would make fib in C 7 % slower.

#[cfg(debug_assertions)]
mod check;

use crate::api::wait::{Latch, Wait, sleep_until_over};
use crate::policy::{LoopStack, Parts};
pub use crate::runtime::forked::{misuse, run_forked};
use crate::runtime::forked::{queued_task, run_now};
use crate::runtime::host::outside_section;
use crate::runtime::identity::Mine;
use crate::runtime::owner::BuiltInStep;
use crate::runtime::record::Worker;
use crate::runtime::wait_note::{Object, WaitsFor};
use crate::runtime::waiter::Waiter;
use crate::runtime::{entry, guest, observed};
pub use crate::sync::forked::Forked;
use crate::sys::atomic::AtomicUsize;
use crate::sys::detector;
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
        // Each arm ends in a jump, as in `Worker::spawn`.
        match worker.put_built_in(f, |f| self.to_queue(f, closure)) {
            BuiltInStep::Done => (),
            // SAFETY: the built-in part has begun the fork just now, with these arguments.
            BuiltInStep::Unfinished => unsafe { fork_slowly(self, f, closure, worker) },
            // SAFETY: `f` accepts `closure`, and the descriptor lives until it is joined.
            BuiltInStep::NotApplicable => unsafe { (worker.row().fork)(self, f, closure, worker) },
        }
    }

    /// Forks a task that the caller can also run itself. `function` is the address of the program's
    /// function that the task will call. Returns false, and forks nothing, if no queue has room.
    ///
    /// # Safety
    /// The contract of `fork`.
    #[inline]
    pub unsafe fn offer(
        &self,
        f: TaskFn,
        closure: *mut c_void,
        function: usize,
        worker: &Worker,
    ) -> bool {
        let offered = match worker.put_built_in(Some(f), |f| self.to_queue(f, closure)) {
            BuiltInStep::Done => true,
            // SAFETY: the built-in part has begun to queue this task just now.
            BuiltInStep::Unfinished => unsafe { finish_queueing(self, worker) },
            // SAFETY: `run_forked` accepts the descriptor, which lives until it is joined.
            BuiltInStep::NotApplicable => unsafe {
                (worker.row().offer)(self, Task { f, closure }, function, worker).is_ok()
            },
        };
        #[cfg(debug_assertions)]
        if offered {
            self.note_fork(worker);
        }
        offered
    }

    /// Waits until the task has ended, or calls the task if no thread has begun it: `sched_join`.
    ///
    /// # Safety
    /// The descriptor was forked on, and not joined yet.
    #[inline(always)]
    pub unsafe fn join(&self, worker: &Worker) {
        #[cfg(debug_assertions)]
        self.note_join(worker);
        match worker.take_built_in_to_jump(queued_task(self)) {
            // SAFETY: the task was taken out of the queue, so nobody else begins it.
            BuiltInStep::Done => unsafe {
                let Task { f, closure } = self.take();
                f(closure, worker.handle());
            },
            // SAFETY: the built-in part has begun to take this task just now.
            BuiltInStep::Unfinished => unsafe { join_slowly(self, worker) },
            // The usual case where fork calls the task at once.
            BuiltInStep::NotApplicable if self.is_over() => self.forget(),
            // SAFETY: the descriptor was forked on, and not joined yet.
            BuiltInStep::NotApplicable => unsafe { join_elsewhere(self, worker) },
        }
    }

    /// `fork` for a caller without a run: runs the task at once.
    ///
    /// # Safety
    /// `f` accepts `closure`, and NULL for its `s`.
    #[cold]
    #[inline(never)] // the call runs in a frame of its own, which stops exceptions
    pub unsafe fn run_outside(&self, f: TaskFn, closure: *mut c_void) {
        #[cfg(debug_assertions)]
        self.note_fork_outside();
        self.set(f, closure);
        // SAFETY: `f` accepts `closure` and NULL.
        call_guarded::<ForkedTask, _>(|| unsafe { f(closure, ptr::null_mut()) });
        self.end_unawaited();
    }

    /// `join` for a thread that is outside of all tasks and has no run.
    #[cold]
    pub fn join_outside(&self) {
        #[cfg(debug_assertions)]
        self.note_join_outside();
        if self.was_joined() {
            joined_before();
        }
        sleep_until_over(self);
        self.forget();
    }

    /// Like `join`, but returns true if it has taken the task back: then the caller runs the task.
    ///
    /// # Safety
    /// The contract of `join`.
    #[inline(always)]
    pub unsafe fn take_back(&self, worker: &Worker) -> bool {
        // SAFETY: the descriptor was forked on, and not joined yet.
        unsafe { self.take_back_amid(None, worker) }
    }

    /// Like `take_back`. The caller may run `parts` of what it waits for during the wait.
    ///
    /// # Safety
    /// The contract of `join`.
    #[inline(always)]
    pub unsafe fn take_back_amid(&self, parts: Parts, worker: &Worker) -> bool {
        #[cfg(debug_assertions)]
        self.note_join(worker);
        match worker.take_built_in(queued_task(self)) {
            BuiltInStep::Done => true,
            // SAFETY: the built-in part has begun to take this task just now.
            BuiltInStep::Unfinished => unsafe { retake_or_wait(self, parts, worker) },
            // SAFETY: the descriptor was forked on, and not joined yet.
            BuiltInStep::NotApplicable => unsafe { take_back_elsewhere(self, parts, worker) },
        }
    }

    /// Like `is_fresh`; for a task that has a shadow (`runtime::observed`), the shadow tells.
    #[inline]
    pub fn is_untaken(&self) -> bool {
        if self.was_joined() {
            return observed::shadow_of(self).is_some_and(Forked::is_fresh);
        }
        self.is_fresh()
    }

    /// Sets the descriptor, and returns the task to be queued.
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

    fn register(&self, waiter: Waiter) -> Option<usize> {
        self.leave_name(waiter.pack())
    }

    fn thief(&self) -> Option<&Worker> {
        // SAFETY: `runner` returns the address of a worker's record, and records are never freed.
        self.runner().map(|thief| unsafe { Worker::of(thief.cast()) })
    }
}

/// Queues a task that `put_built_in` has begun to queue. Returns false if the queue has no room.
///
/// # Safety
/// `put_built_in` has returned Unfinished for this task just now.
#[cold]
#[inline(never)]
unsafe fn finish_queueing(forked: &Forked, worker: &Worker) -> bool {
    let queued = queued_task(forked);
    // SAFETY: the built-in part has begun to queue this task; `run_forked` accepts the descriptor.
    unsafe { entry::finish_spawn(Some(queued.f), queued.closure, worker) == 0 }
}

/// The rest of a fork that the built-in part has begun.
///
/// # Safety
/// `put_built_in` has returned Unfinished just now, for the same arguments.
#[cold]
#[inline(never)]
pub unsafe extern "C" fn fork_slowly(
    forked: &Forked,
    f: Option<TaskFn>,
    closure: *mut c_void,
    worker: &Worker,
) {
    // SAFETY: the built-in part has begun to queue this task. Nobody has it if there is no room.
    unsafe {
        if !finish_queueing(forked, worker) {
            run_now(forked, f, closure, worker);
        }
    }
}

/// The rest of a join that the built-in part has begun.
///
/// # Safety
/// `take_built_in` has returned Unfinished for this task just now.
#[cold]
#[inline(never)] // the call runs in a frame of its own, which stops exceptions
pub unsafe extern "C" fn join_slowly(forked: &Forked, worker: &Worker) {
    // SAFETY: the first call has this function's contract. A task that it leaves to the caller was
    // taken out of the queue, so nobody else begins it.
    unsafe {
        if retake_or_wait(forked, None, worker) {
            let worker = if worker.is_alarmed() { worker.give_way() } else { worker };
            let Task { f, closure } = forked.take();
            call_guarded::<ForkedTask, _>(|| f(closure, worker.handle()));
        } else {
            forked.forget();
        }
    }
}

/// Like `join_slowly`, but returns true if it has taken the task back: the caller then runs it.
///
/// # Safety
/// The contract of `join_slowly`.
#[cold]
#[inline(never)]
unsafe fn retake_or_wait(forked: &Forked, parts: Parts, worker: &Worker) -> bool {
    // SAFETY: the built-in part has begun to take this task just now.
    let taken = unsafe { worker.retake_built_in(queued_task(forked)) };
    // A stolen task has most likely ended by now. Then the caller neither waits nor notes a wait.
    // (The last joins of 15 forks of 0.3 µs on two workers take 0.4 µs, without this check 0.85
    // µs.)
    if !taken && !forked.is_over() {
        if forked.was_joined() {
            joined_before();
        }
        wait(forked, parts, worker);
    }
    taken
}

/// Like `Wait::in_run_of`. If the task seems not to have begun, the caller's worker also notes the
/// wait: if then all workers of the run become idle while all its queues are empty, nobody will
/// ever begin the task, and the process ends with a message.
fn wait(forked: &Forked, parts: Parts, worker: &Worker) -> bool {
    let mine = if forked.is_fresh() { worker.mine() } else { None };
    mine.inspect(|mine| mine.note_join(forked));
    // If fork has only queued the task (kind `cont`, a guest's stack), the guest's queue has it.
    if let Some(guest) = worker.mine().filter(|mine| mine.is_guest()) {
        guest.run_own(&|task| task == queued_task(forked));
    }
    let what = WaitsFor::new(Object::Forked, forked);
    let waited = Wait::amid(forked, what, parts).in_run_of(worker);
    mine.inspect(|mine| mine.forget_join(forked));
    waited
}

/// A join in which the built-in part does not apply; in a process with the C++ runtime, every join.
///
/// # Safety
/// The descriptor was forked on, and not joined yet.
#[inline(never)] // the call runs in a frame of its own, which stops exceptions
unsafe extern "C" fn join_elsewhere(forked: &Forked, worker: &Worker) {
    // SAFETY: it was forked on, and not joined. (A guest occupies a worker; so the recursion ends.)
    let join = |guest: Mine| unsafe { join_elsewhere(forked, &guest) };
    if worker.mine().is_none() && !forked.is_over() && guest::visit(worker, join).is_some() {
        return;
    }
    // SAFETY: the descriptor was forked on, and not joined yet. A task that was taken out of the
    // queue is begun by nobody else.
    unsafe {
        let taken = match worker.take_built_in(queued_task(forked)) {
            BuiltInStep::Done => true,
            BuiltInStep::Unfinished => return join_slowly(forked, worker),
            BuiltInStep::NotApplicable => take_back_or_wait(forked, None, worker),
        };
        if taken {
            if worker.has_outside() {
                worker.give_way();
            }
            let Task { f, closure } = forked.take();
            let s = worker.mine().map_or(worker, Mine::worker).handle();
            call_guarded::<ForkedTask, _>(|| f(closure, s));
        } else {
            forked.forget();
        }
    }
}

/// `Forked::take_back` if the built-in part does not apply.
///
/// # Safety
/// The contract of `join_elsewhere`.
#[cold]
unsafe fn take_back_elsewhere(forked: &Forked, parts: Parts, worker: &Worker) -> bool {
    // SAFETY: it is not joined yet. A task that was taken out of the queue has not begun, and is
    // the caller's; only a worker can take one.
    unsafe {
        let taken = take_back_or_wait(forked, parts, worker);
        if taken && worker.row().plain.is_some() {
            observed::unwrap(forked.task(), worker.mine());
        }
        taken
    }
}

/// Joins the task, but returns true if it has taken the task back: then the caller runs the task.
///
/// # Safety
/// The contract of `join_elsewhere`.
#[cold]
unsafe fn take_back_or_wait(forked: &Forked, parts: Parts, worker: &Worker) -> bool {
    if forked.is_over() {
        return false;
    }
    if forked.was_joined() {
        // SAFETY: the descriptor was forked on, and not joined yet.
        unsafe { join_shadow(forked, worker) };
        return false;
    }
    // In a blocking section (kind `serial`) the caller does not take the task back: the wait calls
    // it, outside of the section.
    let takes_back =
        |mine: Mine<'_>| !mine.fiber().is_in_section() && mine.take_back(queued_task(forked));
    if forked.is_fresh() && worker.mine().is_some_and(takes_back) {
        return true;
    }
    if !wait(forked, parts, worker) {
        misuse(
            "sched_join",
            "the run of s has ended, or it is a run of the process that made this one by fork(2), and \
             its tasks cannot be joined here",
        );
    }
    false
}

/// Joins a task that has a shadow (`runtime::observed`). The program's descriptor looks like that
/// of a joined task, but leads to the shadow, the descriptor in the queue.
///
/// # Safety
/// The contract of `join_elsewhere`.
#[cold]
#[inline(never)]
unsafe fn join_shadow(forked: &Forked, worker: &Worker) {
    let Some(shadow) = observed::shadow_of(forked) else { joined_before() };
    // SAFETY: the shadow lives until `joined`; the rest is the caller's promise.
    detector::ignored(|| unsafe {
        join_elsewhere(shadow, worker);
        observed::joined(shadow, worker);
    });
    forked.forget_shadow();
}

#[cold]
#[inline(never)]
fn joined_before() -> ! {
    misuse(
        "sched_join",
        "the descriptor has no task: it was joined already, forked on twice before it was joined, \
         or never forked",
    )
}

/// Calls `here` and `there`, perhaps on two workers at the same time, and returns when both have
/// ended. Each gets the worker that runs it. `C` is the kind of the program's function that they
/// call, and `function` its address.
///
/// # Safety
/// `worker` is, or was, the caller's worker in this run; `there` may be called on another thread.
#[inline]
pub unsafe fn both<C: ProgramFunction, T: FnOnce(&Worker) + Copy>(
    function: usize,
    worker: &Worker,
    here: impl FnOnce(&Worker),
    there: T,
) {
    let forked = Forked::unset();
    // SAFETY: `there` and the descriptor live until the task is joined, below.
    unsafe {
        let there_closure = (&raw const there).cast_mut().cast();
        let offered = forked.offer(run_closure::<C, T>, there_closure, function, worker);
        here(worker);
        let mut worker = Worker::current_in_run_of(worker.handle()); // `here` may have waited
        if worker.has_outside() {
            worker = worker.give_way();
        }
        if !offered || forked.take_back(worker) {
            there(worker);
        }
    }
}

/// Calls `work` on the caller's own worker, or on any worker of the run if the caller has none, and
/// waits for its end. Returns as `sched_spawn` does. `C` is the kind of the program's function that
/// `work` calls, and `function` its address.
///
/// # Safety
/// `work` may be called on another thread.
pub unsafe fn within<C: ProgramFunction, T: FnOnce(&Worker) + Copy>(
    function: usize,
    worker: &Worker,
    work: T,
) -> c_int {
    if let Some(mine) = worker.mine() {
        if mine.fiber().is_in_section() {
            outside_section(mine.fiber(), || work(&mine)); // kind `serial`
        } else {
            work(&mine);
        }
        return 0;
    }
    let forked = Forked::unset();
    detector::own(&forked);
    let told = |worker: &Worker| {
        work(worker);
        detector::release(&raw const forked);
    };
    let task = closure_task::<C, _>(&told);
    // SAFETY: `work` may be called on any thread, and the task is called once.
    if unsafe { run_as_guest::<C>(worker, task, function) } {
        return 0;
    }
    // SAFETY: `work` and the descriptor live until the task has ended, which is waited for below.
    if unsafe { (worker.row().offer)(&forked, task, function, worker) }.is_err() {
        return -1;
    }
    let what = WaitsFor::new(Object::Forked, &raw const forked);
    detector::ignored(|| Wait::new(&forked, what).outside_run());
    detector::acquire(&raw const forked);
    0
}

/// Runs `task` in the run of `worker`, as a guest. Returns false, without effect, if the caller
/// cannot be a guest, or the run has no free place for one. `C` is the kind of the program's
/// function, and `function` its address.
///
/// # Safety
/// The task may be called here, once.
#[inline(never)] // its frame is large, and a call with `s` of the caller's own run needs none of it
unsafe fn run_as_guest<C: ProgramFunction>(worker: &Worker, task: Task, function: usize) -> bool {
    let run = |mine: Mine| {
        let is_observed = mine.row().plain.is_some();
        let task = if is_observed { observed::wrap::<C>(mine, task, function) } else { task };
        mine.fiber().run(task);
    };
    guest::visit(worker, run).is_some()
}

fn closure_task<C: ProgramFunction, T: FnOnce(&Worker) + Copy>(work: &T) -> Task {
    Task { f: run_closure::<C, T>, closure: ptr::from_ref(work).cast_mut().cast() }
}

/// The function of the task that `closure_task` makes.
///
/// # Safety
/// `work` points to a `T`, which may be called here.
unsafe extern "C" fn run_closure<C: ProgramFunction, T: FnOnce(&Worker) + Copy>(
    work: *mut c_void,
    s: *mut Scheduler,
) {
    // SAFETY: `work` points to a `T`; `s` is the worker that runs the task.
    call_guarded::<C, _>(|| unsafe { (*work.cast::<T>())(Worker::of(s)) });
}
