//! Kind `serial`: one worker and no concurrency, the oracle of the tests. The youngest task runs
//! first. With `SCHED_SEED` any ready task may run next, and the same seed gives the same order.
//!
//! While a run that is held open is at rest, its worker sleeps. The worker sets `bell` to ASLEEP
//! and then looks, under the injector's lock, whether a task is there or the gate is closed. A
//! thread that adds a task or closes the gate does so under the lock, and rings afterwards. So
//! either the worker sees the change, or the lock orders ASLEEP before the ring, which wakes it.
//!
//! # Urgent tasks
//!
//! The worker loads the word `order` before each task, for `SCHED_SEED`. A thread that has added an
//! urgent task sets a bit there; then the worker looks at the injector before it takes its own
//! task. The worker clears the bit *before* it looks, and sets it again if it has found a task. So
//! if the look misses an urgent task, that task was added after the look, under the injector's
//! lock, and its adder sets the bit after the worker has cleared it.

use crate::idle::LongWait;
use crate::idle::poller::{self, Poller};
use crate::idle::quiescence::{LockedRun, Quiescence, Sleepers, Waiting};
use crate::policy::shared::queue::take_back;
use crate::policy::{
    Activity, Awaited, LookFirst, LoopStack, Mine, OnStack, Place, Plan, Policy, ReadyOrder, Step,
    TICK, UNAWAITED,
};
use crate::queue::Full;
use crate::queue::background::Line;
use crate::queue::injector::{Injector, Limit, Refused};
use crate::queue::length::{Length, Lengths};
use crate::queue::room::{IsLong, TaskQueue};
use crate::queue::run_gate::{RestAwaited, Rests};
use crate::settings::Accepted;
use crate::stats::Phase;
use crate::sys::atomic::{AtomicU32, Ordering, UnsafeCell, spin_loop};
use crate::sys::futex::Futex;
use crate::sys::memory::NoMemory;
use crate::sys::{futex, time};
use crate::task::Task;
use std::mem::offset_of;
use std::time::Duration;

// Values of the bell.
const AWAKE: u32 = 0;
const ASLEEP: u32 = 1;

// The bits of `order`.
const RANDOM: u32 = 1;
const URGENT: u32 = 2;

pub struct Serial {
    /// Used by worker 0's thread only.
    ready: UnsafeCell<TaskQueue>,
    injector: Injector,
    quiescence: Quiescence,
    bell: Futex,
    limit: usize,
    /// The order of ready tasks: the youngest is next if no bit is set.
    order: AtomicU32,
    warm: Duration,
    /// The worker may be the poller.
    poller: Option<&'static Poller>,
    /// For `ready`.
    is_long: IsLong,
}

// SAFETY: `ready` belongs to the one worker; the injector has its own lock.
unsafe impl Sync for Serial {}

impl Policy for Serial {
    const HAS_THREADS: bool = false;
    /// Only `SCHED_OVERFLOW=refuse` has an effect.
    const ACCEPTED: Accepted = Accepted::ALL;
    const LENGTHS: Lengths = Lengths {
        each: Length::of_vec_deque(offset_of!(Serial, ready) + TaskQueue::TASKS),
        for_all: Injector::lengths(offset_of!(Serial, injector)),
    };

    fn new(plan: &Plan) -> Result<Self, NoMemory> {
        Ok(Serial {
            ready: UnsafeCell::new(TaskQueue::new()),
            injector: Injector::new(plan.limit(), plan.ends),
            quiescence: Quiescence::new(1)?,
            bell: Futex::new(AWAKE),
            limit: plan.limit(),
            order: AtomicU32::new(match plan.ready_order {
                ReadyOrder::YoungestFirst => 0,
                ReadyOrder::Random => RANDOM,
            }),
            warm: plan.warm,
            poller: plan.poller,
            is_long: IsLong::default(),
        })
    }

    unsafe fn initialize_in_place(&self) {}

    fn spawn(&self, place: Mine<'_, impl Place>, task: Task) -> Result<(), Full> {
        // SAFETY: the caller is the one worker.
        let ready = unsafe { self.ready() };
        if ready.len() >= self.limit || ready.make_room(1, &self.is_long).is_err() {
            return Err(Full);
        }
        ready.push_back(task);
        place.counters().queue_peak.peak(ready.len());
        Ok(())
    }

