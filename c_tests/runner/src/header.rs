//! The library's sched.h has the name of POSIX's header. A program must get both headers without a
//! warning, whatever the order of inclusion, the language standard and the include path.
//!
//! This file is long, because the lists of orders, standards and paths stand beside the code that
//! compiles a program for each.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use sched_tools::process::shown;

use crate::compile::{PkgConfig, WARNINGS};
use crate::dispatch::{Job, Outcome};
use crate::session::Session;

/// Orders of inclusion, which include the library's header twice. OURS stands for sched.h, TASKS
/// for sched_tasks.h, IO for sched_io.h, INLINE for sched_inline.h, TYPED for sched_typed.h, SORT for sched_sort.h,
/// ALL for libsched.h, HPP for sched.hpp, IOPP for sched_io.hpp, LAMBDAS for sched_typed.hpp.
///
/// How a header is found decides what it finds when it includes the header of POSIX and the headers
/// beside it; the rest of an order means the same wherever the header was found.
const ORDERS: &[(&str, &[&str])] = &[
    ("alone", &["OURS", "OURS"]),
    ("before-pthread", &["OURS", "<pthread.h>", "OURS"]),
    ("after-pthread", &["<pthread.h>", "OURS", "OURS"]),
    ("after-posix", &["<sched.h>", "OURS", "OURS"]),
    ("tasks", &["TASKS", "<pthread.h>", "OURS", "TASKS"]),
    ("io", &["IO", "<poll.h>", "<pthread.h>", "OURS", "IO"]),
    ("typed", &["TASKS", "INLINE", "TYPED", "SORT", "<pthread.h>", "OURS", "INLINE", "TYPED"]),
    ("all", &["ALL", "<pthread.h>", "OURS", "ALL"]),
    ("hpp", &["HPP", "<pthread.h>", "OURS", "HPP"]),
    ("inline-hpp", &["INLINE", "HPP", "TASKS", "HPP"]),
    ("io-hpp", &["IOPP", "<poll.h>", "<pthread.h>", "OURS", "HPP", "IO", "IOPP"]),
    ("lambdas", &["LAMBDAS", "<pthread.h>", "OURS", "HPP", "TYPED", "LAMBDAS"]),
];

/// The orders that are tried in all ways, and not in the first way only.
const IN_ALL_WAYS: &[&str] = &["alone", "after-posix", "typed", "hpp", "lambdas"];

/// How a program may find the header.
#[derive(Clone, Copy)]
enum Way {
    /// pkg-config's flags and <sched.h>
    Installed,
    /// -I. in the folder of the header
    Here,
    /// -Iinclude at the root of the project
    Include,
    /// -iquote include, "sched.h"
    Quote,
    /// copied beside the program, "sched.h", without a flag or with -I.
    Beside,
    BesideHere,
}

const WAYS: &[(&str, Way)] = &[
    ("installed", Way::Installed),
    ("-I.", Way::Here),
    ("-Iinclude", Way::Include),
    ("-iquote", Way::Quote),
    ("beside", Way::Beside),
    ("beside+-I.", Way::BesideHere),
];

/// The standards that are tried in all ways: how a compiler looks for a header does not depend on
/// the standard.
const TRIED_IN_ALL_WAYS: &[&str] = &["c11", "c++17"];
/// Standards that precede the standards which the headers for C++17 need.
const OLD: &[&str] = &["c89", "c++98", "c++11"];

/// Code for strict C without _GNU_SOURCE: it uses what every POSIX has.
const POSIX: &str = "int posix(void);\nint posix(void)\n{\n    struct sched_param p;\n    \
    p.sched_priority = 0;\n    return sched_yield() + p.sched_priority + SCHED_OTHER;\n}\n";
const GNU: &str = "int gnu(void);\nint gnu(void)\n{\n    cpu_set_t set;\n    CPU_ZERO(&set);\n    \
    CPU_SET(0, &set);\n    return sched_setaffinity(0, sizeof set, &set);\n}\n";
/// Sorts of numbers, of pointers, and of elements that are sorted by pointers.
const SORTS: &str = "struct large\n{\n    char text[200];\n};\n\n\
    SCHED_SORT(sort, const char *, **a < **b)\n\
    SCHED_STABLE_SORT(sort_stable, const char *, **a < **b)\n\
    SCHED_STABLE_SORT(sort_ints, int, *a < *b)\n\
    SCHED_STABLE_SORT(sort_large, struct large, a->text[0] < b->text[0])\n\n";
