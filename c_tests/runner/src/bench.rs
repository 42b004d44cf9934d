//! Runs the benchmark programs under a few settings of the matrix, and all with `--knobs`, with
//! small sizes. They check their own answers.

use std::path::Path;
use std::process::Command;

use anyhow::Result;
use sched_tools::process::{shown, without_settings};
use sched_tools::sources::with_endings;

use crate::dispatch::{Job, Outcome};
use crate::exec;
use crate::session::Session;
use crate::setting::{Part, Setting};

/// Arguments of -n with which a run takes some milliseconds. Each program says what it counts.
const SIZES: &[(&str, &str)] = &[
    ("quicksort", "20000"),
    ("mandelbrot", "48"),
    ("tree", "10"),
    ("flood", "3000"),
    ("nqueens", "6"),
    ("mergesort", "20000"),
    ("fib", "14"),
    ("shortruns", "20"),
    ("emptyrun", "20"),
    ("wakeup", "3"),
    ("latetask", "5"),
    ("urgent", "2000"),
    ("yield", "10000"),
    ("suspend", "2000"),
    ("blocking", "50"),
    ("echo", "1000"),
    ("idleburn", "20"),
    ("closures", "3000"),
    ("fib_inline", "14"),
    ("fib_typed", "14"),
    ("treef", "10"),
    ("treef_typed", "10"),
    ("nqueens_typed", "6"),
    ("uts_typed", "4"),
    ("uts", "4"),
    ("uts_deep", "20"),
    ("matmul", "64"),
    ("strassen", "64"),
    ("strassen_address", "64"),
    ("align", "200"),
    ("knapsack", "1"),
    ("loop", "1000000"),
    ("reduce", "1000000"),
    ("scan", "300000"),
    ("sort", "20000"),
    ("sort_typed", "20000"),
    ("fib_cpp", "14"),
    ("fib_typed_cpp", "14"),
    ("tree_cpp", "1000"),
    ("loop_cpp", "1000000"),
    ("sort_cpp", "20000"),
    ("grain", "3000"),
    ("fiber_single", "30"),
    ("fiber_slow", "30"),
    ("fiber_mergesort", "32"),
    ("fiber_spawners", "5"),
    ("outside_flood", "3000"),
    ("outside_sparse", "30"),
];
/// Programs that measure what one worker does to another. They refuse to run with one worker.
const WITH_OTHERS: &[&str] = &["wakeup", "resume"];
const OTHERS: &str = "10";

pub fn jobs(session: &Session) -> Result<Vec<Job>> {
    let Some(folder) = &session.options.bench else { return Ok(Vec::new()) };
    let mut programs = with_endings(folder, &[""])?;
    programs.retain(|path| path.is_file());

    let mut jobs = Vec::new();
    let few = Part { few: true, ..Part::default() };
    for program in &programs {
        jobs.push(job(session, program, None, &["-s"]));
        let name = program.file_name().unwrap_or_default().to_string_lossy();
        let alone = |setting: &Setting| setting.get("THREADS").is_none_or(|threads| threads == "1");
        for setting in session.settings(&few, &format!("bench {name}")) {
            if !(WITH_OTHERS.contains(&&*name) && alone(&setting)) {
                jobs.push(job(session, program, Some(&setting), &[]));
            }
        }
    }
    jobs.retain(|job| session.wants(job));
    Ok(jobs)
}

/// The number of threads is given with -t, as a user of the program would give it.
fn job(session: &Session, program: &Path, setting: Option<&Setting>, more: &[&str]) -> Job {
    let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let size = SIZES.iter().find(|(n, _)| *n == name).map_or(OTHERS, |(_, size)| size);
    let mut arguments: Vec<String> = ["-n", size, "-r", "1"].map(str::to_string).to_vec();
    arguments.extend(more.iter().map(|word| word.to_string()));
    let mut environment = setting.map_or_else(Vec::new, Setting::environment);
    environment.retain(|(name, _)| name != "SCHED_THREADS");
    if let Some(threads) = setting.and_then(|setting| setting.get("THREADS")) {
        arguments.extend(["-t".to_string(), threads.to_string()]);
    }
    let variables: Vec<String> = environment.iter().map(|(n, v)| format!("{n}={v}")).collect();
    let variables = variables.join(" ");
    let detail =
        format!("{} {}", variables.replace("SCHED_", "").to_lowercase(), arguments.join(" "));
    let (program, work, limit) =
        (program.to_path_buf(), session.work.clone(), session.options.timeout);
    let job = Job::new(format!("bench {name}"), detail, move |worker| {
        let mut command = Command::new(&program);
        command.args(&arguments);
        without_settings(&mut command);
        command.envs(environment.iter().cloned());
        let ended = exec::run(&mut command, &work.join(format!("log-{worker}")), limit)?;
        if ended.passed() && ended.stdout.contains(" ok") {
            return Ok(Outcome::Passed);
        }
        let how = ended.how();
        Ok(Outcome::Failed(format!("{variables} {}\n{how}\n{}", shown(&command), ended.stdout)))
    });
    Job { setting: setting.cloned(), ..job }
}
