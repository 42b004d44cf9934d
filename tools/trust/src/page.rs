//! docs/TRUST.md, from the table of gates and their records.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use sched_tools::number::thousands;
use sched_tools::table::markdown;

use crate::gates::{Gate, Table};
use crate::record::{Outcome, Record};

const PAGE: &str = "docs/TRUST.md";

const INTRODUCTION: &str = "\
# What has been checked, when and where

`make trust` writes this page from the records in `docs/trust`, and `make check` fails if the page differs from
them. Each gate is a target of the Makefile. `make check-deep` runs them all and records each one; `make record-NAME`
runs and records one. Each record describes the last run of a gate: commit, machine, result. It says nothing of later
commits, unless the library is the same: `git rev-parse --short=12 HEAD:src` prints what the record calls src.

A gate that takes hours may have done a part of its work: the column *with* has what it was told (`SLICE=1/12`: a
twelfth of the programs). Where it has nothing, or FULL=1 alone, the gate has done all.
";

/// The page as it has to be.
pub fn page(table: &Table, record: impl Fn(&str) -> Result<Option<Record>>) -> Result<String> {
    let mut rows = Vec::new();
    let mut sections = String::new();
    for gate in &table.gates {
        let record = record(&gate.name)?;
        rows.push(row(gate, record.as_ref()));
        sections += &section(gate, record.as_ref());
    }
    let head = ["gate", "with", "result", "counted", "last run, UTC", "commit", "minutes"]
        .map(String::from);
    let never = table.never.iter().map(|n| vec![n.method.clone(), n.why.clone()]);
    let never =
        markdown(2, &["method", "not run, because"].map(String::from), &Vec::from_iter(never));
    Ok(format!(
        "{INTRODUCTION}\n{}\n\n## Methods that have not run\n\n{never}\n\n## The gates\n{sections}",
        markdown(6, &head, &rows)
    ))
}

fn result(record: &Record) -> String {
    match record.outcome {
        Outcome::Passed if record.skipped.is_empty() => "passed".into(),
        Outcome::Passed => "passed, in part skipped".into(),
        Outcome::Failed => "**failed**".into(),
        Outcome::Skipped => "skipped".into(),
    }
}

fn commit(record: &Record) -> String {
    let changed = if record.source.clean { "" } else { ", with changes" };
    format!("{}{changed}", record.source.commit)
}

/// The first number, which is the most telling one of a gate's row.
fn counted(record: &Record) -> String {
    let first = record.numbers.first();
    first.map_or("-".into(), |n| format!("{} {}", thousands(n.value), n.name))
}

/// What the gate was told.
fn with(record: &Record) -> String {
    record.command.split(' ').skip(2).collect::<Vec<_>>().join(" ")
}

fn row(gate: &Gate, record: Option<&Record>) -> Vec<String> {
    let cells = match record {
        Some(r) => {
            let minutes = format!("{:.1}", r.seconds as f64 / 60.0);
            [with(r), result(r), counted(r), r.began.clone(), commit(r), minutes]
        }
        None => ["-", "not recorded", "-", "-", "-", "-"].map(String::from),
    };
    [vec![gate.name.clone()], cells.to_vec()].concat()
}

fn section(gate: &Gate, record: Option<&Record>) -> String {
    let mut text = format!("\n### {}\n\n{}\n\n", gate.name, gate.shows);
    let Some(record) = record else {
        let why = gate.not_run.as_deref().unwrap_or("Nobody has recorded it yet.");
        return text + why + "\n";
    };
    let what = format!(
        "`{}`, {}, at {} (src {}): {}.",
        record.command,
        record.began,
        commit(record),
        record.source.src,
        result(record)
    );
    text += &what;
    text += "\n\n";
    let list =
        |items: &mut dyn Iterator<Item = String>| items.map(|i| format!("- {i}\n")).collect();
    let numbers: String =
        list(&mut record.numbers.iter().map(|n| format!("{}: {}", n.name, thousands(n.value))));
    let skipped: String = list(&mut record.skipped.iter().map(|line| format!("`{line}`")));
    text += &numbers;
    text += &skipped;
    if !numbers.is_empty() || !skipped.is_empty() {
        text += "\n";
    }
    let tools = record.versions.iter().map(|v| format!("; {v}")).collect::<String>();
    text + &format!("On {}{tools}.\n", record.machine)
}

fn wanted(root: &Path) -> Result<String> {
    page(&Table::read(root)?, |gate| Record::read(root, gate))
}

pub fn write(root: &Path) -> Result<()> {
    fs::write(root.join(PAGE), wanted(root)?).context(PAGE)
}

/// An error if the page is not what [`write`] would write.
pub fn check(root: &Path) -> Result<()> {
    let found = fs::read_to_string(root.join(PAGE)).context(PAGE)?;
    let wanted = wanted(root)?;
    let differs = found.lines().zip(wanted.lines()).position(|(found, wanted)| found != wanted);
    let line = differs.unwrap_or(found.lines().count().min(wanted.lines().count())) + 1;
    ensure!(found == wanted, "{PAGE}:{line} is not what the records say: make trust");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Number;
    use sched_tools::provenance::Source;

    fn table() -> Table {
        toml::from_str(
            r#"
            gate = [
                { name = "ran", shows = "Something.", numbers = [] },
                { name = "lacks", shows = "Else.", numbers = [], not_run = "There is no tool." },
            ]
            never = [{ method = "Miri", why = "no threads of C" }]
            "#,
        )
        .unwrap()
    }

    fn record(outcome: Outcome, clean: bool) -> Record {
        Record {
            gate: "ran".into(),
            command: "make ran PART=1/2".into(),
            outcome,
            began: "2025-01-02 03:04".into(),
            seconds: 90,
            source: Source { commit: "abc".into(), clean, src: "def".into() },
            machine: "A processor, 2 processors, Linux 6".into(),
            versions: vec!["gcc 12".into()],
            numbers: vec![Number { name: "tests passed".into(), value: 1234 }],
            skipped: Vec::new(),
        }
    }

    fn shown(outcome: Outcome, clean: bool) -> String {
        let of = |gate: &str| Ok((gate == "ran").then(|| record(outcome, clean)));
        page(&table(), of).unwrap()
    }

    #[test]
    fn a_page_says_what_ran_and_what_did_not() {
        let page = shown(Outcome::Passed, true);
        for part in [
            "| ran | PART=1/2 | passed | 1,234 tests passed | 2025-01-02 03:04 | abc | 1.5 |",
            "| lacks | - | not recorded | - | - | - | - |",
            "| Miri | no threads of C |",
            "- tests passed: 1,234\n",
            "There is no tool.",
            "On A processor, 2 processors, Linux 6; gcc 12.",
        ] {
            assert!(page.contains(part), "{part}\n{page}");
        }
    }

    #[test]
    fn failures_and_changes_are_not_hidden() {
        assert!(shown(Outcome::Failed, true).contains("| ran | PART=1/2 | **failed** |"));
        assert!(shown(Outcome::Passed, false).contains("abc, with changes"));
        assert!(shown(Outcome::Skipped, true).contains("| ran | PART=1/2 | skipped |"));
    }
}
