//! The jobs, and the threads that do them.
//!
//! A job builds a program, runs a program that was built, or checks something else. All builds
//! begin first, since a program must be built before it runs. Then checks and runs alternate. Most
//! checks compile, and so occupy a processor all the time; a run sleeps for a part of its time.
//! While a run sleeps, a check uses its processor. Jobs that sleep nearly all the time have threads
//! of their own.

use std::collections::{HashSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, mpsc};
use std::time::Instant;

use anyhow::Result;

use crate::setting::Setting;

pub enum Outcome {
    Passed,
    Skipped(String),
    /// The failure, with the output and a command line that repeats it.
    Failed(String),
}

/// One test. Its work gets the number of a thread, for the names of files that no other job uses.
pub struct Job {
    /// The name of the case: its jobs are counted together.
    pub group: String,
    /// The program that it builds or runs.
    pub program: String,
    /// The rest of its name.
    pub detail: String,
    /// The setting of the matrix that it runs with.
    pub setting: Option<Setting>,
    /// The test needs hardly any processor time, because it sleeps nearly all the time.
    pub sleeps: bool,
    /// It builds the program, and counts as a test only if it fails: the runs of what is
    /// built are tests.
    pub builds: bool,
    /// The seconds that the test may take; 0 if that is not known. Jobs with the longest limits
    /// begin first, so that none of them runs alone at the end.
    pub limit: f64,
    pub work: Box<dyn Fn(usize) -> Result<Outcome> + Send + Sync>,
}

impl Job {
    pub fn new<F>(group: impl Into<String>, detail: impl Into<String>, work: F) -> Job
    where
        F: Fn(usize) -> Result<Outcome> + Send + Sync + 'static,
    {
        let (group, detail, work) = (group.into(), detail.into(), Box::new(work));
        let program = group.clone();
        Job {
            group,
            program,
            detail,
            setting: None,
            sleeps: false,
            builds: false,
            limit: 0.0,
            work,
        }
    }

    pub fn name(&self) -> String {
        format!("{} {}", self.group, self.detail).trim().to_string()
    }
}

/// How many of the jobs that sleep are done beside each thread of the others.
const SLEEPERS: usize = 3;

/// The jobs in the order in which they begin.
fn in_order(jobs: &[Job]) -> Vec<&Job> {
    let programs = |wanted: fn(&Job) -> bool| -> HashSet<String> {
        jobs.iter().filter(|job| wanted(job)).map(|job| job.program.clone()).collect()
    };
    let (built, asleep) = (programs(|job| job.builds), programs(|job| job.sleeps));
    let longest_first = |wanted: &dyn Fn(&Job) -> bool| -> Vec<&Job> {
        let mut found: Vec<&Job> = jobs.iter().filter(|job| wanted(job)).collect();
        found.sort_by(|one, other| other.limit.total_cmp(&one.limit));
        found
    };
    // The runs that sleep continue beside all other jobs, so their programs are built first.
    let mut order = longest_first(&|job| job.builds && asleep.contains(&job.program));
    order.extend(longest_first(&|job| job.builds && !asleep.contains(&job.program)));
    let checks = longest_first(&|job| !job.builds && !built.contains(&job.program));
    let runs = longest_first(&|job| !job.builds && built.contains(&job.program));
    order.extend(alternate(&checks, &runs));
    order
}

/// Merges two lists. The elements of each list keep their order, and are spread evenly over the
/// result.
fn alternate<T: Copy>(one: &[T], other: &[T]) -> Vec<T> {
    let share = |list: &[T]| {
        let n = list.len();
        list.iter().enumerate().map(move |(i, &x)| (i as f64 / n as f64, x)).collect::<Vec<_>>()
    };
    let mut all = [share(one), share(other)].concat();
    all.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    all.into_iter().map(|(_, x)| x).collect()
}

/// The jobs that have not begun.
struct Waiting<'a> {
    awake: VecDeque<&'a Job>,
    asleep: VecDeque<&'a Job>,
    /// The programs whose builds have not ended.
    unbuilt: HashSet<&'a str>,
}

