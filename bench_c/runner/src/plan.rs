//! What is run: the programs with their sizes, and the settings each one is run with.

use serde::Serialize;

use crate::lab;

/// A program of bench_c and the size it is run at.
pub struct Program {
    pub name: &'static str,
    pub n: u64,
    pub quick_n: u64,
    /// What the program stands for, said in the head of its table.
    pub what: &'static str,
    /// It starts many runs: writing statistics at the end of each would be part of what is
    /// timed, so one run more, untimed, collects them.
    pub many_runs: bool,
    /// It takes as long as it was told, whatever runs it: measured in one repetition only.
    pub once: bool,
    /// Its `tasks=` are elements, iterations or searches: how many tasks the library makes of
    /// them depends on the data, or on the schedule.
    pub not_tasks: bool,
}

/// The sizes keep the whole suite under three minutes on two cores.
pub const PROGRAMS: &[Program] = &[
    program("quicksort", 1 << 21, 1 << 19, "the course's, tasks of natural sizes"),
    program("mandelbrot", 640, 384, "a task a row, coarse and uneven"),
    program("tree", 1 << 20, 1 << 18, "a binary tree of empty tasks"),
    program("flood", 1 << 17, 1 << 15, "one task spawns all the others"),
    program("nqueens", 12, 10, "a fork a placement, an irregular tree"),
    elements("mergesort", 1 << 20, 1 << 18, "joins above joins, merges are divided, too"),
    program("fib", 29, 24, "a fork a call, no cut-off"),
    Program {
        many_runs: true,
        ..program("shortruns", 300, 100, "runs of 64 tasks of a microsecond")
    },
];

/// The programs of [`Group::Joins`]; in its table are those of [`PROGRAMS`] that join, too.
pub const JOINS: &[Program] = &[
    program("fib_inline", 29, 24, "fib with the fast paths compiled into the program"),
    program("uts", 9, 7, "a fork a node, T1 of the Unbalanced Tree Search"),
    program("uts_deep", 140, 20, "the same on T3, which is deep"),
    program("matmul", 384, 128, "a product of matrices, divided"),
    program("strassen", 384, 128, "the same by Strassen, with memory to allocate"),
    elements("knapsack", 16, 4, "searches; who finds cancels the others"),
    elements("loop", 50_000_000, 5_000_000, "iterations of a nanosecond or two"),
    elements("reduce", 50_000_000, 5_000_000, "a sum of such terms"),
    elements("sort", 1 << 20, 1 << 17, "the library's sort; serial is libc's qsort"),
];
pub const ALSO_JOIN: &[&str] = &["fib", "nqueens", "mergesort"];

/// The programs of [`Group::Overheads`].
pub const OVERHEADS: &[Program] = &[
    Program { many_runs: true, ..program("emptyrun", 300, 100, "runs that do nothing") },
    program("wakeup", 50, 20, "from a spawn to the start on a sleeping worker"),
    program("latetask", 100, 50, "tasks whose spawner computes on"),
    program("yield", 1 << 17, 1 << 14, "two tasks that yield in turn"),
    program("suspend", 1 << 16, 1 << 13, "two tasks that wait for each other"),
    program("resume", 300, 60, "hand-overs to a worker that looks for work"),
    program("blocking", 400, 100, "tasks that sleep in blocking sections"),
    elements("phases", 1000, 200, "short parallel phases, one after the other"),
    Program { once: true, ..program("idleburn", 2000, 300, "idle workers") },
];
/// What [`OVERHEADS`]' blocking is run with.
pub const BLOCKING_WAYS: &[&str] = &["section", "plain", "empty"];
/// What [`OVERHEADS`]' phases are made of, and under which kinds.
pub const PHASES: &[(&str, &str)] = &[
    ("a parallel phase of 5 µs, by a loop", "for-5-0"),
    ("... of 20 µs", "for-20-0"),
    ("... of 100 µs", "for-100-0"),
    ("... of 20 µs, by a group", "group-20-0"),
    ("... of 20 µs, by forks", "fork-20-0"),
    ("... of 20 µs, by a reduction", "reduce-20-0"),
    ("... of 20 µs, after 50 µs alone", "for-20-50"),
];
pub const PHASE_KINDS: &[Kind] = &[Kind::Steal, Kind::Cont];
/// What [`OVERHEADS`]' resume hands over, how, and from which deques.
pub const HAND_OVERS: &[(&str, Kind, &str)] = &[
    ("a task just spawned", Kind::Steal, "spawn"),
    ("a task that was suspended", Kind::Steal, "wait"),
    ("a spawner of kind cont", Kind::Cont, "spawn"),
];
pub const HAND_OVER_DEQUES: &[&str] = &["split", "chaselev"];
/// The program of [`Group::Closures`], and what its -d chooses.
pub const CLOSURES: Program =
    program("closures", 1 << 19, 1 << 17, "what a task is given, and how");
pub const CLOSURE_WAYS: &[&str] =
    &["none", "malloc", "copy", "flood-none", "flood-malloc", "flood-copy"];
