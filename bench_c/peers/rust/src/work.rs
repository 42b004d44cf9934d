//! The workloads: bench_c's tasks, over any system that runs and spawns tasks.

use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering::*};
use std::thread;
use std::time::{Duration, Instant};

use crate::measure::{Bench, Spent};

/// The argument of a task, by value.
pub type Arg = [u64; 2];

/// A kind of task. A type, so that a system's call of it is direct.
pub trait Task {
    fn run<S: Spawner>(spawner: &S, arg: Arg);
}

pub trait Spawner {
    fn spawn<T: Task>(&self, arg: Arg);
}

pub trait System {
    /// Runs a task and all that are spawned from it; returns when they have ended.
    fn run<T: Task>(&self, arg: Arg);
}

/// Was the answer right? None: no such workload.
pub fn run<S: System>(system: &S, bench: &Bench) -> Option<bool> {
    Some(match bench.workload() {
        "flood" => flood(system, bench),
        "tree" => tree(system, bench),
        "quicksort" => quicksort(system, bench),
        "mandelbrot" => mandelbrot(system, bench),
        "wakeup" => wakeup(bench, |n| system.run::<WakeupFirst>([n, 0])),
        "idleburn" => idleburn(bench, |n| system.run::<Nap>([n, 0])),
        "emptyrun" => emptyrun(bench, || system.run::<Empty>([0, 0])),
        _ => return None,
    })
}

/// Data that tasks share without a lock, each writing elements no other touches. The shared value
/// must live until the run is over.
struct Shared<T>(AtomicPtr<T>);

impl<T> Shared<T> {
    const fn new() -> Shared<T> {
        Shared(AtomicPtr::new(ptr::null_mut()))
    }

    /// Lends `data` to the tasks of `f`.
    fn lend<R>(&self, data: &mut [T], f: impl FnOnce() -> R) -> R {
        self.0.store(data.as_mut_ptr(), Release);
        let result = f();
        self.0.store(ptr::null_mut(), Release);
        result
    }

    fn at(&self, i: usize) -> *mut T {
        self.0.load(Relaxed).wrapping_add(i)
    }
}

fn bump(seen: &Shared<u8>, i: usize) {
    // SAFETY: i is below the length of what `seen` was lent, and no other task has this i.
    unsafe { *seen.at(i) += 1 };
}

/// A well mixed function of x (splitmix64's last step).
pub fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58476d1ce4e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d049bb133111eb);
    x ^ (x >> 31)
}

pub fn sum(values: impl Iterator<Item = u64>) -> u64 {
    values.fold(0, u64::wrapping_add)
}

// --- flood --------------------------------------------------------------------------

const STRIPES: usize = 64;
static SEEN: Shared<u8> = Shared::new();
static HEIGHT: AtomicUsize = AtomicUsize::new(0);

fn flood_at(i: usize) -> usize {
    i % STRIPES * HEIGHT.load(Relaxed) + i / STRIPES
}

struct FloodTask;

impl Task for FloodTask {
    fn run<S: Spawner>(_: &S, [i, _]: Arg) {
        bump(&SEEN, flood_at(i as usize));
    }
}

struct FloodFirst;

impl Task for FloodFirst {
    fn run<S: Spawner>(spawner: &S, [n, _]: Arg) {
        for i in 0..n {
            spawner.spawn::<FloodTask>([i, 0]);
        }
    }
}

fn flood<S: System>(system: &S, bench: &Bench) -> bool {
    let height = bench.n.div_ceil(STRIPES);
    HEIGHT.store(height, Relaxed);
    let mut seen = fresh(height * STRIPES);
    let spent =
        SEEN.lend(&mut seen, || bench.timed(|| system.run::<FloodFirst>([bench.n as u64, 0])));
    let counts = || (0..bench.n).map(|i| seen[flood_at(i)]);
    let checksum = sum((0..).zip(counts()).map(|(i, c)| mix(i).wrapping_mul(c.into())));
    bench.line(&spent, bench.n as u64 + 1, checksum, "", counts().all(|c| c == 1))
}

// --- tree ---------------------------------------------------------------------------

static LAST: AtomicU64 = AtomicU64::new(0);

struct Node;

impl Task for Node {
    fn run<S: Spawner>(spawner: &S, [i, _]: Arg) {
        let last = LAST.load(Relaxed);
        bump(&SEEN, i as usize);
        if 2 * i <= last {
            spawner.spawn::<Node>([2 * i, 0]);
        }
        if 2 * i < last {
            spawner.spawn::<Node>([2 * i + 1, 0]);
        }
    }
}

fn tree<S: System>(system: &S, bench: &Bench) -> bool {
    let last = bench.n as u64 + 1;
    LAST.store(last, Relaxed);
    let mut seen = fresh(bench.n + 2);
    let spent = SEEN.lend(&mut seen, || bench.timed(|| system.run::<Node>([1, 0])));
    let counts = (1..).zip(&seen[1..]);
    let checksum = sum(counts.map(|(i, &c)| mix(i).wrapping_mul(c.into())));
    bench.line(&spent, last, checksum, "", seen[1..].iter().all(|&c| c == 1))
}

