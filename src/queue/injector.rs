//! The queue for tasks that do not come from a worker of the run, first in, first out. It also
//! takes tasks that yield, and *spilled* tasks, for which a worker's own queue has no room. This is
//! one file because one lock protects the tasks, the gate of the run and the reserved slots.
//!
//! Spilled tasks have a queue of their own, and the two queues give their oldest tasks in turn. In
//! one queue a task from outside would wait behind a flood of spilled ones.
//!
//! The injector also holds the gate of the run. A task may arrive from a foreign thread at the very
//! moment the run ends. One lock decides both: either a task is accepted before the end, and the
//! run continues for it, or it is refused.
//!
//! # Tasks that have begun
//!
//! The queue cannot refuse a task that yields or has waited: it has begun, and must continue. So a
//! slot is reserved for each such task before it leaves its stack. The number of *reserved* slots
//! is the number of the run's stacks beyond those that its workers began with. A new task never
//! takes a reserved slot. (If no slot can be reserved, the task does not leave its stack.)
//!
//! # Other lines
//!
//! A worker first takes the urgent tasks and those whose blocking section has ended
//! ([`first`](super::first)). The background tasks ([`background`](super::background)) are taken
//! only by a worker that asks for one. A task is *ready* if it is not a background task. Urgent and
//! background tasks are new tasks, which the limit counts. `State::limit` is the part of the limit
//! that they leave, so that a push compares one number.
//!
//! # Orderings
//!
//! | operation | ordering | partner |
//! | --- | --- | --- |
//! | stores of `ready` and `background`, under the lock | Release | `looks_empty`, `has_ready` |
//! | `looks_empty`: loads of both | Acquire | these stores; a sleeper fences before its last look |
//! | `has_ready`: load of `ready` | Acquire | these stores |
//! | `len_hint`, `has_background`: loads of them | Relaxed | none: hints |
//! | `urgent` | Relaxed | as [`first`](super::first) says |
//! | `outside`: loads and stores | Relaxed | the fences of `policy::stealing::outside` |
//! | `exchangeable`, `ended` | Relaxed | none: hints |
//! | all else | the lock | the lock |
//!
//! A thread that pushes and then looks for sleepers executes a fence in between
//! (`idle::eventcount`, interleaving 1), as does a sleeper between announcement and `looks_empty`.

use crate::lock::mutex::Mutex;
use crate::queue::background::{Background, Line, Look};
use crate::queue::first::{First, Taken};
use crate::queue::length::{Length, QUEUES_FOR_ALL};
use crate::queue::room::{IsLong, TaskQueue};
use crate::queue::run_gate::{Ends, RestAwaited, Rests, RunGate};
use crate::queue::{End, Full};
use crate::sys::atomic::{AtomicUsize, Ordering};
use crate::sys::memory::NoMemory;
use crate::task::Task;
use std::mem::offset_of;

pub struct Injector {
    state: Mutex<State>,
    /// The number of ready tasks, readable without the lock, under which a thread then takes one.
    ready: AtomicUsize,
    /// The number of background tasks, readable like `ready`.
    background: AtomicUsize,
    /// The number of ready tasks that are not spilled. Relaxed: a hint.
    outside: AtomicUsize,
    /// The number of urgent tasks. A hint.
    urgent: AtomicUsize,
    /// The number of queued tasks for which a yielding task may be exchanged. It is 0 while a task
    /// of `first` is queued, since that task goes first, and while a spilled task is queued, since
    /// it must have its turn. A hint.
    exchangeable: AtomicUsize,
    /// The number of tasks in `State::first`. A hint.
    first: AtomicUsize,
    rests: Rests,
    is_long: IsLong,
    is_spilled_long: IsLong,
    is_background_long: IsLong,
}

struct State {
    queue: TaskQueue,
    /// Tasks for which their worker's own queue had no room.
    spilled: TaskQueue,
    /// True if the next task is a spilled one when both queues have tasks.
    spilled_next: bool,
    /// The capacity for tasks that have begun, in addition to the capacity for new tasks.
    reserved: usize,
    first: First,
    background: Background,
    /// The most tasks in `queue` and `spilled` at which a new one is accepted: the limit, minus the
    /// number of urgent and background tasks. Negative if some of these were not limited.
    limit: isize,
    gate: RunGate,
}

impl State {
    fn make_room(&mut self, n: usize, is_long: &IsLong) -> Result<(), NoMemory> {
        self.queue.make_room(self.reserved.saturating_add(n), is_long)
    }

