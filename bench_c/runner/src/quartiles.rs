//! The median of a sample, with its quartiles.

use sched_tools::number::short;
use statrs::statistics::{Data, OrderStatistics};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quartiles {
    pub low: f64,
    pub median: f64,
    pub high: f64,
}

impl Quartiles {
    pub fn of(values: Vec<f64>) -> Option<Quartiles> {
        if values.is_empty() {
            return None;
        }
        let mut data = Data::new(values);
        Some(Quartiles {
            low: data.lower_quartile(),
            median: data.median(),
            high: data.upper_quartile(),
        })
    }

    pub fn scaled(self, by: f64) -> Quartiles {
        Quartiles { low: self.low * by, median: self.median * by, high: self.high * by }
    }

    /// For a logarithmic axis, which has no place for 0: none if the median is 0, and a bar that
    /// would reach 0 ends at `least`.
    pub fn on_log_axis(self, least: f64) -> Option<Quartiles> {
        (self.median > 0.0)
            .then_some(Quartiles { low: self.low.max(least).min(self.median), ..self })
    }

    /// `what` divided by these: if they are times of runs, the speed-ups over `what`.
    pub fn under(self, what: f64) -> Quartiles {
        Quartiles { low: what / self.high, median: what / self.median, high: what / self.low }
    }
}

/// "1.02 [1.00–1.05]".
pub fn with_quartiles(q: Quartiles) -> String {
    format!("{} [{}–{}]", short(q.median), short(q.low), short(q.high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles() {
        assert_eq!(Quartiles::of(vec![]), None);
        let one = Quartiles::of(vec![3.0]).unwrap();
        assert_eq!((one.low, one.median, one.high), (3.0, 3.0, 3.0));
        let five = Quartiles::of(vec![5.0, 1.0, 4.0, 2.0, 3.0]).unwrap();
        assert_eq!(five.median, 3.0);
        assert!(five.low >= 1.0 && five.low < 3.0 && five.high > 3.0 && five.high <= 5.0);
        assert_eq!(five.under(6.0).median, 2.0);
        let none_or_four = Quartiles { low: 0.0, median: 2.0, high: 4.0 };
        assert_eq!(none_or_four.on_log_axis(0.5).unwrap().low, 0.5);
        assert_eq!(one.scaled(0.0).on_log_axis(0.5), None);
    }
}
