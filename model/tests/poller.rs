//! The poller: a thread that sleeps in the kernel's list is woken for a task as one that sleeps on
//! its word, and events are served by one thread each. A lost wake-up leaves a thread asleep
//! forever, which loom reports as a deadlock.
#![cfg(loom)]

use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;
use sched::idle::eventcount::{EventCount, Role, Slept};
use sched::idle::poller::{self, Poller};
use sched::sys::fence;
use sched::sys::futex::{Futex, LONGEST};
use sched_model::{explore, join, thread_with};

/// A poller with a pending wait. (It is never freed, like the library's.)
fn poller() -> &'static Poller {
    let poller: &Poller = Box::leak(Box::new(Poller::new()));
    poller.begin_wait();
    poller
}

/// Serves the events that the calling thread has, and returns the number of events.
fn serve(poller: &Poller) -> usize {
    let mut served = 0;
    // SAFETY: the caller has the turn.
    unsafe { poller.serve(|_| served += 1) };
    served
}

#[test]
fn a_word_is_changed() {
    explore("poller, its word changes", 3, 10, || {
        let (poller, word) = (poller(), Arc::new(Futex::new(0)));
        let sleeper = thread_with(&word, move |word| {
            while word.load(Ordering::Acquire) == 0 {
                assert!(!poller::sleep(Some(poller), word, 0, LONGEST), "an event");
            }
        });
        word.store(1, Ordering::Release);
        poller::wake(Some(poller), &word);
        sleeper.join().unwrap();
    });
}

#[test]
fn events_come_one_after_the_other() {
    explore("poller, two events", 3, 10, || {
        let (poller, word) = (poller(), Futex::new(0));
        let sleeper = thread::spawn(move || {
            let mut served = 0;
            while served < 2 {
                if poller::sleep(Some(poller), &word, 0, LONGEST) {
                    served += serve(poller);
                }
            }
        });
        poller.epoll.happen(1);
        poller.epoll.happen(2);
        sleeper.join().unwrap();
    });
}

#[test]
fn one_of_two_looks_gets_the_event() {
    explore("poller, two threads look", 3, 10, || {
        let (poller, all) = (poller(), Arc::new(AtomicUsize::new(0)));
        poller.epoll.happen(1);
        let look = move |all: &AtomicUsize| {
            if poller.look() {
                all.fetch_add(serve(poller), Ordering::Relaxed);
            }
        };
        let other = thread_with(&all, look);
        look(&all);
        other.join().unwrap();
        look(&all); // one of them may have found the turn taken by the other, before the event
        assert_eq!(all.load(Ordering::Relaxed), 1);
    });
}

/// Two workers that sleep in the event count, each until it has taken a task; one of them polls.
#[test]
fn two_sleepers_two_tasks() {
    explore("poller, two sleepers of an event count", 2, 100, || {
        let poller = poller();
        let events = EventCount::new(2, 2, Some(poller)).expect("there is memory");
        let shared = Arc::new((events, AtomicUsize::new(0)));
        let workers =
            [0, 1].map(|me| thread_with(&shared, move |(events, tasks)| work(events, tasks, me)));
        for _ in 0..2 {
            shared.1.fetch_add(1, Ordering::Release);
            shared.0.published(|_| false);
        }
        join(workers);
    });
}

fn take(tasks: &AtomicUsize) -> bool {
    let one_less = |tasks: usize| tasks.checked_sub(1);
    tasks.fetch_update(Ordering::AcqRel, Ordering::Relaxed, one_less).is_ok()
}

fn work(events: &EventCount, tasks: &AtomicUsize, me: usize) {
    let mut role = events.start_search(me);
    loop {
        if role == Role::Searcher && take(tasks) {
            if events.stop_search() {
                fence::heavy();
                if tasks.load(Ordering::Acquire) > 0 {
                    events.wake_one(|_| false);
                }
            }
            return;
        }
        let last = events.announce(me, role);
        if last {
            fence::heavy();
        }
        if last && tasks.load(Ordering::Acquire) > 0 {
            events.cancel(me);
        } else {
            assert!(events.commit(me, LONGEST) == Slept::Woken);
        }
        role = Role::Searcher;
    }
}
