//! The conclusions of the suite: sentences computed from the measurements.

use sched_tools::number::short;
use sched_tools::number::threads as threads_words;

use crate::run::plan::Plan;
use crate::run::setup::Kind;
use crate::statistics::summary::Summary;

/// What the sentences begin with that compare several threads, if the machine was busy.
pub const DOUBTFUL: &str = "doubtful, since the machine was busy: ";

pub fn lines(plan: &Plan, summary: &Summary, busy: bool) -> Vec<String> {
    let (mut lines, mut of_threads) = (Vec::new(), spawn_price(plan, summary));
    if of_threads.len() > 1 {
        lines.push(of_threads.remove(0)); // that of one thread
    }
    lines.extend(fences(summary));
    lines.extend(fork_price(summary));
    of_threads.extend(two_workers(plan, summary));
    of_threads.extend(loops(plan, summary));
    of_threads.extend(sleepers(plan, summary));
    of_threads.extend(critical_path(summary));
    of_threads.extend(empty_runs(plan, summary));
    of_threads.extend(wake_up(plan, summary));
    let doubt = if busy { DOUBTFUL } else { "" };
    lines.extend(of_threads.into_iter().map(|line| format!("{doubt}{line}")));
    lines
}

/// Work stealing compared with one shared stack, on the same number of workers.
fn spawn_price(plan: &Plan, summary: &Summary) -> Vec<String> {
    let sentence = |threads: usize| {
        let ns = |kind| Some(summary.kind("tree", kind, threads)?.ns_per_task().median);
        let (steal, lifo) = (ns(Kind::Steal)?, ns(Kind::Lifo)?);
        Some(format!(
            "tree, {}: a task costs {} ns under steal and {} ns under lifo: steal is {}",
            threads_words(threads),
            short(steal),
            short(lifo),
            times(lifo / steal, "cheaper", "dearer")
        ))
    };
    [1, plan.overhead_threads].into_iter().filter_map(sentence).collect()
}

/// The deque whose owner needs no fence compared with the textbook's.
fn fences(summary: &Summary) -> Option<String> {
    let ns = |deque| {
        let run = summary.lock("tree", Kind::Steal, deque, 1)?;
        Some(run.ns_per_task().median)
    };
    let (split, chaselev) = (ns("split")?, ns("chaselev")?);
    Some(format!(
        "tree, 1 thread: a task costs {} ns on the deque split and {} ns on chaselev: split is {}",
        short(split),
        short(chaselev),
        times(chaselev / split, "cheaper", "dearer")
    ))
}

/// The price of a fork, also in iterations of the calibration loop: this number changes little from
/// one machine to another.
fn fork_price(summary: &Summary) -> Option<String> {
    let (serial, fork) =
        (summary.joins("fib", Kind::None, 1)?, summary.joins("fib", Kind::Steal, 1)?);
    let ns = fork.ns_per_task().median;
    let with_headers: String = [("fib_inline", "sched_inline.h"), ("fib_typed", "sched_typed.h")]
        .iter()
        .filter_map(|(program, header)| {
            let ns = summary.joins(program, Kind::Steal, 1)?.ns_per_task().median;
            Some(format!(", {} with {header}", short(ns)))
        })
        .collect();
    Some(format!(
        "fib, 1 thread: a fork and its join cost {} ns{with_headers}, with the calls of fib that belong to them, \
         which cost {} ns serially; an iteration of y = y*3 + 1 takes {} ns: {} times that",
        short(ns),
        short(serial.ns_per_task().median),
        short(fork.cal),
        short(ns / fork.cal)
    ))
}

fn two_workers(plan: &Plan, summary: &Summary) -> Option<String> {
    let threads = plan.overhead_threads;
    let gain = |name: &&str| {
        let seconds = |threads| Some(summary.joins(name, Kind::Steal, threads)?.seconds.median);
        Some(format!("{name} {}", short(seconds(1)? / seconds(threads)?)))
    };
    let gains: Vec<_> = ["fib", "nqueens", "uts", "matmul"].iter().filter_map(gain).collect();
    (!gains.is_empty()).then(|| format!("{threads} workers over one: {}", gains.join(", ")))
}

/// The library's own loops compared with serial ones.
fn loops(plan: &Plan, summary: &Summary) -> Option<String> {
    let threads = plan.overhead_threads;
    let over_serial = |name| {
        let seconds = |kind, threads| Some(summary.joins(name, kind, threads)?.seconds.median);
        let serial = seconds(Kind::None, 1)?;
        let (one, all) = (seconds(Kind::Steal, 1)?, seconds(Kind::Steal, threads)?);
        Some(format!("{} and {}", short(one / serial), short(all / serial)))
    };
    Some(format!(
        "1 thread and {threads}, times as long as serial: sched_for {}, sched_reduce {}, sched_sort \
         {} (serial: qsort)",
        over_serial("loop")?,
        over_serial("reduce")?,
        over_serial("sort")?
    ))
}

/// The first partition of quicksort runs alone: the speed-up that this allows, and the one
/// measured.
fn critical_path(summary: &Summary) -> Option<String> {
    let serial = summary.serial("quicksort")?;
    let own = |name| serial.own(name).map(|q| q.median);
    let processors = own("processors")? as usize;
    let run = summary.kind("quicksort", Kind::Steal, processors)?;
    let (got, allows) = (serial.seconds.median / run.seconds.median, own("allows")?);
    Some(format!(
        "quicksort, {processors} threads: {} times as fast as serial under steal; its critical \
         path ({} of {} ms) allows {}: that is {:.0} % of it",
        short(got),
        short(own("span")? * 1e3),
        short(own("work")? * 1e3),
        short(allows),
        100.0 * got / allows
    ))
}

