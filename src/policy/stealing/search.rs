//! How a worker without tasks of its own searches, waits, and sleeps. This is one file because
//! these are steps of one loop, and no task may be missed between two of them.
//!
//! # Orderings
//!
//! | operation | ordering | partner |
//! | --- | --- | --- |
//! | the fence before the owners are asked | SeqCst | the fence in `rearm` (`queue::split`, 2) |
//! | the last look's heavy fence | asymmetric | each push's light fence (`idle::eventcount`, 1) |
//! | all others | as in the deque, the event count and `idle::quiescence` | |

use crate::idle::eventcount::{Role, Slept};
use crate::idle::{LongWait, Naps, Next, Source};
use crate::policy::stealing::demands::{Demands, Reach};
use crate::policy::stealing::state::Stealing;
use crate::policy::{Activity, Awaited, DequePolicy, Mine, Place, Step, UNAWAITED, wait_once};
use crate::queue::{Deque, PrivatePart, Raid, Steal};
use crate::stats::Phase;
use crate::sys::atomic::{MODEL, Ordering, fence, spin_loop};
use crate::sys::time::Instant;
use crate::sys::{fence, futex, time};
use crate::task::Task;
use std::mem;
use std::time::Duration;

/// The most attempts at one deque while other threads interfere. Then the search continues with the
/// next victim, because one of these threads may be preempted.
const MOST_TRIES: u32 = if MODEL { 2 } else { 64 };

/// Like `MOST_TRIES`, if searches follow each other closely, when many thieves may contend. (64
/// attempts took up to 3 µs.)
const MOST_TRIES_OF_MANY: u32 = if MODEL { 2 } else { 4 };

/// The first and the longest wait of `Stealing::hold_back`. The first wait is some twenty times the
/// cost of waking a worker.
const HOLD_BACK: Duration = Duration::from_micros(100);
const LONGEST_HOLD_BACK: Duration = Duration::from_micros(1600);

/// The longest doze of a worker whose processor a guest uses. The worker dozes again while guests
/// keep the processors busy, and between dozes looks for tasks from outside.
const LONGEST_BESIDE_GUESTS: Duration = Duration::from_micros(800);

/// The most such dozes, if tasks are visible after each.
const MOST_WAITS_BESIDE_GUESTS: u32 = 16;

/// The most workers that one worker wakes at a time. A woken worker that has found a task wakes
/// others. The owner of tasks that take long does the same.
const FANOUT: usize = 4;

/// The longest sleep after the heavy fence has failed.
const UNSURE: Duration = Duration::from_millis(1);

/// The event that ends the search of a worker without tasks.
pub(super) enum Until<'a> {
    /// The end of the run: the worker is idle.
    Ended,
    /// An event that the worker's task waits for. The worker is active, so the run does not end.
    Over(&'a dyn Awaited),
}

/// The tasks of the injector that a search takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Levels {
    /// Neither urgent nor background tasks: the caller may put the task into its deque.
    Normal,
    /// All but background tasks.
    Ready,
    /// All tasks; background tasks only if there is no other task, not even a private one.
    All,
}

impl<D: Deque> Stealing<D> {
    /// Searches once, from a random victim on. Calls `before` before each attempt to take a task
    /// from a queue that seems to have one, and `failed` after an attempt that failed.
    pub(super) fn search(
        &self,
        place: Mine<'_, impl Place>,
        reach: Reach,
        levels: Levels,
        before: impl Fn(),
        failed: impl Fn(),
    ) -> Option<Task> {
        if !self.outside_last || self.injector.has_urgent() {
            if let Some(task) = self.search_outside(place, levels, &before, &failed) {
                return Some(task);
            }
        }
        let n = self.guests.seen();
        let start = place.random_below(n);
        for victim in (start..n).chain(0..start).filter(|&k| k != place.index()) {
            let task = self.steal_from(victim, place, reach, &before, &failed);
            if task.is_some() {
                return task;
            }
        }
        let mut task = if self.outside_last {
            self.search_outside(place, levels, &before, &failed)
        } else {
            None
        };
        if task.is_none() && place.poll() {
            task = self.search_outside(place, levels, &before, &failed);
        }
        if task.is_none() && levels == Levels::All && self.injector.has_background() {
            task = self.search_background(place, reach, &before, &failed);
        }
        if task.is_none() {
            place.step(Step::FailedSearch);
        }
        task
    }

