//! sched-bench: the programs of bench_c over kinds, locks, idle policies and thread counts.
//!
//! `make bench` runs it. A map: [`plan`] says what is run, [`run`] runs one process,
//! [`session`] all of them, interleaved; [`summary`] takes medians, and [`table`],
//! [`verdict`] and [`figures`] show them. [`instructions`] counts what does not vary.
//! [`own`] measures the user's own program, for `make bench PROGRAM=./mine`.
//! `make bench-peers` runs it as `sched-bench peers`: [`peers`]; `make lab` as `sched-bench lab`: [`lab`].

mod axis;
mod chart;
mod figures;
mod font;
mod instructions;
mod lab;
mod machine;
mod own;
mod peers;
mod plan;
mod process;
mod render;
mod run;
mod session;
mod sheet;
mod summary;
mod svg;
mod table;
mod verdict;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use clap::Parser;
use serde::Serialize;

use instructions::Instructions;
use machine::{Calibration, Machine};
use plan::Plan;
use run::{Bench, Run};
use session::{Repetitions, Session};
use summary::Summary;

/// Compares the schedulers of libsched on the programs of bench_c.
#[derive(Parser)]
struct Options {
    /// What to compare: the library's kinds, or the library with other systems
    #[arg(value_enum, default_value_t = Mode::Kinds)]
    mode: Mode,
    /// The folder of the compiled benchmark programs
    #[arg(long, default_value = "target/bench")]
    programs: PathBuf,
    /// Measures this program instead, with its arguments behind `--`
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    #[arg(last = true, requires = "program")]
    arguments: Vec<String>,
    /// For a program of your own: the folder of the library to run it on
    #[arg(long, value_name = "FOLDER", requires = "program")]
    library: Option<PathBuf>,
    /// Where results.json and the figures go
    #[arg(long, default_value = "bench_c/results")]
    results: PathBuf,
    /// Writes the figure of speed-ups here, too: an SVG file
    #[arg(long, value_name = "FILE")]
    figure: Option<PathBuf>,
    /// For lab: where LAB.md and its figures go
    #[arg(long, default_value = "docs")]
    docs: PathBuf,
    /// For lab: the folder of the recorder
    #[arg(long, default_value = "target/lab")]
    recorder: PathBuf,
    /// Repetitions of every setting [default: 7, or 5 or 6 where 7 would take too long;
    /// with --quick 5]; for peers and lab the rounds [default: up to 3, up to 15]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    repetitions: Option<u16>,
    /// Small sizes: about 20 s, for a first look
    #[arg(long)]
    quick: bool,
    /// Only this program (may be given again)
    #[arg(long, value_name = "PROGRAM", value_parser = program_name)]
    only: Vec<String>,
    /// Seconds after which a run is killed [default: 30; peers, lab: 60]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    timeout: Option<u16>,
    /// Seed of the order in which a repetition goes through the settings
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Mode {
    Kinds,
    Peers,
    /// The questions of docs/LAB.md
    Lab,
}

impl Options {
    fn limit(&self, default: u16) -> Duration {
        Duration::from_secs(self.timeout.unwrap_or(default).into())
    }
}

/// What results.json holds.
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

fn main() -> ExitCode {
    let options = Options::parse();
    let result = match options.mode {
        Mode::Kinds if options.program.is_some() => own_program(&options),
        Mode::Kinds => bench(&options),
        Mode::Peers => peers(&options),
        Mode::Lab => laboratory(&options),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(e) => {
            eprintln!("sched-bench: {e:#}");
            ExitCode::FAILURE
        }
    }
}

/// True when no run failed.
fn own_program(options: &Options) -> Result<bool> {
    own::measure(&own::Options {
        program: options.program.as_deref().unwrap_or(Path::new("")),
        arguments: &options.arguments,
        library: options.library.as_deref(),
        results: &options.results,
        repetitions: options.repetitions.map(usize::from),
        quick: options.quick,
        limit: options.limit(60),
        seed: options.seed,
    })
}

/// True when every answer was right.
fn peers(options: &Options) -> Result<bool> {
    peers::compare(&peers::Options {
        programs: &options.programs,
        results: &options.results,
        rounds: options.repetitions.map(usize::from),
        quick: options.quick,
        only: &options.only,
        limit: options.limit(60),
        seed: options.seed,
    })
}

/// True when every answer was right.
fn laboratory(options: &Options) -> Result<bool> {
    lab::measure(&lab::Options {
        programs: &options.programs,
        docs: &options.docs,
        recorder: &options.recorder,
        results: &options.results,
        rounds: options.repetitions.map(usize::from),
        quick: options.quick,
        limit: options.limit(60),
        seed: options.seed,
    })
}

/// True when every run was right.
fn bench(options: &Options) -> Result<bool> {
    let start = Instant::now();
    let machine = Machine::look();
    let load_before = machine::load();
    let plan = Plan::new(machine.cores, options.quick, &options.only);
    check_programs(&options.programs, &plan)?;
    std::fs::create_dir_all(&options.results)
        .with_context(|| format!("cannot make {}", options.results.display()))?;

    println!("{}", machine.line());
    println!(
        "{} settings, a process a run, the repetitions interleaved (seed {})",
        plan.setups.len(),
        options.seed
    );
    let scratch = scratch_file();
    let bench = Bench {
        programs: &options.programs,
        stats_file: &scratch,
        timeout: options.limit(30),
        cores: machine.cores,
    };
    let mut session = Session::run(&bench, &plan.setups, &repetitions(options), options.seed);
    // Gone already when the last run was a serial one.
    let _ = std::fs::remove_file(&scratch);
    session.failures.extend(session.disagreements());

    println!("repetitions: {}", session.repetitions);
    let cals: Vec<f64> = session.runs.iter().filter_map(|r| r.line.cal).collect();
    machine::print_calibration(&session.calibration, &cals, machine.cores, load_before);
    let summary = Summary::new(&session.runs);
    table::print_all(&plan, &summary);
    println!();
    for line in verdict::lines(&plan, &summary) {
        sheet::say(line);
    }
    let instructions = if plan.size("tree") == 0 || plan.size("fib") == 0 {
        None
    } else {
        count_instructions(&options.programs)
    };

    let mut figures = figures::draw_all(&options.results, &plan, &summary, &machine)?;
    if let Some(file) = &options.figure {
        let from = options.results.join(figures::SPEEDUP).with_extension("svg");
        std::fs::copy(&from, file)
            .with_context(|| format!("cannot copy {} to {}", from.display(), file.display()))?;
        figures.push(file.clone());
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

    let praise = "all checksums agree, all task counts are those of the library";
    Ok(conclude(&session.failures, praise, start))
}

/// The last lines; true when nothing failed.
fn conclude(failures: &[String], praise: &str, start: Instant) -> bool {
    if failures.is_empty() {
        println!("{praise}");
    } else {
        println!("{} failed:", failures.len());
        failures.iter().for_each(|f| sheet::say(format!("  {f}")));
    }
    println!("total: {:.0} s", start.elapsed().as_secs_f64());
    failures.is_empty()
}

/// `path`, with `results` in it.
fn write_json(path: &Path, results: &impl Serialize) -> Result<()> {
    std::fs::write(path, serde_json::to_string(results)?)
        .with_context(|| format!("cannot write {}", path.display()))?;
    println!("\nwritten: {}", path.display());
    Ok(())
}

/// Not every machine has valgrind, nor one that knows all its instructions; none must.
fn count_instructions(programs: &Path) -> Option<Instructions> {
    match instructions::count(programs) {
        Ok(Some(instructions)) => {
            sheet::say(instructions.to_string());
            return Some(instructions);
        }
        Ok(None) => println!("instructions per task: valgrind is not installed, not counted"),
        Err(e) => sheet::say(format!("instructions per task: not counted: {e:#}")),
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
    Repetitions { least: least.into(), most: most.into(), budget }
}

fn program_name(name: &str) -> Result<String> {
    let names: Vec<_> = plan::all_programs().map(|p| p.name).collect();
    ensure!(names.contains(&name), "the programs are {}", names.join(", "));
    Ok(name.to_owned())
}

fn check_programs(folder: &Path, plan: &Plan) -> Result<()> {
    for setup in &plan.setups {
        let path = folder.join(setup.program);
        ensure!(path.is_file(), "no program {}: run `make bench-programs` first", path.display());
    }
    Ok(())
}

fn scratch_file() -> PathBuf {
    std::env::temp_dir().join(format!("sched-bench-{}.jsonl", std::process::id()))
}
