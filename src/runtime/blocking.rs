//! Blocking sections: a task is about to block, and its worker gets another thread.
//!
//! # States
//!
//! ```text
//! begin           thread T, on fiber S, leaves worker W       W: vacant
//!                 T calls a relief U, unless one is coming
//! in the section  T is on S, and occupies no worker           S: its task blocks T
//! end, case 1     U has not come: T takes W back              W: occupied by T
//!                 if U comes later, it watches W or goes
//! end, case 2     another thread has W, but a worker X is     X: occupied by T
//!                 vacant: T takes X
//! end, case 3     another thread has W, and no worker is      W: occupied by U
//!                 vacant: T leaves S for its own stack;       S: a continuation in the
//!                 there T publishes the continuation of S,       line of ended sections
//!                 and retires; some worker resumes S
//! ```
//! One word of the worker decides which thread has W: see `threads::handoff`, which also says why a
//! relief that is not needed may stay for a while.
//!
//! Go hands over in the same way around a blocking system call (its runtime's proc.go: `handoffp`
//! gives the processor to another thread; after the call `exitsyscall0` puts the goroutine into the
//! global queue, and its thread stops), and Tokio in `block_in_place`. All three keep the number of
//! threads that run tasks constant, while blocked threads come and go.
//!
//! A section is recorded in its fiber (`record::Section`), and the thread knows its innermost
//! section (`identity::INNERMOST_SECTION`), as it knows its innermost worker. Sections nest across
//! runs: a task in a section may start a run, whose tasks may have sections. A fiber is *covered*
//! while tasks that do not belong to its section run on top of its task: tasks of a run that the
//! task has started, or tasks that its thread runs while it helps in that run.
//!
//! # The line
//!
//! Tasks whose section has ended and which have no worker stand in one line, first in, first out
//! ([`queue::ended`](crate::queue::ended)). In cases 1 and 2, T also checks the line. If tasks
//! stand there, S goes to the end of the line, and T continues the first of them. So tasks are
//! served in the order in which their sections have ended, even beside tasks that begin and end
//! sections without ever blocking. This costs two switches of stacks; no thread is woken or put to
//! sleep. (Rejected: a task keeps its worker from section to section. Of 100 connections of an echo
//! server the slowest then got 80 answers in the time in which the mean was 900 answers.)
//!
//! A relief also begins with the first task in the line. The line does not starve other tasks:
//! after `TICK` tasks of the line have continued at a worker in this way, one of the worker's own
//! tasks is next, and `queue::ended` has a similar rule for the other tasks in the common queue.
//!
//! The order of the line is the order in which threads take the queue's lock as their sections end.
//! A task that gives way takes the first task out of the line before it joins the line itself, so a
//! section that ends between these two steps precedes it.
//!
//! # Why nothing is lost
//!
//! *A worker has one occupant.* T has left W before W becomes vacant, and the handoff word releases
//! T's writes. T then does not touch the owner's fields of W until it has taken W back: its spawns
//! go through the injector, and where it waits, its thread sleeps.
//!
//! *The run stays open.* The task on S is counted (`Policy::hold`) from before T leaves W until the
//! task continues. A vacant W counts as active, and U arrives as an active worker. So W is never
//! idle with tasks in its queue.
//!
//! *A vacant worker gets a thread.* T calls U, or U was called before and has not gone yet.
//!
//! *T may take another worker than W.* `HostStack`, the record of T's own stack (in the frame of
//! `host`), is not a part of a worker. It notes which worker T occupies, for the end of the run.
//!
//! *S is complete before it is published*, since T has left S by then: see `runtime::host`.
//!
//! *The end of the run waits for T.* As soon as S is published, its task may continue and end, and
//! the run may end with it, while T is still inside `requeue`, which uses the run's queues. The
//! queues are freed only when all jobs of the run's threads are done, and T runs one of these jobs.
//! If T is instead the thread that has started the run, T itself frees the queues, after it has
//! waited for the announcement of the end, which comes from the new thread of worker 0.
//!
//! *U may come after the run has ended.* It then finds that W is not vacant. The end of the run
//! also waits for the job of U, and cuts U's watch of W short.
//!
//! *T is reused.* After its job it is a spare thread of the run: see `threads::cache::relief`.
//!
//! # A section that was not ended
//!
//! A task may return without having ended its section. Its thread then returns to the loop of a
//! worker that it has left. `begin` sets the countdown of the fiber to 1, so the next tick finds
//! the open section, and tasks without a section pay nothing for this check. A function that
//! returns to anything but the loop checks the depth of the section instead.

