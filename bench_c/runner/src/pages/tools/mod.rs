//! `make bench-programs-peers`: the programs of programs/ beside the tools that one would use
//! otherwise, in one session.
//!
//! A map: [`data`] makes the files that are worked on, and [`puzzles`] the sudokus among them;
//! [`workloads`] lists the commands, [`session`] runs them, interleaved, and compares what they
//! wrote; [`tables`] shows the figures.

mod data;
mod puzzles;
mod session;
mod tables;
mod workloads;

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde::Serialize;

use crate::run::machine::{self, Calibration, Machine};
pub use session::Options;
use session::{Measured, Session};
pub use workloads::NAMES;

/// The contents of tools.json.
#[derive(Serialize)]
struct Results<'a> {
    machine: &'a Machine,
    skipped: &'a [String],
    calibration: &'a [Calibration],
    repetitions: usize,
    quick: bool,
    seed: u64,
    limit_seconds: u64,
    total_seconds: f64,
    failures: &'a [String],
    workloads: &'a [Measured],
}

/// True if no command failed, and the outputs that must be equal are.
pub fn compare(options: &Options) -> Result<bool> {
    let start = Instant::now();
    let machine = Machine::look();
    let programs = std::path::absolute(options.programs)?;
    let threads = machine.cores.max(2);
    let mut workloads = workloads::all(threads);
    workloads.retain(|w| options.only.is_empty() || options.only.iter().any(|o| o == w.program));
    ensure!(!workloads.is_empty(), "these programs have no usual tools beside them");
    let skipped = workloads::skip(&mut workloads, &programs, std::env::var_os("PATH"));
    std::fs::create_dir_all(options.results)
        .with_context(|| format!("cannot make {}", options.results.display()))?;

    println!("{}", machine.line());
    for line in &skipped {
        println!("skipped: {line}");
    }
    ensure!(!workloads.is_empty(), "none of these programs is built: make programs");
    let size = if options.quick { data::SMALL } else { data::USUAL };
    let folder = programs.parent().unwrap_or(&programs).join("programs-data");
    data::make(&folder, &size)?;

    let load = machine::load();
    let session = Session::run(options, &programs, &folder, machine.cores, &workloads)?;
    println!("repetitions: {}, commands interleaved (seed {})", session.repetitions, options.seed);
    machine::print_calibration(&session.calibration, &[], machine.cores, load);
    tables::print_all(&session);

    let results = Results {
        machine: &machine,
        skipped: &skipped,
        calibration: &session.calibration,
        repetitions: session.repetitions,
        quick: options.quick,
        seed: options.seed,
        limit_seconds: options.limit.as_secs(),
        total_seconds: start.elapsed().as_secs_f64(),
        failures: &session.failures,
        workloads: &session.workloads,
    };
    crate::pages::results::write_json(&options.results.join("tools.json"), &results)?;
    let success = "no command failed, and outputs that must be equal are";
    Ok(crate::pages::results::conclude(&session.failures, success, start))
}
