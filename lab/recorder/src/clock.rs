//! The clock of the stamps: the processor's counter of ticks, or nanoseconds on other processors.

use std::time::Instant;

use sched_dag::tape::Elapsed;
use sched_dag::{Event, Op};

#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn ticks() -> u64 {
    // SAFETY: every x86-64 processor has the instruction. It may be executed some instructions
    // early or late: what one interval thereby loses, its neighbour gains.
    unsafe { std::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub fn ticks() -> u64 {
    use std::sync::LazyLock;
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    START.elapsed().as_nanos() as u64
}

/// The ticks between the events of a run, on a tape.
#[derive(Default)]
pub struct Tape {
    pub events: Vec<Event>,
    last: u64,
}

impl Tape {
    /// Begins anew, in the same memory.
    pub fn rewind(&mut self) {
        self.events.clear();
        self.last = ticks();
    }

    #[inline]
    pub fn stamp(&mut self, op: Op) {
        let now = ticks();
        Event::append(&mut self.events, op, now - self.last);
        self.last = now;
    }
}

/// The ticks that a stamp takes in a loop: the median of several loops.
pub fn ticks_of_a_stamp() -> f64 {
    const STAMPS: u32 = 4096;
    let mut tape = Tape::default();
    let mut loops: Vec<u64> = (0..9)
        .map(|_| {
            tape.rewind();
            let start = ticks();
            (0..STAMPS).for_each(|_| tape.stamp(Op::End));
            ticks() - start
        })
        .collect();
    loops.sort_unstable();
    loops[loops.len() / 2] as f64 / f64::from(STAMPS)
}

/// A point in time, by each clock.
pub struct Moment {
    ticks: u64,
    instant: Instant,
    processor: u64,
}

impl Moment {
    pub fn now() -> Moment {
        let (ticks, instant) = ticks_and_instant();
        Moment { ticks, instant, processor: processor() }
    }

    pub fn elapsed(&self) -> Elapsed {
        let processor = processor() - self.processor; // read last at the beginning, and first here
        let (ticks, instant) = ticks_and_instant();
        let wall = instant.duration_since(self.instant).as_nanos() as u64;
        Elapsed { ticks: ticks - self.ticks, wall, processor }
    }
}

/// The counter and the clock. A thread that is interrupted between the two reads would shift one
/// against the other: of a few attempts the quickest counts.
fn ticks_and_instant() -> (u64, Instant) {
    let attempt = || {
        let (before, instant) = (ticks(), Instant::now());
        (ticks() - before, (before, instant))
    };
    let quickest = [attempt(), attempt(), attempt()].into_iter().min_by_key(|&(took, _)| took);
    quickest.map_or_else(|| attempt().1, |(_, read)| read)
}

/// Nanoseconds for which this thread had a processor.
fn processor() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is a timespec, and the clock is there on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
