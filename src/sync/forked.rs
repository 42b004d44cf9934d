//! A forked task's descriptor: what it is to do, whether it is over, and who waits for that.
//!
//! ```text
//! state    a function: not begun, and nobody waits
//!          BEGUN
//!          BEGUN | the name of who waits, whether it has begun or not
//!          OVER
//! closure  its argument; once BEGUN the worker that runs it, unless fork calls it at once
//! f        the function, if somebody waited before it had begun, or if fork calls it at once
//! check    debug builds only
//! ```
//! Functions and names lie below 2^63, so the highest bit tells the states apart.
//!
//! Who takes a child out of a queue writes BEGUN, calls it, and swaps OVER in (Release): that is its last
//! access. It wakes whom the old value names. Who waits leaves its name there by a compare-and-swap; if that
//! fails for good, the child is over.

use crate::base::sync::{AtomicPtr, AtomicUsize, Ordering};
use crate::task::{Task, TaskFn};
use std::ffi::c_void;

/// The C side's `sched_task`.
#[repr(C)]
pub struct Forked {
    state: AtomicUsize,
    closure: AtomicPtr<c_void>,
    f: AtomicUsize,
    /// Debug builds: whether it is forked, and in which run.
    pub check: AtomicUsize,
}

const BEGUN: usize = 1 << 63;
const OVER: usize = BEGUN | 1;

/// # Safety
/// The word is a function's address.
#[inline(always)]
unsafe fn function(word: usize) -> TaskFn {
    // SAFETY: by the caller's promise.
    unsafe { std::mem::transmute::<usize, TaskFn>(word) }
}

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

    /// To be queued.
    #[inline(always)]
    pub fn set(&self, f: TaskFn, closure: *mut c_void) {
        self.state.store(f as usize, Ordering::Relaxed);
        self.closure.store(closure, Ordering::Relaxed);
    }

    /// `set`, where a spawn calls the task at once: nobody will begin it but who gets it then, and that
    /// has nothing to tell.
    #[inline(always)]
    pub fn set_begun(&self, f: TaskFn, closure: *mut c_void) {
        self.f.store(f as usize, Ordering::Relaxed);
        self.closure.store(closure, Ordering::Relaxed);
        self.state.store(BEGUN, Ordering::Relaxed);
    }

    /// What `set` has stored.
    ///
    /// # Safety
    /// It has not begun, and only the caller may begin it.
    #[inline(always)]
    pub unsafe fn task(&self) -> Task {
        // SAFETY: not begun, so it is a function.
        let f = unsafe { function(self.state.load(Ordering::Relaxed)) };
        Task { f, closure: self.closure.load(Ordering::Relaxed) }
    }

    /// What `set_begun` has stored.
    ///
    /// # Safety
    /// That was called, and the caller has got the task.
    #[inline(always)]
    pub unsafe fn task_begun(&self) -> Task {
        // SAFETY: by the caller's promise.
        let f = unsafe { function(self.f.load(Ordering::Relaxed)) };
        Task { f, closure: self.closure.load(Ordering::Relaxed) }
    }

    /// Takes the task from a queue: what is to be called. `runner` is who will.
    ///
    /// # Safety
    /// It was taken out of a queue, once.
    #[inline]
    pub unsafe fn begin(&self, runner: *mut c_void) -> Task {
        let mut state = self.state.load(Ordering::Acquire); // with `leave_name`: f and waiter
        let closure = self.closure.load(Ordering::Relaxed);
        loop {
            if state & BEGUN != 0 {
                // Moved there by `set_begun`, or by who waits already.
                state = self.f.load(Ordering::Relaxed);
                break;
            }
            // Before the state says that it is there. Only a waiter who finds BEGUN looks at it.
            self.closure.store(runner, Ordering::Relaxed);
            match self.state.compare_exchange(state, BEGUN, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => break,
                Err(now) => state = now,
            }
        }
        // SAFETY: what `set` has stored.
        Task { f: unsafe { function(state) }, closure }
    }

    /// The task has ended: the name of who is to be woken, if any. The descriptor may be gone afterwards.
    #[inline]
    pub fn end(&self) -> Option<usize> {
        // Release: whoever sees it sees what the child wrote. Acquire: what the waiter has left.
        let state = self.state.swap(OVER, Ordering::AcqRel);
        (state != BEGUN).then_some(state & !BEGUN)
    }

    /// `end`, where nobody waits, nor can: who might has not gone on since it forked the task, or waits for
    /// something else.
    #[inline(always)]
    pub fn end_unawaited(&self) {
        self.state.store(OVER, Ordering::Release); // with `is_over`
    }

    #[inline(always)]
    pub fn is_over(&self) -> bool {
        self.state.load(Ordering::Acquire) == OVER // with `end`
    }

    /// True if somebody has begun it, or it is over.
    #[inline]
    pub fn begun(&self) -> bool {
        self.state.load(Ordering::Relaxed) & BEGUN != 0
    }

    pub fn word(&self) -> &AtomicUsize {
        &self.state
    }

    /// Some(the state's new value): from now on the caller is woken by this name; another name of its own no more.
    /// None: it is over.
    pub fn leave_name(&self, name: usize) -> Option<usize> {
        let left = BEGUN | name;
        let mut state = self.state.load(Ordering::Relaxed);
        while state != OVER {
            if state == left {
                return Some(left);
            }
            if state & BEGUN == 0 {
                self.f.store(state, Ordering::Relaxed); // for `begin`
            }
            match self.state.compare_exchange(state, left, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return Some(left),
                Err(now) => state = now,
            }
        }
        None
    }

    /// Who runs it, if that is known.
    pub fn runner(&self) -> Option<*mut c_void> {
        // Acquire, with `begin`: it is known.
        let begun = self.state.load(Ordering::Acquire) == BEGUN;
        begun.then(|| self.closure.load(Ordering::Relaxed))
    }
}
