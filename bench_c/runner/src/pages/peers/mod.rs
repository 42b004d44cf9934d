//! `make bench-peers`: runs the same workloads on libsched and on other systems, in one session.
//!
//! A map: [`workloads`] says what is run, [`systems`] on which systems, [`session`] runs all of it,
//! interleaved, and [`tables`] shows the figures beside libsched's.

mod options;
mod session;
mod systems;
mod tables;
mod workloads;

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde::Serialize;

use crate::run::machine::{self, Calibration, Machine};
pub use options::Options;
use session::{Run, Session};
use systems::{Skipped, System, Systems};
use workloads::Workload;

/// The contents of peers.json.
#[derive(Serialize)]
struct Results<'a> {
    machine: &'a Machine,
    systems: &'a [System],
    skipped: &'a [Skipped],
    calibration: &'a [Calibration],
    rounds: usize,
    quick: bool,
    seed: u64,
    limit_seconds: u64,
    total_seconds: f64,
    failures: &'a [String],
    too_long: Vec<String>,
    runs: &'a [Run],
}

/// True if every answer was right.
pub fn compare(options: &Options) -> Result<bool> {
    let start = Instant::now();
    let machine = Machine::look();
    let Systems { found, skipped } = Systems::look(options.programs)?;
    let wanted = |w: &Workload| {
        let named = options.only.is_empty() || options.only.iter().any(|o| o == w.program);
        named && (!options.quick || w.quick.is_some())
    };
    let mut workloads: Vec<Workload> = workloads::all(machine.cores.max(2), options.rounds);
    workloads.retain(wanted);
    if options.quick {
        workloads.iter_mut().for_each(Workload::make_quick);
    }
    ensure!(!workloads.is_empty(), "the peers do not have that program");
    std::fs::create_dir_all(options.results)
        .with_context(|| format!("cannot make {}", options.results.display()))?;

    println!("{}", machine.line());
    for system in &found {
        println!("{}: {}", system.name, system.version);
    }
    for Skipped { name, why } in &skipped {
        println!("skipped: {name}: {why}");
    }
    let load = machine::load();
    let session = Session::run(options, &machine, &found, &workloads);
    println!("rounds: {}, the systems interleaved (seed {})", session.rounds, options.seed);
    machine::print_calibration(&session.calibration, &session.cals(), machine.cores, load);
    tables::print_all(&workloads, &found, &session);

    let results = Results {
        machine: &machine,
        systems: &found,
        skipped: &skipped,
        calibration: &session.calibration,
        rounds: session.rounds,
        quick: options.quick,
        seed: options.seed,
        limit_seconds: options.limit.as_secs(),
        total_seconds: start.elapsed().as_secs_f64(),
        failures: &session.failures,
        too_long: session.too_long.iter().map(ToString::to_string).collect(),
        runs: &session.runs,
    };
    crate::pages::results::write_json(&options.results.join("peers.json"), &results)?;
    Ok(crate::pages::results::conclude(
        &session.failures,
        "all answers are right and the same",
        start,
    ))
}
