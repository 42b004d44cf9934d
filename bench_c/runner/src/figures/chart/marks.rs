//! The marks of a series, which tell it from the others in colour and in greyscale.

use crate::figures::drawing::svg::{Canvas, Colour, Point, WHITE};

/// The shape of a mark. Each shape has its own kind of line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    Circle,
    Square,
    Triangle,
    Diamond,
    Wedge,
}

impl Shape {
    /// False for a hollow mark.
    fn is_filled(self) -> bool {
        matches!(self, Shape::Circle | Shape::Triangle)
    }

    pub fn dashes(self) -> &'static str {
        match self {
            Shape::Circle => "",
            Shape::Square => "10 5",
            Shape::Triangle => "3 4",
            Shape::Diamond => "12 4 3 4",
            Shape::Wedge => "18 6",
        }
    }

    /// The corners around (0, 0); a circle has none.
    fn corners(self) -> &'static [Point] {
        match self {
            Shape::Circle => &[],
            Shape::Square => &[(-5.0, -5.0), (5.0, -5.0), (5.0, 5.0), (-5.0, 5.0)],
            Shape::Triangle => &[(0.0, -6.5), (6.5, 5.0), (-6.5, 5.0)],
            Shape::Diamond => &[(0.0, -7.0), (7.0, 0.0), (0.0, 7.0), (-7.0, 0.0)],
            Shape::Wedge => &[(0.0, 6.5), (6.5, -5.0), (-6.5, -5.0)],
        }
    }
}

/// An entry of the legend, the same in every panel of a figure.
#[derive(Clone)]
pub struct Key {
    pub name: String,
    pub colour: Colour,
    pub shape: Shape,
}

/// Draws the mark of a series.
pub fn mark(canvas: &mut Canvas, (x, y): Point, key: &Key) {
    let fill = if key.shape.is_filled() { key.colour } else { WHITE };
    let corners: Vec<Point> = key.shape.corners().iter().map(|(dx, dy)| (x + dx, y + dy)).collect();
    if corners.is_empty() {
        canvas.circle((x, y), 5.0, fill, key.colour);
    } else {
        canvas.polygon(&corners, fill, key.colour);
    }
}
