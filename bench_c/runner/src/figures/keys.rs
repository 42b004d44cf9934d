//! Series by kind: a kind has one colour and one shape in all figures.

use super::chart::{Colour, Key, Series, Shape};

use crate::run::setup::Kind;
use crate::statistics::quartiles::Quartiles;

/// The hues are those of Okabe and Ito, which colour-blind readers can tell apart. Each has a
/// lightness of its own.
pub fn kind_key(kind: Kind) -> Key {
    let (colour, shape) = match kind {
        Kind::None => (Colour(90, 90, 90), Shape::Wedge),
        Kind::Lifo => (Colour(222, 100, 10), Shape::Square),
        Kind::Fifo => (Colour(0, 66, 140), Shape::Triangle),
        Kind::Steal => (Colour(0, 128, 92), Shape::Circle),
        Kind::Cont => (Colour(214, 140, 182), Shape::Diamond),
    };
    Key { name: kind.name().into(), colour, shape }
}

/// A series for each kind, with a point for each of `over`.
pub fn by_kind<T: Copy>(
    kinds: &[Kind],
    over: &[T],
    value: impl Fn(Kind, T) -> Option<Quartiles>,
) -> Vec<Series> {
    let series = |&kind: &Kind| Series {
        key: kind_key(kind),
        points: over.iter().map(|&x| value(kind, x)).collect(),
    };
    kinds.iter().map(series).collect()
}

/// The names on an axis of thread counts.
pub fn names(threads: &[usize]) -> Vec<String> {
    threads.iter().map(ToString::to_string).collect()
}