/// Zeroes whose pages are there.
pub fn fresh<T: Copy + Default>(n: usize) -> Vec<T> {
    let mut data = Vec::with_capacity(n);
    data.resize_with(n, || std::hint::black_box(T::default()));
    data
}

// --- quicksort ----------------------------------------------------------------------

const SORT_CUTOFF: u64 = 128;
static NUMBERS: Shared<i32> = Shared::new();

/// Hoare's, the pivot is the first: a[..=j] <= a[j + 1..] afterwards, and j + 1 < a.len().
fn partition(a: &mut [i32]) -> usize {
    let pivot = a[0];
    let (mut i, mut j) = (0, a.len() - 1);
    loop {
        while a[i] < pivot {
            i += 1;
        }
        while a[j] > pivot {
            j -= 1;
        }
        if i >= j {
            return j;
        }
        a.swap(i, j);
        i += 1;
        j -= 1;
    }
}

fn serial_sort(mut a: &mut [i32]) {
    while a.len() > 1 {
        let middle = partition(a) + 1;
        let (left, right) = a.split_at_mut(middle);
        if left.len() < right.len() {
            serial_sort(left);
            a = right;
        } else {
            serial_sort(right);
            a = left;
        }
    }
}

struct Range;

impl Task for Range {
    fn run<S: Spawner>(spawner: &S, [lo, hi]: Arg) {
        let length = (hi - lo + 1) as usize;
        // SAFETY: lo..=hi lies in what NUMBERS was lent, and the ranges of two tasks that
        // are not each other's ancestors are disjoint; an ancestor has let go of its own.
        let a = unsafe { std::slice::from_raw_parts_mut(NUMBERS.at(lo as usize), length) };
        if hi - lo <= SORT_CUTOFF {
            bump(&SEEN, lo as usize);
            serial_sort(a);
            return;
        }
        let j = lo + partition(a) as u64;
        spawner.spawn::<Range>([lo, j]);
        spawner.spawn::<Range>([j + 1, hi]);
    }
}

/// The course's data.
pub fn lcg(n: usize) -> Vec<i32> {
    let mut state = 0u64;
    let next = |_| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((state >> 33) & 0x7FFF_FFFF) as i32
    };
    (0..n).map(next).collect()
}

pub fn multiset(a: &[i32]) -> u64 {
    sum(a.iter().map(|&x| mix(u64::from(x as u32) + 1)))
}

fn quicksort<S: System>(system: &S, bench: &Bench) -> bool {
    let mut numbers = lcg(bench.n);
    let mut leaf = fresh(bench.n);
    let before = multiset(&numbers);
    let spent = SEEN.lend(&mut leaf, || {
        NUMBERS.lend(&mut numbers, || bench.timed(|| system.run::<Range>([0, bench.n as u64 - 1])))
    });
    let tasks = 2 * leaf.iter().map(|&l| u64::from(l)).sum::<u64>() - 1;
    let right = leaf.iter().all(|&l| l <= 1) && numbers.is_sorted() && multiset(&numbers) == before;
    bench.line(&spent, tasks, before.wrapping_add(tasks), "", right)
}

// --- mandelbrot ---------------------------------------------------------------------

const LIMIT: u16 = 400;
static IMAGE: Shared<u16> = Shared::new();

fn row(n: u64, row: u64, out: &mut [u16]) {
    let ci = (2 * row as i64 + 1 - n as i64) as f64 * (1.5 / n as f64);
    for (column, out) in out.iter_mut().enumerate() {
        let cr = (2 * column + 1) as f64 * (1.5 / n as f64) - 2.0;
        let (mut zr, mut zi, mut k) = (0.0, 0.0, 0);
        while k < LIMIT && zr * zr + zi * zi <= 4.0 {
            let t = zr * zr - zi * zi + cr;
            zi = 2.0 * zr * zi + ci;
            zr = t;
            k += 1;
        }
        *out = k;
    }
}

struct Row;

impl Task for Row {
    fn run<S: Spawner>(_: &S, [n, r]: Arg) {
        bump(&SEEN, r as usize);
        // SAFETY: IMAGE was lent n rows of n points, and no other task has this row.
        let out = unsafe { std::slice::from_raw_parts_mut(IMAGE.at((r * n) as usize), n as usize) };
        row(n, r, out);
    }
}

struct MandelbrotFirst;

impl Task for MandelbrotFirst {
    fn run<S: Spawner>(spawner: &S, [n, _]: Arg) {
        for r in 0..n {
            spawner.spawn::<Row>([n, r]);
        }
    }
}

/// The checksum is compared with the other systems'; here, once each and mirrored.
fn mandelbrot<S: System>(system: &S, bench: &Bench) -> bool {
    let n = bench.n;
    let (mut image, mut seen) = (fresh(n * n), fresh(n));
    let spent = SEEN.lend(&mut seen, || {
        IMAGE.lend(&mut image, || bench.timed(|| system.run::<MandelbrotFirst>([n as u64, 0])))
    });
    let checksum = sum((0..).zip(&image).map(|(i, &k)| mix((i << 16) + u64::from(k))));
    let (above, below) = (image.chunks(n), image.rchunks(n));
    let right = seen.iter().all(|&c| c == 1) && above.zip(below).all(|(a, b)| a == b);
    bench.line(&spent, n as u64 + 1, checksum, "", right)
}