    fn is_empty(&self) -> bool {
        self.others() == 0 && self.first.is_empty() && self.background.is_empty()
    }

    /// The number of tasks in `queue` and `spilled`.
    fn others(&self) -> usize {
        self.queue.len() + self.spilled.len()
    }

    /// The number of urgent and background tasks.
    fn levelled(&self) -> usize {
        self.first.urgent() + self.background.len()
    }

    fn is_full(&self) -> bool {
        self.others() as isize >= self.limit
    }

    /// Takes the next ready task.
    #[inline(always)]
    fn next(&mut self, urgent: &AtomicUsize) -> Option<Task> {
        if !self.first.is_empty() {
            if let Some(task) = self.next_of_first(urgent) {
                return Some(task);
            }
        }
        self.next_of_others()
    }

    #[cold]
    #[inline(never)]
    fn next_of_first(&mut self, urgent: &AtomicUsize) -> Option<Task> {
        let first = self.first.next(self.others() > 0, urgent)?;
        self.limit += isize::from(matches!(first, Taken::Urgent(_)));
        Some(first.task())
    }

    #[inline]
    fn next_of_others(&mut self) -> Option<Task> {
        let spilled = self.queue.is_empty() || self.spilled_next && !self.spilled.is_empty();
        self.spilled_next = !spilled;
        if spilled { self.spilled.pop_front() } else { self.queue.pop_front() }
    }
}

/// Tells whether the limit of new tasks applies to a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    Applies,
    /// The run has accepted the task before.
    Waived,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    Closed,
    Full,
}

impl From<Full> for Refused {
    fn from(_: Full) -> Self {
        Refused::Full
    }
}

impl Injector {
    /// The place of the tasks, for a debugger, if the injector is at offset `at`.
    pub const fn lengths(at: usize) -> [Length; QUEUES_FOR_ALL] {
        let state = at + offset_of!(Injector, state) + Mutex::<State>::VALUE;
        [
            Length::of_vec_deque(state + offset_of!(State, queue) + TaskQueue::TASKS),
            Length::of_vec_deque(state + offset_of!(State, spilled) + TaskQueue::TASKS),
            First::LENGTHS[0].within(state + offset_of!(State, first)),
            First::LENGTHS[1].within(state + offset_of!(State, first)),
            Background::LENGTH.within(state + offset_of!(State, background)),
        ]
    }

    pub fn new(limit: usize, ends: Ends) -> Self {
        Injector {
            state: Mutex::new(State {
                queue: TaskQueue::new(),
                spilled: TaskQueue::new(),
                spilled_next: false,
                reserved: 0,
                first: First::default(),
                background: Background::default(),
                limit: isize::try_from(limit).unwrap_or(isize::MAX),
                gate: RunGate::new(ends),
            }),
            ready: AtomicUsize::new(0),
            background: AtomicUsize::new(0),
            outside: AtomicUsize::new(0),
            urgent: AtomicUsize::new(0),
            exchangeable: AtomicUsize::new(0),
            first: AtomicUsize::new(0),
            rests: Rests::new(),
            is_long: IsLong::default(),
            is_spilled_long: IsLong::default(),
            is_background_long: IsLong::default(),
        }
    }

    /// Adds a task from outside the run. This function and those that put tasks back return the
    /// number of tasks from outside in the queue, including the added one.
    pub fn push(&self, task: Task) -> Result<usize, Refused> {
        self.state.with(|state| {
            if state.gate.is_closed() {
                return Err(Refused::Closed);
            }
            if state.is_full() || state.make_room(1, &self.is_long).is_err() {
                return Err(Refused::Full);
            }
            state.queue.push_back(task);
            Ok(self.note_length(state))
        })
    }

    /// Adds an urgent task. Returns the number of urgent tasks in the queue.
    #[cold]
    pub fn push_urgent(&self, task: Task, limit: Limit) -> Result<usize, Refused> {
        self.push_levelled(limit, |state| {
            state.first.push_urgent(task, &self.urgent)?;
            self.note_length(state);
            Ok(state.first.urgent())
        })
    }

    /// Adds a background task.
    #[cold]
    pub fn push_background(&self, task: Task, limit: Limit) -> Result<Line, Refused> {
        self.push_levelled(limit, |state| {
            let line = state.background.push(task, &self.is_background_long)?;
            self.note_background(state);
            Ok(line)
        })
    }

