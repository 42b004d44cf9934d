//! Draws a figure with plotters.

use std::sync::LazyLock;

use anyhow::{Result, anyhow};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{FontTransform, register_font};
use sched_tools::number::short;
use sched_tools::text::broken;

use super::axis::{Axis, tick_name};
use super::{Bars, Colour, Figure, Key, Panel, Shape};

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

pub const WIDTH: i32 = 907;
/// Sizes of text: 9, 10 and 12 points.
const SMALL: i32 = 18;
const MIDDLE: i32 = 20;
const LARGE: i32 = 24;
/// The distance from a line of small text to the next.
const LINE: i32 = 24;
const MARGIN: i32 = 14;
const TICK: i32 = 6;
/// The distance that a mark reaches from its middle.
const REACH: i32 = 8;
const INK: RGBColor = RGBColor(40, 40, 40);
const GRID: RGBColor = RGBColor(222, 222, 222);

/// The font of the figures. A viewer of an SVG file that lacks the first font takes another one of
/// these; none of them is wider.
pub const FAMILY: &str = "DejaVu Sans, Verdana, Arial, sans-serif";
static REGISTERED: LazyLock<()> = LazyLock::new(|| {
    let font = register_font(FAMILY, FontStyle::Normal, dejavu::sans::regular());
    assert!(font.is_ok(), "the font of the crate is one");
});

/// A font of this size. The size that plotters gets is the height of the line, 1.24 times as high.
fn font(size: i32) -> FontDesc<'static> {
    LazyLock::force(&REGISTERED);
    (FAMILY, 1.24 * f64::from(size)).into_font()
}

fn width(text: &str, size: i32) -> i32 {
    font(size).box_size(text).map_or(0, |(width, _)| width as i32)
}

/// The lines of a text of at most this width, unless a single word is wider.
fn lines(text: &str, size: i32, most: i32) -> Vec<String> {
    let mut columns = text.chars().count();
    if text.is_empty() {
        return Vec::new();
    }
    if width(text, size) <= most {
        return vec![text.to_owned()];
    }
    loop {
        let lines: Vec<String> = broken(text, columns, "").lines().map(str::to_owned).collect();
        if columns < 8 || lines.iter().all(|line| width(line, size) <= most) {
            return lines;
        }
        columns -= 1;
    }
}

fn say(area: &Area, words: &str, at: (i32, i32), style: TextStyle, h: HPos) -> Result<()> {
    area.draw(&Text::new(words.to_owned(), at, style.pos(Pos::new(h, VPos::Center))))
        .map_err(|e| anyhow!("{e}"))
}

fn colour(Colour(red, green, blue): Colour) -> RGBColor {
    RGBColor(red, green, blue)
}

/// A darker colour for text: thin strokes of a light colour are hard to read.
fn darker(of: Colour) -> RGBColor {
    let part = |of: u8| (u32::from(of) * 5 / 8) as u8;
    RGBColor(part(of.0), part(of.1), part(of.2))
}

impl Shape {
    /// The corners around (0, 0); a circle has none.
    fn corners(self) -> Vec<(i32, i32)> {
        match self {
            Shape::Circle => Vec::new(),
            Shape::Square => vec![(-5, -5), (5, -5), (5, 5), (-5, 5)],
            Shape::Triangle => vec![(0, -7), (7, 5), (-7, 5)],
            Shape::Diamond => vec![(0, -7), (7, 0), (0, 7), (-7, 0)],
            Shape::Wedge => vec![(0, 7), (7, -5), (-7, -5)],
        }
    }
}

fn mark(area: &Area, (x, y): (i32, i32), key: &Key) -> Result<()> {
    let colour = colour(key.colour);
    if key.shape == Shape::Circle {
        return Ok(area.draw(&Circle::new((x, y), 6, colour.filled()))?);
    }
    let filled = key.shape == Shape::Triangle;
    let corners: Vec<_> = key.shape.corners().iter().map(|(dx, dy)| (x + dx, y + dy)).collect();
    area.draw(&Polygon::new(corners.clone(), if filled { colour } else { WHITE }))?;
    let around: Vec<_> = corners.iter().chain(&corners[..2]).copied().collect();
    Ok(area.draw(&PathElement::new(around, colour.stroke_width(2)))?)
}

/// The places of the legend's entries: the left end, the line, and the words of each.
struct Legend<'a>(Vec<(i32, i32, Sample<'a>, &'a str)>);

#[derive(Clone, Copy)]
enum Sample<'a> {
    Mark(&'a Key),
    Reference,
    Bar,
    None,
}

