//! Checks the output of SCHED_STATS=json: one line, with every key, and figures that are
//! consistent.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

const NUMBERS: &[&str] = &[
    "threads",
    "qlen",
    "seconds",
    "tasks",
    "steals",
    "stolen_tasks",
    "failed_steals",
    "parks",
    "naps",
    "wakes",
    "queue_peak",
    "threads_missing",
    "busy_ns",
    "searching_ns",
    "parked_ns",
    "blocked_ns",
];
/// A worker's times, which add up to the time of the run.
const TIMES: [&str; 4] = ["busy_ns", "searching_ns", "parked_ns", "blocked_ns"];
const NAMES: &[(&str, &str)] =
    &[("kind", "SCHED_KIND"), ("deque", "SCHED_DEQUE"), ("idle", "SCHED_IDLE")];

/// Beside a race detector the library takes its own lock in place of the C library's.
const OWN_LOCK: &str = "spin";
const LOCKS_OF_C: [&str; 2] = ["mutex", "sem"];

/// `is_detected`: the program has run beside a race detector.
pub fn check(
    file: &Path,
    tasks: u64,
    environment: &[(String, String)],
    is_detected: bool,
) -> Result<()> {
    let text = fs::read_to_string(file).context("no file of statistics was written")?;
    check_text(&text, tasks, environment, is_detected)
        .with_context(|| format!("statistics: {}", text.trim()))
}

fn check_text(
    text: &str,
    tasks: u64,
    environment: &[(String, String)],
    is_detected: bool,
) -> Result<()> {
    ensure!(text.lines().count() == 1 && text.ends_with('\n'), "not exactly one line");
    let line: Value = serde_json::from_str(text)?;
    let number = |value: &Value, key: &str| -> Result<f64> {
        let figure = value.get(key).and_then(Value::as_f64);
        figure.filter(|figure| *figure >= 0.0).with_context(|| format!("no number {key:?}"))
    };
    for key in NUMBERS {
        number(&line, key)?;
    }
    let set = |name: &str| environment.iter().find(|(n, _)| n == name).map(|(_, value)| value);
    for (key, variable) in NAMES {
        let value = line.get(key).with_context(|| format!("no {key:?}"))?;
        if let Some(wanted) = set(variable) {
            let replaced = is_detected && LOCKS_OF_C.contains(&wanted.as_str());
            let right = *value == **wanted || replaced && value == OWN_LOCK;
            ensure!(right, "{key} is {value}, not {wanted:?}");
        }
    }
    let counted = line["tasks"].as_u64().context("tasks is no whole number")?;
    ensure!(counted == tasks, "{counted} tasks, not {tasks}");

    let workers = line["workers"].as_array().context("no list \"workers\"")?;
    let (threads, missing) = (number(&line, "threads")?, number(&line, "threads_missing")?);
    let present = workers.len() as f64;
    ensure!(
        present == threads || present == threads - missing,
        "{present} workers, {threads} threads, {missing} missing"
    );
    if let Some(wanted) = set("SCHED_THREADS") {
        ensure!(wanted.parse() == Ok(threads), "{threads} threads, not {wanted}");
    }
    let mut sum = 0;
    let nanoseconds = (number(&line, "seconds")? * 1e9).round();
    for worker in workers {
        let times: Vec<f64> = TIMES.iter().map(|key| number(worker, key)).collect::<Result<_>>()?;
        let all: f64 = times.iter().sum();
        ensure!(all == nanoseconds, "times {times:?} of a worker add up to {all}");
        sum += worker.get("tasks").and_then(Value::as_u64).context("a worker without tasks")?;
    }
    ensure!(sum == tasks, "the workers' tasks add up to {sum}, not {tasks}");
    ensure!(
        number(&line, "stolen_tasks")? >= number(&line, "steals")?,
        "fewer tasks stolen than steals"
    );
    Ok(())
}
