//! Kinds `lifo` (the course's section 3) and `fifo`: one stack or queue of tasks under one lock.
//! This is one file because the proof is about all that happens under the lock.
//!
//! # State, all of it under the lock
//!
//! - `active`: the number of workers that run a task or are about to, plus the number of tasks that
//!   wait. A run starts with 1, for worker 0. `held`: the number of tasks that wait.
//! - `asleep`: the number of idle workers in `wait` whose wake-up is not decided yet. `tickets`:
//!   the number of wake-ups that were decided and not used yet; a waiter takes one to return.
//! - `absent`: the number of workers that have had no thread yet; they have the highest indices.
//!   With `Idle::Park` a run starts with one worker. `arriving`: the number of workers for which a
//!   thread was called, and that have not looked for a task yet.
//! - `joiners`: the workers that sleep in the middle of a task, until another task is over or there
//!   is a task to run; and, while tasks wait for descriptors, the idle workers, of which one polls
//!   (`idle::poller`).
//!
//! A thread that decides a wake-up moves one from `asleep` to `tickets`, and notifies after
//! unlocking. So spurious returns of the primitive are harmless.
//!
//! # Wake-ups
//!
//! A thread that adds a task wakes a sleeper for it or, if none sleeps, calls a thread for an
//! absent worker. It wakes nobody if a worker is on its way (a ticket is unused, or a worker
//! arrives) and each processor already has a worker. A worker that has slept, or arrives, and
//! leaves tasks in the queue wakes the next sleeper by the same rule. So this holds whenever the
//! lock is free: *if a task is queued and an idle worker is asleep or absent, a worker is on its
//! way.* Proof: a worker goes to sleep only when the queue is empty; and a worker that takes a
//! ticket looks at the queue next, under the same lock, and wakes the next sleeper if it leaves
//! tasks. (A worker that arrives counts itself out of `arriving` before it looks. Until it has
//! looked, others may call more workers than necessary.) A joiner that was woken follows the same
//! rule, so no task waits beside a joiner that sleeps. A worker for which no thread can be had
//! stays without one, and the next sleeper is chosen in its place.
//!
//! Rejected: to call all threads when the run starts, which takes 0.1 ms for each. 60 nested runs
//! of 1,000 threads and few tasks took more than a minute instead of 0.1 s.
//!
//! Rejected: to wake a sleeper at each push. If one task spawns short ones, the stack often runs
//! empty, so workers park and wake all the time and, if they are more than the processors, take the
//! spawner's: empty tasks from one spawner, with 8 workers on 2 processors, took 180 to 1,500 ns
//! each instead of 65 to 105.
//!
//! # Tasks from outside
//!
//! Tasks from outside the run are in a line of their own, and have turns (`policy::turns`).
//! Otherwise they would wait in the stack of `lifo` below all tasks that the run's own tasks add,
//! and in the queue of `fifo` behind all tasks that are in it. In `lifo`, a task that yields joins
//! the line of tasks from outside, because there it is behind all others. A worker checks for a
//! turn when it takes a task from the queue and, by `outside`, at joins and between parts of loops.
//!
//! # Urgent and background tasks
//!
//! Urgent tasks are in a line of their own, from which a worker takes first, without a turn. They
//! count among the tasks from outside, and a worker that looks for a turn finds, by `urgent`, that
//! it has to give way at once. Background tasks are in a line from which only a worker takes that
//! has found nothing else and has polled; the line counts when the queue is asked whether it is
//! empty. So a worker still goes to sleep only when the queue is empty: with background tasks left,
//! it takes one instead.
//!
//! # Joiners
//!
//! Each joiner sleeps on a word of its own, because one particular joiner must be woken. An idle
//! worker takes a ticket instead, because any of them may be woken. A joiner looks whether the
//! awaited task is over, enlists, and adds itself to `joiners`, all under the lock. The thread that
//! ends the awaited task takes the lock to rouse the joiner. So either the rousing comes later and
//! finds the joiner in `joiners`, or the joiner has seen that the task is over.
//!
//! # The end
//!
//! A worker that finds the queue empty stops being active. If it was the last active one, no task
//! is queued, runs or waits, so no task can spawn another: the run has ended. Under the lock these
//! facts hold at one moment. A run that is held open is at rest instead: see `queue::run_gate`.
//!
//! # Orderings
//!
//! The monitor's lock orders all of the state. A joiner's word is changed under the lock and read
//! without it: Relaxed, because the joiner takes the lock before it looks at anything else. A wait
//! for a rest is ordered as `queue::run_gate` says.

