//! The places of a template: each figure of measurement in a page is a call of a function, which says
//! where the value comes from. minijinja renders the template.
//!
//! | place | becomes |
//! | --- | --- |
//! | `ns("CASE")`, `us`, `ms` | the median time of a task in ns, or of a run in µs or ms |
//! | `value("CASE of=NAME")` | the median of another value of the program |
//! | `nsq`, `msq`, `valueq`, `speedupq` | the same with the quartiles |
//! | `speedup("CASE")` | the serial program's median time over the case's |
//! | `both("NAME CASE")` | the medians of a value on 1 and 2 threads |
//! | `factor("CASE / CASE")` | the first median over the second |
//! | `holds("less CASE / CASE")` | nothing; it is an error if the ratio does not say so |
//! | `pace("CASE / CASE")` | "is 12.5 [11.1–14.1] times as fast as": of the laboratory's cases the
//!   ratio within the rounds, with its 95 % interval |
//! | `predicted("PROGRAM POLICY P")`, `best("PROGRAM POLICY")` | the predicted speed-up; the greatest |
//! | `parallelism("PROGRAM")`, `agreement()` | work over span; how far predictions agree |
//! | `tasks("CASE")`, `count("CASE of=NAME")` | the number of its tasks; a value as a whole number |
//! | `grain("N")`, `gain("KIND N")` | how many ns a task of N iterations takes; its speed-up |
//! | `about("SESSION FIELD")` | how a session was measured |
//! | `figure("NAME: CAPTION")`, `drawing` | a figure with its number |
//! | `see("NAME")` | the number of that figure |
//! | `table(heads, rows, columns)`, `chart(NAME, …)` | a table, see `table`; a figure, see `charts` |
//! | `origin()` | a sentence on the session that the values are from |
//!
//! [`source`] has the places, `findings` what a page says of several cases, and this module the
//! functions of templates, among them those that make rows and columns.
//!
//! A CASE is a session, a program, a kind or system, and the number of threads, if that is not 1:
//! `lab tree steal 2 deque=spin`. `{% set lang = "fr" %}` sets the language of the numbers that
//! follow.
//!
//! `holds` guards the sentences: their words were written for one set of measurements, and new
//! measurements that no longer support them stop the program, which names the sentence.

pub mod blocks;
mod charts;
mod findings;
mod lines;
mod source;
mod table;

use std::path::Path;
use std::sync::{Arc, Mutex};

use anyhow::{Result, anyhow};
use minijinja::value::{Kwargs, Rest, Value};
use minijinja::{Environment, ErrorKind, State, UndefinedBehavior};
use sched_tools::number::{thousands, threads};
use sched_tools::text::sentence;

use crate::figures::Figure;
use crate::run::plan::{Plan, program_named};
pub use lines::reflowed;
pub use source::Source;
use source::{Language, interval};
use table::table;

/// A filled template, and its charts by their names.
pub struct Filled {
    pub text: String,
    pub charts: Vec<(String, Figure)>,
}

impl Filled {
    /// Writes the charts as SVG files.
    pub fn draw(&self, folder: &Path, note: &str) -> Result<()> {
        self.charts.iter().try_for_each(|(name, figure)| {
            let path = folder.join(format!("{name}.svg"));
            figure.draw(&path, note)
        })
    }
}

const VERBS: &[&str] = &[
    "ns",
    "us",
    "ms",
    "value",
    "speedup",
    "nsq",
    "msq",
    "valueq",
    "speedupq",
    "both",
    "factor",
    "pace",
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
];

type Texts = Vec<String>;

