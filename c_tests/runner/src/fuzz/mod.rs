//! Random programs: `make fuzz`, a part of `make test`, and the corpus.
//!
//! ```text
//! program.rs  makes programs, and shrinks them
//! run.rs      builds the interpreter c_tests/fuzz, and runs programs with it
//! process.rs  one process, and whether it hangs
//! shrink.rs   finds the smallest program that fails, and writes it to a file
//! ```
//! The programs of the seeds from the first one on run in batches, each batch in a process and
//! under a setting of its own: all combinations that the library accepts, with 1 to 16 threads, in
//! a scattered order. A program fails if the interpreter says so, crashes or hangs.
//!
//! A program that has found a mistake is kept in c_tests/corpus, with a line `# settings: ...` if
//! it needs some. In `make test` the corpus runs under some settings that cover all pairs of
//! values, and each program that names settings also runs under these.

mod process;
mod program;
mod run;
mod shrink;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use sched_tools::sources::with_endings;

use crate::dispatch::{Job, Outcome};
use crate::fuzz::program::Generator;
use crate::fuzz::run::{DELAYS, Interpreter};
use crate::session::Session;
use crate::setting::{Part, Setting};
use crate::stress::scattered;

/// Programs in a process.
const BATCH: u64 = 16;
/// Processes for each processor, if they sleep now and then.
const SLEEPERS: usize = 2;
/// How long random programs run among the tests.
const AMONG_TESTS: Duration = Duration::from_secs(10);
/// The numbers of threads in every second setting.
const FEW_THREADS: [&str; 4] = ["1", "2", "3", "4"];
/// How often the programs of the corpus run under each setting.
const CORPUS_TIMES: u32 = 3;
/// How often a program from a file runs.
const REPLAY_TIMES: u32 = 200;

/// The settings that the programs take turns with: every second one has the defaults that most
/// users have, beside the kind, and what a join or a full queue does, and few threads: with many,
/// it hardly matters what one of them misses.
fn settings(session: &Session) -> Result<Vec<Setting>> {
    let mut part = session.for_long();
    for word in &session.options.only {
        let (name, values) = word.split_once('=').with_context(|| word.clone())?;
        part.restrict(name, &values.split(',').map(str::to_string).collect::<Vec<_>>());
    }
    if let Some(word) = session.matrix.unknown(&part) {
        bail!("no such setting: {word}");
    }
    let all = scattered(session.matrix.all(&part));
    ensure!(!all.is_empty(), "no setting is left");
    let is =
        |setting: &Setting, name, default| setting.get(name).is_none_or(|value| value == default);
    let usual = |setting: &&Setting| {
        let few = setting.get("THREADS").is_none_or(|n| FEW_THREADS.contains(&n));
        few && is(setting, "DEQUE", "split")
            && is(setting, "IDLE", "park")
            && is(setting, "STEAL", "one")
    };
    let usual = scattered(all.iter().filter(usual).cloned().collect::<Vec<_>>());
    if usual.is_empty() {
        return Ok(all);
    }
    Ok(all
        .into_iter()
        .zip(usual.into_iter().cycle())
        .flat_map(|(any, usual)| [any, usual])
        .collect())
}

/// The work and the findings of a search.
#[derive(Default)]
struct Found {
    programs: AtomicU64,
    tasks: AtomicU64,
    failed: AtomicBool,
    what: Mutex<String>,
}

/// A search for programs that fail.
struct Search {
    interpreter: Interpreter,
    settings: Vec<Setting>,
    first_seed: u64,
    delays: bool,
    shrinks: bool,
    /// Prints a line now and then.
    talks: bool,
    batches: AtomicUsize,
    began: Instant,
    /// Where programs that fail are written.
    folder: PathBuf,
    found: Found,
}

impl Search {
    fn new(session: &Session) -> Result<Search> {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let random = now.map_or(1, |time| time.as_micros() as u64 & 0xffff_ffff);
        Ok(Search {
            interpreter: Interpreter::new(session),
            settings: settings(session)?,
            first_seed: session.options.seed.unwrap_or(random),
            delays: session.options.delays,
            shrinks: !session.options.unshrunk,
            talks: session.options.fuzz.is_some(),
            batches: AtomicUsize::new(0),
            began: Instant::now(),
            folder: session.work.clone(),
            found: Found::default(),
        })
    }

    /// Runs batches until `end` or until a program fails. `worker` is a number for the names
    /// of files.
    fn work(&self, end: Instant, worker: usize) -> Result<()> {
        let generator = Generator::new();
        while Instant::now() < end && !self.found.failed.load(Ordering::Relaxed) {
            let batch = self.batches.fetch_add(1, Ordering::Relaxed);
            let mut setting = self.settings[batch % self.settings.len()].clone();
            let seed = self.first_seed.wrapping_add(BATCH * batch as u64);
            let seeds: Vec<u64> = (seed..seed.wrapping_add(BATCH)).collect();
            if self.delays {
                setting = setting.with(DELAYS, seed);
            }
            let programs: Vec<String> =
                seeds.iter().map(|&seed| generator.program(seed).current().to_string()).collect();
            let ran = self.interpreter.run_batch(&programs, &setting, worker)?;
            self.found.programs.fetch_add(ran.tasks.len() as u64, Ordering::Relaxed);
            self.found.tasks.fetch_add(ran.tasks.iter().sum(), Ordering::Relaxed);
            let is_first = |_: &&_| !self.found.failed.swap(true, Ordering::Relaxed);
            if let Some(how) = ran.failed.as_ref().filter(is_first) {
                if self.talks {
                    let number = BATCH as usize * batch + ran.tasks.len() + 1;
                    let seconds = self.began.elapsed().as_secs_f64();
                    println!("fuzz: program {number} fails, seen after {seconds:.1} s");
                }
                let at = ran.tasks.len().min(programs.len() - 1);
                let (seed, batch) = (seeds[at], &programs[..=at]);
                let failure = shrink::Failure { seed, setting: &setting, batch };
                let what = self.explain(&generator, how, &failure, worker)?;
                *self.found.what.lock().expect("no holder panics") = what;
            } else if self.talks && batch % 256 == 255 {
                println!("fuzz: {}", self.summary());
            }
        }
        Ok(())
    }

