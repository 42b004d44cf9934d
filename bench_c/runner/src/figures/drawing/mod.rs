//! Drawings: [`svg`] builds one, [`font`] tells how wide a text is, and, with the feature
//! `pictures`, `render` makes pictures.

pub mod font;
#[cfg(feature = "pictures")]
pub mod render;
pub mod svg;
