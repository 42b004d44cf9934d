//! Fills the template of the report: every figure of measurement in it is a place `{{…}}`, which
//! says where its value comes from.
//!
//! | place | becomes |
//! | --- | --- |
//! | `{{ns CASE}}`, `us`, `ms` | the median time of a task in ns, or of a run in µs or ms |
//! | `{{value CASE of=NAME}}` | the median of another value of the program |
//! | `{{speedup CASE}}` | the serial program's median time over the case's |
//! | `{{factor CASE / CASE}}` | the first median over the second |
//! | `{{over CASE / CASE}}` | the ratio of times within the rounds, with its 95 % interval |
//! | `{{verdict CASE / CASE}}` | what that ratio says of the first: faster, slower, or neither |
//! | `{{holds less CASE / CASE}}` | nothing; it is an error if the ratio does not say so |
//! | `{{predicted PROGRAM POLICY P}}` | the predicted speed-up on P workers |
//! | `{{parallelism PROGRAM}}`, `{{agreement}}` | work over span; how far predictions agree |
//! | `{{tasks CASE}}`, `{{count CASE of=NAME}}` | the number of its tasks; a value as a whole number |
//! | `{{grain N}}`, `{{gain KIND N}}` | how many ns a task of N iterations takes; its speed-up |
//! | `{{about SESSION FIELD}}` | how a session was measured |
//! | `{{figure NAME: CAPTION}}`, `{{drawing NAME: CAPTION}}` | a figure with its number |
//! | `{{see NAME}}`, `{{again NAME: CAPTION}}` | the number of that figure; the figure once more |
//! | `{{table NAME}}` | a table |
//!
//! `{{ns.q CASE}}` also has the quartiles. A CASE is a session, a program, a kind or system, and
//! the number of threads, if that is not 1: `lab tree steal 2 deque=spin`. A line `<!-- fr -->` or
//! `<!-- en -->` sets the language of the numbers that follow.
//!
//! `holds` guards the sentences: their words were written for one set of measurements, and new
//! measurements that no longer support them stop the program, which names the sentence.

use anyhow::{Context, Result, bail, ensure};
use sched_estimate::Verdict;

use super::figures::{gain, task_ns};
use super::language::Language;
use super::measurements::{Case, Measurements, Selector};
use super::predictions::Predictions;
use super::tables::table;

/// A report, and the names of its figures in the order of their numbers.
pub struct Filled {
    pub text: String,
    pub figures: Vec<String>,
}

pub fn fill(template: &str, data: &Measurements, predictions: &Predictions) -> Result<Filled> {
    let mut filler =
        Filler { data, predictions, language: Language::English, figures: figures(template) };
    let mut text = String::new();
    for (number, line) in template.lines().enumerate() {
        match line {
            "<!-- en -->" => filler.language = Language::English,
            "<!-- fr -->" => filler.language = Language::French,
            _ => {
                let filled = filler.line(line);
                text += &filled.with_context(|| format!("line {} of the template", number + 1))?;
                text.push('\n');
            }
        }
    }
    Ok(Filled { text, figures: filler.figures })
}

/// The figures and drawings, in the order in which they come.
fn figures(template: &str) -> Vec<String> {
    let places = template.split("{{").skip(1).filter_map(|rest| {
        let place = rest.strip_prefix("figure ").or_else(|| rest.strip_prefix("drawing "))?;
        Some(place.split_once(':')?.0.trim().to_owned())
    });
    places.collect()
}

struct Filler<'a> {
    data: &'a Measurements,
    predictions: &'a Predictions,
    language: Language,
    figures: Vec<String>,
}

