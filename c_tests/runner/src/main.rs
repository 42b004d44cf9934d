//! `sched-ctest`: builds the C tests against an installed tree and runs them.
//!
//! ```text
//! header.rs   ours and POSIX's sched.h in every order, standard and include path
//! symbols.rs  what the libraries export, the soname
//! programs.rs c_tests/*.c: marker.rs says how to build and run each
//! bench.rs    the benchmark programs, small, for their answers
//! stress.rs   c_tests/stress.c over everything, for a given time
//! ```
//! `matrix.rs` holds the one table of kinds, deques and idle policies; `exec.rs` runs
//! processes with a time limit; `report.rs` counts and prints.

mod bench;
mod compile;
mod exec;
mod header;
mod marker;
mod matrix;
mod programs;
mod report;
mod stats;
mod stress;
mod symbols;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use clap::Parser;

use compile::Toolchain;
use matrix::Setting;
use report::{Job, Report};

#[derive(Parser)]
#[command(about = "Builds the C tests of libsched against an installed tree and runs them")]
pub struct Options {
    /// The installed tree: lib/libsched.so, lib/pkgconfig/libsched.pc, include/libsched/
    #[arg(long)]
    prefix: PathBuf,
    /// The folder of the compiled benchmark programs
    #[arg(long)]
    bench: Option<PathBuf>,
    /// The header cbindgen made of the Rust source [default: PREFIX/../abi/sched_abi.h]
    #[arg(long)]
    abi: Option<PathBuf>,
    /// Only the tests whose name, settings included, contains this
    #[arg(long, default_value = "")]
    filter: String,
    /// Only these programs (a `*` at the end stands for anything), with 4 threads and
    /// SCHED_IDLE=park, and no other checks
    #[arg(long, value_delimiter = ',')]
    programs: Vec<String>,
    /// The programs compiled with -fsanitize=WORD
    #[arg(long, value_name = "WORD")]
    sanitize: Option<String>,
    /// The programs run by this command
    #[arg(long, value_name = "COMMAND", value_delimiter = ' ')]
    under: Vec<String>,
    /// The folder of the library to link with [default: that of the prefix]
    #[arg(long)]
    libdir: Option<PathBuf>,
    /// Only these kinds in the matrix
    #[arg(long, value_delimiter = ',')]
    kinds: Vec<String>,
    /// Tests at a time [default: the processors]
    #[arg(long)]
    jobs: Option<usize>,
    /// Seconds a test may take unless it says otherwise
    #[arg(long, default_value_t = 30.0)]
    timeout: f64,
    /// A line for every test, passed ones too
    #[arg(long, short)]
    verbose: bool,
    /// Instead of the tests: the stress program over everything, for so many minutes
    #[arg(long, value_name = "MINUTES")]
    stress: Option<f64>,
    /// The root of the project [default: where this was built]
    #[arg(long)]
    root: Option<PathBuf>,
}

impl Options {
    /// True if the program is to be run.
    fn names(&self, program: &str) -> bool {
        let fits = |name: &String| match name.strip_suffix('*') {
            Some(start) => program.starts_with(start),
            None => program == name,
        };
        self.programs.is_empty() || self.programs.iter().any(fits)
    }

    /// True if a setting of the matrix is to be run.
    fn tries(&self, setting: &Setting) -> bool {
        self.programs.is_empty()
            || setting.idle.is_none_or(|idle| idle == "park")
                && setting.threads.is_none_or(|threads| threads == 4)
    }
}

/// What every part of the runner looks up.
pub struct Session {
    pub options: Options,
    pub tools: Toolchain,
    pub root: PathBuf,
    pub prefix: PathBuf,
    pub work: PathBuf,
    pub jobs: usize,
}

fn main() -> ExitCode {
    match run(Options::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("sched-ctest: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(options: Options) -> Result<bool> {
    let prefix = std::path::absolute(&options.prefix)?;
    ensure!(
        prefix.join("lib/libsched.so").exists(),
        "{} holds no lib/libsched.so",
        prefix.display()
    );
    let root = match &options.root {
        Some(root) => std::path::absolute(root)?,
        None => std::path::absolute(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?,
    };
    let root = root.canonicalize().context("the root of the project")?;
    let work = prefix.with_file_name(match &options.sanitize {
        Some(word) => format!("ctest-{word}"),
        None => "ctest".to_string(),
    });
    std::fs::create_dir_all(&work).with_context(|| work.display().to_string())?;
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    let context = Session {
        jobs: options.jobs.unwrap_or(cores).max(1),
        tools: Toolchain::find(&prefix, options.libdir.as_deref())?,
        options,
        root,
        prefix,
        work,
    };
    if let Some(minutes) = context.options.stress {
        return stress::run(&context, minutes);
    }

    let mut jobs: Vec<Job> = Vec::new();
    if context.options.programs.is_empty() {
        header::jobs(&context, &mut jobs)?;
        symbols::jobs(&context, &mut jobs)?;
    }
    let mut report = Report::new(&context);
    report.run(jobs);
    // Compiled now, in parallel; their runs follow.
    let runs = programs::compile_all(&context, &mut report)?;
    report.run(runs);
    if context.options.programs.is_empty() {
        report.run(bench::jobs(&context)?);
    }
    Ok(report.close())
}