pub(super) mod queue;
mod state;

pub use queue::{Fifo, Lifo, Order};
pub use state::Shared;

use crate::idle::quiescence::{LockedRun, Sleepers};
use crate::idle::{LongWait, Naps};
use crate::lock::monitor::Monitor;
use crate::policy::guests::{Guests, Purpose, Taken};
use crate::policy::reliefs::Suspended;
use crate::policy::shared::queue::{Line, Next, SharedQueue};
use crate::policy::shared::state::{AWAKE, State, Wake};
use crate::policy::{
    Activity, Awaited, LookFirst, LoopStack, Mine, OnStack, Place, Plan, Policy, Step, TICK,
};
use crate::queue::background;
use crate::queue::injector::{Limit, Refused};
use crate::queue::length::{Length, Lengths};
use crate::queue::run_gate::{RestAwaited, Rests, RunGate};
use crate::queue::{End, Full};
use crate::settings::Idle;
use crate::stats::Phase;
use crate::sys::atomic::{AtomicUsize, Ordering, Pad, UnsafeCell};
use crate::sys::futex::Futex;
use crate::sys::memory;
use crate::sys::memory::NoMemory;
use crate::task::Task;
use std::marker::PhantomData;
use std::mem;
use std::time::Duration;

/// The approximate time from a wake-up until the woken worker runs.
const WAKE_COST: Duration = Duration::from_micros(30);

impl<L: Monitor, O: Order> Shared<L, O> {
    /// The line at whose end a task is behind all others.
    const LAST: Line = match O::NEXT {
        End::Oldest => Line::Own,
        End::Youngest => Line::Outside,
    };

    /// Adds a task. Returns the length of the queue, and whether a sleeper was woken.
    #[inline(always)]
    fn push<P: Place>(&self, place: &P, task: Task, line: Line) -> Result<(usize, bool), Refused> {
        let pushed = self.with(|state| {
            if state.gate.is_closed() {
                Err(Refused::Closed)
            } else if state.queue.counted() >= self.limit || state.queue.make_room(line).is_err() {
                Err(Refused::Full)
            } else {
                self.add::<P>(state, task, line);
                Ok((state.queue.ready(), self.choose(state)))
            }
        });
        pushed.map(|(len, wake)| (len, self.wake(wake, place)))
    }

    /// Adds an urgent or a background task by `add`.
    fn push_special<R>(
        &self,
        place: &impl Place,
        limit: Limit,
        add: impl FnOnce(&mut State) -> Result<R, NoMemory>,
    ) -> Result<R, Refused> {
        let added = self.with(|state| {
            if state.gate.is_closed() {
                return Err(Refused::Closed);
            }
            if limit == Limit::Applies && state.queue.counted() >= self.limit {
                return Err(Refused::Full);
            }
            let result = add(state).map_err(|NoMemory| Refused::Full)?;
            Ok((result, self.choose(state)))
        });
        let (result, wake) = added?;
        self.wake(wake, place);
        Ok(result)
    }

    #[inline(always)]
    fn add<P: Place>(&self, state: &mut State, task: Task, line: Line) {
        state.queue.push::<P>(task, line);
        if matches!(line, Line::Outside) {
            self.count_outside(state);
        }
    }

    /// Adds a task that the run has accepted before. `make_room` makes room for it.
    fn push_again<P: Place>(
        &self,
        place: &P,
        task: Task,
        make_room: fn(&mut SharedQueue, Line) -> Result<(), NoMemory>,
        line: Line,
    ) -> Result<(), NoMemory> {
        let queued = self.with(|state| {
            make_room(&mut state.queue, line)?;
            self.add::<P>(state, task, line);
            Ok(self.choose(state))
        });
        queued.map(|wake| _ = self.wake(wake, place))
    }

    /// # Safety
    /// `begin_exchange` has given the calling thread a task.
    unsafe fn end_exchange<P: Place>(&self, _place: &P, task: Task) {
        // SAFETY: this thread has locked. There is room, because a task was taken out.
        unsafe {
            let state = self.state();
            state.queue.push::<P>(task, Self::LAST);
            self.count_outside(state);
            self.monitor.unlock();
        }
    }

