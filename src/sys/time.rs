//! The clock, sleeping and processor time, by system calls that are not cancellation points.

use std::ops::{Add, Sub};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A moment of CLOCK_MONOTONIC, like `std::time::Instant`, which panics if the clock is refused. A
/// difference of moments is never negative.
///
/// # A refused clock
///
/// Normally the clock is read without a system call. If that is not possible, a seccomp filter can
/// refuse the system call. From the first refusal on, the process has a clock of its own. This
/// clock begins later than any moment of the system's clock, so each moment for which a thread
/// waits then is in the past. Each reading advances the clock by `STEP`, so each loop that waits
/// for a later moment ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instant(Duration);

/// 0 until the system's clock is refused; afterwards the time of the process's own clock in
/// nanoseconds. Relaxed: a thread that learns of it late reads the clock once more.
#[unsafe(link_section = "sched_words")]
static OWN: AtomicU64 = AtomicU64::new(0);

const OWN_BEGIN: u64 = 1 << 62;
const STEP: Duration = Duration::from_millis(100);

impl Instant {
    pub fn now() -> Self {
        Instant(Duration::from_nanos(nanos()))
    }

    pub fn elapsed(self) -> Duration {
        Instant::now() - self
    }

    pub fn saturating_duration_since(self, earlier: Instant) -> Duration {
        self - earlier
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;

    fn add(self, time: Duration) -> Instant {
        Instant(self.0.saturating_add(time))
    }
}

impl Sub<Duration> for Instant {
    type Output = Instant;

    fn sub(self, time: Duration) -> Instant {
        Instant(self.0.saturating_sub(time))
    }
}

impl Sub for Instant {
    type Output = Duration;

    fn sub(self, earlier: Instant) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

/// CLOCK_MONOTONIC in nanoseconds, or, if it is refused, the process's own clock: see [`Instant`].
pub fn nanos() -> u64 {
    match read(libc::CLOCK_MONOTONIC) {
        Some(time) if OWN.load(Ordering::Relaxed) == 0 => time.as_nanos() as u64,
        _ => own_nanos(),
    }
}

#[cold]
#[inline(never)]
fn own_nanos() -> u64 {
    let _ = OWN.compare_exchange(0, OWN_BEGIN, Ordering::Relaxed, Ordering::Relaxed);
    OWN.fetch_add(STEP.as_nanos() as u64, Ordering::Relaxed)
}

/// The time of a clock of the system; None: it is refused.
fn read(clock: libc::clockid_t) -> Option<Duration> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place.
    let done = unsafe { libc::clock_gettime(clock, &raw mut time) } == 0;
    done.then(|| Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
}

pub fn timespec(time: Duration) -> libc::timespec {
    libc::timespec { tv_sec: time.as_secs() as libc::time_t, tv_nsec: time.subsec_nanos().into() }
}

/// Sleeps for `time`, or until a signal arrives. It uses the system call directly, because the C
/// library's function is a cancellation point.
pub fn sleep(time: Duration) {
    let time = timespec(time);
    let rest: *mut libc::timespec = std::ptr::null_mut();
    // SAFETY: the first argument is a timespec, and the second may be null.
    unsafe { libc::syscall(libc::SYS_nanosleep, &raw const time, rest) };
}

/// The wall clock's time after `while_`, for functions of POSIX that wait until then.
pub fn wall_clock_after(while_: Duration) -> libc::timespec {
    timespec(wall_clock() + while_)
}

/// The wall clock's time since 1970; 0 if it is refused.
pub fn wall_clock() -> Duration {
    read(libc::CLOCK_REALTIME).unwrap_or_default()
}

/// A quick clock, which a tick of the kernel advances; 0 if it is refused.
pub fn coarse() -> Duration {
    read(libc::CLOCK_MONOTONIC_COARSE).unwrap_or_default()
}

/// The processor time that this process has used; 0 if the clock is refused.
pub fn processor_time() -> Duration {
    read(libc::CLOCK_PROCESS_CPUTIME_ID).unwrap_or_default()
}

/// Yields the processor to another thread that wants it.
pub fn give_way() {
    // SAFETY: the call has no arguments.
    unsafe { libc::sched_yield() };
}
