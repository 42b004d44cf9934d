//! How the lock policies of operating systems compare: who gets a lock next, and how a waiter
//! waits. Time, and switches between threads, for each policy under several uses of locks.

use anyhow::Result;
use sched_estimate::{Estimate, Verdict};
use sched_tools::number::threads as threads_words;
use sched_tools::text::{listed, sentence};

use super::data::{Data, Value, seconds};
use super::page::{Page, head, number, quartiles, words};
use super::parts::over;
use super::plan::{LOCK_POLICIES, LOCK_USES, Lab, LockUse, POLICY_NAMES};
use crate::figures::chart::{Bars, Figure, Panel, Series};
use crate::figures::keys::{kind_key, names};
use crate::run::bench::Run;
use crate::run::programs::KINDS;
use crate::run::setup::Kind;
use crate::statistics::quartiles::Quartiles;

/// A task uses a lock twice: when it is spawned, and when it is taken.
const USES: f64 = 2.0;

/// If threads sleep at more than this many per cent of the uses of a lock, this is called a convoy.
/// Where newcomers may overtake, threads sleep at less than one per cent of the uses; in a convoy
/// they sleep at most uses.
const CONVOY: f64 = 10.0;

/// The number of switches, in per cent of the uses of the lock.
fn per_use(switches: f64, run: &Run) -> f64 {
    100.0 * switches / (USES * run.line.tasks as f64)
}

/// How often a thread slept at the lock. Sleeps for want of tasks do not count.
fn slept(run: &Run) -> f64 {
    let idle = run.stats.as_ref().map_or(f64::NAN, |s| (s.parks + s.naps) as f64);
    per_use((run.line.vcsw as f64 - idle).max(0.0), run)
}

/// How often a thread lost its processor to another.
fn preempted(run: &Run) -> f64 {
    per_use(run.line.icsw as f64, run)
}

pub fn section(lab: &Lab, data: &Data, page: &mut Page) -> Result<()> {
    let policies: Vec<Vec<String>> = LOCK_POLICIES
        .iter()
        .map(|p| {
            words(&[&format!("`SCHED_DEQUE={}`", p.name), p.next_holder, p.waiter, p.found_in])
        })
        .collect();
    page.table(4, &words(&["lock", "next holder", "a waiter", "as in"]), &policies);
    page.block(
        "A task uses a lock twice: when it is spawned, and when it is taken. *Slept* and *preempted* are \
         switches between threads in per cent of these uses: voluntary ones, less the sleeps of workers \
         without tasks, and involuntary ones, to which Linux also counts a spinlock's yields (getrusage). \
         A *convoy* (Blasgen and others, 1979) is a state in which threads sleep nearly each time they want \
         a lock, however seldom they want it, and which does not end by itself. A run may fall into it at \
         any time; so here it is called a convoy if threads slept at more than 10 % of the uses.",
    );
    page.figure("lab-convoy", &figure(lab, data))?;
    let threads = lab.lock_threads();
    let mut head = head(&["ns per task [quartiles]", "lock"], &[]);
    for &t in &threads {
        head.push(threads_words(t));
        if t > 1 {
            head.extend(words(&["slept", "preempted"]));
        }
    }
    let mut rows = Vec::new();
    let mut sentences = Vec::new();
    for lock_use in LOCK_USES {
        for policy in POLICY_NAMES {
            let mut row = words(&[lock_use.name, policy]);
            for &t in &threads {
                let setup = lab.lock_use(lock_use, policy, t);
                row.push(quartiles(data.of(&setup).map(|m| m.ns_per_task())));
                if t > 1 {
                    let share = |value| data.estimate(&setup, value).map(|e| e.value);
                    row.extend([slept, preempted].map(|value| number(share(value))));
                }
            }
            rows.push(row);
        }
        for t in [lab.many(), 4 * lab.many()] {
            let setup = |policy| Some(lab.lock_use(lock_use, policy, t));
            sentences.extend(over(data, POLICY_NAMES, POLICY_NAMES[0], setup, seconds).map(
                |text| {
                    let name = sentence(lock_use.name);
                    format!("{name}, {}, time divided by mutex's: {text}.", threads_words(t))
                },
            ));
        }
    }
    page.table(2, &head, &rows);
    page.verdict(&convoys(lab, data));
    page.list(&sentences);
    page.block(WHAT_IT_TELLS);
    Ok(())
}