/// The numbers of threads that [`OVERHEADS`]' idleburn is run with.
pub const BURNERS: &[usize] = &[2, 8, 64];

/// The programs the lock primitives are compared on.
pub const LOCK_PROGRAMS: &[&str] = &["tree", "flood"];
pub const LOCKS: &[&str] = &["mutex", "spin", "sem", "ring", "chaselev", "split"];
/// Those that are deques of an owner: a shared stack has a lock and nothing else to choose.
pub const OWNED: &[&str] = &["ring", "chaselev", "split"];

/// The programs the idle policies are compared on.
pub const IDLE_PROGRAMS: &[&str] = &["flood", "shortruns", "tree"];
pub const IDLES: &[&str] = &["park", "nap", "backoff", "spin"];

pub const KINDS: &[Kind] = &[Kind::Lifo, Kind::Fifo, Kind::Steal, Kind::Cont];

pub const fn program(name: &'static str, n: u64, quick_n: u64, what: &'static str) -> Program {
    Program { name, n, quick_n, what, many_runs: false, once: false, not_tasks: false }
}

pub const fn elements(name: &'static str, n: u64, quick_n: u64, what: &'static str) -> Program {
    Program { not_tasks: true, ..program(name, n, quick_n, what) }
}

pub fn all_programs() -> impl Iterator<Item = &'static Program> {
    let bench = PROGRAMS.iter().chain(JOINS).chain(OVERHEADS).chain([&CLOSURES]);
    bench.chain(lab::PROGRAMS)
}

pub fn program_named(name: &str) -> Option<&'static Program> {
    all_programs().find(|p| p.name == name)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The program's serial version: no scheduler at all.
    None,
    Lifo,
    Fifo,
    Steal,
    Cont,
}

impl Kind {
    /// The value of `SCHED_KIND`, and what the program prints.
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

/// Which comparison a run belongs to.
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
    /// Of `make lab`: which of its questions a run answers, its settings say.
    Lab,
}

/// One thing to measure: a program under one choice of settings.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Setup {
    pub group: Group,
    pub program: &'static str,
    pub n: u64,
    pub kind: Kind,
    /// `SCHED_DEQUE` and `SCHED_IDLE`; none: the library's default.
    pub deque: Option<&'static str>,
    pub idle: Option<&'static str>,
    /// `SCHED_WARM`.
    pub warm: Option<&'static str>,
    /// The argument of -d: with [`Kind::None`], what takes the scheduler's place.
    pub data: Option<&'static str>,
    pub threads: usize,
    /// Further variables, by their whole names.
    pub knobs: Knobs,
}

pub type Knobs = &'static [(&'static str, &'static str)];

impl std::fmt::Display for Setup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} -n {}", self.program, self.n)?;
        match (self.kind, self.data) {
            (Kind::None, None) => write!(f, " -s")?,
            (_, Some(data)) => write!(f, " -d {data}")?,
            (_, None) => (),
        }
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

/// Everything a session measures, and on which thread counts.
pub struct Plan {
    pub setups: Vec<Setup>,
    /// See [`thread_counts`].
    pub threads: Vec<usize>,
    /// Those the lock primitives and the idle policies are compared at.
    pub lock_threads: Vec<usize>,
    pub idle_threads: Vec<usize>,
    /// That of the overheads, but for idleburn.
    pub overhead_threads: usize,
    pub closure_threads: Vec<usize>,
}

impl Plan {
    pub fn new(cores: usize, quick: bool, only: &[String]) -> Plan {
        let threads = thread_counts(cores);
        let lock_threads = distinct([1, cores.max(2), 2 * cores]);
        let idle_threads = distinct([cores.max(2), 2 * cores]);
        let wanted = |name: &str| only.is_empty() || only.iter().any(|o| o == name);
        let mut setups = Vec::new();
        for p in PROGRAMS.iter().filter(|p| wanted(p.name)) {
            let base = serial(p, Group::Kinds, quick);
            setups.push(base.clone());
            for &kind in KINDS {
                for &threads in &threads {
                    setups.push(Setup { kind, threads, ..base.clone() });
                }
            }
            if LOCK_PROGRAMS.contains(&p.name) {
                let base = Setup { group: Group::Locks, ..base.clone() };
                add_locks(&mut setups, &base, &lock_threads);
            }
            if IDLE_PROGRAMS.contains(&p.name) {
                let base = Setup { group: Group::Idle, kind: Kind::Steal, ..base.clone() };
                for &idle in IDLES {
                    for &threads in &idle_threads {
                        setups.push(Setup { idle: Some(idle), threads, ..base.clone() });
                    }
                }
            }
        }
        for p in JOINS.iter().filter(|p| wanted(p.name)) {
            let base = serial(p, Group::Joins, quick);
            setups.push(base.clone());
            for &threads in &threads {
                setups.push(Setup { kind: Kind::Steal, threads, ..base.clone() });
            }
        }
        let overhead_threads = cores.max(2);
        for p in OVERHEADS.iter().filter(|p| wanted(p.name)) {
            let base = serial(p, Group::Overheads, quick);
            add_overheads(&mut setups, &base, overhead_threads);
        }
        let closure_threads = distinct([1, cores.max(2)]);
        if wanted(CLOSURES.name) {
            let base = serial(&CLOSURES, Group::Closures, quick);
            for way in CLOSURE_WAYS {
                setups.extend(closure_threads.iter().map(|&threads| Setup {
                    kind: Kind::Steal,
                    data: Some(way),
                    threads,
                    ..base.clone()
                }));
            }
        }
        Plan { setups, threads, lock_threads, idle_threads, overhead_threads, closure_threads }
    }

