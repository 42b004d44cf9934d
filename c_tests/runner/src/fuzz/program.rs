//! Random programs in the language of c_tests/fuzz/program.h, as proptest's strategies: so a
//! program that fails is shrunk by leaving out statements and by making numbers smaller.
//!
//! The language is such that every program comes to an end, under every setting: the essay in
//! program.h says why. Here that means: the blocks of `lock`, `within`, `block`, `sem`, `barrier`
//! and `crowd` have only leaves, and a `lock` or `within` in another one has a higher number.

#![allow(clippy::single_range_in_vec_init, reason = "a list of ranges, which may have one")]

use std::fmt::{self, Display, Formatter};
use std::ops::Range;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::{Union, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

/// Statements in statements: so deep.
const DEPTH: usize = 3;
/// The mutexes of a run, in program.h.
const MUTEXES: u32 = 3;
/// The most tasks of a program, and the most that it computes in units of `work`.
const MOST_TASKS: u64 = 3_000;
const MOST_WORK: u64 = 2_000_000;

#[derive(Clone, Debug)]
pub struct Statement {
    word: &'static str,
    numbers: Vec<u32>,
    blocks: Vec<Block>,
}

#[derive(Clone, Debug)]
pub struct Block(Vec<Statement>);

impl Display for Block {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{{")?;
        self.0.iter().try_for_each(|statement| write!(f, " {statement}"))?;
        write!(f, " }}")
    }
}

impl Display for Statement {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.word)?;
        self.numbers.iter().try_for_each(|number| write!(f, " {number}"))?;
        self.blocks.iter().try_for_each(|block| write!(f, " {block}"))
    }
}

/// The cost of a program: tasks, and units of work.
#[derive(Clone, Copy, Default)]
struct Cost {
    tasks: u64,
    work: u64,
}

impl Block {
    fn cost(&self) -> Cost {
        self.0.iter().map(Statement::cost).fold(Cost::default(), |sum, cost| Cost {
            tasks: sum.tasks + cost.tasks,
            work: sum.work + cost.work,
        })
    }

    /// The number of statements.
    pub fn size(&self) -> usize {
        let size = |s: &Statement| 1 + s.blocks.iter().map(Block::size).sum::<usize>();
        self.0.iter().map(size).sum()
    }

    pub fn is_small(&self) -> bool {
        let cost = self.cost();
        cost.tasks <= MOST_TASKS && cost.work <= MOST_WORK
    }
}

impl Statement {
    fn cost(&self) -> Cost {
        let number = |at: usize| u64::from(self.numbers[at]);
        let blocks: Cost =
            self.blocks.iter().map(Block::cost).fold(Cost::default(), |sum, cost| Cost {
                tasks: sum.tasks + cost.tasks + 1,
                work: sum.work + cost.work,
            });
        let times = match self.word {
            "for" | "repeat" | "barrier" => number(0),
            "order" if number(0) % 3 == 2 => 2,          // runs
            "foreign" if number(1) > 2 => 3 * number(0), // a loop
            "foreign" => number(0),
            _ => 1,
        };
        let waiters = if self.word == "crowd" { number(0) } else { 0 };
        let own = match self.word {
            "work" => number(0),
            "yield" => 100 * number(0),
            "sort" => 20 * number(0),
            "pipe" | "channel" | "stream" => 500 * number(3),
            "block" | "sleep" => 1_000,
            "foreign" => 50_000 * (1 + number(0)),
            "pool" | "run" => 50_000,
            _ => 100,
        };
        Cost { tasks: waiters + times * blocks.tasks, work: own + times * blocks.work }
    }
}

type Statements = BoxedStrategy<Statement>;

/// A statement with numbers of these ranges, and this many of these blocks.
fn statement(
    word: &'static str,
    numbers: &[Range<u32>],
    block: BoxedStrategy<Block>,
    blocks: Range<usize>,
) -> Statements {
    (numbers.to_vec(), vec(block, blocks))
        .prop_map(move |(numbers, blocks)| Statement { word, numbers, blocks })
        .boxed()
}

fn alone(word: &'static str, numbers: &[Range<u32>]) -> Statements {
    let numbers = numbers.to_vec();
    numbers.prop_map(move |numbers| Statement { word, numbers, blocks: Vec::new() }).boxed()
}

fn block(statement: Statements, most: usize) -> BoxedStrategy<Block> {
    vec(statement, 0..=most).prop_map(Block).boxed()
}

