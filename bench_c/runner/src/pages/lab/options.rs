//! The options of `make lab`.

use std::path::Path;
use std::time::Duration;

use super::question::Question;

pub struct Options<'a> {
    pub programs: &'a Path,
    /// The folder of the recorder and of the program that measures its costs.
    pub recorder: &'a Path,
    /// The folders of LAB.md and its figures, and of lab.json.
    pub docs: &'a Path,
    pub results: &'a Path,
    /// The only question to ask; None: all.
    pub question: Option<&'static Question>,
    pub rounds: Option<usize>,
    pub quick: bool,
    /// The time limit of a process.
    pub limit: Duration,
    pub seed: u64,
}
