//! Draws a panel: its axes with ticks and names, its lines, bars and marks.

use super::axis::{Axis, tick_name};
use super::layout::{Names, Room};
use super::marks::mark;
use super::numbers::write_numbers;
use super::panel::{Drawn, Panel};
use super::style::{GRID, LINE, MARGIN, MIDDLE, REFERENCE, SMALL, TICK, text};
use crate::figures::drawing::font;
use crate::figures::drawing::svg::{Anchor, Canvas, INK, Point, Rect, Text};

impl Panel {
    pub fn draw(&self, canvas: &mut Canvas, cell: Rect, room: &Room) {
        let plot = room.plot(cell);
        let Some(axis) = self.axis((plot.bottom, plot.top)) else { return };
        let middle = (plot.left + plot.right) / 2.0;
        let most = cell.right - cell.left - 2.0 * MARGIN;
        // If one title is broken before a parenthesis, so are all others.
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
}
