//! Blocks of a page: the program writes them, and leaves alone what stands between them.
//!
//! ```text
//! <!-- peers: loops -->
//!
//! | work-iterations | even, 1000-1000 |
//! ...
//!
//! <!-- end -->
//! ```
//!
//! A filled template has the texts of the blocks between the same two lines, and
//! [`Blocks::put_into`] replaces them in a page. The rest of the page stays as it is, to the byte.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};

use super::lines::reflowed;

/// The width of the pages' lines; tables may be wider.
pub const WIDTH: usize = 120;

const END: &str = "<!-- end -->";

fn begin(name: &str) -> String {
    format!("<!-- peers: {name} -->")
}

/// The name, if a block begins with this line.
fn begun(line: &str) -> Option<&str> {
    line.trim_end().strip_prefix("<!-- peers: ")?.strip_suffix(" -->")
}

/// A part of a page, with the ends of its lines.
enum Part<'a> {
    ByHand(&'a str),
    /// The text between the two lines.
    Block(&'a str, Vec<&'a str>),
}

fn parts(page: &str) -> Result<Vec<Part<'_>>> {
    let mut parts = Vec::new();
    let mut lines = page.split_inclusive('\n');
    while let Some(line) = lines.next() {
        let Some(name) = begun(line) else {
            ensure!(line.trim_end() != END, "`{END}` without a beginning");
            parts.push(Part::ByHand(line));
            continue;
        };
        let mut inside = Vec::new();
        loop {
            let line = lines.next().filter(|line| begun(line).is_none());
            let line = line.with_context(|| format!("`{}` without `{END}`", begin(name)))?;
            if line.trim_end() == END {
                break;
            }
            inside.push(line);
        }
        parts.push(Part::Block(name, inside));
    }
    Ok(parts)
}

/// The texts of the blocks, by their names.
pub struct Blocks(BTreeMap<String, String>);

impl Blocks {
    /// The blocks of a filled template.
    pub fn read(template: &str) -> Result<Blocks> {
        let mut blocks = BTreeMap::new();
        for part in parts(template)? {
            if let Part::Block(name, lines) = part {
                let earlier = blocks.insert(
                    name.to_owned(),
                    reflowed(&lines.concat(), WIDTH).trim_end().to_owned(),
                );
                ensure!(earlier.is_none(), "`{}` is there twice", begin(name));
            }
        }
        Ok(Blocks(blocks))
    }

    /// The pages with these blocks. Each block stands in one of the pages, once.
    pub fn put_into(&self, pages: &[&str]) -> Result<Vec<String>> {
        let mut left: Vec<&str> = self.0.keys().map(String::as_str).collect();
        let mut written = Vec::new();
        for page in pages {
            let mut text = String::new();
            for part in parts(page)? {
                let name = match part {
                    Part::ByHand(line) => {
                        text += line;
                        continue;
                    }
                    Part::Block(name, _) => name,
                };
                let Some(block) = self.0.get(name) else {
                    bail!("no text for `{}`", begin(name));
                };
                let at = left.iter().position(|other| *other == name);
                left.remove(at.with_context(|| format!("`{}` is there twice", begin(name)))?);
                text += &format!("{}\n\n{block}\n\n{END}\n", begin(name));
            }
            written.push(text);
        }
        if let Some(name) = left.first() {
            bail!("no line `{}`", begin(name));
        }
        Ok(written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEMPLATE: &str = "Not in a block.\n<!-- peers: a -->\none\ntwo\n\n| x |\n| --- |\n\
                            <!-- end -->\n<!-- peers: b -->\nB\n<!-- end -->\n";

    fn put(pages: &[&str]) -> Result<Vec<String>> {
        Blocks::read(TEMPLATE).unwrap().put_into(pages)
    }

    fn error(pages: &[&str]) -> String {
        put(pages).unwrap_err().to_string()
    }

    #[test]
    fn a_block_is_replaced_and_the_rest_is_left_as_it_is() {
        let page = |a: &str| {
            format!(
                "  # Title \n\n<!-- a comment -->\n<!-- peers: a -->\n{a}<!-- end -->\n\n\n\
                 `<!-- end -->` \t\nlast line without its end"
            )
        };
        let other = "<!-- peers: b -->\n<!-- end -->\n";
        let written = put(&[&page("old\n| y |\n"), other]).unwrap();
        assert_eq!(written[0], page("\none two\n\n| x |\n| --- |\n\n"));
        assert_eq!(written[1], "<!-- peers: b -->\n\nB\n\n<!-- end -->\n");
        let again: Vec<&str> = written.iter().map(String::as_str).collect();
        assert_eq!(put(&again).unwrap(), written);
    }

    #[test]
    fn a_missing_or_repeated_marker_is_an_error_that_names_it() {
        let (a, b) =
            ("<!-- peers: a -->\n<!-- end -->\n", "<!-- peers: b -->\nold\n<!-- end -->\n");
        let c = a.replace("a -->", "c -->");
        assert_eq!(error(&[a]), "no line `<!-- peers: b -->`");
        assert_eq!(error(&["nothing", b]), "no line `<!-- peers: a -->`");
        assert_eq!(error(&[a, b, a]), "`<!-- peers: a -->` is there twice");
        assert_eq!(error(&[a, b, &c]), "no text for `<!-- peers: c -->`");
        let open = "<!-- peers: a -->\nold\n";
        let message = "`<!-- peers: a -->` without `<!-- end -->`";
        assert_eq!(error(&[open]), message);
        assert_eq!(error(&[&(open.to_owned() + b)]), message);
        assert_eq!(error(&["<!-- end -->\n"]), "`<!-- end -->` without a beginning");
        assert!(Blocks::read(&(TEMPLATE.to_owned() + a)).is_err());
    }
}
