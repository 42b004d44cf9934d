//! Small multiples: a title, a legend, a grid of panels, a note.
//!
//! A panel has names on its x axis and numbers on its y axis, linear from 0 or logarithmic.
//! A point is a median, the bar through it goes from the lower to the upper quartile; or it is an
//! estimate with its interval.
//!
//! # Sizes
//!
//! A figure is as wide as the text of an A4 page, 160 mm, and drawn in units of half a point: so
//! its smallest text, [`SMALL`], has 9 points in print. Texts are measured before they are placed:
//! a title is broken into lines; names that are too wide for one row stand in two, and some are left
//! out where two rows do not suffice. Beside a mark the number is drawn at the first place that is free of
//! other texts, marks and bars. If no place is free, only the CSV file has the number.
//!
//! # In greyscale
//!
//! A series has a colour, and besides a shape, a kind of line and a lightness of its own.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::axis::{Axis, tick_name};
use crate::font;
use crate::render;
use crate::summary::Quartiles;
use crate::svg::{Anchor, Canvas, Colour, INK, Point, Rect, Text, WHITE};
use crate::table::short;

pub const UNITS_PER_INCH: f32 = 144.0;
pub const WIDTH: f64 = 907.0;
/// Sizes of text: 9, 10 and 12 points.
pub const SMALL: f64 = 18.0;
const MIDDLE: f64 = 20.0;
const LARGE: f64 = 24.0;
/// From a line of small text to the next.
const LINE: f64 = 24.0;
const MARGIN: f64 = 14.0;
const TICK: f64 = 6.0;
const GRID: Colour = Colour(222, 222, 222);
/// How far a mark reaches.
const REACH: f64 = 7.0;

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

    /// For the legend; with numbers beside the marks or not.
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

/// Of a mark. Each has its own kind of line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    Circle,
    Square,
    Triangle,
    Diamond,
    Wedge,
}

impl Shape {
    /// The others are hollow.
    fn is_filled(self) -> bool {
        matches!(self, Shape::Circle | Shape::Triangle)
    }

    fn dashes(self) -> &'static str {
        match self {
            Shape::Circle => "",
            Shape::Square => "10 5",
            Shape::Triangle => "3 4",
            Shape::Diamond => "12 4 3 4",
            Shape::Wedge => "18 6",
        }
    }

    /// Around (0, 0); a circle has none.
    fn corners(self) -> &'static [Point] {
        match self {
            Shape::Circle => &[],
            Shape::Square => &[(-5.0, -5.0), (5.0, -5.0), (5.0, 5.0), (-5.0, 5.0)],
            Shape::Triangle => &[(0.0, -6.5), (6.5, 5.0), (-6.5, 5.0)],
            Shape::Diamond => &[(0.0, -7.0), (7.0, 0.0), (0.0, 7.0), (-7.0, 0.0)],
            Shape::Wedge => &[(0.0, 6.5), (6.5, -5.0), (-6.5, -5.0)],
        }
    }
}

/// What the legend shows, the same in every panel of a figure.
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
    pub x_title: &'static str,
    pub y_title: &'static str,
    pub x_names: Vec<String>,
    pub series: Vec<Series>,
    pub log: bool,
    /// Lines between the points of a series; without, the medians are written beside them.
    pub lines: bool,
    /// A dashed line across, where the axis reaches it.
    pub reference: Option<f64>,
}

pub struct Figure<'a> {
    pub title: &'a str,
    /// What the dashed line is, for the legend.
    pub reference: Option<&'a str>,
    pub bars: Bars,
    pub panels: Vec<Panel>,
    pub columns: usize,
    pub panel_height: u32,
}

