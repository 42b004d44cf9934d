//! The state of a run under one lock; how its workers sleep and are woken. See the essay of
//! [`super`].

use crate::idle::poller::{self, Poller};
use crate::idle::{LongWait, Naps};
use crate::lock::monitor::Monitor;
use crate::policy::guests::Guests;
use crate::policy::shared::queue::{Next, Order, SharedQueue};
use crate::policy::{Awaited, Place, UNAWAITED, wait_once};
use crate::queue::length::{Length, QUEUES_FOR_ALL};
use crate::queue::run_gate::{Rests, RunGate};
use crate::settings::Idle;
use crate::sys::atomic::{AtomicUsize, Ordering, Pad, UnsafeCell};
use crate::sys::futex;
use crate::sys::futex::Futex;
use std::marker::PhantomData;
use std::mem::offset_of;
use std::time::Duration;

pub struct Shared<L: Monitor, O: Order> {
    pub(super) monitor: L,
    pub(super) state: UnsafeCell<State>,
    /// For each worker, the word on which it sleeps in the middle of a task: AWAKE or WAITING.
    pub(super) joiner_words: Box<[Pad<Futex>]>,
    pub(super) guests: Guests,
    /// The number of queued tasks from outside. Written under the lock, read as a hint (Relaxed).
    pub(super) outside: Pad<AtomicUsize>,
    /// The number of queued urgent tasks, a hint like `outside`: see `queue::first`.
    pub(super) urgent: AtomicUsize,
    pub(super) rests: Rests,
    pub(super) limit: usize,
    pub(super) processors: usize,
    pub(super) warm: Duration,
    pub(super) idle: Idle,
    /// A sleeping worker may be the poller.
    pub(super) poller: Option<&'static Poller>,
    /// The index of the first relief's place.
    pub(super) reliefs: usize,
    pub(super) order: PhantomData<fn() -> O>,
}

impl<L: Monitor, O: Order> Shared<L, O> {
    /// The place of the tasks, for a debugger. (The state begins where its cell does.)
    pub(super) const LENGTHS_FOR_ALL: [Length; QUEUES_FOR_ALL] =
        SharedQueue::lengths(offset_of!(Self, state) + offset_of!(State, queue));
}

pub(super) struct State {
    pub(super) queue: SharedQueue,
    pub(super) active: usize,
    pub(super) held: usize,
    pub(super) asleep: usize,
    pub(super) tickets: usize,
    pub(super) absent: usize,
    pub(super) arriving: usize,
    pub(super) joiners: Vec<usize>,
    /// How many guests work (`policy::guests`). They also count in `active`.
    pub(super) guests: usize,
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
    /// A worker that has had no thread yet.
    Absent(usize),
    Joiner(usize),
}

// SAFETY: the state is used under the monitor's lock.
unsafe impl<L: Monitor, O: Order> Sync for Shared<L, O> {}

