//! The fiber scheduler's nine algorithms on its benchmarks, and its author's claims.

use anyhow::Result;

use super::compare::{Estimate, Verdict};
use super::data::{Data, seconds};
use super::page::{Page, interval, listed, number, quartiles, sentence, words};
use super::plan::*;
use crate::chart::{Bars, Figure, Panel, Series};
use crate::figures::kind_key;
use crate::plan::{Kind, Setup};
use crate::summary::Measured;
use crate::table::count;

/// "The first takes less time than the second", of each pair, on some of the benchmarks.
struct Claim {
    what: &'static str,
    /// How the ratio is to be read.
    reads: &'static str,
    pairs: Vec<(Setting, Setting)>,
    on: fn(&Case) -> bool,
}

const MUTEXES: [Setting; 4] = [MUTEX_HALF_ALL, MUTEX_ONE_ALL, MUTEX_HALF_ONE, MUTEX_ONE_ONE];
const RINGS: [Setting; 4] = [RING_HALF_HALF, RING_ONE_HALF, RING_HALF_ONE, RING_ONE_ONE];

fn claims() -> Vec<Claim> {
    let everywhere: fn(&Case) -> bool = |_| true;
    let steals = |s: &Setting| s.knobs.iter().find(|(name, _)| *name == "SCHED_STEAL").copied();
    // Each ring with each mutex queue whose thieves take as much.
    let free = RINGS.iter().flat_map(|r| MUTEXES.iter().map(move |m| (*r, *m)));
    vec![
        Claim {
            what: "stealing half beats stealing one",
            reads: "half takes so much of one's time",
            pairs: vec![
                (MUTEX_HALF_ALL, MUTEX_ONE_ALL),
                (MUTEX_HALF_ONE, MUTEX_ONE_ONE),
                (RING_HALF_HALF, RING_HALF_ONE),
                (RING_ONE_HALF, RING_ONE_ONE),
            ],
            on: everywhere,
        },
        Claim {
            what: "the lock-free queue beats the mutex queue",
            reads: "lock-free takes so much of mutex's time",
            pairs: free.filter(|(r, m)| steals(r) == steals(m)).collect(),
            on: everywhere,
        },
        Claim {
            what: "putting half beats putting one on SingleSpawner and MergeSort",
            reads: "half takes so much of one's time",
            pairs: vec![(RING_HALF_HALF, RING_ONE_HALF), (RING_HALF_ONE, RING_ONE_ONE)],
            on: |case| matches!(case.family, "SingleSpawner" | "MergeSort"),
        },
        Claim {
            what: "stealing beats GlobalFIFO",
            reads: "the stealing algorithms together take so much of GlobalFIFO's time",
            pairs: MUTEXES.iter().chain(&RINGS).map(|s| (*s, GLOBAL_FIFO)).collect(),
            on: everywhere,
        },
        Claim {
            what: "(not the author's) this library's default beats GlobalFIFO",
            reads: "the default takes so much of GlobalFIFO's time",
            pairs: vec![(SPLIT, GLOBAL_FIFO)],
            on: everywhere,
        },
    ]
}

/// What the data say to a claim.
pub struct Finding {
    what: &'static str,
    reads: &'static str,
    /// Pairs of settings that this library takes, of how many.
    pairs: (usize, usize),
    all: Option<Estimate>,
    by_case: Vec<(Case, Option<Estimate>)>,
}

impl Finding {
    fn of(claim: &Claim, cases: &[Case], data: &Data) -> Finding {
        let pairs = |case: &Case| -> Vec<(Setup, Setup)> {
            claim.pairs.iter().map(|(a, b)| (case.setup(a), case.setup(b))).collect()
        };
        let cases: Vec<Case> = cases.iter().copied().filter(claim.on).collect();
        let taken = |(a, b): &&(Setting, Setting)| {
            cases.iter().any(|c| data.has(&c.setup(a)) && data.has(&c.setup(b)))
        };
        let all: Vec<(Setup, Setup)> = cases.iter().flat_map(&pairs).collect();
        Finding {
            what: claim.what,
            reads: claim.reads,
            pairs: (claim.pairs.iter().filter(|p| taken(p)).count(), claim.pairs.len()),
            all: data.mean_ratio(&all, seconds),
            by_case: cases.iter().map(|c| (*c, data.mean_ratio(&pairs(c), seconds))).collect(),
        }
    }

    pub fn verdict(&self) -> &'static str {
        self.all.map_or("not measured", |e| e.against(1.0).on_claim())
    }

    /// Which benchmarks say what, by themselves.
    fn sentence(&self) -> String {
        let Some(all) = self.all else {
            return format!(
                "{}: not measured, for the settings were refused.",
                sentence(self.what)
            );
        };
        let that = |verdict: Verdict| {
            let cases =
                self.by_case.iter().filter(|(_, e)| e.is_some_and(|e| e.against(1.0) == verdict));
            cases.map(|(c, _)| c.code.to_owned()).collect::<Vec<_>>()
        };
        let part = |verdict, text: &str| {
            let cases = that(verdict);
            (!cases.is_empty()).then(|| format!("{text} on {}", listed(&cases)))
        };
        let parts = [
            part(Verdict::Less, "confirmed"),
            part(Verdict::More, "refuted"),
            part(Verdict::Open, "no difference seen"),
        ];
        format!(
            "{}: **{}**; {}: {}. One by one: {}.",
            sentence(self.what),
            self.verdict(),
            self.reads,
            interval(Some(all)),
            parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
        )
    }
}

