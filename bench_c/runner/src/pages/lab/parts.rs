//! The subject's questions about the parts: which lock protects a queue, how an idle worker waits,
//! how much processor time an idle worker uses, and how long a task must be to repay its cost.

use anyhow::Result;
use sched_estimate::{Estimate, Verdict};
use sched_tools::number::threads as threads_words;
use sched_tools::number::{count, short};
use sched_tools::text::{listed, sentence};

use super::data::{Data, Value, seconds};
use super::page::{NOT_MEASURED, Page, drawn, head, interval, number, quartiles, words};
use super::plan::{
    GRAINS, IDLE_THREADS, IDLERS, IDLES, LOCKED, LOCKED_KINDS, Lab, PRIMITIVES, SLEPT,
};
use super::settings::Setting;
use crate::figures::chart::{Bars, Figure, Panel};
use crate::figures::keys::by_kind;
use crate::run::programs::KINDS;
use crate::run::setup::{Kind, Setup};
use crate::statistics::quartiles::Quartiles;
use crate::statistics::summary::Measured;

/// The values of these names, each divided by that of `base`.
pub fn over(
    data: &Data,
    names: &[&'static str],
    base: &str,
    setup: impl Fn(&'static str) -> Option<Setup>,
    value: Value,
) -> Option<String> {
    let base_setup = names.iter().find(|n| **n == base).and_then(|n| setup(n))?;
    let texts = names.iter().filter(|n| **n != base).filter_map(|name| {
        data.told(name, &[(setup(name)?, base_setup.clone())], value, ["less", "more"])
    });
    let texts: Vec<String> = texts.collect();
    (!texts.is_empty()).then(|| listed(&texts))
}

// --- what protects a queue ------------------------------------------------------

pub fn primitives_section(lab: &Lab, data: &Data, page: &mut Page) -> Result<()> {
    let threads = lab.lock_threads();
    let ns = |program, kind, primitive, t| -> Option<Quartiles> {
        Some(data.of(&lab.lock(program, kind, primitive, t)?)?.ns_per_task())
    };
    let mut panels = Vec::new();
    for &program in LOCKED {
        for &t in &threads {
            panels.push(Panel {
                title: format!("{program}, {}", threads_words(t)),
                x_title: "SCHED_DEQUE",
                y_title: "ns per task (log scale)",
                x_names: words(PRIMITIVES),
                series: by_kind(LOCKED_KINDS, PRIMITIVES, |kind, p| ns(program, kind, p, t)),
                log: true,
                lines: false,
                reference: None,
            });
        }
    }
    let figure = Figure {
        title: "Mutex, spinlock, semaphore, lock-free",
        reference: None,
        bars: Bars::Quartiles,
        columns: threads.len(),
        panels,
        panel_height: 320,
    };
    page.figure("lab-primitives", &figure)?;
    let mut rows = Vec::new();
    let mut sentences = Vec::new();
    for &program in LOCKED {
        for &kind in LOCKED_KINDS {
            for &primitive in PRIMITIVES {
                let found: Vec<_> =
                    threads.iter().map(|&t| ns(program, kind, primitive, t)).collect();
                if found.iter().any(Option::is_some) {
                    let mut row = words(&[program, kind.name(), primitive]);
                    row.extend(found.into_iter().map(quartiles));
                    rows.push(row);
                }
            }
            let at = lab.many();
            let setup = |primitive| lab.lock(program, kind, primitive, at);
            sentences.extend(over(data, PRIMITIVES, "mutex", setup, seconds).map(|text| {
                format!(
                    "{program} under {}, {}, time divided by mutex's: {text}.",
                    kind.name(),
                    threads_words(at)
                )
            }));
        }
    }
    page.table(3, &head(&["ns per task [quartiles]", "kind", "deque"], &threads), &rows);
    page.verdict(&all_over_mutex(lab, data));
    page.list(&sentences);
    Ok(())
}

/// The time of each primitive divided by mutex's, over all programs, kinds and numbers of threads.
fn all_over_mutex(lab: &Lab, data: &Data) -> String {
    let all = |primitive: &'static str| {
        let mut pairs = Vec::new();
        for (&program, &kind) in
            LOCKED.iter().flat_map(|p| LOCKED_KINDS.iter().map(move |k| (p, k)))
        {
            pairs.extend(lab.lock_threads().into_iter().filter_map(|t| {
                Some((lab.lock(program, kind, primitive, t)?, lab.lock(program, kind, "mutex", t)?))
            }));
        }
        data.told(primitive, &pairs, seconds, ["faster", "slower"])
    };
    let texts: Vec<String> = PRIMITIVES[1..].iter().filter_map(|p| all(p)).collect();
    format!(
        "time divided by mutex's, over all programs, kinds and numbers of threads: {}.",
        listed(&texts)
    )
}

// --- how an idle worker waits ---------------------------------------------------

fn wake_up(run: &crate::run::bench::Run) -> f64 {
    run.line.extra.get("wake_us").copied().unwrap_or(f64::NAN)
}

/// The value that counts for a program, and its unit: the wake-up itself, or the run.
fn slept_value(program: &str) -> (Value, &'static str) {
    if program == "wakeup" { (wake_up, "µs a wake-up") } else { (seconds, "ms") }
}

fn slept(program: &str, m: &Measured) -> Option<Quartiles> {
    if program == "wakeup" { m.own("wake_us") } else { Some(m.seconds.scaled(1e3)) }
}

pub fn sleepers_section(lab: &Lab, data: &Data, page: &mut Page) -> Result<()> {
    let threads = lab.sleeper_threads();
    let found = |program, idle, t| data.of(&lab.sleeper(program, idle, t));
    let panel = |program: &'static str, t: usize| Panel {
        title: format!("{program}, {}", threads_words(t)),
        x_title: "SCHED_IDLE",
        y_title: slept_value(program).1,
        x_names: words(IDLES),
        series: by_kind(&[Kind::Steal], IDLES, |_, idle| {
            found(program, idle, t).and_then(|m| slept(program, m))
        }),
        log: true,
        lines: false,
        reference: None,
    };
    let figure = Figure {
        title: "Sleeping 1 ms, sleeping for longer and longer, being woken, never sleeping",
        reference: None,
        bars: Bars::Quartiles,
        panels: threads.iter().flat_map(|&t| SLEPT.iter().map(move |p| panel(p, t))).collect(),
        columns: SLEPT.len(),
        panel_height: 280,
    };
    page.figure("lab-idle", &figure)?;
    let mut head = words(&["", "idle"]);
    for &t in &threads {
        head.extend([threads_words(t), "processor ms".into(), "sleeps".into()]);
    }
    let mut rows = Vec::new();
    let mut sentences = Vec::new();
    for &program in SLEPT {
        for &idle in IDLES {
            let mut row = vec![format!("{program}, {}", slept_value(program).1), idle.to_owned()];
            for &t in &threads {
                let m = found(program, idle, t);
                let sleeps = m.and_then(|m| m.counters).map(|c| count(c.sleeps));
                row.extend([
                    quartiles(m.and_then(|m| slept(program, m))),
                    number(m.map(|m| m.cpu.median * 1e3)),
                    sleeps.unwrap_or(NOT_MEASURED.into()),
                ]);
            }
            rows.push(row);
        }
        for &t in &threads {
            let setup = |idle| Some(lab.sleeper(program, idle, t));
            let value = slept_value(program).0;
            sentences.extend(
                over(data, IDLES, "nap", setup, value).map(|text| {
                    format!("{program}, {}, divided by nap's: {text}.", threads_words(t))
                }),
            );
        }
    }
    page.table(2, &head, &rows);
    page.verdict(&all_over_nap(lab, data));
    page.list(&sentences);
    Ok(())
}

