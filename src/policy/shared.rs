//! Kinds `lifo` and `fifo`: one stack, or one queue, of tasks under one lock. `lifo` is the
//! course's section 3.
//!
//! # State, all of it under the lock
//!
//! `active`: workers that run a task, or are about to, and tasks that wait. A run starts with 1, worker 0. `held`:
//! those of them that are tasks.
//! `asleep`: workers in `wait` whose waking nobody has decided yet. `tickets`: wake-ups
//! decided and not yet used; a waiter returns by taking one. Whoever decides a wake-up moves
//! one from `asleep` to `tickets` and notifies after unlocking, so that each sleeper is
//! woken once for one task and spurious returns of the primitive are harmless.
//!
//! `joiners`: workers that sleep in the middle of a task until another is over, or until there is a
//! task to run. Each has a seat to sleep on, since it must be woken itself: a ticket may be
//! taken by any. It looks whether the other is over, enlists and becomes a joiner under the lock, which
//! who ends the other takes to rouse it: so that comes later, or is seen.
//!
//! # The end
//!
//! A worker that finds the queue empty stops being active; if it was the last, no task is
//! queued and none runs that could spawn one: the run has ended. The lock makes the three
//! facts one. If the run is held open, it is at rest instead: see `queue::run_gate`.

use crate::idle::Naps;
use crate::lock::monitor::Monitor;
use crate::policy::{Awaited, LookFirst, Place, Plan, Policy, Seat, UNAWAITED};
use crate::queue::injector::Refused;
use crate::queue::run_gate::{Rests, RunGate};
use crate::queue::{End, Full};
use crate::settings::Idle;
use crate::sys::atomic::{Ordering, Pad};
use crate::sys::futex::Futex;
use crate::sys::memory::NoMemory;
use crate::sys::{futex, memory};
use crate::task::Task;
use std::cell::UnsafeCell;
use std::collections::VecDeque;
use std::marker::PhantomData;

/// Removes `task`, which was added lately, if it is there.
pub fn take_back(queue: &mut VecDeque<Task>, task: Task) -> bool {
    let at = queue.iter().rposition(|queued| *queued == task);
    at.is_some_and(|at| queue.remove(at).is_some())
}

/// Which task of the queue is next.
pub trait Order: 'static {
    /// The end where the next task is taken. A task that gives way goes to the other end.
    const NEXT: End;

    /// Moves the task that is to be next to that end. `tasks` is not empty; the oldest task is in front.
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

pub struct Shared<L: Monitor, O: Order> {
    monitor: L,
    state: UnsafeCell<State>,
    /// Where each worker sleeps in the middle of a task.
    seats: Box<[Pad<Futex>]>,
    rests: Rests,
    limit: usize,
    idle: Idle,
    order: PhantomData<fn() -> O>,
}

struct State {
    queue: Queue,
    active: usize,
    held: usize,
    asleep: usize,
    tickets: usize,
    joiners: Vec<usize>,
    /// Closed: the run has ended.
    gate: RunGate,
}

/// Tasks, the oldest in front.
#[derive(Default)]
struct Queue {
    tasks: VecDeque<Task>,
    /// Those among them that were set aside. No limit counts them: else as many as it allows, which give way and then
    /// spawn, would refuse each other for ever.
    aside: usize,
    /// Places for those that are set aside; see `queue::injector`.
    reserved: usize,
}

impl Queue {
    /// How many count.
    fn len(&self) -> usize {
        self.tasks.len() - self.aside
    }

    fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// For one task beside those that a place is reserved for.
    fn make_room(&mut self) -> Result<(), NoMemory> {
        self.tasks.try_reserve(self.reserved.saturating_add(1)).map_err(|_| NoMemory)
    }

    /// Adds a task at an end. There is room.
    fn push<P: Place>(&mut self, task: Task, end: End) {
        self.aside += usize::from(P::is_set_aside(task));
        match end {
            End::Oldest => self.tasks.push_front(task),
            End::Youngest => self.tasks.push_back(task),
        }
    }

    fn peek(&self, end: End) -> Option<Task> {
        match end {
            End::Oldest => self.tasks.front(),
            End::Youngest => self.tasks.back(),
        }
        .copied()
    }

    fn pop<P: Place>(&mut self, end: End) -> Option<Task> {
        let task = match end {
            End::Oldest => self.tasks.pop_front(),
            End::Youngest => self.tasks.pop_back(),
        }?;
        self.aside -= usize::from(P::is_set_aside(task));
        Some(task)
    }

