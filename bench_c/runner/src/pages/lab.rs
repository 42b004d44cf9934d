//! `make lab`: answers the questions of the course's subject, and checks the claims of the author
//! of a fiber scheduler, by measurements. It writes docs/LAB.md with its figures.
//!
//! The template lab.md has the page: tables and figures, each with a sentence computed from the
//! results. A line `<!-- NAME -->` begins the section of one question. `make lab QUESTION=NAME`
//! measures that question alone, and replaces its section. The sections on scaling, which the simulator
//! writes, and on other machines stay when the page is made again from the data (`lab-page`).

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use sched_simulator::lab as simulator;
use sched_simulator::policy::Policy;
use sched_simulator::process::Places;
use sched_simulator::report::{Program, Report, WORKERS};
use sched_tools::number::thousands;

use super::options::Options;
use super::results::{conclude, make_folder, write_json};
use super::template::{Filled, Source, fill, key};
use crate::data::{About, Measurements, Session};
use crate::figures::{Bars, Figure, Panel, Series};
use crate::machine::{self, Machine};
use crate::quartiles::{Quartiles, with_quartiles};
use crate::run::bench::Bench;
use crate::run::plan::Plan;
use crate::run::session::{self, Repetitions};

const SCALING: &str = "## Scaling beyond this machine";
/// What was measured on other machines stays from one session to the next.
const ELSEWHERE: &str = "lab-elsewhere.md";

/// The folders of LAB.md and of the recorder, and the only question to ask; None: all.
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
    make_folder(lab.docs)?;
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
    let mut session = session::run(&bench, machine, &cases, &rounds(options), (options.seed, true));
    session.about.quick = options.quick;
    session.about.refused = refused.into_iter().map(|(case, why)| (case.setting(), why)).collect();
    session.print_calibration(load);
    let path = lab.docs.join("LAB.md");
    match lab.question {
        Some(name) => write_section(name, &path, plan, session.clone())?,
        None => {
            let scaling = scaling(options, lab).unwrap_or_else(|e| {
                session.about.failures.push(format!("scaling: {e:#}"));
                format!("**Failed:** {e:#}\n")
            });
            write_page(lab.docs, plan, session.clone(), &scaling)?;
        }
    }
    let name = lab.question.map_or("lab.json".into(), |name| format!("lab-{name}.json"));
    write_json(&options.results.join(name), &session)?;
    Ok(conclude(&session.about.failures, "all answers are right and the same", start))
}

/// Makes the page again from a session that was kept. The sections on scaling and on other machines
/// stay.
pub fn write_again(docs: &Path, session: &Session) -> Result<bool> {
    let fiber = session.cases.iter().any(|m| m.case.program.starts_with("fiber_"));
    ensure!(fiber, "the measurements were kept without those of LAB.md alone: `make lab` first");
    let plan = Plan { cores: session.about.machine.cores, quick: false };
    let old = std::fs::read_to_string(docs.join("LAB.md")).context("cannot read LAB.md")?;
    let (_, scaling) =
        old.split_once(&format!("{SCALING}\n\n")).context("no section on scaling")?;
    let scaling = scaling.split("\n## ").next().unwrap_or(scaling);
    write_page(docs, plan, session.clone(), scaling)?;
    Ok(true)
}

/// With the sizes of `--quick` six rounds, the least number that decides at 95 %, take less than
/// two minutes on two cores. Otherwise the number of rounds depends on the time that they take.
fn rounds(options: &Options) -> Repetitions {
    let (least, most) = match options.repetitions {
        Some(n) => (n, n),
        None if options.quick => (6, 6),
        None => (8, 15),
    };
    Repetitions { least, most, budget: Duration::from_secs(15 * 60) }
}

