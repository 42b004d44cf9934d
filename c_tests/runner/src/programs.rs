//! The test programs: c_tests/*.c and *.cpp, each built and run as its markers say.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use sched_tools::process::{shown, without_settings};
use sched_tools::sources::with_endings;

use crate::compile::{Library, Program};
use crate::dispatch::{Job, Outcome};
use crate::exec;
use crate::marker::{self, Debug, Markers, Run};
use crate::report::Report;
use crate::session::Session;
use crate::setting::{Part, Setting};
use crate::stats;

/// The jobs that build every program that the filter leaves, and those that run its cases.
pub fn jobs(session: &Session, report: &mut Report) -> Result<Vec<Job>> {
    let sources = with_endings(&session.root.join("c_tests"), &["c", "cpp"])?;
    let (mut builds, mut runs) = (Vec::new(), Vec::new());
    let mut excepted = excepted(session)?;
    let mut names = HashSet::new();
    for source in &sources {
        let program = source.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let text = fs::read_to_string(source)?;
        let kinds = &session.tools.kinds;
        let cases = marker::parse(&program, &text, &session.matrix, kinds)
            .with_context(|| source.display().to_string())?;
        let has_cases = cases.len() > 1 || cases[0].0 != program;
        ensure!(!has_cases || names.insert(program.clone()), "c_tests: {program} is there twice");
        let mut outputs = Vec::new();
        for (name, markers) in &cases {
            ensure!(names.insert(name.clone()), "c_tests: {name} is there twice");
            let reason = excepted.remove(name);
            if !session.options.names(name) && !session.options.has(&program) {
                continue;
            }
            if let Some(reason) = reason {
                let job = Job::new(name, "", |_| Ok(Outcome::Passed));
                if report.wants(&program, &job.name()) && !session.options.list {
                    report.add(&job, &Outcome::Skipped(reason));
                }
                continue;
            }
            for library in libraries(markers, session.options.programs.is_empty()) {
                let path = session.work.join(named(&program, library));
                let mut words = session.options.words(&path);
                words.extend(has_cases.then(|| name.clone()));
                let mut jobs = runs_of(session, markers, &named(name, library), &words, library)?;
                // Two lines of a marker may have a setting in common.
                let mut seen = HashSet::new();
                jobs.retain(|job| {
                    let name = job.name();
                    report.wants(&program, &name) && session.wants(job) && seen.insert(name)
                });
                jobs.iter_mut().for_each(|job| job.program.clone_from(&program));
                match outputs.iter_mut().find(|output: &&mut Output| output.library == library) {
                    Some(output) => output.runs.extend(jobs),
                    None if jobs.is_empty() => {}
                    None => outputs.push(Output { library, path, runs: jobs }),
                }
            }
        }
        if !outputs.is_empty() && !session.options.list {
            let mut lacks = |library: Library, what: &str| {
                let job = Job::new(named(&program, library), "(build)", |_| Ok(Outcome::Passed));
                report.add(&job, &Outcome::Skipped(what.to_string()));
            };
            let markers: Vec<&Markers> = cases.iter().map(|(_, markers)| markers).collect();
            let commands = commands(session, source, &markers, &mut outputs, &mut lacks);
            builds.push(build(program, commands));
        }
        runs.extend(outputs.into_iter().flat_map(|output| output.runs));
    }
    ensure!(excepted.is_empty(), "excepted, but not there: {:?}", excepted.keys());
    builds.extend(runs);
    Ok(builds)
}

/// A program linked with one library, and the runs of its cases.
struct Output {
    library: Library,
    path: PathBuf,
    runs: Vec<Job>,
}

/// The name of a program or case that is linked with the library.
fn named(name: &str, library: Library) -> String {
    match library {
        Library::Shared => name.to_string(),
        Library::Static => format!("{name}[static]"),
        Library::Debug => format!("{name}[debug]"),
    }
}

/// The programs that are left out, each with the reason.
fn excepted(session: &Session) -> Result<HashMap<String, String>> {
    let Some(path) = &session.options.except else { return Ok(HashMap::new()) };
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let mut all = HashMap::new();
    for line in text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let (names, reason) = line.split_once(": ").with_context(|| line.to_string())?;
        all.extend(names.split(' ').map(|name| (name.to_string(), reason.to_string())));
    }
    Ok(all)
}

/// The commands that build the program, in their order. A program that is linked with several
/// libraries is compiled once. An output that cannot be built here is removed, and `lacks` is
/// called for it.
fn commands(
    session: &Session,
    source: &Path,
    cases: &[&Markers],
    outputs: &mut Vec<Output>,
    lacks: &mut impl FnMut(Library, &str),
) -> Vec<Command> {
    let own = cases[0];
    let header = own.header.as_ref().map(|folder| session.root.join("c_tests").join(folder));
    let mut libraries: Vec<String> = cases.iter().flat_map(|c| c.libraries.clone()).collect();
    libraries.sort();
    libraries.dedup();
    let built = session.work.join(source.file_stem().unwrap_or_default());
    let (plugin, object) = (built.with_extension("so"), built.with_extension("o"));
    let tools = &session.tools;
    let (mut commands, once) = (Vec::new(), outputs.len() > 1);
    outputs.retain(|output| {
        let program = Program {
            source,
            output: &output.path,
            plugin: &plugin,
            library: if session.options.statically { Library::Static } else { output.library },
            unlinked: own.unlinked,
            cflags: &own.cflags,
            libraries: &libraries,
            sanitize: session.options.sanitize.as_deref(),
            smaller: session.options.smaller,
            optimize: session.options.optimize,
            header: header.as_deref(),
        };
        let linked =
            if once { program.link_command(tools, &object) } else { program.command(tools) };
        if commands.is_empty() && linked.is_ok() {
            commands.extend(own.plugin.then(|| program.plugin_command(tools)));
            commands
                .extend(once.then(|| program.object_command(tools, &object)).and_then(Result::ok));
        }
        linked
            .map(|command| commands.push(command))
            .inspect_err(|what| lacks(output.library, what))
            .is_ok()
    });
    commands
}