    #[inline(always)]
    fn arrange<O: Order>(&mut self, place: &impl Place) {
        if !self.tasks.is_empty() {
            O::arrange(&mut self.tasks, place);
        }
    }

    fn next<O: Order, P: Place>(&mut self, place: &P) -> Option<Task> {
        self.arrange::<O>(place);
        self.pop::<P>(O::NEXT)
    }
}

// Values of a seat.
const AWAKE: u32 = 0;
const WAITING: u32 = 1;

/// Who is to be woken for a task.
enum Wake {
    Nobody,
    /// One of those in `wait`.
    Idle,
    Joiner(usize),
}

// SAFETY: the state is used under the monitor's lock.
unsafe impl<L: Monitor, O: Order> Sync for Shared<L, O> {}

impl<L: Monitor, O: Order> Shared<L, O> {
    /// The end behind all others.
    const LAST: End = O::NEXT.opposite();

    /// # Safety
    /// The caller holds the lock, and lets no reference live beyond it or across `wait`.
    #[allow(clippy::mut_from_ref, reason = "the lock makes it exclusive")]
    unsafe fn state(&self) -> &mut State {
        // SAFETY: by the caller's promise.
        unsafe { &mut *self.state.get() }
    }

    /// Does `work` under the lock.
    fn with<R>(&self, work: impl FnOnce(&mut State) -> R) -> R {
        self.monitor.lock();
        // SAFETY: locked just now, until after `work`.
        let result = work(unsafe { self.state() });
        // SAFETY: locked above.
        unsafe { self.monitor.unlock() };
        result
    }

    /// Adds a task; tells the length of the queue, and whether a sleeper was woken.
    fn push<P: Place>(&self, _place: &P, task: Task) -> Result<(usize, bool), Refused> {
        let pushed = self.with(|state| {
            if state.gate.is_closed() {
                Err(Refused::Closed)
            } else if state.queue.len() >= self.limit || state.queue.make_room().is_err() {
                Err(Refused::Full)
            } else {
                state.queue.push::<P>(task, End::Youngest);
                Ok((state.queue.tasks.len(), self.choose(state)))
            }
        });
        pushed.map(|(len, wake)| (len, self.wake(wake)))
    }

    /// Adds a task that the run has accepted before, behind all others.
    fn push_again<P: Place>(
        &self,
        _place: &P,
        task: Task,
        make_room: fn(&mut Queue) -> Result<(), NoMemory>,
    ) -> Result<(), NoMemory> {
        let queued = self.with(|state| {
            make_room(&mut state.queue)?;
            state.queue.push::<P>(task, Self::LAST);
            Ok(self.choose(state))
        });
        queued.map(|wake| _ = self.wake(wake))
    }

    /// Takes the next task, if it was set aside; then the queue stays locked until `end_exchange`.
    fn begin_exchange<P: Place>(&self, place: &P) -> Option<Task> {
        self.monitor.lock();
        // SAFETY: locked just now.
        let queue = &mut unsafe { self.state() }.queue;
        queue.arrange::<O>(place);
        let fits = queue.peek(O::NEXT).is_some_and(P::is_set_aside);
        let task = if fits { queue.pop::<P>(O::NEXT) } else { None };
        if task.is_none() {
            // SAFETY: locked above.
            unsafe { self.monitor.unlock() };
        }
        task
    }

    /// # Safety
    /// The calling thread has got a task of `begin_exchange`.
    unsafe fn end_exchange<P: Place>(&self, _place: &P, task: Task) {
        // SAFETY: this thread has locked; one was taken out, so there is room.
        unsafe {
            self.state().queue.push::<P>(task, Self::LAST);
            self.monitor.unlock();
        }
    }

    fn take_next<P: Place>(&self, place: &P) -> Option<Task> {
        self.with(|state| state.queue.next::<O, P>(place))
    }

    /// The next task, or None at the end of the run.
    fn next<P: Place>(&self, place: &P, active: &mut bool, naps: &mut Naps) -> Option<Task> {
        self.monitor.lock();
        loop {
            // SAFETY: locked, here and after each wait below.
            let state = unsafe { self.state() };
            let task = state.queue.next::<O, P>(place);
            if task.is_some() || state.gate.is_closed() {
                if task.is_some() && !std::mem::replace(active, true) {
                    state.active += 1;
                }
                // SAFETY: locked.
                unsafe { self.monitor.unlock() };
                naps.success();
                return task;
            }
            if std::mem::replace(active, false) {
                state.active -= 1;
                if state.active == 0 && state.gate.rest(&self.rests) {
                    place.counters().wakes.add(self.wake_all());
                    return None;
                }
                if state.active == state.held && state.held > 0 {
                    place.at_rest();
                }
            }
            self.wait(place, naps);
        }
    }

