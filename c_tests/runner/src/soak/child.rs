//! One process of c_tests/soak.c, which obeys lines and answers each.
//!
//! The program itself checks the tasks, and that its threads and descriptors are as many as at its
//! start. Memory and mappings depend on the settings of a slice, so here they are compared by
//! windows of [`WINDOW`] slices: if in a later window even the least is more than the most of the
//! first window, what is left behind adds up.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail, ensure};
use rustix::process::{Pid, Signal, kill_process_group};
use sched_tools::process::without_settings;

use crate::exec::threads_of;

const WINDOW: u64 = 100;

pub struct Soaking {
    child: Child,
    orders: Option<ChildStdin>,
    answers: Receiver<String>,
    errors: PathBuf,
    /// Slices that it has done.
    pub slices: u64,
    memory: Flat,
    mappings: Flat,
}

/// The results of a slice.
#[derive(Debug, PartialEq)]
pub struct Answer {
    /// Tasks that were checked, by shape.
    pub tasks: BTreeMap<String, u64>,
    pub rss_kb: u64,
    pub threads: u64,
    pub descriptors: u64,
    pub mappings: u64,
}

impl Soaking {
    /// `errors` is the file for the process's report of a failure.
    pub fn start(program: &Path, errors: &Path) -> Result<Soaking> {
        let mut command = Command::new(program);
        command.arg("-s").stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        command.stderr(File::create(errors)?);
        without_settings(&mut command);
        let mut child = command.spawn().with_context(|| program.display().to_string())?;
        let output = child.stdout.take().context("its output")?;
        let (send, answers) = channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    return; // the process is no longer asked
                }
            }
        });
        Ok(Soaking {
            orders: child.stdin.take(),
            child,
            answers,
            errors: errors.into(),
            slices: 0,
            memory: Flat::default(),
            mappings: Flat::default(),
        })
    }

    /// Does a slice: a line of c_tests/soak.c. An error is a failure of the library, or of the
    /// test; the process is then of no more use.
    pub fn slice(&mut self, order: &str, limit: Duration) -> Result<Answer> {
        let orders = self.orders.as_mut().context("it has ended")?;
        // The process may have ended by now; then there is no answer, and `how_it_ended` says why.
        let _ = writeln!(orders, "{order}").and_then(|()| orders.flush());
        let Some(line) = self.line(limit)? else { bail!("{}", self.how_it_ended()) };
        let answer = parse(&line).with_context(|| format!("it answers {line:?}"))?;
        self.slices += 1;
        self.memory.add(answer.rss_kb).map_err(|what| anyhow!("memory grows: {what} kB"))?;
        self.mappings.add(answer.mappings).map_err(|what| anyhow!("mappings grow: {what}"))?;
        Ok(answer)
    }

    /// The next line; None if the process has ended. The limit is counted in seconds that are not
    /// longer than a second: so the time in which the whole machine was stopped does not count.
    fn line(&mut self, limit: Duration) -> Result<Option<String>> {
        for _ in 0..limit.as_secs().max(1) {
            match self.answers.recv_timeout(Duration::from_secs(1)) {
                Ok(line) => return Ok(Some(line)),
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
        let threads = threads_of(self.child.id());
        self.kill();
        bail!("no answer within {} s\n{threads}", limit.as_secs())
    }

    fn how_it_ended(&mut self) -> String {
        let status = self.child.wait().map_or_else(|e| e.to_string(), |s| s.to_string());
        let said = fs::read_to_string(&self.errors).unwrap_or_default();
        format!("{status}\n{said}")
    }

    fn kill(&mut self) {
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL); // it may have ended
        let _ = self.child.wait();
    }

    /// Closes its input, at which it has to end with success.
    pub fn end(mut self, limit: Duration) -> Result<()> {
        self.orders = None;
        let rest = self.line(limit)?;
        let how = self.how_it_ended();
        ensure!(rest.is_none() && how.starts_with("exit status: 0\n"), "at its end: {how}");
        Ok(())
    }
}

impl Drop for Soaking {
    fn drop(&mut self) {
        self.kill();
    }
}

