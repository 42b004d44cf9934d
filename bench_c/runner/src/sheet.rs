//! What goes to standard output: tables and sentences, at most [`COLUMNS`] wide.
//!
//! A table that is wider is printed in parts, one below the other; each part repeats the columns
//! that say what its rows are.

use std::fmt::{self, Display, Formatter};

/// The greatest width of a line.
pub const COLUMNS: usize = 100;

/// Between two columns.
const GAP: usize = 2;

/// What a sentence's further lines begin with.
const INDENT: &str = "  ";

pub struct Table {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
    /// So many first columns say what a row is.
    keys: usize,
}

impl Table {
    /// With its first `keys` columns in each of its parts.
    pub fn new<S: AsRef<str>>(keys: usize, head: &[S]) -> Table {
        let head: Vec<String> = head.iter().map(|h| h.as_ref().to_owned()).collect();
        debug_assert!(keys <= head.len());
        Table { head, rows: Vec::new(), keys }
    }

    pub fn add_row(&mut self, row: Vec<String>) {
        debug_assert_eq!(row.len(), self.head.len());
        self.rows.push(row);
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    fn width(&self, column: usize) -> usize {
        let rows = self.rows.iter().map(|row| &row[column]);
        rows.chain([&self.head[column]]).map(|text| text.chars().count()).max().unwrap_or(0)
    }

    /// The columns of each part.
    fn parts(&self) -> Vec<Vec<usize>> {
        let width = |columns: &[usize]| -> usize {
            columns.iter().map(|&c| self.width(c) + GAP).sum::<usize>().saturating_sub(GAP)
        };
        let keys: Vec<usize> = (0..self.keys).collect();
        let mut parts = vec![keys.clone()];
        for column in self.keys..self.head.len() {
            let part = parts.last_mut().expect("there is always one");
            part.push(column);
            if width(part) > COLUMNS && part.len() > self.keys + 1 {
                part.pop();
                parts.push([&keys[..], &[column]].concat());
            }
        }
        parts
    }

    /// A column of words is flush left, one of numbers flush right.
    fn is_of_words(&self, column: usize) -> bool {
        let mut texts = self.rows.iter().map(|row| row[column].as_str()).filter(|t| *t != "-");
        let is_word = |t: &str| t.starts_with(|c: char| c.is_alphabetic() || "µ%.".contains(c));
        texts.next().is_some_and(|first| is_word(first) && texts.all(|t| !t.is_empty()))
    }

    fn line(&self, row: &[String], part: &[usize]) -> String {
        let cell = |&column: &usize| {
            let (text, width) = (&row[column], self.width(column));
            if self.is_of_words(column) {
                format!("{text:<width$}")
            } else {
                format!("{text:>width$}")
            }
        };
        let cells: Vec<String> = part.iter().map(cell).collect();
        cells.join(&" ".repeat(GAP)).trim_end().to_owned()
    }
}

impl Display for Table {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (i, part) in self.parts().iter().enumerate() {
            let lines: Vec<String> = self.rows.iter().map(|row| self.line(row, part)).collect();
            let head = self.line(&self.head, part);
            let width = lines.iter().chain([&head]).map(|line| line.chars().count()).max();
            writeln!(f, "{}{head}", if i > 0 { "\n" } else { "" })?;
            writeln!(f, "{}", "─".repeat(width.unwrap_or(0)))?;
            for (row, line) in lines.iter().enumerate() {
                let last = row + 1 == lines.len() && i + 1 == self.parts().len();
                write!(f, "{line}{}", if last { "" } else { "\n" })?;
            }
        }
        Ok(())
    }
}

/// `text` in lines that are short enough; a word that is longer stays whole.
pub fn wrapped(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for paragraph in text.split('\n') {
        let mut line = String::new();
        for (i, word) in paragraph.split(' ').enumerate() {
            let length = line.chars().count() + 1 + word.chars().count();
            if i > 0 && length > COLUMNS && line.trim() != "" {
                lines.push(std::mem::replace(&mut line, format!("{INDENT}{word}")));
            } else {
                line.extend((i > 0).then_some(" ").into_iter().chain([word]));
            }
        }
        lines.push(line);
    }
    lines.join("\n")
}

/// Prints a sentence, or several lines of them.
pub fn say(text: impl AsRef<str>) {
    println!("{}", wrapped(text.as_ref()));
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub fn widest(text: &str) -> usize {
        text.lines().map(|line| line.chars().count()).max().unwrap_or(0)
    }

    fn cells(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|t| (*t).to_owned()).collect()
    }

    #[test]
    fn words_are_left_and_numbers_right() {
        let mut table = Table::new(1, &["program", "ms"]);
        table.add_row(cells(&["tree", "1.5"]));
        table.add_row(cells(&["quicksort", "100"]));
        let text = table.to_string();
        assert_eq!(text, "program     ms\n──────────────\ntree       1.5\nquicksort  100");
    }

    #[test]
    fn a_wide_table_is_printed_in_parts_that_repeat_what_a_row_is() {
        let head: Vec<String> = (0..40).map(|i| format!("column {i}")).collect();
        let mut table = Table::new(2, &head);
        table.add_row(
            (0..40).map(|i| if i < 2 { format!("k{i}") } else { i.to_string() }).collect(),
        );
        let text = table.to_string();
        assert!(widest(&text) <= COLUMNS);
        let heads: Vec<&str> = text.lines().filter(|line| line.contains("column 0 ")).collect();
        assert!(heads.len() > 1 && heads.iter().all(|line| line.contains("column 1 ")));
        let count = |of: &str| text.split_whitespace().filter(|word| *word == of).count();
        assert!((2..40).all(|i| count(&i.to_string()) == 2), "{text}");
    }

    #[test]
    fn a_column_that_is_too_wide_alone_is_printed_all_the_same() {
        let mut table = Table::new(1, &["a", "b", "c"]);
        table.add_row(vec!["x".into(), "y".repeat(COLUMNS), "1".into()]);
        assert_eq!(table.parts(), [vec![0, 1], vec![0, 2]]);
    }

    #[test]
    fn sentences_are_wrapped_between_words() {
        let text = "word ".repeat(50);
        let wrapped = wrapped(text.trim_end());
        assert!(widest(&wrapped) <= COLUMNS && wrapped.lines().count() == 3);
        assert_eq!(wrapped.split_whitespace().count(), 50);
        assert_eq!(super::wrapped("a\n  b"), "a\n  b");
        let long = "x".repeat(2 * COLUMNS);
        assert_eq!(super::wrapped(&format!("a {long}")), format!("a\n  {long}"));
    }
}
