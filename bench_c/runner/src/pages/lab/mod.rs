//! `make lab`: answers the questions of the course's subject, and checks the claims of the author
//! of a fiber scheduler, by measurements. It writes docs/LAB.md with its figures.
//!
//! A map: [`settings`] and [`cases`] name the algorithms and benchmarks of the fiber scheduler,
//! [`plan`] says what is run, [`crate::run::session`] runs it, [`data`] finds the results, and
//! `sched_estimate` makes estimates and verdicts of them. [`claims`], [`fiber`], [`kinds`],
//! [`parts`] and [`locks`] write the sections of the [`page`]: tables and figures, each with a
//! sentence computed from the results. [`scaling`] writes the simulator's section. [`question`]
//! says which sections can be measured by themselves.

mod cases;
mod claims;
mod data;
mod fiber;
mod kinds;
mod locks;
mod options;
pub mod page;
mod parts;
pub mod plan;
mod question;
mod scaling;
mod settings;

use std::time::{Duration, Instant};

use anyhow::Result;
use serde::Serialize;

use super::results::{conclude, make_folder, write_json};
use crate::run::bench::{Bench, Run};
use crate::run::machine::{self, Calibration, Machine};
use crate::run::session::{Repetitions, Session};
use crate::run::setup::Setup;
use data::Data;
pub use options::Options;
use page::Page;
use plan::Lab;
pub use question::Question;
use settings::Setting;

/// The contents of lab.json: all that LAB.md was made from.
#[derive(Serialize)]
struct Results<'a> {
    machine: &'a Machine,
    calibration: &'a [Calibration],
    rounds: usize,
    quick: bool,
    /// The only question that was asked.
    question: Option<&'a str>,
    seed: u64,
    load_before: Option<f64>,
    total_seconds: f64,
    refused: &'a [Refused],
    failures: &'a [String],
    runs: &'a [Run],
}

/// A setting that this library does not accept, and its message.
#[derive(Serialize)]
struct Refused {
    #[serde(serialize_with = "variables")]
    setting: Setting,
    why: String,
}

fn variables<S: serde::Serializer>(setting: &Setting, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&setting.variables())
}

/// The beginning of the library's message about a value that it does not accept, up to the
/// variable's name.
const REFUSAL: &str = "libsched: SCHED_";

/// True if every run was right.
pub fn measure(options: &Options) -> Result<bool> {
    let start = Instant::now();
    let machine = Machine::look();
    let lab = Lab { cores: machine.cores, quick: options.quick };
    for folder in [options.docs, options.results] {
        make_folder(folder)?;
    }
    let bench = Bench::new(options.programs, options.limit, machine.cores);
    let load = machine::load();
    println!("{}", machine.line());

    let mut setups = options.question.map_or_else(|| lab.setups(), |one| (one.setups)(&lab));
    let refused = refused(&bench, &setups);
    for Refused { setting, why } in &refused {
        println!("skipped: {}: {why}", setting.variables());
    }
    setups.retain(|s| !refused.iter().any(|r| r.setting.is_of(s)));
    println!("{} settings, the rounds interleaved (seed {})", setups.len(), options.seed);
    let mut session = Session::run(&bench, &setups, &rounds(options), options.seed);
    let cals: Vec<f64> = session.runs.iter().filter_map(|r| r.line.cal).collect();
    machine::print_calibration(&session.calibration, &cals, machine.cores, load);

    let note = machine.line();
    let mut page = Page::new(options.docs, &note);
    let data = Data::new(&session.runs);
    let path = options.docs.join("LAB.md");
    if let Some(one) = options.question {
        one.answer_alone(&lab, &data, session.repetitions, &mut page)?;
        page.write_into(&path, one.heading, one.next_heading)?;
    } else {
        opening(&mut page, options, &session, &refused);
        sections(&lab, &data, &mut page)?;
        page.heading("Scaling beyond this machine");
        match scaling::predict(options) {
            Ok(report) => scaling::section(&report, &mut page)?,
            Err(e) => {
                session.failures.push(format!("scaling: {e:#}"));
                page.block(&format!("**Failed:** {e:#}"));
            }
        }
        // What was measured on other machines stays from one session to the next.
        let elsewhere = options.docs.join("lab-elsewhere.md");
        if let Ok(text) = std::fs::read_to_string(&elsewhere) {
            page.heading("On 16 processors");
            page.block(text.trim_end());
        }
        page.write(&path)?;
    }
    println!("written: {}", path.display());
    let results = Results {
        machine: &machine,
        calibration: &session.calibration,
        rounds: session.repetitions,
        quick: options.quick,
        question: options.question.map(|one| one.name),
        seed: options.seed,
        load_before: load,
        total_seconds: start.elapsed().as_secs_f64(),
        refused: &refused,
        failures: &session.failures,
        runs: &session.runs,
    };
    let name = options.question.map_or("lab.json".into(), |one| format!("lab-{}.json", one.name));
    write_json(&options.results.join(name), &results)?;
    Ok(conclude(&session.failures, "all answers are right and the same", start))
}

