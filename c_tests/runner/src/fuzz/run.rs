//! Builds the interpreter of c_tests/fuzz, and runs programs with it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use sched_tools::process::{shown, without_settings};

use crate::compile::Program;
use crate::exec::threads_of;
use crate::fuzz::process;
use crate::session::Session;
use crate::setting::Setting;

/// Looks at a process without a thread that can run, after which it hangs: half a minute.
const LOOKS: usize = 60;

/// The variable of the delays, if the library has it: its value is their seed.
pub const DELAYS: &str = "FUZZ";

/// The results of the programs that were run.
pub struct Ran {
    /// The tasks of each program that has passed.
    pub tasks: Vec<u64>,
    /// How the one after these has failed.
    pub failed: Option<String>,
}

#[derive(Clone)]
pub struct Interpreter {
    program: PathBuf,
    work: PathBuf,
}

impl Interpreter {
    pub fn new(session: &Session) -> Interpreter {
        Interpreter { program: session.work.join("fuzz"), work: session.work.clone() }
    }

    pub fn build(&self, session: &Session) -> Result<()> {
        let folder = session.root.join("c_tests/fuzz");
        let sanitize = session.options.sanitize.as_deref();
        let main = folder.join("main.c");
        let parts = [
            "parse.c",
            "predict.c",
            "task.c",
            "loops.c",
            "together.c",
            "order.c",
            "meet.c",
            "outside.c",
            "statements.c",
        ];
        let parts = parts.map(|part| folder.join(part));
        Program { sanitize, ..Program::plain(&main, &self.program) }.build(&session.tools, &parts)
    }

    /// Runs the programs, each once. `worker`: no other call at this time has the number.
    pub fn run_batch(&self, programs: &[String], setting: &Setting, worker: usize) -> Result<Ran> {
        let file = self.work.join(format!("fuzz-batch-{worker}.txt"));
        fs::write(&file, programs.join("\n") + "\n")?;
        self.run_files(&[&file], setting, 1, worker)
    }

    /// Runs the programs of the files, each this many times.
    pub fn run_files(
        &self,
        files: &[&Path],
        setting: &Setting,
        times: u32,
        worker: usize,
    ) -> Result<Ran> {
        self.run_watched(files, setting, times, worker, LOOKS, threads_of)
    }

    /// Whether the program passes, so many times; for one that is likely to fail.
    pub fn passes(
        &self,
        program: &str,
        setting: &Setting,
        times: u32,
        worker: usize,
    ) -> Result<bool> {
        const FEW_LOOKS: usize = 6;
        let file = self.work.join(format!("fuzz-batch-{worker}.txt"));
        fs::write(&file, program)?;
        let silent = |_| String::new();
        let ran = self.run_watched(&[&file], setting, times, worker, FEW_LOOKS, silent)?;
        Ok(ran.failed.is_none())
    }

    fn run_watched(
        &self,
        files: &[&Path],
        setting: &Setting,
        times: u32,
        worker: usize,
        looks: usize,
        hung: impl FnOnce(u32) -> String,
    ) -> Result<Ran> {
        let mut command = self.bare_command(files, times);
        without_settings(&mut command);
        command.envs(setting.environment());
        let log = self.work.join(format!("fuzz-log-{worker}"));
        let ended = process::run(&mut command, &log, looks, hung)?;
        // "program K: N tasks", and what the library or a check says beside that.
        let (counted, said): (Vec<&str>, Vec<&str>) =
            ended.output.lines().partition(|line| line.starts_with("program "));
        let tasks = counted.iter().filter_map(|line| line.split(' ').nth(2)?.parse().ok());
        let said = said.join("\n");
        if ended.status.and_then(|status| status.code()) == Some(2) {
            bail!("{}: {said}", shown(&command));
        }
        let failed = (!ended.passed()).then(|| format!("{}\n{said}", ended.how()));
        Ok(Ran { tasks: tasks.collect(), failed })
    }

    fn bare_command(&self, files: &[&Path], times: u32) -> Command {
        let mut command = Command::new(&self.program);
        command.args(["-r", &times.to_string()]).args(files);
        command
    }

    /// The command line that runs the programs of the files.
    pub fn command(&self, files: &[&Path], setting: &Setting, times: u32) -> String {
        format!("{} {}", words(setting), shown(&self.bare_command(files, times)))
    }
}

/// The settings as one would type them.
pub fn words(setting: &Setting) -> String {
    let words = setting.environment();
    let words: Vec<_> = words.iter().map(|(name, value)| format!("{name}={value}")).collect();
    words.join(" ")
}

const SETTINGS: &str = "# settings: ";

/// The line of a file that names the settings of its programs.
pub fn settings_line(setting: &Setting) -> String {
    format!("{SETTINGS}{}\n", words(setting))
}

/// The settings that a file names.
pub fn settings_of(file: &Path) -> Result<Option<Setting>> {
    let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
    let Some(line) = text.lines().find_map(|line| line.strip_prefix(SETTINGS)) else {
        return Ok(None);
    };
    let mut setting = Setting(Vec::new());
    for word in line.split_whitespace() {
        let pair = word.strip_prefix("SCHED_").and_then(|word| word.split_once('='));
        let (name, value) = pair.with_context(|| format!("{}: {word}", file.display()))?;
        if name == DELAYS {
            value.parse::<u64>()?;
        }
        setting.0.push((name.to_string(), value.to_string()));
    }
    Ok(Some(setting))
}
