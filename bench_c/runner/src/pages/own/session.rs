//! The runs of the user's program: all settings in each repetition, in an order that is shuffled
//! anew.

use std::fmt::{self, Display, Formatter};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use sched_tools::number::{short, threads as thread_words};
use sched_tools::process::{self, scratch_file};
use serde::Serialize;

use crate::run::machine::{Calibration, calibrate};
use crate::run::output::Stats;
use crate::run::plan::thread_counts;
use crate::run::programs::KINDS;
use crate::run::setup::Kind;
use crate::statistics::quartiles::Quartiles;

/// After `LEAST` repetitions, a further one is begun only if it would end within this time.
const BUDGET: Duration = Duration::from_secs(150);
/// The number of repetitions that are made in any case.
const LEAST: usize = 3;
const MOST: usize = 11;

pub struct Options<'a> {
    pub program: &'a Path,
    pub arguments: &'a [String],
    /// The folder of the library to run it on. None: the program finds the library itself.
    pub library: Option<&'a Path>,
    pub results: &'a Path,
    pub repetitions: Option<usize>,
    pub quick: bool,
    /// The time limit of a process.
    pub limit: Duration,
    pub seed: u64,
}

/// A kind, where [`Kind::None`] stands for `SCHED_KIND=serial`, and a number of threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Setting {
    pub kind: Kind,
    pub threads: usize,
}

pub const SERIAL: Setting = Setting { kind: Kind::None, threads: 1 };

impl Setting {
    pub fn kind(self) -> &'static str {
        if self.kind == Kind::None { "serial" } else { self.kind.name() }
    }
}

impl Display for Setting {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if *self == SERIAL {
            return f.write_str("serial");
        }
        write!(f, "{}, {}", self.kind(), thread_words(self.threads))
    }
}

/// The results of a setting.
#[derive(Serialize)]
pub struct Tried {
    pub setting: Setting,
    /// The seconds of the whole process, and the processor time of all its threads, in each
    /// repetition.
    pub seconds: Vec<f64>,
    pub processor: Vec<f64>,
    pub stats: Option<Stats>,
    /// The seconds of the process that wrote the statistics.
    pub stats_seconds: f64,
    /// Why it was not run again.
    pub failure: Option<String>,
}

impl Tried {
    pub fn ms(&self) -> Option<Quartiles> {
        Some(Quartiles::of(self.seconds.clone())?.scaled(1e3)).filter(|_| self.failure.is_none())
    }

    /// For how many ms the library was in charge. The statistics do not say when a run began:
    /// several runs may have gone on at the same time, and then this is less than their sum.
    pub fn in_runs(&self) -> String {
        let Some(stats) = &self.stats else { return "-".into() };
        match stats.runs {
            1 => short(stats.seconds * 1e3),
            _ => format!("≤{}", short(stats.seconds.min(self.stats_seconds) * 1e3)),
        }
    }
}

pub struct Session {
    pub tried: Vec<Tried>,
    pub repetitions: usize,
    pub calibration: Vec<Calibration>,
}

impl Session {
    pub fn run(options: &Options, program: &Path, cores: usize) -> Result<Session> {
        let mut settings = vec![SERIAL];
        for &kind in KINDS {
            settings.extend(thread_counts(cores).iter().map(|&threads| Setting { kind, threads }));
        }
        let new = |&setting: &Setting| Tried {
            setting,
            seconds: Vec::new(),
            processor: Vec::new(),
            stats: None,
            stats_seconds: 0.0,
            failure: None,
        };
        let tried = settings.iter().map(new).collect();
        let mut session = Session { tried, repetitions: 0, calibration: Vec::new() };
        let scratch = scratch_file("stats.jsonl");
        let most = match options.repetitions {
            Some(n) => n,
            None if options.quick => LEAST,
            None => MOST,
        };
        let mut random = StdRng::seed_from_u64(options.seed);
        let mut order: Vec<usize> = (0..settings.len()).collect();
        let start = Instant::now();
        for repetition in 0..=most {
            let average = start.elapsed() / repetition.max(1) as u32;
            let least = options.repetitions.unwrap_or(LEAST);
            if repetition > least && start.elapsed() + average > BUDGET {
                break;
            }
            session.calibration.push(calibrate(cores));
            order.shuffle(&mut random);
            for &i in &order {
                let tried = &mut session.tried[i];
                if tried.failure.is_none() {
                    // The first run is for the statistics. It also finds cold files.
                    let stats = (repetition == 0).then_some(scratch.as_path());
                    if let Err(e) = tried.once(options, program, stats) {
                        tried.failure = Some(format!("{e:#}"));
                    }
                }
            }
            session.repetitions = repetition;
            if repetition == 0 {
                let _ = std::fs::remove_file(&scratch); // there is none if each run failed
                session.check()?;
            }
        }
        session.calibration.push(calibrate(cores));
        Ok(session)
    }

    /// An error if no setting ran.
    pub fn check(&self) -> Result<()> {
        let mut why = self.tried.iter().filter_map(|tried| tried.failure.as_ref());
        let all = self.tried.iter().all(|tried| tried.failure.is_some());
        ensure!(!all, "under no setting did it run: {}", why.next().map_or("", |why| why));
        Ok(())
    }

    pub fn of(&self, setting: Setting) -> Option<Quartiles> {
        self.tried.iter().find(|tried| tried.setting == setting)?.ms()
    }

    /// The base of the speed-ups: the serial kind, or if that fails, one worker of steal.
    pub fn base(&self) -> Option<(Setting, Quartiles)> {
        let one = Setting { kind: Kind::Steal, threads: 1 };
        [SERIAL, one].into_iter().find_map(|setting| Some((setting, self.of(setting)?)))
    }
}

impl Tried {
    /// Runs it once: for the time, or if there is a file for statistics, for these.
    fn once(&mut self, options: &Options, program: &Path, stats: Option<&Path>) -> Result<()> {
        let Setting { threads, .. } = self.setting;
        let mut command = Command::new(program);
        process::without_settings(&mut command);
        command.args(options.arguments).env("SCHED_KIND", self.setting.kind());
        if self.setting != SERIAL {
            command.env("SCHED_THREADS", threads.to_string());
        }
        if let Some(library) = options.library {
            command.env("LD_LIBRARY_PATH", search_path(library)?);
        }
        let Some(file) = stats else {
            let ended = process::run(&mut command, options.limit)?;
            self.seconds.push(ended.seconds);
            self.processor.push(ended.processor);
            return Ok(());
        };
        let _ = std::fs::remove_file(file); // it is of another setting
        command.env("SCHED_STATS", "json").env("SCHED_STATS_FILE", file);
        self.stats_seconds = process::run(&mut command, options.limit)?.seconds;
        let text = std::fs::read_to_string(file).ok().filter(|text| !text.is_empty());
        let text =
            text.context("it used no libsched that writes statistics: is it linked with it?")?;
        self.stats = Some(Stats::parse(&text)?);
        Ok(())
    }
}

/// The folder of the library, followed by the caller's search path.
fn search_path(library: &Path) -> Result<std::ffi::OsString> {
    let before = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let before = std::env::split_paths(&before).filter(|path| path.as_os_str() != "");
    let paths: Vec<PathBuf> = [library.to_owned()].into_iter().chain(before).collect();
    std::env::join_paths(paths).context("a path with a colon")
}