use crate::policy::{LookFirst, Place};
use crate::runtime::identity::{self, Mine, count_section, enter_section, leave_section};
use crate::runtime::life;
use crate::runtime::record::{Fiber, Worker};
use crate::runtime::suspend;
use crate::stats::Phase;
use crate::sys::atomic::{AtomicBool, Ordering};
use crate::sys::errno;
use crate::sys::errno::Errno;
use crate::sys::memory::NoMemory;
use crate::sys::output;
use crate::threads::cache::{Job, NoRelief};
use std::ptr;

/// Begins a section of the calling task, or a section nested in it. Does nothing if the caller is
/// not a task of the run of `worker`, or if another run lies on top of that task. Fails if no
/// thread can take the worker's place.
pub fn begin(worker: &Worker) -> Result<(), Errno> {
    let Some(fiber) =
        identity::section_in_run_of(worker).or_else(|| worker.mine().map(Mine::fiber))
    else {
        return Ok(());
    };
    let depth = &fiber.section.depth;
    if fiber.is_covered() {
        return Ok(());
    }
    if depth.get() == 0 {
        let worker = fiber.worker();
        if fiber.is_of_guest() {
            leave_place(fiber);
        } else if worker.row().has_threads {
            hand_over_worker(fiber)?;
        } else {
            worker.begin_phase(Phase::Blocked);
        }
    }
    depth.set(depth.get() + 1);
    Ok(())
}

/// Ends the section that was begun last. Fails if there is none.
pub fn end(worker: &Worker) -> Result<(), Errno> {
    let section = identity::section_in_run_of(worker);
    let Some(fiber) = section.or_else(|| worker.mine().map(Mine::fiber)) else {
        return Ok(());
    };
    if fiber.is_covered() {
        return Ok(());
    }
    let depth = &fiber.section.depth;
    depth.set(depth.get().checked_sub(1).ok_or(Errno(libc::EPERM))?);
    if depth.get() == 0 {
        match section {
            Some(_) => resume_task(fiber),
            None => fiber.worker().begin_phase(Phase::Busy),
        }
    }
    Ok(())
}

/// The part of `begin` for a guest: its thread leaves its record, so that no other task runs on top
/// of the section, but no relief takes the record over.
#[cold]
fn leave_place(fiber: &Fiber) {
    // SAFETY: the caller is on the fiber, or on top of it.
    let mine = unsafe { fiber.mine() };
    mine.sleep_as_guest(|| ()); // its tasks are within reach of the workers from now on
    leave_worker(mine);
    count_section(1);
}

/// Makes the calling thread leave its worker for the section of the task on its fiber.
fn leave_worker(mine: Mine) {
    let (worker, fiber) = (mine.worker(), mine.fiber());
    fiber.section.host_stack.set(mine.host_stack());
    worker.tell_section(fiber);
    worker.vacate();
    enter_section(fiber);
}

/// Hands the fiber's worker, which the calling thread occupies, to another thread.
#[inline(never)]
fn hand_over_worker(fiber: &Fiber) -> Result<(), Errno> {
    const NOBODY: Errno = Errno(libc::EAGAIN);
    if !fiber.can_be_left() {
        return Err(NOBODY);
    }
    let errno = errno::get();
    // SAFETY: the caller is on the fiber, or on top of it.
    let mine = unsafe { fiber.mine() };
    // The end of the section cannot fail, and may have to queue the task.
    mine.reserve(1).map_err(|NoMemory| NOBODY)?;
    mine.hold();
    fiber.force_tick(); // also gives the fibers of future children back
    let worker = mine.worker();
    leave_worker(mine);
    match worker.relieve() {
        Ok(handoff_word) => fiber.section.handoff_word.set(handoff_word),
        Err(why) => {
            reoccupy(fiber, fiber.worker());
            // SAFETY: the calling thread has occupied the fiber's worker just now.
            end_hold(unsafe { fiber.mine() });
            if why == NoRelief::AtLimit {
                report_limit(fiber.worker());
            }
            return Err(NOBODY);
        }
    }
    count_section(1);
    errno::set(Errno(errno));
    Ok(())
}

/// Reports, once per process, that a section was refused because of the limit. Many programs ignore
/// the refusal, and then a task that blocks blocks its worker.
#[cold]
fn report_limit(worker: &Worker) {
    #[unsafe(link_section = "sched_words")]
    static REPORTED: AtomicBool = AtomicBool::new(false);
    // Relaxed: only counts.
    if !REPORTED.swap(true, Ordering::Relaxed) {
        // SAFETY: the calling thread occupies the worker, so the run has not ended.
        let most = unsafe { (*worker.run.get()).threads.terms().most_reliefs() };
        output::say(format_args!(
            "sched_block_begin fails with EAGAIN: SCHED_BLOCKING={most} blocking sections are open; \
             tasks that block without a section block their workers"
        ));
    }
}

