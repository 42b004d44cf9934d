//! Builds a drawing in the SVG format.

use std::fmt::Write;

use crate::figures::drawing::font;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Colour(pub u8, pub u8, pub u8);

pub const WHITE: Colour = Colour(255, 255, 255);
pub const INK: Colour = Colour(40, 40, 40);

impl Colour {
    fn hex(self) -> String {
        let Colour(red, green, blue) = self;
        format!("#{red:02x}{green:02x}{blue:02x}")
    }

    /// A darker colour for text: thin strokes of a light colour are hard to read.
    pub fn darker(self) -> Colour {
        let part = |of: u8| (u32::from(of) * 5 / 8) as u8;
        Colour(part(self.0), part(self.1), part(self.2))
    }

    /// Its lightness in greyscale: 0 is black, 100 white (CIE 1976, L*).
    #[cfg(test)]
    pub fn lightness(self) -> f64 {
        let linear = |of: u8| (f64::from(of) / 255.0).powf(2.2);
        let Colour(red, green, blue) = self;
        let y = 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
        116.0 * y.cbrt() - 16.0
    }
}

/// A place on the drawing: units to the right and down.
pub type Point = (f64, f64);

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rect {
    pub left: f64,
    pub top: f64,
    pub right: f64,
    pub bottom: f64,
}

impl Rect {
    pub fn overlaps(&self, other: &Rect) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }

    pub fn contains(&self, other: &Rect) -> bool {
        self.left <= other.left
            && other.right <= self.right
            && self.top <= other.top
            && other.bottom <= self.bottom
    }

    /// The area with a margin on each side.
    pub fn wider(&self, by: f64) -> Rect {
        let Rect { left, top, right, bottom } = self;
        Rect { left: left - by, top: top - by, right: right + by, bottom: bottom + by }
    }
}

/// Which point of a text lies at its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

/// A line of text. Its place is on the baseline.
pub struct Text<'a> {
    pub words: &'a str,
    pub at: Point,
    pub anchor: Anchor,
    pub size: f64,
    pub colour: Colour,
    /// True if the text runs upwards.
    pub upwards: bool,
}

impl Text<'_> {
    /// The area that the text covers, if it does not run upwards.
    pub fn area(&self) -> Rect {
        let width = font::width(self.words, self.size);
        let left = match self.anchor {
            Anchor::Start => self.at.0,
            Anchor::Middle => self.at.0 - width / 2.0,
            Anchor::End => self.at.0 - width,
        };
        Rect {
            left,
            right: left + width,
            top: self.at.1 - font::ABOVE * self.size,
            bottom: self.at.1 + font::BELOW * self.size,
        }
    }
}

#[derive(Default)]
pub struct Canvas {
    body: String,
}

impl Canvas {
    /// `dashes`: lengths of strokes and gaps; an empty text gives a solid line.
    pub fn line(&mut self, points: &[Point], colour: Colour, width: f64, dashes: &str) {
        let dashes = if dashes.is_empty() {
            String::new()
        } else {
            format!(r#" stroke-dasharray="{dashes}""#)
        };
        self.element(format_args!(
            r#"<polyline points="{}" fill="none" stroke="{}" stroke-width="{width}"{dashes}/>"#,
            places(points),
            colour.hex()
        ));
    }

    pub fn polygon(&mut self, points: &[Point], fill: Colour, stroke: Colour) {
        self.element(format_args!(
            r#"<polygon points="{}" fill="{}" stroke="{}" stroke-width="2"/>"#,
            places(points),
            fill.hex(),
            stroke.hex()
        ));
    }

    pub fn circle(&mut self, (x, y): Point, radius: f64, fill: Colour, stroke: Colour) {
        self.element(format_args!(
            r#"<circle cx="{x:.1}" cy="{y:.1}" r="{radius}" fill="{}" stroke="{}" stroke-width="2"/>"#,
            fill.hex(),
            stroke.hex()
        ));
    }

    /// Hides what was drawn there.
    pub fn blank(&mut self, area: &Rect) {
        let Rect { left, top, right, bottom } = area;
        let corners = [(*left, *top), (*right, *top), (*right, *bottom), (*left, *bottom)];
        self.element(format_args!(
            r#"<polygon points="{}" fill="{}"/>"#,
            places(&corners),
            WHITE.hex()
        ));
    }

    pub fn text(&mut self, text: &Text) {
        let (x, y) = text.at;
        let anchor = match text.anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let turn = if text.upwards {
            format!(r#" transform="rotate(-90 {x:.1} {y:.1})""#)
        } else {
            String::new()
        };
        self.element(format_args!(
            r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}" font-size="{}" fill="{}"{turn}>{}</text>"#,
            text.size,
            text.colour.hex(),
            escaped(text.words)
        ));
    }

    fn element(&mut self, what: std::fmt::Arguments) {
        writeln!(self.body, "{what}").expect("a string takes all");
    }

    /// The whole drawing.
    pub fn finish(self, width: f64, height: f64, title: &str) -> String {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" font-family=\"{}\">\n<title>{}</title>\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"{}\"/>\n{}</svg>\n",
            font::FAMILY,
            escaped(title),
            WHITE.hex(),
            self.body
        )
    }
}

fn places(points: &[Point]) -> String {
    let places: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    places.join(" ")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_text_cannot_be_elements() {
        assert_eq!(escaped("a<b & \"c\""), "a&lt;b &amp; &quot;c&quot;");
    }

    #[test]
    fn areas_that_touch_do_not_overlap() {
        let one = Rect { left: 0.0, top: 0.0, right: 2.0, bottom: 2.0 };
        let beside = Rect { left: 2.0, right: 3.0, ..one };
        assert!(!one.overlaps(&beside) && one.overlaps(&beside.wider(0.1)));
        assert!(one.wider(0.1).contains(&one) && !one.contains(&beside));
    }
}
