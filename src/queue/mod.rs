//! The queues. A queue is a data structure and nothing more: higher floors decide who steals from
//! whom, when a worker sleeps, and when a run ends.
//!
//! | file | queue | owner's path |
//! | --- | --- | --- |
//! | [`split`] | growable deque; a part of it is private to the owner | no fence, no shared write |
//! | [`chaselev`] | growable Chase-Lev deque | lock-free, a full fence in pop |
//! | [`ring`] | ring of 256 slots, first in, first out | lock-free, a swap in pop |
//! | [`locked`] | ring under a lock; the lock and the owner's end are parameters | lock, unlock |
//! | [`injector`] | queue for tasks from outside the run | lock, unlock |
//! | [`first`], [`ended`], [`background`] | parts of the queue for all workers: urgent tasks, tasks whose blocking section has ended, background tasks | |
//!
//! [`length`] tells a debugger where it finds the length of each queue; [`room`] manages the memory
//! of the queues that are a `VecDeque`. [`run_gate`] is the gate of a run, [`run_waits`] the list
//! of the tasks that wait for a whole run, and [`ageing`] tells when background tasks are looked
//! at.
//!
//! # Roles
//!
//! Every deque is a [`Deque`]: its owner adds and takes tasks, thieves take the oldest task. A
//! capability that only some deques have is a trait of its own:
//!
//! | trait | capability | implemented by |
//! | --- | --- | --- |
//! | [`PrivatePart`] | keeps tasks private until the owner or a raid publishes them | `split` |
//! | [`Batches`] | moves several tasks at once | `ring`, `locked` |
//!
//! [`Deque::private_part`] and [`Deque::batches`] return the capability or None. A deque without
//! the capability names [`Infallible`](std::convert::Infallible), a type without values, so the
//! compiler drops the code for `Some`.

pub mod ageing;
pub mod background;
pub mod chaselev;
pub mod ended;
pub mod first;
mod infallible;
pub mod injector;
pub mod length;
pub mod locked;
mod owner;
pub mod ring;
pub mod room;
pub mod run_gate;
pub mod run_waits;
pub mod split;
#[cfg(test)]
mod tests;

pub use self::owner::Owner;

use crate::queue::length::Length;
use crate::sys::memory::NoMemory;
use crate::task::Task;

/// A push was refused for lack of memory or by the queue's limit. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The end at which thieves take tasks.
    Oldest,
    /// The end at which the owner adds tasks.
    Youngest,
}

impl End {
    pub const fn opposite(self) -> End {
        match self {
            End::Oldest => End::Youngest,
            End::Youngest => End::Oldest,
        }
    }
}

#[derive(Debug)]
pub enum Steal {
    Empty,
    /// Another thread took the task that was looked at: the deque may hold more.
    Retry,
    Taken(Task),
}

/// The most tasks that a thief takes at once: half of Tokio's ring. The number is bounded because
/// nobody else can reach the tasks that a thief carries.
pub const BATCH: usize = 128;