/// The template, filled.
pub fn fill(template: &str, source: Source) -> Result<Filled> {
    let mut env = Environment::new();
    env.set_undefined_behavior(UndefinedBehavior::Strict);
    env.set_keep_trailing_newline(true);
    env.set_trim_blocks(true);
    env.set_lstrip_blocks(true);
    let source = Arc::new(source);
    for &verb in VERBS {
        let source = Arc::clone(&source);
        env.add_function(verb, move |state: &State, words: &str| {
            let place = || format!("{verb}(\"{words}\")");
            source.place(verb, words, Language::of(state)).map_err(|e| refused(&e, &place()))
        });
    }
    let charts = Arc::new(Mutex::new(Vec::new()));
    add_lists(&mut env, source.plan);
    add_findings(&mut env, &source);
    let (of, drawn) = (Arc::clone(&source), Arc::clone(&charts));
    env.add_function("chart", move |name: String, options: Kwargs| {
        let figure = charts::figure(&of, &options).map_err(|e| refused(&e, &name))?;
        let text = format!("![{}]({name}.svg)", figure.title);
        let empty = figure.panels.is_empty();
        if !empty {
            drawn.lock().expect("no panic holds it").push((name, figure));
        }
        Ok::<_, minijinja::Error>(if empty { String::new() } else { text })
    });
    env.add_global("simulated", source.simulated());
    let asked = source.asked.clone();
    env.add_function("asked", move |name: &str| {
        asked.is_empty() || asked.iter().any(|question| question == name)
    });
    env.add_global("doubt", source.doubt);
    env.add_global("opening", source.opening.clone());
    let workers = source.workers();
    env.add_global("workers", workers.iter().map(ToString::to_string).collect::<Texts>());
    if let Some(plan) = source.plan {
        for (name, set) in plan.sets() {
            env.add_global(name, set);
        }
        for name in ["cases", "algorithms"] {
            env.add_global(
                name,
                plan.rows(name).map(|rows| rows.iter().map(|r| r.to_vec()).collect::<Vec<_>>()),
            );
        }
        env.add_global("many", plan.many().to_string());
        env.add_global("cores", plan.cores.to_string());
    }
    let rendered = env.render_named_str("the template", template, ());
    let text = rendered.map_err(|e| {
        let cause = e.detail().map_or_else(|| e.to_string(), str::to_owned);
        anyhow!("line {} of the template: {cause}", e.line().unwrap_or(0))
    })?;
    drop(env);
    let charts = std::mem::take(&mut *charts.lock().expect("no panic holds it"));
    Ok(Filled { text, charts })
}

/// Functions that make rows and columns.
fn add_lists(env: &mut Environment, plan: Option<Plan>) {
    env.add_function("product", |lists: Rest<Texts>| product(&lists));
    // Rows of which the first text and the words have `{}` for each name.
    env.add_function("rows", |first: &str, names: Texts, words: &str, unit: &str| -> Vec<Texts> {
        let row =
            |name: &String| vec![first.replace("{}", name), words.replace("{}", name), unit.into()];
        names.iter().map(row).collect()
    });
    // Columns for each number of threads: `#` in a head is "2 threads", `{t}` the number.
    env.add_function("each", |counts: Texts, columns: Vec<Texts>| -> Vec<Texts> {
        let fill = |text: &String, t: &String| {
            text.replace('#', &threads(t.parse().unwrap_or(0))).replace("{t}", t)
        };
        let of = |t: &String| {
            columns.iter().map(|c| c.iter().map(|x| fill(x, t)).collect()).collect::<Vec<Texts>>()
        };
        counts.iter().flat_map(of).collect()
    });
    // Columns for each row of another table: `{c1}` is the second text of that row.
    env.add_function("by_rows", |rows: Vec<Texts>, pattern: &str| -> Vec<Texts> {
        let place = |row: &Texts| {
            let texts = row.iter().enumerate();
            texts.fold(pattern.to_owned(), |p, (i, text)| p.replace(&format!("{{c{i}}}"), text))
        };
        rows.iter().map(|row| vec![row[0].clone(), place(row)]).collect()
    });
    // A column for each name, which takes the place of `#`.
    env.add_function("coded_as", |names: Texts, place: &str| -> Vec<Texts> {
        names.iter().map(|name| vec![name.clone(), place.replace('#', name)]).collect()
    });
    // Panels of programs and numbers of threads.
    env.add_function("crossed", |counts: Texts, programs: Texts| -> Vec<Texts> {
        let panel = |t: &String, p: &String| {
            vec![format!("{p}, {}", threads(t.parse().unwrap_or(0))), p.clone(), t.clone()]
        };
        counts.iter().flat_map(|t| programs.iter().map(move |p| panel(t, p))).collect()
    });
    let many = plan.map_or(2, |plan| plan.many());
    env.add_function("mutex", |what: &str, t: Value, data: &str| -> Vec<Texts> {
        let threads = "... by threads, with a pthread mutex";
        let [own, bare] = [format!("steal {t} data={data}"), format!("none data=pthread-{data}")]
            .map(|case| format!("mutex {case} of=ns_a_section"));
        vec![vec![what.into(), own, "ns".into()], vec![threads.into(), bare, "ns".into()]]
    });
    env.add_function("ideal", move |what: &str, program: &str, data: &str| -> Vec<Texts> {
        let case = format!("{program} steal {many} data={data} of=over_ideal");
        vec![vec![what.into(), case, format!("× serial/{many}")]]
    });
    env.add_function("sparse", move |who: &str, threads: usize| -> Vec<Texts> {
        let list = vec![who.to_owned(), "a list".into(), format!("none data=list-{threads}")];
        let pool = |kind: &&str| {
            vec![who.to_owned(), (*kind).into(), format!("{kind} {many} data=pool-{threads}")]
        };
        std::iter::once(list).chain(["lifo", "fifo", "steal", "cont"].iter().map(pool)).collect()
    });
    add_lists_of_lab(env);
    env.add_function("size", move |program: &str| plan.map_or(0, |plan| plan.size(program)));
    env.add_function("what", |program: &str| program_named(program).map_or("", |p| &p.what[..]));
    env.add_function("threads_words", |t: &str| threads(t.parse().unwrap_or(0)));
    env.add_filter("sentence", |text: &str| sentence(text));
    // A heading and its table, if that has rows.
    env.add_function("heading", |heading: &str, table: &str| {
        if table.is_empty() { String::new() } else { format!("{heading}\n{table}\n\n") }
    });
}

