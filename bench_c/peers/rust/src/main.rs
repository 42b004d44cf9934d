//! The workloads of bench_c on rayon's scopes, and on crossbeam-deque with plain threads:
//!
//!     rust-peers rayon|crossbeam WORKLOAD [-n SIZE] [-t THREADS] [-r REPETITIONS]
//!     rust-peers rayon|crossbeam --version
//!
//! A line a run, as bench_c's programs print it. [`measure`] has the clock and the line,
//! [`work`] the tasks, [`fork`] those that wait for others, and each system a module of its own.

mod fork;
mod measure;
mod on_crossbeam;
mod on_rayon;
mod work;

use std::process::ExitCode;

use measure::Bench;
use work::System;

/// The exact versions that were built.
const LOCK: &str = include_str!("../Cargo.lock");

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let right = match words[..] {
        ["rayon", "--version"] => version("rayon"),
        ["crossbeam", "--version"] => version("crossbeam-deque"),
        [kind @ ("rayon" | "crossbeam"), workload, ref options @ ..] => {
            let Some(bench) = Bench::new(kind, workload, options) else { return usage() };
            let Some(right) = repeat(kind, &bench) else { return usage() };
            right
        }
        _ => return usage(),
    };
    if right { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Were all answers right? None: no such workload.
fn repeat(kind: &str, bench: &Bench) -> Option<bool> {
    if kind == "rayon" {
        let system = on_rayon::Rayon::new(bench.threads);
        let loops = || fork::run_loops(&system, bench);
        all(bench, || {
            work::run(&system, bench).or_else(|| fork::run(&system, bench)).or_else(loops)
        })
    } else {
        let system = on_crossbeam::Crossbeam::new(bench.threads);
        all(bench, || work::run(&system, bench).or_else(|| fork::run(&system, bench)))
    }
}

fn all(bench: &Bench, mut run: impl FnMut() -> Option<bool>) -> Option<bool> {
    (0..bench.repetitions).try_fold(true, |right, _| Some(run()? && right))
}

fn usage() -> ExitCode {
    eprintln!("usage: rust-peers rayon|crossbeam WORKLOAD [-n SIZE] [-t THREADS] [-r REPETITIONS]");
    ExitCode::from(2)
}

fn version(name: &str) -> bool {
    let package = format!("name = \"{name}\"\nversion = \"");
    let version = LOCK.split(&package).nth(1).and_then(|rest| rest.split('"').next());
    println!("{name} {}", version.unwrap_or("unknown"));
    version.is_some()
}
