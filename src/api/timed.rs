//! Waits that end at a deadline, or at the cancellation of the caller's group, at the latest.
//!
//! A task in such a wait has an entry (`deadline::Entry`) on its stack beside its node. When the
//! deadline has come, or the wait is cut off, the node *expires* (`sync::node`), and the task
//! resumes. It then takes its node out of the object that it has waited for. If the object has
//! granted the node meanwhile, the wait has succeeded.
//!
//! A thread that is not in a task needs no entry: it sleeps until the deadline at the latest, and
//! then itself makes its node expire.
//!
//! [`cancel`](super::cancel) tells which waits a cancellation cuts off.

use crate::api::cancel::{Group, group_of};
use crate::api::nodes::may_wait;
use crate::api::wait::{Latch, MAX_SLEEP, Wait, sleep_until_over};
use crate::deadline::{Deadlines, Entry, FOREVER, Then, Why};
use crate::runtime::deadlines;
use crate::runtime::identity::{self, Mine};
use crate::runtime::record::{Fiber, Worker};
use crate::runtime::wait_note::{Object, WaitsFor};
use crate::runtime::waiter::Waiter;
use crate::runtime::yielding;
use crate::sync::lines::{Lines, Searches};
use crate::sync::node::Node;
use crate::sys::atomic::AtomicUsize;
use crate::sys::errno::Errno;
use crate::sys::futex::Futex;
use crate::sys::memory::NoMemory;
use crate::sys::{detector, errno, thread};
use std::cell::Cell;
use std::ffi::c_int;
use std::ptr;
use std::time::Duration;

/// How a wait has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The node was granted.
    Granted,
    /// The node has expired.
    TimedOut,
    Canceled,
}

impl End {
    /// The error of a wait that was not granted.
    pub fn error(self) -> c_int {
        if self == End::Canceled { libc::ECANCELED } else { libc::ETIMEDOUT }
    }
}

/// A deadline of the caller, who may wait until then.
#[derive(Clone, Copy)]
pub(super) struct Deadline<'a> {
    time: i64,
    /// The fiber of the caller's task; None: the caller is a thread, or a task that keeps its
    /// thread.
    fiber: Option<&'a Fiber>,
}

/// The entry of a task that waits.
#[repr(C)]
struct Timed {
    entry: Entry,
    node: *const Node,
    group: *const Group,
    is_cut: Cell<bool>,
}

/// A node that may expire, as a latch.
struct Expiring<'a>(&'a Node);

impl Latch for Expiring<'_> {
    const ENDS_OUTSIDE: bool = true;

    fn word(&self) -> &AtomicUsize {
        self.0.word()
    }

    fn is_over(&self) -> bool {
        self.0.has_ended()
    }

    fn register(&self, waiter: Waiter) -> Option<usize> {
        let name = waiter.pack_timed();
        self.0.leave_name(name).then_some(name)
    }
}

impl<'a> Deadline<'a> {
    /// Must be called before the wait, and before its node is linked. Fails with ETIMEDOUT if the
    /// deadline has passed, ECANCELED if the caller's group is cancelled, ENOMEM, or EINVAL if
    /// `may_wait` says so. `worker` is a worker of the caller's run, or None.
    pub fn new(time: i64, worker: Option<&'a Worker>) -> Result<Self, Errno> {
        let fiber = worker.and_then(Worker::mine).map(Mine::fiber).or_else(identity::lone_fiber);
        if fiber.and_then(group_of).is_some_and(Group::is_cancelled) {
            return Err(Errno(libc::ECANCELED));
        }
        if time <= deadlines::now() {
            return Err(Errno(libc::ETIMEDOUT));
        }
        if !may_wait(worker) {
            return Err(Errno(libc::EINVAL));
        }
        if let Some(fiber) = fiber {
            prepare(fiber.worker())?;
        }
        Ok(Deadline { time, fiber })
    }

    /// True if neither the clock nor a cancellation can end the wait.
    fn is_endless(&self) -> bool {
        self.time == FOREVER && self.group().is_none()
    }

    /// The time, if the caller is a thread, or a task that keeps its thread.
    pub fn of_thread(&self) -> Option<i64> {
        self.fiber.is_none().then_some(self.time)
    }

    /// A deadline that comes when the limit has passed, or sooner.
    pub fn within(self, limit: Duration) -> Self {
        let time = deadlines::now().saturating_add(limit.as_nanos() as i64);
        Deadline { time: time.min(self.time), ..self }
    }

