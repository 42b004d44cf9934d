//! The table of gates, docs/trust/gates.toml: what each gate shows, and how its numbers are found
//! in what it prints.
//!
//! ```toml
//! [[gate]]
//! name = "loom"                    # the target of the Makefile
//! shows = "…"                      # a sentence for the page
//! versions = ["rustc --version"]   # commands whose first line says which tools it uses
//! numbers = [
//!     { find = ': (\d+) executions', name = "executions" },
//!     { find = '^tasks of (\w+): ([\d,]+)', name = "tasks of" },
//!     { find = ': killed$', name = "mutants killed" },
//! ]
//!
//! [[never]]                        # what no gate does
//! method = "Miri"
//! why = "…"
//! ```
//! A pattern may fit several lines, and several places of a line: the numbers of its last group are
//! added up; without a group the places are counted; with `take = "last"` the last one is kept. If a
//! pattern has two groups, the first one is added to the name.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use regex_lite::Regex;
use serde::Deserialize;

use crate::record::Number;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    #[serde(rename = "gate")]
    pub gates: Vec<Gate>,
    #[serde(default)]
    pub never: Vec<Never>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gate {
    pub name: String,
    pub shows: String,
    #[serde(default)]
    pub versions: Vec<String>,
    pub numbers: Vec<Finding>,
    /// Why it has no record, if it is known.
    #[serde(default)]
    pub not_run: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    find: String,
    name: String,
    #[serde(default)]
    take: Take,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Take {
    #[default]
    Sum,
    Last,
}

/// A method that has never run here.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Never {
    pub method: String,
    pub why: String,
}

impl Table {
    pub fn read(root: &Path) -> Result<Table> {
        let file = root.join("docs/trust/gates.toml");
        let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        Table::parse(&text).with_context(|| file.display().to_string())
    }

    fn parse(text: &str) -> Result<Table> {
        let table: Table = toml::from_str(text)?;
        for (i, gate) in table.gates.iter().enumerate() {
            let twice = table.gates[..i].iter().any(|before| before.name == gate.name);
            ensure!(!twice, "two gates are called {}", gate.name);
            ensure!(!gate.numbers.is_empty(), "{}: no numbers", gate.name);
            gate.numbers(&[]).with_context(|| gate.name.clone())?;
        }
        Ok(table)
    }

    pub fn gate(&self, name: &str) -> Result<&Gate> {
        let gate = self.gates.iter().find(|gate| gate.name == name);
        gate.with_context(|| format!("docs/trust/gates.toml has no gate {name}"))
    }
}

impl Gate {
    /// The numbers in what the gate has printed, in the order of the table.
    pub fn numbers(&self, lines: &[String]) -> Result<Vec<Number>> {
        let mut numbers: Vec<Number> = Vec::new();
        for finding in &self.numbers {
            let pattern = Regex::new(&finding.find)?;
            for found in lines.iter().flat_map(|line| pattern.captures_iter(line)) {
                let group = |i| found.get(i).map(|group| group.as_str());
                let (suffix, text) = match found.len() {
                    1 => (None, Some("1")),
                    2 => (None, group(1)),
                    _ => (group(1), group(2)),
                };
                let value = text.unwrap_or_default().replace(',', "");
                let value = value.parse().with_context(|| format!("{found:?}"))?;
                let name = suffix
                    .map_or(finding.name.clone(), |suffix| format!("{} {suffix}", finding.name));
                match numbers.iter_mut().find(|number| number.name == name) {
                    None => numbers.push(Number { name, value }),
                    Some(number) => match finding.take {
                        Take::Sum => number.value += value,
                        Take::Last => number.value = value,
                    },
                }
            }
        }
        Ok(numbers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = r#"
        [[gate]]
        name = "x"
        shows = "something"
        numbers = [
            { find = '(\d+) passed', name = "passed" },
            { find = 'so far: ([\d,]+)', name = "in all", take = "last" },
            { find = '^tasks of (\w+): ([\d,]+)', name = "tasks of" },
            { find = ': killed$', name = "killed" },
        ]
        [[never]]
        method = "Miri"
        why = "no reason"
    "#;

    #[test]
    fn numbers_are_added_up_counted_or_replaced() {
        let table = Table::parse(TABLE).unwrap();
        let lines = [
            "5 passed, 1 failed",
            "7 passed and 1 passed",
            "so far: 1,000",
            "so far: 2,000",
            "tasks of tree: 1,234",
            "tasks of loop: 1",
            "a: killed",
            "b: killed",
            "c: SURVIVED",
        ];
        let numbers = table.gate("x").unwrap().numbers(&lines.map(String::from)).unwrap();
        let found: Vec<_> = numbers.iter().map(|n| (n.name.as_str(), n.value)).collect();
        let all = [("passed", 13), ("in all", 2000), ("tasks of tree", 1234), ("tasks of loop", 1)];
        assert_eq!(found, [&all[..], &[("killed", 2)]].concat());
        assert!(table.gate("y").is_err());
        assert_eq!(table.never[0].method, "Miri");
    }

    #[test]
    fn a_slip_in_the_table_is_refused() {
        assert!(Table::parse(&format!("{TABLE}{TABLE}")).is_err(), "twice the same");
        assert!(Table::parse(&TABLE.replace(r"(\d+)", "(")).is_err(), "no pattern");
        assert!(Table::parse(&TABLE.replace("shows", "show")).is_err(), "no such word");
    }
}
