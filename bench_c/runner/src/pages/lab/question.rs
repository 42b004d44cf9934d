//! The questions that can be asked by themselves: `make lab QUESTION=locks` measures what one
//! section of LAB.md needs, and replaces that section.

use anyhow::Result;

use super::data::Data;
use super::page::Page;
use super::plan::Lab;
use super::{locks, parts};
use crate::run::setup::Setup;

#[derive(Debug)]
pub struct Question {
    pub name: &'static str,
    /// The line with which the section begins, and the first line after it.
    pub heading: &'static str,
    pub next_heading: &'static str,
    pub setups: fn(&Lab) -> Vec<Setup>,
    section: fn(&Lab, &Data, &mut Page) -> Result<()>,
}

const PRIMITIVES: &str = "## Mutex, spinlock, semaphore, lock-free";
const LOCKS: &str = "### The lock policies of operating systems";
const SLEEPERS: &str = "## 1 ms sleep, adaptive sleep, wake-up";
pub const STEALS: &str = "## Steals that succeed and fail";

/// In the order of their sections, which stand one behind the other.
pub const ALL: &[Question] = &[
    Question {
        name: "grain",
        heading: "### How long a task must be",
        next_heading: PRIMITIVES,
        setups: Lab::grained,
        section: parts::grain_section,
    },
    Question {
        name: "primitives",
        heading: PRIMITIVES,
        next_heading: LOCKS,
        setups: Lab::primitives,
        section: parts::primitives_section,
    },
    Question {
        name: "locks",
        heading: LOCKS,
        next_heading: SLEEPERS,
        setups: Lab::lock_uses,
        section: locks::section,
    },
    Question {
        name: "idle",
        heading: SLEEPERS,
        next_heading: STEALS,
        setups: Lab::sleepers,
        section: parts::sleepers_section,
    },
];

impl Question {
    pub fn named(name: &str) -> Result<&'static Question> {
        let names: Vec<&str> = ALL.iter().map(|question| question.name).collect();
        let found = ALL.iter().find(|question| question.name == name);
        found.ok_or_else(|| anyhow::anyhow!("the questions are {}", names.join(", ")))
    }

    pub fn answer(&self, lab: &Lab, data: &Data, page: &mut Page) -> Result<()> {
        page.block(self.heading);
        (self.section)(lab, data, page)
    }

    /// As above, with a paragraph on the measurement.
    pub fn answer_alone(
        &self,
        lab: &Lab,
        data: &Data,
        rounds: usize,
        page: &mut Page,
    ) -> Result<()> {
        page.block(self.heading);
        page.block(&format!(
            "*Measured apart from the rest of this page, by `make lab QUESTION={}`: {}, {rounds} rounds.*",
            self.name, page.note
        ));
        (self.section)(lab, data, page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_section_ends_where_the_next_begins() {
        for two in ALL.windows(2) {
            assert_eq!(two[0].next_heading, two[1].heading);
        }
    }
}
