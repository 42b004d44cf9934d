//! How much room the texts around the plot of a panel take.

use super::axis::tick_name;
use super::panel::Panel;
use super::style::{LINE, MARGIN, MIDDLE, SMALL, TICK};
use crate::figures::drawing::font;
use crate::figures::drawing::svg::Rect;

/// The room around the plots, the same for all panels of a figure, so that all plots have one size.
pub struct Room {
    /// Lines of the longest title.
    pub title_lines: usize,
    /// The widest number of a y axis.
    pub numbers: f64,
    /// Lines of the longest title of a y axis, which runs upwards.
    pub y_title_lines: usize,
    /// Rows of names on the x axis.
    pub name_rows: usize,
    /// Whether an x axis has a title.
    pub x_titles: bool,
}

impl Room {
    /// The room that these panels need in cells of this size.
    pub fn of(panels: &[Panel], width: f64, height: f64) -> Room {
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
        // Names need more rows in less width, and the axis has less height above more rows.
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

    /// The area of the plot in the cell of a panel.
    pub fn plot(&self, cell: Rect) -> Rect {
        let below = self.name_rows + usize::from(self.x_titles);
        Rect {
            left: cell.left + MARGIN + self.y_title_lines as f64 * LINE + self.numbers + 2.0 * TICK,
            top: cell.top + self.title_lines as f64 * LINE + 10.0,
            right: cell.right - MARGIN,
            bottom: cell.bottom - TICK - below as f64 * LINE - 12.0,
        }
    }
}

/// How the names of an x axis stand: in one row or in two, and if necessary only every so many of
/// them.
pub struct Names {
    pub rows: usize,
    pub every: usize,
}

impl Names {
    pub fn of(panel: &Panel, width: f64) -> Names {
        let slot = width / panel.x_names.len().max(1) as f64;
        let widest = panel.x_names.iter().map(|n| font::width(n, SMALL)).fold(0.0, f64::max) + 10.0;
        match widest / slot {
            part if part <= 1.0 => Names { rows: 1, every: 1 },
            part if part <= 2.0 => Names { rows: 2, every: 1 },
            part => Names { rows: 1, every: part.ceil() as usize },
        }
    }
}
