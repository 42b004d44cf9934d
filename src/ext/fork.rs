//! Fork and join: a task on a descriptor of the caller's, and the wait for its end.
//!
//! # The descriptor
//!
//! ```text
//! state    a function: not begun, and nobody waits
//!          BEGUN
//!          BEGUN | who waits (`Waiter::pack`), whether it has begun or not
//!          OVER
//! closure  its argument; once BEGUN the worker that runs it, unless fork calls it at once
//! f        the function, if somebody waited before it had begun, or if fork calls it at once
//! check    debug builds only
//! ```
//! Functions and records lie below 2^63, so the highest bit tells the states apart.
//!
//! # Protocol
//!
//! The queues hold the task {`run_forked`, descriptor} and know nothing of forks. *join* pops the
//! youngest task of the own deque, if that is the child, as it is unless somebody stole it; then it is
//! called like a function, and the descriptor is not written again. If not, the caller waits (`ext`).
//!
//! Who runs a child out of a queue writes BEGUN, calls it, and swaps OVER in (Release): that is its
//! last access. It wakes whom the old value names. Who waits leaves its name there by a
//! compare-and-swap; if that fails for good, the child is over.
//!
//! # Cost
//!
//! Fork writes the descriptor's two words and the deque's; join compares the latter and jumps.

use super::{Latch, Waiter};
use crate::base::sync::{AtomicPtr, AtomicUsize, Ordering};
use crate::base::{io, thread};
use crate::kind::worker::Worker;
use crate::kind::{Place, table};
use crate::task::{Scheduler, Task, TaskFn};
use std::ffi::{c_int, c_void};

/// The C side's `sched_task`.
#[repr(C)]
pub struct Forked {
    state: AtomicUsize,
    closure: AtomicPtr<c_void>,
    f: AtomicUsize,
    /// Debug builds: whether it is forked, and in which run.
    check: AtomicUsize,
}

const BEGUN: usize = 1 << 63;
const OVER: usize = BEGUN | 1;

