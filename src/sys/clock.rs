//! A clock that costs a few nanoseconds, for recording each task: the processor's time-stamp
//! counter, if it counts at one rate on all processors, and otherwise
//! clock_gettime(CLOCK_MONOTONIC). Its unit is the *tick* ([`Calibration`]).
//!
//! On x86-64 the counter is used if CPUID calls it invariant (leaf 0x80000007, EDX bit 8; Intel's
//! manual, volume 3, "Invariant TSC"). On aarch64 `cntvct_el0` is constant by definition.

pub use crate::sys::time::nanos;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

/// Tells whether `ticks` reads the counter: 0 while that is not known, then one of the next two
/// constants.
#[unsafe(link_section = "sched_words")]
static SOURCE: AtomicU8 = AtomicU8::new(0);
const COUNTER: u8 = 1;
const SYSTEM: u8 = 2;

#[inline]
pub fn ticks() -> u64 {
    // Relaxed: every thread finds the same value.
    match SOURCE.load(Ordering::Relaxed) {
        COUNTER => counter(),
        SYSTEM => nanos(),
        _ => find_source(),
    }
}

#[cold]
fn find_source() -> u64 {
    SOURCE.store(if counter_is_steady() { COUNTER } else { SYSTEM }, Ordering::Relaxed);
    ticks()
}

#[cfg(target_arch = "x86_64")]
fn counter_is_steady() -> bool {
    use std::arch::x86_64::__cpuid;
    const POWER: u32 = 0x8000_0007;
    const INVARIANT: u32 = 1 << 8;
    #[allow(unused_unsafe, reason = "newer versions of Rust declare `__cpuid` safe")]
    // SAFETY: each x86-64 processor has the instruction.
    unsafe {
        __cpuid(0x8000_0000).eax >= POWER && __cpuid(POWER).edx & INVARIANT != 0
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn counter() -> u64 {
    // SAFETY: every x86-64 processor has the instruction.
    unsafe { std::arch::x86_64::_rdtsc() }
}

#[cfg(target_arch = "aarch64")]
fn counter_is_steady() -> bool {
    true
}

#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn counter() -> u64 {
    let count: u64;
    // SAFETY: Linux lets programs read this register, which has no effect.
    unsafe {
        std::arch::asm!("mrs {}, cntvct_el0", out(reg) count, options(nostack, nomem));
    }
    count
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn counter_is_steady() -> bool {
    false
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn counter() -> u64 {
    nanos()
}

/// The two clocks, read at the same time.
#[derive(Clone, Copy)]
pub struct Moment {
    ticks: u64,
    nanos: u64,
}

impl Moment {
    pub fn now() -> Self {
        // A thread that is preempted between the two reads would shift one clock against the other.
        // So the quickest of a few attempts counts.
        let attempt = || {
            let before = ticks();
            let nanos = nanos();
            let after = ticks();
            (after - before, Moment { ticks: before + (after - before) / 2, nanos })
        };
        let attempts = [attempt(), attempt(), attempt()];
        attempts.into_iter().min_by_key(|&(length, _)| length).map_or(attempt().1, |best| best.1)
    }

    pub fn ticks(self) -> u64 {
        self.ticks
    }

    pub fn nanos(self) -> u64 {
        self.nanos
    }
}

/// Translates ticks into nanoseconds of CLOCK_MONOTONIC.
#[derive(Clone, Copy)]
pub struct Calibration {
    begin: Moment,
    nanos_per_tick: f64,
}

impl Calibration {
    /// Takes the rate between two moments, of which the second is now. If they are closer than a
    /// millisecond, the second one is read again a millisecond after the first.
    pub fn since(begin: Moment) -> Self {
        const LEAST: u64 = 1_000_000;
        let mut end = Moment::now();
        while end.nanos < begin.nanos + LEAST {
            end = Moment::now();
        }
        let ticks = end.ticks.saturating_sub(begin.ticks).max(1);
        Calibration { begin, nanos_per_tick: (end.nanos - begin.nanos) as f64 / ticks as f64 }
    }

    /// The length of this number of ticks in nanoseconds.
    pub fn length(&self, ticks: u64) -> u64 {
        (ticks as f64 * self.nanos_per_tick) as u64
    }

    /// The nanoseconds of CLOCK_MONOTONIC at this tick.
    pub fn nanos(&self, ticks: u64) -> u64 {
        let since = ticks.wrapping_sub(self.begin.ticks) as i64 as f64;
        self.begin.nanos.saturating_add_signed((since * self.nanos_per_tick) as i64)
    }
}

/// The approximate number of ticks in a time. The first call takes a millisecond.
pub fn ticks_in(time: Duration) -> u64 {
    #[unsafe(link_section = "sched_words")]
    static RATE: OnceLock<f64> = OnceLock::new();
    let rate = RATE.get_or_init(|| Calibration::since(Moment::now()).nanos_per_tick);
    (time.as_nanos() as f64 / rate) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_translate_into_the_systems_time() {
        let begin = Moment::now();
        let calibration = Calibration::since(begin);
        let (before, tick, after) = (nanos(), ticks(), nanos());
        let translated = calibration.nanos(tick);
        // The calibration measured the rate over a millisecond; this test uses it little later.
        assert!(
            (before.saturating_sub(100_000)..after + 100_000).contains(&translated),
            "{translated} is not between {before} and {after}"
        );
        assert_eq!(calibration.nanos(begin.ticks()), begin.nanos());
    }
}