    fn push_levelled<T>(
        &self,
        limit: Limit,
        push: impl FnOnce(&mut State) -> Result<T, NoMemory>,
    ) -> Result<T, Refused> {
        self.state.with(|state| {
            if state.gate.is_closed() {
                return Err(Refused::Closed);
            }
            if limit == Limit::Applies && state.is_full() {
                return Err(Refused::Full);
            }
            let pushed = push(state).map_err(|NoMemory| Refused::Full)?;
            state.limit -= 1;
            Ok(pushed)
        })
    }

    /// Reserves `more` further slots for tasks that have begun, or gives slots back.
    pub fn reserve(&self, more: isize) -> Result<(), NoMemory> {
        self.state.with(|state| {
            let reserved = state.reserved.saturating_add_signed(more);
            if more > 0 {
                state.queue.make_room(reserved, &self.is_long)?;
                state.first.reserve(reserved)?;
            }
            state.reserved = reserved;
            Ok(())
        })
    }

    /// Like `push`, for a task that has begun: no limit refuses it. If a slot was reserved for the
    /// task, this cannot fail.
    pub fn put_back(&self, task: Task) -> Result<usize, NoMemory> {
        self.state.with(|state| {
            state.queue.make_room(1, &self.is_long)?;
            state.queue.push_back(task);
            Ok(self.note_length(state))
        })
    }

    /// Like `put_back`, for a task whose blocking section has ended: see `queue::ended`.
    pub fn put_back_ended(&self, task: Task) -> Result<usize, NoMemory> {
        self.state.with(|state| {
            state.first.push_ended(task)?;
            Ok(self.note_length(state))
        })
    }

    /// True if a task is queued that is urgent, or whose blocking section has ended. A hint.
    pub fn has_first(&self) -> bool {
        self.first.load(Ordering::Relaxed) > 0
    }

    /// True if an urgent task is queued. A hint.
    #[inline(always)]
    pub fn has_urgent(&self) -> bool {
        self.urgent.load(Ordering::Relaxed) > 0
    }

    /// Updates the hints. Returns the number of ready tasks that are not spilled.
    fn note_length(&self, state: &State) -> usize {
        let (others, first, spilled) = (state.queue.len(), state.first.len(), state.spilled.len());
        self.exchangeable.store(if first + spilled > 0 { 0 } else { others }, Ordering::Relaxed);
        self.outside.store(others + first, Ordering::Relaxed);
        self.first.store(first, Ordering::Relaxed);
        self.ready.store(others + first + spilled, Ordering::Release);
        others + first
    }

    fn note_background(&self, state: &State) {
        self.background.store(state.background.len(), Ordering::Release);
    }

    /// Adds spilled tasks, whether or not the gate is open; they take no reserved slots. Calls
    /// `give` with the number of tasks to pass on: at most `n`, and at most as many as `limit`
    /// leaves room for. `give` may pass on fewer. The queue is locked during the call. Fails if
    /// there is no room for even one task.
    pub fn spill(
        &self,
        n: usize,
        limit: usize,
        give: impl FnOnce(usize, &mut dyn FnMut(Task)),
    ) -> Result<(), Full> {
        self.state.with(|state| {
            let n = n.min(limit.saturating_sub(state.others() + state.levelled()));
            if n == 0 || state.spilled.make_room(n, &self.is_spilled_long).is_err() {
                return Err(Full);
            }
            give(n, &mut |task| state.spilled.push_back(task));
            self.note_length(state);
            Ok(())
        })
    }

    /// Like `put_back`, for a task that has not begun: it takes no reserved slot.
    pub fn put_back_new(&self, task: Task) -> Result<usize, NoMemory> {
        self.state.with(|state| {
            state.make_room(1, &self.is_long)?;
            state.queue.push_back(task);
            Ok(self.note_length(state))
        })
    }

    /// Takes the next ready task, and then offers those of `queue` and `spilled` to `keep`, from
    /// the end `from`, until `keep` refuses one. `keep` is called under the queue's lock.
    pub fn take_all(&self, from: End, mut keep: impl FnMut(Task) -> bool) -> Option<Task> {
        self.state.with(|state| {
            let first = state.next(&self.urgent);
            let mut queues = [&mut state.queue, &mut state.spilled];
            if from == End::Youngest {
                queues.reverse();
            }
            for queue in queues {
                match from {
                    End::Oldest => {
                        while queue.front().copied().is_some_and(&mut keep) {
                            queue.pop_front();
                        }
                    }
                    End::Youngest => {
                        while queue.back().copied().is_some_and(&mut keep) {
                            queue.pop_back();
                        }
                    }
                }
            }
            self.note_length(state);
            first
        })
    }

