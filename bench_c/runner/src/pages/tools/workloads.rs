//! What is compared: for each program of programs/, its command and the commands of the usual tools
//! that do the same work on the same files.

use std::ffi::OsString;
use std::path::Path;

use super::data::{LINES, PUZZLES, RARE_WORD, TEXT, TREE};

/// What `--only` accepts.
pub const NAMES: &[&str] = &["sgz", "ssum", "sgrep", "swc", "ssort", "render", "ssolve"];

/// How the outputs must agree.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Same {
    Bytes,
    /// The same lines, in any order.
    Lines,
    /// The same words, with any blanks between them.
    Words,
    /// Bytes that may differ, but each output is this file when gzip has decompressed it.
    Unpacked(&'static str),
}

#[derive(Clone, Debug)]
pub struct Contender {
    /// The command as a user types it in the folder of the data.
    pub command: String,
    /// What a table shows instead of a long command.
    pub short: Option<&'static str>,
    pub ours: bool,
    /// The programs that the command needs, with their packages in Debian. Programs that every
    /// system has are not listed.
    pub needs: &'static [(&'static str, &'static str)],
}

#[derive(Clone, Debug)]
pub struct Workload {
    /// Our program. Its usual command is the first contender.
    pub program: &'static str,
    pub what: &'static str,
    /// A command that makes the file that all contenders read.
    pub before: Option<String>,
    pub contenders: Vec<Contender>,
    pub same: Same,
}

fn ours(command: String) -> Contender {
    Contender { command, short: None, ours: true, needs: NONE }
}

fn usual(command: String, needs: &'static [(&'static str, &'static str)]) -> Contender {
    Contender { command, short: None, ours: false, needs }
}

const PIGZ: &[(&str, &str)] = &[("gzip", "gzip"), ("pigz", "pigz")];
const RIPGREP: &[(&str, &str)] = &[("rg", "ripgrep")];
const GZIP: &[(&str, &str)] = &[("gzip", "gzip")];
const NONE: &[(&str, &str)] = &[];

/// All workloads, for `n` threads.
pub fn all(n: usize) -> Vec<Workload> {
    let search = |what, pattern: &str| Workload {
        program: "sgrep",
        what,
        before: None,
        contenders: vec![
            ours(format!("sgrep -j {n} -n {pattern} {TREE}")),
            ours(format!("sgrep -j 1 -n {pattern} {TREE}")),
            usual(format!("grep -rnI {pattern} {TREE}"), NONE),
            usual(format!("rg -j {n} -n {pattern} {TREE}"), RIPGREP),
            usual(format!("rg -j 1 -n {pattern} {TREE}"), RIPGREP),
        ],
        same: Same::Lines,
    };
    vec![
        Workload {
            program: "sgz",
            what: "compresses a text",
            before: None,
            contenders: vec![
                ours(format!("sgz -c -j {n} {TEXT}")),
                ours(format!("sgz -c -j 1 {TEXT}")),
                usual(format!("pigz -c -p {n} {TEXT}"), PIGZ),
                usual(format!("gzip -c {TEXT}"), GZIP),
            ],
            same: Same::Unpacked(TEXT),
        },
        Workload {
            program: "sgz",
            what: "decompresses what it has compressed",
            before: Some(format!("sgz -c {TEXT} > {TEXT}.gz")),
            contenders: vec![
                ours(format!("sgz -dc -j {n} {TEXT}.gz")),
                ours(format!("sgz -dc -j 1 {TEXT}.gz")),
                usual(format!("pigz -dc {TEXT}.gz"), PIGZ),
                usual(format!("gzip -dc {TEXT}.gz"), GZIP),
            ],
            same: Same::Bytes,
        },
        Workload {
            program: "ssum",
            what: "SHA-256 of each file of a tree",
            before: None,
            contenders: vec![
                ours(format!("ssum -j {n} {TREE}")),
                ours(format!("ssum -j 1 {TREE}")),
                usual(format!("find {TREE} -type f | xargs -P {n} -n 64 sha256sum"), NONE),
                usual(format!("find {TREE} -type f | xargs sha256sum"), NONE),
            ],
            same: Same::Lines,
        },
        search("searches a tree for a word", RARE_WORD),
        search("searches a tree for a pattern", "'t[aeiou]n[a-z]*r[.,]'"),
        Workload {
            program: "swc",
            what: "the ten most frequent words of a text",
            before: None,
            contenders: vec![
                ours(format!("swc -j {n} {TEXT}")),
                ours(format!("swc -j 1 {TEXT}")),
                Contender {
                    short: Some("tr | awk | sort | head"),
                    ..usual(
                        format!(
                            "tr -s ' ,.' '\\n' < {TEXT} | awk '{{ n[$0]++ }} END {{ for (w in n) printf \
                             \"%7d %s\\n\", n[w], w }}' | sort -k1,1nr -k2 | head"
                        ),
                        NONE,
                    )
                },
            ],
            same: Same::Bytes,
        },
        Workload {
            program: "swc",
            what: "counts lines, words and bytes",
            before: None,
            contenders: vec![
                ours(format!("swc -t -j {n} {TEXT}")),
                ours(format!("swc -t -j 1 {TEXT}")),
                usual(format!("wc < {TEXT}"), NONE),
            ],
            same: Same::Words,
        },
        Workload {
            program: "ssort",
            what: "sorts lines by their bytes",
            before: None,
            contenders: vec![
                ours(format!("ssort -j {n} {LINES}")),
                ours(format!("ssort -j 1 {LINES}")),
                usual(format!("sort --parallel={n} {LINES}"), NONE),
                usual(format!("sort --parallel=1 {LINES}"), NONE),
            ],
            same: Same::Bytes,
        },
        Workload {
            program: "render",
            what: "a picture of 640x360 pixels with 8 samples each",
            before: None,
            contenders: vec![
                ours(format!("render -j {n} -n 8 -o -")),
                ours("render -j 1 -n 8 -o -".into()),
                ours("SCHED_KIND=serial render -n 8 -o -".into()),
            ],
            same: Same::Bytes,
        },
        Workload {
            program: "ssolve",
            what: "solves sudokus",
            before: None,
            contenders: vec![
                ours(format!("ssolve -j {n} {PUZZLES}")),
                ours(format!("ssolve -j 1 {PUZZLES}")),
                ours(format!("SCHED_KIND=serial ssolve {PUZZLES}")),
            ],
            same: Same::Bytes,
        },
    ]
}

