//! The event count: no worker sleeps beside work in any interleaving. A lost wake-up leaves a
//! thread asleep for ever, which loom reports as a deadlock.
#![cfg(loom)]

use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;
use sched::idle::eventcount::{EventCount, Role};
use sched::sys::fence;
use sched_model::{explore, join};
use std::time::Duration;

struct Shared {
    events: EventCount,
    /// The queue: the number of tasks.
    work: AtomicUsize,
    /// Workers hover before they sleep.
    hovers: bool,
}

impl Shared {
    fn new(workers: usize) -> Arc<Shared> {
        Shared::on(workers, workers)
    }

    fn on(processors: usize, workers: usize) -> Arc<Shared> {
        let events = EventCount::new(workers, processors).expect("there is memory");
        Arc::new(Shared { events, work: AtomicUsize::new(0), hovers: false })
    }

    fn take(&self) -> bool {
        let mut work = self.work.load(Ordering::Relaxed);
        while work > 0 {
            match self.work.compare_exchange(work, work - 1, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(now) => work = now,
            }
        }
        false
    }

    fn visible(&self) -> bool {
        self.work.load(Ordering::Acquire) > 0
    }

    /// Plain store and plain load, as a deque's owner does it.
    fn publish(&self) {
        self.work.fetch_add(1, Ordering::Release);
        self.events.published(|_| false);
    }

    /// A worker that wants `n` tasks and then leaves.
    fn worker(this: &Arc<Self>, me: usize, n: usize) -> thread::JoinHandle<()> {
        Shared::worker_after(this, me, n, |_| ())
    }

    /// A worker that has found a task stops searching.
    fn found(&self) {
        self.events.relieve();
        if self.events.stop_search() {
            fence::heavy();
            if self.visible() {
                self.events.wake_one(|_| false);
            }
        }
    }

    /// Like `worker`; when it may search, it first does `first`.
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
                        shared.found();
                        break;
                    }
                    let last = shared.events.announce(me, role);
                    if last {
                        fence::heavy();
                    }
                    if last && shared.visible() {
                        shared.events.cancel(me);
                    } else {
                        let hovers = shared.hovers && role == Role::Sleeper;
                        if !hovers || !shared.events.hover(me, Duration::MAX) {
                            shared.events.commit(me, Duration::MAX);
                        }
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

/// Of two workers one may search at a time; of four, two, so a woken worker wakes another one.
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
        let other = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.publish())
        };
        shared.publish();
        other.join().unwrap();
        worker.join().unwrap();
    });
}

/// A dozing worker counts as searching, but a searcher that leaves meanwhile does not rely on it.
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

/// Of three workers one may search, and one hovers meanwhile. The searcher that finds a task is
/// relieved by it.
#[test]
fn a_hovering_worker() {
    explore("eventcount, a hovering worker", 2, 1000, || {
        let events = EventCount::new(3, 3).expect("there is memory");
        let shared = Arc::new(Shared { events, work: AtomicUsize::new(0), hovers: true });
        let workers = [Shared::worker(&shared, 0, 1), Shared::worker(&shared, 1, 1)];
        shared.publish();
        shared.publish();
        join(workers);
    });
}

/// Of three workers one may search, and two hover meanwhile: one relieves the other.
#[test]
fn two_hovering_workers() {
    explore("eventcount, two hovering workers", 1, 1000, || {
        let events = EventCount::new(3, 3).expect("there is memory");
        let shared = Arc::new(Shared { events, work: AtomicUsize::new(0), hovers: true });
        let workers = [0, 1, 2].map(|me| Shared::worker(&shared, me, 1));
        (0..3).for_each(|_| shared.publish());
        join(workers);
    });
}

/// A worker that waits for an event hovers, then sleeps for `limit`. Meanwhile a searcher finds a
/// task, and is relieved if it sees the hovering worker; and `wake` wakes the worker because the
/// event has come. Whoever comes first, the worker is woken once.
fn woken_once(name: &str, at_least: usize, limit: Duration, wake: fn(&EventCount)) {
    explore(name, 3, at_least, move || {
        let events = Arc::new(EventCount::new(2, 2).expect("there is memory"));
        let is_over = Arc::new(AtomicUsize::new(0));
        assert_eq!(events.start_search(1), Role::Searcher);
        let waiter = {
            let (events, is_over) = (Arc::clone(&events), Arc::clone(&is_over));
            thread::spawn(move || {
                events.announce(0, Role::Sleeper);
                if is_over.load(Ordering::Acquire) != 0 {
                    events.cancel(0);
                } else if !events.hover(0, Duration::MAX) {
                    events.commit(0, limit);
                }
                assert_ne!(events.searching(), 0, "awake, and not counted");
            })
        };
        let waker = {
            let (events, is_over) = (Arc::clone(&events), Arc::clone(&is_over));
            thread::spawn(move || {
                is_over.store(1, Ordering::Release);
                wake(&events);
            })
        };
        events.relieve();
        events.stop_search();
        join([waiter, waker]);
        assert_eq!(events.searching(), 1, "the worker counts once, and the finder not");
        assert!(!events.has_sleepers());
        assert_eq!(events.waiting_awake(), 1, "nobody hovers");
    });
}

#[test]
fn a_hovering_worker_is_roused() {
    woken_once("eventcount, a hovering worker is roused", 1000, Duration::MAX, |events| {
        events.rouse(0);
    });
}

#[test]
fn a_hovering_worker_at_the_end() {
    woken_once("eventcount, a hovering worker at the run's end", 1000, Duration::MAX, |events| {
        events.wake_all();
    });
}

#[test]
fn a_short_sleep_after_hovering() {
    woken_once("eventcount, a short sleep after hovering", 1000, Duration::ZERO, |events| {
        events.wake_one(|_| false);
    });
}