impl Figure<'_> {
    /// Writes the drawing alone.
    pub fn draw(&self, path: &Path, note: &str) -> Result<()> {
        std::fs::write(path, self.svg(note))
            .with_context(|| format!("cannot write {}", path.display()))
    }

    /// Writes `base`.svg, .png, .pdf and .csv, with a line under the drawing.
    pub fn write(&self, base: &Path, note: &str) -> Result<Vec<PathBuf>> {
        let failed = || format!("the figure {}", base.display());
        let mut written = render::write_all(base, &self.svg(note)).with_context(failed)?;
        let table = base.with_extension("csv");
        std::fs::write(&table, self.csv()).with_context(failed)?;
        written.push(table);
        Ok(written)
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

    /// Returns where it ends.
    fn legend(&self, canvas: &mut Canvas, top: f64) -> f64 {
        let mut at = (MARGIN, top + LINE / 2.0);
        // Every key once, in the order of first appearance.
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

    /// A line a point, with the quartiles or the ends of the interval.
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

const REFERENCE: &str = "5 4";

/// Of a CSV file, after RFC 4180.
fn cell(text: &str) -> String {
    if text.contains(['"', ',', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// An entry of the legend, a sample and words, where there is room for them: in the line or the next.
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

fn text(words: &str, at: Point, anchor: Anchor, size: f64) -> Text<'_> {
    Text { words, at, anchor, size, colour: INK, upwards: false }
}

/// The mark of a series: its shape says the same as its colour.
fn mark(canvas: &mut Canvas, (x, y): Point, key: &Key) {
    let fill = if key.shape.is_filled() { key.colour } else { WHITE };
    let corners: Vec<Point> = key.shape.corners().iter().map(|(dx, dy)| (x + dx, y + dy)).collect();
    if corners.is_empty() {
        canvas.circle((x, y), 5.0, fill, key.colour);
    } else {
        canvas.polygon(&corners, fill, key.colour);
    }
}

/// What stands around the plots of all panels of a figure, so that these are as large as each other.
struct Room {
    /// Lines of the longest title.
    title_lines: usize,
    /// The widest number of a y axis.
    numbers: f64,
    /// Lines of the longest title of a y axis, which runs upwards.
    y_title_lines: usize,
    /// Rows of names on the x axis.
    name_rows: usize,
    /// Whether an x axis has a title.
    x_titles: bool,
}

impl Room {
    /// For panels in cells of this size.
    fn of(panels: &[Panel], width: f64, height: f64) -> Room {
        let most = |value: &dyn Fn(&Panel) -> usize| panels.iter().map(value).max().unwrap_or(1);
        let numbers = |p: &Panel, plot: Rect| {
            let axis = p.axis((plot.bottom, plot.top));
            let ticks = axis.map_or(Vec::new(), |axis| axis.ticks(LINE));
            ticks.into_iter().map(|t| font::width(&tick_name(t), SMALL)).fold(0.0, f64::max)
        };
        let mut room = Room {
            title_lines: most(&|p| font::lines(&p.title, MIDDLE, width - 2.0 * MARGIN).len()),
            numbers: 0.0,
            y_title_lines: 1,
            name_rows: 1,
            x_titles: panels.iter().any(|p| !p.x_title.is_empty()),
        };
        let cell = Rect { left: 0.0, top: 0.0, right: width, bottom: height };
        // The names need more rows in less width; the axis has less height beside more rows.
        for _ in 0..3 {
            let plot = room.plot(cell);
            room.numbers = panels.iter().map(|p| numbers(p, plot)).fold(room.numbers, f64::max);
            let rows = most(&|p| Names::of(p, plot.right - plot.left).rows);
            room.name_rows = room.name_rows.max(rows);
            let lines = most(&|p| font::lines(p.y_title, SMALL, plot.bottom - plot.top).len());
            room.y_title_lines = room.y_title_lines.max(lines);
        }
        room
    }

    /// Where the values are drawn in a panel's cell.
    fn plot(&self, cell: Rect) -> Rect {
        let below = self.name_rows + usize::from(self.x_titles);
        Rect {
            left: cell.left + MARGIN + self.y_title_lines as f64 * LINE + self.numbers + 2.0 * TICK,
            top: cell.top + self.title_lines as f64 * LINE + 10.0,
            right: cell.right - MARGIN,
            bottom: cell.bottom - TICK - below as f64 * LINE - 12.0,
        }
    }
}

/// How the names of an x axis stand: in one row or in two, and if need be only every so many.
struct Names {
    rows: usize,
    every: usize,
}

impl Names {
    fn of(panel: &Panel, width: f64) -> Names {
        let slot = width / panel.x_names.len().max(1) as f64;
        let widest = panel.x_names.iter().map(|n| font::width(n, SMALL)).fold(0.0, f64::max) + 10.0;
        match widest / slot {
            part if part <= 1.0 => Names { rows: 1, every: 1 },
            part if part <= 2.0 => Names { rows: 2, every: 1 },
            part => Names { rows: 1, every: part.ceil() as usize },
        }
    }
}

/// A point of a series where it is drawn.
struct Drawn<'a> {
    key: &'a Key,
    at: Point,
    /// From the upper to the lower end of its bar.
    bar: (f64, f64),
    value: f64,
}

impl Drawn<'_> {
    fn mark(&self) -> Rect {
        let (x, y) = self.at;
        Rect { left: x, right: x, top: y, bottom: y }.wider(REACH)
    }

    fn bar(&self) -> Rect {
        let x = self.at.0;
        Rect { left: x - 2.0, right: x + 2.0, top: self.bar.0, bottom: self.bar.1 }
    }

    /// Where its number may stand, the best first.
    fn places(&self) -> Vec<(Point, Anchor)> {
        let ((x, y), (top, bottom)) = (self.at, self.bar);
        let (above, below) = (-REACH - 4.0, REACH + 5.0 + DIGIT);
        let (right, left) = (x + REACH + 3.0, x - REACH - 3.0);
        let level = y + DIGIT / 2.0;
        let mut places = vec![((x, y + above), Anchor::Middle)];
        if y - top < 24.0 {
            places.push(((x, top - 5.0), Anchor::Middle));
        }
        places.push(((x, y + below), Anchor::Middle));
        if bottom - y < 24.0 {
            places.push(((x, bottom + 5.0 + DIGIT), Anchor::Middle));
        }
        for shift in [0.0, -6.0, 6.0, -12.0, 12.0, -18.0, 18.0] {
            places.push(((right, level + shift), Anchor::Start));
            places.push(((left, level + shift), Anchor::End));
        }
        places
    }
}

/// How high a digit is.
const DIGIT: f64 = 0.73 * SMALL;

impl Panel {
    /// None where there is nothing to show.
    fn axis(&self, ends: (f64, f64)) -> Option<Axis> {
        let points = || self.series.iter().flat_map(|s| s.points.iter().flatten());
        // A logarithmic axis reaches its reference in any case.
        let line = self.reference.filter(|_| self.log);
        let low = points().map(|q| q.low).chain(line).fold(f64::INFINITY, f64::min);
        let high = points().map(|q| q.high).chain(line).fold(0.0, f64::max);
        if points().next().is_none() || !(low > 0.0 && high > 0.0) {
            return None;
        }
        Some(if self.log {
            Axis::logarithmic(low / 1.35, high * 1.6, ends)
        } else {
            Axis::linear(high * 1.12, ends)
        })
    }

    fn draw(&self, canvas: &mut Canvas, cell: Rect, room: &Room) {
        let plot = room.plot(cell);
        let Some(axis) = self.axis((plot.bottom, plot.top)) else { return };
        let middle = (plot.left + plot.right) / 2.0;
        let most = cell.right - cell.left - 2.0 * MARGIN;
        // Where one title is broken before a parenthesis, so are the others.
        let whole =
            if room.title_lines > 1 { font::width(&self.title, MIDDLE) - 1.0 } else { most };
        let title = font::lines(
            &self.title,
            MIDDLE,
            if self.title.contains(" (") { whole.min(most) } else { most },
        );
        for (i, line) in title.iter().rev().enumerate() {
            let y = plot.top - 12.0 - i as f64 * LINE;
            let half = font::width(line, MIDDLE) / 2.0;
            let x = middle.min(cell.right - half - 2.0).max(cell.left + half + 2.0);
            canvas.text(&text(line, (x, y), Anchor::Middle, MIDDLE));
        }
        self.draw_y_axis(canvas, &axis, plot, cell, room);
        self.draw_x_axis(canvas, plot, room);
        if let Some(y) = self.reference.filter(|&y| axis.reaches(y)).map(|y| axis.at(y)) {
            canvas.line(&[(plot.left, y), (plot.right, y)], INK, 1.5, REFERENCE);
        }
        let drawn = self.drawn(&axis, plot);
        for series in drawn.iter().filter(|_| self.lines) {
            let points: Vec<Point> = series.iter().map(|d| d.at).collect();
            if let Some(first) = series.first() {
                canvas.line(&points, first.key.colour, 2.5, first.key.shape.dashes());
            }
        }
        let drawn: Vec<Drawn> = drawn.into_iter().flatten().collect();
        for d in &drawn {
            let (top, bottom) = d.bar;
            canvas.line(&[(d.at.0, top), (d.at.0, bottom)], d.key.colour, 3.0, "");
        }
        drawn.iter().for_each(|d| mark(canvas, d.at, d.key));
        if !self.lines {
            write_numbers(canvas, &drawn, plot);
        }
    }

    fn draw_y_axis(&self, canvas: &mut Canvas, axis: &Axis, plot: Rect, cell: Rect, room: &Room) {
        for tick in axis.ticks(LINE) {
            let y = axis.at(tick);
            canvas.line(&[(plot.left, y), (plot.right, y)], GRID, 1.0, "");
            canvas.line(&[(plot.left - TICK, y), (plot.left, y)], INK, 1.5, "");
            let place = (plot.left - 1.5 * TICK, y + 0.365 * SMALL);
            canvas.text(&text(&tick_name(tick), place, Anchor::End, SMALL));
        }
        canvas.line(&[(plot.left, plot.top), (plot.left, plot.bottom)], INK, 1.5, "");
        let lines = font::lines(self.y_title, SMALL, plot.bottom - plot.top);
        for (i, line) in lines.iter().enumerate() {
            let row = room.y_title_lines - lines.len() + i;
            let x = cell.left + MARGIN + row as f64 * LINE + font::ABOVE * SMALL;
            let at = (x, (plot.top + plot.bottom) / 2.0);
            canvas.text(&Text { upwards: true, ..text(line, at, Anchor::Middle, SMALL) });
        }
    }

    fn draw_x_axis(&self, canvas: &mut Canvas, plot: Rect, room: &Room) {
        canvas.line(&[(plot.left, plot.bottom), (plot.right, plot.bottom)], INK, 1.5, "");
        let Names { rows, every } = Names::of(self, plot.right - plot.left);
        let under = plot.bottom + TICK + font::ABOVE * SMALL + 4.0;
        for (i, name) in self.x_names.iter().enumerate() {
            let x = self.slot(i, plot);
            let row = i % rows;
            let reach = TICK + row as f64 * LINE;
            canvas.line(&[(x, plot.bottom), (x, plot.bottom + reach)], INK, 1.5, "");
            if i % every == 0 {
                let place = (x, under + row as f64 * LINE);
                canvas.text(&text(name, place, Anchor::Middle, SMALL));
            }
        }
        if !self.x_title.is_empty() {
            let place = ((plot.left + plot.right) / 2.0, under + room.name_rows as f64 * LINE);
            canvas.text(&text(self.x_title, place, Anchor::Middle, SMALL));
        }
    }

    /// The middle of a name's place.
    fn slot(&self, i: usize, plot: Rect) -> f64 {
        plot.left + (i as f64 + 0.5) * (plot.right - plot.left) / self.x_names.len() as f64
    }

    /// The points of each series, those of a name beside each other.
    fn drawn(&self, axis: &Axis, plot: Rect) -> Vec<Vec<Drawn<'_>>> {
        let count = self.series.len() as f64;
        let slot = (plot.right - plot.left) / self.x_names.len() as f64;
        let step = if self.lines { (0.8 * slot / count).min(15.0) } else { 0.8 * slot / count };
        let points = |(index, series): (usize, &'_ Series)| {
            let shift = (index as f64 - (count - 1.0) / 2.0) * step;
            let there = series.points.iter().enumerate();
            let there = there.filter_map(|(i, q)| Some((self.slot(i, plot) + shift, (*q)?)));
            there
                .map(|(x, q)| (x, axis.at(q.median), (axis.at(q.high), axis.at(q.low)), q.median))
                .collect::<Vec<_>>()
        };
        let all = self.series.iter().enumerate().map(|series| (&series.1.key, points(series)));
        all.map(|(key, points)| {
            points
                .into_iter()
                .map(|(x, y, bar, value)| Drawn { key, at: (x, y), bar, value })
                .collect()
        })
        .collect()
    }
}

/// What digits cover: nothing below the line on which they stand.
fn digits(text: &Text) -> Rect {
    Rect { top: text.at.1 - DIGIT, bottom: text.at.1 + 0.5, ..text.area() }
}

/// The numbers of a panel, each at its mark: see the head of this file. Who comes first takes the
/// best place, so several orders are tried, and the one that leaves out the fewest is drawn.
fn write_numbers(canvas: &mut Canvas, drawn: &[Drawn], plot: Rect) {
    let upwards = |a: &usize, b: &usize| drawn[*b].at.1.total_cmp(&drawn[*a].at.1);
    let mut order: Vec<usize> = (0..drawn.len()).collect();
    let mut best = placed(drawn, &order, plot);
    for turn in 0..3 {
        if best.len() == drawn.len() {
            break;
        }
        if turn == 1 {
            order.sort_by(upwards);
        } else {
            order.reverse();
        }
        let other = placed(drawn, &order, plot);
        if other.len() > best.len() {
            best = other;
        }
    }
    for (i, place) in best {
        let words = short(drawn[i].value);
        let number = number(&drawn[i], &words, place);
        canvas.blank(&digits(&number).wider(1.0));
        canvas.text(&number);
    }
}

fn number<'a>(drawn: &Drawn, words: &'a str, (at, anchor): (Point, Anchor)) -> Text<'a> {
    Text { colour: drawn.key.colour.darker(), ..text(words, at, anchor, SMALL) }
}