impl Forked {
    /// One that has not been forked.
    #[inline(always)]
    pub fn unset() -> Self {
        Forked {
            state: AtomicUsize::new(OVER),
            closure: AtomicPtr::default(),
            f: AtomicUsize::new(0),
            check: AtomicUsize::new(0),
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
    /// As for `fork`.
    #[inline]
    pub unsafe fn offer(&self, f: TaskFn, closure: *mut c_void, worker: &Worker) -> bool {
        let offered = match worker.quick_put(Some(f), |f| self.set(f, closure)) {
            Some(true) => true,
            // SAFETY: begun just now.
            Some(false) => unsafe { queue_slowly(self, worker) },
            // SAFETY: the descriptor's task.
            None => unsafe { worker.queue(self.set(f, closure)) == 0 },
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
        match worker.quick_take(self.queued()) {
            // SAFETY: taken, so not begun, and the caller's.
            Some(true) => unsafe {
                let Task { f, closure } = self.task();
                f(closure, worker.handle());
            },
            // SAFETY: begun just now.
            Some(false) => unsafe { join_slowly(self, worker) },
            // SAFETY: by the caller's promise.
            None => unsafe { join_elsewhere(self, worker) },
        }
    }

    /// `join`, but what nobody has begun, and is at hand, is left to the caller: true.
    ///
    /// # Safety
    /// As for `join`.
    #[inline(always)]
    pub unsafe fn take_back(&self, worker: &Worker) -> bool {
        #[cfg(debug_assertions)]
        self.note_join(worker);
        match worker.quick_take(self.queued()) {
            Some(true) => true,
            Some(false) => {
                // SAFETY: begun just now.
                unsafe { join_slowly(self, worker) };
                false
            }
            // SAFETY: by the caller's promise.
            None => unsafe { join_any(self, worker) },
        }
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

    /// `set`, where a spawn calls the task at once: nobody will begin it but who gets it then, and that
    /// has nothing to tell.
    fn set_begun(&self, f: TaskFn, closure: *mut c_void) -> Task {
        self.f.store(f as usize, Ordering::Relaxed);
        self.closure.store(closure, Ordering::Relaxed);
        self.state.store(BEGUN, Ordering::Relaxed);
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
        // SAFETY: not begun, so it is what `set` has stored.
        let f = unsafe { function(self.state.load(Ordering::Relaxed)) };
        Task { f, closure: self.closure.load(Ordering::Relaxed) }
    }

    /// Takes the task from a queue: what is to be called.
    ///
    /// # Safety
    /// It was taken out of a queue, once; the caller's worker is `s`.
    unsafe fn begin(&self, s: *mut Scheduler) -> Task {
        let mut state = self.state.load(Ordering::Acquire); // with `leave_word`: f and waiter
        let closure = self.closure.load(Ordering::Relaxed);
        loop {
            if state & BEGUN != 0 {
                // Moved there by `set_begun`, or by who waits already.
                state = self.f.load(Ordering::Relaxed);
                break;
            }
            // Before the state says that it is there. Only a waiter who finds BEGUN looks at it.
            self.closure.store(s.cast(), Ordering::Relaxed);
            match self.state.compare_exchange(state, BEGUN, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => break,
                Err(now) => state = now,
            }
        }
        // SAFETY: what `set` has stored.
        Task { f: unsafe { function(state) }, closure }
    }

    /// # Safety
    /// It has ended; the descriptor may be gone afterwards. The caller's worker is `from`.
    unsafe fn end(&self, from: &Worker) {
        let word = &raw const self.state;
        // Release: whoever sees it sees what the child wrote. Acquire: what the waiter has left.
        match self.state.swap(OVER, Ordering::AcqRel) {
            BEGUN => {}
            // SAFETY: left by `leave_word`.
            waiter => unsafe { Waiter::unpack(waiter & !BEGUN) }.wake(word, Some(from)),
        }
    }
}

/// # Safety
/// The word is a function's address.
#[inline(always)]
unsafe fn function(word: usize) -> TaskFn {
    // SAFETY: by the caller's promise.
    unsafe { std::mem::transmute::<usize, TaskFn>(word) }
}

impl Latch for Forked {
    fn word(&self) -> &AtomicUsize {
        &self.state
    }

    fn is_over(&self) -> bool {
        self.state.load(Ordering::Acquire) == OVER // with `end`
    }

    fn leave_word(&self, waiter: Waiter) -> Option<usize> {
        let left = BEGUN | waiter.pack();
        let mut state = self.state.load(Ordering::Relaxed);
        loop {
            if state == left {
                return Some(left);
            }
            if state & BEGUN == 0 {
                self.f.store(state, Ordering::Relaxed); // for `begin`
            } else if state != BEGUN {
                return None; // over
            }
            match self.state.compare_exchange(state, left, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return Some(left),
                Err(now) => state = now,
            }
        }
    }

    fn thief(&self) -> Option<&Worker> {
        // Acquire, with `begin`: the thief is known.
        if self.state.load(Ordering::Acquire) != BEGUN {
            return None;
        }
        let thief = self.closure.load(Ordering::Relaxed);
        // SAFETY: a worker's record, which is never freed.
        Some(unsafe { Worker::of(thief.cast()) })
    }
}

/// A forked task out of a queue.
///
/// # Safety
/// `descriptor` is a [`Forked`], taken once.
pub unsafe extern "C" fn run_forked(descriptor: *mut c_void, s: *mut Scheduler) {
    // SAFETY: the descriptor lives until it is over.
    let forked = unsafe { &*descriptor.cast::<Forked>() };
    // SAFETY: out of a queue.
    let Task { f, closure } = unsafe { forked.begin(s) };
    // SAFETY: the program promises that `f` accepts its closure and returns.
    unsafe { f(closure, s) };
    // SAFETY: ended; the worker may be another than `s` by now.
    unsafe { forked.end(Worker::now(s)) };
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
    let queued = if worker.calls_at_once() {
        forked.set_begun(task, closure)
    } else {
        forked.set(task, closure)
    };
    // SAFETY: the descriptor's task.
    if unsafe { Worker::spawn_any(Some(queued.f), queued.closure, worker) } == 0 {
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
    forked.state.store(OVER, Ordering::Release); // with `is_over`
}

/// The rest of a join whose quick take was half done.
///
/// # Safety
/// As said, just now.
#[cold]
#[inline(never)]
pub unsafe extern "C" fn join_slowly(forked: &Forked, worker: &Worker) {
    // SAFETY: passed on.
    unsafe { worker.quick_unclaim() };
    super::wait(forked, worker);
}

/// A join in any other case.
///
/// # Safety
/// The descriptor was forked, and not joined yet.
#[cold]
#[inline(never)]
unsafe extern "C" fn join_elsewhere(forked: &Forked, worker: &Worker) {
    // SAFETY: passed on; taken back, so not begun, and the caller's.
    unsafe {
        if join_any(forked, worker) {
            let Task { f, closure } = forked.task();
            f(closure, worker.mine().unwrap_or(worker).handle());
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
        return false; // most often, where fork calls the task at once
    }
    if !forked.begun()
        && let Some(mine) = worker.mine()
        // SAFETY: the calling thread's.
        && unsafe { mine.take_back(forked.queued()) }
    {
        return true;
    }
    if !super::wait(forked, worker) {
        misuse("sched_join", "the run of s has ended");
    }
    false
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
        let worker = Worker::now(worker.handle()); // `here` may have waited
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
    let queued = forked.set(call::<T>, (&raw const work).cast_mut().cast());
    // SAFETY: `work` and the descriptor live until the task is over, which is waited for.
    if unsafe { worker.queue(queued) } != 0 {
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
    use crate::kind::section;

    /// With the run's address below: that has 48 bits.
    const FORKED: usize = 0x5ced << 48;
    const JOINED: usize = 2;

    /// On the strand of the task that forks or joins, whichever run `s` is of: that stays the same.
    fn note(more: isize) {
        if let Some(strand) = section::here() {
            strand.note_forks(more);
        }
    }

    impl Forked {
        pub fn note_fork(&self, worker: &Worker) {
            self.check.store(FORKED | worker.run_id(), Ordering::Relaxed);
            note(1);
        }

        pub fn note_join(&self, worker: &Worker) {
            match self.check.swap(JOINED, Ordering::Relaxed) {
                JOINED => misuse("sched_join", "the task was joined already"),
                check if check >> 48 != FORKED >> 48 => {
                    misuse("sched_join", "the descriptor was not forked")
                }
                // A thread that is no worker may come when the run has ended.
                check if check != FORKED | worker.run_id() && !worker.has_ended() => {
                    misuse("sched_join", "the task was forked in another run")
                }
                _ => {}
            }
            note(-1);
        }
    }
}
