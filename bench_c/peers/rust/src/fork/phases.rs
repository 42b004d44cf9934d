//! bench_c/phases.h: short parallel phases, with serial gaps between them. By `-d group-…` each part
//! is a task; by `-d sum-…` and `-d sort-…` a phase is a sum of tiny terms or a sort; by any other way
//! the parts are a loop of the system.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use super::{Loops, timed};
use crate::measure::{Bench, calibrate, turns};
use crate::work::{lcg, mix, multiset, sum};

const PARTS: usize = 16;

/// A part on cache lines of its own.
#[repr(align(128))]
#[derive(Default)]
struct Part(AtomicU64);

/// Of `-d WAY-WORK-GAP`: the way; the work of a phase, and the gap, in microseconds.
fn parse(data: &str) -> Option<(&str, f64, u64)> {
    let mut words = data.splitn(3, '-');
    Some((words.next()?, words.next()?.parse().ok()?, words.next()?.parse().ok()?))
}

pub fn main<S: Loops>(system: &S, bench: &Bench) -> bool {
    let (way, work, gap) = parse(&bench.data).unwrap_or(("for", 20.0, 0));
    let (grouped, summed, sorted) = (way == "group", way == "sum", way == "sort");
    let length = work as usize * 1000;
    let (random, mut found) = (if sorted { lcg(length) } else { Vec::new() }, 0u64);
    let mut numbers = random.clone();
    let each = (work * 1000.0 / PARTS as f64 / calibrate(64)) as u64;
    let parts: [Part; PARTS] = Default::default();
    let mut took = vec![0.0; bench.n];
    let (spent, ()) = timed(system, bench, |_| {
        for took in &mut took {
            numbers.copy_from_slice(&random);
            let begins = Instant::now() + Duration::from_micros(gap);
            while gap > 0 && Instant::now() < begins {}
            let start = Instant::now();
            let part = |i: usize| parts[i].0.store(turns(parts[i].0.load(Relaxed), each), Relaxed);
            if summed {
                found = found.wrapping_add(S::total(length, |i| mix(i as u64)));
            } else if sorted {
                S::sort(&mut numbers);
            } else if grouped {
                S::group(PARTS, part)
            } else {
                S::each(PARTS, part)
            }
            *took = start.elapsed().as_secs_f64() * 1e6;
            found += u64::from(sorted && numbers.is_sorted());
        }
    });
    let n = bench.n as u64;
    let right = if summed {
        found == sum((0..length as u64).map(mix)).wrapping_mul(n)
    } else if sorted {
        found == n && multiset(&numbers) == multiset(&random)
    } else {
        let wanted = turns(0, each * n);
        parts.iter().all(|part| part.0.load(Relaxed) == wanted)
    };
    let mean = took.iter().sum::<f64>() / bench.n as f64;
    took.sort_by(f64::total_cmp);
    let at = |share: f64| took[((share * bench.n as f64) as usize).min(bench.n - 1)];
    let extra = format!(" us_a_phase={:.6} us_mean={mean:.6} us_p90={:.6}", at(0.5), at(0.9));
    let elements = if summed || sorted { length } else { PARTS };
    bench.line(&spent, n * elements as u64, mix(n), &extra, right)
}
