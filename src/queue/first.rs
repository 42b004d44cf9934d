//! The tasks that workers take before all others of the queue for all workers, which has them under
//! its lock: the urgent ones, first in, first out, and behind them the tasks whose blocking section
//! has ended ([`ended`](super::ended)).
//!
//! One count has the length of both lines, so a look that finds neither, which is the usual one,
//! and the sums of the queue's own lengths cost no instruction for urgent tasks.
//!
//! Workers ask often whether an urgent task waits. A *hint* beside the lock tells them: the number
//! of urgent tasks, stored under the lock by the functions that change it. Relaxed: a thread
//! that adds an urgent task executes a fence before it relies on others to see the hint
//! (`policy::stealing::outside`), or the queue's lock orders the two (`policy::shared`).

use crate::queue::ended::Ended;
use crate::queue::length::Length;
use crate::sys::atomic::{AtomicUsize, Ordering};
use crate::sys::memory::NoMemory;
use crate::task::Task;
use std::collections::VecDeque;
use std::mem::offset_of;

#[derive(Default)]
pub struct First {
    urgent: VecDeque<Task>,
    ended: Ended,
    /// The number of tasks in both lines.
    count: usize,
}

impl First {
    /// The places of the two lines, for a debugger: the urgent tasks, then the others.
    pub const LENGTHS: [Length; 2] = [
        Length::of_vec_deque(offset_of!(First, urgent)),
        Ended::LENGTH.within(offset_of!(First, ended)),
    ];

    /// Makes room for `n` tasks whose section has ended.
    pub fn reserve(&mut self, n: usize) -> Result<(), NoMemory> {
        self.ended.reserve(n)
    }

    /// Adds a task whose section has ended. If room was reserved for it, this cannot fail.
    pub fn push_ended(&mut self, task: Task) -> Result<(), NoMemory> {
        self.ended.push(task)?;
        self.count += 1;
        Ok(())
    }

    #[cold]
    pub fn push_urgent(&mut self, task: Task, hint: &AtomicUsize) -> Result<(), NoMemory> {
        self.urgent.try_reserve(1).map_err(|_| NoMemory)?;
        self.urgent.push_back(task);
        self.count += 1;
        hint.store(self.urgent.len(), Ordering::Relaxed);
        Ok(())
    }

    /// The number of tasks.
    pub fn len(&self) -> usize {
        self.count
    }

    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub fn urgent(&self) -> usize {
        self.urgent.len()
    }

    /// Takes the next task; None if there is none, or if other tasks wait and it is their turn.
    #[inline(always)]
    pub fn next(&mut self, others_wait: bool, hint: &AtomicUsize) -> Option<Taken> {
        if self.is_empty() { None } else { self.next_of_some(others_wait, hint) }
    }

    #[cold]
    fn next_of_some(&mut self, others_wait: bool, hint: &AtomicUsize) -> Option<Taken> {
        self.next_urgent(hint).map(Taken::Urgent).or_else(|| {
            let ended = self.next_ended(others_wait);
            ended.map(Taken::Ended)
        })
    }

    #[cold]
    pub fn next_urgent(&mut self, hint: &AtomicUsize) -> Option<Task> {
        let task = self.urgent.pop_front()?;
        self.count -= 1;
        hint.store(self.urgent.len(), Ordering::Relaxed);
        Some(task)
    }

    /// Takes the first of the `oldest` urgent tasks that fits.
    #[cold]
    pub fn take_urgent_if(
        &mut self,
        fit: impl Fn(Task) -> bool,
        oldest: usize,
        hint: &AtomicUsize,
    ) -> Option<Task> {
        let at = self.urgent.iter().take(oldest).position(|&task| fit(task))?;
        let task = self.urgent.remove(at)?;
        self.count -= 1;
        hint.store(self.urgent.len(), Ordering::Relaxed);
        Some(task)
    }

    /// True if `take_urgent_if` would take a task.
    #[cold]
    pub fn has_urgent(&self, fit: impl Fn(Task) -> bool, oldest: usize) -> bool {
        self.urgent.iter().take(oldest).any(|&task| fit(task))
    }

    /// `next` without the urgent tasks.
    #[cold]
    pub fn next_ended(&mut self, others_wait: bool) -> Option<Task> {
        let task = self.ended.next(others_wait)?;
        self.count -= 1;
        Some(task)
    }
}

/// A task that was taken out of its line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Taken {
    Urgent(Task),
    Ended(Task),
}

impl Taken {
    pub fn task(self) -> Task {
        match self {
            Taken::Urgent(task) | Taken::Ended(task) => task,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::tests::task;

    #[test]
    fn urgent_tasks_go_before_those_whose_section_has_ended() {
        let (mut first, hint) = (First::default(), AtomicUsize::new(0));
        first.push_ended(task(1)).expect("no memory");
        first.push_urgent(task(2), &hint).expect("no memory");
        first.push_urgent(task(3), &hint).expect("no memory");
        assert_eq!((first.len(), first.urgent(), hint.load(Ordering::Relaxed)), (3, 2, 2));
        let order: Vec<_> = std::iter::from_fn(|| first.next(true, &hint)).collect();
        assert_eq!(order, [Taken::Urgent(task(2)), Taken::Urgent(task(3)), Taken::Ended(task(1))]);
        assert!(first.is_empty() && hint.load(Ordering::Relaxed) == 0);
    }

    #[test]
    fn urgent_tasks_can_be_left_where_they_are() {
        let (mut first, hint) = (First::default(), AtomicUsize::new(0));
        first.push_urgent(task(1), &hint).expect("no memory");
        first.push_ended(task(2)).expect("no memory");
        assert_eq!(first.next_ended(false), Some(task(2)));
        assert_eq!((first.next_ended(false), first.len()), (None, 1));
        assert_eq!(first.next_urgent(&hint), Some(task(1)));
    }

    #[test]
    fn an_urgent_task_that_fits_is_taken_from_the_middle() {
        let (mut first, hint) = (First::default(), AtomicUsize::new(0));
        for number in 1..=3 {
            first.push_urgent(task(number), &hint).expect("no memory");
        }
        let fits = |of| move |one| one == task(of);
        assert!(first.has_urgent(fits(2), 2) && !first.has_urgent(fits(3), 2));
        assert_eq!(first.take_urgent_if(fits(3), 2, &hint), None);
        assert_eq!(first.take_urgent_if(fits(2), 2, &hint), Some(task(2)));
        assert_eq!((first.len(), hint.load(Ordering::Relaxed)), (2, 2));
        assert_eq!(first.next_urgent(&hint), Some(task(1)));
    }
}
