//! Reasons not to trust the figures of a report: the machine was busy, or a cost is impossible.

use crate::busy::ENOUGH;
use crate::report::{Price, Report};

/// Costs that are impossible: one below zero, or a theft that costs more than to wake a thread.
fn impossible(price: &Price) -> Vec<String> {
    let p = &price.prices;
    let negative = [
        ("late", p.late),
        ("wake-up", p.wake),
        ("wake-up, for the waker", p.waker),
        ("first wake-up", p.first_wake),
        ("first wake-up, for the waker", p.first_waker),
        ("line of memory", p.line),
        ("run without tasks", p.init),
    ];
    let negative = negative.into_iter().filter(|(_, cost)| *cost < 0.0);
    let mut found: Vec<(&str, f64)> = negative.collect();
    let theft = [("steal, for the thief", p.thief), ("steal, for its victim", p.robbed)];
    found.extend(theft.into_iter().filter(|(_, cost)| *cost > p.wake.max(0.0)));
    let words = |(what, cost)| format!("{what} under {}: {cost:.0} ns", price.policy.name());
    found.into_iter().map(words).collect()
}

impl Report {
    /// The reasons not to trust the figures; empty if there are none.
    pub fn doubts(&self) -> Vec<String> {
        let mut doubts = Vec::new();
        if let Some(share) = self.share.filter(|&share| share < ENOUGH) {
            doubts.push(format!(
                "the machine was busy while costs were measured: threads that only compute had {:.0} % of the processors",
                100.0 * share
            ));
        }
        let disturbed = self.programs.iter().filter(|program| program.is_disturbed());
        doubts.extend(disturbed.map(|program| {
            format!(
                "the machine was busy while {} was recorded: it had no processor for {:.0} % of its time",
                program.name,
                100.0 * program.lost
            )
        }));
        let costs: Vec<String> = self.prices.iter().flat_map(impossible).collect();
        if !costs.is_empty() {
            doubts.push(format!("impossible costs: {}", costs.join("; ")));
        }
        doubts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Policy;
    use crate::prices::Prices;
    use crate::report::Program;

    fn price(prices: Prices) -> Price {
        Price { policy: Policy::Steal, prices, measured: true, borrows_theft: false }
    }

    #[test]
    fn what_a_busy_machine_does_to_a_report_is_said() {
        let program = |name: &str, lost| {
            let (n, tasks, work, span, burdened_span, blocked) = (0, 1, 1.0, 1.0, 1.0, 0.0);
            Program { name: name.into(), n, tasks, work, span, burdened_span, blocked, lost }
        };
        let possible = Prices { push: -1.0, thief: 300.0, wake: 9000.0, ..Prices::default() };
        let calm = Report {
            share: Some(0.98),
            programs: vec![program("fib", 0.02)],
            prices: vec![price(possible)],
            ..Report::default()
        };
        assert!(calm.doubts().is_empty() && !calm.markdown().contains("Not to be trusted"));
        let theft = Prices { thief: 870_000.0, waker: -40.0, ..possible };
        let busy = Report {
            share: Some(0.61),
            programs: vec![program("fib", 0.02), program("uts", 0.9)],
            prices: vec![price(theft)],
            ..calm
        };
        let doubts = busy.doubts();
        assert_eq!(doubts.len(), 3);
        assert!(doubts[0].ends_with("had 61 % of the processors"));
        assert!(doubts[1].contains("while uts was recorded") && doubts[1].contains("90 %"));
        let costs = "wake-up, for the waker under steal: -40 ns; steal, for the thief under steal: 870000 ns";
        assert!(doubts[2].ends_with(costs), "{}", doubts[2]);
        let page = busy.markdown();
        assert!(page.starts_with("**Not to be trusted:** the machine was busy"), "{page}");
    }
}