// --- wakeup, idleburn, emptyrun -------------------------------------------------------

static LATENCY: Shared<f64> = Shared::new();
/// Nanoseconds since ORIGIN, at the start of the task; published by ANSWERED.
static STARTED: AtomicU64 = AtomicU64::new(0);
static ANSWERED: AtomicU64 = AtomicU64::new(0);

fn clock() -> u64 {
    static ORIGIN: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);
    ORIGIN.elapsed().as_nanos() as u64
}

/// The work of the task of a round.
pub fn answer(round: u64) {
    STARTED.store(clock(), Relaxed);
    ANSWERED.store(round, Release);
}

/// Calls `meanwhile` again and again until the task of this round has answered.
pub fn await_answer(round: u64, mut meanwhile: impl FnMut()) {
    let start = clock();
    while ANSWERED.load(Acquire) != round {
        assert!(clock() - start < 20_000_000_000, "in 20 s no other worker started it");
        meanwhile();
    }
}

/// The rounds of a wakeup. `ask` starts the task of a round and waits for its answer.
pub fn wake_each(n: u64, mut ask: impl FnMut(u64)) {
    for round in 1..=n {
        let pause = 1e6 + 2e6 * (mix(round) >> 40) as f64 / f64::from(1 << 24);
        let start = clock();
        while ((clock() - start) as f64) < pause {}
        let asked = clock();
        ask(round);
        let latency = STARTED.load(Relaxed) as f64 - asked as f64;
        // SAFETY: LATENCY was lent n numbers; this task alone writes them.
        unsafe { *LATENCY.at(round as usize - 1) = latency * 1e-3 };
    }
}

struct Woken;

impl Task for Woken {
    fn run<S: Spawner>(_: &S, [round, _]: Arg) {
        answer(round);
    }
}

struct WakeupFirst;

impl Task for WakeupFirst {
    fn run<S: Spawner>(spawner: &S, [n, _]: Arg) {
        wake_each(n, |round| {
            spawner.spawn::<Woken>([round, 0]);
            await_answer(round, || ());
        });
    }
}

/// `run` runs [`wake_each`] with this many rounds.
pub fn wakeup(bench: &Bench, run: impl FnOnce(u64)) -> bool {
    let mut latency = vec![-1.0; bench.n];
    ANSWERED.store(0, Relaxed);
    let n = bench.n as u64;
    let spent = LATENCY.lend(&mut latency, || bench.timed(|| run(n)));
    latency.sort_by(f64::total_cmp);
    let at = |share: f64| latency[(share * n as f64) as usize];
    // The thread that asks is always busy.
    let burnt = 1e6 * (spent.user + spent.sys - spent.wall) / bench.n as f64;
    let extra = format!(
        " wake_us={:.3} p90_us={:.3} p99_us={:.3} burn_us={burnt:.3}",
        at(0.5),
        at(0.9),
        at(0.99)
    );
    bench.line(&spent, n + 1, mix(n), &extra, latency[0] >= 0.0)
}

static SLEPT: AtomicBool = AtomicBool::new(false);

pub fn nap(milliseconds: u64) {
    let wanted = Duration::from_millis(milliseconds);
    let start = Instant::now();
    thread::sleep(wanted);
    SLEPT.store(start.elapsed() >= wanted, Relaxed);
}

struct Nap;

impl Task for Nap {
    fn run<S: Spawner>(_: &S, [milliseconds, _]: Arg) {
        nap(milliseconds);
    }
}

/// `run` runs [`nap`] with this many milliseconds.
pub fn idleburn(bench: &Bench, run: impl FnOnce(u64)) -> bool {
    SLEPT.store(false, Relaxed);
    let n = bench.n as u64;
    let spent = bench.timed(|| run(n));
    let Spent { wall, user, sys, .. } = spent;
    let extra = format!(" burn_percent={:.4}", 100.0 * (user + sys) / wall);
    bench.line(&spent, 1, mix(n), &extra, SLEPT.load(Relaxed))
}

static RUNS: AtomicU64 = AtomicU64::new(0);

pub fn count_run() {
    RUNS.store(RUNS.load(Relaxed) + 1, Relaxed);
}

struct Empty;

impl Task for Empty {
    fn run<S: Spawner>(_: &S, _: Arg) {
        count_run();
    }
}

/// `run` runs [`count_run`].
pub fn emptyrun(bench: &Bench, run: impl Fn()) -> bool {
    RUNS.store(0, Relaxed);
    let spent = bench.timed(|| (0..bench.n).for_each(|_| run()));
    let runs = RUNS.load(Relaxed);
    bench.line(&spent, bench.n as u64, mix(runs), "", runs == bench.n as u64)
}
