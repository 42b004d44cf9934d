//! The report as a section of a Markdown page.

use std::fmt::Write;
use std::iter::once;

use sched_estimate::Estimate;
use sched_tools::number::short;
use sched_tools::table::markdown;

use crate::check::Check;
use crate::policy::Policy;
use crate::prices::THINKS;
use crate::report::{Price, Program, Report, WORKERS};
use crate::verdicts::{LIMITS, METHOD};

impl Report {
    /// A section without a heading of its own.
    pub fn markdown(&self) -> String {
        let mut page = String::new();
        self.write(&mut page).expect("a string takes all");
        page
    }

    fn write(&self, page: &mut String) -> std::fmt::Result {
        for doubt in self.doubts() {
            writeln!(page, "**Not to be trusted:** {doubt}.\n")?;
        }
        writeln!(
            page,
            "Each program's tasks, forks, joins and times between them were recorded, and are replayed on P\n\
             simulated workers with the costs measured here. Speed-up is over one worker of `steal`.\n"
        )?;
        self.write_programs(page)?;
        self.write_prices(page)?;
        for program in &self.programs {
            self.write_predictions(page, program)?;
        }
        if !self.checks.is_empty() {
            self.write_checks(page)?;
        }
        if let Some((most, change)) = &self.theft_matters {
            let borrowers = self.prices.iter().filter(|price| price.borrows_theft);
            let borrowers: Vec<&str> = borrowers.map(|price| price.policy.name()).collect();
            writeln!(
                page,
                "The price of a theft under {} is that of `steal`, because their own calibration sees too few thefts.\n\
                 (The price of a search in vain under `steal half` is that of `steal`, too: its own would contain\n\
                 thefts.) If a theft cost as much as one from an owner that does not answer, the prediction that\n\
                 would change most is that of {} under {} at P = {}, by {:+.1} %.\n",
                borrowers.join(" and "),
                most.program,
                most.policy.name(),
                most.workers,
                100.0 * change
            )?;
        }
        writeln!(page, "{LIMITS}")
    }

    fn write_programs(&self, page: &mut String) -> std::fmt::Result {
        let head = ["program", "tasks", "work T1, ms", "span T∞, ms", "T1/T∞", "T1/T∞ with thefts"];
        let row = |p: &Program| {
            let size = if p.n > 0 { format!(" -n {}", p.n) } else { String::new() };
            vec![
                format!("{}{size}", p.name),
                p.tasks.to_string(),
                short(p.work / 1e6),
                short(p.span / 1e6),
                short(p.measures(p.work).parallelism()),
                short(p.measures(p.work).burdened_parallelism()),
            ]
        };
        let rows: Vec<_> = self.programs.iter().map(row).collect();
        writeln!(page, "{}", markdown(1, &head.map(String::from), &rows))?;
        for p in self.programs.iter().filter(|p| p.blocked > 0.0) {
            writeln!(
                page,
                "\n{}: further {} ms in blocking sections, which are part of the span but not of the work.",
                p.name,
                short(p.blocked / 1e6)
            )?;
        }
        writeln!(page)
    }

