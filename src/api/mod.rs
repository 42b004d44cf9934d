//! The interface's features, built from tasks: each file has one idea, and uses the operations of
//! the floor below.
//!
//! | file | what |
//! | --- | --- |
//! | [`fork`] | a task that is waited for by its descriptor, which the caller owns |
//! | [`group`] | any number of tasks, waited for together |
//! | `nodes` | waiting with a node: for groups and for [`sync`] |
//! | [`loops`], [`reduce`] | loops and reductions over a [`range`] of numbers, and their `pace` |
//! | [`relaxed`] | reductions whose parts depend on the course of the run |
//! | [`sort`] | a parallel qsort(3) |
//! | [`names`] | the program's function behind a task |
//! | [`scratch`] | memory for the time of a call |
//! | [`pool`] | a run that stays open |
//! | [`default_pool`] | the pool of the process, and the meaning of NULL in place of an `s` |
//! | [`sync`] | mutex, condition, semaphore and barrier for tasks |
//!
//! # Waiting
//!
//! A task that waits is suspended (`runtime::suspend`): its stack is kept, and its worker goes on
//! with other tasks on another stack. If `SCHED_JOIN` is `help`, or no other stack can be had, the
//! task is not suspended: the worker runs other tasks on top of it, and sleeps if there are none
//! (`Policy::help`). A thread that is not a worker of the run sleeps.
//!
//! A task that waits for its loop or reduction first runs parts of it on top of itself, if other
//! workers have parts that nobody has begun (`Awaited::parts`). Other tasks must not run there:
//! such a task might wait, and delay the waiting task, or want a lock that the waiting task holds.
//! A part may delay the part below it, but not the loop, which ends when all parts have ended. If a
//! part waits for a lock that the caller of the loop holds, the program deadlocks, whichever stack
//! the part runs on. To suspend the task and continue it would take 2 µs more. (A loop of 100 µs
//! whose other worker had to be woken took 73.8 µs on two workers, and takes 69.5.)
//!
//! Each waiter registers itself in the object that it waits for, and is continued or woken through
//! that. A forked task has room for one waiter, which joins it. A group, or an object of [`sync`],
//! has any number of waiters, each with a node of its own (`crate::sync`).
//!
//! The object lies in the program's memory, which the program may free as soon as a waiter sees
//! that the wait is over. So the thread that ends the wait does this by one atomic operation, its
//! last access to that memory, and learns from the old value whom to wake. It may wake a worker
//! that does not wait any more: worker records are never freed. For a thread it passes the address
//! of the object to the kernel, which does not access it: waking no thread, or another thread that
//! sleeps on this address by then, does no harm.

pub mod default_pool;
pub mod fork;
pub mod group;
pub mod loops;
pub mod names;
mod nodes;
mod pace;
pub mod pool;
pub mod range;
pub mod reduce;
pub mod relaxed;
pub mod scratch;
pub mod sort;
pub mod sync;

use crate::policy::{Awaited, Parts, UNAWAITED};
use crate::runtime::identity::Mine;
use crate::runtime::record::Fiber;
use crate::runtime::record::Worker;
use crate::runtime::wait_note::WaitsFor;
use crate::runtime::waiter::Waiter;
use crate::runtime::{identity, suspend, waiter, yielding};
use crate::settings::Join;
use crate::sys::atomic::AtomicUsize;
use crate::sys::futex::Futex;
use crate::sys::memory::NoMemory;
use crate::sys::{thread, time};
use crate::task::Task;
use std::time::Duration;

/// How often a task in `wait_nested` looks between two short sleeps. It must look, since nobody
/// wakes it.
const LOOKS_PER_SLEEP: u32 = 4;

/// The longest sleep of a registered thread, in case the kernel refuses futex calls by then.
const MAX_SLEEP: Duration = Duration::from_millis(100);

/// An object to wait for, whose state is one word.
pub trait Latch {
    fn word(&self) -> &AtomicUsize;
    fn is_over(&self) -> bool;

    /// Registers the waiter in the state, in place of the caller's earlier registration. Returns
    /// the new state; when the wait is over, the state changes and the waiter is woken. None: the
    /// wait is over already.
    fn register(&self, waiter: Waiter) -> Option<usize>;