    /// Takes a task from the injector: see `search`.
    fn search_outside(
        &self,
        place: Mine<'_, impl Place>,
        levels: Levels,
        before: &impl Fn(),
        failed: &impl Fn(),
    ) -> Option<Task> {
        if !self.injector.has_ready() {
            return None;
        }
        before();
        let task = match levels {
            Levels::Normal => {
                self.injector.take_normal().and_then(|task| self.resolved(task, place))
            }
            Levels::Ready | Levels::All => self.take_injected(place),
        };
        match task {
            Some(_) => self.sleepers.took(place.index(), Source::Outside),
            None => failed(),
        }
        task
    }

    /// Takes a background task, after a search that has found nothing: see `search`. First raids
    /// the victims, if that search has not raided them.
    #[cold]
    #[inline(never)]
    fn search_background(
        &self,
        place: Mine<'_, impl Place>,
        reach: Reach,
        before: &impl Fn(),
        failed: &impl Fn(),
    ) -> Option<Task> {
        if reach != Reach::Raid {
            for victim in (0..self.guests.seen()).filter(|&k| k != place.index()) {
                let task = self.steal_from(victim, place, Reach::Raid, before, failed);
                if task.is_some() {
                    return task;
                }
            }
        }
        before();
        let task = self.injector.take_background();
        match task {
            Some(_) => self.sleepers.took(place.index(), Source::Outside),
            None => failed(),
        }
        task
    }

    /// Takes a task from worker `victim`: see `search`.
    pub(super) fn steal_from(
        &self,
        victim: usize,
        place: Mine<'_, impl Place>,
        reach: Reach,
        before: &impl Fn(),
        failed: &impl Fn(),
    ) -> Option<Task> {
        let owner = victim;
        let victim = &self.deques[owner];
        if !victim.has_public() {
            if !self.ask_or_raid(owner, reach) {
                return None;
            }
            place.step(Step::Raid(owner));
        }
        let spins = self.spins();
        // The search continues elsewhere before it changes a word that all searchers share.
        if spins && victim.is_in_use() {
            return None;
        }
        before();
        for _ in 0..if spins { MOST_TRIES_OF_MANY } else { MOST_TRIES } {
            match self.take_from(victim, place) {
                Steal::Taken(task) => {
                    let is_guest = owner >= self.guests.workers();
                    let source = if is_guest { Source::Guest } else { Source::Worker };
                    self.sleepers.took(place.index(), source);
                    place.step(Step::Steal(owner));
                    if let Some(private) = victim.private_part() {
                        if private.is_requested() {
                            self.requests.note(owner); // the theft has requested the rest
                        }
                        if victim.looks_empty() {
                            private.ask();
                            if self.eagerness.taken(place.index(), owner) {
                                self.ask(place.index());
                            }
                        }
                    }
                    return Some(task);
                }
                Steal::Empty => break,
                Steal::Retry => spin_loop(),
            }
        }
        failed();
        None
    }

    /// Asks, requests or raids, as `reach` allows, to have the private tasks of `owner` published.
    /// True if there are tasks to steal now.
    fn ask_or_raid(&self, owner: usize, reach: Reach) -> bool {
        let victim = &self.deques[owner];
        let Some(private) = victim.private_part() else { return false };
        if reach != Reach::Public {
            private.ask();
        }
        match reach {
            Reach::Public | Reach::Ask => false,
            Reach::Request => {
                if private.request() {
                    self.requests.note(owner);
                }
                false
            }
            Reach::RaidIfRequested => {
                let raid_cost = self.raid_cost.get();
                private.is_requested()
                    && self.requests.age(owner) >= raid_cost / 2
                    && self.raid_cost.measure(|| private.raid_if_requested()) == Raid::Published
            }
            Reach::Raid => !victim.looks_empty() && private.raid(),
        }
    }

    /// Searches once, for a worker that waits for `until`.
    pub(super) fn search_until(
        &self,
        until: &Until,
        place: Mine<'_, impl Place>,
        reach: Reach,
        levels: Levels,
    ) -> Option<Task> {
        match until {
            Until::Ended => {
                let leave = || {
                    self.quiescence.leave();
                    place.step(Step::Activity(Activity::Active));
                };
                self.search(place, reach, levels, leave, || self.enter(place))
            }
            Until::Over(awaited) => {
                // Leapfrogging (D. Wagner and B. Calder, "Leapfrogging: a portable technique for
                // implementing efficient futures", 1993).
                let thief = awaited.thief().filter(|&k| k != place.index());
                let thief = thief.filter(|_| !self.injector.has_urgent());
                thief
                    .and_then(|k| self.steal_from(k, place, reach, &|| (), &|| ()))
                    .or_else(|| self.search(place, reach, levels, || (), || ()))
            }
        }
    }

