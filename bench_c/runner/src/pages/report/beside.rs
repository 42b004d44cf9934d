//! Tables of other systems beside this one: that of the report, and those of docs/BENCHMARKS.md.
//! Their figures are medians at 1 thread / 2 threads, of the session `peers`.

use anyhow::{Result, bail, ensure};
use sched_tools::table::markdown;

use super::figures::SYSTEMS;
use super::language::Language;
use super::measurements::{Measurements, Selector};

/// A value of a program.
struct Column {
    head: &'static str,
    program: &'static str,
    /// None: the smallest size that was measured.
    n: Option<u64>,
    data: Option<&'static str>,
    /// As in [`super::measurements::Case::quartiles`].
    value: &'static str,
}

const fn column(head: &'static str, program: &'static str, value: &'static str) -> Column {
    Column { head, program, n: None, data: None, value }
}

const fn of_data(mut column: Column, data: &'static str) -> Column {
    column.data = Some(data);
    column
}

const fn of_size(mut column: Column, n: u64) -> Column {
    column.n = Some(n);
    column
}

/// A table whose rows are systems.
struct Layout {
    /// The head of the first column.
    corner: &'static str,
    /// The label of each row, and the name of its system in the session. The first is libsched's.
    rows: &'static [(&'static str, &'static str)],
    columns: &'static [Column],
}

const LIBSCHED: (&str, &str) = ("**libsched**", "libsched");

const REPORT: &[Column] = &[
    column("tree, ns", "tree", "ns"),
    column("flood, ns", "flood", "ns"),
    column("fib, ns", "fib", "ns"),
    column("queens, ns", "nqueens", "ns"),
    column("quicksort, ms", "quicksort", "ms"),
    column("wake-up, µs", "wakeup", "wake_us"),
    column("idle, %", "idleburn", "burn_percent"),
];

const OVERVIEW: Layout = Layout {
    corner: "",
    rows: &[
        LIBSCHED,
        ("libgomp", "libgomp"),
        ("libomp", "libomp"),
        ("onetbb", "onetbb"),
        ("rayon", "rayon"),
        ("crossbeam", "crossbeam"),
        ("chili", "chili"),
        ("forte", "forte"),
        ("glib", "glib"),
        ("go", "go"),
        ("java", "java"),
    ],
    columns: &[
        column("tree, ns", "tree", "ns"),
        column("flood, ns", "flood", "ns"),
        column("quicksort, ms", "quicksort", "ms"),
        column("mandelbrot, ms", "mandelbrot", "ms"),
        column("wake-up, µs", "wakeup", "wake_us"),
        column("idle, %", "idleburn", "burn_percent"),
    ],
};

const JOINS: Layout = Layout {
    corner: "",
    rows: &[
        LIBSCHED,
        ("with `sched_inline.h`", "inlined"),
        ("with `sched_typed.h`", "typed"),
        ("lace", "lace"),
        ("chili", "chili"),
        ("forte", "forte"),
        ("libgomp", "libgomp"),
        ("libomp", "libomp"),
        ("onetbb", "onetbb"),
        ("rayon", "rayon"),
        ("crossbeam", "crossbeam"),
        ("go", "go"),
        ("java", "java"),
    ],
    columns: &[
        column("fib", "fib", "ns"),
        column("treef", "treef", "ns"),
        column("nqueens", "nqueens", "ns"),
        // T1 as published; the session also has it two levels less deep.
        of_size(column("uts T1", "uts", "ns"), 10),
        column("uts T3", "uts_deep", "ns"),
        column("mergesort, ms", "mergesort", "ms"),
    ],
};

const fn sort(head: &'static str, n: u64, value: &'static str) -> Column {
    of_size(column(head, "sort", value), n)
}

/// The systems that sort ints.
const SORTERS: &[(&str, &str)] = &[
    ("**libsched**: `sched_sort`", "libsched"),
    ("`sched_sort.h`", "typed"),
    ("onetbb", "onetbb"),
    ("rayon", "rayon"),
    ("java", "java"),
    ("libc's `qsort`", "serial"),
];

const SORTS: Layout = Layout {
    corner: "",
    rows: SORTERS,
    columns: &[
        sort("random", 1 << 22, "ms"),
        of_data(sort("16 different numbers", 1 << 22, "ms"), "few"),
        of_data(sort("in order", 1 << 22, "ms"), "sorted"),
        of_data(sort("falling", 1 << 22, "ms"), "falling"),
        of_data(sort("random, stable", 1 << 22, "ms"), "stable"),
    ],
};

