//! What is run on every system: the workloads of bench_c, their sizes, and how often they run.

/// The figure by which the systems are compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Figure {
    /// Nanoseconds per task.
    PerTask,
    /// Microseconds per run; `tasks` counts the runs.
    PerRun,
    /// Milliseconds.
    Whole,
    /// A field of the line, and its unit.
    Own(&'static str, &'static str),
}

impl Figure {
    pub fn unit(self) -> &'static str {
        match self {
            Figure::PerTask => "ns/task",
            Figure::PerRun => "µs/run",
            Figure::Whole => "ms",
            Figure::Own(_, unit) => unit,
        }
    }
}

/// A further row of a table: the program of bench_c with these words, on one thread.
#[derive(Clone, Copy, Debug)]
pub struct Baseline {
    pub name: &'static str,
    pub words: &'static [&'static str],
}

/// Systems, and why they do not have a workload.
type Without = &'static [(&'static str, &'static str)];

#[derive(Clone, Debug)]
pub struct Workload {
    pub program: &'static str,
    pub n: u64,
    /// The argument of `-d`, for every system.
    pub data: Option<&'static str>,
    /// The size for a first look. None: the workload is left out then.
    pub quick: Option<u64>,
    pub what: &'static str,
    pub figure: Figure,
    pub threads: Vec<usize>,
    /// The number of rounds that run it.
    pub rounds: usize,
    /// The number of runs of a process that count, after those that warm it up: threads are made,
    /// pages are touched. A system that compiles while it runs needs more runs to warm up.
    pub counted: usize,
    pub warm_up: usize,
    pub baselines: &'static [Baseline],
    /// True if the table has columns for the memory.
    pub memory: bool,
    /// Further columns: their heads, and the fields of the line whose medians they have.
    pub more: &'static [(&'static str, &'static str)],
    /// True if the table names the schedules of OpenMP.
    pub schedules: bool,
    /// The systems that do not have it, and why. A system with few workloads names these itself.
    pub without: &'static [Without],
}

impl Workload {
    pub fn has(&self, system: &str) -> bool {
        self.lacking().all(|(name, _)| name != system)
    }

    /// The entries of `without`.
    pub fn lacking(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.without.iter().copied().flatten().copied()
    }

    pub fn make_quick(&mut self) {
        self.n = self.quick.unwrap_or(self.n);
        self.rounds = self.rounds.min(2);
        self.counted = self.counted.min(2);
    }
}

const NO_JOIN: Without = &[("glib", "a task of a GThreadPool cannot wait for others")];
/// The programs of these peers do not have `treef`, whose pattern is that of `fib`.
const NO_TREEF: Without = &[
    ("libgomp", FIB_INSTEAD),
    ("libomp", FIB_INSTEAD),
    ("onetbb", FIB_INSTEAD),
    ("glib", "a task of a GThreadPool cannot wait for others"),
    ("go", FIB_INSTEAD),
    ("java", FIB_INSTEAD),
];
const FIB_INSTEAD: &str = "its program has fib, of the same pattern";
const NO_LOOP: Without = &[
    ("crossbeam", "has no loop; its sister rayon has"),
    ("forte", "has no loop"),
    ("glib", "has no loop"),
    ("go", "has no parallel loop"),
];
const NO_TIMED_LOOPS: Without = &[
    ("crossbeam", "has no loop; its sister rayon has"),
    ("forte", "has no loop"),
    ("glib", "has no loop"),
    ("go", "has no parallel loop"),
    ("java", "its program times whole runs only"),
];
/// Phases that are loops of 16 parts: the argument of `-d`, the number of phases, and a
/// description.
const PHASES: &[(&str, u64, &str)] = &[
    ("for-5-0", 4000, "loops of 16 parts, 5 µs of work in all, one after the other"),
    ("for-20-0", 2000, "loops of 20 µs"),
    ("for-100-0", 400, "loops of 100 µs"),
    ("for-300-0", 130, "loops of 300 µs"),
    ("for-20-50", 600, "loops of 20 µs, and 50 µs between two in which one computes alone"),
    ("for-100-50", 260, "loops of 100 µs, 50 µs between two"),
    ("for-20-500", 80, "loops of 20 µs, 500 µs between two"),
    ("for-100-500", 70, "loops of 100 µs, 500 µs between two"),
    ("group-5-0", 4000, "groups of 15 tasks and the caller's part, 5 µs of work in all"),
    ("group-20-0", 2000, "such groups of 20 µs"),
];

