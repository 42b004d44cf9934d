//! Tests of the models: weakens one ordering or one step of a protocol at a time, and expects a
//! model to fail.
//!
//! The mutants stand in `model/mutants/*.txt`, a file for each part of the library:
//!
//! ```text
//! # a comment
//! push-relaxed kills chaselev
//! src/queue/chaselev.rs
//!   self.bottom
//! - .store(bottom + 1, Ordering::Release);
//! + .store(bottom + 1, Ordering::Relaxed);
//! ```
//! The lines that begin with a blank or a minus must occur once in the file; blanks, line breaks
//! and comments do not count, so a mutant still fits after a change of format. In the mutant the
//! lines that begin with a blank or a plus replace them. `kills` names the test, or one model of a
//! test (`test:model`), that must fail. The test `whole` has its own workspace, `model/shuttle`.
//!
//! `--check` only looks whether each mutant fits the code. `--copy` makes the source of one in
//! target/mutants, for another test: `make fuzz-mutants`. `--record` writes what was seen to
//! `model/RESULTS.md`; `--models LOG` does so with the models that a log of `make loom` shows,
//! which begins with what `--commit` prints.

mod results;

use anyhow::{Context, Result, bail, ensure};
use results::{Outcome, Results};
use sched_tools::process;
use sched_tools::sources::with_endings;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::root;

/// A mutant is undecided if its model has not failed after this time.
const LIMIT: Duration = Duration::from_secs(300);
const LONGEST_BUILD: Duration = Duration::from_secs(1200);

struct Mutant {
    name: String,
    test: String,
    /// One model of the test; None: all of them.
    model: Option<String>,
    file: String,
    before: String,
    after: String,
}

/// What is done with the mutants.
enum Task {
    /// Whether they fit the code.
    Check,
    /// Make the source, and leave it.
    Copy,
    Run,
    /// Run them, and write down what was seen.
    Record,
}

/// True if all is as it must be.
pub fn run(mut arguments: Vec<String>) -> Result<bool> {
    let mutants = all()?;
    let option = arguments.first().filter(|first| first.starts_with("--")).cloned();
    if option.is_some() {
        arguments.remove(0);
    }
    let task = match option.as_deref() {
        None => Task::Run,
        Some("--check") => Task::Check,
        Some("--copy") if arguments.len() == 1 => Task::Copy,
        Some("--record") => Task::Record,
        Some("--commit") => {
            println!("{}{}", results::COMMIT, results::commit(&root()));
            return Ok(true);
        }
        Some("--models") => return record_models(&mutants, &arguments),
        Some(other) => bail!("there is no option {other}"),
    };
    let chosen = chosen(&mutants, &arguments)?;
    if chosen.len() < mutants.len() {
        println!("mutants: {} of {}", chosen.len(), mutants.len());
    }
    let mut survivors = 0;
    for mutant in chosen {
        let commit = results::commit(&root());
        let seen = mutant.seen(&task);
        survivors += usize::from(seen.is_bad);
        if let Task::Record = task {
            // Written after each mutant: a run of hours may be stopped.
            let mut results = Results::read(&root());
            let outcome = Outcome { name: &mutant.name, file: &mutant.file, shown: &seen.shown };
            results.add_mutant(&outcome, &commit);
            results.write(&root(), names_of(&mutants))?;
        }
    }
    Ok(survivors == 0)
}

fn names_of(mutants: &[Mutant]) -> impl Iterator<Item = (&str, &str)> {
    mutants.iter().map(|mutant| (&*mutant.name, &*mutant.file))
}

fn record_models(mutants: &[Mutant], logs: &[String]) -> Result<bool> {
    let mut results = Results::read(&root());
    for log in logs {
        let text = fs::read_to_string(log).with_context(|| log.clone())?;
        let count = results.add_models(&text);
        println!("{log}: {count} models");
    }
    results.write(&root(), names_of(mutants))?;
    Ok(true)
}