/// The statements that a task may execute while others wait for it. It may lock the mutexes from
/// `first` on.
fn leaf(first: u32) -> Statements {
    let mut leaves = vec![
        (6, alone("work", &[0..200])),
        (1, alone("work", &[0..20_000])),
        (4, alone("yield", &[1..4])),
        (2, alone("sleep", &[0..300])),
        (1, alone("alarm", &[0..2_000])),
    ];
    if first < MUTEXES {
        leaves.push((1, statement("block", &[0..150], block(leaf(first + 1), 2), 1..2)));
    }
    for mutex in first..MUTEXES {
        let inside = block(leaf(mutex + 1), 3);
        leaves.push((2, statement("lock", &[mutex..mutex + 1], inside.clone(), 1..2)));
        leaves.push((1, statement("within", &[mutex..mutex + 1, 0..100], inside, 1..2)));
    }
    Union::new_weighted(leaves).boxed()
}

/// A statement that has others in it, at most so deep.
fn any_statement(depth: usize) -> Statements {
    let mut all = vec![
        (10, leaf(0)),
        (1, alone("reduce", &[0..200, 0..8])),
        (1, alone("sort", &[0..800, 0..9])),
        (2, alone("pipe", &[1..4, 1..4, 1..5, 0..40])),
        (2, alone("channel", &[1..4, 1..4, 0..5, 0..40])),
        (2, alone("stream", &[1..4, 1..4, 0..2, 0..40])),
        (2, statement("sem", &[1..4], block(leaf(0), 3), 1..7)),
        (3, statement("barrier", &[1..5], block(leaf(0), 3), 1..7)),
        (3, statement("crowd", &[1..5], block(leaf(0), 2), 1..4)),
    ];
    if depth > 0 {
        let inside = block(any_statement(depth - 1), 3);
        let one = |word, numbers: &[Range<u32>]| statement(word, numbers, inside.clone(), 1..2);
        let many = |word, numbers: &[Range<u32>]| statement(word, numbers, inside.clone(), 1..7);
        all.extend([
            (5, one("spawn", &[])),
            (2, one("copy", &[])),
            (1, one("up", &[])),
            (6, many("meanwhile", &[])),
            (6, many("fork", &[0..6])),
            (4, many("group", &[])),
            (5, statement("order", &[0..3, 0..1_000], inside.clone(), 1..9)),
            (2, many("cancel", &[0..6])),
            (3, one("for", &[0..24, 0..5])),
            (2, one("repeat", &[1..5])),
            (4, many("foreign", &[1..9, 0..5, 0..3])),
            (2, many("pool", &[1..4])),
            (1, one("run", &[1..5, 1..16])),
        ]);
    }
    Union::new_weighted(all).boxed()
}

/// A program that can be shrunk.
pub type Tree = Box<dyn ValueTree<Value = Block>>;

/// The finalizer of SplitMix64 (G. Steele and others, 2014).
fn mix(n: u64) -> u64 {
    let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ (n >> 31)
}

/// Makes the programs of seeds.
pub struct Generator(BoxedStrategy<Block>);

impl Generator {
    pub fn new() -> Generator {
        Generator(vec(any_statement(DEPTH), 1..6).prop_map(Block).boxed())
    }

    /// The program of the seed.
    pub fn program(&self, seed: u64) -> Tree {
        // Xorshift, because ChaCha took longer than the programs. It needs different bits, and a
        // one.
        let mut bytes = [1; 16];
        bytes[..8].copy_from_slice(&mix(seed).to_le_bytes());
        let random = TestRng::from_seed(RngAlgorithm::XorShift, &bytes);
        let mut runner = TestRunner::new_with_rng(Config::default(), random);
        loop {
            let tree = self.0.new_tree(&mut runner).expect("no strategy here rejects a value");
            if tree.current().is_small() {
                return tree;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_a_program() {
        let text = |seed| Generator::new().program(seed).current().to_string();
        assert_eq!(text(1), text(1));
        assert_ne!(text(1), text(2));
    }

    #[test]
    fn every_statement_comes_up() {
        let generator = Generator::new();
        let all: Vec<String> =
            (0..300).map(|seed| generator.program(seed).current().to_string()).collect();
        for word in "work yield sleep alarm lock within block spawn copy fork group crowd meanwhile order cancel for \
                     reduce sort sem barrier pipe channel stream foreign pool run up repeat"
            .split_whitespace()
        {
            let has = |text: &&String| text.contains(&format!("{word} "));
            assert!(all.iter().any(|text| has(&text)), "{word}");
        }
    }

    #[test]
    fn a_program_shrinks_to_what_matters() {
        // What "fails" is a fork with two tasks.
        let fails = |block: &Block| block.to_string().contains("} {");
        let generator = Generator::new();
        let mut tree = (0..)
            .map(|seed| generator.program(seed))
            .find(|tree| fails(&tree.current()) && tree.current().size() > 20)
            .unwrap();
        let mut smallest = tree.current();
        while if fails(&tree.current()) { tree.simplify() } else { tree.complicate() } {
            if fails(&tree.current()) {
                smallest = tree.current();
            }
        }
        // Shrinking keeps the statements around it.
        assert!(smallest.size() <= DEPTH + 1, "{smallest}");
    }
}
