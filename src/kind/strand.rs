//! Strands: the stacks that workers' loops run on, and tasks that wait by leaving theirs.
//!
//! # The shape of it
//!
//! ```text
//! thread's own stack      strand (a stack of the rack's)
//!   sched_init              loop  -- Strand, the record
//!   host   <--- base        a task
//!                           what it calls ... suspend: context
//! ```
//! A task runs on the stack of the loop that took it from a queue, and pays nothing for it. When it
//! must wait, the whole strand is set aside: its worker goes on with a new loop, on another stack, and
//! what is left of the old one is a *continuation*: a task, {`resume`, continuation}, which can be
//! queued like any. Whoever takes it out of a queue leaves the strand that it is on, which has
//! nothing but a loop, and goes on on the other. There the record tells the loop, once the task has
//! returned to it, whose it is now. (C. Yang and J. Mellor-Crummey, "A practical solution to the cactus
//! stack problem", 2016, leave a frame's stack to wait in this way, when it must wait and not before.)
//!
//! # The classic race
//!
//! A continuation must not be resumed before it is complete. So it is published from the other
//! stack: `suspend` saves the context, switches, and `publish` is called there, which makes the
//! continuation known to who will resume it. If there is nothing to wait for any more, publish
//! says so, and the worker switches back, or queues the task if it has gone to another. After it has said
//! yes nothing of the old strand is touched.
//!
//! If what the worker would run next was set aside, too, it goes straight to that stack, without a loop in between.
//!
//! A stack that is left for good is put into the rack before: nobody else takes it from there, and
//! the worker's thread only when it has arrived on another.
//!
//! # The end
//!
//! A loop that ends, on whichever strand, continues its thread's own stack at `base`, where `host` has
//! left it. No thread ever runs on another's own stack, so none has to wait for another then. Where no stack
//! is to be had at first, the loop runs on the thread's own, and tasks there cannot leave it.
//!
//! A thread that has no worker any more ([`section`]) goes back there earlier, by `retire`.

pub mod cont;
pub mod turn;

use super::section::{self, Section};
use super::worker::Worker;
use super::{Awaited, Place, Seat, TICK, UNAWAITED};
use crate::base::frontier;
use crate::base::mem::NoMemory;
use crate::base::thread::{self, FloatControl};
use crate::fiber::sanitizers::Side;
use crate::fiber::stack::Stack;
use crate::fiber::switch::{self, Context};
use crate::fiber::{exceptions, overflow};
use crate::sync::forked::Forked;
use crate::task::{Scheduler, Task, TaskFn};
use std::cell::Cell;
use std::ffi::c_void;
use std::ptr;

/// A stack with a worker's loop on it, or with room for one. It lies at the high end of a stack of the
/// rack's, ready for the next use; or in the loop's first frame.
#[repr(align(64))]
pub struct Strand {
    worker: Cell<*const Worker>,
    /// None: the thread's own. (Or the memory of a new stack: all zero.)
    stack: Option<Stack>,
    looks: Cell<Looks>,
    /// To be run before those in the queues.
    first: Cell<Option<Task>>,
    /// It cannot be left: a task here has started a run, which lies on top; or there is no stack.
    fixed: Cell<bool>,
    /// A blocking section of the task here.
    pub(super) section: Section,
    /// Debug builds: tasks forked here and not joined.
    forks: Cell<isize>,
    /// Kind `cont`: of the spawner whose child is here, its context at that spawn.
    spawner: Cell<Context>,
    /// Kind `cont`: of the child here, if it was forked. The loop does not look at it.
    forked: Cell<*const Forked>,
    /// Kind `cont`: the task here had other floating-point controls than the run's when it last spawned.
    tuned: Cell<bool>,
    /// How many tasks help here, each in the middle of the one before.
    nested: Cell<u32>,
    /// How often tasks here have given way.
    turns: Cell<u32>,
    /// Until the next tick, and what it was at the last. When another worker has come with a task,
    /// the next is at once.
    countdown: Cell<u32>,
    granted: Cell<u32>,
}

