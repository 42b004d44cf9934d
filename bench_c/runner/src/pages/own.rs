//! `make bench PROGRAM=./mine`: a program of the user's own, under every kind and thread count.
//! Nothing is known of the program but that it uses libsched. A run is a whole process, from its
//! start to its end, and is right if its exit status is 0. Its output is ignored. The first run of
//! each setting, which is not timed, collects the library's statistics. If there are none, the
//! program does not use the library. The template own.md has the table and the figure.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use sched_tools::number::{short, threads as thread_words};
use sched_tools::process::{self, scratch_file};
use sched_tools::text::say;

use super::bench::DOUBTFUL;
use super::results::{conclude, make_folder, write_json};
use super::template::{Filled, Source, fill};
use super::terminal;
use crate::data::{Case, Measurements, Session};
use crate::figures::with_ending;
use crate::machine::{self, Machine};
use crate::run::commands::{Commands, Values};
use crate::run::output::Stats;
use crate::run::plan::{Plan, thread_counts};
use crate::run::session::Repetitions;

const KINDS: [&str; 4] = ["lifo", "fifo", "steal", "cont"];

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

/// A kind and a number of threads.
fn setting(kind: &str, threads: usize) -> Case {
    Case { program: "mine".into(), by: kind.into(), threads, ..Case::default() }
}

fn name(case: &Case) -> String {
    match case.by.as_str() {
        "serial" => "serial".to_owned(),
        kind => format!("{kind}, {}", thread_words(case.threads)),
    }
}

/// True if no run failed.
pub fn measure(options: &Options) -> Result<bool> {
    let start = Instant::now();
    let program = options
        .program
        .canonicalize()
        .with_context(|| format!("no program {}", options.program.display()))?;
    let file = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
    make_folder(options.results)?;
    let machine = Machine::look();
    let (note, load, cores) = (machine.line(), machine::load(), machine.cores);
    println!("{note}");
    let mut settings = vec![setting("serial", 1)];
    for kind in KINDS {
        settings.extend(thread_counts(cores).into_iter().map(|threads| setting(kind, threads)));
    }
    let mut commands = Commands::new(machine);
    commands.first_runs(&settings, name, |_, case| options.first(&program, case));
    let failures = &commands.session.about.failures;
    let why =
        failures.first().and_then(|failure| failure.split_once(": ")).map_or("", |(_, why)| why);
    ensure!(commands.failed.len() < settings.len(), "under no setting did it run: {why}");
    let (least, most) = match options.repetitions {
        Some(n) => (n, n),
        None if options.quick => (3, 3),
        None => (3, 11),
    };
    let wanted = Repetitions { least, most, budget: Duration::from_secs(150) };
    commands.repeat(&[settings], &wanted, options.seed, name, |case| {
        process::run(&mut options.command(&program, case)?, options.limit)
    });
    let session = commands.session;
    println!(
        "repetitions: {}, the settings in any order (seed {})",
        session.about.rounds, options.seed
    );
    session.print_calibration(load);
    let command = [std::slice::from_ref(&file), options.arguments].concat().join(" ");
    say(format!(
        "\n{command}: whole processes; over: how many times as fast, compared with steal on the same number \
         of threads; in runs: ms for which the library was in charge; ≤: at most, because the process had \
         several runs, which may have overlapped"
    ));
    let filled = page(&session, &command)?;
    terminal::print(&filled.text);
    sentences(&session).iter().for_each(say);
    let base = options.results.join(format!("program-{file}"));
    write_json(&with_ending(&base, "json"), &session)?;
    for (_, figure) in &filled.charts {
        for path in figure.write(&base, &note)? {
            println!("written: {}", path.display());
        }
    }
    Ok(conclude(&session.about.failures, "every run ended with status 0", start))
}

