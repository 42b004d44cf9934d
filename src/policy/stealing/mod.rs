//! Kind `steal`: work stealing, the course's section 4 (after R. Blumofe and C. Leiserson,
//! "Scheduling multithreaded computations by work stealing", 1999). Each worker has a deque. The
//! owner pushes and pops at the bottom; a worker without tasks takes another's oldest task. This is
//! one file because it is one `impl` of the trait `Policy`.
//!
//! A worker looks for tasks in this order: its own deque, the injector, then a random victim k and
//! k+1, k+2 … modulo the number of places (those of guests included). If all are empty the worker
//! is idle, and waits as `SCHED_IDLE` says. `idle::quiescence` has the proof that the run ends, and
//! not too early; `idle::eventcount` has the proof that no worker sleeps while a task is queued.
//!
//! `SCHED_JOIN=help` follows D. Lea's ForkJoinPool ("A Java fork/join framework", 2000, and its
//! successors): the injector comes after the victims. A join takes its task back if nobody has
//! begun it. Otherwise the join runs the worker's own tasks, youngest first, then the tasks of
//! other workers, until the awaited task is over. Unlike ForkJoinPool, the join turns first to the
//! worker that runs the awaited task, and looks at the injector once in `TICK` tasks. By default
//! the injector comes before the victims, as in Go and Tokio: its tasks have waited longest.
//!
//! An urgent task is in the injector, before all others, and its adder has each worker look there
//! ([`outside`]). A background task is in the injector, in a line of its own; a search takes one
//! only if it has found nothing, has polled, and has raided the other workers' private tasks
//! (`search`). So neither is ever in a deque: a deque knows no levels.

mod amounts;
mod batches;
mod demands;
mod eager;
mod guests;
mod outside;
mod search;
mod state;

pub use self::state::Stealing;

use self::amounts::Amounts;
use self::demands::{Demands, RaidCost, Reach, Requests};
use self::eager::Eagerness;
use self::search::{Levels, Until};
use self::state::Token;
use crate::idle::eventcount::{EventCount, Role};
use crate::idle::quiescence::{LockedRun, Quiescence, Waiting};
use crate::idle::{self, Naps, Patience};
use crate::policy::guests::{Guests, Purpose};
use crate::policy::reliefs::{MOST_LOOKS, Suspended};
use crate::policy::{
    Activity, Awaited, DequePolicy, LookFirst, LoopStack, Place, Plan, Policy, Step, TICK,
};
use crate::policy::{Mine, OnStack};
use crate::queue::background::Line;
use crate::queue::injector::{Injector, Limit, Refused};
use crate::queue::length::Lengths;
use crate::queue::run_gate::{RestAwaited, Rests};
use crate::queue::{Deque, End, Full, Portion, PrivatePart};
use crate::settings::{Accepted, Join, Overflow};
use crate::stats::Phase;
use crate::sys::atomic::{AtomicUsize, MODEL, Pad};
use crate::sys::memory;
use crate::sys::memory::NoMemory;
use crate::sys::time::Instant;
use crate::task::Task;
use std::any::Any;
use std::mem::offset_of;
use std::ptr;
use std::time::Duration;

/// The approximate time to suspend a task and resume it on another worker.
const SUSPENSION: Duration = Duration::from_micros(2);

/// Tasks that take longer than this many wake-ups are worth several wake-ups.
const WAKES_WORTH: u32 = 2;

/// The result of `Stealing::run_part`.
enum Found {
    /// A part, which has run.
    Part,
    /// A task that is in the own deque now.
    Other,
    Nothing,
}

