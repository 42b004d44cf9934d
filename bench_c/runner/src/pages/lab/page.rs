//! Builds docs/LAB.md: headings, sentences, tables, figures.

use std::path::Path;

use anyhow::{Context, Result};
use sched_estimate::Estimate;
use sched_tools::number::short;
use sched_tools::table::markdown;

use crate::figures::chart::Figure;
use crate::statistics::quartiles::Quartiles;

pub struct Page<'a> {
    folder: &'a Path,
    text: String,
    /// The line below every figure: the machine, and the commit.
    pub note: &'a str,
}

impl<'a> Page<'a> {
    pub fn new(folder: &'a Path, note: &'a str) -> Page<'a> {
        Page { folder, text: String::new(), note }
    }

    pub fn title(&mut self, title: &str) {
        self.block(&format!("# {title}"));
    }

    pub fn heading(&mut self, title: &str) {
        self.block(&format!("## {title}"));
    }

    /// A paragraph, or any other block of Markdown.
    pub fn block(&mut self, text: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(text.trim_end());
        self.text.push('\n');
    }

    /// The conclusion from the table or figure before it.
    pub fn verdict(&mut self, sentence: &str) {
        self.block(&format!("**Verdict:** {sentence}"));
    }

    pub fn list(&mut self, items: &[String]) {
        let lines: Vec<String> = items.iter().map(|item| format!("- {item}")).collect();
        self.block(&lines.join("\n"));
    }

    /// A table with words in the first `words` columns, and numbers in the others.
    pub fn table(&mut self, words: usize, head: &[String], rows: &[Vec<String>]) {
        self.block(&markdown(words, head, rows));
    }

    /// Writes the drawing and refers to it, if it has panels.
    pub fn figure(&mut self, name: &str, figure: &Figure) -> Result<()> {
        if figure.panels.is_empty() {
            return Ok(());
        }
        let file = format!("{name}.svg");
        figure.draw(&self.folder.join(&file), self.note)?;
        self.block(&format!("![{}]({file})", figure.title));
        Ok(())
    }

    /// Puts this text into an existing page: in the place of the section from the line `heading` to
    /// the line `next`, or before `next` if there is no such section yet.
    pub fn write_into(&self, path: &Path, heading: &str, next: &str) -> Result<()> {
        let old = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        let line = |wanted: &str| old.find(&format!("\n{wanted}\n")).map(|before| before + 1);
        let end = line(next);
        let end = end.with_context(|| format!("{} has no line `{next}`", path.display()))?;
        let start = line(heading).unwrap_or(end);
        let text = format!("{}{}\n{}", &old[..start], self.text, &old[end..]);
        std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
    }

    pub fn write(&self, path: &Path) -> Result<()> {
        std::fs::write(path, &self.text).with_context(|| format!("cannot write {}", path.display()))
    }
}

pub fn words(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|t| (*t).to_owned()).collect()
}

/// The heads of the first columns, and of a column for each number of threads.
pub fn head(first: &[&str], threads: &[usize]) -> Vec<String> {
    let mut head = words(first);
    head.extend(threads.iter().map(|&t| sched_tools::number::threads(t)));
    head
}

pub const NOT_MEASURED: &str = "-";

/// The estimate as a point of a figure, if its interval has ends.
pub fn drawn(e: Estimate) -> Option<Quartiles> {
    let ends = e.low.is_finite() && e.high.is_finite() && e.low > 0.0;
    ends.then_some(Quartiles { low: e.low, median: e.value, high: e.high })
}

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

pub fn quartiles(q: Option<Quartiles>) -> String {
    q.map_or(NOT_MEASURED.into(), crate::statistics::quartiles::with_quartiles)
}

pub fn number(value: Option<f64>) -> String {
    value.map_or(NOT_MEASURED.into(), short)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endless_interval_is_said_to_be_one() {
        let text = |logarithms: &[f64]| interval(Estimate::of_ratio(logarithms));
        assert_eq!(text(&[0.0; 6]), "1.00 [1.00–1.00]");
        assert_eq!(text(&[0.0; 5]), "1.00 [no interval: too few rounds]");
        assert_eq!(text(&[]), "-");
    }
}
