//! sched-bench: the programs of bench_c over kinds, locks, idle policies and thread counts.
//!
//! [`pages`] has a module for each command:
//!
//! | make | sched-bench |
//! | --- | --- |
//! | `bench`, `bench PROGRAM=./mine` | without a subcommand |
//! | `bench-peers` | `peers` |
//! | `bench-programs-peers` | `tools` |
//! | `lab` | `lab` |
//! | `results`, `pages` | `results`: all of these but `tools`, and the pages of docs/; `pages`: these again |
//!
//! # The design
//!
//! - *What is run* is data. run/plan.toml lists the programs and the cases of `bench` and `lab`,
//!   pages/peers.toml the workloads of `peers`, pages/tools.toml the commands of `tools`. To measure
//!   something else is a line there.
//! - *A case* is a program under one choice of settings, and is written in words:
//!   `tree steal 2 deque=spin` ([`data`]). A plan, a template and a file of results name it so.
//! - *A session* has one form, whoever measured it: how and where it was measured, and for each case
//!   its values by name, a value a round. Each command writes its session to the folder of results;
//!   docs/data keeps the session that the committed pages were made from, as tables.
//! - *A page* is a template of minijinja: pages/bench.md for the terminal, and those of
//!   docs/report for docs/RESULTS.md, docs/REPORT.md, docs/LAB.md and README.md. Each figure of measurement in it is a place that
//!   names its case, a table is rows and columns of places, a chart is panels, names and series of
//!   places (pages/template). So a page can be made again without a measurement, and its text can be
//!   changed without touching the program.
//! - *A figure* is drawn by plotters from a few lines of data ([`figures`]), as SVG, and by resvg and
//!   svg2pdf as PNG and PDF.
//!
//! From the ground: [`machine`] says what this machine is, [`data`] has cases and sessions, [`run`]
//! runs programs, [`figures`] draws, and [`pages`] brings these together. No module imports a higher
//! one.

mod data;
mod figures;
mod machine;
mod pages;
mod quartiles;
mod run;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, ensure};
use clap::Parser;

use pages::{bench, lab, own, peers, publish, tools};
use run::plan::{program_names, questions};

/// Compares the schedulers of libsched on the programs of bench_c.
#[derive(Parser)]
struct Options {
    /// What to compare: the kinds of the library, the library with other systems, or the programs
    /// of programs/ with the usual tools
    #[arg(value_enum, default_value_t = Mode::Kinds)]
    mode: Mode,
    /// The folder of the compiled programs; for tools, that of the programs of programs/
    #[arg(long, default_value = "target/bench")]
    programs: PathBuf,
    /// Measures this program instead, with its arguments behind `--`
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    #[arg(last = true, requires = "program")]
    arguments: Vec<String>,
    /// With --program: the folder of the library to run it on
    #[arg(long, value_name = "FOLDER", requires = "program")]
    library: Option<PathBuf>,
    /// Where results.json and the figures go
    #[arg(long, default_value = "bench_c/results")]
    results: PathBuf,
    /// Also writes the figure of speed-ups to this SVG file
    #[arg(long, value_name = "FILE")]
    figure: Option<PathBuf>,
    /// The folder of the pages, their templates and their tables
    #[arg(long, default_value = "docs")]
    docs: PathBuf,
    /// For lab: the folder of the recorder
    #[arg(long, default_value = "target/lab")]
    recorder: PathBuf,
    /// For lab: asks this question alone
    #[arg(long, value_name = "NAME", value_parser = question)]
    question: Option<String>,
    /// Repetitions of every setting [default: 7, or 5 or 6 if 7 would take too long;
    /// with --quick 5]; for peers and lab the rounds [default: up to 3, up to 15]; for tools
    /// [default: 3 to 7]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    repetitions: Option<u16>,
    /// Small sizes: about 20 s, for a first look
    #[arg(long)]
    quick: bool,
    /// Only this program (may be given again)
    #[arg(long, value_name = "PROGRAM", value_parser = program_name)]
    only: Vec<String>,
    /// Seconds after which a run is killed [default: 30; peers, tools, lab: 60]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    timeout: Option<u16>,
    /// For peers: these numbers of threads, and not 1 and the number of cores
    #[arg(long, value_name = "N,N", value_delimiter = ',', value_parser = clap::value_parser!(u16).range(1..))]
    threads: Vec<u16>,
    /// For results and pages: fills the pages also if the sessions do not belong together, or if the
    /// tree has changes
    #[arg(long)]
    mixed: bool,
    /// Seed of the orders in which the settings are measured
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Mode {
    Kinds,
    Peers,
    /// The programs of programs/ beside the usual tools
    Tools,
    /// The questions of docs/LAB.md
    Lab,
    /// Kinds, peers and lab in one session, and the pages of docs/ from it
    Results,
    /// The pages again
    Pages,
}

impl Options {
    fn limit(&self, default: u16) -> Duration {
        Duration::from_secs(self.timeout.unwrap_or(default).into())
    }

    fn threads(&self) -> Vec<usize> {
        self.threads.iter().copied().map(usize::from).collect()
    }

    fn lab(&self) -> lab::Lab<'_> {
        lab::Lab { docs: &self.docs, recorder: &self.recorder, question: self.question.as_deref() }
    }

    /// The options of a comparison. A process may run for `limit` seconds, unless the user gives
    /// another limit.
    fn comparison(&self, limit: u16) -> pages::options::Options<'_> {
        pages::options::Options {
            programs: &self.programs,
            results: &self.results,
            repetitions: self.repetitions.map(usize::from),
            quick: self.quick,
            only: &self.only,
            limit: self.limit(limit),
            seed: self.seed,
            began: None,
        }
    }
}

fn main() -> ExitCode {
    let options = Options::parse();
    let result = match options.mode {
        Mode::Kinds if options.program.is_some() => own_program(&options),
        Mode::Kinds => bench::compare(&options.comparison(30), options.figure.as_deref()),
        Mode::Peers => peers::compare(&options.comparison(60), &options.threads()),
        Mode::Tools => tools::compare(&options.comparison(60)),
        Mode::Lab => lab::measure(&options.comparison(60), &options.lab()),
        Mode::Results => publish::measure(&options.comparison(60), &options.lab(), options.mixed),
        Mode::Pages => publish::write(&options.docs, &options.results, options.mixed),
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

fn program_name(name: &str) -> Result<String> {
    let names: Vec<_> =
        program_names().map(String::as_str).chain(tools::NAMES.iter().copied()).collect();
    ensure!(names.contains(&name), "the programs are {}", names.join(", "));
    Ok(name.to_owned())
}

fn question(name: &str) -> Result<String> {
    ensure!(questions().contains(&name), "the questions are {}", questions().join(", "));
    Ok(name.to_owned())
}
