//! How tasks from outside the run get their turn at workers that never run out of own tasks.
//!
//! A worker takes tasks from outside when it searches, and once in `TICK` tasks that it pops. But a
//! worker within a tree of forks and joins, or within a long loop, does neither. So a task from
//! outside has a *turn* ([`turns`](crate::policy::turns)) at each point where the worker's task may
//! wait anyway: at its end, at a join, at a suspension, and between parts of a loop.
//!
//! # How the worker learns of it
//!
//! A word counts the tasks from outside. A worker in a loop loads it between two chunks. With a
//! deque that has no private part, the worker also loads it at each pop and join, where the load
//! costs nothing beside the deque's fence or lock. A pop and a join of a deque with a private part
//! load nothing more: the thread that adds the task sets an *alarm* in each such deque, and the
//! owner's next pop or join takes its slow path (`queue::split`, 6).
//!
//! If a worker searches, or was woken just now, no alarm is needed. So this holds whenever no
//! thread is between two steps of this file: *if a task from outside is in the injector, a worker
//! searches, or the deque of each worker has an alarm.*
//!
//! - A thread that adds a task where there was none fences, and then looks for searchers. If there
//!   is none, it sets the alarms that are not set.
//! - The last worker to stop searching fences, and then looks at the injector. If there is a task,
//!   it sets the alarms.
//! - An owner removes its alarm, fences, and then looks at the injector. If a task is left there,
//!   the owner sets its alarm again.
//!
//! In each pair of these steps, one sees what the other has written. If the injector already has
//! tasks, the thread that adds one relies on the step that is due for those tasks.
//!
//! # Urgent tasks
//!
//! An urgent task is the next one that a worker takes from the injector, and no turn has to be due
//! for it. Its adder fences and then sets the alarms, even if a worker searches, or other tasks
//! wait: a searcher may doze. So, between two steps: *if an urgent task is in the injector, the
//! deque of each worker has an alarm.* An owner removes its alarm only in `is_due` and
//! `take_for_turn`. Both fence afterwards, and set the alarm again if a task from outside is left.
//! Suppose that one does not: it has found the count of these tasks to be 0. The count includes the
//! urgent ones, so the urgent task was added later, or is taken. If it was added later, its adder's
//! fence and alarm follow the owner's fence.
//!
//! A worker that dozes beside guests, or because its processor has other workers, is called, as if
//! a processor were free. The task of a worker that waits without sleeping (`wait_awake`) is
//! suspended at once. Guests take no urgent tasks, and reliefs take only the urgent tasks of
//! timers.
//!
//! # The price
//!
//! An alarm that is set before a turn is due stays set. Then each pop takes its slow path, some 40
//! ns, for a millisecond at most.
//!
//! Rejected: an alarm that, before a turn is due, stops only the pops of the tasks that are already
//! queued. A recursion reaches these tasks seldom (fib beside a flood from outside took a sixth of
//! the processor time). But a task that forks and joins above them, or while none is queued, is
//! never stopped again, and the task from outside waits for its end.
//!
//! Rejected: the alarm of one worker instead of all. That worker may be in a long task while
//! another would look within a microsecond.

use crate::lock::trylock::Backoff;
use crate::policy::reliefs::MOST_LOOKS;
use crate::policy::stealing::state::Stealing;
use crate::policy::{LoopStack, Mine, OnStack, Place};
use crate::queue::{Deque, PrivatePart};
use crate::sys::atomic::{Ordering, fence};
use crate::task::Task;
use std::ptr;

impl<D: Deque> Stealing<D> {
    /// Makes workers take the `waiting` tasks of the injector soon, after any thread has added one.
    /// The place's counters do not belong to the caller.
    pub(super) fn added_outside(&self, place: &impl Place, waiting: usize) {
        if self.parks() && self.wake_for(place, waiting) {
            return;
        }
        if waiting > 1 {
            return; // the step that is due for the earlier tasks serves this one
        }
        fence(Ordering::SeqCst); // with the fences in `stop_search` and in `silence`
        if !self.parks() || self.sleepers.searching() == 0 {
            self.alarm_all();
        }
    }

    /// Wakes a worker for one of `waiting` tasks, if necessary. True if no worker has searched
    /// before.
    fn wake_for(&self, place: &impl Place, waiting: usize) -> bool {
        if self.sleepers.published(|worker| place.start(worker)) {
            return true;
        }
        let searching = self.sleepers.searching();
        if self.sleepers.has_sleepers() && waiting > searching {
            // There are more tasks than searchers. (Rejected: the first searcher wakes the next
            // one. Jobs of 10 µs from three threads waited for 27 µs instead of 16.)
            self.sleepers.wake_another(searching, |worker| place.start(worker));
        }
        false
    }

    /// Makes workers take the `waiting` urgent tasks at once, after any thread has added one.
    #[cold]
    #[inline(never)]
    pub(super) fn added_urgent(&self, place: &impl Place, waiting: usize) {
        if self.parks() {
            self.wake_for(place, waiting);
            self.sleepers.call_surplus();
        }
        fence(Ordering::SeqCst); // with the fence in `silence`
        self.alarm_all();
    }

