//! The axes of a panel: where a value lies, and which values have a tick.

/// An axis of positive numbers between two places on the drawing, linear from 0 or logarithmic.
pub struct Axis {
    from: f64,
    to: f64,
    log: bool,
    /// The places of `from` and `to`.
    ends: (f64, f64),
}

impl Axis {
    pub fn linear(to: f64, ends: (f64, f64)) -> Axis {
        Axis { from: 0.0, to, log: false, ends }
    }

    pub fn logarithmic(from: f64, to: f64, ends: (f64, f64)) -> Axis {
        Axis { from, to, log: true, ends }
    }

    pub fn at(&self, value: f64) -> f64 {
        let part = if self.log {
            (value / self.from).ln() / (self.to / self.from).ln()
        } else {
            (value - self.from) / (self.to - self.from)
        };
        self.ends.0 + part * (self.ends.1 - self.ends.0)
    }

    pub fn reaches(&self, value: f64) -> bool {
        (self.from..=self.to).contains(&value)
    }

    /// As many round values as possible with at least `gap` between two of them, but at least two.
    pub fn ticks(&self, gap: f64) -> Vec<f64> {
        let fits = |ticks: &Vec<f64>| {
            ticks.windows(2).all(|two| (self.at(two[1]) - self.at(two[0])).abs() >= gap)
        };
        let choices = if self.log { self.log_choices() } else { self.linear_choices() };
        let mut enough = choices.into_iter().filter(|ticks| ticks.len() >= 2);
        let first = enough.next().unwrap_or_default();
        if fits(&first) { first } else { enough.find(fits).unwrap_or(first) }
    }

    /// Sets of ticks, from the densest to the sparsest.
    fn log_choices(&self) -> Vec<Vec<f64>> {
        let decades = self.from.log10().floor() as i32..=self.to.log10().ceil() as i32;
        let of = |steps: &[f64], every: i32| -> Vec<f64> {
            let decades = decades.clone().filter(|decade| decade.rem_euclid(every) == 0);
            let ticks = decades.flat_map(|e| steps.iter().map(move |step| step * 10f64.powi(e)));
            ticks.filter(|&tick| self.reaches(tick)).collect()
        };
        vec![
            of(&[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0], 1),
            of(&[1.0, 2.0, 5.0], 1),
            of(&[1.0, 3.0], 1),
            of(&[1.0], 1),
            of(&[2.0, 5.0], 1),
            of(&[1.0], 2),
            of(&[1.0], 3),
        ]
    }

    fn linear_choices(&self) -> Vec<Vec<f64>> {
        let decade = 10f64.powf(self.to.log10().floor());
        let of = |step: f64| -> Vec<f64> {
            let ticks = (0..).map(|i| f64::from(i) * step);
            ticks.take_while(|tick| *tick <= self.to * (1.0 + 1e-9)).collect()
        };
        [0.2, 0.5, 1.0, 2.0, 5.0].map(|step| of(step * decade)).into()
    }
}

/// The shortest text of a tick's value.
pub fn tick_name(value: f64) -> String {
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
    fn ticks_are_round_and_apart() {
        let linear = |gap| Axis::linear(2.1, (180.0, 0.0)).ticks(gap);
        assert_eq!(linear(26.0), [0.0, 0.5, 1.0, 1.5, 2.0]);
        assert_eq!(linear(60.0), [0.0, 1.0, 2.0]);
        let log = |from, to| Axis::logarithmic(from, to, (180.0, 0.0)).ticks(26.0);
        assert_eq!(log(8.0, 110.0), [10.0, 20.0, 50.0, 100.0]);
        assert_eq!(log(0.5, 2000.0), [1.0, 10.0, 100.0, 1000.0]);
    }

    /// A logarithmic axis of a chart goes from the least value / 1.35 to the greatest times 1.6.
    #[test]
    fn every_axis_has_two_ticks() {
        for i in 0..400 {
            let value = 10f64.powf(f64::from(i) / 100.0 - 2.0);
            for spread in [1.0, 1.3, 4.0, 30.0, 1e4] {
                let ends = (180.0, 0.0);
                let log = Axis::logarithmic(value / 1.35, value * spread * 1.6, ends).ticks(26.0);
                let linear = Axis::linear(value, ends).ticks(26.0);
                assert!(
                    log.len() >= 2 && linear.len() >= 2,
                    "{value} {spread}: {log:?} {linear:?}"
                );
            }
        }
    }

    #[test]
    fn tick_names_are_short() {
        let names = [0.0, 0.5, 1.0, 0.02, 1000.0, 0.005].map(tick_name);
        assert_eq!(names, ["0", "0.5", "1", "0.02", "1000", "0.005"]);
    }
}
