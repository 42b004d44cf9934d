//! The longest path that leads to the point where a task is.
//!
//! A path has a *clock* that runs while its task does. It is read where paths branch and meet, and
//! stopped while the task waits, or lies below another task on its stack. Only the thread that runs
//! the task uses the path; while the task is suspended, only the holder of its continuation does.

use crate::profile::context::Context;
use crate::profile::length::Length;
use std::cell::Cell;
use std::ptr;

/// The lengths of the longest paths to a point, in ticks; or differences of such lengths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lengths {
    pub path: u64,
    pub burdened: u64,
}

impl Lengths {
    pub fn since(self, before: Lengths) -> Lengths {
        let burdened = self.burdened.saturating_sub(before.burdened);
        Lengths { path: self.path.saturating_sub(before.path), burdened }
    }
}

pub struct Path {
    /// The length of the longest path when the clock was last set.
    length: Length,
    /// The context of the task; null: the run is not profiled. It lives as long as the run.
    context: Cell<*const Context>,
    /// The task's work when the clock was last set, in ticks.
    work: Cell<u64>,
    /// When the clock was last set or stopped.
    since: Cell<u64>,
    /// True if the clock is stopped.
    is_stopped: Cell<bool>,
    /// True if the task waits: its clock stays stopped, whatever else runs on its stack.
    is_waiting: Cell<bool>,
    /// True if the task is in a blocking section, during which it does not work.
    blocks: Cell<bool>,
    /// True if the task does not count as one: it has only given its work back, or was not called.
    is_void: Cell<bool>,
}

#[derive(Default)]
pub struct Point(Length);

impl Path {
    /// The path of a task whose run is not profiled, or a path that `begin` will set.
    #[inline(always)]
    pub fn unused() -> Self {
        Path {
            length: Length::default(),
            context: Cell::new(ptr::null()),
            work: Cell::new(0),
            since: Cell::new(0),
            is_stopped: Cell::new(true),
            is_waiting: Cell::new(false),
            blocks: Cell::new(false),
            is_void: Cell::new(false),
        }
    }

    /// Makes this unused path lead to a task, over an edge from where the path `from` is now.
    #[inline]
    pub fn begin(&self, context: &Context, from: Option<(&Path, u64)>, burden: u64) {
        self.context.set(context);
        if let Some((from, now)) = from {
            from.settle(now);
            self.length.become_equal(&from.length, burden);
        }
        if from.is_none_or(|(from, _)| !ptr::eq(from.context.get(), context)) {
            self.enter();
        }
        self.length.add_task();
    }

    /// Continues the path in the task's function.
    fn enter(&self) {
        self.context().inspect(|context| self.length.enter(context.number));
    }

    pub fn context(&self) -> Option<&Context> {
        // SAFETY: the context lives as long as the run, in which the path is used.
        unsafe { self.context.get().as_ref() }
    }

    /// False if the run is not profiled.
    pub fn is_used(&self) -> bool {
        !self.context.get().is_null()
    }

    /// The lengths of the longest path, and of the longest burdened one.
    pub fn lengths_at(&self, now: u64) -> Lengths {
        let since = if self.is_stopped.get() { 0 } else { now.saturating_sub(self.since.get()) };
        Lengths { path: self.length.ticks() + since, burdened: self.length.burdened() + since }
    }

    /// The length when the clock was last set or stopped.
    pub fn length(&self) -> &Length {
        &self.length
    }

    pub fn work(&self) -> u64 {
        self.work.get()
    }

    fn add(&self, since: u64, now: u64) {
        let passed = now.saturating_sub(since);
        self.length.add(passed);
        if !self.blocks.get() {
            self.work.set(self.work.get() + passed);
        }
    }

    #[inline]
    pub fn stop(&self, now: u64) {
        self.settle(now);
        self.since.set(now);
        self.is_stopped.set(true);
    }

    /// Lets the clock run from now on, unless the task waits.
    #[inline]
    pub fn go_on(&self, now: u64) {
        if self.is_stopped.get() && !self.is_waiting.get() {
            self.since.set(now);
            self.is_stopped.set(false);
        }
    }

    /// Brings `length` up to date, if the clock runs.
    #[inline]
    pub fn settle(&self, now: u64) {
        if !self.is_stopped.get() {
            self.add(self.since.replace(now), now);
        }
    }

    pub fn begin_wait(&self, now: u64) {
        self.stop(now);
        self.is_waiting.set(true);
    }

    pub fn end_wait(&self, now: u64) {
        self.is_waiting.set(false);
        self.go_on(now);
    }

    /// Called when a worker comes back to the task. Returns how long the task was left.
    pub fn come_back(&self, now: u64) -> u64 {
        let left = self.since.get();
        self.go_on(now);
        now.saturating_sub(left)
    }

    /// If true, the time from now on counts for the path, but not as work; if false, again as both.
    pub fn block(&self, blocks: bool, now: u64) {
        self.stop(now);
        self.blocks.set(blocks);
        self.is_stopped.set(false);
    }

    /// The task has joined the task of the path `other`. `now` reads the clock.
    pub fn join(&self, other: &Path, burden: u64, now: impl FnOnce() -> u64) {
        // Otherwise the other task was called on top of this one, which has continued since the
        // tick at which the other one ended.
        if self.is_stopped.get() || self.since.get() != other.since.get() {
            self.settle(now());
        }
        let is_longer = self.length.become_longer(&other.length, burden);
        if is_longer && !ptr::eq(self.context.get(), other.context.get()) {
            self.enter();
        }
    }

