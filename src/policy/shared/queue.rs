//! The tasks of a run under one lock. This is one file because its lines of tasks share counts,
//! which each function keeps right.

use crate::policy::Place;
use crate::policy::reliefs::MOST_LOOKS;
use crate::queue::End;
use crate::queue::background::{self, Background, Look};
use crate::queue::first::{First, Taken};
use crate::queue::length::{Length, QUEUES_FOR_ALL};
use crate::queue::room::{IsLong, Long, QueueOf, TaskQueue};
use crate::sys::atomic::AtomicUsize;
use crate::sys::memory::NoMemory;
use crate::task::Task;
use std::collections::VecDeque;
use std::mem::offset_of;

/// The order of a queue: the rule that says which task is next.
pub trait Order: 'static {
    /// The end at which the next task is taken. A task that yields goes to the other end.
    const NEXT: End;

    /// Moves the next task to the end `NEXT`. `tasks` is not empty; the oldest task is in front.
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

/// The line to which a task is added.
#[derive(Clone, Copy)]
pub(super) enum Line {
    /// The run's own tasks.
    Own,
    /// The tasks from outside the run.
    Outside,
}

/// A task that was taken out of the queue.
#[derive(Clone, Copy)]
pub(super) enum Next {
    Own(Task),
    Outside(Task),
}

impl Next {
    pub(super) fn task(self) -> Task {
        match self {
            Next::Own(task) | Next::Outside(task) => task,
        }
    }
}

#[repr(C)]
struct FromOutside {
    task: Task,
    /// `SharedQueue::added` when this task was added: the run's tasks counted by it are older.
    added: usize,
}

/// Long buffers of the lines, taken out to be discarded.
#[derive(Default)]
pub(super) struct Buffers {
    own: Option<Long>,
    outside: Option<Long<FromOutside>>,
    background: Option<Long>,
}

impl Buffers {
    /// See `Long::discard`.
    pub(super) fn discard(&mut self) {
        self.own.iter_mut().for_each(Long::discard);
        self.outside.iter_mut().for_each(Long::discard);
        self.background.iter_mut().for_each(Long::discard);
    }
}

/// Tasks, the oldest in front.
#[derive(Default)]
pub(super) struct SharedQueue {
    tasks: TaskQueue,
    /// Tasks from outside the run, which have turns: see `policy::turns`.
    outside: QueueOf<FromOutside>,
    /// How many of the run's own tasks were ever added.
    added: usize,
    /// How many of the tasks in the two lines were suspended, minus the number of urgent and
    /// background tasks, modulo 2^64. The limit does not count the suspended ones; otherwise tasks
    /// that yield could fill the queue, and each of their spawns would be refused forever.
    uncounted: usize,
    /// Slots for tasks that were suspended: see `queue::injector`.
    reserved: usize,
    is_long: IsLong,
    is_outside_long: IsLong,
    is_background_long: IsLong,
    /// The urgent tasks, and those whose blocking section has ended. They are next in every order.
    first: First,
    /// The background tasks. They are last in every order: only `next_background` takes one.
    background: Background,
}

impl SharedQueue {
    /// The place of the tasks, for a debugger, if the queue is at offset `at`.
    pub(super) const fn lengths(at: usize) -> [Length; QUEUES_FOR_ALL] {
        let (tasks, outside) = (offset_of!(SharedQueue, tasks), offset_of!(SharedQueue, outside));
        [
            Length::of_vec_deque(at + tasks + TaskQueue::TASKS),
            Length::of_vec_deque(at + outside + QueueOf::<FromOutside>::TASKS)
                .with_slots_of(size_of::<FromOutside>()),
            First::LENGTHS[0].within(at + offset_of!(SharedQueue, first)),
            First::LENGTHS[1].within(at + offset_of!(SharedQueue, first)),
            Background::LENGTH.within(at + offset_of!(SharedQueue, background)),
        ]
    }

    /// The number of tasks that the limit counts.
    pub(super) fn counted(&self) -> usize {
        (self.tasks.len() + self.outside.len()).wrapping_sub(self.uncounted)
    }

    /// The number of tasks that are not background tasks.
    pub(super) fn ready(&self) -> usize {
        self.tasks.len() + self.outside()
    }