impl Options<'_> {
    fn command(&self, program: &Path, case: &Case) -> Result<Command> {
        let mut command = Command::new(program);
        process::without_settings(&mut command);
        command.args(self.arguments).env("SCHED_KIND", &case.by);
        if case.by != "serial" {
            command.env("SCHED_THREADS", case.threads.to_string());
        }
        if let Some(library) = self.library {
            command.env("LD_LIBRARY_PATH", search_path(library)?);
        }
        Ok(command)
    }

    /// A run for the statistics.
    fn first(&self, program: &Path, case: &Case) -> Result<Values> {
        let file = scratch_file("stats.jsonl");
        let mut command = self.command(program, case)?;
        command.env("SCHED_STATS", "json").env("SCHED_STATS_FILE", &file);
        let ended = process::run(&mut command, self.limit);
        let text = std::fs::read_to_string(&file).ok().filter(|text| !text.is_empty());
        let _ = std::fs::remove_file(&file); // there is none if the run failed
        let seconds = ended?.seconds;
        let text =
            text.context("it used no libsched that writes statistics: is it linked with it?")?;
        let stats = Stats::parse(&text)?;
        // The statistics do not say when a run began: several runs may have continued at the same
        // time, and then the library was in charge for less than their sum.
        let more = [
            ("tasks", stats.tasks as f64),
            ("runs", stats.runs as f64),
            ("in_runs", if stats.runs == 1 { stats.seconds } else { stats.seconds.min(seconds) }),
        ];
        Ok(stats.values().chain(more.map(|(name, value)| (name.to_owned(), value))).collect())
    }
}

/// The folder of the library, followed by the caller's search path.
fn search_path(library: &Path) -> Result<std::ffi::OsString> {
    let before = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let before = std::env::split_paths(&before).filter(|path| path.as_os_str() != "");
    let paths: Vec<PathBuf> = [library.to_owned()].into_iter().chain(before).collect();
    std::env::join_paths(paths).context("a path with a colon")
}

/// The median ms of a setting.
fn ms(session: &Session, case: &Case) -> Option<f64> {
    let measured = session.cases.iter().find(|m| m.case == *case)?;
    Some(measured.quartiles("ms").ok()?.median)
}

/// The base of the speed-ups: the serial kind, or if that fails, one worker of steal.
fn base(session: &Session) -> Option<Case> {
    [setting("serial", 1), setting("steal", 1)].into_iter().find(|case| ms(session, case).is_some())
}

fn page(session: &Session, command: &str) -> Result<Filled> {
    let plan = Some(Plan { cores: session.about.machine.cores, quick: false });
    let base = base(session).unwrap_or_else(|| setting("serial", 1));
    let opening = format!("{command}\n{}\n{} {}", name(&base), base.by, base.threads);
    let data = Measurements([("own".to_owned(), session.clone())].into());
    fill(include_str!("own.md"), Source { data, plan, opening, ..Source::default() })
}

/// Sentences on the fastest setting of all, and on the fastest of each thread count. Sentences
/// about several threads are marked as doubtful if the machine was busy.
fn sentences(session: &Session) -> Vec<String> {
    let doubt = |doubtful: bool| if session.is_taken() && doubtful { DOUBTFUL } else { "" };
    let measured = session.cases.iter().filter_map(|m| Some((&m.case, ms(session, &m.case)?)));
    let mut measured: Vec<(&Case, f64)> = measured.collect();
    measured.sort_by(|(_, a), (_, b)| a.total_cmp(b));
    let mut sentences = Vec::new();
    if let (Some((best, least)), Some(base)) = (measured.first(), base(session)) {
        sentences.push(format!(
            "{}fastest: {}, {} ms: {} times as fast as {}",
            doubt(measured.iter().any(|(case, _)| case.threads > 1)),
            name(best),
            short(*least),
            short(ms(session, &base).unwrap_or(f64::NAN) / least),
            name(&base)
        ));
    }
    let mut counts: Vec<usize> = measured.iter().map(|(case, _)| case.threads).collect();
    counts.sort_unstable();
    counts.dedup();
    for threads in counts {
        let same = measured.iter().filter(|(s, _)| s.threads == threads && s.by != "serial");
        if let [(first, least), others @ ..] = &same.collect::<Vec<_>>()[..] {
            if others.is_empty() {
                continue;
            }
            let times = |(s, ms): &&(&Case, f64)| format!("{} {}", s.by, short(ms / least));
            let others: Vec<String> = others.iter().map(times).collect();
            sentences.push(format!(
                "{}{}: {} is the fastest; the others take so many times as long: {}",
                doubt(threads > 1),
                thread_words(threads),
                first.by,
                others.join(", ")
            ));
        }
    }
    sentences
}

