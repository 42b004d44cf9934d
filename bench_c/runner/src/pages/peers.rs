//! `make bench-peers`: runs the same workloads on libsched and on other systems, in one session.
//! peers.toml has the workloads, [`systems`] the systems. In each round and for each workload all
//! systems run one after the other, in an order that is shuffled anew.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use sched_tools::number::{short, threads as threads_words};
use sched_tools::process::{self, TookTooLong};
use sched_tools::table::Table;
use sched_tools::text::say;
use serde::Deserialize;

use super::options::Options;
use super::results::{conclude, make_folder, write_json};
use super::systems::{LIBSCHED, System, Systems};
use crate::data::{About, Case, Session};
use crate::machine::{self, Machine, calibrate};
use crate::quartiles::{Quartiles, with_quartiles};
use crate::run::output::Line;

/// After two rounds, a further one is begun only if it would end within this time, taking as long
/// as the round before.
const BUDGET: Duration = Duration::from_secs(260);

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Workload {
    program: String,
    n: u64,
    /// The argument of `-d`, for every system.
    data: Option<String>,
    /// The size for a first look. None: the workload is left out then.
    quick: Option<u64>,
    what: String,
    /// The value by which the systems are compared, as in [`crate::data::Measured::quartiles`], and
    /// its unit.
    #[serde(default = "milliseconds")]
    figure: String,
    unit: Option<String>,
    /// True for a workload on more than one thread only; `single`, for one on one thread only.
    #[serde(default)]
    several: bool,
    #[serde(default)]
    single: bool,
    /// The number of rounds that run it.
    #[serde(default = "two")]
    rounds: usize,
    /// The number of runs of a process that count, after those that warm it up: threads are made,
    /// pages are touched. A system that compiles while it runs needs more runs to warm up.
    #[serde(default = "two")]
    counted: usize,
    #[serde(default = "one")]
    warm_up: usize,
    /// Further rows of the table: the program of bench_c with these words, on one thread.
    #[serde(default = "serial")]
    baselines: Vec<(String, String)>,
    /// The table has columns for the memory, and names the schedules of OpenMP.
    #[serde(default)]
    memory: bool,
    #[serde(default)]
    schedules: bool,
    /// Further columns: their heads, and the values whose medians they have.
    #[serde(default)]
    more: Vec<(String, String)>,
    /// Tables of systems that do not have it.
    #[serde(default)]
    without: Vec<String>,
    #[serde(skip)]
    threads: Vec<usize>,
    /// The entries of these tables: the systems, and why.
    #[serde(skip)]
    lacking: BTreeMap<String, String>,
}

fn milliseconds() -> String {
    "ms".into()
}
fn one() -> usize {
    1
}
fn two() -> usize {
    2
}
fn serial() -> Vec<(String, String)> {
    vec![("serial".into(), "-s".into())]
}

#[derive(Deserialize)]
struct Peers {
    without: BTreeMap<String, BTreeMap<String, String>>,
    workloads: All,
}

#[derive(Deserialize)]
struct All {
    all: Vec<Workload>,
}

/// All workloads, on these numbers of threads. They take some four minutes on one thread and on two
/// if all systems are there.
fn workloads(threads: &[usize], options: &Options) -> Result<Vec<Workload>> {
    let Peers { without, workloads } = toml::from_str(include_str!("peers.toml"))?;
    let mut all = workloads.all;
    for w in &mut all {
        let wanted = |&&t: &&usize| !(w.several && t == 1 || w.single && t != 1);
        w.threads = threads.iter().filter(wanted).copied().collect();
        if w.single {
            w.threads = vec![1];
        }
        for name in &w.without {
            let table = without.get(name).with_context(|| format!("no table {name}"))?;
            w.lacking.extend(table.clone());
        }
        w.rounds = options.repetitions.unwrap_or(w.rounds);
        if options.quick {
            w.n = w.quick.unwrap_or(w.n);
            (w.rounds, w.counted) = (w.rounds.min(2), w.counted.min(2));
        }
    }
    all.retain(|w| {
        let named = options.only.is_empty() || options.only.contains(&w.program);
        named && !w.threads.is_empty() && (!options.quick || w.quick.is_some())
    });
    Ok(all)
}

