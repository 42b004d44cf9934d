//! Blocking sections: a task tells that it is about to block, and its worker gets another thread.
//!
//! # States
//!
//! ```text
//! begin           thread T, on strand S, leaves worker W     W: vacant
//!                 and calls a relief U, if none is coming
//! in the section  T is on S and no worker of the run         S: S's task blocks on T
//! end             T takes W back, if U has not come          W: T's; U goes, or watches W
//!
//!                 or U has come to W, with a new strand      W: U's
//!                 T leaves S for its own stack; there it     S: a continuation in the
//!                 publishes what is left of S, and retires      queue of all workers
//!                 some worker takes that out, and goes on
//! ```
//! Which of the two has W is decided by a word of the worker's: `base::vacancy`, with the reason why a relief
//! that is not needed may stay for a while.
//!
//! It is what Go does around a system call that blocks (its runtime's proc.go: `handoffp` gives the
//! processor's place to another thread; after the call `exitsyscall0` queues the goroutine globally, and
//! its thread stops). Tokio's `block_in_place` hands over in the same way. Both, and we, keep the number
//! of threads that run tasks as it is, while those that block come and go.
//!
//! The section is noted on its strand ([`Section`]), and the thread knows the innermost of its own
//! (`INNERMOST`), as it does its innermost worker: a task in a section may start a run, whose tasks may
//! have sections. Where another run lies on top, or another task in a run that a task on this
//! stack has started, the strand is *covered*: such a task is in no section.
//!
//! # Why nothing is lost
//!
//! *W has one occupant.* T has left before W is vacant, and what T wrote is released by that. T
//! does not touch what is the owner's of W any more, unless it has taken W back: its spawns go through the
//! injector, its waits are a foreign thread's.
//!
//! *The run goes on.* S's task is counted (`Kind::hold`) from before W is left until it goes on. While W
//! is vacant it counts as active, and U comes as an active worker, so W is never idle with tasks in its queue.
//!
//! *A vacant worker gets a thread*: U is called, or was before and has not gone yet.
//!
//! *S is complete before it is published*, since T has left it: `strand`, the classic race.
//!
//! *The run's end waits for T.* As soon as S is published it may go on, end, and with it the run; T
//! may be in the middle of `requeue`, which uses the run's queues. They are gone only when all jobs of
//! the crew are done, and T's is one; or T has started the run, and frees them itself, after it has
//! waited for the announcement of the end: worker 0 is another thread's by then.
//!
//! *U may come when the run has ended*, and finds that W is not vacant: the run's end waits for its job, too, and
//! cuts its watch short.
//!
//! *T is found again.* When its job is done it is a spare thread of the crew's: `base::crew::relief`.
//!
//! # A section that was not ended
//!
//! Its thread comes back to a loop whose worker it has left. The strand's countdown was set to 1 at
//! `begin`, so the next tick finds the section open, at no cost for tasks without; what returns
//! elsewhere looks at the depth.

use super::strand::{self, Ground, Strand};
use super::worker::Worker;
use super::{Place, Seat};
use crate::base::config;
use crate::base::process::Own;
use crate::base::sync::{AtomicUsize, Ordering};
use crate::base::{Errno, io, thread};
use std::cell::Cell;

/// What a strand knows of its task's section.
#[derive(Default)]
pub struct Section {
    /// How many are open, each within the one before; 0: none.
    depth: Cell<u32>,
    /// What the thread needs to come back to its worker.
    left: Cell<usize>,
    /// The thread's own stack.
    ground: Cell<*const Ground>,
    /// The thread's next outer section, in another run.
    outer: Cell<*const Strand>,
}

impl Section {
    #[inline(always)]
    pub fn is_open(&self) -> bool {
        self.depth.get() > 0
    }
}

thread_local! {
    /// The innermost section for which this thread has left a worker; the others by `outer`.
    static INNERMOST: Own<Strand> = const { Own::null() };
}

/// Sections in the process for which a worker was left.
static OPEN: AtomicUsize = AtomicUsize::new(0);

/// `here`, for a signal handler: nothing thread-local is touched if no thread is in a section.
pub fn here_in_handler<'a>() -> Option<&'a Strand> {
    if OPEN.load(Ordering::Relaxed) > 0 { here() } else { None }
}

/// The strand of the innermost section that the calling thread has left a worker for.
#[cold]
#[inline(never)] // so that nothing thread-local is remembered where a task waits
pub fn innermost<'a>() -> Option<&'a Strand> {
    // SAFETY: it lives until its section has ended.
    unsafe { INNERMOST.with(Own::get).as_ref() }
}

/// The caller's, if its task is in a section for which a worker was left.
fn open<'a>() -> Option<&'a Strand> {
    innermost().filter(|strand| !strand.is_covered())
}

/// The same, if that is a section of the run of `worker`.
pub fn of(worker: &Worker) -> Option<&Strand> {
    open().filter(|strand| strand.worker().run_id() == worker.run_id())
}

/// True if the caller, or a task beneath it on this thread, is in such a section of the run of `worker`.
pub fn lies_below(worker: &Worker) -> bool {
    any_here(|strand| strand.worker().run_id() == worker.run_id())
}

/// True if `is` is so of the strand of a section for which the calling thread has left a worker.
pub fn any_here(is: impl FnMut(&Strand) -> bool) -> bool {
    // SAFETY: as in `innermost`.
    let outer = |strand: &&Strand| unsafe { strand.section.outer.get().as_ref() };
    std::iter::successors(innermost(), outer).any(is)
}

