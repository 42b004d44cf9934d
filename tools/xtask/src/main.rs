//! The tool of this tree: the gates of `make check-deep`, and the mutants of the models. The
//! Makefile calls it.
//!
//! ```text
//! gates.rs   the table docs/trust/gates.toml: a row is a gate
//! run.rs     runs the script of a gate
//! record.rs  runs a gate's target, and keeps a record of it in docs/trust/records.json
//! page.rs    docs/TRUST.md, from the table and the records
//! mutants/   weakens the library in one place, and expects a model to fail
//! ```

mod gates;
mod mutants;
mod page;
mod record;
mod run;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

use gates::Table;
use record::{Outcome, Record, Records};

const USAGE: &str = "\
xtask gate NAME [WORD...]            runs the script of a gate
xtask record NAME [VARIABLE=VALUE...]  runs make NAME, records it, and writes docs/TRUST.md
xtask deep [VARIABLE=VALUE...]       records all gates of make check-deep, or those of GATES
xtask gates [--json]                 lists the gates; as JSON the make commands of a night
xtask trust                          writes docs/TRUST.md, and says how old each record is
xtask check                          fails if the table or docs/TRUST.md is wrong
xtask mutants [--check|--record|--copy] [NAME...|K/N]";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match run(&words) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The root of the project.
fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().unwrap_or(root)
}

/// Where cargo builds.
fn target() -> PathBuf {
    let folder = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    root().join(folder)
}

/// False if what was run has failed.
fn run(words: &[String]) -> Result<bool> {
    let Some((command, words)) = words.split_first() else { bail!("what?\n{USAGE}") };
    if command == "mutants" {
        return mutants::run(words.to_vec());
    }
    let (root, table) = (root(), Table::read(&root())?);
    match (command.as_str(), words) {
        ("gate", [name, words @ ..]) => return run::gate(&table, table.gate(name)?, words),
        ("record", [name, words @ ..]) => return record(&root, &table, name, words),
        ("deep", words) => return deep(&root, &table, words),
        ("gates", []) => print!("{}", list(&table)),
        ("gates", [json]) if json == "--json" => {
            let commands = table.deep().map(|gate| gate.command_of_a_night());
            println!("{}", serde_json::to_string(&Vec::from_iter(commands))?);
        }
        ("trust", []) => {
            page::write(&root)?;
            print!("{}", page::ages(&root)?);
        }
        ("check", []) => {
            let read = |file| std::fs::read_to_string(root.join(file)).context(file);
            table.check(&(read("Makefile")? + &read("bench_c/bench.mk")?))?;
            page::check(&root)?;
        }
        _ => bail!("{command} {}?\n{USAGE}", words.join(" ")),
    }
    Ok(true)
}

/// Runs a gate and records it. False if it has failed.
fn record(root: &Path, table: &Table, name: &str, words: &[String]) -> Result<bool> {
    let gate = table.gate(name)?;
    let folder = target().join("trust");
    std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let record = Record::run(root, table, gate, words, &folder.join(format!("{name}.log")))?;
    let outcome = record.outcome;
    if outcome == Outcome::Failed && record.numbers.is_empty() {
        eprintln!("xtask: {name}: no line of its output fits the patterns of its row");
    }
    Records::add(root, record)?;
    page::write(root)?;
    Ok(outcome != Outcome::Failed)
}

/// Records the gates of `make check-deep`: those that GATES names, or all. One that fails does not
/// keep the others from running.
fn deep(root: &Path, table: &Table, words: &[String]) -> Result<bool> {
    let wanted = words.iter().find_map(|word| word.strip_prefix("GATES="));
    let mut names: Vec<&str> = wanted.unwrap_or_default().split_whitespace().collect();
    if names.is_empty() {
        names = table.deep().map(|gate| gate.name.as_str()).collect();
    }
    names.iter().try_for_each(|name| table.gate(name).map(drop))?;
    let mut failed = Vec::new();
    for name in names {
        if !record(root, table, name, words)? {
            failed.push(name);
        }
    }
    if !failed.is_empty() {
        println!("check-deep: failed: {}", failed.join(" "));
    }
    Ok(failed.is_empty())
}

/// The gates for a terminal: the part of each in `make check-deep`, and what it shows.
fn list(table: &Table) -> String {
    let line = |gate: &gates::Gate| {
        let deep = format!("make {} {}", gate.name, gate.part().unwrap_or_default());
        let part = if gate.is_deep() { gate.coverage(deep.trim_end()) } else { "-".into() };
        format!("{:13} {part:16} {}\n", gate.name, gate.shows)
    };
    table.gates.iter().map(line).collect()
}
