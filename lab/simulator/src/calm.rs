//! Measurements while nobody disturbs the processors.
//!
//! A virtual processor is often one of two threads of a core, of which strangers have the other: then
//! a task takes half as long again, or not, for some hundredths of a second at a time, and what depends
//! on the moment cannot be predicted. So each measurement waits until all processors compute as fast
//! as they ever did, all at a time, and counts if they do so afterwards, too. Other programs on
//! this machine show in the same way.

use std::hint::black_box;
use std::sync::{Barrier, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// Rounds of a probe: some fifty microseconds.
const ROUNDS: u32 = 40_000;

/// A probe that takes longer than the shortest by this factor was disturbed.
const CALM: f64 = 1.06;

/// What was measured.
#[derive(Clone, Copy, Debug)]
pub struct Sample<T> {
    pub value: T,
    /// Nobody disturbed the processors before and after.
    pub calm: bool,
}

/// What tells whether somebody disturbs the processors.
pub struct Calm {
    patience: Duration,
    least: Mutex<f64>,
}

impl Calm {
    /// A measurement is put off, and made again, for as long as that.
    pub fn new(patience: Duration) -> Calm {
        let calm = Calm { patience, least: Mutex::new(f64::INFINITY) };
        let start = Instant::now();
        while start.elapsed() < patience.min(Duration::from_secs(1)) {
            calm.probe();
        }
        calm
    }

    /// Are all processors undisturbed at this moment?
    fn probe(&self) -> bool {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        let together = Barrier::new(processors);
        let compute = || {
            together.wait();
            let start = Instant::now();
            compute();
            start.elapsed().as_secs_f64()
        };
        let times: Vec<f64> = thread::scope(|scope| {
            let threads: Vec<_> = (0..processors).map(|_| scope.spawn(compute)).collect();
            threads.into_iter().map(|t| t.join().expect("it computes")).collect()
        });
        let mut least = self.least.lock().expect("no thread panics with it");
        *least = times.iter().copied().fold(*least, f64::min);
        times.iter().all(|&time| time < *least * CALM)
    }

    /// What `measure` says in a calm moment, if there is one; else what it says.
    pub fn sample<T, E>(&self, measure: impl Fn() -> Result<T, E>) -> Result<Sample<T>, E> {
        let start = Instant::now();
        loop {
            let late = start.elapsed() >= self.patience;
            let before = self.probe();
            if !before && !late {
                thread::sleep(Duration::from_millis(1));
                continue;
            }
            let value = measure()?;
            let calm = before && self.probe();
            if calm || late {
                return Ok(Sample { value, calm });
            }
        }
    }
}

/// Chains that do not wait for each other: as many instructions at a time as the processor can.
fn compute() {
    let mut chains = [1u64, 2, 3, 4, 5, 6, 7, 8];
    for step in 0..u64::from(ROUNDS) {
        for x in &mut chains {
            *x = (*x ^ step).wrapping_add(*x >> 7);
        }
    }
    black_box(chains);
}

/// The calm ones, if there are any.
pub fn calmest<T>(samples: &[Sample<T>]) -> impl Iterator<Item = &T> {
    let any = samples.iter().any(|sample| sample.calm);
    samples.iter().filter(move |sample| sample.calm || !any).map(|sample| &sample.value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_measured_in_calm_moments_counts() {
        let sample = |value, calm| Sample { value, calm };
        let values = |samples: &[Sample<i32>]| calmest(samples).copied().collect::<Vec<_>>();
        assert_eq!(values(&[sample(1, false), sample(2, true), sample(3, true)]), [2, 3]);
        assert_eq!(values(&[sample(1, false), sample(2, false)]), [1, 2]);
        assert!(values(&[]).is_empty());
    }

    #[test]
    fn without_patience_the_first_value_is_taken() {
        let calm = Calm::new(Duration::ZERO);
        let sample = calm.sample(|| Ok::<_, ()>(7)).unwrap();
        assert_eq!(sample.value, 7);
        assert_eq!(calm.sample(|| Err::<(), _>(8)).unwrap_err(), 8);
    }
}
