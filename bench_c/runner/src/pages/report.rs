//! `make report`: writes docs/REPORT.md with its figures, from the last `make bench`, `make lab`
//! and `make bench-peers`. It also writes what docs/BENCHMARKS.md and README.md say of other systems;
//! `make peers-page` writes this alone.
//!
//! The templates `docs/report/template.md` and `docs/report/peers.md` have the text and its tables,
//! report-figures.md has the figures. `docs/report/pdf.sh` makes the PDF file of the page.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::lab;
use super::template::blocks::Blocks;
use super::template::predictions::Predictions;
use super::template::{self, Source, fill};
use crate::data::{self, Measurements};
use crate::figures::Figure;
use crate::run::plan::Plan;

/// The condensed measurements.
const MEASUREMENTS: &str = "report/measurements.json";

pub struct Options<'a> {
    /// The folder of REPORT.md and its figures; the template lies below it.
    pub docs: &'a Path,
    pub results: &'a Path,
}

/// The template of the blocks, which stand in the pages of [`BLOCK_PAGES`].
const BLOCKS: &str = "report/peers.md";
const BLOCK_PAGES: &[&str] = &["BENCHMARKS.md", "../README.md"];

/// Condenses what was measured since the last report, and writes the page and its figures, and the
/// tables of other pages.
pub fn write(options: &Options) -> Result<bool> {
    let data = merged(options, &["bench", "lab", "peers"])?;
    let mut files = pages(options.docs, &data)?;
    files.extend(blocks(options.docs, &data)?);
    save_all(options, &data, &files)
}

/// Condenses the last `make bench-peers`, if it was since the last report, and writes the tables of
/// other pages alone.
pub fn write_peers(options: &Options) -> Result<bool> {
    let data = merged(options, &["peers"])?;
    let about = &data.session("peers")?.about;
    let known = |text: &Option<String>| text.clone().unwrap_or_else(|| "unknown".into());
    println!("the session of {}, commit {}", known(&about.date), known(&about.machine.commit));
    let files = blocks(options.docs, &data)?;
    let report = pages(options.docs, &data);
    save_all(options, &data, &files)?;
    match report {
        Ok(files) if files.iter().all(|(path, text)| read(path).is_ok_and(|old| old == *text)) => {}
        _ => println!("REPORT.md has other measurements: `make report` writes it anew"),
    }
    Ok(true)
}

/// The condensed measurements with those of these sessions that were measured since.
fn merged(options: &Options, names: &[&str]) -> Result<Measurements> {
    let path = options.docs.join(MEASUREMENTS);
    let old = if path.is_file() { Some(Measurements::read(&read(&path)?)?) } else { None };
    data::merge(old, data::sessions(options.results, names)?)
}

fn save_all(options: &Options, data: &Measurements, files: &[(PathBuf, String)]) -> Result<bool> {
    save(&options.docs.join(MEASUREMENTS), &data.write()?)?;
    for (path, text) in files {
        save(path, text)?;
    }
    Ok(true)
}

/// A template of the folder of pages, and what fills it.
fn source(docs: &Path, template: &str, data: &Measurements) -> Result<(String, Source)> {
    let template = read(&docs.join(template))?;
    let predictions = Predictions::read(&read(&docs.join("LAB.md"))?)?;
    let figures = template::figures(&template);
    Ok((template, Source { data: data.clone(), predictions, figures, ..Source::default() }))
}

/// The files of the report, made from the condensed measurements, the template and LAB.md.
fn pages(docs: &Path, data: &Measurements) -> Result<Vec<(PathBuf, String)>> {
    let (template, source) = source(docs, "report/template.md", data)?;
    let (names, predictions) = (source.figures.clone(), source.predictions.clone());
    let mut files = vec![(docs.join("REPORT.md"), fill(&template, source)?.text)];
    let path = |name: &str| docs.join(format!("{name}.svg"));
    for (name, figure) in figures(data, predictions)? {
        let session = if name == "report-peers" { "peers" } else { "lab" };
        files.push((path(&name), figure.svg(&data.session(session)?.about.machine.line())?));
    }
    for name in names.iter().map(|name| format!("report-{name}")) {
        let drawn = files.iter().any(|(file, _)| *file == path(&name));
        ensure!(drawn || path(&name).is_file(), "no drawing {name}.svg");
    }
    Ok(files)
}

/// The figures that are drawn from measurements. The others are drawings.
fn figures(data: &Measurements, predictions: Predictions) -> Result<Vec<(String, Figure)>> {
    // The sets of the laboratory of the report, which had two cores.
    let plan = Some(Plan { cores: data.session("lab")?.about.machine.cores, quick: false });
    let source = Source { data: data.clone(), predictions, plan, ..Source::default() };
    Ok(fill(include_str!("report-figures.md"), source)?.charts)
}

