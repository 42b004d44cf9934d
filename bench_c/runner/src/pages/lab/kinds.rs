//! The subject's questions about the kinds: what more threads gain, where the LIFO stack stops
//! scaling, how many steals succeed and fail, and how child and continuation stealing compare.

use anyhow::Result;
use sched_estimate::{Estimate, Verdict};
use sched_tools::number::threads as threads_words;
use sched_tools::number::{count, short};
use sched_tools::text::{listed, sentence};

use super::data::{Data, seconds};
use super::page::{NOT_MEASURED, Page, drawn, head, interval, number, words};
use super::plan::{Lab, SWEPT};
use crate::figures::chart::{Bars, Figure, Panel, Series};
use crate::figures::keys::{by_kind, kind_key, names};
use crate::run::programs::KINDS;
use crate::run::setup::Kind;
use crate::statistics::quartiles::Quartiles;
use crate::statistics::summary::Counters;

// --- threads ------------------------------------------------------------------

pub fn threads_section(lab: &Lab, data: &Data, page: &mut Page) -> Result<()> {
    let threads = lab.threads();
    let speedup = |program, kind, t| -> Option<Quartiles> {
        let serial = data.of(&lab.serial(program))?.seconds.median;
        Some(data.of(&lab.swept(program, kind, t))?.seconds.under(serial))
    };
    let panel = |program: &&'static str| Panel {
        title: (*program).to_owned(),
        x_title: "threads",
        y_title: "speed-up over the serial program",
        x_names: names(&threads),
        series: by_kind(KINDS, &threads, |kind, t| speedup(program, kind, t)),
        log: false,
        lines: true,
        reference: Some(1.0),
    };
    let figure = Figure {
        title: "One to four threads a core, on each kind",
        reference: Some("as fast as serial"),
        bars: Bars::Quartiles,
        panels: SWEPT.iter().map(panel).collect(),
        columns: 3,
        panel_height: 280,
    };
    page.figure("lab-threads", &figure)?;
    let mut rows = Vec::new();
    for &program in SWEPT {
        for &kind in KINDS {
            let mut row = words(&[program, kind.name()]);
            row.extend(
                threads.iter().map(|&t| number(speedup(program, kind, t).map(|q| q.median))),
            );
            rows.push(row);
        }
    }
    page.table(2, &head(&["speed-up", "kind"], &threads), &rows);
    page.verdict(&too_many(lab, data));
    let sentences = SWEPT.iter().filter_map(|p| against_lifo(lab, data, p)).collect::<Vec<_>>();
    page.list(&sentences);
    page.block("### Where the LIFO stack stops scaling");
    page.verdict(&lifo_verdict(lab, data));
    Ok(())
}

/// What four threads for each core cost, compared with one for each core, over all programs.
fn too_many(lab: &Lab, data: &Data) -> String {
    let ratio = |&kind: &Kind| {
        let pairs: Vec<_> = SWEPT
            .iter()
            .map(|p| (lab.swept(p, kind, 4 * lab.cores), lab.swept(p, kind, lab.cores)))
            .collect();
        data.told(kind.name(), &pairs, seconds, ["faster", "slower"])
    };
    let texts: Vec<String> = KINDS.iter().filter_map(ratio).collect();
    format!(
        "the time on {} divided by that on {}, over all programs: {}.",
        threads_words(4 * lab.cores),
        threads_words(lab.cores),
        listed(&texts)
    )
}

/// The other kinds compared with lifo, with one thread for each core.
fn against_lifo(lab: &Lab, data: &Data, program: &'static str) -> Option<String> {
    let threads = lab.many();
    let over = |&kind: &Kind| {
        let lifo = lab.swept(program, Kind::Lifo, threads);
        let pair = (lab.swept(program, kind, threads), lifo);
        data.told(kind.name(), &[pair], seconds, ["less", "more"])
    };
    let texts: Vec<String> = KINDS[1..].iter().filter_map(over).collect();
    (!texts.is_empty()).then(|| {
        format!(
            "{program}, {}, time divided by lifo's: {}.",
            threads_words(threads),
            listed(&texts)
        )
    })
}

fn lifo_verdict(lab: &Lab, data: &Data) -> String {
    let threads = lab.threads();
    let until = |kind: Kind| {
        let texts = SWEPT.iter().filter_map(|program| {
            let best = data.gains_up_to(&threads, |t| lab.swept(program, kind, t))?;
            Some(format!("{program} {best}"))
        });
        listed(&texts.collect::<Vec<_>>())
    };
    format!(
        "the number of threads after which no greater one is seen to be faster: under lifo {}; \
         under steal {}.",
        until(Kind::Lifo),
        until(Kind::Steal)
    )
}

// --- steals -------------------------------------------------------------------