    /// Takes the next ready task.
    #[inline(never)]
    pub fn take(&self) -> Option<Task> {
        self.state.with(|state| {
            let task = state.next(&self.urgent);
            self.note_length(state);
            task
        })
    }

    #[cold]
    #[inline(never)]
    pub fn take_urgent(&self) -> Option<Task> {
        self.state.with(|state| {
            let task = state.first.next_urgent(&self.urgent)?;
            state.limit += 1;
            self.note_length(state);
            Some(task)
        })
    }

    /// Like `take`, but leaves the urgent tasks.
    #[cold]
    #[inline(never)]
    pub fn take_normal(&self) -> Option<Task> {
        self.state.with(|state| {
            let ended = state.first.next_ended(state.others() > 0);
            let task = ended.or_else(|| state.next_of_others());
            self.note_length(state);
            task
        })
    }

    /// Takes the oldest background task.
    #[cold]
    #[inline(never)]
    pub fn take_background(&self) -> Option<Task> {
        self.state.with(|state| {
            let task = state.background.take()?;
            state.limit += 1;
            self.note_background(state);
            Some(task)
        })
    }

    /// Looks at the line of background tasks. An overdue task becomes the next one from outside:
    /// then `added` is called after the unlocking, with the number that `push` returns. True if
    /// background tasks wait. (A worker that looks without the lock may find no task while this
    /// moves one; `added` wakes that worker.)
    #[cold]
    pub fn age(&self, added: impl FnOnce(usize)) -> bool {
        let (waits, waiting) = self.state.with(|state| match state.background.look() {
            Look::Empty => (false, None),
            Look::Waits => (true, None),
            Look::Overdue(task) if state.make_room(1, &self.is_long).is_err() => {
                state.background.put_back(task);
                (true, None)
            }
            Look::Overdue(task) => {
                state.limit += 1;
                state.queue.push_front(task);
                self.note_background(state);
                (true, Some(self.note_length(state)))
            }
        });
        waiting.map(added);
        waits
    }

    /// Takes the oldest task that is neither spilled nor urgent.
    #[cold]
    #[inline(never)]
    pub fn take_outside(&self) -> Option<Task> {
        self.state.with(|state| {
            let ended = state.first.next_ended(!state.queue.is_empty());
            let task = ended.or_else(|| state.queue.pop_front());
            self.note_length(state);
            task
        })
    }

    /// Tells whether one of the `oldest` tasks of a line fits, and whether there are more tasks
    /// than these. (For `take_if`; no thread waits for the result.)
    #[cold]
    pub fn has(&self, fit: impl Fn(Task) -> bool, oldest: usize) -> (bool, bool) {
        self.state.with(|state| {
            let fits = state.first.has_urgent(&fit, oldest)
                || state.queue.iter().take(oldest).any(|&task| fit(task));
            (fits, state.queue.len().max(state.first.urgent()) > oldest)
        })
    }

    /// Takes the first of the `oldest` tasks that fits, of the urgent ones or else of the others.
    #[cold]
    pub fn take_if(&self, fit: impl Fn(Task) -> bool, oldest: usize) -> Option<Task> {
        self.state.with(|state| {
            if let Some(task) = state.first.take_urgent_if(&fit, oldest, &self.urgent) {
                state.limit += 1;
                self.note_length(state);
                return Some(task);
            }
            let at = state.queue.iter().take(oldest).position(|&task| fit(task))?;
            let task = state.queue.remove(at);
            self.note_length(state);
            task
        })
    }

    /// Takes the oldest task if `fit` accepts it, in exchange for a task that will be added at the
    /// end. The queue is then locked until `end_exchange`, which must follow on the same thread.
    #[inline]
    pub fn begin_exchange(&self, fit: impl FnOnce(Task) -> bool) -> Option<Task> {
        if self.exchangeable.load(Ordering::Relaxed) == 0 {
            return None;
        }
        // SAFETY: unlocked below, or by `end_exchange`; the reference is not used afterwards.
        let state = unsafe { self.state.lock() };
        let fits = state.queue.front().is_some_and(|&task| fit(task));
        let task = if fits { state.queue.pop_front() } else { None };
        if task.is_none() {
            // SAFETY: this thread has locked it above.
            unsafe { self.state.unlock() };
        }
        task
    }

