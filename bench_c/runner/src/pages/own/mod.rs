//! `make bench PROGRAM=./mine`: a program of the user's own, under every kind and thread count.
//! Nothing is known of the program but that it uses libsched. A run is a whole process, from its
//! start to its end, and is right if its exit status is 0. What it prints is ignored. A further run
//! of each setting, which is not timed, collects the library's statistics. If there are none, the
//! program does not use the library.

mod comparison;
mod session;

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};
use sched_tools::text::say;
use serde::Serialize;

use super::results::{conclude, make_folder, write_json};
use crate::figures::chart::{Bars, Figure, with_ending};
use crate::run::machine::{self, Calibration, Machine};
use crate::run::plan::thread_counts;
pub use session::Options;
use session::{Session, Tried};

/// The contents of the JSON file.
#[derive(Serialize)]
struct Results<'a> {
    machine: &'a Machine,
    calibration: &'a [Calibration],
    program: &'a Path,
    arguments: &'a [String],
    repetitions: usize,
    seed: u64,
    tried: &'a [Tried],
}

/// True if no run failed.
pub fn measure(options: &Options) -> Result<bool> {
    let start = Instant::now();
    let program = options
        .program
        .canonicalize()
        .with_context(|| format!("no program {}", options.program.display()))?;
    let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
    make_folder(options.results)?;
    let machine = Machine::look();
    let load = machine::load();
    println!("{}", machine.line());
    let session = Session::run(options, &program, machine.cores)?;
    println!(
        "repetitions: {}, the settings in any order (seed {})",
        session.repetitions, options.seed
    );
    machine::print_calibration(&session.calibration, &[], machine.cores, load);

    let command = [std::slice::from_ref(&name), options.arguments].concat().join(" ");
    say(format!(
        "\n{command}: whole processes; over: how many times as fast, compared with steal on the same number \
         of threads; in runs: ms for which the library was in charge; ≤: at most, because the process had \
         several runs, which may have overlapped"
    ));
    println!("{}\n", session.table());
    session.sentences(machine.cores).iter().for_each(say);

    let base = options.results.join(format!("program-{name}"));
    let results = Results {
        machine: &machine,
        calibration: &session.calibration,
        program: &program,
        arguments: options.arguments,
        repetitions: session.repetitions,
        seed: options.seed,
        tried: &session.tried,
    };
    write_json(&with_ending(&base, "json"), &results)?;
    let panel = session.panel(&command, &thread_counts(machine.cores));
    let figure = Figure {
        title: "Speed-up of whole processes, by threads",
        reference: Some("as fast as serial"),
        bars: Bars::Quartiles,
        panels: panel.into_iter().collect(),
        columns: 1,
        panel_height: 400,
    };
    if !figure.panels.is_empty() {
        for path in figure.write(&base, &machine.line())? {
            println!("written: {}", path.display());
        }
    }
    let failures: Vec<String> = session.tried.iter().filter_map(failure).collect();
    Ok(conclude(&failures, "every run ended with status 0", start))
}

fn failure(tried: &Tried) -> Option<String> {
    Some(format!("{}: {}", tried.setting, tried.failure.as_ref()?))
}
