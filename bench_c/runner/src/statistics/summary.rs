//! Medians and quartiles of the measurements, by setup.

use std::collections::BTreeMap;

use super::quartiles::Quartiles;
use crate::run::bench::Run;
use crate::run::setup::{Group, Kind, Knobs, Setup};

/// All the runs of one setup together.
pub struct Measured {
    pub tasks: u64,
    pub seconds: Quartiles,
    /// Nanoseconds that an iteration of the calibration loop took before the runs: the median.
    pub cal: f64,
    /// Processor time of all threads, user and system.
    pub cpu: Quartiles,
    /// The program's own figures, by their names.
    pub extra: BTreeMap<String, Quartiles>,
    /// None for the serial version.
    pub counters: Option<Counters>,
}

/// The library's counters: medians, and the quartiles of those that a figure shows.
#[derive(Clone, Copy)]
pub struct Counters {
    pub steals: Quartiles,
    pub stolen_tasks: f64,
    pub failed_steals: Quartiles,
    /// Parks and naps: how often a worker went to sleep.
    pub sleeps: f64,
    pub wakes: f64,
}

impl Measured {
    fn of(runs: &[&Run]) -> Option<Measured> {
        let timed = || runs.iter().filter(|r| r.timed);
        Some(Measured {
            tasks: runs.first()?.line.tasks,
            seconds: Quartiles::of(timed().map(|r| r.line.seconds).collect())?,
            cal: Quartiles::of(timed().filter_map(|r| r.line.cal).collect())?.median,
            cpu: Quartiles::of(timed().map(|r| r.line.user + r.line.sys).collect())?,
            extra: extra(runs)?,
            counters: Counters::of(runs),
        })
    }

    pub fn own(&self, name: &str) -> Option<Quartiles> {
        self.extra.get(name).copied()
    }

    pub fn ns_per_task(&self) -> Quartiles {
        self.seconds.scaled(1e9 / self.tasks as f64)
    }
}

fn extra(runs: &[&Run]) -> Option<BTreeMap<String, Quartiles>> {
    let timed: Vec<_> = runs.iter().filter(|r| r.timed).map(|r| &r.line.extra).collect();
    let names = timed.first()?.keys();
    names
        .map(|name| {
            let values = timed.iter().filter_map(|extra| extra.get(name).copied()).collect();
            Some((name.clone(), Quartiles::of(values)?))
        })
        .collect()
}

impl Counters {
    fn of(runs: &[&Run]) -> Option<Counters> {
        let quartiles = |value: fn(&crate::run::output::Stats) -> u64| {
            let values = runs.iter().filter_map(|r| r.stats.as_ref()).map(|s| value(s) as f64);
            Quartiles::of(values.collect())
        };
        let median = |value| quartiles(value).map(|q| q.median);
        Some(Counters {
            steals: quartiles(|s| s.steals)?,
            stolen_tasks: median(|s| s.stolen_tasks)?,
            failed_steals: quartiles(|s| s.failed_steals)?,
            sleeps: median(|s| s.parks + s.naps)?,
            wakes: median(|s| s.wakes)?,
        })
    }
}

pub struct Summary {
    measured: BTreeMap<Setup, Measured>,
}

impl Summary {
    pub fn new(runs: &[Run]) -> Summary {
        let mut by_setup: BTreeMap<Setup, Vec<&Run>> = BTreeMap::new();
        for run in runs {
            by_setup.entry(run.setup.clone()).or_default().push(run);
        }
        let measured = by_setup
            .into_iter()
            .filter_map(|(setup, runs)| Some((setup, Measured::of(&runs)?)))
            .collect();
        Summary { measured }
    }

    pub fn of(&self, setup: &Setup) -> Option<&Measured> {
        self.measured.get(setup)
    }

    /// A program under a kind, with the library's defaults.
    pub fn kind(&self, program: &str, kind: Kind, threads: usize) -> Option<&Measured> {
        self.find(|s| s.group == Group::Kinds && is(s, program, threads) && s.kind == kind)
    }

    /// A program that forks and joins, under `steal` or serial.
    pub fn joins(&self, program: &str, kind: Kind, threads: usize) -> Option<&Measured> {
        self.find(|s| {
            matches!(s.group, Group::Joins | Group::Kinds)
                && is(s, program, threads)
                && s.kind == kind
        })
    }

    pub fn serial(&self, program: &str) -> Option<&Measured> {
        self.kind(program, Kind::None, 1)
    }

    pub fn lock(&self, program: &str, kind: Kind, lock: &str, threads: usize) -> Option<&Measured> {
        self.find(|s| {
            s.group == Group::Locks
                && is(s, program, threads)
                && s.kind == kind
                && s.deque == Some(lock)
        })
    }

    pub fn idle(&self, program: &str, idle: &str, threads: usize) -> Option<&Measured> {
        self.find(|s| s.group == Group::Idle && is(s, program, threads) && s.idle == Some(idle))
    }

    /// What a run costs beside its tasks, under the default kind.
    pub fn overhead(&self, program: &str, threads: usize) -> Option<&Measured> {
        self.runs(program, None, None, threads)
    }