/// Where a loop looks for tasks first.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Looks {
    Inside,
    Outside,
    /// It begins idle.
    Nowhere,
}

impl Seat for Strand {
    type Place = Worker;

    #[inline(always)]
    fn place(&self) -> &Worker {
        // SAFETY: records are never freed.
        unsafe { &*self.worker.get() }
    }

    fn begins_idle(&self) -> bool {
        self.looks.get() == Looks::Nowhere
    }

    fn begins_outside(&self) -> bool {
        self.looks.get() == Looks::Outside
    }

    #[inline(always)]
    fn tick(&self) -> bool {
        let countdown = self.countdown.get() - 1;
        self.countdown.set(countdown);
        if countdown > 0 {
            return false;
        }
        section::check_closed(self);
        self.flush();
        true
    }

    #[cold]
    fn flush(&self) {
        let counted = self.granted.replace(TICK) - self.countdown.replace(TICK);
        self.place().counters().tasks.add(counted as usize);
    }

    #[inline]
    fn run(&self, task: Task) {
        self.place().call(task);
        section::check_closed(self);
        let place = self.place(); // another, perhaps
        place.counters().tasks.add(1);
        place.stay();
    }
}

/// A task that waits; it lies on its strand. The low bits of its address are left to who packs it.
#[derive(Clone, Copy)]
#[repr(align(16))]
struct Continuation {
    context: Context,
    strand: *const Strand,
}

/// A task that is left, until it is known that it waits.
struct Left<'a> {
    continuation: Continuation,
    /// Makes it known; false if it has nothing to wait for.
    publish: &'a mut dyn FnMut(Task) -> bool,
}

impl Left<'_> {
    /// # Safety
    /// Its context is saved, and nobody is on its stack. It is not touched any more if that returns true.
    unsafe fn publish(this: *mut Self) -> Result<(), Task> {
        // SAFETY: by the caller's promise.
        unsafe {
            let task = task_of(&raw const (*this).continuation);
            if ((*this).publish)(task) { Ok(()) } else { Err(task) }
        }
    }
}

/// What a new strand begins with; it lies on the stack that is left for it.
struct Launch<'a> {
    worker: &'a Worker,
    stack: Option<Stack>,
    first: Option<Task>,
    begins: Begins<'a>,
}

/// How a strand begins.
enum Begins<'a> {
    /// The first of a thread.
    Hosted(As),
    Behind(*mut Left<'a>),
}

/// What a thread's worker does when it comes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum As {
    /// It has begun with the run, without a task.
    Idle,
    /// It has begun with the run, and has the first task.
    First,
    /// It goes on: another thread has left it in the middle of a task, with which that blocks.
    Relief,
}

/// The own stack of a thread that hosts a worker; it lies in `host`'s frame.
#[derive(Default)]
pub struct Ground {
    /// Where it goes on.
    base: Cell<Context>,
    /// As the sanitizers know it.
    side: Side,
}

/// What the strands of a run have in common.
#[derive(Clone, Copy)]
pub struct Terms {
    /// Bytes of a stack.
    pub stack: usize,
    /// `SCHED_JOIN=suspend`.
    pub sets_aside: bool,
    /// What tasks start with.
    pub float: FloatControl,
}

