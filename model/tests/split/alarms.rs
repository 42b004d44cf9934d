//! Alarms: the owner does not miss the reason of an alarm, and no task is lost beside an alarm. In
//! each model at most one thread waits for the deque's lock, because loom would explore the turns
//! of two waiting threads endlessly.

use crate::{Shared, raider};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering, fence};
use loom::thread::{self, JoinHandle};
use sched::queue::{Owner, PrivatePart};
use sched_model::{Reached, explore, join, take};

/// Writes a reason, and sets the alarm.
fn alarming(shared: &Arc<Shared>, outside: &Arc<AtomicUsize>) -> JoinHandle<()> {
    let (shared, outside) = (Arc::clone(shared), Arc::clone(outside));
    thread::spawn(move || {
        outside.fetch_add(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        shared.deque.alarm();
    })
}

/// A pop in the owner's loop. If an alarm stops it, returns the number of reasons the owner sees.
fn pop_or_look(
    shared: &Shared,
    owner: &mut Owner<crate::Deck>,
    outside: &AtomicUsize,
) -> Option<usize> {
    if owner.pop_into(take) || !shared.deque.is_alarmed() {
        return None;
    }
    owner.private_part().expect("a split deque").silence();
    Some(outside.load(Ordering::Relaxed))
}

/// The thread may find the alarm still set although the owner has already looked, and has not seen
/// the thread's write.
#[test]
fn the_alarm_for_what_was_seen() {
    static SEEN: Reached = Reached::not_yet();
    explore("split, an alarm beside an alarm", 4, 20, || {
        let (shared, outside) = (Shared::new(1), Arc::new(AtomicUsize::new(1)));
        let mut owner = shared.owner();
        shared.push(&mut owner, 0);
        shared.deque.alarm();
        let thread = alarming(&shared, &outside);
        let seen = pop_or_look(&shared, &mut owner, &outside).expect("the alarm is set");
        SEEN.note(seen == 1);
        thread.join().unwrap();
        if seen < 2 {
            assert_eq!(pop_or_look(&shared, &mut owner, &outside), Some(2), "an alarm was lost");
        }
        shared.check(owner);
    });
    SEEN.expect("an owner that does not see the second reason");
}

#[test]
fn an_alarmed_owner_beside_a_raid() {
    explore("split, an alarmed owner beside a raid", 4, 1000, || {
        let (shared, outside) = (Shared::new(3), Arc::new(AtomicUsize::new(1)));
        let mut owner = shared.owner();
        (0..2).for_each(|i| shared.push(&mut owner, i));
        shared.deque.alarm();
        let raider = raider(&shared, 1);
        shared.push(&mut owner, 2);
        let seen = pop_or_look(&shared, &mut owner, &outside);
        raider.join().unwrap();
        assert_eq!(seen, Some(1), "the alarm does not stop the owner");
        shared.check(owner);
    });
}

#[test]
fn an_alarm_beside_a_raid() {
    explore("split, an alarm beside a raid", 4, 500, || {
        let (shared, outside) = (Shared::new(3), Arc::new(AtomicUsize::new(0)));
        let mut owner = shared.owner();
        (0..3).for_each(|i| shared.push(&mut owner, i));
        join([alarming(&shared, &outside), raider(&shared, 1)]);
        let seen = pop_or_look(&shared, &mut owner, &outside);
        assert_eq!(seen, Some(1), "the alarm does not stop the owner");
        shared.check(owner);
    });
}
