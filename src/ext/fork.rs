//! Fork and join: a task on a descriptor of the caller's, and the wait for its end.
//!
//! # The descriptor
//!
//! ```text
//! state    a function: not begun
//!          BEGUN
//!          BEGUN | who waits: a worker's address, or OUTSIDE
//!          OVER
//! closure  its argument; from BEGUN on the worker that runs it
//! check    debug builds only
//! ```
//! Functions and records lie below 2^63, so the highest bit tells the states apart.
//!
//! # Protocol
//!
//! The queues hold the task {`run_forked`, descriptor} and know nothing of forks. *join* pops the
//! youngest task of the own deque. If that is the child, as it is unless somebody stole it, it is
//! called like a function, and the descriptor is not written again. If not, the popped task is run,
//! and so on with others (`Kind::help`) until the child is over. Children joined in another order
//! than the opposite of forking thus run in the order of the deque.
//!
//! Who runs a child out of a queue writes BEGUN, calls it, and swaps OVER in (Release): that is its
//! last access. It wakes whom the old value names. Who waits swaps its name in, in place of BEGUN;
//! if that fails, the child is over.
//!
//! # Cost
//!
//! Fork writes the descriptor's two words and the deque's; join compares the latter and jumps.

use super::{Latch, Waiter};
use crate::base::sync::{AtomicPtr, AtomicUsize, Ordering};
use crate::base::{io, thread};
use crate::kind::worker::Worker;
use crate::kind::{Awaited, Place, table};
use crate::task::{Scheduler, Task, TaskFn};
use std::ffi::{c_int, c_void};

/// The C side's `sched_task`.
#[repr(C)]
pub struct Forked {
    state: AtomicUsize,
    closure: AtomicPtr<c_void>,
    check: [AtomicUsize; 2],
}

const BEGUN: usize = 1 << 63;
const OVER: usize = BEGUN | 1;
const OUTSIDE: usize = BEGUN | 2;

impl Forked {
    /// One that has not been forked.
    #[inline(always)]
    pub fn unset() -> Self {
        Forked {
            state: AtomicUsize::new(OVER),
            closure: AtomicPtr::default(),
            check: Default::default(),
        }
    }

    /// Forks `f(closure)`: `sched_fork`.
    ///
    /// # Safety
    /// `f` accepts `closure`; the descriptor lives until it is joined.
    #[inline(always)]
    pub unsafe fn fork(&self, f: Option<TaskFn>, closure: *mut c_void, worker: &Worker) {
        #[cfg(debug_assertions)]
        self.note_fork(worker);
        // As in Worker::spawn, all ways out are jumps.
        match worker.quick_put(f, |f| self.set(f, closure)) {
            Some(true) => (),
            // SAFETY: begun just now.
            Some(false) => unsafe { fork_slowly(self, f, closure, worker) },
            // SAFETY: by the caller's promise.
            None => unsafe { fork_any(self, f, closure, worker) },
        }
    }

    /// `fork`, of what the caller can do itself as well: false if no queue has room for it, and it
    /// was not forked.
    ///
    /// # Safety
    /// As for `fork`; and the caller owns `worker`.
    #[inline]
    pub unsafe fn offer(&self, f: TaskFn, closure: *mut c_void, worker: &Worker) -> bool {
        let offered = match worker.quick_put(Some(f), |f| self.set(f, closure)) {
            Some(true) => true,
            // SAFETY: begun just now.
            Some(false) => unsafe { queue_slowly(self, worker) },
            // SAFETY: by the caller's promise.
            None => unsafe { queue_any(self, f, closure, worker) },
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
        // SAFETY: passed on; taken, so not begun, and the caller's.
        unsafe {
            if self.take_back(worker) {
                let Task { f, closure } = self.task();
                f(closure, worker.handle());
            }
        }
    }

    /// `join`, but what nobody has begun is left to the caller: true. (If it was not the
    /// youngest of a quick deque, it is called as any other task: false.)
    ///
    /// # Safety
    /// As for `join`.
    #[inline(always)]
    pub unsafe fn take_back(&self, worker: &Worker) -> bool {
        #[cfg(debug_assertions)]
        self.note_join(worker);
        match worker.quick_pop(self.queued()) {
            Some(true) => return true,
            // SAFETY: begun just now.
            Some(false) => unsafe { join_slowly(self, worker) },
            // SAFETY: by the caller's promise.
            None => unsafe { join_any(self, worker) },
        }
        false
    }

    /// True if somebody has begun it, or it is over.
    #[inline]
    pub fn begun(&self) -> bool {
        self.state.load(Ordering::Relaxed) & BEGUN != 0
    }

    /// What lies in the queue from now on.
    #[inline(always)]
    fn set(&self, f: TaskFn, closure: *mut c_void) -> Task {
        self.state.store(f as usize, Ordering::Relaxed);
        self.closure.store(closure, Ordering::Relaxed);
        self.queued()
    }

    /// What lies in the queue.
    #[inline(always)]
    fn queued(&self) -> Task {
        Task { f: run_forked, closure: std::ptr::from_ref(self).cast_mut().cast() }
    }

    /// What was forked.
    ///
    /// # Safety
    /// It has not begun, and only the caller may begin it.
    #[inline(always)]
    unsafe fn task(&self) -> Task {
        let f = self.state.load(Ordering::Relaxed);
        // SAFETY: not begun, so it is what `set` has stored.
        let f = unsafe { std::mem::transmute::<usize, TaskFn>(f) };
        Task { f, closure: self.closure.load(Ordering::Relaxed) }
    }

    /// # Safety
    /// It has ended; the descriptor may be gone afterwards. The caller's worker is `from`.
    unsafe fn end(&self, from: &Worker) {
        let word = &raw const self.state;
        // Release: whoever sees it sees what the child wrote. Acquire: the waiter is listed.
        match self.state.swap(OVER, Ordering::AcqRel) {
            BEGUN => {}
            OUTSIDE => Waiter::OUTSIDE.wake(word, from),
            waiter => Waiter(std::ptr::with_exposed_provenance(waiter & !BEGUN)).wake(word, from),
        }
    }
}

impl Latch for Forked {
    fn word(&self) -> &AtomicUsize {
        &self.state
    }

