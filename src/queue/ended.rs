//! A FIFO of tasks whose blocking section has ended and which wait for a worker. It is part of the
//! queue for all workers, under that queue's lock.
//!
//! Workers take these tasks before the other tasks of that queue, because each of them keeps a
//! stack. (Behind a million tasks that have a section each, a million stacks would be in use before
//! the first of these tasks ends.) But tasks that begin and end sections forever must not starve
//! the others. So after every [`TURNS`] tasks of this FIFO a worker takes one of the others.

use crate::queue::length::Length;
use crate::sys::atomic::MODEL;
use crate::sys::memory::NoMemory;
use crate::task::Task;
use std::collections::VecDeque;
use std::mem::offset_of;

/// The number of tasks of this FIFO that go before one of the others.
pub const TURNS: u32 = if MODEL { 2 } else { 61 };

#[derive(Default)]
pub struct Ended {
    tasks: VecDeque<Task>,
    /// The number of tasks taken since one of the others was taken.
    turns: u32,
}

impl Ended {
    pub const LENGTH: Length = Length::of_vec_deque(offset_of!(Ended, tasks));

    pub fn reserve(&mut self, n: usize) -> Result<(), NoMemory> {
        self.tasks.try_reserve(n.saturating_sub(self.tasks.len())).map_err(|_| NoMemory)
    }

    /// Adds a task. If room was reserved for it, this cannot fail.
    pub fn push(&mut self, task: Task) -> Result<(), NoMemory> {
        self.tasks.try_reserve(1).map_err(|_| NoMemory)?;
        self.tasks.push_back(task);
        Ok(())
    }

    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// Takes the oldest task; None if there is none, or if other tasks wait and it is their turn.
    #[inline(always)]
    pub fn next(&mut self, others_wait: bool) -> Option<Task> {
        if self.is_empty() { None } else { self.next_of_some(others_wait) }
    }

    #[cold]
    fn next_of_some(&mut self, others_wait: bool) -> Option<Task> {
        if self.turns == TURNS {
            self.turns = 0;
            if others_wait {
                return None;
            }
        }
        self.turns += 1;
        self.tasks.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::tests::task;

    #[test]
    fn the_oldest_goes_first() {
        let mut line = Ended::default();
        (1..=3).for_each(|n| line.push(task(n)).expect("no memory"));
        let order: Vec<_> = std::iter::from_fn(|| line.next(true)).collect();
        assert_eq!(order, [task(1), task(2), task(3)]);
    }

    #[test]
    fn others_have_turns() {
        let mut line = Ended::default();
        let mut others = 0;
        for n in 0..4 * TURNS as usize {
            line.push(task(n)).expect("no memory");
            while line.next(true).is_none() {
                others += 1;
            }
        }
        assert_eq!(others, 3);
        (0..4 * TURNS as usize).for_each(|n| line.push(task(n)).expect("no memory"));
        assert_eq!(std::iter::from_fn(|| line.next(false)).count(), 4 * TURNS as usize);
    }
}