/// The place of each number that has one, where they are given places in this order.
fn placed(drawn: &[Drawn], order: &[usize], plot: Rect) -> Vec<(usize, (Point, Anchor))> {
    let mut taken: Vec<Rect> = drawn.iter().map(Drawn::mark).collect();
    let bars: Vec<Rect> = drawn.iter().map(Drawn::bar).collect();
    let plot = Rect {
        left: plot.left + 3.0,
        right: plot.right + MARGIN - 2.0,
        bottom: plot.bottom - 3.0,
        ..plot
    };
    let mut found = Vec::new();
    for &i in order {
        let d = &drawn[i];
        let words = short(d.value);
        let places = d.places();
        // A bar can be seen on both sides of a number.
        let free = |over_bars: bool| {
            places.iter().copied().find(|&place| {
                let area = digits(&number(d, &words, place));
                let is_free = |other: &Rect| !area.wider(2.0).overlaps(other);
                plot.contains(&area)
                    && taken.iter().all(is_free)
                    && (over_bars || bars.iter().all(is_free))
            })
        };
        if let Some(place) = free(false).or_else(|| free(true)) {
            taken.push(digits(&number(d, &words, place)));
            found.push((i, place));
        }
    }
    found
}

#[cfg(test)]
pub mod tests {
    use resvg::usvg::{self, Node};

