//! A task gives way: it is queued behind all others, and the next in line has its turn.
//!
//! If that was set aside, too, the worker goes straight from one stack to the other; a task that has not begun
//! gets a stack of its own.
//!
//! # In line
//!
//! Behind all others is the end of the injector; where the worker's own queue is first in, first out, for
//! its owner, too (`Policy::LINES_UP`), it is the end of that, as in the fiber scheduler and in Tokio: there a worker
//! with tasks of its own goes on with them, and with one of the injector's once in 61 looks. Here it
//! does the same, and differs in three ways:
//!
//! - Each task looks at the injector at each [`YIELDS_PER_LOOK`]th turn of its own, too. In 61 turns of one task another
//!   could wait for its first; no two are to be more than ten turns apart. With two tasks at home and three in the
//!   injector the last of these waits for twice `YIELDS_PER_LOOK` turns of the first; with n at home and m there, for about
//!   log2(1 + m/n) times as many.
//! - The next is taken before the one that gives way is queued. So a worker never takes that again, but looks
//!   elsewhere for another; it then has two at home.
//! - A task that finds no room at home goes to the injector itself: it has taken another from there, so both
//!   queues stay as long as they were, and each task has its `YIELDS_PER_LOOK` turns at home before it comes behind all
//!   others. The seed of this, and Tokio, move the oldest half of the queue there, some of which had a turn more than
//!   others each time.
//!
//! With `SCHED_OVERFLOW=refuse` it goes behind all others in any case: if as many as the queue may hold gave way at
//! home and then tried again to spawn, they would refuse each other for ever.

use crate::fiber::sanitizers;
use crate::policy::{Awaited, LookFirst, Place, Seat, TICK};
use crate::runtime::record::{Fiber, Worker};
use crate::runtime::suspend::{
    HandedOver, leave_fiber, leave_for_continuation, leave_for_new_loop,
};
use crate::sys::time;
use std::cell::Cell;

/// See above.
const YIELDS_PER_LOOK: u32 = 4;

/// Queues the calling task behind the others; see `sched_task_yield`.
pub fn yield_now(worker: &Worker) {
    let Some(mine) = worker.mine() else { return time::give_way() };
    let fiber = mine.fiber();
    if !fiber.prepare_to_leave() {
        // SAFETY: the caller is on it, in a task: another runs on top of it.
        return unsafe { fiber.help(&OneTask(Cell::new(false))) };
    }
    let lines_up = mine.row().lines_up;
    // (A mutex must be unlocked by the thread that has locked it.)
    let exchanges = !lines_up && !sanitizers::stacks_are_threads();
    if exchanges
        // SAFETY: the calling thread's, of the run that the row belongs to.
        && let Some(task) = unsafe { (mine.row().operations.begin_exchange)(&mine) }
    {
        let publish = |task| {
            // SAFETY: the calling thread's until now, and begun there.
            unsafe { (mine.row().operations.end_exchange)(&mine, task) };
            true
        };
        // SAFETY: the caller is on it, in a task; the other is out of a queue, so published.
        return unsafe {
            leave_for_continuation(fiber, task, &mut HandedOver::new(fiber, publish))
        };
    }
    // Elsewhere it is the look for what one who computes keeps to itself: `Policy::next_in_line`.
    let outside = fiber.is_nth_yield(if lines_up { YIELDS_PER_LOOK } else { TICK });
    let next = fiber.next_in_line(if outside { LookFirst::Outside } else { LookFirst::AtHome });
    if next.is_none() {
        return;
    }
    let publish = |task| {
        mine.line_up(task);
        true
    };
    // SAFETY: the caller is on it, in a task.
    let left = unsafe { leave_fiber(fiber, next, publish, leave_for_new_loop) };
    if left.is_err() {
        // There is no stack: another runs on top of it.
        fiber.run_on_top(|| next.into_iter().for_each(|task| fiber.run(task)));
    }
}

/// Runs a task of the fiber's run on top of the caller's task. False if there is none.
///
/// # Safety
/// The calling thread occupies the fiber's worker, and the caller is on the fiber, or on top of it.
pub unsafe fn help_once(fiber: &Fiber) -> bool {
    let tasks = || fiber.place().counters().values().tasks;
    let before = tasks();
    // SAFETY: passed on.
    unsafe { fiber.help(&OneTask(Cell::new(false))) };
    tasks() != before
}

/// Over when a task has run, or there is none: at the second look.
struct OneTask(Cell<bool>);

impl Awaited for OneTask {
    fn over(&self) -> bool {
        self.0.replace(true)
    }

    fn enlist(&self) -> bool {
        false
    }

    fn thief(&self) -> Option<usize> {
        None
    }
}
