//! bench_c/loops.h: loops whose iterations take unequal times, by the system's loop and reduction.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use super::{Loops, timed};
use crate::measure::{Bench, Spent, calibrate, turns};
use crate::work::{mix, sum};

struct Work {
    /// The turns of each iteration.
    turns: Vec<u64>,
    /// For each iteration, the sum of its results in all loops.
    results: Vec<AtomicU64>,
}

/// Of `-d SHAPE-WORK-ITERATIONS`: the shares of each iteration, and the work in microseconds.
fn parse(data: &str) -> Option<(Vec<u64>, f64)> {
    let [shape, work, n] = data.split('-').collect::<Vec<_>>()[..] else { return None };
    let n: u64 = n.parse().ok().filter(|&n| n >= 2)?;
    let shares: fn(u64, u64) -> u64 = match shape {
        "even" => |_, _| 1,
        "rising" => |i, _| i + 1,
        "falling" => |i, n| n - i,
        "random" => |i, _| (mix(i + 1) >> 44) + 1,
        "huge" => |i, n| if i == n / 3 { n - 1 } else { 4 },
        _ => return None,
    };
    Some(((0..n).map(|i| shares(i, n)).collect(), work.parse().ok()?))
}

impl Work {
    fn new(shares: &[u64], all_turns: u64) -> Work {
        let (all, mut below, mut end) = (sum(shares.iter().copied()), 0, 0);
        let of = |share| {
            below += share;
            let begin = end;
            end = (all_turns as f64 * (below as f64 / all as f64)) as u64;
            end - begin
        };
        let turns: Vec<u64> = shares.iter().copied().map(of).collect();
        Work { results: turns.iter().map(|_| AtomicU64::new(0)).collect(), turns }
    }

    /// Not inlined: the serial loop and the tasks run the same code.
    #[inline(never)]
    fn iteration(&self, i: usize, start: u64) {
        let result = self.results[i].load(Relaxed).wrapping_add(turns(start, self.turns[i]));
        self.results[i].store(result, Relaxed);
    }

    /// True if each iteration was done exactly once in each of `n` loops.
    fn right(&self, n: usize) -> bool {
        let starts = sum((0..n).map(start));
        self.turns.iter().zip(&self.results).all(|(&count, result)| {
            // An iteration makes factor * y + none of y.
            let none = turns(0, count);
            let factor = turns(1, count).wrapping_sub(none);
            let wanted = factor.wrapping_mul(starts).wrapping_add(none.wrapping_mul(n as u64));
            result.load(Relaxed) == wanted
        })
    }

    fn clear(&self) {
        self.results.iter().for_each(|result| result.store(0, Relaxed));
    }
}

/// The number with which the iterations of loop `k` begin.
fn start(k: usize) -> u64 {
    mix(k as u64 + 1)
}

/// Runs `n` loops, each by `run` with its start: the microseconds that each took, sorted.
fn times(n: usize, run: impl Fn(u64)) -> Vec<f64> {
    let time = |k| {
        let begun = Instant::now();
        run(start(k));
        begun.elapsed().as_secs_f64() * 1e6
    };
    let mut took: Vec<f64> = (0..n).map(time).collect();
    took.sort_by(f64::total_cmp);
    took
}

/// The work of `-d`, and its turns.
fn work(bench: &Bench) -> (Work, u64) {
    let (shares, work) = parse(&bench.data).unwrap_or((vec![1; 1000], 1000.0));
    let all_turns = (work * 1000.0 / calibrate(64)) as u64;
    (Work::new(&shares, all_turns), all_turns)
}

/// Prints the line. `serial` is the median of the serial loops.
fn line(bench: &Bench, work: &Work, spent: &Spent, took: &[f64], serial: f64, right: bool) -> bool {
    let n = bench.n;
    let (median, mean) = (took[n / 2], took.iter().sum::<f64>() / n as f64);
    let over = median * bench.threads as f64 / serial;
    let extra = format!(
        " us_a_loop={median:.6} us_mean={mean:.6} us_serial={serial:.6} over_ideal={over:.6}"
    );
    bench.line(spent, (n * work.turns.len()) as u64, mix(n as u64), &extra, right)
}

/// Loops that store the results of their iterations.
pub fn stored<S: Loops>(system: &S, bench: &Bench) -> bool {
    let (work, all_turns) = work(bench);
    let (n, iterations) = (bench.n, work.turns.len());
    let serial = times(n, |start| (0..iterations).for_each(|i| work.iteration(i, start)))[n / 2];
    let serially_right = work.right(n);
    work.clear();
    let by_system = |start| S::each(iterations, |i| work.iteration(i, start));
    let (spent, took) = timed(system, bench, |_| times(n, by_system));
    let all_done = sum(work.turns.iter().copied()) == all_turns;
    let right = serially_right && work.right(n) && all_done;
    line(bench, &work, &spent, &took, serial, right)
}

/// Loops that add up the results of their iterations.
pub fn added<S: Loops>(system: &S, bench: &Bench) -> bool {
    let (work, all_turns) = work(bench);
    let (n, iterations) = (bench.n, work.turns.len());
    // A loop makes factors * y + nones of its start y.
    let nones = sum(work.turns.iter().map(|&count| turns(0, count)));
    let factors = sum(work.turns.iter().map(|&count| turns(1, count))).wrapping_sub(nones);
    let right = AtomicBool::new(sum(work.turns.iter().copied()) == all_turns);
    let check = |start: u64, found| {
        if found != factors.wrapping_mul(start).wrapping_add(nones) {
            right.store(false, Relaxed);
        }
    };
    let term = |i: usize, start| turns(start, work.turns[i]);
    let serially = |start| check(start, sum((0..iterations).map(|i| term(i, start))));
    let serial = times(n, serially)[n / 2];
    let by_system = |start| check(start, S::total(iterations, |i| term(i, start)));
    let (spent, took) = timed(system, bench, |_| times(n, by_system));
    line(bench, &work, &spent, &took, serial, right.load(Relaxed))
}