impl Sample<'_> {
    fn width(self) -> i32 {
        match self {
            Sample::Mark(_) => 28,
            Sample::Reference => 44,
            Sample::Bar => 14,
            Sample::None => 0,
        }
    }
}

impl<'a> Legend<'a> {
    fn of(figure: &'a Figure) -> Legend<'a> {
        let mut entries: Vec<(Sample, &str)> = Vec::new();
        // Every key once, in the order of its first appearance.
        for key in figure.panels.iter().flat_map(|p| &p.series).map(|s| &s.key) {
            if entries.iter().all(|(_, name)| *name != key.name) {
                entries.push((Sample::Mark(key), &key.name));
            }
        }
        entries.extend(figure.reference.as_deref().map(|words| (Sample::Reference, words)));
        let numbers = figure.panels.iter().any(|p| !p.lines);
        entries.push(match (figure.bars, numbers) {
            (Bars::Quartiles, false) => {
                (Sample::Bar, "lower to upper quartile; the mark is the median")
            }
            (Bars::Quartiles, true) => {
                (Sample::Bar, "lower to upper quartile; the mark and the number are the median")
            }
            (Bars::Interval, false) => (Sample::Bar, "95 % interval"),
            (Bars::Interval, true) => (Sample::Bar, "95 % interval; the number is the estimate"),
            (Bars::Medians, _) => (Sample::None, "medians"),
            (Bars::Predicted, _) => (Sample::None, "predicted, not measured"),
        });
        let (mut x, mut line) = (MARGIN, 0);
        let place = |(sample, words): (Sample<'a>, &'a str)| {
            let width = sample.width() + width(words, SMALL);
            if x > MARGIN && x + width > WIDTH - MARGIN {
                (x, line) = (MARGIN, line + 1);
            }
            let at = (x, line, sample, words);
            x += width + 26;
            at
        };
        Legend(entries.into_iter().map(place).collect())
    }

    fn height(&self) -> i32 {
        self.0.last().map_or(0, |(_, line, ..)| (line + 1) * LINE)
    }

    fn draw(&self, area: &Area, top: i32) -> Result<()> {
        for &(x, line, sample, words) in &self.0 {
            let y = top + line * LINE + LINE / 2;
            match sample {
                Sample::Mark(key) => mark(area, (x + 10, y), key)?,
                Sample::Reference => {
                    area.draw(&PathElement::new([(x, y), (x + 34, y)], INK.stroke_width(1)))?;
                }
                Sample::Bar => {
                    let ends = [(x + 4, y - 9), (x + 4, y + 9)];
                    area.draw(&PathElement::new(ends, INK.stroke_width(3)))?;
                }
                Sample::None => {}
            }
            say(area, words, (x + sample.width(), y), font(SMALL).color(&INK), HPos::Left)?;
        }
        Ok(())
    }
}

/// The room around the plots, the same for all panels of a figure, so that all plots have one size.
struct Room {
    titles: i32,
    y_titles: i32,
    /// The widest number of a y axis.
    numbers: i32,
    names: Names,
    x_title: i32,
    /// The size of a plot.
    plot: (i32, i32),
    /// How much of it stays free above the points of any panel.
    above: i32,
}

/// How the names of an x axis stand.
#[derive(Clone, Copy)]
enum Names {
    Rows(i32),
    /// Upwards; the height of the longest.
    Turned(i32),
}

impl Names {
    fn of(panel: &Panel, plot: i32) -> Names {
        let widest = panel.x_names.iter().map(|n| width(n, SMALL)).max().unwrap_or(0) + 8;
        match plot / panel.x_names.len().max(1) as i32 {
            slot if widest <= slot => Names::Rows(1),
            slot if widest <= 2 * slot => Names::Rows(2),
            _ => Names::Turned(widest),
        }
    }

