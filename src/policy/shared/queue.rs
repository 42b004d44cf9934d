//! The tasks of a run under one lock.

use crate::policy::Place;
use crate::queue::End;
use crate::queue::ended::Ended;
use crate::queue::length::Length;
use crate::queue::room::{IsLong, Long, TaskQueue};
use crate::sys::memory::NoMemory;
use crate::task::Task;
use std::collections::VecDeque;
use std::mem::offset_of;

/// Which task of the queue is next.
pub trait Order: 'static {
    /// The end at which the next task is taken. A task that yields goes to the other end.
    const NEXT: End;

    /// Moves the task that is to be next to the end `NEXT`. `tasks` is not empty; the oldest task
    /// is in front.
    #[inline(always)]
    fn arrange(_tasks: &mut VecDeque<Task>, _place: &impl Place) {}
}

/// The youngest task is next: kind `lifo`.
pub struct Lifo;

impl Order for Lifo {
    const NEXT: End = End::Youngest;
}

/// The oldest task is next: kind `fifo`.
pub struct Fifo;

impl Order for Fifo {
    const NEXT: End = End::Oldest;
}

/// Tasks, the oldest in front.
#[derive(Default)]
pub(super) struct Queue {
    tasks: TaskQueue,
    /// How many of the tasks were suspended. No limit counts these. Otherwise tasks that yield
    /// could fill the queue to its limit, and each spawn of theirs would be refused for ever.
    suspended: usize,
    /// Slots for tasks that were suspended: see `queue::injector`.
    reserved: usize,
    is_long: IsLong,
    /// The tasks whose blocking section has ended: they go first, in every order.
    ended: Ended,
}

impl Queue {
    /// Where a debugger finds the length.
    pub(super) const LENGTH: Length =
        Length::of_vec_deque(offset_of!(Queue, tasks) + TaskQueue::TASKS);

    pub(super) const LENGTH_OF_ENDED: Length = Ended::LENGTH.within(offset_of!(Queue, ended));

    /// The number of tasks that the limit counts.
    pub(super) fn counted(&self) -> usize {
        self.tasks.len() - self.suspended
    }

    pub(super) fn len(&self) -> usize {
        self.tasks.len() + self.ended.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.tasks.is_empty() && self.ended.is_empty()
    }

    /// Makes room for one task beside the reserved slots.
    pub(super) fn make_room(&mut self) -> Result<(), NoMemory> {
        self.tasks.make_room(self.reserved.saturating_add(1), &self.is_long)
    }

    /// Makes room for one task that was suspended. If a slot was reserved for the task, this
    /// succeeds.
    pub(super) fn make_room_for_suspended(&mut self) -> Result<(), NoMemory> {
        self.tasks.make_room(1, &self.is_long)
    }

    /// Reserves `more` slots for tasks that are suspended, or releases -`more`.
    pub(super) fn reserve(&mut self, more: isize) -> Result<(), NoMemory> {
        let reserved = self.reserved.saturating_add_signed(more);
        if more > 0 {
            self.tasks.make_room(reserved, &self.is_long)?;
            self.ended.reserve(reserved)?;
        }
        self.reserved = reserved;
        Ok(())
    }

    pub(super) fn keeps_memory(&self) -> bool {
        self.is_long.get()
    }

    /// See `TaskQueue::take_long`.
    pub(super) fn take_long(&mut self) -> Option<Long> {
        self.tasks.take_long(self.reserved, &self.is_long)
    }

    pub(super) fn keep(&mut self, long: Long) {
        self.tasks.keep(long);
    }

    /// Adds a task at `end`. The caller has made room.
    pub(super) fn push<P: Place>(&mut self, task: Task, end: End) {
        self.suspended += usize::from(P::is_suspended(task));
        match end {
            End::Oldest => self.tasks.push_front(task),
            End::Youngest => self.tasks.push_back(task),
        }
    }

    /// Adds a task whose blocking section has ended. If a slot was reserved for the task, this
    /// succeeds.
    pub(super) fn push_ended(&mut self, task: Task) -> Result<(), NoMemory> {
        self.ended.push(task)
    }

    pub(super) fn has_ended(&self) -> bool {
        !self.ended.is_empty()
    }

    pub(super) fn peek(&self, end: End) -> Option<Task> {
        match end {
            End::Oldest => self.tasks.front(),
            End::Youngest => self.tasks.back(),
        }
        .copied()
    }

    pub(super) fn pop<P: Place>(&mut self, end: End) -> Option<Task> {
        let task = match end {
            End::Oldest => self.tasks.pop_front(),
            End::Youngest => self.tasks.pop_back(),
        }?;
        self.suspended -= usize::from(P::is_suspended(task));
        Some(task)
    }

    #[inline(always)]
    pub(super) fn arrange<O: Order>(&mut self, place: &impl Place) {
        if !self.tasks.is_empty() {
            O::arrange(&mut self.tasks, place);
        }
    }

    pub(super) fn next<O: Order, P: Place>(&mut self, place: &P) -> Option<Task> {
        let ended = self.ended.next(!self.tasks.is_empty());
        if ended.is_some() {
            return ended;
        }
        self.arrange::<O>(place);
        self.pop::<P>(O::NEXT)
    }

    /// Removes `task`, which has not begun, if it is queued.
    pub(super) fn take_back(&mut self, task: Task) -> bool {
        take_back(&mut self.tasks, task)
    }
}

/// Removes `task` from `tasks`, if it is there. The search begins at the youngest task.
pub(in crate::policy) fn take_back(tasks: &mut VecDeque<Task>, task: Task) -> bool {
    let at = tasks.iter().rposition(|queued| *queued == task);
    at.is_some_and(|at| tasks.remove(at).is_some())
}
