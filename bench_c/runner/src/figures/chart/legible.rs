//! Texts that can be read, and numbers at their marks: what usvg makes of a drawing's texts.

use resvg::usvg::{self, Node};
use sched_tools::number::short;

use super::layout::Room;
use super::panel::Drawn;
use super::style::WIDTH;
use super::tests::{figure, panel, seconds};
use crate::figures::drawing::render;
use crate::figures::drawing::svg::Rect;
use crate::run::plan::Plan;
use crate::statistics::summary::{Summary, tests::made_up};

/// A text as it is laid out: its words, its size, and the area of its letters.
struct Laid {
    words: String,
    size: f64,
    area: Rect,
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
                    area: Rect {
                        left: area.left().into(),
                        top: area.top().into(),
                        right: area.right().into(),
                        bottom: area.bottom().into(),
                    },
                });
            }
            Node::Path(_) | Node::Image(_) => (),
        }
    }
}

/// In print, 160 mm wide, each text has at least 9 points, and none overlaps another or is cut off.
pub fn assert_legible(svg: &str, name: &str) {
    let tree = render::tree(svg).unwrap();
    let mut found = Vec::new();
    texts(tree.root(), &mut found);
    assert!(found.len() > 3, "{name}: {} texts", found.len());
    let [width, height] = [tree.size().width(), tree.size().height()].map(f64::from);
    let points = 160.0 / 25.4 * 72.0 / width;
    let whole = Rect { left: 0.0, top: 0.0, right: width, bottom: height };
    for (i, text) in found.iter().enumerate() {
        let Laid { words, size, area } = text;
        assert!(size * points >= 8.995, "{name}: {words} has {} points", size * points);
        assert!(whole.contains(area), "{name}: {words} is cut off: {area:?}");
        for other in &found[i + 1..] {
            assert!(!area.overlaps(&other.area), "{name}: {words} over {}", other.words);
        }
    }
}

#[test]
fn the_figures_of_bench_are_legible() {
    for cores in [1, 2, 6, 64] {
        let plan = Plan::new(cores, false, &[]);
        for i in 0..5 {
            let summary = Summary::new(&made_up(&plan, |setup| seconds(i, setup)));
            let figures = crate::figures::bench::all(&plan, &summary);
            assert_eq!(figures.len(), 5);
            for (name, figure) in figures {
                let note = "AMD EPYC 9R14 96-Core Processor, 64 cores, Linux 6.18.44, libsched \
                            0.1.0 (0123abc+)";
                assert_legible(&figure.svg(note), &format!("{name}, {cores} cores, {i}"));
            }
        }
    }
}

/// A number is nearer to its own mark than to any other.
#[test]
fn numbers_stand_at_their_marks() {
    let values = [1.0, 1.05, 3.0, 2.9, 10.0, 10.2];
    let figure = figure(vec![panel(&values, false)]);
    let tree = render::tree(&figure.svg("")).unwrap();
    let mut found = Vec::new();
    texts(tree.root(), &mut found);
    let cell = Rect { left: 0.0, top: 0.0, right: WIDTH, bottom: 300.0 };
    let plot = Room::of(&figure.panels, WIDTH, 300.0).plot(cell);
    let axis = figure.panels[0].axis((plot.bottom, plot.top)).unwrap();
    let drawn = &figure.panels[0].drawn(&axis, plot)[0];
    // The panel is drawn below the head, so only horizontal places can be compared.
    let name = found.iter().find(|text| text.words == "threads").unwrap();
    let middle = |area: &Rect| (area.left + area.right) / 2.0;
    assert!((middle(&name.area) - (plot.left + plot.right) / 2.0).abs() < 2.0);
    for d in drawn {
        let own = found.iter().find(|text| text.words == short(d.value)).expect("each has room");
        let distance = |other: &Drawn| (middle(&own.area) - other.at.0).abs();
        let nearest = drawn.iter().map(distance).fold(f64::INFINITY, f64::min);
        assert_eq!(distance(d), nearest, "{}", own.words);
        assert!(nearest < 40.0);
    }
}