/// With the sizes of `--quick` six rounds, the least number that decides at 95 %, take less than
/// two minutes on two cores. Otherwise the number of rounds depends on the time that they take.
fn rounds(options: &Options) -> Repetitions {
    let (least, most) = match options.rounds {
        Some(n) => (n, n),
        None if options.quick => (6, 6),
        None => (8, 15),
    };
    Repetitions { least, most, budget: Duration::from_secs(15 * 60) }
}

/// The settings that the library refuses: tries each on a run of two tasks.
fn refused(bench: &Bench, setups: &[Setup]) -> Vec<Refused> {
    let why = |setting: &Setting| {
        let error = format!("{:#}", bench.run(&plan::probe(setting), false).err()?);
        // Any other error occurs again when the setting is measured, and counts as a failure then.
        let line = error.lines().find_map(|line| Some(line.split_once(REFUSAL)?.1))?;
        Some(format!("SCHED_{line}"))
    };
    let settings = plan::settings(setups).into_iter();
    settings.filter_map(|setting| Some(Refused { why: why(&setting)?, setting })).collect()
}

fn opening(page: &mut Page, options: &Options, session: &Session, refused: &[Refused]) {
    page.title("The laboratory");
    let command = if options.quick { "make lab QUICK=1` (small sizes)" } else { "make lab`" };
    page.block(&format!(
        "Written by `{command}, and every figure in it measured then, unless a section says otherwise. {}.",
        page.note
    ));
    page.block(&machine_sentence(&session.calibration));
    page.block(&format!(
        "{} rounds; each runs every program under every setting once, a process a run, in an order \
         shuffled anew. Ratios are taken within a round, so that a slow minute of the machine cancels. \
         \"0.93 [0.90–0.96]\" is an estimate (Hodges and Lehmann, 1963) and its 95 % interval (Wilcoxon's \
         signed ranks); where 1 lies in the interval, no difference is seen. Of twenty such intervals one \
         misses by chance.",
        session.repetitions
    ));
    if !refused.is_empty() {
        page.block("Skipped, because this library refuses the setting:");
        let line = |r: &Refused| format!("`{}`: {}", r.setting.variables(), r.why);
        page.list(&refused.iter().map(line).collect::<Vec<_>>());
    }
    if !session.failures.is_empty() {
        page.block("**Failed:**");
        page.list(&session.failures);
    }
}

fn machine_sentence(calibration: &[Calibration]) -> String {
    let of = |value: fn(&Calibration) -> f64| {
        crate::statistics::quartiles::Quartiles::of(calibration.iter().map(value).collect())
    };
    let (Some(ns), Some(cores)) = (of(|c| c.ns), of(|c| c.cores)) else { return String::new() };
    format!(
        "While it ran, an iteration of `y = y*3 + 1` took {} ns, and {} of the cores were really ours \
         (medians and quartiles).",
        crate::statistics::quartiles::with_quartiles(ns),
        crate::statistics::quartiles::with_quartiles(cores)
    )
}

