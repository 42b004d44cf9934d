//! What the runs say: [`quartiles`] of a sample, the [`summary`] of all runs by setup, and the [`verdict`]: sentences.

pub mod quartiles;
pub mod summary;
pub mod verdict;
