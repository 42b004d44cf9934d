//! The state of a run of kind `steal`, and the steps that the rest of the policy uses.

use crate::idle::eventcount::EventCount;
use crate::idle::quiescence::Quiescence;
use crate::policy::Mine;
use crate::policy::guests::Guests;
use crate::policy::stealing::amounts::Amounts;
use crate::policy::stealing::demands::{RaidCost, Requests};
use crate::policy::stealing::eager::Eagerness;
use crate::policy::{DequePolicy, Place, Step};
use crate::queue::injector::Injector;
use crate::queue::{Deque, Full, Owner, PrivatePart};
use crate::settings::Idle;
use crate::sys::atomic::{AtomicPtr, Pad};
use crate::task::Task;
use std::ptr;
use std::time::Duration;

pub struct Stealing<D: Deque> {
    pub(super) deques: Box<[Pad<D>]>,
    pub(super) injector: Injector,
    pub(super) quiescence: Quiescence,
    pub(super) sleepers: EventCount,
    pub(super) guests: Guests,
    pub(super) tokens: Box<[Token<D>]>,
    pub(super) idle: Idle,
    pub(super) amounts: Amounts,
    pub(super) eagerness: Eagerness,
    pub(super) requests: Requests,
    pub(super) raid_cost: RaidCost,
    /// A task that yields stays in the worker's own deque, if there is room.
    pub(super) lines_up: bool,
    /// A search looks at the injector after the victims.
    pub(super) outside_last: bool,
    pub(super) processors: usize,
    pub(super) warm: Duration,
    /// The index of the first relief's place.
    pub(super) reliefs: usize,
}

/// The place to which a guest's token refers.
pub struct Token<D: Deque> {
    /// Set once, before the run starts.
    pub(super) policy: AtomicPtr<Stealing<D>>,
    pub(super) index: usize,
}

impl<D: Deque> Token<D> {
    pub(super) fn new(index: usize) -> Self {
        Token { policy: AtomicPtr::new(ptr::null_mut()), index }
    }
}

impl<D: Deque> DequePolicy for Stealing<D> {
    type Deque = D;

    #[inline(always)]
    fn spawn_quickly(&self, deque: &D, place: Mine<'_, impl Place>, task: Task) -> bool {
        // SAFETY: as in `own`.
        let put = unsafe { Owner::new(deque) }.put(task);
        if put && deque.private_part().is_none() {
            self.published(place);
        }
        put
    }

    fn has_injected(&self) -> bool {
        self.injector.has_ready()
    }
}

impl<D: Deque> Stealing<D> {
    #[inline]
    pub(super) fn own(&self, place: Mine<'_, impl Place>) -> Owner<'_, D> {
        // SAFETY: a place has one occupant at a time, the holder of `place`, which sees the writes
        // of the previous one. No caller keeps this end while it calls a function that takes one.
        unsafe { Owner::new(self.deque_at(place)) }
    }

    #[inline]
    pub(super) fn deque_at(&self, place: Mine<'_, impl Place>) -> &D {
        debug_assert!(place.index() < self.deques.len());
        // SAFETY: `place` belongs to this run, as `Mine::new` demands, and each place has a deque.
        unsafe { self.deques.get_unchecked(place.index()) }
    }

    /// Completes a spawn whose `put` returned false.
    #[cold]
    #[inline(never)]
    pub fn spawn_slowly(&self, place: Mine<'_, impl Place>, task: Task) -> Result<(), Full> {
        let mut own = self.own(place);
        own.put_slowly(task).or_else(|Full| self.spill(&mut own, task))?;
        self.added(&mut own, place);
        Ok(())
    }

    /// Called when a task was made visible. Wakes a sleeper if necessary.
    #[inline]
    pub(super) fn published(&self, place: Mine<'_, impl Place>) {
        if self.parks() && self.sleepers.published(|worker| place.start(worker)) {
            place.step(Step::Wake(1));
        }
    }

    /// See `Policy::restored`.
    pub(super) fn look_for_sleepers(&self, place: Mine<'_, impl Place>) {
        if !self.deques[place.index()].looks_empty() {
            self.published(place); // the task was restored before: `queue::split`, 5
        }
    }

    /// Like `spawn`, for a caller that has the place's deque at hand.
    #[inline(always)]
    pub fn spawn_to(&self, deque: &D, place: Mine<'_, impl Place>, task: Task) -> Result<(), Full> {
        if self.spawn_quickly(deque, place, task) {
            return Ok(());
        }
        self.spawn_slowly(place, task)
    }

    /// Asks a worker to publish tasks at its next spawn, if its spawns may be silent.
    pub(super) fn ask(&self, worker: usize) {
        if let Some(private) = self.deques[worker].private_part() {
            private.ask();
        }
    }

    pub(super) fn ask_all(&self) {
        (0..self.guests.seen()).for_each(|place| self.ask(place));
    }

    pub(super) fn parks(&self) -> bool {
        self.idle == Idle::Park
    }

    /// The number of workers that wait for tasks and are awake. A hint.
    pub(super) fn waiting_awake(&self) -> usize {
        match self.idle {
            Idle::Park => self.sleepers.searching_awake(),
            Idle::Spin => self.guests.workers() - 1,
            Idle::Nap | Idle::Backoff => 0,
        }
    }

    /// True if the searches of a worker follow each other closely.
    pub(super) fn spins(&self) -> bool {
        matches!(self.idle, Idle::Park | Idle::Spin)
    }

    /// The deques in which tasks may be.
    fn seen_deques(&self) -> impl Iterator<Item = &D> {
        self.deques[..self.guests.seen()].iter().map(|deque| &**deque)
    }

    /// True if at least `n` tasks are visible in the queues. A hint.
    pub(super) fn has_tasks(&self, n: usize) -> bool {
        let mut seen = usize::from(!self.injector.looks_empty());
        seen >= n
            || self.seen_deques().any(|deque| {
                seen += deque.len_hint();
                seen >= n
            })
    }

    /// True if a task is visible in a queue. A hint.
    pub(super) fn work_visible(&self) -> bool {
        !self.injector.looks_empty() || self.seen_deques().any(|deque| !deque.looks_empty())
    }
}