    fn height(self) -> i32 {
        match self {
            Names::Rows(rows) => rows * LINE,
            Names::Turned(height) => height,
        }
    }
}

impl Room {
    /// The room of panels in cells of this width, whose plots have this height below their numbers.
    fn of(panels: &[Panel], cell: i32, height: i32) -> Room {
        let most = |value: &dyn Fn(&Panel) -> i32| panels.iter().map(value).max().unwrap_or(0);
        let count = |text: &str, size| lines(text, size, cell - 2 * MARGIN).len() as i32;
        let mut room = Room {
            titles: most(&|p| count(&p.title, MIDDLE)),
            y_titles: most(&|p| count(&p.y_title, SMALL)),
            numbers: 5 * SMALL,
            names: Names::Rows(1),
            x_title: if panels.iter().any(|p| !p.x_title.is_empty()) { LINE } else { 0 },
            plot: (0, height),
            above: 0,
        };
        // The ticks depend on the room for numbers, and this on the width that the ticks leave.
        for _ in 0..2 {
            room.plot.0 = cell - 2 * MARGIN - room.numbers - 2 * TICK;
            room.above = most(&|p| room.above(p));
            room.plot.1 = height + room.above;
            room.numbers = most(&|p| {
                let ticks = room.axis(p).map_or(Vec::new(), |axis| axis.ticks(room.ticks()));
                ticks.into_iter().map(|t| width(&tick_name(t), SMALL)).max().unwrap_or(0)
            });
        }
        room.plot.0 = cell - 2 * MARGIN - room.numbers - 2 * TICK;
        let names = panels.iter().map(|p| Names::of(p, room.plot.0));
        room.names = names.max_by_key(|names| names.height()).unwrap_or(room.names);
        room
    }

    /// The height of a cell.
    fn height(&self) -> i32 {
        let head = (self.titles + self.y_titles) * LINE + LINE / 2;
        head + self.plot.1 + TICK + self.names.height() + self.x_title + MARGIN
    }

    /// The number of ticks for which the y axis has room.
    fn ticks(&self) -> usize {
        (self.plot.1 / (LINE + 8)).max(2) as usize
    }

    fn axis(&self, panel: &Panel) -> Option<Axis> {
        let above = if panel.range.is_some() { self.above } else { self.above(panel) };
        Axis::of(panel, f64::from(above) / f64::from(self.plot.1))
    }

    /// How the numbers at the marks of a panel stand: Some(true) if turned, None if there are none.
    fn number(&self, panel: &Panel) -> Option<bool> {
        let points = (panel.x_names.len() * panel.series.len()).max(1) as i32;
        let place = (f64::from(self.plot.0) * 0.8) as i32 / points;
        let fits = self.widest_number(panel) + 4 <= place;
        (!panel.lines && (fits || SMALL <= place)).then_some(!fits)
    }

    /// The room above the points of a panel, for their numbers.
    fn above(&self, panel: &Panel) -> i32 {
        match self.number(panel) {
            None => 0,
            Some(true) => REACH + self.widest_number(panel) + 6,
            Some(false) => REACH + LINE,
        }
    }

