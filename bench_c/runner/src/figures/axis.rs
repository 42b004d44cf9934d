//! An axis of positive numbers for plotters, linear from 0 or logarithmic. Its ticks are round
//! numbers; the ticks of plotters' own logarithmic axis are powers of ten, of which a short axis
//! may have none.

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};

use super::Panel;

#[derive(Clone, Copy, Debug)]
pub struct Axis {
    low: f64,
    high: f64,
    log: bool,
}

impl Axis {
    /// The axis of a panel. A part `room` of its length stays free above the points. None if there
    /// is nothing to show.
    pub fn of(panel: &Panel, room: f64) -> Option<Axis> {
        let points = || panel.series.iter().flat_map(|s| s.points.iter().flatten());
        // A logarithmic axis always includes the reference.
        let line = panel.reference.filter(|_| panel.log);
        let (least, most) = panel.range.unwrap_or((f64::INFINITY, 0.0));
        let low = points().map(|q| q.low).chain(line).fold(least, f64::min);
        let high = points().map(|q| q.high).chain(line).fold(most, f64::max);
        if points().next().is_none() || !(low > 0.0 && high > 0.0) {
            return None;
        }
        let stretch = 1.0 / (1.0 - room);
        if panel.log {
            let low = low / 1.35;
            Some(Axis { low, high: low * (high * 1.1 / low).powf(stretch), log: true })
        } else {
            Some(Axis { low: 0.0, high: high * stretch * 1.05, log: false })
        }
    }

    pub fn reaches(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// At most this many round values, the densest of the usual choices, but at least two.
    pub fn ticks(&self, most: usize) -> Vec<f64> {
        let decades = self.low.log10().floor() as i32..=self.high.log10().ceil() as i32;
        let of = |steps: &[f64], every: i32| -> Vec<f64> {
            let decades = decades.clone().filter(|decade| decade.rem_euclid(every) == 0);
            let ticks = decades.flat_map(|e| steps.iter().map(move |step| step * 10f64.powi(e)));
            ticks.filter(|&tick| self.reaches(tick)).collect()
        };
        let choices: [(&[f64], i32); 5] =
            [(&[1.0, 2.0, 5.0], 1), (&[1.0, 3.0], 1), (&[1.0], 1), (&[1.0], 2), (&[1.0], 3)];
        let choices = choices.iter().filter(|_| self.log).map(|(steps, every)| of(steps, *every));
        let fits = |ticks: &Vec<f64>| (2..=most.max(2)).contains(&ticks.len());
        choices.into_iter().find(fits).unwrap_or_else(|| self.even_ticks(most))
    }

    fn even_ticks(&self, most: usize) -> Vec<f64> {
        let rough = (self.high - self.low) / most.max(2) as f64;
        let decade = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|of| of * decade).into_iter().find(|s| *s >= rough);
        let step = step.unwrap_or(rough);
        let (first, last) = ((self.low / step).ceil() as i64, (self.high / step).floor() as i64);
        (first..=last).map(|i| i as f64 * step).collect()
    }
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (from, to): (i32, i32)) -> i32 {
        let part = if self.log {
            (value / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        from + (part * f64::from(to - from)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        self.ticks(hint.max_num_points())
    }

    fn range(&self) -> Range<f64> {
        self.low..self.high
    }
}

impl ValueFormatter<f64> for Axis {
    fn format(value: &f64) -> String {
        tick_name(*value)
    }
}

/// The shortest text of a tick's value.
pub fn tick_name(value: f64) -> String {
    let decimals = if value == 0.0 { 0.0 } else { (2.0 - value.abs().log10().floor()).max(0.0) };
    let text = format!("{value:.*}", decimals as usize);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_few_but_two() {
        let ticks = |low, high, log, most| Axis { low, high, log }.ticks(most);
        assert_eq!(ticks(0.0, 2.1, false, 5), [0.0, 0.5, 1.0, 1.5, 2.0]);
        assert_eq!(ticks(8.0, 110.0, true, 5), [10.0, 20.0, 50.0, 100.0]);
        assert_eq!(ticks(0.5, 2000.0, true, 5), [1.0, 10.0, 100.0, 1000.0]);
        for i in 0..400 {
            let value = 10f64.powf(f64::from(i) / 100.0 - 2.0);
            for (spread, log) in
                [1.5, 2.0, 4.0, 30.0, 1e4].map(|s| [(s, true), (s, false)]).concat()
            {
                let found = ticks(if log { value } else { 0.0 }, value * spread, log, 6);
                assert!((2..=7).contains(&found.len()), "{value} {spread} {log}: {found:?}");
            }
        }
    }

    #[test]
    fn tick_names_are_short() {
        let names = [0.0, 0.5, 1.0, 0.02, 1000.0, 0.005].map(tick_name);
        assert_eq!(names, ["0", "0.5", "1", "0.02", "1000", "0.005"]);
    }
}