#[cfg(test)]
mod tests {
    use sched_tools::text::{COLUMNS, widest};

    use super::*;
    use crate::data::tests::session;
    use crate::machine::Calibration;

    const ALL: [&str; 9] = [
        "serial", "lifo 1", "lifo 2", "fifo 1", "fifo 2", "steal 1", "steal 2", "cont 1", "cont 2",
    ];

    fn measured(settings: &[&str]) -> Session {
        let cases: Vec<String> = settings.iter().map(|s| format!("mine {s}")).collect();
        let cases: Vec<&str> = cases.iter().map(String::as_str).collect();
        session(&cases, 3, |case, _| match (case.by.as_str(), case.threads as f64) {
            ("serial", _) => 0.1,
            ("lifo", threads) => 0.15 * threads,
            (_, threads) => 0.11 / threads,
        })
    }

    #[test]
    fn kinds_are_compared_on_as_many_threads() {
        let mut session = measured(&ALL);
        let said = sentences(&session);
        assert!(said[0].ends_with("2 threads, 55.0 ms: 1.82 times as fast as serial"));
        assert!(said[1].starts_with("1 thread: ") && said[1].ends_with("lifo 1.36"), "{said:?}");
        assert!(said[2].starts_with("2 threads: ") && said[2].ends_with("lifo 5.45"));
        assert_eq!(said.len(), 3);
        let shares = [1.1, 1.9, 1.2].map(|cores| Calibration { ns: 1.0, cores });
        session.about.calibration.extend(shares);
        let marked: Vec<bool> =
            sentences(&session).iter().map(|s| s.starts_with("doubtful")).collect();
        assert_eq!(marked, [true, false, true]);
    }

    #[test]
    fn the_table_has_a_row_a_setting_and_the_ratios() {
        let mut session = measured(&ALL[..7]);
        let steal = setting("steal", 2);
        let values = [("tasks", 9.0), ("runs", 3.0), ("in_runs", 0.05)];
        session.add(&steal, 1, Some(1), values.map(|(name, v)| (name.to_owned(), v)).into());
        let filled = page(&session, "mine -x").unwrap();
        let text = terminal::shown(&filled.text);
        assert!(widest(&text) <= COLUMNS, "{text}");
        let rows = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let rows: Vec<_> = rows.collect();
        let row = |key: [&str; 2]| rows.iter().find(|row| row.starts_with(&key)).unwrap();
        assert_eq!(row(["serial", "1"])[2..5], ["100", "[100–100]", "1.00"], "{text}");
        assert_eq!(row(["lifo", "1"])[4..6], ["0.667", "0.733"], "{text}");
        assert_eq!(row(["steal", "2"])[6..9], ["≤50.0", "55.0", "9"], "{text}");
        assert_eq!(row(["cont", "1"])[2..5], ["failed", "-", "-"], "{text}");
        assert_eq!(filled.charts.len(), 1);
    }

    #[test]
    fn without_a_serial_run_one_worker_is_the_base() {
        let session = measured(&ALL[1..]);
        assert!(sentences(&session)[0].ends_with("times as fast as steal, 1 thread"));
        let filled = page(&session, "mine").unwrap();
        assert!(filled.charts.is_empty() && filled.text.contains("over steal, 1 thread"));
    }
}