/// A double-ended queue. One owner pushes and pops at the bottom (the owner of a FIFO deque pops at
/// the top); any thread steals at the top. Thieves call the safe methods. The owner calls the
/// unsafe ones, through [`Owner`].
pub trait Deque: Send + Sync + Sized + 'static {
    /// An empty deque that refuses to hold more than `limit` tasks.
    fn new(limit: usize) -> Result<Self, NoMemory>;

    /// Completes the initialization that needs the deque's final address.
    ///
    /// # Safety
    /// Called once, before the first use. The deque does not move afterwards.
    unsafe fn initialize_in_place(&self) {}

    // --- capabilities ----------------------------------------------------------------

    /// `Self`, or `Infallible` if thieves reach each task at any time.
    type Private: PrivatePart;
    /// `Self`, or `Infallible` if tasks are moved one by one.
    type Batches: Batches;

    #[inline(always)]
    fn private_part(&self) -> Option<&Self::Private> {
        None
    }

    #[inline(always)]
    fn batches(&self) -> Option<&Self::Batches> {
        None
    }

    const OWNER_POPS: End = End::Youngest;

    /// The number of slots of a deque that cannot grow.
    const SLOTS: Option<usize> = None;

    /// True if a child process that a task forks finds its copy of the deque abandoned: pops take
    /// nothing.
    const ABANDONED_IN_CHILD: bool = false;

    /// The place of what `len_hint` returns, for a debugger.
    const LENGTH: Length;

    // --- thieves ---------------------------------------------------------------------

    /// Takes the oldest task that thieves can reach.
    fn steal(&self) -> Steal;

    /// True if there are public tasks, so that `steal` may succeed now. A hint. The owner may have
    /// private tasks if the call returns false: see [`PrivatePart`].
    fn has_public(&self) -> bool {
        !self.looks_empty()
    }

    /// True if another thread is in the way of a `steal` now. A hint.
    fn is_in_use(&self) -> bool {
        false
    }

    /// True if the deque looks empty. A hint: it may be out of date when the call returns.
    fn looks_empty(&self) -> bool;

    /// The number of tasks. A hint.
    fn len_hint(&self) -> usize;

    /// The most tasks that a pop has found.
    fn peak(&self) -> usize;

    // --- the owner -------------------------------------------------------------------

    /// Adds a task at the bottom. If it returns false, the owner must call `put_slowly` with the
    /// same task at once. With a private part, the owner then publishes tasks for the threads that
    /// have asked ([`Owner::publish_and_rearm`]).
    ///
    /// # Safety
    /// The caller is the one [`Owner`].
    unsafe fn put(&self, task: Task) -> bool;

    /// Completes a `put` that returned false.
    ///
    /// # Safety
    /// The caller is the one [`Owner`], and has just called `put`.
    unsafe fn put_slowly(&self, task: Task) -> Result<(), Full>;

    /// Takes the task at the end `OWNER_POPS`.
    ///
    /// # Safety
    /// The caller is the one [`Owner`].
    unsafe fn pop(&self) -> Option<Task>;

    /// The first half of `pop`. If it returns None, the owner calls `pop_slowly` at once.
    ///
    /// # Safety
    /// The caller is the one [`Owner`].
    unsafe fn pop_quickly(&self) -> Option<Task> {
        // SAFETY: the caller is the one owner.
        unsafe { self.pop() }
    }

    /// The second half of `pop`.
    ///
    /// # Safety
    /// The caller is the one [`Owner`], and `pop_quickly` has just returned None.
    unsafe fn pop_slowly(&self) -> Option<Task> {
        None
    }

    /// Takes the youngest task.
    ///
    /// # Safety
    /// The caller is the one [`Owner`].
    unsafe fn pop_youngest(&self) -> Option<Task> {
        // SAFETY: the caller is the one owner.
        unsafe { self.pop() }
    }

    /// True if the deque still has the memory of an earlier peak.
    ///
    /// # Safety
    /// The caller is the one [`Owner`].
    unsafe fn keeps_memory(&self) -> bool {
        false
    }

    /// Returns the memory of an earlier peak to the system, if the deque is empty.
    ///
    /// # Safety
    /// The caller is the one [`Owner`].
    unsafe fn give_back(&self) {}

    /// Like `pop`, but passes the task to `then`: an Option in between would cost a test. Returns
    /// true if there was a task and no alarm is set ([`PrivatePart::alarm`]).
    ///
    /// # Safety
    /// The caller is the one [`Owner`].
    #[inline(always)]
    unsafe fn pop_into(&self, then: impl FnOnce(Task)) -> bool {
        // SAFETY: the caller is the one owner.
        unsafe { self.pop() }.map(then).is_some()
    }

    /// Takes the youngest task, if it is `task`.
    ///
    /// # Safety
    /// The caller is the one [`Owner`].
    unsafe fn take_back(&self, task: Task) -> bool {
        // SAFETY: the caller is the one owner.
        unsafe {
            match self.pop() {
                Some(youngest) if youngest == task => true,
                Some(other) => {
                    // There is room: the pop has just freed a slot.
                    let _ = self.put(other) || self.put_slowly(other).is_ok();
                    false
                }
                None => false,
            }
        }
    }
}

