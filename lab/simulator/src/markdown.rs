//! The report as a section of a Markdown page.

use std::fmt::Write;

use sched_estimate::Estimate;

use crate::check::{AGREES, Check};
use crate::lab::{Prediction, Price, Program, Report, WORKERS};
use crate::policy::Policy;
use crate::prices::THINKS;

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
                "What a theft costs {} is taken from `steal`, where the own calibration sees too few (and\n\
                 for steal half what a search in vain does, since its own would have thefts in it). Did a theft cost\n\
                 as much as one from an owner that does not answer, the prediction that changed most would be that of\n\
                 {} under {} at P = {}, by {:+.1} %.\n",
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
        writeln!(page, "| program | tasks | work T1, ms | span T∞, ms | T1/T∞ |")?;
        writeln!(page, "| --- | ---: | ---: | ---: | ---: |")?;
        for p in &self.programs {
            let size = if p.n > 0 { format!(" -n {}", p.n) } else { String::new() };
            writeln!(
                page,
                "| {}{size} | {} | {} | {} | {} |",
                p.name,
                p.tasks,
                short(p.work / 1e6),
                short(p.span / 1e6),
                short(p.work / p.span)
            )?;
        }
        for p in self.programs.iter().filter(|p| p.blocked > 0.0) {
            writeln!(
                page,
                "\n{}: besides, {} ms in blocking sections, which are no work, but of the span.",
                p.name,
                short(p.blocked / 1e6)
            )?;
        }
        writeln!(page)
    }

    fn write_prices(&self, page: &mut String) -> std::fmt::Result {
        type Row = (&'static str, fn(&Price) -> f64);
        let rows: [Row; 19] = [
            ("spawn, more than the recorder's", |p| p.prices.push),
            ("run of a spawned task, likewise", |p| p.prices.run),
            ("fork and join, likewise", |p| p.prices.fork),
            ("spawn into a place never used, or without room, of 2^14", |p| p.prices.fresh[0]),
            ("the same, of 2^16", |p| p.prices.fresh[1]),
            ("the same, of 2^18", |p| p.prices.fresh[2]),
            ("steal, for the thief", |p| p.prices.thief),
            ("steal, for its victim", |p| p.prices.robbed),
            ("until a thief has a task of an owner that computes", |p| p.prices.late),
            ("look at an empty deque", |p| p.prices.look),
            ("search, beyond its looks", |p| p.prices.pause),
            ("search in vain, for an owner", |p| p.prices.vain),
            ("wake-up, until the woken runs", |p| p.prices.wake),
            ("wake-up, for the waker", |p| p.prices.waker),
            ("first wake-up in a run, until the woken runs", |p| p.prices.first_wake),
            ("first wake-up in a run, for the waker", |p| p.prices.first_waker),
            ("line of memory from another processor", |p| p.prices.line),
            ("run of nothing", |p| p.prices.init),
            ("run of nothing, for each worker more", |p| p.prices.init_worker),
        ];
        let names = self.prices.iter().map(|price| {
            let name = price.policy.name();
            if price.measured { name.to_owned() } else { format!("{name} (as steal)") }
        });
        writeln!(page, "| ns | {} |", names.collect::<Vec<_>>().join(" | "))?;
        writeln!(page, "| --- |{}", " ---: |".repeat(self.prices.len()))?;
        for (name, value) in rows {
            let values: Vec<String> = self.prices.iter().map(|price| short(value(price))).collect();
            writeln!(page, "| {name} | {} |", values.join(" | "))?;
        }
        self.write_contention(page)?;
        if self.prices.iter().any(|price| !price.measured) {
            writeln!(
                page,
                "\n*As steal*: this library does not have the policy, so its calls are taken to cost what\n\
                 those of `steal` cost; nothing is measured beside these predictions."
            )?;
        }
        writeln!(page)
    }

    fn write_contention(&self, page: &mut String) -> std::fmt::Result {
        let thinks = THINKS.map(|think| format!("{think} turns"));
        writeln!(
            page,
            "\n| ns an operation on a queue with a lock, of one worker and of two, whose tasks think for | {} |",
            thinks.join(" | ")
        )?;
        writeln!(page, "| --- |{}", " ---: |".repeat(THINKS.len()))?;
        for price in self.prices.iter().filter(|price| price.measured && price.policy.has_lock()) {
            for (does, contention) in
                [("spawns", &price.prices.spawns), ("forks", &price.prices.forks)]
            {
                let turns =
                    contention.turns.map(|of| format!("{}, {}", short(of.alone), short(of.two)));
                writeln!(page, "| {}, {does} | {} |", price.policy.name(), turns.join(" | "))?;
            }
        }
        Ok(())
    }

    fn write_predictions(&self, page: &mut String, program: &Program) -> std::fmt::Result {
        let heads = WORKERS.map(|workers| workers.to_string()).join(" | ");
        writeln!(page, "| {}, speed-up at P = | {heads} |", program.name)?;
        writeln!(page, "| --- |{}", " ---: |".repeat(WORKERS.len()))?;
        for policy in Policy::ALL {
            let values = WORKERS.map(|workers| {
                let prediction = self.prediction(&program.name, policy, workers);
                prediction.map_or_else(String::new, |prediction| short(prediction.speedup))
            });
            writeln!(page, "| {} | {} |", policy.name(), values.join(" | "))?;
        }
        writeln!(page, "\n{}\n", self.verdict(program))
    }

    /// A sentence on a program, from the predictions.
    pub fn verdict(&self, program: &Program) -> String {
        let of = |policy| {
            let mine = self.predictions.iter().filter(move |p| p.program == program.name);
            mine.filter(move |p| p.policy == policy)
        };
        let best = |a: &&Prediction, b: &&Prediction| a.speedup.total_cmp(&b.speedup);
        let all = Policy::ALL.into_iter().filter_map(|policy| of(policy).max_by(best));
        let all: Vec<&Prediction> = all.collect();
        let Some(first) = all.iter().max_by(|a, b| best(a, b)) else { return String::new() };
        // From where on more workers bring less than a tenth more.
        let ends = |policy| {
            let points: Vec<&Prediction> = of(policy).collect();
            let top = points.iter().map(|p| p.speedup).fold(0.0, f64::max);
            let enough = points.iter().find(|p| p.speedup >= 0.9 * top);
            enough.map_or(0, |p| p.workers)
        };
        let ends = Policy::ALL.map(|policy| format!("{} {}", policy.name(), ends(policy)));
        format!(
            "*{}*: the most is {} at P = {} by {}, where work and span allow {}. Nine tenths of its most \
             each has by P =: {}.",
            program.name,
            short(first.speedup),
            first.workers,
            first.policy.name(),
            short(self.allowed(program).min(first.workers as f64)),
            ends.join(", ")
        )
    }

    /// The greatest speed-up over one worker, however many there are.
    fn allowed(&self, program: &Program) -> f64 {
        // What one worker does while tasks block is not known from the work alone.
        let alone =
            self.prediction(&program.name, Policy::Steal, 1).filter(|_| program.blocked > 0.0);
        alone.map_or(program.work, |alone| alone.nanoseconds) / program.span
    }

    fn write_checks(&self, page: &mut String) -> std::fmt::Result {
        writeln!(
            page,
            "| predicted and measured | P | predicted, ms | measured, ms | error, % | |"
        )?;
        writeln!(page, "| --- | ---: | ---: | ---: | ---: | --- |")?;
        for check in &self.checks {
            writeln!(
                page,
                "| {}, {}{} | {} | {} | {} | {:+.1} | {} |",
                check.program,
                check.policy.name(),
                if check.contended { " (contended)" } else { "" },
                check.workers,
                short(check.predicted / 1e6),
                interval(&check.measured),
                100.0 * check.error(),
                verdict_on(check)
            )?;
        }
        writeln!(page, "\n{}\n", self.agreement())?;
        writeln!(page, "{METHOD}\n")?;
        writeln!(page, "{}\n", self.reliability())
    }

    /// A sentence on how many of the predictions agree with what was measured.
    pub fn agreement(&self) -> String {
        let count = |of: &dyn Fn(&&Check) -> bool| {
            let checks: Vec<&Check> = self.checks.iter().filter(of).collect();
            let agree = checks.iter().filter(|check| check.agrees()).count();
            format!("{agree} of {}", checks.len())
        };
        let mut text = format!("Within {:.0} %: {} predictions", 100.0 * AGREES, count(&|_| true));
        for policy in Policy::ALL {
            if self.checks.iter().any(|check| check.policy == policy) {
                let own = count(&|check| check.policy == policy);
                write!(text, "; {} {own}", policy.name()).expect("a string takes all");
            }
        }
        if self.checks.iter().any(|check| check.contended) {
            let others = count(&|check| !check.contended);
            write!(text, "; of those that are not contended {others}").expect("a string takes all");
        }
        if self.checks.iter().any(|check| check.is_wide()) {
            let certain = count(&|check| !check.is_wide());
            let tenth = 100.0 * AGREES;
            write!(text, "; of those measured to within {tenth:.0} % {certain}")
                .expect("a string takes all");
        }
        let unsure = self.checks.iter().filter(|check| !check.agrees() && check.may_agree());
        let unsure = unsure.count();
        if unsure > 0 {
            write!(
                text,
                ". {unsure} more {} within {:.0} % of what was measured, whose interval is wide",
                if unsure == 1 { "is" } else { "are" },
                100.0 * AGREES
            )
            .expect("a string takes all");
        }
        let worst = self.checks.iter().max_by(|a, b| a.distance().total_cmp(&b.distance()));
        if let Some(worst) = worst {
            write!(
                text,
                ". The farthest off: {} under {} at P = {}, by {:+.0} %",
                worst.program,
                worst.policy.name(),
                worst.workers,
                100.0 * worst.error()
            )
            .expect("a string takes all");
        }
        text + "."
    }

    /// Where the measurements say that no prediction can be trusted.
    pub fn reliability(&self) -> String {
        let names = |of: &dyn Fn(&&Check) -> bool| {
            let name = |check: &Check| {
                format!("{} under {} at P = {}", check.program, check.policy.name(), check.workers)
            };
            let names: Vec<String> = self.checks.iter().filter(of).map(name).collect();
            if names.is_empty() { "none".to_owned() } else { names.join(", ") }
        };
        let all = self.checks.iter().map(|check| check.undisturbed).sum::<f64>();
        format!(
            "Of the rounds {:.0} % came within {:.0} % of the least of their row; the others were disturbed, or had their \
             memory elsewhere. \
             In each other's way: {}. Too uncertain, as measured, for a verdict on a prediction, since the interval is \
             wider than {:.0} %: {}. Predicted wrongly, whatever the interval: {}.",
            100.0 * all / self.checks.len().max(1) as f64,
            100.0 * AGREES,
            names(&|check| check.contended),
            100.0 * AGREES,
            names(&|check| check.is_wide()),
            names(&|check| !check.may_agree()),
        )
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

const METHOD: &str = "\
Recordings, prices and measurements were taken in turn, a process each, round after round. Others on the machine only
add to what a program takes, so that the least run of a process counts, on both sides. Of the processes, one in each
round, the middle counts (Hodges and Lehmann, 1963; the interval is that of Wilcoxon's signed ranks, which has 95 % if a
round is about as often above as below): one in some is a tenth faster by where its memory lies. *Contended*: all want
one lock, and are predicted to take longer than one worker. There who is kept away lets the others go on, so that the
median run of a process counts. *Within the interval*: not within a tenth of the figure, but of its interval. No price
is fitted to these rows, but the shape of the calibration's tree of forks (of three, that which costs what fib's does),
how long its samples and its floods are, that the price of contention depends on the time to think between two
operations, that a search in vain has a price, that thieves leave empty places behind, that the middle of the processes
counts, and which rows count as contended were chosen with this table in view: it is no test on programs never seen.";

const LIMITS: &str = "\
*Where this cannot be trusted.* It was compared with what this machine has processors for, and beyond that is a
calculation. Not in it are the bandwidth of memory, the capacity of caches, and the distance between sockets, of which
more workers take their share; two threads of one core, which the processors of a virtual machine are from time to
time; a clock that slows down when all cores are busy; the kernel's scheduler; and that a task runs slower where its
data are not. Costs are added up, while a processor does what a task of some nanoseconds computes, or waits for, at the
same time as the calls around it: so tasks so small are predicted too slow, under slow policies more than under fast
ones. A line of memory costs what it costs between the two processors of the calibration. What a search in vain costs is
measured of one thief and one owner, and a search waits for one owner's line, however many have written theirs. A
recording is of one run's tasks, and its steps of a few nanoseconds are known by their sum alone. Of programs marked
*contended* the curve says that they do not scale, and no more: what happens at the lock depends on who comes some
nanoseconds earlier, and on where the machine has put the two processors; its price is of two workers, and that more get
no more out of the lock than two that never think is an assumption. A task in a blocking section is back after as long as it
was in the recording, which ran one section after the other: that they share a disk, and that there is a most of them, is not
in it.
So trust the order of the policies and where a curve bends before its height, and with many workers the programs whose
tasks share little (fib, uts, mandelbrot) before those that move memory (quicksort, flood).";

/// Three digits.
fn short(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let decimals = (2.0 - value.abs().log10().floor()).clamp(0.0, 6.0);
    format!("{value:.*}", decimals as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert!(text.contains("the rounds 71 %") && text.contains("way: none."), "{text}");
        assert!(text.ends_with("whatever the interval: fib under lifo at P = 2."), "{text}");
        let page = report.markdown();
        let row = "| fib, lifo | 2 | 0.000111 | 0.000100 [0.000100–0.000120] | +11.0 | within the interval |";
        assert!(page.contains(row), "{page}");
        assert!(page.contains("| -60.0 | **differs** |"), "{page}");
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
        assert!(text.contains("7.50 at P = 64 by steal, where work and span allow 10.0"), "{text}");
        assert!(text.contains("steal 16") && text.contains("lifo 1"), "{text}");
        let blocks = Program { blocked: 5e6, span: 0.25, ..program };
        assert!(report.verdict(&blocks).contains("where work and span allow 4.00"), "{text}");
        let page = Report { programs: vec![blocks], ..report }.markdown();
        assert!(page.contains("fib: besides, 5.00 ms in blocking sections"), "{page}");
    }

    #[test]
    fn numbers_have_three_digits() {
        assert_eq!(
            [0.0, 0.012345, 1.234, 123.4, 12345.0, -2.5].map(short),
            ["0", "0.0123", "1.23", "123", "12345", "-2.50"]
        );
    }
}
