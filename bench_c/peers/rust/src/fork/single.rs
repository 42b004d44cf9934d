//! Runs of single tasks, as bench_c's emptyrun, wakeup and idleburn have them, on a join.

use super::Joins;
use crate::measure::Bench;
use crate::work::{self, answer, await_answer, count_run, nap, wake_each};

pub fn emptyrun<S: Joins>(system: &S, bench: &Bench) -> bool {
    work::emptyrun(bench, || system.enter(|_| count_run()))
}

pub fn idleburn<S: Joins>(system: &S, bench: &Bench) -> bool {
    work::idleburn(bench, |n| system.enter(|_| nap(n)))
}

/// Some systems offer a task only in a later join, so the forker joins empty closures until the
/// task has started.
pub fn wakeup<S: Joins>(system: &S, bench: &Bench) -> bool {
    let ask = |here: &mut S::Here<'_>, round| {
        let wait = |here: &mut S::Here<'_>| {
            await_answer(round, || {
                S::join(here, |_| (), |_| ());
            });
        };
        S::join(here, wait, |_| answer(round));
    };
    work::wakeup(bench, |n| system.enter(|here| wake_each(n, |round| ask(here, round))))
}
