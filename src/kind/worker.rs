//! The worker record: what `struct scheduler *` points to.
//!
//! # Layout
//!
//! ```text
//! line 0  read at each call: quick, deque, joins, owner, row, kind, index; run, gate (cold)
//! line 1  the owner's: counters
//! line 2  the owner's: parcels, random numbers; links (cold)
//! ```
//!
//! # Who may touch what, and when
//!
//! | field | written | read |
//! | --- | --- | --- |
//! | `owner` | by the thread that takes or leaves the place; in a forked child | by anyone |
//! | `quick`, `joins` | with `owner` | by anyone |
//! | `row` | before the run starts | by anyone |
//! | `kind`, `own`, `index`, `team` | before the run starts | by the run's workers; others under `gate` |
//! | `sets_aside`, `float`, `waiting` | before the run starts | by the owner |
//! | `deque` | before the run starts; when it ends | by the owner; in a forked child |
//! | `vacancy` | as it says itself | |
//! | `awaits` | by the owner; by the worker where the task goes on | when all workers are idle |
//! | `run` | before the run starts; under `gate` when it ends | by anyone |
//! | `counters` | by the owner | by anyone |
//! | `stock`, `rack`, `ground`, `strand`, `above`, `left`, `rng`, `wakes`, `outer` | by the owner | by the owner |
//!
//! `quick`, `joins`, `owner` and `deque` are read and written Relaxed: only their own thread finds itself in
//! them, and it reads what it wrote. `row` as well: rows are never changed, and a stale row is harmless to
//! threads that are not the owner.
//!
//! A task may give its `s` to another task or thread, so each entry asks: is the caller the
//! thread at this place? `owner` holds that thread's pointer, a number no two living threads
//! share; the comparison costs less than a nanosecond where a thread-local variable of a
//! shared library costs a call.
//!
//! Records are recycled, never freed ([`registry`]): a program that uses an `s` after its run has
//! ended reads a record without a run, and gets EINVAL. To keep it so for a while, the record that
//! rested longest is taken first, and `registry::RESTING` are kept at rest. A program that keeps an
//! `s` for longer may meet a later run's.

pub mod registry;
pub mod standing;
mod tasks;

use super::parcel::Stock;
use super::run::Team;
use super::section;
use super::strand::{Ground, Strand};
use super::table::Row;
use super::{Kind, Place, Quick, TICK, UNAWAITED};
use crate::base::config::Kind::Cont;
use crate::base::countdown::Countdown;
use crate::base::process::{self, Own};
use crate::base::sync::{AtomicPtr, AtomicUsize, Mutex, Ordering, Pad};
use crate::base::thread::FloatControl;
use crate::base::vacancy::{Found, Vacancy};
use crate::base::{io, symbol, thread};
use crate::fiber::exceptions;
use crate::fiber::stack::Rack;
use crate::idle::quiescence::Waiting;
use crate::probe::Counters;
use crate::sync::forked::Forked;
use crate::task::{Scheduler, Task};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use std::cell::{Cell, UnsafeCell};
use std::mem::offset_of;
use std::ptr;

#[repr(C, align(128))]
pub struct Worker {
    /// `owner`, if `deque` is not null and a spawn puts the task there; else 0. So one comparison tells
    /// that the caller is the owner and that the deque is there.
    quick: AtomicUsize,
    deque: AtomicPtr<Quick>,
    /// `quick`, if a join may call the child by a jump; else 0. With C++'s runtime in the process it may not: a join
    /// without a frame cannot stop an exception that leaves the child.
    joins: AtomicUsize,
    owner: AtomicUsize,
    row: AtomicPtr<Row>,
    kind: Cell<*const ()>,
    index: Cell<usize>,
    team: Cell<*const Team>,
    /// Identifies the run: the address of its kind; 0 when it has ended.
    run: AtomicUsize,
    /// Held by a foreign thread while it uses the run, and by the run's end.
    gate: Mutex<()>,

    counters: Pad<Counters>,