    /// Shrinks the program that has failed.
    fn explain(
        &self,
        generator: &Generator,
        how: &str,
        failure: &shrink::Failure,
        worker: usize,
    ) -> Result<String> {
        let tree = generator.program(failure.seed);
        let smallest = if self.shrinks {
            shrink::shrink(&self.interpreter, tree, failure, worker)?
        } else {
            Some(tree.current())
        };
        let file = self.folder.join(format!("fuzz-{}.txt", failure.seed));
        std::fs::write(&file, failure.file(smallest.as_ref()))?;
        let again = self.interpreter.command(&[file.as_path()], failure.setting, 100);
        Ok(format!(
            "seed {}, {}\n{how}\n{}\nin {}\nto repeat it: {}\n",
            failure.seed,
            run::words(failure.setting),
            smallest
                .map_or("it did not fail again alone, so this is the whole batch".into(), |p| {
                    format!("{} statements: {p}", p.size())
                }),
            file.display(),
            again,
        ))
    }

    fn summary(&self) -> String {
        let batches = self.batches.load(Ordering::Relaxed);
        format!(
            "{} programs, {} tasks, in {} batches, from seed {}",
            self.found.programs.load(Ordering::Relaxed),
            self.found.tasks.load(Ordering::Relaxed),
            batches,
            self.first_seed
        )
    }

    /// The failure that was found, if any.
    fn failure(&self) -> Option<String> {
        let failed = self.found.failed.load(Ordering::Relaxed);
        failed.then(|| self.found.what.lock().expect("no holder panics").clone())
    }
}

/// `--fuzz MINUTES`: searches on all processors. True if nothing was found.
pub fn run(session: &Session, minutes: f64) -> Result<bool> {
    let search = Search::new(session)?;
    search.interpreter.build(session)?;
    let end = Instant::now() + Duration::from_secs_f64(60.0 * minutes);
    let jobs = if search.delays { SLEEPERS * session.jobs } else { session.jobs };
    println!(
        "fuzz: {minutes} minutes, {} settings, {jobs} at a time, from seed {}{}",
        search.settings.len(),
        search.first_seed,
        if search.delays { ", with delays" } else { "" }
    );
    std::thread::scope(|scope| {
        let search = &search;
        let workers: Vec<_> =
            (0..jobs).map(|worker| scope.spawn(move || search.work(end, worker))).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("no worker panics"))
    })?;
    let failure = search.failure();
    if let Some(what) = &failure {
        println!("FAILED: {what}");
    }
    println!(
        "fuzz: {}: {}",
        search.summary(),
        if failure.is_some() { "FAILED" } else { "none failed" }
    );
    Ok(failure.is_none())
}

/// `--replay FILE`: runs the programs of a file under the settings that it names. True if none
/// failed.
pub fn replay(session: &Session, file: &Path) -> Result<bool> {
    let interpreter = Interpreter::new(session);
    interpreter.build(session)?;
    let setting = run::settings_of(file)?.unwrap_or(Setting(Vec::new()));
    let ran = interpreter.run_files(&[file], &setting, REPLAY_TIMES, 0)?;
    match &ran.failed {
        Some(how) => println!("FAILED: {how}"),
        None => println!("{} programs, {REPLAY_TIMES} times: none failed", ran.tasks.len()),
    }
    Ok(ran.failed.is_none())
}

/// The corpus and some random programs, as tests.
pub fn jobs(session: &Session, jobs: &mut Vec<Job>) -> Result<()> {
    let mut new = Vec::new();
    let search = Search::new(session)?;
    let folder = session.root.join("c_tests/corpus");
    let corpus = with_endings(&folder, &["txt"])?;
    ensure!(!corpus.is_empty(), "{} has no programs", folder.display());
    let some = Part { refuse: true, ..Part::default() };
    for setting in session.settings(&some, "corpus") {
        new.push(replay_job(&search.interpreter, corpus.clone(), setting));
    }
    for file in corpus {
        if let Some(setting) = run::settings_of(&file)? {
            new.push(replay_job(&search.interpreter, vec![file], setting));
        }
    }
    let interpreter = search.interpreter.clone();
    let random = Job::new("fuzz", "random programs", move |worker| {
        search.work(Instant::now() + AMONG_TESTS, worker)?;
        Ok(search.failure().map_or(Outcome::Passed, Outcome::Failed))
    });
    new.push(Job { limit: 2.0 * AMONG_TESTS.as_secs_f64(), ..random });
    if new.iter().any(|job| job.name().contains(&session.options.filter)) {
        interpreter.build(session)?;
    }
    jobs.extend(new);
    Ok(())
}

fn replay_job(interpreter: &Interpreter, files: Vec<PathBuf>, setting: Setting) -> Job {
    let detail = run::words(&setting);
    let interpreter = interpreter.clone();
    Job::new("corpus", detail, move |worker| {
        let paths: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
        let ran = interpreter.run_files(&paths, &setting, CORPUS_TIMES, worker)?;
        let again = || interpreter.command(&paths, &setting, CORPUS_TIMES);
        Ok(ran
            .failed
            .map_or(Outcome::Passed, |how| Outcome::Failed(format!("{how}\n{}\n", again()))))
    })
}
