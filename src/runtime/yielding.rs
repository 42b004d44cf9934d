//! A task yields: it is queued behind all others, and the worker runs the next task in line. If
//! that task is a continuation, the worker switches directly from one stack to the other. A task
//! that has not begun gets a new stack.
//!
//! # The line
//!
//! "Behind all others" is the end of the injector. But if the worker's own queue is first in, first
//! out even for its owner (`Policy::LINES_UP`), a task that yields goes to the end of that queue.
//! Tokio and the fiber scheduler whose benchmarks are in `bench_c` (`fiber.h`) do the same: in
//! both, a worker runs the tasks of its own queue, and looks at the injector after every 61 tasks.
//! This library differs from both in three points:
//!
//! - One in [`YIELDS_PER_LOOK`] yields of each task also looks at the injector. Otherwise a task in
//!   the injector could wait for its first turn while another task has 61 turns. The aim is that no
//!   two tasks are ever more than ten turns apart. With n tasks in the worker's queue and m in the
//!   injector, the last of the m waits for log2(1 + m/n), rounded up, times `YIELDS_PER_LOOK` turns
//!   of the first task.
//! - The worker takes the next task before it queues the yielding task. So it never takes the
//!   yielding task again at once, but looks elsewhere, and then has two tasks in its queue.
//! - If the worker's queue is full, the yielding task itself goes to the injector. It has taken
//!   another task from there, so both queues keep their lengths, and each task has its
//!   `YIELDS_PER_LOOK` turns in the worker's queue before it goes behind all others. The fiber
//!   scheduler and Tokio move the oldest half of the queue to the injector instead; each time, some
//!   tasks of this half have had one turn more than the others.
//!
//! With `SCHED_OVERFLOW=refuse` a task that yields always goes behind all others. If as many tasks
//! as the queue holds yielded there and spawned again, they would refuse each other forever.

use crate::fiber::sanitizers;
use crate::policy::{Awaited, LookFirst, LoopStack, Place, TICK};
use crate::runtime::record::{Fiber, Worker};
use crate::runtime::suspend::{
    HandedOver, continuation_of, leave_fiber, leave_for_continuation, leave_for_new_loop,
};
use crate::sys::time;
use std::cell::Cell;

/// One in this many yields of each task looks at the injector: see above.
const YIELDS_PER_LOOK: u32 = 4;

/// Queues the calling task behind the others: see `sched_task_yield`.
pub fn yield_now(worker: &Worker) {
    let Some(mine) = worker.mine() else { return time::give_way() };
    let fiber = mine.fiber();
    if !fiber.prepare_to_leave() {
        if mine.is_visitor() {
            return mine.sleep_as_guest(time::give_way); // it runs no other tasks
        }
        // The fiber cannot be left: another task runs on top of the caller's.
        // SAFETY: the caller is a task on the fiber.
        return unsafe { fiber.help(&OneTask(Cell::new(false))) };
    }
    let lines_up = mine.row().lines_up;
    // The exchange keeps a queue locked across the switch. TSan takes each stack for a thread, and
    // requires that a thread unlocks what it has locked.
    let exchanges = !lines_up && !sanitizers::stacks_are_threads();
    let exchanged = if exchanges { mine.operations().begin_exchange() } else { None };
    if let Some(task) = exchanged {
        let publish = move |task| {
            mine.operations().end_exchange(task); // the calling thread still occupies `mine`
            true
        };
        // SAFETY: the caller is a task on the fiber, which can be left; the other is published.
        return unsafe {
            let next = continuation_of(task).unwrap_unchecked();
            leave_for_continuation(fiber, next, &mut HandedOver::new(fiber, publish))
        };
    }
    // Without `LINES_UP`, the rare look finds tasks that a computing worker keeps to itself: see
    // `Policy::next_in_line`.
    let outside = fiber.is_nth_yield(if lines_up { YIELDS_PER_LOOK } else { TICK });
    let next = fiber.next_in_line(if outside { LookFirst::Outside } else { LookFirst::AtHome });
    if next.is_none() {
        return;
    }
    let publish = move |task| {
        mine.line_up(task);
        true
    };
    // SAFETY: the caller is a task on the fiber, which can be left.
    let left = unsafe { leave_fiber(fiber, next, publish, leave_for_new_loop) };
    if left.is_err() {
        // There is no stack: the next task runs on top of the caller's.
        fiber.work_on_top(|| next.into_iter().for_each(|task| fiber.run(task)));
    }
}

/// Runs one task of the fiber's run on top of the caller's task. False if there is none.
///
/// # Safety
/// The calling thread occupies the fiber's worker, and the caller is on the fiber, or on top of it.
pub unsafe fn help_once(fiber: &Fiber) -> bool {
    let tasks = || fiber.place().counters().values().tasks;
    let before = tasks();
    // SAFETY: the caller is a task on the fiber, or on top of it.
    unsafe { fiber.help(&OneTask(Cell::new(false))) };
    tasks() != before
}

/// A wait that is over at the second look, when one task has run or none was found.
struct OneTask(Cell<bool>);

impl Awaited for OneTask {
    fn over(&self) -> bool {
        self.0.replace(true)
    }

    fn enlist(&self) -> bool {
        false
    }
}
