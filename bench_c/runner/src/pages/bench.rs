//! `make bench`: compares the kinds, locks and idle policies of the library.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use sched_tools::text::say;
use serde::Serialize;

use super::options::Options;
use super::results::{Common, conclude, make_folder, write_json};
use crate::figures::bench::{SPEEDUP, draw_all};
use crate::run::bench::{Bench, Run};
use crate::run::instructions::{self, Instructions};
use crate::run::machine::{self, Calibration, Machine};
use crate::run::plan::Plan;
use crate::run::session::{Repetitions, Session};
use crate::statistics::summary::Summary;
use crate::statistics::verdict;
use crate::tables;

/// The contents of results.json.
#[derive(Serialize)]
struct Results<'a> {
    #[serde(flatten)]
    common: Common<'a>,
    repetitions: usize,
    calibration: &'a [Calibration],
    failures: &'a [String],
    instructions: Option<&'a Instructions>,
    runs: &'a [Run],
}

/// True if every run was right. The figure of speed-ups is also written to the file `figure`.
pub fn compare(options: &Options, figure: Option<&Path>) -> Result<bool> {
    let start = Instant::now();
    let machine = Machine::look();
    let load = machine::load();
    let plan = Plan::new(machine.cores, options.quick, options.only);
    check_programs(options.programs, &plan)?;
    make_folder(options.results)?;

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
    machine::print_calibration(&session.calibration, &cals, machine.cores, load);
    let summary = Summary::new(&session.runs);
    tables::print_all(&plan, &summary);
    println!();
    let busy = machine::is_busy(&session.calibration, machine.cores);
    for line in verdict::lines(&plan, &summary, busy) {
        say(line);
    }
    let instructions = if plan.size("tree") == 0 || plan.size("fib") == 0 {
        None
    } else {
        count_instructions(options.programs)
    };

    let mut figures = draw_all(options.results, &plan, &summary, &machine)?;
    if let Some(file) = figure {
        let from = options.results.join(SPEEDUP).with_extension("svg");
        std::fs::copy(&from, file)
            .with_context(|| format!("cannot copy {} to {}", from.display(), file.display()))?;
        figures.push(file.to_owned());
    }
    let results = Results {
        common: Common::new(options, &machine, load, start),
        repetitions: session.repetitions,
        calibration: &session.calibration,
        failures: &session.failures,
        instructions: instructions.as_ref(),
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
