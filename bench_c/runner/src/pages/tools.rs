//! `make bench-programs-peers`: compares the programs of programs/ with the usual tools, in one
//! session. tools.toml lists the commands, [`files`] makes the files that they work on. The first
//! run of each command is not counted: its output is compared with the output of the first command,
//! ours.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use sched_tools::number::short;
use sched_tools::process::{self, Ended};
use sched_tools::table::Table;
use sched_tools::text::say;
use serde::Deserialize;

use super::files;
use super::options::Options;
use super::results::{conclude, make_folder, write_json};
use crate::data::{Case, Session};
use crate::machine::{self, Machine};
use crate::quartiles::{Quartiles, with_quartiles};
use crate::run::commands::{Commands, Values};
use crate::run::session::Repetitions;

/// The names that `--only` accepts.
pub const NAMES: &[&str] = &["sgz", "ssum", "sgrep", "swc", "ssort", "render", "ssolve"];

/// How the outputs must agree.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Same {
    Bytes,
    Lines,
    Words,
    Unpacked,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Workload {
    program: String,
    what: String,
    before: Option<String>,
    same: Same,
    commands: Vec<String>,
    #[serde(default)]
    short: Vec<String>,
}

#[derive(Deserialize)]
struct Tools {
    workload: Vec<Workload>,
    packages: BTreeMap<String, String>,
}

/// All workloads, for `n` threads, and the packages of the tools.
fn tools(n: usize) -> Result<Tools> {
    let mut tools: Tools = toml::from_str(include_str!("tools.toml"))?;
    for command in tools.workload.iter_mut().flat_map(|w| &mut w.commands) {
        let with = |word: &str| match word {
            "N" => n.to_string(),
            word => word.replace("=N", &format!("={n}")),
        };
        *command = command.split(' ').map(with).collect::<Vec<_>>().join(" ");
    }
    Ok(tools)
}

impl Workload {
    fn cases(&self) -> Vec<Case> {
        let case = |command: &String| Case {
            program: self.program.clone(),
            data: Some(self.what.clone()),
            by: command.clone(),
            threads: 1,
            ..Case::default()
        };
        self.commands.iter().map(case).collect()
    }

    /// The name of a command in a table: `ours` or `its short name`.
    fn shown(&self, row: usize) -> &str {
        let short = self.short.get(row).filter(|short| !short.is_empty());
        short.map_or(&self.commands[row], |short| short)
    }
}

/// Removes what cannot run here, and says why: commands of tools that are not in `path`, and
/// workloads whose own program is not in the folder `programs`.
fn skip(tools: &mut Tools, programs: &Path, path: Option<OsString>) -> Vec<String> {
    let mut skipped = Vec::new();
    let mut say = |line: String| {
        if !skipped.contains(&line) {
            skipped.push(line);
        }
    };
    tools.workload.retain(|w| {
        let built = programs.join(&w.program).is_file();
        if !built {
            say(format!("{}: not in {} (make programs says why)", w.program, programs.display()));
        }
        built
    });
    let path = path.unwrap_or_default();
    let is_here = |name: &str| std::env::split_paths(&path).any(|f| f.join(name).is_file());
    for workload in &mut tools.workload {
        workload.commands.retain(|command| {
            let tool = command.split(' ').next().unwrap_or_default();
            let missing = tools.packages.get(tool).filter(|_| !is_here(tool));
            if let Some(package) = missing {
                say(format!("{tool}: not here (Debian: {package})"));
            }
            missing.is_none()
        });
    }
    skipped
}

