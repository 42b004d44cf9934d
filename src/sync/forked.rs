//! A forked task's descriptor: its function and argument, whether it is over, and its waiter. This
//! is one file because each function is a transition of one word.
//!
//! ```text
//! state    a function: not begun, and nobody waits
//!          begun    it has begun, and nobody waits
//!          over     it has ended
//!          joined   joined by a task that found it in its own queue
//!          0        joined otherwise, or never forked
//!          WAITED | the waiter's name, whether or not the task has begun
//! closure  the argument; once the task has begun, the worker that runs it (but still the argument
//!          if fork calls the task at once)
//! f        the function, if somebody waited before the task began, or if fork calls it at once;
//!          0 once it has begun
//! check    debug builds only
//! ```
//! Functions and names lie below 2^63, so the highest bit marks a name. *Begun*, *over* and
//! *joined* are also functions: a join that finds its task in its own queue calls the function in
//! the state without comparing it with anything. If a descriptor was passed to sched_fork twice,
//! its task is in the queue twice. The second join then calls one of these three functions, which
//! end the process with a message.
//!
//! A worker that takes a child out of a queue writes *begun*, calls the child, and swaps *over*
//! into the state (Release). This swap is the worker's last access to the descriptor. Then the
//! worker wakes the waiter that the old value names, if any. A waiter leaves its name in the state
//! by a compare-and-swap; if it finds *over* instead, there is nothing to wait for.
//!
//! # Orderings
//!
//! | operation | ordering | partner |
//! | --- | --- | --- |
//! | `set`, `set_begun`, `take`, `forget` | Relaxed | the queue that the task goes through, or the join |
//! | `begin`: load of the state | Acquire | `leave_name`: `f` and the waiter are written |
//! | `begin`: exchange to *begun* | AcqRel | `runner` and `leave_name`; Acquire as in the load |
//! | `end`: swap to *over* | AcqRel | `is_over`: the child's writes; `leave_name`: the waiter's |
//! | `end_unawaited`: store of *over* | Release | `is_over` |
//! | `is_over`: load | Acquire | `end`, `end_unawaited` |
//! | `leave_name`: exchange | AcqRel | `end`, which then wakes the waiter; `begin`, whose *begun* it replaces |
//! | `runner`: load of the state | Acquire | the exchange in `begin`: the runner is written |
//! | `is_fresh`, `was_joined`, `is_lost`, `function` | Relaxed | none: a hint, or a value that the caller has written |
//!
//! `leave_name` returns None without an order: its caller then asks `is_over`.

use crate::sys::atomic::{AtomicPtr, AtomicUsize, Ordering};
use crate::sys::output;
use crate::task::{Scheduler, Task, TaskFn};
use std::ffi::c_void;
use std::mem::offset_of;

/// The C side's `sched_task`.
#[repr(C)]
pub struct Forked {
    state: AtomicUsize,
    closure: AtomicPtr<c_void>,
    f: AtomicUsize,
    /// In debug builds: tells whether the task is forked, and in which run.
    pub check: AtomicUsize,
}

const WAITED: usize = 1 << 63;

/// Names are addresses, which have fewer bits, even with a memory tag.
const NAMES_END: usize = 1 << 60;

/// A state that is a function. The bodies differ, since a compiler may merge equal ones.
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

/// A join that finds its task in its own queue calls the function in the state, and leaves this
/// function there, as does sched_inline.h. So a second join of the same task calls this function.
#[unsafe(export_name = "sched_inline_joined")]
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
    output::die_in_call(format_args!(
        "sched_join: the descriptor was passed to sched_fork again {when}"
    ))
}

#[cold]
#[inline(never)]
fn forked_twice(when: &str) -> ! {
    output::die(format_args!("sched_fork: a descriptor was passed to sched_fork again {when}"))
}

/// # Safety
/// The word is a function's address.
#[inline(always)]
unsafe fn function(word: usize) -> TaskFn {
    // SAFETY: the word is a function's address.
    unsafe { std::mem::transmute::<usize, TaskFn>(word) }
}

/// The state of a forked task, for an observer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeenForked {
    /// The task's function and argument. In a kind that queues forked tasks it has not begun.
    Function {
        f: usize,
        closure: usize,
    },
    /// The worker on which the task began.
    Begun(usize),
    Over,
}

/// The name in a state, or in the word of a `sync::node::Node`; meaningless if nobody waits.
pub fn name_in(word: usize) -> usize {
    if word & WAITED != 0 || word < NAMES_END { word & !WAITED } else { 0 }
}

impl Forked {
    /// The offset of `f`, for an observer.
    pub const FUNCTION: usize = offset_of!(Forked, f);

