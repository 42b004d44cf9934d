//! A worker's track: the events that the thread that occupies the worker records.
//!
//! # Slices
//!
//! A task has one *slice* for each stretch of time during which a worker runs it without a break.
//! On a track the slices are nested like calls: a task that a join calls runs inside the slice of
//! the task that joins. `depth` counts the slices that are open. When the worker leaves a stack,
//! all of them end at once. When a worker resumes that stack, only the youngest task gets a new
//! slice; each task below it gets one when the task above it has ended.
//!
//! # Short tasks
//!
//! With `SCHED_TRACE_MERGE` a task that is shorter than the given time gets no slice of its own. If
//! nothing was recorded since its begin except the begin itself and merged slices, all of that is
//! taken back, and one event stands for it: *n tasks, from here to here*. If the previous event is
//! of that form, has the same function and ended less than the given time ago, it grows instead.
//! The same holds for a child that kind `cont` has called on another stack, if the worker has come
//! back (`come_back`). `unmergeable` is the number of the first event after the last one that must
//! stay.

use crate::sys::clock::ticks;
use crate::sys::memory::NoMemory;
use crate::task::Task;
use crate::trace::event::{Event, Kind, OUTSIDE, Wait};
use crate::trace::ring::Ring;
use std::cell::Cell;
use std::mem::offset_of;
use std::ptr;
use std::sync::atomic::Ordering;

mod shared;
pub use shared::Shared;
use shared::WORKER_SHIFT;

/// A task of an observed run, from its spawn to its end. The record lies in an argument block. It
/// is written by the spawner, then by the thread that runs the task, and while the task is
/// suspended by the thread that wakes it.
pub struct Observed {
    pub task: Task,
    /// The task below this one on the same stack; valid while this one runs.
    pub below: Cell<*const Observed>,
    id: u64,
    function: usize,
    /// The time at which the task was spawned or last woken.
    readied: Cell<u64>,
    /// The worker that has spawned or woken the task.
    by: Cell<u16>,
    why: Cell<Why>,
    /// The track of the task's slice, and the number and the time of the slice's first event there.
    track: Cell<*const Track>,
    begin: Cell<usize>,
    begun: Cell<u64>,
}

impl Observed {
    /// The offsets of `function` and `below`, for an observer.
    pub const FUNCTION: usize = offset_of!(Observed, function);
    pub const BELOW: usize = offset_of!(Observed, below);

    #[inline(always)]
    fn new(task: Task, id: u64, function: usize, by: u16) -> Self {
        Observed::at(task, id, function, by, ticks())
    }

    #[inline(always)]
    fn at(task: Task, id: u64, function: usize, by: u16, readied: u64) -> Self {
        Observed {
            task,
            below: Cell::new(ptr::null()),
            id,
            function,
            readied: Cell::new(readied),
            by: Cell::new(by),
            why: Cell::new(Why::Left),
            track: Cell::new(ptr::null()),
            begin: Cell::new(0),
            begun: Cell::new(0),
        }
    }

    /// The record of a task that no track records.
    #[inline(always)]
    pub fn unrecorded(task: Task, function: usize) -> Self {
        Observed::at(task, 0, function, OUTSIDE, 0)
    }

    /// The record of a task that a thread outside of the run spawns.
    pub fn outside(shared: &Shared, task: Task, function: usize) -> Self {
        Observed::new(task, shared.outside_id(), function, OUTSIDE)
    }

    pub fn function(&self) -> usize {
        self.function
    }

    /// The task's blocking section has ended. Called by the thread of the section.
    pub fn unblock(&self) {
        self.wake(None);
    }

    /// The suspended task is about to be queued. `by` is the worker that wakes it, if a worker
    /// does. Called by the holder of the task's continuation.
    pub fn wake(&self, by: Option<u16>) {
        self.readied.set(ticks());
        self.by.set(by.unwrap_or(OUTSIDE));
    }
}

/// The reason why the last worker has left a task's stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    /// The worker has left a task that could continue.
    Left,
    Suspended(Wait),
    /// The task is in a blocking section.
    Blocked,
}

/// A track at the moment when its worker left a stack.
pub struct Left {
    at: usize,
    depth: usize,
    unmergeable: usize,
}

#[repr(align(128))] // a pair of cache lines: see `runtime::record`
pub struct Track {
    ring: Ring,
    shared: *const Shared,
    worker: u16,
    depth: Cell<usize>,
    unmergeable: Cell<usize>,
    is_busy: Cell<bool>,
    /// The number of the next task that is spawned here.
    next: Cell<u64>,
    /// The time of the last record of the queue's length.
    sampled: Cell<u64>,
    /// The time of the latest event: see `now`.
    latest: Cell<u64>,
}