fn sections(lab: &Lab, data: &Data, page: &mut Page) -> Result<()> {
    page.heading("The fiber scheduler's claims");
    claims::section(lab, data, page)?;
    page.block("### The same where tasks compute");
    claims::computing_section(lab, data, page)?;
    page.block("### Idle workers");
    parts::burn_section(lab, data, page)?;
    page.heading("The fiber scheduler's tables");
    page.block(
        "Names, parameters and form are the author's: threads/tasks/yields/yields of the spawner; \
         threads/tasks/yields/slowness; threads/elements; threads/tasks of the first spawner/of the \
         second/yields. A slowness of 100 makes sleeps of 2 ns into sleeps of 200 ns, and the kernel rounds \
         both to its timer slack; a slowness of 2500000 makes sleeps of 5 ms, which really are 100 times as \
         long. If the workers' queues are first in, first out, a task that yields goes to the end of its \
         worker's own queue, as the author's do; every fourth time the worker looks at the global queue \
         first, so that no two tasks drift apart. With the default here the task goes to the end of the \
         global queue.",
    );
    fiber::section(lab, data, page)?;
    page.heading("Threads");
    kinds::threads_section(lab, data, page)?;
    for question in question::ALL {
        question.answer(lab, data, page)?;
    }
    page.block(question::STEALS);
    kinds::steals_section(lab, data, page)?;
    page.heading("Child stealing and continuation stealing");
    kinds::continuations_section(lab, data, page)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::setup::Kind;

    /// The page made from these runs.
    fn page(name: &str, lab: &Lab, runs: &[Run]) -> String {
        let folder = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let mut page = Page::new(&folder, "a machine");
        sections(lab, &Data::new(runs), &mut page).unwrap();
        let path = folder.join("LAB.md");
        page.write(&path).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        #[cfg(feature = "pictures")]
        for entry in std::fs::read_dir(&folder).unwrap() {
            let file = entry.unwrap().path();
            if file.extension().is_some_and(|extension| extension == "svg") {
                let svg = std::fs::read_to_string(&file).unwrap();
                crate::figures::chart::legible::assert_legible(&svg, &file.to_string_lossy());
            }
        }
        std::fs::remove_dir_all(&folder).unwrap();
        text
    }

    #[test]
    fn every_section_says_something() {
        let lab = Lab { cores: 2, quick: true };
        let seconds = |setup: &Setup| if setup.kind == Kind::Steal { 0.1 } else { 0.2 };
        let runs: Vec<Run> = (0..6)
            .flat_map(|i| {
                lab.setups().into_iter().map(move |s| data::tests::run(&s, i, seconds(&s)))
            })
            .collect();
        let text = page("lab-all", &lab, &runs);
        for (heading, section) in text.split("\n## ").filter_map(|s| s.split_once('\n')) {
            assert!(section.contains("**"), "{heading} has no verdict");
        }
        for word in ["NaN", "inf", "not measured"] {
            assert!(!text.contains(word), "{word} in\n{text}");
        }
        assert!(text.contains("Stealing beats GlobalFIFO: **confirmed**"));
        assert!(text.contains("Faster than GlobalFIFO: m½ all"));
    }

    #[test]
    fn a_question_alone_replaces_its_section() {
        let lab = Lab { cores: 2, quick: true };
        let all = page("lab-before", &lab, &[]);
        let question = Question::named("locks").unwrap();
        let runs: Vec<Run> = (0..6)
            .flat_map(|i| {
                (question.setups)(&lab).into_iter().map(move |s| data::tests::run(&s, i, 0.1))
            })
            .collect();
        let folder = std::env::temp_dir().join(format!("lab-alone-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("LAB.md");
        std::fs::write(&path, &all).unwrap();
        let mut alone = Page::new(&folder, "a machine");
        question.answer_alone(&lab, &Data::new(&runs), 6, &mut alone).unwrap();
        for _ in 0..2 {
            alone.write_into(&path, question.heading, question.next_heading).unwrap();
        }
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        let (before, after) = (all.split_once(question.heading), text.split_once(question.heading));
        let (Some(before), Some(after)) = (before, after) else { panic!("no section in\n{text}") };
        assert_eq!(before.0, after.0);
        let rest = |text: &str| text.split_once(question.next_heading).unwrap().1.to_owned();
        assert_eq!(rest(before.1), rest(after.1));
        assert!(after.1.contains("6 rounds") && after.1.contains("**Verdict:**"));
        assert_eq!(text.matches(question.heading).count(), 1);
    }

    #[test]
    fn nothing_measured_is_no_verdict() {
        let text = page("lab-none", &Lab { cores: 2, quick: true }, &[]);
        assert!(text.contains("not measured") && !text.contains("confirmed**"));
    }
}
