//! The table of gates, docs/trust/gates.toml. The Makefile, `make check-deep`, the nightly workflow
//! and docs/TRUST.md all take the gates from it.
//!
//! ```toml
//! numbers = […]                    # of the gates that have none of their own
//! never = [{ method = "Miri", why = "…" }]
//! shell = '''…'''                  # functions for the scripts below
//!
//! [[gate]]
//! name = "fuzz"                    # the target of make
//! shows = "…"                      # a sentence for the page
//! note = "…"                       # what the numbers do not say (optional)
//! needs = ["stage"]                # targets of the Makefile that are made first
//! extent = { variable = "MINUTES", default = "10", part = "3", night = "60" }
//! run = 'ctest --fuzz "$MINUTES"'  # a script for sh -eu; status 77: it cannot run here
//! versions = ["cc --version"]      # commands whose first line says which tools it uses
//! numbers = [{ find = '(\d+) programs', name = "programs run" }]
//! ```
//! A variable may change the extent of a gate. `whole` is the value with which the gate leaves
//! nothing out, if there is one; `default` is that of `make NAME`, and without it `whole` is. `part`
//! is the value in `make check-deep`, and `night` that in the nightly workflow. A gate with
//! `deep = false` is in neither.
//!
//! A pattern may match several lines, and several places in a line: the numbers of its last group
//! are added up; without a group the places are counted; with `take = "last"` the last number is
//! kept. If a pattern has two groups, the first one is added to the name.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use regex_lite::Regex;
use serde::Deserialize;

use crate::record::Number;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    numbers: Vec<Finding>,
    pub never: Vec<Never>,
    pub shell: String,
    #[serde(rename = "gate")]
    pub gates: Vec<Gate>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gate {
    pub name: String,
    pub shows: String,
    pub note: Option<String>,
    #[serde(default)]
    pub needs: Vec<String>,
    pub extent: Option<Extent>,
    /// None: the Makefile has a rule for it.
    pub run: Option<String>,
    deep: Option<bool>,
    #[serde(default)]
    pub versions: Vec<String>,
    numbers: Option<Vec<Finding>>,
}

