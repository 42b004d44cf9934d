//! The end of every command: its results as JSON, and its last lines.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};
use sched_tools::provenance;
use sched_tools::text::say;
use serde::Serialize;

use super::options::Options;
use crate::run::machine::Machine;

/// What the JSON files of all comparisons have.
#[derive(Serialize)]
pub struct Common<'a> {
    machine: &'a Machine,
    /// When the session ended, in UTC: `2025-03-01 12:30`.
    date: String,
    load_before: Option<f64>,
    quick: bool,
    seed: u64,
    limit_seconds: u64,
    total_seconds: f64,
}

impl<'a> Common<'a> {
    pub fn new(
        options: &Options,
        machine: &'a Machine,
        load_before: Option<f64>,
        start: Instant,
    ) -> Common<'a> {
        Common {
            machine,
            date: provenance::now(),
            load_before,
            quick: options.quick,
            seed: options.seed,
            limit_seconds: options.limit.as_secs(),
            total_seconds: start.elapsed().as_secs_f64(),
        }
    }
}

/// Prints the last lines; true if nothing failed.
pub fn conclude(failures: &[String], success: &str, start: Instant) -> bool {
    if failures.is_empty() {
        println!("{success}");
    } else {
        println!("{} failed:", failures.len());
        failures.iter().for_each(|f| say(format!("  {f}")));
    }
    println!("total: {:.0} s", start.elapsed().as_secs_f64());
    failures.is_empty()
}

/// Makes a folder, unless it is there.
pub fn make_folder(path: &Path) -> Result<()> {
    std::fs::create_dir_all(path).with_context(|| format!("cannot make {}", path.display()))
}

/// Writes `results` to the file `path`.
pub fn write_json(path: &Path, results: &impl Serialize) -> Result<()> {
    std::fs::write(path, serde_json::to_string(results)?)
        .with_context(|| format!("cannot write {}", path.display()))?;
    println!("\nwritten: {}", path.display());
    Ok(())
}
