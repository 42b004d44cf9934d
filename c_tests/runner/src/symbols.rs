//! Checks that the libraries export the symbols of src/sched.map and no others, and no name of glibc's,
//! that the soname is right, and that each function has a manual page; and that the shared library
//! is hardened, needs nothing but the C library and the unwinder, and has about its usual size.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::dispatch::{Job, Outcome};
use crate::session::Session;

/// glibc owns these; a library that defines one breaks the program it is linked into.
const GLIBC: &[&str] = &[
    "sched_yield",
    "sched_getcpu",
    "sched_getaffinity",
    "sched_setaffinity",
    "sched_getparam",
    "sched_setparam",
    "sched_getscheduler",
    "sched_setscheduler",
    "sched_getattr",
    "sched_setattr",
    "sched_get_priority_max",
    "sched_get_priority_min",
    "sched_rr_get_interval",
];

/// Prefixes of functions for sched_inline.h only, which no program calls by name.
const NOT_CALLED: &[&str] = &["sched_inline_", "sched_layout_"];

/// The prefix of symbols for debuggers, which no header declares.
const PRIVATE: &str = "libsched_";

/// The libraries that the shared library may need. Before glibc 2.34 the C library had parts with
/// names of their own. The dynamic linker has `__tls_get_addr`. Rust's standard library calls GCC's
/// unwinder for backtraces, and the unwinder finds the exceptions that may not leave a task.
const NEEDED: &[&str] = &[
    "libc.so.6",
    "ld-linux-x86-64.so.2",
    "ld-linux-aarch64.so.1",
    "libgcc_s.so.1",
    "libpthread.so.0",
    "libdl.so.2",
];

/// The most bytes that libsched.so.1 may have: a tenth more than it has. Version 1.0.0 had 1.05 MB:
/// the library's own functions 0.4, since each kind is compiled with each of its deques; those of
/// Rust's standard library 0.25; and the names of all functions, which debuggers and profilers
/// read, 0.2. Since then two more locks for three kinds, and timelines, took 0.22 MB together; the
/// display of what tasks wait for 0.12; partitions in sorts, compiled for each size of elements,
/// 0.05; to do without link-time optimisation 0.03; and loops that run parts while they wait,
/// compiled for each deque, 0.02. Guests, the line of ended sections, and memory that is given back
/// took 0.05. Waits through runs, and what a text about waits says of them, took 0.06; turns of tasks
/// from outside, compiled for each deque, 0.07. What might help in a deadlock, and a worker that stands
/// by for guests, compiled for each deque, 0.04. Timelines that are arrays after each write, and the
/// absent workers of kinds lifo and fifo, compiled for each lock, took 0.02. Scans, nodes, and tasks
/// ordered by what they read and write took 0.03; urgent and background tasks, compiled for each
/// deque and lock, 0.06; graphs, and faster tables of addresses, 0.07. With Rust 1.85 the library is 0.1 to 0.2 MB larger.
const LARGEST: u64 = 2_570_000;

/// The base of all static probes of a program, those of its other objects included: weak and
/// hidden, as `<sys/sdt.h>` makes it.
const PROBES: &str = "_.stapsdt.base";

