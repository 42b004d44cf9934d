//! How much of the machine is ours: a cost that is measured while others use the processors is too
//! high.

use std::thread;
use std::time::{Duration, Instant};

/// A calibration can be trusted if we had at least this share of the processors.
pub const ENOUGH: f64 = 0.9;

/// How long each trial of the processors takes.
const TRIAL: Duration = Duration::from_millis(20);

/// The share of the processors that is ours: one thread for each processor computes, and the share
/// is the part of the time for which they ran.
pub fn share() -> f64 {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let shares: f64 = thread::scope(|scope| {
        let trials: Vec<_> = (0..threads).map(|_| scope.spawn(trial)).collect();
        trials.into_iter().map(|trial| trial.join().expect("it does not panic")).sum()
    });
    shares / threads as f64
}

/// The part of its time for which one computing thread had a processor.
fn trial() -> f64 {
    let (start, before) = (Instant::now(), processor());
    while start.elapsed() < TRIAL {
        std::hint::spin_loop();
    }
    (processor() - before) / start.elapsed().as_secs_f64()
}

/// Seconds for which this thread had a processor.
fn processor() -> f64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a timespec of ours; the clock is there on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut now) };
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_a_share() {
        let share = share();
        assert!(share > 0.0 && share < 1.05, "{share}");
    }
}
