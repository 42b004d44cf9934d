//! How a searcher gets at the private tasks of other workers, at a bounded cost to the owners.

use crate::queue::Raid;
use crate::sys::atomic::{AtomicUsize, MODEL, Ordering, Pad};
use crate::sys::memory::{self, NoMemory};
use crate::sys::time::{Instant, nanos};
use std::time::Duration;

/// The first and the longest pause of a searcher. It has two pauses: one after it has asked the
/// owners, one after a request and a raid without success. Each doubles with each use. A question
/// costs an owner that pushes some 0.2 µs; a request costs as much.
const FIRST_PAUSE: Duration = Duration::from_micros(1);
const LONGEST_PAUSE: Duration = Duration::from_micros(32);

/// The tasks in the deques of other workers that a search takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// Public tasks.
    Public,
    /// Public tasks; the owners are asked to publish more.
    Ask,
    /// Public tasks; the private tasks are requested.
    Request,
    /// Public tasks, and the private tasks for which a request is pending.
    RaidIfRequested,
    /// All tasks.
    Raid,
}

/// Decides when a searcher requests, raids and asks. The searcher first requests tasks. It waits
/// for the owners to publish them, raids the owners whose request is still pending, pauses, and
/// begins again. Between these steps it asks the owners from time to time.
///
/// After a request the searcher waits for as long as a raid takes. A raid interrupts the owner for
/// about as long, so the raid at most doubles what the owner's silence has cost (ski rental, as in
/// `idle::Patience`). But the pending request may be another searcher's, made a moment ago. So an
/// owner is raided only if its pending request is at least half as old as a raid is long:
/// [`Requests`] has the time of each. (Half, because a searcher waits from the beginning of its
/// search, and makes its requests later.)
///
/// An owner that was asked looks for a task to publish at its next push. If it has none to spare,
/// it will probably have none soon afterwards. In kind `cont`, for instance, a worker that spawns
/// empty tasks has a single continuation in its deque. (Rejected: to ask in each search, so that
/// the owner looks at each push while a worker searches. A flood of empty tasks on two workers took
/// 12.9 ns a task instead of 9.4.)
pub(super) struct Demands {
    /// No owner is requested or raided until this time.
    next: Instant,
    pause: Duration,
    /// True if the last step was a request.
    requested: bool,
    /// No owner is asked until this time.
    next_ask: Instant,
    ask_pause: Duration,
}

impl Demands {
    pub(super) fn new(now: Instant) -> Self {
        let (next, pause) = (now, FIRST_PAUSE);
        Demands { next, pause, requested: false, next_ask: next, ask_pause: pause }
    }

    /// Tells which tasks the next search takes.
    pub(super) fn reach(&mut self, now: Instant, raid_cost: Duration) -> Reach {
        if MODEL {
            return Reach::Raid; // models have no clock
        }
        if now < self.next {
            if now < self.next_ask {
                return Reach::Public;
            }
            self.next_ask = now + lengthened(&mut self.ask_pause);
            return Reach::Ask;
        }
        self.requested = !self.requested;
        if self.requested {
            self.next = now + raid_cost;
            return Reach::Request;
        }
        self.next = now + lengthened(&mut self.pause);
        Reach::RaidIfRequested
    }
}

/// Returns the pause, and doubles it for the next time.
fn lengthened(pause: &mut Duration) -> Duration {
    let now = *pause;
    *pause = (now * 2).min(LONGEST_PAUSE);
    now
}

/// For each owner, the time at which its pending request was made, in nanoseconds. (Relaxed: the
/// time orders no other memory. If two thieves write it, their times are almost the same.)
///
/// Rejected: no such times. Then a thief raided an owner that another thief had just requested:
/// with 7 thieves or more, the spawner of a group of 15 tasks was raided in four groups of five,
/// for 6 µs each (`bench_c/phases.c`).
pub(super) struct Requests(Box<[Pad<AtomicUsize>]>);

impl Requests {
    pub(super) fn new(owners: usize) -> Result<Self, NoMemory> {
        Ok(Requests(memory::slice(owners, |_| Ok(Pad(AtomicUsize::new(0))))?))
    }

