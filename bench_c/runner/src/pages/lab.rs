//! `make lab`: answers the questions of the course's subject, and checks the claims of the author
//! of a fiber scheduler, by measurements. It prints the conclusions of docs/report/lab.md, the
//! template of docs/LAB.md, and draws their figures; `make lab QUESTION=NAME` asks one question.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use sched_simulator::lab as simulator;
use sched_simulator::process::Places;
use sched_simulator::report::Report;

use super::options::Options;
use super::results::{conclude, make_folder, write_json};
use super::template::{Filled, Source, fill, reflowed};
use super::terminal;
use crate::data::{About, Case, Measurements, Session};
use crate::machine::{self, Machine, calibrate};
use crate::run::bench::Bench;
use crate::run::plan::{Plan, questions};
use crate::run::session::{self, Repetitions};

/// The folders of the template and of the recorder, and the only question to ask; None: all.
pub struct Lab<'a> {
    pub docs: &'a Path,
    pub recorder: &'a Path,
    pub question: Option<&'a str>,
}

/// True if every run was right.
pub fn measure(options: &Options, lab: &Lab) -> Result<bool> {
    let start = Instant::now();
    let machine = Machine::look();
    let (note, load) = (machine.line(), machine::load());
    let plan = Plan { cores: machine.cores, quick: options.quick };
    make_folder(options.results)?;
    let bench = Bench::new(options.programs, options.limit, machine.cores);
    println!("{note}");
    let mut cases = plan.lab(lab.question)?;
    let refused = session::refused(&bench, &cases);
    for (case, why) in &refused {
        println!("skipped: {}: {why}", case.setting());
    }
    cases.retain(|p| refused.iter().all(|(case, _)| case.variables() != p.case.variables()));
    println!("{} settings, the rounds interleaved (seed {})", cases.len(), options.seed);
    let order = (options.seed, true);
    let mut session = session::run(&bench, machine.clone(), &cases, &rounds(options), order);
    session.about.quick = options.quick;
    session.about.results = options.began.map(str::to_owned);
    session.about.refused = refused.into_iter().map(|(case, why)| (case.setting(), why)).collect();
    println!("rounds: {}", session.about.rounds);
    session.print_calibration(load);
    if lab.question.is_none() {
        let report = scaling(options, lab, machine)?;
        write_json(&options.results.join("scaling.json"), &report)?;
    }
    let name = lab.question.map_or("lab.json".into(), |name| format!("lab-{name}.json"));
    write_json(&options.results.join(name), &session)?;
    let template = std::fs::read_to_string(lab.docs.join("report/lab.md"));
    let template = template.context("cannot read the template report/lab.md")?;
    let filled = page(&template, plan, session.clone(), lab.question)?;
    filled.draw(options.results, &note)?;
    terminal::print(&reflowed(&filled.text, 100_000));
    Ok(conclude(&session.about.failures, "all answers are right and the same", start))
}

/// With the sizes of `--quick` six rounds, the least number that decides at 95 %, take less than
/// two minutes on two cores. Otherwise the number of rounds depends on the time that they take.
fn rounds(options: &Options) -> Repetitions {
    let (least, most, minutes) = match options.repetitions {
        Some(n) => (n, n, 15),
        None if options.quick => (6, 6, 15),
        None if options.began.is_some() => (7, 10, 8),
        None => (8, 15, 15),
    };
    Repetitions { least, most, budget: Duration::from_secs(minutes * 60) }
}

/// The page that the template makes of a session, for these questions.
fn page(template: &str, plan: Plan, session: Session, question: Option<&str>) -> Result<Filled> {
    let asked = questions().into_iter().filter(|name| question.is_none_or(|one| one == *name));
    let asked = asked.map(str::to_owned).collect();
    let data = Measurements([("lab".to_owned(), session)].into());
    fill(template, Source { data, plan: Some(plan), asked, ..Source::default() })
}

/// The predictions of the simulator, and how far they agree with its measurements.
fn scaling(options: &Options, lab: &Lab, machine: Machine) -> Result<Session> {
    let start = Instant::now();
    let places = Places { programs: options.programs.into(), lab: lab.recorder.into() };
    let mut about = About { quick: options.quick, ..About::new(machine) };
    about.results = options.began.map(str::to_owned);
    about.rounds = if options.quick { 8 } else { 12 };
    about.calibration.push(calibrate(about.machine.cores));
    let (rounds, seed) = (Some(about.rounds), options.seed);
    let simulated = simulator::Options { places, quick: options.quick, rounds, seed };
    let report = simulator::run(&simulated, |what| eprintln!("scaling: {what}"))?;
    report.doubts().iter().for_each(|doubt| println!("not to be trusted: {doubt}"));
    about.calibration.push(calibrate(about.machine.cores));
    about.end(start.elapsed());
    Ok(predictions(&report, about))
}

