//! The workloads of bench_c on rayon's scopes, on crossbeam-deque with plain threads, and those
//! that corosensei's coroutines have:
//!
//!     rust-peers rayon|crossbeam|corosensei WORKLOAD [-n SIZE] [-t THREADS] [-r REPETITIONS]
//!     rust-peers rayon|crossbeam|corosensei --version
//!
//! A line a run, as bench_c's programs print it. [`measure`] has the clock and the line,
//! [`work`] the tasks, [`fork`] those that wait for others, and each system a module of its own.

mod fork;
mod measure;
mod on_corosensei;
mod on_crossbeam;
mod on_rayon;
mod work;

use std::process::ExitCode;

use measure::Bench;
use work::System;

const SYSTEMS: [&str; 3] = ["rayon", "crossbeam", "corosensei"];

/// The exact versions that were built.
const LOCK: &str = include_str!("../Cargo.lock");

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let right = match words[..] {
        ["rayon", "--version"] => version("rayon"),
        ["crossbeam", "--version"] => version("crossbeam-deque"),
        ["corosensei", "--version"] => version("corosensei"),
        [kind, workload, ref options @ ..] => {
            let Some(kind) = SYSTEMS.iter().find(|name| **name == kind) else { return usage() };
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
    match kind {
        "rayon" => {
            let system = on_rayon::Rayon::new(bench.threads);
            let loops = || fork::run_loops(&system, bench);
            all(bench, || {
                work::run(&system, bench).or_else(|| fork::run(&system, bench)).or_else(loops)
            })
        }
        "crossbeam" => {
            let system = on_crossbeam::Crossbeam::new(bench.threads);
            all(bench, || work::run(&system, bench).or_else(|| fork::run(&system, bench)))
        }
        _ => all(bench, || on_corosensei::run(bench)),
    }
}

fn all(bench: &Bench, mut run: impl FnMut() -> Option<bool>) -> Option<bool> {
    (0..bench.repetitions).try_fold(true, |right, _| Some(run()? && right))
}

fn usage() -> ExitCode {
    eprintln!(
        "usage: rust-peers {} WORKLOAD [-n SIZE] [-t THREADS] [-r REPETITIONS]",
        SYSTEMS.join("|")
    );
    ExitCode::from(2)
}

fn version(name: &str) -> bool {
    let package = format!("name = \"{name}\"\nversion = \"");
    let version = LOCK.split(&package).nth(1).and_then(|rest| rest.split('"').next());
    println!("{name} {}", version.unwrap_or("unknown"));
    version.is_some()
}
