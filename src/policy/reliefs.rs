//! Reliefs: threads that run, beside busy workers, tasks that have waited for descriptors or time,
//! and the tasks of timers.
//!
//! If every worker computes for long, a task whose descriptor has become ready would wait until one
//! of the workers' tasks ends. So a run has a place more than it has workers and guests. A thread
//! of the library comes to that place, and the system's scheduler shares the processors between it
//! and the workers. It runs only tasks in the queue for tasks from outside that were suspended or
//! are of timers, and, in kinds `steal` and `cont`, the tasks that these spawn; any other task that
//! has not begun is left to the workers. (The one queue of `lifo` and `fifo` does not tell which
//! thread has spawned a task.) While there are none, it is the poller (`idle::poller`). It leaves
//! when a worker is idle, or when nothing has come for a while ([`QUIET`]).
//!
//! The thread that keeps the deadlines decides (`runtime::relief`): it calls a relief when such a
//! task has waited for a millisecond. It looks after each event and each deadline, whoever has
//! served it, and again each millisecond while such a task waits: a worker that is idle at the look
//! may take one of the tasks, and compute in it for long. If a wait ends before the task has left
//! its stack, the task's own worker queues the task later, so that worker requests another look
//! ([`Reliefs::request_look`]). A program has no relief if it has no timers and its tasks never
//! wait for descriptors or time, or if its workers have nothing else to do.
//!
//! The place counts as active, so the run does not end while a relief is there. A task that a
//! relief runs is on a stack of its own, as at a worker; if it waits, any worker may resume it,
//! and the relief may resume a task that a worker has suspended. So the loop of either may find,
//! after each task, that its stack belongs to the other one's place; then the other one's loop
//! continues there (`runtime::host`).
//!
//! Rejected: more workers than processors, always. They would take each other's processors from
//! programs that compute. Rejected: to preempt a worker's task by a signal. The interrupted code
//! may hold any lock.

use crate::deadline::Served;
use crate::sys::atomic::{AtomicBool, AtomicU32, Ordering, const_fn};
use std::time::Duration;

/// Tells whether tasks from outside that suit a relief wait, and whether a worker will take them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suspended {
    Absent,
    /// A worker is idle and will take one of the tasks, but perhaps not all; or only tasks may suit
    /// at which the policy has not looked.
    MayWait,
    /// No worker is idle.
    Wait,
}

impl Suspended {
    /// If `found`, one of the oldest tasks from outside suits a relief. If `more`, there are tasks
    /// from outside at which the policy has not looked.
    pub fn new(found: bool, more: bool, has_idle_worker: bool) -> Suspended {
        match found {
            true if !has_idle_worker => Suspended::Wait,
            false if !more => Suspended::Absent,
            _ => Suspended::MayWait,
        }
    }
}

/// The keeper's knowledge of the reliefs of all runs.
pub struct Reliefs {
    /// A look was requested since the last look.
    requested: AtomicBool,
    /// A run wants or may soon want a relief. Only the keeper uses it.
    wanted: AtomicBool,
}

impl Reliefs {
    const_fn! {
        #[allow(clippy::new_without_default, reason = "one constructor is enough")]
        pub fn new() -> Self {
            Reliefs { requested: AtomicBool::new(false), wanted: AtomicBool::new(false) }
        }
    }

    /// For the keeper: calls `look`, which looks at all runs, if one may want a relief. `served`
    /// tells whether deadlines were served, and `may_act` whether tasks wait for descriptors. True
    /// if the keeper must look again soon.
    pub fn look(&self, served: Served, may_act: bool, look: impl FnOnce() -> bool) -> bool {
        let requested = self.requested.swap(false, Ordering::Acquire); // pairs with `request_look`
        let may_want = requested || served.any || may_act || self.wanted.load(Ordering::Relaxed);
        let wanted = (may_want && look()) || served.serving;
        self.wanted.store(wanted, Ordering::Relaxed);
        wanted
    }

    /// Requests a look at all runs, after a relief has left, or a task that suits a relief was
    /// queued by a worker. The caller then calls the keeper.
    pub fn request_look(&self) {
        // A read-modify-write: the keeper reads the last request, and so also acquires the earlier
        // ones.
        self.requested.swap(true, Ordering::Release); // pairs with `look`
    }
}

/// The state of a run: whether it has a relief, or wants one.
///
/// ```text
/// NONE --wanted--> WANTED --still wanted--> CALLED --a task asks for its number--> DISMISSED
///   ^  <-no longer--                          |                                        |
///   +-----------------------------------------+----------------------------------------+
///                                 the relief has gone
/// ```
/// Only the keeper changes NONE and WANTED, and only the relief and its tasks change the other two.
/// All accesses are Relaxed: the call of the thread and the policy's locks order the rest.
#[derive(Default)]
pub struct ReliefState(AtomicU32);

const NONE: u32 = 0;
const WANTED: u32 = 1;
const CALLED: u32 = 2;
const DISMISSED: u32 = 3;

impl ReliefState {
    /// For the keeper. `suspended` is the policy's answer. `call` calls a relief, and returns false
    /// if there is no thread for it. True if the run has or may soon have such tasks behind busy
    /// workers, and the keeper must look again soon.
    pub fn look(&self, suspended: impl FnOnce() -> Suspended, call: impl FnOnce() -> bool) -> bool {
        let before = self.0.load(Ordering::Relaxed);
        if before >= CALLED {
            return false;
        }
        let suspended = suspended();
        let wanted = suspended == Suspended::Wait;
        self.set(if wanted { WANTED } else { NONE });
        if wanted && before == WANTED {
            self.set(CALLED);
            if call() {
                return false; // the relief has the keeper look when it leaves
            }
            self.set(NONE);
        }
        suspended != Suspended::Absent
    }

    fn set(&self, state: u32) {
        self.0.store(state, Ordering::Relaxed);
    }

    pub fn dismiss(&self) {
        self.set(DISMISSED);
    }

    pub fn is_dismissed(&self) -> bool {
        self.0.load(Ordering::Relaxed) == DISMISSED
    }

    /// Called when the run has no relief any more. The caller then calls the keeper, which looks
    /// whether the run wants another one, since a task may have been queued after the last look of
    /// this one.
    pub fn go(&self, reliefs: &Reliefs) {
        self.set(NONE);
        reliefs.request_look();
    }
}

/// At how many tasks from outside a policy looks for suspended ones.
pub const MOST_LOOKS: usize = 32;

/// How long a relief sleeps between two looks at the workers.
pub const LOOK: Duration = Duration::from_millis(1);

/// A relief leaves after this many looks without a task.
pub const QUIET: u32 = 20;