/// Compares the systems on these numbers of threads, or on 1 thread and on as many as there are
/// cores. True if every answer was right.
pub fn compare(options: &Options, threads: &[usize]) -> Result<bool> {
    let start = Instant::now();
    let machine = Machine::look();
    let Systems { found, skipped } = Systems::look(options.programs)?;
    let cores = [1, machine.cores.max(2)];
    let workloads = workloads(if threads.is_empty() { &cores } else { threads }, options)?;
    ensure!(!workloads.is_empty(), "the peers do not have that program");
    make_folder(options.results)?;
    println!("{}", machine.line());
    for system in &found {
        println!("{}: {}", system.name, system.version);
    }
    for (name, why) in &skipped {
        println!("skipped: {name}: {why}");
    }
    let load = machine::load();
    let mut running = Running::new(machine, &found, options.quick);
    running.run(options, &found, &workloads);
    let Running { mut session, too_long, .. } = running;
    session.about.results = options.began.map(str::to_owned);
    println!("rounds: {}, the systems interleaved (seed {})", session.about.rounds, options.seed);
    session.print_calibration(load);
    for workload in &workloads {
        workload.print(&found, &session, &too_long);
    }
    say("\nMedians [quartiles]. × is a system's figure over libsched's: above 1, libsched is the \
         better. The speed-up is over the same system with 1 worker.");
    for case in &too_long {
        say(format!("{}: not waited for: it took longer than the limit", shown(case)));
    }
    write_json(&options.results.join("peers.json"), &session)?;
    Ok(conclude(&session.about.failures, "all answers are right and the same", start))
}

/// The name of a case begins with its system.
fn shown(case: &Case) -> String {
    let data = case.data.as_ref().map_or(String::new(), |data| format!(" -d {data}"));
    format!("{}: {} -n {} -t {}{data}", case.by, case.program, case.n, case.threads)
}

/// A process to run: of a system, or of a baseline of the workload.
struct Entry<'a> {
    case: Case,
    kind: &'a str,
    /// None for a baseline, which is called with `words`.
    system: Option<&'a System>,
    words: &'a str,
}

struct Running {
    session: Session,
    /// The first answer to each workload.
    answers: HashMap<Case, (Case, String)>,
    /// The cases that reached the time limit, and all that failed: they are not run again.
    too_long: Vec<Case>,
    failed: Vec<Case>,
}

impl Running {
    fn new(machine: Machine, systems: &[System], quick: bool) -> Running {
        let mut about = About { quick, ..About::new(machine) };
        about.systems = systems.iter().map(|s| (s.name.clone(), s.version.clone())).collect();
        let session = Session { about, cases: Vec::new() };
        Running { session, answers: HashMap::new(), too_long: Vec::new(), failed: Vec::new() }
    }

    fn run(&mut self, options: &Options, systems: &[System], workloads: &[Workload]) {
        let start = Instant::now();
        let mut random = StdRng::seed_from_u64(options.seed);
        let rounds = workloads.iter().map(|w| w.rounds).max().unwrap_or(0);
        let cores = self.session.about.machine.cores;
        let mut last = Duration::ZERO;
        for round in 1..=rounds {
            let begun = start.elapsed();
            if round > 2 && options.repetitions.is_none() && begun + last > BUDGET {
                break;
            }
            self.session.about.calibration.push(calibrate(cores));
            for workload in workloads.iter().filter(|w| round <= w.rounds) {
                let mut entries = workload.entries(systems);
                entries.shuffle(&mut random);
                entries.retain(|entry| !self.failed.contains(&entry.case));
                for entry in entries {
                    if let Err(e) = self.measure(options, workload, &entry, &systems[0]) {
                        let failure = format!("{}: {e:#}", shown(&entry.case));
                        eprintln!("sched-bench: {failure}");
                        self.failed.push(entry.case.clone());
                        match e.is::<TookTooLong>() {
                            true => self.too_long.push(entry.case),
                            false => self.session.about.failures.push(failure),
                        }
                    }
                }
                let seconds = start.elapsed().as_secs();
                eprintln!("round {round} of {rounds}: {} done, {seconds} s", workload.program);
            }
            self.session.about.rounds = round;
            last = start.elapsed() - begun;
        }
        self.session.about.calibration.push(calibrate(cores));
        self.session.about.end(start.elapsed());
    }

    fn measure(
        &mut self,
        options: &Options,
        workload: &Workload,
        entry: &Entry,
        libsched: &System,
    ) -> Result<()> {
        let Case { program, n, threads, data, .. } = &entry.case;
        let warm_up = workload.warm_up + entry.system.map_or(0, |s| s.compiles);
        let lines = warm_up + workload.counted;
        let mut command = entry.system.unwrap_or(libsched).command(program);
        for (option, value) in [("-n", *n), ("-t", *threads as u64), ("-r", lines as u64)] {
            command.args([option, &value.to_string()]);
        }
        command.args(data.iter().flat_map(|data| ["-d", data]));
        command.args(entry.words.split_whitespace());
        process::without_settings(&mut command);
        let ended = process::run(&mut command, options.limit)?;
        let printed: Vec<&str> = ended.stdout.lines().collect();
        ensure!(printed.len() == lines, "it printed {} lines", printed.len());
        let name = entry.system.map_or(program.clone(), |s| s.says(program));
        for (i, line) in printed.into_iter().enumerate() {
            let line = Line::read(line, &name, *n, entry.kind, *threads)
                .with_context(|| format!("run {}", i + 1))?;
            self.compare(&entry.case, &line);
            if i >= warm_up {
                let mut values = line.values.clone();
                values.insert("peak".into(), ended.peak as f64);
                values.extend(line.schedule.iter().map(|name| (format!("schedule {name}"), 1.0)));
                self.session.add(&entry.case, line.tasks, None, values);
            }
        }
        Ok(())
    }