    fn write_prices(&self, page: &mut String) -> std::fmt::Result {
        type Row = (&'static str, fn(&Price) -> f64);
        let rows: [Row; 19] = [
            ("spawn, beyond the recorder's", |p| p.prices.push),
            ("run of a spawned task, beyond the recorder's", |p| p.prices.run),
            ("fork and join, beyond the recorder's", |p| p.prices.fork),
            ("spawn into a place never used, or into a full deque, of 2^14", |p| p.prices.fresh[0]),
            ("the same, of 2^16", |p| p.prices.fresh[1]),
            ("the same, of 2^18", |p| p.prices.fresh[2]),
            ("steal, for the thief", |p| p.prices.thief),
            ("steal, for its victim", |p| p.prices.robbed),
            ("until a thief has a task of an owner that computes", |p| p.prices.late),
            ("look at an empty deque", |p| p.prices.look),
            ("search, beyond its looks", |p| p.prices.pause),
            ("search in vain, for an owner", |p| p.prices.vain),
            ("wake-up, until the woken worker runs", |p| p.prices.wake),
            ("wake-up, for the waker", |p| p.prices.waker),
            ("first wake-up in a run, until the woken worker runs", |p| p.prices.first_wake),
            ("first wake-up in a run, for the waker", |p| p.prices.first_waker),
            ("line of memory from another processor", |p| p.prices.line),
            ("run without tasks", |p| p.prices.init),
            ("run without tasks, for each further worker", |p| p.prices.init_worker),
        ];
        let names = self.prices.iter().map(|price| {
            let name = price.policy.name();
            if price.measured { name.to_owned() } else { format!("{name} (as steal)") }
        });
        let head: Vec<String> = once("ns".to_owned()).chain(names).collect();
        let rows = rows.map(|(name, value)| {
            let values = self.prices.iter().map(|price| short(value(price)));
            once(name.to_owned()).chain(values).collect()
        });
        writeln!(page, "{}", markdown(1, &head, &rows))?;
        self.write_contention(page)?;
        if self.prices.iter().any(|price| !price.measured) {
            writeln!(
                page,
                "\n*As steal*: this library does not have the policy, so its calls are taken to cost what\n\
                 those of `steal` cost; there are no measurements to compare these predictions with."
            )?;
        }
        writeln!(page)
    }

    fn write_contention(&self, page: &mut String) -> std::fmt::Result {
        let thinks = THINKS.map(|think| format!("{think} turns"));
        let what = "ns for an operation on a queue with a lock, by one worker and by two, whose tasks think for";
        let head: Vec<String> = once(what.to_owned()).chain(thinks).collect();
        let mut rows = Vec::new();
        for price in self.prices.iter().filter(|price| price.measured && price.policy.has_lock()) {
            for (does, contention) in
                [("spawns", &price.prices.spawns), ("forks", &price.prices.forks)]
            {
                let turns =
                    contention.turns.map(|of| format!("{}, {}", short(of.alone), short(of.two)));
                let name = format!("{}, {does}", price.policy.name());
                rows.push(once(name).chain(turns).collect());
            }
        }
        writeln!(page, "\n{}", markdown(1, &head, &rows))
    }

    fn write_predictions(&self, page: &mut String, program: &Program) -> std::fmt::Result {
        let what = format!("{}, speed-up at P =", program.name);
        let head: Vec<String> = once(what).chain(WORKERS.map(|w| w.to_string())).collect();
        let rows = Policy::ALL.map(|policy| {
            let values = WORKERS.map(|workers| {
                let prediction = self.prediction(&program.name, policy, workers);
                prediction.map_or_else(String::new, |prediction| short(prediction.speedup))
            });
            once(policy.name().to_owned()).chain(values).collect()
        });
        writeln!(page, "{}", markdown(1, &head, &rows))?;
        writeln!(page, "\n{}\n", self.verdict(program))
    }

    fn write_checks(&self, page: &mut String) -> std::fmt::Result {
        let head =
            ["predicted and measured", "verdict", "P", "predicted, ms", "measured, ms", "error, %"];
        let row = |check: &Check| {
            let contended = if check.contended { " (contended)" } else { "" };
            vec![
                format!("{}, {}{contended}", check.program, check.policy.name()),
                verdict_on(check).to_owned(),
                check.workers.to_string(),
                short(check.predicted / 1e6),
                interval(&check.measured),
                format!("{:+.1}", 100.0 * check.error()),
            ]
        };
        let rows: Vec<_> = self.checks.iter().map(row).collect();
        writeln!(page, "{}", markdown(2, &head.map(String::from), &rows))?;
        writeln!(page, "\n{}\n", self.agreement())?;
        writeln!(page, "{METHOD}\n")?;
        writeln!(page, "{}\n", self.reliability())
    }
}

fn verdict_on(check: &Check) -> &'static str {
    match (check.agrees(), check.may_agree()) {
        (true, _) => "agrees",
        (false, true) => "within the interval",
        (false, false) => "**differs**",
    }
}