    /// Carries out the decision of `choose_next`, and counts the wake-up.
    fn wake_next(&self, wake: Wake, place: &impl Place) {
        if self.wake(wake, place) {
            place.step(Step::Wake(1));
        }
    }

    #[inline(always)]
    fn take_ready<P: Place>(&self, state: &mut State, place: &P) -> Option<Next> {
        self.counted(state.queue.next::<O, P>(place, &self.urgent), state)
    }

    /// Waits for the next task; None at the end of the run.
    fn next<P: Place>(&self, place: &P, activity: &mut Activity, naps: &mut Naps) -> Option<Next> {
        let mut idle = None;
        let mut slept = *activity == Activity::Idle; // the worker was called for a task
        let mut has_polled = false;
        self.monitor.lock();
        loop {
            // SAFETY: locked, here and after each wait below.
            let state = unsafe { self.state() };
            let mut task = self.take_ready(state, place);
            let polls = !has_polled && self.polls(); // read once: other runs change it
            if task.is_none() && !polls {
                task = state.queue.next_background().map(Next::Own);
            }
            if task.is_some() || state.gate.is_closed() {
                let is_back =
                    task.is_some() && mem::replace(activity, Activity::Active) == Activity::Idle;
                if is_back {
                    state.active += 1;
                    place.step(Step::Activity(Activity::Active));
                }
                let wake = self.choose_next(state, slept);
                // SAFETY: locked.
                unsafe { self.monitor.unlock() };
                if is_back {
                    place.step(Step::Phase(Phase::Busy));
                }
                self.wake_next(wake, place);
                naps.success();
                return task;
            }
            if polls {
                self.poll(place);
                has_polled = true;
                continue; // the queue was unlocked, so it may have tasks now
            }
            debug_assert!(state.queue.is_empty());
            has_polled = false;
            slept = true;
            if mem::replace(activity, Activity::Idle) == Activity::Active {
                place.step(Step::OutOfTasks);
                state.active -= 1;
                place.step(Step::Activity(Activity::Idle));
                if state.active == 0 && state.gate.rest(&self.rests) {
                    place.step(Step::Wake(self.wake_all_and_unlock()));
                    return None;
                }
                if state.active == state.held && state.held > 0 {
                    place.at_rest();
                }
            }
            self.wait(place, naps, idle.get_or_insert_with(LongWait::begin));
        }
    }

    /// Like `next`, for a worker that waits in the middle of a task; None when `awaited` is over.
    /// If `first` is `AtHome`, takes the youngest task, if it has not begun.
    fn next_until<P: Place>(
        &self,
        awaited: &dyn Awaited,
        place: &P,
        first: LookFirst,
        naps: &mut Naps,
    ) -> Option<Task> {
        self.monitor.lock();
        let (mut slept, mut has_polled) = (false, false);
        loop {
            // SAFETY: locked, here and after each wait below.
            let state = unsafe { self.state() };
            if awaited.over() {
                // If this worker was woken for a task, another worker must be woken for that task.
                let wake = self.choose_next(state, true);
                // SAFETY: locked.
                unsafe { self.monitor.unlock() };
                if slept {
                    place.step(Step::Phase(Phase::Busy));
                }
                self.wake_next(wake, place);
                return None;
            }
            let at_home = first == LookFirst::AtHome && self.urgent.load(Ordering::Relaxed) == 0;
            let mut task = match state.queue.peek(End::Youngest) {
                Some(youngest) if at_home && !P::is_continuation(youngest) => {
                    state.queue.pop::<P>(End::Youngest)
                }
                _ => self.take_ready(state, place).map(Next::task),
            };
            let polls = !has_polled && self.polls(); // as in `next`
            if task.is_none() && !polls {
                task = state.queue.next_background();
            }
            if task.is_some() {
                let wake = self.choose_next(state, slept);
                // SAFETY: locked.
                unsafe { self.monitor.unlock() };
                if slept {
                    place.step(Step::Phase(Phase::Busy));
                }
                self.wake_next(wake, place);
                naps.success();
                return task;
            }
            if polls {
                self.poll(place);
                has_polled = true;
                continue; // as in `next`
            }
            has_polled = false;
            slept = true;
            place.step(Step::Phase(Phase::Searching));
            if self.idle != Idle::Park {
                self.nap(place, naps);
            } else {
                self.wait_until(awaited, place);
            }
        }
    }
}

