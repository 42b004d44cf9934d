//! Sleeping and processor time, by system calls that are not cancellation points.

use std::time::Duration;

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

/// The time of the wall clock in a while, for functions of POSIX that wait until then.
pub fn wall_clock_after(while_: Duration) -> libc::timespec {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is a valid place.
    unsafe { libc::clock_gettime(libc::CLOCK_REALTIME, &raw mut now) };
    timespec(Duration::new(now.tv_sec as u64, now.tv_nsec as u32) + while_)
}

/// The processor time that this process has used.
pub fn processor_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Yields the processor to another thread that wants it.
pub fn give_way() {
    // SAFETY: the call has no arguments.
    unsafe { libc::sched_yield() };
}
