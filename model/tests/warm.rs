//! Threads that are kept between runs: the library's own word of a thread (`threads::job`), and a
//! copy of the steps of `threads::cache` that use it. Each job is done once. A thread whose time is
//! up either ends or gets the next job. A thread that sleeps forever is a deadlock, which loom
//! reports.
#![cfg(loom)]

use loom::sync::{Arc, Mutex};
use loom::thread::JoinHandle;
use sched::sys::futex::LONGEST;
use sched::threads::job::{JobState, NextStep};
use sched_model::{Cell, Reached, explore, thread_with};
use std::time::Duration;

/// A slot of the cache and, under the cache's lock, whether it is in the list of warm slots.
struct Slot {
    state: JobState,
    /// Incremented by the thread that gives a job, and by the thread that does it.
    job: Cell,
    is_warm: Mutex<bool>,
    /// The threads of the slot. Not loom's mutex: the list is not part of the model.
    threads: std::sync::Mutex<Vec<JoinHandle<()>>>,
}

/// How long a thread waits for its next job.
#[derive(Clone, Copy)]
enum Kept {
    ForEver,
    NotLong,
}

impl Slot {
    fn new() -> Arc<Self> {
        Arc::new(Slot {
            state: JobState::new(),
            job: Cell::new(),
            is_warm: Mutex::new(false),
            threads: std::sync::Mutex::default(),
        })
    }

    /// Like `ThreadSlot::assign`. Returns true if a thread was created for the job.
    fn give_job(this: &Arc<Self>, kept: Kept) -> bool {
        this.job.add();
        let mut is_new = false;
        let create = || {
            is_new = true;
            let thread = thread_with(this, move |slot| slot.live(kept));
            this.threads.lock().unwrap().push(thread);
            true
        };
        assert!(this.state.start_job(|| (), create));
        is_new
    }

    /// The thread's life, as in `threads::cache::life`.
    fn live(&self, kept: Kept) {
        loop {
            self.job.add();
            self.state.finish_job();
            if !self.rest(kept) {
                return;
            }
        }
    }

    /// Like `ThreadSlot::rest_noted`: false if the thread must end.
    fn rest(&self, kept: Kept) -> bool {
        let mut limit = match kept {
            Kept::ForEver => LONGEST,
            Kept::NotLong => Duration::ZERO,
        };
        self.state.announce_sleep();
        loop {
            match self.state.next_step() {
                NextStep::Rest => {}
                NextStep::End => return false,
                NextStep::Work => return true,
            }
            self.state.sleep(limit);
            if limit == LONGEST || self.state.next_step() != NextStep::Rest {
                continue;
            }
            let mut is_warm = self.is_warm.lock().unwrap();
            if !*is_warm {
                limit = LONGEST; // a run has reserved the slot
                continue;
            }
            *is_warm = false;
            assert!(self.state.set_has_thread(false));
            return false;
        }
    }

    /// The end of a run, which puts the slot among the warm ones.
    fn put(&self) {
        *self.is_warm.lock().unwrap() = true;
    }

    /// True if the slot was warm.
    fn take(&self) -> bool {
        std::mem::take(&mut *self.is_warm.lock().unwrap())
    }

    /// Like `end_kept`. Then joins all threads.
    fn end(&self) {
        if self.take() {
            self.state.dismiss();
            self.state.set_has_thread(false);
        }
        let threads = std::mem::take(&mut *self.threads.lock().unwrap());
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    }
}

static KEPT: Reached = Reached::not_yet();
static RENEWED: Reached = Reached::not_yet();

fn a_job_for_a_thread(name: &str, kept: Kept, preemptions: usize, at_least: usize) {
    explore(name, preemptions, at_least, move || {
        let slot = Slot::new();
        assert!(Slot::give_job(&slot, kept));
        slot.state.wait_for_job();
        assert_eq!(slot.job.get(), 2);
        slot.put();
        let is_warm = slot.take();
        let is_new = Slot::give_job(&slot, kept);
        assert!(is_new != is_warm, "a warm slot has a thread, and a blank one has none");
        slot.state.wait_for_job();
        assert_eq!(slot.job.get(), 4);
        if matches!(kept, Kept::NotLong) {
            KEPT.note(is_warm);
            RENEWED.note(is_new);
        }
        slot.put();
        slot.end();
    });
}

/// The next run's job comes at each moment of the thread's way to sleep.
#[test]
fn a_job_for_a_resting_thread() {
    a_job_for_a_thread("warm thread, a second job", Kept::ForEver, 3, 200);
}

/// The thread's time is up while the next run takes it.
#[test]
fn a_job_as_the_time_is_up() {
    a_job_for_a_thread("warm thread, a second job as its time is up", Kept::NotLong, 3, 200);
    KEPT.expect("a thread that got a second job");
    RENEWED.expect("a thread that ended before the second job");
}

/// The library is unloaded as the thread's time is up.
#[test]
fn an_unloading_as_the_time_is_up() {
    explore("warm thread, unloaded as its time is up", 4, 50, || {
        let slot = Slot::new();
        Slot::give_job(&slot, Kept::NotLong);
        slot.state.wait_for_job();
        slot.put();
        slot.end();
        assert!(!slot.state.has_thread());
    });
}

/// Two wait for the end of a job: the run's first thread, and one that reuses the slot (`relief`).
#[test]
fn two_wait_for_a_job() {
    explore("warm thread, two wait for its job", 3, 200, || {
        let slot = Slot::new();
        Slot::give_job(&slot, Kept::ForEver);
        let other = thread_with(&slot, |slot| {
            slot.state.wait_for_job();
            assert_eq!(slot.job.get(), 2);
        });
        slot.state.wait_for_job();
        assert_eq!(slot.job.get(), 2);
        other.join().unwrap();
        slot.put();
        slot.end();
    });
}
