//! `sched-trust`: records what the gates of `make check-deep` did, and writes docs/TRUST.md.
//!
//! ```text
//! gates.rs   the table docs/trust/gates.toml: a gate is a row, with patterns for its numbers
//! record.rs  runs a gate's target, and keeps the record docs/trust/NAME.json of it
//! page.rs    docs/TRUST.md, from the table and the records
//! ```
//! A gate knows nothing of this: its target prints what it did, and its row of the table says how to
//! read that. A new gate needs a target, a name in GATES of the Makefile, and a row.

mod gates;
mod page;
mod record;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};

use gates::Table;
use record::{Outcome, Record};

#[derive(Parser)]
#[command(about = "Records the gates of make check-deep, and writes docs/TRUST.md")]
struct Options {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Run `make GATE ARGUMENTS`, record it, and write the page
    Run { gate: String, arguments: Vec<String> },
    /// Write the page
    Page,
    /// Fail if the page is not what the records say
    Check,
}

fn main() -> ExitCode {
    match run(Options::parse().what) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("trust: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// False if a gate has failed.
fn run(what: What) -> Result<bool> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let root = root.canonicalize().context("the root of the project")?;
    match what {
        What::Page => page::write(&root)?,
        What::Check => page::check(&root)?,
        What::Run { gate, arguments } => {
            let table = Table::read(&root)?;
            let gate = table.gate(&gate)?;
            let folder = root.join("target/trust");
            std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
            let log = folder.join(format!("{}.log", gate.name));
            let record = Record::run(&root, gate, &in_force(arguments), &log)?;
            record.write(&root)?;
            page::write(&root)?;
            if record.outcome == Outcome::Failed && record.numbers.is_empty() {
                eprintln!("trust: {}: nothing that it printed is a number of its row", gate.name);
            }
            return Ok(record.outcome != Outcome::Failed);
        }
    }
    Ok(true)
}

/// Of several values that a variable is given the last one: what is asked for on the command line
/// comes after what the Makefile says.
fn in_force(arguments: Vec<String>) -> Vec<String> {
    let name = |word: &str| word.split_once('=').map(|(name, _)| name.to_string());
    let is_last = |(at, word): &(usize, &String)| {
        let later = arguments[at + 1..].iter();
        name(word).is_none_or(|of| later.filter_map(|other| name(other)).all(|other| other != of))
    };
    arguments.iter().enumerate().filter(is_last).map(|(_, word)| word.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_value_of_a_variable_counts() {
        let words = |text: &str| text.split(' ').map(String::from).collect::<Vec<_>>();
        assert_eq!(in_force(words("A=1 B=2 A=3 A=4 x")), words("B=2 A=4 x"));
        assert_eq!(in_force(Vec::new()), Vec::<String>::new());
    }
}
