//! A task gives way: it is queued behind all others, and the next in line has its turn.
//!
//! If that was set aside, too, the worker goes straight from one stack to the other; a task that has not begun
//! gets a stack of its own.

use super::{is_continuation, set_aside, suspend_for, take_over};
use crate::base::thread;
use crate::kind::worker::Worker;
use crate::kind::{Awaited, InLine, Seat};
use std::cell::Cell;

/// Queues the calling task behind all others; see `sched_task_yield`.
pub fn yield_now(worker: &Worker) {
    let Some(mine) = worker.mine() else { return thread::give_way() };
    let strand = mine.strand();
    if !strand.can_be_left() {
        // SAFETY: the caller is on it, in a task: another runs on top of it.
        return unsafe { strand.help(&Turn(Cell::new(false))) };
    }
    // SAFETY: the calling thread's, of the run that the row belongs to.
    let next = match unsafe { (mine.row().next_in_line)(mine) } {
        InLine::Nothing => return,
        InLine::Loop => None,
        InLine::Task(task) if is_continuation(task) => {
            // SAFETY: out of a queue, so published.
            let context = unsafe { take_over(mine, task.closure.cast()) };
            return set_aside(strand, context);
        }
        InLine::Task(task) => Some(task),
    };
    let publish = |task| {
        mine.requeue(task);
        true
    };
    // SAFETY: the caller is on it, in a task.
    let left = unsafe { suspend_for(strand, next, publish) };
    if left.is_err() {
        // There is no stack: another runs on top of it.
        match next {
            Some(task) => strand.on_top(|| strand.run(task)),
            // SAFETY: the caller is on it, in a task.
            None => unsafe { strand.help(&Turn(Cell::new(false))) },
        }
    }
}

/// Over when a task has run, or there is none: at the second look.
struct Turn(Cell<bool>);

impl Awaited for Turn {
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