    use super::*;
    use crate::plan::Plan;
    use crate::summary::{Summary, tests::made_up};

    /// A text of a drawing as it is laid out: its words, its size, and what its letters cover.
    struct Laid {
        words: String,
        size: f64,
        area: Rect,
    }

    fn texts(group: &usvg::Group, found: &mut Vec<Laid>) {
        for node in group.children() {
            match node {
                Node::Group(group) => texts(group, found),
                Node::Text(text) => {
                    let area =
                        text.flattened().bounding_box().transform(text.abs_transform()).unwrap();
                    let spans = text.chunks().iter().flat_map(|chunk| chunk.spans());
                    let sizes = spans.map(|span| f64::from(span.font_size().get()));
                    found.push(Laid {
                        words: text.chunks().iter().map(|chunk| chunk.text()).collect(),
                        size: sizes.fold(f64::INFINITY, f64::min),
                        area: Rect {
                            left: area.left().into(),
                            top: area.top().into(),
                            right: area.right().into(),
                            bottom: area.bottom().into(),
                        },
                    });
                }
                Node::Path(_) | Node::Image(_) => (),
            }
        }
    }

    /// In print, 160 mm wide, each text has 9 points at least; none overlaps another or is cut off.
    pub fn assert_legible(svg: &str, name: &str) {
        let tree = render::tree(svg).unwrap();
        let mut found = Vec::new();
        texts(tree.root(), &mut found);
        assert!(found.len() > 3, "{name}: {} texts", found.len());
        let [width, height] = [tree.size().width(), tree.size().height()].map(f64::from);
        let points = 160.0 / 25.4 * 72.0 / width;
        let whole = Rect { left: 0.0, top: 0.0, right: width, bottom: height };
        for (i, text) in found.iter().enumerate() {
            let Laid { words, size, area } = text;
            assert!(size * points >= 8.995, "{name}: {words} has {} points", size * points);
            assert!(whole.contains(area), "{name}: {words} is cut off: {area:?}");
            for other in &found[i + 1..] {
                assert!(!area.overlaps(&other.area), "{name}: {words} over {}", other.words);
            }
        }
    }

