//! What hovering takes: no wake-up of the kernel, and no processor that another worker wants.
//!
//! No test here measures a time. One whose wait does not end as it must, ends by failing, or does
//! not end.

use super::eventcount::{EventCount, Role, Slept};
use std::thread;
use std::time::Duration;

/// Longer than any test.
const FOR_EVER: Duration = Duration::from_secs(3600);

fn events(processors: usize) -> EventCount {
    let events = EventCount::new(4, processors).expect("there is memory");
    assert_eq!(events.start_search(3), Role::Searcher);
    events
}

/// Worker `worker` hovers for `time` on a thread of its own, while this thread does `meanwhile`.
/// True if it was woken.
fn hovers(events: &EventCount, worker: usize, time: Duration, meanwhile: impl FnOnce()) -> bool {
    thread::scope(|scope| {
        events.announce(worker, Role::Sleeper);
        let hovering = scope.spawn(|| events.hover(worker, time));
        meanwhile();
        hovering.join().expect("it does not panic")
    })
}

/// How many workers wait for tasks, awake, beside the searcher of `events`.
fn others_awake(events: &EventCount) -> usize {
    events.waiting_awake() - 1
}

#[test]
fn the_last_searcher_is_relieved_by_a_hovering_worker() {
    let events = events(8);
    let is_woken = hovers(&events, 0, FOR_EVER, || {
        while others_awake(&events) == 0 {
            thread::yield_now();
        }
        assert!(events.relieve());
        assert!(!events.stop_search(), "another worker searches: there is nothing to look for");
    });
    assert!(is_woken);
    assert_eq!((events.searching(), others_awake(&events)), (1, 0));
    assert!(!events.has_sleepers());
}

#[test]
fn one_of_two_searchers_is_not_relieved() {
    let events = events(8);
    assert_eq!(events.start_search(2), Role::Searcher);
    let is_woken = hovers(&events, 0, FOR_EVER, || {
        while events.waiting_awake() < 3 {
            thread::yield_now();
        }
        assert!(!events.relieve());
        assert!(!events.stop_search());
        events.rouse(0);
    });
    assert!(is_woken);
}

#[test]
fn the_end_wakes_a_hovering_worker() {
    let events = events(8);
    assert!(hovers(&events, 0, FOR_EVER, || assert_eq!(events.wake_all(), 1)));
}

/// With the woken worker there are more workers awake than hover beside it. It does not go to sleep
/// for that.
#[test]
fn a_worker_is_woken_onto_the_last_processor() {
    let events = events(4);
    for _ in 0..200 {
        let is_woken = hovers(&events, 0, FOR_EVER, || {
            while others_awake(&events) == 0 {
                thread::yield_now();
            }
            events.rouse(0);
        });
        assert!(is_woken);
        assert!(!events.stop_search(), "worker 3 searches");
    }
}

#[test]
fn a_worker_hovers_no_longer_than_it_may() {
    let events = events(4);
    assert!(!hovers(&events, 0, Duration::from_millis(1), || ()));
    assert_eq!(others_awake(&events), 0);
    assert!(!events.relieve(), "nobody hovers");
    assert_eq!(events.commit(0, Duration::from_millis(1)), Slept::TimedOut);
    assert_eq!(events.searching(), 2);
}

/// Of the four workers three are awake, and there are three processors.
#[test]
fn a_worker_takes_no_processor_from_another() {
    assert!(!hovers(&events(3), 0, FOR_EVER, || ()));
}

/// Two workers are awake, and two would hover on the third processor: the first one may.
#[test]
fn workers_that_hover_share_the_processors() {
    let events = events(3);
    events.announce(1, Role::Sleeper);
    hovers(&events, 0, FOR_EVER, || {
        while others_awake(&events) == 0 {
            thread::yield_now();
        }
        assert!(!events.hover(1, FOR_EVER));
        events.rouse(0);
    });
    events.cancel(1);
    assert!(!events.has_sleepers());
}
