//! docs/TRUST.md, from the table of gates and their records.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use sched_tools::number::thousands;
use sched_tools::provenance::{now, output};
use sched_tools::table::markdown;

use crate::gates::{Gate, Table};
use crate::record::{Outcome, Record, Records};

const PAGE: &str = "docs/TRUST.md";

const INTRODUCTION: &str = "\
# What has been checked, when and where

`make trust` writes this page from `docs/trust/gates.toml` and `docs/trust/records.json`, and `make check` fails if the
page differs from them. Each gate is a target of make. `make check-deep` runs the gates and records them;
`make record-NAME` runs and records one. A record describes the last run of a gate.

- *coverage*: *whole*, or *part* and the variable that told the gate how much to do: `SLICE=1/12` is a twelfth of the
  programs. A gate that runs for as long as it is told has no whole.
- *age*: days from this run to the newest run of the page. `make trust` prints the days until now.
- *library*: the tree of `src/` in the commit. `git rev-parse --short=12 HEAD:src` prints that of a checkout; a record says
  nothing of another library.
";

/// The page as it has to be.
fn page(table: &Table, records: &Records) -> String {
    let newest = records.all().filter_map(|record| day(&record.began)).max().unwrap_or(0);
    let rows = table.gates.iter().map(|gate| row(gate, records.of(&gate.name), newest));
    let head = [
        "gate",
        "shows",
        "coverage",
        "result",
        "counted",
        "last run, UTC",
        "commit",
        "library",
        "age",
        "minutes",
    ]
    .map(String::from);
    let table_of_gates = markdown(8, &head, &Vec::from_iter(rows));
    let never = table.never.iter().map(|n| vec![n.method.clone(), n.why.clone()]);
    let never =
        markdown(2, &["method", "not run, because"].map(String::from), &Vec::from_iter(never));
    let details = table.gates.iter().map(|gate| details(gate, records.of(&gate.name)));
    format!(
        "{INTRODUCTION}\n{table_of_gates}\n\n## Methods that have not run\n\n{never}\n\n## Numbers, machines and \
         tools\n\n{}",
        details.collect::<String>()
    )
}

fn row(gate: &Gate, record: Option<&Record>, newest: i64) -> Vec<String> {
    let cells = match record {
        None => ["-", "not recorded", "-", "-", "-", "-", "-", "-"].map(String::from),
        Some(r) => [
            gate.coverage(&r.command),
            result(r).into(),
            // The first number of a gate's row tells most.
            r.numbers.first().map_or("-".into(), |n| counted(n.value, &n.name)),
            r.began.clone(),
            r.source.commit.clone() + if r.source.clean { "" } else { ", with changes" },
            r.source.src.clone(),
            day(&r.began).map_or("-".into(), |day| (newest - day).to_string()),
            format!("{:.1}", r.seconds as f64 / 60.0),
        ],
    };
    [&[gate.name.clone(), gate.shows.clone()], &cells[..]].concat()
}

/// "3 sets of packages", "1 set of packages".
fn counted(value: u64, name: &str) -> String {
    let (first, rest) = name.split_at(name.find(' ').unwrap_or(name.len()));
    let first = if value == 1 { first.strip_suffix('s').unwrap_or(first) } else { first };
    format!("{} {first}{rest}", thousands(value))
}

fn result(record: &Record) -> &'static str {
    match record.outcome {
        Outcome::Passed if record.skipped.is_empty() => "passed",
        Outcome::Passed => "passed, in part skipped",
        Outcome::Failed => "**failed**",
        Outcome::Skipped => "skipped",
    }
}

/// What the row of a gate has no room for: the other numbers, the machine, the tools, and what was
/// skipped.
fn details(gate: &Gate, record: Option<&Record>) -> String {
    let mut text = format!("- **{}**:", gate.name);
    if let Some(note) = &gate.note {
        text += &format!(" {note}");
    }
    let Some(record) = record else { return text + " Nobody has recorded it yet.\n" };
    let joined = |words: Vec<String>| words.join("; ");
    let numbers = record.numbers.iter().map(|n| format!("{}: {}", n.name, thousands(n.value)));
    let machine = [record.machine.clone()].into_iter().chain(record.versions.iter().cloned());
    text += &format!(" `{}`", record.command);
    for part in [joined(numbers.collect()), joined(machine.collect())] {
        if !part.is_empty() {
            text += &format!(". {part}");
        }
    }
    if !record.skipped.is_empty() {
        let skipped = record.skipped.iter().map(|line| match line.strip_prefix("skipped ") {
            Some(what) => format!("`{what}`"),
            None => line.clone(),
        });
        text += &format!(". Skipped: {}", joined(skipped.collect()));
    }
    text + ".\n"
}

