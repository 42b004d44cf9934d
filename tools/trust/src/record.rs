//! The record of a gate's last run, docs/trust/NAME.json, and the run that leaves it.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result};
use sched_tools::provenance::{Source, machine, now};
use serde::{Deserialize, Serialize};

use crate::gates::Gate;

/// Files that recording changes: with changes of these alone a tree counts as clean.
const OURS: [&str; 2] = ["docs/trust/", "docs/TRUST.md"];
/// So many lines that say what was skipped are kept.
const MOST_SKIPS: usize = 12;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Number {
    pub name: String,
    pub value: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    Passed,
    Failed,
    /// The machine lacks what the gate needs.
    Skipped,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    pub gate: String,
    /// The command that was run.
    pub command: String,
    pub outcome: Outcome,
    /// When it began, in UTC.
    pub began: String,
    pub seconds: u64,
    pub source: Source,
    pub machine: String,
    /// The first lines of what the tools say of their versions.
    pub versions: Vec<String>,
    pub numbers: Vec<Number>,
    /// What the gate says that it has skipped.
    pub skipped: Vec<String>,
}

impl Record {
    fn file(root: &Path, gate: &str) -> PathBuf {
        root.join(format!("docs/trust/{gate}.json"))
    }

    /// None if the gate has never been recorded.
    pub fn read(root: &Path, gate: &str) -> Result<Option<Record>> {
        let file = Record::file(root, gate);
        match fs::read(&file) {
            Ok(bytes) => Ok(Some(
                serde_json::from_slice(&bytes).with_context(|| file.display().to_string())?,
            )),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).with_context(|| file.display().to_string()),
        }
    }

    pub fn write(&self, root: &Path) -> Result<()> {
        let file = Record::file(root, &self.gate);
        let text = serde_json::to_string_pretty(self)? + "\n";
        fs::write(&file, text).with_context(|| file.display().to_string())
    }

    /// Runs `make GATE ARGUMENTS`, passes its output on, and records what it did.
    pub fn run(root: &Path, gate: &Gate, arguments: &[String], log: &Path) -> Result<Record> {
        let make = std::env::var_os("MAKE").unwrap_or_else(|| "make".into());
        let mut command = Command::new(make);
        command.current_dir(root).args(["--no-print-directory", &gate.name]).args(arguments);
        // Those of the make that called this; its variables are among the arguments.
        // And those of the cargo that runs this, by which `cargo +nightly` would not be rustup's.
        for name in ["MAKEFLAGS", "MFLAGS", "MAKELEVEL", "CARGO", "RUSTUP_TOOLCHAIN"] {
            command.env_remove(name);
        }
        let source = Source::of(root, &OURS);
        let (began, start) = (now(), Instant::now());
        let (ok, lines) = run_and_show(&mut command, log)?;
        let numbers = gate.numbers(&lines)?;
        let skipped = skips(&gate.name, &lines);
        Ok(Record {
            gate: gate.name.clone(),
            command: shown(&gate.name, arguments),
            outcome: judge(ok, &numbers, &skipped),
            began,
            seconds: start.elapsed().as_secs(),
            source,
            machine: machine(),
            versions: gate.versions.iter().filter_map(|command| version(command)).collect(),
            numbers,
            skipped,
        })
    }
}

/// Returns the command line, quoted for a shell. It omits `GATES`, which only `make check-deep`
/// reads.
fn shown(gate: &str, arguments: &[String]) -> String {
    let mut words = vec!["make".to_string(), gate.to_string()];
    for argument in arguments.iter().filter(|argument| !argument.starts_with("GATES=")) {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "=/.,:_-".contains(c);
        words.push(match argument.chars().all(is_plain) {
            true => argument.clone(),
            false => format!("'{}'", argument.replace('\'', "'\\''")),
        });
    }
    words.join(" ")
}

/// A gate that ends well but has counted nothing has done nothing. That is a failure, unless it
/// says that it skips: the words that its numbers are found by may have changed.
fn judge(ok: bool, numbers: &[Number], skipped: &[String]) -> Outcome {
    match (ok, numbers.iter().any(|number| number.value > 0)) {
        (true, true) => Outcome::Passed,
        (true, false) if !skipped.is_empty() => Outcome::Skipped,
        _ => Outcome::Failed,
    }
}

