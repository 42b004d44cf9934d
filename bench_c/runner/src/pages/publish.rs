//! `make results` measures everything that the pages show, in one session; `make pages` fills the
//! pages.
//!
//! The tables in docs/data are the sessions, condensed. From these alone, the templates of
//! docs/report become docs/RESULTS.md, docs/REPORT.md and docs/LAB.md with their figures, and two
//! blocks of README.md. Sessions that do not belong together are refused. `docs/report/pdf.sh`
//! makes the PDF file of the report.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use sched_tools::provenance;

use super::lab::Lab;
use super::options::Options;
use super::systems::Systems;
use super::template::blocks::{Blocks, WIDTH};
use super::template::{self, Filled, Source, fill, reflowed};
use super::{bench, lab, peers};
use crate::data::{self, Measurements};
use crate::figures::Figure;
use crate::machine::Machine;
use crate::run::plan::Plan;

/// The pages that are templates as a whole, and where they go.
const PAGES: &[(&str, &str)] = &[
    ("report/results.md", "RESULTS.md"),
    ("report/report.md", "REPORT.md"),
    ("report/lab.md", "LAB.md"),
];
/// The template of the blocks of README.md, and its page.
const BLOCKS: (&str, &str) = ("report/readme.md", "../README.md");

/// The systems that sentences of the pages name.
const NAMED: [&str; 7] =
    ["libgomp", "libomp", "onetbb", "rayon", "go", "boost.fiber", "corosensei"];

/// Measures everything that the pages show, and fills them. True if no run of ours failed.
pub fn measure(options: &Options, lab: &Lab, mixed: bool) -> Result<bool> {
    let commit = Machine::look().commit.context("no commit: this is not a clone")?;
    ensure!(mixed || !commit.ends_with('+'), "the tree has changes: commit them first");
    let systems = Systems::look(options.programs)?.found;
    let missing = NAMED.iter().find(|name| systems.iter().all(|system| system.name != **name));
    if let Some(name) = missing.filter(|_| !mixed) {
        bail!("no {name} here, which the pages name: bench_c/peers/install-debian.sh");
    }
    let began = provenance::now();
    let options = Options { began: Some(&began), ..*options };
    bench::compare(&options, None)?;
    peers::compare(&options, &[])?;
    lab::measure(&options, lab)?;
    write(lab.docs, options.results, mixed)
}

/// Condenses the measurements since the last time, and fills the pages.
pub fn write(docs: &Path, results: &Path, mixed: bool) -> Result<bool> {
    let tables = docs.join("data");
    let mut all = match tables.join("sessions.csv").is_file() {
        true => Measurements::read(&tables)?,
        false => Measurements::default(),
    };
    all.0.extend(data::sessions(results)?);
    if !mixed {
        let why = "the pages are made of one session: `make results` measures it, MIXED=1 fills them all the same";
        all.one_session().context(why)?;
    }
    let mut files = pages(docs, &all)?;
    files.extend(all.tables(&tables)?);
    files.iter().try_for_each(|(path, text)| save(path, text))?;
    Ok(true)
}

/// The pages and their figures.
fn pages(docs: &Path, all: &Measurements) -> Result<Vec<(PathBuf, String)>> {
    let mut files = Vec::new();
    let mut draw = |charts: Vec<(String, Figure)>| -> Result<()> {
        for (name, figure) in charts {
            let session = if name.contains("peers") { "peers" } else { "lab" };
            let note = all.session(session)?.about.machine.line();
            files.push((docs.join(format!("{name}.svg")), figure.svg(&note)?));
        }
        Ok(())
    };
    let mut texts = Vec::new();
    for (from, page) in PAGES {
        let (filled, figures) = filled(docs, from, all)?;
        draw(filled.charts)?;
        texts.push((docs.join(page), reflowed(&filled.text, WIDTH), figures));
    }
    let (from, page) = BLOCKS;
    let (filled, _) = filled(docs, from, all)?;
    draw(filled.charts)?;
    let blocks = Blocks::read(&filled.text).with_context(|| from.to_owned())?;
    let page = docs.join(page);
    let text = blocks.put_into(&[&read(&page)?]).with_context(|| page.display().to_string())?;
    files.extend(text.into_iter().map(|text| (page.clone(), text)));
    for (path, text, figures) in texts {
        for name in figures.iter().map(|name| format!("report-{name}.svg")) {
            let path = docs.join(&name);
            let drawn = files.iter().any(|(file, _)| *file == path);
            ensure!(drawn || path.is_file(), "no drawing {name}");
        }
        files.push((path, text));
    }
    Ok(files)
}

