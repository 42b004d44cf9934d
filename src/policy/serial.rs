//! Kind `serial`: one thread and no concurrency, the oracle of the tests. The youngest task
//! runs first; with `SCHED_SEED` any ready task may, and the same seed gives the same order.
//!
//! A run that is held open has its worker sleep while it is at rest. It sets `bell` to ASLEEP and then
//! looks, under the injector's lock, whether a task is there or the gate closed. Who adds a task or
//! closes the gate does that under the lock, and rings afterwards: so either the worker sees it, or
//! the lock orders ASLEEP before the ringing, which then wakes it.

use crate::idle::quiescence::{Quiescence, Waiting};
use crate::policy::shared::take_back;
use crate::policy::{Awaited, LookFirst, Place, Plan, Policy, ReadyOrder, Seat, TICK, UNAWAITED};
use crate::queue::Full;
use crate::queue::injector::{Injector, Refused};
use crate::settings::Accepted;
use crate::sys::atomic::Ordering;
use crate::sys::futex::Futex;
use crate::sys::memory::NoMemory;
use crate::sys::{futex, time};
use crate::task::Task;
use std::cell::UnsafeCell;
use std::collections::VecDeque;

// Values of the bell.
const AWAKE: u32 = 0;
const ASLEEP: u32 = 1;

pub struct Serial {
    /// Touched by worker 0's thread only.
    ready: UnsafeCell<VecDeque<Task>>,
    injector: Injector,
    quiescence: Quiescence,
    bell: Futex,
    limit: usize,
    ready_order: ReadyOrder,
}

// SAFETY: `ready` belongs to the one worker; the injector has its own lock.
unsafe impl Sync for Serial {}

impl Policy for Serial {
    const HAS_THREADS: bool = false;
    /// None of them has an effect, but `SCHED_OVERFLOW=refuse`.
    const ACCEPTED: Accepted = Accepted::ALL;

    fn new(plan: &Plan) -> Result<Self, NoMemory> {
        Ok(Serial {
            ready: UnsafeCell::new(VecDeque::new()),
            injector: Injector::new(plan.limit(), plan.ends),
            quiescence: Quiescence::new(1)?,
            bell: Futex::new(AWAKE),
            limit: plan.limit(),
            ready_order: plan.ready_order,
        })
    }

    unsafe fn initialize_in_place(&self) {}

    unsafe fn spawn(&self, place: &impl Place, task: Task) -> Result<(), Full> {
        // SAFETY: the caller is the one worker, and no reference outlives a call.
        let ready = unsafe { &mut *self.ready.get() };
        if ready.len() >= self.limit || ready.try_reserve(1).is_err() {
            return Err(Full);
        }
        ready.push_back(task);
        place.counters().queue_peak.peak(ready.len());
        Ok(())
    }

    fn waiting(&self, index: usize) -> Option<&Waiting> {
        Some(self.quiescence.waiting(index))
    }

    unsafe fn take_back(&self, _place: &impl Place, task: Task) -> bool {
        // SAFETY: as in spawn.
        take_back(unsafe { &mut *self.ready.get() }, task)
    }

    fn requeue(&self, _place: &impl Place, task: Task) -> Result<(), NoMemory> {
        self.injector.put_back(task)?; // the caller may be another thread
        self.ring();
        Ok(())
    }

    fn reserve(&self, more: isize) -> Result<(), NoMemory> {
        self.injector.reserve(more)
    }

    fn put_back(&self, _place: &impl Place, task: Task) -> Result<(), NoMemory> {
        let put = self.injector.put_back_some(1, usize::MAX, |_, put| put(task));
        put.map_err(|Full| NoMemory)?;
        self.ring();
        Ok(())
    }

    fn inject(&self, _place: &impl Place, task: Task) -> Result<(), Refused> {
        self.injector.push(task)?;
        self.ring();
        Ok(())
    }

    unsafe fn next_in_line(&self, place: &impl Place, first: LookFirst) -> Option<Task> {
        let task = match first {
            LookFirst::AtHome => None,
            LookFirst::Outside => self.injector.take(),
        };
        task.or_else(|| self.next(place)).or_else(|| {
            place.looked_outside();
            self.injector.take()
        })
    }

    #[cold]
    unsafe fn help(&self, seat: &impl Seat, awaited: &dyn Awaited) {
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
                injected.or_else(|| self.next(seat.place())).or_else(|| self.injector.take());
            match task {
                Some(task) => seat.run(task),
                None => time::sleep(UNAWAITED), // it is in other hands than this run's
            }
        }
    }

    fn rouse(&self, _worker: usize) {}

    fn wait_for_rest(&self) {
        self.quiescence.wait_for_rest(&self.injector);
    }

    fn release(&self) {
        if self.quiescence.release(&self.injector) {
            self.ring();
        }
    }

    unsafe fn work(&self, seat: &impl Seat) {
        if seat.begins_outside()
            && let Some(task) = self.injector.take()
        {
            seat.run(task);
        }
        loop {
            // A task from outside has its turn now and then, however long the others go on.
            for _ in 0..TICK {
                let Some(task) = self.next(seat.place()) else { break };
                seat.run(task);
            }
            if let Some(task) = self.injector.take() {
                seat.run(task);
            } else if self.is_empty() {
                if self.quiescence.enter(&self.injector) {
                    return;
                }
                self.quiescence.when_all_wait(&self.injector, || seat.place().at_rest());
                self.sleep(seat.place());
                if self.quiescence.ended() {
                    return;
                }
                self.quiescence.leave();
            }
        }
    }
}

impl Serial {
    /// Sleeps while the run is at rest, or less.
    fn sleep(&self, place: &impl Place) {
        self.bell.store(ASLEEP, Ordering::Relaxed);
        if self.injector.is_quiet() {
            place.counters().parks.add(1);
            self.bell.wait(ASLEEP, futex::LONGEST);
        }
        self.bell.store(AWAKE, Ordering::Relaxed);
    }

    /// There is a task, or the run has ended: wakes the worker, if it sleeps.
    fn ring(&self) {
        if self.bell.swap(AWAKE, Ordering::Relaxed) == ASLEEP {
            self.bell.wake(1);
        }
    }

    fn is_empty(&self) -> bool {
        // SAFETY: as in spawn.
        unsafe { (*self.ready.get()).is_empty() }
    }

    fn next(&self, place: &impl Place) -> Option<Task> {
        // SAFETY: as in spawn.
        let ready = unsafe { &mut *self.ready.get() };
        match self.ready_order {
            ReadyOrder::Random if !ready.is_empty() => {
                let any = place.random_below(ready.len());
                ready.swap_remove_back(any)
            }
            _ => ready.pop_back(),
        }
    }
}