    /// As above, with an argument of `-d` and with `SCHED_WARM`.
    pub fn runs(
        &self,
        program: &str,
        data: Option<&str>,
        warm: Option<&str>,
        threads: usize,
    ) -> Option<&Measured> {
        self.find(|s| {
            s.group == Group::Overheads
                && is(s, program, threads)
                && s.kind != Kind::None
                && s.data == data
                && s.warm == warm
        })
    }

    pub fn closures(&self, way: &str, threads: usize) -> Option<&Measured> {
        self.find(|s| s.group == Group::Closures && s.data == Some(way) && s.threads == threads)
    }

    /// What is outside of any task, with an argument of `-d`.
    pub fn outside(
        &self,
        program: &str,
        data: &str,
        kind: Kind,
        threads: usize,
    ) -> Option<&Measured> {
        self.find(|s| {
            s.group == Group::Outside
                && is(s, program, threads)
                && s.kind == kind
                && s.data == Some(data)
        })
    }

    /// A program that is observed by means of these variables.
    pub fn observed(&self, program: &str, knobs: Knobs, threads: usize) -> Option<&Measured> {
        self.find(|s| s.group == Group::Observed && is(s, program, threads) && s.knobs == knobs)
    }

    /// The same done by means of the kernel: `data` is the argument of `-d`.
    pub fn bare(&self, program: &str, data: &str) -> Option<&Measured> {
        self.find(|s| {
            s.group == Group::Overheads
                && s.program == program
                && s.kind == Kind::None
                && s.data == Some(data)
        })
    }

    /// `resume`: a hand-over in this way from this deque.
    pub fn hand_over(&self, kind: Kind, way: &str, deque: &str) -> Option<&Measured> {
        self.find(|s| {
            s.program == "resume" && s.kind == kind && s.data == Some(way) && s.deque == Some(deque)
        })
    }

    pub fn phases(&self, data: &str, kind: Kind) -> Option<&Measured> {
        self.find(|s| {
            s.group == Group::Overheads
                && s.program == "phases"
                && s.kind == kind
                && s.data == Some(data)
        })
    }

    fn find(&self, wanted: impl Fn(&Setup) -> bool) -> Option<&Measured> {
        self.measured.iter().find(|(setup, _)| wanted(setup)).map(|(_, m)| m)
    }
}

fn is(setup: &Setup, program: &str, threads: usize) -> bool {
    setup.program == program && setup.threads == threads
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::run::output::{Line, Stats};
    use crate::run::plan::Plan;

    /// Five runs of each setup of a plan, as if its program had taken so many seconds.
    pub fn made_up(plan: &Plan, seconds: impl Fn(&Setup) -> f64) -> Vec<Run> {
        let figures = [
            ("us_per_run", 71.2),
            ("wake_us", 26.5),
            ("p90_us", 1245.0),
            ("p99_us", 1302.0),
            ("burn_us", 4.6),
            ("first_us", 57.3),
            ("before_end", 1000.0),
            ("ns_a_yield", 23.4),
            ("ns_a_turn", 15_524.0),
            ("handover_ns", 261.0),
            ("us_a_phase", 11.3),
            ("over_ideal", 1.034),
            ("start_us", 21.4),
            ("p50_us", 1031.7),
            ("cpu_us", 41.3),
            ("alone_us", 11.2),
            ("most_us", 204_123.0),
            ("loops", 187.0),
            ("back_ns", 190.0),
            ("tasks_per_second", 21_844.0),
            ("ns_a_section", 1615.0),
            ("burn_percent", 0.0093),
            ("processors", 2.0),
            ("work", 0.8),
            ("span", 0.1),
            ("allows", 1.97),
        ];
        let mut runs = Vec::new();
        for setup in &plan.setups {
            for (repetition, noise) in [1.0, 1.021, 0.983, 1.11, 0.964].into_iter().enumerate() {
                let line = Line {
                    tasks: 1_048_577,
                    seconds: seconds(setup) * noise,
                    ns_per_task: 0.0,
                    checksum: "ab".into(),
                    user: 0.8 * seconds(setup) * noise,
                    sys: 0.0,
                    vcsw: 0,
                    icsw: 0,
                    cal: Some(0.5),
                    schedule: None,
                    extra: figures.map(|(name, value)| (name.to_owned(), value * noise)).into(),
                };
                let stats = (setup.kind != Kind::None).then(|| Stats {
                    runs: 1,
                    kind: setup.kind.name().into(),
                    deque: "split".into(),
                    idle: "park".into(),
                    threads: setup.threads as u64,
                    seconds: line.seconds,
                    tasks: line.tasks,
                    steals: 123_456,
                    stolen_tasks: 123_456,
                    failed_steals: 123_456,
                    parks: 123_456,
                    naps: 0,
                    wakes: 123_456,
                    queue_peak: 20,
                    threads_missing: 0,
                });
                runs.push(Run { setup: setup.clone(), repetition, timed: true, line, stats });
            }
        }
        runs
    }
}