    stock: Stock,
    /// The kind's deque of this worker, if it has one.
    own: Cell<*const ()>,
    /// See `Kind::waiting`; or null.
    waiting: Cell<*const Waiting>,
    /// Its thread's own stack.
    pub ground: Cell<*const Ground>,
    /// `SCHED_JOIN=suspend`.
    pub sets_aside: Cell<bool>,
    /// The floating-point controls of the run, with which a loop begins.
    pub float: Cell<FloatControl>,
    /// Tasks that may be left here in the middle before the worker looks at the injector.
    left: Countdown,
    /// The stack that its thread is on.
    pub strand: Cell<*const Strand>,
    /// Kind `cont`: what that has above. (Beside it, since the one is the other's child's place: so each spawn
    /// need not wait for what the one before has loaded.)
    pub above: Cell<*const Strand>,
    /// Free stacks.
    pub rack: Rack,
    rng: UnsafeCell<SmallRng>,
    /// Tasks that may be made to go on soon by tasks here, before one goes behind all others.
    wakes: Countdown,
    /// The worker that the owner's thread was when it started this run, if any.
    pub outer: Cell<*const Worker>,
    /// The task that a task here has last begun to join when nobody had begun it. Null once that join is over.
    awaits: AtomicPtr<Forked>,
    /// Who has the place, when its thread has left it in the middle of a task.
    vacancy: Vacancy,
    /// Links of the registry.
    next: Cell<*const Worker>,
    next_free: Cell<*const Worker>,
}

// SAFETY: see the table above for each field's discipline.
unsafe impl Sync for Worker {}

/// Where sched_inline.h finds `quick`, `deque` and the counter of tasks.
pub const LAYOUT: [usize; 3] = [
    offset_of!(Worker, quick),
    offset_of!(Worker, deque),
    offset_of!(Worker, counters) + offset_of!(Counters, tasks),
];

/// See `ext::sync`: so many tasks in turn are woken to go on soon.
const IN_TURN: u32 = 1024;

thread_local! {
    /// The innermost worker that this thread is; the others by `outer`.
    static CURRENT: Own<Worker> = const { Own::null() };
}

impl Worker {
    /// # Safety
    /// `s` was given to a task by this library.
    #[inline]
    pub unsafe fn of<'a>(s: *mut Scheduler) -> &'a Worker {
        // SAFETY: a task's `s` is the address of a record, and records are never freed.
        unsafe { &*s.cast::<Worker>() }
    }

    /// The calling thread's worker in the run of `s`, after a task which was given that: it may have
    /// waited, and go on with another.
    ///
    /// # Safety
    /// As for `of`; the caller is a worker of the run.
    #[inline]
    pub unsafe fn now<'a>(s: *mut Scheduler) -> &'a Worker {
        // SAFETY: passed on.
        let given = unsafe { Worker::of(s) };
        given.mine().unwrap_or_else(|| {
            section::check_left();
            given
        })
    }

    /// The own stack of its thread, which is the caller's.
    pub fn ground(&self) -> &Ground {
        // SAFETY: in its host's frame, which lasts until the run has ended for it.
        unsafe { &*self.ground.get() }
    }

    /// The strand that this worker is on. The caller occupies the place.
    pub fn strand(&self) -> &Strand {
        // SAFETY: it lives as long as its stack is in use; the caller is on it, or about to leave it.
        unsafe { &*self.strand.get() }
    }

    /// True if the calling thread occupies this place.
    #[inline(always)]
    pub fn is_mine(&self) -> bool {
        self.owner.load(Ordering::Relaxed) == thread::pointer()
    }

