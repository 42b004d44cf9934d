//! The source of the places: the text that replaces each of them.

use std::collections::BTreeSet;

use anyhow::{Context, Result, bail, ensure};
use minijinja::State;
use sched_estimate::{Estimate, Verdict};
use sched_tools::number::{count, short, thousands};

use crate::data::{Measurements, Selector};
use crate::quartiles::Quartiles;
use crate::run::plan::Plan;

pub const NOT_MEASURED: &str = "-";

/// "0.93 [0.90–0.96]".
pub fn interval(e: Option<Estimate>) -> String {
    match e {
        None => NOT_MEASURED.into(),
        Some(e) if e.high.is_finite() => {
            format!("{} [{}–{}]", short(e.value), short(e.low), short(e.high))
        }
        Some(e) => format!("{} [no interval: too few rounds]", short(e.value)),
    }
}

/// The words for the first time of a ratio of times: "12.5 [11.1–14.1] times as fast".
pub fn quick(e: Estimate) -> String {
    let inverse = Estimate { low: 1.0 / e.high, value: 1.0 / e.value, high: 1.0 / e.low };
    match e.against(1.0) {
        Verdict::Less => format!("{} times as fast", interval(Some(inverse))),
        Verdict::More => format!("{} times as slow", interval(Some(e))),
        Verdict::Open => "no difference seen".into(),
    }
}

/// The language of numbers and of the words around them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    English,
    French,
}

impl Language {
    pub fn of(state: &State) -> Language {
        match state.lookup("lang").as_ref().and_then(|lang| lang.as_str()) {
            Some("fr") => Language::French,
            _ => Language::English,
        }
    }

    /// One of two texts.
    fn choose(self, english: &'static str, french: &'static str) -> &'static str {
        if self == Language::English { english } else { french }
    }

    /// A number as this language writes it.
    fn text(self, number: &str) -> String {
        number.replace('.', self.choose(".", ","))
    }

    /// A whole number whose groups of digits are parted by commas.
    fn grouped(self, number: u64) -> String {
        thousands(number).replace(',', self.choose(",", "\u{202f}"))
    }

    fn number(self, value: f64) -> String {
        self.text(&short(value))
    }

    /// "2.92 [2.90–3.24]".
    fn between(self, low: f64, middle: f64, high: f64) -> String {
        self.text(&format!("{} [{}–{}]", short(middle), short(low), short(high)))
    }
}

/// The data from which the places of a template are filled.
#[derive(Default)]
pub struct Source {
    pub data: Measurements,
    /// The figures and drawings, in the order in which they come.
    pub figures: Vec<String>,
    /// The machine of the sets of cases; without one, the template names its cases itself.
    pub plan: Option<Plan>,
    /// The questions that are asked; all if there are none.
    pub asked: Vec<String>,
    /// The words before sentences on several threads, if the machine was busy.
    pub doubt: &'static str,
    /// The beginning of a page.
    pub opening: String,
}

impl Source {
    /// The cell of a table: `=TEXT`, or a verb and its words. None if it was not measured.
    pub fn cell(&self, place: &str, language: Language) -> Option<String> {
        if let Some(text) = place.strip_prefix('=') {
            return Some(text.to_owned());
        }
        let (verb, words) = place.split_once(' ')?;
        let first = || words.split_once(' ');
        match verb {
            "ratio" | "interval" => self.estimate(place).map(|e| interval(Some(e))),
            "quick" => Some(quick(self.estimate(words)?)),
            "claim" => self.claim(&format!("ratio {words}")).map(str::to_owned),
            "failing" => Some(self.cell(words, language).unwrap_or_else(|| "failed".into())),
            // The rest, unless it is about this word.
            "unless" => {
                let (word, rest) = first()?;
                if rest.contains(word) { None } else { self.cell(rest, language) }
            }
            // The number of ms for which the library was in charge.
            "in_runs" => {
                let of = |name| Some(self.quartiles(name, words).ok()?.median);
                let most = if of("runs")? > 1.0 { "≤" } else { "" };
                Some(format!("{most}{}", short(of("in_runs")? * 1e3)))
            }
            "counter" => {
                let (name, words) = first()?;
                Some(count(self.quartiles(name, words).ok()?.median))
            }
            "size" => Some(self.data.find(words)?.case.n.to_string()),
            "threads" => {
                let case = &self.data.case(&Selector::parse(words).ok()?).ok()?.case;
                Some(if case.by == "none" { "-".into() } else { case.threads.to_string() })
            }
            "thousand" => Some(short(self.quartiles("value", words).ok()?.median * 1e3)),
            "iterations" => {
                let of = |name| Some(self.quartiles(name, words).ok()?.median);
                Some(short(of("ns")? / of("cal")?))
            }
            // The program's speed-up in per cent of the speed-up that its critical path allows.
            "reached" => {
                let speedup = self.quartiles("speedup", words).ok()?.median;
                let program = words.split(' ').nth(1)?;
                let allows =
                    self.quartiles("allows", &format!("bench {program} none")).ok()?.median;
                Some(format!("{:.0}", 100.0 * speedup / allows))
            }
            // "3.1 times faster", or "1.2 times slower": the first of two cases over the second.
            "times" => {
                let (better, rest) = first()?;
                let (worse, rest) = rest.split_once(' ')?;
                let ratio = self.factor(rest).ok()?;
                let word = if ratio >= 1.0 { better } else { worse };
                Some(format!("{} times {word}", short(ratio.max(1.0 / ratio))))
            }
            "processor_ms" => Some(short(self.quartiles(verb, words).ok()?.median)),
            _ => self.place(verb, words, language).ok(),
        }
    }