/// Short calls from main, likewise.
const FROM_MAIN: &[(&str, u64, &str)] = &[
    ("main-for-5-0", 4000, "loops of 16 parts from main, 5 µs of work in all, one after the other"),
    ("main-for-20-0", 2000, "loops of 20 µs from main"),
    ("main-for-100-0", 400, "loops of 100 µs from main"),
    ("main-for-300-0", 130, "loops of 300 µs from main"),
    (
        "main-for-5-50",
        700,
        "loops of 5 µs from main, 50 µs between two in which main computes alone",
    ),
    ("main-for-20-50", 600, "loops of 20 µs from main, 50 µs between two"),
    ("main-for-100-50", 260, "loops of 100 µs from main, 50 µs between two"),
    ("main-for-300-50", 110, "loops of 300 µs from main, 50 µs between two"),
    ("main-for-5-500", 80, "loops of 5 µs from main, 500 µs between two"),
    ("main-for-20-500", 80, "loops of 20 µs from main, 500 µs between two"),
    ("main-for-100-500", 70, "loops of 100 µs from main, 500 µs between two"),
    ("main-for-300-500", 50, "loops of 300 µs from main, 500 µs between two"),
    ("main-group-5-0", 4000, "groups of 15 tasks and a part of main's, 5 µs of work in all"),
    ("main-group-20-0", 2000, "such groups of 20 µs"),
    ("main-sum-20-0", 2000, "sums of 20,000 tiny terms from main"),
    ("main-sum-20-500", 80, "such sums, 500 µs between two"),
    (
        "main-sort-10-0",
        100,
        "sorts of 10,000 random ints from main; only libsched calls a function",
    ),
];

/// Empty tasks that threads outside hand over: the argument of `-d`, and a description.
const FLOODS: &[(&str, &str)] = &[
    ("group-1", "main spawns the tasks of a group, and waits for it"),
    ("group-2", "two threads do so at the same time, a group each"),
    ("group-8", "eight threads"),
    ("pool-1", "main hands over single tasks; other systems' tasks count themselves"),
    ("pool-2", "two threads do so at the same time"),
    ("pool-8", "eight threads"),
];

/// Jobs of 10 µs that threads outside hand over, with pauses of 200 µs: the argument of `-d`, the
/// number of jobs, the same without a scheduler, and a description.
const SPARSE: &[(&str, u64, &[Baseline], &str)] = &[
    ("pool-1", 600, &[list(&["-d", "list-1", "-t", "0"])], "main hands over jobs of 10 µs"),
    ("pool-3", 1800, &[list(&["-d", "list-3", "-t", "0"])], "three threads do so"),
    ("pool-8", 3200, &[list(&["-d", "list-8", "-t", "0"])], "eight threads"),
];

const fn list(words: &'static [&'static str]) -> Baseline {
    Baseline { name: "list", words }
}

/// Loops of main's beside a long job of another thread's: the argument of `-d`, and a description.
const BESIDE: &[(&str, &str)] = &[
    ("loop", "main's loops of 20 µs beside another thread's loop in parts of 1 ms"),
    ("tree", "beside another thread's tree of forks and joins, 1 ms in each leaf"),
];

const NO_GROUPS_OUTSIDE: Without = &[
    ("crossbeam", "is a deque only"),
    ("forte", OUTSIDE_ELSEWHERE),
    ("go", OUTSIDE_ELSEWHERE),
    ("java", OUTSIDE_ELSEWHERE),
];
const OUTSIDE_ELSEWHERE: &str = "its program has no threads outside";
const NO_GROUPS: Without = &[("glib", "a GThreadPool has no groups and no loops")];
const NO_ENDING_THREADS: Without =
    &[("libomp", "version 14 crashes after threads whose regions had tasks have ended")];