/// The rows, columns and panels of the laboratory. A case is a name, a name in figures, and words.
fn add_lists_of_lab(env: &mut Environment) {
    let text = |words: &str| words.to_owned();
    env.add_function("named", |words: Texts| -> Vec<Texts> {
        let name = |words: &String| words.split(' ').next().unwrap_or_default().to_owned();
        words.iter().map(|words| vec![name(words), name(words), words.clone()]).collect()
    });
    env.add_function("coded", |cases: Vec<Texts>| -> Vec<Texts> {
        cases.iter().map(|c| vec![c[1].clone(), c[2].clone()]).collect()
    });
    env.add_function("figured", |cases: Vec<Texts>, all: &str| -> Vec<Texts> {
        let each = cases.iter().map(|c| vec![c[1].clone(), c[2].clone()]);
        each.chain([vec!["all".into(), all.to_owned()]]).collect()
    });
    env.add_function("figured_cases", |cases: Vec<Texts>| -> Vec<Texts> {
        cases.iter().map(|c| vec![format!("{} ({})", c[0], c[1]), c[2].clone()]).collect()
    });
    // A panel's fourth text is the title of its y axis.
    env.add_function("lock_panels", move |uses: Vec<Texts>| -> Vec<Texts> {
        let panel = |what: &str, of: &str, y: &str, u: &Texts| {
            vec![format!("{}: {what}", sentence(&u[0])), u[1].clone(), text(of), text(y)]
        };
        let two = |u: &Texts| {
            [
                panel("time", "ns_a_task", "ns per task", u),
                panel("slept at the lock", "slept", "% of the uses", u),
            ]
        };
        uses.iter().flat_map(two).collect()
    });
}

/// Functions that say what the measurements show.
fn add_findings(env: &mut Environment, source: &Arc<Source>) {
    let of = Arc::clone(source);
    env.add_function("agreement", move || of.agreement().map_err(|e| refused(&e, "agreement()")));
    let of = Arc::clone(source);
    env.add_function("origin", move || of.data.origin().map_err(|e| refused(&e, "origin()")));
    let of = Arc::clone(source);
    env.add_function("losses", move |rows: Vec<Texts>, systems: Vec<Texts>| {
        of.losses(&rows, &systems).map_err(|e| refused(&e, "losses"))
    });
    let of = Arc::clone(source);
    env.add_function("interval", move |words: &str| {
        interval(of.estimate(&format!("interval {words}")))
    });
    let of = Arc::clone(source);
    env.add_function("table", move |state: &State, heads, rows, columns, options| {
        let cell = |place: &str| of.cell(place, Language::of(state));
        table(heads, rows, columns, options, cell).map_err(|e| refused(&e, "table"))
    });
    let of = Arc::clone(source);
    env.add_function("told", move |names: Texts, pattern: &str| of.told(&names, pattern));
    let of = Arc::clone(source);
    env.add_function("sorted_out", move |rows: Vec<Texts>, pattern: &str, words: Texts| {
        of.sorted_out(&rows, pattern, &words).map_err(|e| refused(&e, pattern))
    });
    let of = Arc::clone(source);
    env.add_function("gains", move |names: Texts, pattern: &str, threads: Texts| {
        of.gains(&names, pattern, &threads)
    });
    let of = Arc::clone(source);
    env.add_function("pays", move |kinds: Texts, grains: Texts, t: &str| {
        of.pays(&kinds, &grains, t)
    });
    let of = Arc::clone(source);
    env.add_function("shares", move |names: Texts, pattern: &str| of.shares(&names, pattern));
    // Panels of programs with their numbers of tasks.
    let of = Arc::clone(source);
    env.add_function("counted", move |programs: Texts| -> Vec<Texts> {
        let tasks = |p: &String| of.data.find(&format!("bench {p} none")).map_or(0, |m| m.tasks);
        let title = |p: &String| format!("{p} ({} tasks)", thousands(tasks(p)));
        programs.iter().map(|p| vec![title(p), p.clone()]).collect()
    });
    let of = Arc::clone(source);
    env.add_function("parallel", move |programs: Texts| -> Vec<Texts> {
        let title = |p: &String| {
            let parallelism = of.cell(&format!("parallelism {p}"), Language::English);
            format!("{p} (work / span {})", parallelism.unwrap_or_else(|| "unknown".into()))
        };
        programs.iter().map(|p| vec![title(p), p.clone()]).collect()
    });
    let of = Arc::clone(source);
    env.add_function("convoys", move |uses: Vec<Texts>, policies: Texts, threads: Texts| {
        of.convoys(&uses, &policies, &threads)
    });
    let of = Arc::clone(source);
    env.add_function("when", move |text: &str| of.when(text));
}

