//! The programs and cases that are run: plan.toml lists the programs and the cases, and this module
//! expands its lines.

use std::collections::{BTreeMap, HashSet};
use std::sync::LazyLock;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::data::Case;

/// A program of bench_c; plan.toml explains the fields.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Program {
    pub n: u64,
    pub quick: u64,
    pub what: String,
    pub many_runs: bool,
    pub once: bool,
    pub not_tasks: bool,
    pub varies: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Plans {
    programs: BTreeMap<String, Program>,
    sets: BTreeMap<String, Vec<String>>,
    rows: BTreeMap<String, Vec<[String; 3]>>,
    bench: BTreeMap<String, Vec<String>>,
    lab: BTreeMap<String, Vec<String>>,
}

static PLANS: LazyLock<Plans> =
    LazyLock::new(|| toml::from_str(include_str!("plan.toml")).expect("a test reads it"));

/// The groups of cases for which no statistics are collected.
const WITHOUT_STATISTICS: [&str; 2] = ["observed", "outside"];

/// A case to run.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    pub case: Case,
    pub stats: bool,
    /// Runs of a program with other data have other answers.
    pub by_data: bool,
}

pub fn program_named(name: &str) -> Option<&'static Program> {
    PLANS.programs.get(name)
}

pub fn program_names() -> impl Iterator<Item = &'static String> {
    PLANS.programs.keys()
}

/// The questions of the laboratory.
pub fn questions() -> Vec<&'static str> {
    PLANS.lab.keys().map(String::as_str).collect()
}

/// A machine, and the sizes that run on it.
#[derive(Clone, Copy)]
pub struct Plan {
    pub cores: usize,
    pub quick: bool,
}

impl Plan {
    /// The cases of make bench; of these programs alone, unless there are none.
    pub fn bench(&self, only: &[String]) -> Result<Vec<Planned>> {
        let mut all = Vec::new();
        for (group, lines) in &PLANS.bench {
            let without = WITHOUT_STATISTICS.contains(&group.as_str());
            for case in self.cases(lines)? {
                all.push(Planned { case, stats: !without, by_data: without });
            }
        }
        // A quick session observes programs at the sizes at which it compares kinds.
        all.retain(|p| only.is_empty() || only.contains(&p.case.program));
        Ok(once_each(all))
    }

    /// The cases of make lab; of this question alone, if there is one.
    pub fn lab(&self, question: Option<&str>) -> Result<Vec<Planned>> {
        let asked = PLANS.lab.iter().filter(|(name, _)| question.is_none_or(|one| one == *name));
        let mut all = Vec::new();
        for (_, lines) in asked {
            let planned = |case| Planned { case, stats: true, by_data: true };
            all.extend(self.cases(lines)?.into_iter().map(planned));
        }
        Ok(once_each(all))
    }

    /// The cases of some lines.
    fn cases(&self, lines: &[String]) -> Result<Vec<Case>> {
        let mut cases = Vec::new();
        for line in lines {
            for words in self.expanded(line)? {
                let sized: Vec<String> = words.split(' ').map(|word| self.sized(word)).collect();
                let mut case = Case::parse(&sized.join(" ")).with_context(|| words.clone())?;
                if case.n == 0 {
                    case.n = self.size(&case.program);
                }
                cases.push(case);
            }
        }
        Ok(cases)
    }

    /// The size of a program that is not run at other sizes.
    pub fn size(&self, program: &str) -> u64 {
        let program = program_named(program);
        program.map_or(0, |program| if self.quick { program.quick } else { program.n })
    }

    fn sized(&self, word: &str) -> String {
        match word.strip_prefix("n=").and_then(|sizes| sizes.split_once(':')) {
            Some((n, quick)) => format!("n={}", if self.quick { quick } else { n }),
            None => word.to_owned(),
        }
    }

    /// Each alternative of a word with each of the others.
    fn expanded(&self, line: &str) -> Result<Vec<String>> {
        let mut all = vec![String::new()];
        for word in line.split(' ') {
            let (key, values) = match word.split_once('=') {
                Some((key, values)) => (format!("{key}="), values),
                None => (String::new(), word),
            };
            let values: Vec<String> = match values.strip_prefix('$') {
                Some(set) => self.set(set).with_context(|| format!("no set `{set}`"))?,
                None => values.split(',').map(str::to_owned).collect(),
            };
            let with = |line: &String| {
                let gap = if line.is_empty() { "" } else { " " };
                values.iter().map(|value| format!("{line}{gap}{key}{value}")).collect::<Vec<_>>()
            };
            all = all.iter().flat_map(with).collect();
        }
        Ok(all)
    }