/// Lines `GATE: … skipped …` of the gate itself, and `skipped TEST: …` of a runner.
fn skips(gate: &str, lines: &[String]) -> Vec<String> {
    let own = format!("{gate}: ");
    let own_skip = |line: &String| line.contains("skipped") && !line.contains("skipped: 0");
    let is_skip =
        |line: &&String| line.starts_with("skipped ") || line.starts_with(&own) && own_skip(line);
    let mut kept: Vec<String> = Vec::new();
    for line in lines.iter().filter(is_skip) {
        if !kept.contains(line) {
            kept.push(line.clone());
        }
    }
    let more = kept.len().saturating_sub(MOST_SKIPS);
    if more > 0 {
        kept.truncate(MOST_SKIPS);
        kept.push(format!("and {more} more"));
    }
    kept
}

/// Runs a command whose two outputs are shown as they come, and written to `log`.
fn run_and_show(command: &mut Command, log: &Path) -> Result<(bool, Vec<String>)> {
    let (reader, writer) = io::pipe()?;
    command.stdin(std::process::Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
    let mut child = command.spawn().context("make")?;
    // The command holds the ends for writing, which would keep the pipe open.
    *command = Command::new("true");
    let mut log = File::create(log).with_context(|| log.display().to_string())?;
    let mut lines = Vec::new();
    let mut reader = BufReader::new(reader);
    let mut bytes = Vec::new();
    while reader.read_until(b'\n', &mut bytes)? > 0 {
        let line = String::from_utf8_lossy(&bytes).trim_end().to_string();
        println!("{line}");
        writeln!(log, "{line}")?;
        lines.push(line);
        bytes.clear();
    }
    Ok((child.wait()?.success(), lines))
}

/// The first line of what the command prints; None if there is no such tool.
fn version(command: &str) -> Option<String> {
    let said = sched_tools::provenance::output(Command::new("sh").args(["-c", command]))?;
    said.lines().next().map(str::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(value: u64) -> Vec<Number> {
        vec![Number { name: "n".into(), value }]
    }

    #[test]
    fn a_gate_that_counts_nothing_has_not_passed() {
        let skip = ["x: no tool here, skipped".to_string()];
        assert_eq!(judge(true, &numbers(1), &[]), Outcome::Passed);
        assert_eq!(judge(true, &numbers(1), &skip), Outcome::Passed);
        assert_eq!(judge(true, &numbers(0), &skip), Outcome::Skipped);
        assert_eq!(judge(true, &[], &skip), Outcome::Skipped);
        assert_eq!(judge(true, &[], &[]), Outcome::Failed);
        assert_eq!(judge(false, &numbers(1), &skip), Outcome::Failed);
    }

    #[test]
    fn what_is_skipped_is_kept_once() {
        let lines =
            ["x: no clang here, skipped", "skipped cpuset: not root", "y: skipped", "x: on"];
        let lines: Vec<String> = lines.iter().chain(&lines).map(|line| line.to_string()).collect();
        assert_eq!(skips("x", &lines), lines[..2]);
        assert!(skips("x", &["x: 7 points; killed: 3; skipped: 0; 9 s".to_string()]).is_empty());
        let many: Vec<String> = (0..20).map(|i| format!("skipped {i}: why")).collect();
        assert_eq!(skips("x", &many).last().unwrap(), "and 8 more");
    }

    #[test]
    fn a_command_can_be_repeated() {
        let arguments = ["SLICE=1/12", "GATES=loom fuzz", "CC=gcc -m64"].map(String::from);
        assert_eq!(shown("tsan", &arguments), "make tsan SLICE=1/12 'CC=gcc -m64'");
    }

    #[test]
    fn both_outputs_are_kept_and_the_status() {
        let log = sched_tools::process::scratch_file("trust.log");
        let mut command = Command::new("sh");
        command.args(["-c", "echo out; echo err >&2; exit 3"]);
        let (ok, lines) = run_and_show(&mut command, &log).unwrap();
        assert!(!ok && lines == ["out", "err"]);
        assert_eq!(fs::read_to_string(&log).unwrap(), "out\nerr\n");
        fs::remove_file(&log).unwrap();
    }

    #[test]
    fn the_first_line_of_a_version_is_kept() {
        assert_eq!(version("echo a; echo b").as_deref(), Some("a"));
        assert_eq!(version("no-such-tool --version 2>/dev/null"), None);
    }
}