/// Runs the calling thread's worker until the run has ended, or the thread has left it: then false.
///
/// # Safety
/// The caller occupies `worker`, whose run has not ended, inside the frontier.
pub unsafe fn host(worker: &Worker, comes: As) -> bool {
    // SAFETY: records are never freed.
    let outer = unsafe { worker.outer.get().as_ref() }.map(Worker::strand);
    let below = [outer, section::innermost()];
    let before = below.map(|strand| strand.is_some_and(|strand| strand.fixed.replace(true)));
    let stack = worker.rack.take().ok();
    let ground = Ground::default();
    ground.side.settle();
    worker.ground.set(&ground);
    let mut stays = true;
    let mut go = || {
        let launch = Launch { worker, stack, first: None, begins: Begins::Hosted(comes) };
        let top = stack.map_or(ptr::null_mut(), Strand::top);
        // SAFETY: a stack of our own, or none; `base` is continued by this thread alone, at the end.
        unsafe {
            let launch = (&raw const launch).cast_mut().cast();
            stack.inspect(|stack| stack.side().enter_new(|| &ground.side));
            let arrival = switch::begin(ground.base.as_ptr(), top, run_loop, launch);
            stays = arrive(worker, arrival);
        }
    };
    let handled = exceptions::take();
    if outer.is_none() {
        overflow::with_alternate_stack(go)
    } else {
        go()
    }
    ground.side.forget();
    handled.put();
    for (strand, covered) in below.into_iter().zip(before) {
        strand.inspect(|strand| strand.fixed.set(covered));
    }
    stays
}

/// Sets the calling task aside; its worker goes on. `publish` is called with the task that continues
/// it; if it returns false, the caller is continued soon. Returns when it was continued, by
/// another thread perhaps. If there is no stack to go on with, nothing has happened.
///
/// # Safety
/// The caller is on the strand, in a task. Once `publish` has made the task known it touches
/// nothing of the caller's stack any more, and returns true.
pub unsafe fn suspend(
    strand: &Strand,
    mut publish: impl FnMut(Task) -> bool,
) -> Result<(), NoMemory> {
    if !strand.can_be_left() {
        return Err(NoMemory);
    }
    let next = strand.next_in_line(false);
    // SAFETY: passed on.
    let left = unsafe { leave_for(strand, next, &mut publish) };
    if left.is_err()
        && let Some(task) = next
    {
        strand.worker().queue_soon(task);
    }
    left
}

/// `suspend`, with the task that the worker is to run first.
///
/// # Safety
/// As for `suspend`; the strand can be left.
#[inline]
unsafe fn leave_for(
    strand: &Strand,
    next: Option<Task>,
    publish: &mut dyn FnMut(Task) -> bool,
) -> Result<(), NoMemory> {
    match next {
        Some(task) if is_continuation(task) => {
            // SAFETY: out of a queue, so published.
            unsafe { go_over(strand, task, publish) };
            Ok(())
        }
        // SAFETY: passed on.
        _ => unsafe { leave_for_loop(strand, next, publish) },
    }
}

/// Leaves the strand for that of a continuation.
///
/// # Safety
/// As for `suspend`; `next` was published, and only the caller continues it.
unsafe fn go_over(strand: &Strand, next: Task, publish: &mut dyn FnMut(Task) -> bool) {
    let worker = strand.worker();
    // SAFETY: passed on.
    let context = unsafe { take_over(worker, next.closure.cast()) };
    switch_away(strand, worker.strand().side(), context, 0, publish);
}

/// Leaves the strand for a loop on a new one, which runs `first` first.
///
/// # Safety
/// As for `suspend`; the strand can be left.
#[inline(never)] // so that nothing thread-local is remembered across it
unsafe fn leave_for_loop(
    strand: &Strand,
    first: Option<Task>,
    publish: &mut dyn FnMut(Task) -> bool,
) -> Result<(), NoMemory> {
    let worker = strand.worker();
    let stack = worker.rack.take()?;
    let handled = exceptions::take();
    let continuation = Continuation { context: ptr::null_mut(), strand };
    let mut left = Left { continuation, publish };
    let this = &raw mut left;
    let launch = Launch { worker, stack: Some(stack), first, begins: Begins::Behind(this) };
    // SAFETY: a stack of our own; the context is in its place before anybody is told of it, and
    // whoever is continues it once.
    unsafe {
        let launch = (&raw const launch).cast_mut().cast();
        stack.side().enter_new(|| strand.side());
        let from = &raw mut (*this).continuation.context;
        let arrival = switch::begin(from, Strand::top(stack), run_loop, launch);
        arrive(strand.worker(), arrival);
    }
    handled.put();
    Ok(())
}