fn write_page(docs: &Path, plan: Plan, session: Session, scaling: &str) -> Result<()> {
    let opening = opening(&session.about);
    let note = session.about.machine.line();
    let filled = page(plan, session, opening)?;
    filled.draw(docs, &note)?;
    let measured = filled.text.lines().filter(|line| !line.starts_with("<!-- "));
    let mut text = measured.collect::<Vec<_>>().join("\n");
    text += &format!("\n\n{SCALING}\n\n{scaling}\n");
    if let Ok(elsewhere) = std::fs::read_to_string(docs.join(ELSEWHERE)) {
        text += &format!("\n## On 16 processors\n\n{elsewhere}");
    }
    write(&docs.join("LAB.md"), &one_blank_line(&text))
}

/// Measures one question: its section takes the place of the old one, or stands before the next
/// section if there is none yet.
fn write_section(name: &str, path: &Path, plan: Plan, session: Session) -> Result<()> {
    let (note, rounds) = (session.about.machine.line(), session.about.rounds);
    let filled = page(plan, session, String::new())?;
    let after = filled.text.split_once(&format!("<!-- {name} -->\n"));
    let (section, rest) =
        after.and_then(|(_, after)| after.split_once("<!-- ")).context("no such section")?;
    let next = rest.lines().nth(1).context("no next section")?;
    let (heading, text) = section.split_once('\n').context("an empty section")?;
    let section = format!(
        "{heading}\n\n*Measured apart from the rest of this page, by `make lab QUESTION={name}`: {note}, \
         {rounds} rounds.*\n{text}"
    );
    let own: Vec<_> = filled
        .charts
        .into_iter()
        .filter(|(name, _)| section.contains(&format!("({name}.svg)")))
        .collect();
    Filled { text: String::new(), charts: own }.draw(path.parent().unwrap_or(path), &note)?;
    let old =
        std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let line = |wanted: &str| old.find(&format!("\n{wanted}\n")).map(|before| before + 1);
    let end = line(next).with_context(|| format!("{} has no line `{next}`", path.display()))?;
    let start = line(heading).unwrap_or(end);
    let section = one_blank_line(&section);
    write(path, &format!("{}{}\n\n{}", &old[..start], section.trim_end(), &old[end..]))
}

fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
    println!("written: {}", path.display());
    Ok(())
}

/// The template with the values of a session.
fn page(plan: Plan, session: Session, opening: String) -> Result<Filled> {
    let data = Measurements([("lab".to_owned(), session)].into());
    fill(include_str!("lab.md"), Source { data, plan: Some(plan), opening, ..Source::default() })
}

/// Blocks of a template leave blank lines.
fn one_blank_line(text: &str) -> String {
    let mut lines: Vec<&str> = Vec::new();
    for line in text.lines().map(str::trim_end) {
        if !(line.is_empty() && lines.last().is_none_or(|last| last.is_empty())) {
            lines.push(line);
        }
    }
    lines.join("\n").trim_end().to_owned() + "\n"
}

fn opening(about: &About) -> String {
    let command = if about.quick { "make lab QUICK=1` (small sizes)" } else { "make lab`" };
    let of = |value: fn(&machine::Calibration) -> f64| {
        let quartiles = Quartiles::of(about.calibration.iter().map(value).collect());
        quartiles.map_or("-".into(), with_quartiles)
    };
    let mut text = format!(
        "Written by `{command}, and every figure in it measured then, unless a section says otherwise. {}.\n\n\
         While it ran, an iteration of `y = y*3 + 1` took {} ns, and {} of the cores were really ours \
         (medians and quartiles).\n\n\
         {} rounds; each runs every program under every setting once, a process a run, in an order \
         shuffled anew. Ratios are taken within a round, so that a slow minute of the machine cancels. \
         \"0.93 [0.90–0.96]\" is an estimate (Hodges and Lehmann, 1963) and its 95 % interval (Wilcoxon's \
         signed ranks); where 1 lies in the interval, no difference is seen. Of twenty such intervals one \
         misses by chance.\n\n",
        about.machine.line(),
        of(|c| c.ns),
        of(|c| c.cores),
        about.rounds
    );
    if !about.refused.is_empty() {
        text += "Skipped, because this library refuses the setting:\n\n";
        about.refused.iter().for_each(|(setting, why)| text += &format!("- `{setting}`: {why}\n"));
        text += "\n";
    }
    if !about.failures.is_empty() {
        text += "**Failed:**\n\n";
        about.failures.iter().for_each(|failure| text += &format!("- {failure}\n"));
        text += "\n";
    }
    text
}