/// The claims on times; the one on idle workers is in `parts`.
pub fn claims_section(lab: &Lab, data: &Data, page: &mut Page) -> Result<()> {
    let findings: Vec<Finding> =
        claims().iter().map(|c| Finding::of(c, lab.cases(), data)).collect();
    let mut head = words(&["claim", "verdict", "pairs of settings", "ratio of times, all"]);
    head.extend(lab.cases().iter().map(|c| c.code.to_owned()));
    let rows: Vec<Vec<String>> = findings
        .iter()
        .map(|f| {
            let (taken, all) = f.pairs;
            let pairs = format!("{taken} of {all}");
            let mut row = vec![f.what.to_owned(), f.verdict().to_owned(), pairs, interval(f.all)];
            row.extend(lab.cases().iter().map(|case| {
                let found = f.by_case.iter().find(|(c, _)| c == case);
                found.map_or(String::new(), |(_, e)| interval(*e))
            }));
            row
        })
        .collect();
    page.table(2, &head, &rows);
    page.list(&findings.iter().map(Finding::sentence).collect::<Vec<_>>());

    let panel = |f: &Finding| {
        let mut names: Vec<String> = f.by_case.iter().map(|(c, _)| c.code.to_owned()).collect();
        names.push("all".into());
        let mut points: Vec<_> =
            f.by_case.iter().map(|(_, e)| e.and_then(Estimate::drawn)).collect();
        points.push(f.all.and_then(Estimate::drawn));
        Panel {
            title: f.what.to_owned(),
            x_title: "benchmark",
            y_title: "ratio of times",
            x_names: names,
            series: vec![Series { key: kind_key(Kind::Steal), points }],
            log: true,
            lines: false,
            reference: Some(1.0),
        }
    };
    let note = page.note;
    let figure = Figure {
        title: "The fiber scheduler's claims: below the line is confirmed",
        note,
        reference: Some("no difference"),
        bars: Bars::Interval,
        panels: findings.iter().filter(|f| f.all.is_some()).map(panel).collect(),
        columns: 2,
        panel_height: 260,
    };
    page.figure("lab-claims", &figure)
}

pub fn tables_section(lab: &Lab, data: &Data, page: &mut Page) -> Result<()> {
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
    let note = page.note;
    let figure = Figure {
        title: "The fiber scheduler's benchmarks under its algorithms, and under the default here",
        note,
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

/// The figure's sentence: each algorithm over all benchmarks.
fn all_against_fifo(lab: &Lab, data: &Data) -> String {
    let over = |a: &Setting| {
        let pairs: Vec<_> =
            lab.cases().iter().map(|c| (c.setup(a), c.setup(&GLOBAL_FIFO))).collect();
        data.mean_ratio(&pairs, seconds)
    };
    let measured = ALGORITHMS[1..].iter().filter_map(|a| Some((a, over(a)?)));
    let texts: Vec<String> =
        measured.map(|(a, e)| format!("{} {}", a.code, interval(Some(e)))).collect();
    format!("over all benchmarks, in times of GlobalFIFO's: {}.", listed(&texts))
}

/// One table of the author's.
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
            counters.map_or(number(None), |c| count(c.steals)),
            counters.map_or(number(None), |c| count(c.stolen_tasks)),
            counters.map_or(number(None), |c| count(c.failed_steals)),
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
    use crate::lab::data::tests::run;
    use crate::run::Run;

    const LAB: Lab = Lab { cores: 2, quick: true };

    /// Six rounds in which each algorithm takes what `seconds` says.
    fn runs(seconds: impl Fn(&Setting) -> Option<f64>) -> Vec<Run> {
        let mut runs = Vec::new();
        for round in 0..6 {
            for (case, a) in LAB.cases().iter().flat_map(|c| ALGORITHMS.iter().map(move |a| (c, a)))
            {
                runs.extend(seconds(a).map(|s| run(&case.setup(a), round, s)));
            }
        }
        runs
    }

    fn verdicts(runs: &[Run]) -> Vec<&'static str> {
        let data = Data::new(runs);
        claims().iter().map(|c| Finding::of(c, LAB.cases(), &data).verdict()).collect()
    }

    #[test]
    fn each_claim_looks_at_its_settings() {
        let has = |s: &Setting, knob| s.knobs.contains(&knob);
        let half = |s: &Setting| Some(if has(s, HALF) { 0.5 } else { 1.0 });
        assert_eq!(
            verdicts(&runs(half)),
            [
                "confirmed",
                "no difference seen",
                "no difference seen",
                "confirmed",
                "no difference seen"
            ]
        );
        let ring = |s: &Setting| Some(if s.deque == Some("ring") { 2.0 } else { 1.0 });
        assert_eq!(
            verdicts(&runs(ring))[..4],
            ["no difference seen", "refuted", "no difference seen", "refuted"]
        );
        let put = |s: &Setting| Some(if has(s, PUT_HALF) { 0.9 } else { 1.0 });
        assert_eq!(verdicts(&runs(put))[2], "confirmed");
    }

    #[test]
    fn a_claim_on_refused_settings_is_not_measured() {
        let no_ring = |s: &Setting| (s.deque != Some("ring")).then_some(1.0);
        assert_eq!(verdicts(&runs(no_ring))[1..3], ["not measured", "not measured"]);
    }

    #[test]
    fn a_table_has_its_sentence() {
        let fast = runs(|s| Some(if *s == SPLIT { 0.5 } else { 1.0 }));
        let said = case_verdict(&LAB.cases()[0], &Data::new(&fast));
        assert!(said.starts_with("Faster than GlobalFIFO: split; no difference seen"), "{said}");
    }
}
