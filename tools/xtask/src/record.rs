//! The records of the gates' last runs, docs/trust/records.json, and the run that leaves one.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result};
use sched_tools::process::{pipe, shown};
use sched_tools::provenance::{Source, machine, now};
use serde::{Deserialize, Serialize};

use crate::gates::{Gate, Table};
use crate::run;

const FILE: &str = "docs/trust/records.json";

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

/// The records, by the names of their gates.
pub struct Records(BTreeMap<String, Record>);

impl Records {
    pub fn read(root: &Path) -> Result<Records> {
        let text = fs::read_to_string(root.join(FILE)).context(FILE)?;
        let records: Vec<Record> = serde_json::from_str(&text).context(FILE)?;
        Ok(records.into())
    }

    /// None if the gate has never been recorded.
    pub fn of(&self, gate: &str) -> Option<&Record> {
        self.0.get(gate)
    }

    pub fn all(&self) -> impl Iterator<Item = &Record> {
        self.0.values()
    }

    /// A line for each record, so that two versions of the file show which gates have run.
    fn text(&self) -> Result<String> {
        let lines = self.all().map(serde_json::to_string).collect::<Result<Vec<_>, _>>()?;
        Ok(format!("[\n{}\n]\n", lines.join(",\n")))
    }

    /// Replaces the record of a gate in the file.
    pub fn add(root: &Path, record: Record) -> Result<()> {
        let mut records = Records::read(root)?;
        records.0.insert(record.gate.clone(), record);
        fs::write(root.join(FILE), records.text()?).context(FILE)
    }
}

impl From<Vec<Record>> for Records {
    fn from(records: Vec<Record>) -> Records {
        Records(records.into_iter().map(|record| (record.gate.clone(), record)).collect())
    }
}

impl Record {
    /// Runs `make GATE` with these variables, passes its output on, and says what it did.
    pub fn run(
        root: &Path,
        table: &Table,
        gate: &Gate,
        variables: &[String],
        log: &Path,
    ) -> Result<Record> {
        let arguments = arguments(gate, variables);
        let mut command = run::command(run::make());
        command.args(["--no-print-directory", &gate.name]).args(&arguments);
        let source = Source::of(root, &OURS);
        let (began, start) = (now(), Instant::now());
        let (ok, lines) = run_and_show(&mut command, log)?;
        let numbers = table.numbers(gate, &lines)?;
        let skipped = skips(&gate.name, &lines);
        Ok(Record {
            gate: gate.name.clone(),
            command: shown(Command::new("make").arg(&gate.name).args(&arguments)),
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

/// The variables that make gets: those of the command line, without those for `make check-deep`
/// itself; and the gate's part, unless FULL asks for everything or the command line says how much.
fn arguments(gate: &Gate, variables: &[String]) -> Vec<String> {
    let name = |word: &str| word.split('=').next().unwrap_or_default().to_string();
    let is_full =
        variables.iter().any(|word| word.strip_prefix("FULL=").is_some_and(|v| !v.is_empty()));
    let is_for_make = |word: &&String| !["FULL", "GATES"].contains(&name(word).as_str());
    let given: Vec<String> = variables.iter().filter(is_for_make).cloned().collect();
    let is_free = |part: &String| !is_full && given.iter().all(|word| name(word) != name(part));
    gate.part().filter(is_free).into_iter().chain(given.clone()).collect()
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
    let (reader, writer) = pipe()?;
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
    fn a_part_is_done_unless_more_is_asked_for() {
        let table = Table::read(&crate::root()).unwrap();
        let given = |gate: &str, variables: &str| {
            let variables: Vec<String> = variables.split_whitespace().map(String::from).collect();
            arguments(table.gate(gate).unwrap(), &variables).join(" ")
        };
        assert_eq!(given("knobs", "CC=gcc GATES=knobs"), "KNOBS=1/100 CC=gcc");
        assert_eq!(given("knobs", "KNOBS=2/3"), "KNOBS=2/3");
        assert_eq!(given("knobs", "FULL=1 CC=gcc"), "CC=gcc");
        assert_eq!(given("loom", ""), "");
    }

    #[test]
    fn records_are_kept_a_line_each() {
        let records = Records::read(&crate::root()).unwrap();
        let text = records.text().unwrap();
        assert_eq!(text, fs::read_to_string(crate::root().join(FILE)).unwrap());
        assert_eq!(text.lines().count(), records.all().count() + 2);
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