    /// A sentence with places in brackets; nothing if one of them was not measured.
    pub fn when(&self, text: &str) -> String {
        let mut parts = text.split('[');
        let mut filled = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let Some((place, rest)) = part.split_once(']') else { return String::new() };
            let Some(value) = self.cell(place, Language::English) else { return String::new() };
            filled += &value;
            filled += rest;
        }
        filled
    }

    pub fn place(&self, verb: &str, rest: &str, language: Language) -> Result<String> {
        let words: Vec<&str> = rest.split_whitespace().collect();
        Ok(match verb {
            "figure" | "drawing" => self.figure(rest)?,
            "see" => self.number(rest)?.to_string(),
            "about" => self.about(&words, language)?,
            "grain" => language.number(self.task_ns(rest).context("iterations")?),
            "gain" => language.number(self.gain(rest).context("not measured")?.median),
            "count" => language.grouped(self.quartiles("value", rest)?.median.round() as u64),
            "tasks" => language.grouped(self.data.case(&Selector::parse(rest)?)?.tasks),
            "parallelism" => {
                let case = format!("scaling {rest} none of=parallelism");
                language.number(self.quartiles("value", &case)?.median)
            }
            "predicted" => language.number(self.predicted(rest)?.median),
            "best" => {
                let of =
                    |w: &usize| Some((self.predicted(&format!("{rest} {w}")).ok()?.median, *w));
                let all = self.workers();
                let best = all.iter().filter_map(of).max_by(|a, b| a.0.total_cmp(&b.0));
                let (speedup, workers) = best.context("not predicted")?;
                format!("{} ({workers})", language.number(speedup))
            }
            "pace" => self.pace(rest, language)?,
            "factor" => language.number(self.factor(rest)?),
            "holds" => {
                let (claim, rest) = rest.split_once(' ').context("a claim")?;
                self.check(claim, rest)?;
                String::new()
            }
            "both" => {
                let (name, words) = rest.split_once(' ').context("a value and a case")?;
                let median = |threads| {
                    let mut selector = Selector::parse(words)?;
                    selector.case.threads = threads;
                    self.data.case(&selector)?.quartiles(name)
                };
                let found = [1, 2].into_iter().filter_map(|threads| median(threads).ok());
                let texts: Vec<String> = found.map(|q| language.number(q.median)).collect();
                ensure!(!texts.is_empty(), "not measured on 1 or 2 threads");
                texts.join(" / ")
            }
            _ => match verb.strip_suffix('q') {
                Some(name) => {
                    let Quartiles { low, median, high } = self.quartiles(name, rest)?;
                    language.between(low, median, high)
                }
                None => language.number(self.quartiles(verb, rest)?.median),
            },
        })
    }

    pub fn quartiles(&self, name: &str, words: &str) -> Result<Quartiles> {
        let selector = Selector::parse(words)?;
        let measured = self.data.case(&selector)?;
        match name {
            "value" => measured.quartiles(&selector.of),
            "speedup" => {
                let mut serial = selector.clone();
                let name = if selector.session == "own" { "serial" } else { "none" };
                (serial.case.by, serial.case.threads) = (name.into(), 1);
                (serial.case.deque, serial.case.idle) = (None, None);
                let serial = self.data.case(&serial)?.quartiles("seconds")?;
                Ok(measured.quartiles("seconds")?.under(serial.median))
            }
            name => measured.quartiles(name),
        }
    }

    /// `PROGRAM POLICY P`: the predicted speed-up.
    pub fn predicted(&self, words: &str) -> Result<Quartiles> {
        self.quartiles("value", &format!("scaling {words} of=speedup"))
    }

    /// The programs of the simulator.
    pub fn simulated(&self) -> Vec<String> {
        let cases = self.data.session("scaling").map_or(&[][..], |session| &session.cases);
        let programs = cases.iter().filter(|m| m.case.by == "none");
        programs.map(|m| m.case.program.clone()).collect()
    }

    /// The numbers of its workers, in order.
    pub fn workers(&self) -> Vec<usize> {
        let cases = self.data.session("scaling").map_or(&[][..], |session| &session.cases);
        let all: BTreeSet<usize> = cases.iter().map(|m| m.case.threads).collect();
        all.into_iter().collect()
    }

    /// "is 12.5 [11.1–14.1] times as fast as": the first of two cases, compared with the second.
    fn pace(&self, words: &str, language: Language) -> Result<String> {
        let (what, over) = self.two(words)?;
        let in_rounds = what.session == "lab" && over.session == "lab";
        let e = if in_rounds { self.certain_ratio(words)? } else { self.medians(&what, &over)? };
        let factor = |low: f64, value: f64, high: f64| {
            if in_rounds { language.between(low, value, high) } else { language.number(value) }
        };
        let text = |english: &'static str, french| language.choose(english, french);
        Ok(match e.against(1.0) {
            Verdict::Less => {
                let factor = factor(1.0 / e.high, 1.0 / e.value, 1.0 / e.low);
                text("is {} times as fast as", "est {} fois plus rapide que").replace("{}", &factor)
            }
            Verdict::More => {
                let factor = factor(e.low, e.value, e.high);
                text("takes {} times as long as", "prend {} fois le temps de")
                    .replace("{}", &factor)
            }
            Verdict::Open => text("shows no difference from", "ne se distingue pas de").to_owned(),
        })
    }

    /// The ratio of two medians, and how far their quartiles are apart.
    fn medians(&self, what: &Selector, over: &Selector) -> Result<Estimate> {
        let of = |s: &Selector| self.data.case(s)?.quartiles(&s.of);
        let (what, over) = (of(what)?, of(over)?);
        let value = what.median / over.median;
        Ok(Estimate { low: what.low / over.high, value, high: what.high / over.low })
    }

    fn two(&self, words: &str) -> Result<(Selector, Selector)> {
        let (what, over) = words.split_once(" / ").context("two cases, with ` / ` between them")?;
        let (what, over) = (Selector::parse(what)?, Selector::parse(over)?);
        let (one, other) = (&self.data.case(&what)?.case, &self.data.case(&over)?.case);
        ensure!(
            one.program != other.program || one.n == other.n,
            "{one} has the size {}, and {other} the size {}: add n=",
            one.n,
            other.n
        );
        Ok((what, over))
    }

    /// The first median over the second.
    fn factor(&self, words: &str) -> Result<f64> {
        let (what, over) = self.two(words)?;
        let median = |s: &Selector| anyhow::Ok(self.data.case(s)?.quartiles(&s.of)?.median);
        Ok(median(&what)? / median(&over)?)
    }

    fn certain_ratio(&self, words: &str) -> Result<Estimate> {
        let (what, over) = self.two(words)?;
        let rounds = what.session == "lab" && over.session == "lab";
        ensure!(rounds, "only the laboratory has rounds");
        self.data.mean_ratio(&[(what, over)]).context("no rounds")
    }

    /// The claim that the first value is less or more than the second, or that neither is seen. The
    /// laboratory decides by the ratio's interval, the other sessions by the quartiles.
    fn check(&self, claim: &str, words: &str) -> Result<()> {
        let claimed = match claim {
            "less" => Verdict::Less,
            "more" => Verdict::More,
            "open" => Verdict::Open,
            other => bail!("`{other}` is no claim"),
        };
        let (what, over) = self.two(words)?;
        let found = if what.session == "lab" {
            self.certain_ratio(words)?.against(1.0)
        } else {
            self.medians(&what, &over)?.against(1.0)
        };
        ensure!(found == claimed, "the measurements say {found:?}: change the sentence");
        Ok(())
    }

    fn number(&self, name: &str) -> Result<usize> {
        let at = self.figures.iter().position(|figure| figure == name);
        at.map(|i| i + 1).with_context(|| format!("no figure `{name}`"))
    }

    fn figure(&self, rest: &str) -> Result<String> {
        let (name, caption) = rest.split_once(':').context("a figure's name and its caption")?;
        let number = self.number(name)?;
        let caption = caption.trim();
        let tags = ["<code>", "</code>", "<em>", "</em>"];
        let plain = tags.iter().fold(caption.to_owned(), |text, tag| text.replace(tag, ""));
        Ok(format!(
            "<figure>\n<img src=\"report-{name}.svg\" alt=\"{plain}\">\n\
             <figcaption>Figure {number}. {caption}</figcaption>\n</figure>"
        ))
    }

    fn about(&self, words: &[&str], language: Language) -> Result<String> {
        let [session, field] = words else { bail!("a session and a field") };
        let about = &self.data.session(session)?.about;
        let machine = &about.machine;
        Ok(match *field {
            "cpu" => machine.cpu.clone(),
            "processor" => {
                let details = machine.cpu_details.as_ref().map(|details| format!(" ({details})"));
                machine.cpu.clone() + &details.unwrap_or_default()
            }
            "cores" => machine.cores.to_string(),
            "kernel" => machine.kernel.clone(),
            "commit" => machine.commit.clone().context("no commit")?,
            "rounds" => about.rounds.to_string(),
            "seconds" => format!("{:.0}", about.total_seconds),
            "iteration" => language.number(about.iteration_ns),
            "ours" => language.number(about.cores_ours),
            "systems" => about.others().join("; "),
            // Nothing for a session without failures.
            "failures" if about.failures.is_empty() => String::new(),
            "failures" => format!("These runs failed: {}.", about.failures.join("; ")),
            other => bail!("no field `{other}`"),
        })
    }
}
