//! Compares the settings of the user's program: a table, sentences, and a panel of speed-ups.

use sched_tools::number::{count, short, threads as thread_words};
use sched_tools::table::Table;

use super::session::{SERIAL, Session, Setting};
use crate::figures::chart::Panel;
use crate::figures::keys::{by_kind, names};
use crate::run::machine;
use crate::run::output::Stats;
use crate::run::programs::KINDS;
use crate::run::setup::Kind;
use crate::statistics::quartiles::{Quartiles, with_quartiles};
use crate::statistics::verdict::DOUBTFUL;

impl Session {
    pub fn table(&self) -> Table {
        let base = self.base();
        let over = base.as_ref().map_or(String::new(), |(setting, _)| format!("over {setting}"));
        let mut head = vec!["kind".to_owned(), "threads".into(), "ms [quartiles]".into(), over];
        head.extend(
            ["over steal", "in runs", "cpu ms", "tasks", "steals", "sleeps"].map(String::from),
        );
        let mut table = Table::new(2, &head);
        for tried in &self.tried {
            let Setting { threads, .. } = tried.setting;
            let ms = tried.ms();
            let steal = self.of(Setting { kind: Kind::Steal, threads });
            // How many times as fast as `of`.
            let ratio = |of: Option<Quartiles>| {
                of.zip(ms).map_or("-".into(), |(of, own)| short(of.median / own.median))
            };
            let cpu = Quartiles::of(tried.processor.clone()).map(|q| short(q.median * 1e3));
            let stats = |value: fn(&Stats) -> f64, show: fn(f64) -> String| {
                tried.stats.as_ref().map_or("-".into(), |stats| show(value(stats)))
            };
            table.add_row(vec![
                tried.setting.kind().into(),
                threads.to_string(),
                ms.map_or("failed".into(), with_quartiles),
                ratio(base.map(|(_, base)| base)),
                if tried.setting == SERIAL { "-".into() } else { ratio(steal) },
                tried.in_runs(),
                cpu.unwrap_or("-".into()),
                stats(|s| s.tasks as f64, count),
                stats(|s| s.steals as f64, count),
                stats(|s| (s.parks + s.naps) as f64, count),
            ]);
        }
        table
    }

    /// Sentences on the fastest setting of all, and on the fastest of each thread count. Those
    /// about several threads are marked as doubtful if the machine, which has so many cores, was
    /// busy.
    pub fn sentences(&self, cores: usize) -> Vec<String> {
        let busy = machine::is_busy(&self.calibration, cores);
        let doubt = |doubtful: bool| {
            if busy && doubtful { DOUBTFUL } else { "" }
        };
        let mut measured: Vec<(Setting, f64)> =
            self.tried.iter().filter_map(|t| Some((t.setting, t.ms()?.median))).collect();
        measured.sort_by(|(_, a), (_, b)| a.total_cmp(b));
        let mut sentences = Vec::new();
        if let (Some(&(best, ms)), Some((base, own))) = (measured.first(), self.base()) {
            sentences.push(format!(
                "{}fastest: {best}, {} ms: {} times as fast as {base}",
                doubt(self.tried.iter().any(|tried| tried.setting.threads > 1)),
                short(ms),
                short(own.median / ms)
            ));
        }
        let mut counts: Vec<usize> = measured.iter().map(|(setting, _)| setting.threads).collect();
        counts.sort_unstable();
        counts.dedup();
        for threads in counts {
            let same = measured.iter().filter(|(s, _)| s.threads == threads && *s != SERIAL);
            let same: Vec<_> = same.collect();
            if let [(first, least), others @ ..] = &same[..]
                && !others.is_empty()
            {
                let times =
                    |(s, ms): &&(Setting, f64)| format!("{} {}", s.kind(), short(ms / least));
                let others: Vec<String> = others.iter().map(times).collect();
                sentences.push(format!(
                    "{}{}: {} is the fastest; the others take so many times as long: {}",
                    doubt(threads > 1),
                    thread_words(threads),
                    first.kind(),
                    others.join(", ")
                ));
            }
        }
        sentences
    }

    pub fn panel(&self, title: &str, threads: &[usize]) -> Option<Panel> {
        let (_, base) = self.base().filter(|(setting, _)| *setting == SERIAL)?;
        Some(Panel {
            title: title.to_owned(),
            x_title: "threads",
            y_title: "speed-up",
            x_names: names(threads),
            series: by_kind(KINDS, threads, |kind, threads| {
                Some(self.of(Setting { kind, threads })?.under(base.median))
            }),
            log: false,
            lines: true,
            reference: Some(1.0),
        })
    }
}