const NO_SINGLE_TASKS: Without = &[
    ("libgomp", "OpenMP has no tasks outside of a team"),
    ("libomp", "OpenMP has no tasks outside of a team"),
];

/// Loops whose iterations take unequal times: the argument of `-d`, and a description.
const LOOPS: &[(&str, &str)] = &[
    (
        "even-1000-1000",
        "loops of 1,000 µs in 1,000 equal iterations; the ratio of a loop's time to serial time / \
         threads; of OpenMP by the best of three schedules, and in how many runs each was the best",
    ),
    ("rising-1000-1000", "iterations of rising cost"),
    ("falling-1000-1000", "iterations of falling cost"),
    ("random-1000-1000", "iterations of random cost"),
    ("huge-1000-1000", "one iteration has 20 % of the work"),
    ("rising-300-10000", "loops of 300 µs in 10,000 iterations of rising cost"),
    ("random-300-10000", "iterations of random cost"),
];

/// The same for sums.
const REDUCTIONS: &[(&str, &str)] = &[
    ("even-1000-1000", "sums of 1,000 terms that take 1,000 µs in all, each the same time"),
    ("rising-1000-1000", "terms of rising cost"),
    ("falling-1000-1000", "terms of falling cost"),
    ("random-1000-1000", "terms of random cost"),
    ("huge-1000-1000", "one term has 20 % of the work"),
    ("huge-300-100", "100 terms that take 300 µs in all, one has 20 % of the work"),
    ("random-300-10000", "10,000 terms of random cost that take 300 µs in all"),
];

const NO_OPENMP_SORT: Without =
    &[("libgomp", "OpenMP has no sort"), ("libomp", "OpenMP has no sort")];
const NO_SORT: Without = &[
    ("crossbeam", "has no sort; its sister rayon has"),
    ("forte", "has no sort"),
    ("glib", "has no sort"),
    ("go", "has no parallel sort"),
];
const RANDOM_ONLY: Without = &[("java", "its program sorts random numbers only")];
const UNSTABLE: Without = &[("onetbb", "its sort is not stable")];
const NUMBERS_ONLY: Without = &[("onetbb", "its program sorts numbers only")];

/// The systems without a sort of such numbers.
fn without_sort(data: Option<&str>) -> &'static [Without] {
    if data == Some("stable") {
        &[NO_OPENMP_SORT, NO_SORT, RANDOM_ONLY, UNSTABLE]
    } else {
        &[NO_OPENMP_SORT, NO_SORT, RANDOM_ONLY]
    }
}

/// Further inputs of `sort`: the argument of `-d`, and a description.
const SORTS: &[(&str, &str)] = &[
    ("few", "16 different numbers"),
    ("sorted", "numbers in order"),
    ("falling", "numbers in the opposite order"),
    ("stable", "random numbers, by the system's stable sort"),
];

/// Sorts of fewer ints: their number, the argument of `-d`, and a description.
const SHORT_SORTS: &[(u64, Option<&str>, &str)] = &[
    (10_000, None, "10,000 random numbers"),
    (10_000, Some("stable"), "the same, by the system's stable sort"),
    (100_000, None, "100,000 random numbers"),
    (100_000, Some("stable"), "the same, by the system's stable sort"),
    (100_000, Some("few"), "100,000 numbers, 16 different ones"),
    (100_000, Some("sorted"), "100,000 numbers in order"),
];

/// Sorts of other elements: the argument of `-d`, the number of elements, and a description.
const ELEMENTS: &[(&str, u64, &str)] = &[
    (
        "doubles",
        1_000_000,
        "a sort of doubles; all systems but qsort have the comparison compiled in",
    ),
    ("pairs", 1_000_000, "pairs of 16 bytes"),
    ("strings", 500_000, "strings of 16 characters"),
    ("wide", 100_000, "elements of 1,000 bytes"),
    ("stable-doubles", 1_000_000, "doubles, by the system's stable sort"),
    ("stable-pairs", 1_000_000, "pairs, by the stable sort"),
    ("stable-strings", 500_000, "strings, by the stable sort"),
    ("stable-wide", 100_000, "elements of 1,000 bytes, by the stable sort"),
];