/// `checked tree=5 … rss_kb=1 threads=1 descriptors=3 mappings=40`
fn parse(line: &str) -> Option<Answer> {
    let words = line.strip_prefix("checked ")?.split_whitespace();
    let number = |word: &str| {
        let (name, number) = word.split_once('=')?;
        Some((name.to_string(), number.parse::<u64>().ok()?))
    };
    let mut tasks = words.map(number).collect::<Option<BTreeMap<_, _>>>()?;
    Some(Answer {
        rss_kb: tasks.remove("rss_kb")?,
        threads: tasks.remove("threads")?,
        descriptors: tasks.remove("descriptors")?,
        mappings: tasks.remove("mappings")?,
        tasks,
    })
}

/// A value that may vary but must not grow.
#[derive(Default)]
struct Flat {
    n: u64,
    /// The most in the first window.
    first: u64,
    /// The least in the present window.
    least: u64,
}

impl Flat {
    /// An error says how it has grown.
    fn add(&mut self, value: u64) -> Result<(), String> {
        let begins = self.n % WINDOW == 0;
        self.n += 1;
        if self.n <= WINDOW {
            self.first = self.first.max(value);
            return Ok(());
        }
        self.least = if begins { value } else { self.least.min(value) };
        if self.n % WINDOW == 0 && self.least > self.first {
            return Err(format!(
                "at most {} in the first {WINDOW} slices, at least {} in the {WINDOW} before slice {}",
                self.first, self.least, self.n
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sched_tools::process::scratch_file;

    /// A process that obeys as this script does.
    fn process(script: &str, name: &str) -> (Soaking, PathBuf) {
        use std::os::unix::fs::PermissionsExt;
        let program = scratch_file(name);
        fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        (Soaking::start(&program, &program.with_extension("err")).unwrap(), program)
    }

    fn remove(program: &Path) {
        fs::remove_file(program.with_extension("err")).unwrap();
        fs::remove_file(program).unwrap();
    }

    const LONG: Duration = Duration::from_secs(60);
    const OBEYS: &str = "while read -r line; do echo \"checked tree=5 wait=1 rss_kb=9 threads=1 descriptors=3 mappings=40\"; done";

    #[test]
    fn a_slice_is_answered_and_the_process_ends() {
        let (mut soaking, program) = process(OBEYS, "soak-obeys");
        for _ in 0..3 {
            let answer = soaking.slice("1 1 0", LONG).unwrap();
            assert_eq!(answer.tasks.values().sum::<u64>(), 6);
            assert_eq!((answer.rss_kb, answer.threads, answer.descriptors), (9, 1, 3));
        }
        assert_eq!(soaking.slices, 3);
        soaking.end(LONG).unwrap();
        remove(&program);
    }

    #[test]
    fn what_the_process_says_as_it_fails_is_the_error() {
        let (mut soaking, program) =
            process("read -r line; echo 'tree: 4 tasks of 5' >&2; exit 1", "soak-fails");
        let error = soaking.slice("1 1 0", LONG).unwrap_err().to_string();
        assert_eq!(error, "exit status: 1\ntree: 4 tasks of 5\n");
        remove(&program);
        let (mut soaking, program) = process("read -r line; echo nonsense", "soak-nonsense");
        assert!(soaking.slice("1 1 0", LONG).is_err());
        remove(&program);
    }

    #[test]
    fn a_process_that_does_not_answer_is_killed() {
        let (mut soaking, program) = process("sleep 1000", "soak-hangs");
        let error = soaking.slice("1 1 0", Duration::from_secs(1)).unwrap_err().to_string();
        assert!(error.starts_with("no answer within 1 s\n"), "{error}");
        remove(&program);
    }

    #[test]
    fn a_failure_at_the_end_is_seen() {
        let (soaking, program) = process("cat > /dev/null; exit 3", "soak-ends");
        assert!(soaking.end(LONG).is_err());
        remove(&program);
    }

    #[test]
    fn a_leak_is_seen_and_a_change_of_size_is_not() {
        let mut flat = Flat::default();
        for i in 0..10 * WINDOW {
            flat.add(1000 + i % 90 * 10).unwrap();
        }
        let mut leaks = Flat::default();
        let result = (0..10 * WINDOW).try_for_each(|i| leaks.add(1000 + i % 90 * 10 + i * 3));
        assert!(result.unwrap_err().contains("at most"));
    }
}