/// Makes the calling thread, which is on the fiber, the occupant of a worker that nobody has.
fn reoccupy(fiber: &Fiber, worker: &'static Worker) {
    leave_section(fiber);
    worker.occupy();
    let host_stack = fiber.section.host_stack.get();
    worker.host_stack.set(host_stack);
    // SAFETY: the record lies on the calling thread's own stack until the thread leaves its worker.
    unsafe { &*host_stack }.worker.set(Some(worker));
    if !ptr::eq(fiber.worker(), worker) {
        fiber.move_to(worker);
    }
    fiber.make_current(worker);
    worker.tell_return_from_section(fiber);
}

/// Claims a vacant worker of the fiber's run for the calling thread. None means that no worker is
/// vacant.
fn claim_vacant(fiber: &Fiber) -> Option<&'static Worker> {
    // SAFETY: the fiber's task is counted (`hold`), so the run has not ended.
    let run = unsafe { &*fiber.worker().run.get() };
    let own = fiber.worker().index().min(run.workers()); // a relief's place is behind the workers
    let mut workers = (own..run.workers()).chain(0..own).map(|index| run.worker(index));
    workers.find(|worker| worker.handoff.claim())
}

/// Called when a task whose section has ended has a worker. If tasks whose sections ended earlier
/// stand in line, or an urgent task waits, this task joins the line, and the first one continues.
fn give_way(fiber: &Fiber) {
    // SAFETY: the calling thread occupies the worker.
    let mine = unsafe { fiber.mine() };
    if !mine.operations().has_first() {
        return;
    }
    let first = if mine.own_turn() { LookFirst::AtHome } else { LookFirst::Outside };
    if let Some(next) = mine.operations().next_in_line(first) {
        // SAFETY: the fiber could be left when the section began.
        unsafe { suspend::stand_in_line(fiber, next) };
    }
}

/// Undoes `hold` and the reservation of `hand_over_worker`, since the task continues.
fn end_hold(mine: Mine) {
    mine.let_go();
    let _ = mine.reserve(-1); // to reserve fewer cannot fail
}

/// Continues the task: at once, if a worker is free for its thread and no other task precedes it;
/// otherwise on any worker, when its turn has come.
#[inline(never)]
fn resume_task(fiber: &Fiber) {
    let errno = errno::get();
    count_section(-1);
    let own = fiber.worker();
    if fiber.is_of_guest() {
        reoccupy(fiber, own);
        return restore_errno(errno);
    }
    let is_back = own.handoff.come_back(fiber.section.handoff_word.get());
    match if is_back { Some(own) } else { claim_vacant(fiber) } {
        Some(worker) => {
            reoccupy(fiber, worker);
            give_way(fiber);
        }
        None => {
            leave_section(fiber);
            fiber.tell_end_of_section();
            // SAFETY: the fiber could be left when the section began, and its host stack is this
            // thread's; the task is counted (`hold`), so the run has not ended.
            unsafe { suspend::retire(fiber, &*fiber.section.host_stack.get()) };
        }
    }
    // SAFETY: the task continues on the worker that its fiber has now.
    end_hold(unsafe { fiber.mine() });
    restore_errno(errno);
}

/// Sets errno on the thread on which the task continues.
#[inline(never)] // so that the address of errno is computed on the new thread
fn restore_errno(errno: i32) {
    errno::set(Errno(errno));
}

impl Worker {
    /// Calls another thread to this worker, which the calling thread has just left in the middle of
    /// a task. Returns the word for `come_back`. On an error no thread is available, and the worker
    /// is the caller's again. The run must not end during the call.
    fn relieve(&self) -> Result<usize, NoRelief> {
        let (handoff_word, calls) = self.handoff.leave();
        let called = if calls { self.call_relief() } else { Ok(()) };
        match called {
            Err(why) if self.handoff.nobody_comes() => Err(why),
            _ => Ok(handoff_word),
        }
    }

    /// Asks for a relief: see `RunThreads::relieve`. The caller has left this worker.
    fn call_relief(&self) -> Result<(), NoRelief> {
        let job = Job { main: life::run_relief, arg: ptr::from_ref(self).cast() };
        // SAFETY: the calling thread's task holds the run open.
        unsafe { (*self.run.get()).threads.relieve(job, self.index()) }
    }
}
