//! One thing to measure: a program, and the settings under which it runs.

use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The serial version of the program, without a scheduler.
    None,
    Lifo,
    Fifo,
    Steal,
    Cont,
}

impl Kind {
    /// The value of `SCHED_KIND`, which the program also prints.
    pub fn name(self) -> &'static str {
        match self {
            Kind::None => "none",
            Kind::Lifo => "lifo",
            Kind::Fifo => "fifo",
            Kind::Steal => "steal",
            Kind::Cont => "cont",
        }
    }
}

/// The comparison that a run belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Group {
    Kinds,
    Locks,
    Idle,
    /// Fork and join, groups, loops, under the default kind.
    Joins,
    /// What a run costs beside its tasks, under the default kind.
    Overheads,
    /// Ways to give a task its arguments, under the default kind.
    Closures,
    /// What statistics, a timeline and a profile cost a task, under the default kind.
    Observed,
    /// What main and the program's own threads get, outside of any task.
    Outside,
    /// `make lab`. The settings of a run say which of the questions it answers.
    Lab,
}

/// One thing to measure: a program under one choice of settings.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Setup {
    pub group: Group,
    pub program: &'static str,
    pub n: u64,
    pub kind: Kind,
    /// `SCHED_DEQUE` and `SCHED_IDLE`; None: the library's default.
    pub deque: Option<&'static str>,
    pub idle: Option<&'static str>,
    /// `SCHED_WARM`.
    pub warm: Option<&'static str>,
    /// The argument of `-d`. With [`Kind::None`] it chooses what takes the scheduler's place, except
    /// in [`Group::Outside`].
    pub data: Option<&'static str>,
    pub threads: usize,
    /// Further variables, with their whole names.
    pub knobs: Knobs,
}

pub type Knobs = &'static [(&'static str, &'static str)];

impl Setup {
    /// The words of the command line.
    pub fn words(&self) -> Vec<String> {
        let mut words = vec!["-n".to_owned(), self.n.to_string()];
        if self.kind == Kind::None && (self.data.is_none() || self.group == Group::Outside) {
            words.push("-s".into());
        }
        words.extend(self.data.iter().flat_map(|data| ["-d".to_owned(), (*data).into()]));
        words
    }
}

impl std::fmt::Display for Setup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.program, self.words().join(" "))?;
        if self.kind == Kind::None {
            return Ok(());
        }
        write!(f, " kind={}", self.kind.name())?;
        if let Some(deque) = self.deque {
            write!(f, " deque={deque}")?;
        }
        if let Some(idle) = self.idle {
            write!(f, " idle={idle}")?;
        }
        if let Some(warm) = self.warm {
            write!(f, " warm={warm}")?;
        }
        for (name, value) in self.knobs {
            write!(f, " {name}={value}")?;
        }
        write!(f, " threads={}", self.threads)
    }
}
