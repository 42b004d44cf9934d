//! The places of a template: each figure of measurement in a page is a call of a function, which says
//! where the value comes from. minijinja renders the template.
//!
//! | place | becomes |
//! | --- | --- |
//! | `ns("CASE")`, `us`, `ms` | the median time of a task in ns, or of a run in µs or ms |
//! | `value("CASE of=NAME")` | the median of another value of the program |
//! | `nsq`, `usq`, `msq`, `valueq`, `speedupq` | the same with the quartiles |
//! | `speedup("CASE")` | the serial program's median time over the case's |
//! | `both("NAME CASE")` | the medians of a value on 1 and 2 threads |
//! | `factor("CASE / CASE")` | the first median over the second |
//! | `over("CASE / CASE")` | the ratio of times within the rounds, with its 95 % interval |
//! | `verdict("CASE / CASE")` | what that ratio says of the first: faster, slower, or neither |
//! | `holds("less CASE / CASE")` | nothing; it is an error if the ratio does not say so |
//! | `predicted("PROGRAM POLICY P")`, `best("PROGRAM POLICY")` | the predicted speed-up; the greatest |
//! | `parallelism("PROGRAM")`, `agreement()` | work over span; how far predictions agree |
//! | `tasks("CASE")`, `count("CASE of=NAME")` | the number of its tasks; a value as a whole number |
//! | `grain("N")`, `gain("KIND N")` | how many ns a task of N iterations takes; its speed-up |
//! | `about("SESSION FIELD")` | how a session was measured |
//! | `figure("NAME: CAPTION")`, `drawing` | a figure with its number |
//! | `see("NAME")`, `again("NAME: CAPTION")` | the number of that figure; the figure once more |
//! | `table(heads, rows, columns)` | a table, see [`super::table`] |
//!
//! A CASE is a session, a program, a kind or system, and the number of threads, if that is not 1:
//! `lab tree steal 2 deque=spin`. `{% set lang = "fr" %}` sets the language of the numbers that
//! follow.
//!
//! `holds` guards the sentences: their words were written for one set of measurements, and new
//! measurements that no longer support them stop the program, which names the sentence.

use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail, ensure};
use minijinja::value::Rest;
use minijinja::{Environment, ErrorKind, State, UndefinedBehavior};
use sched_estimate::{Estimate, Verdict};
use sched_tools::number::{short, thousands};

use super::figures::{gain, task_ns};
use super::measurements::{Measurements, Selector};
use super::predictions::Predictions;
use super::table::table;
use crate::statistics::quartiles::Quartiles;

/// The language of numbers and of the words around them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    English,
    French,
}

