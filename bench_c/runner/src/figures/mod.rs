//! Small multiples, drawn by plotters: a title, a legend, a grid of panels, a note.
//!
//! A panel has names on its x axis and numbers on its y axis, linear from 0 or logarithmic. A point
//! is a median with a bar from the lower to the upper quartile, or an estimate with its interval.
//! Its number stands above its bar: upright if the place of the point is wide enough, otherwise
//! turned, and if even a turned number has no room, only the CSV file has the number.
//!
//! A figure is as wide as the text of an A4 page, 160 mm, and drawn in units of half a point, so
//! that its smallest text has 9 points in print. The font is part of this program, so that a figure
//! is the same on a machine without fonts.
//!
//! Each series has a colour, and also a shape and a lightness of its own, for print in greyscale.

pub mod axis;
mod draw;
#[cfg(all(test, feature = "pictures"))]
pub mod legible;
#[cfg(feature = "pictures")]
mod render;
#[cfg(test)]
pub mod tests;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::quartiles::Quartiles;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Colour(pub u8, pub u8, pub u8);

/// The shape of a mark. Circles and triangles are filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    Circle,
    Square,
    Triangle,
    Diamond,
    Wedge,
}

/// An entry of the legend, the same in every panel of a figure.
#[derive(Clone)]
pub struct Key {
    pub name: String,
    pub colour: Colour,
    pub shape: Shape,
}

pub struct Series {
    pub key: Key,
    /// A value for each name on the x axis.
    pub points: Vec<Option<Quartiles>>,
}

pub struct Panel {
    pub title: String,
    pub x_title: String,
    pub y_title: String,
    pub x_names: Vec<String>,
    pub series: Vec<Series>,
    pub log: bool,
    /// True if lines connect the points of a series. False if the medians are written beside them.
    pub lines: bool,
    /// The value of a line across the plot, if the axis reaches it.
    pub reference: Option<f64>,
    /// The least range of the axis. None means from the least to the greatest of its points.
    pub range: Option<(f64, f64)>,
}

/// The meaning of the bar through a mark.
#[derive(Clone, Copy, PartialEq)]
pub enum Bars {
    Quartiles,
    /// The mark is an estimate and the bar its 95 % interval.
    Interval,
    /// No bar.
    Medians,
    Predicted,
}

pub struct Figure {
    pub title: String,
    /// The words of the legend for the line of reference.
    pub reference: Option<String>,
    pub bars: Bars,
    pub panels: Vec<Panel>,
    pub columns: usize,
    pub panel_height: u32,
}

impl Figure {
    /// Writes the drawing only.
    pub fn draw(&self, path: &Path, note: &str) -> Result<()> {
        save(path, self.svg(note)?.as_bytes())
    }

    /// Writes `base`.svg and .csv and, with the feature `pictures`, .png and .pdf, with a line
    /// under the drawing.
    pub fn write(&self, base: &Path, note: &str) -> Result<Vec<PathBuf>> {
        let svg = self.svg(note)?;
        #[cfg(feature = "pictures")]
        let pictures = render::pictures(&svg)?;
        #[cfg(not(feature = "pictures"))]
        let pictures = [];
        let files = [("svg", svg.into_bytes()), ("csv", self.csv()?)].into_iter().chain(pictures);
        files
            .map(|(extension, bytes)| {
                let path = with_ending(base, extension);
                save(&path, &bytes)?;
                Ok(path)
            })
            .collect()
    }

    /// A line for each point, with its quartiles or the ends of its interval.
    pub fn csv(&self) -> Result<Vec<u8>> {
        let mut out = csv::Writer::from_writer(Vec::new());
        out.write_record(["panel", "series", "x", "x_value", "y", "low", "middle", "high"])?;
        for panel in &self.panels {
            let y = panel.y_title.trim_end_matches(" (log scale)");
            for series in &panel.series {
                for (name, point) in panel.x_names.iter().zip(&series.points) {
                    let Some(Quartiles { low, median, high }) = point else { continue };
                    let x = (&panel.x_title, name);
                    out.serialize((&panel.title, &series.key.name, x, y, low, median, high))?;
                }
            }
        }
        Ok(out.into_inner()?)
    }
}

fn save(path: &Path, bytes: &[u8]) -> Result<()> {
    std::fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}

/// The path with a dot and an ending behind it. (`Path::with_extension` would replace what follows
/// a dot in the name.)
pub fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    name.into()
}
