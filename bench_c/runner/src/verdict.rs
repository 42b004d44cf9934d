//! The sentences the suite is for, computed from what was measured.

use crate::plan::{Kind, Plan};
use crate::summary::Summary;
use crate::table::short;

pub fn lines(plan: &Plan, summary: &Summary) -> Vec<String> {
    spawn_price(summary).into_iter().chain(sleepers(plan, summary)).collect()
}

/// Work stealing without a thief, against a shared stack two workers pull at.
fn spawn_price(summary: &Summary) -> Option<String> {
    let steal = summary.kind("tree", Kind::Steal, 1)?.ns_per_task().median;
    let lifo = summary.lock("tree", Kind::Lifo, "mutex", 2)?.ns_per_task().median;
    Some(format!(
        "tree: a task costs {} ns under steal at 1 worker and {} ns under lifo (mutex) at 2 \
         workers: steal is {}",
        short(steal),
        short(lifo),
        times(lifo / steal, "cheaper", "dearer")
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

    #[test]
    fn a_loss_is_called_one() {
        assert_eq!(times(5.5, "cheaper", "dearer"), "5.50 times cheaper");
        assert_eq!(times(0.5, "cheaper", "dearer"), "2.00 times dearer");
    }
}
