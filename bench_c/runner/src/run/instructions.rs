//! Counts instructions per spawn and run of an empty task, and per fork and join, by valgrind's
//! callgrind.
//!
//! `tree` and `fib` run with one worker, in two sizes: the costs that a run has only once cancel in
//! the difference. Nothing else is subtracted: the total includes the task's own body, which counts
//! itself in a byte and computes its children, or calls fib. callgrind counts inside `sched_init`
//! only, and says in which object file each instruction was, so that the library's own part is
//! known.

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use sched_tools::process::{self, scratch_file};
use sched_tools::provenance::output;
use serde::Serialize;

/// A program, and its number of tasks in two sizes.
struct Pair {
    program: &'static str,
    /// The argument of -n, and the number of tasks.
    sizes: [(u64, u64); 2],
}

const TREE: Pair = Pair { program: "tree", sizes: [(1 << 14, 1 << 14), (1 << 16, 1 << 16)] };
/// fib(n + 1) - 1 forks.
const FIB: Pair = Pair { program: "fib", sizes: [(15, 986), (20, 10945)] };
/// The part of the library's file name that is the same in every version.
const LIBRARY: &str = "libsched.so";

/// How long valgrind may take. Usually a count takes some seconds.
const LIMIT: Duration = Duration::from_secs(300);

/// The counts under the default kind.
#[derive(Debug, Serialize)]
pub struct Instructions {
    pub spawn: PerTask,
    pub fork: PerTask,
    pub valgrind: String,
}

#[derive(Debug, Serialize)]
pub struct PerTask {
    pub total: f64,
    /// The part of these in the library.
    pub library: f64,
}

impl std::fmt::Display for Instructions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Instructions { spawn, fork, valgrind } = self;
        writeln!(f, "instructions per spawn and run of an empty task (tree, 1 worker): {spawn}")?;
        write!(f, "instructions per fork and join (fib, 1 worker): {fork} ({valgrind})")
    }
}

impl std::fmt::Display for PerTask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.1}, of which {:.1} in the library", self.total, self.library)
    }
}

/// None if there is no valgrind.
pub fn count(programs: &Path) -> Result<Option<Instructions>> {
    let valgrind = output(Command::new("valgrind").arg("--version"));
    let Some(valgrind) = valgrind else { return Ok(None) };
    let scratch = scratch_file("callgrind.out");
    let counts = [TREE, FIB].map(|pair| per_task(programs, &pair, &scratch));
    // The file is missing if valgrind failed.
    let _ = std::fs::remove_file(&scratch);
    let [spawn, fork] = counts;
    Ok(Some(Instructions { spawn: spawn?, fork: fork?, valgrind }))
}

fn per_task(programs: &Path, pair: &Pair, scratch: &Path) -> Result<PerTask> {
    let program = programs.join(pair.program);
    let [(n, fewer), (more_n, more)] = pair.sizes;
    let (small, large) = (counted(&program, n, scratch)?, counted(&program, more_n, scratch)?);
    let per_task = |large: i64, small: i64| (large - small) as f64 / (more - fewer) as f64;
    Ok(PerTask {
        total: per_task(large.total, small.total),
        library: per_task(large.library, small.library),
    })
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Counts {
    total: i64,
    library: i64,
}

fn counted(program: &Path, n: u64, scratch: &Path) -> Result<Counts> {
    let mut command = Command::new("valgrind");
    process::without_settings(&mut command);
    command
        .args(["--quiet", "--tool=callgrind", "--toggle-collect=sched_init"])
        .arg(format!("--callgrind-out-file={}", scratch.display()))
        .arg(program)
        .args(["-n", &n.to_string(), "-t", "1"]);
    process::run(&mut command, LIMIT).context("valgrind")?;
    let text = std::fs::read_to_string(scratch).context("valgrind wrote no file")?;
    let counts = sums(&text)?;
    ensure!(counts.library > 0, "callgrind saw nothing of {LIBRARY}");
    Ok(counts)
}

/// Adds up the cost lines of a callgrind file. `ob=(3) path` opens an object file, and later
/// `ob=(3)` opens the same again; names of callees (`cob=`) share the numbers. A line that begins
/// with a position, absolute or relative, is a cost. The line after `calls=` is left out: it is the
/// cost of the callee, which has lines of its own.
fn sums(text: &str) -> Result<Counts> {
    let mut names: HashMap<&str, &str> = HashMap::new();
    let mut counts = Counts { total: 0, library: 0 };
    let (mut in_library, mut after_calls) = (false, false);
    for line in text.lines() {
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        match key {
            "ob" | "cob" => {
                let (id, name) = value.split_once(' ').unwrap_or((value, ""));
                if !name.is_empty() {
                    names.insert(id, name);
                }
                if key == "ob" {
                    in_library = names.get(id).is_some_and(|name| name.contains(LIBRARY));
                }
            }
            "calls" => after_calls = true,
            _ if line.starts_with(|c: char| c.is_ascii_digit() || "+-*".contains(c)) => {
                if std::mem::take(&mut after_calls) {
                    continue;
                }
                let cost = line.split(' ').nth(1).with_context(|| format!("no cost: `{line}`"))?;
                let cost: i64 = cost.parse().with_context(|| format!("no cost: `{line}`"))?;
                counts.total += cost;
                counts.library += if in_library { cost } else { 0 };
            }
            _ => (),
        }
    }
    let said = text.lines().find_map(|line| line.strip_prefix("summary: "));
    let said: i64 = said.context("no summary in callgrind's file")?.trim().parse()?;
    ensure!(said == counts.total, "callgrind's lines add up to {}, not {said}", counts.total);
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_added_by_object() {
        let text = "positions: line\nevents: Ir\nsummary: 17\n\nob=(1) /bin/tree\nfn=(1) main\n\
                    10 5\ncob=(2) /lib/libsched.so.1\ncfn=(2) sched_spawn\ncalls=3 0\n+1 9\n\n\
                    ob=(2)\nfn=(2)\n* 4\n-3 5\n\nob=(1)\nfn=(3) node\n7 3\n";
        assert_eq!(sums(text).unwrap(), Counts { total: 17, library: 9 });
        assert!(sums(&text.replace("summary: 17", "summary: 18")).is_err());
    }
}
