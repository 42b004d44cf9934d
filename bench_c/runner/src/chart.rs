//! Small multiples: a title, a legend, a grid of panels, a note; as SVG.
//!
//! A panel has names on its x axis and numbers on its y axis, linear from 0 or logarithmic.
//! A point is a median, the bar through it goes from the lower to the upper quartile; or it is an
//! estimate with its interval.

use std::path::Path;

use anyhow::{Result, anyhow};
use plotters::chart::ChartContext;
use plotters::coord::Shift;
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};
use plotters::element::{Drawable, PointCollection};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters_backend::{BackendCoord, DrawingErrorKind};

use crate::summary::Quartiles;
use crate::table::short;

pub const WIDTH: u32 = 1200;
const HEAD: u32 = 84;
const NOTE: u32 = 26;
const FONT: &str = "sans-serif";
const INK: RGBColor = RGBColor(40, 40, 40);
const GRID: RGBColor = RGBColor(225, 225, 225);

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

#[derive(Clone, Copy)]
pub enum Shape {
    Circle,
    Square,
    Triangle,
    Diamond,
}

/// What the legend shows, the same in every panel of a figure.
#[derive(Clone)]
pub struct Key {
    pub name: String,
    pub colour: RGBColor,
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

type Svg<'a> = SVGBackend<'a>;
type Area<'a> = DrawingArea<Svg<'a>, Shift>;
type Chart<'a, 'b> = ChartContext<'a, Svg<'b>, Cartesian2d<Names, Numbers>>;

impl Figure<'_> {
    /// Draws into `path`, with a line under all of it; nothing when there is no panel.
    pub fn draw(&self, path: &Path, note: &str) -> Result<()> {
        let failed = |e: &dyn std::fmt::Display| anyhow!("cannot draw {}: {e}", path.display());
        let rows = self.panels.len().div_ceil(self.columns);
        let height = HEAD + NOTE + rows as u32 * self.panel_height;
        let root = SVGBackend::new(path, (WIDTH, height)).into_drawing_area();
        self.draw_on(&root, rows, note).map_err(|e| failed(&e))?;
        root.present().map_err(|e| failed(&e))
    }

    fn draw_on(&self, root: &Area, rows: usize, note: &str) -> Result<()> {
        root.fill(&WHITE)?;
        let (head, rest) = root.split_vertically(HEAD);
        let (grid, foot) = rest.split_vertically(rows as u32 * self.panel_height);
        head.draw(&Text::new(self.title, (16, 12), text(22)))?;
        self.legend(&head)?;
        foot.draw(&Text::new(note, (16, 4), text(12)))?;
        for (panel, area) in self.panels.iter().zip(grid.split_evenly((rows, self.columns))) {
            panel.draw(&area)?;
        }
        Ok(())
    }

    fn legend(&self, head: &Area) -> Result<()> {
        let y = 58;
        let mut x = 24;
        // Every key once, in the order of first appearance.
        let mut names: Vec<&str> = Vec::new();
        for key in self.panels.iter().flat_map(|p| &p.series).map(|s| &s.key) {
            if names.contains(&key.name.as_str()) {
                continue;
            }
            names.push(&key.name);
            head.draw(&mark((x, y), key))?;
            x = self.legend_text(head, x + 12, y, &key.name)?;
        }
        if let Some(reference) = self.reference {
            let dashes = [0, 9, 18].map(|at| [(x + at - 4, y), (x + at + 1, y)]);
            for dash in dashes {
                head.draw(&PathElement::new(dash, INK.stroke_width(1)))?;
            }
            x = self.legend_text(head, x + 26, y, reference)?;
        }
        if self.bars.are_drawn() {
            head.draw(&PathElement::new([(x, y - 7), (x, y + 7)], INK.stroke_width(1)))?;
        }
        let numbers = self.panels.iter().any(|p| !p.lines);
        self.legend_text(head, x + 9, y, self.bars.words(numbers))?;
        Ok(())
    }

    /// Returns where the next entry may begin. The backend does not measure text: an average.
    fn legend_text(&self, head: &Area, x: i32, y: i32, words: &str) -> Result<i32> {
        let style = text(15).pos(Pos::new(HPos::Left, VPos::Center));
        head.draw(&Text::new(words, (x, y), style))?;
        Ok(x + words.chars().count() as i32 * 8 + 26)
    }
}

