//! Finds the smallest program that still fails.
//!
//! A race does not happen each time. So each candidate runs many times, with several seeds of the
//! delays, before it counts as one that passes; and the time for all candidates is limited.

use std::time::{Duration, Instant};

use anyhow::Result;

use crate::fuzz::program::{Block, Tree};
use crate::fuzz::run::{DELAYS, Interpreter, settings_line};
use crate::setting::Setting;

/// How many processes run a candidate, and how often each.
const TRIES: u64 = 6;
const TIMES: u32 = 25;
/// The first program has failed once, so it is tried for longer.
const FIRST_TRIES: u64 = 24;
const LONGEST: Duration = Duration::from_secs(240);

/// A program that has failed.
pub struct Failure<'a> {
    pub seed: u64,
    pub setting: &'a Setting,
    /// The programs of its process, up to it.
    pub batch: &'a [String],
}

impl Failure<'_> {
    /// The text of a file that repeats it: the smallest program, or the batch.
    pub fn file(&self, smallest: Option<&Block>) -> String {
        let programs = smallest.map_or(self.batch.join("\n"), Block::to_string);
        let settings = settings_line(self.setting);
        format!("# seed {}\n{settings}{programs}\n", self.seed)
    }

    fn fails(
        &self,
        interpreter: &Interpreter,
        program: &Block,
        tries: u64,
        worker: usize,
    ) -> Result<bool> {
        let text = program.to_string();
        let mut setting = self.setting.clone();
        let seed: Option<u64> = setting.get(DELAYS).and_then(|seed| seed.parse().ok());
        for offset in 0..tries {
            if let Some(seed) = seed {
                setting = setting.with(DELAYS, seed.wrapping_add(offset));
            }
            if !interpreter.passes(&text, &setting, TIMES, worker)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// The smallest program that was found to fail; None: the program does not fail again.
pub fn shrink(
    interpreter: &Interpreter,
    mut tree: Tree,
    failure: &Failure,
    worker: usize,
) -> Result<Option<Block>> {
    let end = Instant::now() + LONGEST;
    let mut smallest = tree.current();
    if !failure.fails(interpreter, &smallest, FIRST_TRIES, worker)? {
        return Ok(None);
    }
    let mut more = tree.simplify();
    while more && Instant::now() < end {
        let candidate = tree.current();
        let fails = failure.fails(interpreter, &candidate, TRIES, worker)?;
        if fails {
            smallest = candidate;
        }
        more = if fails { tree.simplify() } else { tree.complicate() };
    }
    Ok(Some(smallest))
}
