//! The cases of a test program and their markers. `CASE(NAME)` begins a case (c_tests/case.h). Lines
//! `ctest: WORDS` in the comments before it, after the case before, are its markers. A program
//! without cases is one case of its own name.
//!
//! ```text
//! matrix                  run under many settings of the variables: see matrix.rs. Without this
//!                         word the program runs once, with no variable set
//! kind= deque= idle= threads= steal= overflow= global= join=
//!                         restrict the matrix to these values, separated by commas. A single value
//!                         of one of the last four is set in all settings
//! with= without=          restrict the matrix to the kinds that have, or have not, all of these
//!                         properties: see kinds.rs
//! refuse                  include overflow=refuse in the matrix
//! few                     a few of the settings, but all with --knobs: what the program promises
//!                         hardly depends on them
//! plain                   only the settings of kind × deque × idle × threads
//! stats=N                 the run writes one line of statistics, with N tasks
//! trace                   the run writes a timeline, which sched-timeline checks
//! env=NAME=VALUE args=A,B timeout=SECONDS
//! static                  also linked with libsched.a
//! debug                   also linked with the library's debug build; debug=only: with no other
//! sleeps                  each run sleeps nearly all the time, so other jobs run beside it
//! nolink                  not linked with the library (CTEST_LIBDIR is the library's folder)
//! plugin                  not linked with the library, and built once more with -DPLUGIN, as a
//!                         shared object that contains libsched.a (CTEST_PLUGIN is its path)
//! linked                  after plugin: the program itself is linked with the shared library
//! cflags=A,B              further flags of the compiler
//! libs=A,B                further libraries: -lA -lB
//! header=FOLDER           compiled with -iquote FOLDER (of c_tests), not with the installed header
//! ```
//! `static`, `debug`, `sleeps`, `nolink`, `plugin`, `linked`, `cflags=`, `libs=` and `header=`
//! apply to the case, the other words to the runs of their line. A line without any of the other
//! words adds no run to a case that has further lines. A case without a marker runs once. The cases
//! of a program are built together, with the libraries of all: `nolink`, `plugin`, `linked`,
//! `cflags=` and `header=` are for programs without further cases.

use anyhow::{Context, Result, bail, ensure};

use crate::kinds::Kinds;
use crate::matrix::Matrix;
use crate::setting::Part;

#[derive(Clone, Debug, Default)]
pub struct Run {
    pub matrix: Option<Part>,
    pub environment: Vec<(String, String)>,
    pub arguments: Vec<String>,
    pub timeout: Option<f64>,
    pub tasks: Option<u64>,
    pub trace: bool,
}

/// Whether a program runs with the library's debug build.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Debug {
    #[default]
    No,
    Also,
    Only,
}

#[derive(Debug, Default)]
pub struct Markers {
    pub runs: Vec<Run>,
    pub statically: bool,
    pub debug: Debug,
    pub sleeps: bool,
    pub unlinked: bool,
    pub plugin: bool,
    pub cflags: Vec<String>,
    pub libraries: Vec<String>,
    pub header: Option<String>,
}

/// The cases of a program and their markers.
pub fn parse(
    program: &str,
    source: &str,
    matrix: &Matrix,
    kinds: &Kinds,
) -> Result<Vec<(String, Markers)>> {
    let (mut cases, mut markers) = (Vec::new(), Markers::default());
    for line in source.lines() {
        if let Some((_, words)) = line.split_once("ctest:") {
            parse_line(words, matrix, kinds, &mut markers)
                .with_context(|| format!("marker:{words}"))?;
        } else if let Some(name) = line.strip_prefix("CASE(").and_then(|s| s.strip_suffix(')')) {
            cases.push((name.to_string(), std::mem::take(&mut markers)));
        }
    }
    if cases.is_empty() {
        cases.push((program.to_string(), markers));
    }
    for (name, markers) in &mut cases {
        let is_special = markers.unlinked
            || markers.plugin
            || !markers.cflags.is_empty()
            || markers.header.is_some();
        ensure!(name == program || !is_special, "{name} needs a program of its own");
        if markers.runs.is_empty() {
            markers.runs.push(Run::default());
        }
    }
    Ok(cases)
}

fn parse_line(words: &str, matrix: &Matrix, kinds: &Kinds, markers: &mut Markers) -> Result<()> {
    let words = words.trim().trim_end_matches("*/");
    let (mut run, mut part, mut says_run) =
        (Run::default(), Part::default(), words.trim().is_empty());
    let list = |value: &str| value.split(',').map(str::to_string).collect::<Vec<_>>();
    for word in words.split_whitespace() {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        let of_program = matches!(
            name,
            "static"
                | "debug"
                | "sleeps"
                | "nolink"
                | "plugin"
                | "linked"
                | "cflags"
                | "libs"
                | "header"
        );
        says_run |= !of_program;
        match name {
            "static" => markers.statically = true,
            "debug" if value.is_empty() => markers.debug = Debug::Also,
            "debug" if value == "only" => markers.debug = Debug::Only,
            "sleeps" => markers.sleeps = true,
            "nolink" => markers.unlinked = true,
            "plugin" => (markers.plugin, markers.unlinked) = (true, true),
            "cflags" => markers.cflags = list(value),
            "linked" => markers.unlinked = false,
            "libs" => markers.libraries = list(value),
            "header" => markers.header = Some(value.to_string()),
            "matrix" => run.matrix = Some(Part::default()),
            "few" => part.few = true,
            "plain" => part.plain = true,
            "refuse" => part.refuse = true,
            "trace" => run.trace = true,
            "stats" => run.tasks = Some(value.parse()?),
            "args" => run.arguments = list(value),
            "with" | "without" => {
                for property in value.split(',') {
                    part.restrict("KIND", &kinds.that(property, name == "with")?);
                }
            }
            "timeout" => run.timeout = Some(value.parse()?),
            "env" => {
                let (name, value) = value.split_once('=').context("env=NAME=VALUE")?;
                run.environment.push((name.to_string(), value.to_string()));
            }
            _ if !value.is_empty() => part.restrict(&name.to_uppercase(), &list(value)),
            _ => bail!("unknown word {word:?}"),
        }
    }
    if let Some(word) = matrix.unknown(&part) {
        bail!("{word:?} is in no table");
    }
    if let Some(matrix) = &mut run.matrix {
        *matrix = part;
    } else if part != Part::default() {
        bail!(
            "{} goes with matrix",
            part.names().next().unwrap_or("few, plain or refuse").to_lowercase()
        );
    }
    if says_run {
        markers.runs.push(run);
    }
    Ok(())
}
