//! How many processors this process may use.

use super::cgroup;
use super::config::MOST_WORKERS;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Reading the quota opens some ten files: it is read at most this often.
const QUOTA_KEPT: Duration = Duration::from_millis(100);

/// The default number of workers: the affinity mask, capped by the tightest quota of the
/// cgroup and its ancestors, rounded up; at least 1.
pub fn default_threads() -> usize {
    let quota = quota().map_or(usize::MAX, |millis| millis.div_ceil(1000));
    allowed().min(quota).clamp(1, MOST_WORKERS)
}

/// Processors in the calling thread's affinity mask; 1 if it cannot be read.
pub fn allowed() -> usize {
    // The kernel's mask may be longer than cpu_set_t's 1024 bits: up to 8192 processors.
    let mut mask = [0u64; 128];
    // SAFETY: the mask is a buffer of the length given.
    let n = unsafe {
        libc::syscall(libc::SYS_sched_getaffinity, 0, size_of_val(&mask), mask.as_mut_ptr())
    };
    match usize::try_from(n) {
        Ok(bytes) => {
            let words = bytes.div_ceil(8).min(mask.len());
            mask[..words].iter().map(|w| w.count_ones() as usize).sum::<usize>().max(1)
        }
        Err(_) => 1,
    }
}

/// The quota in thousandths of a processor, if there is one; kept for `QUOTA_KEPT`.
fn quota() -> Option<usize> {
    /// Milliseconds of the clock at the last reading, plus one; 0: never read.
    static READ_AT: AtomicUsize = AtomicUsize::new(0);
    /// What was read; 0: no quota.
    static QUOTA: AtomicUsize = AtomicUsize::new(0);

    let now = clock_millis() + 1;
    let read_at = READ_AT.load(Ordering::Acquire);
    if read_at == 0 || now.wrapping_sub(read_at) >= QUOTA_KEPT.as_millis() as usize {
        let quota = cgroup::quota(c"").map_or(0, |millis| millis.max(1));
        QUOTA.store(quota, Ordering::Relaxed);
        READ_AT.store(now, Ordering::Release); // pairs with the load: the quota is there
    }
    Some(QUOTA.load(Ordering::Relaxed)).filter(|&millis| millis > 0)
}

fn clock_millis() -> usize {
    // SAFETY: zero is a valid timespec, and a valid place for one.
    let mut now: libc::timespec = unsafe { std::mem::zeroed() };
    // SAFETY: as above.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_COARSE, &raw mut now) };
    now.tv_sec as usize * 1000 + now.tv_nsec as usize / 1_000_000
}
