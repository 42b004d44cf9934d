//! `make bench PROGRAM=./mine`: a program of the user's own, under every kind and thread count.
//!
//! Nothing is known of it but that it uses libsched: a run is a whole process, from its start to its end, and is
//! right if its exit status says so. What it prints is not looked at. One run of each setting more, which is not
//! timed, collects the library's statistics: without any, the program does not use the library.

use std::fmt::{self, Display, Formatter};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use serde::Serialize;

use crate::chart::{Bars, Figure, Panel};
use crate::figures::{by_kind, count as thread_words, names};
use crate::machine::{self, Calibration, Machine, calibrate};
use crate::plan::{KINDS, Kind, thread_counts};
use crate::process;
use crate::run::Stats;
use crate::sheet::{Table, say};
use crate::summary::Quartiles;
use crate::table::{count, short, with_quartiles};

/// No repetition is begun that would not end within this.
const BUDGET: Duration = Duration::from_secs(150);
/// But so many there are in any case.
const LEAST: usize = 3;
const MOST: usize = 11;

pub struct Options<'a> {
    pub program: &'a Path,
    pub arguments: &'a [String],
    /// The folder of the library that it is to run on; none: the one that it finds itself.
    pub library: Option<&'a Path>,
    pub results: &'a Path,
    pub repetitions: Option<usize>,
    pub quick: bool,
    /// How long a process is waited for.
    pub limit: Duration,
    pub seed: u64,
}

/// With [`Kind::None`], `SCHED_KIND=serial`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
struct Setting {
    kind: Kind,
    threads: usize,
}

const SERIAL: Setting = Setting { kind: Kind::None, threads: 1 };

impl Setting {
    fn kind(self) -> &'static str {
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

/// What came of a setting.
#[derive(Serialize)]
struct Tried {
    setting: Setting,
    /// Of each repetition: of the whole process, and processor time of all its threads.
    seconds: Vec<f64>,
    processor: Vec<f64>,
    stats: Option<Stats>,
    /// Of the process whose statistics these are.
    stats_seconds: f64,
    /// Why there is no more of it.
    failure: Option<String>,
}

impl Tried {
    fn ms(&self) -> Option<Quartiles> {
        Some(Quartiles::of(self.seconds.clone())?.scaled(1e3)).filter(|_| self.failure.is_none())
    }

    /// For how many ms the library was in charge. The statistics do not say when a run began: several runs may have
    /// gone on at the same time, and then it was less than their sum.
    fn in_runs(&self) -> String {
        let Some(stats) = &self.stats else { return "-".into() };
        match stats.runs {
            1 => short(stats.seconds * 1e3),
            _ => format!("≤{}", short(stats.seconds.min(self.stats_seconds) * 1e3)),
        }
    }
}

/// What the JSON file holds.
#[derive(Serialize)]
struct Results<'a> {
    machine: &'a Machine,
    calibration: &'a [Calibration],
    program: &'a Path,
    arguments: &'a [String],
    repetitions: usize,
    seed: u64,
    tried: &'a [Tried],
}

/// True when no run failed.
pub fn measure(options: &Options) -> Result<bool> {
    let start = Instant::now();
    let program = options
        .program
        .canonicalize()
        .with_context(|| format!("no program {}", options.program.display()))?;
    let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
    std::fs::create_dir_all(options.results)
        .with_context(|| format!("cannot make {}", options.results.display()))?;
    let machine = Machine::look();
    let load = machine::load();
    println!("{}", machine.line());
    let session = Session::run(options, &program, machine.cores)?;
    println!(
        "repetitions: {}, the settings in any order (seed {})",
        session.repetitions, options.seed
    );
    machine::print_calibration(&session.calibration, &[], machine.cores, load);

    let command = [std::slice::from_ref(&name), options.arguments].concat().join(" ");
    say(format!(
        "\n{command}: whole processes; over: how many times as fast as that, on as many threads where it \
         is steal; in runs: ms that the library was in charge; ≤: at most, since the process had several runs, \
         which may have overlapped"
    ));
    println!("{}\n", session.table());
    session.sentences(machine.cores).iter().for_each(say);

    let base = options.results.join(format!("program-{name}"));
    let results = Results {
        machine: &machine,
        calibration: &session.calibration,
        program: &program,
        arguments: options.arguments,
        repetitions: session.repetitions,
        seed: options.seed,
        tried: &session.tried,
    };
    crate::write_json(&base.with_extension("json"), &results)?;
    let panel = session.panel(&command, &thread_counts(machine.cores));
    let figure = Figure {
        title: "Speed-up of whole processes, by threads",
        reference: Some("as fast as serial"),
        bars: Bars::Quartiles,
        panels: panel.into_iter().collect(),
        columns: 1,
        panel_height: 400,
    };
    if !figure.panels.is_empty() {
        for path in figure.write(&base, &machine.line())? {
            println!("written: {}", path.display());
        }
    }
    let failures: Vec<String> = session.tried.iter().filter_map(failure).collect();
    Ok(crate::conclude(&failures, "every run ended with status 0", start))
}