const WHAT_IT_TELLS: &str = "\
*What this tells of those systems, and what not.* The policies are theirs, and all else is the same here: the \
machine, the kernel, the program, the queue under the lock. So the differences between the rows come from who gets \
the lock next and from how waiters wait. But `fair` and `adaptive` are locks of this library on Linux's futex and \
under Linux's scheduler. This table does not know what a switch costs on macOS or Windows, which thread their \
schedulers run next, and what their locks do besides: macOS raises the priority of a holder for which a more \
important thread waits. These systems also have other locks, which programs use more often today: macOS's \
`os_unfair_lock` and Windows' slim reader-writer locks, neither of which is fair. Nor does a queue of tasks stand for \
every program: its lock is held for some tens of nanoseconds, and all its users want it again and again.";

fn figure(lab: &Lab, data: &Data) -> Figure<'static> {
    let threads = lab.lock_threads();
    let panel = |lock_use: &LockUse, what: &str, y_title, value: Value| Panel {
        title: format!("{}: {what}", sentence(lock_use.name)),
        x_title: "threads",
        y_title,
        x_names: names(&threads),
        series: POLICY_NAMES
            .iter()
            .zip(KINDS.iter().chain([&Kind::None]))
            .map(|(policy, &kind)| {
                let mut key = kind_key(kind);
                key.name = (*policy).to_owned();
                let point = |&t| {
                    let e = data.estimate(&lab.lock_use(lock_use, policy, t), value)?;
                    drawn(e)
                };
                Series { key, points: threads.iter().map(point).collect() }
            })
            .collect(),
        log: true,
        lines: true,
        reference: None,
    };
    let panels = LOCK_USES.iter().flat_map(|lock_use| {
        [
            panel(lock_use, "time", "ns per task (log scale)", ns),
            panel(lock_use, "slept at the lock", "% of the uses (log scale)", slept),
        ]
    });
    Figure {
        title: "Lock policies: who is next, and how a waiter waits",
        reference: None,
        bars: Bars::Medians,
        panels: panels.collect(),
        columns: 2,
        panel_height: 300,
    }
}

fn ns(run: &Run) -> f64 {
    run.line.seconds * 1e9 / run.line.tasks as f64
}

/// The estimate as a point. A logarithmic axis has no place for 0.
fn drawn(e: Estimate) -> Option<Quartiles> {
    (e.value > 0.0).then_some(Quartiles { low: e.value, median: e.value, high: e.value })
}

/// Where each policy has a convoy.
fn convoys(lab: &Lab, data: &Data) -> String {
    let many: Vec<usize> = lab.lock_threads().into_iter().filter(|&t| t > 1).collect();
    let is = |lock_use: &LockUse, policy, t| {
        let e = data.estimate(&lab.lock_use(lock_use, policy, t), slept)?;
        Some(e.against(CONVOY))
    };
    let places = |policy: &'static str, wanted: Verdict| -> Vec<String> {
        let texts = LOCK_USES.iter().filter_map(|lock_use| {
            let at = many.iter().filter(|&&t| is(lock_use, policy, t) == Some(wanted));
            let at: Vec<String> = at.map(ToString::to_string).collect();
            let threads = listed(&at);
            (!at.is_empty()).then(|| format!("{policy} with {} ({threads} threads)", lock_use.name))
        });
        texts.collect()
    };
    let all = |wanted| -> Vec<String> {
        POLICY_NAMES.iter().flat_map(|policy| places(policy, wanted)).collect()
    };
    let (convoys, open) = (all(Verdict::More), all(Verdict::Open));
    let none = POLICY_NAMES.iter().filter(|policy| {
        let anywhere = |wanted| !places(policy, wanted).is_empty();
        anywhere(Verdict::Less) && !anywhere(Verdict::More) && !anywhere(Verdict::Open)
    });
    let none: Vec<String> = none.map(|&policy| policy.to_owned()).collect();
    let parts = [("a convoy", convoys), ("undecided", open), ("no convoy anywhere", none)];
    let parts: Vec<String> = parts
        .iter()
        .filter(|(_, found)| !found.is_empty())
        .map(|(word, found)| format!("{word}: {}", listed(found)))
        .collect();
    match parts.is_empty() {
        true => "not measured.".into(),
        false => format!("{}.", parts.join("; ")),
    }
}