const MAIN: &str = "static int got;\n\nstatic void leaf(void *closure, struct scheduler *s)\n{\n    \
    (void)s;\n    got += *(int *)closure;\n}\n\nstatic void task(void *closure, struct scheduler *s)\n{\n    \
    if (sched_spawn(leaf, closure, s) < 0)\n        got = -100;\n}\n\nint main(void)\n{\n    \
    int five = 5;\n    taskfunc f = task;\n    if (sched_default_threads() < 1)\n        return 1;\n    \
    return sched_init(2, 10, f, &five) == 0 && got == 5 ? 0 : 1;\n}\n";

const LAMBDAS_MAIN: &str = "int main()\n{\n    auto one = [](sched::frame) { return 1; };\n    \
    auto [a, b] = sched::fork_join(sched::frame(), one, one);\n    return a + b == 2 ? 0 : 1;\n}\n";
const CPP_MAIN: &str = "int main()\n{\n    std::atomic<int> got{0};\n    sched::run(2, [&] {\n        \
    sched::spawn([&] { got += 1; });\n        sched::parallel_for(0, 4, [&](int) { got += 1; });\n    });\n    \
    return got == 5 ? 0 : 1;\n}\n";

pub fn jobs(session: &Session, jobs: &mut Vec<Job>) -> Result<()> {
    let work = session.work.join("header");
    fs::create_dir_all(&work)?;
    for header in fs::read_dir(session.prefix.join("include/libsched"))?.flatten() {
        fs::copy(header.path(), work.join(header.file_name()))?;
    }

    let mut compilers: Vec<(String, PathBuf, bool)> =
        vec![("cc".into(), session.tools.cc.clone(), false)];
    compilers.extend(session.tools.cxx.iter().map(|path| ("c++".into(), path.clone(), true)));
    for (name, cpp) in [("clang", false), ("clang++", true)] {
        if runs(Path::new(name)) {
            compilers.push((name.into(), name.into(), cpp));
        } else {
            jobs.push(skipped(name, "is not here"));
        }
    }
    if session.tools.cxx.is_none() {
        jobs.push(skipped("c++", "is not here"));
    }

    for (name, path, cpp) in &compilers {
        let wanted: &[&[&str]] = if *cpp {
            &[&["c++98"], &["c++11"], &["c++17"], &["c++20", "c++2a"], &["c++23", "c++2b"]]
        } else {
            &[&["c89"], &["c99"], &["c11"], &["gnu11"], &["c23", "c2x"]]
        };
        for names in wanted {
            let Some(standard) = names.iter().find(|std| knows(path, std, *cpp)) else {
                jobs.push(skipped(name, &format!("does not know -std={}", names[0])));
                continue;
            };
            let old = OLD.contains(standard);
            // The two compilers look for headers in the same way, and take what POSIX has from the
            // same headers.
            let is_other = name.starts_with("clang");
            let is_chosen = TRIED_IN_ALL_WAYS.contains(standard);
            let all = is_chosen && !is_other;
            // C++ compilers define _GNU_SOURCE by themselves.
            let gnu: &[bool] = match (*cpp, is_other) {
                (true, _) => &[true],
                (false, true) => &[false],
                (false, false) => &[false, true],
            };
            for (nth, (way_name, way)) in
                WAYS.iter().take(if all { WAYS.len() } else { 1 }).enumerate()
            {
                for (order_name, order) in ORDERS {
                    if nth > 0 && !IN_ALL_WAYS.contains(order_name) {
                        continue;
                    }
                    // A compilation with a header of C++17 takes a second or two. "lambdas"
                    // includes them all.
                    let few = !is_chosen && *order_name != "lambdas";
                    let slow = order.contains(&"HPP");
                    let left_out = old || !cpp || !matches!(way, Way::Installed | Way::Beside);
                    if slow && (left_out || few) {
                        continue;
                    }
                    for &gnu in gnu {
                        let detail = format!(
                            "{name} {standard} {way_name} {order_name}{}",
                            if gnu { " _GNU_SOURCE" } else { "" }
                        );
                        // The compiler makes the same code of a header under each standard, with
                        // and without _GNU_SOURCE.
                        let linked = is_chosen && matches!(way, Way::Installed) && (*cpp || !gnu);
                        let snippet = Snippet { order, way: *way, gnu, cpp: *cpp, linked };
                        jobs.push(snippet.job(session, path, standard, detail, &work));
                    }
                }
            }
        }
    }
    for (name, path, cpp) in &compilers {
        jobs.push(must_use(session, name, path, *cpp, &work));
        if *cpp {
            jobs.push(refuses(session, name, path, &work));
            jobs.push(converts(session, name, path, &work));
        }
    }
    jobs.push(own_folder(session));
    jobs.push(pkg_config(session));
    Ok(())
}

