//! `--soak HOURS`: runs c_tests/soak.c for hours, and adds its results to a file.
//!
//! Time is cut into slices of two sorts. In four fifths of the time slices have the default
//! settings with 1 to 4 threads, and large rounds, most of them of the cheapest tasks: that is
//! where nearly all of the tasks come from. In the rest of the time slices take the kinds in turn,
//! and go through every combination that the library accepts × 1 to 16 threads, in an order that
//! mixes them. Some slices of both sorts have a seed, small stacks, or no warm threads besides.
//!
//! Every second job has one process for the whole session, so that everything that runs leave
//! behind adds up (`child.rs`). The others start a new process after a few slices. The file says
//! how many tasks of each sort were checked with which library (`state.rs`).

mod child;
mod state;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use sched_tools::number::thousands;
use sched_tools::provenance::{Source, now, output};

use crate::compile::Program;
use crate::matrix::number;
use crate::session::Session;
use crate::setting::Setting;
use crate::stress::scattered;
use child::{Answer, Soaking};
use state::State;

/// Seconds of a slice with large rounds, and of one with the others. The last round makes a slice
/// longer, with some settings by far.
const SLICES: [f64; 2] = [8.0, 1.0];
/// So many times as long as the slices with the others those with large rounds take together.
const LARGE: f64 = 4.0;
/// Seconds after which a slice is taken to hang. A round is not interrupted, and a run with 16
/// threads that spin on 2 processors takes its time.
const LIMIT: Duration = Duration::from_secs(600);
/// A process that does not live for the whole session does this many slices.
const SHORT_LIFE: u64 = 5;
/// Additional settings of some slices: a prime number of choices, so that all settings meet each.
const BESIDES: [&[(&str, &str)]; 7] = [
    &[],
    &[("SCHED_WARM", "0")],
    &[],
    &[("SCHED_STACK", "64K")],
    &[],
    &[("SCHED_SEED", "TURN")],
    &[("SCHED_WARM", "0"), ("SCHED_STACK", "128K"), ("SCHED_SEED", "TURN")],
];

struct Soak<'a> {
    program: &'a Path,
    /// The settings of each kind.
    settings: Vec<Vec<Setting>>,
    end: Instant,
    /// The numbers of the next slices of each sort.
    next: [AtomicUsize; 2],
    failed: AtomicBool,
    state: Mutex<State>,
    source: Source,
    library: String,
}

pub fn run(session: &Session, hours: f64) -> Result<bool> {
    let folder = session.prefix.with_file_name("soak");
    std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let file = folder.join("state.json");
    let state = State::read(&file)?;
    let before = state.tasks();
    let program = compile(session)?;
    let began = Instant::now();
    let soak = Soak {
        program: &program,
        settings: by_kind(session.matrix.all(&session.for_long())),
        end: began + Duration::from_secs_f64(3600.0 * hours),
        // Beyond the numbers of all earlier sessions, of either sort.
        next: [0, 1].map(|_| {
            AtomicUsize::new(state.entries.iter().map(|entry| entry.slices as usize).sum())
        }),
        failed: AtomicBool::new(false),
        state: Mutex::new(state),
        source: Source::of(&session.root, &["docs/trust/", "docs/TRUST.md"]),
        library: hash(&session.tools.libdir.join("libsched.so.1"))?,
    };
    println!(
        "soak: {hours} hours, {} at a time, {} settings, {} tasks before",
        session.jobs,
        thousands(soak.all() as u64),
        thousands(before)
    );

    let (done, is_done) = channel();
    std::thread::scope(|scope| {
        for job in 0..session.jobs {
            let (soak, done) = (&soak, done.clone());
            let errors = folder.join(format!("errors-{job}"));
            scope.spawn(move || {
                if let Err(error) = soak.job(job, &errors) {
                    soak.fail(format!("{error:#}"));
                }
                let _ = done.send(()); // the receiver outlives the scope
            });
        }
        let (mut left, mut counted) = (session.jobs, Instant::now());
        while left > 0 {
            match is_done.recv_timeout(Duration::from_secs(60)) {
                Ok(()) => left -= 1,
                Err(RecvTimeoutError::Disconnected) => left = 0,
                Err(RecvTimeoutError::Timeout) => {}
            }
            soak.add_time(&mut counted, &file)?;
            soak.line(began, before);
        }
        Ok::<(), anyhow::Error>(())
    })?;
    let all = soak.all();
    let state = soak.state.into_inner().unwrap_or_else(|e| e.into_inner());
    let failed = soak.failed.into_inner();
    print!("{}", state.totals(all));
    println!("soak: {}", if failed { "FAILED" } else { "none lost, none run twice" });
    Ok(!failed)
}

fn compile(session: &Session) -> Result<std::path::PathBuf> {
    let output = session.work.join("soak");
    let source = session.root.join("c_tests/soak.c");
    let sanitize = session.options.sanitize.as_deref();
    let (smaller, optimize) = (session.options.smaller, session.options.optimize);
    let build = Program { sanitize, smaller, optimize, ..Program::plain(&source, &output) };
    build.build(&session.tools, &[])?;
    Ok(output)
}

/// The first digits of the file's SHA-256.
fn hash(library: &Path) -> Result<String> {
    let said = output(Command::new("sha256sum").arg(library)).context("sha256sum")?;
    Ok(said.get(..16).context("sha256sum")?.to_string())
}

/// The settings of each kind, in an order that mixes the other variables.
fn by_kind(settings: Vec<Setting>) -> Vec<Vec<Setting>> {
    let mut kinds: BTreeMap<String, Vec<Setting>> = BTreeMap::new();
    for setting in scattered(settings) {
        let kind = setting.get("KIND").unwrap_or_default().to_string();
        kinds.entry(kind).or_default().push(setting);
    }
    kinds.into_values().collect()
}

