//! How a worker spends its time.
//!
//! At any moment of a run a worker is in one [`Phase`]. The thread that occupies the worker reads
//! the clock where the phase changes, adds the time since the last change to the sum of the phase
//! that ends, and writes down the new one. The worker's first phase begins with the run and its
//! last one is closed by the time of the run's end. So the four sums add up to the time of the run
//! exactly: each nanosecond is counted once.
//!
//! Phases change where a worker runs out of tasks, finds one, sleeps and wakes up, and where its
//! thread blocks and comes back: never between two tasks that it has at hand. A run has these
//! records only if it prints them (`SCHED_STATS`).
//!
//! # Observers
//!
//! `SCHED_STATS=live` reads the sums while the worker changes them. The owner writes `since` last.
//! An observer reads `since` before and after the sums, and reads all again if `since` has changed.
//! An owner that is interrupted between its stores can still mislead an observer, by one phase; so
//! observers bound the values that they show. Rejected: a lock, or a count that is odd during a
//! change. Both cost the owner more than a line that is drawn again after a second is worth.

use crate::stats::{Phase, Times};
use crate::sys::clock;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering, fence};

/// The most readings of an observer.
const LOOKS: usize = 4;

pub struct Phases {
    phase: AtomicU8,
    sums: [AtomicU64; Phase::ALL.len()],
    /// The time at which the phase began, in nanoseconds of `clock::nanos`.
    since: AtomicU64,
}

impl Phases {
    /// The phases of a worker whose run begins. The worker has no thread yet.
    pub fn new(began: u64) -> Self {
        Phases {
            phase: AtomicU8::new(Phase::Parked as u8),
            sums: [const { AtomicU64::new(0) }; Phase::ALL.len()],
            since: AtomicU64::new(began),
        }
    }

    /// Called by any thread.
    pub fn phase(&self) -> Phase {
        Phase::ALL[usize::from(self.phase.load(Ordering::Relaxed))]
    }

    /// From now on the worker is in this phase. Called by the thread that occupies the worker.
    pub fn begin(&self, phase: Phase) {
        if phase != self.phase() {
            self.begin_at(phase, clock::nanos());
        }
    }

    fn begin_at(&self, phase: Phase, now: u64) {
        let sum = &self.sums[self.phase() as usize];
        let spent = now - self.since.load(Ordering::Relaxed);
        sum.store(sum.load(Ordering::Relaxed) + spent, Ordering::Relaxed);
        self.phase.store(phase as u8, Ordering::Relaxed);
        self.since.store(now, Ordering::Release); // pairs with `times`
    }

    /// The times up to `now`. Exact if no thread occupies the worker any more; see the essay.
    pub fn times(&self, now: u64) -> Times {
        let mut since = self.since.load(Ordering::Acquire); // pairs with `begin_at`
        let mut looks = 1;
        loop {
            let mut sums = [const { 0 }; Phase::ALL.len()];
            let phase = self.phase();
            for (sum, to) in self.sums.iter().zip(&mut sums) {
                *to = sum.load(Ordering::Relaxed);
            }
            fence(Ordering::Acquire); // the loads above come before the next one
            let still = self.since.load(Ordering::Relaxed);
            if since == still || looks == LOOKS {
                sums[phase as usize] += now.saturating_sub(since);
                return Times(sums);
            }
            (since, looks) = (still, looks + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_nanosecond_is_counted_once() {
        let phases = Phases::new(1000);
        let changes = [
            (Phase::Busy, 1005),
            (Phase::Searching, 1105),
            (Phase::Parked, 1107),
            (Phase::Busy, 1207),
            (Phase::Blocked, 1210),
            (Phase::Busy, 1240),
        ];
        for (phase, now) in changes {
            phases.begin_at(phase, now);
            assert_eq!(phases.phase(), phase);
            assert_eq!(phases.times(now + 10).all(), now + 10 - 1000);
        }
        let times = phases.times(1250);
        assert_eq!(Phase::ALL.map(|phase| times.of(phase)), [113, 2, 105, 30]);
    }

    #[test]
    fn a_phase_that_goes_on_costs_no_reading_of_the_clock() {
        let phases = Phases::new(u64::MAX); // a reading would be less, and the subtraction fail
        phases.begin(Phase::Parked);
        assert_eq!(phases.times(u64::MAX).all(), 0);
    }

    #[test]
    fn an_observer_sees_no_more_than_has_passed() {
        let began = clock::nanos();
        let phases = Phases::new(began);
        std::thread::scope(|scope| {
            let seen = scope.spawn(|| (0..10_000).map(|_| phases.times(clock::nanos())).last());
            for _ in 0..10_000 {
                phases.begin(Phase::Busy);
                phases.begin(Phase::Searching);
            }
            let seen = seen.join().unwrap().unwrap();
            assert_eq!(seen.of(Phase::Blocked), 0);
        });
        let now = clock::nanos();
        assert_eq!(phases.times(now).all(), now - began);
    }
}