/// The time of each policy divided by that of the subject's nap, over all programs and numbers of
/// threads.
fn all_over_nap(lab: &Lab, data: &Data) -> String {
    let all = |idle: &'static str, value: Value, programs: &[&'static str]| {
        let pairs: Vec<_> = programs
            .iter()
            .flat_map(|p| lab.sleeper_threads().into_iter().map(move |t| (p, t)))
            .map(|(p, t)| (lab.sleeper(p, idle, t), lab.sleeper(p, "nap", t)))
            .collect();
        data.mean_ratio(&pairs, value)
    };
    let text = |idle: &&'static str| {
        let time = all(idle, seconds, &SLEPT[1..])?;
        let says = time.against(1.0).says("faster", "slower");
        Some(format!(
            "{idle} takes {} of nap's time ({says}), and a wake-up {}",
            interval(Some(time)),
            interval(all(idle, wake_up, &SLEPT[..1]))
        ))
    };
    let texts: Vec<String> = IDLES[1..].iter().filter_map(text).collect();
    sentence(&format!("{}.", texts.join("; ")))
}

// --- what idle workers burn -----------------------------------------------------

/// The author's bound, in per cent of a processor.
const BOUND: f64 = 10.0;

fn burn(run: &crate::run::bench::Run) -> f64 {
    run.line.extra.get("burn_percent").copied().unwrap_or(f64::NAN)
}

