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
//! If what the worker would run next was set aside, too, it goes straight to that stack, without a loop in between;
//! `publish` is called there, before that goes on (`switch::hand_over`).
//!
//! A stack that is left for good is put into the rack before: nobody else takes it from there, and
//! the worker's thread only when it has arrived on another.
//!
//! # The end
//!
//! A loop that ends, on whichever strand, continues its thread's own stack at `base`, where `host` has
//! left it. No thread ever runs on another's own stack, so none has to wait for another then. Where no stack
//! is to be had at first, the loop runs on the thread's own, and tasks there cannot leave it. The loop itself can, for a
//! continuation: if all workers have come to such a loop, nobody else would go on with that.
//!
//! A thread that has no worker any more ([`section`]) goes back there earlier, by `retire`.

mod aside;
pub mod cont;
pub mod turn;

use self::aside::{Continuation, Left, arrive};
pub use self::aside::{at_home, go_on, is_continuation, retire, suspend};

use super::section::{self, Section};
use super::worker::Worker;
use super::{Awaited, Place, Seat, TICK};
use crate::base::frontier;
use crate::base::thread::{self, FloatControl};
use crate::fiber::sanitizers::Side;
use crate::fiber::stack::Stack;
use crate::fiber::switch::{self, Context};
use crate::fiber::{exceptions, overflow};
use crate::sync::forked::Forked;
use crate::task::Task;
use std::cell::Cell;
use std::ffi::c_void;
use std::mem;
use std::ptr::{self, NonNull};

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
    /// Bytes of its stack below this record; 0: no stack.
    room: usize,
    /// `room`, but 0 if the strand is fixed or has another above. So one comparison with the stack pointer tells whether
    /// the caller can leave the strand as it is.
    reach: Cell<usize>,
    /// A blocking section of the task here.
    pub(super) section: Section,
    /// The group of the task here, if it is in one; only its address is used.
    pub group: Cell<*const ()>,
    /// Debug builds: tasks forked here and not joined.
    forks: Cell<isize>,
    /// Kind `cont`: of the spawner whose child is here, its context at that spawn.
    spawner: Cell<Context>,
    /// Kind `cont`: null, or the strand on which children of the task here run: the one that it waits for, or the
    /// next one. Nobody else has it. Always null if this strand cannot be left.
    above: Cell<*const Strand>,
    /// Kind `cont`: the strand of that spawner, for as long as it waits for this.
    below: Cell<*const Strand>,
    /// Kind `cont`: of the child here, if it was forked. The loop does not look at it.
    forked: Cell<*const Forked>,
    /// Kind `cont`: who has continued it at its last spawn was not the child.
    arrived: Cell<bool>,
    /// Where the frames end of what calls tasks here: the loop, or the task that others run on top of. What lies below
    /// it, when the next task is called, is in frames that have returned.
    floor: Cell<usize>,
    /// How many tasks help here, each in the middle of the one before.
    nested: Cell<u32>,
    /// What the last of them waits for, if others run on top of it for that.
    awaited: Cell<Option<NonNull<dyn Awaited>>>,
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
        self.shed();
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
    /// `nested` of the strand below when its task started this run, if one did.
    nested_below: Cell<u32>,
}

/// What the strands of a run have in common.
#[derive(Clone, Copy)]
pub struct Terms {
    /// Bytes of a stack.
    pub stack: usize,
    /// `SCHED_JOIN=suspend`.
    pub sets_aside: bool,
    /// What a loop begins with.
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
    let before = below.map(|strand| strand.is_some_and(Strand::fix));
    // With the stack of a relief comes a place in the queue: for the task whose thread has left the worker.
    let stack = if comes == As::Relief { worker.take_stack() } else { worker.rack.take() }.ok();
    let ground = Ground::default();
    ground.side.settle();
    ground.nested_below.set(outer.map_or(0, |strand| strand.nested.get()));
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
        strand.inspect(|strand| strand.cover(covered));
    }
    stays
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
        if let Err(back) = unsafe { Left::publish(left) } {
            if first.is_none_or(|task| worker.put_back(task).is_ok()) {
                // SAFETY: nobody else knows of it; nothing is on the strand.
                unsafe { strand.leave(worker, (*below).side(), context) }
            }
            worker.queue_soon(back);
        }
    }
    strand.go_on_with(worker);
    strand.first.set(first);
    strand.looks.set(looks);
    // SAFETY: the strand is in place.
    unsafe { strand.go_through() }
}

