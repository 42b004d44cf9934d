//! Writes the numbers beside marks that no lines connect, each at the first place that is free.

use sched_tools::number::short;

use super::panel::Drawn;
use super::style::{DIGIT, MARGIN, REACH, SMALL, text};
use crate::figures::drawing::svg::{Anchor, Canvas, Point, Rect, Text};

impl Drawn<'_> {
    fn mark(&self) -> Rect {
        let (x, y) = self.at;
        Rect { left: x, right: x, top: y, bottom: y }.wider(REACH)
    }

    fn bar(&self) -> Rect {
        let x = self.at.0;
        Rect { left: x - 2.0, right: x + 2.0, top: self.bar.0, bottom: self.bar.1 }
    }

    /// The places where its number may stand, the best first.
    fn places(&self) -> Vec<(Point, Anchor)> {
        let ((x, y), (top, bottom)) = (self.at, self.bar);
        let (above, below) = (-REACH - 4.0, REACH + 5.0 + DIGIT);
        let (right, left) = (x + REACH + 3.0, x - REACH - 3.0);
        let level = y + DIGIT / 2.0;
        let mut places = vec![((x, y + above), Anchor::Middle)];
        if y - top < 24.0 {
            places.push(((x, top - 5.0), Anchor::Middle));
        }
        places.push(((x, y + below), Anchor::Middle));
        if bottom - y < 24.0 {
            places.push(((x, bottom + 5.0 + DIGIT), Anchor::Middle));
        }
        for shift in [0.0, -6.0, 6.0, -12.0, 12.0, -18.0, 18.0] {
            places.push(((right, level + shift), Anchor::Start));
            places.push(((left, level + shift), Anchor::End));
        }
        places
    }
}

/// The area of digits, which do not reach below the baseline.
fn digits(text: &Text) -> Rect {
    Rect { top: text.at.1 - DIGIT, bottom: text.at.1 + 0.5, ..text.area() }
}

/// Writes the numbers of a panel, each at its mark. The first number takes the best place, so
/// several orders are tried, and the one that leaves out the fewest numbers is drawn.
pub fn write_numbers(canvas: &mut Canvas, drawn: &[Drawn], plot: Rect) {
    let upwards = |a: &usize, b: &usize| drawn[*b].at.1.total_cmp(&drawn[*a].at.1);
    let mut order: Vec<usize> = (0..drawn.len()).collect();
    let mut best = placed(drawn, &order, plot);
    for turn in 0..3 {
        if best.len() == drawn.len() {
            break;
        }
        if turn == 1 {
            order.sort_by(upwards);
        } else {
            order.reverse();
        }
        let other = placed(drawn, &order, plot);
        if other.len() > best.len() {
            best = other;
        }
    }
    for (i, place) in best {
        let words = short(drawn[i].value);
        let number = number(&drawn[i], &words, place);
        canvas.blank(&digits(&number).wider(1.0));
        canvas.text(&number);
    }
}

fn number<'a>(drawn: &Drawn, words: &'a str, (at, anchor): (Point, Anchor)) -> Text<'a> {
    Text { colour: drawn.key.colour.darker(), ..text(words, at, anchor, SMALL) }
}

/// The places of the numbers, if they take their places in this order. Some may find none.
fn placed(drawn: &[Drawn], order: &[usize], plot: Rect) -> Vec<(usize, (Point, Anchor))> {
    let mut taken: Vec<Rect> = drawn.iter().map(Drawn::mark).collect();
    let bars: Vec<Rect> = drawn.iter().map(Drawn::bar).collect();
    let plot = Rect {
        left: plot.left + 3.0,
        right: plot.right + MARGIN - 2.0,
        bottom: plot.bottom - 3.0,
        ..plot
    };
    let mut found = Vec::new();
    for &i in order {
        let d = &drawn[i];
        let words = short(d.value);
        let places = d.places();
        // A number may stand on a bar, which can be seen on both sides of it.
        let free = |over_bars: bool| {
            places.iter().copied().find(|&place| {
                let area = digits(&number(d, &words, place));
                let is_free = |other: &Rect| !area.wider(2.0).overlaps(other);
                plot.contains(&area)
                    && taken.iter().all(is_free)
                    && (over_bars || bars.iter().all(is_free))
            })
        };
        if let Some(place) = free(false).or_else(|| free(true)) {
            taken.push(digits(&number(d, &words, place)));
            found.push((i, place));
        }
    }
    found
}