impl<L: Monitor, O: Order> Policy for Shared<L, O> {
    const LENGTHS: Lengths = Lengths { each: Length::NONE, for_all: Self::LENGTHS_FOR_ALL };

    fn new(plan: &Plan) -> Result<Self, NoMemory> {
        let mut joiners = Vec::new();
        joiners.try_reserve_exact(plan.places()).map_err(|_| NoMemory)?;
        Ok(Shared {
            joiner_words: memory::slice(plan.places(), |_| Ok(Pad(Futex::new(AWAKE))))?,
            monitor: L::new(),
            state: UnsafeCell::new(State {
                queue: SharedQueue::default(),
                active: 1,
                held: 0,
                asleep: 0,
                tickets: 0,
                absent: 0,
                arriving: 0,
                joiners,
                guests: 0,
                gate: RunGate::new(plan.ends),
            }),
            guests: Guests::new(plan.workers, plan.guests, plan.reliefs)?,
            outside: Pad(AtomicUsize::new(0)),
            urgent: AtomicUsize::new(0),
            rests: Rests::new(),
            limit: plan.limit(),
            processors: plan.processors,
            warm: plan.warm,
            idle: plan.idle,
            poller: plan.poller,
            reliefs: plan.workers + plan.guests,
            order: PhantomData,
        })
    }

    unsafe fn initialize_in_place(&self) {
        // SAFETY: the value has its final address and is not used yet.
        unsafe { self.monitor.initialize_in_place() };
    }

    fn starts_asleep(&self) -> bool {
        let parks = self.idle == Idle::Park;
        if parks {
            self.with(|state| state.absent = self.guests.workers() - 1);
        }
        parks
    }

    fn spawn(&self, place: Mine<'_, impl Place>, task: Task) -> Result<(), Full> {
        // A relief's task has its turn as one from outside: the workers' own tasks may never end.
        let line = if place.index() < self.reliefs { Line::Own } else { Line::Outside };
        // The run cannot have ended: the caller runs one of its tasks, or has not started the run.
        let (len, woke) = self.push(&*place, task, line).map_err(|_| Full)?;
        place.counters().queue_peak.peak(len);
        place.step(Step::Wake(usize::from(woke)));
        Ok(())
    }

    fn hold(&self, _place: &impl Place) {
        self.with(|state| {
            state.active += 1;
            state.held += 1;
        });
    }

    fn let_go(&self, _place: &impl Place) {
        self.with(|state| {
            state.active -= 1;
            state.held -= 1;
        });
    }

    fn hold_outside(&self) -> bool {
        self.with(|state| {
            let is_open = !state.gate.is_closed();
            state.active += usize::from(is_open);
            state.held += usize::from(is_open);
            is_open
        })
    }

    fn let_go_outside(&self) {
        self.monitor.lock();
        // SAFETY: locked just now.
        let state = unsafe { self.state() };
        state.active -= 1;
        state.held -= 1;
        self.end_if_at_rest_and_unlock();
    }

    fn take_back(&self, _place: Mine<'_, impl Place>, task: Task) -> bool {
        self.with(|state| {
            let outside = state.queue.outside();
            let taken = state.queue.take_back(task);
            if state.queue.outside() != outside {
                self.count_outside(state);
            }
            taken
        })
    }

    fn requeue(&self, place: &impl Place, task: Task) -> Result<(), NoMemory> {
        self.push_again(place, task, SharedQueue::make_room_for_suspended, Line::Outside)
    }

    fn line_up(&self, place: Mine<'_, impl Place>, task: Task) -> Result<(), NoMemory> {
        self.push_again(&*place, task, SharedQueue::make_room_for_suspended, Self::LAST)
    }

    fn outside(&self, index: usize) -> Option<&AtomicUsize> {
        (index < self.guests.workers()).then_some(&*self.outside)
    }

    fn is_turn_due(&self, place: Mine<'_, impl Place>) -> bool {
        match self.outside.load(Ordering::Relaxed) {
            0 => place.turns().end(),
            _ if self.urgent.load(Ordering::Relaxed) > 0 => return true,
            waiting => return place.turns().is_due(waiting),
        }
        false
    }