pub fn steals_section(lab: &Lab, data: &Data, page: &mut Page) -> Result<()> {
    let threads: Vec<usize> = lab.threads().into_iter().filter(|&t| t > 1).collect();
    let counters = |program, t| -> Option<(Counters, f64)> {
        let m = data.of(&lab.swept(program, Kind::Steal, t))?;
        Some((m.counters?, m.tasks as f64))
    };
    let a_million = |program, t, which: fn(&Counters) -> Quartiles| {
        let (c, tasks) = counters(program, t)?;
        which(&c).scaled(1e6 / tasks).on_log_axis(0.25e6 / tasks)
    };
    let key = |name: &str, kind| {
        let mut key = kind_key(kind);
        key.name = name.to_owned();
        key
    };
    let panel = |program: &&'static str| {
        let points = |which| threads.iter().map(|&t| a_million(program, t, which)).collect();
        Panel {
            title: (*program).to_owned(),
            x_title: "threads",
            y_title: "per million tasks (log scale)",
            x_names: names(&threads),
            series: vec![
                Series { key: key("succeeded", Kind::Steal), points: points(|c| c.steals) },
                Series { key: key("failed", Kind::Lifo), points: points(|c| c.failed_steals) },
            ],
            log: true,
            lines: true,
            reference: None,
        }
    };
    let figure = Figure {
        title: "Searches for other workers' tasks, under steal",
        reference: None,
        bars: Bars::Quartiles,
        panels: SWEPT.iter().map(panel).collect(),
        columns: 3,
        panel_height: 260,
    };
    page.figure("lab-steals", &figure)?;
    let mut rows = Vec::new();
    for &program in SWEPT {
        let mut row = words(&[program]);
        row.extend(threads.iter().map(|&t| {
            counters(program, t).map_or(NOT_MEASURED.into(), |(c, _)| {
                format!("{} / {}", count(c.steals.median), count(c.failed_steals.median))
            })
        }));
        rows.push(row);
    }
    page.table(1, &head(&["succeeded / failed"], &threads), &rows);
    let at = lab.many();
    let shares = SWEPT.iter().filter_map(|program| {
        let (c, tasks) = counters(program, at)?;
        let (steals, failed) = (c.steals.median, c.failed_steals.median);
        let (all, part) = (steals + failed, steals / (steals + failed));
        (all > 0.0).then(|| {
            format!(
                "{program} {:.0} % ({} a million tasks)",
                100.0 * part,
                short(steals * 1e6 / tasks)
            )
        })
    });
    page.verdict(&format!(
        "the part of the searches that found a task, with {}: {}.",
        threads_words(at),
        listed(&shares.collect::<Vec<_>>())
    ));
    Ok(())
}

// --- child against continuation -----------------------------------------------

pub fn continuations_section(lab: &Lab, data: &Data, page: &mut Page) -> Result<()> {
    let threads = lab.threads();
    let ratio = |program: &'static str, t| {
        data.ratio(&lab.swept(program, Kind::Cont, t), &lab.swept(program, Kind::Steal, t))
    };
    if SWEPT.iter().all(|p| threads.iter().all(|&t| ratio(p, t).is_none())) {
        page.verdict("not measured: the setting was refused.");
        return Ok(());
    }
    let panel = |&t: &usize| Panel {
        title: threads_words(t),
        x_title: "",
        y_title: "ratio of times (log scale)",
        x_names: words(SWEPT),
        series: vec![Series {
            key: kind_key(Kind::Cont),
            points: SWEPT.iter().map(|p| ratio(p, t).and_then(drawn)).collect(),
        }],
        log: true,
        lines: false,
        reference: Some(1.0),
    };
    let figure = Figure {
        title: "Continuation stealing's time over child stealing's",
        reference: Some("no difference"),
        bars: Bars::Interval,
        panels: [1, lab.many()].iter().map(panel).collect(),
        columns: 2,
        panel_height: 320,
    };
    page.figure("lab-continuations", &figure)?;
    let rows: Vec<Vec<String>> = SWEPT
        .iter()
        .map(|p| {
            let mut row = words(&[p]);
            row.extend(threads.iter().map(|&t| interval(ratio(p, t))));
            row
        })
        .collect();
    page.table(1, &head(&["cont's time over steal's [95 %]"], &threads), &rows);
    let at = |t: usize| {
        let that = |verdict| {
            let says = |p: &&&'static str| {
                ratio(p, t).is_some_and(|e: Estimate| e.against(1.0) == verdict)
            };
            SWEPT.iter().filter(says).map(|p| (*p).to_owned()).collect::<Vec<_>>()
        };
        let part = |verdict, text: &str| {
            let those = that(verdict);
            (!those.is_empty()).then(|| format!("{text} on {}", listed(&those)))
        };
        let parts = [
            part(Verdict::Less, "continuation stealing is faster"),
            part(Verdict::More, "child stealing is faster"),
            part(Verdict::Open, "no difference seen"),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        format!("with {} {}", threads_words(t), parts.join("; "))
    };
    let texts = [1, lab.many()].map(at);
    page.verdict(&sentence(&format!(
        "{}.",
        texts.join(". With ").replace(". With with", ". With")
    )));
    Ok(())
}
