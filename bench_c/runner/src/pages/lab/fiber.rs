//! The nine algorithms of the fiber scheduler on its benchmarks, as in its author's tables.

use anyhow::Result;
use sched_estimate::{Estimate, Verdict};
use sched_tools::number::count;
use sched_tools::text::{listed, sentence};

use super::cases::Case;
use super::data::{Data, seconds};
use super::page::{Page, interval, number, quartiles, words};
use super::plan::Lab;
use super::settings::*;
use crate::figures::chart::{Bars, Figure, Panel, Series};
use crate::figures::keys::kind_key;
use crate::run::setup::Kind;
use crate::statistics::summary::Measured;

pub fn section(lab: &Lab, data: &Data, page: &mut Page) -> Result<()> {
    let head = words(&["algorithm", "in the figure", "here"]);
    let rows: Vec<_> = ALGORITHMS
        .iter()
        .map(|a| vec![a.name.to_owned(), a.code.to_owned(), format!("`{}`", a.variables())])
        .collect();
    page.table(3, &head, &rows);
    let panel = |case: &Case| Panel {
        title: format!("{} ({})", case.name(), case.code),
        x_title: "",
        y_title: "ms",
        x_names: ALGORITHMS.iter().map(|a| a.code.to_owned()).collect(),
        series: [(Kind::Fifo, 0..1), (Kind::Steal, 1..ALGORITHMS.len())]
            .map(|(kind, which)| Series {
                key: kind_key(kind),
                points: ALGORITHMS
                    .iter()
                    .enumerate()
                    .map(|(i, a)| {
                        let there = which.contains(&i).then(|| data.of(&case.setup(a))).flatten();
                        there.map(|m| m.seconds.scaled(1e3))
                    })
                    .collect(),
            })
            .into(),
        log: false,
        lines: false,
        reference: None,
    };
    let figure = Figure {
        title: "The fiber scheduler's benchmarks under its algorithms, and under the default here",
        reference: None,
        bars: Bars::Quartiles,
        panels: lab.cases().iter().map(panel).collect(),
        columns: 2,
        panel_height: 280,
    };
    page.figure("lab-fiber", &figure)?;
    page.verdict(&all_against_fifo(lab, data));
    for case in lab.cases() {
        case_table(case, data, page);
    }
    Ok(())
}

/// The sentence on the figure: each algorithm over all benchmarks.
fn all_against_fifo(lab: &Lab, data: &Data) -> String {
    let over = |a: &Setting| {
        let pairs: Vec<_> =
            lab.cases().iter().map(|c| (c.setup(a), c.setup(&GLOBAL_FIFO))).collect();
        data.mean_ratio(&pairs, seconds)
    };
    let measured = ALGORITHMS[1..].iter().filter_map(|a| Some((a, over(a)?)));
    let texts: Vec<String> =
        measured.map(|(a, e)| format!("{} {}", a.code, interval(Some(e)))).collect();
    format!("time divided by GlobalFIFO's, over all benchmarks: {}.", listed(&texts))
}

/// A table of the author's.
fn case_table(case: &Case, data: &Data, page: &mut Page) {
    let fifo = case.setup(&GLOBAL_FIFO);
    let slow = data.of(&fifo).is_some_and(|m| m.own("slow_turns").is_some());
    let mut head = vec![case.name()];
    head.extend(words(&[
        "ms [quartiles]",
        "of GlobalFIFO's [95 %]",
        "processor ms",
        "steals",
        "tasks stolen",
        "failed",
    ]));
    if slow {
        head.push("turns of the slow worker".into());
    }
    let row = |a: &Setting| {
        let setup = case.setup(a);
        let m: Option<&Measured> = data.of(&setup);
        let counters = m.and_then(|m| m.counters);
        let mut row = vec![
            a.name.to_owned(),
            quartiles(m.map(|m| m.seconds.scaled(1e3))),
            interval(data.ratio(&setup, &fifo).filter(|_| setup != fifo)),
            number(m.map(|m| m.cpu.median * 1e3)),
            counters.map_or(number(None), |c| count(c.steals.median)),
            counters.map_or(number(None), |c| count(c.stolen_tasks)),
            counters.map_or(number(None), |c| count(c.failed_steals.median)),
        ];
        if slow {
            row.push(m.and_then(|m| m.own("slow_turns")).map_or(number(None), |q| count(q.median)));
        }
        row
    };
    page.table(1, &head, &ALGORITHMS.iter().map(row).collect::<Vec<_>>());
    page.verdict(&case_verdict(case, data));
}

fn case_verdict(case: &Case, data: &Data) -> String {
    let fifo = case.setup(&GLOBAL_FIFO);
    let stealing = &ALGORITHMS[1..];
    let ratios: Vec<(&Setting, Estimate)> =
        stealing.iter().filter_map(|a| Some((a, data.ratio(&case.setup(a), &fifo)?))).collect();
    let that = |verdict| {
        let those = ratios.iter().filter(|(_, e)| e.against(1.0) == verdict);
        those.map(|(a, _)| a.code.to_owned()).collect::<Vec<_>>()
    };
    let parts: Vec<String> = [
        (Verdict::Less, "faster than GlobalFIFO"),
        (Verdict::More, "slower than GlobalFIFO"),
        (Verdict::Open, "no difference seen from GlobalFIFO"),
    ]
    .into_iter()
    .filter_map(|(verdict, text)| {
        let those = that(verdict);
        (!those.is_empty()).then(|| format!("{text}: {}", listed(&those)))
    })
    .collect();
    if parts.is_empty() { "not measured.".into() } else { sentence(&(parts.join("; ") + ".")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::lab::claims::tests::{LAB, runs};

    #[test]
    fn a_table_has_its_sentence() {
        let fast = runs(|s| Some(if *s == SPLIT { 0.5 } else { 1.0 }));
        let said = case_verdict(&LAB.cases()[0], &Data::new(&fast));
        assert!(said.starts_with("Faster than GlobalFIFO: split; no difference seen"), "{said}");
    }
}