impl Panel {
    fn draw(&self, area: &Area) -> Result<()> {
        let points = || self.series.iter().flat_map(|s| s.points.iter().flatten());
        // A logarithmic axis reaches its reference in any case.
        let line = self.reference.filter(|_| self.log);
        let low = points().map(|q| q.low).chain(line).fold(f64::INFINITY, f64::min);
        let high = points().map(|q| q.high).chain(line).fold(0.0, f64::max);
        if points().next().is_none() || !(low > 0.0 && high > 0.0) {
            return Ok(());
        }
        let mut builder = ChartBuilder::on(area);
        builder
            .caption(&self.title, text(16))
            .margin(8)
            .margin_right(14)
            .x_label_area_size(44)
            .y_label_area_size(64);
        let numbers = if self.log {
            Numbers::logarithmic(low / 1.35, high * 1.6)
        } else {
            Numbers::linear(high * 1.12)
        };
        let names = Names(self.x_names.len());
        self.fill(builder.build_cartesian_2d(names, numbers)?, high)
    }

    fn fill(&self, mut chart: Chart, high: f64) -> Result<()> {
        let name = |x: &f64| self.x_names.get(x.round() as usize).cloned().unwrap_or_default();
        chart
            .configure_mesh()
            .disable_x_mesh()
            .bold_line_style(GRID)
            .light_line_style(TRANSPARENT)
            .axis_style(INK)
            .label_style(text(13))
            .axis_desc_style(text(13))
            .x_labels(self.x_names.len())
            .x_label_formatter(&name)
            .y_label_formatter(&|y| tick_name(*y))
            .x_desc(self.x_title)
            .y_desc(self.y_title)
            .draw()?;
        if let Some(y) = self.reference.filter(|&y| y <= high) {
            let (from, end) = (-0.5, self.x_names.len() as f64 - 0.5);
            let line = DashedLineSeries::new([(from, y), (end, y)], 5, 4, INK.stroke_width(1));
            chart.draw_series(line)?;
        }
        for (index, series) in self.series.iter().enumerate() {
            let step = if self.lines { 0.05 } else { 0.8 / self.series.len() as f64 };
            let shift = (index as f64 - (self.series.len() as f64 - 1.0) / 2.0) * step;
            self.draw_series(&mut chart, series, shift)?;
        }
        Ok(())
    }

    fn draw_series(&self, chart: &mut Chart, series: &Series, shift: f64) -> Result<()> {
        let colour = series.key.colour;
        let numbered = series.points.iter().enumerate();
        let points: Vec<(f64, Quartiles)> =
            numbered.filter_map(|(i, q)| Some((i as f64 + shift, (*q)?))).collect();
        if self.lines {
            let line = points.iter().map(|(x, q)| (*x, q.median));
            chart.draw_series(LineSeries::new(line, colour.stroke_width(2)))?;
        }
        for (x, q) in &points {
            let bar = [(*x, q.low), (*x, q.high)];
            chart.draw_series([PathElement::new(bar, colour.stroke_width(2))])?;
            chart.draw_series([mark((*x, q.median), &series.key)])?;
            if !self.lines {
                let style = text(12).pos(Pos::new(HPos::Center, VPos::Bottom)).color(&colour);
                let label = Text::new(short(q.median), (0, -4), style);
                chart.draw_series([EmptyElement::at((*x, q.high)) + label])?;
            }
        }
        Ok(())
    }
}

fn text(size: i32) -> TextStyle<'static> {
    (FONT, size).into_font().color(&INK)
}

/// The marker of a series: its shape says the same as its colour.
struct Mark<C> {
    at: C,
    shape: Shape,
    colour: RGBColor,
}

fn mark<C>(at: C, key: &Key) -> Mark<C> {
    Mark { at, shape: key.shape, colour: key.colour }
}

impl<'b, C> PointCollection<'b, C> for &'b Mark<C> {
    type Point = &'b C;
    type IntoIter = std::iter::Once<&'b C>;

    fn point_iter(self) -> Self::IntoIter {
        std::iter::once(&self.at)
    }
}