const SHORT_SORTS: Layout = Layout {
    corner: "",
    rows: SORTERS,
    columns: &[
        sort("10,000, random", 10_000, "us"),
        of_data(sort("random, stable", 10_000, "us"), "stable"),
        sort("100,000, random", 100_000, "us"),
        of_data(sort("random, stable", 100_000, "us"), "stable"),
        of_data(sort("16 different numbers", 100_000, "us"), "few"),
        of_data(sort("in order", 100_000, "us"), "sorted"),
    ],
};

const fn elements(head: &'static str, data: &'static str) -> Column {
    of_data(column(head, "sort_elements", "ms"), data)
}

const ELEMENTS: Layout = Layout {
    corner: "",
    rows: &[
        ("**libsched**: `sched_sort.h`", "libsched"),
        ("rayon", "rayon"),
        ("libc's `qsort`", "serial"),
    ],
    columns: &[
        elements("doubles", "doubles"),
        elements("pairs", "pairs"),
        elements("strings", "strings"),
        elements("1,000 bytes", "wide"),
        elements("doubles, stable", "stable-doubles"),
        elements("pairs", "stable-pairs"),
        elements("strings", "stable-strings"),
        elements("1,000 bytes", "stable-wide"),
    ],
};

/// The systems that have loops.
const LOOPERS: &[(&str, &str)] = &[
    LIBSCHED,
    ("libgomp", "libgomp"),
    ("libomp", "libomp"),
    ("onetbb", "onetbb"),
    ("rayon", "rayon"),
];

const fn loops(head: &'static str, data: &'static str) -> Column {
    of_data(column(head, "loops", "over_ideal"), data)
}

/// The program of an OpenMP library prints the time of the best of its schedules.
const LOOPS: Layout = Layout {
    corner: "work-iterations",
    rows: LOOPERS,
    columns: &[
        loops("even, 1000-1000", "even-1000-1000"),
        loops("rising", "rising-1000-1000"),
        loops("falling", "falling-1000-1000"),
        loops("random", "random-1000-1000"),
        loops("huge", "huge-1000-1000"),
        loops("rising, 300-10,000", "rising-300-10000"),
        loops("random", "random-300-10000"),
    ],
};

const fn reduction(head: &'static str, data: &'static str) -> Column {
    of_data(column(head, "reductions", "over_ideal"), data)
}

const REDUCTIONS: Layout = Layout {
    corner: "work-terms",
    rows: &[
        ("**libsched**: `sched_reduce`", "libsched"),
        ("`sched_reduce_relaxed`", "relaxed"),
        ("onetbb: `parallel_deterministic_reduce`", "onetbb.fixed"),
        ("libgomp", "libgomp"),
        ("libomp", "libomp"),
        ("onetbb", "onetbb"),
        ("rayon", "rayon"),
    ],
    columns: &[
        reduction("even, 1000-1000", "even-1000-1000"),
        reduction("rising, 1000-1000", "rising-1000-1000"),
        reduction("falling, 1000-1000", "falling-1000-1000"),
        reduction("random, 1000-1000", "random-1000-1000"),
        reduction("huge, 1000-1000", "huge-1000-1000"),
        reduction("huge, 300-100", "huge-300-100"),
        reduction("random, 300-10,000", "random-300-10000"),
    ],
};

const fn phases(head: &'static str, data: &'static str) -> Column {
    of_data(column(head, "phases", "us_a_phase"), data)
}

/// The systems that have short calls from main.
const CALLERS: &[(&str, &str)] = &[
    LIBSCHED,
    ("libgomp", "libgomp"),
    ("libomp", "libomp"),
    ("onetbb", "onetbb"),
    ("rayon", "rayon"),
    ("serial", "serial"),
];

/// Loops from main.
const PHASES: Layout = Layout {
    corner: "work, gap",
    rows: CALLERS,
    columns: &[
        phases("5, 0", "main-for-5-0"),
        phases("20, 0", "main-for-20-0"),
        phases("100, 0", "main-for-100-0"),
        phases("300, 0", "main-for-300-0"),
        phases("5, 50", "main-for-5-50"),
        phases("20, 50", "main-for-20-50"),
        phases("100, 50", "main-for-100-50"),
        phases("300, 50", "main-for-300-50"),
        phases("5, 500", "main-for-5-500"),
        phases("20, 500", "main-for-20-500"),
        phases("100, 500", "main-for-100-500"),
        phases("300, 500", "main-for-300-500"),
    ],
};

/// Other short calls from main.
const CALLS: Layout = Layout {
    corner: "",
    rows: CALLERS,
    columns: &[
        phases("group, 5 µs", "main-group-5-0"),
        phases("group, 20 µs", "main-group-20-0"),
        phases("sum of 20,000", "main-sum-20-0"),
        phases("... after 500 µs", "main-sum-20-500"),
        phases("sort of 10,000", "main-sort-10-0"),
    ],
};