fn failure(tried: &Tried) -> Option<String> {
    Some(format!("{}: {}", tried.setting, tried.failure.as_ref()?))
}

struct Session {
    tried: Vec<Tried>,
    repetitions: usize,
    calibration: Vec<Calibration>,
}

impl Session {
    fn run(options: &Options, program: &Path, cores: usize) -> Result<Session> {
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
        let scratch = crate::scratch_file();
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
                    // The first time for the statistics; it finds cold files, too.
                    let stats = (repetition == 0).then_some(scratch.as_path());
                    if let Err(e) = tried.once(options, program, stats) {
                        tried.failure = Some(format!("{e:#}"));
                    }
                }
            }
            session.repetitions = repetition;
            if repetition == 0 {
                let _ = std::fs::remove_file(&scratch); // there is none where each run failed
                session.check()?;
            }
        }
        session.calibration.push(calibrate(cores));
        Ok(session)
    }

    /// Where nothing ran, there is nothing to measure.
    fn check(&self) -> Result<()> {
        let mut why = self.tried.iter().filter_map(|tried| tried.failure.as_ref());
        let all = self.tried.iter().all(|tried| tried.failure.is_some());
        ensure!(!all, "under no setting did it run: {}", why.next().map_or("", |why| why));
        Ok(())
    }

    fn of(&self, setting: Setting) -> Option<Quartiles> {
        self.tried.iter().find(|tried| tried.setting == setting)?.ms()
    }

    /// What speed-ups are over: the serial kind, or where that fails one worker of steal.
    fn base(&self) -> Option<(Setting, Quartiles)> {
        let one = Setting { kind: Kind::Steal, threads: 1 };
        [SERIAL, one].into_iter().find_map(|setting| Some((setting, self.of(setting)?)))
    }

    fn table(&self) -> Table {
        let base = self.base();
        let over = base.as_ref().map_or(String::new(), |(setting, _)| format!("over {setting}"));
        let mut head = vec!["kind".to_owned(), "threads".into(), "ms [quartiles]".into(), over];
        head.extend(
            ["over steal", "in runs", "cpu ms", "tasks", "steals", "sleeps"].map(String::from),
        );
        let mut table = Table::new(2, &head);
        for tried in &self.tried {
            let Setting { threads, .. } = tried.setting;
            let ms = tried.ms();
            let steal = self.of(Setting { kind: Kind::Steal, threads });
            // Over: how many times as fast.
            let ratio = |of: Option<Quartiles>| {
                of.zip(ms).map_or("-".into(), |(of, own)| short(of.median / own.median))
            };
            let cpu = Quartiles::of(tried.processor.clone()).map(|q| short(q.median * 1e3));
            let stats = |value: fn(&Stats) -> f64, show: fn(f64) -> String| {
                tried.stats.as_ref().map_or("-".into(), |stats| show(value(stats)))
            };
            table.add_row(vec![
                tried.setting.kind().into(),
                threads.to_string(),
                ms.map_or("failed".into(), with_quartiles),
                ratio(base.map(|(_, base)| base)),
                if tried.setting == SERIAL { "-".into() } else { ratio(steal) },
                tried.in_runs(),
                cpu.unwrap_or("-".into()),
                stats(|s| s.tasks as f64, count),
                stats(|s| s.steals as f64, count),
                stats(|s| (s.parks + s.naps) as f64, count),
            ]);
        }
        table
    }

    /// The fastest of all, and the fastest of each thread count beside the others of it. Those about several threads
    /// are marked as doubtful if the machine, which has so many cores, was busy.
    fn sentences(&self, cores: usize) -> Vec<String> {
        let busy = machine::is_busy(&self.calibration, cores);
        let doubt = |doubtful: bool| {
            if busy && doubtful { "doubtful, since the machine was busy: " } else { "" }
        };
        let mut measured: Vec<(Setting, f64)> =
            self.tried.iter().filter_map(|t| Some((t.setting, t.ms()?.median))).collect();
        measured.sort_by(|(_, a), (_, b)| a.total_cmp(b));
        let mut sentences = Vec::new();
        if let (Some(&(best, ms)), Some((base, own))) = (measured.first(), self.base()) {
            sentences.push(format!(
                "{}fastest: {best}, {} ms: {} times as fast as {base}",
                doubt(self.tried.iter().any(|tried| tried.setting.threads > 1)),
                short(ms),
                short(own.median / ms)
            ));
        }
        let mut counts: Vec<usize> = measured.iter().map(|(setting, _)| setting.threads).collect();
        counts.sort_unstable();
        counts.dedup();
        for threads in counts {
            let same = measured.iter().filter(|(s, _)| s.threads == threads && *s != SERIAL);
            let same: Vec<_> = same.collect();
            if let [(first, least), others @ ..] = &same[..]
                && !others.is_empty()
            {
                let times =
                    |(s, ms): &&(Setting, f64)| format!("{} {}", s.kind(), short(ms / least));
                let others: Vec<String> = others.iter().map(times).collect();
                sentences.push(format!(
                    "{}{}: {} is the fastest; in times of what it takes: {}",
                    doubt(threads > 1),
                    thread_words(threads),
                    first.kind(),
                    others.join(", ")
                ));
            }
        }
        sentences
    }

    fn panel(&self, title: &str, threads: &[usize]) -> Option<Panel> {
        let (_, base) = self.base().filter(|(setting, _)| *setting == SERIAL)?;
        Some(Panel {
            title: title.to_owned(),
            x_title: "threads",
            y_title: "speed-up",
            x_names: names(threads),
            series: by_kind(KINDS, threads, |kind, threads| {
                Some(self.of(Setting { kind, threads })?.under(base.median))
            }),
            log: false,
            lines: true,
            reference: Some(1.0),
        })
    }
}

