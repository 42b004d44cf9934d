//! Sizes of texts and lines, in units of half a point, and colours that do not belong to a series.

use crate::figures::drawing::svg::{Anchor, Colour, INK, Point, Text};

pub const WIDTH: f64 = 907.0;
/// Sizes of text: 9, 10 and 12 points.
pub const SMALL: f64 = 18.0;
pub const MIDDLE: f64 = 20.0;
pub const LARGE: f64 = 24.0;
/// The distance from a line of small text to the next.
pub const LINE: f64 = 24.0;
pub const MARGIN: f64 = 14.0;
pub const TICK: f64 = 6.0;
pub const GRID: Colour = Colour(222, 222, 222);
/// How far a mark reaches from its middle.
pub const REACH: f64 = 7.0;

/// How high a digit is.
pub const DIGIT: f64 = 0.73 * SMALL;

/// The dashes of the line of reference.
pub const REFERENCE: &str = "5 4";

pub fn text(words: &str, at: Point, anchor: Anchor, size: f64) -> Text<'_> {
    Text { words, at, anchor, size, colour: INK, upwards: false }
}
