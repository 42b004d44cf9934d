//! `model/RESULTS.md`: what the models have explored, and which model kills each mutant.
//!
//! The file is written by this program alone, and is also what it remembers: a run replaces the
//! rows of what it ran, and keeps the others with the commit that they were made on. So nothing
//! stands there that was not run.

use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use sched_tools::number::thousands;
use sched_tools::provenance::output;
use sched_tools::table::markdown;

const FILE: &str = "model/RESULTS.md";
const README: &str = "model/mutants/README.md";

/// The rows of a table by their first column; the other columns as text.
type Rows = BTreeMap<String, Vec<String>>;

pub struct Results {
    models: Rows,
    mutants: Rows,
    litmus: Rows,
}

/// What a mutant's run has shown.
pub struct Outcome<'a> {
    pub name: &'a str,
    pub file: &'a str,
    /// The models that failed, or why none did.
    pub shown: &'a str,
}

const NOT_RUN: &str = "not run";

/// What stands before the commit in a log.
pub const COMMIT: &str = "commit: ";

const MODELS: &str = "## Models";
const MUTANTS: &str = "## Mutants";
const LITMUS: &str = "## Litmus tests";

impl Results {
    /// The results of the file, if there is one.
    pub fn read(root: &Path) -> Results {
        let text = fs::read_to_string(root.join(FILE)).unwrap_or_default();
        let [models, mutants, litmus] = [MODELS, MUTANTS, LITMUS].map(|title| rows(&text, title));
        Results { models, mutants, litmus }
    }

    /// Replaces the rows of the tests and litmus tests that a log of `make loom`, `make shuttle` or
    /// `make litmus` shows, on the commit that it names. Returns the number of the new rows.
    pub fn add_models(&mut self, log: &str) -> usize {
        let (mut test, mut commit) = ("", "unknown");
        let mut names = BTreeMap::new();
        let mut count = 0;
        for line in log.lines() {
            commit = line.strip_prefix(COMMIT).unwrap_or(commit);
            if let Some((_, running)) = line.split_once("Running tests/") {
                test = running.split([' ', '/', '.']).next().unwrap_or(running);
                self.models.retain(|_, row| row[0] != test); // some may be gone
            }
            if let Some((name, executions, preemptions)) = explored(line) {
                let columns = [test, &thousands(executions), preemptions, commit].map(String::from);
                // Several models may have one name, in their order.
                let nth = names.entry(name).and_modify(|n| *n += 1).or_insert(1);
                let name = if *nth > 1 { format!("{name} ({nth})") } else { name.into() };
                self.models.insert(name, columns.into());
                count += 1;
            }
            if let Some((name, seen)) = line.split_once(".litmus: ") {
                self.litmus.insert(name.into(), [seen, commit].map(String::from).into());
                count += 1;
            }
        }
        count
    }

    pub fn add_mutant(&mut self, outcome: &Outcome, commit: &str) {
        let columns = [outcome.file, outcome.shown, commit].map(String::from);
        self.mutants.insert(outcome.name.into(), columns.into());
    }

    /// Writes the file: each of these mutants (name, file) has a row, and no other has.
    pub fn write<'a>(
        &self,
        root: &Path,
        all: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> Result<()> {
        let readme = fs::read_to_string(root.join(README)).context(README)?;
        let mut mutants = Rows::new();
        for (name, file) in all {
            let not_run = || [file, NOT_RUN, "-"].map(String::from).into();
            let mut row = self.mutants.get(name).cloned().unwrap_or_else(not_run);
            row[0] = file.into(); // the mutated code may have moved
            mutants.insert(name.into(), row);
        }
        let text = self.text(&mutants, &equivalents(&readme));
        fs::write(root.join(FILE), text).context(FILE)
    }

    fn text(&self, mutants: &Rows, equivalents: &[(String, String)]) -> String {
        let killed = mutants.values().filter(|row| row[1].starts_with('`')).count();
        let not_run = mutants.values().filter(|row| row[1] == NOT_RUN).count();
        let executions: u64 = self.models.values().map(|row| number(&row[1])).sum();
        let mut text = String::from(
            "# What the models have shown\n\n\
             `make loom-results` and `make mutants RECORD=1` write this file; [mutants/README.md](mutants/README.md) explains the mutants. Each row \
             names the commit\nthat it was run on. A commit with a `+` had changes that were not committed.\n\n",
        );
        let _ = writeln!(
            text,
            "{} models, {} executions. {} mutants: {killed} killed, {} not killed, {not_run} not run.\n",
            self.models.len(),
            thousands(executions),
            mutants.len(),
            mutants.len() - killed - not_run,
        );
        text += MODELS;
        text += "\n\nEach model of loom explores every interleaving with at most so many preemptions. \
                 Those of the test `whole` have random\nschedules, by shuttle, with at most so many changes of \
                 the threads' priorities.\n\n";
        text +=
            &table(&["model", "test", "executions", "preemptions", "commit"], self.models.clone());
        let _ = write!(text, "\n{MUTANTS}\n\n");
        text += &table(&["mutant", "file", "killed by", "commit"], mutants.clone());
        let _ = write!(text, "\n{LITMUS}\n\n");
        text += "Whether the memory model allows what the protocol must exclude, by herd7. The tests \
                 without a fence are there to show\nthat the others can fail.\n\n";
        text += &table(&["test", "seen", "commit"], self.litmus.clone());
        text += "\n## Equivalent weakenings\n\nNo model finds these; they change nothing that the library promises, \
                 or nothing that the models can show.\n\n";
        let why = |(what, why): &(String, String)| (what.clone(), vec![why.clone()]);
        text + &table(&["weakening", "why"], equivalents.iter().map(why))
    }
}