    /// Sets the alarm of each worker's deque that has one. (Guests run no tasks from outside.) The
    /// caller has executed a full fence since the task was added, or since it stopped searching.
    pub(super) fn alarm_all(&self) {
        for deque in &self.deques[..self.guests.workers()] {
            let Some(private) = deque.private_part() else { return };
            private.alarm();
        }
    }

    /// True if the injector has a task other than spilled ones. A hint.
    #[inline(always)]
    pub(super) fn has_outside(&self) -> bool {
        self.injector.outside().load(Ordering::Relaxed) > 0
    }

    /// True if the next pop or join must look at the injector, because the deque has no alarm.
    #[inline(always)]
    pub(super) fn looks_each_time(&self, deque: &D) -> bool {
        deque.private_part().is_none() && self.has_outside()
    }

    /// See `Policy::is_turn_due`.
    #[cold]
    #[inline(never)]
    pub(super) fn is_due(&self, place: Mine<'_, impl Place>) -> bool {
        let mut own = self.own(place);
        let alarmed = own.private_part().filter(|private| private.is_alarmed());
        if let Some(mut private) = alarmed.filter(|_| !self.has_outside()) {
            private.silence();
            if self.has_outside() {
                private.alarm();
            }
        }
        if !self.has_outside() {
            place.turns().end();
            return false;
        }
        if self.injector.has_urgent() {
            place.turns().begin_urgent();
            return true;
        }
        place.turns().is_due(self.injector.outside().load(Ordering::Relaxed))
    }

    #[cold]
    pub(super) fn take_for_turn(&self, place: Mine<'_, impl Place>) -> Option<Task> {
        let mut own = self.own(place);
        let mut private = own.private_part();
        if let Some(private) = private.as_mut().filter(|private| private.is_alarmed()) {
            private.silence();
        }
        let only_urgent = place.turns().is_only_urgent();
        let mut task = if self.injector.has_urgent() { self.injector.take_urgent() } else { None };
        if task.is_none() && !only_urgent {
            while task.is_none() && self.has_outside() {
                let Some(outside) = self.injector.take_outside() else { break };
                task = self.resolved(outside, place); // None for the token of a place without tasks
            }
            place.turns().took(task.is_some());
        }
        if self.has_outside() {
            if let Some(private) = &mut private {
                private.alarm();
            }
        }
        task
    }

    /// Takes a task from outside that suits a relief (`policy::reliefs`), unless the relief must go.
    #[cold]
    #[inline(never)]
    pub(super) fn take_outside_for_relief<P: Place>(&self, place: Mine<'_, P>) -> Option<Task> {
        let may = self.has_outside() && !place.is_dismissed();
        // SAFETY: the injector is locked during the call.
        let suits = |task| unsafe { P::suits_relief(task) };
        if may { self.injector.take_if(suits, MOST_LOOKS) } else { None }
    }

    /// Chooses what the worker runs after it has popped `task`: a task from outside, if its turn is
    /// due. Then `task` goes back into the deque.
    #[cold]
    pub(super) fn after_turn(&self, place: Mine<'_, impl Place>, task: Task) -> Task {
        if !self.is_due(place) {
            return task;
        }
        let Some(outside) = self.take_for_turn(place) else { return task };
        let mut own = self.own(place);
        let mut pauses = Backoff::default();
        // The deque may be full: a thief's tasks stay in it until the thief has copied them. If the
        // injector has no memory for `task` either, the worker waits for the thief.
        while own.push(task).is_err() {
            if self.injector.spill(1, usize::MAX, |_, put| put(task)).is_ok() {
                break;
            }
            pauses.wait();
        }
        self.added(&mut own, place);
        outside
    }

    /// Runs tasks from outside as long as their turn lasts, but at least one.
    #[cold]
    #[inline(never)]
    pub(super) fn serve_outside(&self, stack: OnStack<'_, impl LoopStack>) {
        let place = stack.place();
        while let Some(task) = self.take_for_turn(place) {
            stack.run_from_outside(task);
            let stays = ptr::eq(&raw const *stack.place(), &raw const *place);
            if !stays || !self.injector.has_urgent() && !place.turns().lasts() {
                break;
            }
        }
        stack.ends_outside();
        stack.place().turns().returned();
    }

    /// Serves tasks from outside that go before the next pop, if a turn is due: the worker has run
    /// a task that it did not pop, and its deque has no alarm.
    #[cold]
    #[inline(never)]
    pub(super) fn look_outside(&self, stack: OnStack<'_, impl LoopStack>) {
        let place = stack.place();
        if place.index() < self.reliefs && !self.deque_at(place).looks_empty() && self.is_due(place)
        {
            self.serve_outside(stack);
        }
    }

    /// Called when an alarm has stopped the worker's loop. False if its deque is empty, so that the
    /// worker searches.
    #[cold]
    #[inline(never)]
    pub(super) fn heed_alarm(&self, stack: OnStack<'_, impl LoopStack>) -> bool {
        let place = stack.place();
        self.look_for_sleepers(place); // the pop was undone: `queue::split`, 5
        if !self.deque_at(place).looks_empty() && self.is_due(place) {
            self.serve_outside(stack);
            return true;
        }
        let task = self.own(place).pop();
        task.map(|task| stack.run(task)).is_some()
    }
}
