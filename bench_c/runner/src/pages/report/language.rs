//! The two languages of the report, as far as numbers and the words around them differ.

use sched_estimate::{Estimate, Verdict};
use sched_tools::number::short;

use crate::statistics::quartiles::Quartiles;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    English,
    French,
}

impl Language {
    /// One of two texts.
    pub fn choose<'a>(self, english: &'a str, french: &'a str) -> &'a str {
        match self {
            Language::English => english,
            Language::French => french,
        }
    }

    /// A number as this language writes it.
    pub fn text(self, number: &str) -> String {
        match self {
            Language::English => number.to_owned(),
            Language::French => number.replace('.', ","),
        }
    }

    /// A whole number whose groups of digits are parted by commas.
    pub fn grouped(self, number: &str) -> String {
        match self {
            Language::English => number.to_owned(),
            Language::French => number.replace(',', "\u{202f}"),
        }
    }

    pub fn number(self, value: f64) -> String {
        self.text(&short(value))
    }

    /// "2.92 [2.90–3.24]".
    pub fn between(self, low: f64, middle: f64, high: f64) -> String {
        self.text(&format!("{} [{}–{}]", short(middle), short(low), short(high)))
    }

    pub fn quartiles(self, q: Quartiles) -> String {
        self.between(q.low, q.median, q.high)
    }

    pub fn estimate(self, e: Estimate) -> String {
        self.between(e.low, e.value, e.high)
    }

    /// What a ratio of times says of the first of the two.
    pub fn verdict(self, verdict: Verdict) -> &'static str {
        match (self, verdict) {
            (Language::English, Verdict::Less) => "faster",
            (Language::English, Verdict::More) => "slower",
            (Language::English, Verdict::Open) => "no difference seen",
            (Language::French, Verdict::Less) => "plus rapide",
            (Language::French, Verdict::More) => "plus lent",
            (Language::French, Verdict::Open) => "aucune différence visible",
        }
    }
}