    fn is_over(&self, until: &Until) -> bool {
        match until {
            Until::Ended => self.quiescence.ended(),
            Until::Over(awaited) => awaited.over(),
        }
    }

    /// Waits for a task from elsewhere; None at the end of the run. The own deque is empty, and the
    /// worker is active or idle, as `activity` says.
    #[cold]
    #[inline(never)]
    pub(super) fn find(
        &self,
        place: Mine<'_, impl Place>,
        naps: &mut Naps,
        activity: Activity,
    ) -> Option<Task> {
        if activity == Activity::Active {
            // An active worker searches before it becomes idle: if it finds a task, the shared
            // count of idle workers does not change.
            if let Some(task) = self.search(place, Reach::Request, Levels::All, || (), || ()) {
                place.step(Step::Phase(Phase::Busy));
                naps.success();
                return Some(task);
            }
            self.enter(place);
        }
        let task = self.wait_for_work(&Until::Ended, place, naps)?;
        place.step(Step::Phase(Phase::Busy));
        self.found(place);
        naps.success();
        Some(task)
    }

    /// Ends the search of a worker that has found a task, or whose awaited event is over.
    pub(super) fn found(&self, place: Mine<'_, impl Place>) {
        if !self.parks() {
            return;
        }
        if !self.sleepers.stop_search() {
            return;
        }
        if self.sleepers.has_sleepers() {
            self.listen();
            if self.work_visible() {
                let woke = self.sleepers.wake_one(|worker| place.start(worker));
                place.step(Step::Wake(usize::from(woke)));
                if woke {
                    return;
                }
            }
        }
        if self.has_outside() {
            self.alarm_all(); // the thread that added the task relied on this search
        }
    }

    /// Takes a task from outside the run, if there is one that is not a background task.
    pub(super) fn injected(&self, place: Mine<'_, impl Place>) -> Option<Task> {
        while self.injector.has_ready() {
            let task = self.injector.take()?;
            if let Some(task) = self.resolved(task, place) {
                return Some(task);
            }
        }
        None
    }

    /// Makes the worker idle. Ends the run if it was the last active worker.
    pub(super) fn enter(&self, place: Mine<'_, impl Place>) {
        place.step(Step::Activity(Activity::Idle));
        if self.quiescence.enter(&self.injector) && self.parks() {
            place.step(Step::Wake(self.sleepers.wake_all()));
        }
        self.quiescence.when_all_wait(&self.injector, || place.at_rest());
        if self.quiescence.are_all_idle() {
            place.all_idle();
        }
    }