/// In milliseconds.
fn interval(of: &Estimate) -> String {
    let [low, value, high] = [of.low, of.value, of.high].map(|x| short(x / 1e6));
    format!("{value} [{low}–{high}]")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Prediction;

    fn check(policy: Policy, predicted: f64, measured: f64) -> Check {
        let rounds = [1.0, 1.0, 1.0, 1.0, 1.0, 1.2, 1.3].map(|of| vec![of * measured]);
        Check::new(("fib", policy, 2), [1e9, predicted], &rounds).unwrap()
    }

    #[test]
    fn what_is_off_by_more_than_a_tenth_differs() {
        let checks = vec![
            check(Policy::Steal, 109.0, 100.0),
            check(Policy::Steal, 91.0, 100.0),
            check(Policy::Lifo, 111.0, 100.0),
            check(Policy::Lifo, 40.0, 100.0),
        ];
        let report = Report { checks, ..Report::default() };
        let text = report.agreement();
        assert!(
            text.contains("2 of 4 predictions; steal 2 of 2; lifo 0 of 2; of those measured to within 10 % 0 of 0. 1 more is"),
            "{text}"
        );
        assert!(text.contains("fib under lifo at P = 2, by -60 %"), "{text}");
        let mut contended = report.clone();
        contended.checks[3].contended = true;
        for check in &mut contended.checks[1..3] {
            check.measured.high = 109.0;
        }
        let text = contended.agreement();
        assert!(
            text.contains("not contended 2 of 3; of those measured to within 10 % 1 of 2."),
            "{text}"
        );
        let text = report.reliability();
        assert!(
            text.starts_with("71 % of the rounds") && text.contains("Contended: none."),
            "{text}"
        );
        assert!(text.ends_with("whatever the interval: fib under lifo at P = 2."), "{text}");
        let page = report.markdown();
        let row = "| fib, lifo | within the interval | 2 | 0.000111 | 0.000100 [0.000100–0.000120] | +11.0 |";
        assert!(page.contains(row), "{page}");
        assert!(page.contains("| fib, lifo | **differs** | 2 |"), "{page}");
    }

    #[test]
    fn a_verdict_names_the_best_and_the_bend() {
        let prediction = |policy, workers, speedup| Prediction {
            program: "fib".into(),
            policy,
            workers,
            nanoseconds: 1.0,
            speedup,
            steals: 0,
            wakes: 0,
        };
        let program = Program {
            name: "fib".into(),
            n: 30,
            tasks: 1000,
            work: 1000.0,
            span: 100.0,
            burdened_span: 200.0,
            blocked: 0.0,
            lost: 0.0,
        };
        let predictions = vec![
            prediction(Policy::Steal, 1, 0.9),
            prediction(Policy::Steal, 16, 7.0),
            prediction(Policy::Steal, 64, 7.5),
            prediction(Policy::Lifo, 1, 0.5),
            prediction(Policy::Lifo, 16, 0.1),
        ];
        let report = Report { programs: vec![program.clone()], predictions, ..Report::default() };
        let text = report.verdict(&program);
        assert!(
            text.contains("7.50, at P = 64 by steal; work and span allow 10.0 there"),
            "{text}"
        );
        assert!(text.contains("steal 16") && text.contains("lifo 1"), "{text}");
        let blocks = Program { blocked: 5e6, span: 0.25, ..program };
        assert!(report.verdict(&blocks).contains("work and span allow 4.00 there"), "{text}");
        let page = Report { programs: vec![blocks], ..report }.markdown();
        assert!(page.contains(" 4000 | 5.00 |"), "{page}");
        assert!(page.contains("fib: further 5.00 ms in blocking sections"), "{page}");
    }
}
