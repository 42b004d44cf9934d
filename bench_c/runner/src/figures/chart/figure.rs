//! A figure with its title, legend, panels and note, as a drawing and as a table.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::layout::Room;
use super::marks::mark;
use super::panel::Panel;
use super::style::{LARGE, LINE, MARGIN, REFERENCE, SMALL, WIDTH, text};
use crate::figures::drawing::font;
#[cfg(feature = "pictures")]
use crate::figures::drawing::render;
use crate::figures::drawing::svg::{Anchor, Canvas, INK, Point, Rect};
use crate::statistics::quartiles::Quartiles;

/// What the bar through a mark is.
#[derive(Clone, Copy)]
pub enum Bars {
    Quartiles,
    /// The mark is an estimate and the bar its 95 % interval.
    Interval,
    /// No bar.
    Medians,
    Predicted,
}

impl Bars {
    fn are_drawn(self) -> bool {
        matches!(self, Bars::Quartiles | Bars::Interval)
    }

    /// The words of the legend. `numbers`: there are numbers beside the marks.
    fn words(self, numbers: bool) -> &'static str {
        match (self, numbers) {
            (Bars::Quartiles, false) => "lower to upper quartile; the mark is the median",
            (Bars::Quartiles, true) => {
                "lower to upper quartile; the mark and the number are the median"
            }
            (Bars::Medians, _) => "medians",
            (Bars::Predicted, _) => "predicted, not measured",
            (Bars::Interval, false) => "95 % interval",
            (Bars::Interval, true) => "95 % interval; the number is the estimate",
        }
    }
}

pub struct Figure<'a> {
    pub title: &'a str,
    /// The words of the legend for the dashed line.
    pub reference: Option<&'a str>,
    pub bars: Bars,
    pub panels: Vec<Panel>,
    pub columns: usize,
    pub panel_height: u32,
}

