//! The end of every command: its results as JSON, and its last lines.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};
use sched_tools::text::say;
use serde::Serialize;

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
