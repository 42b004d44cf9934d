//! L5: what C programs build from tasks: each file one idea, over the verbs of the floor below.
//!
//! | file | what |
//! | --- | --- |
//! | [`fork`] | a task whose end one waits for; its descriptor is the caller's |
//! | [`group`] | any number of tasks, waited for together |
//! | [`range`] | loops and reductions over a range of numbers |
//! | [`sort`] | a parallel qsort(3) |
//! | [`scratch`] | memory for the time of a call |
//! | [`pool`] | a run that stays open |
//! | [`sync`] | mutex, condition, semaphore, barrier, for tasks |
//!
//! # Waiting
//!
//! A task that waits is set aside with its stack (`kind::fiber`), and its worker goes on; with
//! `SCHED_JOIN=help`, or where there is no stack to go on with, the worker runs other tasks on top of
//! it, and sleeps if there are none (`Policy::help`). A thread that is no worker of the run sleeps. Each
//! leaves word in what it waits for, to be continued or woken. One can, who joins a task; any number of
//! those who wait for a group, or for what is in [`sync`], each in a node of its own (`crate::sync`).
//!
//! What is waited for lies in the program's memory and may be gone as soon as it is seen to be
//! over. So who ends it does that by one atomic operation, the last on that memory, and learns
//! by it whom to wake. Workers can be woken for no reason: their records are never freed. Another
//! thread sleeps on an address; that is only passed to the kernel, and waking nobody, or somebody
//! else who sleeps there by then, does no harm.

pub mod default_pool;
pub mod fork;
pub mod group;
pub mod pool;
pub mod range;
pub mod scratch;
pub mod sort;
pub mod sync;

use crate::policy::{Awaited, UNAWAITED};
use crate::runtime::identity::Mine;
use crate::runtime::record::Fiber;
use crate::runtime::record::Worker;
use crate::runtime::waiter::Waiter;
use crate::runtime::{identity, suspend, yielding};
use crate::sys::atomic::AtomicUsize;
use crate::sys::futex::Futex;
use crate::sys::time;
use crate::task::Task;
use std::time::Duration;

/// A task in `wait_nested` looks so many times, then sleeps shortly: nobody wakes it.
const LOOKS: u32 = 4;

/// How long a thread sleeps that has left word, in case that futex is refused by then.
const AT_MOST: Duration = Duration::from_millis(100);

/// Something to wait for, whose state is one word.
pub trait Latch {
    fn word(&self) -> &AtomicUsize;
    fn is_over(&self) -> bool;

    /// Leaves word in the state, in place of what the caller has left before. Some(its new value): from now on
    /// the waiter is woken when it is over, and the word changes by then. None: it is over.
    fn leave_word(&self, waiter: Waiter) -> Option<usize>;

    /// The worker that runs the task whose end it is, if it is known.
    fn thief(&self) -> Option<&Worker> {
        None
    }
}

/// A latch, for a worker that helps.
struct Help<'a, L> {
    latch: &'a L,
    fiber: &'a Fiber,
}

impl<L: Latch> Awaited for Help<'_, L> {
    fn over(&self) -> bool {
        self.latch.is_over()
    }

    fn enlist(&self) -> bool {
        self.latch.leave_word(Waiter::Worker(self.fiber.worker())).is_some()
    }

    fn leave(&self, task: Task) -> bool {
        self.latch.leave_word(Waiter::Task(task.closure)).is_some()
    }

    fn thief(&self) -> Option<usize> {
        let mine = self.fiber.worker();
        if mine.calls_at_once() {
            return None; // not known: see `fork`
        }
        self.latch.thief()?.index_in_run_of(mine)
    }
}

/// Waits, without helping, as a thread that is no worker of the run.
fn wait_outside(latch: &impl Latch) {
    while !latch.is_over() {
        if let Some(value) = latch.leave_word(Waiter::Thread) {
            <&Futex>::from(latch.word()).wait(value as u32, AT_MOST);
        }
    }
}

/// Waits until the latch is over, as the calling thread's worker, if it has one; `worker` is any of
/// the run. False if that cannot be: the run was a parent process's.
fn wait(latch: &impl Latch, worker: &Worker) -> bool {
    let Some(mine) = worker.mine() else {
        // With the run, all its tasks have ended.
        if worker.has_ended() {
            return latch.is_over();
        }
        wait_elsewhere(latch);
        return true;
    };
    wait_inside(latch, mine.fiber(), mine.fiber().suspends_joins());
    true
}

/// Waits in the middle of a task on the fiber, which stays the task's, whichever worker comes with it.
/// `leaves` it, if that can be.
fn wait_inside(latch: &impl Latch, fiber: &Fiber, leaves: bool) {
    while !latch.is_over() {
        let publish = |task: Task| latch.leave_word(Waiter::Task(task.closure)).is_some();
        // SAFETY: the caller is on the fiber, in a task; having left word, `leave_word` returns.
        if leaves && unsafe { set_aside(fiber, publish) } && latch.is_over() {
            break;
        }
        if Worker::current().is_some_and(|mine| fiber.is_right_below(mine)) {
            return wait_nested(latch, fiber.worker());
        }
        // SAFETY: the caller is on the fiber, in a task.
        unsafe { fiber.help(&Help { latch, fiber }) };
    }
}

/// Waits for a latch of the run of `outer`. The caller is a task of an inner run, which a task of `outer` has started on
/// the same thread. The latch may depend on tasks of either run. The caller runs the tasks of the outer run on top of
/// itself, until there are none; then it yields to those of its own run. Tasks of its own run must not run on top of it,
/// since it may hold what they wait for. If the caller continues on another thread after a yield, it
/// waits there like any task of its run.
#[cold]
#[inline(never)]
fn wait_nested(latch: &impl Latch, outer: &Worker) {
    let mut looks = 0u32;
    while !latch.is_over() {
        let Some(mine) = Worker::current() else { return wait_outside(latch) };
        let below = outer.mine().map(Mine::fiber).filter(|below| below.is_right_below(mine));
        let Some(below) = below else { return wait_inside(latch, mine.fiber(), true) };
        // SAFETY: the calling thread's; the caller is right on top.
        while !latch.is_over() && unsafe { yielding::help_once(below) } {}
        yielding::yield_now(&mine);
        looks += 1;
        if looks.is_multiple_of(LOOKS) {
            time::sleep(UNAWAITED); // nobody wakes it
        }
    }
}

/// Waits as a thread that is no worker of the latch's run. If the caller is a task of another run, and its thread is a
/// worker of that run alone, the task is set aside there; otherwise the thread sleeps.
fn wait_elsewhere(latch: &impl Latch) {
    match identity::lone_fiber() {
        Some(fiber) => wait_inside(latch, fiber, true),
        None => wait_outside(latch),
    }
}

/// Waits by leaving the fiber: see `fiber::suspend`. False if there is no stack to go on with.
///
/// # Safety
/// As for that.
#[inline]
unsafe fn set_aside(fiber: &Fiber, publish: impl FnMut(Task) -> bool) -> bool {
    // SAFETY: the caller is on the fiber.
    unsafe { fiber.mine() }.hold(); // who ends it may be outside of the run
    // SAFETY: passed on.
    let left = unsafe { suspend::suspend(fiber, publish) };
    // SAFETY: the task goes on, with the worker that its fiber has now.
    unsafe { fiber.mine() }.let_go();
    left.is_ok()
}