    /// The elements of a set.
    pub fn set(&self, name: &str) -> Option<Vec<String>> {
        let texts = |counts: Vec<usize>| Some(counts.iter().map(ToString::to_string).collect());
        let (many, twice) = (self.many(), 2 * self.cores);
        match name {
            "threads" => texts(thread_counts(self.cores)),
            "few" => texts(sorted(vec![1, many])),
            "many" => texts(vec![many]),
            "locking" => texts(sorted(vec![1, many, twice])),
            "idling" => texts(sorted(vec![many, twice])),
            // From 1 to four times the number of cores: the powers of two, and the multiples of the
            // cores.
            "sweep" if self.quick => texts(sorted(vec![1, self.cores, many, 4 * self.cores])),
            "sweep" => {
                let powers = (0..).map(|k| 1 << k).take_while(|&t| t < 4 * self.cores);
                texts(sorted(powers.chain((1..=4).map(|k| k * self.cores)).collect()))
            }
            "contending" => {
                let between = if self.quick { many } else { 2 * many };
                texts(sorted(vec![1, many, between, 4 * many]))
            }
            "sleeping" => texts(sorted(vec![many, 4 * many])),
            _ => match self.rows(name) {
                Some(rows) => Some(rows.iter().map(|[_, _, words]| words.clone()).collect()),
                None => PLANS.sets.get(name).cloned(),
            },
        }
    }

    /// The rows of this name: a name, a name in figures, and words of a case.
    pub fn rows(&self, name: &str) -> Option<&'static Vec<[String; 3]>> {
        PLANS.rows.get(if self.quick && name == "cases" { "quick_cases" } else { name })
    }

    /// All sets by their names, for templates.
    pub fn sets(&self) -> BTreeMap<String, Vec<String>> {
        let own = ["threads", "few", "locking", "idling", "sweep", "contending", "sleeping"];
        let names = PLANS.sets.keys().map(String::as_str).chain(own);
        names.filter_map(|name| Some((name.to_owned(), self.set(name)?))).collect()
    }

    /// The number of cores, but at least two.
    pub fn many(&self) -> usize {
        self.cores.max(2)
    }
}

/// 1, 2, 4 … up to twice the number of cores, and that number itself.
pub fn thread_counts(cores: usize) -> Vec<usize> {
    let most = 2 * cores;
    let powers = (0..).map(|k| 1 << k).take_while(|&t| t < most);
    powers.chain([most]).collect()
}

fn sorted(mut counts: Vec<usize>) -> Vec<usize> {
    counts.sort_unstable();
    counts.dedup();
    counts
}

fn once_each(mut all: Vec<Planned>) -> Vec<Planned> {
    let mut seen = HashSet::new();
    all.retain(|planned| seen.insert(planned.case.clone()));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thread_counts_are_powers_of_two_and_twice_the_cores() {
        assert_eq!(thread_counts(1), [1, 2]);
        assert_eq!(thread_counts(6), [1, 2, 4, 8, 12]);
        let sweep = |cores| Plan { cores, quick: false }.set("sweep").unwrap().join(" ");
        assert_eq!([sweep(1), sweep(2)], ["1 2 3 4", "1 2 4 6 8"]);
        assert_eq!(sweep(6), "1 2 4 6 8 12 16 18 24");
    }

    #[test]
    fn a_line_stands_for_each_alternative_with_each_other() {
        let plan = Plan { cores: 2, quick: true };
        let cases = plan.cases(&["tree,fib lifo,cont 1,2 n=9:7 idle=$idles".into()]).unwrap();
        assert_eq!(cases.len(), 2 * 2 * 2 * 4);
        assert_eq!(cases[1], Case::parse("tree lifo 1 n=7 idle=nap").unwrap());
        assert_eq!(plan.cases(&["tree none".into()]).unwrap()[0].n, 262_144);
        assert!(plan.cases(&["tree none deque=$nosuch".into()]).is_err());
    }

    #[test]
    fn all_plans_can_be_read() {
        for cores in [1, 2, 3, 8] {
            for plan in [false, true].map(|quick| Plan { cores, quick }) {
                let known = |p: &Planned| program_named(&p.case.program).is_some() && p.case.n > 0;
                assert!(plan.bench(&[]).unwrap().iter().all(known));
                assert!(plan.lab(None).unwrap().iter().all(known));
            }
        }
        let names: Vec<_> = PLANS.rows["algorithms"].iter().map(|[name, ..]| name).collect();
        assert_eq!(names.len(), 10);
    }
}
