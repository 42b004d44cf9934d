//! The words of the command line.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::Parser;

use crate::matrix::number;
use crate::setting::Part;

#[derive(Parser)]
#[command(about = "Builds the C tests of libsched against an installed tree and runs them")]
pub struct Options {
    /// The installed tree: lib/libsched.so, lib/pkgconfig/libsched.pc, include/libsched/
    #[arg(long)]
    pub prefix: PathBuf,
    /// The folder of the compiled benchmark programs
    #[arg(long)]
    pub bench: Option<PathBuf>,
    /// Only the tests whose name, settings included, contains this, or whose program is called this
    #[arg(long, default_value = "")]
    pub filter: String,
    /// Only these cases (a `*` at the end stands for anything) or all cases of these programs, and
    /// no other checks. They run with 4 threads and SCHED_IDLE=park, or with the first values that their markers allow
    #[arg(long, value_delimiter = ',')]
    pub programs: Vec<String>,
    /// Leave the cases out that this file lists: lines `NAME ...: REASON`, or comments that
    /// begin with `#`
    #[arg(long, value_name = "FILE")]
    pub except: Option<PathBuf>,
    /// Link the programs with libsched.a instead of the shared library
    #[arg(long)]
    pub statically: bool,
    /// Compile the programs with -fsanitize=WORD
    #[arg(long, value_name = "WORD")]
    pub sanitize: Option<String>,
    /// Run the programs by this command: valgrind, or an emulator of the processor that CC compiles
    /// for
    #[arg(long, value_name = "COMMAND", value_delimiter = ' ')]
    pub under: Vec<String>,
    /// The programs divide their sizes by this number, for slow tools and short tests
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub smaller: u32,
    /// Half of the settings that cover pairs, for short tests
    #[arg(long)]
    pub fewer: bool,
    /// The level of optimisation of the programs that are compiled: 1 takes a fifth less time than 2
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub optimize: u32,
    /// The folder of the library to link with [default: that of the prefix]
    #[arg(long)]
    pub libdir: Option<PathBuf>,
    /// Only these kinds in the matrix
    #[arg(long, value_delimiter = ',')]
    pub kinds: Vec<String>,
    /// Tests at a time [default: one and a half times the number of processors]
    #[arg(long)]
    pub jobs: Option<usize>,
    /// Seconds a test may take unless it says otherwise, on a machine that does nothing else
    #[arg(long, default_value_t = 30.0)]
    pub timeout: f64,
    /// Print the names of the tests, and run none
    #[arg(long)]
    pub list: bool,
    /// Print a line for every test, also for those that pass
    #[arg(long, short)]
    pub verbose: bool,
    /// Only the programs with a matrix, under every combination that the library accepts; of these
    /// runs the Kth of N slices
    #[arg(long, value_name = "K/N")]
    pub knobs: Option<Slice>,
    /// Of the programs the Kth of N slices
    #[arg(long, value_name = "K/N")]
    pub slice: Option<Slice>,
    /// Instead of the tests, run the stress program under all settings, for so many minutes
    #[arg(long, value_name = "MINUTES")]
    pub stress: Option<f64>,
    /// Instead of the tests, run the soak program under random settings for so many hours, and add
    /// what it did to the file PREFIX/../soak/state.json
    #[arg(long, value_name = "HOURS")]
    pub soak: Option<f64>,
    /// Instead of the tests, run random programs under all settings, for so many minutes
    #[arg(long, value_name = "MINUTES")]
    pub fuzz: Option<f64>,
    /// The seed of the first random program [default: from the time]
    #[arg(long)]
    pub seed: Option<u64>,
    /// The library was built with `--cfg sched_fuzz`: set SCHED_FUZZ for random programs
    #[arg(long)]
    pub delays: bool,
    /// Random programs run under these settings only: NAME=VALUE,..., without SCHED_
    #[arg(long, value_name = "NAME=VALUE", requires = "fuzz")]
    pub only: Vec<String>,
    /// Do not shrink a random program that fails
    #[arg(long)]
    pub unshrunk: bool,
    /// Instead of the tests, run the programs of this file under the settings that it names
    #[arg(long, value_name = "FILE")]
    pub replay: Option<PathBuf>,
    /// The root of the project [default: where this was built]
    #[arg(long)]
    pub root: Option<PathBuf>,
}

impl Options {
    /// True if `--programs` has the program.
    pub fn has(&self, program: &str) -> bool {
        self.programs.iter().any(|name| name == program)
    }

    /// True if the case is to be run.
    pub fn names(&self, case: &str) -> bool {
        let fits = |name: &String| match name.strip_suffix('*') {
            Some(start) => case.starts_with(start),
            None => case == name,
        };
        self.programs.is_empty() || self.programs.iter().any(fits)
    }

    /// The words that run the program.
    pub fn words(&self, program: &Path) -> Vec<String> {
        let mut words = self.under.clone();
        words.push(program.display().to_string());
        words
    }

    /// True if the programs run beside a race detector.
    pub fn has_race_detector(&self) -> bool {
        let is_tool = |word: &String| ["--tool=helgrind", "--tool=drd"].contains(&word.as_str());
        self.sanitize.as_deref() == Some("thread") || self.under.iter().any(is_tool)
    }

    /// What these options leave of a part of the matrix.
    pub fn part(&self, part: &Part) -> Part {
        let mut part = part.clone();
        if !self.kinds.is_empty() {
            part.restrict("KIND", &self.kinds);
        }
        if !self.programs.is_empty() {
            part.prefer("IDLE", "park");
            part.prefer("THREADS", "4");
        }
        part
    }

    /// True if no option leaves anything out.
    pub fn whole(&self) -> bool {
        self.programs.is_empty() && self.kinds.is_empty() && self.filter.is_empty()
    }
}

/// `K/N`, 1 <= K <= N.
#[derive(Clone, Copy)]
pub struct Slice {
    k: usize,
    n: usize,
}

impl FromStr for Slice {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Slice, &'static str> {
        let numbers =
            text.split_once('/').and_then(|(k, n)| Some((k.parse().ok()?, n.parse().ok()?)));
        match numbers {
            Some((k, n)) if (1..=n).contains(&k) => Ok(Slice { k, n }),
            _ => Err("not K/N with 1 <= K <= N"),
        }
    }
}

impl Slice {
    /// Whether the run with this name is in the slice. Names are spread over the slices without an
    /// order, so that each slice has some of everything.
    pub fn has(self, name: &str) -> bool {
        number(name) % self.n == self.k - 1
    }
}