    pub(super) fn len(&self) -> usize {
        self.ready() + self.background.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of tasks from outside the run, of urgent ones, and of those whose blocking
    /// section has ended.
    pub(super) fn outside(&self) -> usize {
        self.outside.len() + self.first.len()
    }

    /// Makes room for one task in addition to the reserved slots.
    #[inline(always)]
    pub(super) fn make_room(&mut self, line: Line) -> Result<(), NoMemory> {
        self.make_room_for(self.reserved.saturating_add(1), line)
    }

    /// Makes room for one task that was suspended. Succeeds if a slot was reserved for the task.
    pub(super) fn make_room_for_suspended(&mut self, line: Line) -> Result<(), NoMemory> {
        self.make_room_for(1, line)
    }

    #[inline(always)]
    fn make_room_for(&mut self, n: usize, line: Line) -> Result<(), NoMemory> {
        match line {
            Line::Own => self.tasks.make_room(n, &self.is_long),
            Line::Outside => self.outside.make_room(n, &self.is_outside_long),
        }
    }

    /// Reserves `more` slots for tasks that are suspended, or releases -`more`.
    pub(super) fn reserve(&mut self, more: isize) -> Result<(), NoMemory> {
        let reserved = self.reserved.saturating_add_signed(more);
        if more > 0 {
            self.make_room_for(reserved, Line::Own)?;
            self.make_room_for(reserved, Line::Outside)?;
            self.first.reserve(reserved)?;
        }
        self.reserved = reserved;
        Ok(())
    }

    pub(super) fn keeps_memory(&self) -> bool {
        let lines = [&self.is_long, &self.is_outside_long, &self.is_background_long];
        lines.into_iter().any(IsLong::get)
    }

    /// See `TaskQueue::take_long`.
    pub(super) fn take_long(&mut self) -> Buffers {
        Buffers {
            own: self.tasks.take_long(self.reserved, &self.is_long),
            outside: self.outside.take_long(self.reserved, &self.is_outside_long),
            background: self.background.take_long(&self.is_background_long),
        }
    }

    pub(super) fn keep(&mut self, buffers: Buffers) {
        if let Some(long) = buffers.own {
            self.tasks.keep(long);
        }
        if let Some(long) = buffers.outside {
            self.outside.keep(long);
        }
        if let Some(long) = buffers.background {
            self.background.keep(long);
        }
    }

    /// Adds a task as the youngest of its line, in which the caller has made room.
    #[inline(always)]
    pub(super) fn push<P: Place>(&mut self, task: Task, line: Line) {
        self.uncounted = self.uncounted.wrapping_add(usize::from(P::is_continuation(task)));
        match line {
            Line::Own => {
                self.added = self.added.wrapping_add(1);
                self.tasks.push_back(task);
            }
            Line::Outside => self.outside.push_back(FromOutside { task, added: self.added }),
        }
    }

    /// Adds a task whose blocking section has ended. Succeeds if a slot was reserved for the task.
    pub(super) fn push_ended(&mut self, task: Task) -> Result<(), NoMemory> {
        self.first.push_ended(task)
    }

    /// Adds an urgent task. `urgent` is the hint of `queue::first`.
    #[cold]
    pub(super) fn push_urgent(&mut self, task: Task, urgent: &AtomicUsize) -> Result<(), NoMemory> {
        self.first.push_urgent(task, urgent)?;
        self.uncounted = self.uncounted.wrapping_sub(1);
        Ok(())
    }

    #[cold]
    pub(super) fn push_background(&mut self, task: Task) -> Result<background::Line, NoMemory> {
        let line = self.background.push(task, &self.is_background_long)?;
        self.uncounted = self.uncounted.wrapping_sub(1);
        Ok(line)
    }

    /// Takes the oldest background task. The caller has found no other task.
    #[cold]
    pub(super) fn next_background(&mut self) -> Option<Task> {
        let task = self.background.take()?;
        self.uncounted = self.uncounted.wrapping_add(1);
        Some(task)
    }

    /// Looks at the line of background tasks. An overdue task becomes the next one from outside;
    /// then the second result is true. The first is true if background tasks wait.
    #[cold]
    pub(super) fn age(&mut self) -> (bool, bool) {
        match self.background.look() {
            Look::Empty => (false, false),
            Look::Waits => (true, false),
            Look::Overdue(task) if self.make_room(Line::Outside).is_err() => {
                self.background.put_back(task);
                (true, false)
            }
            Look::Overdue(task) => {
                self.uncounted = self.uncounted.wrapping_add(1);
                // The number of own tasks that have left the queue: in order, this task is next.
                let added = self.added.wrapping_sub(self.tasks.len());
                self.outside.push_front(FromOutside { task, added });
                (true, true)
            }
        }
    }

    pub(super) fn has_first(&self) -> bool {
        !self.first.is_empty()
    }

    /// True if the next task is the first of `outside`.
    fn is_outside_next<O: Order>(&self, place: &impl Place) -> bool {
        let Some(&FromOutside { added, .. }) = self.outside.front() else { return false };
        let in_order = O::NEXT == End::Oldest && self.added.wrapping_sub(self.tasks.len()) >= added;
        in_order || self.tasks.is_empty() || place.turns().is_due(self.outside())
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
        self.uncounted = self.uncounted.wrapping_sub(usize::from(P::is_continuation(task)));
        Some(task)
    }

    fn pop_outside<P: Place>(&mut self, place: &P) -> Option<Task> {
        let FromOutside { task, .. } = self.outside.pop_front()?;
        place.turns().took(self.outside() > 0);
        self.uncounted = self.uncounted.wrapping_sub(usize::from(P::is_continuation(task)));
        Some(task)
    }

    /// Whether one of the oldest tasks from outside suits a relief, and whether there are more
    /// tasks from outside than these.
    pub(super) fn has_for_relief<P: Place>(&self) -> (bool, bool) {
        let found = self.first.has_urgent(Self::suits_relief::<P>, MOST_LOOKS)
            || self.find_for_relief::<P>().is_some();
        (found, self.outside.len().max(self.first.urgent()) > MOST_LOOKS)
    }

    /// Takes the oldest task from outside that suits a relief, if it is among the first.
    /// `urgent` is the hint of `queue::first`.
    pub(super) fn take_for_relief<P: Place>(&mut self, urgent: &AtomicUsize) -> Option<Task> {
        if let Some(task) = self.first.take_urgent_if(Self::suits_relief::<P>, MOST_LOOKS, urgent) {
            self.uncounted = self.uncounted.wrapping_add(1);
            return Some(task);
        }
        let at = self.find_for_relief::<P>()?;
        let FromOutside { task, .. } = self.outside.remove(at)?;
        self.uncounted = self.uncounted.wrapping_sub(usize::from(P::is_continuation(task)));
        Some(task)
    }

    fn find_for_relief<P: Place>(&self) -> Option<usize> {
        self.outside.iter().take(MOST_LOOKS).position(|next| Self::suits_relief::<P>(next.task))
    }

    fn suits_relief<P: Place>(task: Task) -> bool {
        // SAFETY: the task is in the queue, which the caller has locked.
        unsafe { P::suits_relief(task) }
    }

    /// Takes the next task, but no background task.
    #[inline(always)]
    pub(super) fn next<O: Order, P: Place>(
        &mut self,
        place: &P,
        urgent: &AtomicUsize,
    ) -> Option<Next> {
        if self.outside() > 0 {
            if let Some(task) = self.next_of_others::<O, P>(place, urgent) {
                return Some(Next::Outside(task));
            }
        }
        if !self.tasks.is_empty() {
            O::arrange(&mut self.tasks, place);
        }
        self.pop::<P>(O::NEXT).map(Next::Own)
    }

    /// Takes the next task, if it is not in the run's own line.
    #[cold]
    #[inline(never)]
    fn next_of_others<O: Order, P: Place>(
        &mut self,
        place: &P,
        urgent: &AtomicUsize,
    ) -> Option<Task> {
        let others_wait = !self.tasks.is_empty() || !self.outside.is_empty();
        match self.first.next(others_wait, urgent) {
            Some(Taken::Urgent(task)) => {
                self.uncounted = self.uncounted.wrapping_add(1);
                return Some(task); // it counts in no turn
            }
            Some(Taken::Ended(task)) => {
                place.turns().took(self.outside() > 0);
                return Some(task);
            }
            None => {}
        }
        if self.is_outside_next::<O>(place) { self.pop_outside(place) } else { None }
    }

    /// Takes the next task, if it was suspended and no task of `first` waits.
    pub(super) fn next_suspended<O: Order, P: Place>(&mut self, place: &P) -> Option<Task> {
        if self.has_first() {
            return None;
        }
        if self.is_outside_next::<O>(place) {
            let fits = self.outside.front().is_some_and(|next| P::is_continuation(next.task));
            return if fits { self.pop_outside(place) } else { None };
        }
        if !self.tasks.is_empty() {
            O::arrange(&mut self.tasks, place);
        }
        if self.peek(O::NEXT).is_some_and(P::is_continuation) {
            self.pop::<P>(O::NEXT)
        } else {
            None
        }
    }

    /// Removes `task`, which has not begun, if it is queued.
    pub(super) fn take_back(&mut self, task: Task) -> bool {
        take_back(&mut self.tasks, |queued| *queued == task)
            || take_back(&mut self.outside, |queued| queued.task == task)
    }
}

/// Removes the youngest task for which `is_wanted` is true, if there is one.
pub(in crate::policy) fn take_back<T>(
    tasks: &mut VecDeque<T>,
    is_wanted: impl Fn(&T) -> bool,
) -> bool {
    let at = tasks.iter().rposition(is_wanted);
    at.is_some_and(|at| tasks.remove(at).is_some())
}
