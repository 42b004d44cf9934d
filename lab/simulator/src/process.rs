//! Runs the programs: the calibration, and the benchmarks on the library and on the recorder.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use sched_dag::Recording;
use sched_tools::process::{self, scratch_file, shown, without_settings};

/// Where things are.
pub struct Places {
    /// The compiled programs of bench_c.
    pub programs: PathBuf,
    /// `costs`, and the recorder as libsched.so.1.
    pub lab: PathBuf,
}

type Settings<'a> = &'a [(&'a str, &'a str)];

/// A program that has not ended after this time is taken to hang.
const LIMIT: Duration = Duration::from_secs(600);

/// What a program prints, with these settings of the library and no others.
fn output(program: &Path, arguments: &[&str], settings: Settings) -> Result<String> {
    let mut command = Command::new(program);
    without_settings(&mut command);
    command.args(arguments).envs(settings.iter().copied());
    let ended = process::run(&mut command, LIMIT);
    let what = || format!("{}, {settings:?}", shown(&command));
    Ok(ended.with_context(what)?.stdout)
}

/// What `costs` prints: nanoseconds by name.
pub type Costs = BTreeMap<String, f64>;

impl Places {
    /// Runs one mode of the calibration.
    pub fn costs(&self, mode: &str, settings: Settings) -> Result<Costs> {
        let text = output(&self.lab.join("costs"), &[mode], settings)?;
        text.lines()
            .map(|line| {
                let (name, value) = line.split_once('=').context("a line without =")?;
                Ok((name.to_owned(), value.parse()?))
            })
            .collect::<Result<Costs>>()
            .with_context(|| format!("costs {mode} printed `{text}`"))
    }

    /// Runs it on the recorder's own scheduler.
    pub fn costs_of_recorder(&self, mode: &str) -> Result<Costs> {
        let lab = self.lab.to_str().context("a path that is no text")?;
        self.costs(mode, &[("LD_LIBRARY_PATH", lab), ("SCHED_RECORD", "/dev/null")])
    }

    /// True if the library knows these settings.
    pub fn knows(&self, settings: Settings) -> Result<bool> {
        match self.costs("empty", &[settings, &[("SCHED_THREADS", "1")]].concat()) {
            Ok(_) => Ok(true),
            Err(e) if format!("{e:#}").contains("Invalid argument") => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// Records `runs` runs of a program of bench_c.
    pub fn record(&self, program: &str, n: u64, runs: usize) -> Result<Recording> {
        let file = scratch_file(&format!("{program}.dag"));
        let path = file.to_str().context("a path that is no text")?;
        let lab = self.lab.to_str().context("a path that is no text")?;
        let settings = [("LD_LIBRARY_PATH", lab), ("SCHED_RECORD", path)];
        let (n, runs) = (n.to_string(), runs.to_string());
        let arguments = ["-t", "1", "-n", &n, "-r", &runs];
        let text = output(&self.programs.join(program), &arguments, &settings);
        let recording = text.and_then(|_| read(&file));
        let _ = std::fs::remove_file(&file); // it may not be there
        recording
    }

    /// The nanoseconds of `runs` runs of a program of bench_c.
    pub fn measure(
        &self,
        program: &str,
        n: u64,
        runs: usize,
        settings: Settings,
    ) -> Result<Vec<f64>> {
        let (n, runs) = (n.to_string(), runs.to_string());
        let arguments = ["-n", &n, "-r", &runs];
        let text = output(&self.programs.join(program), &arguments, settings)?;
        text.lines().map(nanoseconds).collect()
    }
}

pub fn read(file: &Path) -> Result<Recording> {
    let open = File::open(file).with_context(|| file.display().to_string())?;
    Recording::read(BufReader::new(open)).with_context(|| file.display().to_string())
}

/// What a run took, from the line of a program of bench_c.
fn nanoseconds(line: &str) -> Result<f64> {
    ensure!(line.ends_with(" ok"), "a wrong answer: `{line}`");
    let mut fields = line.split(' ').filter_map(|field| field.split_once('='));
    let seconds = fields.find(|(name, _)| *name == "seconds");
    let (_, seconds) = seconds.with_context(|| format!("no `seconds=` in `{line}`"))?;
    Ok(seconds.parse::<f64>()? * 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_long() {
        let line = "bench=fib n=3 seconds=0.000250 vcsw=1 icsw=7 cal=0.5 ok";
        assert!((nanoseconds(line).unwrap() - 250_000.0).abs() < 1e-6);
        assert!(nanoseconds(&line.replace("ok", "WRONG")).is_err());
        assert!(nanoseconds(&line.replace("seconds", "none")).is_err());
    }
}