/// The first frame of a strand.
///
/// # Safety
/// `launch` is a [`Launch`], on a stack that its publisher keeps until then.
unsafe extern "C" fn run_loop(launch: *mut c_void) -> ! {
    // SAFETY: by the caller's promise; read whole before it is published.
    let Launch { worker, stack, first, begins } = unsafe { launch.cast::<Launch>().read() };
    let looks = match begins {
        Begins::Hosted(As::Idle) => Looks::Nowhere,
        Begins::Hosted(As::Relief) if worker.tick() => Looks::Outside,
        _ => Looks::Inside,
    };
    let own = Strand::new(None);
    let strand = stack.map_or(&own, Strand::on);
    strand.worker.set(worker);
    if let Begins::Behind(left) = begins {
        // SAFETY: not published yet.
        let Continuation { context, strand: below } = unsafe { (*left).continuation };
        // SAFETY: saved, and this is another stack.
        if unsafe { Left::publish(left) }.is_err() {
            if let Some(task) = first {
                worker.queue_soon(task);
            }
            // SAFETY: nobody else knows of it; nothing is on the strand.
            unsafe { strand.leave(worker, (*below).side(), context) }
        }
        worker.float.get().set(); // not those of the task that was left
    }
    worker.strand.set(strand);
    strand.first.set(first);
    strand.looks.set(looks);
    // SAFETY: the strand is in place.
    unsafe { strand.go_through() }
}

unsafe extern "C" fn work(strand: *mut c_void) {
    // SAFETY: `run_loop` passes its strand, which it is on.
    let strand = unsafe { &*strand.cast::<Strand>() };
    if let Some(task) = strand.first.take() {
        strand.run(task);
    }
    // SAFETY: the row of the run.
    unsafe { (strand.place().row().work)(strand) };
}

fn task_of(continuation: *const Continuation) -> Task {
    Task { f: resume, closure: continuation.cast_mut().cast() }
}

/// True if that is a task that was set aside.
pub fn is_continuation(task: Task) -> bool {
    std::ptr::fn_addr_eq(task.f, resume as TaskFn)
}

/// Queues a task that was set aside, to go on; see `Worker::continue_with`.
///
/// # Safety
/// The continuation was published, and only the caller continues it.
pub unsafe fn go_on(continuation: *mut c_void, from: Option<&Worker>) {
    let task = task_of(continuation.cast());
    // SAFETY: it lies on its strand, which nobody runs now.
    let worker = unsafe { (*(*continuation.cast::<Continuation>()).strand).worker() };
    worker.continue_with(task, from);
}

/// A continuation out of a queue: goes on with it. It returns only if the strand that is left for it is
/// in the middle of a task.
///
/// # Safety
/// `continuation` was published, and is taken once.
unsafe extern "C" fn resume(closure: *mut c_void, s: *mut Scheduler) {
    let continuation = closure.cast::<Continuation>();
    // SAFETY: the caller's.
    let worker = unsafe { Worker::of(s) };
    let old = worker.strand();
    if old.fixed.get() {
        // It cannot be left: another will go on with it, or this worker later.
        worker.requeue(task_of(continuation));
        thread::sleep(UNAWAITED);
        return worker.counters().tasks.uncount(); // whoever has called this counts a task
    }
    // SAFETY: by the caller's promise.
    let context = unsafe { take_over(worker, continuation) };
    if old.nested.get() == 0 {
        old.flush();
        // SAFETY: nothing is on the old strand but its loop, which has nothing in hand.
        unsafe { old.leave(worker, worker.strand().side(), context) }
    }
    set_aside(old, context);
    old.worker().counters().tasks.uncount(); // as above
}

/// The worker's thread is to go on with a continuation: where.
///
/// # Safety
/// It was published, and only the caller continues it.
unsafe fn take_over(worker: &Worker, continuation: *const Continuation) -> Context {
    // SAFETY: published, so complete; it lies on its strand, which is this worker's now.
    let Continuation { context, strand } = unsafe { continuation.read() };
    // SAFETY: as above.
    let there = unsafe { &*strand };
    if !ptr::eq(there.worker.replace(worker), worker) {
        there.hasten(); // what it has counted is the new worker's: the sum is right
    }
    worker.strand.set(strand);
    context
}

