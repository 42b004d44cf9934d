//! The statements from measurements: the words, verdicts and lists of a page. They are lenient: a
//! missing measurement is "-", or is left out of a list.
//!
//! Words of ratios are pairs of cases, `CASE / CASE`, with ` ; ` between two pairs: then the ratio
//! is the geometric mean. `(a|b)` stands for each of its alternatives, in both cases of a pair.

use anyhow::{Context, Result, bail};
use sched_estimate::{Estimate, Verdict};
use sched_tools::number::short;
use sched_tools::table::markdown;
use sched_tools::text::listed;

use super::source::{NOT_MEASURED, Source, quick};
use crate::data::Selector;
use crate::quartiles::Quartiles;

/// The pairs that these words stand for.
fn pairs(words: &str) -> Result<Vec<(Selector, Selector)>> {
    let mut found = Vec::new();
    for pair in written_out(words).iter().flat_map(|pair| alternatives(pair)) {
        let (what, over) = pair.split_once(" / ").context("two cases, with ` / ` between them")?;
        found.push((Selector::parse(what)?, Selector::parse(over)?));
    }
    Ok(found)
}

/// The pairs of `PAIRS @ CASES`: each `@` of a pair stands for a case.
fn written_out(words: &str) -> Vec<String> {
    let (pairs, cases) = match words.rsplit_once(" @ ") {
        Some((pairs, cases)) if pairs.contains('@') => (pairs, format!("({cases})")),
        _ => (words, String::new()),
    };
    pairs.split(" ; ").map(|pair| pair.replace('@', &cases)).collect()
}

fn alternatives(words: &str) -> Vec<String> {
    let group = words.find('(').and_then(|from| {
        let to = from + words[from..].find(')')?;
        Some(&words[from..=to])
    });
    let Some(group) = group else { return vec![words.to_owned()] };
    let each = group[1..group.len() - 1].split('|');
    each.flat_map(|one| alternatives(&words.replace(group, one))).collect()
}

impl Source {
    pub fn ratio(&self, words: &str) -> Option<Estimate> {
        self.data.mean_ratio(&pairs(words).ok()?)
    }

    /// `ratio PAIRS`, or `interval NAME CASE`.
    pub fn estimate(&self, place: &str) -> Option<Estimate> {
        let (verb, words) = place.split_once(' ')?;
        match verb {
            "ratio" => self.ratio(words),
            "interval" => {
                let (of, words) = words.split_once(' ')?;
                let selector = Selector { of: of.to_owned(), ..Selector::parse(words).ok()? };
                self.data.estimate(&selector)
            }
            _ => None,
        }
    }

    /// The verdict on an estimate, against 1 or with ` against BOUND` behind it.
    pub fn decided(&self, place: &str) -> Option<Verdict> {
        let (place, bound) = place.split_once(" against ").unwrap_or((place, "1"));
        Some(self.estimate(place)?.against(bound.parse().ok()?))
    }

