//! The claims of the fiber scheduler's author on times, and whether the data confirm them.

use anyhow::Result;
use sched_estimate::{Estimate, Verdict};
use sched_tools::text::{listed, sentence};

use super::cases::Case;
use super::data::{Data, seconds};
use super::page::{Page, drawn, interval, words};
use super::plan::Lab;
use super::settings::*;
use crate::figures::chart::{Bars, Figure, Panel, Series};
use crate::figures::keys::kind_key;
use crate::run::setup::{Kind, Setup};

/// A claim: in each pair, the first setting takes less time than the second.
struct Claim {
    what: &'static str,
    /// How to read the ratio.
    reads: &'static str,
    pairs: Vec<(Setting, Setting)>,
    /// The benchmarks that the author names; all if empty.
    only: &'static [&'static str],
}

const MUTEXES: [Setting; 4] = [MUTEX_HALF_ALL, MUTEX_ONE_ALL, MUTEX_HALF_ONE, MUTEX_ONE_ONE];
const RINGS: [Setting; 4] = [RING_HALF_HALF, RING_ONE_HALF, RING_HALF_ONE, RING_ONE_ONE];

fn claims() -> Vec<Claim> {
    let steals = |s: &Setting| s.knobs.iter().find(|(name, _)| *name == "SCHED_STEAL").copied();
    // Each ring with each mutex queue whose thieves take the same share.
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
            only: &[],
        },
        Claim {
            what: "the lock-free queue beats the mutex queue",
            reads: "lock-free takes so much of mutex's time",
            pairs: free.filter(|(r, m)| steals(r) == steals(m)).collect(),
            only: &[],
        },
        Claim {
            what: "putting half beats putting one",
            reads: "half takes so much of one's time",
            pairs: vec![(RING_HALF_HALF, RING_ONE_HALF), (RING_HALF_ONE, RING_ONE_ONE)],
            only: &["SingleSpawner", "MergeSort"],
        },
        Claim {
            what: "stealing beats GlobalFIFO",
            reads: "the stealing algorithms together take so much of GlobalFIFO's time",
            pairs: MUTEXES.iter().chain(&RINGS).map(|s| (*s, GLOBAL_FIFO)).collect(),
            only: &[],
        },
        Claim {
            what: "(not the author's) this library's default beats GlobalFIFO",
            reads: "the default takes so much of GlobalFIFO's time",
            pairs: vec![(SPLIT, GLOBAL_FIFO)],
            only: &[],
        },
    ]
}

/// What the data say about a claim.
struct Finding {
    what: String,
    reads: &'static str,
    /// The number of pairs of settings that this library accepts, and of all pairs.
    pairs: (usize, usize),
    all: Option<Estimate>,
    by_case: Vec<(Case, Option<Estimate>)>,
}

impl Finding {
    fn of(claim: &Claim, cases: &[Case], data: &Data) -> Finding {
        let pairs = |case: &Case| -> Vec<(Setup, Setup)> {
            claim.pairs.iter().map(|(a, b)| (case.setup(a), case.setup(b))).collect()
        };
        let named = |c: &Case| claim.only.contains(&c.family);
        let restricted = cases.iter().any(named);
        let cases: Vec<Case> = cases.iter().copied().filter(|c| !restricted || named(c)).collect();
        let mut what = claim.what.to_owned();
        if restricted {
            what += &format!(" on {}", listed(&words(claim.only)));
        }
        let taken = |(a, b): &&(Setting, Setting)| {
            cases.iter().any(|c| data.has(&c.setup(a)) && data.has(&c.setup(b)))
        };
        let all: Vec<(Setup, Setup)> = cases.iter().flat_map(&pairs).collect();
        Finding {
            what,
            reads: claim.reads,
            pairs: (claim.pairs.iter().filter(|p| taken(p)).count(), claim.pairs.len()),
            all: data.mean_ratio(&all, seconds),
            by_case: cases.iter().map(|c| (*c, data.mean_ratio(&pairs(c), seconds))).collect(),
        }
    }

    fn verdict(&self) -> &'static str {
        self.all.map_or("not measured", |e| e.against(1.0).on_claim())
    }

    /// A sentence on the verdict, and on what each benchmark says alone.
    fn sentence(&self) -> String {
        let Some(all) = self.all else {
            return format!(
                "{}: not measured, for the settings were refused.",
                sentence(&self.what)
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
            sentence(&self.what),
            self.verdict(),
            self.reads,
            interval(Some(all)),
            parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
        )
    }
}

/// The claims on times, on the author's benchmarks. The claim on idle workers is in
/// [`super::parts`].
pub fn section(lab: &Lab, data: &Data, page: &mut Page) -> Result<()> {
    let title = "The fiber scheduler's claims: below the line is confirmed";
    table(lab.cases(), title, "lab-claims", data, page)
}

/// The same claims, on tasks that compute.
pub fn computing_section(lab: &Lab, data: &Data, page: &mut Page) -> Result<()> {
    let title = "The same claims where tasks compute: below the line is confirmed";
    table(&lab.computing(), title, "lab-claims-computing", data, page)
}

fn table(cases: &[Case], title: &str, file: &str, data: &Data, page: &mut Page) -> Result<()> {
    let findings: Vec<Finding> = claims().iter().map(|c| Finding::of(c, cases, data)).collect();
    let mut head = words(&["claim", "verdict", "pairs of settings", "ratio of times, all"]);
    head.extend(cases.iter().map(|c| c.code.to_owned()));
    let rows: Vec<Vec<String>> = findings
        .iter()
        .map(|f| {
            let (taken, all) = f.pairs;
            let pairs = format!("{taken} of {all}");
            let mut row = vec![f.what.clone(), f.verdict().to_owned(), pairs, interval(f.all)];
            row.extend(cases.iter().map(|case| {
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
        let mut points: Vec<_> = f.by_case.iter().map(|(_, e)| e.and_then(drawn)).collect();
        points.push(f.all.and_then(drawn));
        Panel {
            title: f.what.clone(),
            x_title: "benchmark",
            y_title: "ratio of times",
            x_names: names,
            series: vec![Series { key: kind_key(Kind::Steal), points }],
            log: true,
            lines: false,
            reference: Some(1.0),
        }
    };
    let figure = Figure {
        title,
        reference: Some("no difference"),
        bars: Bars::Interval,
        panels: findings.iter().filter(|f| f.all.is_some()).map(panel).collect(),
        columns: 2,
        panel_height: 260,
    };
    page.figure(file, &figure)
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::pages::lab::data::tests::run;
    use crate::run::bench::Run;

    pub const LAB: Lab = Lab { cores: 2, quick: true };

    /// Six rounds in which each algorithm takes what `seconds` says.
    pub fn runs(seconds: impl Fn(&Setting) -> Option<f64>) -> Vec<Run> {
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
}
