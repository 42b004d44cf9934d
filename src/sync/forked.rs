//! A forked task's descriptor: what it is to do, whether it is over, and who waits for that.
//!
//! ```text
//! state    a function: not begun, and nobody waits
//!          begun    it has begun, and nobody waits
//!          over     it has ended
//!          joined   it was joined by a task that had it at hand
//!          0        it was joined otherwise, or never forked
//!          WAITED | the waiter's name, whether the task has begun or not
//! closure  its argument; once it has begun the worker that runs it, unless fork calls it at once
//! f        the function, if somebody waited before it had begun, or if fork calls it at once;
//!          0 once it has begun
//! check    debug builds only
//! ```
//! Functions and names lie below 2^63, so the highest bit tells them apart. *Begun*, *over* and *joined* are
//! functions, too: a join that finds its task at hand calls the function in the state without comparing it
//! with anything. If a descriptor was forked on twice, the task is at hand twice. The second join then calls one of
//! the three, which end the process with a message.
//!
//! A worker that takes a child out of a queue writes *begun*, calls it, and swaps *over* in (Release): that is
//! its last access. It wakes the waiter that the old value names. A waiter leaves its name there by a
//! compare-and-swap; if that fails for good, the child is over.

use crate::sys::atomic::{AtomicPtr, AtomicUsize, Ordering};
use crate::sys::output;
use crate::task::{Scheduler, Task, TaskFn};
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

const WAITED: usize = 1 << 63;

/// Names are addresses, which have fewer bits, even with a memory tag.
const NAMES_END: usize = 1 << 60;