    /// The run has ended: wakes everybody, tells how many, and unlocks.
    fn wake_all(&self) -> usize {
        // SAFETY: the caller has locked.
        let state = unsafe { self.state() };
        let sleepers = std::mem::take(&mut state.asleep);
        state.tickets += sleepers;
        let waiting = state.tickets; // at most: those with a ticket may not have left yet
        // SAFETY: the caller has locked.
        unsafe { self.monitor.unlock() };
        self.monitor.notify_all(waiting);
        sleepers
    }

    /// The next task for a worker that waits in the middle of one; None when that is over.
    fn next_until<P: Place>(
        &self,
        awaited: &dyn Awaited,
        place: &P,
        naps: &mut Naps,
    ) -> Option<Task> {
        self.monitor.lock();
        loop {
            // SAFETY: locked, here and after each wait below.
            let state = unsafe { self.state() };
            if awaited.over() {
                // It may have been woken for a task.
                let wake = if state.queue.is_empty() { Wake::Nobody } else { self.choose(state) };
                // SAFETY: locked.
                unsafe { self.monitor.unlock() };
                self.wake(wake);
                return None;
            }
            let end = match state.queue.peek(End::Youngest) {
                Some(youngest) if P::is_set_aside(youngest) => O::NEXT,
                _ => End::Youngest,
            };
            let task = state.queue.pop::<P>(end);
            if task.is_some() {
                // SAFETY: locked.
                unsafe { self.monitor.unlock() };
                naps.success();
                return task;
            }
            if self.idle != Idle::Park {
                self.wait(place, naps);
            } else {
                self.wait_until(awaited, place);
            }
        }
    }

    /// Sleeps until `awaited` is over, or there is a task; with the lock held before and after.
    fn wait_until(&self, awaited: &dyn Awaited, place: &impl Place) {
        let me = place.index();
        let limit = if awaited.enlist() { futex::LONGEST } else { UNAWAITED };
        // SAFETY: the caller has locked.
        unsafe { self.state() }.joiners.push(me); // within the capacity reserved by `new`
        self.seats[me].store(WAITING, Ordering::Relaxed);
        // SAFETY: the caller has locked.
        unsafe { self.monitor.unlock() };
        place.counters().parks.add(1);
        self.seats[me].wait(WAITING, limit);
        self.monitor.lock();
        // SAFETY: locked just now.
        unsafe { self.state() }.joiners.retain(|&joiner| joiner != me); // if not woken
    }

    /// Decides whom to wake for a task. The caller holds the lock, and calls `wake` without it.
    fn choose(&self, state: &mut State) -> Wake {
        if state.asleep > 0 {
            state.asleep -= 1;
            state.tickets += 1;
            return Wake::Idle;
        }
        match state.joiners.pop() {
            None => Wake::Nobody,
            Some(joiner) => {
                self.seats[joiner].store(AWAKE, Ordering::Relaxed);
                Wake::Joiner(joiner)
            }
        }
    }

    /// Does what `choose` has decided; tells whether it woke somebody.
    fn wake(&self, wake: Wake) -> bool {
        match wake {
            Wake::Nobody => return false,
            Wake::Idle => self.monitor.notify_one(),
            Wake::Joiner(joiner) => _ = self.seats[joiner].wake(1),
        }
        true
    }

    /// Waits for a change, with the lock held before and after.
    fn wait(&self, place: &impl Place, naps: &mut Naps) {
        if self.idle == Idle::Park {
            place.counters().parks.add(1);
            // SAFETY: the caller has locked; each reference ends before the wait.
            unsafe { self.state().asleep += 1 };
            // SAFETY: as above.
            while unsafe { self.state().tickets } == 0 {
                // SAFETY: as above.
                unsafe { self.monitor.wait() };
            }
            // SAFETY: as above.
            unsafe { self.state().tickets -= 1 };
        } else {
            // SAFETY: the caller has locked.
            unsafe { self.monitor.unlock() };
            place.counters().naps.add(usize::from(naps.wait()));
            self.monitor.lock();
        }
    }
}