    /// Each series is told from the others without its colour: by shape, kind of line and lightness.
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
    fn seconds(i: usize, setup: &crate::plan::Setup) -> f64 {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        (i, setup).hash(&mut hasher);
        let noise = (hasher.finish() % 1000) as f64 / 1000.0;
        [1e-4, 0.0123, 4.5, 0.5, 0.5][i % 5] * 10f64.powf(noise * [0.0, 0.3, 3.0, 1.0, 0.05][i % 5])
    }

    #[test]
    fn the_figures_of_bench_are_legible() {
        for cores in [1, 2, 6, 64] {
            let plan = Plan::new(cores, false, &[]);
            for i in 0..5 {
                let summary = Summary::new(&made_up(&plan, |setup| seconds(i, setup)));
                let figures = crate::figures::all(&plan, &summary);
                assert_eq!(figures.len(), 5);
                for (name, figure) in figures {
                    let note = "AMD EPYC 9R14 96-Core Processor, 64 cores, Linux 6.18.44, libsched \
                                0.1.0 (0123abc+)";
                    assert_legible(&figure.svg(note), &format!("{name}, {cores} cores, {i}"));
                    assert_told_apart(&figure.panels);
                }
            }
        }
    }

    fn panel(values: &[f64], lines: bool) -> Panel {
        let point = |&v: &f64| Some(Quartiles { low: 0.9 * v, median: v, high: 1.1 * v });
        let key = crate::figures::kind_key(crate::plan::Kind::Steal);
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

    fn figure(panels: Vec<Panel>) -> Figure<'static> {
        let (reference, bars) = (None, Bars::Quartiles);
        Figure { title: "A figure", reference, bars, panels, columns: 1, panel_height: 300 }
    }

