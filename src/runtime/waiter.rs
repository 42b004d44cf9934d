//! The waiters of an object, each packed into one word of that object, and how each is woken.

use crate::policy::Turn;
use crate::runtime::identity;
use crate::runtime::record::Worker;
use crate::runtime::suspend;
use crate::sync::crowd::{SERVER, Server};
use crate::sync::outside::Outside;
use crate::sys::atomic::AtomicUsize;
use crate::sys::futex::Futex;
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::Ordering;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Waiter {
    /// A task that is suspended: the address of its continuation.
    Task(*mut c_void),
    /// A worker that helps: it runs other tasks on top of the waiting task.
    Worker(*const Worker),
    /// A thread that is not a worker of the run.
    Thread,
    /// A `Thread` that wakes by itself at its deadline.
    TimedThread,
    /// No task or thread: the server's function is called.
    Server(*const Server),
}

/// The threads that sleep as `Waiter::Thread` and were not woken.
#[unsafe(link_section = "sched_words")]
pub static OUTSIDE: Outside = Outside::new();

/// How many sleeping threads occupy no worker, and have left none for a section. Relaxed: a value
/// that is wrong for a moment only changes or delays a report of a deadlock (`inspect::doubt`).
#[unsafe(link_section = "sched_words")]
static LONE: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);

/// A thread that waits as `Waiter::Thread`. Dropped when the wait is over.
pub struct SleepingThread {
    is_lone: bool,
}

impl SleepingThread {
    /// Counts the calling thread, which has left its name for the first time in this wait.
    pub fn count() -> SleepingThread {
        let is_lone = Worker::current().is_none() && identity::innermost_section().is_none();
        LONE.fetch_add(usize::from(is_lone), Ordering::Relaxed);
        OUTSIDE.count();
        SleepingThread { is_lone }
    }
}

impl Drop for SleepingThread {
    fn drop(&mut self) {
        LONE.fetch_sub(usize::from(self.is_lone), Ordering::Relaxed);
    }
}

/// The number of waiting threads that are in no run.
pub fn lone_threads() -> usize {
    LONE.load(Ordering::Relaxed)
}

/// Resets the counts in the child of a fork.
pub fn forget_threads() {
    LONE.store(0, Ordering::Relaxed);
    OUTSIDE.forget();
}

/// Values of the low bits of a packed waiter. The packed addresses leave these bits free.
const THREAD: usize = SERVER;
/// The whole word of a thread that waits with a deadline. Other words with the low bits of THREAD
/// are those of servers.
const TIMED_THREAD: usize = THREAD | 16;
/// The mark of a suspended task. The name lasts (`sync::node`), since a suspended task cannot
/// replace its name before it is woken.
const TASK: usize = crate::sync::node::LASTING;
/// The mark of a suspended task that waits no longer than until a deadline: its name does not last.
const TIMED_TASK: usize = 8;
const LOW_BITS: usize = 15;

impl Waiter {
    /// The bits of a packed waiter, for a debugger.
    pub const FOR_DEBUGGER: [(&str, usize); 2] =
        [("waiter.task", TASK | TIMED_TASK), ("waiter.low_bits", LOW_BITS)];

    /// Packs the waiter into one word, which is neither 0 nor 1 and whose highest bit is 0.
    pub fn pack(self) -> usize {
        match self {
            Waiter::Task(continuation) => continuation.expose_provenance() | TASK,
            Waiter::Worker(worker) => worker.expose_provenance(),
            Waiter::Thread => THREAD,
            Waiter::TimedThread => TIMED_THREAD,
            Waiter::Server(server) => server.expose_provenance() | SERVER,
        }
    }

    /// Like `pack`, for a wait that a deadline may end.
    pub fn pack_timed(self) -> usize {
        match self {
            Waiter::Task(continuation) => continuation.expose_provenance() | TIMED_TASK,
            other => other.pack(),
        }
    }

    /// # Safety
    /// `pack` or `pack_timed` has returned the word.
    pub unsafe fn unpack(word: usize) -> Waiter {
        match word & LOW_BITS {
            THREAD if word == THREAD => Waiter::Thread,
            THREAD if word == TIMED_THREAD => Waiter::TimedThread,
            THREAD => Waiter::Server(ptr::with_exposed_provenance(word & !LOW_BITS)),
            TASK | TIMED_TASK => Waiter::Task(ptr::with_exposed_provenance_mut(word & !LOW_BITS)),
            _ => Waiter::Worker(ptr::with_exposed_provenance(word)),
        }
    }

    /// The continuation, if the waiter is a suspended task.
    ///
    /// # Safety
    /// `pack` or `pack_timed` has returned the word.
    #[inline]
    pub unsafe fn continuation(word: usize) -> Option<*mut c_void> {
        (word & (TASK | TIMED_TASK) != 0)
            .then(|| ptr::with_exposed_provenance_mut(word & !LOW_BITS))
    }

    /// Wakes the waiter. `word` is the address on which a waiting thread sleeps; the memory there
    /// may be gone already. `from` is the caller's worker; without it a task goes behind all
    /// others.
    pub fn wake(self, word: *const AtomicUsize, from: Option<&Worker>) {
        self.wake_by(word, from, Turn::Soon);
    }

    /// `wake` by a task of `from` that is about to end: its worker takes the woken task next.
    pub fn wake_at_end(self, word: *const AtomicUsize, from: &Worker) {
        self.wake_by(word, Some(from), Turn::Next);
    }

    fn wake_by(self, word: *const AtomicUsize, from: Option<&Worker>, turn: Turn) {
        match self {
            // SAFETY: the continuation was published, and the task is suspended until this call.
            Waiter::Task(continuation) => unsafe {
                suspend::queue_continuation(continuation, from, turn)
            },
            // SAFETY: worker records are never freed.
            Waiter::Worker(worker) => unsafe { &*worker }.rouse(from),
            Waiter::Thread => {
                OUTSIDE.uncount();
                Futex::wake_at(word.cast(), i32::MAX);
            }
            Waiter::TimedThread => _ = Futex::wake_at(word.cast(), i32::MAX),
            // SAFETY: the server lives until it has served.
            Waiter::Server(server) => unsafe { ((*server).serve)(server) },
        }
    }
}
