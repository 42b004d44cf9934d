//! The section on scaling beyond this machine, written by the simulator, with a figure.

use anyhow::Result;
use sched_simulator::lab as simulator;
use sched_simulator::policy::Policy;
use sched_simulator::process::Places;
use sched_simulator::report::{Program, Report, WORKERS};

use super::options::Options;
use super::page::Page;
use crate::figures::chart::{Bars, Colour, Figure, Key, Panel, Series, Shape};

use crate::figures::keys::{kind_key, names};
use crate::run::setup::Kind;
use crate::statistics::quartiles::Quartiles;

pub fn predict(options: &Options) -> Result<Report> {
    let places = Places { programs: options.programs.into(), lab: options.recorder.into() };
    let options =
        simulator::Options { places, quick: options.quick, rounds: None, seed: options.seed };
    simulator::run(&options, |what| eprintln!("scaling: {what}"))
}

pub fn section(report: &Report, page: &mut Page) -> Result<()> {
    page.figure("lab-scaling", &figure(report))?;
    page.verdict(&report.agreement());
    page.block(&report.markdown());
    Ok(())
}

fn figure(report: &Report) -> Figure<'static> {
    let series = |program: &str, policy: Policy| {
        let speedup = |&workers: &usize| {
            let s = report.prediction(program, policy, workers)?.speedup;
            Some(Quartiles { low: s, median: s, high: s })
        };
        Series { key: key(policy), points: WORKERS.iter().map(speedup).collect() }
    };
    let panel = |program: &Program| Panel {
        title: format!(
            "{} ({} tasks)",
            program.name,
            sched_tools::number::thousands(program.tasks as u64)
        ),
        x_title: "workers",
        y_title: "speed-up (log scale)",
        x_names: names(&WORKERS),
        series: Policy::ALL.iter().map(|&policy| series(&program.name, policy)).collect(),
        log: true,
        lines: true,
        reference: Some(1.0),
    };
    Figure {
        title: "Predicted speed-up on 1 to 1024 workers",
        reference: Some("one worker of steal"),
        bars: Bars::Predicted,
        panels: report.programs.iter().map(panel).collect(),
        columns: 2,
        panel_height: 300,
    }
}

/// A policy has the colour of its kind.
fn key(policy: Policy) -> Key {
    let own = match policy {
        Policy::Steal => kind_key(Kind::Steal),
        Policy::Cont => kind_key(Kind::Cont),
        Policy::Lifo => kind_key(Kind::Lifo),
        Policy::Fifo => kind_key(Kind::Fifo),
        Policy::StealHalf => {
            Key { name: String::new(), colour: Colour(235, 185, 60), shape: Shape::Wedge }
        }
    };
    Key { name: policy.name().to_owned(), ..own }
}

#[cfg(test)]
mod tests {
    use sched_simulator::report::Prediction;

    use super::*;
    use crate::figures::chart::tests::assert_told_apart;

    #[test]
    fn the_policies_of_the_figure_are_told_apart() {
        let name = "quicksort".to_owned();
        let (n, tasks, blocked, lost) = (1 << 18, 9193, 0.0, 0.0);
        let (work, span, burdened_span) = (1e7, 1e5, 2e5);
        let program = Program { name, n, tasks, work, span, burdened_span, blocked, lost };
        let programs = vec![program; 5];
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
        let figure = figure(&Report { programs, predictions, ..Report::default() });
        #[cfg(feature = "pictures")]
        crate::figures::chart::legible::assert_legible(
            &figure.svg("a machine").unwrap(),
            "lab-scaling",
        );
        assert_told_apart(&figure.panels);
    }
}
