//! Asks the library which values its variables take, which combinations it accepts, and what its
//! kinds can do. The values are in the table that SCHED_HELP prints; a program linked with the
//! library (`suits.c`) tries each combination and kind.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use sched_tools::process::{shown, without_settings};

use crate::compile::{Program, Toolchain};
use crate::kinds::Kinds;
use crate::matrix::{Matrix, POLICIES};
use crate::options::Options;
use crate::setting::Setting;

pub fn matrix(tools: &Toolchain, work: &Path, options: &Options) -> Result<(Matrix, Kinds)> {
    let (source, output) = (work.join("suits.c"), work.join("suits"));
    fs::write(&source, include_str!("suits.c"))?;
    let sanitize = options.sanitize.as_deref();
    Program { sanitize, ..Program::plain(&source, &output) }.build(tools, &[])?;

    let words = options.words(&output);
    // Its input and output are files: a pipe could fill up while another is being written.
    let run = |help: bool, argument: Option<&str>, lines: &str| -> Result<(String, String)> {
        let names = ["suits.in", "suits.out", "suits.err"].map(|name| work.join(name));
        fs::write(&names[0], lines)?;
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).args(argument);
        without_settings(&mut command);
        command.envs(help.then_some(("SCHED_HELP", "1")));
        command.stdin(Stdio::from(File::open(&names[0])?));
        command.stdout(File::create(&names[1])?).stderr(File::create(&names[2])?);
        ensure!(command.status()?.success(), "{}", shown(&command));
        Ok((fs::read_to_string(&names[1])?, fs::read_to_string(&names[2])?))
    };
    let (_, help) = run(true, None, "\n")?;
    let values = POLICIES
        .iter()
        .map(|name| values(&help, name).with_context(|| format!("SCHED_{name} in {help}")))
        .collect::<Result<Vec<_>>>()?;
    let names = values[0].clone();
    let matrix = Matrix::new(values, |all| {
        let line = |setting: &Setting| {
            let words = setting.environment();
            let words: Vec<_> =
                words.iter().map(|(name, value)| format!("{name}={value}")).collect();
            words.join(" ") + "\n"
        };
        let (said, _) = run(false, None, &all.iter().map(line).collect::<String>())?;
        let answers: Vec<bool> = said.lines().map(|answer| answer == "1").collect();
        ensure!(answers.len() == all.len(), "{} answers to {} settings", answers.len(), all.len());
        ensure!(answers.contains(&true), "no combination is accepted");
        Ok(answers)
    })?;
    let lines: String = names.iter().map(|kind| format!("SCHED_KIND={kind}\n")).collect();
    let (said, _) = run(false, Some("properties"), &lines)?;
    ensure!(said.lines().count() == names.len(), "what {names:?} can do: {said}");
    let rows = names.into_iter().zip(said.lines()).map(|(kind, words)| {
        let deques = matrix.has_deques(&kind).then_some("deques");
        let properties = words.split_whitespace().chain(deques).map(str::to_string);
        (kind, properties.collect())
    });
    let kinds = Kinds(rows.collect());
    Ok((matrix, kinds))
}

/// The values of a variable, in brackets: `SCHED_KIND   steal  [ steal lifo … ]  the scheduler: …`.
fn values(help: &str, name: &str) -> Option<Vec<String>> {
    let row = help.lines().find(|line| line.split(' ').next() == Some(&format!("SCHED_{name}")))?;
    let (_, words) = row.split_once('[')?;
    Some(words.split_once(']')?.0.split_whitespace().map(str::to_string).collect())
}