    fn waiting(&self, index: usize) -> Option<&Waiting> {
        Some(self.quiescence.waiting(index))
    }

    fn hold_outside(&self) -> bool {
        self.quiescence.hold_outside(&self.injector)
    }

    fn let_go_outside(&self) {
        if self.quiescence.let_go_outside(&self.injector) {
            self.ring();
        }
    }

    fn take_back(&self, _place: Mine<'_, impl Place>, task: Task) -> bool {
        // SAFETY: the caller is the one worker.
        take_back(unsafe { self.ready() }, |queued| *queued == task)
    }

    fn requeue(&self, _place: &impl Place, task: Task) -> Result<(), NoMemory> {
        self.injector.put_back(task)?; // not `ready`: the caller may be another thread
        self.ring();
        Ok(())
    }

    fn reserve(&self, more: isize) -> Result<(), NoMemory> {
        self.injector.reserve(more)
    }

    fn put_back(&self, _place: &impl Place, task: Task) -> Result<(), NoMemory> {
        self.injector.put_back_new(task)?;
        self.ring();
        Ok(())
    }

    fn inject(&self, _place: &impl Place, task: Task) -> Result<(), Refused> {
        self.injector.push(task)?;
        self.ring();
        Ok(())
    }

    fn inject_urgent(&self, _place: &impl Place, task: Task, limit: Limit) -> Result<(), Refused> {
        self.injector.push_urgent(task, limit)?;
        self.order.fetch_or(URGENT, Ordering::Relaxed);
        self.ring();
        Ok(())
    }

    fn inject_background(
        &self,
        _place: &impl Place,
        task: Task,
        limit: Limit,
    ) -> Result<Line, Refused> {
        let line = self.injector.push_background(task, limit)?;
        self.ring();
        Ok(line)
    }

    fn age(&self, _place: &impl Place) -> bool {
        self.injector.age(|_| self.ring())
    }

    fn next_in_line(&self, place: Mine<'_, impl Place>, first: LookFirst) -> Option<Task> {
        let task = match first {
            LookFirst::AtHome => None,
            LookFirst::Outside => self.injector.take(),
        };
        task.or_else(|| self.next(&*place)).or_else(|| {
            place.looked_outside();
            self.injector.take()
        })
    }

    #[cold]
    fn help(&self, stack: OnStack<'_, impl LoopStack>, awaited: &dyn Awaited) {
        let mut countdown = TICK;
        while !awaited.over() {
            countdown -= 1;
            let injected = if countdown == 0 {
                countdown = TICK;
                self.injector.take()
            } else {
                None
            };
            let task =
                injected.or_else(|| self.next(&*stack.place())).or_else(|| self.injector.take());
            match task {
                Some(task) => stack.run(task),
                None if stack.place().poll() => {}
                None if self.injector.has_background() => {
                    self.injector.take_background().into_iter().for_each(|task| stack.run(task));
                }
                None => {
                    stack.place().step(Step::Phase(Phase::Parked));
                    time::sleep(UNAWAITED); // a thread outside the run will end what is awaited
                    stack.place().step(Step::Phase(Phase::Busy));
                }
            }
        }
    }

    fn rouse(&self, _worker: usize) {}

    fn rests(&self) -> &Rests {
        self.injector.rests()
    }

    fn wait_for_rest(&self, thread: &RestAwaited) {
        self.quiescence.wait_for_rest(&self.injector, thread);
    }

    fn release(&self) {
        if self.quiescence.release(&self.injector) {
            self.ring();
        }
    }

    fn queued_for_all(&self) -> usize {
        self.injector.len_hint()
    }

    fn waits(&self) -> usize {
        self.quiescence.waits_hint()
    }

    fn when_open(&self, then: &mut dyn FnMut(&LockedRun)) {
        self.quiescence.when_open(&self.injector, &Sleepers::default, then);
    }