impl<D: Deque> Stealing<D> {
    /// Takes a task for a worker that waits for `awaited`. Runs it if it is a part of `awaited`.
    /// Puts any other task into the own deque, since it must not run on top of the caller's task.
    fn run_part(
        &self,
        stack: OnStack<'_, impl LoopStack>,
        awaited: &dyn Awaited,
        is_part: &dyn Fn(Task) -> bool,
        reach: Reach,
    ) -> Found {
        let place = stack.place();
        let found = self.search_until(&Until::Over(awaited), place, reach, Levels::Normal);
        let Some(task) = found else { return Found::Nothing };
        let put = || self.spawn(place, task).is_ok() || self.put_back(&*place, task).is_ok();
        if !is_part(task) && put() {
            return Found::Other;
        }
        // (A task for which no queue has room also runs here.)
        place.step(Step::Phase(Phase::Busy));
        stack.run_on_top(task);
        let place = stack.place(); // perhaps another worker now
        place.step(Step::Phase(Phase::Searching));
        if self.deques[place.index()].looks_empty() { Found::Part } else { Found::Other }
    }

    /// The rest of `next_in_line`. If `first` is `AtHome`, `pop_quickly` has found no task.
    #[cold]
    #[inline(never)]
    fn next_in_line_slowly(&self, place: Mine<'_, impl Place>, first: LookFirst) -> Option<Task> {
        if place.index() >= self.reliefs {
            // (`pop_quickly` has claimed the youngest task, and `pop_slowly` completes it.)
            let own = match first {
                LookFirst::AtHome => self.own(place).pop_slowly(),
                LookFirst::Outside => self.own(place).pop(),
            };
            return own.or_else(|| self.take_outside_for_relief(place));
        }
        let overdue = match first {
            LookFirst::AtHome => None,
            LookFirst::Outside => {
                place.looked_outside();
                self.take_overdue(place, D::OWNER_POPS)
            }
        };
        // (No other pop has come between `pop_quickly` and this one.)
        let own = || match first {
            LookFirst::AtHome => {
                self.own(place).pop_slowly().map(|task| self.after_turn(place, task))
            }
            LookFirst::Outside => self.own(place).pop(),
        };
        overdue
            .or_else(own)
            .or_else(|| {
                place.looked_outside();
                if D::OWNER_POPS == End::Oldest && self.has_injected() {
                    return self.take_injected(place);
                }
                self.injected(place)
            })
            // Now and then the search raids: the task that this worker leaves may yield until
            // another task has run, whose owner may compute and keep it private.
            .or_else(|| {
                let reach = match first {
                    LookFirst::AtHome => Reach::Ask,
                    LookFirst::Outside => Reach::Raid,
                };
                self.search(place, reach, Levels::Ready, || (), || ())
            })
    }
}

/// Parts of the policy, for the models.
impl<D: Deque> Stealing<D> {
    pub fn deque(&self, index: usize) -> &D {
        &self.deques[index]
    }

    pub fn sleepers(&self) -> &EventCount {
        &self.sleepers
    }

    pub fn sleep(&self, place: Mine<'_, impl Place>, role: Role) -> bool {
        self.park(&Until::Ended, place, role, crate::sys::futex::LONGEST)
    }

    /// Takes tasks from `victim` to `place`. The worker is active.
    pub fn rob(&self, victim: usize, place: Mine<'_, impl Place>) -> Option<Task> {
        self.steal_from(victim, place, Reach::Raid, &|| (), &|| ())
    }

    pub fn wake_for_more(&self, place: Mine<'_, impl Place>) {
        self.found(place);
    }

    /// Takes the oldest task from outside. The worker is active.
    pub fn take_outside(&self, place: Mine<'_, impl Place>) -> Option<Task> {
        let token = self.injector.take()?;
        self.resolved(token, place)
    }
}

impl<D: Deque> Policy for Stealing<D> {
    const ACCEPTED: Accepted = amounts::accepted::<D>();
    const LENGTHS: Lengths =
        Lengths { each: D::LENGTH, for_all: Injector::lengths(offset_of!(Self, injector)) };