/// True if no command failed and all outputs agree as they must.
pub fn compare(options: &Options) -> Result<bool> {
    let start = Instant::now();
    let machine = Machine::look();
    let programs = std::path::absolute(options.programs)?;
    let mut tools = tools(machine.cores.max(2))?;
    tools.workload.retain(|w| options.only.is_empty() || options.only.contains(&w.program));
    ensure!(!tools.workload.is_empty(), "no usual tool does the work of these programs");
    let skipped = skip(&mut tools, &programs, std::env::var_os("PATH"));
    make_folder(options.results)?;
    println!("{}", machine.line());
    for line in &skipped {
        println!("skipped: {line}");
    }
    let workloads = tools.workload;
    ensure!(!workloads.is_empty(), "none of these programs is built: run `make programs`");
    let size = if options.quick { files::SMALL } else { files::USUAL };
    let folder = programs.parent().unwrap_or(&programs).join("programs-data");
    files::make(&folder, &size)?;
    let load = machine::load();
    let shell = Shell::new(&folder, &programs, options.limit)?;
    // The kernel counts the memory that a process had before exec, which is this program's.
    let least_peak = shell.run("true")?.peak as f64;
    let session = shell.measure(options, machine, &workloads)?;
    println!("repetitions: {}, commands interleaved (seed {})", session.about.rounds, options.seed);
    session.print_calibration(load);
    for workload in &workloads {
        say(format!("\n{}: {}", workload.program, workload.what));
        println!("{}", table(workload, &session, least_peak));
        for (row, command) in workload.commands.iter().enumerate() {
            if workload.shown(row) != command {
                say(format!("{}: {command}", workload.shown(row)));
            }
        }
    }
    say("\nMedians [quartiles] of whole commands, whose output goes to a file. × is a command's \
         time divided by that of the first row; if it is above 1, the first is faster. cpu: \
         processor time of all processes of a command. Peak: the most memory that one of them had.");
    write_json(&options.results.join("tools.json"), &session)?;
    let success = "no command failed, and the outputs agree as they must";
    Ok(conclude(&session.about.failures, success, start))
}

/// A row for each command: the first is ours.
fn table(workload: &Workload, session: &Session, least_peak: f64) -> Table {
    let head = ["command", "ms [quartiles]", "×", "cpu ms", "peak MB", "output MB"];
    let mut table = Table::new(1, &head);
    let cases = workload.cases();
    let of = |case: &Case, value: &str| -> Option<Quartiles> {
        session.cases.iter().find(|m| m.case == *case)?.quartiles(value).ok()
    };
    let first = of(&cases[0], "ms");
    let show = |value: Option<f64>| value.map_or("-".into(), short);
    for (row, case) in cases.iter().enumerate() {
        let own = of(case, "ms");
        let peak = of(case, "peak").map_or("-".into(), |q| {
            let below = if q.median <= least_peak { "< " } else { "" };
            below.to_owned() + &short(q.median.max(least_peak) / 1e6)
        });
        table.add_row(vec![
            workload.shown(row).to_owned(),
            own.map_or("failed".into(), with_quartiles),
            show(own.zip(first).map(|(own, first)| own.median / first.median)),
            show(of(case, "processor_ms").map(|q| q.median)),
            peak,
            show(own.and_then(|_| of(case, "output")).map(|q| q.median / 1e6)),
        ]);
    }
    table
}

/// The folder and the environment in which commands run.
struct Shell<'a> {
    /// The folder of the data.
    folder: &'a Path,
    path: OsString,
    limit: Duration,
}

