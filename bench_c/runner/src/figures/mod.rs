//! Figures: [`chart`] draws panels with axes, [`keys`] gives each kind its colour and shape, and
//! [`bench`] has the figures of `make bench`.

pub mod bench;
pub mod chart;
pub mod keys;
