//! The programs in the README, in `docs/` and in the manual pages are compiled as a user would
//! compile them, and run. The variables, functions and targets that these documents name exist, and
//! libsched(7) has each variable that the library knows.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use sched_tools::process::{run, shown, without_settings};
use sched_tools::sources::with_endings;

use crate::compile::{Toolchain, WARNINGS};
use crate::dispatch::{Job, Outcome};
use crate::session::Session;

/// Names that pages may use although no header declares them: a variable of the recorder, a policy
/// and two calls of Linux, and the library's function at which a worker's backtrace ends.
const OTHERS: &[&str] =
    &["SCHED_RECORD", "SCHED_FIFO", "sched_getaffinity", "sched_setaffinity", "sched_begin"];

/// How long a program may take.
const LIMIT: Duration = Duration::from_secs(60);

pub fn jobs(session: &Session, jobs: &mut Vec<Job>) -> Result<()> {
    let work = session.work.join("documents");
    fs::create_dir_all(&work)?;
    let documents = documents(&session.root)?;
    let pages = with_endings(&session.root.join("man"), &["3", "7"])?;
    for path in documents.iter().chain(&pages) {
        let text = fs::read_to_string(path)?;
        let fenced = |language| between(&text, |line| line == format!("```{language}"), "```");
        let displayed = || between(&text, |line| line.starts_with(".Bd -literal"), ".Ed");
        let of_header = path.to_string_lossy().ends_with(".hpp.3");
        let (c, cpp) = match path.extension().and_then(|ending| ending.to_str()) {
            Some("md") => (fenced("c"), fenced("cpp")),
            _ if of_header => (Vec::new(), displayed()),
            _ => (displayed(), Vec::new()),
        };
        for (blocks, cpp) in [(c, false), (cpp, true)] {
            let programs = blocks.into_iter().filter(|text| text.contains("int main("));
            for (i, program) in programs.enumerate() {
                let program = Snippet { text: program.replace("\\e", "\\"), cpp, number: i + 1 };
                jobs.push(compiled_and_run(session, &work, path, program));
            }
        }
    }
    jobs.push(names(session, documents));
    jobs.push(variables(session, &work));
    Ok(())
}

/// The README and its pages.
fn documents(root: &Path) -> Result<Vec<PathBuf>> {
    let mut documents = vec![root.join("README.md"), root.join("CONTRIBUTING.md")];
    documents.extend(with_endings(&root.join("docs"), &["md"])?);
    Ok(documents)
}

/// The texts between a line for which `begins` is true and a line that is `end`.
fn between(text: &str, begins: impl Fn(&str) -> bool, end: &str) -> Vec<String> {
    let mut lines = text.lines();
    let mut found = Vec::new();
    while lines.by_ref().any(&begins) {
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != end).collect();
        found.push(block.join("\n") + "\n");
    }
    found
}

/// The command that compiles a program with the installed library.
fn build(compiler: &Path, tools: &Toolchain, source: &Path, output: &Path) -> Command {
    let cpp = source.extension().is_some_and(|e| e == "cpp");
    let mut command = Command::new(compiler);
    command.args([if cpp { "-std=c++17" } else { "-std=gnu11" }, "-O2"]);
    command.args(WARNINGS).args(&tools.pc.cflags);
    command.arg("-o").arg(output).arg(source).args(&tools.pc.libs).arg("-lm");
    command.arg(format!("-Wl,-rpath,{}", tools.libdir.display()));
    command
}

/// A program of a document.
struct Snippet {
    text: String,
    cpp: bool,
    /// Its place among the document's programs in this language, from 1.
    number: usize,
}

fn compiled_and_run(session: &Session, work: &Path, document: &Path, program: Snippet) -> Job {
    let name = document.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let Snippet { text, cpp, number } = program;
    let (language, ending) = if cpp { ("C++ program", "cpp") } else { ("program", "c") };
    let source = work.join(format!("{name}-{number}.{ending}"));
    let output = work.join(format!("{name}-{number}-{ending}"));
    let tools = session.tools.clone();
    Job::new("documents", format!("{name}, {language} {number}"), move |_| {
        let compiler = if cpp { tools.cxx.as_deref() } else { Some(tools.cc.as_path()) };
        let Some(compiler) = compiler else {
            return Ok(Outcome::Skipped("no C++ compiler".to_string()));
        };
        fs::write(&source, &text)?;
        let mut command = build(compiler, &tools, &source, &output);
        let out = command.output()?;
        if !out.status.success() {
            let said = String::from_utf8_lossy(&out.stderr);
            return Ok(Outcome::Failed(format!("{}\n{said}\n", shown(&command))));
        }
        let mut command = Command::new(&output);
        without_settings(&mut command);
        let ended = run(&mut command, LIMIT)?;
        Ok(match ended.passed() {
            true => Outcome::Passed,
            false => Outcome::Failed(format!("{}: {}\n", shown(&command), ended.how())),
        })
    })
}