/// A worker of the run that the caller is a task of, if it is a task; of the innermost such run.
pub fn task<'a>() -> Option<&'a Worker> {
    open().map(Strand::worker).or_else(Worker::current)
}

/// The strand of the caller's task, if its thread occupies that task's worker and no other, and has left none.
pub fn alone<'a>() -> Option<&'a Strand> {
    let mine = Worker::current().filter(|worker| worker.outer.get().is_null())?;
    innermost().is_none().then(|| mine.strand())
}

/// The strand that the caller's task is on, if it is one.
pub fn here<'a>() -> Option<&'a Strand> {
    open().or_else(|| Worker::current().map(Worker::strand))
}

/// The process is a child made by fork.
pub fn forget() {
    OPEN.store(0, Ordering::Relaxed);
}

/// Begins a section of the calling task, or one within it. Where `worker` is of a run that the caller is
/// no worker of, or not directly, there is nothing to do. An error if nobody can take the worker's place.
pub fn begin(worker: &Worker) -> Result<(), Errno> {
    let Some(strand) = of(worker).or_else(|| worker.mine().map(Worker::strand)) else {
        return Ok(());
    };
    let depth = &strand.section.depth;
    if strand.is_covered() {
        return Ok(());
    }
    if depth.get() == 0 && strand.worker().row().kind != config::Kind::Serial {
        hand_over(strand)?;
    }
    depth.set(depth.get() + 1);
    Ok(())
}

/// Ends the section that was begun last. An error if there is none.
pub fn end(worker: &Worker) -> Result<(), Errno> {
    let left = of(worker);
    let Some(strand) = left.or_else(|| worker.mine().map(Worker::strand)) else {
        return Ok(());
    };
    if strand.is_covered() {
        return Ok(());
    }
    let depth = &strand.section.depth;
    depth.set(depth.get().checked_sub(1).ok_or(Errno(libc::EPERM))?);
    if depth.get() == 0 && left.is_some() {
        come_back(strand);
    }
    Ok(())
}

/// The worker of the strand, which is the calling thread's, gets another.
#[inline(never)]
fn hand_over(strand: &Strand) -> Result<(), Errno> {
    const NOBODY: Errno = Errno(libc::EAGAIN);
    if !strand.can_be_left() {
        return Err(NOBODY);
    }
    let errno = thread::errno();
    let worker = strand.worker();
    worker.hold();
    strand.hasten(); // which sheds what is above
    strand.section.ground.set(worker.ground());
    worker.vacate();
    strand.section.outer.set(INNERMOST.with(|innermost| innermost.replace(strand)));
    let Some(left) = worker.relieve() else {
        stay(strand);
        return Err(NOBODY);
    };
    strand.section.left.set(left);
    OPEN.fetch_add(1, Ordering::Relaxed);
    thread::set_errno(Errno(errno));
    Ok(())
}

/// Nobody has come to the worker of the strand: it is the calling thread's again.
fn stay(strand: &Strand) {
    let worker = strand.worker();
    INNERMOST.with(|innermost| innermost.set(strand.section.outer.get()));
    worker.occupy();
    strand.go_on_with(worker);
    worker.let_go();
}

/// The task goes on: at once, if nobody has come to its worker; else on some worker, when its turn has come.
#[inline(never)]
fn come_back(strand: &Strand) {
    OPEN.fetch_sub(1, Ordering::Relaxed);
    if strand.worker().come_back(strand.section.left.get()) {
        return stay(strand);
    }
    let errno = thread::errno();
    INNERMOST.with(|innermost| innermost.set(strand.section.outer.get()));
    // SAFETY: it could be left when the section began; the task is counted until it goes on.
    unsafe { strand::retire(strand, &*strand.section.ground.get()) };
    strand.worker().let_go();
    restore(errno);
}

/// Sets the errno of the thread that the task has come to.
#[inline(never)] // so that nothing thread-local is remembered from before
fn restore(errno: i32) {
    thread::set_errno(Errno(errno));
}

/// Does work of other tasks on top of the calling thread's innermost section, if there is one, and on
/// top of `strand`'s task: they are not in its section.
pub fn beneath(strand: &Strand, work: impl FnOnce()) {
    let depth = strand.section.depth.replace(0);
    let innermost = innermost().filter(|innermost| !innermost.is_covered());
    innermost.inspect(|innermost| innermost.cover(true));
    work();
    // The thread is the same: the strand on top of a section cannot be left.
    innermost.inspect(|innermost| innermost.cover(false));
    strand.section.depth.set(depth);
}

/// A task has returned to its loop.
#[inline]
pub fn check_closed(strand: &Strand) {
    if strand.section.is_open() {
        returned(strand);
    }
}

#[cold]
fn returned(strand: &Strand) -> ! {
    if innermost().is_none() {
        strand.place().stay(); // no message of ours in a child that it made by fork
    }
    not_ended();
}

/// A task has returned, and its thread occupies no worker: dies, if that is for a section.
#[cold]
pub fn check_left() {
    if open().is_some() {
        not_ended();
    }
}

#[cold]
fn not_ended() -> ! {
    io::die(format_args!("a task returned in a blocking section: a sched_block_end is missing"))
}
