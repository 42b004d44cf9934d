//! The data that all parts of the runner look up.

use std::path::PathBuf;

use crate::compile::Toolchain;
use crate::dispatch::Job;
use crate::matrix::Matrix;
use crate::options::{Options, Slice};
use crate::setting::{Part, Setting, THREADS};

/// With `--programs`, and where a marker says so, a run has this many combinations of the 35 or so
/// that cover all pairs.
const FEW: usize = 8;

pub struct Session {
    pub options: Options,
    pub tools: Toolchain,
    pub root: PathBuf,
    pub prefix: PathBuf,
    pub work: PathBuf,
    pub jobs: usize,
    pub matrix: Matrix,
}

impl Session {
    /// The settings of a part of the matrix for the run called `name`.
    pub fn settings(&self, part: &Part, name: &str) -> Vec<Setting> {
        let few = part.few || !self.options.programs.is_empty();
        let part = self.options.part(part);
        match self.options.knobs {
            Some(_) => self.matrix.all(&part),
            None if few => self.matrix.few(&part, name, FEW),
            None if self.options.fewer => self.matrix.fewer(&part, name),
            None => self.matrix.some(&part, name),
        }
    }

    /// What programs that run for long go through: every combination × 1 to 16 threads.
    pub fn for_long(&self) -> Part {
        let mut part = self.options.part(&Part { refuse: true, ..Part::default() });
        part.restrict(THREADS, &(1..=16).map(|n| n.to_string()).collect::<Vec<_>>());
        part
    }

    /// True if the job is in the slice that was asked for: of runs, or of whole programs.
    pub fn wants(&self, job: &Job) -> bool {
        let runs = |slice: Slice| job.setting.is_some() && slice.has(&job.name());
        self.options.knobs.is_none_or(runs)
            && self.options.slice.is_none_or(|slice| slice.has(&job.group))
    }
}