    /// The worker that runs the task whose end is awaited, if it is known.
    fn thief(&self) -> Option<&Worker> {
        None
    }

    /// See [`Awaited::parts`].
    fn parts(&self) -> Parts<'_> {
        None
    }
}

/// A latch as it is seen by a worker that helps.
struct Help<'a, L> {
    latch: &'a L,
    fiber: &'a Fiber,
}

impl<L: Latch> Awaited for Help<'_, L> {
    fn over(&self) -> bool {
        self.latch.is_over()
    }

    fn enlist(&self) -> bool {
        self.latch.register(Waiter::Worker(self.fiber.worker())).is_some()
    }

    fn leave(&self, task: Task) -> bool {
        self.latch.register(Waiter::Task(task.closure)).is_some()
    }

    fn thief(&self) -> Option<usize> {
        let mine = self.fiber.worker();
        if mine.calls_at_once() {
            return None; // unknown: a task that fork has called at once does not note its worker
        }
        self.latch.thief()?.index_in_run_of(mine)
    }

    fn parts(&self) -> Parts<'_> {
        self.latch.parts().filter(|_| self.fiber.has_room_on_top())
    }
}

/// Waits without running other tasks: the calling thread sleeps.
fn sleep_until_over(latch: &impl Latch) {
    let mut sleeping = None;
    let _uncancelled = thread::Uncancelled::begin(); // the object has the thread's name
    while !latch.is_over() {
        if let Some(value) = latch.register(Waiter::Thread) {
            sleeping.get_or_insert_with(waiter::SleepingThread::count);
            <&Futex>::from(latch.word()).wait(value as u32, MAX_SLEEP);
        }
    }
}

/// Waits until the latch is over; an observer is told that the task waits for `what`. `worker` is
/// any worker of the run. If the calling thread is a worker of that run, its task waits there.
/// False if the wait would have no end: the run has ended, or it is a parent process's run, and the
/// latch is not over.
fn wait(latch: &impl Latch, what: WaitsFor, worker: &Worker) -> bool {
    let Some(mine) = worker.mine() else {
        // When the run has ended, all its tasks have ended.
        if worker.has_ended() {
            return latch.is_over();
        }
        wait_outside_run(latch, what);
        return true;
    };
    wait_for_tasks(latch, what, mine.fiber());
    true
}

/// Waits in the middle of a task on this fiber until other tasks have ended. If no task is queued,
/// they will most likely end soon. So the worker waits awake for a while before it suspends its
/// task: a suspended task goes on a microsecond after the end, and often on another worker. (But
/// not if the caller is a task of an inner run: that run may have tasks that only this thread can
/// run, and on which the end may depend. See `wait_nested`.)
fn wait_for_tasks(latch: &impl Latch, what: WaitsFor, fiber: &Fiber) {
    let join = fiber.join();
    note_wait(latch, what, fiber, || {
        if join == Join::Suspend && !fiber.is_covered() {
            // SAFETY: the caller is on the fiber.
            unsafe { fiber.wait_awake(&Help { latch, fiber }) };
        }
        wait_noted(latch, what, fiber, join);
    });
}

/// Waits in the middle of a task on this fiber. The task keeps the fiber, whichever worker
/// continues it. With `Join::Suspend` the task is suspended, if the fiber can be left.
fn wait_in_task(latch: &impl Latch, what: WaitsFor, fiber: &Fiber, join: Join) {
    note_wait(latch, what, fiber, || wait_noted(latch, what, fiber, join));
}

/// Calls `wait`. Meanwhile the fiber has a note of what its task waits for.
fn note_wait(latch: &impl Latch, what: WaitsFor, fiber: &Fiber, wait: impl FnOnce()) {
    fiber.wait.begin(what, latch.word());
    fiber.while_waiting(wait);
    fiber.wait.end();
}

