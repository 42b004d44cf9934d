//! Texts that can be read: what usvg makes of a drawing's texts.

use resvg::usvg::{self, Node};

use super::render;

/// A text as it is laid out: its words, its size, and the area of its letters.
struct Laid {
    words: String,
    size: f64,
    /// Left, top, right and bottom.
    area: [f64; 4],
}

fn texts(group: &usvg::Group, found: &mut Vec<Laid>) {
    for node in group.children() {
        match node {
            Node::Group(group) => texts(group, found),
            Node::Text(text) => {
                let area = text.flattened().bounding_box().transform(text.abs_transform()).unwrap();
                let spans = text.chunks().iter().flat_map(|chunk| chunk.spans());
                let sizes = spans.map(|span| f64::from(span.font_size().get()));
                found.push(Laid {
                    words: text.chunks().iter().map(|chunk| chunk.text()).collect(),
                    size: sizes.fold(f64::INFINITY, f64::min),
                    area: [area.left(), area.top(), area.right(), area.bottom()].map(f64::from),
                });
            }
            Node::Path(_) | Node::Image(_) => (),
        }
    }
}

fn overlap(a: &[f64; 4], b: &[f64; 4]) -> bool {
    a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3]
}

/// In print, 160 mm wide, each text has at least 9 points, and none overlaps another or is cut off.
pub fn assert_legible(svg: &str, name: &str) {
    let tree = render::tree(svg).unwrap();
    let mut found = Vec::new();
    texts(tree.root(), &mut found);
    assert!(found.len() > 3, "{name}: {} texts", found.len());
    let [width, height] = [tree.size().width(), tree.size().height()].map(f64::from);
    let points = 160.0 / 25.4 * 72.0 / width;
    for (i, text) in found.iter().enumerate() {
        let Laid { words, size, area } = text;
        assert!(size * points >= 8.995, "{name}: {words} has {} points", size * points);
        assert!(
            area[0] >= 0.0 && area[1] >= 0.0 && area[2] <= width && area[3] <= height,
            "{name}: {words} is cut off: {area:?}"
        );
        for other in &found[i + 1..] {
            assert!(!overlap(area, &other.area), "{name}: {words} over {}", other.words);
        }
    }
}
