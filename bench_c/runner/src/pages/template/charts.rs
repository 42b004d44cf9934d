//! A figure of a page: `chart(NAME, title=…, panels=…, x=…, series=…, place=…)`.
//!
//! Panels, names on the x axis and series are rows of texts, the first of which is shown; the
//! second of a series is its style. A point is the value of the place `place`, where `{p0}` stands
//! for the first text of the panel, `{x0}` for the first text of the name, and `{s0}` for the first
//! text of the series. Panels in which nothing was measured are left out, and so is a figure
//! without panels. With `same=true` the panels of a unit have one scale.

use anyhow::{Context, Result};
use minijinja::value::{Kwargs, Value};

use super::source::Source;
use crate::figures::{Bars, Colour, Figure, Key, Panel, Series, Shape};

/// The hues are from Okabe and Ito, which colour-blind readers can tell apart. Each has a lightness
/// of its own. A kind has one colour and one shape in all figures.
fn key(name: &str, style: &str) -> Result<Key> {
    let (colour, shape) = match style {
        "none" => (Colour(90, 90, 90), Shape::Wedge),
        "lifo" => (Colour(222, 100, 10), Shape::Square),
        "fifo" => (Colour(0, 66, 140), Shape::Triangle),
        "steal" => (Colour(0, 128, 92), Shape::Circle),
        "cont" => (Colour(214, 140, 182), Shape::Diamond),
        // Also for steal, with more threads than cores.
        "light" => (Colour(118, 190, 160), Shape::Diamond),
        "half" => (Colour(235, 185, 60), Shape::Wedge),
        other => anyhow::bail!("no style `{other}`"),
    };
    Ok(Key { name: name.to_owned(), colour, shape })
}

/// Rows of texts; a text alone is a row.
fn rows(value: Value) -> Result<Vec<Vec<String>>> {
    let row = |value: Value| match value.as_str() {
        Some(text) => Ok(vec![text.to_owned()]),
        None => Ok(value.try_iter()?.map(|text| text.to_string()).collect()),
    };
    value.try_iter()?.map(row).collect()
}

fn filled(place: &str, of: char, row: &[String]) -> String {
    let fill =
        |place: String, (i, text): (usize, &String)| place.replace(&format!("{{{of}{i}}}"), text);
    row.iter().enumerate().fold(place.to_owned(), fill)
}

/// Panels with the same title of their y axis get the same scale.
fn share_scales(panels: &mut [Panel]) {
    let mut ranges: Vec<(String, (f64, f64))> = Vec::new();
    for panel in panels.iter() {
        let points = || panel.series.iter().flat_map(|s| s.points.iter().flatten());
        let low = points().map(|q| q.low).fold(f64::INFINITY, f64::min);
        let high = points().map(|q| q.high).fold(0.0, f64::max);
        match ranges.iter_mut().find(|(y, _)| *y == panel.y_title) {
            Some((_, range)) => *range = (range.0.min(low), range.1.max(high)),
            None => ranges.push((panel.y_title.clone(), (low, high))),
        }
    }
    for panel in panels {
        panel.range = ranges.iter().find(|(y, _)| *y == panel.y_title).map(|(_, range)| *range);
    }
}

pub fn figure(source: &Source, options: &Kwargs) -> Result<Figure> {
    let text = |name: &str| -> Result<String> {
        Ok(options.get::<Option<String>>(name)?.unwrap_or_default())
    };
    let flag =
        |name: &str| -> Result<bool> { Ok(options.get::<Option<bool>>(name)?.unwrap_or(false)) };
    let (place, y) = (text("place")?, text("y")?);
    let x = rows(options.get("x")?)?;
    let series = rows(options.get("series")?)?;
    let log = flag("log")?;
    let mut panels = Vec::new();
    for panel in rows(options.get("panels")?)? {
        let of_series = |row: &Vec<String>| -> Result<Series> {
            let style = row.get(1).or(row.first()).context("a series without a name")?;
            let point = |name: &Vec<String>| {
                let place = filled(&filled(&place, 'p', &panel), 'x', name);
                source.point(&filled(&place, 's', row))
            };
            Ok(Series { key: key(&row[0], style)?, points: x.iter().map(point).collect() })
        };
        let series: Vec<Series> = series.iter().map(of_series).collect::<Result<_>>()?;
        // A name that was measured nowhere in a panel needs no place in it.
        let measured = |i: &usize| series.iter().any(|s| s.points[*i].is_some());
        let shown: Vec<usize> =
            (0..x.len()).filter(|i| !flag("some").unwrap_or(false) || measured(i)).collect();
        let kept = |s: Series| Series { points: shown.iter().map(|&i| s.points[i]).collect(), ..s };
        let title = panel.first().cloned().unwrap_or_default();
        let panel = Panel {
            title,
            x_title: text("x_title")?,
            y_title: panel.get(3).map_or_else(|| y.clone(), |y| y.clone())
                + if log { " (log scale)" } else { "" },
            x_names: shown.iter().map(|&i| x[i][0].clone()).collect(),
            series: series.into_iter().map(kept).collect(),
            log,
            lines: flag("lines")?,
            reference: options.get::<Option<String>>("reference")?.map(|_| 1.0),
            range: None,
        };
        if panel.series.iter().any(|s| s.points.iter().any(Option::is_some)) {
            panels.push(panel);
        }
    }
    if flag("same")? {
        share_scales(&mut panels);
    }
    let bars = match text("bars")?.as_str() {
        "interval" => Bars::Interval,
        "medians" => Bars::Medians,
        "predicted" => Bars::Predicted,
        _ => Bars::Quartiles,
    };
    let figure = Figure {
        title: text("title")?,
        reference: options.get("reference")?,
        bars,
        panels,
        columns: options.get("columns")?,
        panel_height: options.get("height")?,
    };
    options.assert_all_used()?;
    Ok(figure)
}