/// The rows of a table: each text of the first list with each of the second, and so on.
fn product(lists: &[Texts]) -> Vec<Texts> {
    lists.iter().fold(vec![Vec::new()], |rows, list| {
        let with = |row: &Texts, text: &String| [&row[..], std::slice::from_ref(text)].concat();
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

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::data::{Case, Measurements, Session};
    use crate::pages::publish::committed;

    pub fn filled(template: &str) -> Result<String> {
        with(committed(), template)
    }

    fn with(data: Measurements, template: &str) -> Result<String> {
        let figures = figures(template);
        Ok(fill(template, Source { data, figures, ..Source::default() })?.text)
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
            format!("{{{{pace(\"lab tree lifo 2 n={n} / lab tree lifo 2 n=1048576\")}}}}")
        };
        assert!(filled(&words("1048576")).is_ok());
        let mut data = committed();
        let cases = &mut data.0.get_mut("lab").unwrap().cases;
        let mut other = cases.iter().find(|m| m.case.program == "tree").unwrap().clone();
        other.case = Case::parse("tree lifo 2 n=8").unwrap();
        cases.push(other);
        let error = with(data, &words("8")).unwrap_err();
        assert!(format!("{error:#}").contains("add n="), "{error:#}");
    }

    #[test]
    fn what_is_not_measured_is_an_error() {
        for place in [
            "ns(\"lab nosuch steal 2\")",
            "value(\"lab fib steal 2 of=nosuch\")",
            "ns(\"lab fib steal 3\")",
            "nosuch(\"lab fib steal 2\")",
            "pace(\"bench fib steal 1 / bench fib nosuch\")",
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
    fn a_session_is_named_with_its_processor_and_its_systems() {
        let edited = |edit: &dyn Fn(&mut Session), fields: &[&str]| {
            let mut data = committed();
            edit(data.0.get_mut("peers").unwrap());
            let place = |field: &&str| format!("{{{{about(\"peers {field}\")}}}}");
            let places: Vec<String> = fields.iter().map(place).collect();
            with(data, &places.join("|"))
        };
        let named = edited(
            &|session| {
                let about = &mut session.about;
                about.machine.cpu = "P".into();
                about.machine.cpu_details = Some("family 25".into());
                let systems = [
                    ("libsched", about.machine.version.clone() + ", as it is"),
                    ("boost.context", "Boost 1.74".into()),
                    ("boost.fiber", "Boost 1.74".into()),
                    ("go", "Go 1.19".into()),
                    ("libgomp", "OpenMP of GCC".into()),
                ];
                about.systems = systems.map(|(name, version)| (name.to_owned(), version)).into();
            },
            &["processor", "systems"],
        );
        let systems = "Boost 1.74; Go 1.19; OpenMP of GCC (libgomp)";
        assert_eq!(named.unwrap(), format!("P (family 25)|{systems}"));
        let failed = |session: &mut Session| {
            session.about.failures =
                vec!["go: tree: it waits".into(), "java: fib: too deep".into()];
        };
        let text = edited(&failed, &["failures"]).unwrap();
        assert_eq!(text, "These runs failed: go: tree: it waits; java: fib: too deep.");
        let none = |session: &mut Session| session.about.failures.clear();
        assert_eq!(edited(&none, &["failures"]).unwrap(), "");
    }

    #[test]
    fn figures_are_numbered_as_they_come() {
        let places = "{{see(\"b\")}}\n{{drawing(\"a: A\")}}\n{{figure(\"b: <em>B</em>\")}}";
        let text = filled(places).unwrap();
        assert!(text.starts_with("2\n<figure>\n<img src=\"report-a.svg\" alt=\"A\">"));
        assert!(text.contains("alt=\"B\">\n<figcaption>Figure 2. <em>B</em>"));
    }
}
