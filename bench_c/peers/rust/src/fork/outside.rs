//! bench_c/outside.h: what threads of the program's own get, outside of any task.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering::*};
use std::thread;
use std::time::{Duration, Instant};

use super::{Joins, Loops};
use crate::measure::{Bench, Spent, calibrate, turns};
use crate::work::{mix, sum};

/// A system that takes single tasks from any thread.
pub trait Hands: Loops + Sync {
    /// Hands over `f`, and does not wait for it.
    fn hand(f: impl FnOnce() + Send + 'static);
}

/// Of `-d WAY-THREADS`.
fn parse<'a>(bench: &'a Bench, default: &'a str) -> Option<(&'a str, usize)> {
    let data = if bench.data.is_empty() { default } else { &bench.data };
    let (way, threads) = data.split_once('-')?;
    Some((way, threads.parse().ok().filter(|&threads| threads > 0)?))
}

/// Calls `f` for the numbers below n in equal shares, from this thread or from several at the same
/// time, and then `last`, under the clock. The threads are made before.
fn shared(
    bench: &Bench,
    threads: usize,
    f: impl Fn(usize, usize) + Sync,
    last: impl Fn(),
) -> Spent {
    if threads == 1 {
        return bench.timed(|| {
            f(0, bench.n);
            last();
        });
    }
    let gate = Barrier::new(threads + 1);
    thread::scope(|scope| {
        for i in 0..threads {
            let (gate, f) = (&gate, &f);
            scope.spawn(move || {
                gate.wait();
                f(bench.n * i / threads, bench.n * (i + 1) / threads);
                gate.wait();
            });
        }
        bench.timed(|| {
            gate.wait();
            gate.wait();
            last();
        })
    })
}

/// The value below which `share` of the sorted ones lie.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let i = (share * sorted.len() as f64) as usize;
    sorted.get(i.min(sorted.len().wrapping_sub(1))).copied().unwrap_or(0.0)
}

// --- flood --------------------------------------------------------------------------

const STRIPES: usize = 64;

/// None if there is no such way.
pub fn flood<S: Hands>(bench: &Bench) -> Option<bool> {
    let (way, threads) = parse(bench, "group-1")?;
    let n = bench.n;
    let height = ((n / STRIPES / 64 + 1) | 1) * 64;
    let seen: &'static [AtomicU8] =
        (0..height * STRIPES).map(|_| AtomicU8::new(0)).collect::<Vec<_>>().leak();
    let at = move |i: usize| &seen[i % STRIPES * height + i / STRIPES];
    let count = move |i: usize| at(i).store(at(i).load(Relaxed) + 1, Relaxed);
    let ended: &'static AtomicUsize = Box::leak(Box::default());
    let spent = match way {
        "group" => {
            let group = |lo, hi| S::group(hi - lo, |i| count(lo + i));
            shared(bench, threads, group, || ())
        }
        "pool" => {
            let hand = |i| {
                S::hand(move || {
                    count(i);
                    ended.fetch_add(1, Release);
                });
            };
            let wait = || {
                while ended.load(Acquire) != n {
                    thread::yield_now();
                }
            };
            shared(bench, threads, |lo, hi| (lo..hi).for_each(hand), wait)
        }
        _ => return None,
    };
    let counts = || (0..n).map(|i| at(i).load(Relaxed));
    let checksum = sum((0..).zip(counts()).map(|(i, c)| mix(i).wrapping_mul(c.into())));
    Some(bench.line(&spent, n as u64, checksum, "", counts().all(|c| c == 1)))
}

// --- sparse -------------------------------------------------------------------------

const WORK: f64 = 10_000.0; // ns
const PAUSE: Duration = Duration::from_micros(200);
const PATIENCE: Duration = Duration::from_secs(20);

/// Times in nanoseconds since the start of the run. A job on a cache line of its own.
#[derive(Default)]
#[repr(align(64))]
struct Job {
    handed: AtomicU64,
    started: AtomicU64,
    ended: AtomicU64,
    result: AtomicU64,
}

