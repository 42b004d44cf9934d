//! Figures: [`drawing`] puts ink on a page, [`chart`] draws panels with axes, [`keys`] gives each
//! kind its colour and shape, and [`bench`] has the figures of `make bench`.

pub mod bench;
pub mod chart;
pub mod drawing;
pub mod keys;
