//! Fork and join: a task on a descriptor of the caller's, and the wait for its end.
//!
//! # The descriptor
//!
//! ```text
//! state    a function: not begun, and nobody waits
//!          BEGUN
//!          BEGUN | who waits (`Waiter::pack`), whether it has begun or not
//!          OVER
//! closure  its argument; once BEGUN the worker that runs it
//! f        the function, if somebody waited before it had begun
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
use std::ffi::c_void;

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
    #[inline(always)]
    pub fn set(&self, f: TaskFn, closure: *mut c_void) {
        self.state.store(f as usize, Ordering::Relaxed);
        self.closure.store(closure, Ordering::Relaxed);
    }

    /// What lies in the queue.
    #[inline(always)]
    pub fn queued(&self) -> Task {
        Task { f: run_forked, closure: std::ptr::from_ref(self).cast_mut().cast() }
    }

    /// What was forked.
    ///
    /// # Safety
    /// It has not begun, and only the caller may begin it.
    #[inline(always)]
    pub unsafe fn task(&self) -> Task {
        let f = self.state.load(Ordering::Relaxed);
        // SAFETY: not begun, so it is what `set` has stored.
        let f = unsafe { std::mem::transmute::<usize, TaskFn>(f) };
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
                // Somebody waits already, and has moved the function.
                // SAFETY: it was `state`, which `set` has stored.
                let f =
                    unsafe { std::mem::transmute::<usize, TaskFn>(self.f.load(Ordering::Relaxed)) };
                return Task { f, closure };
            }
            // Before the state says that it is there. Only a waiter who finds BEGUN looks at it.
            self.closure.store(s.cast(), Ordering::Relaxed);
            match self.state.compare_exchange(state, BEGUN, Ordering::AcqRel, Ordering::Acquire) {
                // SAFETY: not begun until now, so it is what `set` has stored.
                Ok(f) => {
                    return Task { f: unsafe { std::mem::transmute::<usize, TaskFn>(f) }, closure };
                }
                Err(now) => state = now,
            }
        }
    }

    /// # Safety
    /// It has ended; the descriptor may be gone afterwards. The caller's worker is `from`.
    unsafe fn end(&self, from: &Worker) {
        let word = &raw const self.state;
        // Release: whoever sees it sees what the child wrote. Acquire: what the waiter has left.
        match self.state.swap(OVER, Ordering::AcqRel) {
            BEGUN => {}
            // SAFETY: left by `leave_word`.
            waiter => unsafe { Waiter::unpack(waiter & !BEGUN) }.wake(word, from),
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
    let queued = forked.queued();
    // SAFETY: passed on.
    if unsafe { table::spawn_slowly(Some(queued.f), queued.closure, worker) } != 0 {
        // SAFETY: passed on; there is no room for it in the deque.
        unsafe { run_now(forked, f, closure, worker) };
    }
}

/// A fork in any other case than the quick one.
///
/// # Safety
/// `f` accepts `closure`; the descriptor lives until it is joined.
#[cold]
#[inline(never)]
pub unsafe extern "C" fn fork_any(
    forked: &Forked,
    f: Option<TaskFn>,
    closure: *mut c_void,
    worker: &Worker,
) {
    let Some(task) = f else { misuse("sched_fork", "f is NULL") };
    forked.set(task, closure);
    let queued = forked.queued();
    // SAFETY: the descriptor's task.
    if unsafe { Worker::spawn_any(Some(queued.f), queued.closure, worker) } != 0 {
        if thread::errno() == libc::EINVAL {
            misuse("sched_fork", "the run of s has ended");
        }
        // SAFETY: passed on; no queue has room for it.
        unsafe { run_now(forked, f, closure, worker) };
    }
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

/// The rest of a join whose quick take was half done.
///
/// # Safety
/// As said, just now.
#[cold]
#[inline(never)]
pub unsafe extern "C" fn join_slowly(forked: &Forked, worker: &Worker) {
    // SAFETY: passed on.
    unsafe { worker.quick_unclaim() };
    super::wait(forked, Some(worker));
}

/// A join in any other case.
///
/// # Safety
/// The descriptor was forked, and not joined yet.
#[cold]
#[inline(never)]
pub unsafe extern "C" fn join_any(forked: &Forked, worker: &Worker) {
    let mine = worker.mine();
    // SAFETY: the calling thread's.
    if mine.is_some_and(|mine| unsafe { mine.take_back(forked.queued()) }) {
        // SAFETY: taken back, so not begun, and the caller's.
        let Task { f, closure } = unsafe { forked.task() };
        // SAFETY: by the caller's promise.
        return unsafe { f(closure, mine.unwrap_or(worker).handle()) };
    }
    super::wait(forked, mine);
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

    /// Mixed with the run.
    const FORKED: usize = 0x5ced_f04c_0000_0001;
    const JOINED: usize = 2;

    impl Forked {
        pub fn note_fork(&self, worker: &Worker) {
            self.check.store(FORKED ^ worker.run_id(), Ordering::Relaxed);
            if let Some(mine) = worker.mine() {
                mine.strand().note_forks(1);
            }
        }

        pub fn note_join(&self, worker: &Worker) {
            match self.check.swap(JOINED, Ordering::Relaxed) ^ FORKED {
                run if run == worker.run_id() => {}
                check if check == JOINED ^ FORKED => {
                    misuse("sched_join", "the task was joined already")
                }
                _ => misuse("sched_join", "the task was not forked, or in another run"),
            }
            if let Some(mine) = worker.mine() {
                mine.strand().note_forks(-1);
            }
        }
    }
}