    fn new(plan: &Plan) -> Result<Self, NoMemory> {
        let (amounts, limit) = Amounts::of::<D>(plan)?;
        let deques = memory::slice(plan.places(), |_| Ok(Pad(D::new(limit)?)))?;
        let injector = Injector::new(plan.limit(), plan.ends);
        injector.reserve(plan.guests as isize)?; // for their tokens
        let keep_private = deques.iter().any(|deque| deque.private_part().is_some());
        let owners = if keep_private { plan.places() } else { 0 };
        Ok(Stealing {
            deques,
            injector,
            quiescence: Quiescence::new(plan.places())?,
            sleepers: EventCount::new(plan.workers, plan.processors, plan.poller)?,
            guests: Guests::new(plan.workers, plan.guests, plan.reliefs)?,
            tokens: memory::slice(plan.guests, |i| Ok(Token::new(plan.workers + i)))?,
            idle: plan.idle,
            amounts,
            eagerness: Eagerness::new(owners)?,
            requests: Requests::new(owners)?,
            raid_cost: RaidCost::new(),
            // If spawns may be refused, yielding tasks take no room: see `runtime::yielding`.
            lines_up: Self::LINES_UP && plan.overflow != Overflow::Refuse,
            outside_last: plan.join == Join::Help,
            processors: plan.processors,
            warm: plan.warm,
            reliefs: plan.workers + plan.guests,
        })
    }

    fn starts_asleep(&self) -> bool {
        if self.parks() {
            self.sleepers.all_absent();
            self.ask_all();
        }
        self.parks()
    }

    unsafe fn initialize_in_place(&self) {
        for deque in &self.deques {
            // SAFETY: the deque has its final address and is not used yet.
            unsafe { deque.initialize_in_place() };
        }
        self.set_tokens();
    }

    #[inline]
    fn spawn(&self, place: Mine<'_, impl Place>, task: Task) -> Result<(), Full> {
        self.spawn_to(self.deque_at(place), place, task)
    }

    fn spawn_last(&self, place: Mine<'_, impl Place>, task: Task) -> Result<(), Full> {
        let mut own = self.own(place);
        if own.private_part().is_none() {
            return self.spawn(place, task);
        }
        if !own.put(task) {
            own.put_slowly(task).or_else(|Full| self.spill(&mut own, task))?;
            if self.sleepers.rely_on_spawns() {
                self.added(&mut own, place);
            }
        }
        Ok(())
    }

    unsafe fn finish_spawn(&self, place: Mine<'_, impl Place>, task: Task) -> Result<(), Full> {
        self.spawn_slowly(place, task)
    }

    fn queued(&self, index: usize) -> Option<usize> {
        Some(self.deques[index].len_hint())
    }

    fn deque_of(&self, index: usize) -> Option<&dyn Any> {
        let deque: &D = &self.deques[index];
        Some(deque)
    }

    fn inject(&self, place: &impl Place, task: Task) -> Result<(), Refused> {
        let waiting = self.injector.push(task)?;
        self.added_outside(place, waiting);
        Ok(())
    }

    fn outside(&self, index: usize) -> Option<&AtomicUsize> {
        (index < self.guests.workers()).then(|| self.injector.outside())
    }

    fn is_turn_due(&self, place: Mine<'_, impl Place>) -> bool {
        self.is_due(place)
    }

    fn waiting(&self, index: usize) -> Option<&Waiting> {
        Some(self.quiescence.waiting(index))
    }

    fn hold_outside(&self) -> bool {
        self.quiescence.hold_outside(&self.injector)
    }

    fn let_go_outside(&self) {
        if self.quiescence.let_go_outside(&self.injector) && self.parks() {
            self.sleepers.wake_all();
        }
    }

    fn take_back(&self, place: Mine<'_, impl Place>, task: Task) -> bool {
        let taken = self.own(place).take_back(task);
        if !taken {
            self.restored(place);
        }
        taken
    }

    fn restored(&self, place: Mine<'_, impl Place>) {
        self.look_for_sleepers(place);
    }

