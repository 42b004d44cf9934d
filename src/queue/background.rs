//! A FIFO of background tasks: a worker takes one only when it finds nothing else. It is part of
//! the queue for all workers, under that queue's lock.
//!
//! The tasks count when the queue is asked whether it is empty. So the run does not end before they
//! have run, and no worker sleeps while one of them waits.
//!
//! # Ageing
//!
//! Behind workers that never run out of other tasks a background task would wait forever. So from
//! time to time a thread beside the workers looks at the line (`runtime::ageing`). If no task has
//! left the line between two looks, the second look takes the oldest one out, and it becomes an
//! ordinary task from outside, in front of the others: it has the next turn (`policy::turns`). So,
//! while the line is not empty, a task leaves it at least once in two periods between looks.
//!
//! `fresh` is true if a task has left the line since the last look, or if the line was empty. A
//! look makes it false. (Rejected: the time at which the last task has left the line. Each task
//! would read the clock.)

use crate::queue::length::Length;
use crate::queue::room::{IsLong, Long, TaskQueue};
use crate::sys::memory::NoMemory;
use crate::task::Task;
use std::mem::offset_of;

#[derive(Default)]
pub struct Background {
    tasks: TaskQueue,
    fresh: bool,
}

/// The line was empty before this task: somebody must look at the line from time to time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    Begins,
    GoesOn,
}

/// The result of a look.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Look {
    /// The line is empty: nobody needs to look again before it begins anew.
    Empty,
    Waits,
    /// The oldest task has waited for too long.
    Overdue(Task),
}

impl Background {
    /// The place of the tasks, for a debugger.
    pub const LENGTH: Length =
        Length::of_vec_deque(offset_of!(Background, tasks) + TaskQueue::TASKS);

    #[cold]
    pub fn push(&mut self, task: Task, is_long: &IsLong) -> Result<Line, NoMemory> {
        self.tasks.make_room(1, is_long)?;
        let begins = self.tasks.is_empty();
        self.fresh |= begins;
        self.tasks.push_back(task);
        Ok(if begins { Line::Begins } else { Line::GoesOn })
    }

    #[cold]
    pub fn take(&mut self) -> Option<Task> {
        self.fresh = true;
        self.tasks.pop_front()
    }

    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// Looks at the line. The caller then makes an overdue task an ordinary one.
    #[cold]
    pub fn look(&mut self) -> Look {
        if self.tasks.is_empty() {
            return Look::Empty;
        }
        if std::mem::take(&mut self.fresh) {
            return Look::Waits;
        }
        self.tasks.pop_front().map_or(Look::Empty, Look::Overdue)
    }

    /// Puts an overdue task back as the oldest one, since there is no room for it elsewhere.
    #[cold]
    pub fn put_back(&mut self, task: Task) {
        self.tasks.push_front(task); // within the capacity: it was taken out just now
    }

    /// See `TaskQueue::take_long`.
    pub fn take_long(&mut self, is_long: &IsLong) -> Option<Long> {
        self.tasks.take_long(0, is_long)
    }

    pub fn keep(&mut self, long: Long) {
        self.tasks.keep(long);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::tests::task;

    #[test]
    fn a_task_is_overdue_at_the_second_look() {
        let (mut line, is_long) = (Background::default(), IsLong::default());
        assert_eq!(line.look(), Look::Empty);
        assert_eq!(line.push(task(1), &is_long), Ok(Line::Begins));
        assert_eq!(line.push(task(2), &is_long), Ok(Line::GoesOn));
        assert_eq!(line.look(), Look::Waits);
        assert_eq!(line.look(), Look::Overdue(task(1)));
        line.put_back(task(1));
        assert_eq!(line.look(), Look::Overdue(task(1)));
        assert_eq!((line.take(), line.take(), line.look()), (Some(task(2)), None, Look::Empty));
    }

    #[test]
    fn a_line_that_moves_is_not_overdue() {
        let (mut line, is_long) = (Background::default(), IsLong::default());
        (0..9).for_each(|n| _ = line.push(task(n), &is_long).expect("no memory"));
        for n in 0..8 {
            assert_eq!(line.look(), Look::Waits);
            assert_eq!(line.take(), Some(task(n)));
        }
        assert_eq!((line.look(), line.look()), (Look::Waits, Look::Overdue(task(8))));
    }
}
