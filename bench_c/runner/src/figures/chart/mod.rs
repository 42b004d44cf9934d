//! Draws small multiples: a title, a legend, a grid of panels, a note.
//!
//! A panel has names on its x axis and numbers on its y axis, linear from 0 or logarithmic.
//! A point is a median with a bar from the lower to the upper quartile, or an estimate with its
//! interval.
//!
//! From the ground: [`style`] has the sizes, [`axis`] the scale and its ticks, and [`marks`] the
//! shapes. [`panel`] has what a panel shows and where, [`layout`] the room that its texts take,
//! [`numbers`] the places of the numbers, and [`draw`] draws it. [`figure`] puts panels together.
//!
//! # Why not a crate
//!
//! The crate plotters drew these figures before. It leaves to its caller what matters most here:
//! names that do not fit on an axis, numbers beside marks that must not overlap each other or a
//! bar, and sizes in points of print. The rest are lines and circles, for which
//! [`super::drawing::svg`] needs 100 lines. Crates do the rest: ttf-parser measures texts, resvg
//! makes pictures, svg2pdf makes PDF files.
//!
//! # Sizes
//!
//! A figure is as wide as the text of an A4 page, 160 mm, and drawn in units of half a point, so
//! that its smallest text, [`style::SMALL`], has 9 points in print. Texts are measured before they
//! are placed. A title is broken into lines. Names that are too wide for one row stand in two rows,
//! and if two rows do not suffice, some are left out. The number of a mark is drawn at the first
//! place beside it that is free of other texts, marks and bars. If no place is free, only the CSV
//! file has the number.
//!
//! # In greyscale
//!
//! Each series has a colour, and also a shape, a kind of line and a lightness of its own.

pub mod axis;
mod draw;
mod figure;
mod layout;
#[cfg(all(test, feature = "pictures"))]
pub mod legible;
mod marks;
mod numbers;
mod panel;
mod style;
#[cfg(test)]
pub mod tests;

pub use figure::{Bars, Figure, with_ending};
pub use marks::{Key, Shape};
pub use panel::{Panel, Series};