/// Those with the names; without names all; with `K/N` the Kth and then each Nth. The files are in
/// order, so such a sample has mutants of all parts of the library.
fn chosen<'a>(mutants: &'a [Mutant], names: &[String]) -> Result<Vec<&'a Mutant>> {
    let sample = if let [sample] = names { sample.split_once('/') } else { None };
    if let Some((k, n)) = sample {
        let (k, n): (usize, usize) = (k.parse()?, n.parse()?);
        ensure!((1..=n).contains(&k), "{k}/{n} is not K/N with 1 <= K <= N");
        return Ok(mutants.iter().skip(k - 1).step_by(n).collect());
    }
    if let Some(unknown) = names.iter().find(|name| !mutants.iter().any(|m| m.name == **name)) {
        bail!("there is no mutant {unknown}");
    }
    Ok(mutants.iter().filter(|m| names.is_empty() || names.contains(&m.name)).collect())
}

/// What a mutant has shown.
struct Seen {
    is_bad: bool,
    /// The models that have failed, or what is wrong.
    shown: String,
}

fn all() -> Result<Vec<Mutant>> {
    let mut mutants = Vec::new();
    for file in with_endings(&root().join("model/mutants"), &["txt"])? {
        let text = fs::read_to_string(&file)?;
        mutants.extend(parse(&text).with_context(|| file.display().to_string())?);
    }
    for (i, mutant) in mutants.iter().enumerate() {
        let is_double = mutants[..i].iter().any(|before| before.name == mutant.name);
        ensure!(!is_double, "two mutants have the name {}", mutant.name);
    }
    Ok(mutants)
}

fn parse(text: &str) -> Result<Vec<Mutant>> {
    let mut mutants: Vec<Mutant> = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let misplaced = || format!("line {}: {line}", at + 1);
        match line.chars().next() {
            None | Some('#') => {}
            Some(mark @ (' ' | '-' | '+')) => {
                let mutant = mutants.last_mut().with_context(misplaced)?;
                for (text, other) in [(&mut mutant.before, '+'), (&mut mutant.after, '-')] {
                    if mark != other {
                        text.push_str(&line[1..]);
                        text.push('\n');
                    }
                }
            }
            Some(_) if line.starts_with("src/") => {
                mutants.last_mut().with_context(misplaced)?.file = line.trim().into();
            }
            Some(_) => {
                let (name, kills) = line.split_once(" kills ").with_context(misplaced)?;
                let (test, model) =
                    kills.split_once(':').map_or((kills, None), |(t, m)| (t, Some(m)));
                mutants.push(Mutant {
                    name: name.into(),
                    test: test.trim().into(),
                    model: model.map(|model| model.trim().into()),
                    file: String::new(),
                    before: String::new(),
                    after: String::new(),
                });
            }
        }
    }
    Ok(mutants)
}

/// The characters of the text without blanks and comments, each with its position.
fn essence(text: &str) -> Vec<(usize, char)> {
    let mut kept = Vec::new();
    let mut skipped_to = 0;
    for (at, c) in text.char_indices() {
        if at < skipped_to || c.is_whitespace() {
            continue;
        }
        let rest = &text[at..];
        if rest.starts_with("//") {
            skipped_to = at + rest.find('\n').unwrap_or(rest.len());
        } else {
            kept.push((at, c));
        }
    }
    kept
}

/// The text with `after` in the place of `before`, which must occur once.
fn replaced(text: &str, before: &str, after: &str) -> Result<String> {
    let (whole, part) = (essence(text), essence(before));
    ensure!(!part.is_empty(), "it has no lines to look for");
    let is_here = |window: &&[(usize, char)]| window.iter().zip(&part).all(|(a, b)| a.1 == b.1);
    let mut found = whole.windows(part.len()).filter(is_here);
    let here = found.next().context("its lines are not in the file")?;
    ensure!(found.next().is_none(), "its lines are in the file more than once");
    let (first, last) = (here[0].0, here[here.len() - 1]);
    Ok(format!("{}{after}{}", &text[..first], &text[last.0 + last.1.len_utf8()..]))
}

