//! The event count: no worker sleeps beside work in any interleaving. A lost wake-up leaves a
//! thread asleep forever, which loom reports as a deadlock.
#![cfg(loom)]

use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;
use sched::idle::eventcount::{EventCount, Role};
use sched::sys::fence;
use sched_model::{explore, join, thread_with};
use std::time::Duration;

struct Shared {
    events: EventCount,
    /// The queue: the number of tasks.
    work: AtomicUsize,
}

impl Shared {
    fn new(workers: usize) -> Arc<Shared> {
        Shared::on(workers, workers)
    }

    fn on(processors: usize, workers: usize) -> Arc<Shared> {
        let events = EventCount::new(workers, processors, None).expect("there is memory");
        Arc::new(Shared { events, work: AtomicUsize::new(0) })
    }

    fn take(&self) -> bool {
        let one_less = |work: usize| work.checked_sub(1);
        self.work.fetch_update(Ordering::AcqRel, Ordering::Relaxed, one_less).is_ok()
    }

    fn visible(&self) -> bool {
        self.work.load(Ordering::Acquire) > 0
    }

    /// A plain store and a plain load, as in a push of a deque's owner.
    fn publish(&self) {
        self.work.fetch_add(1, Ordering::Release);
        self.events.published(|_| false);
    }

    /// A worker that wants `n` tasks and then leaves.
    fn worker(this: &Arc<Self>, me: usize, n: usize) -> thread::JoinHandle<()> {
        Shared::worker_after(this, me, n, |_| ())
    }

    /// Like `worker`, but calls `first` when it may search.
    fn worker_after(
        this: &Arc<Self>,
        me: usize,
        n: usize,
        first: impl Fn(&EventCount) + Send + 'static,
    ) -> thread::JoinHandle<()> {
        let shared = Arc::clone(this);
        thread::spawn(move || {
            for _ in 0..n {
                let mut was_woken = false;
                let mut role = shared.events.start_search(me);
                if role == Role::Searcher {
                    first(&shared.events);
                }
                loop {
                    if role == Role::Searcher && shared.take() {
                        if was_woken {
                            shared.events.wake_another(shared.events.searching(), |_| false);
                        }
                        if shared.events.stop_search() {
                            fence::heavy();
                            if shared.visible() {
                                shared.events.wake_one(|_| false);
                            }
                        }
                        break;
                    }
                    let last = shared.events.announce(me, role);
                    if last {
                        fence::heavy();
                    }
                    if last && shared.visible() {
                        shared.events.cancel(me);
                    } else {
                        shared.events.commit(me, Duration::MAX);
                        was_woken = true;
                    }
                    role = Role::Searcher;
                }
            }
        })
    }
}

#[test]
fn one_sleeper_one_spawner() {
    explore("eventcount, one sleeper", 3, 50, || {
        let shared = Shared::new(1);
        let worker = Shared::worker(&shared, 0, 1);
        shared.publish();
        worker.join().unwrap();
    });
}

#[test]
fn a_sleeper_comes_back_for_more() {
    explore("eventcount, two tasks for one sleeper", 3, 100, || {
        let shared = Shared::new(1);
        let worker = Shared::worker(&shared, 0, 2);
        shared.publish();
        shared.publish();
        worker.join().unwrap();
    });
}

/// One of two workers may search, and two of four. So a woken one of four workers wakes another
/// one.
#[test]
fn two_sleepers_two_tasks() {
    for workers in [2, 4] {
        explore(&format!("eventcount, two sleepers of {workers}"), 2, 1000, move || {
            let shared = Shared::new(workers);
            let sleepers = [Shared::worker(&shared, 0, 1), Shared::worker(&shared, 1, 1)];
            shared.publish();
            shared.publish();
            join(sleepers);
        });
    }
}

#[test]
fn two_spawners_one_sleeper() {
    explore("eventcount, two spawners", 3, 1000, || {
        let shared = Shared::new(1);
        let worker = Shared::worker(&shared, 0, 2);
        let other = thread_with(&shared, Shared::publish);
        shared.publish();
        other.join().unwrap();
        worker.join().unwrap();
    });
}

/// A dozer counts as searching, but a searcher that leaves during the doze does not rely on it.
#[test]
fn a_dozer_and_a_sleeper() {
    for processors in [1, 2] {
        explore("eventcount, a dozer and a sleeper", 2, 1000, move || {
            let shared = Shared::on(processors, 2);
            let doze = |events: &EventCount| events.doze(Duration::from_micros(1));
            let workers =
                [Shared::worker_after(&shared, 0, 1, doze), Shared::worker(&shared, 1, 1)];
            shared.publish();
            shared.publish();
            join(workers);
        });
    }
}
