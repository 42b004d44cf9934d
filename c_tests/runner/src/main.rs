//! `sched-ctest`: builds the C tests against an installed tree and runs them.
//!
//! ```text
//! header.rs   ours and POSIX's sched.h in every order, standard and include path
//! symbols.rs  what the libraries export, the soname
//! makefile.rs what make says where Rust is too old
//! programs.rs c_tests/*.c: marker.rs says how to build and run each
//! bench.rs    the benchmark programs, small, for their answers
//! stress.rs   c_tests/stress.c over everything, for a given time
//! ```
//! `matrix.rs` says which settings each goes through, `cover.rs` chooses few of many, `ask.rs` asks the
//! library what there is; `exec.rs` runs processes with a time limit; `report.rs` counts and prints.

mod ask;
mod bench;
mod compile;
mod cover;
mod exec;
mod header;
mod makefile;
mod marker;
mod matrix;
mod programs;
mod report;
mod stats;
mod stress;
mod symbols;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;

use anyhow::{Context, Result, ensure};
use clap::Parser;

use compile::Toolchain;
use matrix::{Matrix, Part, Setting};
use report::{Job, Outcome, Report};

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
    /// SCHED_IDLE=park, or what of these they leave instead, and no other checks
    #[arg(long, value_delimiter = ',')]
    programs: Vec<String>,
    /// The programs compiled with -fsanitize=WORD
    #[arg(long, value_name = "WORD")]
    sanitize: Option<String>,
    /// The programs run by this command: valgrind, or an emulator of the processor that CC compiles for
    #[arg(long, value_name = "COMMAND", value_delimiter = ' ')]
    under: Vec<String>,
    /// What programs divide their sizes by, for tools that take their time
    #[arg(long, value_name = "N", default_value_t = 1)]
    smaller: u32,
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
    /// The names of the tests, which are not run
    #[arg(long)]
    list: bool,
    /// A line for every test, passed ones too
    #[arg(long, short)]
    verbose: bool,
    /// Only the programs that walk the matrix, over every combination that the library accepts; of those
    /// runs the Kth of N slices
    #[arg(long, value_name = "K/N")]
    knobs: Option<Slice>,
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

    /// The words that run the program.
    fn words(&self, program: &Path) -> Vec<String> {
        let mut words = self.under.clone();
        words.push(program.display().to_string());
        words
    }

    /// A part of the matrix, as far as these options leave it.
    fn part(&self, part: &Part) -> Part {
        let mut part = part.clone();
        if !self.kinds.is_empty() {
            part.restrict("KIND", &self.kinds);
        }
        if !self.programs.is_empty() {
            part.prefer("IDLE", "park");
            part.prefer("THREADS", "4");
        }
        part
    }

    /// True where nothing is left out.
    fn whole(&self) -> bool {
        self.programs.is_empty() && self.kinds.is_empty() && self.filter.is_empty()
    }
}

/// `K/N`, 1 <= K <= N.
#[derive(Clone, Copy)]
struct Slice {
    k: usize,
    n: usize,
}

impl FromStr for Slice {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Slice, &'static str> {
        let numbers =
            text.split_once('/').and_then(|(k, n)| Some((k.parse().ok()?, n.parse().ok()?)));
        match numbers {
            Some((k, n)) if (1..=n).contains(&k) => Ok(Slice { k, n }),
            _ => Err("not K/N with 1 <= K <= N"),
        }
    }
}

impl Slice {
    /// Names are spread over the slices without an order, so that each has some of everything.
    fn has(self, job: &Job) -> bool {
        job.setting.is_some() && matrix::number(&job.name()) % self.n == self.k - 1
    }
}

/// How many combinations a run takes, of the 35 or so that cover all pairs, for the tools of `--programs`.
const FEW: usize = 8;

/// What every part of the runner looks up.
pub struct Session {
    pub options: Options,
    pub tools: Toolchain,
    pub root: PathBuf,
    pub prefix: PathBuf,
    pub work: PathBuf,
    pub jobs: usize,
    pub matrix: Matrix,
}

impl Session {
    /// The settings of a part of the matrix for the run called `name`.
    pub fn settings(&self, part: &Part, name: &str) -> Vec<Setting> {
        let part = self.options.part(part);
        match self.options.knobs {
            Some(_) => self.matrix.all(&part),
            None if self.options.programs.is_empty() => self.matrix.some(&part, name),
            None => self.matrix.few(&part, name, FEW),
        }
    }

    /// True if the job is of the slice that was asked for.
    pub fn wants(&self, job: &Job) -> bool {
        self.options.knobs.is_none_or(|slice| slice.has(job))
    }
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
    let tools = Toolchain::find(&prefix, options.libdir.as_deref())?;
    let context = Session {
        jobs: options.jobs.unwrap_or(cores).max(1),
        matrix: ask::matrix(&tools, &work, &options)?,
        tools,
        options,
        root,
        prefix,
        work,
    };
    if let Some(minutes) = context.options.stress {
        return stress::run(&context, minutes);
    }

    let mut jobs: Vec<Job> = Vec::new();
    if context.options.programs.is_empty() && context.options.knobs.is_none() {
        header::jobs(&context, &mut jobs)?;
        symbols::jobs(&context, &mut jobs)?;
        makefile::jobs(&context, &mut jobs)?;
    }
    let mut report = Report::new(&context);
    report.run(jobs);
    // Compiled now, in parallel; their runs follow.
    let mut runs = programs::compile_all(&context, &mut report)?;
    if context.options.programs.is_empty() {
        runs.extend(bench::jobs(&context)?);
    }
    let unmet = context.matrix.unmet(runs.iter().filter_map(|job| job.setting.as_ref()));
    report.run(runs);
    if context.options.whole() && context.options.knobs.is_none() {
        report.run(vec![Job::new("matrix", "every pair", move |_| {
            Ok(unmet.clone().map_or(Outcome::Passed, |lacking| {
                Outcome::Failed(format!("no run has all pairs of {lacking:?}\n"))
            }))
        })]);
    }
    Ok(report.close())
}