/// The number of a time's day, `2025-03-01 12:30`: days since March 1 of the year 0.
fn day(time: &str) -> Option<i64> {
    let mut numbers = time.get(..10)?.splitn(3, '-').map(str::parse::<i64>);
    let mut next = || numbers.next()?.ok();
    let (year, month, day) = (next()?, next()?, next()?);
    // A year that begins in March ends with the leap day; 153 days are five months of it.
    let (year, month) = if month < 3 { (year - 1, month + 9) } else { (year, month - 3) };
    Some(365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1)
}

/// How old each record is now, for a terminal: in days, and in commits that changed the library.
pub fn ages(root: &Path) -> Result<String> {
    let (table, records) = (Table::read(root)?, Records::read(root)?);
    let today = day(&now());
    let line = |gate: &Gate| {
        let Some(record) = records.of(&gate.name) else {
            return format!("{:13} not recorded\n", gate.name);
        };
        let range = format!("{}..HEAD", record.source.commit);
        let mut git = Command::new("git");
        git.current_dir(root).args(["rev-list", "--count", &range, "--", "src"]);
        let commits = match output(git.stderr(std::process::Stdio::null())).as_deref() {
            Some("0") => "of this library".into(),
            Some(count) => format!("{count} commits to src ago"),
            None => "of a commit that is not here".into(),
        };
        let days = today.zip(day(&record.began)).map_or("?".into(), |(t, d)| (t - d).to_string());
        let coverage = gate.coverage(&record.command);
        format!("{:13} {days:>3} days old, {commits}: {coverage}, {}\n", gate.name, result(record))
    };
    Ok(table.gates.iter().map(line).collect())
}

fn wanted(root: &Path) -> Result<String> {
    Ok(page(&Table::read(root)?, &Records::read(root)?))
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
        let text = r#"
            shell = ""
            numbers = [{ find = "x", name = "x" }]
            gate = [
                { name = "ran", shows = "Something.", run = "",
                  extent = { variable = "PART", whole = "", part = "1/9" } },
                { name = "lacks", shows = "Else.", note = "A caveat." },
            ]
            never = [{ method = "Miri", why = "no threads of C" }]
        "#;
        toml::from_str(text).unwrap()
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
            numbers: vec![
                Number { name: "tests passed".into(), value: 1234 },
                Number { name: "tests failed".into(), value: 0 },
            ],
            skipped: vec!["skipped a: why".into(), "and 9 more".into()],
        }
    }

    #[test]
    fn a_page_says_what_ran_and_what_did_not() {
        let newer = Record {
            gate: "other".into(),
            began: "2025-02-01 00:00".into(),
            ..record(Outcome::Passed, true)
        };
        let page = page(&table(), &vec![record(Outcome::Passed, true), newer].into());
        for part in [
            "| ran | Something. | part: PART=1/2 | passed, in part skipped | 1,234 tests passed | 2025-01-02 03:04 | abc | \
             def | 30 | 1.5 |\n",
            "| lacks | Else. | - | not recorded | - | - | - | - | - | - |\n",
            "| Miri | no threads of C |",
            "- **ran**: `make ran PART=1/2`. tests passed: 1,234; tests failed: 0. A processor, 2 processors, Linux 6; \
             gcc 12. Skipped: `a: why`; and 9 more.\n",
            "- **lacks**: A caveat. Nobody has recorded it yet.\n",
        ] {
            assert!(page.contains(part), "{part}\n{page}");
        }
    }

    #[test]
    fn one_of_something_is_singular() {
        assert_eq!(counted(1, "sets of packages"), "1 set of packages");
        assert_eq!(counted(1200, "tests"), "1,200 tests");
    }

    #[test]
    fn failures_and_changes_are_not_hidden() {
        let shown = |outcome, clean| page(&table(), &vec![record(outcome, clean)].into());
        assert!(shown(Outcome::Failed, true).contains("| part: PART=1/2 | **failed** |"));
        assert!(shown(Outcome::Passed, false).contains("| abc, with changes |"));
        assert!(shown(Outcome::Skipped, true).contains("| part: PART=1/2 | skipped |"));
    }

    #[test]
    fn days_are_counted_over_months_and_leap_years() {
        let between = |a, b| day(b).unwrap() - day(a).unwrap();
        assert_eq!(between("2025-12-31 23:59", "2026-01-01 00:00"), 1);
        assert_eq!(between("2024-02-28", "2024-03-01"), 2);
        assert_eq!(between("2023-02-28", "2023-03-01"), 1);
        assert_eq!(between("2000-01-01", "2400-01-01"), 146_097);
        assert_eq!(day("unknown"), None);
    }
}