    /// Searches and waits. Returns a task, or None when `until` has come.
    pub(super) fn wait_for_work(
        &self,
        until: &Until,
        place: Mine<'_, impl Place>,
        naps: &mut Naps,
    ) -> Option<Task> {
        let idle = matches!(until, Until::Ended);
        let mut was_woken = self.sleepers.was_started(place.index());
        let mut role =
            if self.parks() { self.sleepers.start_search(place.index()) } else { Role::Searcher };
        if role == Role::Searcher && self.surplus() && idle {
            self.hold_back(until, place, false);
        }
        let last = self.sleepers.last_waits(place.index());
        naps.patience.begin(self.sleepers.wake_cost(), last);
        let mut demands = Demands::new(Instant::now());
        let mut woken = false; // true: the worker was woken, and has found nothing since
        let mut long = LongWait::begin();
        loop {
            if self.is_over(until) {
                if role == Role::Searcher && !idle {
                    self.found(place);
                }
                return None;
            }
            if role == Role::Searcher {
                let closely = self.spins() && !self.surplus();
                let reach = if closely {
                    demands.reach(Instant::now(), self.raid_cost.get())
                } else {
                    Reach::Raid
                };
                let task = self.search_until(until, place, reach, Levels::All);
                if task.is_some() {
                    if was_woken {
                        self.wake_others(place, 1);
                    } else {
                        naps.patience.found(Duration::ZERO, last); // else `woken` has noted it
                    }
                    return task;
                }
            }
            if !self.parks() {
                wait_once(&*place, naps, self.waiting_awake());
                if idle {
                    self.longest_sleep(&long, place);
                    if long.is_due() {
                        place.idles_long();
                    }
                }
                continue;
            }
            let is_surplus = self.surplus();
            let next = if role == Role::Searcher && !is_surplus {
                naps.patience.next_step()
            } else {
                Next::Park
            };
            if role == Role::Searcher && idle {
                let stands_by = next == Next::Park
                    && last.is_from(Source::Guest)
                    && !self.sleepers.has_dozing();
                if stands_by || is_surplus && self.sleepers.has_guests() {
                    // If this worker slept, the next worker to find a task would wake it.
                    self.hold_back(until, place, stands_by);
                    naps.patience.begin(self.sleepers.wake_cost(), last);
                    if stands_by {
                        last.took(Source::Worker); // there are no guests any more
                    }
                    continue;
                }
            }
            match next {
                Next::Search => _ = naps.wait(self.waiting_awake()),
                Next::Doze(time) if idle => self.doze(place, time),
                Next::Doze(_) | Next::Park => {
                    let in_vain = woken;
                    let longest =
                        if idle { self.longest_sleep(&long, place) } else { futex::LONGEST };
                    woken = self.park(until, place, role, longest);
                    if idle && !woken && long.is_due() {
                        place.idles_long();
                    }
                    was_woken |= woken;
                    role = Role::Searcher;
                    if self.surplus() && !self.is_over(until) {
                        self.hold_back(until, place, false);
                    }
                    naps.patience.woken(self.sleepers.wake_cost(), last);
                    if in_vain && woken {
                        naps.patience.lengthen();
                    }
                }
            }
        }
    }

    /// Wakes others, as many as there are tasks for, at most `FANOUT`: `idle::eventcount`, "Waking
    /// in a tree". `busy` is 1 if the caller, which has a task, still counts as a searcher; else 0.
    pub(super) fn wake_others(&self, place: Mine<'_, impl Place>, busy: usize) {
        for _ in 0..FANOUT {
            // There must be a task for each of the other searchers, and one more.
            let searching = self.sleepers.searching();
            let woke = self.sleepers.has_sleepers()
                && self.has_tasks(searching + 1 - busy)
                && self.sleepers.wake_another(searching, |worker| place.start(worker));
            if !woke {
                return;
            }
            place.step(Step::Wake(1));
        }
    }

    pub(super) fn surplus(&self) -> bool {
        self.parks() && self.sleepers.surplus()
    }

    /// Delays the search of a worker that was woken although every processor has a worker already.
    /// During the delay the worker counts as searching, so no other worker is woken: only a few of
    /// a thousand workers on two processors ever run. If tasks block, one more wakes every
    /// `HOLD_BACK`.
    ///
    /// A task that blocks leaves its processor idle, so the process's processor time shows whether
    /// tasks block. While the process keeps the processors busy, the worker waits again, each time
    /// twice as long, up to `LONGEST_HOLD_BACK` (a task may also compute until another task has
    /// run). A worker that waits for an event (`Until::Over`) waits here only once, because the
    /// event does not wake it from this wait.
    ///
    /// While there are guests, and for one wait after the last has gone, the delay ends only if a
    /// task is visible that might otherwise wait: a processor is free, tasks block, the task is
    /// from outside, or tasks were visible after `MOST_WAITS_BESIDE_GUESTS` waits. Until then the
    /// worker counts as dozing. (Rejected: it searches between the waits. Then another searcher
    /// found one thread too many and parked, and two workers changed roles in each loop from main:
    /// loops of 300 µs took 233 µs instead of 160.)
    ///
    /// If `stands_by`, the worker would otherwise park, and its last task was a guest's. It waits
    /// here as long as there are guests or workers are woken, so the workers that the next guests
    /// wake need not wake another one when they find a task. (Without it, loops of 300 µs from main
    /// after pauses of 500 µs took 206 µs instead of 181.) Rejected: to wait also for guests that
    /// wake nobody; more often, sums of 20 µs that main does alone took 45 µs instead of 26.
    fn hold_back(&self, until: &Until, place: Mine<'_, impl Place>, stands_by: bool) {
        let idle = matches!(until, Until::Ended);
        place.step(Step::Phase(Phase::Parked));
        self.sleepers.while_dozing(|| {
            let (mut time, mut in_vain) = (HOLD_BACK, 0);
            let mut had_guests = stands_by || self.sleepers.has_guests();
            let mut beside_guests = stands_by;
            // (Several searchers may have found the same surplus.)
            while beside_guests || !self.sleepers.has_free_processor() {
                let (visits, woken_at) = (self.sleepers.visits(), self.sleepers.woken_at());
                let begun = (Instant::now(), time::processor_time());
                self.sleepers.await_call(time);
                place.step(Step::Nap);
                let used = time::processor_time().saturating_sub(begun.1);
                let is_busy = used * 4 > begun.0.elapsed() * self.processors as u32 * 3;
                if !idle || self.is_over(until) {
                    return;
                }
                time *= 2;
                let has_guests = self.sleepers.has_guests() || self.sleepers.woken_at() != woken_at;
                beside_guests = mem::replace(&mut had_guests, has_guests) || has_guests;
                if beside_guests {
                    time = time.min(LONGEST_BESIDE_GUESTS);
                    in_vain = if self.work_visible() { in_vain + 1 } else { 0 };
                    // (The kernel updates the time of a running thread only now and then.)
                    let goes_on = is_busy || self.sleepers.visits() != visits;
                    let is_needed = in_vain == MOST_WAITS_BESIDE_GUESTS
                        || !goes_on
                        || self.has_injected()
                        || self.sleepers.has_free_processor();
                    if in_vain > 0 && is_needed {
                        return;
                    }
                } else if !is_busy || time > LONGEST_HOLD_BACK {
                    return;
                }
            }
        });
        place.step(Step::Phase(Phase::Searching));
    }

