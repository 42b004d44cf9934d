//! The systems: libsched, and the peers that bench_c/peers/Makefile has built.
//!
//! chili and forte are heartbeat schedulers: they offer a forked task to other workers only at
//! intervals (100 µs in chili, 10 µs in forte), and only when its forker comes back to the
//! scheduler. So a fork is cheap, and a task may start late (U. Acar and others, "Heartbeat
//! scheduling: provable efficiency for nested parallelism", PLDI 2018; M. Rainey and others, "Task
//! parallel assembly language for uncompromising parallelism", PLDI 2021). chili wakes up by time,
//! and so burns processor time while it idles. Not here: spice, which is written in Zig; cheetah,
//! which needs OpenCilk's compiler; Fibril and citor, which neither Debian nor a package registry
//! has.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// A peer, its file, which bench_c/peers/Makefile builds, and the words that call it.
struct Peer {
    name: &'static str,
    file: &'static str,
    call: Call,
    /// Further runs to warm it up, which its compiler needs.
    compiles: usize,
    /// The only workloads that it has. None: all but those that say that they are without it.
    only: Option<&'static [&'static str]>,
}

enum Call {
    /// The file is a program, whose first arguments are these words.
    Program(&'static [&'static str]),
    /// The file is a folder of Java classes.
    Java,
}

/// The workloads of a system whose only call is a join of two closures.
const JOINS: &[&str] = &[
    "fib",
    "treef",
    "nqueens",
    "uts",
    "uts_deep",
    "matmul",
    "strassen",
    "mergesort",
    "knapsack",
    "emptyrun",
    "wakeup",
    "idleburn",
];

const PEERS: &[Peer] = &[
    peer("libgomp", "libgomp", &[]),
    peer("libomp", "libomp", &[]),
    peer("onetbb", "onetbb", &[]),
    Peer { only: Some(&["reductions"]), ..peer("onetbb.fixed", "onetbb.fixed", &[]) },
    peer("rayon", "rust", &["rayon"]),
    peer("crossbeam", "rust", &["crossbeam"]),
    Peer { only: Some(JOINS), ..peer("chili", "rust", &["chili"]) },
    peer("forte", "forte", &["forte"]),
    peer("glib", "glib", &[]),
    Peer {
        only: Some(&["fib", "treef", "nqueens", "uts", "uts_deep"]),
        ..peer("lace", "lace", &[])
    },
    peer("go", "go", &[]),
    Peer { call: Call::Java, compiles: 2, ..peer("java", "java", &[]) },
    Peer { only: Some(&["yield", "suspend"]), ..peer("boost.fiber", "boost", &["fiber"]) },
    Peer { only: Some(&["yield"]), ..peer("boost.context", "boost", &["context"]) },
    Peer { only: Some(&["yield"]), ..peer("corosensei", "rust", &["corosensei"]) },
    Peer { only: Some(&["channel", "timers"]), ..peer("tokio", "rust", &["tokio"]) },
    Peer { only: Some(&["channel"]), ..peer("crossbeam.channel", "rust", &["crossbeam.channel"]) },
    Peer { only: Some(&["channel"]), ..peer("std.channel", "rust", &["std.channel"]) },
];

const fn peer(name: &'static str, file: &'static str, words: &'static [&'static str]) -> Peer {
    Peer { name, file, call: Call::Program(words), compiles: 0, only: None }
}

#[derive(Clone, Debug)]
pub struct System {
    pub name: String,
    pub version: String,
    /// The kind that its lines name.
    pub kind: &'static str,
    pub call: Vec<PathBuf>,
    pub compiles: usize,
    only: Option<&'static [&'static str]>,
    /// For our own: the end of the names of its programs. None for a peer.
    ours: Option<&'static str>,
}

/// The systems that were found, libsched first, and those that were not.
pub struct Systems {
    pub found: Vec<System>,
    /// Their names, and why.
    pub skipped: Vec<(&'static str, String)>,
}

impl Systems {
    pub fn look(programs: &Path) -> Result<Systems> {
        let ours = |name: &str, how, ending| System {
            name: name.into(),
            version: format!("{}, {how}", env!("CARGO_PKG_VERSION")),
            kind: "steal",
            call: vec![programs.to_owned()],
            compiles: 0,
            only: None,
            ours: Some(ending),
        };
        let mut found = vec![
            ours(LIBSCHED, "as it is by default", ""),
            ours("inlined", "libsched with sched_inline.h", "_inline"),
            ours("typed", "libsched with sched_typed.h", "_typed"),
            ours("relaxed", "libsched with sched_reduce_relaxed", "_relaxed"),
        ];
        let mut skipped = Vec::new();
        for peer in PEERS {
            match peer.look(&programs.join("peers")) {
                Ok(system) => found.push(system),
                Err(why) => skipped.push((peer.name, format!("{why:#}"))),
            }
        }
        Ok(Systems { found, skipped })
    }
}

#[cfg(test)]
impl Systems {
    /// Systems of these names, which have everything.
    pub fn of_tests(names: &[&str]) -> Vec<System> {
        let system = |name: &&str| System {
            name: (*name).to_owned(),
            version: String::new(),
            kind: "steal",
            call: Vec::new(),
            compiles: 0,
            only: None,
            ours: None,
        };
        names.iter().map(system).collect()
    }
}

pub const LIBSCHED: &str = "libsched";

impl System {
    /// True if it has the program, which it has not if it is `lacking`. Only some of our programs
    /// have a variant.
    pub fn has(&self, program: &str, lacking: bool) -> bool {
        let variant = self.ours.is_some_and(|ending| !ending.is_empty());
        let built = || self.call[0].join(self.says(program)).exists();
        let named = self.only.is_none_or(|only| only.contains(&program));
        named && !lacking && (!variant || built())
    }

    /// The name of a workload in its lines.
    pub fn says(&self, workload: &str) -> String {
        workload.to_owned() + self.ours.unwrap_or("")
    }

    /// The command that runs the workload.
    pub fn command(&self, workload: &str) -> Command {
        if self.ours.is_some() {
            return Command::new(self.call[0].join(self.says(workload)));
        }
        let mut command = Command::new(&self.call[0]);
        command.args(&self.call[1..]).arg(workload);
        command
    }
}

impl Peer {
    fn look(&self, folder: &Path) -> Result<System> {
        let file = folder.join(self.file);
        if let Ok(why) = std::fs::read_to_string(folder.join(format!("{}.skipped", self.file))) {
            anyhow::bail!("{}", why.trim());
        }
        ensure!(file.exists(), "not built: `make bench-peers` builds it");
        let call: Vec<PathBuf> = match self.call {
            Call::Program(words) => {
                std::iter::once(file).chain(words.iter().map(Into::into)).collect()
            }
            // The usual megabyte of stack for each thread is too little for the deeper trees.
            Call::Java => {
                vec!["java".into(), "-Xss16m".into(), "-cp".into(), file, "Peer".into()]
            }
        };
        let output = Command::new(&call[0])
            .args(&call[1..])
            .arg("--version")
            .output()
            .context("it does not start")?;
        ensure!(output.status.success(), "it does not tell its version: {}", output.status);
        let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        Ok(System {
            name: self.name.into(),
            version,
            kind: self.name,
            call,
            compiles: self.compiles,
            only: self.only,
            ours: None,
        })
    }
}
