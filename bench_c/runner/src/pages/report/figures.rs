//! The figures of the report, drawn from its measurements.

use anyhow::{Result, bail};
use sched_tools::number::threads as threads_words;

use super::measurements::{Case, Measurements};
use super::predictions::Predictions;
use crate::figures::chart::{Bars, Colour, Figure, Key, Panel, Series, Shape};

use crate::figures::keys::{kind_key, names};
use crate::pages::lab::plan::{GRAINS, IDLES, LOCKED, LOCKED_KINDS, PRIMITIVES, SWEPT};
use crate::run::programs::KINDS;
use crate::run::setup::Kind;
use crate::statistics::quartiles::Quartiles;

/// The threads of the laboratory's sweep on two processors: one to four for each.
const THREADS: &[usize] = &[1, 2, 4, 6, 8];
/// One thread for each processor, and four.
const FEW_MANY: [usize; 2] = [2, 8];
/// The systems of the comparison, in the order of the table.
pub const SYSTEMS: &[&str] = &[
    "libsched",
    "typed",
    "lace",
    "chili",
    "forte",
    "rayon",
    "crossbeam",
    "onetbb",
    "libgomp",
    "libomp",
    "java",
    "glib",
    "go",
];

/// The figure of this name, and the line below it.
pub fn figure<'a>(
    name: &str,
    data: &Measurements,
    predictions: &Predictions,
) -> Result<(Figure<'a>, String)> {
    let lab = data.session("lab")?.about.machine.line();
    Ok(match name {
        "kinds" => (kinds(data), lab),
        "grain" => (grain(data), lab),
        "primitives" => (primitives(data), lab),
        "idle" => (idle(data), lab),
        "steals" => (steals(data), lab),
        "continuations" => (continuations(data), lab),
        "scaling" => (scaling(predictions), lab),
        "peers" => (peers(data), data.session("peers")?.about.machine.line()),
        other => bail!("no figure `{other}`"),
    })
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|t| (*t).to_owned()).collect()
}

fn value(case: Option<&Case>, name: &str) -> Option<Quartiles> {
    case?.quartiles(name).ok()
}

/// A series for each kind, with a point for each of `over`.
fn by_kind<T: Copy>(
    kinds: &[Kind],
    over: &[T],
    point: impl Fn(&str, T) -> Option<Quartiles>,
) -> Vec<Series> {
    let series = |&kind: &Kind| Series {
        key: kind_key(kind),
        points: over.iter().map(|&x| point(kind.name(), x)).collect(),
    };
    kinds.iter().map(series).collect()
}

fn kinds<'a>(data: &Measurements) -> Figure<'a> {
    let speedup = |program: &str, kind: &str, threads: usize| {
        let serial = value(data.find(&format!("lab {program} none 1")), "ms")?;
        let ms = value(data.find(&format!("lab {program} {kind} {threads}")), "ms")?;
        Some(ms.under(serial.median))
    };
    let panel = |program: &&str| Panel {
        title: (*program).to_owned(),
        x_title: "threads",
        y_title: "speed-up over serial",
        x_names: names(THREADS),
        series: by_kind(KINDS, THREADS, |kind, t| speedup(program, kind, t)),
        log: false,
        lines: true,
        reference: Some(1.0),
    };
    Figure {
        title: "Speed-up over the serial program",
        reference: Some("as fast as serial"),
        bars: Bars::Quartiles,
        panels: SWEPT.iter().map(panel).collect(),
        columns: 3,
        panel_height: 235,
    }
}

fn grain<'a>(data: &Measurements) -> Figure<'a> {
    let name =
        |grain: &&str| task_ns(data, grain).map_or(String::new(), sched_tools::number::short);
    let panel = Panel {
        title: threads_words(2),
        x_title: "ns a task",
        y_title: "speed-up",
        x_names: GRAINS.iter().map(name).collect(),
        series: by_kind(KINDS, GRAINS, |kind, grain| gain(data, kind, grain)),
        log: false,
        lines: true,
        reference: Some(1.0),
    };
    Figure {
        title: "How long a task must be",
        reference: Some("a plain loop"),
        bars: Bars::Quartiles,
        panels: vec![panel],
        columns: 1,
        panel_height: 250,
    }
}

/// The time of the tasks' loops alone, on one processor, divided by that of the run on two.
pub fn gain(data: &Measurements, kind: &str, grain: &str) -> Option<Quartiles> {
    let case = data.find(&format!("lab grain {kind} 2 data={grain}"))?;
    let alone = case.tasks as f64 * task_ns(data, grain)? * 1e-9;
    Some(value(Some(case), "seconds")?.under(alone))
}