impl<'a> Shell<'a> {
    fn new(folder: &'a Path, programs: &Path, limit: Duration) -> Result<Shell<'a>> {
        let rest = std::env::var_os("PATH").unwrap_or_default();
        let folders = [programs.to_owned()].into_iter().chain(std::env::split_paths(&rest));
        let shell = Shell { folder, path: std::env::join_paths(folders)?, limit };
        make_folder(&shell.outputs())?;
        Ok(shell)
    }

    fn outputs(&self) -> PathBuf {
        self.folder.join("out")
    }

    fn measure(
        &self,
        options: &Options,
        machine: Machine,
        workloads: &[Workload],
    ) -> Result<Session> {
        let mut commands = Commands::new(machine);
        let name = |case: &Case| case.by.clone();
        for workload in workloads {
            let before = workload.before.iter().try_for_each(|line| self.run(line).map(|_| ()));
            let mut comparable = true;
            commands.first_runs(&workload.cases(), name, |row, case| {
                before.as_ref().map_err(|e| anyhow::anyhow!("{e:#}"))?;
                let ran = self.to_file(&case.by, row);
                // Without the output of the first command there is nothing to compare with.
                comparable &= row > 0 || ran.is_ok();
                ran?;
                if comparable {
                    self.compare(workload.same, row)?;
                }
                let bytes = fs::metadata(self.outputs().join(row.to_string()))?.len();
                Ok(Values::from([("output".to_owned(), bytes as f64)]))
            });
            eprintln!("first runs: {} ({}) done", workload.program, workload.what);
        }
        let (least, most) = options.repetitions.map_or((3, 7), |n| (n, n));
        let wanted = Repetitions { least, most, budget: Duration::from_secs(200) };
        let groups: Vec<Vec<Case>> = workloads.iter().map(Workload::cases).collect();
        commands.repeat(&groups, &wanted, options.seed, name, |case| self.to_file(&case.by, 0));
        fs::remove_dir_all(self.outputs())?;
        Ok(commands.session)
    }

    /// Runs the command as a user would, in the locale C, which sorts by bytes.
    fn run(&self, line: &str) -> Result<Ended> {
        let mut command = Command::new("sh");
        command.args(["-c", line]).current_dir(self.folder);
        process::without_settings(&mut command);
        command.env("LC_ALL", "C").env("PATH", &self.path);
        process::run(&mut command, self.limit)
    }

    /// Runs the command with its output in the file of that row. (With /dev/null as output, grep
    /// would stop at the first line that it finds.)
    fn to_file(&self, line: &str, row: usize) -> Result<Ended> {
        self.run(&format!("{line} > out/{row}"))
    }

    /// An error if the output of a row does not agree with the output of the first row.
    fn compare(&self, same: Same, row: usize) -> Result<()> {
        let compare = match same {
            Same::Bytes => format!("cmp out/0 out/{row}"),
            Same::Lines => {
                format!("sort -o out/{row}.sorted out/{row} && cmp out/0.sorted out/{row}.sorted")
            }
            Same::Words => format!(
                "tr -s ' ' '\\n' < out/{row} | grep . > out/{row}.words && \
                 cmp out/0.words out/{row}.words"
            ),
            Same::Unpacked => format!("gzip -dc < out/{row} | cmp {} -", files::TEXT),
        };
        self.run(&compare).map(|_| ()).context("its output is not what it must be")
    }
}

#[cfg(test)]
mod tests {
    use sched_tools::process::scratch_file;
    use sched_tools::text::{COLUMNS, widest};

    use super::*;

    /// A session of commands of the shell, in a folder with a file `text`.
    fn measured(name: &str, same: Same, lines: &[&str]) -> (Workload, Session) {
        let folder = scratch_file(name);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("text"), "b\na\n").unwrap();
        let mut workload = tools(2).unwrap().workload.swap_remove(0);
        (workload.same, workload.before) = (same, Some("cp text copy".into()));
        workload.commands = lines.iter().map(|line| (*line).to_owned()).collect();
        let limit = Duration::from_secs(20);
        let options = Options {
            programs: &folder,
            results: &folder,
            repetitions: Some(2),
            quick: true,
            only: &[],
            limit,
            seed: 1,
            began: None,
        };
        let shell = Shell::new(&folder, &folder, limit).unwrap();
        let machine = Machine { cores: 1, ..Machine::default() };
        let session = shell.measure(&options, machine, std::slice::from_ref(&workload)).unwrap();
        fs::remove_dir_all(folder).unwrap();
        (workload, session)
    }

