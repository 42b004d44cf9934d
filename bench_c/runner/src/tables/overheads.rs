//! The table of what a run costs beside its tasks.

use sched_tools::table::Table;

use crate::run::plan::Plan;
use crate::run::programs::{
    BURNERS, HAND_OVER_DEQUES, HAND_OVERS, LOOPS, MUTEXES, PHASE_KINDS, PHASES, REDUCTIONS,
};
use crate::statistics::quartiles::{Quartiles, with_quartiles};
use crate::statistics::summary::{Measured, Summary};

/// A row for each figure of the scheduler, and below it the same by means of the kernel.
pub fn overheads(plan: &Plan, summary: &Summary) -> Table {
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
    row("... 99 of 100", Some(t), "µs", own(wake, "p99_us"));
    row("... processor time beside the spawner's", Some(t), "µs", own(wake, "burn_us"));
    let futex = summary.bare("wakeup", "futex");
    row("from a bare FUTEX_WAKE to the sleeper's return", None, "µs", own(futex, "wake_us"));
    row("... nine of ten", None, "µs", own(futex, "p90_us"));
    row("... 99 of 100", None, "µs", own(futex, "p99_us"));
    row("... processor time beside the waker's", None, "µs", own(futex, "burn_us"));

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

    for &(what, data, bare_data, workers) in MUTEXES {
        let t = workers.unwrap_or(t);
        let found = own(summary.runs("mutex", Some(data), None, t), "ns_a_section");
        row(what, Some(t), "ns", found);
        let bare = own(summary.bare("mutex", bare_data), "ns_a_section");
        row("... by threads, with a pthread mutex", None, "ns", bare);
    }

    for (what, data) in PHASES {
        for kind in PHASE_KINDS {
            let found = own(summary.phases(data, *kind), "us_a_phase");
            row(&format!("{what}, {}", kind.name()), Some(t), "µs", found);
        }
    }

    for (program, loops, how) in [
        ("loops", LOOPS, ""),
        ("reductions", REDUCTIONS, ""),
        ("reductions_relaxed", REDUCTIONS, ", relaxed"),
    ] {
        for (what, data) in loops {
            let found = own(summary.runs(program, Some(data), None, t), "over_ideal");
            row(&format!("{what}{how}"), Some(t), &format!("× serial/{t}"), found);
        }
    }

    let [section, plain, empty] =
        ["section", "plain", "empty"].map(|way| summary.runs("blocking", Some(way), None, t));
    let each = |way| own(way, "tasks_per_second");
    row("tasks that sleep 1 ms, in a blocking section", Some(t), "1/s", each(section));
    row("... without one", Some(t), "1/s", each(plain));
    row("a blocking section with nothing in it", Some(t), "ns", own(empty, "ns_a_section"));

    let [alone, beside] = ["alone", "beside"].map(|way| summary.runs("echo", Some(way), None, t));
    let each = |way| own(way, "answers_per_second");
    row("answers of an echo server, read in blocking sections", Some(t), "1/s", each(alone));
    row("... beside tasks that compute", Some(t), "1/s", each(beside));
    row("its slowest connection", Some(t), "× mean", own(alone, "least"));
    row("... beside tasks that compute", Some(t), "× mean", own(beside, "least"));

    for &t in BURNERS {
        let burn = own(summary.overhead("idleburn", t), "burn_percent");
        row("idle workers burn, of one processor", Some(t), "%", burn);
    }
    table
}