fn skipped(name: &str, why: &str) -> Job {
    let why = format!("{name} {why}");
    Job::new("header", name, move |_| Ok(Outcome::Skipped(why.clone())))
}

fn runs(compiler: &Path) -> bool {
    Command::new(compiler).arg("--version").output().is_ok_and(|out| out.status.success())
}

fn knows(compiler: &Path, standard: &str, cpp: bool) -> bool {
    Command::new(compiler)
        .args([
            format!("-std={standard}").as_str(),
            "-fsyntax-only",
            "-x",
            if cpp { "c++" } else { "c" },
            "/dev/null",
        ])
        .output()
        .is_ok_and(|out| out.status.success())
}

struct Snippet {
    order: &'static [&'static str],
    way: Way,
    gnu: bool,
    cpp: bool,
    /// True if the compiler makes a program of it, and the test runs the program. False if the
    /// compiler only reports errors and warnings.
    linked: bool,
}

impl Snippet {
    fn text(&self) -> String {
        let named = |name| match self.way {
            Way::Installed | Way::Here | Way::Include => format!("<{name}>"),
            Way::Quote | Way::Beside | Way::BesideHere => format!("\"{name}\""),
        };
        let mut text = String::new();
        if self.gnu {
            text += "#ifndef _GNU_SOURCE\n#define _GNU_SOURCE\n#endif\n";
        }
        for header in self.order {
            let name = match *header {
                "OURS" => named("sched.h"),
                "TASKS" => named("sched_tasks.h"),
                "IO" => named("sched_io.h"),
                "INLINE" => named("sched_inline.h"),
                "TYPED" => named("sched_typed.h"),
                "SORT" => named("sched_sort.h"),
                "ALL" => named("libsched.h"),
                "HPP" => named("sched.hpp"),
                "IOPP" => named("sched_io.hpp"),
                "LAMBDAS" => named("sched_typed.hpp"),
                other => other.to_string(),
            };
            text += &format!("#include {name}\n");
        }
        if self.order.contains(&"SORT") || self.order.contains(&"ALL") {
            text += SORTS;
        }
        if !self.cpp || self.gnu {
            text += POSIX;
        }
        if self.gnu {
            text += GNU;
        }
        if self.order.contains(&"LAMBDAS") {
            return text + LAMBDAS_MAIN;
        }
        if self.order.contains(&"HPP") {
            return text + CPP_MAIN;
        }
        if self.order.contains(&"TASKS") {
            let copied = "sched_spawn_copy(leaf, closure, sizeof got, s)";
            return text + &MAIN.replace("sched_spawn(leaf, closure, s)", copied);
        }
        text + MAIN
    }

    fn job(
        &self,
        session: &Session,
        compiler: &Path,
        standard: &str,
        detail: String,
        work: &Path,
    ) -> Job {
        let text = self.text();
        let (work, way, cpp, linked) = (work.to_path_buf(), self.way, self.cpp, self.linked);
        let (tools, root) = (session.tools.clone(), session.root.clone());
        let installed = session.prefix.join("include/libsched");
        let (compiler, standard) = (compiler.to_path_buf(), format!("-std={standard}"));
        Job::new("header", detail, move |worker| {
            let source = work.join(format!("snippet-{worker}.{}", if cpp { "cpp" } else { "c" }));
            let program = work.join(format!("snippet-{worker}"));
            fs::write(&source, &text)?;
            let mut command = Command::new(&compiler);
            command.arg(&standard).args(WARNINGS).args(["-pedantic", "-Wshadow"]);
            match way {
                Way::Installed => command.args(&tools.pc.cflags),
                Way::Here => command.current_dir(&installed).arg("-I."),
                Way::Include => command.current_dir(&root).arg("-Iinclude"),
                Way::Quote => command.current_dir(&root).args(["-iquote", "include"]),
                Way::Beside => &mut command,
                Way::BesideHere => command.current_dir(&work).arg("-I."),
            };
            if linked {
                command.arg("-o").arg(&program).arg(&source).args(&tools.pc.libs);
                command.arg(format!("-Wl,-rpath,{}", tools.libdir.display()));
            } else {
                command.arg("-fsyntax-only").arg(&source);
            }
            let out = command.output()?;
            if !out.status.success() {
                let said = String::from_utf8_lossy(&out.stderr);
                return Ok(Outcome::Failed(format!("{}\n{said}\n{text}", shown(&command))));
            }
            if linked && !Command::new(&program).status()?.success() {
                return Ok(Outcome::Failed(format!("{}\nit links, but fails\n", shown(&command))));
            }
            Ok(Outcome::Passed)
        })
    }
}