fn build(name: String, commands: Vec<Command>) -> Job {
    let words = |command: Command| {
        let line = shown(&command);
        let arguments: Vec<_> = command.get_args().map(|a| a.to_os_string()).collect();
        (command.get_program().to_os_string(), arguments, line)
    };
    let commands: Vec<_> = commands.into_iter().map(words).collect();
    let job = Job::new(name, "(build)", move |_| {
        for (program, arguments, line) in &commands {
            let out = Command::new(program).args(arguments).output()?;
            if !out.status.success() {
                let said = String::from_utf8_lossy(&out.stderr);
                return Ok(Outcome::Failed(format!("{line}\n{said}")));
            }
        }
        Ok(Outcome::Passed)
    });
    Job { builds: true, ..job }
}

/// The libraries that the program is linked with: `all` that its marker asks for, or the shared
/// one.
fn libraries(markers: &Markers, all: bool) -> Vec<Library> {
    let all = [
        (Library::Shared, markers.debug != Debug::Only),
        (Library::Static, all && markers.statically),
        (Library::Debug, all && markers.debug != Debug::No),
    ];
    all.into_iter().filter_map(|(library, wanted)| wanted.then_some(library)).collect()
}

/// The runs that the markers ask for. A case that is also linked with another library runs once
/// with that, with no variable set: only the linking differs.
fn runs_of(
    session: &Session,
    markers: &Markers,
    group: &str,
    words: &[String],
    library: Library,
) -> Result<Vec<Job>> {
    let once = [Run::default()];
    let mut jobs = Vec::new();
    let all = library == Library::Shared || markers.debug == Debug::Only;
    for (line, run) in (if all { &markers.runs[..] } else { &once }).iter().enumerate() {
        let mut add = |setting: Option<Setting>| {
            let mut environment = setting.as_ref().map_or_else(Vec::new, Setting::environment);
            environment.extend(run.environment.iter().cloned());
            let mut said: Vec<String> =
                environment.iter().map(|(name, value)| format!("{name}={value}")).collect();
            said.extend(run.arguments.iter().cloned());
            let detail = said.join(" ").replace("SCHED_", "").to_lowercase();
            let job = one_run(session, group, detail, words, run.clone(), environment);
            // A tool needs a processor even while the program sleeps.
            let sleeps = markers.sleeps && session.options.under.is_empty();
            jobs.push(Job { setting, sleeps, ..job });
        };
        match &run.matrix {
            None => add(None),
            Some(part) => {
                // Of many settings, a run with a longer timeout has those of the base only.
                let is_long = run.timeout.is_some() && session.options.knobs.is_none();
                let part = Part { plain: part.plain || is_long && !part.few, ..part.clone() };
                let settings = session.settings(&part, &format!("{group} {line}"));
                settings.into_iter().for_each(|setting| add(Some(setting)));
            }
        }
    }
    Ok(jobs)
}

fn one_run(
    session: &Session,
    group: &str,
    detail: String,
    words: &[String],
    run: Run,
    environment: Vec<(String, String)>,
) -> Job {
    let limit = run.timeout.unwrap_or(0.0).max(session.options.timeout);
    let (work, words) = (session.work.clone(), words.to_vec());
    let is_detected = session.options.has_race_detector();
    let job = Job::new(group, detail, move |worker| {
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).args(&run.arguments);
        without_settings(&mut command);
        command.envs(environment.iter().cloned());
        let stats_file = work.join(format!("stats-{worker}"));
        if run.tasks.is_some() {
            let _ = fs::remove_file(&stats_file);
            command.env("SCHED_STATS", "json").env("SCHED_STATS_FILE", &stats_file);
        }
        let trace_file = work.join(format!("trace-{worker}.json"));
        if run.trace {
            let _ = fs::remove_file(&trace_file);
            command.env("SCHED_TRACE", &trace_file);
        }
        let ended = exec::run(&mut command, &work.join(format!("log-{worker}")), limit)?;
        let again = || {
            let variables: Vec<String> =
                environment.iter().map(|(name, value)| format!("{name}={value} ")).collect();
            format!("{}{}\n", variables.concat(), shown(&command))
        };
        if ended.code() == Some(77) {
            return Ok(Outcome::Skipped(ended.stdout.trim().replace("skipped: ", "")));
        }
        if !ended.passed() {
            let how = ended.how();
            let seconds = ended.seconds;
            return Ok(Outcome::Failed(format!(
                "{}{how} ({seconds:.2} s)\n{}",
                again(),
                ended.stdout
            )));
        }
        let stats = |tasks| stats::check(&stats_file, tasks, &environment, is_detected);
        let trace = || sched_timeline::check(&trace_file, run.tasks);
        let checked = run.tasks.map_or(Ok(()), stats);
        let checked = checked.and_then(|()| if run.trace { trace() } else { Ok(()) });
        if let Err(error) = checked {
            return Ok(Outcome::Failed(format!("{}{error:#}\n", again())));
        }
        Ok(Outcome::Passed)
    });
    Job { limit, ..job }
}