const fn flood(head: &'static str, data: &'static str) -> Column {
    of_data(column(head, "outside_flood", "ns"), data)
}

const FLOODS: Layout = Layout {
    corner: "",
    rows: &[
        LIBSCHED,
        ("libgomp", "libgomp"),
        ("libomp", "libomp"),
        ("onetbb", "onetbb"),
        ("rayon", "rayon"),
        ("glib", "glib"),
    ],
    columns: &[
        flood("groups: main", "group-1"),
        flood("2 threads", "group-2"),
        flood("8 threads", "group-8"),
        flood("single tasks: main", "pool-1"),
        flood("2 threads", "pool-2"),
        flood("8 threads", "pool-8"),
    ],
};

const fn sparse(head: &'static str, data: &'static str, value: &'static str) -> Column {
    of_data(column(head, "outside_sparse", value), data)
}

const SPARSE: Layout = Layout {
    corner: "",
    rows: &[
        ("**libsched**: `sched_pool_submit`", "libsched"),
        ("a list, a mutex, a condition", "list"),
        ("onetbb", "onetbb"),
        ("rayon", "rayon"),
        ("glib", "glib"),
    ],
    columns: &[
        sparse("main: median", "pool-1", "p50_us"),
        sparse("99 %", "pool-1", "p99_us"),
        sparse("processor", "pool-1", "cpu_us"),
        sparse("3 threads: median", "pool-3", "p50_us"),
        sparse("99 %", "pool-3", "p99_us"),
        sparse("processor", "pool-3", "cpu_us"),
        sparse("8 threads: median", "pool-8", "p50_us"),
        sparse("99 %", "pool-8", "p99_us"),
        sparse("processor", "pool-8", "cpu_us"),
    ],
};

const fn long_job(head: &'static str, data: &'static str, value: &'static str) -> Column {
    of_data(column(head, "outside_beside", value), data)
}

const LONG_JOBS: Layout = Layout {
    corner: "",
    rows: LOOPERS,
    columns: &[
        long_job("alone", "loop", "alone_us"),
        long_job("beside a loop: median", "loop", "p50_us"),
        long_job("99 %", "loop", "p99_us"),
        long_job("beside a tree: median", "tree", "p50_us"),
        long_job("99 %", "tree", "p99_us"),
    ],
};

const IN_A_TASK: Layout = Layout {
    corner: "work, gap",
    rows: LOOPERS,
    columns: &[
        phases("5, 0", "for-5-0"),
        phases("20, 0", "for-20-0"),
        phases("100, 0", "for-100-0"),
        phases("300, 0", "for-300-0"),
        phases("20, 50", "for-20-50"),
        phases("100, 50", "for-100-50"),
        phases("20, 500", "for-20-500"),
        phases("100, 500", "for-100-500"),
    ],
};

const GROUPS: Layout = Layout {
    corner: "work",
    rows: LOOPERS,
    columns: &[phases("5", "group-5-0"), phases("20", "group-20-0")],
};

const WAKE_UPS: Layout = Layout {
    corner: "",
    rows: &[
        LIBSCHED,
        ("a bare futex", "futex"),
        ("rayon", "rayon"),
        ("forte", "forte"),
        ("onetbb", "onetbb"),
        ("chili", "chili"),
        ("java", "java"),
        ("glib", "glib"),
        ("crossbeam", "crossbeam"),
        ("go", "go"),
        ("libgomp", "libgomp"),
        ("libomp", "libomp"),
    ],
    columns: &[
        column("median, µs", "wakeup", "wake_us"),
        column("90 %", "wakeup", "p90_us"),
        column("99 %", "wakeup", "p99_us"),
        column("burnt, µs", "wakeup", "burn_us"),
    ],
};

/// The columns of the table of turns: the head, the system that yields, and the system whose tasks
/// wake each other and wait. A bare switch has no queue, so nothing can wait there.
const TURNS: &[(&str, &str, Option<&str>)] = &[
    ("libsched", "libsched", Some("libsched")),
    ("Go", "go", Some("go")),
    ("Boost.Fiber", "boost.fiber", Some("boost.fiber")),
    ("threads, one processor", "sched_yield", Some("two threads on one processor")),
    ("bare: Boost.Context", "boost.context", None),
    ("corosensei", "corosensei", None),
    ("swapcontext", "swapcontext", None),
];