#[cfg(test)]
mod tests {
    use sched_tools::text::{COLUMNS, widest};

    use super::*;
    use crate::pages::own::session::Tried;
    use crate::run::machine::Calibration;

    fn session(ms: impl Fn(Setting) -> Option<f64>) -> Session {
        let mut settings = vec![SERIAL];
        for &kind in KINDS {
            settings.extend([1, 2].map(|threads| Setting { kind, threads }));
        }
        let tried = |setting| Tried {
            setting,
            seconds: ms(setting).into_iter().flat_map(|ms| [ms / 1e3; 3]).collect(),
            processor: vec![0.2; 3],
            stats: None,
            stats_seconds: 0.0,
            failure: ms(setting).is_none().then(|| "killed".into()),
        };
        let tried = settings.into_iter().map(tried).collect();
        Session { tried, repetitions: 3, calibration: Vec::new() }
    }

    fn times(s: Setting) -> f64 {
        match (s.kind, s.threads) {
            (Kind::None, _) => 100.0,
            (Kind::Lifo, threads) => 150.0 * threads as f64,
            (_, threads) => 110.0 / threads as f64,
        }
    }

    #[test]
    fn kinds_are_compared_on_as_many_threads() {
        let sentences = session(|s| Some(times(s))).sentences(2);
        assert!(sentences[0].ends_with("2 threads, 55.0 ms: 1.82 times as fast as serial"));
        assert!(sentences[1].starts_with("1 thread: ") && sentences[1].ends_with("lifo 1.36"));
        assert!(sentences[2].starts_with("2 threads: ") && sentences[2].ends_with("lifo 5.45"));
        assert_eq!(sentences.len(), 3);
    }

    #[test]
    fn on_a_busy_machine_what_is_said_of_several_threads_is_marked() {
        let mut session = session(|s| Some(times(s)));
        session.calibration.extend([1.1, 1.9, 1.2].map(|cores| Calibration { ns: 1.0, cores }));
        let marked: Vec<bool> =
            session.sentences(2).iter().map(|s| s.starts_with("doubtful")).collect();
        assert_eq!(marked, [true, false, true]);
        assert!(session.sentences(1).iter().all(|s| !s.starts_with("doubtful")));
    }

    #[test]
    fn what_several_runs_took_is_at_most_what_the_process_took() {
        const RUN: &str = r#"{"kind":"steal","deque":"split","idle":"park","threads":2,"seconds":0.04,
            "tasks":9,"steals":1,"stolen_tasks":1,"failed_steals":0,"parks":0,"naps":0,"wakes":0,
            "queue_peak":3,"threads_missing":0}"#;
        let mut session = session(|s| Some(times(s)));
        let mut in_runs = |runs: usize, seconds: f64| {
            let lines = vec![RUN.replace('\n', ""); runs].join("\n");
            let tried = &mut session.tried[0];
            (tried.stats, tried.stats_seconds) = (Stats::parse(&lines).ok(), seconds);
            tried.in_runs()
        };
        assert_eq!(in_runs(1, 0.05), "40.0");
        assert_eq!(in_runs(3, 0.05), "≤50.0");
        assert_eq!(in_runs(3, 0.2), "≤120");
    }

    #[test]
    fn the_table_has_a_row_a_setting_and_the_ratios() {
        let text = session(|s| (s.kind != Kind::Cont).then(|| times(s))).table().to_string();
        assert!(widest(&text) <= COLUMNS, "{text}");
        let row = |start: &str| {
            let line = text.lines().find(|line| line.starts_with(start)).unwrap();
            line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(row("serial")[..5], ["serial", "1", "100", "[100–100]", "1.00"]);
        assert_eq!(row("lifo      ")[4..6], ["0.667", "0.733"]);
        assert_eq!(row("cont")[2..5], ["failed", "-", "-"]);
        assert_eq!(text.lines().count(), 2 + 1 + 8);
    }

    #[test]
    fn without_a_serial_run_one_worker_is_the_base() {
        let session = session(|s| (s != SERIAL).then(|| times(s)));
        assert!(session.sentences(2)[0].ends_with("times as fast as steal, 1 thread"));
        assert!(session.panel("", &[1, 2]).is_none());
        assert!(session.table().to_string().contains("over steal, 1 thread"));
    }

    #[test]
    fn where_nothing_runs_that_is_said() {
        let error = session(|_| None).check().unwrap_err().to_string();
        assert_eq!(error, "under no setting did it run: killed");
        assert!(session(|s| (s == SERIAL).then_some(1.0)).check().is_ok());
    }
}