unsafe extern "C" fn work(strand: *mut c_void) {
    // SAFETY: `run_loop` passes its strand, which it is on.
    let strand = unsafe { &*strand.cast::<Strand>() };
    strand.floor.set(thread::stack_pointer());
    if let Some(task) = strand.first.take() {
        strand.run(task);
    }
    // SAFETY: the row of the run.
    unsafe { (strand.place().row().work)(strand) };
}

impl Strand {
    fn new(stack: Option<Stack>) -> Strand {
        Strand {
            worker: Cell::new(ptr::null()),
            stack,
            looks: Cell::new(Looks::Inside),
            first: Cell::new(None),
            fixed: Cell::new(stack.is_none()),
            room: Strand::room(stack),
            reach: Cell::new(Strand::room(stack)),
            section: Section::default(),
            group: Cell::new(ptr::null()),
            forks: Cell::new(0),
            spawner: Cell::new(ptr::null_mut()),
            above: Cell::new(ptr::null()),
            below: Cell::new(ptr::null()),
            forked: Cell::new(ptr::null()),
            arrived: Cell::new(false),
            floor: Cell::new(0),
            nested: Cell::new(0),
            awaited: Cell::new(None),
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

    /// Bytes of the stack below the record. None: 0.
    fn room(stack: Option<Stack>) -> usize {
        stack.map_or(0, |stack| stack.room() - size_of::<Strand>())
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
        self.worker().float.get().set(); // not those of the task that was left, or has ended
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
        self.shed();
        // SAFETY: by the caller's promise.
        unsafe {
            if let Some(stack) = self.stack {
                worker.put_stack(stack);
            }
            side.enter(|| self.stack.is_none().then(|| self.side()));
            switch::leave(0, to, ptr::null_mut())
        }
    }

    /// It cannot be left from now on. Returns whether that is not new. Its worker is the calling thread's, or it has
    /// nothing above.
    fn fix(&self) -> bool {
        self.shed();
        let before = self.fixed.replace(true);
        self.settle();
        before
    }

    /// Another worker has left it.
    #[cold]
    #[inline(never)]
    fn change_to(&self, worker: &Worker) {
        self.worker.set(worker);
        self.hasten(); // what it has counted is the new worker's: the sum is right
    }

    /// It is the one that the worker, which is the caller's, is on from now on.
    #[inline(always)]
    pub fn go_on_with(&self, worker: &Worker) {
        worker.strand.set(self);
        worker.above.set(self.above.get());
    }

    /// Gives what is above, and above that, back to the worker's rack. Nobody is on it.
    pub fn shed(&self) {
        if !self.above.get().is_null() {
            self.shed_all();
        }
    }

    #[cold]
    #[inline(never)]
    fn shed_all(&self) {
        let mut next = self.above.replace(ptr::null());
        let worker = self.worker();
        if ptr::eq(worker.strand.get(), self) {
            worker.above.set(ptr::null());
        }
        // SAFETY: each is the caller's, and was the one below's alone.
        while let Some(strand) = unsafe { next.as_ref() } {
            next = strand.above.replace(ptr::null());
            strand.settle();
            if let Some(stack) = strand.stack {
                // SAFETY: nobody is on it.
                unsafe { worker.put_stack(stack) };
            }
        }
        self.settle();
    }

    /// True if the task here has started another run, whose tasks are running now. The caller is on it, or on top of it.
    pub fn is_covered(&self) -> bool {
        self.stack.is_some() && !self.can_be_left()
    }

    /// (One that is in a section has nothing above: `section::begin` has shed it, and no child comes there.)
    pub fn cover(&self, covered: bool) {
        self.fixed.set(covered);
        self.settle();
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

    /// Sets `reach`: `fixed` or `above` has changed.
    #[inline(always)]
    fn settle(&self) {
        let is_bare = !self.fixed.get() && self.above.get().is_null();
        self.reach.set(if is_bare { self.room } else { 0 });
    }

    /// True if its task can be set aside. The caller is on it, or on top of it.
    #[inline]
    pub fn can_be_left(&self) -> bool {
        self.is_bare_here() || self.can_be_left_slowly()
    }

    /// The same; if so, it has nothing above afterwards.
    #[inline(always)]
    fn prepare_to_leave(&self) -> bool {
        self.is_bare_here() || self.prepare_to_leave_slowly()
    }

    /// True if it can be left and has nothing above, where the caller is on its stack.
    #[inline(always)]
    fn is_bare_here(&self) -> bool {
        thread::depth_below(ptr::from_ref(self).addr()) < self.reach.get()
    }

    #[cold]
    #[inline(never)]
    fn prepare_to_leave_slowly(&self) -> bool {
        self.shed();
        self.can_be_left_slowly()
    }

    /// The caller may be on another stack than the strand's. One of the program's own goes with the task that is on it.
    /// One of another copy of this library does not: its thread occupies that copy's worker.
    #[cold]
    #[inline(never)]
    fn can_be_left_slowly(&self) -> bool {
        let is_here = thread::depth_below(ptr::from_ref(self).addr()) < self.room;
        !self.fixed.get() && (is_here || !frontier::inside_another_copy())
    }

    /// True if its loop can be left for good, where that is at hand: the thread's own stack goes on at `base`, after the
    /// run, and keeps nothing for a loop that has no task in hand.
    fn loop_can_be_left(&self) -> bool {
        self.can_be_left() || self.stack.is_none() && self.nested.get() == 0
    }

    /// True if this address lies in frames that have returned, and that were of tasks which were called from where the
    /// caller is called now. It is called by the loop, or on top of a task, before the next task is.
    ///
    /// The caller's own frame may cover the address: so it is compared with `floor`. Where the stack ends is known of the
    /// strand's. Of a thread's own, and of the program's own where a task helps there, a page below the caller is looked
    /// at: more than that a task needs in any case.
    #[inline(always)]
    pub fn is_behind(&self, address: *const c_void) -> bool {
        let floor = self.floor.get();
        address.addr() < floor && self.is_behind_on(floor, address.addr())
    }

    #[cold]
    #[inline(never)]
    fn is_behind_on(&self, floor: usize, address: usize) -> bool {
        const PAGE: usize = 4096;
        let here = thread::stack_pointer();
        let own = self.stack.filter(|stack| (stack.low()..floor).contains(&here));
        address >= own.map_or(here - PAGE, Stack::low)
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
        let awaited = NonNull::from(awaited);
        // SAFETY: only the lifetime changes: it is forgotten before this returns.
        let waits =
            unsafe { mem::transmute::<NonNull<dyn Awaited + '_>, NonNull<dyn Awaited>>(awaited) };
        let outer = self.awaited.replace(Some(waits));
        // SAFETY: the row of the run; passed on.
        self.on_top(|| unsafe { (self.place().row().help)(self, waits.as_ref()) });
        self.awaited.set(outer);
    }

    /// True if a task here has started the run of `worker`, the calling thread's innermost, and no other task of the run
    /// here lies on top of that task.
    pub fn is_right_below(&self, worker: &Worker) -> bool {
        ptr::eq(worker.outer.get(), self.worker.get())
            && worker.ground().nested_below.get() == self.nested.get()
    }

    /// Does work of other tasks in the middle of one.
    #[cold]
    #[inline(never)] // its frame is guarded
    fn on_top(&self, work: impl FnOnce()) {
        let (handled, float) = (exceptions::take(), FloatControl::get()); // they are not the others'
        let group = self.group.replace(ptr::null());
        self.place().float.get().set();
        self.nested.set(self.nested.get() + 1);
        let floor = self.floor.replace(thread::stack_pointer());
        frontier::guarded::<frontier::Task, _>(|| section::beneath(self, work));
        self.floor.set(floor);
        self.nested.set(self.nested.get() - 1);
        self.group.set(group);
        float.set();
        handled.put();
    }
}
