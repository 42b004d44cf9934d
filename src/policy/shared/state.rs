//! The state of a run, under one lock, and how its workers sleep and are woken: see the essay of
//! [`super`].

use crate::idle::Naps;
use crate::lock::monitor::Monitor;
use crate::policy::shared::queue::{Order, Queue};
use crate::policy::{Awaited, Place, UNAWAITED};
use crate::queue::End;
use crate::queue::run_gate::{Rests, RunGate};
use crate::settings::Idle;
use crate::sys::atomic::{Ordering, Pad, UnsafeCell};
use crate::sys::futex;
use crate::sys::futex::Futex;
use std::marker::PhantomData;

pub struct Shared<L: Monitor, O: Order> {
    pub(super) monitor: L,
    pub(super) state: UnsafeCell<State>,
    /// A word per worker, on which it sleeps in the middle of a task: AWAKE or WAITING.
    pub(super) joiner_words: Box<[Pad<Futex>]>,
    pub(super) rests: Rests,
    pub(super) limit: usize,
    pub(super) idle: Idle,
    pub(super) order: PhantomData<fn() -> O>,
}

pub(super) struct State {
    pub(super) queue: Queue,
    pub(super) active: usize,
    pub(super) held: usize,
    pub(super) asleep: usize,
    pub(super) tickets: usize,
    pub(super) joiners: Vec<usize>,
    /// Closed when the run has ended.
    pub(super) gate: RunGate,
}

// Values of a worker's word.
pub(super) const AWAKE: u32 = 0;
const WAITING: u32 = 1;

/// The sleeper that is woken for a task.
pub(super) enum Wake {
    Nobody,
    /// One of the workers in `wait`.
    Idle,
    Joiner(usize),
}

// SAFETY: the state is used under the monitor's lock.
unsafe impl<L: Monitor, O: Order> Sync for Shared<L, O> {}

impl<L: Monitor, O: Order> Shared<L, O> {
    /// The end behind all other tasks.
    pub(super) const LAST: End = O::NEXT.opposite();

    /// # Safety
    /// The caller holds the lock. No reference lives on after the unlocking or across `wait`.
    #[allow(clippy::mut_from_ref, reason = "the lock makes it exclusive")]
    pub(super) unsafe fn state(&self) -> &mut State {
        // SAFETY: by the caller's promise.
        self.state.with_mut(|state| unsafe { &mut *state })
    }

    /// Does `work` under the lock.
    pub(super) fn with<R>(&self, work: impl FnOnce(&mut State) -> R) -> R {
        self.monitor.lock();
        // SAFETY: locked just now, until after `work`.
        let result = work(unsafe { self.state() });
        // SAFETY: locked above.
        unsafe { self.monitor.unlock() };
        result
    }

    /// Decides which sleeper is woken for a task. The caller holds the lock; it calls `wake` after
    /// unlocking.
    pub(super) fn choose(&self, state: &mut State) -> Wake {
        if state.asleep > 0 {
            state.asleep -= 1;
            state.tickets += 1;
            return Wake::Idle;
        }
        match state.joiners.pop() {
            None => Wake::Nobody,
            Some(joiner) => {
                self.joiner_words[joiner].store(AWAKE, Ordering::Relaxed);
                Wake::Joiner(joiner)
            }
        }
    }

    /// Carries out what `choose` has decided. Returns true if it woke a worker.
    pub(super) fn wake(&self, wake: Wake) -> bool {
        match wake {
            Wake::Nobody => return false,
            Wake::Idle => self.monitor.notify_one(),
            Wake::Joiner(joiner) => _ = self.joiner_words[joiner].wake(1),
        }
        true
    }

    /// The run has ended: wakes all idle workers, unlocks, and returns how many were woken.
    pub(super) fn wake_all_and_unlock(&self) -> usize {
        // SAFETY: the caller has locked.
        let state = unsafe { self.state() };
        let sleepers = std::mem::take(&mut state.asleep);
        state.tickets += sleepers;
        let waiting = state.tickets; // at most: a worker with an older ticket may not have left yet
        // SAFETY: the caller has locked.
        unsafe { self.monitor.unlock() };
        self.monitor.notify_all(waiting);
        sleepers
    }

    /// Waits for a change. The caller holds the lock before and after the call.
    pub(super) fn wait(&self, place: &impl Place, naps: &mut Naps) {
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

    /// Sleeps until `awaited` is over, or there is a task. The caller holds the lock before and
    /// after the call.
    pub(super) fn wait_until(&self, awaited: &dyn Awaited, place: &impl Place) {
        let me = place.index();
        let limit = if awaited.enlist() { futex::LONGEST } else { UNAWAITED };
        // SAFETY: the caller has locked.
        unsafe { self.state() }.joiners.push(me); // within the capacity reserved by `new`
        self.joiner_words[me].store(WAITING, Ordering::Relaxed);
        // SAFETY: the caller has locked.
        unsafe { self.monitor.unlock() };
        place.counters().parks.add(1);
        self.joiner_words[me].wait(WAITING, limit);
        self.monitor.lock();
        // A joiner that was woken for a task is no longer in the list; one that was roused still
        // is.
        // SAFETY: locked just now.
        unsafe { self.state() }.joiners.retain(|&joiner| joiner != me);
    }

    /// Wakes `worker`, if it sleeps in `wait_until`.
    pub(super) fn wake_joiner(&self, worker: usize) {
        self.with(|_| self.joiner_words[worker].store(AWAKE, Ordering::Relaxed));
        self.joiner_words[worker].wake(1);
    }
}
