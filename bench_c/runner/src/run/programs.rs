//! The programs of bench_c with their sizes, and the settings that are compared on them.

use super::setup::{Kind, Knobs};

/// A program of bench_c, and the sizes at which it is run.
pub struct Program {
    pub name: &'static str,
    pub n: u64,
    pub quick_n: u64,
    /// What the program measures, for the head of its table.
    pub what: &'static str,
    /// True if it starts many runs of the library. Writing statistics at the end of each would be
    /// timed, so a further run, which is not timed, collects them.
    pub many_runs: bool,
    /// True if it takes as long as it is told, whatever runs it. It is measured in one repetition
    /// only.
    pub once: bool,
    /// True if its `tasks=` are elements, iterations or searches. How many tasks the library makes
    /// of them depends on the data or on the schedule.
    pub not_tasks: bool,
}

/// The programs of [`Group::Kinds`]. Their sizes keep the whole suite under three minutes on two
/// cores.
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

/// The programs of [`Group::Joins`]. Its table also has those of [`PROGRAMS`] that join.
pub const JOINS: &[Program] = &[
    program("fib_inline", 29, 24, "fib with the fast paths compiled into the program"),
    program("fib_typed", 29, 24, "fib with arguments and results by value"),
    program("treef", 20, 16, "a tree that forks one child and calls the other"),
    program("treef_typed", 20, 16, "the same with arguments and results by value"),
    program("nqueens_typed", 12, 10, "nqueens with arguments and results by value"),
    program("uts", 9, 7, "a fork a node, T1 of the Unbalanced Tree Search"),
    program("uts_deep", 140, 20, "the same on T3, which is deep"),
    program("uts_typed", 9, 7, "uts with arguments and results by value"),
    program("matmul", 384, 128, "a product of matrices, divided"),
    program("strassen", 384, 128, "the same by Strassen, with memory to allocate"),
    elements("knapsack", 16, 4, "searches; who finds cancels the others"),
    elements("loop", 50_000_000, 5_000_000, "iterations of a nanosecond or two"),
    elements("reduce", 50_000_000, 5_000_000, "a sum of such terms"),
    elements("reduce_relaxed", 50_000_000, 5_000_000, "the same, with fewer values"),
    elements("sort", 1 << 20, 1 << 17, "the library's sort; serial is libc's qsort"),
    elements("sort_typed", 1 << 20, 1 << 17, "the same with the comparison compiled in"),
    elements(
        "sort_elements",
        1 << 17,
        1 << 13,
        "elements of 1,000 bytes, with the comparison compiled in",
    ),
];
pub const ALSO_JOIN: &[&str] = &["fib", "nqueens", "mergesort"];

