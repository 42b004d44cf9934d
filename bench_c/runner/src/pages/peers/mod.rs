//! `make bench-peers`: runs the same workloads on libsched and on other systems, in one session.
//!
//! A map: [`workloads`] says what is run, [`systems`] on which systems, [`session`] runs all of it,
//! interleaved, and [`tables`] shows the figures beside libsched's.

mod session;
mod systems;
mod tables;
mod workloads;

use std::time::Instant;

use anyhow::{Result, ensure};
use serde::Serialize;

use super::options::Options;
use super::results::{Common, conclude, make_folder, write_json};
use crate::run::machine::{self, Calibration, Machine};
use session::{Run, Session};
use systems::{Skipped, System, Systems};
use workloads::Workload;

/// The contents of peers.json.
#[derive(Serialize)]
struct Results<'a> {
    #[serde(flatten)]
    common: Common<'a>,
    systems: &'a [System],
    skipped: &'a [Skipped],
    calibration: &'a [Calibration],
    failures: &'a [String],
    rounds: usize,
    too_long: Vec<String>,
    runs: &'a [Run],
}

/// With these numbers of threads, or on 1 thread and on as many as there are cores. True if every
/// answer was right.
pub fn compare(options: &Options, threads: &[usize]) -> Result<bool> {
    let start = Instant::now();
    let machine = Machine::look();
    let Systems { found, skipped } = Systems::look(options.programs)?;
    let wanted = |w: &Workload| {
        let named = options.only.is_empty() || options.only.iter().any(|o| o == w.program);
        named && (!options.quick || w.quick.is_some())
    };
    let cores = [1, machine.cores.max(2)];
    let threads = if threads.is_empty() { &cores } else { threads };
    let mut workloads: Vec<Workload> = workloads::all(threads, options.repetitions);
    workloads.retain(wanted);
    if options.quick {
        workloads.iter_mut().for_each(Workload::make_quick);
    }
    ensure!(!workloads.is_empty(), "the peers do not have that program");
    make_folder(options.results)?;

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
        common: Common::new(options, &machine, load, start),
        systems: &found,
        skipped: &skipped,
        calibration: &session.calibration,
        failures: &session.failures,
        rounds: session.rounds,
        too_long: session.too_long.iter().map(ToString::to_string).collect(),
        runs: &session.runs,
    };
    write_json(&options.results.join("peers.json"), &results)?;
    Ok(conclude(&session.failures, "all answers are right and the same", start))
}