/// How much of its work a gate does.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Extent {
    pub variable: String,
    whole: Option<String>,
    default: Option<String>,
    part: Option<String>,
    night: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Finding {
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
            table.numbers(gate, &[]).with_context(|| gate.name.clone())?;
            let has_default = gate.extent.as_ref().is_none_or(|of| of.default().is_some());
            ensure!(has_default, "{}: neither whole nor default", gate.name);
        }
        Ok(table)
    }

    pub fn gate(&self, name: &str) -> Result<&Gate> {
        let gate = self.gates.iter().find(|gate| gate.name == name);
        gate.with_context(|| format!("docs/trust/gates.toml has no gate {name}"))
    }

    /// The gates of `make check-deep`.
    pub fn deep(&self) -> impl Iterator<Item = &Gate> {
        self.gates.iter().filter(|gate| gate.is_deep())
    }

    /// An error if the Makefile lacks a target that a gate needs, or sh does not understand a script.
    pub fn check(&self, makefile: &str) -> Result<()> {
        let has =
            |need: &String| makefile.lines().any(|line| line.starts_with(&format!("{need}:")));
        for gate in &self.gates {
            let missing: Vec<_> = gate.needs.iter().filter(|need| !has(need)).collect();
            ensure!(missing.is_empty(), "{}: the Makefile has no target {missing:?}", gate.name);
            let script = gate.run.as_deref().unwrap_or_default();
            let script = format!("{}\n{script}", self.shell);
            let output = Command::new("sh").args(["-n", "-c", &script]).output()?;
            let said = String::from_utf8_lossy(&output.stderr);
            ensure!(output.status.success(), "{}: {said}", gate.name);
        }
        Ok(())
    }

    /// The numbers in what the gate has printed, in the order of the table.
    pub fn numbers(&self, gate: &Gate, lines: &[String]) -> Result<Vec<Number>> {
        let mut numbers: Vec<Number> = Vec::new();
        for finding in gate.numbers.as_ref().unwrap_or(&self.numbers) {
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

impl Gate {
    pub fn is_deep(&self) -> bool {
        self.run.is_some() && self.deep.unwrap_or(true)
    }

    /// `VARIABLE=VALUE` for `make check-deep`, if it does not do what `make NAME` does.
    pub fn part(&self) -> Option<String> {
        let extent = self.extent.as_ref()?;
        extent.part.as_ref().map(|value| format!("{}={value}", extent.variable))
    }

    pub fn command_of_a_night(&self) -> String {
        let night = self.extent.as_ref().and_then(|of| Some((&of.variable, of.night.as_ref()?)));
        let variable = night.map_or(String::new(), |(name, value)| format!(" {name}={value}"));
        format!("make {}{variable}", self.name)
    }

    /// How much of its work the gate did in this command: the whole, or what its variable said; and
    /// with which other variables.
    pub fn coverage(&self, command: &str) -> String {
        // A value with blanks is quoted.
        let command = command.replace('\'', "");
        let words = command.split(' ').skip(2).filter(|word| !word.starts_with("FULL="));
        let Some(extent) = &self.extent else {
            return Vec::from_iter(["whole"].into_iter().chain(words)).join(" ");
        };
        let start = format!("{}=", extent.variable);
        let (said, others): (Vec<&str>, Vec<&str>) =
            words.partition(|word| word.starts_with(&start));
        let said = said.last().map(|word| &word[start.len()..]);
        let value = said.or(extent.default()).unwrap_or_default();
        let what = match &extent.whole {
            Some(whole) if whole == value => "whole".into(),
            Some(_) => format!("part: {start}{value}"),
            None => format!("{start}{value}"),
        };
        [&[what.as_str()], &others[..]].concat().join(" ")
    }
}

impl Extent {
    /// The value of `make NAME`.
    pub fn default(&self) -> Option<&str> {
        self.default.as_deref().or(self.whole.as_deref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = r#"
        numbers = [{ find = '(\d+) passed', name = "passed" }]
        never = [{ method = "Miri", why = "no reason" }]
        shell = "ctest() { true; }"
        [[gate]]
        name = "x"
        shows = "something"
        run = "true"
        needs = ["stage"]
        numbers = [
            { find = '(\d+) passed', name = "passed" },
            { find = 'so far: ([\d,]+)', name = "in all", take = "last" },
            { find = '^tasks of (\w+): ([\d,]+)', name = "tasks of" },
            { find = ': killed$', name = "killed" },
        ]
        [[gate]]
        name = "y"
        shows = "something"
        extent = { variable = "N", whole = "0", default = "2", part = "1/3", night = "9" }
        run = "true"
        [[gate]]
        name = "z"
        shows = "something"
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
        ]
        .map(String::from);
        let found = |gate: &str| {
            let numbers = table.numbers(table.gate(gate).unwrap(), &lines).unwrap();
            Vec::from_iter(numbers.into_iter().map(|n| (n.name, n.value)))
        };
        let all = [("passed", 13), ("in all", 2000), ("tasks of tree", 1234), ("tasks of loop", 1)];
        let all = [&all[..], &[("killed", 2)]].concat().into_iter().map(|(n, v)| (n.into(), v));
        assert_eq!(found("x"), Vec::from_iter(all));
        assert_eq!(found("y"), [("passed".into(), 13)]);
        assert!(table.gate("w").is_err());
        assert_eq!(table.never[0].method, "Miri");
    }

    #[test]
    fn a_slip_in_the_table_is_refused() {
        assert!(Table::parse(TABLE).is_ok());
        for (right, wrong) in [
            ("\"z\"", "\"y\""),                       // twice the same
            (r"(\d+)", "("),                          // no pattern
            ("shows", "show"),                        // no such word
            ("whole = \"0\", default = \"2\", ", ""), // no default
        ] {
            assert!(Table::parse(&TABLE.replace(right, wrong)).is_err(), "{wrong}");
        }
        let check = |text: &str, makefile| Table::parse(text).unwrap().check(makefile);
        assert!(check(TABLE, "stage: lib\n").is_ok());
        assert!(check(TABLE, "stages: lib\n").is_err(), "no such target");
        assert!(check(&TABLE.replace("\"true\"", "\"if\""), "stage: lib\n").is_err(), "no script");
    }

    #[test]
    fn an_extent_says_how_much_of_a_gate_ran() {
        let table = Table::parse(TABLE).unwrap();
        let [x, y, z] = ["x", "y", "z"].map(|name| table.gate(name).unwrap());
        for (gate, command, coverage) in [
            (x, "make x", "whole"),
            (x, "make x CC=gcc", "whole CC=gcc"),
            (y, "make y", "part: N=2"),
            (y, "make y N=1/3", "part: N=1/3"),
            (y, "make y 'N=a b'", "part: N=a b"),
            (y, "make y CC=gcc N=0 FULL=1", "whole CC=gcc"),
        ] {
            assert_eq!(gate.coverage(command), coverage);
        }
        assert_eq!((x.part(), y.part()), (None, Some("N=1/3".into())));
        assert_eq!([x, y].map(Gate::command_of_a_night), ["make x", "make y N=9"]);
        assert!(x.is_deep() && y.is_deep() && !z.is_deep());
    }
}