    fn publish_tasks(&self, place: Mine<'_, impl Place>, takes: Option<Duration>) {
        let mut own = self.own(place);
        let Some(mut private) = own.private_part() else { return };
        let Some(takes) = takes else {
            if self.waiting_awake() > 1 {
                private.publish(Portion::All);
            }
            return;
        };
        private.publish(Portion::All);
        if private.is_asked() {
            self.added(&mut own, place);
        }
        if self.parks() && takes > self.sleepers.wake_cost() * WAKES_WORTH {
            self.wake_others(place, 0);
        }
    }

    fn suspended<P: Place>(&self, _place: &P) -> Suspended {
        if !self.parks() || !self.has_outside() {
            return Suspended::Absent;
        }
        // SAFETY: the injector is locked during the call.
        let suits = |task| unsafe { P::suits_relief(task) };
        let (found, more) = self.injector.has(suits, MOST_LOOKS);
        Suspended::new(found, more, self.has_idle_worker())
    }

    fn has_idle_worker(&self) -> bool {
        !self.parks() || self.sleepers.has_sleepers() || self.sleepers.searching() > 0
    }

    fn take_for_relief<P: Place>(&self, place: Mine<'_, P>) -> Option<Task> {
        self.own(place).pop().or_else(|| self.take_outside_for_relief(place))
    }

    fn wakes_at_spawn(&self) -> Option<Duration> {
        (self.parks() && self.sleepers.wakes_at_spawn()).then(|| self.sleepers.wake_cost())
    }

    #[cold]
    fn wait_awake(&self, stack: OnStack<'_, impl LoopStack>, awaited: &dyn Awaited) {
        let (place, alone) = (stack.place(), self.guests.seen() == 1);
        if alone || !self.spins() || !self.deques[place.index()].looks_empty() {
            return;
        }
        place.step(Step::Phase(Phase::Searching));
        let (mut begun, most) = (Instant::now(), Patience::usual(self.sleepers.wake_cost()));
        let mut demands = Demands::new(begun + SUSPENSION / 2);
        // (An urgent task begins when this one is suspended.)
        while !awaited.over() && !self.surplus() && !self.injector.has_urgent() {
            let (waited, others) = (begun.elapsed(), self.waiting_awake());
            // A queued task is left to other workers that search, for as long as a suspension
            // takes. If no worker searches, this worker waits half as long. (Rejected: no wait,
            // with which loops of 5 µs on 4 workers took 7.5 µs instead of 5.8; the whole wait,
            // with which loops of 100 µs took 34 µs instead of 33.)
            let patience = match others {
                _ if MODEL => Duration::ZERO,
                0 => SUSPENSION / 2,
                _ => SUSPENSION,
            };
            let parts = if waited >= patience { awaited.parts() } else { None };
            if let Some(is_part) = parts {
                let reach = demands.reach(Instant::now(), self.raid_cost.get());
                match self.run_part(stack, awaited, is_part, reach) {
                    Found::Part => begun = Instant::now(),
                    Found::Other => break,
                    // (Models have no clock, so there each look is the last one.)
                    Found::Nothing if waited >= most || MODEL => break,
                    Found::Nothing => (),
                }
            } else if waited >= most || waited >= patience && self.work_visible() {
                break;
            }
            idle::pause(others, || awaited.over());
        }
        stack.place().step(Step::Phase(Phase::Busy));
    }

    fn requeue(&self, place: &impl Place, task: Task) -> Result<(), NoMemory> {
        let waiting = self.injector.put_back(task)?;
        self.added_outside(place, waiting);
        Ok(())
    }

    fn requeue_ended(&self, place: &impl Place, task: Task) -> Result<(), NoMemory> {
        let waiting = self.injector.put_back_ended(task)?;
        self.added_outside(place, waiting);
        Ok(())
    }