pub fn burn_section(lab: &Lab, data: &Data, page: &mut Page) -> Result<()> {
    let found: Vec<(&Setting, Option<Estimate>)> =
        IDLERS.iter().map(|s| (s, data.estimate(&lab.idler(s), burn))).collect();
    let verdict = |e: Option<Estimate>| match e.map(|e| e.against(BOUND)) {
        None => "not measured",
        Some(Verdict::Open) => "undecided",
        Some(decided) => decided.on_claim(),
    };
    let rows: Vec<Vec<String>> = found
        .iter()
        .map(|(s, e)| vec![s.name.to_owned(), verdict(*e).to_owned(), interval(*e)])
        .collect();
    let claim = format!("{IDLE_THREADS} threads, one task sleeps: under {BOUND} % of a processor");
    page.table(2, &[claim, "verdict".into(), "% of a processor [95 %]".into()], &rows);
    let that = |which: &str| {
        let those = found.iter().filter(|(_, e)| verdict(*e) == which);
        those.map(|(s, _)| format!("({})", s.name)).collect::<Vec<_>>()
    };
    let parts: Vec<String> = ["confirmed", "refuted", "undecided", "not measured"]
        .iter()
        .filter_map(|which| {
            let those = that(which);
            (!those.is_empty()).then(|| format!("{which} for {}", listed(&those)))
        })
        .collect();
    page.verdict(&sentence(&format!(
        "idle workers burn under {BOUND} % of a processor: {}.",
        parts.join("; ")
    )));
    Ok(())
}

// --- how long a task must be ----------------------------------------------------

/// The time of the tasks' loops alone divided by that of the run.
fn gain(run: &crate::run::bench::Run) -> f64 {
    let each = run.setup.data.and_then(|d| d.parse::<f64>().ok()).unwrap_or(f64::NAN);
    let loops = run.line.tasks as f64 * each * run.line.cal.unwrap_or(f64::NAN) * 1e-9;
    loops / run.line.seconds
}

pub fn grain_section(lab: &Lab, data: &Data, page: &mut Page) -> Result<()> {
    let gained = |kind, grain| data.estimate(&lab.grain(kind, grain), gain);
    let length = |grain: &'static str| {
        let iterations: f64 = grain.parse().ok()?;
        let cal = KINDS.iter().find_map(|&k| data.of(&lab.grain(k, grain)))?.cal;
        Some(iterations * cal)
    };
    let ns = |grain: &&'static str| length(grain).map_or(NOT_MEASURED.into(), short);
    let panel = Panel {
        title: threads_words(lab.many()),
        x_title: "ns a task",
        y_title: "speed-up over the tasks' loops alone",
        x_names: GRAINS.iter().map(ns).collect(),
        series: by_kind(KINDS, GRAINS, |kind, g| gained(kind, g).and_then(drawn)),
        log: false,
        lines: true,
        reference: Some(1.0),
    };
    let figure = Figure {
        title: "How long a task must be",
        reference: Some("a plain loop"),
        bars: Bars::Interval,
        panels: vec![panel],
        columns: 1,
        panel_height: 340,
    };
    page.figure("lab-grain", &figure)?;
    let mut head = words(&["ns a task"]);
    head.extend(KINDS.iter().map(|k| format!("{} [95 %]", k.name())));
    let rows: Vec<Vec<String>> = GRAINS
        .iter()
        .map(|g| {
            let mut row = vec![ns(g)];
            row.extend(KINDS.iter().map(|&k| interval(gained(k, g))));
            row
        })
        .collect();
    page.table(0, &head, &rows);
    let pays = |&kind: &Kind| {
        let measured: Vec<_> = GRAINS.iter().filter_map(|g| Some((g, gained(kind, g)?))).collect();
        if measured.is_empty() {
            return None;
        }
        let from = first_that_pays(&measured.iter().map(|(_, e)| *e).collect::<Vec<_>>());
        let text = from.map_or("at none of these lengths".into(), |i| {
            format!("from {} ns on", ns(measured[i].0))
        });
        Some(format!("under {} {text}", kind.name()))
    };
    let texts: Vec<String> = KINDS.iter().filter_map(pays).collect();
    page.verdict(&format!(
        "{} beat a plain serial loop {}.",
        sentence(&threads_words(lab.many())),
        listed(&texts)
    ));
    Ok(())
}

/// The first gain that is above 1, as are all after it.
fn first_that_pays(gains: &[Estimate]) -> Option<usize> {
    let last_not = gains.iter().rposition(|e| e.against(1.0) != Verdict::More);
    let first = last_not.map_or(0, |i| i + 1);
    (first < gains.len()).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_pays_from_where_it_always_does() {
        let e = |low: f64| Estimate { low, value: low + 0.1, high: low + 0.2 };
        assert_eq!(first_that_pays(&[e(0.5), e(0.95), e(1.2), e(1.8)]), Some(2));
        assert_eq!(first_that_pays(&[e(1.1), e(0.9), e(1.2)]), Some(2));
        assert_eq!(first_that_pays(&[e(1.1)]), Some(0));
        assert_eq!(first_that_pays(&[e(1.1), e(0.9)]), None);
    }
}