    /// A run that disagrees with the first on the answer or on the number of tasks fails.
    fn compare(&mut self, case: &Case, line: &Line) {
        let said = match case.program.as_str() {
            // Our program has further tasks: one for each worker, and one that spawns the others.
            "idleburn" | "yield" | "suspend" | "timers" => format!("checksum {}", line.checksum),
            _ => format!("checksum {}, {} tasks", line.checksum, line.tasks),
        };
        let workload = Case { by: String::new(), threads: 0, ..case.clone() };
        let new = || (case.clone(), said.clone());
        let (other, answer) = self.answers.entry(workload).or_insert_with(new);
        if *answer != said {
            let (case, other) = (shown(case), shown(other));
            let failure = format!("answers differ: {case}: {said}, but {other}: {answer}");
            self.session.about.failures.push(failure);
        }
    }
}

impl Workload {
    fn is_of(&self, system: &System) -> bool {
        system.has(&self.program, self.lacking.contains_key(&system.name))
    }

    fn case(&self, by: &str, threads: usize) -> Case {
        let (program, data) = (self.program.clone(), self.data.clone());
        Case { program, n: self.n, by: by.to_owned(), data, threads, ..Case::default() }
    }

    fn entries<'a>(&'a self, systems: &'a [System]) -> Vec<Entry<'a>> {
        let of_system = |system: &'a System| {
            self.threads.iter().map(move |&threads| {
                let case = self.case(&system.name, threads);
                Entry { case, kind: system.kind, system: Some(system), words: "" }
            })
        };
        let of_baseline = |(name, words): &'a (String, String)| Entry {
            case: self.case(name, 1),
            kind: "none",
            system: None,
            words,
        };
        let systems = systems.iter().filter(|s| self.is_of(s)).flat_map(of_system);
        systems.chain(self.baselines.iter().map(of_baseline)).collect()
    }

    fn unit(&self) -> &str {
        match self.figure.as_str() {
            "ns" => "ns/task",
            "us_a_task" => "µs/run",
            "ms" => "ms",
            other => self.unit.as_deref().unwrap_or(other),
        }
    }

    fn print(&self, systems: &[System], session: &Session, too_long: &[Case]) {
        let data = self.data.as_ref().map_or(String::new(), |data| format!(" -d {data}"));
        say(format!("\n{} -n {}{data}: {}", self.program, self.n, self.what));
        println!("{}", self.table(systems, session, too_long));
        for (name, why) in
            self.lacking.iter().filter(|(n, _)| systems.iter().any(|s| s.name == **n))
        {
            say(format!("without {name}: {why}"));
        }
    }

    /// A row for each system: its figures, and their ratios to libsched's.
    fn table(&self, systems: &[System], session: &Session, too_long: &[Case]) -> Table {
        let mut head = vec![String::new()];
        for &t in &self.threads {
            head.extend([format!("{}: {}", threads_words(t), self.unit()), "×".into()]);
        }
        let (first, last) = (self.threads[0], self.threads[self.threads.len() - 1]);
        if last > first {
            head.push("speed-up".into());
        }
        if self.memory {
            head.extend(self.threads.iter().map(|t| format!("peak MB, {t}")));
        }
        head.extend(self.more.iter().map(|(head, _)| head.clone()));
        head.extend(self.schedules.then(|| "schedule".to_owned()));
        let mut table = Table::new(1, &head);

        let found = |by: &str, threads, value: &str| -> Option<Quartiles> {
            let case = self.case(by, threads);
            session.cases.iter().find(|m| m.case == case)?.quartiles(value).ok()
        };
        let show = |value: Option<f64>| value.map_or("-".into(), short);
        let names = systems.iter().filter(|s| self.is_of(s)).map(|s| (&s.name, false));
        for (name, is_baseline) in names.chain(self.baselines.iter().map(|(name, _)| (name, true)))
        {
            // A baseline has one thread, and stands in the first column.
            let at = |i: usize, t: usize| match is_baseline {
                true => (i == 0).then_some(1),
                false => Some(t),
            };
            let of = |i, t, value: &str| found(name, at(i, t)?, value);
            let counts = || self.threads.iter().copied().enumerate();
            let mut row = vec![name.clone()];
            for (i, t) in counts() {
                let own = of(i, t, &self.figure);
                let slow = too_long.contains(&self.case(name, t));
                let ours = found(LIBSCHED, t, &self.figure);
                let none = if slow { "too long" } else { "-" };
                row.push(own.map_or(none.into(), with_quartiles));
                row.push(show(own.zip(ours).map(|(own, ours)| own.median / ours.median)));
            }
            if last > first {
                let both = found(name, first, &self.figure).zip(found(name, last, &self.figure));
                let both = both.filter(|_| !is_baseline);
                row.push(show(both.map(|(one, all)| one.median / all.median)));
            }
            if self.memory {
                row.extend(counts().map(|(i, t)| show(of(i, t, "peak_mb").map(|q| q.median))));
            }
            let measured = if is_baseline { 1 } else { last };
            row.extend(
                self.more
                    .iter()
                    .map(|(_, value)| show(found(name, measured, value).map(|q| q.median))),
            );
            if self.schedules {
                row.push(schedules(session, &self.case(name, measured)));
            }
            table.add_row(row);
        }
        table
    }
}