    /// One of four words: for less, more, neither, and not measured.
    pub fn says<'a>(&self, place: &str, words: &'a [String]) -> Result<&'a str> {
        let [less, more, open, none] = words else { bail!("four words") };
        Ok(match self.decided(place) {
            Some(Verdict::Less) => less,
            Some(Verdict::More) => more,
            Some(Verdict::Open) => open,
            None => none,
        })
    }

    /// "spin 1.25 [1.16–1.33] times as fast and sem …": for each name what the ratio says, whose
    /// pairs have `{}` in the place of the name.
    pub fn told(&self, names: &[String], pattern: &str) -> String {
        let one = |name: &String| {
            Some(format!("{name} {}", quick(self.ratio(&pattern.replace("{}", name))?)))
        };
        listed(&names.iter().filter_map(one).collect::<Vec<_>>())
    }

    /// A table of the workloads in which another system takes less than four fifths of our time. A
    /// row is what, a value, a program, its data, our name, and why another is faster.
    pub fn losses(&self, rows: &[Vec<String>], systems: &[Vec<String>]) -> Result<String> {
        let mut lost = Vec::new();
        for row in rows {
            let [what, value, program, data, ours, why] = &row[..] else { bail!("six texts") };
            let of = |system: &str, threads: usize| {
                let case = format!("peers {program} {system} {threads} {data}");
                Some(self.quartiles(value, &case).ok()?.median)
            };
            let own = of(ours, 2).with_context(|| format!("{program} of {ours}"))?;
            let others = systems.iter().filter_map(|s| Some((&s[0], of(&s[1], 2)?)));
            let best = others.min_by(|(_, a), (_, b)| a.total_cmp(b));
            if let Some((name, best)) = best.filter(|(_, best)| *best < 0.8 * own) {
                let cells = [what, why, &short(own), name, &short(best), &short(own / best)];
                lost.push((own / best, cells.map(Clone::clone).to_vec()));
            }
        }
        lost.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        let head = ["workload", "why", "here", "fastest", "its figure", "times as fast"];
        let rows: Vec<_> = lost.into_iter().map(|(_, row)| row).collect();
        Ok(markdown(2, &head.map(str::to_owned), &rows))
    }

    /// The number of predictions that are within a tenth of the measurement.
    pub fn agreement(&self) -> Result<String> {
        let checked = self.data.session("scaling")?.cases.iter().filter_map(|m| {
            let of = |name| m.quartiles(name).ok().map(|q| q.median);
            let error = of("predicted_ms")? / of("measured_ms")? - 1.0;
            Some((m.case.by.as_str(), error.abs() <= 0.1))
        });
        let checked: Vec<_> = checked.collect();
        let count = |by: &str| {
            let own = checked.iter().filter(|(policy, _)| by.is_empty() || *policy == by);
            let (all, good) =
                own.fold((0, 0), |(all, good), (_, is)| (all + 1, good + usize::from(*is)));
            format!("{good} of {all}")
        };
        let each =
            ["steal", "steal half", "cont", "lifo", "fifo"].map(|by| format!("{by} {}", count(by)));
        let (all, each) = (count(""), each.join(", "));
        Ok(format!(
            "{all} predictions that were compared with a measurement are within 10 % ({each})."
        ))
    }

    /// "confirmed on a and b; refuted on c": rows of a name and of what takes the place of `{}`, by
    /// the word of their verdict.
    pub fn sorted_out(
        &self,
        rows: &[Vec<String>],
        pattern: &str,
        words: &[String],
    ) -> Result<String> {
        let mut parts = Vec::new();
        for word in words.iter().filter(|word| !word.is_empty()) {
            let mut names = Vec::new();
            for row in rows {
                let key = row.last().context("an empty row")?;
                if self.says(&pattern.replace("{}", key), words)? == word {
                    names.push(&row[0]);
                }
            }
            if !names.is_empty() {
                parts.push(format!("{word} {}", listed(&names)));
            }
        }
        Ok(parts.join("; "))
    }

    /// The verdict on a claim that says "less".
    pub fn claim(&self, place: &str) -> Option<&'static str> {
        Some(match self.decided(place) {
            Some(Verdict::Less) => "confirmed",
            Some(Verdict::More) => "refuted",
            Some(Verdict::Open) if place.starts_with("interval") => "undecided",
            Some(Verdict::Open) => "no difference seen",
            None => "not measured",
        })
    }

    /// Where each lock policy has a convoy: threads slept at more than 10 % of the uses of the
    /// lock. Where newcomers may overtake, threads sleep at less than one per cent of the uses; in
    /// a convoy they sleep at most uses.
    pub fn convoys(&self, uses: &[Vec<String>], policies: &[String], threads: &[String]) -> String {
        let places = |policy: &String, wanted: Verdict| -> Vec<String> {
            let texts = uses.iter().filter_map(|lock_use| {
                let is = |t: &&String| {
                    let case = format!("lab {} {t} deque={policy}", lock_use[1]);
                    self.decided(&format!("interval slept {case} against 10")) == Some(wanted)
                };
                let at: Vec<&String> = threads.iter().filter(is).collect();
                let text = || format!("{policy} with {} ({} threads)", lock_use[0], listed(&at));
                (!at.is_empty()).then(text)
            });
            texts.collect()
        };
        let all = |wanted| policies.iter().flat_map(|p| places(p, wanted)).collect::<Vec<_>>();
        let none = policies.iter().filter(|policy| {
            let anywhere = |wanted| !places(policy, wanted).is_empty();
            anywhere(Verdict::Less) && !anywhere(Verdict::More) && !anywhere(Verdict::Open)
        });
        let none: Vec<String> = none.cloned().collect();
        let parts = [
            ("a convoy", all(Verdict::More)),
            ("undecided", all(Verdict::Open)),
            ("no convoy anywhere", none),
        ];
        let parts = parts.iter().filter(|(_, found)| !found.is_empty());
        let parts: Vec<String> =
            parts.map(|(word, found)| format!("{word} under {}", listed(found))).collect();
        if parts.is_empty() { "not measured.".into() } else { format!("{}.", parts.join("; ")) }
    }

    /// "tree 2 and flood 1": the greatest number of threads up to which more threads are seen to be
    /// faster: no greater number is seen to be faster than it.
    pub fn gains(&self, names: &[String], pattern: &str, threads: &[String]) -> String {
        let one = |name: &String| {
            let case = |t: &str| pattern.replace("{}", name).replace("{t}", t);
            let (first, others) = threads.split_first()?;
            self.data.find(&case(first))?;
            let best = others.iter().fold(first, |best, more| {
                let ratio = format!("ratio {} / {}", case(more), case(best));
                if self.decided(&ratio) == Some(Verdict::Less) { more } else { best }
            });
            Some(format!("{name} {best}"))
        };
        listed(&names.iter().filter_map(one).collect::<Vec<_>>())
    }

    /// "under lifo from 1467 ns on": the length of tasks from which the workers beat a plain loop.
    pub fn pays(&self, kinds: &[String], grains: &[String], threads: &str) -> String {
        let one = |kind: &String| {
            let of = |grain: &str| {
                let case = format!("lab grain {kind} {threads} data={grain}");
                self.estimate(&format!("interval gain {case}"))
            };
            let measured = grains.iter().filter_map(|grain| Some((grain, of(grain)?)));
            let measured: Vec<_> = measured.collect();
            let from = first_that_pays(&measured.iter().map(|(_, e)| *e).collect::<Vec<_>>());
            let text = from.map_or("at none of these lengths".into(), |i| {
                format!("from {} ns on", self.length(measured[i].0, threads))
            });
            (!measured.is_empty()).then(|| format!("under {kind} {text}"))
        };
        listed(&kinds.iter().filter_map(one).collect::<Vec<_>>())
    }

    /// How many ns a task of this many iterations takes.
    pub fn length(&self, grain: &str, threads: &str) -> String {
        let cal = ["lifo", "fifo", "steal", "cont"].iter().find_map(|kind| {
            let case = self.data.find(&format!("lab grain {kind} {threads} data={grain}"))?;
            Some(case.quartiles("cal").ok()?.median)
        });
        let ns = cal.zip(grain.parse::<f64>().ok()).map(|(cal, each)| each * cal);
        ns.map_or(NOT_MEASURED.into(), short)
    }

    /// "tree 95 % (3.1)": the part of the searches that found a task, and the steals of a million
    /// tasks.
    pub fn shares(&self, names: &[String], pattern: &str) -> String {
        let one = |name: &String| {
            let case = self.data.find(&pattern.replace("{}", name))?;
            let of = |value| Some(case.quartiles(value).ok()?.median);
            let (steals, failed) = (of("steals")?, of("failed_steals")?);
            let (share, millions) = (100.0 * steals / (steals + failed), case.tasks as f64 / 1e6);
            (steals + failed > 0.0)
                .then(|| format!("{name} {share:.0} % ({})", short(steals / millions)))
        };
        listed(&names.iter().filter_map(one).collect::<Vec<_>>())
    }

    /// A point of a figure.
    pub fn point(&self, place: &str) -> Option<Quartiles> {
        let (verb, words) = place.split_once(' ')?;
        if verb == "among" {
            let (list, rest) = words.split_once(' ')?;
            let there = list == "all" || list.split(',').any(|word| rest.contains(word));
            return self.point(rest).filter(|_| there);
        }
        let exact = |value: f64| Quartiles { low: value, median: value, high: value };
        match verb {
            // An estimate, if its interval has ends.
            "ratio" | "interval" => {
                let Estimate { low, value, high } = self.estimate(place)?;
                let ends = low.is_finite() && high.is_finite() && low > 0.0;
                ends.then_some(Quartiles { low, median: value, high })
            }
            // A logarithmic axis has no place for 0.
            "mid" => {
                let e = self.estimate(&format!("interval {words}"))?;
                (e.value > 0.0).then(|| exact(e.value))
            }
            "million" => {
                let (name, words) = words.split_once(' ')?;
                let case = self.data.find(words)?;
                let scale = 1e6 / case.tasks as f64;
                case.quartiles(name).ok()?.scaled(scale).on_log_axis(0.25 * scale)
            }
            "predicted" => self.predicted(words).ok(),
            "gain" => self.gain(words),
            verb => self.quartiles(verb, words).ok(),
        }
    }

    /// The time of the tasks' loops alone, on one processor, divided by the time of the run on two,
    /// by the session's calibration.
    pub fn gain(&self, words: &str) -> Option<Quartiles> {
        let (kind, grain) = words.split_once(' ')?;
        let case = self.data.find(&format!("lab grain {kind} 2 data={grain}"))?;
        let alone = case.tasks as f64 * self.task_ns(grain)? * 1e-9;
        Some(case.quartiles("seconds").ok()?.under(alone))
    }

    /// How long a task of `grain` computes.
    pub fn task_ns(&self, grain: &str) -> Option<f64> {
        Some(grain.parse::<f64>().ok()? * self.data.session("lab").ok()?.about.iteration_ns)
    }
}

