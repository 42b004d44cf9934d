//! Kinds `lifo` and `fifo`: one stack, or one queue, of tasks under one lock. `lifo` is the
//! course's section 3.
//!
//! # State, all of it under the lock
//!
//! `active`: workers that run a task, or are about to. A run starts with 1, worker 0.
//! `asleep`: workers in `wait` whose waking nobody has decided yet. `tickets`: wake-ups
//! decided and not yet used; a waiter returns by taking one. Whoever decides a wake-up moves
//! one from `asleep` to `tickets` and notifies after unlocking, so that each sleeper is
//! woken once for one task and spurious returns of the primitive are harmless.
//!
//! # The end
//!
//! A worker that finds the queue empty stops being active; if it was the last, no task is
//! queued and none runs that could spawn one: the run has ended. The lock makes the three
//! facts one.

use super::{Kind, Place, Plan};
use crate::base::config::Idle;
use crate::base::lock::Monitor;
use crate::base::mem::NoMemory;
use crate::idle::Naps;
use crate::queue::Full;
use crate::queue::injector::Refused;
use crate::task::Task;
use std::cell::UnsafeCell;
use std::collections::VecDeque;

pub struct Shared<L: Monitor, const FIFO: bool> {
    monitor: L,
    state: UnsafeCell<State>,
    limit: usize,
    idle: Idle,
}

struct State {
    queue: VecDeque<Task>,
    active: usize,
    asleep: usize,
    tickets: usize,
    ended: bool,
}

// SAFETY: the state is used under the monitor's lock.
unsafe impl<L: Monitor, const FIFO: bool> Sync for Shared<L, FIFO> {}

impl<L: Monitor, const FIFO: bool> Shared<L, FIFO> {
    /// # Safety
    /// The caller holds the lock, and lets no reference live beyond it or across `wait`.
    #[allow(clippy::mut_from_ref, reason = "the lock makes it exclusive")]
    unsafe fn state(&self) -> &mut State {
        // SAFETY: by the caller's promise.
        unsafe { &mut *self.state.get() }
    }

    /// Adds a task; tells the length of the queue, and whether a sleeper was woken.
    fn push(&self, task: Task) -> Result<(usize, bool), Refused> {
        self.monitor.lock();
        let pushed = {
            // SAFETY: locked just now, until after this block.
            let state = unsafe { self.state() };
            if state.ended {
                Err(Refused::Closed)
            } else if state.queue.len() >= self.limit || state.queue.try_reserve(1).is_err() {
                Err(Refused::Full)
            } else {
                state.queue.push_back(task);
                let wake = state.asleep > 0;
                if wake {
                    state.asleep -= 1;
                    state.tickets += 1;
                }
                Ok((state.queue.len(), wake))
            }
        };
        // SAFETY: locked above.
        unsafe { self.monitor.unlock() };
        if let Ok((_, true)) = pushed {
            self.monitor.notify_one();
        }
        pushed
    }

    /// The next task, or None at the end of the run.
    fn next(&self, place: &impl Place, active: &mut bool, naps: &mut Naps) -> Option<Task> {
        self.monitor.lock();
        loop {
            // SAFETY: locked, here and after each wait below.
            let state = unsafe { self.state() };
            let task = if FIFO { state.queue.pop_front() } else { state.queue.pop_back() };
            if task.is_some() || state.ended {
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
                if state.active == 0 {
                    return self.end(place);
                }
            }
            self.wait(place, naps);
        }
    }

    /// Ends the run: wakes everybody, and unlocks.
    fn end(&self, place: &impl Place) -> Option<Task> {
        // SAFETY: the caller has locked.
        let state = unsafe { self.state() };
        state.ended = true;
        let sleepers = std::mem::take(&mut state.asleep);
        state.tickets += sleepers;
        let waiting = state.tickets; // at most: those with a ticket may not have left yet
        // SAFETY: the caller has locked.
        unsafe { self.monitor.unlock() };
        self.monitor.notify_all(waiting);
        place.counters().wakes.add(sleepers);
        None
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

impl<L: Monitor, const FIFO: bool> Kind for Shared<L, FIFO> {
    fn new(plan: &Plan) -> Result<Self, NoMemory> {
        Ok(Shared {
            monitor: L::new(),
            state: UnsafeCell::new(State {
                queue: VecDeque::new(),
                active: 1,
                asleep: 0,
                tickets: 0,
                ended: false,
            }),
            limit: plan.limit,
            idle: plan.idle,
        })
    }

    unsafe fn settle(&self) {
        // SAFETY: passed on.
        unsafe { self.monitor.settle() };
    }

    unsafe fn spawn(&self, place: &impl Place, task: Task) -> Result<(), Full> {
        // The run cannot have ended: the caller runs a task of it, or has not started it.
        let (len, woke) = self.push(task).map_err(|_| Full)?;
        place.counters().queue_peak.peak(len);
        place.counters().wakes.add(usize::from(woke));
        Ok(())
    }

    fn inject(&self, _place: &impl Place, task: Task) -> Result<(), Refused> {
        self.push(task).map(|_| ())
    }

    unsafe fn work(&self, place: &impl Place) {
        let mut active = place.index() == 0;
        let mut naps = Naps::new(self.idle);
        while let Some(task) = self.next(place, &mut active, &mut naps) {
            place.run(task);
        }
    }
}