/// A template of the folder of pages, and the names of its figures and drawings.
fn filled(docs: &Path, from: &str, all: &Measurements) -> Result<(Filled, Vec<String>)> {
    let text = read(&docs.join(from))?;
    let figures = template::figures(&text);
    // The sets of the laboratory of the session.
    let plan = Some(Plan { cores: all.session("lab")?.about.machine.cores, quick: false });
    let source = Source { data: all.clone(), figures: figures.clone(), plan, ..Source::default() };
    Ok((fill(&text, source).with_context(|| from.to_owned())?, figures))
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

fn save(path: &Path, text: &str) -> Result<()> {
    if std::fs::read_to_string(path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    std::fs::create_dir_all(path.parent().unwrap_or(path))?;
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
    println!("written: {}", path.display());
    Ok(())
}

#[cfg(test)]
fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

/// The measurements from which the committed pages were made.
#[cfg(test)]
pub fn committed() -> Measurements {
    Measurements::read(&docs().join("data")).unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_pages_are_what_their_tables_make() {
        let all = committed();
        let mut files = pages(&docs(), &all).unwrap();
        files.extend(all.tables(&docs().join("data")).unwrap());
        assert_eq!(files.iter().filter(|(path, _)| path.extension().unwrap() == "md").count(), 4);
        for (path, text) in files {
            // Not assert_eq, which would print both pages.
            let same = read(&path).unwrap() == text;
            assert!(same, "{} is not what `make pages` writes: run it", path.display());
        }
    }

    /// A copy of the folder of pages, with README.md beside it.
    fn copy(name: &str) -> PathBuf {
        let root = sched_tools::process::scratch_file(name);
        let folders = ["report", "data", ""];
        for folder in folders {
            std::fs::create_dir_all(root.join("docs").join(folder)).unwrap();
            for entry in std::fs::read_dir(docs().join(folder)).unwrap() {
                let from = entry.unwrap().path();
                if from.is_file() {
                    let to = root.join("docs").join(folder).join(from.file_name().unwrap());
                    std::fs::copy(from, to).unwrap();
                }
            }
        }
        std::fs::copy(docs().join("../README.md"), root.join("README.md")).unwrap();
        root
    }

    #[test]
    fn a_mixture_of_sessions_leaves_the_pages_as_they_are() {
        let root = copy("pages");
        let (docs, results) = (root.join("docs"), root.join("results"));
        let mut one = committed();
        for session in one.0.values_mut() {
            session.about.results = Some("2026-11-29 01:00".into());
            session.about.machine = one_machine();
        }
        let put = |all: &Measurements| {
            for (path, text) in all.tables(&docs.join("data")).unwrap() {
                std::fs::write(path, text).unwrap();
            }
        };
        put(&one);
        write(&docs, &results, false).unwrap();
        let page = read(&docs.join("RESULTS.md")).unwrap();
        assert!(
            page.contains("of one session of `make results`") && page.contains("0123456"),
            "{page}"
        );

        one.0.get_mut("peers").unwrap().about.machine.commit = Some("7654321".into());
        put(&one);
        std::fs::write(docs.join("RESULTS.md"), "as it was").unwrap();
        let error = format!("{:#}", write(&docs, &results, false).unwrap_err());
        assert!(error.contains("are not of one session"), "{error}");
        assert_eq!(read(&docs.join("RESULTS.md")).unwrap(), "as it was");
        write(&docs, &results, true).unwrap();
        assert!(read(&docs.join("RESULTS.md")).unwrap().contains("Not for publication"));
        std::fs::remove_dir_all(&root).unwrap();
    }

    fn one_machine() -> Machine {
        let commit = Some("0123456".into());
        Machine {
            cpu: "a processor".into(),
            cores: 2,
            kernel: "6".into(),
            version: "1".into(),
            cpu_details: None,
            commit,
        }
    }

    #[cfg(feature = "pictures")]
    #[test]
    fn the_drawings_are_legible() {
        let template = read(&docs().join("report/report.md")).unwrap();
        let names =
            template.split("{{drawing(\"").skip(1).filter_map(|rest| rest.split(':').next());
        let names: Vec<&str> = names.collect();
        assert!(names.len() >= 5, "{names:?}");
        for name in names {
            let svg = read(&docs().join(format!("report-{name}.svg"))).unwrap();
            crate::figures::legible::assert_legible(&svg, name);
        }
    }

    #[test]
    fn the_figures_are_legible_and_told_apart_without_colours() {
        let all = committed();
        let mut count = 0;
        for (from, _) in PAGES.iter().chain([&BLOCKS]) {
            for (name, figure) in filled(&docs(), from, &all).unwrap().0.charts {
                let svg = figure.svg("a machine").unwrap();
                #[cfg(feature = "pictures")]
                crate::figures::legible::assert_legible(&svg, &name);
                assert!(!svg.is_empty() && !figure.panels.is_empty(), "{name}");
                crate::figures::tests::assert_told_apart(&figure.panels);
                count += 1;
            }
        }
        assert!(count >= 11, "{count}");
    }
}