// SAFETY: only the thread that occupies the worker writes, and the ring's readers use atomics.
unsafe impl Sync for Track {}
// SAFETY: as above.
unsafe impl Send for Track {}

impl Track {
    /// # Safety
    /// `shared` lives as long as the track.
    pub unsafe fn new(shared: *const Shared, worker: u16, bytes: usize) -> Result<Track, NoMemory> {
        Ok(Track {
            ring: Ring::new(bytes)?,
            shared,
            worker,
            depth: Cell::new(0),
            unmergeable: Cell::new(0),
            is_busy: Cell::new(false),
            next: Cell::new(u64::from(worker) << WORKER_SHIFT),
            sampled: Cell::new(0),
            latest: Cell::new(0),
        })
    }

    pub fn ring(&self) -> &Ring {
        &self.ring
    }

    pub fn shared(&self) -> &Shared {
        // SAFETY: by the promise to `new` the tracks' `Shared` lives as long as this track.
        unsafe { &*self.shared }
    }

    /// The time of the track's next event in ticks: never less than the latest event's. (A thread
    /// that takes over the worker may read the counter of its processor too early: the processor
    /// does not order that reading after the load which shows that the worker is free.)
    #[inline(always)]
    pub fn now(&self) -> u64 {
        let now = ticks().max(self.latest.get());
        self.latest.set(now);
        now
    }

    #[inline]
    pub fn spawn(&self, task: Task, function: usize) -> Observed {
        let id = self.next.replace(self.next.get() + 1);
        Observed::new(task, id, function, self.worker)
    }

    /// Records an event that must stay as it is.
    fn keep(&self, event: Event) {
        self.ring.push(event);
        self.unmergeable.set(self.ring.end());
    }

    /// Records that an edge to the node at this address leads from the open slice. (Where short
    /// tasks are merged, slices have no edges.)
    pub fn note_edge(&self, node: usize) {
        if self.shared().merge == 0 {
            let event = Event::plain(self.now(), Kind::Edge, self.worker, 0);
            self.keep(Event { task: node as u64, ..event });
        }
    }

    /// Records that the node at this address, to which edges lead, has begun as this task.
    pub fn note_end_of_edges(&self, node: usize, slice: &Observed) {
        if self.shared().merge == 0 {
            let event = Event::plain(slice.begun.get(), Kind::Edge, self.worker, 1);
            self.keep(Event { task: node as u64, ..event });
        }
    }

    fn slice_event(&self, kind: Kind, time: u64, slice: &Observed) {
        self.wait_event(kind, Wait::Other, time, slice);
    }

    #[inline(always)]
    fn wait_event(&self, kind: Kind, wait: Wait, time: u64, slice: &Observed) {
        let length = time.saturating_sub(slice.readied.get());
        let (task, function) = (slice.id, slice.function);
        self.keep(Event { time, kind, wait, worker: slice.by.get(), length, task, function });
    }

    /// The task begins. `queued` returns the number of tasks in the worker's queue, if it is known.
    #[inline]
    pub fn begin(&self, slice: &Observed, queued: impl FnOnce() -> Option<usize>) {
        let now = self.now();
        if !self.is_busy.replace(true) {
            let busy = self.shared().busy.fetch_add(1, Ordering::Relaxed) + 1;
            self.keep(Event::plain(now, Kind::Busy, self.worker, busy as u64));
        }
        if now.saturating_sub(self.sampled.get()) > self.shared().sampling {
            self.sampled.set(now);
            if let Some(length) = queued() {
                self.keep(Event::plain(now, Kind::Queue, self.worker, length as u64));
            }
        }
        slice.track.set(self);
        slice.begin.set(self.ring.end());
        slice.begun.set(now);
        self.ring.push(Event {
            time: now,
            kind: Kind::Begin,
            wait: Wait::Other,
            worker: slice.by.get(),
            length: now.saturating_sub(slice.readied.get()),
            task: slice.id,
            function: slice.function,
        });
        self.depth.set(self.depth.get() + 1);
    }

    /// The task has ended. The task below it on the same stack continues.
    #[inline]
    pub fn end(&self, slice: &Observed) {
        let now = self.now();
        self.depth.set(self.depth.get().saturating_sub(1));
        let begin = slice.begin.get();
        let is_short = now.saturating_sub(slice.begun.get()) < self.shared().merge;
        let stands_alone = ptr::eq(slice.track.get(), self)
            && begin >= self.unmergeable.get()
            && begin >= self.ring.first();
        if is_short && stands_alone {
            self.merge(slice, begin, now);
        } else {
            self.slice_event(Kind::End, now, slice);
        }
        if self.depth.get() == 0 {
            // SAFETY: the task below is in the middle of its run on this stack.
            let below = unsafe { slice.below.get().as_ref() };
            below.inspect(|below| {
                self.slice_event(Kind::Again, now, below);
                self.depth.set(1);
            });
        }
    }

