//! The behaviour of workers without tasks, and the detection of the end of a run.
//!
//! | `SCHED_IDLE` | a worker that found nothing | wakes by |
//! | --- | --- | --- |
//! | `park` | searches longer, then sleeps in the [`eventcount`] | a spawn, or the run's end |
//! | `nap` | sleeps 1 ms: the course's section 4 | time |
//! | `backoff` | sleeps, longer after each failure, shorter after each success | time |
//! | `spin` | searches again at once, and sometimes yields its processor | never sleeps |

pub mod eventcount;
pub mod poller;
pub mod quiescence;
pub mod standby;

use crate::settings::Idle;
use crate::sys::atomic::{MODEL, spin_loop};
use crate::sys::time::Instant;
use crate::sys::{futex, time};
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

/// The sleep of the course's section 4; also the longest sleep of `backoff`, which therefore
/// notices work no later than `nap` does.
const NAP: Duration = Duration::from_millis(1);
/// Below this length the kernel's own cost of a sleep dominates (about 50 µs of timer slack).
const SHORTEST: Duration = Duration::from_micros(15);

/// The least number of pauses of the processor between two searches. (A pause takes 20 to 70 ns.)
const LEAST_PAUSES: usize = 4;

/// The number of pauses between two searches for each worker that searches, so that the searches of
/// all workers together disturb the owners no more often than those of one worker. At most
/// `PAUSES`. (With half as many pauses, forks of 15 tasks on 8 and 16 workers took longer by a
/// tenth, and no loop took less time.)
const PAUSES_A_SEARCHER: usize = 4;

/// The number of pauses before the worker yields its processor. A yield takes as long as several
/// searches, and a task that arrives during the yield waits.
const PAUSES: usize = 256;

/// How one worker waits between two searches. (The `eventcount` parks workers.)
pub struct Naps {
    policy: Idle,
    next: Duration,
    /// The number of pauses since the worker last yielded its processor.
    pauses: usize,
    /// Used by `park`.
    pub patience: Patience,
}

impl Naps {
    pub fn new(policy: Idle) -> Self {
        Naps { policy, next: SHORTEST, pauses: 0, patience: Patience::new() }
    }

    /// True if `wait` sleeps.
    pub fn are_sleeps(&self) -> bool {
        matches!(self.policy, Idle::Nap | Idle::Backoff)
    }

    /// Waits once after a failed search. About `searching` workers search. True if it slept.
    pub fn wait(&mut self, searching: usize) -> bool {
        match self.policy {
            Idle::Nap => time::sleep(NAP),
            Idle::Backoff => {
                time::sleep(self.next);
                self.next = (self.next * 2).min(NAP);
            }
            Idle::Spin | Idle::Park => {
                self.pauses += pause(searching, || false);
                if self.pauses >= PAUSES {
                    self.pauses = 0;
                    time::give_way();
                }
                return false;
            }
        }
        true
    }

    /// Called when the worker has found work.
    pub fn success(&mut self) {
        self.next = (self.next / 2).max(SHORTEST);
    }
}

/// Pauses between two looks for tasks, while `searching` workers search, until `over` at the
/// latest. Returns the number of pauses.
pub fn pause(searching: usize, over: impl Fn() -> bool) -> usize {
    let most = (searching * PAUSES_A_SEARCHER).clamp(LEAST_PAUSES, PAUSES);
    let mut pauses = 0;
    while pauses < most && !over() {
        spin_loop();
        pauses += 1;
    }
    pauses
}

/// The idle time of a worker. Tells whenever [`futex::LONGEST`] has passed, and when the worker
/// must give memory back.
pub struct LongWait {
    began: Instant,
    looked: Instant,
}

impl LongWait {
    pub fn begin() -> Self {
        let now = Instant::now();
        LongWait { began: now, looked: now }
    }

    /// True if `futex::LONGEST` has passed since the beginning, or since this was last true.
    pub fn is_due(&mut self) -> bool {
        // (A sleep of that length may end some microseconds early.)
        let due = !MODEL && self.looked.elapsed() >= futex::LONGEST.mul_f32(0.9);
        if due {
            self.looked = Instant::now();
        }
        due
    }

    /// How long the worker may sleep. If it `keeps` memory, it gives the memory back after it has
    /// been idle for `warm`. None means that it must give the memory back now.
    pub fn longest_sleep(&self, keeps: bool, warm: Duration) -> Option<Duration> {
        if !keeps || MODEL {
            return Some(futex::LONGEST);
        }
        let left = warm.saturating_sub(self.began.elapsed());
        (!left.is_zero()).then(|| left.min(futex::LONGEST))
    }
}

/// How long an idle worker searches before it parks.
///
/// An idle worker searches for about as long as a wake-up takes, as measured in this run. So
/// spinning at most doubles the cost of idling (A. Karlin and others, "Empirical studies of
/// competitive spinning", 1991). A worker searches for `LONG` if one of its [`LastWaits`] was
/// short, so that workers stay awake between parallel phases that follow each other closely. When
/// the phases become far apart, each worker searches for `LONG` twice in vain. (Rejected: searching
/// for `LONG` only if both waits were short. On 16 workers a loop of 100 µs, after a gap of 50 µs,
/// then took 26 µs instead of 18.)
///
/// If the worker's last task came from outside the run, the worker searches for `SHORTEST` only.
/// The thread that adds the next such task pays for the wake-up, and a searcher would take a
/// processor from that thread. (Jobs of 10 µs that three threads submit with pauses of 200 µs, on
/// two processors, take 50 µs of processor time each instead of 75.)
///
/// Suppose that a worker is woken for a task and finds nothing, because the spawner has run the
/// task itself, as in a chain of short tasks. The next wake-up will probably also be in vain. While
/// some worker searches, nobody is woken. So this worker searches for twice as long before it
/// sleeps again, up to `LONGEST`. (Without this rule, a chain of 2 µs tasks took twice as long on 8
/// workers as on one, on 2 processors, with a wake-up for every second task: c_tests/wakes.c.)
/// But once a worker has spent `ALLOWANCE` and a tenth of its time on searches in vain, it dozes
/// for the rest of each search that may take longer than `LONG`. It still counts as searching, so a
/// task may wait for as long as the worker dozes.
pub struct Patience {
    since: Instant,
    burnt: Duration,
    begun: Instant,
    length: Duration,
}