    /// # Safety
    /// `begin_exchange` has given the calling thread a task.
    #[inline]
    pub unsafe fn end_exchange(&self, task: Task) {
        // SAFETY: this thread holds the lock, and has no other reference.
        unsafe {
            // There is room, because a task was taken out; and the length is unchanged.
            self.state.locked().queue.push_back(task);
            self.state.unlock();
        }
    }

    /// Calls `work` under the lock that decides the end of the run. False if the run has ended.
    pub fn while_open(&self, work: impl FnOnce()) -> bool {
        self.state.with(|state| {
            let is_open = !state.gate.is_closed();
            if is_open {
                work();
            }
            is_open
        })
    }

    pub fn looks_empty(&self) -> bool {
        !self.has_ready() && self.background.load(Ordering::Acquire) == 0
    }

    /// True if a task is queued that is not a background task.
    #[inline(always)]
    pub fn has_ready(&self) -> bool {
        self.ready.load(Ordering::Acquire) > 0
    }

    /// True if a background task is queued. A hint.
    pub fn has_background(&self) -> bool {
        self.background.load(Ordering::Relaxed) > 0
    }

    /// True if the queue is empty and the gate open, both seen under the lock.
    pub fn is_quiet(&self) -> bool {
        self.state.with(|state| state.is_empty() && !state.gate.is_closed())
    }

    /// Closes the gate for good if the queue is empty, `still` holds (both seen under the lock),
    /// and nobody holds the gate open. True if this call closed it.
    pub fn close_if(&self, still: impl FnOnce() -> bool) -> bool {
        self.state.with(|state| self.close(state, still))
    }

    /// Stops holding the gate open, and then acts like `close_if`.
    pub fn release(&self, still: impl FnOnce() -> bool) -> bool {
        self.state.with(|state| {
            state.gate.release();
            self.close(state, still)
        })
    }

    fn close(&self, state: &mut State, still: impl FnOnce() -> bool) -> bool {
        !state.gate.is_closed() && state.is_empty() && still() && state.gate.rest(&self.rests)
    }

    /// If the gate is open, calls `then` under the queue's lock, with the number of tasks and the
    /// number of threads that wait for a rest.
    pub fn when_open(&self, then: impl FnOnce(usize, usize)) {
        self.state.with(|state| {
            if !state.gate.is_closed() {
                let queued = state.others() + state.first.len() + state.background.len();
                then(queued, state.gate.awaited());
            }
        });
    }

    /// True if a queue still has the memory of an earlier peak. A hint.
    pub fn keeps_memory(&self) -> bool {
        let lines = [&self.is_long, &self.is_spilled_long, &self.is_background_long];
        lines.into_iter().any(IsLong::get)
    }

    /// Returns the memory of an earlier peak to the system, if the queues are empty.
    pub fn give_back(&self) {
        let (long, spilled, background) = self.state.with(|state| {
            let long = state.queue.take_long(state.reserved, &self.is_long);
            let spilled = state.spilled.take_long(0, &self.is_spilled_long);
            (long, spilled, state.background.take_long(&self.is_background_long))
        });
        if let Some(mut long) = long {
            long.discard();
            self.state.with(|state| state.queue.keep(long));
        }
        if let Some(mut long) = spilled {
            long.discard();
            self.state.with(|state| state.spilled.keep(long));
        }
        if let Some(mut long) = background {
            long.discard();
            self.state.with(|state| state.background.keep(long));
        }
    }

    /// The number of ready tasks that are not spilled. A hint.
    pub fn outside(&self) -> &AtomicUsize {
        &self.outside
    }

    pub fn len_hint(&self) -> usize {
        self.ready.load(Ordering::Relaxed) + self.background.load(Ordering::Relaxed)
    }

    /// The rests of the run, for a thread that waits for one.
    pub fn rests(&self) -> &Rests {
        &self.rests
    }

    /// Waits for a moment when the queue is empty and `still` holds.
    pub fn wait_for_rest(&self, thread: &RestAwaited, still: impl Fn() -> bool) {
        thread.wait(|| {
            self.state.with(|state| {
                let rests = state.is_empty() && still();
                state.gate.expect_rest(rests, thread)
            })
        });
    }
}
