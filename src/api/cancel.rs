//! The cancellation of groups, and what it reaches.
//!
//! A cancellation cuts off the waits with a deadline, and the sleeps, of the group's tasks, and of
//! the tasks of each group for which such a task waits: its *line*. While a task of a group waits
//! for another group, it has a note in the list of the awaited group. So a program that cancels a
//! group need not know which groups its tasks use. The notes are followed upwards, from the group of
//! the task whose wait may be cut off. Each list is locked while the notes in it are followed; a
//! task that has waited removes its note under the same lock. So a task whose note is followed still
//! waits, and its group exists.
//!
//! `sched_group_cancel` may be called in a signal's handler, and takes no lock. It marks the group,
//! and then asks the keeper of the deadlines to cut. A task of a group that begins to wait with a
//! deadline, or for another group, asks the keeper if a group is cancelled (`sync::cuts`).
//!
//! # Orderings
//!
//! | operation | ordering | partner |
//! | --- | --- | --- |
//! | `Awaiters::with`: exchange, store | Acquire, Release | each other: a lock |
//! | the first look at `Awaiters` | Relaxed | the fences of `sync::cuts` |

use crate::lock::trylock::Backoff;
use crate::runtime::deadlines;
use crate::runtime::record::Fiber;
use crate::sync::cancel::Cancellation;
use crate::sync::members::Members;
use crate::sys::atomic::{AtomicPtr, Ordering};
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

/// Longer lines are not followed: their tasks are in a circle of waits, or nested very deep.
const LONGEST_LINE: usize = 256;

/// A note of a task that waits for a group, if it belongs to a group itself. It lies on the stack of
/// the task, in the list of the awaited group.
struct Awaiter {
    /// The group of the waiting task.
    group: *const Group,
    next: Cell<*const Awaiter>,
}

/// The notes of a group's awaiters, and the lock of the list in the lowest bit.
#[derive(Default)]
#[repr(transparent)]
struct Awaiters(AtomicPtr<Awaiter>);

const LOCKED: usize = 1;

impl Awaiters {
    /// Calls `work` with the first note, under the lock; `work` returns the first note from now on,
    /// and takes a few instructions.
    fn with<R>(&self, work: impl FnOnce(*const Awaiter) -> (*const Awaiter, R)) -> R {
        let mut backoff = Backoff::default();
        let first = loop {
            let seen = self.0.load(Ordering::Relaxed);
            let locked = seen.map_addr(|at| at | LOCKED);
            let (acquire, relaxed) = (Ordering::Acquire, Ordering::Relaxed);
            let is_free = seen.addr() & LOCKED == 0;
            if is_free && self.0.compare_exchange(seen, locked, acquire, relaxed).is_ok() {
                break seen;
            }
            backoff.wait();
        };
        let (first, result) = work(first);
        self.0.store(first.cast_mut(), Ordering::Release);
        result
    }

    /// # Safety
    /// The note is in no list, and stays where it is until `remove`.
    unsafe fn add(&self, note: &Awaiter) {
        self.with(|first| {
            note.next.set(first);
            (ptr::from_ref(note), ())
        });
    }

    /// # Safety
    /// The note is in this list.
    unsafe fn remove(&self, note: &Awaiter) {
        self.with(|first| {
            match notes(first).find(|before| ptr::eq(before.next.get(), note)) {
                Some(before) => before.next.set(note.next.get()),
                None => return (note.next.get(), ()),
            }
            (first, ())
        });
    }
}

/// The notes from `first` on. The list is locked.
fn notes<'a>(first: *const Awaiter) -> impl Iterator<Item = &'a Awaiter> {
    // SAFETY: each note stays in the list until its task removes it, under the lock.
    let get = |note: *const Awaiter| unsafe { note.as_ref() };
    std::iter::successors(get(first), move |note| get(note.next.get()))
}

/// The groups that `is_in_cancelled_line` has come through.
struct Line<'a> {
    group: *const Group,
    before: Option<&'a Line<'a>>,
    length: usize,
}

/// True if the group is cancelled, or one of those in its line: see the essay.
///
/// # Safety
/// The group is null, or has a task that does not end during the call.
pub(super) unsafe fn is_in_cancelled_line(group: *const Group) -> bool {
    // SAFETY: by the caller's promise.
    unsafe { follow(group, None) }
}

/// `is_in_cancelled_line`, after the groups `before`.
///
/// # Safety
/// As for `is_in_cancelled_line`.
unsafe fn follow(group: *const Group, before: Option<&Line>) -> bool {
    // SAFETY: by the caller's promise.
    let Some(here) = (unsafe { group.as_ref() }) else { return false };
    if here.is_cancelled() {
        return true;
    }
    let length = before.map_or(1, |line| line.length + 1);
    let mut passed = std::iter::successors(before, |line| line.before);
    if here.awaiters.0.load(Ordering::Relaxed).is_null()
        || length > LONGEST_LINE
        || passed.any(|line| ptr::eq(line.group, group))
    {
        return false;
    }
    let line = Line { group, before, length };
    here.awaiters.with(|first| {
        // SAFETY: while the list is locked, the task of each note waits, so its group has a task.
        (first, notes(first).any(|note| unsafe { follow(note.group, Some(&line)) }))
    })
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

    /// Calls `wait`, in which a task of the group `awaiter` waits for this group; null: the caller
    /// belongs to no group.
    pub(super) fn awaited_by<R>(&self, awaiter: *const Group, wait: impl FnOnce() -> R) -> R {
        // SAFETY: null, or the group of the calling task.
        let Some(group) = (unsafe { awaiter.as_ref() }) else { return wait() };
        detector::own(group);
        let note = Awaiter { group: awaiter, next: Cell::new(ptr::null()) };
        detector::own(&note);
        // SAFETY: the note is removed below.
        unsafe { self.awaiters.add(&note) };
        deadlines::waits_in_group();
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