/// A worker's last two waits, a bit for each: 1 if the wait ended within `Patience::LONG`, by a
/// task or by a wake-up. The record belongs to the worker, because in each parallel phase another
/// fiber of the worker may wait. (With a record for each fiber, workers slept in 260 to 440 of 600
/// gaps of 50 µs; with a record for each worker, in 2 to 30.) Only the worker's own thread uses the
/// record. (std's atomic, which the models do not explore.)
#[derive(Default)]
pub struct LastWaits(AtomicU8);

impl LastWaits {
    fn add(&self, length: Duration) {
        let before = self.0.load(Ordering::Relaxed);
        let short = u8::from(length < Patience::LONG);
        self.0.store(before & SOURCE | ((before << 1) | short) & 0b11, Ordering::Relaxed);
    }

    fn has_short(&self) -> bool {
        self.0.load(Ordering::Relaxed) & 0b11 != 0
    }

    /// Notes the source of the last task that the worker took elsewhere.
    pub fn took(&self, from: Source) {
        let before = self.0.load(Ordering::Relaxed);
        if before & SOURCE != from as u8 {
            self.0.store(before & !SOURCE | from as u8, Ordering::Relaxed);
        }
    }

    /// True if the last task that the worker took elsewhere came from `source`.
    pub fn is_from(&self, source: Source) -> bool {
        self.0.load(Ordering::Relaxed) & SOURCE == source as u8
    }
}

/// The bits of `LastWaits` that hold the source.
const SOURCE: u8 = 0b1100;

/// The queue from which a worker has taken a task.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Source {
    Worker = 0b0000,
    /// The queue of a guest.
    Guest = 0b0100,
    /// Outside the run.
    Outside = 0b1000,
}

/// The next step of a worker that found nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    Search,
    /// Sleep for a time, then search again.
    Doze(Duration),
    Park,
}

impl Default for Patience {
    fn default() -> Self {
        Patience::new()
    }
}

impl Patience {
    const SHORTEST: Duration = Duration::from_micros(5);
    const LONG: Duration = Duration::from_micros(100);
    const LONGEST: Duration = Duration::from_millis(1);
    const ALLOWANCE: Duration = Duration::from_millis(2);

    pub fn new() -> Self {
        let now = Instant::now();
        Patience { since: now, burnt: Duration::ZERO, begun: now, length: Self::SHORTEST }
    }

    /// How long a worker normally waits awake.
    pub fn usual(wake_cost: Duration) -> Duration {
        wake_cost.clamp(Self::SHORTEST, Self::LONG)
    }

    /// Begins the wait of a worker that has run out of tasks. Its searches may take about
    /// `wake_cost`, or `LONG` if one of the last waits was short.
    pub fn begin(&mut self, wake_cost: Duration, last: &LastWaits) {
        self.begun = Instant::now();
        self.length = if last.is_from(Source::Outside) {
            Self::SHORTEST
        } else if last.has_short() {
            Self::LONG
        } else {
            Self::usual(wake_cost)
        };
    }

    /// The worker's wait is over. It ended `late` ago, when the task appeared.
    pub fn found(&mut self, late: Duration, last: &LastWaits) {
        last.add(self.begun.elapsed().saturating_sub(late));
    }

    /// The worker was woken, which took `wake_cost`, and searches again.
    #[cold]
    #[inline(never)]
    pub fn woken(&mut self, wake_cost: Duration, last: &LastWaits) {
        self.found(wake_cost, last);
        self.begun = Instant::now();
    }

    /// Doubles the length of the search: the worker was woken, and its last wake-up was in vain.
    pub fn lengthen(&mut self) {
        self.length = (self.length * 2).min(Self::LONGEST);
    }

    /// Called after each search that found nothing.
    pub fn next_step(&mut self) -> Next {
        if MODEL {
            return Next::Park;
        }
        let now = Instant::now();
        let spent = now - self.begun;
        if spent >= self.length {
            self.burnt += spent.min(self.length);
            return Next::Park;
        }
        let allowed = Self::ALLOWANCE + (now - self.since) / 10;
        if self.length > Self::LONG && self.burnt + spent > allowed {
            self.burnt += spent;
            let rest = self.length - spent;
            self.begun = now - self.length; // the next call parks
            return Next::Doze(rest);
        }
        Next::Search
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn pauses_grow_with_the_searchers_and_end_with_what_is_awaited() {
        assert_eq!(pause(0, || false), LEAST_PAUSES);
        assert_eq!(pause(10, || false), 10 * PAUSES_A_SEARCHER);
        assert_eq!(pause(usize::MAX / PAUSES_A_SEARCHER, || false), PAUSES);
        assert_eq!(pause(10, || true), 0);
        let looks = Cell::new(0);
        let third_look = || looks.replace(looks.get() + 1) == 2;
        assert_eq!(pause(10, third_look), 2);
    }
}