impl<L: Monitor, O: Order> Policy for Shared<L, O> {
    fn new(plan: &Plan) -> Result<Self, NoMemory> {
        let mut joiners = Vec::new();
        joiners.try_reserve_exact(plan.workers).map_err(|_| NoMemory)?;
        Ok(Shared {
            seats: memory::slice(plan.workers, |_| Ok(Pad(Futex::new(AWAKE))))?,
            monitor: L::new(),
            state: UnsafeCell::new(State {
                queue: Queue::default(),
                active: 1,
                held: 0,
                asleep: 0,
                tickets: 0,
                joiners,
                gate: RunGate::new(plan.ends),
            }),
            rests: Rests::new(),
            limit: plan.limit(),
            idle: plan.idle,
            order: PhantomData,
        })
    }

    unsafe fn initialize_in_place(&self) {
        // SAFETY: passed on.
        unsafe { self.monitor.initialize_in_place() };
    }

    unsafe fn spawn(&self, place: &impl Place, task: Task) -> Result<(), Full> {
        // The run cannot have ended: the caller runs a task of it, or has not started it.
        let (len, woke) = self.push(place, task).map_err(|_| Full)?;
        place.counters().queue_peak.peak(len);
        place.counters().wakes.add(usize::from(woke));
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

    unsafe fn take_back(&self, _place: &impl Place, task: Task) -> bool {
        self.with(|state| take_back(&mut state.queue.tasks, task))
    }

    fn requeue(&self, place: &impl Place, task: Task) -> Result<(), NoMemory> {
        // A place was reserved.
        self.push_again(place, task, |queue| queue.tasks.try_reserve(1).map_err(|_| NoMemory))
    }

    fn reserve(&self, more: isize) -> Result<(), NoMemory> {
        self.with(|state| {
            let reserved = state.queue.reserved.saturating_add_signed(more);
            if more > 0 {
                state.queue.tasks.try_reserve(reserved).map_err(|_| NoMemory)?;
            }
            state.queue.reserved = reserved;
            Ok(())
        })
    }

    fn put_back(&self, place: &impl Place, task: Task) -> Result<(), NoMemory> {
        self.push_again(place, task, Queue::make_room)
    }

    fn inject(&self, place: &impl Place, task: Task) -> Result<(), Refused> {
        self.push(place, task).map(|_| ())
    }

    unsafe fn next_in_line(&self, place: &impl Place, _first: LookFirst) -> Option<Task> {
        self.take_next(place)
    }

    unsafe fn begin_exchange(&self, place: &impl Place) -> Option<Task> {
        Shared::begin_exchange(self, place)
    }

    unsafe fn end_exchange(&self, place: &impl Place, task: Task) {
        // SAFETY: passed on.
        unsafe { Shared::end_exchange(self, place, task) };
    }

    /// The youngest task, in both kinds: the older one is, the more of others it may have to wait
    /// for, on top of the task that waits. But of those that were set aside the oldest: they have their
    /// own stacks, and their turns.
    #[cold]
    unsafe fn help(&self, seat: &impl Seat, awaited: &dyn Awaited) {
        let mut naps = Naps::new(self.idle);
        while let Some(task) = self.next_until(awaited, seat.place(), &mut naps) {
            seat.run(task);
        }
    }

    fn rouse(&self, worker: usize) {
        self.with(|_| self.seats[worker].store(AWAKE, Ordering::Relaxed));
        self.seats[worker].wake(1);
    }

    fn wait_for_rest(&self) {
        self.rests.wait(|| {
            self.with(|state| {
                let rests = state.active == 0 && state.queue.is_empty();
                if !rests {
                    state.gate.expect_rest();
                }
                rests
            })
        });
    }

    fn release(&self) {
        self.monitor.lock();
        // SAFETY: locked just now.
        let state = unsafe { self.state() };
        state.gate.release();
        if state.active == 0 && state.queue.is_empty() && state.gate.rest(&self.rests) {
            self.wake_all();
        } else {
            // SAFETY: locked above.
            unsafe { self.monitor.unlock() };
        }
    }

    unsafe fn work(&self, seat: &impl Seat) {
        let mut active = !seat.begins_idle();
        let mut naps = Naps::new(self.idle);
        while let Some(task) = self.next(seat.place(), &mut active, &mut naps) {
            seat.run(task);
        }
    }
}