impl<L: Monitor, O: Order> Shared<L, O> {
    /// # Safety
    /// The caller holds the lock. No reference outlives the unlocking or a call of `wait`.
    #[allow(clippy::mut_from_ref, reason = "the lock makes it exclusive")]
    pub(super) unsafe fn state(&self) -> &mut State {
        // SAFETY: the caller holds the lock, and the reference does not outlive it.
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

    /// Updates `outside`. The caller holds the lock.
    pub(super) fn count_outside(&self, state: &State) {
        self.outside.store(state.queue.outside(), Ordering::Relaxed);
    }

    /// Updates `outside` if `next` was just taken from outside. The caller holds the lock.
    #[inline(always)]
    pub(super) fn counted(&self, next: Option<Next>, state: &State) -> Option<Next> {
        if let Some(Next::Outside(_)) = next {
            self.count_outside(state);
        }
        next
    }

    /// Decides which sleeper is woken for a task that is queued now. The caller holds the lock; it
    /// calls `wake` after unlocking.
    #[inline(always)]
    pub(super) fn choose(&self, state: &mut State) -> Wake {
        if state.asleep + state.absent + state.joiners.len() == 0 {
            return Wake::Nobody; // the usual case with short tasks
        }
        self.choose_sleeper(state)
    }

    #[inline(never)]
    fn choose_sleeper(&self, state: &mut State) -> Wake {
        let workers = self.guests.workers() + state.guests;
        let awake = workers - state.asleep - state.absent - state.joiners.len();
        if state.tickets + state.arriving > 0 && awake >= self.processors {
            return Wake::Nobody; // a worker is on its way: "Wake-ups" in the essay
        }
        if state.asleep > 0 {
            state.asleep -= 1;
            state.tickets += 1;
            return Wake::Idle;
        }
        if state.absent > 0 {
            let worker = self.guests.workers() - state.absent;
            state.absent -= 1;
            state.arriving += 1;
            return Wake::Absent(worker);
        }
        match state.joiners.pop() {
            None => Wake::Nobody,
            Some(joiner) => {
                self.joiner_words[joiner].store(AWAKE, Ordering::Relaxed);
                Wake::Joiner(joiner)
            }
        }
    }

    /// Decides which sleeper is woken by a worker that leaves the queue, perhaps with tasks in it.
    /// A worker that has not slept wakes nobody.
    pub(super) fn choose_next(&self, state: &mut State, slept: bool) -> Wake {
        if slept && !state.queue.is_empty() { self.choose(state) } else { Wake::Nobody }
    }

    /// Carries out what `choose` has decided. Returns true if it woke a worker, or brought a thread
    /// to one. `place` is that of any worker of the run.
    #[inline(always)]
    pub(super) fn wake(&self, wake: Wake, place: &impl Place) -> bool {
        !matches!(wake, Wake::Nobody) && self.wake_somebody(wake, place)
    }

    #[inline(never)]
    fn wake_somebody(&self, mut wake: Wake, place: &impl Place) -> bool {
        loop {
            match wake {
                Wake::Nobody => return false,
                Wake::Idle => self.monitor.notify_one(),
                Wake::Joiner(joiner) => poller::wake(self.poller, &self.joiner_words[joiner]),
                Wake::Absent(worker) if place.start(worker) => {}
                Wake::Absent(_) => {
                    wake = self.choose_another();
                    continue;
                }
            }
            return true;
        }
    }

    /// Chooses another sleeper, because no thread can be had for the worker that was chosen.
    #[cold]
    #[inline(never)]
    fn choose_another(&self) -> Wake {
        self.with(|state| {
            state.arriving -= 1;
            if state.queue.is_empty() { Wake::Nobody } else { self.choose(state) }
        })
    }

    /// If no task is left, announces the rest or ends the run. The caller has locked; this unlocks.
    pub(super) fn end_if_at_rest_and_unlock(&self) {
        // SAFETY: the caller has locked.
        let state = unsafe { self.state() };
        if state.active == 0 && state.queue.is_empty() && state.gate.rest(&self.rests) {
            self.wake_all_and_unlock();
        } else {
            // SAFETY: the caller has locked.
            unsafe { self.monitor.unlock() };
        }
    }

    /// The run has ended: wakes all idle workers, unlocks, and returns how many were woken.
    pub(super) fn wake_all_and_unlock(&self) -> usize {
        // SAFETY: the caller has locked.
        let state = unsafe { self.state() };
        let sleepers = std::mem::take(&mut state.asleep);
        state.tickets += sleepers;
        let waiting = state.tickets; // at most: a worker with an older ticket may not have left yet
        // Idle workers that sleep apart; no task of the run is left, so no other joiner sleeps.
        let apart = state.joiners.len();
        for joiner in state.joiners.drain(..) {
            self.joiner_words[joiner].store(AWAKE, Ordering::Relaxed);
            poller::wake(self.poller, &self.joiner_words[joiner]);
        }
        // SAFETY: the caller has locked.
        unsafe { self.monitor.unlock() };
        self.monitor.notify_all(waiting);
        sleepers + apart
    }

    // The callers of the functions up to `wait_until` hold the lock, before and after the call.

    /// Waits for a change. The caller is idle.
    pub(super) fn wait(&self, place: &impl Place, naps: &mut Naps, idle: &mut LongWait) {
        if self.idle == Idle::Park && self.poller.is_some_and(Poller::is_used) {
            let Some(longest) = self.longest_sleep(place, idle) else {
                return self.give_back(place);
            };
            let longest = place.until_deadline(longest);
            self.sleep_apart(place, longest);
            self.look_at_time(place, idle);
        } else if self.idle == Idle::Park {
            // SAFETY: the caller has locked; each reference ends before the wait.
            unsafe { self.state().asleep += 1 };
            // A ticket that exists already is left to a worker that has slept for longer: that
            // worker is on its way, and this one has just seen that the queue is empty.
            place.sleeping(|| {
                loop {
                    let longest = self.longest_sleep(place, idle);
                    if longest.is_none() {
                        self.give_back(place);
                        // Nobody was notified of a ticket that was added in the meantime.
                        // SAFETY: as above.
                        if unsafe { self.state().tickets } > 0 {
                            break;
                        }
                    }
                    let longest = place.until_deadline(longest.unwrap_or(futex::LONGEST));
                    // SAFETY: as above.
                    unsafe { self.monitor.wait(longest) };
                    // SAFETY: as above.
                    if unsafe { self.state().tickets } > 0 {
                        break;
                    }
                    self.look_at_time(place, idle);
                    // As above: nobody was notified of a new ticket.
                    // SAFETY: as above.
                    if unsafe { self.state().tickets } > 0 {
                        break;
                    }
                }
            });
            // SAFETY: as above.
            unsafe { self.state().tickets -= 1 };
        } else {
            self.nap(place, naps);
            if self.longest_sleep(place, idle).is_none() {
                self.give_back(place);
            }
            self.look_at_time(place, idle);
        }
    }

    /// How long the idle worker at `place` may sleep; None: it first gives memory back.
    fn longest_sleep(&self, place: &impl Place, idle: &LongWait) -> Option<Duration> {
        // SAFETY: the caller has locked.
        let keeps = unsafe { self.state() }.queue.keeps_memory() || place.keeps_memory();
        idle.longest_sleep(keeps, self.warm)
    }

    /// Returns the memory of the queue and of the place to the system.
    fn give_back(&self, place: &impl Place) {
        // SAFETY: the caller has locked.
        let mut long = unsafe { self.state() }.queue.take_long();
        // SAFETY: as above.
        unsafe { self.monitor.unlock() };
        long.discard();
        place.give_back();
        self.monitor.lock();
        // SAFETY: locked just now.
        unsafe { self.state() }.queue.keep(long);
    }

    /// The worker does what is due, and tells the place if it has been idle for long while tasks
    /// wait.
    fn look_at_time(&self, place: &impl Place, idle: &mut LongWait) {
        // SAFETY: the caller has locked.
        let some_wait = unsafe { self.state().held } > 0;
        // SAFETY: as above.
        unsafe { self.monitor.unlock() };
        place.serve_deadlines();
        if some_wait && idle.is_due() {
            place.idles_long();
        }
        self.monitor.lock();
    }

    /// Queues tasks whose descriptors are ready. The queue is unlocked meanwhile.
    pub(super) fn poll(&self, place: &impl Place) {
        // SAFETY: the caller has locked.
        unsafe { self.monitor.unlock() };
        place.poll();
        self.monitor.lock();
    }

    /// True if tasks wait for descriptors: see `poll`.
    pub(super) fn polls(&self) -> bool {
        self.poller.is_some_and(Poller::is_used)
    }

    /// Waits for a while.
    pub(super) fn nap(&self, place: &impl Place, naps: &mut Naps) {
        // SAFETY: the caller has locked.
        unsafe { self.monitor.unlock() };
        wait_once(place, naps, 1);
        self.monitor.lock();
    }

    /// Sleeps until `awaited` is over, or there is a task.
    pub(super) fn wait_until(&self, awaited: &dyn Awaited, place: &impl Place) {
        let limit = if awaited.enlist() { futex::LONGEST } else { UNAWAITED };
        self.sleep_apart(place, limit);
    }

    /// Sleeps on the worker's own word, perhaps as the poller, until woken or for `limit`.
    fn sleep_apart(&self, place: &impl Place, limit: Duration) {
        let me = place.index();
        // SAFETY: the caller has locked.
        unsafe { self.state() }.joiners.push(me); // within the capacity reserved by `new`
        let word = &*self.joiner_words[me];
        word.store(WAITING, Ordering::Relaxed);
        // SAFETY: the caller has locked.
        unsafe { self.monitor.unlock() };
        let has_events = place.sleeping(|| poller::sleep(self.poller, word, WAITING, limit));
        if has_events {
            place.serve_events();
        }
        place.serve_deadlines();
        self.monitor.lock();
        // A joiner woken for a task is no longer in the list; a roused one still is.
        // SAFETY: locked just now.
        unsafe { self.state() }.joiners.retain(|&joiner| joiner != me);
    }

    /// Wakes `worker`, if it sleeps in `wait_until`.
    pub(super) fn wake_joiner(&self, worker: usize) {
        self.with(|_| self.joiner_words[worker].store(AWAKE, Ordering::Relaxed));
        poller::wake(self.poller, &self.joiner_words[worker]);
    }
}