impl Filler<'_> {
    fn line(&self, line: &str) -> Result<String> {
        let mut parts = line.split("{{");
        let mut text = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (place, rest) = part.split_once("}}").context("a `{{` without its `}}`")?;
            let value = self.place(place).with_context(|| format!("{{{{{place}}}}}"))?;
            text += &value;
            text += rest;
        }
        Ok(text)
    }

    fn place(&self, place: &str) -> Result<String> {
        let (verb, rest) = place.split_once(' ').unwrap_or((place, ""));
        let words: Vec<&str> = rest.split_whitespace().collect();
        match verb {
            "figure" | "drawing" => self.figure(rest, "Figure"),
            "again" => {
                self.figure(rest, self.language.choose("Again figure", "Reprise de la figure"))
            }
            "grain" => {
                let ns = task_ns(self.data, rest).context("iterations")?;
                Ok(self.language.number(ns))
            }
            "gain" => {
                let [kind, grain] = words[..] else { bail!("a kind and a number of iterations") };
                let speedup = gain(self.data, kind, grain).context("not measured")?;
                Ok(self.language.number(speedup.median))
            }
            "count" => {
                let selector = Selector::parse(&words)?;
                let value = self.case(&selector)?.quartiles(&selector.of)?.median;
                Ok(self.language.grouped(&sched_tools::number::thousands(value.round() as u64)))
            }
            "see" => Ok(self.number(rest)?.to_string()),
            "table" => table(rest, self.data, self.predictions, self.language),
            "about" => self.about(&words),
            "agreement" => Ok(self.predictions.agreement.clone()),
            "parallelism" => {
                let ratio = self.predictions.parallelism(rest).context("no such program")?;
                Ok(self.language.text(ratio))
            }
            "predicted" => {
                let [program, policy, workers] = words[..] else { bail!("program, policy, P") };
                let speedup = self.predictions.speedup(program, policy, workers.parse()?);
                Ok(self.language.number(speedup.context("not predicted")?))
            }
            "tasks" => {
                let tasks =
                    sched_tools::number::thousands(self.case(&Selector::parse(&words)?)?.tasks);
                Ok(self.language.grouped(&tasks))
            }
            "over" => Ok(self.language.estimate(self.ratio(rest)?)),
            "verdict" => Ok(self.language.verdict(self.ratio(rest)?.against(1.0)).to_owned()),
            "factor" => {
                let (what, over) = self.two(rest)?;
                let median =
                    |s: &Selector| Ok::<_, anyhow::Error>(self.case(s)?.quartiles(&s.of)?.median);
                Ok(self.language.number(median(&what)? / median(&over)?))
            }
            "holds" => {
                let (claim, rest) = rest.split_once(' ').context("a claim")?;
                self.check(claim, rest)?;
                Ok(String::new())
            }
            _ => self.value(verb, &words),
        }
    }

    fn value(&self, verb: &str, words: &[&str]) -> Result<String> {
        let (name, with_quartiles) =
            verb.strip_suffix(".q").map_or((verb, false), |name| (name, true));
        let selector = Selector::parse(words)?;
        let case = self.case(&selector)?;
        let quartiles = match name {
            "ns" | "us" | "ms" => case.quartiles(name)?,
            "value" => case.quartiles(&selector.of)?,
            "speedup" => {
                let serial = Selector {
                    by: "none".into(),
                    threads: 1,
                    deque: None,
                    idle: None,
                    ..selector.clone()
                };
                let serial = self.case(&serial)?.quartiles("seconds")?;
                case.quartiles("seconds")?.under(serial.median)
            }
            other => bail!("no place begins with `{other}`"),
        };
        Ok(if with_quartiles {
            self.language.quartiles(quartiles)
        } else {
            self.language.number(quartiles.median)
        })
    }

    fn case(&self, selector: &Selector) -> Result<&Case> {
        self.data.case(selector)
    }

    fn two(&self, words: &str) -> Result<(Selector, Selector)> {
        let (what, over) = words.split_once(" / ").context("two cases, with ` / ` between them")?;
        let parse = |text: &str| Selector::parse(&text.split_whitespace().collect::<Vec<_>>());
        let (what, over) = (parse(what)?, parse(over)?);
        let (one, other) = (self.case(&what)?, self.case(&over)?);
        ensure!(
            one.program != other.program || one.n == other.n,
            "{} has the size {}, and {} the size {}: add n=",
            one.name(),
            one.n,
            other.name(),
            other.n
        );
        Ok((what, over))
    }

    fn ratio(&self, words: &str) -> Result<sched_estimate::Estimate> {
        let (what, over) = self.two(words)?;
        self.data.ratio(&what, &over)
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
            self.data.ratio(&what, &over)?.against(1.0)
        } else {
            let (what, over) =
                (self.case(&what)?.quartiles(&what.of)?, self.case(&over)?.quartiles(&over.of)?);
            if what.high < over.low {
                Verdict::Less
            } else if what.low > over.high {
                Verdict::More
            } else {
                Verdict::Open
            }
        };
        ensure!(found == claimed, "the measurements say {found:?}: change the sentence");
        Ok(())
    }

    fn number(&self, name: &str) -> Result<usize> {
        let at = self.figures.iter().position(|figure| figure == name);
        at.map(|i| i + 1).with_context(|| format!("no figure `{name}`"))
    }

    fn figure(&self, rest: &str, word: &str) -> Result<String> {
        let (name, caption) = rest.split_once(':').context("a figure's name and its caption")?;
        let number = self.number(name)?;
        let caption = caption.trim();
        let tags = ["<code>", "</code>", "<em>", "</em>"];
        let plain = tags.iter().fold(caption.to_owned(), |text, tag| text.replace(tag, ""));
        Ok(format!(
            "<figure>\n<img src=\"report-{name}.svg\" alt=\"{plain}\">\n\
             <figcaption>{word} {number}. {caption}</figcaption>\n</figure>"
        ))
    }

    fn about(&self, words: &[&str]) -> Result<String> {
        let [session, field] = words else { bail!("a session and a field") };
        let session = self.data.session(session)?;
        let about = &session.about;
        let machine = &about.machine;
        Ok(match *field {
            "machine" => machine.line(),
            "cpu" => machine.cpu.clone(),
            "processor" => {
                let details = machine.cpu_details.as_ref().map(|details| format!(" ({details})"));
                machine.cpu.clone() + &details.unwrap_or_default()
            }
            "cores" => machine.cores.to_string(),
            "kernel" => machine.kernel.clone(),
            "version" => machine.version.clone(),
            "commit" => machine.commit.clone().context("no commit")?,
            "rounds" => about.rounds.to_string(),
            "date" => {
                ensure!(self.language == Language::English, "dates are in English");
                let date = about.date.as_deref().context("no date")?;
                sched_tools::provenance::day(date).with_context(|| date.to_owned())?
            }
            "seconds" => format!("{:.0}", about.total_seconds),
            "minutes" => format!("{:.0}", about.total_seconds / 60.0),
            "iteration" => self.language.number(about.iteration_ns),
            "systems" => about.others().join("; "),
            // Of a session in which none failed, nothing.
            "failures" if about.failures.is_empty() => String::new(),
            "failures" => format!("These runs failed: {}.", about.failures.join("; ")),
            "ours" => self.language.number(about.cores_ours),
            "state" if session.is_busy() => "busy".to_owned(),
            "state" => "quiet".to_owned(),
            "spread" => self.language.number(session.spread().context("no serial program")?),
            other => {
                about.systems.get(other).cloned().with_context(|| format!("no field `{other}`"))?
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::report::committed;

    fn filled(template: &str) -> Result<String> {
        let (data, predictions) = committed();
        Ok(fill(template, &data, &predictions)?.text)
    }

    fn error(template: &str) -> String {
        format!("{:#}", filled(template).unwrap_err())
    }

    #[test]
    fn a_sentence_that_the_measurements_contradict_is_an_error() {
        let claim = |word| format!("a\n{{{{holds {word} lab fib steal 1 / lab fib none 1}}}}");
        assert_eq!(filled(&claim("more")).unwrap(), "a\n\n");
        for word in ["less", "open"] {
            assert!(error(&claim(word)).starts_with("line 2 of the template"), "{word}");
            assert!(
                error(&claim(word)).ends_with("the measurements say More: change the sentence")
            );
        }
        assert!(error("{{holds less bench fib none / bench fib none}}").contains("say Open"));
    }

    #[test]
    fn a_ratio_of_two_sizes_is_an_error() {
        let words =
            |n: &str| format!("{{{{over lab tree lifo 2 n={n} / lab tree lifo 2 n=1048576}}}}");
        assert!(filled(&words("1048576")).is_ok());
        let mut data = committed().0;
        let cases = &mut data.0.get_mut("lab").unwrap().cases;
        let mut other = cases.iter().find(|case| case.program == "tree").unwrap().clone();
        (other.by, other.threads, other.n) = ("lifo".into(), 2, 8);
        (other.deque, other.idle, other.warm) = (None, None, None);
        cases.push(other);
        let error = fill(&words("8"), &data, &committed().1).err().unwrap();
        assert!(format!("{error:#}").contains("add n="), "{error:#}");
    }

    #[test]
    fn what_is_not_measured_is_an_error() {
        for place in [
            "ns lab nosuch steal 2",
            "value lab fib steal 2 of=nosuch",
            "ns lab fib steal 3",
            "nosuch lab fib steal 2",
            "over bench fib steal 1 / bench fib none",
            "predicted fib steal 3",
            "see nosuch",
            "table nosuch",
            "about lab nosuch",
        ] {
            assert!(filled(&format!("{{{{{place}}}}}")).is_err(), "{place}");
        }
        assert!(filled("{{ns lab fib steal 2").is_err());
    }

    #[test]
    fn french_numbers_have_commas() {
        let place = "{{about lab iteration}} {{tasks lab fib none}}";
        let text = filled(&format!("{place}\n<!-- fr -->\n{place}\n<!-- en -->\n{place}")).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], lines[2]);
        assert_eq!(lines[1], lines[0].replace(',', "\u{202f}").replace('.', ","));
        assert_ne!(lines[1], lines[0]);
    }

    #[test]
    fn a_session_is_named_with_its_day_and_its_systems() {
        let (mut data, predictions) = committed();
        let about = &mut data.0.get_mut("peers").unwrap().about;
        about.date = Some("2025-03-01 12:30".into());
        about.machine.cpu = "P".into();
        about.machine.cpu_details = Some("family 25".into());
        (about.machine.cores, about.cores_ours) = (4, 3.5);
        let systems = [
            ("libsched", about.machine.version.clone() + ", as it is"),
            ("boost.context", "Boost 1.74".into()),
            ("boost.fiber", "Boost 1.74".into()),
            ("go", "Go 1.19".into()),
            ("libgomp", "OpenMP of GCC".into()),
        ];
        about.systems = systems.map(|(name, version)| (name.to_owned(), version)).into();
        let place = |field: &str| format!("{{{{about peers {field}}}}}");
        let fields = ["date", "processor", "state", "systems"].map(place).join("|");
        let text = fill(&fields, &data, &predictions).unwrap().text;
        let systems = "Boost 1.74; Go 1.19; OpenMP of GCC (libgomp)";
        assert_eq!(text, format!("March 1, 2025|P (family 25)|busy|{systems}\n"));
        let session = data.0.get_mut("peers").unwrap();
        // The cores were ours, but a neighbour slowed a serial program.
        session.about.cores_ours = 3.7;
        session.about.failures.clear();
        session.cases.retain(|case| case.by != "serial");
        assert!(!session.is_busy() && session.spread().is_none());
        let mut serial = session.cases[0].clone();
        serial.by = "serial".into();
        serial.values = [("seconds".into(), vec![Some(0.5), None, Some(0.4), Some(0.6)])].into();
        session.cases.push(serial);
        let fields = ["state", "spread"].map(place).join("|");
        assert_eq!(fill(&fields, &data, &predictions).unwrap().text, "busy|1.50\n");
        assert_eq!(fill(&place("failures"), &data, &predictions).unwrap().text, "\n");
        let about = &mut data.0.get_mut("peers").unwrap().about;
        about.date = None;
        about.failures = ["go: tree: it waits", "java: fib: too deep"].map(str::to_owned).into();
        let text = fill(&place("failures"), &data, &predictions).unwrap().text;
        assert_eq!(text, "These runs failed: go: tree: it waits; java: fib: too deep.\n");
        assert!(fill(&place("date"), &data, &predictions).is_err());
    }

    #[test]
    fn figures_are_numbered_as_they_come() {
        let text = filled("{{see b}}\n{{drawing a: A}}\n{{figure b: <em>B</em>}}").unwrap();
        assert!(text.starts_with("2\n<figure>\n<img src=\"report-a.svg\" alt=\"A\">"));
        assert!(text.contains("alt=\"B\">\n<figcaption>Figure 2. <em>B</em>"));
    }
}
