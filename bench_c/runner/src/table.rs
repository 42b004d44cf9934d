//! The tables on standard output.

use crate::plan::{
    ALSO_JOIN, BURNERS, CLOSURE_WAYS, Group, HAND_OVER_DEQUES, HAND_OVERS, IDLE_PROGRAMS, IDLES,
    JOINS, KINDS, Kind, LOCK_PROGRAMS, LOCKS, PHASE_KINDS, PHASES, PROGRAMS, Plan, Program,
};
use crate::sheet::{Table, say};
use crate::summary::{Measured, Quartiles, Summary};

/// Prints each table that there are runs for, below a sentence that says what it is.
pub fn print_all(plan: &Plan, summary: &Summary) {
    for (what, table) in all(plan, summary) {
        say(format!("\n{what}"));
        println!("{table}");
    }
}

fn all(plan: &Plan, summary: &Summary) -> Vec<(String, Table)> {
    let of_kinds = |p: &Program| {
        let head = format!("{} -n {}: {}", p.name, plan.size(p.name), p.what);
        (head, kinds(plan, summary, p.name))
    };
    let mut tables: Vec<_> = PROGRAMS.iter().map(of_kinds).collect();
    for (group, what, table) in [
        (
            Group::Joins,
            "Fork and join under steal: Ts is the serial program, Tp the one on p threads; ns per \
             task, element or iteration",
            joins as fn(&Plan, &Summary) -> Table,
        ),
        (Group::Locks, "The lock primitives side by side: ns per task [quartiles]", locks),
        (
            Group::Idle,
            "The idle policies of steal side by side: ms [quartiles], processor ms, sleeps",
            idles,
        ),
        (
            Group::Closures,
            "A task with 24 bytes of arguments, under steal: ns per task [quartiles]",
            closures,
        ),
        (Group::Overheads, "What a run costs beside its tasks, under steal", overheads),
    ] {
        if plan.has(group) {
            tables.push((what.to_owned(), table(plan, summary)));
        }
    }
    tables.retain(|(_, table)| !table.is_empty());
    tables
}

/// A program over kinds and thread counts.
fn kinds(plan: &Plan, summary: &Summary, program: &str) -> Table {
    let head = [
        "kind",
        "threads",
        "ms [quartiles]",
        "speed-up",
        "ns/task",
        "cpu ms",
        "steals",
        "failed",
        "sleeps",
        "wakes",
    ];
    let mut table = Table::new(2, &head);
    let serial = summary.serial(program);
    let mut row = |name: &str, threads: usize, m: &Measured| {
        let speedup = serial.map(|s| m.seconds.under(s.seconds.median).median);
        let count = |value: Option<f64>| value.map_or("-".into(), count);
        let counters = m.counters;
        table.add_row(vec![
            name.into(),
            threads.to_string(),
            with_quartiles(m.seconds.scaled(1e3)),
            speedup.map_or("-".into(), short),
            short(m.ns_per_task().median),
            short(m.cpu.median * 1e3),
            count(counters.map(|c| c.steals)),
            count(counters.map(|c| c.failed_steals)),
            count(counters.map(|c| c.sleeps)),
            count(counters.map(|c| c.wakes)),
        ]);
    };
    if let Some(m) = serial {
        row("serial", 1, m);
    }
    for &kind in KINDS {
        for &threads in &plan.threads {
            if let Some(m) = summary.kind(program, kind, threads) {
                row(kind.name(), threads, m);
            }
        }
    }
    table
}

/// A row a program: what its tasks cost on one thread, and what more threads gain.
fn joins(plan: &Plan, summary: &Summary) -> Table {
    let head = ["program -n", "Ts, ms [quartiles]", "T1, ms [quartiles]", "T1, ns", "T1/Ts"];
    let mut head = head.map(String::from).to_vec();
    let more: Vec<usize> = plan.threads.iter().copied().filter(|&t| t > 1).collect();
    head.extend(more.iter().map(|t| format!("Ts/T{t}")));
    let mut table = Table::new(1, &head);
    for name in ALSO_JOIN.iter().copied().chain(JOINS.iter().map(|p| p.name)) {
        let joins = |kind, threads| summary.joins(name, kind, threads);
        let Some((serial, one)) = joins(Kind::None, 1).zip(joins(Kind::Steal, 1)) else { continue };
        let mut row = vec![
            format!("{name} {}", plan.size(name)),
            with_quartiles(serial.seconds.scaled(1e3)),
            with_quartiles(one.seconds.scaled(1e3)),
            short(one.ns_per_task().median),
            short(one.seconds.median / serial.seconds.median),
        ];
        for &threads in &more {
            let ratio = |all: &Measured| short(serial.seconds.median / all.seconds.median);
            row.push(joins(Kind::Steal, threads).map_or("-".into(), ratio));
        }
        table.add_row(row);
    }
    table
}