/// Calls, each with whether a compiler warns if their result is not used.
const LOOKED_AT: &[(&str, bool)] = &[
    ("sched_spawn_copy(f, p, 1, s)", true),
    ("sched_group_spawn((sched_group *)p, f, p, s)", true),
    ("sched_pool_create(0)", true),
    ("sched_pool_submit((struct sched_pool *)p, f, p)", true),
    ("sched_pool_run((struct sched_pool *)p, f, p)", true),
    // The course's interface: existing programs do not use these results.
    ("sched_init(1, 1, f, p)", false),
    ("sched_spawn(f, p, s)", false),
    // These fail only if the caller has made a mistake.
    ("sched_pool_wait((struct sched_pool *)p)", false),
    ("sched_pool_destroy((struct sched_pool *)p)", false),
];

/// A compiler warns about a program that does not look whether a task was accepted.
fn must_use(session: &Session, name: &str, compiler: &Path, cpp: bool, work: &Path) -> Job {
    let (work, tools, compiler) =
        (work.to_path_buf(), session.tools.clone(), compiler.to_path_buf());
    Job::new("header", format!("{name} unused results"), move |worker| {
        let source = work.join(format!("unused-{worker}.{}", if cpp { "cpp" } else { "c" }));
        for (call, warned) in LOOKED_AT {
            let text = format!(
                "#include <sched_tasks.h>\nvoid g(taskfunc, void *, struct scheduler *);\n\
                 void g(taskfunc f, void *p, struct scheduler *s)\n{{\n    (void)f, (void)p, (void)s;\n    {call};\n}}\n"
            );
            fs::write(&source, &text)?;
            let mut command = Command::new(&compiler);
            command.args(["-c", "-o", "/dev/null"]).args(WARNINGS).args(&tools.pc.cflags);
            let out = command.arg(&source).output()?;
            let said = String::from_utf8_lossy(&out.stderr);
            if said.contains("unused-result") != *warned || out.status.success() == *warned {
                return Ok(Outcome::Failed(format!("{}\n{said}\n{text}", shown(&command))));
            }
        }
        Ok(Outcome::Passed)
    })
}

/// Options of compilers that take away what sched.hpp needs: C++17, exceptions.
const REFUSED: &[&str] = &["-std=c++14", "-fno-exceptions"];

/// With each of these options the compiler says what sched.hpp needs, in one message.
fn refuses(session: &Session, name: &str, compiler: &Path, work: &Path) -> Job {
    let (work, tools, compiler) =
        (work.to_path_buf(), session.tools.clone(), compiler.to_path_buf());
    Job::new("header", format!("{name} what sched.hpp needs"), move |worker| {
        let source = work.join(format!("refused-{worker}.cpp"));
        for header in ["sched.hpp", "sched_io.hpp", "sched_typed.hpp"] {
            fs::write(&source, format!("#include <{header}>\n"))?;
            for option in REFUSED {
                let mut command = Command::new(&compiler);
                command.args(["-std=c++17", option, "-fsyntax-only"]).args(&tools.pc.cflags);
                let out = command.arg(&source).output()?;
                let said = String::from_utf8_lossy(&out.stderr);
                let errors = said.lines().filter(|line| line.contains("error:")).count();
                if out.status.success() || errors != 1 || !said.contains("sched.hpp needs C++17") {
                    return Ok(Outcome::Failed(format!("{}\n{said}", shown(&command))));
                }
            }
        }
        Ok(Outcome::Passed)
    })
}

/// A program that mixes types of integers as programs do, and uses views where the compiler has them.
const CONVERTED: &str = "\
#include <sched.hpp>
#if __cplusplus >= 202002L && __has_include(<ranges>)
#include <ranges>
#endif
int main()
{
    static double a[1000];
    sched::parallel_for(0, 1000, [](size_t i) { a[i] *= 2; });
    size_t sum = sched::parallel_reduce(
        0, 100, size_t(0), [](size_t a, size_t i) { return a + i; }, [](size_t a, size_t b) { return a + b; });
#if defined __cpp_lib_ranges && !(defined __clang__ && __clang_major__ < 16) // whose views do not compile
    sched::parallel_for(std::views::iota(0, 100) | std::views::transform([](int i) { return 2 * i; }), [](int) {});
#endif
    return sum == 4950 ? 0 : 1;
}
";

