//! A task gives way: it is queued behind all others, and the next in line has its turn.
//!
//! If that was set aside, too, the worker goes straight from one stack to the other; a task that has not begun
//! gets a stack of its own.

use super::{go_over, leave_for};
use crate::base::thread;
use crate::fiber::sanitizers;
use crate::kind::worker::Worker;
use crate::kind::{Awaited, Seat};
use std::cell::Cell;

/// Queues the calling task behind all others; see `sched_task_yield`.
pub fn yield_now(worker: &Worker) {
    let Some(mine) = worker.mine() else { return thread::give_way() };
    let strand = mine.strand();
    if !strand.can_be_left() {
        // SAFETY: the caller is on it, in a task: another runs on top of it.
        return unsafe { strand.help(&Turn(Cell::new(false))) };
    }
    // SAFETY: the calling thread's, of the run that the row belongs to. (A mutex must be
    // unlocked by the thread that has locked it.)
    if !sanitizers::stacks_are_threads()
        && let Some(task) = unsafe { (mine.row().begin_exchange)(mine) }
    {
        let mut publish = |task| {
            // SAFETY: the calling thread's until now, and begun there.
            unsafe { (mine.row().end_exchange)(mine, task) };
            true
        };
        // SAFETY: the caller is on it, in a task; the other is out of a queue, so published.
        return unsafe { go_over(strand, task, &mut publish) };
    }
    let next = strand.next_in_line();
    if next.is_none() {
        return;
    }
    let mut publish = |task| {
        mine.requeue(task);
        true
    };
    // SAFETY: the caller is on it, in a task.
    let left = unsafe { leave_for(strand, next, &mut publish) };
    if left.is_err() {
        // There is no stack: another runs on top of it.
        strand.on_top(|| next.into_iter().for_each(|task| strand.run(task)));
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