pub fn jobs(session: &Session, jobs: &mut Vec<Job>) -> Result<()> {
    let map = fs::read_to_string(session.root.join("src/sched.map")).context("src/sched.map")?;
    let (symbols, versions) = read_map(&map);
    ensure!(!symbols.is_empty(), "no symbol in src/sched.map");

    for (file, options) in
        [("libsched.so", &["-D", "--defined-only"][..]), ("libsched.a", &["-g", "--defined-only"])]
    {
        let path = session.prefix.join("lib").join(file);
        let (wanted, versions) = (symbols.clone(), versions.clone());
        jobs.push(Job::new("symbols", format!("of {file}"), move |_| {
            let Some(text) = output("nm", options, &path)? else {
                return Ok(Outcome::Skipped("no nm here".to_string()));
            };
            let mut found = names(&text);
            found.retain(|name| !versions.contains(name) && name != PROBES);
            let more: Vec<_> = found.difference(&wanted).take(20).collect();
            let fewer: Vec<_> = wanted.difference(&found).collect();
            Ok(verdict(&[
                (more.is_empty(), format!("not in src/sched.map: {more:?}")),
                (fewer.is_empty(), format!("in src/sched.map, not exported: {fewer:?}")),
            ]))
        }));
    }

    let library = session.prefix.join("lib/libsched.so");
    let wanted = versioned(&map);
    jobs.push(Job::new("symbols", "each with its version", move |_| {
        let Some(text) = output("readelf", &["-W", "--dyn-syms"], &library)? else {
            return Ok(Outcome::Skipped("no readelf here".to_string()));
        };
        let words = text.split_whitespace();
        let found: BTreeSet<_> =
            words.filter(|word| word.contains("@@")).map(str::to_string).collect();
        let missing: Vec<_> = wanted.difference(&found).collect();
        Ok(verdict(&[(missing.is_empty(), format!("not there: {missing:?} of {found:?}"))]))
    }));
    jobs.push(built_before(session));

    let library = session.prefix.join("lib/libsched.so");
    jobs.push(Job::new("symbols", "soname, NODELETE, RELRO", move |_| {
        let Some(text) = output("readelf", &["-W", "-d", "-l"], &library)? else {
            return Ok(Outcome::Skipped("no readelf here".to_string()));
        };
        let soname = text.lines().any(|l| l.contains("SONAME") && l.contains("[libsched.so.1]"));
        let stays = text.lines().any(|l| l.contains("FLAGS_1") && l.contains("NODELETE"));
        let writes_code = text.contains("TEXTREL");
        let bound = text.contains("BIND_NOW") && text.contains("GNU_RELRO");
        let stack = text.lines().find(|l| l.trim_start().starts_with("GNU_STACK"));
        let written: Vec<_> =
            text.lines().filter(|l| l.contains(" LOAD ") && l.contains(" RWE ")).collect();
        Ok(verdict(&[
            (soname, format!("the soname is not libsched.so.1:\n{text}")),
            (stays, format!("NODELETE is not set:\n{text}")),
            (!writes_code, "it has text relocations".to_string()),
            (bound, format!("what the loader fills in stays writable:\n{text}")),
            (stack.is_some_and(|l| !l.contains('E')), format!("an executable stack: {stack:?}")),
            (written.is_empty(), format!("pages are writable and executable: {written:?}")),
        ]))
    }));

    let library = session.prefix.join("lib/libsched.so");
    jobs.push(Job::new("symbols", "libraries needed, size", move |_| {
        let size = fs::metadata(&library)?.len();
        let Some(text) = output("readelf", &["-W", "-d"], &library)? else {
            return Ok(Outcome::Skipped("no readelf here".to_string()));
        };
        let needed: Vec<&str> = text
            .lines()
            .filter(|line| line.contains("(NEEDED)"))
            .filter_map(|line| line.split(['[', ']']).nth(1))
            .collect();
        let others: Vec<_> = needed.iter().filter(|name| !NEEDED.contains(name)).collect();
        Ok(verdict(&[
            (others.is_empty(), format!("it needs further libraries: {others:?}")),
            (needed.contains(&NEEDED[0]), format!("it needs {needed:?}, not {}", NEEDED[0])),
            (size <= LARGEST, format!("it has {size} bytes, more than {LARGEST}")),
        ]))
    }));

    // The library does not switch the shadow stacks of a processor (docs/GUARANTEES.md). With the
    // mark that it does, a system with shadow stacks would kill the program at the first switch.
    for file in ["libsched.so", "libsched.a"] {
        let library = session.prefix.join("lib").join(file);
        jobs.push(Job::new("symbols", format!("no shadow stack in {file}"), move |_| {
            let Some(text) = output("readelf", &["-W", "-n"], &library)? else {
                return Ok(Outcome::Skipped("no readelf here".to_string()));
            };
            let marks: Vec<_> =
                text.lines().filter(|l| l.contains("SHSTK") || l.contains("GCS")).collect();
            Ok(verdict(&[(marks.is_empty(), format!("it is marked: {marks:?}"))]))
        }));
    }

    let (pages, wanted) = (session.prefix.join("share/man/man3"), symbols.clone());
    jobs.push(Job::new("symbols", "each with a manual page", move |_| {
        let documented = wanted.iter().filter(|name| {
            let mut undocumented = NOT_CALLED.iter().chain([&PRIVATE]);
            !undocumented.any(|prefix| name.starts_with(prefix))
        });
        let missing: Vec<_> = documented.filter(|name| !has_page(&pages, name)).collect();
        Ok(verdict(&[(missing.is_empty(), format!("no page in {pages:?}: {missing:?}"))]))
    }));

    let headers = fs::read_dir(session.prefix.join("include/libsched"))?
        .flatten()
        .map(|entry| fs::read_to_string(entry.path()))
        .collect::<Result<String, _>>()?;
    jobs.push(Job::new("symbols", "declared, and none of glibc's", move |_| {
        let code = without_comments(&headers);
        let called: Vec<_> = symbols.iter().filter(|name| !name.starts_with(PRIVATE)).collect();
        let missing: Vec<_> =
            called.iter().filter(|name| !code.contains(&format!("{name}("))).collect();
        let taken: Vec<_> = GLIBC.iter().filter(|name| symbols.contains(**name)).collect();
        Ok(verdict(&[
            (missing.is_empty(), format!("exported, in no header: {missing:?}")),
            (taken.is_empty(), format!("these are glibc's: {taken:?}")),
        ]))
    }));
    Ok(())
}