/// How long a task of `grain` computes.
pub fn task_ns(data: &Measurements, grain: &str) -> Option<f64> {
    Some(grain.parse::<f64>().ok()? * data.session("lab").ok()?.about.iteration_ns)
}

fn primitives<'a>(data: &Measurements) -> Figure<'a> {
    // A later laboratory may have more.
    let measured = |deque: &&&str| data.find(&format!("lab tree steal 2 deque={deque}")).is_some();
    let deques: Vec<&str> = PRIMITIVES.iter().filter(measured).copied().collect();
    let panel = |program: &str, threads: usize| Panel {
        title: format!("{program}, {}", threads_words(threads)),
        x_title: "SCHED_DEQUE",
        y_title: "ns per task (log scale)",
        x_names: owned(&deques),
        series: by_kind(LOCKED_KINDS, &deques, |kind, deque| {
            value(data.find(&format!("lab {program} {kind} {threads} deque={deque}")), "ns")
        }),
        log: true,
        lines: false,
        reference: None,
    };
    let row = |&threads: &usize| LOCKED.iter().map(move |p| (*p, threads));
    Figure {
        title: "What protects a queue",
        reference: None,
        bars: Bars::Quartiles,
        panels: FEW_MANY.iter().flat_map(row).map(|(p, t)| panel(p, t)).collect(),
        columns: 2,
        panel_height: 235,
    }
}

/// On the left the time, on the right the processor time.
fn idle<'a>(data: &Measurements) -> Figure<'a> {
    // All series are steal: the colour is the same, but lighter for more threads than processors.
    let shades = [(Colour(0, 128, 92), Shape::Circle), (Colour(118, 190, 160), Shape::Diamond)];
    let panel = |program: &str, y_title: &'static str, of: &str| Panel {
        title: program.to_owned(),
        x_title: "SCHED_IDLE",
        y_title,
        x_names: owned(IDLES),
        series: FEW_MANY
            .iter()
            .zip(shades)
            .map(|(threads, (colour, shape))| Series {
                key: Key { name: format!("steal, {}", threads_words(*threads)), colour, shape },
                points: IDLES
                    .iter()
                    .map(|idle| {
                        value(data.find(&format!("lab {program} steal {threads} idle={idle}")), of)
                    })
                    .collect(),
            })
            .collect(),
        log: true,
        lines: false,
        reference: None,
    };
    Figure {
        title: "How an idle worker waits",
        reference: None,
        bars: Bars::Quartiles,
        panels: vec![
            panel("wakeup", "µs a wake-up (log scale)", "wake_us"),
            panel("wakeup", "processor ms (log scale)", "processor_ms"),
            panel("shortruns", "ms (log scale)", "ms"),
            panel("shortruns", "processor ms (log scale)", "processor_ms"),
        ],
        columns: 2,
        panel_height: 250,
    }
}

fn steals<'a>(data: &Measurements) -> Figure<'a> {
    let threads = &THREADS[1..];
    let key = |name: &str, kind| Key { name: name.to_owned(), ..kind_key(kind) };
    let points = |program: &str, of: &str| {
        let point = |t: &usize| {
            let case = data.find(&format!("lab {program} steal {t}"))?;
            let a_million = 1e6 / case.tasks as f64;
            value(Some(case), of)?.scaled(a_million).on_log_axis(0.25 * a_million)
        };
        threads.iter().map(point).collect()
    };
    let panel = |program: &&str| Panel {
        title: (*program).to_owned(),
        x_title: "threads",
        y_title: "searches (log scale)",
        x_names: names(threads),
        series: vec![
            Series { key: key("succeeded", Kind::Steal), points: points(program, "steals") },
            Series { key: key("failed", Kind::Lifo), points: points(program, "failed_steals") },
        ],
        log: true,
        lines: true,
        reference: None,
    };
    Figure {
        title: "Searches for other workers' tasks, per million tasks",
        reference: None,
        bars: Bars::Quartiles,
        panels: SWEPT.iter().map(panel).collect(),
        columns: 3,
        panel_height: 200,
    }
}