    fn is_over(&self) -> bool {
        self.state.load(Ordering::Acquire) == OVER // with `end`
    }

    fn leave_word(&self, waiter: Waiter) -> Option<usize> {
        let name = match waiter {
            Waiter::OUTSIDE => OUTSIDE,
            Waiter(worker) => BEGUN | worker.expose_provenance(),
        };
        match self.state.compare_exchange(BEGUN, name, Ordering::AcqRel, Ordering::Relaxed) {
            Ok(_) => Some(name),
            Err(now) => (now == name).then_some(name),
        }
    }
}

/// A join, by a worker.
struct Join<'a> {
    task: &'a Forked,
    mine: &'a Worker,
}

impl Awaited for Join<'_> {
    fn over(&self) -> bool {
        self.task.is_over()
    }

    fn enlist(&self) -> bool {
        self.task.leave_word(Waiter(self.mine)).is_some()
    }

    fn task(&self) -> Option<Task> {
        (!self.task.begun()).then(|| self.task.queued())
    }

    fn thief(&self) -> Option<usize> {
        let state = self.task.state.load(Ordering::Acquire); // with BEGUN's store: the thief is known
        if state & BEGUN == 0 || state == OVER {
            return None;
        }
        let thief = self.task.closure.load(Ordering::Relaxed);
        // SAFETY: a worker's record, which is never freed.
        unsafe { Worker::of(thief.cast()) }.index_beside(self.mine)
    }
}

/// A forked task out of a queue.
///
/// # Safety
/// `descriptor` is a [`Forked`], taken once.
pub unsafe extern "C" fn run_forked(descriptor: *mut c_void, s: *mut Scheduler) {
    // SAFETY: the descriptor lives until it is over.
    let forked = unsafe { &*descriptor.cast::<Forked>() };
    // SAFETY: out of a queue, so not begun, and the caller's alone.
    let Task { f, closure } = unsafe { forked.task() };
    forked.closure.store(s.cast(), Ordering::Relaxed);
    forked.state.store(BEGUN, Ordering::Release); // with `thief`
    // SAFETY: the program promises that `f` accepts its closure and returns.
    unsafe { f(closure, s) };
    // SAFETY: ended; the task runs on the worker `s`.
    unsafe { forked.end(Worker::of(s)) };
}

/// The rest of a put that was half done: false if the queue has no room for it.
///
/// # Safety
/// As said, just now.
#[cold]
#[inline(never)]
unsafe fn queue_slowly(forked: &Forked, worker: &Worker) -> bool {
    let queued = forked.queued();
    // SAFETY: passed on.
    unsafe { table::spawn_slowly(Some(queued.f), queued.closure, worker) == 0 }
}

