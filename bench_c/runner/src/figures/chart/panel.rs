//! A panel: what it shows, and where its points are drawn.

use super::axis::Axis;
use super::marks::Key;
use crate::figures::drawing::svg::{Point, Rect};
use crate::statistics::quartiles::Quartiles;

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
    /// True: lines connect the points of a series. False: the medians are written beside them.
    pub lines: bool,
    /// The value of a dashed line across the plot, if the axis reaches it.
    pub reference: Option<f64>,
}

/// A point of a series, and where it is drawn.
pub struct Drawn<'a> {
    pub key: &'a Key,
    pub at: Point,
    /// The upper and the lower end of its bar.
    pub bar: (f64, f64),
    pub value: f64,
}

impl Panel {
    /// None if there is nothing to show.
    pub fn axis(&self, ends: (f64, f64)) -> Option<Axis> {
        let points = || self.series.iter().flat_map(|s| s.points.iter().flatten());
        // A logarithmic axis always includes the reference.
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

    /// The middle of the place of a name.
    pub fn slot(&self, i: usize, plot: Rect) -> f64 {
        plot.left + (i as f64 + 0.5) * (plot.right - plot.left) / self.x_names.len() as f64
    }

    /// The points of each series. Those of one name stand beside each other.
    pub fn drawn(&self, axis: &Axis, plot: Rect) -> Vec<Vec<Drawn<'_>>> {
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
