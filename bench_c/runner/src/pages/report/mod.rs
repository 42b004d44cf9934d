//! `make report`: writes docs/REPORT.md with its figures, from the last `make bench`, `make lab`
//! and `make bench-peers`.
//!
//! A map: [`condense`] makes the [`measurements`] that the repository keeps from the files in the
//! folder of results, and [`predictions`] reads those of the simulator from docs/LAB.md.
//! [`template`] fills `docs/report/template.md` with numbers in a [`language`], [`tables`] and
//! [`figures`]. `docs/report/pdf.sh` makes the PDF file of the page. [`beside`] has the tables of
//! other systems.

mod beside;
mod condense;
mod figures;
mod language;
mod measurements;
mod predictions;
mod tables;
mod template;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use measurements::Measurements;
use predictions::Predictions;

pub struct Options<'a> {
    /// The folder of REPORT.md and its figures; the template lies below it.
    pub docs: &'a Path,
    pub results: &'a Path,
}

/// The figures that are drawn from measurements. The others are drawings.
const FIGURES: &[&str] =
    &["kinds", "grain", "primitives", "idle", "steals", "continuations", "scaling", "peers"];

/// Condenses what was measured since the last report, and writes the page and its figures.
pub fn write(options: &Options) -> Result<bool> {
    let path = options.docs.join("report/measurements.json");
    let old = if path.is_file() { Some(Measurements::read(&read(&path)?)?) } else { None };
    let data = condense::merge(old, condense::sessions(options.results)?)?;
    save(&path, &data.write()?)?;
    for (path, text) in pages(options.docs)? {
        save(&path, &text)?;
    }
    Ok(true)
}

/// The files of the report, made from the condensed measurements, the template and LAB.md.
fn pages(docs: &Path) -> Result<Vec<(PathBuf, String)>> {
    let data = Measurements::read(&read(&docs.join("report/measurements.json"))?)?;
    let predictions = Predictions::read(&read(&docs.join("LAB.md"))?)?;
    let template = read(&docs.join("report/template.md"))?;
    let filled = template::fill(&template, &data, &predictions)?;
    let mut files = vec![(docs.join("REPORT.md"), filled.text)];
    for name in &filled.figures {
        let path = docs.join(format!("report-{name}.svg"));
        if FIGURES.contains(&name.as_str()) {
            let (figure, note) = figures::figure(name, &data, &predictions)?;
            files.push((path, figure.svg(&note)));
        } else {
            ensure!(path.is_file(), "no drawing {}", path.display());
        }
    }
    Ok(files)
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

fn save(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
    println!("written: {}", path.display());
    Ok(())
}

#[cfg(test)]
fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

/// What the committed report was made from.
#[cfg(test)]
fn committed() -> (Measurements, Predictions) {
    let text = |file| read(&docs().join(file)).unwrap();
    let data = Measurements::read(&text("report/measurements.json")).unwrap();
    (data, Predictions::read(&text("LAB.md")).unwrap())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_report_is_what_its_measurements_make() {
        for (path, text) in pages(&docs()).unwrap() {
            // Not assert_eq, which would print both pages.
            let same = read(&path).unwrap() == text;
            assert!(same, "{} is not what `make report` writes: run it", path.display());
        }
    }

    #[cfg(feature = "pictures")]
    #[test]
    fn the_drawings_are_legible() {
        let template = read(&docs().join("report/template.md")).unwrap();
        let names = template.split("{{drawing ").skip(1).filter_map(|rest| rest.split(':').next());
        let names: Vec<&str> = names.collect();
        assert!(names.len() >= 5, "{names:?}");
        for name in names {
            let svg = read(&docs().join(format!("report-{name}.svg"))).unwrap();
            crate::figures::chart::legible::assert_legible(&svg, name);
        }
    }

    #[test]
    fn the_measurements_are_kept_as_they_were() {
        let (data, _) = committed();
        assert_eq!(Measurements::read(&data.write().unwrap()).unwrap(), data);
    }
}
