//! `sched-ctest`: builds the C tests against an installed tree and runs them.
//!
//! ```text
//! header.rs    the library's sched.h and POSIX's in every order, standard and include path
//! symbols.rs   the symbols that the libraries export, and the soname
//! makefile.rs  the message of make if Rust is too old
//! documents.rs the programs of the README and of the manual pages, and the names in them
//! scripts.rs   the scripts c_tests/scripts/*.sh: programs/, packages, other build systems
//! programs.rs  the programs c_tests/*.c; marker.rs reads how to build and run each
//! bench.rs     the benchmark programs with small sizes: are their answers right?
//! stress.rs    c_tests/stress.c over all settings, for a given time
//! soak.rs      c_tests/soak.c in processes that live long, for hours, added to what was done before
//! fuzz/        random programs, and the corpus of those that have found something
//! ```
//! `matrix.rs` says with which settings (`setting.rs`) each program runs, `cover.rs` chooses a few
//! of many, and `ask.rs` asks the library which there are and what the kinds can do (`kinds.rs`). `options.rs` has the words of the
//! command line, and `session.rs` holds what all of them look up. `dispatch.rs` gives the jobs to
//! threads, `exec.rs` runs a process with a time limit; `report.rs` counts and prints.

mod ask;
mod bench;
mod compile;
mod cover;
mod dispatch;
mod documents;
mod exec;
mod fuzz;
mod header;
mod kinds;
mod makefile;
mod marker;
mod matrix;
mod options;
mod programs;
mod report;
mod scripts;
mod session;
mod setting;
mod soak;
mod stats;
mod stress;
mod symbols;

use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use clap::Parser;

use compile::Toolchain;
use dispatch::{Job, Outcome};
use options::Options;
use report::Report;
use session::Session;

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
    let mut tools = Toolchain::find(&prefix, &options)?;
    let (matrix, kinds) = ask::matrix(&tools, &work, &options)?;
    tools.kinds = kinds;
    let context = Session {
        // Half of the tests wait for some of their time: for a lock, a timer or another process.
        jobs: options.jobs.unwrap_or(cores + cores.div_ceil(2)).max(1),
        matrix,
        tools,
        options,
        root,
        prefix,
        work,
    };
    if let Some(minutes) = context.options.stress {
        return stress::run(&context, minutes);
    }
    if let Some(hours) = context.options.soak {
        return soak::run(&context, hours);
    }
    if let Some(minutes) = context.options.fuzz {
        return fuzz::run(&context, minutes);
    }
    if let Some(file) = &context.options.replay {
        return fuzz::replay(&context, file);
    }

    let mut jobs: Vec<Job> = Vec::new();
    if context.options.programs.is_empty() && context.options.knobs.is_none() {
        header::jobs(&context, &mut jobs)?;
        symbols::jobs(&context, &mut jobs)?;
        makefile::jobs(&context, &mut jobs)?;
        documents::jobs(&context, &mut jobs)?;
        scripts::jobs(&context, &mut jobs)?;
        fuzz::jobs(&context, &mut jobs)?;
    }
    let mut report = Report::new(&context.options, context.jobs);
    jobs.extend(programs::jobs(&context, &mut report)?);
    if context.options.programs.is_empty() {
        jobs.extend(bench::jobs(&context)?);
    }
    let unmet = context.matrix.unmet(jobs.iter().filter_map(|job| job.setting.as_ref()));
    report.run(jobs);
    if context.options.whole() && context.options.knobs.is_none() {
        report.run(vec![Job::new("matrix", "every pair", move |_| {
            Ok(unmet.clone().map_or(Outcome::Passed, |lacking| {
                Outcome::Failed(format!("no run has all pairs of {lacking:?}\n"))
            }))
        })]);
    }
    Ok(report.close())
}