impl<C, DB: DrawingBackend> Drawable<DB> for Mark<C> {
    fn draw<I: Iterator<Item = BackendCoord>>(
        &self,
        pos: I,
        backend: &mut DB,
        _: (u32, u32),
    ) -> Result<(), DrawingErrorKind<DB::ErrorType>> {
        let outline: &[BackendCoord] = match self.shape {
            Shape::Circle => &[],
            Shape::Square => &[(-4, -4), (5, -4), (5, 5), (-4, 5)],
            Shape::Triangle => &[(0, -6), (6, 5), (-6, 5)],
            Shape::Diamond => &[(0, -6), (6, 0), (0, 6), (-6, 0)],
        };
        let colour = self.colour.filled();
        for (x, y) in pos {
            if outline.is_empty() {
                backend.draw_circle((x, y), 5, &colour, true)?;
            } else {
                let corners = outline.iter().map(|(dx, dy)| (x + dx, y + dy));
                backend.fill_polygon(corners, &colour)?;
            }
        }
        Ok(())
    }
}

// --- axes -------------------------------------------------------------------

/// An axis of names: the i-th stands at i, with half a place before and after.
struct Names(usize);

impl Ranged for Names {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let part = (value + 0.5) / self.0 as f64;
        limit.0 + (part * f64::from(limit.1 - limit.0)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _hint: Hint) -> Vec<f64> {
        (0..self.0).map(|i| i as f64).collect()
    }

    fn range(&self) -> std::ops::Range<f64> {
        -0.5..self.0 as f64 - 0.5
    }
}

/// An axis of positive numbers, with ticks of our choice.
struct Numbers {
    from: f64,
    to: f64,
    log: bool,
    ticks: Vec<f64>,
}

impl Numbers {
    fn linear(to: f64) -> Numbers {
        Numbers { from: 0.0, to, log: false, ticks: linear_ticks(to) }
    }

    fn logarithmic(from: f64, to: f64) -> Numbers {
        Numbers { from, to, log: true, ticks: log_ticks(from, to) }
    }
}

impl Ranged for Numbers {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let part = if self.log {
            (value / self.from).ln() / (self.to / self.from).ln()
        } else {
            (value - self.from) / (self.to - self.from)
        };
        limit.0 + (part * f64::from(limit.1 - limit.0)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _hint: Hint) -> Vec<f64> {
        self.ticks.clone()
    }

    fn range(&self) -> std::ops::Range<f64> {
        self.from..self.to
    }
}

/// 1, 2, 5 of each decade where there are few decades, else powers of ten.
fn log_ticks(from: f64, to: f64) -> Vec<f64> {
    let decades = to.log10() - from.log10();
    let steps: &[f64] = match decades {
        d if d < 0.7 => &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0],
        d if d < 2.6 => &[1.0, 2.0, 5.0],
        _ => &[1.0],
    };
    let exponents = from.log10().floor() as i32..=to.log10().ceil() as i32;
    let ticks = exponents.flat_map(|e| steps.iter().map(move |s| s * 10f64.powi(e)));
    ticks.filter(|t| (from..=to).contains(t)).collect()
}

/// About five round steps from 0.
fn linear_ticks(to: f64) -> Vec<f64> {
    let rough = to / 5.0;
    let decade = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].iter().map(|s| s * decade).find(|s| *s >= rough);
    let step = step.unwrap_or(rough);
    (0..).map(|i| f64::from(i) * step).take_while(|t| *t <= to).collect()
}

fn tick_name(value: f64) -> String {
    let decimals = if value == 0.0 { 0.0 } else { (1.0 - value.abs().log10().floor()).max(0.0) };
    let text = format!("{value:.*}", decimals as usize);
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round() {
        assert_eq!(linear_ticks(2.1), [0.0, 0.5, 1.0, 1.5, 2.0]);
        assert_eq!(log_ticks(8.0, 110.0), [10.0, 20.0, 50.0, 100.0]);
        assert_eq!(log_ticks(0.5, 2000.0), [1.0, 10.0, 100.0, 1000.0]);
    }

    #[test]
    fn tick_names_are_short() {
        let names = [0.0, 0.5, 1.0, 0.02, 1000.0, 0.005].map(tick_name);
        assert_eq!(names, ["0", "0.5", "1", "0.02", "1000", "0.005"]);
    }
}