    fn inject_urgent(&self, place: &impl Place, task: Task, limit: Limit) -> Result<(), Refused> {
        let waiting = self.injector.push_urgent(task, limit)?;
        self.added_urgent(place, waiting);
        Ok(())
    }

    fn inject_background(
        &self,
        place: &impl Place,
        task: Task,
        limit: Limit,
    ) -> Result<Line, Refused> {
        let line = self.injector.push_background(task, limit)?;
        if self.parks() {
            self.sleepers.published(|worker| place.start(worker));
        }
        Ok(line)
    }

    fn age(&self, place: &impl Place) -> bool {
        self.injector.age(|waiting| self.added_outside(place, waiting))
    }

    fn has_first(&self) -> bool {
        self.injector.has_first()
    }

    fn reserve(&self, more: isize) -> Result<(), NoMemory> {
        self.injector.reserve(more)
    }

    fn put_back(&self, place: &impl Place, task: Task) -> Result<(), NoMemory> {
        let waiting = self.injector.put_back_new(task)?;
        self.added_outside(place, waiting);
        Ok(())
    }

    const LINES_UP: bool = matches!(D::OWNER_POPS, End::Oldest);

    #[inline]
    fn line_up(&self, place: Mine<'_, impl Place>, task: Task) -> Result<(), NoMemory> {
        if self.lines_up {
            let mut own = self.own(place);
            if own.push(task).is_ok() {
                self.added(&mut own, place);
                return Ok(());
            }
        }
        self.requeue(&*place, task)
    }

    #[inline]
    fn next_in_line(&self, place: Mine<'_, impl Place>, first: LookFirst) -> Option<Task> {
        if first == LookFirst::AtHome {
            if let Some(task) = self.own(place).pop_quickly() {
                if self.looks_each_time(self.deque_at(place)) {
                    return Some(self.after_turn(place, task));
                }
                return Some(task);
            }
        }
        self.next_in_line_slowly(place, first)
    }

    fn begin_exchange(&self, place: Mine<'_, impl Place>) -> Option<Task> {
        fn fits<P: Place>(_place: &P) -> impl FnOnce(Task) -> bool + use<P> {
            P::is_continuation
        }
        if !self.deques[place.index()].looks_empty() {
            return None;
        }
        place.looked_outside();
        self.injector.begin_exchange(fits(&*place))
    }

    unsafe fn end_exchange(&self, _place: Mine<'_, impl Place>, task: Task) {
        // SAFETY: `begin_exchange` gave this thread a task. Wakes nobody: as many tasks as before.
        unsafe { self.injector.end_exchange(task) };
    }

    #[cold]
    fn help(&self, stack: OnStack<'_, impl LoopStack>, awaited: &dyn Awaited) {
        let mut naps = Naps::new(self.idle);
        let until = Until::Over(awaited);
        let mut countdown = TICK;
        while !awaited.over() {
            let has_outside = self.has_outside();
            if has_outside && self.is_due(stack.place()) {
                stack.give_way();
            }
            let place = stack.place();
            countdown -= 1;
            let injected = if has_outside && self.injector.has_urgent() {
                self.injected(place)
            } else if countdown == 0 {
                countdown = TICK;
                self.take_overdue(place, End::Youngest)
            } else {
                None
            };
            // The worker's own tasks come first: the awaited task may be among them, and the task
            // that waits has added the younger ones.
            let task = injected.or_else(|| self.own(place).pop_youngest());
            let found = task
                .or_else(|| self.search_until(&until, place, Reach::Ask, Levels::All))
                .or_else(|| {
                    place.step(Step::Phase(Phase::Searching));
                    let task = self.wait_for_work(&until, place, &mut naps);
                    place.step(Step::Phase(Phase::Busy));
                    task.inspect(|_| self.found(place))
                });
            let Some(task) = found else { return };
            naps.success();
            stack.run(task);
        }
    }

    const HAS_GUESTS: bool = true;
    const GUESTS_HAVE_QUEUES: bool = true;