    fn requeue_ended(&self, place: &impl Place, task: Task) -> Result<(), NoMemory> {
        let queued = self.with(|state| {
            state.queue.push_ended(task)?;
            self.count_outside(state);
            Ok(self.choose(state))
        });
        queued.map(|wake| _ = self.wake(wake, place))
    }

    fn has_first(&self) -> bool {
        self.with(|state| state.queue.has_first())
    }

    fn inject_accepted(&self, place: &impl Place, task: Task) -> Result<(), NoMemory> {
        self.push_again(place, task, SharedQueue::make_room, Line::Outside)
    }

    fn inject_urgent(&self, place: &impl Place, task: Task, limit: Limit) -> Result<(), Refused> {
        self.push_special(place, limit, |state| {
            state.queue.push_urgent(task, &self.urgent)?;
            self.count_outside(state);
            Ok(())
        })
    }

    fn inject_background(
        &self,
        place: &impl Place,
        task: Task,
        limit: Limit,
    ) -> Result<background::Line, Refused> {
        self.push_special(place, limit, |state| state.queue.push_background(task))
    }

    fn age(&self, place: &impl Place) -> bool {
        let (waits, wake) = self.with(|state| {
            let (waits, is_added) = state.queue.age();
            if !is_added {
                return (waits, Wake::Nobody);
            }
            self.count_outside(state);
            (waits, self.choose(state))
        });
        self.wake(wake, place);
        waits
    }

    fn reserve(&self, more: isize) -> Result<(), NoMemory> {
        self.with(|state| state.queue.reserve(more))
    }

    fn put_back(&self, place: &impl Place, task: Task) -> Result<(), NoMemory> {
        self.push_again(place, task, SharedQueue::make_room, Self::LAST)
    }

    fn inject(&self, place: &impl Place, task: Task) -> Result<(), Refused> {
        self.push(place, task, Line::Outside).map(|_| ())
    }

    fn next_in_line(&self, place: Mine<'_, impl Place>, _first: LookFirst) -> Option<Task> {
        if place.index() >= self.reliefs {
            return self.take_for_relief(place);
        }
        self.with(|state| self.take_ready(state, &*place)).map(Next::task)
    }

    fn begin_exchange(&self, place: Mine<'_, impl Place>) -> Option<Task> {
        self.monitor.lock();
        // SAFETY: locked just now.
        let task = unsafe { self.state() }.queue.next_suspended::<O, _>(&*place);
        if task.is_none() {
            // SAFETY: locked above. Otherwise the queue stays locked until `end_exchange`.
            unsafe { self.monitor.unlock() };
        }
        task
    }

    unsafe fn end_exchange(&self, place: Mine<'_, impl Place>, task: Task) {
        // SAFETY: `begin_exchange` has given this thread a task.
        unsafe { Shared::end_exchange(self, &*place, task) };
    }

    /// Runs the youngest task, in both kinds: an older task may have to wait for more other tasks,
    /// on top of the caller's task. But if the youngest task was suspended, `help` runs the next
    /// task in the kind's order, because suspended tasks have their own stacks and take turns.
    #[cold]
    fn help(&self, stack: OnStack<'_, impl LoopStack>, awaited: &dyn Awaited) {
        let mut naps = Naps::new(self.idle);
        let mut countdown = TICK;
        loop {
            if self.is_turn_due(stack.place()) {
                stack.give_way();
            }
            // The youngest task is often the awaited one. But if each youngest task adds a younger
            // one, the awaited task must still get its turn.
            let first = if countdown == 1 { LookFirst::Outside } else { LookFirst::AtHome };
            countdown = if countdown == 1 { TICK } else { countdown - 1 };
            let next = self.next_until(awaited, &*stack.place(), first, &mut naps);
            let Some(task) = next else { return };
            stack.run(task);
        }
    }

    const HAS_GUESTS: bool = true;

