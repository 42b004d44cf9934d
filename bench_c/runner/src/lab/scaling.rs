//! Scaling beyond this machine: the simulator's section, with a figure.

use anyhow::Result;
use plotters::style::RGBColor;
use sched_simulator::lab::{self as simulator, Report, WORKERS};
use sched_simulator::policy::Policy;
use sched_simulator::process::Places;

use super::Options;
use super::page::Page;
use crate::chart::{Bars, Figure, Key, Panel, Series, Shape};
use crate::figures::{kind_key, names};
use crate::plan::Kind;
use crate::summary::Quartiles;

pub fn predict(options: &Options) -> Result<Report> {
    let places = Places { programs: options.programs.into(), lab: options.recorder.into() };
    let options = simulator::Options { places, quick: options.quick, seed: options.seed };
    simulator::run(&options, |what| eprintln!("scaling: {what}"))
}

pub fn section(report: &Report, page: &mut Page) -> Result<()> {
    let series = |program: &str, policy: Policy| {
        let speedup = |&workers: &usize| {
            let s = report.prediction(program, policy, workers)?.speedup;
            Some(Quartiles { low: s, median: s, high: s })
        };
        Series { key: key(policy), points: WORKERS.iter().map(speedup).collect() }
    };
    let panel = |program: &simulator::Program| Panel {
        title: format!(
            "{} ({} tasks)",
            program.name,
            crate::figures::thousands(program.tasks as u64)
        ),
        x_title: "workers",
        y_title: "speed-up (log scale)",
        x_names: names(&WORKERS),
        series: Policy::ALL.iter().map(|&policy| series(&program.name, policy)).collect(),
        log: true,
        lines: true,
        reference: Some(1.0),
    };
    let figure = Figure {
        title: "Predicted speed-up on 1 to 1024 workers",
        reference: Some("one worker of steal"),
        bars: Bars::Predicted,
        panels: report.programs.iter().map(panel).collect(),
        columns: 2,
        panel_height: 300,
    };
    page.figure("lab-scaling", &figure)?;
    page.verdict(&report.agreement());
    page.block(&report.markdown());
    Ok(())
}

/// A kind's colour is its policy's.
fn key(policy: Policy) -> Key {
    let own = match policy {
        Policy::Steal => kind_key(Kind::Steal),
        Policy::Cont => kind_key(Kind::Cont),
        Policy::Lifo => kind_key(Kind::Lifo),
        Policy::Fifo => kind_key(Kind::Fifo),
        Policy::StealHalf => {
            Key { name: String::new(), colour: RGBColor(230, 159, 0), shape: Shape::Triangle }
        }
    };
    Key { name: policy.name().to_owned(), ..own }
}
