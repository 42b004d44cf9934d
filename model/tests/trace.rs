//! A ring of events whose owner writes while another thread reads: the reader sees whole events, in
//! their order, as long as the owner overwrites none of them.
#![cfg(loom)]

use loom::sync::Arc;
use sched::trace::event::{Event, Kind, Wait};
use sched::trace::ring::{EVENT_BYTES, Ring};
use sched_model::{Reached, explore, thread_with};

/// An event whose four words tell its number.
fn event(n: usize) -> Event {
    let (time, length, task) = (n as u64 + 1, n as u64 + 2, n as u64 + 3);
    Event {
        time,
        kind: Kind::Begin,
        wait: Wait::Other,
        worker: n as u16 + 4,
        length,
        task,
        function: n + 5,
    }
}

fn ring(events: usize) -> Arc<Ring> {
    Arc::new(Ring::new(events * EVENT_BYTES).expect("there is memory"))
}

static SEEN: Reached = Reached::not_yet();

/// The process ends in the middle of a run: another thread reads the ring.
#[test]
fn a_reader_beside_the_owner() {
    explore("trace ring, a reader beside the owner", 2, 50, || {
        let ring = ring(4);
        let reader = thread_with(&ring, |reader| {
            let events: Vec<_> = reader.events().collect();
            let expected: Vec<_> = (0..events.len()).map(event).collect();
            assert_eq!(events, expected, "an event was read before it was written");
            SEEN.note(!events.is_empty());
        });
        (0..2).for_each(|n| ring.push(event(n)));
        reader.join().unwrap();
        assert_eq!(ring.events().count(), 2);
    });
    SEEN.expect("an event that was read beside the owner");
}

/// The owner overwrites the oldest event: each word read is the old event's or the new one's.
#[test]
fn a_reader_of_an_event_that_is_overwritten() {
    explore("trace ring, an event that is overwritten", 2, 50, || {
        let ring = ring(2);
        (0..2).for_each(|n| ring.push(event(n)));
        let reader = thread_with(&ring, |reader| {
            if let Some(seen) = reader.get(0) {
                let [old, new] = [0, 2].map(event);
                assert!([old.time, new.time].contains(&seen.time));
                assert!([old.function, new.function].contains(&seen.function));
            }
        });
        ring.push(event(2));
        reader.join().unwrap();
        assert!(ring.events().eq([event(1), event(2)]));
    });
}