/// Makes LAB.md again from the last `make lab`.
pub fn write_lab(options: &Options) -> Result<bool> {
    let data = merged(options, &["lab"])?;
    lab::write_again(options.docs, data.session("lab")?)?;
    save_all(options, &data, &[])
}

/// The pages that have blocks, with those that the condensed measurements make, and the figures of
/// the template.
fn blocks(docs: &Path, data: &Measurements) -> Result<Vec<(PathBuf, String)>> {
    let (template, source) = source(docs, BLOCKS, data)?;
    let filled = fill(&template, source).with_context(|| BLOCKS.to_owned())?;
    let machine = data.session("peers")?.about.machine.line();
    let drawing = |(name, figure): &(String, Figure)| {
        Ok((docs.join(format!("{name}.svg")), figure.svg(&machine)?))
    };
    let drawings = filled.charts.iter().map(drawing).collect::<Result<Vec<_>>>()?;
    let filled = Blocks::read(&filled.text).with_context(|| BLOCKS.to_owned())?;
    let paths: Vec<PathBuf> = BLOCK_PAGES.iter().map(|page| docs.join(page)).collect();
    let old: Vec<String> = paths.iter().map(|path| read(path)).collect::<Result<_>>()?;
    let new = filled.put_into(&old.iter().map(String::as_str).collect::<Vec<_>>());
    let new = new.with_context(|| BLOCK_PAGES.join(", "))?;
    Ok(paths.into_iter().zip(new).chain(drawings).collect())
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

fn save(path: &Path, text: &str) -> Result<()> {
    if std::fs::read_to_string(path).is_ok_and(|old| old == text) {
        println!("unchanged: {}", path.display());
        return Ok(());
    }
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
pub fn committed() -> (Measurements, Predictions) {
    let text = |file| read(&docs().join(file)).unwrap();
    let data = Measurements::read(&text(MEASUREMENTS)).unwrap();
    (data, Predictions::read(&text("LAB.md")).unwrap())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_report_is_what_its_measurements_make() {
        let (data, _) = committed();
        let mut files = pages(&docs(), &data).unwrap();
        files.extend(blocks(&docs(), &data).unwrap());
        for (path, text) in files {
            // Not assert_eq, which would print both pages.
            let same = read(&path).unwrap() == text;
            assert!(same, "{} is not what `make report` writes: run it", path.display());
        }
    }

    /// A copy of the folder of pages, with README.md beside it.
    fn copy(name: &str) -> PathBuf {
        let root = sched_tools::process::scratch_file(name);
        std::fs::create_dir_all(root.join("docs/report")).unwrap();
        for file in ["LAB.md", "BENCHMARKS.md", "../README.md", BLOCKS, MEASUREMENTS] {
            std::fs::copy(docs().join(file), root.join("docs").join(file)).unwrap();
        }
        root
    }

    #[test]
    fn figures_of_peers_are_written_into_their_pages() {
        let root = copy("peers-page");
        let (docs, page) = (root.join("docs"), root.join("docs/BENCHMARKS.md"));
        let options = Options { docs: &docs, results: &root.join("results") };
        let committed = read(&page).unwrap();
        let old = committed.replace("`qsort` | ", "`qsort` | 7").replace("# How fast", "# Fast");
        assert!(old.contains("`qsort` | 7"));
        std::fs::write(&page, &old).unwrap();
        write_peers(&options).unwrap();
        assert!(read(&page).unwrap() == committed.replace("# How fast", "# Fast"));

        let readme = root.join("README.md");
        std::fs::write(&readme, "# No block\n").unwrap();
        std::fs::write(&page, &old).unwrap();
        let error = format!("{:#}", write_peers(&options).unwrap_err());
        assert!(error.ends_with(": no line `<!-- peers: others -->`"), "{error}");
        assert!(read(&page).unwrap() == old && read(&readme).unwrap() == "# No block\n");
        std::fs::remove_dir_all(&root).unwrap();
    }

    #[cfg(feature = "pictures")]
    #[test]
    fn the_drawings_are_legible() {
        let template = read(&docs().join("report/template.md")).unwrap();
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
        let (data, predictions) = committed();
        let mut figures = figures(&data, predictions).unwrap();
        let (template, source) = source(&docs(), BLOCKS, &data).unwrap();
        figures.extend(fill(&template, source).unwrap().charts);
        assert_eq!(figures.len(), 9);
        for (name, figure) in figures {
            let svg = figure.svg("a machine").unwrap();
            #[cfg(feature = "pictures")]
            crate::figures::legible::assert_legible(&svg, &name);
            assert!(!svg.is_empty() && !figure.panels.is_empty(), "{name}");
            crate::figures::tests::assert_told_apart(&figure.panels);
        }
    }

    #[test]
    fn the_measurements_are_kept_as_they_were() {
        let (data, _) = committed();
        assert_eq!(Measurements::read(&data.write().unwrap()).unwrap(), data);
    }
}