    /// Called when a path of this length meets this path now, over an edge with this burden.
    pub fn meet(&self, length: &Length, burden: u64, now: u64) {
        self.settle(now);
        self.take(length, burden);
    }

    /// The task resumes, or has just begun, because of another task, whose path has this length.
    pub fn follow(&self, length: &Length, burden: u64, now: u64) {
        self.settle(now);
        if self.take(length, burden) {
            self.length.add_task();
        }
    }

    /// Takes the given length, if it is longer. Returns true if it is.
    fn take(&self, length: &Length, burden: u64) -> bool {
        let is_longer = self.length.become_longer(length, burden);
        if is_longer {
            self.enter();
        }
        is_longer
    }

    /// Stores the present point of the path in `point`.
    pub fn mark(&self, point: &Point, now: u64) {
        self.settle(now);
        point.0.become_equal(&self.length, 0);
    }

    /// Continues from an earlier point of the task: the work done since then is parallel to the
    /// work that comes. Returns how much longer the paths had become.
    pub fn set_back(&self, before: &Point, now: u64) -> Lengths {
        self.settle(now);
        let of = |length: &Length| Lengths { path: length.ticks(), burdened: length.burdened() };
        let passed = of(&self.length).since(of(&before.0));
        self.length.become_equal(&before.0, 0);
        passed
    }

    /// Sets the length of the longest burdened path.
    pub fn set_burdened(&self, ticks: u64) {
        self.length.set_burdened(ticks);
    }

    /// Adds the burden of a move: the rest of the task may move to another worker.
    pub fn burden(&self, burden: u64) {
        self.length.set_burdened(self.length.burdened() + burden);
    }

    /// Adds this many ticks, which the task has spent on something that the clock did not measure.
    pub fn extend(&self, ticks: u64) {
        self.length.add(ticks);
    }

    /// Frees the path's memory: the path is no longer used.
    #[inline]
    pub fn end(&self) {
        self.length.clear();
    }

    pub fn make_void(&self) {
        self.is_void.set(true);
    }

    pub fn is_void(&self) -> bool {
        self.is_void.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::context::Contexts;

    #[test]
    fn a_fork_and_its_join_are_as_long_as_the_longer_branch() {
        for (other, length) in [(30, 45), (5, 25)] {
            let (contexts, begin) = (Contexts::new().unwrap(), 100);
            let (here, there) = (Path::unused(), Path::unused());
            here.begin(contexts.child(contexts.root(), 1), None, 0);
            here.go_on(begin);
            there.begin(contexts.child(here.context().unwrap(), 2), Some((&here, 110)), 3);
            here.stop(120);
            there.go_on(1000);
            there.stop(1000 + other);
            here.go_on(2000);
            here.meet(there.length(), 4, 2000);
            here.stop(2005);
            assert_eq!((here.length().ticks(), here.work()), (length, 25), "{other}");
            let burdened = if other > 10 { 45 + 7 } else { 10 + 3 + 5 + 4 + 5 };
            assert_eq!(here.length().burdened(), burdened, "{other}");
            let parts: Vec<_> = here.length().parts().all().map(|part| part.ticks).collect();
            assert_eq!(parts, if other > 10 { vec![15, other] } else { vec![25] });
        }
    }

    #[test]
    fn who_waits_does_not_work() {
        let contexts = Contexts::new().unwrap();
        let context = contexts.child(contexts.root(), 1);
        let (path, other) = (Path::unused(), Path::unused());
        path.begin(context, None, 0);
        other.begin(context, None, 0);
        path.extend(7);
        other.extend(30);
        path.go_on(10);
        path.begin_wait(12);
        path.go_on(20); // another task has ended on the stack
        path.meet(other.length(), 0, 40);
        path.end_wait(50);
        assert_eq!((path.lengths_at(51).path, path.work()), (31, 2));
        path.block(true, 52);
        path.block(false, 152);
        path.stop(153);
        assert_eq!((path.length().ticks(), path.work()), (133, 5));
    }

    #[test]
    fn what_was_done_aside_leaves_nothing_on_the_path() {
        let contexts = Contexts::new().unwrap();
        let (here, there, point) = (Path::unused(), Path::unused(), Point::default());
        here.begin(contexts.child(contexts.root(), 1), None, 0);
        here.go_on(100);
        here.mark(&point, 110);
        there.begin(contexts.child(here.context().unwrap(), 2), Some((&here, 112)), 3);
        there.extend(50);
        here.join(&there, 4, || 113);
        let aside = here.set_back(&point, 118);
        assert_eq!(aside, Lengths { path: 2 + 50 + 5, burdened: 2 + 3 + 50 + 4 + 5 });
        here.stop(120);
        let parts: Vec<_> = here.length().parts().all().map(|part| part.ticks).collect();
        assert_eq!((parts, here.length().burdened(), here.work()), (vec![12], 12, 20));
    }

    #[test]
    fn a_path_goes_through_each_task_that_hands_it_on() {
        let contexts = Contexts::new().unwrap();
        let context = contexts.child(contexts.root(), 1);
        let tasks = [0, 1, 2].map(|_| Path::unused());
        tasks.iter().for_each(|task| task.begin(context, None, 0));
        for (at, task) in tasks.iter().enumerate() {
            let now = 10 * at as u64;
            task.go_on(now);
            task.stop(now + 10);
            if let Some(next) = tasks.get(at + 1) {
                next.follow(task.length(), 0, now + 10);
            }
        }
        let part = tasks[2].length().parts().all().next().unwrap();
        assert_eq!((part.tasks, part.ticks), (3, 30));
    }
}
