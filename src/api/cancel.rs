//! The cancellation of groups, and what it reaches.
//!
//! A cancellation cuts off the waits with a deadline, and the sleeps, of the group's tasks, and of
//! the tasks of each group for which such a task waits: its *line*. While a task of a group waits
//! for another group, it has a note in the list of the awaited group. So a program that cancels a
//! group need not know which groups its tasks use. The notes are followed upwards, from the group of
//! the task whose wait may be cut off ([`Lines`]).
//!
//! `sched_group_cancel` may be called in a signal's handler, and takes no lock. It marks the group,
//! and then asks the keeper of the deadlines to cut. A task of a group that begins to wait with a
//! deadline, or for another group, asks the keeper if a cancellation may reach it (`sync::cuts`).
//!
//! # The search
//!
//! The lists that a search has come to stay locked until its end; a task that has waited removes its
//! note under the same lock. So a task whose note is followed still waits, and its group exists. One
//! thread at a time searches, and every other thread holds one of these locks, for a few
//! instructions. So no circle of locks can form. A bit beside the lock tells the searching thread
//! that it has come to the list before, by another way or in a circle of waits. The lists form a
//! chain through their first notes, so a search needs neither memory nor recursion.
//!
//! If a search finds no cancelled group, the lists that it has come to lead to none, and later
//! searches of the same cut pass them over: their first notes have the number of the search. After a
//! search that finds a cancelled group the number changes. (A note that is added later, or a group
//! that is cancelled later, is followed by a request for another cut.) So the time of a cut depends
//! on the number of entries and notes, and not on the number of ways from note to note: if two tasks
//! of each group in a row of 25 wait for the next group, there are 2^25 ways.
//!
//! # Orderings
//!
//! | operation | ordering | partner |
//! | --- | --- | --- |
//! | `Awaiters::lock`, `unlock` | Acquire, Release | each other |
//! | the first look at `Awaiters`: a note | Relaxed | the fences of `sync::cuts` |
//! | the first look at `Awaiters`: `VISITED` | Relaxed | none: the searching thread has set it |
//! | `SEARCHES` | Relaxed | none: one thread at a time searches (`sync::cuts`) |

use crate::lock::trylock::Backoff;
use crate::runtime::deadlines;
use crate::runtime::record::Fiber;
use crate::sync::cancel::Cancellation;
use crate::sync::members::Members;
use crate::sys::atomic::{AtomicPtr, AtomicUsize, Ordering};
use crate::sys::{detector, errno};
use std::cell::Cell;
use std::ffi::c_int;
use std::ptr;

/// The C type `sched_group`. If all bytes are zero, the group has no tasks. (`members` is the first
/// field, so its address in a note of a wait equals the group's in `Fiber::group`.)
#[repr(C)]
pub struct Group {
    pub(super) members: Members,
    cancelled: Cancellation,
    awaiters: Awaiters,
}

impl Group {
    pub(super) fn without_tasks() -> Self {
        Group {
            members: Members::default(),
            cancelled: Cancellation::default(),
            awaiters: Awaiters::default(),
        }
    }
}

/// A note of a task that waits for a group, if it belongs to a group itself. It lies on the stack of
/// the task, in the list of the awaited group. `search`, `list` and `then` are of use in the first
/// note of a list alone.
struct Awaiter {
    /// The group of the waiting task.
    group: *const Group,
    next: Cell<*const Awaiter>,
    /// The number of the last search that has come to the list.
    search: Cell<usize>,
    /// The list, while a search has it locked.
    list: Cell<*const Awaiters>,
    /// The first note of the list that the search has locked after this one.
    then: Cell<*const Awaiter>,
}

/// The notes of a group's awaiters. The lowest bits of the pointer are `LOCKED` and `VISITED`.
#[derive(Default)]
#[repr(transparent)]
struct Awaiters(AtomicPtr<Awaiter>);

const LOCKED: usize = 1;
/// The thread that searches has the list locked.
const VISITED: usize = 2;

impl Awaiters {
    /// Locks the list, sets `bits` beside the lock, and returns the first note.
    fn lock(&self, bits: usize) -> *const Awaiter {
        let mut backoff = Backoff::default();
        loop {
            let seen = self.0.load(Ordering::Relaxed);
            let locked = seen.map_addr(|at| at | LOCKED | bits);
            let (acquire, relaxed) = (Ordering::Acquire, Ordering::Relaxed);
            let is_free = seen.addr() & LOCKED == 0;
            if is_free && self.0.compare_exchange(seen, locked, acquire, relaxed).is_ok() {
                return seen;
            }
            backoff.wait();
        }
    }

    /// Unlocks the list, whose first note is `first` from now on.
    fn unlock(&self, first: *const Awaiter) {
        self.0.store(first.cast_mut(), Ordering::Release);
    }

    /// # Safety
    /// The note is in no list, and stays where it is until `remove`.
    unsafe fn add(&self, note: &Awaiter) {
        note.next.set(self.lock(0));
        self.unlock(note);
    }

    /// # Safety
    /// The note is in this list.
    unsafe fn remove(&self, note: &Awaiter) {
        let first = self.lock(0);
        match notes(first).find(|before| ptr::eq(before.next.get(), note)) {
            Some(before) => before.next.set(note.next.get()),
            None => return self.unlock(note.next.get()),
        }
        self.unlock(first);
    }
}

/// The notes from `first` on. The list is locked.
fn notes<'a>(first: *const Awaiter) -> impl Iterator<Item = &'a Awaiter> {
    // SAFETY: each note stays in the list until its task removes it, under the lock.
    let get = |note: *const Awaiter| unsafe { note.as_ref() };
    std::iter::successors(get(first), move |note| get(note.next.get()))
}

