//! The table of variables.

use crate::settings::config::{Config, TRACE_SIZE, Threads};
use crate::settings::messages::{Refused, Shown};
use crate::settings::suits::Transfers;
use crate::settings::told::{self, Told};
use crate::settings::words::{
    Deadlock, DequeOrLock, Global, Idle, Join, Kind, Overflow, Profile, Stats, Steal, Switch,
};
use crate::sys::output::Out;
use crate::sys::processors::MOST_WORKERS;
use std::ffi::CStr;
use std::fmt::{self, Write};
use std::time::Duration;

/// The most that `SCHED_BLOCKING` may say.
pub const MOST_BLOCKING: usize = 65536;

pub struct Var {
    pub name: &'static str,
    /// The accepted words, the default first; none if the variable takes no words.
    words: &'static [&'static str],
    /// The other values that the variable takes, described for the reader.
    form: &'static str,
    set: Set,
    meaning: &'static str,
}

/// Stores an accepted value; None: not accepted.
#[derive(Clone, Copy)]
enum Set {
    Value(fn(&mut Config, &CStr) -> Option<()>),
    /// The value is the name of a file, which the configuration refers to.
    Path(fn(&mut Config, &'static CStr)),
}

/// Only the build for `SCHED_FUZZ` has that variable.
const COUNT: usize = if cfg!(sched_fuzz) { 24 } else { 23 };

pub static VARS: [Var; COUNT] = [
    Var {
        name: "SCHED_KIND",
        words: Kind::WORDS,
        form: "",
        set: Set::Value(|c, v| Kind::parse(v.to_bytes()).map(|k| c.kind = k)),
        meaning: "the scheduler: work stealing, one shared stack, one shared queue, continuation stealing, or one thread",
    },
    Var {
        name: "SCHED_THREADS",
        words: &[],
        form: "N (1 to 4096) auto",
        set: Set::Value(|c, v| {
            c.threads = Some(match v.to_bytes() {
                b"auto" => Threads::Auto,
                _ => Threads::Count(
                    usize::try_from(number(v)?).ok().filter(|n| (1..=MOST_WORKERS).contains(n))?,
                ),
            });
            Some(())
        }),
        meaning: "N workers whatever the program asked; auto: the default count",
    },
    Var {
        name: "SCHED_DEQUE",
        words: DequeOrLock::WORDS,
        form: "",
        set: Set::Value(|c, v| DequeOrLock::parse(v.to_bytes()).map(|d| c.deque = Some(d))),
        meaning: "the deque of steal and cont; the lock of lifo and fifo (from mutex on)",
    },
    Var {
        name: "SCHED_STEAL",
        words: Steal::WORDS,
        form: "",
        set: Set::Value(|c, v| Steal::parse(v.to_bytes()).map(|s| c.steal = Some(s))),
        meaning: "how much a thief takes: a task, or half of them (ring, queue, and the locks)",
    },
    Var {
        name: "SCHED_IDLE",
        words: Idle::WORDS,
        form: "",
        set: Set::Value(|c, v| Idle::parse(v.to_bytes()).map(|i| c.idle = i)),
        meaning: "a worker without work: sleeps until woken, 1 ms, adaptively, or never",
    },
    Var {
        name: "SCHED_OVERFLOW",
        words: Overflow::WORDS,
        form: "",
        set: Set::Value(|c, v| Overflow::parse(v.to_bytes()).map(|o| c.overflow = Some(o))),
        meaning: "a full queue: grows, moves one task or half to the queue for all, or gives EAGAIN",
    },
    Var {
        name: "SCHED_GLOBAL",
        words: Global::WORDS,
        form: "",
        set: Set::Value(|c, v| Global::parse(v.to_bytes()).map(|g| c.global = Some(g))),
        meaning: "how much a worker without tasks takes from the queue for all",
    },
    Var {
        name: "SCHED_JOIN",
        words: Join::WORDS,
        form: "",
        set: Set::Value(|c, v| Join::parse(v.to_bytes()).map(|j| c.join = j)),
        meaning: "a task that waits for another: is suspended, or others run on top of it",
    },
    Var {
        name: "SCHED_STACK",
        words: &[],
        form: "a size, at least 32K (64K, 8M, 1G)",
        set: Set::Value(|c, v| {
            let accepted = |size: &usize| (LEAST_STACK..=MOST_STACK).contains(size);
            size(v).filter(accepted).map(|n| c.stack = Some(n))
        }),
        meaning: "size of a task's stack; unset: that of a new thread",
    },
    Var {
        name: "SCHED_WARM",
        words: &["100ms", "0"],
        form: "a time (500us, 2s, 1min)",
        set: Set::Value(|c, v| time(v).map(|warm| c.warm = Some(warm))),
        meaning: "how long idle threads, and the memory of long queues, are kept",
    },
    Var {
        name: "SCHED_BLOCKING",
        words: &["512"],
        form: "N (1 to 65536)",
        set: Set::Value(|c, v| {
            let n = usize::try_from(number(v)?).ok()?;
            c.blocking = (1..=MOST_BLOCKING).contains(&n).then_some(n);
            c.blocking.map(drop)
        }),
        meaning: "how many tasks of a run may be in blocking sections at once",
    },
    Var {
        name: "SCHED_STATS",
        words: Stats::WORDS,
        form: "",
        set: Set::Value(|c, v| Stats::parse(v.to_bytes()).map(|s| c.stats = s)),
        meaning: "statistics of each run: none, a table, a table and a line during the run, or JSON",
    },
    Var {
        name: "SCHED_STATS_FILE",
        words: &[],
        form: "PATH",
        set: Set::Path(|c, v| c.stats_file = Some(v)),
        meaning: "with SCHED_STATS: where they are appended; unset: stderr",
    },
    Var {
        name: "SCHED_TRACE",
        words: &[],
        form: "PATH",
        set: Set::Path(|c, v| c.trace = Some(v)),
        meaning: "write a timeline of the runs to this file, for Perfetto or speedscope; compressed if its name ends with .gz",
    },
    Var {
        name: "SCHED_TRACE_SIZE",
        words: &["16M"],
        form: "a size, at least 4K (64K, 8M, 1G)",
        set: Set::Value(|c, v| {
            let accepted = |size: &usize| (LEAST_TRACE..=MOST_STACK).contains(size);
            size(v).filter(accepted).map(|n| c.trace_size = n)
        }),
        meaning: "with SCHED_TRACE: memory for each worker's events; the youngest are kept",
    },
    Var {
        name: "SCHED_TRACE_MERGE",
        words: &["0"],
        form: "a time (1us, 2ms, 1s)",
        set: Set::Value(|c, v| time(v).map(|least| c.trace_merge = least)),
        meaning: "with SCHED_TRACE: neighbouring tasks shorter than this are shown as one",
    },
    Var {
        name: "SCHED_TRACE_LIVES",
        words: Switch::WORDS,
        form: "",
        set: Set::Value(|c, v| Switch::parse(v.to_bytes()).map(|s| c.trace_lives = s)),
        meaning: "with SCHED_TRACE: a track for each task that was left in the middle, from its begin to its end",
    },
    Var {
        name: "SCHED_PROFILE",
        words: Profile::WORDS,
        form: "",
        set: Set::Value(|c, v| Profile::parse(v.to_bytes()).map(|p| c.profile = p)),
        meaning: "work, span and parallelism of each run: none, as text, as JSON, or for flame graphs",
    },
    Var {
        name: "SCHED_PROFILE_BURDEN",
        words: &[],
        form: "a time (1us, 2ms, 1s)",
        set: Set::Value(|c, v| time(v).map(|burden| c.profile_burden = Some(burden))),
        meaning: "with SCHED_PROFILE: the cost of a task's move to another worker; default: measured",
    },
    Var {
        name: "SCHED_SEED",
        words: &[],
        form: "N (0 to 2^64-1)",
        set: Set::Value(|c, v| {
            c.seed = Some(number(v)?);
            Some(())
        }),
        meaning: "seed of every random choice; with serial, of the order of the ready tasks",
    },
    #[cfg(sched_fuzz)]
    Var {
        name: "SCHED_FUZZ",
        words: &[],
        form: "N (0 to 2^64-1)",
        set: Set::Value(|_, v| {
            crate::sys::fuzz::seed(number(v)?);
            Some(())
        }),
        meaning: "seed of delays between the steps of the protocols; unset: none",
    },
    Var {
        name: "SCHED_WATCHDOG",
        words: &["0"],
        form: "a time (500ms, 5s, 1min)",
        set: Set::Value(|c, v| {
            time(v).map(|time| c.watchdog = Some(time).filter(|time| !time.is_zero()))
        }),
        meaning: "show what all tasks wait for, after so long without the end of one, and at SIGQUIT; 0: never",
    },
    Var {
        name: "SCHED_DEADLOCK",
        words: Deadlock::WORDS,
        form: "",
        set: Set::Value(|c, v| Deadlock::parse(v.to_bytes()).map(|d| c.deadlock = d)),
        meaning: "when no task can go on: end the process if nothing could help, end it always, say so once, or do nothing",
    },
    Var {
        name: "SCHED_HELP",
        words: Switch::WORDS,
        form: "",
        set: Set::Value(|c, v| Switch::parse(v.to_bytes()).map(|s| c.help = s)),
        meaning: "print this table at each sched_init, and go on",
    },
];

/// The settings whose defaults depend on other settings.
pub struct InForce {
    pub deque: DequeOrLock,
    pub transfers: Transfers,
}

impl Var {
    pub fn named(name: &[u8]) -> Option<&'static Var> {
        VARS.iter().find(|var| var.name.as_bytes() == name)
    }

    /// Stores the user's value. Returns None if the value is not accepted.
    pub fn set(&self, config: &mut Config, value: &'static CStr) -> Option<()> {
        match self.set {
            Set::Value(set) => set(config, value),
            Set::Path(set) => {
                set(config, value);
                Some(())
            }
        }
    }

    /// Stores a value of the program's. Returns None if the value is not accepted.
    pub fn set_by_program(&self, config: &mut Config, value: &[u8]) -> Option<()> {
        const MOST: usize = 64; // no value that is accepted is as long
        let Set::Value(set) = self.set else { return None };
        let mut text = [0; MOST];
        text.get_mut(..value.len())?.copy_from_slice(value);
        set(config, CStr::from_bytes_with_nul(text.get(..=value.len())?).ok()?)
    }

    /// True if a program may set the variable: its value is not the name of a file.
    pub fn is_for_programs(&self) -> bool {
        matches!(self.set, Set::Value(_))
    }

    pub fn accepted(&self, out: &mut Out) -> fmt::Result {
        for word in self.words {
            write!(out, " {word}")?;
        }
        if self.form.is_empty() { Ok(()) } else { write!(out, " {}", self.form) }
    }

    pub fn refuse(&self, value: &'static CStr) -> Refused {
        if told::note(|hash| write!(hash, "{}={}", self.name, Shown(value))) == Told::Before {
            return Refused;
        }
        let mut out = Out::stderr();
        let _ = write!(out, "libsched: {}={}: ", self.name, Shown(value));
        let _ = out.write_str("no such value; accepted:");
        let _ = self.accepted(&mut out);
        let _ = writeln!(out);
        Refused
    }

    pub fn describe(
        &self,
        out: &mut Out,
        in_force: &InForce,
        value: Option<&'static CStr>,
    ) -> fmt::Result {
        write!(out, "{:<21}", self.name)?;
        match (value, self.words.first()) {
            (Some(value), _) => write!(out, "{}", Shown(value))?,
            (None, Some(default)) => out.write_str(match self.name {
                "SCHED_DEQUE" => in_force.deque.word(),
                "SCHED_STEAL" => in_force.transfers.steal.word(),
                "SCHED_OVERFLOW" => in_force.transfers.overflow.word(),
                _ => default,
            })?,
            (None, None) => out.write_str("(unset)")?,
        }
        write!(out, "  [")?;
        self.accepted(out)?;
        writeln!(out, " ]  {}", self.meaning)
    }
}

/// Accepts digits only; `parse` alone would also accept a sign.
fn number(text: &CStr) -> Option<u64> {
    let text = text.to_str().ok()?;
    text.bytes().all(|c| c.is_ascii_digit()).then(|| text.parse().ok())?
}

/// A number with its unit; 0 needs no unit.
fn time(text: &CStr) -> Option<Duration> {
    let text = text.to_str().ok()?;
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let n: u64 = text[..digits].parse().ok()?;
    let nanos = match &text[digits..] {
        "" if n == 0 => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "min" => 60_000_000_000,
        _ => return None,
    };
    n.checked_mul(nanos).map(Duration::from_nanos)
}

/// The smallest stack: enough for signal handlers, the library itself and small tasks.
pub const LEAST_STACK: usize = 32 << 10;
const _: () = assert!(LEAST_STACK == 32 << 10, "the number in the text");
const MOST_STACK: usize = 1 << 40;
const LEAST_TRACE: usize = 4 << 10;
const _: () = assert!(TRACE_SIZE == 16 << 20, "the number in the text");

/// A number of bytes; the letter K, M or G multiplies it by 1024, 1024^2 or 1024^3.
fn size(text: &CStr) -> Option<usize> {
    let text = text.to_str().ok()?;
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let n: usize = text[..digits].parse().ok()?;
    let unit = match &text[digits..] {
        "" => 1,
        "K" | "k" => 1 << 10,
        "M" | "m" => 1 << 20,
        "G" | "g" => 1 << 30,
        _ => return None,
    };
    n.checked_mul(unit)
}
