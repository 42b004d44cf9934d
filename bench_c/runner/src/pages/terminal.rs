//! Shows a page of Markdown on a terminal: tables are laid out, sentences broken into lines, and
//! figures left out.

use sched_tools::table::Table;
use sched_tools::text::wrapped;

pub fn print(page: &str) {
    println!("{}", shown(page));
}

pub fn shown(page: &str) -> String {
    let mut parts = Vec::new();
    let lines: Vec<&str> = page.lines().collect();
    for block in lines.chunk_by(|a, b| a.starts_with('|') == b.starts_with('|')) {
        if block[0].starts_with('|') {
            parts.push(laid_out(block));
        } else {
            let texts = block.iter().filter(|line| !line.starts_with("![") && !line.is_empty());
            parts.extend(texts.map(|line| wrapped(line)));
        }
    }
    // A heading stands right above its table.
    let mut text = String::new();
    for (i, part) in parts.iter().enumerate() {
        let table = |i: usize| parts.get(i).is_some_and(|part: &String| part.contains('─'));
        text += if table(i + 1) { "\n" } else { "" };
        text += part;
        text += if table(i) && !table(i + 2) { "\n\n" } else { "\n" };
    }
    text
}

/// A table of Markdown. Its first columns, which are flush left, describe the row.
fn laid_out(lines: &[&str]) -> String {
    let cells = |line: &str| -> Vec<String> {
        let inner = line.trim_start_matches("| ").trim_end_matches(" |");
        inner.split(" | ").map(|cell| cell.trim().replace("\\|", "|")).collect()
    };
    let keys = cells(lines[1]).iter().take_while(|side| *side == "---").count();
    let mut table = Table::new(keys, &cells(lines[0]));
    lines[2..].iter().for_each(|line| table.add_row(cells(line)));
    table.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_laid_out_below_their_headings() {
        let page =
            "\n\na: b\n| x | ms |\n| --- | ---: |\n| one | 1.5 |\n\n\n![figure](a.svg)\nsaid\n";
        assert_eq!(shown(page), "\na: b\nx     ms\n────────\none  1.5\n\nsaid\n");
    }
}