/// The table of this name of docs/BENCHMARKS.md.
pub fn table(name: &str, data: &Measurements, language: Language) -> Result<String> {
    let layout = match name {
        "overview" => OVERVIEW,
        "joins" => JOINS,
        "sorts" => SORTS,
        "elements" => ELEMENTS,
        "short-sorts" => SHORT_SORTS,
        "loops" => LOOPS,
        "reductions" => REDUCTIONS,
        "phases" => PHASES,
        "calls" => CALLS,
        "floods" => FLOODS,
        "sparse" => SPARSE,
        "long-jobs" => LONG_JOBS,
        "in-a-task" => IN_A_TASK,
        "groups" => GROUPS,
        "wake-ups" => WAKE_UPS,
        "turns" => return turns(data, language),
        other => bail!("no table `beside {other}`"),
    };
    let rows = rows(layout.rows, layout.columns, data, language)?;
    Ok(flush_left(&head(layout.corner, layout.columns), &rows))
}

/// The table of the report.
pub fn in_report(data: &Measurements, language: Language) -> Result<String> {
    let label = |system: &&'static str| match *system {
        "libsched" => LIBSCHED,
        "typed" => ("`sched_typed.h`", "typed"),
        other => (other, other),
    };
    let systems: Vec<_> = SYSTEMS.iter().map(label).collect();
    Ok(markdown(1, &head("", REPORT), &rows(&systems, REPORT, data, language)?))
}

/// The columns are flush left: so the pairs of figures in a column are easy to compare.
fn flush_left(head: &[String], rows: &[Vec<String>]) -> String {
    markdown(head.len(), head, rows)
}

fn head(corner: &str, columns: &[Column]) -> Vec<String> {
    std::iter::once(corner).chain(columns.iter().map(|c| c.head)).map(str::to_owned).collect()
}

/// A row for each system that the session has. It is an error if libsched, the first, lacks a
/// value: then the session ran only some programs, or other numbers of threads.
fn rows(
    systems: &[(&str, &str)],
    columns: &[Column],
    data: &Measurements,
    language: Language,
) -> Result<Vec<Vec<String>>> {
    let mut rows = Vec::new();
    for (i, (label, system)) in systems.iter().enumerate() {
        let cells: Vec<String> =
            columns.iter().map(|column| cell(system, column, data, language)).collect();
        let missing = columns.iter().zip(&cells).find(|(_, cell)| cell.is_empty());
        if let (0, Some((Column { program, data, .. }, _))) = (i, missing) {
            let data = data.map_or(String::new(), |data| format!(" -d {data}"));
            bail!("the session `peers` lacks `{program}{data}` of {system} on 1 or 2 threads");
        }
        if cells.iter().any(|cell| !cell.is_empty()) {
            rows.push(std::iter::once((*label).to_owned()).chain(cells).collect());
        }
    }
    Ok(rows)
}

/// "9.01 / 4.30"; one figure if the program has one number of threads, nothing if it was not run.
fn cell(system: &str, column: &Column, data: &Measurements, language: Language) -> String {
    let median = |threads| {
        let selector = Selector {
            session: "peers".into(),
            program: column.program.into(),
            by: system.into(),
            threads,
            n: column.n,
            data: column.data.map(str::to_owned),
            ..Selector::default()
        };
        let quartiles = data.case(&selector).ok()?.quartiles(column.value).ok()?;
        Some(language.number(quartiles.median))
    };
    let texts: Vec<String> = [1, 2].into_iter().filter_map(median).collect();
    texts.join(" / ")
}

