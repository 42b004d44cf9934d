//! forte, a heartbeat scheduler with rayon's interface: a pool that stays, a scope a run, and
//! joins. A package of its own: see Cargo.toml.
//!
//!     forte-peer forte WORKLOAD [-n SIZE] [-t THREADS] [-r REPETITIONS]
//!     forte-peer forte --version
//!
//! A worker keeps its tasks in queues of its own. In a join or a spawn it reads the processor's
//! counter, and when 10 µs have passed since the last time, it offers its oldest tasks to workers
//! that are idle; a forker that computes without either offers nothing. A join that finds four
//! tasks queued is two plain calls.

use std::process::ExitCode;

use forte::{Scope, ThreadPool, Worker};

use rust_peers::Peer;
use rust_peers::fork::{self, Joins};
use rust_peers::measure::Bench;
use rust_peers::work::{self, Arg, Spawner, System, Task};

/// forte's pools are static.
static POOL: ThreadPool = ThreadPool::new();

struct Forte;

fn main() -> ExitCode {
    let peer = Peer { name: "forte", package: "forte", run };
    rust_peers::main(&[peer], include_str!("../Cargo.lock"))
}

fn run(bench: &Bench) -> Option<bool> {
    // The thread that enters is also a worker.
    POOL.resize_to(bench.threads - 1);
    bench.repeat(|| work::run(&Forte, bench).or_else(|| fork::run(&Forte, bench)))
}

struct InScope<'scope, 'env>(&'scope Scope<'scope, 'env>);

impl System for Forte {
    fn run<T: Task>(&self, arg: Arg) {
        POOL.scope(|scope| T::run(&InScope(scope), arg));
    }
}

impl Spawner for InScope<'_, '_> {
    fn spawn<T: Task>(&self, arg: Arg) {
        let scope = self.0;
        scope.spawn(move |_: &Worker| T::run(&InScope(scope), arg));
    }
}

impl Joins for Forte {
    type Here<'a> = &'a Worker;

    fn enter<R: Send>(&self, f: impl FnOnce(&mut &Worker) -> R + Send) -> R {
        POOL.with_worker(|mut worker| f(&mut worker))
    }

    /// forte calls the second closure, and offers the first.
    fn join<A: Send, B: Send>(
        here: &mut &Worker,
        a: impl FnOnce(&mut &Worker) -> A + Send,
        b: impl FnOnce(&mut &Worker) -> B + Send,
    ) -> (A, B) {
        let (b, a) = here.join(|mut here| b(&mut here), |mut here| a(&mut here));
        (a, b)
    }
}