/// Leaves a strand that is in the middle of a task, for `to`; it is queued behind the others.
fn set_aside(old: &Strand, to: Context) {
    let worker = old.worker();
    let mut publish = |task| {
        worker.requeue(task);
        true
    };
    switch_away(old, worker.strand().side(), to, 0, &mut publish);
}

#[inline(never)] // so that nothing thread-local is remembered across it
fn switch_away(
    old: &Strand,
    side: &Side,
    to: Context,
    also: usize,
    publish: &mut dyn FnMut(Task) -> bool,
) {
    let continuation = Continuation { context: ptr::null_mut(), strand: old };
    let mut left = Left { continuation, publish };
    let this = &raw mut left;
    let handled = exceptions::take();
    // SAFETY: `to` is nobody else's; who arrives there publishes `this`.
    unsafe {
        side.enter(|| Some(old.side()));
        let left = this.map_addr(|this| this | also).cast();
        let arrived = switch::switch(&raw mut (*this).continuation.context, to, left);
        arrive(old.worker(), arrived);
    }
    handled.put();
}

/// The calling thread, which has left its worker, leaves the strand as well, for its own stack, where
/// `host` returns. The task here is queued behind the others; returns when it goes on, elsewhere.
///
/// # Safety
/// The caller is on the strand, which can be left; `ground` is its thread's, and the run goes on until the task
/// does.
pub unsafe fn retire(strand: &Strand, ground: &Ground) {
    let worker = strand.worker();
    let mut publish = |task| {
        worker.requeue(task);
        true
    };
    switch_away(strand, &ground.side, ground.base.get(), RETIRED, &mut publish);
}

/// In the word that is passed to who is continued: the thread has no worker any more.
const RETIRED: usize = 1;

/// What who is continued does first: if a task was left for it, makes that known, or queues it. False if the
/// thread has no worker any more.
///
/// # Safety
/// The caller occupies `worker`, or has occupied it and the run goes on; the word was passed to it.
unsafe fn arrive(worker: &Worker, left: *mut c_void) -> bool {
    if !left.is_null() {
        let left: *mut Left = left.map_addr(|word| word & !RETIRED).cast();
        // SAFETY: it was left just now, and waits to be published.
        if let Err(task) = unsafe { Left::publish(left) } {
            worker.queue_soon(task);
        }
    }
    left.addr() & RETIRED == 0
}

impl Strand {
    fn new(stack: Option<Stack>) -> Strand {
        Strand {
            worker: Cell::new(ptr::null()),
            stack,
            looks: Cell::new(Looks::Inside),
            first: Cell::new(None),
            fixed: Cell::new(stack.is_none()),
            section: Section::default(),
            forks: Cell::new(0),
            spawner: Cell::new(ptr::null_mut()),
            forked: Cell::new(ptr::null()),
            tuned: Cell::new(false),
            nested: Cell::new(0),
            turns: Cell::new(0),
            countdown: Cell::new(TICK),
            granted: Cell::new(TICK),
        }
    }

    /// Where it lies on a stack of the rack's.
    #[inline(always)]
    fn place(stack: Stack) -> *mut Strand {
        stack.top().wrapping_sub(size_of::<Strand>()).cast()
    }

    /// Where what runs there begins to grow down.
    fn top(stack: Stack) -> *mut u8 {
        Strand::place(stack).cast()
    }

    /// That of a stack, which the caller has got.
    #[inline(always)]
    fn on<'a>(stack: Stack) -> &'a Strand {
        let place = Strand::place(stack);
        // SAFETY: room for it, which holds one, or zeroes, which are one as well.
        unsafe {
            if (*place).stack.is_none() {
                place.write(Strand::new(Some(stack)));
            }
            &*place
        }
    }