enum Next<'a> {
    Job(&'a Job),
    /// There is none before a build ends.
    Later,
    Never,
}

impl<'a> Waiting<'a> {
    fn new(jobs: &'a [Job]) -> Waiting<'a> {
        let (asleep, awake) = in_order(jobs).into_iter().partition(|job| job.sleeps);
        let unbuilt =
            jobs.iter().filter(|job| job.builds).map(|job| job.program.as_str()).collect();
        Waiting { awake, asleep, unbuilt }
    }

    fn next(&mut self, sleeps: bool) -> Next<'a> {
        let jobs = if sleeps { &mut self.asleep } else { &mut self.awake };
        let may_begin = |job: &&Job| job.builds || !self.unbuilt.contains(job.program.as_str());
        match jobs.iter().position(may_begin).and_then(|at| jobs.remove(at)) {
            Some(job) => Next::Job(job),
            None if jobs.is_empty() => Next::Never,
            None => Next::Later,
        }
    }

    /// Drops all jobs that have not begun.
    fn give_up(&mut self) {
        self.awake.clear();
        self.asleep.clear();
    }

    /// A build has ended. If it failed, drops the runs of its program.
    fn built(&mut self, program: &str, outcome: &Outcome) {
        self.unbuilt.remove(program);
        if !matches!(outcome, Outcome::Passed) {
            self.awake.retain(|job| job.program != program);
            self.asleep.retain(|job| job.program != program);
        }
    }
}

const UNPOISONED: &str = "no holder of the lock panics";

/// Does the job. A panic counts as a failure, so that a build that panics has an end, for which
/// other threads wait.
fn outcome_of(job: &Job, thread: usize) -> Outcome {
    match catch_unwind(AssertUnwindSafe(|| (job.work)(thread))) {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(error)) => Outcome::Failed(format!("{error:#}\n")),
        Err(_) => Outcome::Failed("it panicked\n".to_string()),
    }
}