/// A put in any other case than the quick one: false, with errno, if it was refused.
///
/// # Safety
/// `f` accepts `closure`; the descriptor lives until it is joined.
#[cold]
#[inline(never)]
unsafe fn queue_any(forked: &Forked, f: TaskFn, closure: *mut c_void, worker: &Worker) -> bool {
    let queued = forked.set(f, closure);
    // SAFETY: the descriptor's task.
    unsafe { Worker::spawn_any(Some(queued.f), queued.closure, worker) == 0 }
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

/// A fork in any other case than the quick one.
///
/// # Safety
/// `f` accepts `closure`; the descriptor lives until it is joined.
#[cold]
#[inline(never)]
unsafe extern "C" fn fork_any(
    forked: &Forked,
    f: Option<TaskFn>,
    closure: *mut c_void,
    worker: &Worker,
) {
    let Some(task) = f else { misuse("sched_fork", "f is NULL") };
    // SAFETY: passed on.
    if unsafe { queue_any(forked, task, closure, worker) } {
        return;
    }
    if thread::errno() == libc::EINVAL {
        misuse("sched_fork", "the run of s has ended");
    }
    // SAFETY: passed on; no queue has room for it.
    unsafe { run_now(forked, f, closure, worker) };
}

/// # Safety
/// `f` accepts `closure` and is not NULL; nobody else has the task.
unsafe fn run_now(forked: &Forked, f: Option<TaskFn>, closure: *mut c_void, worker: &Worker) {
    let mine = worker.mine();
    if let Some(mine) = mine {
        mine.counters().tasks.add(1);
    }
    // SAFETY: by the caller's promise.
    unsafe { f.unwrap_unchecked()(closure, mine.unwrap_or(worker).handle()) };
    forked.state.store(OVER, Ordering::Release);
}

/// The rest of a join whose quick pop was half done.
///
/// # Safety
/// As said, just now.
#[cold]
#[inline(never)]
pub unsafe extern "C" fn join_slowly(forked: &Forked, worker: &Worker) {
    // SAFETY: passed on.
    unsafe { worker.quick_claimed(forked.is_over()) };
    // SAFETY: a quick pop was the owner's.
    unsafe { worker.help(&Join { task: forked, mine: worker }) };
}

/// A join in any other case.
///
/// # Safety
/// The descriptor was forked, and not joined yet.
#[cold]
#[inline(never)]
unsafe extern "C" fn join_any(forked: &Forked, worker: &Worker) {
    let mine = worker.mine();
    let join = Join { task: forked, mine: mine.unwrap_or(worker) };
    if !super::wait(forked, mine, &join, worker) {
        misuse("sched_join", "the run of s has ended");
    }
}

/// Calls `here`, and `there`, which another worker may take meanwhile; returns when both have
/// ended. Each gets the worker that it runs on.
///
/// # Safety
/// The caller owns `worker`; `there` may be called on another thread.
#[inline]
pub unsafe fn both<T: FnOnce(&Worker) + Copy>(
    worker: &Worker,
    here: impl FnOnce(&Worker),
    there: T,
) {
    let forked = Forked::unset();
    // SAFETY: `there` and the descriptor live until the task was joined, below.
    unsafe {
        let offered = forked.offer(call::<T>, (&raw const there).cast_mut().cast(), worker);
        here(worker);
        if !offered || forked.take_back(worker) {
            there(worker);
        }
    }
}

/// Calls `work` on a worker of the run: the caller's own, or any, for a thread that has none,
/// and then waits. Returns as `sched_spawn` does.
///
/// # Safety
/// `work` may be called on another thread.
pub unsafe fn within<T: FnOnce(&Worker) + Copy>(worker: &Worker, work: T) -> c_int {
    if let Some(mine) = worker.mine() {
        work(mine);
        return 0;
    }
    let forked = Forked::unset();
    // SAFETY: `work` and the descriptor live until the task is over, which is waited for.
    if !unsafe { queue_any(&forked, call::<T>, (&raw const work).cast_mut().cast(), worker) } {
        return -1;
    }
    super::wait_outside(&forked);
    0
}

/// The task of a function of ours.
///
/// # Safety
/// `work` points to a `T`, which may be called here.
unsafe extern "C" fn call<T: FnOnce(&Worker) + Copy>(work: *mut c_void, s: *mut Scheduler) {
    // SAFETY: by the caller's promise; `s` is the worker that runs the task.
    unsafe { (*work.cast::<T>())(Worker::of(s)) };
}

/// Ends the process: what was asked has no meaning, and there is no way to say so.
#[cold]
pub fn misuse(function: &str, what: &str) -> ! {
    io::die(format_args!("{function}: {what}"))
}

/// What debug builds know of a descriptor.
#[cfg(debug_assertions)]
mod check {
    use super::{Forked, Ordering, Worker, misuse};

    const FORKED: usize = 0x5ced_f04c;
    const JOINED: usize = 0x5ced_1014;

    impl Forked {
        pub fn note_fork(&self, worker: &Worker) {
            self.check[0].store(FORKED, Ordering::Relaxed);
            self.check[1].store(worker.run_id(), Ordering::Relaxed);
            if let Some(mine) = worker.mine() {
                mine.forked.set(mine.forked.get() + 1);
            }
        }

        pub fn note_join(&self, worker: &Worker) {
            match self.check[0].swap(JOINED, Ordering::Relaxed) {
                FORKED => {}
                JOINED => misuse("sched_join", "the task was joined already"),
                _ => misuse("sched_join", "the descriptor was not forked"),
            }
            // A thread that is no worker may come when the run has ended.
            if let Some(mine) = worker.mine() {
                if self.check[1].load(Ordering::Relaxed) != worker.run_id() {
                    misuse("sched_join", "the task was forked in another run");
                }
                mine.forked.set(mine.forked.get() - 1);
            }
        }
    }
}