    fn doze(&self, place: Mine<'_, impl Place>, time: Duration) {
        place.step(Step::Phase(Phase::Parked));
        self.sleepers.doze(time);
        place.step(Step::Phase(Phase::Searching));
        place.step(Step::Nap);
    }

    /// Sleeps, unless there is work or `until` has come; the worker searches afterwards. True if
    /// the worker was woken, or had a reason not to sleep.
    pub(super) fn park(
        &self,
        until: &Until,
        place: Mine<'_, impl Place>,
        role: Role,
        longest: Duration,
    ) -> bool {
        let me = place.index();
        let mut limit = match until {
            Until::Over(awaited) if !awaited.enlist() => UNAWAITED,
            _ => longest,
        };
        let is_surplus = role == Role::Searcher && self.surplus();
        let is_last = self.sleepers.announce(me, role);
        if is_surplus && self.sleepers.has_free_processor() {
            // Another searcher has found the same surplus, and sleeps already.
            self.sleepers.cancel(me);
            return true;
        }
        // If `announce` returns false, another worker searches, and will look again.
        if is_last {
            if !self.listen() {
                limit = limit.min(UNSURE);
            }
            if self.work_visible() {
                self.sleepers.cancel(me);
                if MODEL {
                    spin_loop(); // the holder of the deque's lock must run
                }
                return true;
            }
        }
        if self.is_over(until) {
            self.sleepers.cancel(me);
            return true;
        }
        let limit = place.until_deadline(limit);
        let slept = place.sleeping(|| self.sleepers.commit(me, limit));
        if slept == Slept::HasEvents {
            place.serve_events();
        }
        place.serve_deadlines();
        slept != Slept::TimedOut
    }

    /// How long the idle worker at `place` may sleep. If it has been idle for long enough, this
    /// first returns the memory of its deque, of the injector and of the place to the system.
    fn longest_sleep(&self, idle: &LongWait, place: Mine<'_, impl Place>) -> Duration {
        let mut own = self.own(place);
        let keeps = own.keeps_memory()
            || self.injector.keeps_memory()
            || place.keeps_memory()
            || self.guests.keeping_memory().next().is_some();
        idle.longest_sleep(keeps, self.warm).unwrap_or_else(|| {
            // This may take milliseconds: nobody must rely on this worker's search.
            self.sleepers.while_dozing(|| {
                own.give_back();
                self.injector.give_back();
                place.give_back();
                self.guests_give_back(place);
            });
            futex::LONGEST
        })
    }

    /// Called by a worker that has announced a sleep, or has stopped searching. After this call,
    /// for each spawn, either the spawner sees this, or the worker's next reads see the spawned
    /// task. False if this is not certain, because the heavy fence has failed.
    fn listen(&self) -> bool {
        fence(Ordering::SeqCst); // pairs with the fence in rearm: `queue::split`, 2
        self.ask_all();
        fence::heavy()
    }
}