    /// A request to `owner` was made just now.
    pub(super) fn note(&self, owner: usize) {
        self.0[owner].store(Self::now(), Ordering::Relaxed);
    }

    /// How long the request to `owner` has been pending.
    pub(super) fn age(&self, owner: usize) -> Duration {
        let age = Self::now().wrapping_sub(self.0[owner].load(Ordering::Relaxed));
        Duration::from_nanos(age as u64)
    }

    fn now() -> usize {
        nanos() as usize
    }
}

/// The measured time of a raid. (Relaxed: the figure orders no other memory.)
pub(super) struct RaidCost(AtomicUsize);

impl RaidCost {
    /// The value before the first measurement, in nanoseconds.
    const LIKELY: usize = 5_000;
    /// A longer measured time is recorded as this one: something other than the raid took the rest.
    const MOST: usize = 50_000;

    pub(super) fn new() -> Self {
        RaidCost(AtomicUsize::new(Self::LIKELY))
    }

    pub(super) fn get(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::Relaxed) as u64)
    }

    /// Calls `raid`, and measures it if there was a raid. The figure is a moving average: seven
    /// parts old, one part new.
    pub(super) fn measure(&self, raid: impl FnOnce() -> Raid) -> Raid {
        let begun = Instant::now();
        let outcome = raid();
        if outcome != Raid::NotMade {
            let new = (begun.elapsed().as_nanos() as usize).min(Self::MOST);
            let old = self.0.load(Ordering::Relaxed);
            self.0.store(old - old / 8 + new / 8, Ordering::Relaxed);
        }
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_as_old_as_its_note() {
        let requests = Requests::new(2).expect("no memory");
        assert!(requests.age(0) > LONGEST_PAUSE, "no request was noted");
        let begun = Instant::now();
        requests.note(1);
        std::thread::sleep(Duration::from_millis(2));
        let (age, most) = (requests.age(1), begun.elapsed());
        assert!((Duration::from_millis(2)..=most).contains(&age), "{age:?}, at most {most:?}");
        assert!(requests.age(0) > age, "the request to another owner was noted");
    }

    /// The reach at `now`, or the next one if that is to ask.
    fn demand(demands: &mut Demands, now: Instant, raid_cost: Duration) -> Reach {
        match demands.reach(now, raid_cost) {
            Reach::Ask => demands.reach(now, raid_cost),
            other => other,
        }
    }

    #[test]
    fn a_searcher_requests_and_then_raids_ever_more_seldom() {
        let raid_cost = Duration::from_micros(5);
        let mut now = Instant::now();
        let mut demands = Demands::new(now);
        let mut pause = FIRST_PAUSE;
        for _ in 0..8 {
            assert_eq!(demand(&mut demands, now, raid_cost), Reach::Request);
            assert_eq!(demand(&mut demands, now, raid_cost), Reach::Public, "the searcher waits");
            now = now + raid_cost;
            assert_eq!(demand(&mut demands, now, raid_cost), Reach::RaidIfRequested);
            assert_eq!(demand(&mut demands, now, raid_cost), Reach::Public, "the searcher pauses");
            now = now + pause;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    #[test]
    fn a_searcher_asks_ever_more_seldom() {
        let (raid_cost, step) = (Duration::from_secs(1), Duration::from_nanos(100));
        let begun = Instant::now();
        let mut demands = Demands::new(begun);
        assert_eq!(demands.reach(begun, raid_cost), Reach::Request);
        let mut asked = Vec::new();
        for n in 0..2_000 {
            let now = begun + step * n;
            if demands.reach(now, raid_cost) == Reach::Ask {
                asked.push(now);
            }
        }
        let pauses: Vec<Duration> = asked.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert_eq!(pauses[..6], [1, 2, 4, 8, 16, 32].map(Duration::from_micros));
        assert!(pauses[6..].iter().all(|&pause| pause == LONGEST_PAUSE), "{pauses:?}");
    }
}
