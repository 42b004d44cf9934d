//! Blocking sections: a task tells that it is about to block, and its worker gets another thread.
//!
//! # States
//!
//! ```text
//! begin           thread T, on fiber S, leaves worker W     W: vacant
//!                 and calls a relief U, if none is coming
//! in the section  T is on S and no worker of the run         S: S's task blocks on T
//! end             T takes W back, if U has not come          W: T's; U goes, or watches W
//!
//!                 or U has come to W, with a new fiber      W: U's
//!                 T leaves S for its own stack; there it     S: a continuation in the
//!                 publishes what is left of S, and retires      queue of all workers
//!                 some worker takes that out, and goes on
//! ```
//! Which of the two has W is decided by a word of the worker's: `threads::handoff`, with the reason why a relief
//! that is not needed may stay for a while.
//!
//! It is what Go does around a system call that blocks (its runtime's proc.go: `handoffp` gives the
//! processor's place to another thread; after the call `exitsyscall0` queues the goroutine globally, and
//! its thread stops). Tokio's `block_in_place` hands over in the same way. Both, and we, keep the number
//! of threads that run tasks as it is, while those that block come and go.
//!
//! The section is noted on its fiber ([`Section`]), and the thread knows the innermost of its own
//! (`INNERMOST`), as it does its innermost worker: a task in a section may start a run, whose tasks may
//! have sections. Where another run lies on top, or another task in a run that a task on this
//! stack has started, the fiber is *covered*: such a task is in no section.
//!
//! # Why nothing is lost
//!
//! *W has one occupant.* T has left before W is vacant, and what T wrote is released by that. T
//! does not touch what is the owner's of W any more, unless it has taken W back: its spawns go through the
//! injector, its waits are a foreign thread's.
//!
//! *The run goes on.* S's task is counted (`Policy::hold`) from before W is left until it goes on. While W
//! is vacant it counts as active, and U comes as an active worker, so W is never idle with tasks in its queue.
//!
//! *A vacant worker gets a thread*: U is called, or was before and has not gone yet.
//!
//! *S is complete before it is published*, since T has left it: `fiber`, the classic race.
//!
//! *The run's end waits for T.* As soon as S is published it may go on, end, and with it the run; T
//! may be in the middle of `requeue`, which uses the run's queues. They are gone only when all jobs of
//! the run's threads are done, and T's is one; or T has started the run, and frees them itself, after it has
//! waited for the announcement of the end: worker 0 is another thread's by then.
//!
//! *U may come when the run has ended*, and finds that W is not vacant: the run's end waits for its job, too, and
//! cuts its watch short.
//!
//! *T is found again.* When its job is done it is a spare thread of the run's threads': `threads::cache::relief`.
//!
//! # A section that was not ended
//!
//! Its thread comes back to a loop whose worker it has left. The fiber's countdown was set to 1 at
//! `begin`, so the next tick finds the section open, at no cost for tasks without; what returns
//! elsewhere looks at the depth.

use crate::policy::Place;
use crate::runtime::identity::{self, Mine, count_section, enter_section, leave_section};
use crate::runtime::life;
use crate::runtime::record::{Fiber, Worker};
use crate::runtime::suspend;
use crate::sys::errno;
use crate::sys::errno::Errno;
use crate::threads::cache::Job;
use std::ptr;

/// Begins a section of the calling task, or one within it. Where `worker` is of a run that the caller is
/// no worker of, or not directly, there is nothing to do. An error if nobody can take the worker's place.
pub fn begin(worker: &Worker) -> Result<(), Errno> {
    let Some(fiber) = identity::of(worker).or_else(|| worker.mine().map(Mine::fiber)) else {
        return Ok(());
    };
    let depth = &fiber.section.depth;
    if fiber.is_covered() {
        return Ok(());
    }
    if depth.get() == 0 && fiber.worker().row().has_threads {
        hand_over(fiber)?;
    }
    depth.set(depth.get() + 1);
    Ok(())
}

/// Ends the section that was begun last. An error if there is none.
pub fn end(worker: &Worker) -> Result<(), Errno> {
    let left = identity::of(worker);
    let Some(fiber) = left.or_else(|| worker.mine().map(Mine::fiber)) else {
        return Ok(());
    };
    if fiber.is_covered() {
        return Ok(());
    }
    let depth = &fiber.section.depth;
    depth.set(depth.get().checked_sub(1).ok_or(Errno(libc::EPERM))?);
    if depth.get() == 0 && left.is_some() {
        come_back(fiber);
    }
    Ok(())
}

/// The worker of the fiber, which is the calling thread's, gets another.
#[inline(never)]
fn hand_over(fiber: &Fiber) -> Result<(), Errno> {
    const NOBODY: Errno = Errno(libc::EAGAIN);
    if !fiber.can_be_left() {
        return Err(NOBODY);
    }
    let errno = errno::get();
    // SAFETY: by the caller, whose worker it is.
    let mine = unsafe { fiber.mine() };
    mine.hold();
    fiber.hasten(); // which sheds what is above
    fiber.section.host_stack.set(mine.host_stack());
    let worker = mine.worker();
    worker.vacate();
    enter_section(fiber);
    let Some(left) = worker.relieve() else {
        stay(fiber);
        return Err(NOBODY);
    };
    fiber.section.handoff_word.set(left);
    count_section(1);
    errno::set(Errno(errno));
    Ok(())
}

/// Nobody has come to the worker of the fiber: it is the calling thread's again.
fn stay(fiber: &Fiber) {
    let worker = fiber.worker();
    leave_section(fiber);
    worker.occupy();
    fiber.go_on_with(worker);
    // SAFETY: occupied just now.
    unsafe { worker.owned() }.let_go();
}

/// The task goes on: at once, if nobody has come to its worker; else on some worker, when its turn has come.
#[inline(never)]
fn come_back(fiber: &Fiber) {
    count_section(-1);
    if fiber.worker().come_back(fiber.section.handoff_word.get()) {
        return stay(fiber);
    }
    let errno = errno::get();
    leave_section(fiber);
    // SAFETY: it could be left when the section began; the task is counted until it goes on.
    unsafe { suspend::retire(fiber, &*fiber.section.host_stack.get()) };
    // SAFETY: the task goes on, with the worker that its fiber has now.
    unsafe { fiber.mine() }.let_go();
    restore(errno);
}

/// Sets the errno of the thread that the task has come to.
#[inline(never)] // so that nothing thread-local is remembered from before
fn restore(errno: i32) {
    errno::set(Errno(errno));
}

impl Worker {
    /// The calling thread, which has left this place in the middle of a task, gets it another. What is
    /// returned is for `come_back`; None if there is none to be had. The run goes on meanwhile.
    pub fn relieve(&self) -> Option<usize> {
        let (left, calls) = self.handoff.leave();
        if calls && !self.call_relief() {
            self.handoff.nobody_comes();
            return None;
        }
        Some(left)
    }

    /// The calling thread, which has left this place, wants it back. False if it is another's by now.
    pub fn come_back(&self, left: usize) -> bool {
        self.handoff.come_back(left)
    }

    /// Brings this worker, which its thread has left, another thread: see `RunThreads::relieve`. For that thread.
    fn call_relief(&self) -> bool {
        let job = Job { main: life::relief, arg: ptr::from_ref(self).cast() };
        // SAFETY: the run lives until the run has ended, and the thread's task holds the run open.
        unsafe { (*self.run.get()).threads.relieve(job, self.index()) }
    }
}