/// Does the jobs on `threads` threads, and those that sleep on further ones. Calls `each` with every
/// outcome as it comes, and with the seconds that the job took.
pub fn dispatch<'a>(threads: usize, jobs: &'a [Job], mut each: impl FnMut(&'a Job, Outcome, f64)) {
    let (waiting, a_build_ended) = (&Mutex::new(Waiting::new(jobs)), &Condvar::new());
    let (send, receive) = mpsc::channel();
    let next = move |sleeps: bool| -> Option<&'a Job> {
        let mut waiting = waiting.lock().expect(UNPOISONED);
        loop {
            match waiting.next(sleeps) {
                Next::Job(job) => return Some(job),
                Next::Never => return None,
                Next::Later => waiting = a_build_ended.wait(waiting).expect(UNPOISONED),
            }
        }
    };
    std::thread::scope(|scope| {
        for thread in 0..threads * (1 + SLEEPERS) {
            let send = send.clone();
            scope.spawn(move || {
                while let Some(job) = next(thread >= threads) {
                    let start = Instant::now();
                    let outcome = outcome_of(job, thread);
                    if job.builds {
                        waiting.lock().expect(UNPOISONED).built(&job.program, &outcome);
                        a_build_ended.notify_all();
                    }
                    if send.send((job, outcome, start.elapsed().as_secs_f64())).is_err() {
                        // `each` has panicked.
                        waiting.lock().expect(UNPOISONED).give_up();
                        a_build_ended.notify_all();
                    }
                }
            });
        }
        drop(send);
        receive.into_iter().for_each(|(job, outcome, seconds)| each(job, outcome, seconds));
    });
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    type Names = Arc<Mutex<Vec<String>>>;

    fn named(begun: &Names, name: &str, outcome: fn() -> Outcome) -> Job {
        let (begun, noted) = (Arc::clone(begun), name.to_string());
        let job = Job::new(name, "", move |_| {
            begun.lock().unwrap().push(noted.clone());
            Ok(outcome())
        });
        Job { program: name.split('[').next().unwrap_or_default().to_string(), ..job }
    }

    fn begun(threads: usize, jobs: Vec<Job>, begun: &Names) -> Vec<String> {
        dispatch(threads, &jobs, |_, _, _| ());
        begun.lock().unwrap().clone()
    }

    #[test]
    fn those_that_may_take_longest_come_first() {
        let names = Names::default();
        let jobs = [("unknown", 0.0), ("usual", 30.0), ("long", 240.0), ("usual, too", 30.0)];
        let job = |(name, limit)| Job { limit, ..named(&names, name, || Outcome::Passed) };
        assert_eq!(
            begun(1, jobs.map(job).into(), &names),
            ["long", "usual", "usual, too", "unknown"]
        );
    }

    #[test]
    fn checks_and_runs_alternate_after_the_builds() {
        assert_eq!(alternate(&["a", "b"], &["1", "2", "3", "4"]).concat(), "a12b34");
        assert_eq!(alternate(&["a", "b"], &[]).concat(), "ab");
        let names = Names::default();
        let job = |name| named(&names, name, || Outcome::Passed);
        let build = Job { builds: true, ..job("program") };
        let jobs = vec![job("check"), job("other"), job("program"), job("program[static]"), build];
        let expected = ["program", "check", "program", "other", "program[static]"];
        assert_eq!(begun(1, jobs, &names), expected);
    }

    #[test]
    fn a_program_is_built_before_it_runs() {
        let names = Names::default();
        let run = |name, sleeps| Job { sleeps, ..named(&names, name, || Outcome::Passed) };
        let build = |name| {
            let job = named(&names, name, || {
                std::thread::sleep(std::time::Duration::from_millis(20));
                Outcome::Passed
            });
            Job { builds: true, ..job }
        };
        for threads in 1..4 {
            names.lock().unwrap().clear();
            let jobs = vec![
                run("loud[static]", false),
                run("check", false),
                run("quiet[debug]", true),
                build("loud"),
                build("quiet"),
            ];
            let order = begun(threads, jobs, &names);
            let at = |name| order.iter().position(|begun| begun == name);
            assert_eq!(order.len(), 5, "{order:?}");
            assert!(
                at("quiet") < at("quiet[debug]") && at("loud") < at("loud[static]"),
                "{order:?}"
            );
        }
    }

    #[test]
    fn a_program_that_cannot_be_built_does_not_run() {
        let names = Names::default();
        let wrong = named(&names, "wrong", || Outcome::Failed("an error".to_string()));
        let jobs = vec![
            named(&names, "wrong[static]", || Outcome::Passed),
            Job { sleeps: true, ..named(&names, "wrong", || Outcome::Passed) },
            named(&names, "wrong_too", || Outcome::Passed),
            Job { builds: true, ..wrong },
        ];
        assert_eq!(begun(1, jobs, &names), ["wrong", "wrong_too"]);
    }

    #[test]
    fn a_build_that_panics_is_a_failure() {
        let names = Names::default();
        let panics = named(&names, "wrong", || panic!("planted"));
        let jobs = [
            Job { sleeps: true, ..named(&names, "wrong", || Outcome::Passed) },
            Job { builds: true, ..panics },
        ];
        let mut failed = 0;
        dispatch(2, &jobs, |_, outcome, _| {
            failed += usize::from(matches!(outcome, Outcome::Failed(_)));
        });
        assert_eq!((failed, names.lock().unwrap().len()), (1, 1));
    }

    #[test]
    fn a_panic_of_the_receiver_ends_all() {
        let names = Names::default();
        let program = |i: usize| {
            let name = format!("sleeper {i}");
            let run = Job { sleeps: true, ..named(&names, &name, || Outcome::Passed) };
            [run, Job { builds: true, ..named(&names, &name, || Outcome::Passed) }]
        };
        let jobs: Vec<Job> = (0..16).flat_map(program).collect();
        let all = AssertUnwindSafe(|| dispatch(3, &jobs, |_, _, _| panic!("planted")));
        assert!(catch_unwind(all).is_err());
    }
}
