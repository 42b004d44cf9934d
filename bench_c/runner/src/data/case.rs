//! A case in words, as templates and the list of programs have it:
//! `tree steal 2 n=64 deque=spin SCHED_STEAL=half`. It is a program, a kind or another system, the
//! number of threads if that is not 1, and settings.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

/// A program under one choice of settings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Case {
    pub program: String,
    pub n: u64,
    /// The kind, or the system. `none` is the serial program.
    pub by: String,
    /// `SCHED_DEQUE`, `SCHED_IDLE` and `SCHED_WARM`; None: the library's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deque: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm: Option<String>,
    /// The argument of `-d`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    pub threads: usize,
    /// Further variables, with their whole names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub knobs: BTreeMap<String, String>,
}

/// One of the sizes at which a program was run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Size {
    #[default]
    Least,
    Most,
    Of(u64),
}

/// Selects a case of a session, and one of its values: the time, if none is named (`of=steals`).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Selector {
    pub session: String,
    pub case: Case,
    pub n: Size,
    pub of: String,
}

impl Selector {
    /// `lab tree steal 2 of=steals`.
    pub fn parse(words: &str) -> Result<Selector> {
        let words = words.trim();
        let (session, rest) = words.split_once(' ').context("a session, a program, a kind")?;
        let mut selector = Selector {
            session: session.to_owned(),
            of: "seconds".into(),
            case: Case { threads: 1, ..Case::default() },
            ..Selector::default()
        };
        let case = &mut selector.case;
        for word in rest.split_whitespace() {
            // Names of systems and data may have blanks.
            let text = |text: &str| Some(text.replace('~', " "));
            match word.split_once('=') {
                None if case.program.is_empty() => case.program = word.to_owned(),
                None if word.parse::<usize>().is_err() => case.by = word.replace('~', " "),
                None => case.threads = word.parse()?,
                Some(("by", by)) => case.by = by.replace('~', " "),
                Some(("n", "most")) => selector.n = Size::Most,
                Some(("n", n)) => selector.n = Size::Of(n.parse().context("n=")?),
                Some(("deque", value)) => case.deque = text(value),
                Some(("idle", value)) => case.idle = text(value),
                Some(("warm", value)) => case.warm = text(value),
                Some(("data", value)) => case.data = text(value),
                Some(("of", value)) => selector.of = value.to_owned(),
                Some((name, value)) if name.starts_with("SCHED_") => {
                    case.knobs.insert(name.to_owned(), value.to_owned());
                }
                Some((other, _)) => bail!("no case is selected by `{other}`"),
            }
        }
        if case.by == "serial" && ["bench", "lab"].contains(&session) {
            case.by = "none".into();
        }
        anyhow::ensure!(!case.by.is_empty(), "a session, a program and a kind, not `{words}`");
        Ok(selector)
    }

    pub fn selects(&self, case: &Case) -> bool {
        let n = if let Size::Of(n) = self.n { n } else { case.n };
        case.n == n && Case { n, ..self.case.clone() } == *case
    }
}

impl Case {
    pub fn parse(words: &str) -> Result<Case> {
        let Selector { case, n, .. } = Selector::parse(&format!("- {words}"))?;
        Ok(Case { n: if let Size::Of(n) = n { n } else { 0 }, ..case })
    }

    /// True if the program makes no run of the library: threads alone share the mutex (`-d
    /// 0+N-...`).
    pub fn makes_no_run(&self) -> bool {
        self.program == "mutex" && self.data.as_deref().is_some_and(|data| data.starts_with("0+"))
    }

    /// The words of the command line. With `none` an argument of `-d` chooses what takes the
    /// scheduler's place, unless the program has a serial version of each of its data.
    pub fn words(&self) -> Vec<String> {
        let mut words = vec!["-n".to_owned(), self.n.to_string()];
        let serial = self.program == "phases" || self.program.starts_with("outside_");
        if self.by == "none" && (self.data.is_none() || serial) {
            words.push("-s".into());
        }
        words.extend(self.data.iter().flat_map(|data| ["-d".to_owned(), data.clone()]));
        words
    }

    /// The variables that choose the setting, but for the number of threads.
    pub fn variables(&self) -> Vec<(String, String)> {
        let named =
            [("SCHED_DEQUE", &self.deque), ("SCHED_IDLE", &self.idle), ("SCHED_WARM", &self.warm)];
        let named = named.into_iter().filter_map(|(name, v)| Some((name.to_owned(), v.clone()?)));
        let kind = ("SCHED_KIND".to_owned(), self.by.clone());
        let knobs = self.knobs.iter().map(|(name, value)| (name.clone(), value.clone()));
        std::iter::once(kind).chain(named).chain(knobs).collect()
    }

    /// The settings in words: all that is neither the program, the kind, the threads nor the size.
    pub fn settings(&self) -> String {
        let named = [
            ("deque", &self.deque),
            ("idle", &self.idle),
            ("warm", &self.warm),
            ("data", &self.data),
        ];
        let named = named.into_iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
        let all = named.chain(self.knobs.iter().map(|(name, value)| (&name[..], value)));
        all.map(|(name, value)| format!("{name}={}", value.replace(' ', "~")))
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// The variables as one would type them before a program's name.
    pub fn setting(&self) -> String {
        let words = self.variables().into_iter().map(|(name, value)| format!("{name}={value}"));
        words.collect::<Vec<_>>().join(" ")
    }
}

impl Display for Case {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.program, self.words().join(" "))?;
        match self.by.as_str() {
            "none" => Ok(()),
            _ => write!(f, " {} SCHED_THREADS={}", self.setting(), self.threads),
        }
    }
}