    #[test]
    fn commands_are_repeated_and_outputs_compared() {
        let lines = ["cat text", "cat copy", "sort text", "cat missing", "exit 3"];
        let (workload, session) = measured("session-bytes", Same::Bytes, &lines);
        let of = |row: usize, value: &str| {
            let case = &workload.cases()[row];
            session.cases.iter().find(|m| m.case == *case).map_or(Vec::new(), |m| m.values(value))
        };
        let runs: Vec<usize> = (0..5).map(|row| of(row, "seconds").len()).collect();
        assert_eq!((runs, session.about.rounds), (vec![2, 2, 0, 0, 0], 2));
        assert!(of(0, "seconds").iter().chain(&of(0, "peak")).all(|value| *value > 0.0));
        assert_eq!(of(0, "output"), [4.0]);
        let failures = &session.about.failures;
        assert_eq!(failures.len(), 3, "{failures:?}");
        assert!(failures[0].starts_with("sort text: its output is not"), "{failures:?}");
        assert!(failures[1].contains("missing") && failures[2].contains("status: 3"));
        let text = table(&workload, &session, 1e12).to_string();
        let rows: Vec<Vec<&str>> =
            text.lines().skip(2).map(|l| l.split_whitespace().collect()).collect();
        assert_eq!((rows[0][4], &rows[0][6..8]), ("1.00", &["<", "1000000"][..]), "{text}");
        assert_eq!(rows[4][2..], ["failed", "-", "-", "-", "-"], "{text}");
    }

    #[test]
    fn without_ours_the_others_are_measured_and_lines_may_come_in_any_order() {
        let failures = |name, same, lines: &[&str]| measured(name, same, lines).1.about.failures;
        let alone = failures("session-alone", Same::Bytes, &["cat missing", "cat text"]);
        assert_eq!(alone.len(), 1, "{alone:?}");
        let lines = failures("session-lines", Same::Lines, &["cat text", "sort text", "echo a"]);
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].starts_with("echo a: "));
    }

    #[test]
    fn the_first_command_is_ours_and_no_line_is_wider_than_a_terminal() {
        let all = tools(64).unwrap().workload;
        for workload in &all {
            assert!(workload.commands[0].starts_with(&workload.program), "{workload:?}");
            assert!(NAMES.contains(&workload.program.as_str()));
            let mut session = crate::data::tests::session(&[], 0, |_, _| 0.0);
            for case in workload.cases() {
                let values =
                    ["seconds", "cpu", "peak", "output"].map(|name| (name.to_owned(), 1.5));
                session.add(&case, 1, Some(1), values.into());
            }
            let text = table(workload, &session, 0.0).to_string();
            assert!(widest(&text) <= COLUMNS, "{text}");
        }
        assert!(NAMES.iter().all(|name| all.iter().any(|w| w.program == *name)));
    }

    #[test]
    fn what_is_not_here_is_skipped_by_its_name() {
        let folder = scratch_file("tools");
        fs::create_dir_all(&folder).unwrap();
        for name in ["sgz", "sgrep", "rg"] {
            fs::write(folder.join(name), "").unwrap();
        }
        let mut tools = tools(2).unwrap();
        let skipped = skip(&mut tools, &folder, Some(folder.clone().into()));
        let programs: Vec<&str> = tools.workload.iter().map(|w| &w.program[..]).collect();
        assert_eq!(programs, ["sgz", "sgz", "sgrep", "sgrep"]);
        let commands = |i: usize| -> Vec<&str> {
            tools.workload[i].commands.iter().map(|c| c.split(' ').next().unwrap()).collect()
        };
        assert_eq!(commands(0), ["sgz", "sgz"]);
        assert_eq!(commands(2), ["sgrep", "sgrep", "grep", "rg", "rg"]);
        assert_eq!(skipped.iter().filter(|line| line.starts_with("gzip: not here")).count(), 1);
        assert!(skipped.iter().any(|line| line.starts_with("ssum: not in ")), "{skipped:?}");
        fs::remove_dir_all(folder).unwrap();
    }
}