/// The words of a text that begin so.
fn words(text: &str, start: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with(start)).map(str::to_string).collect()
}

/// The variables that libsched(7) describes.
fn described(root: &Path) -> Result<BTreeSet<String>> {
    let page = fs::read_to_string(root.join("man/libsched.7"))?;
    let items = page.lines().filter_map(|line| line.strip_prefix(".It Ev "));
    Ok(items.map(str::to_string).collect())
}

/// The targets of the Makefile and of its part for measuring; the gates, and `record-` before them.
fn targets(root: &Path) -> Result<BTreeSet<String>> {
    let read = |file: &str| fs::read_to_string(root.join(file)).context(file.to_string());
    let makefile = read("Makefile")? + &read("bench_c/bench.mk")?;
    let rules = makefile.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_lowercase()));
    let named =
        rules.filter_map(|line| line.split_once(':')).flat_map(|(names, _)| names.split(' '));
    let table = read("docs/trust/gates.toml")?;
    let gates = table.lines().filter_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'));
    let gates = gates.flat_map(|gate| [gate.to_string(), format!("record-{gate}")]);
    Ok(named.map(str::to_string).chain(gates).collect())
}

fn names(session: &Session, documents: Vec<PathBuf>) -> Job {
    let root = session.root.clone();
    Job::new("documents", "what they name", move |_| {
        let mut declared = String::new();
        for header in with_endings(&root.join("include"), &["h", "hpp"])? {
            declared += &fs::read_to_string(header)?;
        }
        let (declared, variables) = (words(&declared, ""), described(&root)?);
        let targets = targets(&root)?;
        let mut wrong = String::new();
        for path in &documents {
            let text = fs::read_to_string(path)?;
            let mut unknown = Vec::new();
            let named = words(&text, "SCHED_").into_iter().chain(words(&text, "sched_"));
            unknown.extend(named.filter(|name| {
                !variables.contains(name)
                    && !declared.contains(name)
                    && !OTHERS.contains(&name.as_str())
            }));
            let commands =
                text.split(['`', '\n']).filter_map(|part| part.trim().strip_prefix("make "));
            for command in commands {
                let target = command.split_whitespace().next().unwrap_or_default();
                let is_target = target.chars().all(|c| c.is_ascii_lowercase() || c == '-');
                if is_target && !targets.contains(target) {
                    unknown.push(format!("make {target}"));
                }
            }
            for name in unknown {
                wrong += &format!("{}: there is no {name}\n", path.display());
            }
        }
        Ok(if wrong.is_empty() { Outcome::Passed } else { Outcome::Failed(wrong) })
    })
}

/// `SCHED_HELP=1` lists the same variables that the page describes.
fn variables(session: &Session, work: &Path) -> Job {
    const PROGRAM: &str = "#include <sched.h>\n\
        static void task(void *closure, struct scheduler *s) { (void)closure; (void)s; }\n\
        int main(void) { return sched_init(1, 1, task, 0) != 0; }\n";
    let (source, output) = (work.join("help.c"), work.join("help"));
    let tools = session.tools.clone();
    let root = session.root.clone();
    Job::new("documents", "each variable", move |_| {
        fs::write(&source, PROGRAM)?;
        let mut command = build(&tools.cc, &tools, &source, &output);
        anyhow::ensure!(command.status()?.success(), "{}", shown(&command));
        let mut command = Command::new(&output);
        without_settings(&mut command);
        let ended = run(command.env("SCHED_HELP", "1"), LIMIT)?;
        let listed = ended.stderr.lines().filter(|line| line.starts_with("SCHED_"));
        let listed: BTreeSet<String> =
            listed.filter_map(|line| line.split(' ').next()).map(str::to_string).collect();
        let described = described(&root)?;
        Ok(if listed == described && !listed.is_empty() {
            Outcome::Passed
        } else {
            Outcome::Failed(format!("SCHED_HELP: {listed:?}\nlibsched(7): {described:?}\n"))
        })
    })
}
