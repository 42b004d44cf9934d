//! The tables of the report.

use anyhow::{Result, bail};
use sched_tools::table::markdown;

use super::beside;
use super::condense::SESSIONS;
use super::language::Language;
use super::measurements::Measurements;
use super::predictions::Predictions;

const NOTHING: &str = "";

/// The table of this name.
pub fn table(
    name: &str,
    data: &Measurements,
    predictions: &Predictions,
    language: Language,
) -> Result<String> {
    match name {
        "sessions" => sessions(data, language),
        "prices" => Ok(prices(data, language)),
        "speedups" => Ok(speedups(data, language)),
        "overheads" => Ok(overheads(data, language)),
        "peers" => beside::in_report(data, language),
        "scaling" => Ok(scaling(predictions, language)),
        other => match other.strip_prefix("beside ") {
            Some(name) => beside::table(name, data, language),
            None => bail!("no table `{other}`"),
        },
    }
}

fn words(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|t| (*t).to_owned()).collect()
}

/// How each session was measured.
fn sessions(data: &Measurements, language: Language) -> Result<String> {
    let mut rows = Vec::new();
    for (name, _, command) in SESSIONS {
        let about = &data.session(name)?.about;
        rows.push(vec![
            format!("`{command}`"),
            about.machine.commit.clone().unwrap_or_default(),
            about.rounds.to_string(),
            language.text(&format!("{:.0}", about.total_seconds)),
            language.number(about.iteration_ns),
            language.number(about.cores_ours),
        ]);
    }
    let head = words(&[
        "session",
        "commit",
        "rounds",
        "seconds",
        "ns an iteration of y = y·3 + 1",
        "cores really ours",
    ]);
    Ok(markdown(2, &head, &rows))
}

/// Nanoseconds a task where tasks do next to nothing.
fn prices(data: &Measurements, language: Language) -> String {
    let threads = [1, 2, 8];
    let mut rows = Vec::new();
    for program in ["tree", "flood", "fib"] {
        for kind in ["lifo", "fifo", "steal", "cont"] {
            let cell = |t: &usize| {
                let case = data.find(&format!("lab {program} {kind} {t}"));
                let quartiles = case.and_then(|c| c.quartiles("ns").ok());
                quartiles.map_or(NOTHING.into(), |q| language.quartiles(q))
            };
            let mut row = words(&[program, &format!("`{kind}`")]);
            row.extend(threads.iter().map(cell));
            rows.push(row);
        }
    }
    markdown(2, &words(&["ns a task", "kind", "1 thread", "2 threads", "8 threads"]), &rows)
}

/// The speed-up over the serial program on 2 threads: the two schedulers of the subject.
fn speedups(data: &Measurements, language: Language) -> String {
    let programs = ["quicksort", "mandelbrot", "nqueens", "fib", "tree", "flood"];
    let mut rows = Vec::new();
    for program in programs {
        let mut row = words(&[program]);
        let ms = |kind: &str, t: usize| {
            let case = data.find(&format!("lab {program} {kind} {t}"))?;
            case.quartiles("ms").ok()
        };
        let serial = ms("none", 1);
        row.push(serial.map_or(NOTHING.into(), |q| language.number(q.median)));
        for kind in ["lifo", "steal"] {
            let speedup = ms(kind, 2).zip(serial).map(|(q, serial)| q.under(serial.median));
            row.push(speedup.map_or(NOTHING.into(), |q| language.quartiles(q)));
        }
        rows.push(row);
    }
    let (serial, lifo, steal) = (
        language.choose("serial, ms", "séquentiel, ms"),
        language.choose("`lifo`, 2 threads", "`lifo`, 2 threads"),
        language.choose("`steal`, 2 threads", "`steal`, 2 threads"),
    );
    let head = words(&[language.choose("speed-up", "accélération"), serial, lifo, steal]);
    markdown(1, &head, &rows)
}

/// What a run costs beside its tasks, and the same by means of the kernel.
fn overheads(data: &Measurements, language: Language) -> String {
    let lines: &[(&str, &str, &str, &str)] = &[
        ("`sched_init` with one task, no second thread", "emptyrun steal 2", "us_per_run", "µs"),
        (
            "`sched_init` in which two threads meet, kept threads",
            "emptyrun steal 2 data=pair",
            "us_per_run",
            "µs",
        ),
        (
            "the same with a new thread (`SCHED_WARM=0`)",
            "emptyrun steal 2 data=pair warm=0",
            "us_per_run",
            "µs",
        ),
        ("`pthread_create` and `pthread_join`", "emptyrun none data=pthread", "us_per_run", "µs"),
        ("from a spawn to its start on a sleeping worker", "wakeup steal 2", "wake_us", "µs"),
        (
            "from a bare `FUTEX_WAKE` to the sleeper's return",
            "wakeup none data=futex",
            "wake_us",
            "µs",
        ),
        ("a yield, two tasks in turn", "yield steal 1", "ns_a_yield", "ns"),
        (
            "the same by two threads and `sched_yield`",
            "yield none data=pthread",
            "ns_a_yield",
            "ns",
        ),
        ("the same by `swapcontext`", "yield none data=ucontext", "ns_a_yield", "ns"),
        ("a task waits, another goes on", "suspend steal 1", "ns_a_turn", "ns"),
        (
            "the same by two threads and semaphores, one processor",
            "suspend none data=one",
            "ns_a_turn",
            "ns",
        ),
        (
            "tasks that sleep 1 ms, in blocking sections",
            "blocking steal 2 data=section",
            "tasks_per_second",
            "1/s",
        ),
        (
            "the same without blocking sections",
            "blocking steal 2 data=plain",
            "tasks_per_second",
            "1/s",
        ),
        (
            "a blocking section with nothing in it",
            "blocking steal 2 data=empty",
            "ns_a_section",
            "ns",
        ),
        ("64 idle workers burn, of one processor", "idleburn steal 64", "burn_percent", "%"),
    ];
    let row = |(what, case, value, unit): &(&str, &str, &str, &str)| {
        let quartiles = data.find(&format!("bench {case}")).and_then(|c| c.quartiles(value).ok());
        let text = quartiles.map_or(NOTHING.into(), |q| language.quartiles(q));
        words(&[what, &text, unit])
    };
    let rows: Vec<Vec<String>> = lines.iter().map(row).collect();
    markdown(1, &words(&["", "median [quartiles]", "unit"]), &rows)
}

/// The greatest speed-up that is predicted for each policy, and on how many workers.
fn scaling(predictions: &Predictions, language: Language) -> String {
    let workers = predictions.workers();
    let mut rows = Vec::new();
    for program in &predictions.programs {
        let parallelism = predictions.parallelism(program).unwrap_or(NOTHING);
        let mut row = vec![program.clone(), language.text(parallelism)];
        for policy in ["steal", "cont", "lifo", "fifo"] {
            let speedup = |&w: &usize| Some((predictions.speedup(program, policy, w)?, w));
            let best = workers.iter().filter_map(speedup).max_by(|a, b| a.0.total_cmp(&b.0));
            row.push(best.map_or(NOTHING.into(), |(s, w)| format!("{} ({w})", language.number(s))));
        }
        rows.push(row);
    }
    let head = words(&["program", "work / span", "`steal`", "`cont`", "`lifo`", "`fifo`"]);
    markdown(1, &head, &rows)
}