/// The programs of [`Group::Overheads`].
pub const OVERHEADS: &[Program] = &[
    Program { many_runs: true, ..program("emptyrun", 300, 100, "runs that do nothing") },
    program("wakeup", 200, 20, "from a spawn to the start on a sleeping worker"),
    program("latetask", 100, 50, "tasks whose spawner computes on"),
    program("yield", 1 << 17, 1 << 14, "two tasks that yield in turn"),
    program("suspend", 1 << 16, 1 << 13, "two tasks that wait for each other"),
    program("resume", 300, 60, "hand-overs to a worker that looks for work"),
    elements("mutex", 1 << 16, 1 << 13, "sections of one mutex"),
    program("blocking", 400, 100, "tasks that sleep in blocking sections"),
    program("echo", 100_000, 5_000, "a server that reads in blocking sections"),
    elements("phases", 1000, 200, "short parallel phases, one after the other"),
    elements("loops", 60, 20, "loops whose iterations take unequal times"),
    elements("reductions", 60, 20, "sums whose terms take unequal times"),
    elements("reductions_relaxed", 60, 20, "the same, with fewer values"),
    Program { once: true, ..program("idleburn", 2000, 300, "idle workers") },
];
/// The arguments of `-d` of blocking.
pub const BLOCKING_WAYS: &[&str] = &["section", "plain", "empty"];
/// The arguments of `-d` of echo.
pub const ECHO_WAYS: &[&str] = &["alone", "beside"];
/// The arguments of `-d` of phases, and the kinds under which it runs.
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
/// The arguments of `-d` of loops.
pub const LOOPS: &[(&str, &str)] = &[
    ("a loop of 1,000 µs in 1,000 equal iterations", "even-1000-1000"),
    ("... in iterations of rising cost", "rising-1000-1000"),
    ("... of falling cost", "falling-1000-1000"),
    ("... of random cost", "random-1000-1000"),
    ("... one of which has 20 % of the work", "huge-1000-1000"),
    ("a loop of 300 µs, 10,000 iterations of rising cost", "rising-300-10000"),
    ("... of random cost", "random-300-10000"),
];
/// The arguments of `-d` of reductions and reductions_relaxed.
pub const REDUCTIONS: &[(&str, &str)] = &[
    ("a sum of 1,000 equal terms in 1,000 µs", "even-1000-1000"),
    ("... terms of rising cost", "rising-1000-1000"),
    ("... of random cost", "random-1000-1000"),
    ("... one of which has 20 % of the work", "huge-1000-1000"),
    ("... of 100 terms in 300 µs, one has 20 %", "huge-300-100"),
];
/// What resume hands over, under which kind and with which argument of `-d`, and from which deques.
pub const HAND_OVERS: &[(&str, Kind, &str)] = &[
    ("a task just spawned", Kind::Steal, "spawn"),
    ("a task that was suspended", Kind::Steal, "wait"),
    ("a spawner of kind cont", Kind::Cont, "spawn"),
];
pub const HAND_OVER_DEQUES: &[&str] = &["split", "chaselev"];
/// Who shares the mutex of mutex, its argument of `-d`, that of the same with threads and a pthread
/// mutex, and the number of workers if it is not the usual one.
pub const MUTEXES: &[(&str, &str, &str, Option<usize>)] = &[
    ("a mutex of 8 tasks and 8 threads, empty sections", "8+8-0", "pthread-8+8-0", None),
    ("... 8 tasks", "8+0-0", "pthread-8+0-0", Some(8)),
    ("... 2 tasks", "2+0-0", "pthread-2+0-0", None),
    ("... 2 threads", "0+2-0", "pthread-0+2-0", None),
    ("... 1 task, alone", "1+0-0", "pthread-1+0-0", None),
    ("... sections of 1 µs, 8 tasks and 8 threads", "8+8-1000", "pthread-8+8-1000", None),
    ("... 2 tasks", "2+0-1000", "pthread-2+0-1000", None),
];
/// The program of [`Group::Closures`], and its arguments of `-d`.
pub const CLOSURES: Program =
    program("closures", 1 << 19, 1 << 17, "what a task is given, and how");
pub const CLOSURE_WAYS: &[&str] =
    &["none", "malloc", "copy", "flood-none", "flood-malloc", "flood-copy"];
