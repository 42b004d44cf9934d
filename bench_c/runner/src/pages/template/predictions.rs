//! What the simulator predicted in the last `make lab`: read from the tables of docs/LAB.md.

use std::collections::BTreeMap;

use anyhow::{Context, Result};

#[derive(Clone, Debug, Default)]
pub struct Predictions {
    /// By program, policy and number of workers.
    speedups: BTreeMap<(String, String, usize), f64>,
    /// Work over span, by program.
    parallelism: BTreeMap<String, String>,
    /// The programs, in the page's order.
    pub programs: Vec<String>,
    /// How far predictions and measurements agree, in the page's words.
    pub agreement: String,
}

impl Predictions {
    pub fn read(page: &str) -> Result<Predictions> {
        let (_, section) =
            page.split_once("## Scaling beyond this machine").context("no section on scaling")?;
        let section = section.split("\n## ").next().unwrap_or(section);
        let mut found = Predictions::default();
        let mut head: Vec<&str> = Vec::new();
        for line in section.lines() {
            let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            if let Some(verdict) = line.strip_prefix("**Verdict:** ") {
                verdict.clone_into(&mut found.agreement);
            } else if !line.starts_with('|') {
                head.clear();
            } else if head.is_empty() {
                head = cells;
            } else if let Some(program) = head[0].strip_suffix(", speed-up at P =") {
                found.row(program, &head, &cells);
            } else if head.starts_with(&["program", "tasks", "work T1, ms", "span T∞, ms", "T1/T∞"])
            {
                let [name, _, _, _, ratio, ..] = cells[..] else { continue };
                let program = name.split(' ').next().unwrap_or_default();
                found.parallelism.insert(program.to_owned(), ratio.to_owned());
            }
        }
        anyhow::ensure!(!found.programs.is_empty(), "no tables of predictions");
        anyhow::ensure!(!found.agreement.is_empty(), "no verdict on the predictions");
        Ok(found)
    }

    fn row(&mut self, program: &str, head: &[&str], cells: &[&str]) {
        if self.programs.last().is_none_or(|last| last != program) {
            self.programs.push(program.to_owned());
        }
        for (workers, speedup) in head.iter().zip(cells).skip(1) {
            // The line of dashes below a table's head has no numbers.
            if let (Ok(workers), Ok(speedup)) = (workers.parse(), speedup.parse()) {
                let key = (program.to_owned(), cells[0].to_owned(), workers);
                self.speedups.insert(key, speedup);
            }
        }
    }

    pub fn speedup(&self, program: &str, policy: &str, workers: usize) -> Option<f64> {
        self.speedups.get(&(program.to_owned(), policy.to_owned(), workers)).copied()
    }

    pub fn parallelism(&self, program: &str) -> Option<&str> {
        self.parallelism.get(program).map(String::as_str)
    }

    /// The numbers of workers, in order.
    pub fn workers(&self) -> Vec<usize> {
        let mut workers: Vec<usize> =
            self.speedups.keys().map(|(_, _, workers)| *workers).collect();
        workers.sort_unstable();
        workers.dedup();
        workers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_of_the_page_are_read() {
        let page = "## Scaling beyond this machine\n\n**Verdict:** all agree.\n\n\
            | program | tasks | work T1, ms | span T∞, ms | T1/T∞ | T1/T∞ with thefts |\n\
            | --- | ---: |\n| fib -n 27 | 9 | 2.64 | 0.00137 | 1930 | 44.0 |\n\n\
            | fib, speed-up at P = | 1 | 2 |\n| --- | ---: | ---: |\n\
            | steal | 1.00 | 1.96 |\n| lifo | 0.305 | 0.0358 |\n\n\
            ## On 16 processors\n\n**Verdict:** some agree.\n";
        let found = Predictions::read(page).unwrap();
        assert_eq!(found.speedup("fib", "lifo", 2), Some(0.0358));
        assert_eq!(found.speedup("fib", "fifo", 2), None);
        assert_eq!(found.parallelism("fib"), Some("1930"));
        assert_eq!((found.workers(), &found.agreement[..]), (vec![1, 2], "all agree."));
        assert!(Predictions::read("# The laboratory\n").is_err());
    }
}
