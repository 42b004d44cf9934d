//! Small multiples: a title, a legend, a grid of panels, a note.
//!
//! A panel has names on its x axis and numbers on its y axis, linear from 0 or logarithmic.
//! A point is a median, the bar through it goes from the lower to the upper quartile; or it is an
//! estimate with its interval.
//!
//! From the ground: [`style`] has the sizes, [`axis`] the scale and its ticks, and [`marks`] the shapes. [`panel`]
//! is what a panel shows and where, [`layout`] the room that its texts take, [`numbers`] the places of the numbers,
//! [`draw`] the ink; [`figure`] puts panels together.
//!
//! # Why not a crate
//!
//! plotters drew these figures before. It leaves placing to the caller where it matters here: names on an axis that
//! do not fit, numbers beside marks that must not overlap each other or a bar, and sizes in points of print. What
//! remained of it was lines and circles, which [`super::drawing::svg`] writes in 100 lines. Fonts, pictures and PDF
//! are the work of crates: ttf-parser, resvg and svg2pdf.
//!
//! # Sizes
//!
//! A figure is as wide as the text of an A4 page, 160 mm, and drawn in units of half a point: so
//! its smallest text, [`style::SMALL`], has 9 points in print. Texts are measured before they are placed:
//! a title is broken into lines; names that are too wide for one row stand in two, and some are left
//! out where two rows do not suffice. Beside a mark the number is drawn at the first place that is free of
//! other texts, marks and bars. If no place is free, only the CSV file has the number.
//!
//! # In greyscale
//!
//! A series has a colour, and besides a shape, a kind of line and a lightness of its own.

pub mod axis;
mod draw;
mod figure;
mod layout;
mod marks;
mod numbers;
mod panel;
mod style;
#[cfg(test)]
pub mod tests;

pub use figure::{Bars, Figure};
pub use marks::{Key, Shape};
pub use panel::{Panel, Series};