/// The rest of `wait_in_task`: the wait is noted.
#[inline]
fn wait_noted(latch: &impl Latch, what: WaitsFor, fiber: &Fiber, join: Join) {
    while !latch.is_over() {
        let publish = |task: Task| latch.register(Waiter::Task(task.closure)).is_some();
        // SAFETY: the caller is on the fiber, in a task; once `register` has published the task, it
        // returns true and touches nothing of the stack.
        if join == Join::Suspend && unsafe { suspend_task(fiber, publish) } && latch.is_over() {
            break;
        }
        if Worker::current().is_some_and(|mine| fiber.is_right_below(mine)) {
            return wait_nested(latch, what, fiber.worker());
        }
        if fiber.worker().is_guest() {
            return wait_as_guest(latch, fiber);
        }
        // SAFETY: the caller is on the fiber, in a task.
        unsafe { fiber.help(&Help { latch, fiber }) };
    }
}

/// Waits in a guest's call (`runtime::guest`): its thread sleeps.
#[cold]
#[inline(never)]
fn wait_as_guest(latch: &impl Latch, fiber: &Fiber) {
    // SAFETY: the caller is on the fiber.
    unsafe { fiber.mine() }.sleep_as_guest(|| sleep_until_over(latch));
}

/// Waits for a latch of the run of `outer`. The caller is a task of an inner run, which a task of
/// `outer` has started on the same thread. The latch may depend on tasks of either run. The caller
/// runs the tasks of the outer run on top of itself until there are none; then it yields to the
/// tasks of its own run. The tasks of its own run must not run on top of it, since it may hold an
/// object that they wait for. If the caller continues on another thread after a yield, it waits
/// there like any task of its run.
#[cold]
#[inline(never)]
fn wait_nested(latch: &impl Latch, what: WaitsFor, outer: &Worker) {
    let mut looks = 0u32;
    while !latch.is_over() {
        let Some(mine) = Worker::current() else { return sleep_until_over(latch) };
        let below = outer.mine().map(Mine::fiber).filter(|below| below.is_right_below(mine));
        let Some(below) = below else {
            return wait_in_task(latch, what, mine.fiber(), Join::Suspend);
        };
        // The outer run's task lies on the caller's fiber. If it waits by NULL, it waits in the
        // inner run, whose other workers could then continue this fiber, and with it a task that is
        // not of their run. So the fiber is pinned.
        // SAFETY: `outer` is the calling thread's worker, and the caller is on top of its fiber
        // with no other task in between.
        let help = || !below.worker().is_guest() && unsafe { yielding::help_once(below) };
        while !latch.is_over() && mine.fiber().pinned_during(help) {}
        yielding::yield_now(&mine);
        looks += 1;
        if looks.is_multiple_of(LOOKS_PER_SLEEP) {
            time::sleep(UNAWAITED); // nobody wakes it
        }
    }
}

/// Waits as a caller that is not a task of the latch's run. If the caller is a task of another run,
/// and its thread is a worker of that run alone, the task is suspended there. Otherwise the thread
/// sleeps.
fn wait_outside_run(latch: &impl Latch, what: WaitsFor) {
    match identity::lone_fiber() {
        Some(fiber) => wait_in_task(latch, what, fiber, Join::Suspend),
        None => sleep_until_over(latch),
    }
}

/// Suspends the task on the fiber: see `suspend::suspend`. False if there is no other stack.
///
/// # Safety
/// As for `suspend::suspend`.
#[inline]
unsafe fn suspend_task(fiber: &Fiber, publish: impl FnMut(Task) -> bool) -> bool {
    // SAFETY: the caller is on the fiber.
    unsafe { fiber.mine() }.hold(); // the wait may be ended from outside of the run
    // SAFETY: the caller promises what `suspend` demands.
    let left = unsafe { suspend::suspend(fiber, publish) };
    // SAFETY: the task goes on, with the worker that its fiber has now.
    unsafe {
        match left {
            Ok(()) => {
                fiber.mine().let_go();
                true
            }
            Err(NoMemory) => let_go_at_once(fiber),
        }
    }
}

/// The end of a `suspend_task` that could not suspend its caller.
///
/// # Safety
/// The caller is on the fiber.
#[cold]
#[inline(never)]
unsafe fn let_go_at_once(fiber: &Fiber) -> bool {
    // SAFETY: by the caller's promise.
    unsafe { fiber.mine() }.let_go();
    false
}
