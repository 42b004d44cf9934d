//! The font of the figures, and how wide a text is in it.
//!
//! The font is part of this program, so that pictures and PDF files are the same on a machine
//! without fonts. A viewer of an SVG file that lacks it takes another of [`FAMILY`]; none of them
//! is wider.

use std::sync::LazyLock;

use ttf_parser::Face;

pub const FAMILY: &str = "DejaVu Sans, Verdana, Arial, sans-serif";

/// How far letters reach above and below the baseline, in a font of size 1.
pub const ABOVE: f64 = 0.76;
pub const BELOW: f64 = 0.24;

pub fn data() -> &'static [u8] {
    dejavu::sans::regular()
}

pub fn width(text: &str, size: f64) -> f64 {
    static FACE: LazyLock<Face> =
        LazyLock::new(|| Face::parse(data(), 0).expect("the font of the crate is one"));
    let advance = |c| FACE.glyph_index(c).and_then(|glyph| FACE.glyph_hor_advance(glyph));
    let units: u32 = text.chars().filter_map(advance).map(u32::from).sum();
    f64::from(units) / f64::from(FACE.units_per_em()) * size
}

/// `text` in lines of at most this width, unless a single word is wider. If the text is broken, a
/// part in parentheses begins a line.
pub fn lines(text: &str, size: f64, most: f64) -> Vec<String> {
    let before = text.find(" (").filter(|_| width(text, size) > most);
    let parts = before.map_or(vec![text], |at| vec![&text[..at], &text[at + 1..]]);
    parts.into_iter().flat_map(|part| broken(part, size, most)).collect()
}

fn broken(text: &str, size: f64, most: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if width(&format!("{line} {word}"), size) <= most => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_those_of_the_font() {
        // All digits have the same width: 1303 of 2048 units.
        assert!((width("1024", 2048.0) - 4.0 * 1303.0).abs() < 1e-9);
        assert!(width("mmm", 18.0) > 2.0 * width("iii", 18.0));
    }

    #[test]
    fn lines_are_broken_between_words() {
        let text = "speed-up over the serial program";
        let broken = lines(text, 18.0, 150.0);
        assert!(broken.len() > 1 && broken.iter().all(|line| width(line, 18.0) <= 150.0));
        assert_eq!(broken.join(" "), text);
        assert_eq!(lines("mergesort", 18.0, 10.0), ["mergesort"]);
        assert_eq!(lines("ns a task (log scale)", 18.0, 180.0), ["ns a task", "(log scale)"]);
    }
}
