//! A task gives way to tasks from outside the run, at a join and between two parts of a loop.
//!
//! Tasks from outside have turns ([`policy::turns`](crate::policy::turns)), so that none waits for
//! the end of another job. They must not run on top of the task that gives way: if one of them
//! needs a lock that this task holds, it cannot wait for the lock there. So the task is suspended,
//! as if it yielded, and its worker begins a loop on another stack, with tasks from outside.
//!
//! The suspended task becomes the youngest task in its worker's own queue, so it resumes first
//! after the turn. So a tree of forks and joins is interrupted, not reordered, and the interruption
//! costs each worker at most one stack at a time. But a task that has itself come from outside and
//! has had its turn is queued behind the others from outside, and they take turns with each other.
//! (Rejected: to queue every task that gives way behind the others from outside. Each turn then
//! suspends another branch of a tree, and a flood from outside costs a stack each millisecond.)

use crate::runtime::record::{LoopStart, Worker};
use crate::runtime::suspend::leave_for_outside;
use crate::sys::detector;
use crate::task::Task;
use std::ptr;

impl Worker {
    /// Lets tasks from outside the run go before the calling task, if their turn is due. Must be
    /// called where the task may be suspended. Returns the worker on which the task continues:
    /// `self`, if the caller is not a task of this worker's run.
    #[cold]
    #[inline(never)]
    pub fn give_way(&self) -> &Worker {
        let Some(mine) = self.mine() else { return self };
        let fiber = mine.fiber();
        if !(fiber.prepare_to_leave() && mine.operations().is_turn_due()) {
            return mine.worker();
        }
        let from_outside = fiber.loop_start.get() == LoopStart::Injector;
        fiber.loop_start.set(LoopStart::OwnQueue);
        let mut publish = move |task: Task| {
            // (The thread still occupies `mine`.)
            if from_outside {
                mine.requeue(task)
            } else {
                mine.queue_soon(task)
            }
            true
        };
        // SAFETY: the caller is a task on the fiber, which can be left; a queue has the task when
        // `publish` returns. If there is no stack, the task continues here.
        unsafe {
            // (A sort calls this while no detector ignores it.)
            detector::ignored(|| _ = leave_for_outside(fiber, &mut publish));
            // The thread that continues the task occupies the fiber's worker.
            &*ptr::from_ref(fiber.worker())
        }
    }
}
