//! A table of a page, from rows: `table(heads, rows, columns)`.
//!
//! A row is a list of texts. The first ones, as many as there are `heads`, are shown; a column is a
//! head and a place, in which `{0}` stands for the first text of the row, without its marks of
//! Markdown. A missing measurement is an empty cell.
//!
//! | option | |
//! | --- | --- |
//! | `words=N` | so many columns are flush left, and not those of `heads` alone |
//! | `missing="-"` | the text of an empty cell |
//! | `some=true` | rows without any value are left out; a table without rows is nothing |
//! | `first=true` | it is an error if the first row lacks a value; other rows without any are left out |

use anyhow::{Result, bail, ensure};
use minijinja::value::Kwargs;
use sched_tools::table::markdown;

pub fn table(
    heads: Vec<String>,
    rows: Vec<Vec<String>>,
    columns: Vec<Vec<String>>,
    options: Kwargs,
    cell: impl Fn(&str) -> Option<String>,
) -> Result<String> {
    let words = options.get::<Option<usize>>("words")?.unwrap_or(heads.len());
    let missing = options.get::<Option<String>>("missing")?.unwrap_or_default();
    let first = options.get::<Option<bool>>("first")?.unwrap_or(false);
    let some = options.get::<Option<bool>>("some")?.unwrap_or(false);
    options.assert_all_used()?;
    ensure!(rows.iter().all(|row| row.len() >= heads.len()), "a row lacks the texts of its heads");
    ensure!(columns.iter().all(|c| c.len() == 2), "a column is a head and a place");
    let mut shown = Vec::new();
    for (i, row) in rows.iter().enumerate() {
        let fill = |place: &str| {
            let plain = row.iter().map(|text| text.replace(['`', '*'], ""));
            let place = place.replace("{last}", row.last().map_or("", |text| text));
            let number = |(i, text): (usize, String)| (format!("{{{i}}}"), text);
            let all = plain.enumerate().map(number);
            all.fold(place, |place, (at, text)| place.replace(&at, &text))
        };
        let places = columns.iter().map(|column| fill(&column[1]));
        let cells: Vec<(String, Option<String>)> =
            places.map(|place| (place.clone(), cell(&place))).collect();
        let lacking = cells.iter().find(|(_, cell)| cell.is_none());
        if let Some((place, _)) = lacking.filter(|_| first && i == 0) {
            bail!("the measurements lack `{place}`");
        }
        let measured =
            |(place, cell): &(String, Option<String>)| !place.starts_with('=') && cell.is_some();
        if !(first || some) || cells.iter().any(measured) {
            let cells = cells.into_iter().map(|(_, cell)| cell.unwrap_or_else(|| missing.clone()));
            shown.push(row[..heads.len()].iter().cloned().chain(cells).collect::<Vec<_>>());
        }
    }
    if some && shown.is_empty() {
        return Ok(String::new());
    }
    let head: Vec<String> = heads.into_iter().chain(columns.iter().map(|c| c[0].clone())).collect();
    Ok(markdown(words, &head, &shown))
}

#[cfg(test)]
mod tests {
    use super::super::tests::filled;

    const HEADS: &str = r#"["system"], [["`one`", "libsched"], ["two", "SYSTEM"]]"#;

    fn of(system: &str, options: &str) -> anyhow::Result<String> {
        let columns = r#"[["ns", "both ns peers tree {1}"], ["is", "={0}"]]"#;
        let heads = HEADS.replace("SYSTEM", system);
        filled(&format!("{{{{table({heads}, {columns}{options})}}}}"))
    }

    #[test]
    fn a_cell_is_what_its_place_says() {
        let place = "{{both(\"ns peers tree libsched\")}} {{both(\"ns peers tree rayon\")}}";
        let (ours, other) = (filled(place).unwrap(), of("rayon", "").unwrap());
        let ns = |i: usize| {
            ours.split(" / ").flat_map(|t| t.split(' ')).collect::<Vec<_>>()[2 * i..2 * i + 2]
                .join(" / ")
        };
        let rows = format!("| `one` | {} | one |\n| two | {} | two |", ns(0), ns(1));
        assert_eq!(other, format!("| system | ns | is |\n| --- | ---: | ---: |\n{rows}"));
    }

    #[test]
    fn what_was_not_measured_is_an_empty_cell_or_an_error_in_the_first_row() {
        assert!(of("nosuch", "").unwrap().ends_with("| two |  | two |"));
        assert!(of("nosuch", ", missing=\"-\"").unwrap().ends_with("| two | - | two |"));
        let swapped = HEADS.replace("libsched", "nosuch").replace("SYSTEM", "rayon");
        let table =
            |columns: &str| filled(&format!("{{{{table({swapped}, {columns}, first=true)}}}}"));
        let error = table(r#"[["ns", "both ns peers tree {1}"]]"#).unwrap_err().to_string();
        assert!(error.contains("lack `both ns peers tree nosuch`"), "{error}");
        let plain = HEADS.replace("SYSTEM", "nosuch");
        let text = filled(&format!(
            "{{{{table({plain}, [[\"ns\", \"both ns peers tree {{1}}\"]], first=true)}}}}"
        ));
        assert_eq!(text.unwrap().lines().count(), 3);
    }
}
