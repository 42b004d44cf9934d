//! What the runs mean: [`quartiles`] of a sample, the [`summary`] of all runs by setup, and the
//! sentences of the [`verdict`].

pub mod quartiles;
pub mod summary;
pub mod verdict;