/// Removes what cannot run here, and says why: commands of tools that are not in `path`, and
/// workloads whose own program is not in the folder `programs`.
pub fn skip(workloads: &mut Vec<Workload>, programs: &Path, path: Option<OsString>) -> Vec<String> {
    let mut skipped = Vec::new();
    let mut say = |line: String| {
        if !skipped.contains(&line) {
            skipped.push(line);
        }
    };
    workloads.retain(|w| {
        let built = programs.join(w.program).is_file();
        if !built {
            say(format!("{}: not in {} (make programs says why)", w.program, programs.display()));
        }
        built
    });
    let path = path.unwrap_or_default();
    let is_here = |name: &str| std::env::split_paths(&path).any(|f| f.join(name).is_file());
    for workload in workloads {
        workload.contenders.retain(|c| {
            let missing = c.needs.iter().find(|(name, _)| !is_here(name));
            if let Some((name, package)) = missing {
                say(format!("{name}: not here (Debian: {package})"));
            }
            missing.is_none()
        });
    }
    skipped
}

#[cfg(test)]
mod tests {
    use super::*;
    use sched_tools::process::scratch_file;
    use std::fs;

    #[test]
    fn the_first_command_is_ours_and_only_knows_all_programs() {
        for workload in all(3) {
            let first = &workload.contenders[0];
            assert!(first.ours && first.command.starts_with(workload.program), "{workload:?}");
            assert!(NAMES.contains(&workload.program));
        }
        assert!(NAMES.iter().all(|name| all(2).iter().any(|w| w.program == *name)));
    }

    #[test]
    fn what_is_not_here_is_skipped_by_its_name() {
        let folder = scratch_file("tools");
        fs::create_dir_all(&folder).unwrap();
        for name in ["sgz", "sgrep", "rg"] {
            fs::write(folder.join(name), "").unwrap();
        }
        let mut workloads = all(2);
        let skipped = skip(&mut workloads, &folder, Some(folder.clone().into()));
        let programs: Vec<&str> = workloads.iter().map(|w| w.program).collect();
        assert_eq!(programs, ["sgz", "sgz", "sgrep", "sgrep"]);
        let commands = |i: usize| -> Vec<&str> {
            workloads[i].contenders.iter().map(|c| c.command.split(' ').next().unwrap()).collect()
        };
        assert_eq!(commands(0), ["sgz", "sgz"]);
        assert_eq!(commands(2), ["sgrep", "sgrep", "grep", "rg", "rg"]);
        assert_eq!(skipped.iter().filter(|line| line.starts_with("gzip: not here")).count(), 1);
        assert!(skipped.iter().any(|line| line.starts_with("ssum: not in ")), "{skipped:?}");
        fs::remove_dir_all(folder).unwrap();
    }
}
