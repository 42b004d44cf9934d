//! The options of `make bench-peers`.

use std::path::Path;
use std::time::Duration;

pub struct Options<'a> {
    pub programs: &'a Path,
    pub results: &'a Path,
    pub rounds: Option<usize>,
    pub quick: bool,
    /// Only these programs; all if empty.
    pub only: &'a [String],
    /// The time limit of a process.
    pub limit: Duration,
    pub seed: u64,
}