/// How many numbers searches have had.
#[unsafe(link_section = "sched_words")]
static SEARCHES: AtomicUsize = AtomicUsize::new(0);

/// The searches of one cut: see the essay.
pub(super) struct Lines {
    number: Cell<usize>,
}

/// The lists that a search has locked, in the order in which it has come to them.
struct Search {
    number: usize,
    first: *const Awaiter,
    last: *const Awaiter,
}

impl Lines {
    /// To be called by the thread that cuts.
    pub fn new() -> Self {
        let lines = Lines { number: Cell::new(0) };
        lines.renew();
        lines
    }

    fn renew(&self) {
        self.number.set(SEARCHES.fetch_add(1, Ordering::Relaxed) + 1);
    }

    /// True if the group is cancelled, or one of those in its line.
    ///
    /// # Safety
    /// The group is null, or has a task that does not end during the call.
    pub unsafe fn is_cancelled(&self, group: *const Group) -> bool {
        let (first, last) = (ptr::null(), ptr::null());
        let mut search = Search { number: self.number.get(), first, last };
        // SAFETY: by the caller's promise; and while a list is locked, the task of each note waits,
        // so its group has a task.
        let found = unsafe { search.visit(group) || search.visit_all() };
        search.unlock_all();
        if found {
            self.renew();
        }
        found
    }
}

impl Search {
    /// Comes to a group: true if it is cancelled. Otherwise locks the list of its awaiters, unless
    /// that is empty, or leads to no cancelled group.
    ///
    /// # Safety
    /// The group is null, or has a task that does not end before `unlock_all`.
    unsafe fn visit(&mut self, group: *const Group) -> bool {
        // SAFETY: by the caller's promise.
        let Some(group) = (unsafe { group.as_ref() }) else { return false };
        if group.is_cancelled() {
            return true;
        }
        let list = &group.awaiters;
        let seen = list.0.load(Ordering::Relaxed);
        if seen.is_null() || seen.addr() & VISITED != 0 {
            return false;
        }
        let first = list.lock(VISITED);
        // SAFETY: the list is locked, so its notes stay.
        match unsafe { first.as_ref() }.filter(|first| first.search.get() != self.number) {
            None => list.unlock(first),
            Some(note) => {
                note.search.set(self.number);
                note.list.set(list);
                note.then.set(ptr::null());
                // SAFETY: null, or the first note of a list that is locked.
                match unsafe { self.last.as_ref() } {
                    Some(last) => last.then.set(first),
                    None => self.first = first,
                }
                self.last = first;
            }
        }
        false
    }

    /// Visits the groups to which the locked lists lead, and the groups to which the lists of these
    /// lead, until one is cancelled.
    ///
    /// # Safety
    /// Called after `visit`, and before `unlock_all`.
    unsafe fn visit_all(&mut self) -> bool {
        let mut at = self.first;
        // SAFETY: null, or the first note of a list that is locked.
        while let Some(first) = unsafe { at.as_ref() } {
            // SAFETY: while the list is locked, the task of each note waits in its group.
            if notes(first).any(|note| unsafe { self.visit(note.group) }) {
                return true;
            }
            at = first.then.get();
        }
        false
    }

    fn unlock_all(self) {
        let mut at = self.first;
        // SAFETY: null, or the first note of a list that is locked; until it is unlocked, the task of
        // the note waits for the group of the list.
        while let Some(first) = unsafe { at.as_ref() } {
            at = first.then.get();
            // SAFETY: as above.
            unsafe { (*first.list.get()).unlock(first) };
        }
    }
}

impl Group {
    pub fn cancel(&self) {
        detector::giving(&self.cancelled, deadlines::cancel);
    }

    #[inline]
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.is_cancelled()
    }

    /// `is_cancelled` for the program: a race detector sees that it follows `cancel`.
    pub fn shows_cancelled(&self) -> bool {
        let seen = |cancelled: &Cancellation| if cancelled.is_cancelled() { 0 } else { -1 };
        detector::taking(&self.cancelled, seen) == 0
    }

    /// Ends a cancellation. Returns what `sched_group_wait` returns.
    pub(super) fn end_cancellation(&self) -> c_int {
        if deadlines::take_back(&self.cancelled) {
            return errno::failed(libc::ECANCELED);
        }
        0
    }

    /// To be called by a task of the group that has added an entry or a note.
    pub(super) fn cut_if_reached(&self) {
        let is_awaited = || !self.awaiters.0.load(Ordering::Relaxed).is_null();
        deadlines::waits_in_group(|| self.is_cancelled() || is_awaited());
    }

    /// Calls `wait`, in which a task of the group `awaiter` waits for this group; None: the caller
    /// belongs to no group.
    pub(super) fn awaited_by<R>(&self, awaiter: Option<&Group>, wait: impl FnOnce() -> R) -> R {
        let Some(group) = awaiter else { return wait() };
        detector::own(group);
        let note = Awaiter {
            group,
            next: Cell::new(ptr::null()),
            search: Cell::new(0),
            list: Cell::new(ptr::null()),
            then: Cell::new(ptr::null()),
        };
        detector::own(&note);
        // SAFETY: the note is removed below.
        unsafe { self.awaiters.add(&note) };
        group.cut_if_reached();
        let result = wait();
        // SAFETY: added above.
        unsafe { self.awaiters.remove(&note) };
        result
    }
}

/// The group of the task on a fiber.
pub(super) fn group_of(fiber: &Fiber) -> Option<&Group> {
    // SAFETY: the fiber names a group only while a task of the group is on it.
    unsafe { fiber.group.get().cast::<Group>().as_ref() }
}