    /// Replaces the events from `begin` on by one: see the essay.
    fn merge(&self, slice: &Observed, begin: usize, now: u64) {
        let inner = (begin + 1..self.ring.end()).filter_map(|n| self.ring.get(n));
        let tasks = 1 + inner.map(|event| event.length).sum::<u64>();
        self.ring.truncate(begin);
        let time = slice.begun.get();
        self.push_merged(Event {
            time,
            kind: Kind::Merged,
            wait: Wait::Other,
            worker: self.worker,
            length: tasks,
            task: now - time,
            function: slice.function,
        });
    }

    /// Records merged tasks. If the previous event can grow instead (see the essay), it does.
    fn push_merged(&self, event: Event) {
        let last = self.ring.end().wrapping_sub(1);
        let before = self.ring.get(last).filter(|before| {
            let gap = event.time.saturating_sub(before.time + before.task);
            before.kind == Kind::Merged
                && before.function == event.function
                && gap < self.shared().merge
        });
        match before {
            Some(before) => {
                let length = before.length + event.length;
                let task = event.time + event.task - before.time;
                self.ring.write(last, Event { length, task, ..before });
            }
            None => self.ring.push(event),
        }
    }

    /// The worker leaves the stack of the task, which is suspended.
    pub fn suspend(&self, slice: &Observed, wait: Wait) {
        if self.depth.replace(0) > 0 {
            let now = self.now();
            slice.readied.set(now);
            slice.by.set(OUTSIDE);
            slice.why.set(Why::Suspended(wait));
            self.wait_event(Kind::Suspend, wait, now, slice);
        }
    }

    /// The worker leaves the stack of the task, and other workers may resume it.
    pub fn leave(&self, slice: &Observed) -> Left {
        let left = Left {
            at: self.ring.end(),
            depth: self.depth.replace(0),
            unmergeable: self.unmergeable.get(),
        };
        if left.depth > 0 {
            self.slice_event(Kind::Leave, self.now(), slice);
        }
        left
    }

    /// The worker has come to the stack of the task, which it may have left at `left`. If the
    /// worker has since then done only tasks that were merged into one event, the track looks as if
    /// the task had called them.
    pub fn come_back(&self, left: &Left, slice: &Observed) {
        let since = self.ring.end().wrapping_sub(left.at);
        let merged = self.ring.get(left.at + 1).filter(|event| event.kind == Kind::Merged);
        let was_short = since == 1 || since == 2 && merged.is_some();
        let was_left_here = self.ring.get(left.at).is_some_and(|event| {
            event.kind == Kind::Leave && event.task == slice.id && self.depth.get() == 0
        });
        if !was_short || !was_left_here {
            return self.arrive(slice);
        }
        self.ring.truncate(left.at);
        self.depth.set(left.depth);
        self.unmergeable.set(left.unmergeable);
        merged.filter(|_| since == 2).inspect(|&merged| self.push_merged(merged));
    }

    pub fn arrive(&self, slice: &Observed) {
        if self.depth.get() == 0 {
            let (kind, wait) = match slice.why.replace(Why::Left) {
                Why::Left => (Kind::Again, Wait::Other),
                Why::Suspended(wait) => (Kind::Resume, wait),
                Why::Blocked => (Kind::Unblock, Wait::Other),
            };
            self.wait_event(kind, wait, self.now(), slice);
            self.depth.set(1);
        }
    }

    /// The task has begun a blocking section, and its thread leaves the worker.
    pub fn block(&self, slice: &Observed) {
        self.slice_event(Kind::Block, self.now(), slice);
        slice.why.set(Why::Blocked);
        let _ = self.leave(slice);
    }

    /// The worker has found its queue empty.
    pub fn out_of_tasks(&self) {
        if self.is_busy.replace(false) {
            let busy = self.shared().busy.fetch_sub(1, Ordering::Relaxed) - 1;
            self.keep(Event::plain(self.now(), Kind::Busy, self.worker, busy as u64));
        }
    }

    /// Records an event that concerns the worker `whom`, or `number` workers.
    pub fn note(&self, kind: Kind, whom: u16, number: u64) {
        self.keep(Event::plain(self.now(), kind, whom, number));
    }

    /// The worker has slept since the tick `begun`.
    pub fn slept(&self, begun: u64) {
        let now = self.now();
        self.keep(Event::plain(now, Kind::Slept, self.worker, now.saturating_sub(begun)));
    }
}

#[cfg(test)]
mod tests;