    /// A guest's tasks are in the shared queue, so a guest's place is never left with tasks.
    fn come(&self, thread: usize, purpose: Purpose) -> Option<usize> {
        let (Taken::Free(index) | Taken::Left(index)) = self.guests.take(thread, purpose)?;
        let is_open = self.with(|state| {
            let is_open = !state.gate.is_closed();
            state.active += usize::from(is_open);
            state.guests += usize::from(is_open && purpose == Purpose::Work);
            is_open
        });
        if !is_open {
            self.guests.free(index);
        }
        is_open.then_some(index)
    }

    fn go(&self, place: Mine<'_, impl Place>, purpose: Purpose) {
        self.guests.free(place.index());
        self.monitor.lock();
        // SAFETY: locked just now.
        let state = unsafe { self.state() };
        state.active -= 1;
        state.guests -= usize::from(purpose == Purpose::Work);
        self.end_if_at_rest_and_unlock();
    }

    fn sleep_as_guest(&self, place: Mine<'_, impl Place>, sleep: &mut dyn FnMut()) {
        if place.index() >= self.reliefs {
            return sleep(); // it uses no worker's processor, and remains active
        }
        self.with(|state| {
            state.held += 1;
            state.guests -= 1;
            if state.active == state.held && state.queue.is_empty() {
                place.at_rest();
            }
        });
        sleep();
        self.with(|state| {
            state.held -= 1;
            state.guests += 1;
        });
    }

    fn suspended<P: Place>(&self, _place: &P) -> Suspended {
        if self.idle != Idle::Park {
            return Suspended::Absent;
        }
        let (found, more) = self.with(|state| state.queue.has_for_relief::<P>());
        Suspended::new(found, more, self.has_idle_worker())
    }

    fn has_idle_worker(&self) -> bool {
        let has = |state: &mut State| {
            let asleep = state.asleep + state.absent + state.joiners.len();
            asleep + state.tickets + state.arriving > 0
        };
        self.idle != Idle::Park || self.with(has)
    }

    fn take_for_relief<P: Place>(&self, place: Mine<'_, P>) -> Option<Task> {
        if place.is_dismissed() {
            return None;
        }
        self.with(|state| {
            let task = state.queue.take_for_relief::<P>(&self.urgent);
            self.count_outside(state);
            task
        })
    }

    fn wakes_at_spawn(&self) -> Option<Duration> {
        let wakes = self.idle == Idle::Park
            && self.with(|state| {
                state.asleep + state.absent > 0 && state.tickets + state.arriving == 0
            });
        wakes.then_some(WAKE_COST)
    }

    fn rouse(&self, worker: usize) {
        self.wake_joiner(worker);
    }

    fn rests(&self) -> &Rests {
        &self.rests
    }

    fn wait_for_rest(&self, thread: &RestAwaited) {
        thread.wait(|| {
            self.with(|state| {
                let rests = state.active == 0 && state.queue.is_empty();
                state.gate.expect_rest(rests, thread)
            })
        });
    }

    fn release(&self) {
        self.monitor.lock();
        // SAFETY: locked just now.
        let state = unsafe { self.state() };
        state.gate.release();
        self.end_if_at_rest_and_unlock();
    }

    fn queued_for_all(&self) -> usize {
        self.with(|state| state.queue.len())
    }

    fn waits(&self) -> usize {
        self.with(|state| state.held)
    }

    fn when_open(&self, then: &mut dyn FnMut(&LockedRun)) {
        self.with(|state| {
            if !state.gate.is_closed() {
                then(&LockedRun {
                    active: &|| state.active - state.held,
                    sleepers: &Sleepers::default, // sleeping guests are in `held`
                    tasks: &|| state.held,
                    queued: state.queue.len(),
                    threads: state.gate.awaited(),
                });
            }
        });
    }

    fn work(&self, stack: OnStack<'_, impl LoopStack>) {
        let mut activity = stack.activity();
        if activity == Activity::Idle {
            self.with(|state| state.arriving = state.arriving.saturating_sub(1));
        }
        let mut naps = Naps::new(self.idle);
        loop {
            if stack.place().index() >= self.reliefs {
                return; // the stack belongs to a relief now
            }
            let Some(next) = self.next(&*stack.place(), &mut activity, &mut naps) else { return };
            match next {
                Next::Own(task) => {
                    stack.ends_outside();
                    stack.run(task);
                }
                Next::Outside(task) => {
                    stack.run_from_outside(task);
                    stack.place().turns().returned();
                }
            }
        }
    }
}
