//! The promises of the figures: series that can be told apart, and files. `legible` has those for
//! which texts are laid out.

use super::{Bars, Colour, Figure, Key, Panel, Series, Shape};
use crate::quartiles::Quartiles;

/// Each series differs from the others without its colour: by shape and lightness.
pub fn assert_told_apart(panels: &[Panel]) {
    let keys: Vec<&Key> = panels.iter().flat_map(|p| &p.series).map(|s| &s.key).collect();
    for (i, key) in keys.iter().enumerate() {
        assert!(lightness(key.colour) < 82.0, "{} is too light for paper", key.name);
        for other in keys[i + 1..].iter().filter(|other| other.name != key.name) {
            assert_ne!(key.shape, other.shape, "{} and {}", key.name, other.name);
            let apart = (lightness(key.colour) - lightness(other.colour)).abs();
            assert!(apart > 7.0, "{} and {}: {apart}", key.name, other.name);
        }
    }
}

/// A colour's lightness in greyscale: 0 is black, 100 white (CIE 1976, L*).
fn lightness(Colour(red, green, blue): Colour) -> f64 {
    let linear = |of: u8| (f64::from(of) / 255.0).powf(2.2);
    let y = 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
    116.0 * y.cbrt() - 16.0
}

pub fn panel(values: &[f64], lines: bool) -> Panel {
    let point = |&v: &f64| Some(Quartiles { low: 0.9 * v, median: v, high: 1.1 * v });
    let key = Key { name: "steal".into(), colour: Colour(0, 128, 92), shape: Shape::Circle };
    Panel {
        title: "a title".into(),
        x_title: "threads".into(),
        y_title: "speed-up".into(),
        x_names: (1..=values.len()).map(|i| i.to_string()).collect(),
        series: vec![Series { key, points: values.iter().map(point).collect() }],
        log: true,
        lines,
        reference: None,
        range: None,
    }
}

pub fn figure(panels: Vec<Panel>) -> Figure {
    let (reference, bars) = (None, Bars::Quartiles);
    Figure { title: "A figure".into(), reference, bars, panels, columns: 1, panel_height: 300 }
}

#[test]
fn the_csv_file_has_every_point() {
    let mut one = panel(&[1.0, 2.5], true);
    one.title = "tree (1,000 \"tasks\")".into();
    one.series[0].points.push(None);
    let text = String::from_utf8(figure(vec![one]).csv().unwrap()).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "panel,series,x,x_value,y,low,middle,high");
    assert_eq!(lines[1], "\"tree (1,000 \"\"tasks\"\")\",steal,threads,1,speed-up,0.9,1.0,1.1");
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
