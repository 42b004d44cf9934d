//! Several tasks at a time: a thief takes more than the task that it runs (`SCHED_STEAL=half`), a
//! worker empties the injector (`SCHED_GLOBAL=all`), a full deque gives tasks to the injector
//! (`SCHED_OVERFLOW=one`, `half`). All of this code is cold. For a deque without `queue::Batches`
//! only `SCHED_GLOBAL=all` is compiled.
//!
//! With these settings the library has the nine algorithms of the fiber scheduler whose benchmarks
//! are in `bench_c` (`fiber.h`): libsched(7) lists them. Tokio's algorithm is the ring with `half`
//! and `half`, the ring's default.
//!
//! # What must stay true
//!
//! *The end of the run.* Tasks on their way are in no queue. A thief stops counting as idle before
//! it takes tasks (`idle::quiescence`, rule 2). It puts the batch into its own deque as an active
//! worker, and counts as idle again only when that deque is empty. So the proof for one task holds
//! for many. It also holds for batches from the injector, and for tasks that an active owner moves
//! there.
//!
//! *No worker sleeps while a task is queued.* The tasks of a batch are put like spawned tasks, and
//! then `added` does what a spawn does for sleepers. If the thief was idle, `added` wakes nobody,
//! because the thief still counts as searching; when it stops searching (`found`) it looks at the
//! queues, where its batch lies.
//!
//! *No task is lost for want of room.* A thief makes room in its own deque before it takes tasks.
//! An owner that moves tasks to the injector makes room there first, under the injector's lock. So
//! locks are taken in one order: the injector's, then a deque's; never the locks of two deques.
//!
//! *Turns.* Every task of the injector must get its turn. A batch moves tasks from the injector
//! into the deque of a worker. If the worker pops the youngest task, tasks that spawn others
//! forever would starve the batch. Two rules prevent this:
//!
//! 1. A worker looks at the injector once in `TICK` tasks. After a batch of n tasks, it looks at
//!    the oldest task of its own deque instead, the next n times. That task has waited for longer
//!    than any task in the injector.
//! 2. A task that yields goes to the injector, and its worker takes one task from there in
//!    exchange, not a batch. A batch would contain all yielding tasks except this one, so the last
//!    task of each batch would miss the next batch.
//!
//! Urgent and background tasks are in no batch, since a deque knows no levels.
//!
//! Without either rule some tasks get more turns than others (c_tests/yields.c). A deque that is
//! popped at the oldest end needs neither rule, because there the tasks of a batch come before the
//! tasks that yield later. But a worker that waits in the middle of a task (`help`) pops every
//! deque at its youngest end, so it follows rule 1 in every deque.

use crate::policy::Mine;
use crate::policy::Place;
use crate::policy::stealing::amounts::Spills;
use crate::policy::stealing::state::Stealing;
use crate::queue::{BATCH, Batches, Deque, End, Full, Owner, Portion, Steal};
use crate::task::Task;

impl<D: Deque> Stealing<D> {
    /// Completes a spawn whose deque is full.
    pub(super) fn spill(&self, own: &mut Owner<D>, task: Task) -> Result<(), Full> {
        let (Some(mut oldest), &Some(Spills { n, limit })) = (own.batches(), &self.amounts.spills)
        else {
            return Err(Full);
        };
        self.injector.spill(n, limit, |n, put| oldest.spill(n, put))?;
        // The ring may still be full: a thief's tasks are in it until the thief has copied them.
        own.push(task).or_else(|Full| self.injector.spill(1, limit, |_, put| put(task)))
    }

    /// Takes the next task of the injector. With `SCHED_GLOBAL=all` also moves the other tasks into
    /// the own deque, which is empty, as far as there is room.
    pub(super) fn take_injected(&self, place: Mine<'_, impl Place>) -> Option<Task> {
        let Some(batch) = self.amounts.batches.get(place.index()) else {
            return self.injected(place);
        };
        let mut own = self.own(place);
        let mut more = 0;
        let first = self.injector.take_all(D::OWNER_POPS, |task| {
            let kept = own.push(task).is_ok();
            more += usize::from(kept);
            kept
        });
        batch.set(more);
        if more > 0 {
            self.added(&mut own, place);
        }
        let first = first.and_then(|first| self.resolved(first, place));
        // If the first was the token of a place without tasks, this takes a task of the batch
        // instead: a caller that gets none becomes idle, and its deque must be empty.
        first.or_else(|| if more > 0 { self.own(place).pop() } else { None })
    }

    /// Takes a task that has waited for long, if there is one. `popped` is the end at which the
    /// worker pops its own deque now.
    pub(super) fn take_overdue(&self, place: Mine<'_, impl Place>, popped: End) -> Option<Task> {
        let batch = self.amounts.batches.get(place.index());
        if let Some(batch) = batch.filter(|batch| popped == End::Youngest && batch.get() > 0) {
            if !self.injector.has_urgent() {
                batch.set(batch.get() - 1);
                if let Some(mut own) = self.own(place).private_part() {
                    own.publish(Portion::HalfOrLone);
                }
                if let Steal::Taken(task) = self.deques[place.index()].steal() {
                    return Some(task);
                }
            }
        }
        self.injected(place)
    }

    /// Takes a task from `victim` or, with `SCHED_STEAL=half`, half of its tasks: all but the first
    /// go into the own deque.
    pub(super) fn take_from(&self, victim: &D, place: Mine<'_, impl Place>) -> Steal {
        let Some(victim) = victim.batches().filter(|_| self.amounts.steals_half) else {
            return victim.steal();
        };
        let mut own = self.own(place);
        let room = own.batches().map_or(0, |mut own| own.make_room(BATCH - 1));
        let mut more = 0;
        let taken = victim.steal_half(room, |task| {
            own.push(task).expect("room was made");
            more += 1;
        });
        if more > 0 {
            place.counters().stolen_tasks.add(more);
            self.added(&mut own, place);
        }
        taken
    }

    /// Tells thieves and sleepers that tasks were put into the own deque.
    pub(super) fn added(&self, own: &mut Owner<D>, place: Mine<'_, impl Place>) {
        if let Some(mut private) = own.private_part() {
            let searching = self.waiting_awake();
            if self.eagerness.publishes_at_once(place.index(), searching > 0) {
                private.publish(Portion::HalfOrLone); // and the next push comes here again
            } else {
                // (Rejected: `Half` for several thieves. The owner runs the other half at the end:
                // 15 tasks took 13.8 µs with 15 thieves instead of 12.8.)
                let portion = if searching > 1 { Portion::AllIfNone } else { Portion::Half };
                // If a worker searches, it takes care of the tasks, so no sleeper is woken.
                private.publish_and_rearm(portion, || self.sleepers.rely_on_spawns());
            }
        }
        self.published(place);
    }
}