    /// The row of this worker's run; or of a former one.
    #[inline(always)]
    pub fn row(&self) -> &'static Row {
        // SAFETY: a row of the table's, from the beginning on.
        unsafe { &*self.row.load(Ordering::Relaxed) }
    }

    /// True if a spawn in this worker's run calls the task at once: kind `cont`.
    pub fn calls_at_once(&self) -> bool {
        self.row().kind == Cont
    }

    /// See `Kind::hold`. The caller occupies this place.
    #[inline]
    pub fn hold(&self) {
        // SAFETY: an owned place belongs to a run; the number, row, and kind are that run's.
        unsafe {
            match self.waiting.get().as_ref() {
                Some(waiting) => waiting.hold(),
                None => (self.row().hold)(self),
            }
        }
    }

    /// See `Kind::hold`. The caller occupies this place.
    #[inline]
    pub fn let_go(&self) {
        // SAFETY: as in hold.
        unsafe {
            match self.waiting.get().as_ref() {
                Some(waiting) => waiting.let_go(),
                None => (self.row().let_go)(self),
            }
        }
    }

    /// The calling thread's place in this worker's run, if it has one and that is the run of `other`, too.
    fn mine_beside(&self, other: &Worker) -> Option<&Worker> {
        self.mine().filter(|mine| mine.run_id() == other.run_id())
    }

    /// Wakes the worker if it sleeps in `help`. `from`: the caller's worker, or any of a run of
    /// which it is no worker, or none.
    pub fn rouse(&self, from: Option<&Worker>) {
        if from.is_some_and(|from| from.mine_beside(self).is_some()) {
            // SAFETY: the caller's task holds the run open.
            unsafe { (self.row().rouse)(self) };
        } else {
            // What it waited for may have been seen meanwhile, and the run have ended.
            // SAFETY: the run goes on meanwhile.
            self.while_it_runs(|row| unsafe { (row.rouse)(self) });
        }
    }

    /// True once in `TICK` calls: a task that leaves its worker has not returned, which else would be counted.
    #[inline(always)]
    pub fn tick(&self) -> bool {
        self.left.tick(TICK)
    }

    /// The worker's index in the run of `other`; None if it is not of that.
    pub fn index_beside(&self, other: &Worker) -> Option<usize> {
        let run = other.run.load(Ordering::Relaxed);
        (self.run.load(Ordering::Acquire) == run).then(|| self.index.get())
    }

    /// The kind of this worker's run.
    ///
    /// # Safety
    /// The run is one of `K` and has not ended.
    #[inline(always)]
    pub unsafe fn kind<K>(&self) -> &K {
        // SAFETY: by the caller's promise.
        unsafe { &*self.kind.get().cast::<K>() }
    }

    /// The kind's deque of this worker.
    ///
    /// # Safety
    /// The run is one of a kind whose deques are of this type, and has not ended.
    #[inline(always)]
    pub unsafe fn deque<D>(&self) -> &D {
        // SAFETY: by the caller's promise.
        unsafe { &*self.own.get().cast::<D>() }
    }

    /// Calls `look` with the team of this worker's run, from any thread; None if that has ended.
    pub fn with_team<R>(&self, look: impl FnOnce(&Team) -> R) -> Option<R> {
        match self.mine() {
            // SAFETY: the caller's task holds the run open.
            Some(mine) => Some(look(unsafe { &*mine.team.get() })),
            // SAFETY: the run goes on meanwhile.
            None => self.while_it_runs(|_| look(unsafe { &*self.team.get() })),
        }
    }

    /// Does `work` if the run has not ended, which it then cannot before that is done.
    fn while_it_runs<R>(&self, work: impl FnOnce(&Row) -> R) -> Option<R> {
        if !process::is_known() {
            return None; // a child of a fork that ran no handlers: a thread of the parent may hold the gate
        }
        let _uncancelled = thread::Uncancelled::begin(); // with the gate held, above all
        self.gate.with(|()| {
            // Acquire: pairs with the Release in assign, so that row and kind are this run's.
            let runs = self.run.load(Ordering::Acquire) != 0;
            runs.then(|| work(self.row()))
        })
    }

    /// The calling thread's own place in this worker's run, if it has one.
    #[inline]
    pub fn mine(&self) -> Option<&Worker> {
        if self.is_mine() { Some(self) } else { self.mine_elsewhere() }
    }

    #[cold]
    #[inline(never)]
    fn mine_elsewhere(&self) -> Option<&Worker> {
        let run = self.run.load(Ordering::Relaxed); // compared, no more
        let mut mine = CURRENT.with(Own::get);
        // SAFETY: records are never freed, and the list is this thread's own.
        while let Some(worker) = unsafe { mine.as_ref() } {
            if run != 0 && worker.run.load(Ordering::Relaxed) == run {
                return Some(worker);
            }
            mine = worker.outer.get();
        }
        None
    }

    /// The innermost worker that the calling thread is, in any run.
    #[cold]
    #[inline(never)] // so that nothing thread-local is remembered where a task waits
    pub fn current<'a>() -> Option<&'a Worker> {
        // SAFETY: records are never freed.
        unsafe { CURRENT.with(Own::get).as_ref() }
    }

    /// True if `is` is so of a worker that the calling thread is, in any run.
    #[cold]
    #[inline(never)] // as in `current`
    pub fn any_here(is: impl FnMut(&Worker) -> bool) -> bool {
        // SAFETY: records are never freed, and the list is this thread's own.
        let outer = |worker: &&Worker| unsafe { worker.outer.get().as_ref() };
        std::iter::successors(Worker::current(), outer).any(is)
    }

    /// True once in so many calls. The caller occupies this place.
    #[inline]
    pub fn wakes_behind(&self) -> bool {
        self.wakes.tick(IN_TURN)
    }

    /// What a task gets.
    #[inline(always)]
    pub fn handle(&self) -> *mut Scheduler {
        ptr::from_ref(self).cast_mut().cast()
    }

    /// True if no run goes on that this worker is of, the caller's or another.
    pub fn has_ended(&self) -> bool {
        self.run.load(Ordering::Acquire) == 0 // with `retire`
    }

    /// The calling thread, which has left this place in the middle of a task, gets it another. What is
    /// returned is for `come_back`; None if there is none to be had. The run goes on meanwhile.
    pub fn relieve(&self) -> Option<usize> {
        let (left, calls) = self.vacancy.leave();
        // SAFETY: the team lives until the run has ended.
        if calls && !unsafe { (*self.team.get()).relieve(self) } {
            self.vacancy.nobody_comes();
            return None;
        }
        Some(left)
    }

    /// The calling thread, which has left this place, wants it back. False if it is another's by now.
    pub fn come_back(&self, left: usize) -> bool {
        self.vacancy.come_back(left)
    }

    /// A relief comes. False if it is not needed any more.
    pub fn is_needed(&self) -> bool {
        let mut seen = self.vacancy.called();
        loop {
            match self.vacancy.look(&mut seen) {
                Found::Vacant => return true,
                Found::Occupied => return false,
                // SAFETY: the team waits for its workers.
                Found::Busy => unsafe { (*self.team.get()).sleep(UNAWAITED) },
            }
        }
    }

    /// Worker 0's loop has returned, and with it the run has ended. The caller occupies the place.
    pub fn announce_end(&self) {
        if self.index.get() == 0 {
            // SAFETY: the team waits for its workers.
            unsafe { (*self.team.get()).announce_end() };
        }
    }

    /// A task of the caller, which occupies this place, is about to wait for a task that nobody has begun.
    pub fn note_join(&self, forked: &Forked) {
        self.awaits.store(ptr::from_ref(forked).cast_mut(), Ordering::Relaxed);
    }

    /// The task that has called `note_join` goes on. The caller may be another worker of the run.
    pub fn forget_join(&self, forked: &Forked) {
        let noted = ptr::from_ref(forked).cast_mut();
        let (relaxed, none) = (Ordering::Relaxed, ptr::null_mut());
        let _ = self.awaits.compare_exchange(noted, none, relaxed, relaxed);
    }

    /// All workers of the run are idle, and nothing is queued: ends the process if a task waits for one that nobody
    /// has begun.
    pub fn check_join(&self) {
        // SAFETY: the task that waits for it has not gone on, since no worker runs a task; so the descriptor is there.
        let lost = unsafe { self.awaits.load(Ordering::Relaxed).as_ref() };
        if let Some(lost) = lost.filter(|lost| lost.is_lost()) {
            io::die(format_args!(
                "sched_join: a task waits for one that is in no queue: its descriptor was copied, joined before, or not forked \
                 in this run{}",
                symbol::Function(lost.function())
            ));
        }
    }

    /// What tells this run from others.
    pub fn run_id(&self) -> usize {
        self.run.load(Ordering::Relaxed)
    }

    /// The owner's empty parcels.
    #[inline]
    pub fn stock(&self) -> &Stock {
        &self.stock
    }

    // --- a run's use of the record --------------------------------------------------

    /// Makes the record worker `index` of a run.
    pub fn assign<K: Kind>(
        &self,
        index: usize,
        row: &'static Row,
        kind: &K,
        team: &Team,
        seed: u64,
    ) {
        self.stock.open(team.depot());
        let terms = team.strands();
        self.rack.open(terms.stack);
        self.sets_aside.set(terms.sets_aside);
        self.float.set(terms.float);
        self.team.set(team);
        self.row.store(ptr::from_ref(row).cast_mut(), Ordering::Relaxed);
        let deque = kind.quick(index).map_or(ptr::null(), ptr::from_ref);
        self.deque.store(deque.cast_mut(), Ordering::Relaxed);
        self.kind.set(ptr::from_ref(kind).cast());
        self.own.set(kind.deque_of(index));
        self.waiting.set(kind.waiting(index).map_or(ptr::null(), ptr::from_ref));
        self.index.set(index);
        self.counters.clear();
        self.wakes.set(IN_TURN);
        self.awaits.store(ptr::null_mut(), Ordering::Relaxed);
        // SAFETY: no thread occupies the place yet.
        unsafe { *self.rng.get() = SmallRng::seed_from_u64(seed.wrapping_add(index as u64)) };
        // Release: pairs with while_it_runs and index_beside.
        self.run.store(ptr::from_ref(kind).addr(), Ordering::Release);
    }

    /// The calling thread takes this place.
    pub fn occupy(&self) {
        self.outer.set(CURRENT.with(|current| current.replace(self)));
        self.strand.set(ptr::null());
        self.above.set(ptr::null());
        self.owner.store(thread::pointer(), Ordering::Relaxed);
        // `sched_spawn` may put tasks there itself, where that is what a spawn does. Debug builds count
        // and mark what is forked and joined, which sched_inline.h does not.
        let puts = cfg!(not(debug_assertions)) && !self.calls_at_once();
        if puts && !self.deque.load(Ordering::Relaxed).is_null() {
            self.quick.store(thread::pointer(), Ordering::Relaxed);
            if !exceptions::there() {
                self.joins.store(thread::pointer(), Ordering::Relaxed);
            }
        }
    }

    /// The calling thread leaves this place.
    pub fn vacate(&self) {
        self.quick.store(0, Ordering::Relaxed);
        self.joins.store(0, Ordering::Relaxed);
        self.owner.store(0, Ordering::Relaxed);
        CURRENT.with(|current| current.set(self.outer.get()));
    }

    /// The run has ended: from now on this record gives EINVAL.
    fn retire(&self) {
        self.deque.store(ptr::null_mut(), Ordering::Relaxed);
        self.gate.with(|()| self.run.store(0, Ordering::Release)); // with `has_ended`
    }
}

