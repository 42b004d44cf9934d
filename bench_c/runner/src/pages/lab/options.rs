//! What `make lab` is told.

use std::path::Path;
use std::time::Duration;

pub struct Options<'a> {
    pub programs: &'a Path,
    /// The folder of the recorder and of the program that measures its costs.
    pub recorder: &'a Path,
    /// Where LAB.md and the figures go, and where lab.json.
    pub docs: &'a Path,
    pub results: &'a Path,
    pub rounds: Option<usize>,
    pub quick: bool,
    /// How long a process is waited for.
    pub limit: Duration,
    pub seed: u64,
}