pub fn sparse<S: Hands>(bench: &Bench) -> Option<bool> {
    let ("pool", threads) = parse(bench, "pool-1")? else { return None };
    let each = (WORK / calibrate(64)) as u64;
    let jobs: &'static [Job] = (0..bench.n).map(|_| Job::default()).collect::<Vec<_>>().leak();
    let done: &'static AtomicUsize = Box::leak(Box::default());
    let start = Instant::now();
    let now = move || start.elapsed().as_nanos() as u64;
    let hand = |job: &'static Job| {
        job.handed.store(now(), Relaxed);
        S::hand(move || {
            job.started.store(now(), Relaxed);
            job.result.store(turns(job.result.load(Relaxed) + 1, each), Relaxed);
            job.ended.store(now(), Relaxed);
            done.fetch_add(1, Release);
        });
        thread::sleep(PAUSE);
    };
    let wait = || {
        let start = Instant::now();
        while done.load(Acquire) != bench.n {
            assert!(start.elapsed() < PATIENCE, "jobs had not ended after {PATIENCE:?}");
            thread::sleep(Duration::from_micros(100));
        }
    };
    let spent = shared(bench, threads, |lo, hi| jobs[lo..hi].iter().for_each(hand), wait);
    let since = |at: fn(&Job) -> &AtomicU64| {
        let us = |job: &Job| 1e-3 * (at(job).load(Relaxed) - job.handed.load(Relaxed)) as f64;
        let mut sorted: Vec<f64> = jobs.iter().map(us).collect();
        sorted.sort_by(f64::total_cmp);
        sorted
    };
    let (started, ended) = (since(|job| &job.started), since(|job| &job.ended));
    let extra = format!(
        " start_us={:.6} p50_us={:.6} p99_us={:.6} cpu_us={:.6}",
        quantile(&started, 0.5),
        quantile(&ended, 0.5),
        quantile(&ended, 0.99),
        1e6 * (spent.user + spent.sys) / bench.n as f64
    );
    let wanted = turns(1, each);
    let right = jobs.iter().all(|job| job.result.load(Relaxed) == wanted);
    Some(bench.line(&spent, bench.n as u64, mix(bench.n as u64), &extra, right))
}

// --- beside -------------------------------------------------------------------------

const BODY: f64 = 1_000_000.0; // ns
const LOOP: f64 = 20_000.0;
const PARTS: usize = 16;
const ALONE: usize = 200;

/// A part on cache lines of its own.
#[derive(Default)]
#[repr(align(64))]
struct Part(AtomicU64);

fn tree<S: Joins>(here: &mut S::Here<'_>, lo: usize, hi: usize, body: &(impl Fn(usize) + Sync)) {
    if hi - lo == 1 {
        return body(lo);
    }
    let half = lo + (hi - lo) / 2;
    S::join(here, |here| tree::<S>(here, lo, half, body), |here| tree::<S>(here, half, hi, body));
}

pub fn beside<S: Hands>(system: &S, bench: &Bench) -> Option<bool> {
    let by_tree = match bench.data.as_str() {
        "tree" => true,
        "loop" | "" => false,
        _ => return None,
    };
    let turn = calibrate(64);
    let (long, short) = ((BODY / turn) as u64, (LOOP / PARTS as f64 / turn) as u64);
    let seen: Vec<AtomicU8> = (0..bench.n).map(|_| AtomicU8::new(0)).collect();
    let parts: [Part; PARTS] = Default::default();
    let (began, over) = (AtomicBool::new(false), AtomicBool::new(false));
    let body = |i: usize| {
        began.store(true, Relaxed);
        std::hint::black_box(turns(i as u64, long));
        seen[i].fetch_add(1, Relaxed);
    };
    let one = || {
        thread::sleep(Duration::from_millis(1));
        let start = Instant::now();
        S::each(PARTS, |i| parts[i].0.store(turns(parts[i].0.load(Relaxed), short), Relaxed));
        start.elapsed().as_secs_f64() * 1e6
    };
    let sorted = |mut us: Vec<f64>| {
        us.sort_by(f64::total_cmp);
        us
    };
    let alone = sorted((0..ALONE).map(|_| one()).collect());
    let mut took = Vec::new();
    let spent = bench.timed(|| {
        thread::scope(|scope| {
            scope.spawn(|| {
                if by_tree {
                    system.enter(|here| tree::<S>(here, 0, bench.n, &body));
                } else {
                    S::each(bench.n, body);
                }
                over.store(true, Release);
            });
            while !began.load(Relaxed) {
                thread::sleep(Duration::from_micros(100));
            }
            while !over.load(Acquire) && took.len() < ALONE + 4 * bench.n {
                took.push(one());
            }
        });
    });
    let took = sorted(took);
    let extra = format!(
        " alone_us={:.6} p50_us={:.6} p99_us={:.6} most_us={:.6} loops={}",
        quantile(&alone, 0.5),
        quantile(&took, 0.5),
        quantile(&took, 0.99),
        quantile(&took, 1.0),
        took.len()
    );
    let wanted = turns(0, short * (ALONE + took.len()) as u64);
    let right = seen.iter().all(|count| count.load(Relaxed) == 1)
        && parts.iter().all(|part| part.0.load(Relaxed) == wanted);
    Some(bench.line(&spent, bench.n as u64, mix(bench.n as u64), &extra, right))
}