impl Place for Worker {
    #[inline]
    fn index(&self) -> usize {
        self.index.get()
    }

    #[inline]
    fn counters(&self) -> &Counters {
        &self.counters
    }

    #[inline]
    fn looked_outside(&self) {
        self.left.set(TICK);
    }

    #[cold]
    fn start(&self, worker: usize) -> bool {
        // SAFETY: the team lives until the run has ended and the gates are closed; the kind starts
        // each worker at most once.
        unsafe { (*self.team.get()).call(worker) }
    }

    fn random_below(&self, n: usize) -> usize {
        debug_assert!(self.is_mine());
        // SAFETY: only the owner comes here, and the reference ends with the call.
        unsafe { &mut *self.rng.get() }.random_range(0..n)
    }

    #[inline]
    fn call(&self, task: Task) {
        #[cfg(debug_assertions)]
        let (strand, before) = (self.strand.get(), self.strand().note_forks(0));
        // SAFETY: the program promises that `f` accepts its closure and returns.
        unsafe { (task.f)(task.closure, self.handle()) };
        #[cfg(debug_assertions)]
        // SAFETY: the strand that this is on, which stays the same.
        if unsafe { &*strand }.note_forks(0) != before {
            io::die(format_args!(
                "sched_fork: a task has returned and did not join a task that it forked: a sched_join is missing"
            ));
        }
    }

    #[cold]
    fn at_rest(&self) {
        // SAFETY: the team lives until the run has ended, and the run's end waits for the caller.
        unsafe { &*self.team.get() }.check_joins();
    }

    #[inline]
    fn stay(&self) {
        if self.owner.load(Ordering::Relaxed) == 0 {
            section::check_left();
            returned_in_child();
        }
    }
}

/// A task called fork, and its copy in the child returned: its run is in the parent.
#[cold]
fn returned_in_child() -> ! {
    io::die(format_args!(
        "a task returned in a child that it made by fork; the child must end by _exit or exec"
    ))
}