impl Tried {
    /// Runs it once: for the time, or for the statistics, which go to this file meanwhile.
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
        let _ = std::fs::remove_file(file); // of another setting
        command.env("SCHED_STATS", "json").env("SCHED_STATS_FILE", file);
        self.stats_seconds = process::run(&mut command, options.limit)?.seconds;
        let text = std::fs::read_to_string(file).ok().filter(|text| !text.is_empty());
        let text =
            text.context("it used no libsched that writes statistics: is it linked with it?")?;
        self.stats = Some(Stats::parse(&text)?);
        Ok(())
    }
}

/// The library first, then where the caller has libraries.
fn search_path(library: &Path) -> Result<std::ffi::OsString> {
    let before = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let before = std::env::split_paths(&before).filter(|path| path.as_os_str() != "");
    let paths: Vec<PathBuf> = [library.to_owned()].into_iter().chain(before).collect();
    std::env::join_paths(paths).context("a path with a colon")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sheet::{COLUMNS, tests::widest};

    fn session(ms: impl Fn(Setting) -> Option<f64>) -> Session {
        let mut settings = vec![SERIAL];
        for &kind in KINDS {
            settings.extend([1, 2].map(|threads| Setting { kind, threads }));
        }
        let tried = |setting| Tried {
            setting,
            seconds: ms(setting).into_iter().flat_map(|ms| [ms / 1e3; 3]).collect(),
            processor: vec![0.2; 3],
            stats: None,
            stats_seconds: 0.0,
            failure: ms(setting).is_none().then(|| "killed".into()),
        };
        let tried = settings.into_iter().map(tried).collect();
        Session { tried, repetitions: 3, calibration: Vec::new() }
    }

    fn times(s: Setting) -> f64 {
        match (s.kind, s.threads) {
            (Kind::None, _) => 100.0,
            (Kind::Lifo, threads) => 150.0 * threads as f64,
            (_, threads) => 110.0 / threads as f64,
        }
    }

    #[test]
    fn kinds_are_compared_on_as_many_threads() {
        let sentences = session(|s| Some(times(s))).sentences(2);
        assert!(sentences[0].ends_with("2 threads, 55.0 ms: 1.82 times as fast as serial"));
        assert!(sentences[1].starts_with("1 thread: ") && sentences[1].ends_with("lifo 1.36"));
        assert!(sentences[2].starts_with("2 threads: ") && sentences[2].ends_with("lifo 5.45"));
        assert_eq!(sentences.len(), 3);
    }

    #[test]
    fn on_a_busy_machine_what_is_said_of_several_threads_is_marked() {
        let mut session = session(|s| Some(times(s)));
        session.calibration.extend([1.1, 1.9, 1.2].map(|cores| Calibration { ns: 1.0, cores }));
        let marked: Vec<bool> =
            session.sentences(2).iter().map(|s| s.starts_with("doubtful")).collect();
        assert_eq!(marked, [true, false, true]);
        assert!(session.sentences(1).iter().all(|s| !s.starts_with("doubtful")));
    }

    #[test]
    fn what_several_runs_took_is_at_most_what_the_process_took() {
        const RUN: &str = r#"{"kind":"steal","deque":"split","idle":"park","threads":2,"seconds":0.04,
            "tasks":9,"steals":1,"stolen_tasks":1,"failed_steals":0,"parks":0,"naps":0,"wakes":0,
            "queue_peak":3,"threads_missing":0}"#;
        let mut session = session(|s| Some(times(s)));
        let mut in_runs = |runs: usize, seconds: f64| {
            let lines = vec![RUN.replace('\n', ""); runs].join("\n");
            let tried = &mut session.tried[0];
            (tried.stats, tried.stats_seconds) = (Stats::parse(&lines).ok(), seconds);
            tried.in_runs()
        };
        assert_eq!(in_runs(1, 0.05), "40.0");
        assert_eq!(in_runs(3, 0.05), "≤50.0");
        assert_eq!(in_runs(3, 0.2), "≤120");
    }

    #[test]
    fn the_table_has_a_row_a_setting_and_the_ratios() {
        let text = session(|s| (s.kind != Kind::Cont).then(|| times(s))).table().to_string();
        assert!(widest(&text) <= COLUMNS, "{text}");
        let row = |start: &str| {
            let line = text.lines().find(|line| line.starts_with(start)).unwrap();
            line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(row("serial")[..5], ["serial", "1", "100", "[100–100]", "1.00"]);
        assert_eq!(row("lifo      ")[4..6], ["0.667", "0.733"]);
        assert_eq!(row("cont")[2..5], ["failed", "-", "-"]);
        assert_eq!(text.lines().count(), 2 + 1 + 8);
    }

    #[test]
    fn without_a_serial_run_one_worker_is_the_base() {
        let session = session(|s| (s != SERIAL).then(|| times(s)));
        assert!(session.sentences(2)[0].ends_with("times as fast as steal, 1 thread"));
        assert!(session.panel("", &[1, 2]).is_none());
        assert!(session.table().to_string().contains("over steal, 1 thread"));
    }

    #[test]
    fn where_nothing_runs_that_is_said() {
        let error = session(|_| None).check().unwrap_err().to_string();
        assert_eq!(error, "under no setting did it run: killed");
        assert!(session(|s| (s == SERIAL).then_some(1.0)).check().is_ok());
    }
}