/// Two tasks that hand over to each other.
fn turns(data: &Measurements, language: Language) -> Result<String> {
    const YIELD: Column = column("yield", "yield", "ns_a_yield");
    const WAIT: Column = column("wake, wait", "suspend", "ns_a_turn");
    let row = |column: &Column, who: fn(&(&str, &'static str, Option<&'static str>)) -> _| {
        let cell = |system: Option<&str>| {
            let cell = system.map(|system| cell(system, column, data, language));
            cell.filter(|text| !text.is_empty()).unwrap_or("-".into())
        };
        let cells = TURNS.iter().map(|turn| cell(who(turn)));
        std::iter::once(column.head.to_owned()).chain(cells).collect::<Vec<_>>()
    };
    let rows = [row(&YIELD, |(_, yields, _)| Some(*yields)), row(&WAIT, |(_, _, waits)| *waits)];
    for row in &rows {
        ensure!(row[1] != "-", "the session `peers` lacks `{}` of libsched", row[0]);
    }
    let heads = std::iter::once("").chain(TURNS.iter().map(|(head, _, _)| *head));
    Ok(flush_left(&heads.map(str::to_owned).collect::<Vec<_>>(), &rows))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::report::committed;
    use crate::pages::report::measurements::Case;

    const NAMES: &[&str] = &[
        "overview",
        "joins",
        "sorts",
        "elements",
        "short-sorts",
        "loops",
        "reductions",
        "phases",
        "calls",
        "floods",
        "sparse",
        "long-jobs",
        "in-a-task",
        "groups",
        "wake-ups",
        "turns",
    ];

    /// The committed measurements with the cases of `peers` that `keep` keeps.
    fn with(keep: impl Fn(&Case) -> bool) -> Measurements {
        let (mut data, _) = committed();
        data.0.get_mut("peers").unwrap().cases.retain(keep);
        data
    }

    fn english(name: &str, data: &Measurements) -> Result<String> {
        table(name, data, Language::English)
    }

    #[test]
    fn a_system_that_was_not_there_has_no_row() {
        let all = english("joins", &with(|_| true)).unwrap();
        let less = english("joins", &with(|case| case.by != "lace")).unwrap();
        let others = all.lines().filter(|line| !line.starts_with("| lace |"));
        assert_eq!(less.lines().collect::<Vec<_>>(), others.collect::<Vec<_>>());
        assert_eq!(all.lines().count(), less.lines().count() + 1);
    }

    #[test]
    fn a_session_without_a_program_or_on_other_threads_is_an_error() {
        for name in NAMES {
            assert!(english(name, &with(|_| true)).is_ok(), "{name}");
            let error = english(name, &with(|case| case.by != "libsched")).unwrap_err();
            assert!(error.to_string().starts_with("the session `peers` lacks `"), "{error}");
        }
        let few = with(|case| case.data.as_deref() != Some("few"));
        let error = english("sorts", &few).unwrap_err().to_string();
        assert_eq!(error, "the session `peers` lacks `sort -d few` of libsched on 1 or 2 threads");
        assert!(english("overview", &with(|case| case.threads != 2)).is_err());
        assert!(english("nosuch", &few).is_err());
    }

    /// Each cell shows the measurement of its system, program, size and number of threads.
    #[test]
    fn figures_stand_in_their_cells() {
        let (mut data, _) = committed();
        let cases = &mut data.0.get_mut("peers").unwrap().cases;
        for (i, case) in cases.iter_mut().enumerate() {
            case.tasks = 1_000_000_000; // seconds are then ns a task
            let values = case.values.values_mut();
            values.for_each(|values| *values = vec![Some((1000 + i) as f64)]);
        }
        let cases = &data.session("peers").unwrap().cases;
        let of = |program: &str, n: u64, data: Option<&str>, by: &str, threads: usize| {
            let wanted = |case: &Case| {
                (&case.program[..], case.n, case.data.as_deref(), &case.by[..], case.threads)
                    == (program, n, data, by, threads)
            };
            (1000 + cases.iter().position(wanted).unwrap()).to_string()
        };
        let cell = |name: &str, row: &str, column: usize| {
            let text = english(name, &data).unwrap();
            let line = text.lines().find(|line| line.starts_with(row)).unwrap();
            line.split(" | ").nth(column).unwrap().trim_end_matches(" |").to_owned()
        };
        let both = |program, n, by| {
            format!("{} / {}", of(program, n, None, by, 1), of(program, n, None, by, 2))
        };
        assert_eq!(cell("joins", "| go ", 4), both("uts", 10, "go"));
        assert_eq!(cell("joins", "| with `sched_typed.h` ", 5), "");
        let in_unit = |zeros: &str, n| {
            let [one, two] = [1, 2].map(|threads| of("sort", n, None, "typed", threads) + zeros);
            format!("{one} / {two}")
        };
        assert_eq!(cell("short-sorts", "| `sched_sort.h` ", 3), in_unit("000000", 100_000));
        assert_eq!(cell("sorts", "| `sched_sort.h` ", 1), in_unit("000", 1 << 22));
        assert_eq!(cell("wake-ups", "| a bare futex ", 3), of("wakeup", 300, None, "futex", 1));
        assert_eq!(cell("overview", "| **libsched** ", 1), both("tree", (1 << 20) - 2, "libsched"));
        let random = Some("random-300-10000");
        assert_eq!(cell("loops", "| rayon ", 7), of("loops", 60, random, "rayon", 2));
        assert_eq!(cell("reductions", "| libomp ", 7), of("reductions", 60, random, "libomp", 2));
        let threads = of("suspend", 1 << 17, None, "two threads on one processor", 1);
        assert_eq!(cell("turns", "| wake, wait ", 4), threads);
        assert_eq!(cell("turns", "| wake, wait ", 6), "-");
    }
}
