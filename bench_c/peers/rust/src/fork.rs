//! The workloads whose tasks wait for tasks: those of bench_c, on a join of two closures.
//!
//! Where bench_c forks a task for each of many children, a join here divides them: the first
//! child and the rest, as many joins as children, or two halves, one join less.

use std::cmp::Ordering;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::measure::{Bench, Spent};
use crate::work::{fresh, lcg, mix, multiset, sum};

mod dense;
mod elements;
mod loops;
pub mod outside;
mod phases;
mod single;
mod uts;

/// A system whose tasks can wait for tasks.
pub trait Joins: Sized {
    /// The worker that runs a task, where the system passes it to each closure.
    type Here<'a>;

    /// Runs `f` in the pool, or on this thread if its calls are to be made from outside.
    fn enter<R: Send>(&self, f: impl FnOnce(&mut Self::Here<'_>) -> R + Send) -> R;

    /// Both, perhaps at the same time: calls `a`, and offers `b` to the other workers.
    fn join<A: Send, B: Send>(
        here: &mut Self::Here<'_>,
        a: impl FnOnce(&mut Self::Here<'_>) -> A + Send,
        b: impl FnOnce(&mut Self::Here<'_>) -> B + Send,
    ) -> (A, B);

    /// The result that some `f(i)` has found, for an i below `n`. Once one has found a result, no
    /// other is begun.
    fn search(
        here: &mut Self::Here<'_>,
        n: u64,
        f: impl Fn(u64) -> Option<u64> + Sync + Send,
    ) -> Option<u64> {
        attempts::<Self>(here, 0, n, &f, &AtomicBool::new(false))
    }
}

/// A system with loops of its own. Loops that a task, or any thread, calls.
pub trait Loops: Joins {
    fn each(n: usize, f: impl Fn(usize) + Sync + Send);
    /// Spawns a task for each number but 0, does 0 itself, and waits for all tasks at once.
    fn group(n: usize, f: impl Fn(usize) + Sync + Send);
    fn total(n: usize, f: impl Fn(usize) -> u64 + Sync + Send) -> u64;
    fn sort(a: &mut [i32]);
    fn sort_stable(a: &mut [i32]);
    fn sort_by<T: Send>(a: &mut [T], order: impl Fn(&T, &T) -> Ordering + Sync);
    fn sort_stable_by<T: Send>(a: &mut [T], order: impl Fn(&T, &T) -> Ordering + Sync);
}

/// Was the answer right? None: no such workload.
pub fn run<S: Joins>(system: &S, bench: &Bench) -> Option<bool> {
    Some(match bench.workload() {
        "fib" => fib_main(system, bench),
        "treef" => treef_main(system, bench),
        "nqueens" => nqueens_main(system, bench),
        "uts" => uts::main(system, bench, uts::GEOMETRIC),
        "uts_deep" => uts::main(system, bench, uts::BINOMIAL),
        "matmul" => dense::main(system, bench, dense::matmul::<S>, dense::matmul_tasks),
        "strassen" => dense::main(system, bench, dense::strassen::<S>, dense::strassen_tasks),
        "mergesort" => mergesort_main(system, bench),
        "knapsack" => knapsack_main(system, bench),
        _ => return None,
    })
}

/// The workloads of single tasks, for a system without a spawn.
pub fn run_single<S: Joins>(system: &S, bench: &Bench) -> Option<bool> {
    Some(match bench.workload() {
        "emptyrun" => single::emptyrun(system, bench),
        "wakeup" => single::wakeup(system, bench),
        "idleburn" => single::idleburn(system, bench),
        _ => return None,
    })
}

pub fn run_loops<S: Loops>(system: &S, bench: &Bench) -> Option<bool> {
    Some(match bench.workload() {
        "loop" => loop_main(system, bench),
        "reduce" => reduce_main(system, bench),
        "phases" => phases::main(system, bench),
        "loops" => loops::stored(system, bench),
        "reductions" => loops::added(system, bench),
        "sort" => sort_main(system, bench),
        "sort_elements" => elements::main(system, bench)?,
        _ => return None,
    })
}

/// The workloads of threads outside.
pub fn run_outside<S: outside::Hands>(system: &S, bench: &Bench) -> Option<bool> {
    match bench.workload() {
        "outside_flood" => outside::flood::<S>(bench),
        "outside_sparse" => outside::sparse::<S>(bench),
        "outside_beside" => outside::beside(system, bench),
        _ => None,
    }
}

/// Runs `f` in the pool, under the clock.
fn timed<S: Joins, R: Send>(
    system: &S,
    bench: &Bench,
    f: impl FnOnce(&mut S::Here<'_>) -> R + Send,
) -> (Spent, R) {
    let mut result = None;
    let spent = bench.timed(|| result = Some(system.enter(f)));
    (spent, result.expect("it has run"))
}

// --- fib ----------------------------------------------------------------------------

fn fib<S: Joins>(here: &mut S::Here<'_>, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = S::join(here, |here| fib::<S>(here, n - 1), |here| fib::<S>(here, n - 2));
    a + b
}

fn fib_main<S: Joins>(system: &S, bench: &Bench) -> bool {
    let n = bench.n as u64;
    let (right, tasks) = (0..n).fold((0, 1), |(fib, next), _| (next, fib + next));
    let (spent, found) = timed(system, bench, |here| fib::<S>(here, n));
    bench.line(&spent, tasks, found, "", found == right)
}

// --- treef --------------------------------------------------------------------------

fn treef<S: Joins>(here: &mut S::Here<'_>, depth: usize) -> u64 {
    if depth == 0 {
        return 1;
    }
    let (a, b) =
        S::join(here, |here| treef::<S>(here, depth - 1), |here| treef::<S>(here, depth - 1));
    a + b
}

fn treef_main<S: Joins>(system: &S, bench: &Bench) -> bool {
    let (spent, found) = timed(system, bench, |here| treef::<S>(here, bench.n));
    bench.line(&spent, 1 << bench.n, found, "", found == 1 << bench.n)
}

// --- nqueens ------------------------------------------------------------------------

const SOLUTIONS: [u64; 19] = [
    1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2680, 14200, 73712, 365596, 2279184, 14772512,
    95815104, 666090624,
];

/// Taken: columns, and diagonals at this row.
#[derive(Clone, Copy)]
struct Board {
    columns: u32,
    left: u32,
    right: u32,
}

impl Board {
    fn open(self, full: u32) -> u32 {
        full & !(self.columns | self.left | self.right)
    }

    fn with(self, queen: u32) -> Board {
        Board {
            columns: self.columns | queen,
            left: (self.left | queen) << 1,
            right: (self.right | queen) >> 1,
        }
    }

    fn placements(self, full: u32) -> u64 {
        let mut sum = 1;
        let mut open = self.open(full);
        while open != 0 {
            sum += self.with(open & open.wrapping_neg()).placements(full);
            open &= open - 1;
        }
        sum
    }
}

fn place<S: Joins>(here: &mut S::Here<'_>, board: Board, full: u32) -> u64 {
    if board.columns == full { 1 } else { place_each::<S>(here, board, full, board.open(full)) }
}

fn place_each<S: Joins>(here: &mut S::Here<'_>, board: Board, full: u32, open: u32) -> u64 {
    if open == 0 {
        return 0;
    }
    let first = board.with(open & open.wrapping_neg());
    let (a, b) = S::join(
        here,
        |here| place::<S>(here, first, full),
        |here| place_each::<S>(here, board, full, open & (open - 1)),
    );
    a + b
}

fn nqueens_main<S: Joins>(system: &S, bench: &Bench) -> bool {
    let Some(&solutions) = SOLUTIONS.get(bench.n) else { return false };
    let full = (1 << bench.n) - 1;
    let empty = Board { columns: 0, left: 0, right: 0 };
    let (spent, found) = timed(system, bench, |here| place::<S>(here, empty, full));
    bench.line(&spent, empty.placements(full), found, "", found == solutions)
}

// --- mergesort ----------------------------------------------------------------------

const SMALL: usize = 16;
const SORT_LEAF: usize = 1024;
const MERGE_LEAF: usize = 4096;

fn insertion_sort(a: &mut [i32]) {
    for i in 1..a.len() {
        let x = a[i];
        let mut j = i;
        while j > 0 && a[j - 1] > x {
            a[j] = a[j - 1];
            j -= 1;
        }
        a[j] = x;
    }
}

fn merge_serially(x: &[i32], y: &[i32], out: &mut [i32]) {
    let (mut i, mut j, mut k) = (0, 0, 0);
    while i < x.len() && j < y.len() {
        if y[j] < x[i] {
            out[k] = y[j];
            j += 1;
        } else {
            out[k] = x[i];
            i += 1;
        }
        k += 1;
    }
    let left = x.len() - i;
    out[k..k + left].copy_from_slice(&x[i..]);
    out[k + left..].copy_from_slice(&y[j..]);
}

/// Sorts `a`; the result is in `spare` if `away`, else in `a`.
fn sort_serially(a: &mut [i32], spare: &mut [i32], away: bool) {
    if a.len() <= SMALL {
        insertion_sort(a);
        if away {
            spare.copy_from_slice(a);
        }
        return;
    }
    let half = a.len() / 2;
    sort_serially(&mut a[..half], &mut spare[..half], !away);
    sort_serially(&mut a[half..], &mut spare[half..], !away);
    let (from, out) = if away { (a, spare) } else { (spare, a) };
    merge_serially(&from[..half], &from[half..], out);
}

fn merge<S: Joins>(here: &mut S::Here<'_>, x: &[i32], y: &[i32], out: &mut [i32]) {
    if x.len() + y.len() <= MERGE_LEAF {
        merge_serially(x, y, out);
        return;
    }
    let (x, y) = if x.len() < y.len() { (y, x) } else { (x, y) };
    let (x, x_above) = x.split_at(x.len() / 2);
    let (y, y_above) = y.split_at(y.partition_point(|&element| element < x_above[0]));
    let (out, out_above) = out.split_at_mut(x.len() + y.len());
    S::join(
        here,
        |here| merge::<S>(here, x, y, out),
        |here| merge::<S>(here, x_above, y_above, out_above),
    );
}

fn merge_sort<S: Joins>(here: &mut S::Here<'_>, a: &mut [i32], spare: &mut [i32], away: bool) {
    if a.len() <= SORT_LEAF {
        sort_serially(a, spare, away);
        return;
    }
    let half = a.len() / 2;
    let (a_left, a_right) = a.split_at_mut(half);
    let (spare_left, spare_right) = spare.split_at_mut(half);
    S::join(
        here,
        |here| merge_sort::<S>(here, a_left, spare_left, !away),
        |here| merge_sort::<S>(here, a_right, spare_right, !away),
    );
    let (from, out) = if away { (a, spare) } else { (spare, a) };
    merge::<S>(here, &from[..half], &from[half..], out);
}

fn mergesort_main<S: Joins>(system: &S, bench: &Bench) -> bool {
    let (mut numbers, mut spare) = (lcg(bench.n), fresh(bench.n));
    let before = multiset(&numbers);
    let (spent, ()) =
        timed(system, bench, |here| merge_sort::<S>(here, &mut numbers, &mut spare, false));
    let right = numbers.is_sorted() && multiset(&numbers) == before;
    bench.line(&spent, bench.n as u64, before, "", right)
}

// --- knapsack -----------------------------------------------------------------------

const ITEMS: usize = 24;
const PREFIX: usize = 10;
const POLL: usize = 6;

struct Knapsack {
    weight: [u64; ITEMS],
    rest: [u64; ITEMS + 1],
    room: u64,
    planted: u64,
}

impl Knapsack {
    fn new(number: u64) -> Knapsack {
        let number = number + 2;
        let mut planted = mix(number / 2) & ((1 << ITEMS) - 1);
        if number % 2 == 1 {
            planted ^= (1 << PREFIX) - 1;
        }
        let mut k = Knapsack { weight: [0; ITEMS], rest: [0; ITEMS + 1], room: 0, planted };
        for i in (0..ITEMS).rev() {
            k.weight[i] = mix(number * 64 + i as u64) >> 24;
            k.rest[i] = k.rest[i + 1] + k.weight[i];
            k.room += if planted >> i & 1 == 1 { k.weight[i] } else { 0 };
        }
        k
    }

    /// Each item after the prefix is first left, then taken.
    fn attempt(&self, attempt: u64, over: &AtomicBool) -> Option<u64> {
        let (mut room, mut taken) = (self.room, attempt);
        for i in 0..PREFIX {
            room = room.checked_sub(if taken >> i & 1 == 1 { self.weight[i] } else { 0 })?;
        }
        let mut item = PREFIX;
        while room != 0 {
            if ITEMS - item == POLL && over.load(Relaxed) {
                return None;
            }
            if room <= self.rest[item] {
                item += 1;
                continue;
            }
            loop {
                if item == PREFIX {
                    return None;
                }
                item -= 1;
                let (bit, weight) = (1 << item, self.weight[item]);
                if taken & bit != 0 {
                    taken &= !bit;
                    room += weight;
                } else if weight <= room {
                    taken |= bit;
                    room -= weight;
                    break;
                }
            }
            item += 1;
        }
        over.store(true, Relaxed);
        Some(taken)
    }
}

fn knapsack_main<S: Joins>(system: &S, bench: &Bench) -> bool {
    let search = |here: &mut S::Here<'_>, number| {
        let (knapsack, over) = (Knapsack::new(number), AtomicBool::new(false));
        S::search(here, 1 << PREFIX, |attempt| knapsack.attempt(attempt, &over))
    };
    let numbers = 0..bench.n as u64;
    let (spent, found) = timed(system, bench, |here| {
        numbers.clone().map(|number| search(here, number)).collect::<Vec<Option<u64>>>()
    });
    let right = numbers.zip(&found).all(|(i, &f)| f == Some(Knapsack::new(i).planted));
    let checksum = sum(found.iter().map(|f| mix(f.unwrap_or(0))));
    bench.line(&spent, bench.n as u64, checksum, "", right)
}

/// By halves, down to one.
fn attempts<S: Joins>(
    here: &mut S::Here<'_>,
    lo: u64,
    hi: u64,
    f: &(impl Fn(u64) -> Option<u64> + Sync),
    over: &AtomicBool,
) -> Option<u64> {
    if over.load(Relaxed) {
        return None;
    }
    if hi - lo == 1 {
        let found = f(lo);
        if found.is_some() {
            over.store(true, Relaxed);
        }
        return found;
    }
    let middle = lo + (hi - lo) / 2;
    let (a, b) = S::join(
        here,
        |here| attempts::<S>(here, lo, middle, f, over),
        |here| attempts::<S>(here, middle, hi, f, over),
    );
    a.or(b)
}

// --- loop, reduce, sort -------------------------------------------------------------

fn loop_main<S: Loops>(system: &S, bench: &Bench) -> bool {
    use std::sync::atomic::AtomicU64;
    let iteration = |i: usize, found: &AtomicU64| {
        if mix(i as u64) >> 44 == 0 {
            found.fetch_add(i as u64, Relaxed);
        }
    };
    let (found, wanted) = (AtomicU64::new(0), AtomicU64::new(0));
    let (spent, ()) = timed(system, bench, |_| S::each(bench.n, |i| iteration(i, &found)));
    (0..bench.n).for_each(|i| iteration(i, &wanted));
    let (found, wanted) = (found.into_inner(), wanted.into_inner());
    bench.line(&spent, bench.n as u64, found, "", found == wanted)
}

fn reduce_main<S: Loops>(system: &S, bench: &Bench) -> bool {
    let (spent, found) = timed(system, bench, |_| S::total(bench.n, |i| mix(i as u64)));
    let wanted = sum((0..bench.n as u64).map(mix));
    bench.line(&spent, bench.n as u64, found, "", found == wanted)
}

fn sort_main<S: Loops>(system: &S, bench: &Bench) -> bool {
    let mut numbers = lcg(bench.n);
    let (kind, is_stable) = match bench.data.strip_prefix("stable") {
        Some(kind) => (kind.trim_start_matches('-'), true),
        None => (bench.data.as_str(), false),
    };
    match kind {
        "few" => numbers.iter_mut().for_each(|x| *x &= 15),
        "sorted" => (0..).zip(&mut numbers).for_each(|(i, x)| *x = i),
        "falling" => (1..).zip(numbers.iter_mut().rev()).for_each(|(i, x)| *x = i),
        _ => {}
    }
    let before = multiset(&numbers);
    let sort = if is_stable { S::sort_stable } else { S::sort };
    let (spent, ()) = timed(system, bench, |_| sort(&mut numbers));
    let right = numbers.is_sorted() && multiset(&numbers) == before;
    bench.line(&spent, bench.n as u64, before, "", right)
}
