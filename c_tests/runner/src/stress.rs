//! `--stress MINUTES`: runs c_tests/stress.c under every combination that the library accepts × 1
//! to 16 threads, in a scattered order, until the time is over.

use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use sched_tools::process::{shown, without_settings};

use crate::compile::Program;
use crate::exec;
use crate::session::Session;

/// Seconds of one run of the program, in which it does some rounds of each of its shapes.
const SLICE: f64 = 1.0;
/// Seconds after which a run is taken to hang.
const LIMIT: f64 = 60.0;

pub fn run(session: &Session, minutes: f64) -> Result<bool> {
    let program = session.work.join("stress");
    let source = session.root.join("c_tests/stress.c");
    let (smaller, optimize) = (session.options.smaller, session.options.optimize);
    Program { smaller, optimize, ..Program::plain(&source, &program) }
        .build(&session.tools, &[])?;
    let settings = scattered(session.matrix.all(&session.for_long()));
    let end = Instant::now() + Duration::from_secs_f64(60.0 * minutes);
    println!("stress: {} settings, {minutes} minutes, {} at a time", settings.len(), session.jobs);

    let (next, tasks, runs) = (AtomicUsize::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let failed = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for worker in 0..session.jobs {
            let (next, tasks, runs, failed) = (&next, &tasks, &runs, &failed);
            let (settings, program) = (&settings, &program);
            scope.spawn(move || {
                while Instant::now() < end && !failed.load(Ordering::Relaxed) {
                    let turn = next.fetch_add(1, Ordering::Relaxed);
                    let setting = &settings[turn % settings.len()];
                    let mut command = Command::new(program);
                    command.args(["-d", &SLICE.to_string(), "-r", &turn.to_string()]);
                    without_settings(&mut command);
                    command.envs(setting.environment());
                    let log = session.work.join(format!("log-{worker}"));
                    let said = exec::run(&mut command, &log, LIMIT).map(|ended| {
                        let counted = ended.passed().then(|| count(&ended.stdout)).flatten();
                        counted.ok_or_else(|| format!("{}\n{}", ended.how(), ended.stdout))
                    });
                    match said {
                        Ok(Ok(n)) => {
                            tasks.fetch_add(n, Ordering::Relaxed);
                            let so_far = runs.fetch_add(1, Ordering::Relaxed) + 1;
                            if so_far % 50 == 0 {
                                let n = tasks.load(Ordering::Relaxed);
                                println!("stress: {so_far} runs, {n} tasks checked");
                            }
                        }
                        Ok(Err(what)) => {
                            failed.store(true, Ordering::Relaxed);
                            println!("FAILED  {setting:?}\n{}\n{what}", shown(&command));
                        }
                        Err(error) => {
                            failed.store(true, Ordering::Relaxed);
                            println!("FAILED  {setting:?}: {error:#}");
                        }
                    }
                }
            });
        }
    });
    let covered = next.load(Ordering::Relaxed).min(settings.len());
    println!(
        "{} tasks checked in {} runs over {covered} of {} settings, {}",
        tasks.into_inner(),
        runs.into_inner(),
        settings.len(),
        if failed.load(Ordering::Relaxed) { "FAILED" } else { "none lost, none run twice" }
    );
    Ok(!failed.into_inner())
}

/// "checked N tasks in …"
fn count(output: &str) -> Option<u64> {
    output.lines().find_map(|line| line.strip_prefix("checked "))?.split(' ').next()?.parse().ok()
}

/// The settings in an order in which every stretch mixes kinds, policies and counts.
pub fn scattered<T: Clone>(settings: Vec<T>) -> Vec<T> {
    let n = settings.len();
    let coprime = |step: usize| {
        let (mut a, mut b) = (n, step);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        a == 1
    };
    let step = (n * 5 / 8..).find(|&step| step > 0 && coprime(step)).unwrap_or(1);
    (0..n).map(|i| settings[i * step % n].clone()).collect()
}
