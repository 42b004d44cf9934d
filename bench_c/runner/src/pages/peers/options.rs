//! What `make bench-peers` is told.

use std::path::Path;
use std::time::Duration;

pub struct Options<'a> {
    pub programs: &'a Path,
    pub results: &'a Path,
    pub rounds: Option<usize>,
    pub quick: bool,
    /// Empty: all.
    pub only: &'a [String],
    /// How long a process is waited for.
    pub limit: Duration,
    pub seed: u64,
}
