//! The lines of groups that cancellations reach (`api::cancel`): which group's tasks wait for which
//! group.
//!
//! # State
//!
//! While a task of one group waits for another group, it has a note in the list of the awaited
//! group. The line of a group consists of the group, the groups of the notes in its list, their
//! lines, and so on.
//!
//! # The search
//!
//! A thread that cuts off waits searches the line of a group for a cancelled group. It locks each
//! list on its way, until the end of the search; a task that has waited removes its note under the
//! same lock. So a task whose note is followed still waits, and its group exists. One thread at a
//! time searches (`sync::cuts`), and any other thread holds at most one of these locks, and only
//! for a few instructions. So no circle of locks can form. A bit beside the lock tells the
//! searching thread that it has locked the list itself, on another way or in a circle of waits. The
//! lists form a chain through their first notes, so a search needs neither memory nor recursion.
//!
//! If a search finds no cancelled group, none of its lists leads to one, and later searches of the
//! same cut pass these lists over: their first notes have the number of the search. After a search
//! that finds a cancelled group behind a list the number changes. (If a note or a cancellation that
//! comes later completes a line, a further cut is requested.) So a search does not follow each way
//! from note to note: if two tasks of each group in a row of 25 wait for the next group, there are
//! 2^25 ways.
//!
//! Rejected: recursion from list to list, with only the lists on the way locked. Two threads that
//! searched in a circle of groups each waited for a list of the other one, and a search followed
//! each of the 2^25 ways.
//!
//! # Orderings
//!
//! | operation | ordering | partner |
//! | --- | --- | --- |
//! | `Awaiters::lock`, `unlock` | Acquire, Release | each other |
//! | the first look at `Awaiters`: a note | Relaxed | the fences of `sync::cuts` |
//! | the first look at `Awaiters`: `VISITED` | Relaxed | none: the searching thread has set it |
//! | `Searches` | Relaxed | none: one thread at a time searches |

use crate::lock::trylock::Backoff;
use crate::sync::cancel::Cancellation;
use crate::sys::atomic::{AtomicPtr, AtomicUsize, Ordering, const_fn};
use crate::sys::detector;
use std::cell::Cell;
use std::ptr;

/// Tells whether a group is cancelled, and which tasks wait for it.
#[derive(Default)]
#[repr(C)]
pub struct Line {
    pub cancelled: Cancellation,
    awaiters: Awaiters,
}

/// A note of a task that waits for a group, if it belongs to a group itself. It lies on the stack
/// of the task, in the list of the awaited group. Only the first note of a list uses `search`,
/// `list` and `then`.
struct Awaiter {
    /// The group of the waiting task.
    group: *const Line,
    next: Cell<*const Awaiter>,
    /// The number of the last search that has locked the list.
    search: Cell<usize>,
    /// The list, while a search has it locked.
    list: Cell<*const Awaiters>,
    /// The first note of the list that the search has locked next.
    then: Cell<*const Awaiter>,
}

/// The notes of a group's awaiters. The lowest bits of the pointer are `LOCKED` and `VISITED`: a
/// group has one word for its list, which a `sync::list` with a lock of its own would not fit into.
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

impl Line {
    /// True if the group is cancelled, or a task waits for it.
    pub fn is_reached(&self) -> bool {
        self.cancelled.is_cancelled() || !self.awaiters.0.load(Ordering::Relaxed).is_null()
    }

    /// Calls `wait`, in which a task of the group `awaiter` waits for this group.
    pub fn awaited_by<R>(&self, awaiter: &Line, wait: impl FnOnce() -> R) -> R {
        let note = Awaiter {
            group: awaiter,
            next: Cell::new(ptr::null()),
            search: Cell::new(0),
            list: Cell::new(ptr::null()),
            then: Cell::new(ptr::null()),
        };
        detector::own(&note);
        // SAFETY: the note is removed below.
        unsafe { self.awaiters.add(&note) };
        let result = wait();
        // SAFETY: added above.
        unsafe { self.awaiters.remove(&note) };
        result
    }
}

/// The number of the last search.
pub struct Searches(AtomicUsize);

impl Searches {
    const_fn! {
        #[allow(clippy::new_without_default, reason = "one constructor is enough")]
        pub fn new() -> Self {
            Searches(AtomicUsize::new(0))
        }
    }
}

/// The searches of one cut.
pub struct Lines<'a> {
    searches: &'a Searches,
    number: Cell<usize>,
}

/// The lists that a search has locked, in the order in which it has locked them.
struct Search {
    number: usize,
    first: *const Awaiter,
    last: *const Awaiter,
}

impl<'a> Lines<'a> {
    /// Must be called by the thread that cuts.
    pub fn new(searches: &'a Searches) -> Self {
        let lines = Lines { searches, number: Cell::new(0) };
        lines.renew();
        lines
    }

    fn renew(&self) {
        self.number.set(self.searches.0.fetch_add(1, Ordering::Relaxed) + 1);
    }

    /// True if the line of the group contains a cancelled group.
    ///
    /// # Safety
    /// The group has a task that does not end during the call.
    pub unsafe fn is_cancelled(&self, group: &Line) -> bool {
        let (first, last) = (ptr::null(), ptr::null());
        let mut search = Search { number: self.number.get(), first, last };
        // SAFETY: the group has a task; and while a list is locked, the task of each note waits,
        // so its group has a task.
        let found = unsafe { search.visit(group) || search.visit_all() };
        if found && !search.first.is_null() {
            self.renew();
        }
        search.unlock_all();
        found
    }
}

impl Search {
    /// True if the group is cancelled. Otherwise locks the list of its awaiters, unless the list is
    /// empty, is locked by this search, or leads to no cancelled group.
    ///
    /// # Safety
    /// The group has a task that does not end before `unlock_all`.
    unsafe fn visit(&mut self, group: &Line) -> bool {
        if group.cancelled.is_cancelled() {
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

    /// Follows the locked lists: visits the group of each note, which may also lock that group's
    /// list. True if a group is cancelled; the search ends there.
    ///
    /// # Safety
    /// Called after `visit`, and before `unlock_all`.
    unsafe fn visit_all(&mut self) -> bool {
        let mut at = self.first;
        // SAFETY: null, or the first note of a list that is locked.
        while let Some(first) = unsafe { at.as_ref() } {
            // SAFETY: while the list is locked, the task of each note waits in its group.
            if notes(first).any(|note| unsafe { self.visit(&*note.group) }) {
                return true;
            }
            at = first.then.get();
        }
        false
    }

    fn unlock_all(self) {
        let mut at = self.first;
        // SAFETY: null, or the first note of a list that is locked; until it is unlocked, the task
        // of the note waits for the group of the list.
        while let Some(first) = unsafe { at.as_ref() } {
            at = first.then.get();
            // SAFETY: as above.
            unsafe { (*first.list.get()).unlock(first) };
        }
    }
}