    /// A number is nearer to its own mark than to any other.
    #[test]
    fn numbers_stand_at_their_marks() {
        let values = [1.0, 1.05, 3.0, 2.9, 10.0, 10.2];
        let figure = figure(vec![panel(&values, false)]);
        let tree = render::tree(&figure.svg("")).unwrap();
        let mut found = Vec::new();
        texts(tree.root(), &mut found);
        let cell = Rect { left: 0.0, top: 0.0, right: WIDTH, bottom: 300.0 };
        let plot = Room::of(&figure.panels, WIDTH, 300.0).plot(cell);
        let axis = figure.panels[0].axis((plot.bottom, plot.top)).unwrap();
        let drawn = &figure.panels[0].drawn(&axis, plot)[0];
        // The grid begins below the head: what that takes, any name of the x axis tells.
        let name = found.iter().find(|text| text.words == "threads").unwrap();
        let middle = |area: &Rect| (area.left + area.right) / 2.0;
        assert!((middle(&name.area) - (plot.left + plot.right) / 2.0).abs() < 2.0);
        for d in drawn {
            let own =
                found.iter().find(|text| text.words == short(d.value)).expect("each has room");
            let distance = |other: &Drawn| (middle(&own.area) - other.at.0).abs();
            let nearest = drawn.iter().map(distance).fold(f64::INFINITY, f64::min);
            assert_eq!(distance(d), nearest, "{}", own.words);
            assert!(nearest < 40.0);
        }
    }

    /// With two cores nearly all of them find a place, whatever the values.
    #[test]
    fn few_numbers_are_left_out() {
        let plan = Plan::new(2, false, &[]);
        let (mut all, mut written) = (0, 0);
        for i in 0..5 {
            let summary = Summary::new(&made_up(&plan, |setup| seconds(i, setup)));
            for (_, figure) in crate::figures::all(&plan, &summary) {
                let cell = Rect {
                    left: 0.0,
                    top: 0.0,
                    right: WIDTH / figure.columns as f64,
                    bottom: figure.panel_height.into(),
                };
                let plot = Room::of(&figure.panels, cell.right, cell.bottom).plot(cell);
                for panel in figure.panels.iter().filter(|p| !p.lines) {
                    let axis = panel.axis((plot.bottom, plot.top)).unwrap();
                    let drawn: Vec<Drawn> =
                        panel.drawn(&axis, plot).into_iter().flatten().collect();
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
    fn a_figure_is_four_files() {
        let folder = std::env::temp_dir().join(format!("sched-bench-chart-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let written = figure(vec![panel(&[1.0], true)]).write(&folder.join("name"), "").unwrap();
        let extensions = written.iter().map(|path| path.extension().unwrap().to_str().unwrap());
        assert_eq!(extensions.collect::<Vec<_>>(), ["svg", "png", "pdf", "csv"]);
        assert!(written.iter().all(|path| path.metadata().unwrap().len() > 50));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