/// Makes a workspace of the library, what it is built from, and its models.
fn copy_source(copy: &Path) -> Result<()> {
    let _ = fs::remove_dir_all(copy); // it may not be there
    fs::create_dir_all(copy)?;
    const PARTS: [&str; 6] = ["Cargo.toml", "Cargo.lock", "build.rs", "include", "src", "model"];
    let mut cp = Command::new("cp");
    cp.current_dir(root()).args(["-r", "--parents"]).args(PARTS).arg(copy);
    process::run(&mut cp, LIMIT)?;
    let manifest = fs::read_to_string(copy.join("Cargo.toml"))?;
    let lines = manifest.lines().map(|line| {
        if line.starts_with("members = ") {
            "members = [\"model\"]"
        } else if line.starts_with("crate-type = ") {
            "crate-type = [\"rlib\"]"
        } else {
            line
        }
    });
    fs::write(copy.join("Cargo.toml"), lines.collect::<Vec<_>>().join("\n"))?;
    Ok(())
}

impl Mutant {
    fn file_changed(&self) -> Result<String> {
        let text =
            fs::read_to_string(root().join(&self.file)).with_context(|| self.file.clone())?;
        replaced(&text, &self.before, &self.after)
    }

    /// Bad, unless a model fails with this mutant; to be checked, if the mutant does not fit the
    /// code. Prints what is wrong, or that the mutant is killed.
    fn seen(&self, task: &Task) -> Seen {
        let changed = match self.file_changed() {
            Ok(changed) => changed,
            Err(error) => {
                println!("{} ({}): {error:#}", self.name, self.file);
                return Seen { is_bad: true, shown: "does not fit the code".into() };
            }
        };
        if let Task::Check = task {
            return Seen { is_bad: false, shown: String::new() };
        }
        if let Task::Copy = task {
            let copied = self.copy_with(&changed);
            let _ = copied.as_ref().inspect_err(|error| println!("{}: {error:#}", self.name));
            return Seen { is_bad: copied.is_err(), shown: String::new() };
        }
        let outcome = self.run(&changed).unwrap_or_else(|error| Verdict::No(format!("{error:#}")));
        let (is_bad, shown) = match outcome {
            Verdict::Killed(by) => (false, by),
            Verdict::No(why) => (true, why),
        };
        println!("{}: {}{shown}", self.name, if is_bad { "" } else { "killed by " });
        Seen { is_bad, shown: shown.lines().next().unwrap_or_default().into() }
    }

    /// A copy of the source with the changed file.
    fn copy_with(&self, changed: &str) -> Result<PathBuf> {
        let copy = crate::target().join("mutants");
        copy_source(&copy)?;
        fs::write(copy.join(&self.file), changed)?;
        Ok(copy)
    }

    fn run(&self, changed: &str) -> Result<Verdict> {
        let copy = self.copy_with(changed)?;
        let cargo = |arguments: &[&str]| {
            let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
            let is_whole = self.test == "whole";
            cargo.current_dir(if is_whole { copy.join("model/shuttle") } else { copy.clone() });
            cargo
                .env("RUSTFLAGS", "--cfg loom")
                .env("MODEL_UNCOUNTED", "1")
                .env("CARGO_INCREMENTAL", "1");
            let target = if is_whole { "shuttle-mutants" } else { "loom-mutants" };
            cargo.env("CARGO_TARGET_DIR", crate::target().join(target));
            let package = if is_whole { "sched-whole" } else { "sched-model" };
            cargo.args(["test", "--profile", "tools", "-p", package, "--test", &self.test]);
            cargo.args(arguments);
            cargo
        };
        let log = copy.join("log");
        let built = process::run_in_group(&mut cargo(&["--no-run"]), &log, LONGEST_BUILD, |_| {
            String::new()
        })?;
        if !built.passed() {
            bail!("it does not compile\n{}", built.stdout);
        }
        let model = self.model.as_deref().map_or(vec![], |model| vec!["--exact", model]);
        let arguments: Vec<&str> = std::iter::once("--").chain(model).collect();
        let ran = process::run_in_group(&mut cargo(&arguments), &log, LIMIT, |_| String::new())?;
        if ran.stdout.contains("\nrunning 0 tests") {
            bail!("there is no such model: {}", self.model.as_deref().unwrap_or(&self.test));
        }
        Ok(match ran.status {
            None => Verdict::No(format!("undecided after {} s", LIMIT.as_secs())),
            Some(status) if status.success() => Verdict::No("SURVIVED".into()),
            Some(_) => {
                let models = results::failed_models(&self.test, &ran.stdout);
                // A model that ends its process has no line.
                Verdict::Killed(if models.is_empty() { self.kills() } else { models.join(", ") })
            }
        })
    }