/// The first gain that is above 1, as are all after it.
fn first_that_pays(gains: &[Estimate]) -> Option<usize> {
    let last_not = gains.iter().rposition(|e| e.against(1.0) != Verdict::More);
    let first = last_not.map_or(0, |i| i + 1);
    (first < gains.len()).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::super::source::interval;
    use super::*;
    use crate::data::tests::session;
    use crate::data::{Case, Measurements};

    #[test]
    fn it_pays_from_where_it_always_does() {
        let e = |low: f64| Estimate { low, value: low + 0.1, high: low + 0.2 };
        assert_eq!(first_that_pays(&[e(0.5), e(0.95), e(1.2), e(1.8)]), Some(2));
        assert_eq!(first_that_pays(&[e(1.1), e(0.9), e(1.2)]), Some(2));
        assert_eq!(first_that_pays(&[e(1.1)]), Some(0));
        assert_eq!(first_that_pays(&[e(1.1), e(0.9)]), None);
    }

    #[test]
    fn alternatives_are_the_same_in_both_cases_of_a_pair() {
        let all = alternatives("lab (a|b) x / lab (a|b) (y|z)");
        assert_eq!(all[..2], ["lab a x / lab a y", "lab a x / lab a z"]);
        assert_eq!(all[2..], ["lab b x / lab b y", "lab b x / lab b z"]);
    }

    #[test]
    fn gains_end_where_none_is_seen() {
        let threads: Vec<String> = ["1", "2", "4", "8"].map(str::to_owned).into();
        let cases = ["tree steal 1", "tree steal 2", "tree steal 4", "tree steal 8"];
        let seconds = |case: &Case, _| [0.0, 1.0, 0.5, 0.0, 0.5, 0.0, 0.0, 0.0, 0.7][case.threads];
        let data = Measurements([("lab".to_owned(), session(&cases, 6, seconds))].into());
        let source = Source { data, ..Source::default() };
        assert_eq!(source.gains(&["tree".into()], "lab {} steal {t}", &threads), "tree 2");
        let rows = [vec!["two".into(), "2".into()], vec!["eight".into(), "8".into()]];
        let words = ["less on", "", "same on", "none"].map(str::to_owned);
        let pattern = "ratio lab tree steal {} / lab tree steal 4";
        assert_eq!(source.sorted_out(&rows, pattern, &words).unwrap(), "same on two");
    }

    #[test]
    fn an_endless_interval_is_said_to_be_one() {
        let text = |logarithms: &[f64]| interval(Estimate::of_ratio(logarithms));
        assert_eq!(text(&[0.0; 6]), "1.00 [1.00–1.00]");
        assert_eq!(text(&[0.0; 5]), "1.00 [no interval: too few rounds]");
        assert_eq!(text(&[]), "-");
    }
}