/// The programs of [`Group::Observed`], and their sizes. At these sizes a run takes so long that
/// what happens once in a run, such as a profile's measurement of the burden, hardly counts.
pub const OBSERVED: &[(&str, u64)] = &[("tree", 1 << 22), ("flood", 1 << 17), ("fib", 32)];
/// What observes these programs, and the variables that turn it on. The ring of the timeline is so
/// small that it stays in the cache, and hardly anything is left to write at the end.
pub const OBSERVERS: &[(&str, Knobs)] = &[
    ("nobody", &[]),
    ("SCHED_STATS", &[("SCHED_STATS", "json")]),
    ("SCHED_TRACE", &[("SCHED_TRACE", "/dev/null"), ("SCHED_TRACE_SIZE", "4K")]),
    ("SCHED_PROFILE", &[("SCHED_PROFILE", "json")]),
];
/// The programs of [`Group::Outside`]. It also has phases.
pub const OUTSIDE: &[Program] = &[
    program("outside_flood", 200_000, 20_000, "threads outside hand over empty tasks"),
    elements("outside_sparse", 0, 0, "threads outside hand over jobs of 10 µs, with pauses"),
    elements("outside_beside", 400, 50, "loops of main beside a long job of another thread"),
];
/// A short call: what it is, the arguments of `-d` of phases by which a task and main make it, and
/// how often.
pub struct Short {
    pub what: &'static str,
    pub in_task: &'static str,
    pub from_main: &'static str,
    pub n: u64,
}
macro_rules! short {
    ($what:literal, $data:literal, $n:literal) => {
        Short { what: $what, in_task: $data, from_main: concat!("main-", $data), n: $n }
    };
}
pub const SHORTS: &[Short] = &[
    short!("a loop of 5 µs", "for-5-0", 1500),
    short!("... after 50 µs alone", "for-5-50", 500),
    short!("... after 500 µs", "for-5-500", 100),
    short!("a loop of 20 µs", "for-20-0", 1200),
    short!("... after 50 µs", "for-20-50", 400),
    short!("... after 500 µs", "for-20-500", 100),
    short!("a loop of 100 µs", "for-100-0", 300),
    short!("... after 50 µs", "for-100-50", 200),
    short!("... after 500 µs", "for-100-500", 80),
    short!("a loop of 300 µs", "for-300-0", 100),
    short!("... after 50 µs", "for-300-50", 100),
    short!("... after 500 µs", "for-300-500", 60),
    short!("a group, 5 µs in all", "group-5-0", 1500),
    short!("a group, 20 µs", "group-20-0", 1200),
    short!("... after 500 µs", "group-20-500", 100),
    short!("a sum of 20,000 terms", "sum-20-0", 1000),
    short!("... after 500 µs", "sum-20-500", 100),
    short!("a sort of 10,000 ints", "sort-10-0", 60),
    short!("... by sched_sort.h", "typed-10-0", 100),
];
/// The arguments of `-d` of outside_flood.
pub const FLOODS: &[(&str, &str)] = &[
    ("one task, by a group", "task-1"),
    ("main, by a group", "group-1"),
    ("2 threads, a group each", "group-2"),
    ("8 threads", "group-8"),
    ("main, by sched_pool_submit", "pool-1"),
    ("2 threads", "pool-2"),
    ("8 threads", "pool-8"),
];
/// Who hands over, the arguments of `-d` of outside_sparse for a pool and for the list without a
/// scheduler, and the number of jobs.
pub const SPARSE: &[(&str, &str, &str, u64)] = &[
    ("main", "pool-1", "list-1", 400),
    ("3 threads", "pool-3", "list-3", 1200),
    ("8 threads", "pool-8", "list-8", 2400),
];
/// The arguments of `-d` of outside_beside.
pub const BESIDE: &[(&str, &str)] = &[("a loop", "loop"), ("a tree of forks", "tree")];
/// The numbers of threads of idleburn.
pub const BURNERS: &[usize] = &[2, 8, 64];

/// The programs on which the lock primitives are compared.
pub const LOCK_PROGRAMS: &[&str] = &["tree", "flood"];
pub const LOCKS: &[&str] = &["mutex", "spin", "sem", "ring", "chaselev", "split"];
/// The deques that have an owner. A shared stack has none: only its lock can be chosen.
pub const OWNED: &[&str] = &["ring", "chaselev", "split"];

/// The programs on which the idle policies are compared.
pub const IDLE_PROGRAMS: &[&str] = &["flood", "shortruns", "tree"];
pub const IDLES: &[&str] = &["park", "nap", "backoff", "spin"];

pub const KINDS: &[Kind] = &[Kind::Lifo, Kind::Fifo, Kind::Steal, Kind::Cont];

/// Programs that only `make lab` runs. Its cases and grains have their sizes.
pub const LAB_PROGRAMS: &[Program] = &[
    program("fiber_single", 1000, 200, "one task spawns, all sleep and yield"),
    program("fiber_slow", 1000, 200, "the last worker sleeps longer"),
    program("fiber_mergesort", 1024, 256, "a task a split, each sleeps"),
    program("fiber_spawners", 10_000, 1000, "two spawners of unequal load"),
    program("grain", 100_000, 20_000, "a tree of tasks of one length"),
];

pub const fn program(name: &'static str, n: u64, quick_n: u64, what: &'static str) -> Program {
    Program { name, n, quick_n, what, many_runs: false, once: false, not_tasks: false }
}

pub const fn elements(name: &'static str, n: u64, quick_n: u64, what: &'static str) -> Program {
    Program { not_tasks: true, ..program(name, n, quick_n, what) }
}

pub fn all_programs() -> impl Iterator<Item = &'static Program> {
    let bench = PROGRAMS.iter().chain(JOINS).chain(OVERHEADS).chain([&CLOSURES]);
    bench.chain(OUTSIDE).chain(LAB_PROGRAMS)
}

pub fn program_named(name: &str) -> Option<&'static Program> {
    all_programs().find(|p| p.name == name)
}