    /// The offset of what `note` has stored, for an observer.
    pub const NOTED: usize = offset_of!(Forked, closure);

    /// The offsets and values that `seen` and `name_in` need, for a debugger.
    pub const FOR_DEBUGGER: [(&str, usize); 5] = [
        ("forked.state", offset_of!(Forked, state)),
        ("forked.closure", offset_of!(Forked, closure)),
        ("forked.f", Forked::FUNCTION),
        ("forked.waited", WAITED),
        ("forked.names_end", NAMES_END),
    ];

    /// The states that are functions of the library.
    pub const STATES: [(&str, TaskFn); 3] = [
        ("forked.begun", join_of_begun),
        ("forked.over", join_of_over),
        ("forked.joined", join_of_joined),
    ];

    /// Decodes the words of a descriptor.
    pub fn seen([state, closure, f]: [usize; 3]) -> SeenForked {
        match state {
            state if state == over() || state == 0 || state == joined() => SeenForked::Over,
            state if state & WAITED == 0 && state != begun() => {
                SeenForked::Function { f: state, closure }
            }
            _ if f == 0 => SeenForked::Begun(closure),
            _ => SeenForked::Function { f, closure },
        }
    }

    #[inline(always)]
    pub fn unset() -> Self {
        Forked {
            state: AtomicUsize::new(over()),
            closure: AtomicPtr::default(),
            f: AtomicUsize::new(0),
            check: AtomicUsize::new(0),
        }
    }

    /// Stores a task that will be queued.
    #[inline(always)]
    pub fn set(&self, f: TaskFn, closure: *mut c_void) {
        self.state.store(f as usize, Ordering::Relaxed);
        self.closure.store(closure, Ordering::Relaxed);
    }

    /// Like `set`, for a spawn that calls the task at once: the worker that receives the task
    /// begins it, and is not stored as the runner.
    #[inline(always)]
    pub fn set_begun(&self, f: TaskFn, closure: *mut c_void) {
        self.f.store(f as usize, Ordering::Relaxed);
        self.closure.store(closure, Ordering::Relaxed);
        self.state.store(begun(), Ordering::Relaxed);
    }

    /// The task that `set` has stored.
    ///
    /// # Safety
    /// The task has not begun, and only the caller may begin it.
    #[inline(always)]
    pub unsafe fn task(&self) -> Task {
        // SAFETY: the task has not begun, so the state is its function.
        let f = unsafe { function(self.state.load(Ordering::Relaxed)) };
        Task { f, closure: self.closure.load(Ordering::Relaxed) }
    }

    /// The task that `set_begun` has stored.
    ///
    /// # Safety
    /// `set_begun` was called, and the caller has received the task.
    #[inline(always)]
    pub unsafe fn task_begun(&self) -> Task {
        // SAFETY: `set_begun` has stored `f`, a function's address.
        let f = unsafe { function(self.f.load(Ordering::Relaxed)) };
        Task { f, closure: self.closure.load(Ordering::Relaxed) }
    }

    /// Begins a task from a queue, which `runner` will run, and returns the task to call.
    ///
    /// # Safety
    /// The task was taken out of a queue, once.
    #[inline]
    pub unsafe fn begin(&self, runner: *mut c_void) -> Task {
        // Acquire: pairs with `leave_name`; `f` and the waiter are seen.
        let mut state = self.state.load(Ordering::Acquire);
        let closure = self.closure.load(Ordering::Relaxed);
        loop {
            if state == over() || self.is_joined(state) {
                forked_twice("before its task was joined");
            }
            if state == begun() || state & WAITED != 0 {
                // `set_begun`, or a task that already waits, has stored the function in `f`.
                state = self.f.load(Ordering::Relaxed);
                break;
            }
            // Written before the state becomes *begun*: only a waiter that finds *begun* reads it.
            self.closure.store(runner, Ordering::Relaxed);
            match self.state.compare_exchange(state, begun(), Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => break,
                Err(now) => state = now,
            }
        }
        if state == 0 {
            forked_twice("while its task ran");
        }
        self.f.store(0, Ordering::Relaxed); // a second begin finds 0
        // SAFETY: `state` is the function that `set` has stored.
        Task { f: unsafe { function(state) }, closure }
    }

    /// Ends the task, whose descriptor may then be gone. Returns the name of the waiter to wake, if
    /// any.
    #[inline]
    pub fn end(&self) -> Option<usize> {
        // Release: pairs with `is_over`; a thread that sees the end sees what the child wrote.
        // Acquire: pairs with `leave_name`, for the waiter.
        let state = self.state.swap(over(), Ordering::AcqRel);
        if state == begun() {
            return None;
        }
        if !(WAITED + 1..WAITED + NAMES_END).contains(&state) {
            overwritten();
        }
        Some(state & !WAITED)
    }