    /// The worker's loop, to the end of the run.
    ///
    /// # Safety
    /// The caller is on it, and its worker, too; it has no task in hand.
    unsafe fn go_through(&self) -> ! {
        // SAFETY: the frontier is where the thread came from.
        unsafe { frontier::again(work, ptr::from_ref(self).cast_mut().cast()) };
        self.flush();
        let worker = self.worker();
        // SAFETY: nothing is on the strand any more, and the ground is this thread's.
        unsafe {
            let ground = worker.ground();
            self.leave(worker, &ground.side, ground.base.get())
        }
    }

    /// Leaves it for good, for `to`, on that side. Its stack is in the rack before; but only the worker's thread takes it
    /// out of there, and that is on its way.
    ///
    /// # Safety
    /// The caller is on it, and occupies `worker`; nothing there is needed any more. `to` as for
    /// `switch::leave`.
    #[inline(always)] // see `Side::enter`
    unsafe fn leave(&self, worker: &Worker, side: &Side, to: Context) -> ! {
        self.looks.set(Looks::Inside);
        // SAFETY: by the caller's promise.
        unsafe {
            if let Some(stack) = self.stack {
                worker.rack.put(stack);
            }
            side.enter(|| self.stack.is_none().then(|| self.side()));
            switch::leave(0, to, ptr::null_mut())
        }
    }

    /// A task that has started another run, whose tasks are running now.
    pub fn is_covered(&self) -> bool {
        self.fixed.get() && self.stack.is_some()
    }

    pub fn cover(&self, covered: bool) {
        self.fixed.set(covered);
    }

    /// What its worker runs next, if the task here is left: of those outside, if `outside`, or when it is time.
    fn next_in_line(&self, outside: bool) -> Option<Task> {
        let worker = self.worker();
        // SAFETY: the calling thread's, of the run that the row belongs to.
        unsafe { (worker.row().next_in_line)(worker, worker.tick() || outside) }
    }

    /// True once in so many calls.
    fn every(&self, turns: u32) -> bool {
        self.turns.set((self.turns.get() + 1) % turns);
        self.turns.get() == 0
    }

    /// The next tick is at once. What was counted until now is the worker's, which is the caller's.
    pub fn hasten(&self) {
        self.flush();
        self.countdown.set(1);
        self.granted.set(1);
    }

    /// True if its task can be set aside.
    pub fn can_be_left(&self) -> bool {
        !self.fixed.get()
    }

    /// Its stack; None: the thread's own.
    pub fn stack(&self) -> Option<Stack> {
        self.stack
    }

    /// As the sanitizers know it. The caller is on it, or about to be.
    fn side(&self) -> &Side {
        self.stack.as_ref().map_or_else(|| &self.worker().ground().side, Stack::side)
    }

    /// The worker that runs here now.
    pub fn worker(&self) -> &Worker {
        self.place()
    }

    /// True if a task that waits for another is to be set aside, and can be.
    pub fn sets_aside(&self) -> bool {
        self.worker().sets_aside.get()
    }

    /// Counts tasks forked here and not joined; tells how many there are.
    pub fn note_forks(&self, more: isize) -> isize {
        self.forks.set(self.forks.get() + more);
        self.forks.get()
    }

    /// Runs tasks in the middle of a task until `awaited` is over: see `Kind::help`.
    ///
    /// # Safety
    /// The caller is on it, in a task.
    pub unsafe fn help(&self, awaited: &dyn Awaited) {
        // SAFETY: the row of the run; passed on.
        self.on_top(|| unsafe { (self.place().row().help)(self, awaited) });
    }

    /// Does work of other tasks in the middle of one.
    fn on_top(&self, work: impl FnOnce()) {
        let (handled, float) = (exceptions::take(), FloatControl::get()); // they are not the others'
        self.place().float.get().set();
        self.nested.set(self.nested.get() + 1);
        section::beneath(self, work);
        self.nested.set(self.nested.get() - 1);
        float.set();
        handled.put();
    }
}
