//! The cancellation of groups, and the waits that it reaches.
//!
//! A cancellation cuts off the waits with a deadline, and the sleeps, of the group's tasks, and of
//! the tasks of each group for which such a task waits: its *line*. While a task of a group waits
//! for another group, it has a note in the list of the awaited group. So a program that cancels a
//! group need not know which groups its tasks use. The notes are followed upwards, from the group
//! of the task whose wait may be cut off (`sync::lines`).
//!
//! `sched_group_cancel` may be called in a signal's handler, and takes no lock. It marks the group,
//! and then asks the keeper of the deadlines to cut. A task of a group that begins to wait with a
//! deadline, or for another group, asks the keeper if a cancellation may reach it (`sync::cuts`).

use crate::runtime::deadlines;
use crate::runtime::record::Fiber;
use crate::sync::cancel::Cancellation;
use crate::sync::lines::Line;
use crate::sync::members::Members;
use crate::sys::{detector, errno};
use std::ffi::c_int;

/// The C type `sched_group`. If all bytes are zero, the group has no tasks. (`members` is the first
/// field, so its address in a note of a wait equals the group's in `Fiber::group`.)
#[repr(C)]
pub struct Group {
    pub(super) members: Members,
    pub(super) line: Line,
}

impl Group {
    pub fn without_tasks() -> Self {
        Group { members: Members::default(), line: Line::default() }
    }

    pub fn cancel(&self) {
        detector::giving(&self.line.cancelled, deadlines::cancel);
    }

    #[inline]
    pub fn is_cancelled(&self) -> bool {
        self.line.cancelled.is_cancelled()
    }

    /// `is_cancelled` for the program: a race detector sees that it follows `cancel`.
    pub fn shows_cancelled(&self) -> bool {
        let seen = |cancelled: &Cancellation| if cancelled.is_cancelled() { 0 } else { -1 };
        detector::taking(&self.line.cancelled, seen) == 0
    }

    /// Ends a cancellation. Returns what `sched_group_wait` returns.
    pub(super) fn end_cancellation(&self) -> c_int {
        if deadlines::CUTS.take_back(&self.line.cancelled) {
            return errno::failed(libc::ECANCELED);
        }
        0
    }

    /// Must be called by a task of the group that has added an entry or a note.
    pub(super) fn cut_if_reached(&self) {
        deadlines::waits_in_group(|| self.line.is_reached());
    }

    /// Calls `wait`, in which a task of the group `awaiter` waits for this group; None: the caller
    /// belongs to no group.
    pub(super) fn awaited_by<R>(&self, awaiter: Option<&Group>, wait: impl FnOnce() -> R) -> R {
        let Some(group) = awaiter else { return wait() };
        detector::own(group);
        self.line.awaited_by(&group.line, || {
            group.cut_if_reached();
            wait()
        })
    }
}

/// The group of the task on a fiber.
pub(super) fn group_of(fiber: &Fiber) -> Option<&Group> {
    // SAFETY: the fiber names a group only while a task of the group is on it.
    unsafe { fiber.group.get().cast::<Group>().as_ref() }
}
