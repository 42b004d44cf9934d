//! The promises of the figures: series that can be told apart, numbers and names that have room,
//! files. `legible` has those for which texts are laid out.

use super::layout::{Names, Room};
use super::numbers::write_numbers;
use super::panel::Drawn;
use super::style::WIDTH;
use super::{Bars, Figure, Key, Panel, Series};
use crate::figures::drawing::svg::{Canvas, Rect};
use crate::run::plan::Plan;
use crate::statistics::quartiles::Quartiles;
use crate::statistics::summary::{Summary, tests::made_up};

/// Each series differs from the others without its colour: by shape, kind of line and lightness.
pub fn assert_told_apart(panels: &[Panel]) {
    let keys: Vec<&Key> = panels.iter().flat_map(|p| &p.series).map(|s| &s.key).collect();
    for (i, key) in keys.iter().enumerate() {
        assert!(key.colour.lightness() < 82.0, "{} is too light for paper", key.name);
        for other in keys[i + 1..].iter().filter(|other| other.name != key.name) {
            assert_ne!(key.shape, other.shape, "{} and {}", key.name, other.name);
            let apart = (key.colour.lightness() - other.colour.lightness()).abs();
            assert!(apart > 7.0, "{} and {}: {apart}", key.name, other.name);
        }
    }
}

/// Noise of up to a factor of two, as on a machine that is shared.
pub fn seconds(i: usize, setup: &crate::run::setup::Setup) -> f64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    (i, setup).hash(&mut hasher);
    let noise = (hasher.finish() % 1000) as f64 / 1000.0;
    [1e-4, 0.0123, 4.5, 0.5, 0.5][i % 5] * 10f64.powf(noise * [0.0, 0.3, 3.0, 1.0, 0.05][i % 5])
}

pub fn panel(values: &[f64], lines: bool) -> Panel {
    let point = |&v: &f64| Some(Quartiles { low: 0.9 * v, median: v, high: 1.1 * v });
    let key = crate::figures::keys::kind_key(crate::run::setup::Kind::Steal);
    Panel {
        title: "a title".into(),
        x_title: "threads",
        y_title: "speed-up",
        x_names: (1..=values.len()).map(|i| i.to_string()).collect(),
        series: vec![Series { key, points: values.iter().map(point).collect() }],
        log: true,
        lines,
        reference: None,
    }
}

pub fn figure(panels: Vec<Panel>) -> Figure<'static> {
    let (reference, bars) = (None, Bars::Quartiles);
    Figure { title: "A figure", reference, bars, panels, columns: 1, panel_height: 300 }
}

/// A small drawing, byte by byte. The failure names the file of the new one: look at it, and if it
/// is better, copy it over the old one.
#[test]
fn a_figure_is_drawn_as_it_was() {
    let mut lines = panel(&[1.0, 1.9, 3.4], true);
    lines.reference = Some(1.0);
    let mut bars = panel(&[1.0, 1.05, 20.0], false);
    bars.title = "a title that is broken into lines (in parentheses)".into();
    let figure = Figure { columns: 2, ..figure(vec![lines, bars]) };
    let drawn = figure.svg("a note");
    if drawn != include_str!("figure.svg") {
        let path = std::env::temp_dir().join(format!("figure-{}.svg", std::process::id()));
        std::fs::write(&path, &drawn).unwrap();
        panic!("{} is not src/figures/chart/figure.svg", path.display());
    }
}

#[test]
fn the_series_of_bench_are_told_apart() {
    for cores in [1, 2, 6, 64] {
        let plan = Plan::new(cores, false, &[]);
        let summary = Summary::new(&made_up(&plan, |setup| seconds(0, setup)));
        let figures = crate::figures::bench::all(&plan, &summary);
        assert_eq!(figures.len(), 5);
        figures.iter().for_each(|(_, figure)| assert_told_apart(&figure.panels));
    }
}

/// With two cores nearly all numbers find a place, whatever the values.
#[test]
fn few_numbers_are_left_out() {
    let plan = Plan::new(2, false, &[]);
    let (mut all, mut written) = (0, 0);
    for i in 0..5 {
        let summary = Summary::new(&made_up(&plan, |setup| seconds(i, setup)));
        for (_, figure) in crate::figures::bench::all(&plan, &summary) {
            let cell = Rect {
                left: 0.0,
                top: 0.0,
                right: WIDTH / figure.columns as f64,
                bottom: figure.panel_height.into(),
            };
            let plot = Room::of(&figure.panels, cell.right, cell.bottom).plot(cell);
            for panel in figure.panels.iter().filter(|p| !p.lines) {
                let axis = panel.axis((plot.bottom, plot.top)).unwrap();
                let drawn: Vec<Drawn> = panel.drawn(&axis, plot).into_iter().flatten().collect();
                let mut canvas = Canvas::default();
                write_numbers(&mut canvas, &drawn, plot);
                all += drawn.len();
                written += canvas.finish(1.0, 1.0, "").matches("<text").count();
            }
        }
    }
    assert!(written * 100 >= all * 95, "{written} of {all}");
}

#[test]
fn names_that_are_too_wide_stand_in_two_rows_or_are_left_out() {
    let names = |count: usize, width| {
        let Names { rows, every } = Names::of(&panel(&vec![1.0; count], true), width);
        (rows, every)
    };
    assert_eq!(names(4, 400.0), (1, 1));
    assert_eq!(names(9, 150.0), (2, 1));
    assert_eq!(names(9, 60.0), (1, 4));
}

#[test]
fn the_csv_file_has_every_point() {
    let mut one = panel(&[1.0, 2.5], true);
    one.title = "tree (1,000 \"tasks\")".into();
    one.series[0].points.push(None);
    let text = figure(vec![one]).csv();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "panel,series,x,x_value,y,low,middle,high");
    assert_eq!(lines[1], "\"tree (1,000 \"\"tasks\"\")\",steal,threads,1,speed-up,0.9,1,1.1");
    assert!(lines[2].starts_with("\"tree") && lines[2].ends_with(",2.25,2.5,2.75"));
    assert_eq!(lines.len(), 3);
}

#[test]
fn a_figure_is_a_file_of_each_form() {
    let folder = std::env::temp_dir().join(format!("sched-bench-chart-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let written = figure(vec![panel(&[1.0], true)]).write(&folder.join("name"), "").unwrap();
    let extensions = written.iter().map(|path| path.extension().unwrap().to_str().unwrap());
    let pictures: &[&str] = if cfg!(feature = "pictures") { &["png", "pdf"] } else { &[] };
    assert!(extensions.eq(["svg", "csv"].iter().chain(pictures).copied()));
    assert!(written.iter().all(|path| path.metadata().unwrap().len() > 50));
    std::fs::remove_dir_all(&folder).unwrap();
}
