//! The longest path that leads to the point where a task is.
//!
//! A path has a *clock* that runs while its task does. It is read where paths branch and meet, and
//! stopped while the task waits, or lies below another task on its stack. Only the thread that runs
//! the task uses the path; while the task is suspended, whoever has its continuation.

use std::cell::Cell;

/// `since` of a clock that is stopped: no time has passed since then.
const STOPPED: u64 = u64::MAX;

pub struct Path {
    /// The length of the longest path, in ticks, when the clock was set last.
    length: Cell<u64>,
    /// What the task has worked by then.
    work: Cell<u64>,
    /// When the clock was set; or `STOPPED`.
    since: Cell<u64>,
    /// When the task ended.
    ended: Cell<u64>,
    /// The task waits: its clock stays stopped, whatever else runs on its stack.
    is_waiting: Cell<bool>,
    /// The task is in a blocking section, during which it does not work.
    blocks: Cell<bool>,
    /// The task has only given its work back, and is none.
    is_void: Cell<bool>,
}

impl Path {
    /// Of a task that has not begun, to which a path of this length leads.
    pub fn new(length: u64) -> Self {
        Path {
            length: Cell::new(length),
            work: Cell::new(0),
            since: Cell::new(STOPPED),
            ended: Cell::new(0),
            is_waiting: Cell::new(false),
            blocks: Cell::new(false),
            is_void: Cell::new(false),
        }
    }

    pub fn length_at(&self, now: u64) -> u64 {
        self.length.get() + now.saturating_sub(self.since.get())
    }

    /// The length when the clock was set or stopped last.
    pub fn length(&self) -> u64 {
        self.length.get()
    }

    pub fn work(&self) -> u64 {
        self.work.get()
    }

    fn add(&self, since: u64, now: u64) {
        let passed = now.saturating_sub(since);
        self.length.set(self.length.get() + passed);
        if !self.blocks.get() {
            self.work.set(self.work.get() + passed);
        }
    }

    pub fn stop(&self, now: u64) {
        self.add(self.since.replace(STOPPED), now);
    }

    /// The clock runs from now on, if the task does not wait.
    pub fn go_on(&self, now: u64) {
        if self.since.get() == STOPPED && !self.is_waiting.get() {
            self.since.set(now);
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

    /// From now on the time counts for the path, but not as work; or as both again.
    pub fn block(&self, blocks: bool, now: u64) {
        self.stop(now);
        self.blocks.set(blocks);
        self.since.set(now);
    }

    pub fn end(&self, now: u64) {
        self.stop(now);
        self.ended.set(now);
    }

    /// The task has joined another one, with this path. `now` reads the clock.
    pub fn join(&self, other: &Path, now: impl FnOnce() -> u64) {
        if self.since.get() == other.ended.get() {
            // The other task was called on top of this one, which goes on from this very tick.
            self.set_back(self.length().max(other.length()));
        } else {
            self.meet(other.length(), now());
        }
    }

    /// A path of this length meets this one now.
    pub fn meet(&self, length: u64, now: u64) {
        if self.since.get() != STOPPED {
            self.add(self.since.replace(now), now);
        }
        self.set_back(self.length.get().max(length));
    }

    /// Goes on from another point of the task: what was done since then is parallel to what comes.
    pub fn set_back(&self, length: u64) {
        self.length.set(length);
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

    #[test]
    fn a_fork_and_its_join_are_as_long_as_the_longer_branch() {
        for (other, length) in [(30, 45), (5, 25)] {
            let here = Path::new(0);
            here.go_on(100);
            let there = Path::new(here.length_at(110));
            here.stop(120);
            there.go_on(1000);
            there.stop(1000 + other);
            here.go_on(2000);
            here.meet(there.length(), 2000);
            here.stop(2005);
            assert_eq!((here.length(), here.work()), (length, 25), "{other}");
        }
    }

    #[test]
    fn who_waits_does_not_work() {
        let path = Path::new(7);
        path.go_on(10);
        path.begin_wait(12);
        path.go_on(20); // another task has ended on the stack
        path.meet(30, 40);
        path.end_wait(50);
        assert_eq!((path.length_at(51), path.work()), (31, 2));
        path.block(true, 52);
        path.block(false, 152);
        path.stop(153);
        assert_eq!((path.length(), path.work()), (133, 5));
    }
}