    fn work(&self, stack: OnStack<'_, impl LoopStack>) {
        if stack.begins_outside() {
            if let Some(task) = self.injector.take() {
                stack.run(task);
            }
        }
        let mut idle = None;
        loop {
            // Now and then a task from outside has its turn, even if tasks spawn tasks forever.
            for _ in 0..TICK {
                let Some(task) = self.next(&*stack.place()) else { break };
                idle = None;
                stack.run(task);
            }
            if let Some(task) = self.injector.take() {
                idle = None;
                stack.run(task);
            } else if self.is_empty() && !stack.place().poll() {
                if let Some(task) = self.injector.take_background() {
                    idle = None;
                    stack.run(task);
                    continue;
                }
                if self.quiescence.enter(&self.injector) {
                    return;
                }
                self.quiescence.when_all_wait(&self.injector, || stack.place().at_rest());
                stack.place().step(Step::Activity(Activity::Idle));
                self.sleep(&*stack.place(), idle.get_or_insert_with(LongWait::begin));
                if self.quiescence.ended() {
                    return;
                }
                self.quiescence.leave();
                stack.place().step(Step::Activity(Activity::Active));
                stack.place().step(Step::Phase(Phase::Busy));
            }
        }
    }
}

impl Serial {
    /// Sleeps while the run is at rest. May return early.
    fn sleep(&self, place: &impl Place, idle: &mut LongWait) {
        place.step(Step::OutOfTasks);
        let keeps = self.is_long.get() || self.injector.keeps_memory() || place.keeps_memory();
        let longest = idle.longest_sleep(keeps, self.warm).unwrap_or_else(|| {
            // SAFETY: the caller is the one worker.
            let ready = unsafe { self.ready() };
            if let Some(mut long) = ready.take_long(0, &self.is_long) {
                long.discard();
                ready.keep(long);
            }
            self.injector.give_back();
            place.give_back();
            futex::LONGEST
        });
        self.bell.store(ASLEEP, Ordering::Relaxed);
        if self.injector.is_quiet() {
            let longest = place.until_deadline(longest);
            let sleep = || poller::sleep(self.poller, &self.bell, ASLEEP, longest);
            if place.sleeping(sleep) {
                place.serve_events();
            }
            place.serve_deadlines();
            if idle.is_due() {
                place.idles_long();
            }
        } else {
            spin_loop(); // perhaps a thread has closed the gate and is about to set `ended`
        }
        self.bell.store(AWAKE, Ordering::Relaxed);
    }

    /// Called when a task was added or the run has ended. Wakes the worker, if it sleeps.
    fn ring(&self) {
        if self.bell.swap_if(ASLEEP, AWAKE) {
            poller::wake(self.poller, &self.bell);
        }
    }

    /// # Safety
    /// The caller is the one worker, and the reference does not outlive the caller's step.
    #[allow(clippy::mut_from_ref, reason = "one thread uses it")]
    unsafe fn ready(&self) -> &mut TaskQueue {
        // SAFETY: the caller is the one worker, and has no other reference.
        self.ready.with_mut(|ready| unsafe { &mut *ready })
    }

    fn is_empty(&self) -> bool {
        // SAFETY: only the one worker calls this.
        unsafe { self.ready() }.is_empty()
    }

    fn next(&self, place: &impl Place) -> Option<Task> {
        // SAFETY: only the one worker calls this.
        let ready = unsafe { self.ready() };
        let order = self.order.load(Ordering::Relaxed);
        if order != 0 {
            self.arrange(order, ready, place);
        }
        ready.pop_back()
    }

    /// Moves the next task to the back of `ready`, if it is not there.
    #[cold]
    #[inline(never)]
    fn arrange(&self, order: u32, ready: &mut TaskQueue, place: &impl Place) {
        if order & URGENT != 0 && ready.make_room(1, &self.is_long).is_ok() {
            self.order.fetch_and(!URGENT, Ordering::Relaxed);
            if let Some(urgent) = self.injector.take_urgent() {
                self.order.fetch_or(URGENT, Ordering::Relaxed); // there may be more
                return ready.push_back(urgent);
            }
        }
        if order & RANDOM != 0 && !ready.is_empty() {
            let (any, last) = (place.random_below(ready.len()), ready.len() - 1);
            ready.swap(any, last);
        }
    }
}