fn locks(plan: &Plan, summary: &Summary) -> Table {
    let mut head = vec!["program".to_owned(), "kind".into(), "deque".into()];
    head.extend(plan.lock_threads.iter().map(|&t| threads(t)));
    let mut table = Table::new(3, &head);
    for program in LOCK_PROGRAMS {
        for kind in [Kind::Lifo, Kind::Steal] {
            for lock in LOCKS {
                let found = plan.lock_threads.iter().map(|&t| summary.lock(program, kind, lock, t));
                let found: Vec<_> = found.collect();
                if found.iter().all(Option::is_none) {
                    continue;
                }
                let mut row = vec![(*program).to_owned(), kind.name().into(), (*lock).into()];
                row.extend(
                    found
                        .into_iter()
                        .map(|m| m.map_or("-".into(), |m| with_quartiles(m.ns_per_task()))),
                );
                table.add_row(row);
            }
        }
    }
    table
}

fn idles(plan: &Plan, summary: &Summary) -> Table {
    let mut head = vec!["program".to_owned(), "idle".into()];
    for &t in &plan.idle_threads {
        head.extend([threads(t), "cpu ms".into(), "sleeps".into()]);
    }
    let mut table = Table::new(2, &head);
    for program in IDLE_PROGRAMS {
        for idle in IDLES {
            let found = plan.idle_threads.iter().map(|&t| summary.idle(program, idle, t));
            let found: Vec<_> = found.collect();
            if found.iter().all(Option::is_none) {
                continue;
            }
            let mut row = vec![(*program).to_owned(), (*idle).into()];
            for m in found {
                row.extend(match m {
                    None => ["-".to_owned(), "-".into(), "-".into()],
                    Some(m) => [
                        with_quartiles(m.seconds.scaled(1e3)),
                        short(m.cpu.median * 1e3),
                        m.counters.map_or("-".into(), |c| count(c.sleeps)),
                    ],
                });
            }
            table.add_row(row);
        }
    }
    table
}

fn closures(plan: &Plan, summary: &Summary) -> Table {
    let mut head = vec!["tasks".to_owned(), "arguments".into()];
    head.extend(plan.closure_threads.iter().map(|&t| threads(t)));
    let mut table = Table::new(2, &head);
    for way in CLOSURE_WAYS {
        let (shape, how) = way.split_once('-').unwrap_or(("tree", way));
        let ns = |&t: &usize| summary.closures(way, t).map(|m| with_quartiles(m.ns_per_task()));
        let mut row = vec![shape.to_owned(), how.into()];
        row.extend(plan.closure_threads.iter().map(|t| ns(t).unwrap_or("-".into())));
        table.add_row(row);
    }
    table
}

/// A row a figure: the scheduler's, and under it the kernel's own.
fn overheads(plan: &Plan, summary: &Summary) -> Table {
    let mut table = Table::new(1, &["", "threads", "median [quartiles]", "unit"]);
    let mut row = |what: &str, threads: Option<usize>, unit: &str, value: Option<Quartiles>| {
        if let Some(value) = value {
            let threads = threads.map_or("-".into(), |t| t.to_string());
            let texts = [what.to_owned(), threads, with_quartiles(value), unit.to_owned()];
            table.add_row(texts.into());
        }
    };
    let t = plan.overhead_threads;
    let own = |m: Option<&Measured>, name| m.and_then(|m| m.own(name));

    let run = |data, warm| own(summary.runs("emptyrun", data, warm, t), "us_per_run");
    row("sched_init, one task: no second thread", Some(t), "µs", run(None, None));
    row("sched_init, two threads meet, warm (the default)", Some(t), "µs", run(Some("pair"), None));
    let cold = run(Some("pair"), Some("0"));
    row("sched_init, two threads meet, cold (SCHED_WARM=0)", Some(t), "µs", cold);
    row(
        "pthread_create and pthread_join",
        None,
        "µs",
        own(summary.bare("emptyrun", "pthread"), "us_per_run"),
    );

    let wake = summary.overhead("wakeup", t);
    row("from a spawn to its start on a sleeping worker", Some(t), "µs", own(wake, "wake_us"));
    row("... nine of ten", Some(t), "µs", own(wake, "p90_us"));
    let futex = summary.bare("wakeup", "futex");
    row("from a bare FUTEX_WAKE to the sleeper's return", None, "µs", own(futex, "wake_us"));
    row("... nine of ten", None, "µs", own(futex, "p90_us"));

    let late = summary.overhead("latetask", t);
    row(
        "the first of 1,000 tasks of a spawner that computes",
        Some(t),
        "µs",
        own(late, "first_us"),
    );
    row("... those run before it comes back", Some(t), "tasks", own(late, "before_end"));

    let yields = own(summary.overhead("yield", 1), "ns_a_yield");
    row("a yield, of two tasks in turn", Some(1), "ns", yields);
    let bare_yield = |way| own(summary.bare("yield", way), "ns_a_yield");
    row("... as two threads on one processor, by sched_yield", None, "ns", bare_yield("pthread"));
    row("... as two contexts of libc, by swapcontext", None, "ns", bare_yield("ucontext"));
    let turn = |threads| own(summary.overhead("suspend", threads), "ns_a_turn");
    row("a task waits, another that waited goes on", Some(1), "ns", turn(1));
    row("... in turn, on either of two workers", Some(t), "ns", turn(t));
    let bare_turn = |way| own(summary.bare("suspend", way), "ns_a_turn");
    row("... as two threads, with POSIX semaphores", None, "ns", bare_turn("pthread"));
    row("... the same on one processor", None, "ns", bare_turn("one"));

    for (what, kind, way) in HAND_OVERS {
        for deque in HAND_OVER_DEQUES {
            let found = own(summary.hand_over(*kind, way, deque), "handover_ns");
            row(&format!("{what} runs elsewhere, {deque}"), Some(t), "ns", found);
        }
    }
    let line = |name| own(summary.bare("resume", "line"), name);
    row("... a cache line, to the other processor", None, "ns", line("handover_ns"));
    row("... and back", None, "ns", line("back_ns"));

    for (what, data) in PHASES {
        for kind in PHASE_KINDS {
            let found = own(summary.phases(data, *kind), "us_a_phase");
            row(&format!("{what}, {}", kind.name()), Some(t), "µs", found);
        }
    }

    let [section, plain, empty] =
        ["section", "plain", "empty"].map(|way| summary.runs("blocking", Some(way), None, t));
    let each = |way| own(way, "tasks_per_second");
    row("tasks that sleep 1 ms, in a blocking section", Some(t), "1/s", each(section));
    row("... without one", Some(t), "1/s", each(plain));
    row("a blocking section with nothing in it", Some(t), "ns", own(empty, "ns_a_section"));

    for &t in BURNERS {
        let burn = own(summary.overhead("idleburn", t), "burn_percent");
        row("idle workers burn, of one processor", Some(t), "%", burn);
    }
    table
}