fn table(head: &[&str], rows: impl IntoIterator<Item = (String, Vec<String>)>) -> String {
    let rows = rows.into_iter().map(|(first, columns)| [vec![first], columns].concat());
    let head: Vec<String> = head.iter().map(|word| word.to_string()).collect();
    markdown(head.len(), &head, &rows.collect::<Vec<_>>()) + "\n"
}

/// The rows of the table below a title.
fn rows(text: &str, title: &str) -> Rows {
    let Some((_, below)) = text.split_once(title) else { return Rows::new() };
    let below = below.split("\n## ").next().unwrap_or(below);
    let rows = below.lines().filter(|line| line.starts_with("| ")).skip(2);
    rows.filter_map(|row| {
        let mut columns = row.trim_matches('|').split(" | ").map(|column| column.trim().into());
        Some((columns.next()?, columns.collect()))
    })
    .collect()
}

/// The name of a model, its executions and its preemptions, if this is the line of a model.
fn explored(line: &str) -> Option<(&str, u64, &str)> {
    let (before, preemptions) = line.split_once(" executions, at most ")?;
    let (name, executions) = before.rsplit_once(": ")?;
    // With one thread cargo's "test NAME ... " stands before it.
    let name = name.rsplit_once(" ... ").map_or(name, |(_, name)| name);
    Some((name, executions.parse().ok()?, preemptions.split(' ').next()?))
}

/// The bullets below a title of the mutants' page: `- *What.* Why.`
fn equivalents(readme: &str) -> Vec<(String, String)> {
    let below = readme.split_once("## Weakenings").map_or("", |(_, below)| below);
    let bullets = below.split("\n## ").next().unwrap_or(below).split("\n- *").skip(1);
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    bullets
        .filter_map(|bullet| bullet.split_once(".*"))
        .map(|(what, why)| (one_line(what), one_line(why)))
        .collect()
}

fn number(grouped: &str) -> u64 {
    grouped.replace(',', "").parse().unwrap_or(0)
}

/// The commit of the working tree.
pub fn commit(root: &Path) -> String {
    let git = |arguments: &[&str]| output(Command::new("git").current_dir(root).args(arguments));
    let Some(head) = git(&["rev-parse", "--short=10", "HEAD"]) else { return "unknown".into() };
    let changes = git(&["status", "--porcelain", "--", "src", "model/src", "model/tests"]);
    let mark = if changes.is_none_or(|changes| changes.is_empty()) { "" } else { "+" };
    format!("{head}{mark}")
}

/// The models that failed, from the output of their test.
pub fn failed_models(test: &str, output: &str) -> Vec<String> {
    let failed = output.lines().filter_map(|line| line.strip_suffix("... FAILED"));
    let name = |line: &str| line.rsplit("test ").next().unwrap_or(line).trim().to_owned();
    failed.map(|line| format!("`{test}:{}`", name(line))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "commit: abc\n     Running tests/block.rs (target/block-1)\n\
        test a ... block over split, 2 workers: 1234 executions, at most 2 preemptions each\n\
        trace: 5 executions, at most 3 preemptions each\nok\n\
             Running tests/sync/main.rs (target/sync-1)\n\
        sync, x: 7 executions, at most 1 preemptions each\n\
        raid.litmus: Never\n";

    fn results() -> Results {
        let [models, mutants, litmus] = [const { Rows::new() }; 3];
        let mut results = Results { models, mutants, litmus };
        assert_eq!(results.add_models(LOG), 4);
        let outcome = Outcome { name: "two", file: "src/b.rs", shown: "`ring:m`" };
        results.add_mutant(&outcome, "def");
        results
    }

    #[test]
    fn models_are_found_in_a_log() {
        let models = results().models;
        assert_eq!(models["block over split, 2 workers"], ["block", "1,234", "2", "abc"]);
        assert_eq!(models["sync, x"], ["sync", "7", "1", "abc"]);
    }

    #[test]
    fn models_that_are_gone_have_no_row() {
        let mut results = results();
        results.add_models(
            "Running tests/block.rs (b)\nb: 2 executions, at most 1 preemptions each\n",
        );
        assert_eq!(Vec::from_iter(results.models.keys()), ["b", "sync, x"]);
    }

    #[test]
    fn what_is_written_is_read_again() {
        let results = results();
        let text = results.text(&results.mutants, &[]);
        assert_eq!(rows(&text, MODELS), results.models);
        assert_eq!(rows(&text, MUTANTS), results.mutants);
        assert_eq!(rows(&text, LITMUS), results.litmus);
        assert!(text.contains("3 models, 1,246 executions. 1 mutants: 1 killed, 0 not killed"));
    }

    #[test]
    fn failed_models_are_named() {
        let output = "test split::a ... ok\ntest split::b ... FAILED\n";
        assert_eq!(failed_models("pool", output), ["`pool:split::b`"]);
    }

    #[test]
    fn equivalent_weakenings_come_from_the_page() {
        let page = "# M\n- *No.* A.\n## Weakenings\n\n- *The fence\n  of a.* Because\n  b.\n- *Two.* C.\n## Others\n\n- *Three.* D.\n";
        let expected = [("The fence of a", "Because b."), ("Two", "C.")];
        assert_eq!(equivalents(page), expected.map(|(a, b)| (a.into(), b.into())));
    }
}