/// The section on scaling, with its figure: the simulator's.
fn scaling(options: &Options, lab: &Lab) -> Result<String> {
    let places = Places { programs: options.programs.into(), lab: lab.recorder.into() };
    let (quick, seed) = (options.quick, options.seed);
    let options = simulator::Options { places, quick, rounds: None, seed };
    let report = simulator::run(&options, |what| eprintln!("scaling: {what}"))?;
    let figure = predicted(&report)?;
    figure.draw(&lab.docs.join("lab-scaling.svg"), &Machine::look().line())?;
    Ok(format!(
        "![{}](lab-scaling.svg)\n\n**Verdict:** {}\n\n{}",
        figure.title,
        report.agreement(),
        report.markdown()
    ))
}

/// A policy has the colour of its kind.
fn predicted(report: &Report) -> Result<Figure> {
    let series = |program: &str, policy: Policy| -> Result<Series> {
        let point = |&workers: &usize| {
            let s = report.prediction(program, policy, workers)?.speedup;
            Some(Quartiles { low: s, median: s, high: s })
        };
        let style = if policy == Policy::StealHalf { "half" } else { policy.name() };
        Ok(Series { key: key(policy.name(), style)?, points: WORKERS.iter().map(point).collect() })
    };
    let panel = |program: &Program| -> Result<Panel> {
        let all = Policy::ALL.iter().map(|&policy| series(&program.name, policy));
        Ok(Panel {
            title: format!("{} ({} tasks)", program.name, thousands(program.tasks as u64)),
            x_title: "workers".into(),
            y_title: "speed-up (log scale)".into(),
            x_names: WORKERS.iter().map(ToString::to_string).collect(),
            series: all.collect::<Result<_>>()?,
            log: true,
            lines: true,
            reference: Some(1.0),
        })
    };
    Ok(Figure {
        title: "Predicted speed-up on 1 to 1024 workers".into(),
        reference: Some("one worker of steal".into()),
        bars: Bars::Predicted,
        panels: report.programs.iter().map(panel).collect::<Result<_>>()?,
        columns: 2,
        panel_height: 300,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::tests::{made_up, session};

    const PLAN: Plan = Plan { cores: 2, quick: true };

    fn folder(name: &str) -> std::path::PathBuf {
        let folder = sched_tools::process::scratch_file(name);
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    /// The page of a session, in a folder of its own.
    fn written(name: &str, session: Session) -> (std::path::PathBuf, String) {
        let folder = folder(name);
        write_page(&folder, PLAN, session, "**Verdict:** none.").unwrap();
        let text = std::fs::read_to_string(folder.join("LAB.md")).unwrap();
        (folder, text)
    }

    #[test]
    fn every_section_says_something() {
        let mut all = made_up(&PLAN.lab(None).unwrap(), 0.0);
        // Work stealing takes half of the time.
        for measured in all.cases.iter_mut().filter(|m| m.case.by == "steal") {
            let seconds = measured.values.get_mut("seconds").unwrap();
            seconds.iter_mut().flatten().for_each(|value| *value /= 2.0);
        }
        let (folder, text) = written("lab-all", all);
        for (heading, section) in text.split("\n## ").filter_map(|s| s.split_once('\n')) {
            assert!(
                heading.starts_with("# ") || section.contains("**"),
                "{heading} has no verdict"
            );
        }
        for word in ["NaN", "inf", "not measured", "<!--"] {
            assert!(!text.contains(word), "{word} in\n{text}");
        }
        assert!(text.contains("Stealing beats GlobalFIFO: **confirmed**"), "{text}");
        assert!(text.contains("Faster than GlobalFIFO: m½ all"));
        #[cfg(feature = "pictures")]
        for entry in std::fs::read_dir(&folder).unwrap() {
            let file = entry.unwrap().path();
            if file.extension().is_some_and(|extension| extension == "svg") {
                let svg = std::fs::read_to_string(&file).unwrap();
                crate::figures::legible::assert_legible(&svg, &file.to_string_lossy());
            }
        }
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1 + 10);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_question_alone_replaces_its_section() {
        let (folder, before) = written("lab-alone", session(&[], 0, |_, _| 0.0));
        let path = folder.join("LAB.md");
        let mut one = made_up(&PLAN.lab(Some("locks")).unwrap(), 0.0);
        one.about.rounds = 6;
        for _ in 0..2 {
            write_section("locks", &path, PLAN, one.clone()).unwrap();
        }
        let after = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        let (heading, next) = ("### The lock policies of", "## 1 ms sleep");
        let parts = |text: &str| {
            let (before, rest) = text.split_once(heading).unwrap();
            let (section, rest) = rest.split_once(next).unwrap();
            [before, section, rest].map(str::to_owned)
        };
        let (old, new) = (parts(&before), parts(&after));
        assert_eq!((&old[0], &old[2]), (&new[0], &new[2]));
        assert!(new[1].contains("6 rounds") && new[1].contains("**Verdict:**"), "{}", new[1]);
        assert_eq!(after.matches(heading).count(), 1);
    }

    #[test]
    fn nothing_measured_is_no_verdict() {
        let (folder, text) = written("lab-none", session(&[], 0, |_, _| 0.0));
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(text.contains("not measured") && !text.contains("confirmed**"));
    }

    #[test]
    fn a_page_is_made_again_but_for_the_simulator() {
        let mut all = made_up(&PLAN.lab(None).unwrap(), 0.0);
        all.about.machine.cores = 2;
        let (folder, _) = written("lab-again", all.clone());
        let text = std::fs::read_to_string(folder.join("LAB.md")).unwrap();
        std::fs::write(folder.join("LAB.md"), text.replace("## Threads", "## Old")).unwrap();
        write_again(&folder, &all).unwrap();
        let again = std::fs::read_to_string(folder.join("LAB.md")).unwrap();
        assert!(again.contains("## Threads") && again.ends_with("**Verdict:** none.\n"), "{again}");
        all.cases.retain(|m| !m.case.program.starts_with("fiber_"));
        assert!(write_again(&folder, &all).is_err());
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn the_policies_of_the_figure_are_told_apart() {
        use sched_simulator::report::Prediction;
        let name = "quicksort".to_owned();
        let (n, tasks, blocked, lost) = (1 << 18, 9193, 0.0, 0.0);
        let (work, span, burdened_span) = (1e7, 1e5, 2e5);
        let program = Program { name, n, tasks, work, span, burdened_span, blocked, lost };
        let prediction = |(i, policy): (usize, &Policy), workers: usize| Prediction {
            program: "quicksort".into(),
            policy: *policy,
            workers,
            nanoseconds: 1e7,
            speedup: (workers as f64).powf(1.0 - 0.2 * i as f64),
            steals: 0,
            wakes: 0,
        };
        let policies = Policy::ALL.iter().enumerate();
        let predictions =
            policies.flat_map(|policy| WORKERS.map(|workers| prediction(policy, workers)));
        let predictions = predictions.collect();
        let report = Report { programs: vec![program; 5], predictions, ..Report::default() };
        let figure = predicted(&report).unwrap();
        #[cfg(feature = "pictures")]
        crate::figures::legible::assert_legible(&figure.svg("a machine").unwrap(), "lab-scaling");
        crate::figures::tests::assert_told_apart(&figure.panels);
    }
}
