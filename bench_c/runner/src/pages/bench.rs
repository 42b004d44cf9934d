//! `make bench`: compares the kinds, locks and idle policies of the library. The template bench.md
//! has its tables, sentences and figures.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use sched_tools::text::say;

use super::options::Options;
use super::results::{conclude, make_folder, write_json};
use super::template::{Filled, Source, fill};
use super::terminal;
use crate::data::{Measurements, Session};
use crate::machine::{self, Machine};
use crate::run::bench::Bench;
use crate::run::instructions;
use crate::run::plan::{Plan, Planned};
use crate::run::session::{self, Repetitions};

/// The name of the figure that the README shows.
const SPEEDUP: &str = "speedup-by-threads";

/// The beginning of sentences that compare several threads, if the machine was busy.
pub const DOUBTFUL: &str = "doubtful, since the machine was busy: ";

/// True if every run was right. The figure of speed-ups is also written to the file `figure`.
pub fn compare(options: &Options, figure: Option<&Path>) -> Result<bool> {
    let start = Instant::now();
    let machine = Machine::look();
    let (note, load) = (machine.line(), machine::load());
    let plan = Plan { cores: machine.cores, quick: options.quick };
    let cases = plan.bench(options.only)?;
    check_programs(options.programs, &cases)?;
    make_folder(options.results)?;
    println!("{note}");
    println!(
        "{} settings, a process a run, the repetitions interleaved (seed {})",
        cases.len(),
        options.seed
    );
    let bench = Bench::new(options.programs, options.limit, machine.cores);
    let mut session =
        session::run(&bench, machine, &cases, &repetitions(options), (options.seed, false));
    session.about.quick = options.quick;
    session.about.results = options.began.map(str::to_owned);
    println!("repetitions: {}", session.about.rounds);
    session.print_calibration(load);
    let filled = page(plan, session.clone())?;
    terminal::print(&filled.text);
    let both = ["tree", "fib"].iter().all(|name| cases.iter().any(|p| p.case.program == *name));
    if both {
        count_instructions(options.programs);
    }
    for (name, drawn) in &filled.charts {
        for path in drawn.write(&options.results.join(name), &note)? {
            println!("written: {}", path.display());
        }
    }
    if let Some(file) = figure {
        let from = options.results.join(SPEEDUP).with_extension("svg");
        std::fs::copy(&from, file)
            .with_context(|| format!("cannot copy {} to {}", from.display(), file.display()))?;
        println!("written: {}", file.display());
    }
    write_json(&options.results.join("results.json"), &session)?;
    let success = "all checksums agree, all task counts are those of the library";
    Ok(conclude(&session.about.failures, success, start))
}

/// The template with the values of a session.
fn page(plan: Plan, session: Session) -> Result<Filled> {
    let doubt = if session.is_taken() { DOUBTFUL } else { "" };
    let data = Measurements([("bench".to_owned(), session)].into());
    fill(include_str!("bench.md"), Source { data, plan: Some(plan), doubt, ..Source::default() })
}

/// Nothing is counted if there is no valgrind here, or only one that lacks instructions of this
/// processor.
fn count_instructions(programs: &Path) {
    match instructions::count(programs) {
        Ok(Some(instructions)) => say(instructions.to_string()),
        Ok(None) => println!("instructions per task: valgrind is not installed, not counted"),
        Err(e) => say(format!("instructions per task: not counted: {e:#}")),
    }
}

fn repetitions(options: &Options) -> Repetitions {
    let (least, most) = match options.repetitions {
        Some(n) => (n, n),
        None if options.quick => (5, 5),
        None => (5, 7),
    };
    let budget = Duration::from_secs(160);
    Repetitions { least, most, budget }
}

fn check_programs(folder: &Path, cases: &[Planned]) -> Result<()> {
    for planned in cases {
        let path = folder.join(&planned.case.program);
        ensure!(path.is_file(), "no program {}: run `make bench-programs` first", path.display());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use sched_tools::text::{COLUMNS, widest};

    use super::*;
    use crate::data::tests::made_up;

    fn filled(cores: usize, only: &[String], spread: f64) -> Filled {
        let plan = Plan { cores, quick: false };
        let mut session = made_up(&plan.bench(only).unwrap(), spread);
        session.about.machine.cores = cores;
        page(plan, session).unwrap()
    }

    #[test]
    fn all_that_was_measured_is_said_and_no_line_is_wider_than_a_terminal() {
        for cores in [1, 2, 64] {
            let filled = filled(cores, &[], 1.0);
            let text = terminal::shown(&filled.text);
            assert!(widest(&text) <= COLUMNS, "{text}");
            assert_eq!(filled.text.matches("\n| ---").count(), 8 + 10, "{text}");
            assert!(!text.contains("NaN"), "{text}");
            for said in
                ["tree, 1 thread: a task costs", "workers over one: fib", "sched_sort", "% of it"]
            {
                assert!(text.contains(said), "{said}: {text}");
            }
            assert_eq!(filled.charts.len(), 5);
        }
    }

    #[test]
    fn what_was_not_run_is_not_shown() {
        let text = filled(2, &["tree".to_owned()], 1.0).text;
        assert_eq!(text.matches("\n| ---").count(), 4, "{text}");
        assert!(!text.contains("fib") && text.contains("tree, 2 threads: a task costs"), "{text}");
        assert!(filled(2, &["nosuch".to_owned()], 1.0).text.trim().is_empty());
    }

    #[cfg(feature = "pictures")]
    #[test]
    fn the_figures_are_legible_and_told_apart() {
        use crate::figures::{legible::assert_legible, tests::assert_told_apart};
        let note =
            "AMD EPYC 9R14 96-Core Processor, 64 cores, Linux 6.18.44, libsched 0.1.0 (0123abc+)";
        for (cores, spread) in [(2, 0.3), (2, 3.0), (64, 1.0)] {
            for (name, figure) in filled(cores, &[], spread).charts {
                assert_legible(&figure.svg(note).unwrap(), &format!("{name}, {cores} cores"));
                assert_told_apart(&figure.panels);
            }
        }
    }
}