impl Language {
    fn of(state: &State) -> Language {
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

/// What the places of a template are filled from.
pub struct Source {
    pub data: Measurements,
    pub predictions: Predictions,
    /// The figures and drawings, in the order in which they come.
    pub figures: Vec<String>,
}

const VERBS: &[&str] = &[
    "ns",
    "us",
    "ms",
    "value",
    "speedup",
    "nsq",
    "usq",
    "msq",
    "valueq",
    "speedupq",
    "both",
    "factor",
    "over",
    "verdict",
    "holds",
    "predicted",
    "best",
    "parallelism",
    "tasks",
    "count",
    "grain",
    "gain",
    "about",
    "figure",
    "drawing",
    "see",
    "again",
];

/// The rendered template.
pub fn fill(template: &str, source: &Arc<Source>) -> Result<String> {
    let mut env = Environment::new();
    env.set_undefined_behavior(UndefinedBehavior::Strict);
    env.set_keep_trailing_newline(true);
    env.set_trim_blocks(true);
    for &verb in VERBS {
        let source = Arc::clone(source);
        env.add_function(verb, move |state: &State, words: &str| {
            let language = Language::of(state);
            source
                .place(verb, words, language)
                .map_err(|e| refused(&e, &format!("{verb}(\"{words}\")")))
        });
    }
    let agreement = source.predictions.agreement.clone();
    env.add_function("agreement", move || agreement.clone());
    let of_table = Arc::clone(source);
    env.add_function("table", move |state: &State, heads, rows, columns, options| {
        let cell = |place: &str| of_table.cell(place, Language::of(state));
        table(heads, rows, columns, options, cell).map_err(|e| refused(&e, "table"))
    });
    env.add_function("product", |lists: Rest<Vec<String>>| product(&lists));
    env.add_global("programs", source.predictions.programs.clone());
    let rendered = env.render_named_str("the template", template, ());
    rendered.map_err(|e| {
        let cause = e.detail().map_or_else(|| e.to_string(), str::to_owned);
        anyhow!("line {} of the template: {cause}", e.line().unwrap_or(0))
    })
}

/// The rows of a table: each text of the first list with each of the second, and so on.
fn product(lists: &[Vec<String>]) -> Vec<Vec<String>> {
    lists.iter().fold(vec![Vec::new()], |rows, list| {
        let with =
            |row: &Vec<String>, text: &String| [&row[..], std::slice::from_ref(text)].concat();
        rows.iter().flat_map(|row| list.iter().map(move |text| with(row, text))).collect()
    })
}

fn refused(why: &anyhow::Error, place: &str) -> minijinja::Error {
    minijinja::Error::new(ErrorKind::InvalidOperation, format!("{place}: {why:#}"))
}

/// The names of the figures and drawings of a template.
pub fn figures(template: &str) -> Vec<String> {
    let places = template.split("{{").skip(1).filter_map(|rest| {
        let place = rest.strip_prefix("figure(\"").or_else(|| rest.strip_prefix("drawing(\""))?;
        Some(place.split_once(':')?.0.trim().to_owned())
    });
    places.collect()
}

impl Source {
    /// The cell of a table: `=TEXT`, or a verb and its words. None if it was not measured.
    fn cell(&self, place: &str, language: Language) -> Option<String> {
        if let Some(text) = place.strip_prefix('=') {
            return Some(text.to_owned());
        }
        let (verb, words) = place.split_once(' ')?;
        self.place(verb, words, language).ok()
    }

    fn place(&self, verb: &str, rest: &str, language: Language) -> Result<String> {
        let words: Vec<&str> = rest.split_whitespace().collect();
        let predictions = &self.predictions;
        Ok(match verb {
            "figure" | "drawing" => self.figure(rest, "Figure")?,
            "again" => {
                self.figure(rest, language.choose("Again figure", "Reprise de la figure"))?
            }
            "see" => self.number(rest)?.to_string(),
            "about" => self.about(&words, language)?,
            "grain" => language.number(task_ns(&self.data, rest).context("iterations")?),
            "gain" => {
                let [kind, grain] = words[..] else { bail!("a kind and a number of iterations") };
                language.number(gain(&self.data, kind, grain).context("not measured")?.median)
            }
            "count" => language.grouped(self.quartiles("value", &words)?.median.round() as u64),
            "tasks" => language.grouped(self.data.case(&Selector::parse(&words)?)?.tasks),
            "parallelism" => {
                language.text(predictions.parallelism(rest).context("no such program")?)
            }
            "predicted" => {
                let [program, policy, workers] = words[..] else { bail!("program, policy, P") };
                let speedup = predictions.speedup(program, policy, workers.parse()?);
                language.number(speedup.context("not predicted")?)
            }
            "best" => {
                let [program, policy] = words[..] else { bail!("program, policy") };
                let of = |w: usize| Some((predictions.speedup(program, policy, w)?, w));
                let all = predictions.workers().into_iter().filter_map(of);
                let (speedup, workers) =
                    all.max_by(|a, b| a.0.total_cmp(&b.0)).context("not predicted")?;
                format!("{} ({workers})", language.number(speedup))
            }
            "over" => {
                let Estimate { low, value, high } = self.ratio(rest)?;
                language.between(low, value, high)
            }
            "verdict" => match self.ratio(rest)?.against(1.0) {
                Verdict::Less => language.choose("faster", "plus rapide").into(),
                Verdict::More => language.choose("slower", "plus lent").into(),
                Verdict::Open => {
                    language.choose("no difference seen", "aucune différence visible").into()
                }
            },
            "factor" => {
                let (what, over) = self.two(rest)?;
                let median = |s: &Selector| anyhow::Ok(self.data.case(s)?.quartiles(&s.of)?.median);
                language.number(median(&what)? / median(&over)?)
            }
            "holds" => {
                let (claim, rest) = rest.split_once(' ').context("a claim")?;
                self.check(claim, rest)?;
                String::new()
            }
            "both" => {
                let [name, words @ ..] = &words[..] else { bail!("a value and a case") };
                let median = |threads| {
                    let selector = Selector { threads, ..Selector::parse(words)? };
                    self.data.case(&selector)?.quartiles(name)
                };
                let found = [1, 2].into_iter().filter_map(|threads| median(threads).ok());
                let texts: Vec<String> = found.map(|q| language.number(q.median)).collect();
                ensure!(!texts.is_empty(), "not measured on 1 or 2 threads");
                texts.join(" / ")
            }
            _ => match verb.strip_suffix('q') {
                Some(name) => {
                    let Quartiles { low, median, high } = self.quartiles(name, &words)?;
                    language.between(low, median, high)
                }
                None => language.number(self.quartiles(verb, &words)?.median),
            },
        })
    }

    fn quartiles(&self, name: &str, words: &[&str]) -> Result<Quartiles> {
        let selector = Selector::parse(words)?;
        let case = self.data.case(&selector)?;
        match name {
            "value" => case.quartiles(&selector.of),
            "speedup" => {
                let serial = Selector {
                    by: "none".into(),
                    threads: 1,
                    deque: None,
                    idle: None,
                    ..selector.clone()
                };
                let serial = self.data.case(&serial)?.quartiles("seconds")?;
                Ok(case.quartiles("seconds")?.under(serial.median))
            }
            name => case.quartiles(name),
        }
    }

    fn two(&self, words: &str) -> Result<(Selector, Selector)> {
        let (what, over) = words.split_once(" / ").context("two cases, with ` / ` between them")?;
        let parse = |text: &str| Selector::parse(&text.split_whitespace().collect::<Vec<_>>());
        let (what, over) = (parse(what)?, parse(over)?);
        let (one, other) = (self.data.case(&what)?, self.data.case(&over)?);
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

    fn ratio(&self, words: &str) -> Result<Estimate> {
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
            let of = |s: &Selector| self.data.case(s)?.quartiles(&s.of);
            let (what, over) = (of(&what)?, of(&over)?);
            Estimate { low: what.low / over.high, value: 1.0, high: what.high / over.low }
                .against(1.0)
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

    fn about(&self, words: &[&str], language: Language) -> Result<String> {
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
                ensure!(language == Language::English, "dates are in English");
                let date = about.date.as_deref().context("no date")?;
                sched_tools::provenance::day(date).with_context(|| date.to_owned())?
            }
            "seconds" => format!("{:.0}", about.total_seconds),
            "minutes" => format!("{:.0}", about.total_seconds / 60.0),
            "iteration" => language.number(about.iteration_ns),
            "systems" => about.others().join("; "),
            // Of a session in which none failed, nothing.
            "failures" if about.failures.is_empty() => String::new(),
            "failures" => format!("These runs failed: {}.", about.failures.join("; ")),
            "ours" => language.number(about.cores_ours),
            "state" if session.is_busy() => "busy".to_owned(),
            "state" => "quiet".to_owned(),
            "spread" => language.number(session.spread().context("no serial program")?),
            other => {
                about.systems.get(other).cloned().with_context(|| format!("no field `{other}`"))?
            }
        })
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::pages::report::committed;

    pub fn filled(template: &str) -> Result<String> {
        with(committed(), template)
    }

    fn with((data, predictions): (Measurements, Predictions), template: &str) -> Result<String> {
        fill(template, &Arc::new(Source { data, predictions, figures: figures(template) }))
    }

    fn error(template: &str) -> String {
        format!("{:#}", filled(template).unwrap_err())
    }

    #[test]
    fn a_sentence_that_the_measurements_contradict_is_an_error() {
        let claim = |word| format!("a\n{{{{holds(\"{word} lab fib steal 1 / lab fib none 1\")}}}}");
        assert_eq!(filled(&claim("more")).unwrap(), "a\n");
        for word in ["less", "open"] {
            let error = error(&claim(word));
            assert!(error.starts_with("line 2 of the template"), "{error}");
            assert!(error.ends_with("the measurements say More: change the sentence"), "{error}");
        }
        let same = "{{holds(\"less bench fib none / bench fib none\")}}";
        assert!(error(same).contains("say Open"));
    }

    #[test]
    fn a_ratio_of_two_sizes_is_an_error() {
        let words = |n: &str| {
            format!("{{{{over(\"lab tree lifo 2 n={n} / lab tree lifo 2 n=1048576\")}}}}")
        };
        assert!(filled(&words("1048576")).is_ok());
        let (mut data, predictions) = committed();
        let cases = &mut data.0.get_mut("lab").unwrap().cases;
        let mut other = cases.iter().find(|case| case.program == "tree").unwrap().clone();
        (other.by, other.threads, other.n) = ("lifo".into(), 2, 8);
        (other.deque, other.idle, other.warm) = (None, None, None);
        cases.push(other);
        let error = with((data, predictions), &words("8")).unwrap_err();
        assert!(format!("{error:#}").contains("add n="), "{error:#}");
    }

    #[test]
    fn what_is_not_measured_is_an_error() {
        for place in [
            "ns(\"lab nosuch steal 2\")",
            "value(\"lab fib steal 2 of=nosuch\")",
            "ns(\"lab fib steal 3\")",
            "nosuch(\"lab fib steal 2\")",
            "over(\"bench fib steal 1 / bench fib none\")",
            "predicted(\"fib steal 3\")",
            "see(\"nosuch\")",
            "about(\"lab nosuch\")",
        ] {
            assert!(filled(&format!("{{{{{place}}}}}")).is_err(), "{place}");
        }
        assert!(filled("{{ns(\"lab fib steal 2\")").is_err());
    }

    #[test]
    fn french_numbers_have_commas() {
        let place = "{{about(\"lab iteration\")}} {{tasks(\"lab fib none\")}}\n";
        let set = |lang| format!("{{% set lang = \"{lang}\" %}}\n{place}");
        let text = filled(&format!("{place}{}{}", set("fr"), set("en"))).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!((lines[0], lines.len()), (lines[2], 3));
        assert_eq!(lines[1], lines[0].replace(',', "\u{202f}").replace('.', ","));
        assert_ne!(lines[1], lines[0]);
    }

    #[test]
    fn a_session_is_named_with_its_day_and_its_systems() {
        let edited = |edit: &dyn Fn(&mut super::super::measurements::Session), fields: &[&str]| {
            let (mut data, predictions) = committed();
            edit(data.0.get_mut("peers").unwrap());
            let place = |field: &&str| format!("{{{{about(\"peers {field}\")}}}}");
            let places: Vec<String> = fields.iter().map(place).collect();
            with((data, predictions), &places.join("|"))
        };
        let named = edited(
            &|session| {
                let about = &mut session.about;
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
            },
            &["date", "processor", "state", "systems"],
        );
        let systems = "Boost 1.74; Go 1.19; OpenMP of GCC (libgomp)";
        assert_eq!(named.unwrap(), format!("March 1, 2025|P (family 25)|busy|{systems}"));
        // The cores were ours, but a neighbour slowed a serial program.
        let slowed = edited(
            &|session| {
                session.about.cores_ours = session.about.machine.cores as f64;
                session.about.failures.clear();
                session.cases.retain(|case| case.by != "serial");
                assert!(!session.is_busy() && session.spread().is_none());
                let mut serial = session.cases[0].clone();
                serial.by = "serial".into();
                let seconds = vec![Some(0.5), None, Some(0.4), Some(0.6)];
                serial.values = [("seconds".into(), seconds)].into();
                session.cases.push(serial);
            },
            &["state", "spread", "failures"],
        );
        assert_eq!(slowed.unwrap(), "busy|1.50|");
        let failed = |session: &mut super::super::measurements::Session| {
            session.about.date = None;
            session.about.failures =
                vec!["go: tree: it waits".into(), "java: fib: too deep".into()];
        };
        let text = edited(&failed, &["failures"]).unwrap();
        assert_eq!(text, "These runs failed: go: tree: it waits; java: fib: too deep.");
        assert!(edited(&failed, &["date"]).is_err());
    }

    #[test]
    fn figures_are_numbered_as_they_come() {
        let places = "{{see(\"b\")}}\n{{drawing(\"a: A\")}}\n{{figure(\"b: <em>B</em>\")}}";
        let text = filled(places).unwrap();
        assert!(text.starts_with("2\n<figure>\n<img src=\"report-a.svg\" alt=\"A\">"));
        assert!(text.contains("alt=\"B\">\n<figcaption>Figure 2. <em>B</em>"));
    }
}