    /// Like `end`, for a task for which nobody waits or can begin to wait: the task that may join
    /// it has not continued since the fork, or waits for something else.
    #[inline(always)]
    pub fn end_unawaited(&self) {
        self.state.store(over(), Ordering::Release); // pairs with `is_over`
    }

    #[inline(always)]
    pub fn is_over(&self) -> bool {
        self.state.load(Ordering::Acquire) == over() // pairs with `end`
    }

    /// True if a join may find the task in a queue: it has no waiter, and has not visibly begun.
    #[inline]
    pub fn is_fresh(&self) -> bool {
        let state = self.state.load(Ordering::Relaxed);
        state & WAITED == 0 && state != begun() && state != over()
    }

    /// True if `set_begun` has stored the task. Called before any other thread has the descriptor.
    pub fn is_set_begun(&self) -> bool {
        self.state.load(Ordering::Relaxed) == begun()
    }

    /// Like `task`, for a join; notes that the task was joined.
    ///
    /// # Safety
    /// The task has not begun, and only the caller may begin it.
    #[inline(always)]
    pub unsafe fn take(&self) -> Task {
        // SAFETY: the task has not begun: the state is a function. (After a mistake of the program
        // it may be one of the three special functions, which may also be called.)
        let f = unsafe { function(self.state.load(Ordering::Relaxed)) };
        self.state.store(joined(), Ordering::Relaxed);
        Task { f, closure: self.closure.load(Ordering::Relaxed) }
    }

    /// Notes that the caller has joined the task, which is over.
    #[inline(always)]
    pub fn forget(&self) {
        self.state.store(0, Ordering::Relaxed);
    }

    /// Makes this descriptor lead to `shadow`, the descriptor that is queued in its place: a join
    /// of this descriptor must join `shadow`. `mark` is a function that no program can fork.
    pub fn lead_to(&self, shadow: *const Forked, mark: TaskFn) {
        self.forget();
        self.closure.store(shadow.cast_mut().cast(), Ordering::Relaxed);
        self.f.store(mark as usize, Ordering::Relaxed);
    }

    /// The descriptor that `lead_to` has stored with this mark. Null: none was stored.
    pub fn shadow(&self, mark: TaskFn) -> *const Forked {
        let is = self.state.load(Ordering::Relaxed) == 0
            && self.f.load(Ordering::Relaxed) == mark as usize;
        if is { self.closure.load(Ordering::Relaxed).cast() } else { std::ptr::null_mut() }
    }

    /// Keeps another descriptor's address for an observer, in a descriptor without a forked task.
    pub fn note(&self, other: *const Forked) {
        self.closure.store(other.cast_mut().cast(), Ordering::Relaxed);
    }

    /// Ends `lead_to`: the descriptor counts as joined.
    pub fn forget_shadow(&self) {
        self.f.store(0, Ordering::Relaxed);
    }

    /// True if the task was joined, or never forked.
    pub fn was_joined(&self) -> bool {
        self.is_joined(self.state.load(Ordering::Relaxed))
    }

    fn is_joined(&self, state: usize) -> bool {
        state == 0 || state == joined()
    }

    /// The forked function, for a message, if the descriptor still has it.
    pub fn function(&self) -> usize {
        let f = self.f.load(Ordering::Relaxed);
        let state = self.state.load(Ordering::Relaxed);
        if state & WAITED != 0 || state == begun() { f } else { state }
    }

    /// The closure of a task that has not begun.
    pub fn closure(&self) -> *mut c_void {
        self.closure.load(Ordering::Relaxed)
    }

    pub fn word(&self) -> &AtomicUsize {
        &self.state
    }

    /// Makes `name` the name by which the caller is woken, in place of any earlier one. Returns the
    /// new state; None: the task is over.
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

    /// True if somebody waits for the task and nobody has begun it. Only for a task that `set` has
    /// stored, and only while nobody can take it out of a queue.
    pub fn is_lost(&self) -> bool {
        let waits = self.state.load(Ordering::Relaxed) & WAITED != 0;
        waits && self.f.load(Ordering::Relaxed) != 0
    }

    /// The worker that runs the task, if it is known.
    pub fn runner(&self) -> Option<*mut c_void> {
        // Acquire: pairs with the exchange in `begin`; the runner is then written.
        let begun = self.state.load(Ordering::Acquire) == begun();
        begun.then(|| self.closure.load(Ordering::Relaxed))
    }
}

#[cold]
#[inline(never)]
fn overwritten() -> ! {
    output::die(format_args!(
        "sched_fork: a descriptor was overwritten, or passed to sched_fork again, before its task had ended: a sched_join is missing"
    ))
}