/// Systems in which two tasks cannot hand over to each other repeatedly.
const NO_TURNS: Without = &[
    ("libgomp", "its taskyield does nothing"),
    ("libomp", "its taskyield runs another task on top of the one that yields"),
    ("onetbb", "has no yield, and no semaphore that lets other tasks run"),
    ("rayon", "its yield runs another task on top of the one that yields"),
    ("crossbeam", "is a deque only"),
    ("forte", "only its futures can hand over to each other"),
    ("glib", "its tasks keep their threads"),
    ("java", "its tasks keep their threads; virtual threads come with Java 21"),
];

const SERIAL: &[Baseline] = &[Baseline { name: "serial", words: &["-s"] }];

/// All workloads, on these numbers of threads. They take some four minutes on one thread and on two
/// if all systems are there.
pub fn all(threads: &[usize], rounds: Option<usize>) -> Vec<Workload> {
    let several: Vec<usize> = threads.iter().copied().filter(|&t| t > 1).collect();
    let base = Workload {
        program: "",
        n: 0,
        data: None,
        quick: None,
        what: "",
        figure: Figure::PerTask,
        threads: threads.to_vec(),
        rounds: 3,
        counted: 3,
        warm_up: 1,
        baselines: SERIAL,
        memory: false,
        more: &[],
        schedules: false,
        without: &[],
    };
    let joins = Workload { without: &[NO_JOIN], counted: 2, rounds: 2, ..base.clone() };
    let together = Workload { threads: several.clone(), counted: 1, warm_up: 0, ..base.clone() };
    let mut all = vec![
        Workload {
            program: "flood",
            n: 1_000_000,
            quick: Some(100_000),
            what: "one task spawns all the others",
            counted: 2,
            memory: true,
            ..base.clone()
        },
        Workload {
            program: "flood",
            n: 5_000_000,
            what: "five times as many",
            counted: 1,
            warm_up: 0,
            rounds: 1,
            memory: true,
            ..base.clone()
        },
        Workload {
            program: "tree",
            n: (1 << 20) - 2,
            quick: Some((1 << 17) - 2),
            what: "a binary tree of empty tasks",
            counted: 2,
            ..base.clone()
        },
        Workload {
            program: "tree",
            n: (1 << 22) - 2,
            what: "four times as many",
            counted: 1,
            rounds: 1,
            ..base.clone()
        },
        Workload {
            program: "quicksort",
            n: 10 << 20,
            quick: Some(1 << 20),
            what: "the course's, tasks of natural sizes",
            figure: Figure::Whole,
            counted: 1,
            warm_up: 0,
            ..base.clone()
        },
        Workload {
            program: "mandelbrot",
            n: 640,
            quick: Some(320),
            what: "a task a row, coarse and uneven",
            figure: Figure::Whole,
            ..base.clone()
        },
        Workload {
            program: "fib",
            n: 30,
            quick: Some(23),
            what: "a fork and a join a call, no cut-off",
            ..joins.clone()
        },
        Workload {
            program: "treef",
            n: 20,
            quick: Some(14),
            what: "a binary tree of forks and joins; chili and forte offer a forked task only at \
                   intervals",
            without: &[NO_TREEF],
            ..joins.clone()
        },
        Workload {
            program: "nqueens",
            n: 12,
            quick: Some(10),
            what: "a fork a placement, no cut-off",
            counted: 1,
            ..joins.clone()
        },
        Workload {
            program: "uts",
            n: 10,
            what: "a fork a node; T1 as published, each node a SHA-1",
            counted: 1,
            warm_up: 0,
            rounds: 1,
            ..joins.clone()
        },
        Workload {
            program: "uts",
            n: 8,
            quick: Some(7),
            what: "T1 two levels less deep",
            ..joins.clone()
        },
        Workload {
            program: "uts_deep",
            n: 2000,
            what: "T3 as published, binomial and deep",
            counted: 1,
            warm_up: 0,
            rounds: 1,
            ..joins.clone()
        },
        Workload {
            program: "matmul",
            n: 512,
            quick: Some(256),
            what: "a product of matrices, divided down to 32",
            figure: Figure::Whole,
            ..joins.clone()
        },
        Workload {
            program: "strassen",
            n: 512,
            quick: Some(256),
            what: "the same by Strassen",
            figure: Figure::Whole,
            ..joins.clone()
        },
        Workload {
            program: "mergesort",
            n: 1 << 20,
            quick: Some(1 << 18),
            what: "both halves, and both halves of each merge",
            figure: Figure::Whole,
            ..joins.clone()
        },
        Workload {
            program: "knapsack",
            n: 16,
            quick: Some(4),
            what: "searches by a thousand attempts; who finds cancels the others",
            figure: Figure::Whole,
            ..joins.clone()
        },
        Workload {
            program: "loop",
            n: 100_000_000,
            quick: Some(10_000_000),
            what: "a loop of tiny iterations, divided by the system",
            without: &[NO_LOOP],
            ..joins.clone()
        },
        Workload {
            program: "reduce",
            n: 100_000_000,
            quick: Some(10_000_000),
            what: "a sum of tiny terms, divided by the system",
            without: &[NO_LOOP],
            ..joins.clone()
        },
        Workload {
            program: "sort",
            n: 1 << 22,
            quick: Some(1 << 18),
            what: "the system's sort; serial is libc's qsort; only qsort and libsched call a \
                   function to compare",
            figure: Figure::Whole,
            without: &[NO_OPENMP_SORT, NO_SORT],
            ..joins.clone()
        },
    ];
    all.extend(SORTS.iter().map(|&(data, what)| Workload {
        program: "sort",
        n: 1 << 22,
        data: Some(data),
        what,
        figure: Figure::Whole,
        without: without_sort(Some(data)),
        ..joins.clone()
    }));
    all.extend(SHORT_SORTS.iter().map(|&(n, data, what)| Workload {
        program: "sort",
        n,
        data,
        what,
        figure: Figure::Whole,
        counted: 21,
        without: without_sort(data),
        ..joins.clone()
    }));
    all.extend(ELEMENTS.iter().map(|&(data, n, what)| Workload {
        program: "sort_elements",
        n,
        data: Some(data),
        what,
        figure: Figure::Whole,
        without: &[NO_OPENMP_SORT, NO_SORT, RANDOM_ONLY, NUMBERS_ONLY],
        ..joins.clone()
    }));
    all.extend(PHASES.iter().map(|&(data, n, what)| Workload {
        program: "phases",
        n,
        data: Some(data),
        quick: Some(n / 10),
        what,
        figure: Figure::Own("us_a_phase", "µs"),
        threads: several.clone(),
        counted: 1,
        warm_up: 1,
        baselines: &[],
        without: &[NO_TIMED_LOOPS],
        ..joins.clone()
    }));
    all.extend(FROM_MAIN.iter().map(|&(data, n, what)| Workload {
        program: "phases",
        n,
        data: Some(data),
        quick: Some(n / 10),
        what,
        figure: Figure::Own("us_a_phase", "µs"),
        threads: several.clone(),
        counted: 1,
        warm_up: 1,
        without: if data.contains("sort") {
            &[NO_TIMED_LOOPS, NO_OPENMP_SORT]
        } else {
            &[NO_TIMED_LOOPS]
        },
        ..joins.clone()
    }));
    all.extend(FLOODS.iter().map(|&(data, what)| Workload {
        program: "outside_flood",
        n: 200_000,
        data: Some(data),
        quick: Some(20_000),
        what,
        counted: 1,
        without: match data {
            "pool-1" | "pool-2" | "pool-8" => &[NO_GROUPS_OUTSIDE, NO_SINGLE_TASKS],
            "group-1" => &[NO_GROUPS_OUTSIDE, NO_GROUPS],
            _ => &[NO_GROUPS_OUTSIDE, NO_GROUPS, NO_ENDING_THREADS],
        },
        baselines: &[],
        ..joins.clone()
    }));
    all.extend(SPARSE.iter().map(|&(data, n, baselines, what)| Workload {
        program: "outside_sparse",
        n,
        data: Some(data),
        quick: Some(n / 8),
        what,
        figure: Figure::Own("p50_us", "µs to its end"),
        more: &[("99 %", "p99_us"), ("to its start", "start_us"), ("processor", "cpu_us")],
        baselines,
        rounds: 2,
        without: &[NO_GROUPS_OUTSIDE, NO_SINGLE_TASKS],
        ..together.clone()
    }));
    all.extend(BESIDE.iter().map(|&(data, what)| Workload {
        program: "outside_beside",
        n: 400,
        data: Some(data),
        quick: Some(50),
        what,
        figure: Figure::Own("p50_us", "µs"),
        more: &[("99 %", "p99_us"), ("longest", "most_us"), ("alone", "alone_us")],
        baselines: &[],
        rounds: 2,
        without: &[NO_GROUPS_OUTSIDE, NO_GROUPS],
        ..together.clone()
    }));
    let loops = LOOPS.iter().map(|&(data, what)| ("loops", data, what));
    let reductions = REDUCTIONS.iter().map(|&(data, what)| ("reductions", data, what));
    all.extend(loops.chain(reductions).map(|(program, data, what)| Workload {
        program,
        n: 60,
        data: Some(data),
        quick: Some(20),
        what,
        figure: Figure::Own("over_ideal", "× serial/threads"),
        threads: several.clone(),
        warm_up: 0,
        baselines: &[],
        schedules: true,
        without: &[NO_TIMED_LOOPS],
        ..joins.clone()
    }));
    all.extend([
        Workload {
            program: "emptyrun",
            n: 1000,
            quick: Some(100),
            what: "runs of one empty task, threads kept as the system keeps them",
            figure: Figure::PerRun,
            baselines: &[Baseline { name: "pthread_create", words: &["-d", "pthread"] }],
            ..base.clone()
        },
        Workload {
            program: "wakeup",
            n: 300,
            quick: Some(30),
            what: "from a spawn to the start on a worker left alone for 1 to 3 ms, and the processor \
                   time of a wake-up beside that of the spawner, who computes; of chili from a \
                   fork whose forker then joins empty closures, because chili offers a task only \
                   in a join",
            figure: Figure::Own("wake_us", "µs"),
            // A system that spins while it waits wakes up quickly, and pays with processor time.
            more: &[("p90", "p90_us"), ("p99", "p99_us"), ("µs of processor time", "burn_us")],
            baselines: &[Baseline { name: "futex", words: &["-d", "futex"] }],
            ..together.clone()
        },
        Workload {
            program: "yield",
            n: 1 << 17,
            quick: Some(1 << 14),
            what: "yields of two tasks in turn; sched_yield by two threads on one processor; of \
                   Boost.Context, corosensei and swapcontext bare switches, without a queue",
            figure: Figure::Own("ns_a_yield", "ns"),
            threads: vec![1],
            baselines: &[
                Baseline { name: "swapcontext", words: &["-d", "ucontext"] },
                Baseline { name: "sched_yield", words: &["-d", "pthread"] },
            ],
            without: &[NO_TURNS],
            ..base.clone()
        },
        Workload {
            program: "suspend",
            n: 1 << 17,
            quick: Some(1 << 14),
            what: "turns of two tasks that wake each other and wait, by semaphores; of Go and \
                   Boost.Fiber by channels",
            figure: Figure::Own("ns_a_turn", "ns"),
            baselines: &[
                Baseline { name: "two threads", words: &["-d", "pthread"] },
                Baseline { name: "two threads on one processor", words: &["-d", "one"] },
            ],
            without: &[NO_TURNS],
            ..base
        },
        Workload {
            program: "idleburn",
            n: 1000,
            quick: Some(300),
            what: "milliseconds that one task sleeps",
            figure: Figure::Own("burn_percent", "% of one processor"),
            baselines: &[],
            ..together
        },
    ]);
    if let Some(rounds) = rounds {
        all.iter_mut().for_each(|w| w.rounds = rounds);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_workload_is_measured_twice() {
        let all = all(&[1, 2], None);
        let distinct: std::collections::HashSet<_> =
            all.iter().map(|w| (w.program, w.n, w.data)).collect();
        assert_eq!(distinct.len(), all.len());
    }
}