    /// The group of the caller's task.
    pub fn group(&self) -> Option<&'a Group> {
        self.fiber.and_then(group_of)
    }

    /// Waits until the node is granted, or expires. `what` is told to observers; None: the task
    /// sleeps.
    #[inline(never)]
    pub fn wait(self, node: &Node, what: Option<WaitsFor>) -> End {
        if let Some(what) = what.filter(|_| self.is_endless()) {
            match self.fiber {
                Some(fiber) => Wait::new(&Expiring(node), what).on_fiber(fiber),
                None => sleep_until_over(&Expiring(node)), // it counts for the proof of a deadlock
            }
            return End::Granted; // nothing else ends the wait
        }
        let Some(fiber) = self.fiber else { return wait_in_thread(node, self.time) };
        let group = group_of(fiber);
        let timed = Timed {
            entry: Entry::new(claim),
            node,
            group: group.map_or(ptr::null(), ptr::from_ref),
            is_cut: Cell::new(false),
        };
        let latch = Expiring(node);
        detector::own(&timed);
        detector::own(&latch); // it is read on another stack
        group.into_iter().for_each(detector::own); // by `cut`
        // SAFETY: the entry lives until it is removed below.
        unsafe { deadlines::add(&raw const timed.entry, self.time) };
        group.into_iter().for_each(Group::cut_if_reached);
        let what = what.unwrap_or_else(|| WaitsFor::new(Object::Sleep, &raw const timed.entry));
        Wait::new(&latch, what).on_fiber(fiber);
        // SAFETY: the entry was added above.
        unsafe { deadlines::DEADLINES.remove(&raw const timed.entry) };
        match (node.is_granted(), timed.is_cut.get()) {
            (true, _) => End::Granted,
            (false, true) => End::Canceled,
            (false, false) => End::TimedOut,
        }
    }
}

/// Must be called before the first entry of a task of this worker's run is added.
pub(super) fn prepare(worker: &Worker) -> Result<(), NoMemory> {
    deadlines::prepare(worker, cut)
}

/// The group of the calling task.
pub(super) fn group_of_caller<'a>() -> Option<&'a Group> {
    identity::current_fiber().and_then(group_of)
}

/// The part of `Deadline::wait` for a thread.
fn wait_in_thread(node: &Node, deadline: i64) -> End {
    let _uncancelled = thread::Uncancelled::begin(); // the object has this thread registered
    let latch = Expiring(node);
    while !node.is_granted() {
        let left = deadline.saturating_sub(deadlines::now());
        if left <= 0 {
            // SAFETY: only this thread expires its node. Its own name needs no wake-up.
            if unsafe { Node::expire(node) }.is_some() {
                return End::TimedOut;
            }
            continue; // it was granted: `is_granted` shows what the granting thread wrote
        }
        if let Some(value) = latch.register(Waiter::TimedThread) {
            let limit = Duration::from_nanos(left as u64).min(MAX_SLEEP);
            <&Futex>::from(node.word()).wait(value as u32, limit);
        }
    }
    End::Granted
}

/// See `deadline::Claim`.
///
/// # Safety
/// The entry is that of a [`Timed`], whose task waits.
unsafe fn claim(entry: *const Entry, why: Why) -> Option<Then> {
    let timed: *const Timed = entry.cast();
    // SAFETY: the task does not end its wait before `remove` has returned: that takes the lock that
    // is held now, unless it finds what is stored after the claim.
    unsafe {
        (*timed).is_cut.set(why == Why::Cut);
        let node = (*timed).node;
        let word = ptr::from_ref((*node).word());
        let name = Node::expire(node).filter(|&name| name != 0)?;
        Some(Then { act: wake, with: [name, word.expose_provenance()] })
    }
}

fn wake([name, word]: [usize; 2]) {
    // SAFETY: `pack_timed` has returned the name, which was taken out of the node just now.
    let waiter = unsafe { Waiter::unpack(name) };
    waiter.wake(ptr::with_exposed_provenance(word), None);
}

#[unsafe(link_section = "sched_words")]
static SEARCHES: Searches = Searches::new();

/// Cuts off the waits of all tasks in the line of a cancelled group.
fn cut(deadlines: &Deadlines) {
    let lines = Lines::new(&SEARCHES);
    deadlines.cut(claim, |entry| {
        // SAFETY: the entry has this claim, and its task waits in its group, if any.
        let group = unsafe { (*entry.cast::<Timed>()).group.as_ref() };
        // SAFETY: as above.
        group.is_some_and(|group| unsafe { lines.is_cancelled(&group.line) })
    });
}

/// See `sched_sleep`. If the time has passed before the task can be suspended, the task yields:
/// otherwise a task that polls with short sleeps would keep its worker.
pub fn sleep(ns: i64, worker: Option<&Worker>) -> c_int {
    let late = || match worker {
        Some(worker) if ns > 0 => yielding::yield_now(worker),
        _ => {}
    };
    detector::ignored(|| sleep_or(late, deadlines::now().saturating_add(ns), worker))
}

/// See `sched_sleep_until`.
pub fn sleep_until(time: i64, worker: Option<&Worker>) -> c_int {
    detector::ignored(|| sleep_or(|| {}, time, worker))
}

/// Sleeps until `time`; calls `late` if it has passed.
fn sleep_or(late: impl FnOnce(), time: i64, worker: Option<&Worker>) -> c_int {
    let deadline = match Deadline::new(time, worker) {
        Ok(deadline) => deadline,
        Err(Errno(libc::ETIMEDOUT)) => {
            late();
            return 0;
        }
        Err(Errno(error)) => return errno::failed(error),
    };
    let node = Node::default();
    detector::own(&node);
    match deadline.wait(&node, None) {
        End::Canceled => errno::failed(libc::ECANCELED),
        End::Granted | End::TimedOut => 0,
    }
}
