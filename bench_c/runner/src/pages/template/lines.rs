//! The lines of a page. In a filled template numbers have taken the places of other text, so its
//! paragraphs are broken anew.

use sched_tools::text::broken;

/// Paragraphs, and the items of lists, broken at this width. Tables, headings, code and tags stay as
/// they are; of several blank lines one is left.
pub fn reflowed(page: &str, width: usize) -> String {
    let mut out: Vec<String> = Vec::new();
    let mut open: Vec<&str> = Vec::new();
    let mut code = false;
    let end = |open: &mut Vec<&str>, out: &mut Vec<String>| {
        if !open.is_empty() {
            let indent = if open[0] == "-" { "  " } else { "" };
            out.push(broken(&std::mem::take(open).join(" "), width, indent));
        }
    };
    for line in page.lines().map(str::trim_end) {
        let fence = line.starts_with("```");
        let kept = ["|", "#", "<", "![", "    "].iter().any(|start| line.starts_with(start));
        // A tag at the beginning of a line of text is none of a paragraph's own.
        if code || fence || line.is_empty() || (kept && (open.is_empty() || !line.starts_with('<')))
        {
            end(&mut open, &mut out);
            if !code && line.starts_with('#') && out.last().is_some_and(|last| !last.is_empty()) {
                out.push(String::new());
            }
            if code || fence || !(line.is_empty() && out.last().is_none_or(String::is_empty)) {
                out.push(line.to_owned());
            }
        } else {
            if line.starts_with("- ") {
                end(&mut open, &mut out);
            }
            open.extend(line.split_whitespace());
        }
        code ^= fence;
    }
    end(&mut open, &mut out);
    out.join("\n").trim().to_owned() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_and_items_are_broken_and_the_rest_is_left() {
        let table = format!("| {} |", "word ".repeat(40));
        let kept = format!("# Title\n\n{table}\n\n    code  of  it\n\n```c\n\n\nint  x;\n```\n");
        assert_eq!(reflowed(&kept, 20), kept);
        assert_eq!(reflowed("text\n# Head", 20), "text\n\n# Head\n");
        assert_eq!(reflowed("\n\n\none\ntwo\n\n\n\nthree", 20), "one two\n\nthree\n");
        assert_eq!(
            reflowed("- one\n  item\n- two words that\n  are long", 12),
            "- one item\n- two words\n  that are\n  long\n"
        );
    }
}