/// The setting and the line of the slice with this number.
struct Slice {
    setting: Setting,
    order: String,
}

/// A sort of slices.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rounds {
    Large,
    Others,
}

impl Soak<'_> {
    /// The next slice of a sort. Its number is also the seed.
    fn slice(&self, rounds: Rounds) -> Slice {
        let turn = self.next[rounds as usize].fetch_add(1, Ordering::Relaxed);
        let setting = match rounds {
            Rounds::Large => Setting(vec![("THREADS".into(), (1 + turn % 4).to_string())]),
            Rounds::Others => {
                let (kind, turn) = (turn % self.settings.len(), turn / self.settings.len());
                self.settings[kind][turn % self.settings[kind].len()].clone()
            }
        };
        // A long-lived process still has what an earlier slice has set: an empty value unsets it.
        let names = crate::matrix::POLICIES.iter().map(|name| format!("SCHED_{name}="));
        let mut words: Vec<String> = names.collect();
        words.extend(["SCHED_WARM=", "SCHED_STACK=", "SCHED_SEED="].map(String::from));
        words.extend(setting.environment().iter().map(|(name, value)| format!("{name}={value}")));
        // A task that helps runs others on its own stack, and needs a large one.
        let helps = setting.get("JOIN") == Some("help");
        let besides = BESIDES[turn % BESIDES.len()].iter();
        let besides = besides.filter(|(name, _)| !(helps && *name == "SCHED_STACK"));
        let value = |value: &str| value.replace("TURN", &turn.to_string());
        words.extend(besides.map(|(name, v)| format!("{name}={}", value(v))));
        let (seconds, large) = (SLICES[rounds as usize], u8::from(rounds == Rounds::Large));
        let order = format!("{seconds} {turn} {large} {}", words.join(" "));
        Slice { setting, order }
    }

    /// How many settings there are.
    fn all(&self) -> usize {
        self.settings.iter().map(Vec::len).sum()
    }

    fn goes_on(&self) -> bool {
        Instant::now() < self.end && !self.failed.load(Ordering::Relaxed)
    }

    /// Slices until the time is over; an error is a failure.
    fn job(&self, job: usize, errors: &Path) -> Result<()> {
        let mut spent = [0.0; 2];
        while self.goes_on() {
            let mut process = Soaking::start(self.program, errors)?;
            let life = if job % 2 == 0 { u64::MAX } else { SHORT_LIFE };
            self.with_entry(|entry| entry.processes += 1);
            while self.goes_on() && process.slices < life {
                let enough = spent[0] > LARGE * spent[1];
                let rounds = if enough { Rounds::Others } else { Rounds::Large };
                let (slice, began) = (self.slice(rounds), Instant::now());
                match process.slice(&slice.order, LIMIT) {
                    Ok(answer) => self.count(&slice.setting, &answer, process.slices),
                    Err(error) => bail!("{}\n{error:#}", slice.order),
                }
                spent[rounds as usize] += began.elapsed().as_secs_f64();
            }
            process.end(LIMIT)?;
        }
        Ok(())
    }

    fn with_entry(&self, change: impl FnOnce(&mut state::Entry)) {
        let mut state = self.state.lock().unwrap_or_else(|e| e.into_inner());
        change(state.entry(&self.source, &self.library, &now()));
    }

    fn count(&self, setting: &Setting, answer: &Answer, life: u64) {
        self.with_entry(|entry| {
            entry.slices += 1;
            entry.longest = entry.longest.max(life);
            let kind = setting.get("KIND").unwrap_or("steal").to_string();
            *entry.by_kind.entry(kind).or_default() += answer.tasks.values().sum::<u64>();
            for (shape, n) in &answer.tasks {
                *entry.by_shape.entry(shape.clone()).or_default() += n;
            }
        });
        let id = number(&format!("{setting:?}")) as u64;
        self.state.lock().unwrap_or_else(|e| e.into_inner()).settings.insert(id);
    }

    fn fail(&self, what: String) {
        println!("FAILED  {what}");
        self.failed.store(true, Ordering::Relaxed);
        self.with_entry(|entry| entry.failures.push(what));
    }

    /// Adds the time since `counted`, and writes the file.
    fn add_time(&self, counted: &mut Instant, file: &Path) -> Result<()> {
        let now = Instant::now();
        self.with_entry(|entry| entry.seconds += (now - *counted).as_secs_f64());
        *counted = now;
        self.state.lock().unwrap_or_else(|e| e.into_inner()).write(file)
    }

    fn line(&self, began: Instant, before: u64) {
        let state = self.state.lock().unwrap_or_else(|e| e.into_inner());
        let tasks = state.tasks();
        println!(
            "soak: {:.0} minutes, {} tasks, {} in all, {} settings, {} failures in all",
            began.elapsed().as_secs_f64() / 60.0,
            thousands(tasks - before),
            thousands(tasks),
            thousands(state.settings.len() as u64),
            state.failures()
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_its_settings() {
        let setting = |kind: &str, threads: usize| {
            Setting(vec![("KIND".into(), kind.into()), ("THREADS".into(), threads.to_string())])
        };
        let of = |kind, n: usize| (0..n).map(move |i| setting(kind, i));
        let kinds = by_kind(of("steal", 50).chain(of("serial", 1)).chain(of("fifo", 7)).collect());
        assert_eq!(kinds.iter().map(Vec::len).collect::<Vec<_>>(), [7, 1, 50]);
        assert!(kinds.iter().flatten().all(|setting| setting.get("THREADS").is_some()));
    }
}
