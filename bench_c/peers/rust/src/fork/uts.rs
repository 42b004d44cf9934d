//! The Unbalanced Tree Search, as bench_c/uts.h has it.

use super::{Joins, timed};
use crate::measure::Bench;

pub const GEOMETRIC: Shape = Shape { seed: 19, binomial: false, published: (10, 4130071) };
pub const BINOMIAL: Shape = Shape { seed: 42, binomial: true, published: (2000, 4112897) };

#[derive(Clone, Copy)]
pub struct Shape {
    seed: u32,
    binomial: bool,
    /// A size and the number of nodes that was published for it.
    published: (usize, u64),
}

#[derive(Clone, Copy)]
struct Tree {
    shape: Shape,
    n: usize,
    log_failure: f64,
}

struct Node {
    digest: [u32; 5],
    depth: usize,
}

/// SHA-1 of a message of this many words, few enough for one block.
fn sha1<const N: usize>(message: [u32; N]) -> [u32; 5] {
    const START: [u32; 5] = [0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0];
    let mut w = [0u32; 80];
    w[..N].copy_from_slice(&message);
    w[N] = 0x80000000;
    w[15] = 32 * N as u32;
    for i in 16..80 {
        w[i] = (w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16]).rotate_left(1);
    }
    let [mut a, mut b, mut c, mut d, mut e] = START;
    let mut round = |mixed: fn(u32, u32, u32) -> u32, word: u32| {
        let next = a.rotate_left(5).wrapping_add(mixed(b, c, d)).wrapping_add(e).wrapping_add(word);
        (e, d, c, b, a) = (d, c, b.rotate_left(30), a, next);
    };
    let parity = |b: u32, c: u32, d: u32| b ^ c ^ d;
    for &word in &w[..20] {
        round(|b, c, d| d ^ (b & (c ^ d)), word.wrapping_add(0x5a827999));
    }
    for &word in &w[20..40] {
        round(parity, word.wrapping_add(0x6ed9eba1));
    }
    for &word in &w[40..60] {
        round(|b, c, d| (b & c) | (d & (b | c)), word.wrapping_add(0x8f1bbcdc));
    }
    for &word in &w[60..] {
        round(parity, word.wrapping_add(0xca62c1d6));
    }
    let end = [a, b, c, d, e];
    std::array::from_fn(|i| START[i].wrapping_add(end[i]))
}

impl Node {
    fn child(&self, i: u32) -> Node {
        let [a, b, c, d, e] = self.digest;
        Node { digest: sha1([a, b, c, d, e, i]), depth: self.depth + 1 }
    }

    fn children(&self, tree: &Tree) -> u32 {
        let chance = f64::from(self.digest[4] & 0x7fff_ffff) / 2147483648.0;
        if tree.shape.binomial {
            return match self.depth {
                0 => tree.n as u32,
                _ if chance < 0.124875 => 8,
                _ => 0,
            };
        }
        if self.depth >= tree.n {
            return 0;
        }
        (((1.0 - chance).ln() / tree.log_failure).floor() as u32).min(100)
    }
}

fn count(tree: &Tree, node: &Node) -> u64 {
    1 + (0..node.children(tree)).map(|i| count(tree, &node.child(i))).sum::<u64>()
}

fn visit<S: Joins>(here: &mut S::Here<'_>, tree: &Tree, node: &Node) -> u64 {
    1 + match node.children(tree) {
        0 => 0,
        children => visit_children::<S>(here, tree, node, 0, children),
    }
}

fn visit_children<S: Joins>(
    here: &mut S::Here<'_>,
    tree: &Tree,
    node: &Node,
    lo: u32,
    hi: u32,
) -> u64 {
    if hi - lo == 1 {
        return visit::<S>(here, tree, &node.child(lo));
    }
    let middle = lo + (hi - lo) / 2;
    let (a, b) = S::join(
        here,
        |here| visit_children::<S>(here, tree, node, lo, middle),
        |here| visit_children::<S>(here, tree, node, middle, hi),
    );
    a + b
}

pub fn main<S: Joins>(system: &S, bench: &Bench, shape: Shape) -> bool {
    let tree = Tree { shape, n: bench.n, log_failure: (1.0 - 1.0 / (1.0 + 4.0f64)).ln() };
    let root = Node { digest: sha1([0, 0, 0, 0, shape.seed]), depth: 0 };
    let (size, published) = shape.published;
    let nodes = if bench.n == size { published } else { count(&tree, &root) };
    let (spent, found) = timed(system, bench, |here| visit::<S>(here, &tree, &root));
    bench.line(&spent, nodes, found, "", found == nodes)
}
