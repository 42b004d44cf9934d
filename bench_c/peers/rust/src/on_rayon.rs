//! rayon: a pool that stays, a scope a run, `Scope::spawn` a task; `join`, and parallel iterators.

use rayon::prelude::*;
use rayon::{Scope, ThreadPool, ThreadPoolBuilder};

use crate::fork::{Joins, Loops};
use crate::work::{Arg, Spawner, System, Task};

pub struct Rayon(ThreadPool);

/// Rust's threads have 2 MB: not enough for the deeper of the trees.
pub const STACK: usize = 16 << 20;

impl System for Rayon {
    fn new(threads: usize) -> Rayon {
        let pool = ThreadPoolBuilder::new().num_threads(threads).stack_size(STACK).build();
        Rayon(pool.expect("rayon makes its threads"))
    }

    fn run<T: Task>(&self, arg: Arg) {
        self.0.scope(|scope| T::run(scope, arg));
    }
}

impl<'scope> Spawner for Scope<'scope> {
    fn spawn<T: Task>(&self, arg: Arg) {
        Scope::spawn(self, move |scope| T::run(scope, arg));
    }
}

impl Joins for Rayon {
    fn enter<R: Send>(&self, f: impl FnOnce() -> R + Send) -> R {
        self.0.install(f)
    }

    fn join<A: Send, B: Send>(
        a: impl FnOnce() -> A + Send,
        b: impl FnOnce() -> B + Send,
    ) -> (A, B) {
        rayon::join(a, b)
    }

    fn search(n: u64, f: impl Fn(u64) -> Option<u64> + Sync + Send) -> Option<u64> {
        (0..n).into_par_iter().find_map_any(f)
    }
}

impl Loops for Rayon {
    fn each(n: usize, f: impl Fn(usize) + Sync + Send) {
        (0..n).into_par_iter().for_each(f);
    }

    fn total(n: usize, f: impl Fn(usize) -> u64 + Sync + Send) -> u64 {
        (0..n).into_par_iter().map(f).reduce(|| 0, u64::wrapping_add)
    }

    fn sort(a: &mut [i32]) {
        a.par_sort_unstable();
    }
}
