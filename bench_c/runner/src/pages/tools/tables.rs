//! A table for each workload: its commands, and the ratios of their times to that of the first
//! command, which is ours.

use sched_tools::number::short;
use sched_tools::table::Table;
use sched_tools::text::say;

use super::session::{Measured, Row, Session};
use crate::statistics::quartiles::with_quartiles;

pub fn print_all(session: &Session) {
    for workload in &session.workloads {
        say(format!("\n{}: {}", workload.program, workload.what));
        println!("{}", one(workload, session.least_peak));
        for row in &workload.rows {
            if let Some(name) = row.short {
                say(format!("{name}: {}", row.command));
            }
        }
    }
    say("\nMedians [quartiles] of whole commands, whose output goes to a file. × is a command's \
         time divided by that of the first row; if it is above 1, the first is faster. cpu: \
         processor time of all processes of a command. Peak: the most memory that one of them had.");
}

fn one(workload: &Measured, least_peak: u64) -> Table {
    let head = ["command", "ms [quartiles]", "×", "cpu ms", "peak MB", "output MB"];
    let mut table = Table::new(1, &head);
    let ms = |row: &Row| row.quartiles(|run| run.seconds * 1e3);
    let first = workload.rows.first().and_then(ms);
    for row in &workload.rows {
        let own = ms(row);
        let ratio = own.zip(first).map(|(own, first)| own.median / first.median);
        let processor = row.quartiles(|run| run.processor * 1e3);
        let peak = row.quartiles(|run| run.peak as f64);
        let show = |value: Option<f64>| value.map_or("-".into(), short);
        let least = least_peak as f64;
        let peak = peak.map_or("-".into(), |q| {
            let below = if q.median <= least { "< " } else { "" };
            below.to_owned() + &short(q.median.max(least) / 1e6)
        });
        table.add_row(vec![
            row.short.map_or(row.command.clone(), str::to_owned),
            own.map_or("failed".into(), with_quartiles),
            show(ratio),
            show(processor.map(|q| q.median)),
            peak,
            show(own.map(|_| row.output as f64 / 1e6)),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use sched_tools::text::{COLUMNS, widest};

    use super::super::session::Run;
    use super::super::workloads;
    use super::*;

    /// Runs of a command that takes about `seconds`.
    fn row(command: &str, seconds: f64) -> Row {
        let run = |(repetition, noise): (usize, f64)| Run {
            repetition,
            seconds: seconds * noise,
            processor: seconds * noise * 2.0,
            peak: 12_345_678,
        };
        let runs = [1.0, 1.25, 0.5].into_iter().enumerate().map(run).collect();
        Row { runs, output: 1_500_000, ..Row::new(command, true) }
    }

    #[test]
    fn ratios_are_over_the_first_row() {
        let failed = Row { failure: Some("why".into()), ..Row::new("broken", false) };
        let rows = vec![row("ours", 0.2), row("other", 0.5), failed];
        let measured = Measured { program: "sgz", what: "", rows };
        let text = one(&measured, 20_000_000).to_string();
        let cells: Vec<Vec<&str>> =
            text.lines().skip(2).map(|l| l.split_whitespace().collect()).collect();
        // The cell of quartiles has two words; a peak below what can be measured has two as well.
        assert_eq!(cells[0][..2], ["ours", "200"], "{text}");
        assert_eq!(cells[0][3..], ["1.00", "400", "<", "20.0", "1.50"], "{text}");
        assert_eq!(cells[1][3..], ["2.50", "1000", "<", "20.0", "1.50"], "{text}");
        assert_eq!(cells[2], ["broken", "failed", "-", "-", "-", "-"], "{text}");
        assert!(one(&measured, 0).to_string().contains(" 12.3 "));
    }

    #[test]
    fn no_line_is_wider_than_a_terminal() {
        for workload in workloads::all(64) {
            for seconds in [0.0012, 0.123, 1.5, 9.0] {
                let rows = workload.contenders.iter();
                let rows =
                    rows.map(|c| Row { short: c.short, ..row(&c.command, seconds) }).collect();
                let measured = Measured { program: workload.program, what: workload.what, rows };
                let text = one(&measured, 0).to_string();
                assert!(widest(&text) <= COLUMNS, "{text}");
                assert_eq!(text.matches("──\n").count(), 1, "{text}");
            }
        }
    }
}