impl Figure<'_> {
    /// Writes the drawing only.
    pub fn draw(&self, path: &Path, note: &str) -> Result<()> {
        std::fs::write(path, self.svg(note))
            .with_context(|| format!("cannot write {}", path.display()))
    }

    /// Writes `base`.svg and .csv and, with the feature `pictures`, .png and .pdf, with a line
    /// under the drawing.
    pub fn write(&self, base: &Path, note: &str) -> Result<Vec<PathBuf>> {
        let svg = self.svg(note);
        #[cfg(feature = "pictures")]
        let pictures = render::pictures(&svg)?;
        #[cfg(not(feature = "pictures"))]
        let pictures = [];
        let files = [("svg", svg.into_bytes()), ("csv", self.csv().into_bytes())];
        files
            .into_iter()
            .chain(pictures)
            .map(|(extension, bytes)| {
                let path = with_ending(base, extension);
                std::fs::write(&path, bytes)
                    .with_context(|| format!("cannot write {}", path.display()))?;
                Ok(path)
            })
            .collect()
    }

    pub fn svg(&self, note: &str) -> String {
        let mut canvas = Canvas::default();
        let mut y = MARGIN;
        for line in font::lines(self.title, LARGE, WIDTH - 2.0 * MARGIN) {
            y += LARGE;
            canvas.text(&text(&line, (MARGIN, y), Anchor::Start, LARGE));
            y += 6.0;
        }
        y = self.legend(&mut canvas, y + 8.0) + 12.0;
        let columns = self.columns.max(1);
        let (width, height) = (WIDTH / columns as f64, f64::from(self.panel_height));
        let room = Room::of(&self.panels, width, height);
        for (i, panel) in self.panels.iter().enumerate() {
            let (row, column) = (i / columns, i % columns);
            let (left, top) = (column as f64 * width, y + row as f64 * height);
            let cell = Rect { left, top, right: left + width, bottom: top + height };
            panel.draw(&mut canvas, cell, &room);
        }
        y += self.panels.len().div_ceil(columns) as f64 * height;
        for line in font::lines(note, SMALL, WIDTH - 2.0 * MARGIN) {
            y += LINE;
            canvas.text(&text(&line, (MARGIN, y), Anchor::Start, SMALL));
        }
        canvas.finish(WIDTH, (y + MARGIN).ceil(), self.title)
    }

    /// Draws the legend, and returns where it ends.
    fn legend(&self, canvas: &mut Canvas, top: f64) -> f64 {
        let mut at = (MARGIN, top + LINE / 2.0);
        // Every key once, in the order of its first appearance.
        let mut names: Vec<&str> = Vec::new();
        for key in self.panels.iter().flat_map(|p| &p.series).map(|s| &s.key) {
            if !names.contains(&key.name.as_str()) {
                names.push(&key.name);
                let lines = self.panels.iter().any(|p| p.lines);
                entry(
                    canvas,
                    &mut at,
                    if lines { 44.0 } else { 18.0 },
                    &key.name,
                    |canvas, x, y| {
                        if lines {
                            let ends = [(x, y), (x + 44.0, y)];
                            canvas.line(&ends, key.colour, 2.5, key.shape.dashes());
                        }
                        mark(canvas, (x + if lines { 22.0 } else { 9.0 }, y), key);
                    },
                );
            }
        }
        if let Some(reference) = self.reference {
            entry(canvas, &mut at, 36.0, reference, |canvas, x, y| {
                canvas.line(&[(x, y), (x + 36.0, y)], INK, 1.5, REFERENCE);
            });
        }
        let numbers = self.panels.iter().any(|p| !p.lines);
        let bars = self.bars.are_drawn();
        entry(
            canvas,
            &mut at,
            if bars { 8.0 } else { 0.0 },
            self.bars.words(numbers),
            |canvas, x, y| {
                if bars {
                    canvas.line(&[(x + 4.0, y - 9.0), (x + 4.0, y + 9.0)], INK, 3.0, "");
                }
            },
        );
        at.1 + LINE / 2.0
    }

    /// A line for each point, with its quartiles or the ends of its interval.
    pub fn csv(&self) -> String {
        let mut text = String::from("panel,series,x,x_value,y,low,middle,high\n");
        for panel in &self.panels {
            for series in &panel.series {
                for (name, point) in panel.x_names.iter().zip(&series.points) {
                    if let Some(q) = point {
                        let words = [
                            panel.title.as_str(),
                            &series.key.name,
                            panel.x_title,
                            name,
                            panel.y_title.trim_end_matches(" (log scale)"),
                        ];
                        let cells: Vec<String> = words.iter().map(|word| cell(word)).collect();
                        let Quartiles { low, median, high } = q;
                        text += &format!("{},{low},{median},{high}\n", cells.join(","));
                    }
                }
            }
        }
        text
    }
}

/// A field of a CSV file, quoted as RFC 4180 says.
fn cell(text: &str) -> String {
    if text.contains(['"', ',', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// Draws an entry of the legend, a sample and words, in this line, or in the next if it lacks the
/// room.
fn entry(
    canvas: &mut Canvas,
    at: &mut Point,
    sample: f64,
    words: &str,
    draw: impl Fn(&mut Canvas, f64, f64),
) {
    let gap = if sample > 0.0 { 8.0 } else { 0.0 };
    let width = sample + gap + font::width(words, SMALL);
    if at.0 > MARGIN && at.0 + width > WIDTH - MARGIN {
        *at = (MARGIN, at.1 + LINE);
    }
    draw(canvas, at.0, at.1);
    let place = (at.0 + sample + gap, at.1 + 0.365 * SMALL);
    canvas.text(&text(words, place, Anchor::Start, SMALL));
    at.0 += width + 26.0;
}
/// The path with a dot and an ending behind it. (`Path::with_extension` would replace what follows a
/// dot in the name.)
pub fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    name.into()
}
