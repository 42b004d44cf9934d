//! The tables of `make bench`.

mod outside;
mod overheads;
mod programs;
mod settings;

use sched_tools::table::Table;
use sched_tools::text::say;

use crate::run::plan::Plan;
use crate::run::programs::{PROGRAMS, Program};
use crate::run::setup::Group;
use crate::statistics::summary::Summary;
use overheads::overheads;
use programs::{joins, kinds};
use settings::{closures, idles, locks, observed};

/// Prints each table for which there are runs, below a sentence that says what it shows.
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
        (
            Group::Observed,
            "What is seen of the tasks, and what that costs, under steal: ns per task [quartiles]",
            observed,
        ),
        (Group::Overheads, "What a run costs beside its tasks, under steal", overheads),
        (
            Group::Outside,
            "Short calls by a task, and from main with NULL, under steal: µs a call [quartiles]",
            outside::shorts,
        ),
        (
            Group::Outside,
            "200,000 empty tasks handed over from outside, under steal: ns per task [quartiles]",
            outside::floods,
        ),
        (
            Group::Outside,
            "Jobs of 10 µs handed over from outside, a pause of 200 µs after each: µs [quartiles]; cpu: \
             of the process, a job; a list has a mutex and a condition",
            outside::sparse,
        ),
        (
            Group::Outside,
            "Loops of 20 µs from main beside a job of another thread's in parts of 1 ms, under \
             steal: µs [quartiles]",
            outside::beside,
        ),
    ] {
        if plan.has(group) {
            tables.push((what.to_owned(), table(plan, summary)));
        }
    }
    tables.retain(|(_, table)| !table.is_empty());
    tables
}

#[cfg(test)]
mod tests {
    use sched_tools::text::{COLUMNS, widest};

    use super::*;
    use crate::statistics::summary::tests::made_up;

    /// Times of all lengths, on small machines and large ones.
    #[test]
    fn no_line_is_wider_than_a_terminal() {
        for cores in [1, 2, 6, 64] {
            let plan = Plan::new(cores, false, &[]);
            for seconds in [1e-5, 0.012345, 1234.0] {
                let runs = made_up(&plan, |setup| seconds * setup.threads as f64);
                let summary = Summary::new(&runs);
                let tables = all(&plan, &summary);
                assert_eq!(tables.len(), PROGRAMS.len() + 10);
                for (what, table) in tables {
                    let text = table.to_string();
                    assert!(widest(&text) <= COLUMNS, "{what}, {cores} cores:\n{text}");
                }
                for line in crate::statistics::verdict::lines(&plan, &summary, false) {
                    let line = sched_tools::text::wrapped(&line);
                    assert!(widest(&line) <= COLUMNS, "{line}");
                }
            }
        }
    }

    /// On two cores a table of usual times fits into one part.
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
        assert_eq!(tables.len(), 4);
        assert!(all(&plan, &Summary::new(&[])).is_empty());
    }
}
