//! rayon: a pool that lives through all runs, a scope for each run, `Scope::spawn` for each task;
//! `join`, and parallel iterators. Calls from outside go to the global pool.

use std::cmp::Ordering;

use rayon::prelude::*;
use rayon::{Scope, ThreadPool, ThreadPoolBuilder};

use rust_peers::STACK;
use rust_peers::fork::outside::Hands;
use rust_peers::fork::{self, Joins, Loops};
use rust_peers::measure::Bench;
use rust_peers::work::{self, Arg, Spawner, System, Task};

/// None: the global pool, whose callers are outside.
struct Rayon(Option<ThreadPool>);

/// Were all answers right? None: no such workload.
pub fn run(bench: &Bench) -> Option<bool> {
    let system = Rayon::new(bench);
    let loops = || fork::run_loops(&system, bench).or_else(|| fork::run_outside(&system, bench));
    bench.repeat(|| work::run(&system, bench).or_else(|| fork::run(&system, bench)).or_else(loops))
}

impl Rayon {
    fn new(bench: &Bench) -> Rayon {
        let pool = ThreadPoolBuilder::new().num_threads(bench.threads).stack_size(STACK);
        if bench.from_main || bench.workload().starts_with("outside") {
            pool.build_global().expect("rayon makes its threads");
            Rayon(None)
        } else {
            Rayon(Some(pool.build().expect("rayon makes its threads")))
        }
    }
}

impl System for Rayon {
    fn run<T: Task>(&self, arg: Arg) {
        let all = |scope: &Scope<'_>| T::run(&InScope(scope), arg);
        self.0.as_ref().map_or_else(|| rayon::scope(all), |pool| pool.scope(all));
    }
}

struct InScope<'a, 'scope>(&'a Scope<'scope>);

impl Spawner for InScope<'_, '_> {
    fn spawn<T: Task>(&self, arg: Arg) {
        self.0.spawn(move |scope| T::run(&InScope(scope), arg));
    }
}

impl Joins for Rayon {
    type Here<'a> = ();

    fn enter<R: Send>(&self, f: impl FnOnce(&mut ()) -> R + Send) -> R {
        match &self.0 {
            Some(pool) => pool.install(|| f(&mut ())),
            None => f(&mut ()),
        }
    }

    fn join<A: Send, B: Send>(
        (): &mut (),
        a: impl FnOnce(&mut ()) -> A + Send,
        b: impl FnOnce(&mut ()) -> B + Send,
    ) -> (A, B) {
        rayon::join(|| a(&mut ()), || b(&mut ()))
    }

    fn search((): &mut (), n: u64, f: impl Fn(u64) -> Option<u64> + Sync + Send) -> Option<u64> {
        (0..n).into_par_iter().find_map_any(f)
    }
}

impl Loops for Rayon {
    fn each(n: usize, f: impl Fn(usize) + Sync + Send) {
        (0..n).into_par_iter().for_each(f);
    }

    fn group(n: usize, f: impl Fn(usize) + Sync + Send) {
        let f = &f;
        rayon::scope(|scope| {
            (1..n).for_each(|i| scope.spawn(move |_| f(i)));
            f(0);
        });
    }

    fn total(n: usize, f: impl Fn(usize) -> u64 + Sync + Send) -> u64 {
        (0..n).into_par_iter().map(f).reduce(|| 0, u64::wrapping_add)
    }

    fn sort(a: &mut [i32]) {
        a.par_sort_unstable();
    }

    fn sort_stable(a: &mut [i32]) {
        a.par_sort();
    }

    fn sort_by<T: Send>(a: &mut [T], order: impl Fn(&T, &T) -> Ordering + Sync) {
        a.par_sort_unstable_by(order);
    }

    fn sort_stable_by<T: Send>(a: &mut [T], order: impl Fn(&T, &T) -> Ordering + Sync) {
        a.par_sort_by(order);
    }
}

impl Hands for Rayon {
    fn hand(f: impl FnOnce() + Send + 'static) {
        rayon::spawn(f);
    }
}