/// A program that was linked when the library had no symbol versions runs with this library, and
/// the loader prints no message.
fn built_before(session: &Session) -> Job {
    const PROGRAM: &str = "#include <sched.h>\n\
        static void task(void *closure, struct scheduler *s) { *(struct scheduler **)closure = s; }\n\
        int main(void) { struct scheduler *s = 0; return sched_init(2, 0, task, &s) || !s; }\n";
    const LIBRARY: &str = "int sched_init(int, int, void *, void *);\n\
        int sched_init(int n, int q, void *f, void *c) { return n + q + !f + !c; }\n";
    let (tools, work) = (session.tools.clone(), session.work.join("built_before"));
    Job::new("symbols", "of a program built before", move |_| {
        fs::create_dir_all(&work)?;
        let path = |name: &str| work.join(name);
        fs::write(path("library.c"), LIBRARY)?;
        fs::write(path("program.c"), PROGRAM)?;
        let mut library = Command::new(&tools.cc);
        library.args(["-shared", "-fPIC", "-Wl,-soname,libsched.so.1"]);
        library.arg("-o").args([path("libsched.so"), path("library.c")]);
        let mut program = Command::new(&tools.cc);
        program.args(&tools.pc.cflags).arg("-o").args([path("program"), path("program.c")]);
        program.arg("-L").arg(&work).arg("-lsched");
        for mut build in [library, program] {
            ensure!(build.status()?.success(), "{build:?}");
        }
        let ran = Command::new(path("program")).env("LD_LIBRARY_PATH", &tools.libdir).output()?;
        let said = String::from_utf8_lossy(&ran.stderr);
        Ok(verdict(&[(ran.status.success() && said.is_empty(), format!("{}: {said}", ran.status))]))
    })
}

/// Whether there is a page with this name that documents the function, or a link to such a page.
fn has_page(pages: &Path, name: &str) -> bool {
    let read = |page: &str| fs::read_to_string(pages.join(page)).unwrap_or_default();
    let mut text = read(&format!("{name}.3"));
    if let Some(target) = text.trim().strip_prefix(".so man3/") {
        text = read(target);
    }
    text.lines().any(|line| line.trim_end_matches(" ,") == format!(".Nm {name}"))
}

fn verdict(checks: &[(bool, String)]) -> Outcome {
    let wrong: String =
        checks.iter().filter(|(ok, _)| !ok).map(|(_, text)| format!("{text}\n")).collect();
    if wrong.is_empty() { Outcome::Passed } else { Outcome::Failed(wrong) }
}

/// None when the tool is missing.
fn output(tool: &str, options: &[&str], file: &Path) -> Result<Option<String>> {
    if Command::new(tool).arg("--version").output().is_err() {
        return Ok(None);
    }
    let out = Command::new(tool).args(options).arg(file).output()?;
    ensure!(out.status.success(), "{tool}: {}", String::from_utf8_lossy(&out.stderr));
    Ok(Some(String::from_utf8_lossy(&out.stdout).into_owned()))
}

/// The names in nm's lines "address type name", without a version.
fn names(text: &str) -> BTreeSet<String> {
    text.lines()
        .filter_map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            (words.len() >= 2 && !line.ends_with(':')).then(|| words[words.len() - 1])
        })
        .map(|name| name.split('@').next().unwrap_or(name).to_string())
        .collect()
}

/// The global symbols of the version script, as readelf shows them: `sched_init@@LIBSCHED_1`.
fn versioned(text: &str) -> BTreeSet<String> {
    let code = without_comments(text);
    let of_version = |part: &str| {
        let (version, symbols) = part.split_once('{')?;
        let version = version.rsplit(';').next()?.trim().to_string();
        let names = read_map(symbols).0.into_iter();
        Some(names.map(move |name| format!("{name}@@{version}")).collect::<Vec<_>>())
    };
    code.split('}').filter_map(of_version).flatten().collect()
}

/// The global symbols of the version script, and the names of its versions.
fn read_map(text: &str) -> (BTreeSet<String>, BTreeSet<String>) {
    let code = without_comments(text);
    let (mut symbols, mut versions, mut global) = (BTreeSet::new(), BTreeSet::new(), false);
    for word in code.replace([';', '{', '}'], " ; ").split_whitespace() {
        match word {
            "global:" => global = true,
            "local:" => global = false,
            ";" | "*" => {}
            name if name.starts_with(|c: char| c.is_ascii_uppercase()) => {
                versions.insert(name.to_string());
            }
            name if global => {
                symbols.insert(name.to_string());
            }
            _ => {}
        }
    }
    (symbols, versions)
}

fn without_comments(text: &str) -> String {
    let mut code = String::new();
    let mut rest = text;
    while let Some((before, comment)) = rest.split_once("/*") {
        code += before;
        rest = comment.split_once("*/").map_or("", |(_, after)| after);
    }
    code + rest
}