/// A deque with private tasks. There are three ways to have them published: to ask, to request, and
/// to raid. `put` returns true only while nobody has asked. Such a put is *silent*: the owner does
/// not look for sleepers after it, as the owner of any other deque does after each put.
pub trait PrivatePart: Sized {
    // --- thieves and sleepers --------------------------------------------------------

    /// Asks the owner to publish tasks at its next put, or between two parts of a loop.
    fn ask(&self);

    /// If the owner has private tasks: requests that it publishes half of them at its next pop or
    /// join, and asks. Cheap. True if this is the only pending request.
    fn request(&self) -> bool;

    /// True if a request is pending. A hint.
    fn is_requested(&self) -> bool;

    /// Raids the deque, if a request is pending: the owner has private tasks, and has published
    /// none since the request.
    fn raid_if_requested(&self) -> Raid;

    /// Publishes private tasks without the owner's help. Expensive. True if thieves can steal now.
    fn raid(&self) -> bool;

    /// Sets an alarm, unless one is set already. From the owner's next pop or join on, each pop and
    /// join takes its slow path, and `pop_into` takes nothing, until the owner silences the alarm.
    /// The caller is the owner, or has written the reason of the alarm and then executed a full
    /// fence. Therefore the owner, once it has silenced the alarm, reads the reason.
    fn alarm(&self);

    // --- the owner -------------------------------------------------------------------

    /// True if an alarm is set. One load.
    fn is_alarmed(&self) -> bool;

    /// Removes the alarm. The call ends with a full fence.
    ///
    /// # Safety
    /// The caller is the one [`Owner`].
    unsafe fn silence(&self);

    /// Publishes all private tasks, or a portion of them if thieves have none to steal.
    ///
    /// # Safety
    /// The caller is the one [`Owner`].
    unsafe fn publish(&self, portion: Portion) -> Published;

    /// Makes puts silent until somebody asks again. The call ends with a full fence. It may
    /// overwrite the null of a thread that has asked. If that thread wrote something and executed a
    /// fence before it asked, the owner's reads after this call see those writes.
    ///
    /// # Safety
    /// The caller is the one [`Owner`].
    unsafe fn rearm(&self);

    /// True if somebody has asked since `rearm`. One load.
    fn is_asked(&self) -> bool;
}

/// The outcome of [`PrivatePart::raid_if_requested`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Raid {
    /// The owner has no private tasks or no pending request, or another thief holds the deque.
    NotMade,
    /// The raid has found no task.
    InVain,
    /// The raid has published tasks.
    Published,
}

/// The private tasks that an owner publishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Portion {
    /// The older half. A single task stays private: its owner will most likely take it next.
    Half,
    /// The older half, or a single task.
    HalfOrLone,
    /// All private tasks, if thieves have no task to steal.
    AllIfNone,
    /// All private tasks, whether or not thieves have tasks to steal.
    All,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Published {
    /// There are public tasks.
    Some,
    /// The owner has no task to spare.
    None,
    /// A thief holds the lock: thieves should continue to ask.
    Busy,
}

/// A deque that moves several tasks at once.
pub trait Batches: Sized {
    /// False for `Infallible` alone. A constant, because the values that a setting accepts must
    /// be known before there is a deque.
    const EXIST: bool = true;

    /// Takes the older half of the tasks, rounded up, but at most [`BATCH`] tasks and at most
    /// `rest` beside the oldest. Returns the oldest task, and passes the others to `keep`, oldest
    /// first.
    fn steal_half(&self, rest: usize, keep: impl FnMut(Task)) -> Steal;

    /// Makes room for at most `wanted` tasks. Returns how many can be put, whatever thieves do.
    ///
    /// # Safety
    /// The caller is the one [`Owner`].
    unsafe fn make_room(&self, wanted: usize) -> usize;

    /// Takes out the `n` oldest tasks, to make room; takes none if that would make no room.
    ///
    /// # Safety
    /// The caller is the one [`Owner`].
    unsafe fn spill(&self, n: usize, to: impl FnMut(Task));
}