/// The schedules that the runs of a system name, and after each how often it was the best.
fn schedules(session: &Session, case: &Case) -> String {
    let measured = session.cases.iter().find(|m| m.case == *case);
    let values = measured.iter().flat_map(|m| &m.values);
    let named = values.filter_map(|(name, _)| name.strip_prefix("schedule "));
    let times = |name: &str| measured.map_or(0, |m| m.values(&format!("schedule {name}")).len());
    let texts: Vec<_> = named.map(|name| format!("{name} {}", times(name))).collect();
    if texts.is_empty() { "-".into() } else { texts.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::tests::session;

    fn options<'a>() -> Options<'a> {
        let path = std::path::Path::new("");
        Options {
            programs: path,
            results: path,
            repetitions: None,
            quick: false,
            only: &[],
            limit: Duration::from_secs(1),
            seed: 1,
            began: None,
        }
    }

    #[test]
    fn no_workload_is_measured_twice() {
        let all = workloads(&[1, 2], &options()).unwrap();
        let distinct: std::collections::HashSet<_> = all.iter().map(|w| w.case("", 0)).collect();
        assert!(distinct.len() == all.len() && all.len() > 100);
        let quick = workloads(&[1, 2], &Options { quick: true, ..options() }).unwrap();
        assert!(quick.len() > 50 && quick.iter().all(|w| w.rounds <= 2));
        let alone = workloads(&[1], &options()).unwrap();
        assert!(alone.iter().all(|w| !w.several));
    }

    #[test]
    fn another_answer_than_the_others_is_a_failure() {
        let mut running = Running::new(Machine::default(), &[], false);
        let mut say = |by: &str, data: Option<&str>, checksum: &str| {
            let line = format!(
                "bench=tree n=8 kind={by} threads=2 tasks=9 seconds=0.5 ns_per_task=7 \
                 checksum={checksum} user=0.25 sys=0 vcsw=1 icsw=2 ok"
            );
            let line = Line::read(&line, "tree", 8, by, 2).unwrap();
            let case = Case::parse(&format!("tree {by} 2 n=8")).unwrap();
            running.compare(&Case { data: data.map(str::to_owned), ..case }, &line);
            running.session.about.failures.clone()
        };
        assert!(say("go", None, "ab").is_empty() && say("java", None, "ab").is_empty());
        // A workload that differs only in its data is another workload.
        assert!(say("go", Some("rising"), "cd").is_empty());
        let found = say("java", None, "cd");
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("answers differ: java: tree -n 8 -t 2: checksum cd"));
    }

    #[test]
    fn figures_stand_beside_libscheds() {
        let mut all = workloads(&[1, 2], &options()).unwrap();
        let flood = all.remove(0);
        let systems = Systems::of_tests(&["libsched", "go"]);
        let cases = ["libsched 1", "libsched 2", "go 1", "go 2", "serial 1"];
        let cases = cases.map(|case| format!("flood {case} n=1000000"));
        let cases: Vec<&str> = cases.iter().map(String::as_str).collect();
        let times = |case: &Case, _| if case.by == "go" { 0.5 } else { 1.0 } / case.threads as f64;
        let session = session(&cases, 2, times);
        let text = flood.table(&systems, &session, &[flood.case("go", 2)]).to_string();
        let row = |name: &str| {
            let line = text.lines().find(|line| line.starts_with(name)).unwrap();
            line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
        };
        let ns = [
            "55555556",
            "[55555556–55555556]",
            "0.500",
            "27777778",
            "[27777778–27777778]",
            "0.500",
            "2.00",
        ];
        assert_eq!(row("go")[1..8], ns, "{text}");
        assert_eq!(row("serial")[3..], ["1.00", "-", "-", "-"], "{text}");
    }
}