fn threads(t: usize) -> String {
    format!("{t} thread{}", if t == 1 { "" } else { "s" })
}

pub fn with_quartiles(q: Quartiles) -> String {
    format!("{} [{}–{}]", short(q.median), short(q.low), short(q.high))
}

/// Three digits that matter.
pub fn short(value: f64) -> String {
    let digits = match value.abs() {
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        v if v >= 0.9995 => 2,
        v if v >= 0.09995 => 3,
        v if v >= 0.009995 => 4,
        _ => 5,
    };
    format!("{value:.digits$}")
}

/// A counter: as it is up to 9999, then in thousands, millions.
pub fn count(value: f64) -> String {
    match value {
        v if v < 1e4 => format!("{v:.0}"),
        v if v < 1e6 => format!("{:.1}k", v / 1e3),
        v => format!("{:.1}M", v / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sheet::{COLUMNS, tests::widest};
    use crate::summary::tests::made_up;

    /// Times of all lengths, on small machines and large ones.
    #[test]
    fn no_line_is_wider_than_a_terminal() {
        for cores in [1, 2, 6, 64] {
            let plan = Plan::new(cores, false, &[]);
            for seconds in [1e-5, 0.012345, 0.9, 12.3, 1234.0] {
                let runs = made_up(&plan, |setup| seconds * setup.threads as f64);
                let summary = Summary::new(&runs);
                let tables = all(&plan, &summary);
                assert_eq!(tables.len(), PROGRAMS.len() + 5);
                for (what, table) in tables {
                    let text = table.to_string();
                    assert!(widest(&text) <= COLUMNS, "{what}, {cores} cores:\n{text}");
                }
                for line in crate::verdict::lines(&plan, &summary) {
                    let line = crate::sheet::wrapped(&line);
                    assert!(widest(&line) <= COLUMNS, "{line}");
                }
            }
        }
    }

    /// On two cores a table of usual times is in one part.
    #[test]
    fn tables_of_a_small_machine_are_whole() {
        let plan = Plan::new(2, false, &[]);
        for seconds in [0.00085, 0.0123, 0.0839, 1.1] {
            let summary = Summary::new(&made_up(&plan, |_| seconds));
            for (what, table) in all(&plan, &summary) {
                assert_eq!(table.to_string().matches("──\n").count(), 1, "{what}\n{table}");
            }
        }
    }

    #[test]
    fn what_was_not_run_has_no_table() {
        let plan = Plan::new(2, false, &["tree".to_owned()]);
        let tables = all(&plan, &Summary::new(&made_up(&plan, |_| 0.1)));
        assert_eq!(tables.len(), 3);
        assert!(all(&plan, &Summary::new(&[])).is_empty());
    }

    #[test]
    fn three_digits() {
        assert_eq!(short(1234.4), "1234");
        assert_eq!(short(99.97), "100");
        assert_eq!(short(12.34), "12.3");
        assert_eq!(short(1.234), "1.23");
        assert_eq!(short(0.1234), "0.123");
        assert_eq!(short(0.001234), "0.00123");
    }

    #[test]
    fn counters() {
        assert_eq!(count(9999.0), "9999");
        assert_eq!(count(12_345.0), "12.3k");
        assert_eq!(count(1_500_000.0), "1.5M");
    }
}