    #[cold]
    fn come(&self, thread: usize, purpose: Purpose) -> Option<usize> {
        self.admit_guest(thread, purpose)
    }

    #[cold]
    fn go(&self, place: Mine<'_, impl Place>, purpose: Purpose) {
        self.guest_goes(place, purpose);
    }

    #[cold]
    fn sleep_as_guest(&self, place: Mine<'_, impl Place>, sleep: &mut dyn FnMut()) {
        self.guest_sleeps(place, sleep);
    }

    #[cold]
    fn run_own(&self, stack: OnStack<'_, impl LoopStack>, is_part: &dyn Fn(Task) -> bool) {
        loop {
            let place = stack.place();
            let task = self.own(place).pop_youngest();
            let Some(task) = task else { return };
            if !is_part(task) {
                let put = self.spawn(place, task).is_ok();
                if put || self.put_back(&*place, task).is_ok() {
                    return;
                } // else no queue has room for it
            }
            stack.run(task);
        }
    }

    fn rouse(&self, worker: usize) {
        if self.parks() {
            self.sleepers.rouse(worker);
        }
    }

    fn rests(&self) -> &Rests {
        self.injector.rests()
    }

    fn wait_for_rest(&self, thread: &RestAwaited) {
        self.quiescence.wait_for_rest(&self.injector, thread);
    }

    fn release(&self) {
        if self.quiescence.release(&self.injector) && self.parks() {
            self.sleepers.wake_all();
        }
    }

    fn queued_for_all(&self) -> usize {
        self.injector.len_hint()
    }

    fn waits(&self) -> usize {
        self.quiescence.waits_hint()
    }

    fn when_open(&self, then: &mut dyn FnMut(&LockedRun)) {
        self.quiescence.when_open(&self.injector, &|| self.sleeping_guests(), then);
    }

    fn work(&self, stack: OnStack<'_, impl LoopStack>) {
        let mut naps = Naps::new(self.idle);
        // Worker 0 starts with the first task; the others start idle, as `Quiescence` says.
        let mut activity = stack.activity();
        if stack.begins_outside() && stack.place().index() < self.reliefs {
            self.serve_outside(stack);
        } else if self.looks_each_time(self.deque_at(stack.place())) {
            self.look_outside(stack);
        }
        'fiber: loop {
            let place = stack.place();
            if place.index() >= self.reliefs {
                return; // the stack belongs to a relief now
            }
            if activity == Activity::Active {
                let deque = &*self.deques[place.index()];
                // SAFETY: the caller is on the worker's stack, so it owns the deque. Each pop takes
                // the owner's end anew, because a task that runs in the pop also uses it.
                while unsafe { deque.pop_into(|task| place.call(task)) } {
                    // A forked child ends here, unless its copy of the deque is abandoned.
                    if !D::ABANDONED_IN_CHILD {
                        stack.place().stay();
                    }
                    if stack.tick() {
                        let overdue = self.take_overdue(stack.place(), D::OWNER_POPS);
                        if let Some(task) = overdue {
                            stack.run(task);
                        }
                        if !ptr::eq(&raw const *stack.place(), &raw const *place) {
                            continue 'fiber;
                        }
                    } else if self.looks_each_time(deque)
                        && !deque.looks_empty()
                        && self.is_due(place)
                    {
                        self.serve_outside(stack);
                        continue 'fiber;
                    }
                }
                if deque.private_part().is_some_and(|private| private.is_alarmed())
                    && self.heed_alarm(stack)
                {
                    continue 'fiber;
                }
                place.stay();
                stack.out_of_tasks();
                place.counters().queue_peak.peak(deque.peak());
            }
            match self.find(place, &mut naps, activity) {
                Some(task) => stack.run(task),
                None => return,
            }
            if self.looks_each_time(self.deque_at(stack.place())) {
                self.look_outside(stack);
            }
            activity = Activity::Active;
        }
    }
}