/// A case for each program alone, whose kind is `none`, and one for each policy and number of
/// workers.
fn predictions(report: &Report, about: About) -> Session {
    let mut session = Session { about, cases: Vec::new() };
    let size = |program: &str| report.programs.iter().find(|p| p.name == program);
    let mut add = |program: &str, by: &str, threads, values: &[(&str, f64)]| {
        let (n, tasks) = size(program).map_or((0, 0), |p| (p.n, p.tasks as u64));
        let (program, by) = (program.to_owned(), by.to_owned());
        let case = Case { program, n, by, threads, ..Case::default() };
        let values = values.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        session.add(&case, tasks, Some(1), values);
    };
    for p in &report.programs {
        let alone = [
            ("work_ms", p.work / 1e6),
            ("span_ms", p.span / 1e6),
            ("parallelism", p.work / p.span),
        ];
        add(&p.name, "none", 1, &alone);
    }
    for p in &report.predictions {
        add(&p.program, p.policy.name(), p.workers, &[("speedup", p.speedup)]);
    }
    for check in &report.checks {
        let values =
            [("predicted_ms", check.predicted / 1e6), ("measured_ms", check.measured.value / 1e6)];
        add(&check.program, check.policy.name(), check.workers, &values);
    }
    session
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::tests::{made_up, session};

    const PLAN: Plan = Plan { cores: 2, quick: true };
    const TEMPLATE: &str = include_str!("../../../../docs/report/lab.md");

    #[test]
    fn every_question_has_an_answer() {
        let mut all = made_up(&PLAN.lab(None).unwrap(), 0.0);
        // Work stealing takes half of the time.
        for measured in all.cases.iter_mut().filter(|m| m.case.by == "steal") {
            let seconds = measured.values.get_mut("seconds").unwrap();
            seconds.iter_mut().flatten().for_each(|value| *value /= 2.0);
        }
        let filled = page(TEMPLATE, PLAN, all.clone(), None).unwrap();
        let text = filled.text;
        for word in ["NaN", "inf", "not measured", "{{"] {
            assert!(!text.contains(word), "{word} in\n{text}");
        }
        assert!(text.contains("(GlobalFIFO) | confirmed |"), "{text}");
        assert_eq!((text.matches("\n## ").count(), filled.charts.len()), (questions().len(), 4));
        #[cfg(feature = "pictures")]
        for (name, figure) in filled.charts {
            crate::figures::legible::assert_legible(&figure.svg("a machine").unwrap(), &name);
        }
        let one = page(TEMPLATE, PLAN, all, Some("locks")).unwrap();
        assert_eq!((one.text.matches("\n## ").count(), one.charts.len()), (1, 1), "{}", one.text);
    }

    #[test]
    fn nothing_measured_is_no_verdict() {
        let text = page(TEMPLATE, PLAN, session(&[], 0, |_, _| 0.0), None).unwrap().text;
        assert!(text.contains("not measured") && !text.contains("confirmed |"), "{text}");
    }

    #[test]
    fn predictions_are_a_session() {
        use sched_simulator::policy::Policy;
        use sched_simulator::report::{Prediction, Program};
        let name = "fib".to_owned();
        let (n, tasks, blocked, lost) = (27, 9, 0.0, 0.0);
        let (work, span, burdened_span) = (1e7, 1e5, 2e5);
        let program = Program { name, n, tasks, work, span, burdened_span, blocked, lost };
        let of = |workers: usize| Prediction {
            program: "fib".into(),
            policy: Policy::StealHalf,
            workers,
            nanoseconds: 1e7,
            speedup: workers as f64 / 2.0,
            steals: 0,
            wakes: 0,
        };
        let predictions = vec![of(16), of(64)];
        let report = Report { programs: vec![program], predictions, ..Report::default() };
        let made = super::predictions(&report, About::new(Machine::default()));
        let data = Measurements([("scaling".to_owned(), made)].into());
        let source = Source { data, ..Source::default() };
        let text = "{{parallelism(\"fib\")}} {{best(\"fib steal~half\")}} {{predicted(\"fib steal~half 16\")}}";
        assert_eq!(fill(text, source).unwrap().text, "100 32.0 (64) 8.00");
    }
}