    fn widest_number(&self, panel: &Panel) -> i32 {
        let points = panel.series.iter().flat_map(|s| s.points.iter().flatten());
        points.map(|q| width(&short(q.median), SMALL)).max().unwrap_or(0)
    }
}

impl Panel {
    fn draw(&self, area: &Area, (left, top): (i32, i32), room: &Room, bars: Bars) -> Result<()> {
        let Some(axis) = room.axis(self) else { return Ok(()) };
        let inner = room.plot.0 + room.numbers + 2 * TICK;
        let x = left + MARGIN;
        let title = lines(&self.title, MIDDLE, inner);
        for (i, line) in title.iter().enumerate() {
            let y = top + (room.titles - title.len() as i32 + i as i32) * LINE + LINE / 2;
            say(area, line, (x, y), font(MIDDLE).color(&INK), HPos::Left)?;
        }
        let under = top + room.titles * LINE;
        for (i, line) in lines(&self.y_title, SMALL, inner).iter().enumerate() {
            let y = under + i as i32 * LINE + LINE / 2;
            say(area, line, (x, y), font(SMALL).color(&RGBColor(90, 90, 90)), HPos::Left)?;
        }
        let plot_top = under + room.y_titles * LINE + LINE / 2;
        let plot_left = x + room.numbers + 2 * TICK;
        let (width_of, height) = room.plot;
        let cell = area.clone().shrink((x, plot_top), (inner, height + TICK));
        let slots = self.x_names.len().max(1) as f64;
        let mut chart = ChartBuilder::on(&cell)
            .set_label_area_size(LabelAreaPosition::Left, room.numbers + 2 * TICK)
            .set_label_area_size(LabelAreaPosition::Bottom, TICK)
            .build_cartesian_2d(0.0..slots, axis)?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .x_labels(0)
            .y_labels(room.ticks())
            .bold_line_style(GRID)
            .light_line_style(TRANSPARENT)
            .axis_style(INK)
            .label_style(font(SMALL).color(&INK))
            .draw()?;
        for (i, name) in self.x_names.iter().enumerate() {
            let at = plot_left + ((i as f64 + 0.5) / slots * f64::from(width_of)) as i32;
            let bottom = plot_top + height;
            area.draw(&PathElement::new([(at, bottom), (at, bottom + TICK)], INK.stroke_width(1)))?;
            let style = font(SMALL).color(&INK);
            match room.names {
                Names::Turned(_) => {
                    let turned = style.transform(FontTransform::Rotate270);
                    say(area, name, (at, bottom + TICK + 4), turned, HPos::Right)?;
                }
                Names::Rows(rows) => {
                    let y = bottom + TICK + (i as i32 % rows) * LINE + LINE / 2;
                    say(area, name, (at, y), style, HPos::Center)?;
                }
            }
        }
        let y = plot_top + height + TICK + room.names.height() + LINE / 2 - 2;
        let middle = plot_left + width_of / 2;
        say(area, &self.x_title, (middle, y), font(SMALL).color(&INK), HPos::Center)?;

        if let Some(value) = self.reference.filter(|&value| axis.reaches(value)) {
            let ends = [(0.0, value), (slots, value)];
            chart.draw_series(LineSeries::new(ends, INK.stroke_width(1)))?;
        }
        let count = self.series.len() as f64;
        let step = if self.lines { (0.8 / count).min(0.05) } else { 0.8 / count };
        for (index, series) in self.series.iter().enumerate() {
            let shift = 0.5 + (index as f64 - (count - 1.0) / 2.0) * step;
            let points = series.points.iter().enumerate();
            let points: Vec<_> =
                points.filter_map(|(i, q)| Some((i as f64 + shift, (*q)?))).collect();
            let colour = colour(series.key.colour);
            if self.lines {
                let line = points.iter().map(|(x, q)| (*x, q.median));
                chart.draw_series(LineSeries::new(line, colour.stroke_width(2)))?;
            }
            for (x, q) in &points {
                if matches!(bars, Bars::Quartiles | Bars::Interval) {
                    let bar = [(*x, q.low), (*x, q.high)];
                    chart.draw_series([PathElement::new(bar, colour.stroke_width(3))])?;
                }
                mark(area, chart.backend_coord(&(*x, q.median)), &series.key)?;
                let Some(turned) = room.number(self) else { continue };
                let (x, y) = chart.backend_coord(&(*x, q.high));
                let (words, style) =
                    (short(q.median), font(SMALL).color(&darker(series.key.colour)));
                let above = y.min(chart.backend_coord(&(0.0, q.median)).1 - REACH) - 3;
                if turned {
                    let style = style.transform(FontTransform::Rotate270);
                    say(area, &words, (x, above), style, HPos::Left)?;
                } else {
                    say(area, &words, (x, above - SMALL / 2), style, HPos::Center)?;
                }
            }
        }
        Ok(())
    }
}

impl Figure {
    /// The drawing.
    pub fn svg(&self, note: &str) -> Result<String> {
        let title = lines(&self.title, LARGE, WIDTH - 2 * MARGIN);
        let notes = lines(note, SMALL, WIDTH - 2 * MARGIN);
        let legend = Legend::of(self);
        let columns = self.columns.max(1);
        let cell = WIDTH / columns as i32;
        let room = Room::of(&self.panels, cell, self.panel_height as i32 - 100);
        let rows = self.panels.len().div_ceil(columns) as i32;
        let head = MARGIN + title.len() as i32 * (LARGE + 8);
        let panels = head + legend.height() + LINE / 2;
        let foot = panels + rows * room.height();
        let height = foot + notes.len() as i32 * LINE + MARGIN;
        let mut svg = String::new();
        {
            let size = (WIDTH as u32, height as u32);
            let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
            area.fill(&WHITE)?;
            for (i, line) in title.iter().enumerate() {
                let y = MARGIN + i as i32 * (LARGE + 8) + LARGE / 2;
                say(&area, line, (MARGIN, y), font(LARGE).color(&INK), HPos::Left)?;
            }
            legend.draw(&area, head)?;
            for (i, panel) in self.panels.iter().enumerate() {
                let (row, column) = ((i / columns) as i32, (i % columns) as i32);
                let at = (column * cell, panels + row * room.height());
                panel.draw(&area, at, &room, self.bars)?;
            }
            for (i, line) in notes.iter().enumerate() {
                let at = (MARGIN, foot + i as i32 * LINE + LINE / 2);
                say(&area, line, at, font(SMALL).color(&INK), HPos::Left)?;
            }
            area.present()?;
        }
        Ok(svg)
    }
}
