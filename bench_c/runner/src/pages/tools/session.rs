//! A session: in each repetition and for each workload all commands run one after the other, in an
//! order that is shuffled anew. The first run of each command is not counted: it reads the files
//! into memory, and its output is compared.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use sched_tools::process::{self, Ended};
use serde::Serialize;

use super::workloads::{Same, Workload};
use crate::pages::options::Options;
use crate::pages::results::make_folder;
use crate::run::machine::{Calibration, calibrate};
use crate::statistics::quartiles::Quartiles;

/// After `LEAST` repetitions, a further one is begun only if it would end within this time.
const BUDGET: Duration = Duration::from_secs(200);
const LEAST: usize = 3;
const MOST: usize = 7;

#[derive(Clone, Debug, Serialize)]
pub struct Run {
    pub repetition: usize,
    pub seconds: f64,
    /// Processor time of all its processes, in seconds.
    pub processor: f64,
    /// The most memory that one of its processes had at once, in bytes.
    pub peak: u64,
}

/// The runs of a command.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    pub command: String,
    /// What the table shows instead of the command.
    pub short: Option<&'static str>,
    pub ours: bool,
    pub runs: Vec<Run>,
    /// The number of bytes that the command wrote.
    pub output: u64,
    /// Why the command was not run again.
    pub failure: Option<String>,
}

impl Row {
    pub fn quartiles(&self, value: fn(&Run) -> f64) -> Option<Quartiles> {
        Quartiles::of(self.runs.iter().map(value).collect())
    }
}

/// The results of a workload; the first row is ours.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    pub program: &'static str,
    pub what: &'static str,
    pub rows: Vec<Row>,
}

pub struct Session {
    pub workloads: Vec<Measured>,
    pub repetitions: usize,
    pub failures: Vec<String>,
    /// Measured before each repetition and at the end.
    pub calibration: Vec<Calibration>,
    /// The peak of a process that does nothing: the kernel counts the memory that the process had
    /// before exec, which is this program's.
    pub least_peak: u64,
}

/// Where commands run, and how.
struct Shell<'a> {
    /// The folder of the data.
    folder: &'a Path,
    path: OsString,
    limit: Duration,
}

impl Session {
    pub fn run(
        options: &Options,
        programs: &Path,
        folder: &Path,
        cores: usize,
        workloads: &[Workload],
    ) -> Result<Session> {
        let start = Instant::now();
        let shell = Shell::new(folder, programs, options.limit)?;
        let mut random = StdRng::seed_from_u64(options.seed);
        let measured = |w: &Workload| Measured {
            program: w.program,
            what: w.what,
            rows: w
                .contenders
                .iter()
                .map(|c| Row { short: c.short, ..Row::new(&c.command, c.ours) })
                .collect(),
        };
        let mut session = Session {
            workloads: workloads.iter().map(measured).collect(),
            repetitions: 0,
            failures: Vec::new(),
            calibration: Vec::new(),
            least_peak: shell.run("true")?.peak,
        };
        for (at, workload) in workloads.iter().enumerate() {
            session.first_runs(&shell, at, workload);
            eprintln!("first runs: {} ({}) done", workload.program, workload.what);
        }
        let (least, most) = options.repetitions.map_or((LEAST, MOST), |n| (n, n));
        let mut last = Duration::ZERO;
        for repetition in 1..=most {
            let begun = start.elapsed();
            if repetition > least && begun + last > BUDGET {
                break;
            }
            session.calibration.push(calibrate(cores));
            for at in 0..workloads.len() {
                session.repeat(&shell, at, repetition, &mut random);
            }
            session.repetitions = repetition;
            last = start.elapsed() - begun;
            eprintln!("repetition {repetition}: {:.0} s so far", start.elapsed().as_secs_f64());
        }
        session.calibration.push(calibrate(cores));
        fs::remove_dir_all(shell.outputs())?;
        Ok(session)
    }

    /// Runs each command of a workload once and compares the outputs.
    fn first_runs(&mut self, shell: &Shell, at: usize, workload: &Workload) {
        let before = workload.before.iter().try_for_each(|line| shell.run(line).map(|_| ()));
        for i in 0..self.workloads[at].rows.len() {
            // Without the output of the first command there is nothing to compare with.
            let comparable = i == 0 || self.workloads[at].rows[0].failure.is_none();
            let row = &mut self.workloads[at].rows[i];
            let first = before.as_ref().map_err(|e| format!("{e:#}")).and_then(|()| {
                let ran = shell.to_file(&row.command, i).and_then(|_| {
                    row.output = fs::metadata(shell.output(i))?.len();
                    if comparable { shell.compare(workload.same, i) } else { Ok(()) }
                });
                ran.map_err(|e| format!("{e:#}"))
            });
            if let Err(why) = first {
                self.fail(at, i, why);
            }
        }
    }

