//! The workloads of bench_c on rayon's scopes, on crossbeam-deque with plain threads, on chili's
//! joins, and those that corosensei's coroutines, tokio's timers, and the channels of tokio, crossbeam
//! and std have:
//!
//!     rust-peers SYSTEM WORKLOAD [-n SIZE] [-t THREADS] [-r REPETITIONS]
//!     rust-peers SYSTEM --version
//!
//! A line a run, as bench_c's programs print it. The library has the workloads, and each system a
//! module of its own.

mod on_channels;
mod on_chili;
mod on_corosensei;
mod on_crossbeam;
mod on_rayon;
mod on_timers;

use std::process::ExitCode;

use rust_peers::Peer;
use rust_peers::measure::Bench;

const PEERS: &[Peer] = &[
    Peer { name: "rayon", package: "rayon", run: on_rayon::run },
    Peer { name: "crossbeam", package: "crossbeam-deque", run: on_crossbeam::run },
    Peer { name: "chili", package: "chili", run: on_chili::run },
    Peer { name: "corosensei", package: "corosensei", run: on_corosensei::run },
    Peer { name: "tokio", package: "tokio", run: on_tokio },
    Peer { name: "crossbeam.channel", package: "crossbeam-channel", run: on_channels::crossbeam },
    Peer { name: "std.channel", package: "std", run: on_channels::std },
];

fn on_tokio(bench: &Bench) -> Option<bool> {
    match bench.workload() {
        "timers" => on_timers::tokio(bench),
        _ => on_channels::tokio(bench),
    }
}

fn main() -> ExitCode {
    rust_peers::main(PEERS, include_str!("../Cargo.lock"))
}
