//! `make bench`: compares the kinds, locks and idle policies of the library.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use sched_tools::text::say;
use serde::Serialize;

use super::results::{conclude, write_json};
use crate::figures::bench::{SPEEDUP, draw_all};
use crate::run::bench::{Bench, Run};
use crate::run::instructions::{self, Instructions};
use crate::run::machine::{self, Calibration, Machine};
use crate::run::plan::Plan;
use crate::run::session::{Repetitions, Session};
use crate::statistics::summary::Summary;
use crate::statistics::verdict;
use crate::tables;

pub struct Options<'a> {
    pub programs: &'a Path,
    pub results: &'a Path,
    /// A file to which the figure of speed-ups is also written.
    pub figure: Option<&'a Path>,
    pub repetitions: Option<usize>,
    pub quick: bool,
    /// Only these programs; all if empty.
    pub only: &'a [String],
    /// The time limit of a process.
    pub limit: Duration,
    pub seed: u64,
}

/// The contents of results.json.
#[derive(Serialize)]
struct Results<'a> {
    machine: &'a Machine,
    calibration: &'a [Calibration],
    repetitions: usize,
    quick: bool,
    seed: u64,
    load_before: Option<f64>,
    total_seconds: f64,
    instructions: Option<&'a Instructions>,
    failures: &'a [String],
    runs: &'a [Run],
}

/// True if every run was right.
pub fn compare(options: &Options) -> Result<bool> {
    let start = Instant::now();
    let machine = Machine::look();
    let load_before = machine::load();
    let plan = Plan::new(machine.cores, options.quick, options.only);
    check_programs(options.programs, &plan)?;
    std::fs::create_dir_all(options.results)
        .with_context(|| format!("cannot make {}", options.results.display()))?;

    println!("{}", machine.line());
    println!(
        "{} settings, a process a run, the repetitions interleaved (seed {})",
        plan.setups.len(),
        options.seed
    );
    let bench = Bench::new(options.programs, options.limit, machine.cores);
    let session = Session::run(&bench, &plan.setups, &repetitions(options), options.seed);

    println!("repetitions: {}", session.repetitions);
    let cals: Vec<f64> = session.runs.iter().filter_map(|r| r.line.cal).collect();
    machine::print_calibration(&session.calibration, &cals, machine.cores, load_before);
    let summary = Summary::new(&session.runs);
    tables::print_all(&plan, &summary);
    println!();
    for line in verdict::lines(&plan, &summary) {
        say(line);
    }
    let instructions = if plan.size("tree") == 0 || plan.size("fib") == 0 {
        None
    } else {
        count_instructions(options.programs)
    };

    let mut figures = draw_all(options.results, &plan, &summary, &machine)?;
    if let Some(file) = options.figure {
        let from = options.results.join(SPEEDUP).with_extension("svg");
        std::fs::copy(&from, file)
            .with_context(|| format!("cannot copy {} to {}", from.display(), file.display()))?;
        figures.push(file.to_owned());
    }
    let results = Results {
        machine: &machine,
        calibration: &session.calibration,
        repetitions: session.repetitions,
        quick: options.quick,
        seed: options.seed,
        load_before,
        total_seconds: start.elapsed().as_secs_f64(),
        instructions: instructions.as_ref(),
        failures: &session.failures,
        runs: &session.runs,
    };
    write_json(&options.results.join("results.json"), &results)?;
    for figure in figures {
        println!("written: {}", figure.display());
    }

    let success = "all checksums agree, all task counts are those of the library";
    Ok(conclude(&session.failures, success, start))
}

/// None if there is no valgrind here, or only one that lacks instructions of this processor.
fn count_instructions(programs: &Path) -> Option<Instructions> {
    match instructions::count(programs) {
        Ok(Some(instructions)) => {
            say(instructions.to_string());
            return Some(instructions);
        }
        Ok(None) => println!("instructions per task: valgrind is not installed, not counted"),
        Err(e) => say(format!("instructions per task: not counted: {e:#}")),
    }
    None
}

fn repetitions(options: &Options) -> Repetitions {
    let (least, most) = match options.repetitions {
        Some(n) => (n, n),
        None if options.quick => (5, 5),
        None => (5, 7),
    };
    let budget = Duration::from_secs(160);
    Repetitions { least, most, budget }
}

fn check_programs(folder: &Path, plan: &Plan) -> Result<()> {
    for setup in &plan.setups {
        let path = folder.join(setup.program);
        ensure!(path.is_file(), "no program {}: run `make bench-programs` first", path.display());
    }
    Ok(())
}