    fn repeat(&mut self, shell: &Shell, at: usize, repetition: usize, random: &mut StdRng) {
        let mut order: Vec<usize> = (0..self.workloads[at].rows.len()).collect();
        order.shuffle(random);
        for i in order {
            let row = &mut self.workloads[at].rows[i];
            if row.failure.is_some() {
                continue;
            }
            match shell.to_file(&row.command, i) {
                Ok(Ended { seconds, processor, peak, .. }) => {
                    row.runs.push(Run { repetition, seconds, processor, peak });
                }
                Err(e) => self.fail(at, i, format!("{e:#}")),
            }
        }
    }

    fn fail(&mut self, at: usize, row: usize, why: String) {
        let row = &mut self.workloads[at].rows[row];
        let failure = format!("{}: {why}", row.command);
        eprintln!("sched-bench: {failure}");
        row.failure = Some(why);
        self.failures.push(failure);
    }
}

impl Row {
    pub fn new(command: &str, ours: bool) -> Row {
        let command = command.to_owned();
        Row { command, short: None, ours, runs: Vec::new(), output: 0, failure: None }
    }
}

impl<'a> Shell<'a> {
    fn new(folder: &'a Path, programs: &Path, limit: Duration) -> Result<Shell<'a>> {
        let rest = std::env::var_os("PATH").unwrap_or_default();
        let folders = [programs.to_owned()].into_iter().chain(std::env::split_paths(&rest));
        let shell = Shell { folder, path: std::env::join_paths(folders)?, limit };
        let outputs = shell.outputs();
        make_folder(&outputs)?;
        Ok(shell)
    }

    fn outputs(&self) -> PathBuf {
        self.folder.join("out")
    }

    fn output(&self, row: usize) -> PathBuf {
        self.outputs().join(row.to_string())
    }

    /// Runs the command as a user would, in the locale C, whose order is that of bytes.
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

    /// An error if the output of a row does not agree with that of the first row.
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
            Same::Unpacked(file) => format!("gzip -dc < out/{row} | cmp {file} -"),
        };
        let other = "its output is not what it must be";
        self.run(&compare).map(|_| ()).context(other)
    }
}

#[cfg(test)]
mod tests {
    use sched_tools::process::scratch_file;

    use super::super::workloads::{Contender, all};
    use super::*;

    /// A session of commands of the shell, in a folder with a file `text`.
    fn session(name: &str, same: Same, commands: &[&str]) -> Session {
        let folder = scratch_file(name);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("text"), "b\na\n").unwrap();
        let mut workload = all(2).swap_remove(0);
        let contender = workload.contenders[0].clone();
        workload.same = same;
        workload.before = Some("cp text copy".into());
        workload.contenders = commands
            .iter()
            .map(|c| (*c).to_owned())
            .map(|command| Contender { command, ..contender.clone() })
            .collect();
        let options = Options {
            programs: &folder,
            results: &folder,
            repetitions: Some(2),
            quick: true,
            only: &[],
            limit: Duration::from_secs(20),
            seed: 1,
        };
        let session = Session::run(&options, &folder, &folder, 1, &[workload]).unwrap();
        fs::remove_dir_all(folder).unwrap();
        session
    }

    #[test]
    fn commands_are_repeated_and_outputs_compared() {
        let commands = ["cat text", "cat copy", "sort text", "cat missing", "exit 3"];
        let session = session("session-bytes", Same::Bytes, &commands);
        let rows = &session.workloads[0].rows;
        let runs: Vec<usize> = rows.iter().map(|r| r.runs.len()).collect();
        assert_eq!((runs, session.repetitions), (vec![2, 2, 0, 0, 0], 2));
        assert!(rows[0].runs.iter().all(|r| r.seconds > 0.0 && r.peak > 0));
        assert_eq!((rows[0].output, rows[0].failure.as_ref()), (4, None));
        let failures = &session.failures;
        assert_eq!(failures.len(), 3, "{failures:?}");
        assert!(failures[0].starts_with("sort text: its output is not"), "{failures:?}");
        assert!(failures[1].contains("missing") && failures[2].contains("status: 3"));
    }

    #[test]
    fn without_ours_the_others_are_measured() {
        let session = session("session-alone", Same::Bytes, &["cat missing", "cat text"]);
        let rows = &session.workloads[0].rows;
        assert_eq!((rows[0].runs.len(), rows[1].runs.len(), session.failures.len()), (0, 2, 1));
    }

    #[test]
    fn the_order_of_lines_counts_where_it_is_promised_only() {
        let session = session("session-lines", Same::Lines, &["cat text", "sort text", "echo a"]);
        assert_eq!(session.failures.len(), 1, "{:?}", session.failures);
        assert!(session.failures[0].starts_with("echo a: "));
    }
}