/// The compiler does not warn of conversions in sched.hpp, and takes it beside the macro that
/// glibc 2.41 defines.
fn converts(session: &Session, name: &str, compiler: &Path, work: &Path) -> Job {
    let (work, tools, compiler) =
        (work.to_path_buf(), session.tools.clone(), compiler.to_path_buf());
    Job::new("header", format!("{name} conversions"), move |worker| {
        let source = work.join(format!("converted-{worker}.cpp"));
        fs::write(&source, CONVERTED)?;
        for (standard, defined) in [("-std=c++17", "-DSCHED_NORMAL=0"), ("-std=c++20", "-DNONE")] {
            let mut command = Command::new(&compiler);
            command.args([standard, defined, "-fsyntax-only", "-Wconversion"]).args(WARNINGS);
            let out = command.args(&tools.pc.cflags).arg(&source).output()?;
            if !out.status.success() {
                let said = String::from_utf8_lossy(&out.stderr);
                return Ok(Outcome::Failed(format!("{}\n{said}", shown(&command))));
            }
        }
        Ok(Outcome::Passed)
    })
}

/// The installed headers lie in a folder where they shadow no other header, and equal those of the
/// tree.
fn own_folder(session: &Session) -> Job {
    let (prefix, root) = (session.prefix.clone(), session.root.clone());
    Job::new("header", "in a folder of its own", move |_| {
        if prefix.join("include/sched.h").exists() {
            return Ok(Outcome::Failed("PREFIX/include/sched.h exists".to_string()));
        }
        for header in fs::read_dir(root.join("include"))?.flatten() {
            let installed = prefix.join("include/libsched").join(header.file_name());
            if fs::read(&installed).ok() != Some(fs::read(header.path())?) {
                return Ok(Outcome::Failed(format!(
                    "{} is missing or differs",
                    installed.display()
                )));
            }
        }
        Ok(Outcome::Passed)
    })
}

/// pkg-config, if it is here, prints what we read in the file, also after the tree has been moved.
fn pkg_config(session: &Session) -> Job {
    let (prefix, work) = (session.prefix.clone(), session.work.clone());
    Job::new("pkg-config", "", move |_| {
        let moved = work.join("moved");
        let file = |prefix: &Path| prefix.join("lib/pkgconfig/libsched.pc");
        fs::create_dir_all(moved.join("lib/pkgconfig"))?;
        fs::create_dir_all(moved.join("include"))?;
        fs::copy(file(&prefix), file(&moved))?;
        for prefix in [&prefix, &moved] {
            match says_what_we_read(PkgConfig::read(&file(prefix))?, prefix)? {
                Outcome::Passed => {}
                other => return Ok(other),
            }
        }
        Ok(Outcome::Passed)
    })
}

fn says_what_we_read(pc: PkgConfig, prefix: &Path) -> Result<Outcome> {
    let ask = |options: &[&str]| {
        Command::new("pkg-config")
            .args(options)
            .arg("libsched")
            .env("PKG_CONFIG_PATH", pc.file.parent().unwrap_or(Path::new("/")))
            .env("PKG_CONFIG_ALLOW_SYSTEM_CFLAGS", "1")
            .env("PKG_CONFIG_ALLOW_SYSTEM_LIBS", "1")
            .output()
    };
    if ask(&["--version"]).is_err() {
        return Ok(Outcome::Skipped("no pkg-config here".to_string()));
    }
    let all_libs = [pc.libs.clone(), pc.libs_private.clone()].concat();
    let cases = [
        (&["--cflags"][..], &pc.cflags),
        (&["--libs"][..], &pc.libs),
        (&["--static", "--libs"][..], &all_libs),
    ];
    for (options, wanted) in cases {
        let out = ask(options)?;
        let said = String::from_utf8_lossy(&out.stdout);
        let words: Vec<&str> = said.split_whitespace().collect();
        if !out.status.success() || words != *wanted {
            return Ok(Outcome::Failed(format!("{options:?}: {words:?}, not {wanted:?}")));
        }
    }
    let include = prefix.join("include").canonicalize()?.join("libsched");
    let named = |flag: &String| {
        let folder = Path::new(flag.strip_prefix("-I")?);
        Some(folder.parent()?.canonicalize().ok()?.join(folder.file_name()?))
    };
    if !pc.cflags.iter().filter_map(named).any(|folder| folder == include) {
        return Ok(Outcome::Failed(format!("{:?} does not name {include:?}", pc.cflags)));
    }
    Ok(Outcome::Passed)
}
