//! The options of `make bench`, `make bench-peers` and `make bench-programs-peers`.

use std::path::Path;
use std::time::Duration;

pub struct Options<'a> {
    /// The folder of the compiled programs.
    pub programs: &'a Path,
    pub results: &'a Path,
    pub repetitions: Option<usize>,
    pub quick: bool,
    /// Only these programs; all if empty.
    pub only: &'a [String],
    /// The time limit of a process.
    pub limit: Duration,
    pub seed: u64,
    /// When `make results` began, if the session is a part of it.
    pub began: Option<&'a str>,
}
