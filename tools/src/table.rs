//! Tables, for a terminal and for a Markdown page.
//!
//! On a terminal a table is at most [`COLUMNS`] wide. A wider one is printed in parts, one below
//! the other, and each part repeats the columns that say what its rows are. comfy-table lays out
//! each part. It does not divide tables itself, but would break the text of the cells instead.
//!
//! The Markdown is written here: comfy-table's style for it cannot mark a column as one of numbers,
//! which stand flush right (`---:`).

use std::fmt::{self, Display, Formatter};

use comfy_table::{CellAlignment, TableComponent, presets};

use crate::text::COLUMNS;

/// Between two columns.
const GAP: u16 = 2;

pub struct Table {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
    /// So many of the first columns say what a row is.
    keys: usize,
}

impl Table {
    /// A table whose first `keys` columns stand in each of its parts.
    pub fn new<S: AsRef<str>>(keys: usize, head: &[S]) -> Table {
        let head: Vec<String> = head.iter().map(|h| h.as_ref().to_owned()).collect();
        debug_assert!(keys <= head.len());
        Table { head, rows: Vec::new(), keys }
    }

    pub fn add_row(&mut self, row: Vec<String>) {
        debug_assert_eq!(row.len(), self.head.len());
        self.rows.push(row);
    }

    /// These columns, laid out.
    fn part(&self, columns: &[usize]) -> comfy_table::Table {
        let cells = |row: &[String]| columns.iter().map(|&c| row[c].clone()).collect::<Vec<_>>();
        let mut table = comfy_table::Table::new();
        // A line below the head, and no other: between two columns stands a space.
        table.load_preset(presets::NOTHING).set_style(TableComponent::VerticalLines, ' ');
        table.set_style(TableComponent::HeaderLines, '─');
        table.set_style(TableComponent::MiddleHeaderIntersections, '─');
        table.set_header(cells(&self.head));
        table.add_rows(self.rows.iter().map(|row| cells(row)));
        for (at, &column) in columns.iter().enumerate() {
            if let Some(shown) = table.column_mut(at) {
                let words = self.is_of_words(column);
                let alignment = if words { CellAlignment::Left } else { CellAlignment::Right };
                shown.set_cell_alignment(alignment);
                shown.set_padding((0, if at + 1 < columns.len() { GAP - 1 } else { 0 }));
            }
        }
        table
    }

    /// The columns of each part.
    fn parts(&self) -> Vec<Vec<usize>> {
        let all: Vec<usize> = (0..self.head.len()).collect();
        let widths: Vec<usize> =
            self.part(&all).column_max_content_widths().into_iter().map(usize::from).collect();
        let width = |columns: &[usize]| -> usize {
            let gaps = usize::from(GAP) * columns.len().saturating_sub(1);
            columns.iter().map(|&c| widths[c]).sum::<usize>() + gaps
        };
        let keys = &all[..self.keys];
        let mut parts = vec![keys.to_vec()];
        for &column in &all[self.keys..] {
            let part = parts.last_mut().expect("there is always one");
            part.push(column);
            if width(part) > COLUMNS && part.len() > self.keys + 1 {
                part.pop();
                parts.push([keys, &[column]].concat());
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
}

impl Display for Table {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> =
            self.parts().iter().map(|columns| self.part(columns).trim_fmt()).collect();
        f.write_str(&parts.join("\n\n"))
    }
}

/// A table of a Markdown page: words in the first `words` columns, numbers in the others.
pub fn markdown(words: usize, head: &[String], rows: &[Vec<String>]) -> String {
    let line = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|c| c.replace('|', "\\|")).collect();
        format!("| {} |", cells.join(" | "))
    };
    let sides = (0..head.len()).map(|i| if i < words { "---" } else { "---:" });
    let mut lines = vec![line(head), line(&sides.map(str::to_owned).collect::<Vec<_>>())];
    lines.extend(rows.iter().map(|row| line(row)));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::widest;

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
        assert!(table.to_string().contains(&"y".repeat(COLUMNS)));
    }

    #[test]
    fn a_table_of_a_page_is_markdown() {
        let text = markdown(1, &cells(&["a|b", "c"]), &[cells(&["x", "1"])]);
        assert_eq!(text, "| a\\|b | c |\n| --- | ---: |\n| x | 1 |");
    }
}
