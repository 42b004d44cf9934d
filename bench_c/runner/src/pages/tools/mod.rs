//! `make bench-programs-peers`: compares the programs of programs/ with the usual tools, in one
//! session.
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

use anyhow::{Result, ensure};
use serde::Serialize;

use super::options::Options;
use super::results::{Common, conclude, make_folder, write_json};
use crate::run::machine::{self, Calibration, Machine};
use session::{Measured, Session};
pub use workloads::NAMES;

/// The contents of tools.json.
#[derive(Serialize)]
struct Results<'a> {
    #[serde(flatten)]
    common: Common<'a>,
    skipped: &'a [String],
    repetitions: usize,
    calibration: &'a [Calibration],
    failures: &'a [String],
    workloads: &'a [Measured],
}

/// True if no command failed and all outputs agree as they must.
pub fn compare(options: &Options) -> Result<bool> {
    let start = Instant::now();
    let machine = Machine::look();
    let programs = std::path::absolute(options.programs)?;
    let threads = machine.cores.max(2);
    let mut workloads = workloads::all(threads);
    workloads.retain(|w| options.only.is_empty() || options.only.iter().any(|o| o == w.program));
    ensure!(!workloads.is_empty(), "no usual tool does the work of these programs");
    let skipped = workloads::skip(&mut workloads, &programs, std::env::var_os("PATH"));
    make_folder(options.results)?;

    println!("{}", machine.line());
    for line in &skipped {
        println!("skipped: {line}");
    }
    ensure!(!workloads.is_empty(), "none of these programs is built: run `make programs`");
    let size = if options.quick { data::SMALL } else { data::USUAL };
    let folder = programs.parent().unwrap_or(&programs).join("programs-data");
    data::make(&folder, &size)?;

    let load = machine::load();
    let session = Session::run(options, &programs, &folder, machine.cores, &workloads)?;
    println!("repetitions: {}, commands interleaved (seed {})", session.repetitions, options.seed);
    machine::print_calibration(&session.calibration, &[], machine.cores, load);
    tables::print_all(&session);

    let results = Results {
        common: Common::new(options, &machine, load, start),
        skipped: &skipped,
        repetitions: session.repetitions,
        calibration: &session.calibration,
        failures: &session.failures,
        workloads: &session.workloads,
    };
    write_json(&options.results.join("tools.json"), &results)?;
    let success = "no command failed, and the outputs agree as they must";
    Ok(conclude(&session.failures, success, start))
}