    pub fn has(&self, group: Group) -> bool {
        self.setups.iter().any(|s| s.group == group)
    }

    /// The size `program` is run at; 0 when it is not run.
    pub fn size(&self, program: &str) -> u64 {
        self.setups.iter().find(|s| s.program == program).map_or(0, |s| s.n)
    }
}

pub fn serial(p: &Program, group: Group, quick: bool) -> Setup {
    Setup {
        group,
        program: p.name,
        n: if quick { p.quick_n } else { p.n },
        kind: Kind::None,
        deque: None,
        idle: None,
        warm: None,
        data: None,
        threads: 1,
        knobs: &[],
    }
}

/// The scheduler, and beside it what the kernel gives without one.
fn add_overheads(setups: &mut Vec<Setup>, base: &Setup, threads: usize) {
    let steal = Setup { kind: Kind::Steal, threads, ..base.clone() };
    let bare = |data| Setup { data: Some(data), ..base.clone() };
    match base.program {
        "emptyrun" => {
            let cold = Setup { warm: Some("0"), ..steal.clone() };
            let pair = |setup: &Setup| Setup { data: Some("pair"), ..setup.clone() };
            setups.extend([bare("pthread"), pair(&cold), pair(&steal), cold, steal]);
        }
        "yield" => {
            setups.extend([bare("pthread"), bare("ucontext"), Setup { threads: 1, ..steal }]);
        }
        "suspend" => {
            let one = Setup { threads: 1, ..steal.clone() };
            setups.extend([bare("pthread"), bare("one"), one, steal]);
        }
        "resume" => {
            setups.push(bare("line"));
            let idle = Some("spin");
            for &(_, kind, way) in HAND_OVERS {
                setups.extend(HAND_OVER_DEQUES.iter().map(|&deque| Setup {
                    kind,
                    data: Some(way),
                    deque: Some(deque),
                    idle,
                    ..steal.clone()
                }));
            }
        }
        "phases" => {
            setups.extend(
                PHASES
                    .iter()
                    .flat_map(|&(_, data)| {
                        let data = Some(data);
                        PHASE_KINDS.iter().map(move |&kind| (data, kind)).collect::<Vec<_>>()
                    })
                    .map(|(data, kind)| Setup { kind, data, ..steal.clone() }),
            );
        }
        "blocking" => {
            let ways = BLOCKING_WAYS.iter();
            setups.extend(ways.map(|&way| Setup { data: Some(way), ..steal.clone() }));
        }
        "wakeup" => setups.extend([bare("futex"), steal]),
        "idleburn" => {
            setups.extend(BURNERS.iter().map(|&threads| Setup { threads, ..steal.clone() }));
        }
        _ => setups.push(steal),
    }
}

fn add_locks(setups: &mut Vec<Setup>, base: &Setup, threads: &[usize]) {
    for kind in [Kind::Lifo, Kind::Steal] {
        for &deque in LOCKS {
            if kind == Kind::Lifo && OWNED.contains(&deque) {
                continue;
            }
            for &threads in threads {
                setups.push(Setup { kind, deque: Some(deque), threads, ..base.clone() });
            }
        }
    }
}

/// 1, 2, 4 … up to twice the cores, and that number itself.
pub fn thread_counts(cores: usize) -> Vec<usize> {
    let most = 2 * cores;
    let powers = (0..).map(|k| 1 << k).take_while(|&t| t < most);
    powers.chain([most]).collect()
}

fn distinct<const N: usize>(mut counts: [usize; N]) -> Vec<usize> {
    counts.sort_unstable();
    let mut counts = counts.to_vec();
    counts.dedup();
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thread_counts_are_powers_of_two_and_twice_the_cores() {
        assert_eq!(thread_counts(1), [1, 2]);
        assert_eq!(thread_counts(2), [1, 2, 4]);
        assert_eq!(thread_counts(6), [1, 2, 4, 8, 12]);
    }

    #[test]
    fn no_setup_is_measured_twice() {
        for cores in [1, 2, 3, 8] {
            let setups = Plan::new(cores, false, &[]).setups;
            let distinct: std::collections::HashSet<_> = setups.iter().collect();
            assert_eq!(distinct.len(), setups.len());
        }
    }
}
