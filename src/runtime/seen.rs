//! The functions by which observers on other threads read the records: a debugger, the watchdog,
//! statistics, the search for a deadlock. None of them waits for the owner of the memory that it
//! reads.

use crate::fiber::stack::Stack;
use crate::policy::{Place, TICK};
use crate::runtime::record::{Fiber, Row, Run, Worker};
use crate::runtime::wait_note::{Noted, WaitNote};
use crate::settings::DequeOrLock;
use crate::stats::Totals;
use crate::sys::atomic::Ordering;
use crate::sys::{clock, peek};
use std::mem::offset_of;
use std::ptr;
use std::time::Duration;

/// A fiber as an observer on another thread sees it: plain words, each read at its own moment.
pub struct SeenFiber {
    pub address: usize,
    /// The lowest address of its stack; 0: it is on a thread's own stack.
    pub low: usize,
    pub worker: &'static Worker,
    pub waits: Option<Noted>,
    pub group: usize,
    pub is_in_section: bool,
    /// The number of tasks that have ended here and that no worker has counted yet.
    pub uncounted: u32,
}

impl SeenFiber {
    /// None if the stack has no fiber that serves a run now.
    pub fn on(stack: Stack) -> Option<SeenFiber> {
        let place = Fiber::record_address(stack);
        // SAFETY: the address is in the stack's memory, which holds a record, or zeroes. The owner
        // may write these words at the same time; each is read whole, by one load.
        unsafe {
            let worker = (&raw const (*place).worker).cast::<*const Worker>().read_volatile();
            let group = (&raw const (*place).group).cast::<usize>().read_volatile();
            let depth = (&raw const (*place).section.depth).cast::<u32>().read_volatile();
            let left = (&raw const (*place).countdown).cast::<u32>().read_volatile();
            let start = (&raw const (*place).countdown_start).cast::<u32>().read_volatile();
            let worker = worker.as_ref().filter(|worker| !worker.has_ended())?;
            Some(SeenFiber {
                address: place.addr(),
                low: stack.low(),
                worker,
                waits: Fiber::wait_on(stack).read(),
                group,
                is_in_section: depth > 0,
                uncounted: start.saturating_sub(left),
            })
        }
    }

    /// The fiber of the guest at this place, on a thread's stack that may be gone. None means no
    /// guest.
    pub fn of_guest(worker: &'static Worker) -> Option<SeenFiber> {
        let address = worker.seen_fiber();
        let word = |offset| peek::word(address.wrapping_add(offset));
        let half = |offset| word(offset).map(|word| word as u32);
        let fiber = SeenFiber {
            address,
            low: 0,
            worker,
            waits: WaitNote::peek(address.wrapping_add(offset_of!(Fiber, wait))),
            group: word(offset_of!(Fiber, group))?,
            is_in_section: half(offset_of!(Fiber, section.depth))? > 0,
            uncounted: worker.uncounted(),
        };
        let is_there = word(offset_of!(Fiber, worker))? == ptr::from_ref(worker).addr();
        (is_there && worker.seen_fiber() == address).then_some(fiber)
    }
}

impl Worker {
    /// The number of tasks that have ended on the worker's fiber and that the worker has not
    /// counted yet.
    pub fn uncounted(&self) -> u32 {
        let word = |offset| peek::word(self.seen_fiber() + offset).map(|word| word as u32);
        let start = word(offset_of!(Fiber, countdown_start));
        let left = word(offset_of!(Fiber, countdown));
        start.zip(left).map_or(0, |(start, left)| start.saturating_sub(left)).min(TICK)
    }

    /// A number that changes when a task of this worker ends, or waits.
    pub fn progress(&self) -> usize {
        // SAFETY: the owner may write the word at the same time; it is read whole, by one load.
        let fiber = unsafe { self.fiber.as_ptr().read_volatile() };
        let left = peek::word(fiber.addr() + offset_of!(Fiber, countdown)).unwrap_or(0) as u32;
        let ended = self.counters.values().tasks;
        ended.wrapping_add(fiber.addr()).wrapping_sub(left as usize)
    }

    /// The fiber that the worker's thread is on, or was on last.
    pub fn seen_fiber(&self) -> usize {
        // SAFETY: as in `progress`.
        unsafe { self.fiber.as_ptr().read_volatile() }.addr()
    }

    /// True if the tasks of the run have records (`runtime::observed`).
    pub fn is_observed(&self) -> bool {
        self.row().plain.is_some()
    }

    pub fn has_thread(&self) -> bool {
        self.owner.load(Ordering::Relaxed) != 0
    }

    pub fn is_idle(&self) -> bool {
        self.is_idle.load(Ordering::Relaxed)
    }
}

/// The fields that a debugger reads, and their offsets.
pub const FOR_DEBUGGER: [(&str, usize); 19] = [
    ("worker.owner", offset_of!(Worker, owner)),
    ("worker.row", offset_of!(Worker, row)),
    ("worker.policy", offset_of!(Worker, policy)),
    ("worker.policy_deque", offset_of!(Worker, policy_deque)),
    ("worker.index", offset_of!(Worker, index)),
    ("worker.run", offset_of!(Worker, run)),
    ("worker.run_tag", offset_of!(Worker, run_tag)),
    ("worker.fiber", offset_of!(Worker, fiber)),
    ("worker.is_idle", offset_of!(Worker, is_idle)),
    ("worker.next", offset_of!(Worker, next_record)),
    ("row.lengths", offset_of!(Row, lengths)),
    ("run.kind", offset_of!(Run, config.kind)),
    ("run.deque", offset_of!(Run, deque)),
    ("run.first_guest", offset_of!(Run, first_guest)),
    ("fiber.size", size_of::<Fiber>()),
    ("fiber.worker", offset_of!(Fiber, worker)),
    ("fiber.wait", offset_of!(Fiber, wait)),
    ("fiber.sections", offset_of!(Fiber, section.depth)),
    ("fiber.descriptor", Fiber::DESCRIPTOR),
];

impl Run {
    /// The place of the worker or guest whose record is at this address, if it belongs to this run.
    pub fn place_at(&self, address: usize) -> Option<&'static Worker> {
        self.all_places().find(|&place| ptr::from_ref(place).addr() == address)
    }

    /// The workers that have a thread.
    pub fn present_workers(&self) -> impl Iterator<Item = &'static Worker> + Clone {
        let there = |i: &usize| !self.threads.is_missing(*i);
        (0..self.workers()).filter(there).map(|i| self.worker(i))
    }

    /// How many threads occupy workers, or wait for the run's end. Not too high if the caller has
    /// locked the run while all workers are idle.
    pub fn threads_inside(&self) -> usize {
        let workers = self.workers.iter().filter(|worker| worker.has_thread()).count();
        workers + self.ends_awaited.load(Ordering::Relaxed)
    }

    pub fn deque(&self) -> Option<DequeOrLock> {
        self.deque
    }

    /// The sums of all workers' counters up to now.
    pub fn totals(&self) -> Totals {
        self.totals_at(clock::nanos())
    }

    pub(super) fn totals_at(&self, now: u64) -> Totals {
        let time = Duration::from_nanos(now - self.began);
        let mut totals = Totals { time, ..Totals::default() };
        for worker in self.present_workers() {
            totals.values.merge(worker.counters().values());
            totals.threads += 1;
        }
        self.guests.iter().for_each(|guest| totals.values.merge(guest.counters().values()));
        // Relaxed: see `count_outside`
        totals.values.tasks += self.outside.load(Ordering::Relaxed);
        totals.threads_missing = self.workers() - totals.threads;
        totals
    }
}