/// A state that is a function: see above. The bodies differ, since a compiler may merge functions with equal bodies.
macro_rules! state {
    ($(#[$doc:meta])* $name:ident, $function:ident, $happened:literal) => {
        extern "C" fn $function(_: *mut c_void, _: *mut Scheduler) {
            joins_one_of_two($happened)
        }

        $(#[$doc])*
        #[inline(always)]
        fn $name() -> usize {
            $function as *const () as usize
        }
    };
}

state!(begun, join_of_begun, "while its task ran");
state!(over, join_of_over, "when its task had ended, but was not joined");

/// A join at hand leaves this in the state, and calls it if it is there already; so does sched_inline.h.
#[cfg_attr(not(loom), unsafe(export_name = "sched_inline_joined"))]
pub extern "C" fn join_of_joined(_: *mut c_void, _: *mut Scheduler) {
    joins_one_of_two("before its task was joined")
}

#[inline(always)]
fn joined() -> usize {
    join_of_joined as *const () as usize
}

#[cold]
#[inline(never)]
fn joins_one_of_two(when: &str) -> ! {
    output::die_in_call(format_args!("sched_join: the descriptor was forked on anew {when}"))
}

#[cold]
#[inline(never)]
fn forked_twice(when: &str) -> ! {
    output::die(format_args!("sched_fork: a descriptor was forked on anew {when}"))
}

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
            state: AtomicUsize::new(over()),
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
        self.state.store(begun(), Ordering::Relaxed);
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
            if state == over() || self.is_joined(state) {
                forked_twice("before its task was joined");
            }
            if state == begun() || state & WAITED != 0 {
                // Moved there by `set_begun`, or by who waits already.
                state = self.f.load(Ordering::Relaxed);
                break;
            }
            // Before the state says that it is there. Only a waiter who finds *begun* looks at it.
            self.closure.store(runner, Ordering::Relaxed);
            match self.state.compare_exchange(state, begun(), Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => break,
                Err(now) => state = now,
            }
        }
        if state == 0 {
            forked_twice("while its task ran");
        }
        self.f.store(0, Ordering::Relaxed); // whoever begins it once more finds that
        // SAFETY: what `set` has stored.
        Task { f: unsafe { function(state) }, closure }
    }

    /// The task has ended: the name of who is to be woken, if any. The descriptor may be gone afterwards.
    #[inline]
    pub fn end(&self) -> Option<usize> {
        // Release, with `is_over`: a thread that sees it sees what the child wrote. Acquire, with `leave_name`: the name.
        let state = self.state.swap(over(), Ordering::AcqRel);
        if state == begun() {
            return None;
        }
        if !(WAITED + 1..WAITED + NAMES_END).contains(&state) {
            overwritten();
        }
        Some(state & !WAITED)
    }

    /// `end`, where nobody waits, nor can: the task that may join it has not gone on since it forked it, or waits for
    /// something else.
    #[inline(always)]
    pub fn end_unawaited(&self) {
        self.state.store(over(), Ordering::Release); // with `is_over`
    }

    #[inline(always)]
    pub fn is_over(&self) -> bool {
        self.state.load(Ordering::Acquire) == over() // with `end`
    }

    /// True if a join may find it in a queue: nobody waits for it, and nobody is known to have begun it.
    #[inline]
    pub fn is_fresh(&self) -> bool {
        let state = self.state.load(Ordering::Relaxed);
        state & WAITED == 0 && state != begun() && state != over()
    }

    /// True if `set_begun` has stored it. To be called before anybody else has it.
    pub fn is_set_begun(&self) -> bool {
        self.state.load(Ordering::Relaxed) == begun()
    }

    /// `task`, for a join; notes that it was joined.
    ///
    /// # Safety
    /// As for `task`.
    #[inline(always)]
    pub unsafe fn take(&self) -> Task {
        // SAFETY: passed on. (After a mistake of the program it is one of the three functions, which may be called, too.)
        let f = unsafe { function(self.state.load(Ordering::Relaxed)) };
        self.state.store(joined(), Ordering::Relaxed);
        Task { f, closure: self.closure.load(Ordering::Relaxed) }
    }

    /// Notes that the caller has joined it. It is over.
    #[inline(always)]
    pub fn forget(&self) {
        self.state.store(0, Ordering::Relaxed);
    }

    /// True if it was joined, or never forked.
    pub fn was_joined(&self) -> bool {
        self.is_joined(self.state.load(Ordering::Relaxed))
    }

    fn is_joined(&self, state: usize) -> bool {
        state == 0 || state == joined()
    }

    /// The function that was forked, if the descriptor still has it: for a message.
    pub fn function(&self) -> usize {
        let f = self.f.load(Ordering::Relaxed);
        let state = self.state.load(Ordering::Relaxed);
        if state & WAITED != 0 || state == begun() { f } else { state }
    }

    pub fn word(&self) -> &AtomicUsize {
        &self.state
    }

    /// Some(the state's new value): from now on the caller is woken by this name, and not by one that it left before.
    /// None: it is over.
    pub fn leave_name(&self, name: usize) -> Option<usize> {
        let left = WAITED | name;
        let mut state = self.state.load(Ordering::Relaxed);
        while state != over() {
            if state == left {
                return Some(left);
            }
            if state & WAITED == 0 && state != begun() {
                self.f.store(state, Ordering::Relaxed); // for `begin`
            }
            match self.state.compare_exchange(state, left, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return Some(left),
                Err(now) => {
                    if state & WAITED == 0 && state != begun() {
                        self.f.store(0, Ordering::Relaxed); // somebody has begun it meanwhile
                    }
                    state = now;
                }
            }
        }
        None
    }

    /// True if somebody waits for it and nobody has begun it. To be asked of one that was forked to be queued, and while
    /// nobody can take it out of a queue.
    pub fn is_lost(&self) -> bool {
        let waits = self.state.load(Ordering::Relaxed) & WAITED != 0;
        waits && self.f.load(Ordering::Relaxed) != 0
    }

    /// The worker that runs it, if that is known.
    pub fn runner(&self) -> Option<*mut c_void> {
        // Acquire, with `begin`: it is known.
        let begun = self.state.load(Ordering::Acquire) == begun();
        begun.then(|| self.closure.load(Ordering::Relaxed))
    }
}

#[cold]
#[inline(never)]
fn overwritten() -> ! {
    output::die(format_args!(
        "sched_fork: a descriptor was overwritten, or forked on anew, before its task had ended: a sched_join is missing"
    ))
}