fn continuations<'a>(data: &Measurements) -> Figure<'a> {
    use super::measurements::Selector;
    let ratio = |program: &str, threads: usize| {
        let of = |kind| Selector {
            session: "lab".into(),
            program: program.into(),
            by: kind,
            threads,
            of: "seconds".into(),
            ..Selector::default()
        };
        data.ratio(&of("cont".into()), &of("steal".into())).ok()
    };
    let shades = [(Colour(0, 66, 140), Shape::Triangle), (Colour(222, 100, 10), Shape::Square)];
    let series = |(threads, (colour, shape)): (&usize, (Colour, Shape))| Series {
        key: Key { name: threads_words(*threads), colour, shape },
        points: SWEPT
            .iter()
            .map(|p| ratio(p, *threads).and_then(crate::pages::lab::page::drawn))
            .collect(),
    };
    let panel = Panel {
        title: String::new(),
        x_title: "",
        y_title: "ratio of times (log scale)",
        x_names: owned(SWEPT),
        series: [1, 2].iter().zip(shades).map(series).collect(),
        log: true,
        lines: false,
        reference: Some(1.0),
    };
    Figure {
        title: "Continuation stealing's time over child stealing's",
        reference: Some("no difference"),
        bars: Bars::Interval,
        panels: vec![panel],
        columns: 1,
        panel_height: 250,
    }
}

fn scaling<'a>(predictions: &Predictions) -> Figure<'a> {
    let workers = predictions.workers();
    let policies = ["steal", "cont", "lifo", "fifo"];
    let kind = |policy: &str| match policy {
        "steal" => Kind::Steal,
        "cont" => Kind::Cont,
        "lifo" => Kind::Lifo,
        _ => Kind::Fifo,
    };
    let series = |program: &str, policy: &str| Series {
        key: kind_key(kind(policy)),
        points: workers
            .iter()
            .map(|&w| {
                let s = predictions.speedup(program, policy, w)?;
                Some(Quartiles { low: s, median: s, high: s })
            })
            .collect(),
    };
    let panel = |program: &&String| Panel {
        title: format!(
            "{program} (work / span {})",
            predictions.parallelism(program).unwrap_or("unknown")
        ),
        x_title: "workers",
        y_title: "speed-up (log scale)",
        x_names: names(&workers),
        series: policies.iter().map(|p| series(program, p)).collect(),
        log: true,
        lines: true,
        reference: Some(1.0),
    };
    let shown = predictions.programs.iter().filter(|p| *p != "flood");
    Figure {
        title: "Predicted speed-up on 1 to 1024 simulated workers",
        reference: Some("one worker of steal"),
        bars: Bars::Predicted,
        panels: shown.collect::<Vec<_>>().iter().map(panel).collect(),
        columns: 2,
        panel_height: 220,
    }
}

fn peers<'a>(data: &Measurements) -> Figure<'a> {
    let shades = [(Colour(0, 66, 140), Shape::Triangle), (Colour(222, 100, 10), Shape::Square)];
    let panel = |program: &str, title: &str| {
        let there: Vec<&str> = SYSTEMS
            .iter()
            .copied()
            .filter(|s| data.find(&format!("peers {program} {s} 2")).is_some())
            .collect();
        Panel {
            title: title.to_owned(),
            x_title: "",
            y_title: "ns per task (log scale)",
            x_names: owned(&there),
            series: [1, 2]
                .iter()
                .zip(shades)
                .map(|(threads, (colour, shape))| Series {
                    key: Key { name: threads_words(*threads), colour, shape },
                    points: there
                        .iter()
                        .map(|s| value(data.find(&format!("peers {program} {s} {threads}")), "ns"))
                        .collect(),
                })
                .collect(),
            log: true,
            lines: false,
            reference: None,
        }
    };
    Figure {
        title: "The price of a task beside other systems",
        reference: None,
        bars: Bars::Quartiles,
        panels: vec![panel("tree", "tree: a spawn"), panel("fib", "fib: a fork and a join")],
        columns: 1,
        panel_height: 250,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::chart::axis::Axis;
    #[cfg(feature = "pictures")]
    use crate::figures::chart::legible::assert_legible;
    use crate::figures::chart::tests::assert_told_apart;
    use crate::pages::report::{FIGURES, committed};

    #[test]
    fn the_figures_are_legible_and_told_apart_without_colours() {
        let (data, predictions) = committed();
        for name in FIGURES {
            let (figure, note) = figure(name, &data, &predictions).unwrap();
            assert!(figure.panels.iter().all(|p| Axis::of(p, 0.0).is_some()), "{name}");
            let svg = figure.svg(&note).unwrap();
            let words = figure.title.split('\'').next().unwrap(); // SVG escapes an apostrophe
            assert!(svg.contains(words), "{name}");
            #[cfg(feature = "pictures")]
            assert_legible(&svg, name);
            assert_told_apart(&figure.panels);
        }
    }
}
