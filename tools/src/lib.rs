//! What the runners of tests and benchmarks and the simulator share.
//!
//! - [`process`] starts a child process without the caller's settings, waits for it up to a limit,
//!   and returns what it printed and what it used.
//! - [`number`] writes numbers with three digits that matter, counters, and thousands.
//! - [`text`] breaks sentences into lines, and joins words to lists.
//! - [`provenance`] says which commit, machine and time a result comes from.
//! - [`sources`] finds the files that a test of the source reads.
//! - [`table`] lays out tables for a terminal and for a Markdown page.

pub mod number;
pub mod process;
pub mod provenance;
pub mod sources;
pub mod table;
pub mod text;