/// The price of a run, with new threads compared with new pthreads, and with kept threads.
fn empty_runs(plan: &Plan, summary: &Summary) -> Option<String> {
    let threads = plan.overhead_threads;
    let us = |data, warm| {
        let run = summary.runs("emptyrun", data, warm, threads)?;
        Some(run.own("us_per_run")?.median)
    };
    let alone = us(None, None)?;
    let (warm, cold) = (us(Some("pair"), None)?, us(Some("pair"), Some("0"))?);
    let pthread = summary.bare("emptyrun", "pthread")?.own("us_per_run")?.median;
    Some(format!(
        "a sched_init of one empty task takes {} µs; one in which two threads meet {} with kept \
         threads and {} with a new one; pthread_create and pthread_join, which make a new one, too, \
         take {}: with a new thread sched_init is {}",
        short(alone),
        short(warm),
        short(cold),
        short(pthread),
        times(pthread / cold, "cheaper", "dearer")
    ))
}

fn wake_up(plan: &Plan, summary: &Summary) -> Option<String> {
    let ours = summary.overhead("wakeup", plan.overhead_threads)?.own("wake_us")?.median;
    let bare = summary.bare("wakeup", "futex")?.own("wake_us")?.median;
    Some(format!(
        "a task spawned to a sleeping worker starts after {} µs, a bare futex wake takes {}: {} \
         times that",
        short(ours),
        short(bare),
        short(ours / bare)
    ))
}

fn sleepers(plan: &Plan, summary: &Summary) -> Vec<String> {
    let mut lines = Vec::new();
    for program in ["flood", "shortruns"] {
        for &threads in &plan.idle_threads {
            let ms = |idle| Some(summary.idle(program, idle, threads)?.seconds.median * 1e3);
            if let (Some(park), Some(nap)) = (ms("park"), ms("nap")) {
                lines.push(format!(
                    "{program}, {threads} threads: {} ms under park and {} ms under nap: park is {}",
                    short(park),
                    short(nap),
                    times(nap / park, "faster", "slower")
                ));
            }
        }
    }
    lines
}

/// "3.1 times faster", or "1.2 times slower".
fn times(ratio: f64, better: &str, worse: &str) -> String {
    if ratio >= 1.0 {
        format!("{} times {better}", short(ratio))
    } else {
        format!("{} times {worse}", short(1.0 / ratio))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::setup::{Group, Setup};
    use crate::statistics::summary::tests::made_up;

    /// Each thread count has times of its own: a ratio between two thread counts would be far from
    /// these.
    #[test]
    fn a_verdict_compares_runs_on_as_many_threads() {
        let plan = Plan::new(2, false, &[]);
        let seconds = |s: &Setup| {
            let threads = [0.0, 1.0, 100.0, 0.0, 1e4][s.threads.min(4)];
            let group = if s.group == Group::Kinds { 1.0 } else { 1e6 };
            let slower = if s.kind == Kind::Lifo || s.idle == Some("nap") { 3.0 } else { 1.0 };
            threads * group * slower
        };
        let summary = Summary::new(&made_up(&plan, seconds));
        let lines = lines(&plan, &summary, false);
        for (start, end) in [
            ("tree, 1 thread: a task costs", "under lifo: steal is 3.00 times cheaper"),
            ("tree, 2 threads: a task costs", "under lifo: steal is 3.00 times cheaper"),
            ("tree, 1 thread: a task costs", "split is 1.00 times cheaper"),
            ("flood, 2 threads:", "park is 3.00 times faster"),
            ("flood, 4 threads:", "park is 3.00 times faster"),
            ("shortruns, 4 threads:", "park is 3.00 times faster"),
        ] {
            let found = lines.iter().any(|line| line.starts_with(start) && line.ends_with(end));
            assert!(found, "{start} … {end}: {lines:#?}");
        }
    }

    /// If all was measured there are all verdicts; a verdict whose one side is missing is left out.
    #[test]
    fn a_verdict_needs_both_sides() {
        let plan = Plan::new(2, false, &[]);
        let all = made_up(&plan, |_| 0.1);
        assert_eq!(lines(&plan, &Summary::new(&all), false).len(), 13);
        let of_steal = all.into_iter().filter(|r| r.setup.kind == Kind::Steal).collect::<Vec<_>>();
        let lines = lines(&plan, &Summary::new(&of_steal), false);
        assert!(!lines.iter().any(|line| line.contains("lifo") || line.contains("pthread")));
    }

    #[test]
    fn what_compares_threads_is_doubtful_on_a_busy_machine() {
        let plan = Plan::new(2, false, &[]);
        let summary = Summary::new(&made_up(&plan, |_| 0.1));
        let of_one = |line: &&String| line.contains(", 1 thread: ") || line.starts_with("fib: ");
        let (one, more) = (lines(&plan, &summary, true), lines(&plan, &summary, false));
        assert!(one.iter().any(|line| line.starts_with(DOUBTFUL)));
        assert!(one.iter().filter(of_one).all(|line| !line.starts_with(DOUBTFUL)), "{one:#?}");
        assert!(more.iter().all(|line| !line.starts_with(DOUBTFUL)));
    }

    #[test]
    fn a_loss_is_called_one() {
        assert_eq!(times(5.5, "cheaper", "dearer"), "5.50 times cheaper");
        assert_eq!(times(0.5, "cheaper", "dearer"), "2.00 times dearer");
    }
}
