//! Drawings: [`svg`] builds one, [`font`] tells how wide a text is, and [`render`] writes the
//! files.

pub mod font;
pub mod render;
pub mod svg;