    fn kills(&self) -> String {
        let model = self.model.as_ref().map_or(String::new(), |model| format!(":{model}"));
        format!("`{}{model}`", self.test)
    }
}

enum Verdict {
    /// By these models.
    Killed(String),
    /// Why not.
    No(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_and_comments_do_not_count() {
        let text = "a.store(\n    1, Release, // why\n);\nb();\n";
        let changed = replaced(text, "a.store(1, Release,);", "a.store(1, Relaxed);").unwrap();
        assert_eq!(changed, "a.store(1, Relaxed);\nb();\n");
    }

    #[test]
    fn what_is_not_there_or_twice_is_refused() {
        assert!(replaced("a; b;", "c;", "").is_err());
        assert!(replaced("a; b; a;", "a;", "").is_err());
    }

    #[test]
    fn a_copy_has_every_crate_that_is_built_from_a_path() {
        let copy = process::scratch_file("mutants");
        copy_source(&copy).unwrap();
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
        cargo.current_dir(&copy).args(["metadata", "--offline", "--no-deps", "--format-version=1"]);
        let read = process::run(&mut cargo, LIMIT);
        fs::remove_dir_all(copy).unwrap();
        read.unwrap();
    }

    #[test]
    fn samples_leave_no_mutant_out() {
        let text = |i| format!("m{i} kills a\nsrc/a.rs\n- x\n\n");
        let mutants = parse(&(0..10).map(text).collect::<String>()).unwrap();
        let names = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| word.to_string()).collect();
            let chosen = chosen(&mutants, &words)?;
            anyhow::Ok(chosen.iter().map(|m| m.name.clone()).collect::<Vec<_>>())
        };
        assert_eq!(names(&["2/4"]).unwrap(), ["m1", "m5", "m9"]);
        let mut all: Vec<String> =
            ["1/3", "2/3", "3/3"].iter().flat_map(|k| names(&[k]).unwrap()).collect();
        all.sort();
        assert_eq!(all, names(&[]).unwrap());
        assert_eq!(names(&["m3", "m1"]).unwrap(), ["m1", "m3"]);
        assert!(names(&["0/4"]).is_err() && names(&["5/4"]).is_err() && names(&["m10"]).is_err());
    }

    #[test]
    fn a_mutant_has_its_parts() {
        let text = "# why\none kills ring:a_model\nsrc/a.rs\n  keep\n- old\n+ new\n\ntwo kills split\nsrc/b.rs\n- x\n";
        let [one, two] = &parse(text).unwrap()[..] else { panic!("two mutants") };
        assert_eq!((one.test.as_str(), one.model.as_deref()), ("ring", Some("a_model")));
        assert_eq!((one.before.as_str(), one.after.as_str()), (" keep\n old\n", " keep\n new\n"));
        assert_eq!(
            (two.file.as_str(), two.model.as_deref(), two.after.as_str()),
            ("src/b.rs", None, "")
        );
    }
}
