//! The environment variables: one table, read at each start of a run.
//!
//! A value outside a variable's list is refused with a line that names the variable, the
//! value and the list; so is any value of a name that is kept for a later version. An empty value means unset. Nothing here allocates.

mod suits;
mod typos;

use crate::sys::output::{self, Out};
use std::ffi::{CStr, c_char};
use std::fmt::{self, Write};
use std::time::Duration;

pub use crate::sys::processors::MOST_WORKERS;

/// The most that `SCHED_BLOCKING` may say.
pub const MOST_BLOCKING: usize = 65536;

/// Declares the words of a variable as an enum; the first is the default.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $word:literal),+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[$vdoc])* $variant),+ }

        impl $name {
            pub const WORDS: &'static [&'static str] = &[$($word),+];
            const ALL: &'static [$name] = &[$($name::$variant),+];

            pub const fn word(self) -> &'static str {
                Self::WORDS[self as usize]
            }

            fn parse(text: &[u8]) -> Option<Self> {
                let at = Self::WORDS.iter().position(|w| w.as_bytes() == text)?;
                Some(Self::ALL[at])
            }
        }
    };
}

words! {
    /// `SCHED_KIND`: the scheduler.
    Kind { Steal = "steal", Lifo = "lifo", Fifo = "fifo", Cont = "cont", Serial = "serial" }
}
words! {
    /// `SCHED_DEQUE`: the deque of `steal`; the lock of `lifo` and `fifo`.
    Deque {
        Split = "split", ChaseLev = "chaselev", Ring = "ring", Queue = "queue", Mutex = "mutex",
        Spin = "spin", Sem = "sem"
    }
}
words! {
    /// `SCHED_STEAL`: how much a thief takes.
    Steal { One = "one", Half = "half" }
}
words! {
    /// `SCHED_IDLE`: what a worker does that finds nothing.
    Idle { Park = "park", Nap = "nap", Backoff = "backoff", Spin = "spin" }
}
words! {
    /// `SCHED_OVERFLOW`: what a full queue does.
    Overflow { Grow = "grow", One = "one", Half = "half", Refuse = "refuse" }
}
words! {
    /// `SCHED_GLOBAL`: how much a worker takes from the injector.
    Global { One = "one", All = "all" }
}
words! {
    /// `SCHED_JOIN`: what a task does that waits for another.
    Join { Suspend = "suspend", Help = "help" }
}
words! {
    /// `SCHED_STATS`: whether and how the statistics are printed.
    Stats { Off = "0", Table = "1", Json = "json" }
}
words! {
    /// `SCHED_HELP`.
    Switch { Off = "0", On = "1" }
}

/// `SCHED_THREADS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    Auto,
    Count(usize),
}

/// The choices in force for one run.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    pub kind: Kind,
    pub deque: Option<Deque>,
    pub idle: Idle,
    /// None: what suits the deque, as for `overflow`.
    pub steal: Option<Steal>,
    pub overflow: Option<Overflow>,
    pub global: Global,
    pub threads: Option<Threads>,
    pub seed: Option<u64>,
    pub join: Join,
    pub stack: Option<usize>,
    pub warm: Option<Duration>,
    /// Threads beside those of the workers, for blocking sections.
    pub blocking: Option<usize>,
    pub stats: Stats,
    pub stats_file: Option<&'static CStr>,
    pub help: Switch,
}

impl Config {
    pub const fn defaults() -> Self {
        Config {
            kind: Kind::Steal,
            deque: None,
            idle: Idle::Park,
            steal: None,
            overflow: None,
            global: Global::One,
            threads: None,
            seed: None,
            join: Join::Suspend,
            stack: None,
            warm: None,
            blocking: None,
            stats: Stats::Off,
            stats_file: None,
            help: Switch::Off,
        }
    }
}

struct Var {
    name: &'static str,
    /// Words accepted, the default first. Empty: the variable takes no words.
    words: &'static [&'static str],
    /// What else it takes, in words for the reader.
    form: &'static str,
    /// Stores an accepted value; None: not accepted.
    set: fn(&mut Config, &'static CStr) -> Option<()>,
    meaning: &'static str,
}

/// A name that is kept for a later version.
const fn later(name: &'static str) -> Var {
    Var { name, words: &[], form: "", set: |_, _| None, meaning: "" }
}

/// Digits only: parse takes a sign, too.
fn number(text: &CStr) -> Option<u64> {
    let text = text.to_str().ok()?;
    text.bytes().all(|c| c.is_ascii_digit()).then(|| text.parse().ok())?
}

/// A number with its unit; 0 may go without.
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

/// The smallest stack: what signal handlers and the library itself need, with room for small tasks.
pub const LEAST_STACK: usize = 32 << 10;
const _: () = assert!(LEAST_STACK == 32 << 10, "the number in the text");
const MOST_STACK: usize = 1 << 40;

/// A number of bytes, in units of 1024, 1024^2 or 1024^3 with a letter.
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

static VARS: [Var; 20] = [
    Var {
        name: "SCHED_KIND",
        words: Kind::WORDS,
        form: "",
        set: |c, v| Kind::parse(v.to_bytes()).map(|k| c.kind = k),
        meaning: "the scheduler: work stealing, one shared stack, one shared queue, continuation stealing, or one thread",
    },
    Var {
        name: "SCHED_THREADS",
        words: &[],
        form: "N (1 to 4096) auto",
        set: |c, v| {
            c.threads = Some(match v.to_bytes() {
                b"auto" => Threads::Auto,
                _ => Threads::Count(
                    usize::try_from(number(v)?).ok().filter(|n| (1..=MOST_WORKERS).contains(n))?,
                ),
            });
            Some(())
        },
        meaning: "N workers whatever the program asked; auto: the default count",
    },
    Var {
        name: "SCHED_DEQUE",
        words: Deque::WORDS,
        form: "",
        set: |c, v| Deque::parse(v.to_bytes()).map(|d| c.deque = Some(d)),
        meaning: "the deque of steal and cont; the lock of lifo and fifo (mutex, spin or sem)",
    },
    Var {
        name: "SCHED_STEAL",
        words: Steal::WORDS,
        form: "",
        set: |c, v| Steal::parse(v.to_bytes()).map(|s| c.steal = Some(s)),
        meaning: "how much a thief takes: a task, or half of them (ring, queue, mutex, spin, sem)",
    },
    Var {
        name: "SCHED_IDLE",
        words: Idle::WORDS,
        form: "",
        set: |c, v| Idle::parse(v.to_bytes()).map(|i| c.idle = i),
        meaning: "a worker without work: sleeps until woken, 1 ms, adaptively, or never",
    },
    Var {
        name: "SCHED_OVERFLOW",
        words: Overflow::WORDS,
        form: "",
        set: |c, v| Overflow::parse(v.to_bytes()).map(|o| c.overflow = Some(o)),
        meaning: "a full queue: grows, moves one task or half to the queue for all, or gives EAGAIN",
    },
    Var {
        name: "SCHED_GLOBAL",
        words: Global::WORDS,
        form: "",
        set: |c, v| Global::parse(v.to_bytes()).map(|g| c.global = g),
        meaning: "how much a worker without tasks takes from the queue for all",
    },
    Var {
        name: "SCHED_JOIN",
        words: Join::WORDS,
        form: "",
        set: |c, v| Join::parse(v.to_bytes()).map(|j| c.join = j),
        meaning: "a task that waits for another: is set aside, or others run on top of it",
    },
    later("SCHED_PIN"),
    Var {
        name: "SCHED_STACK",
        words: &[],
        form: "a size, at least 32K (64K, 8M, 1G)",
        set: |c, v| {
            let accepted = |size: &usize| (LEAST_STACK..=MOST_STACK).contains(size);
            size(v).filter(accepted).map(|n| c.stack = Some(n))
        },
        meaning: "size of a task's stack; unset: that of a new thread",
    },
    Var {
        name: "SCHED_WARM",
        words: &["100ms", "0"],
        form: "a time (500us, 2s, 1min)",
        set: |c, v| time(v).map(|warm| c.warm = Some(warm)),
        meaning: "how long idle threads are kept for the next run",
    },
    Var {
        name: "SCHED_BLOCKING",
        words: &["512"],
        form: "N (1 to 65536)",
        set: |c, v| {
            let n = usize::try_from(number(v)?).ok()?;
            c.blocking = (1..=MOST_BLOCKING).contains(&n).then_some(n);
            c.blocking.map(drop)
        },
        meaning: "how many tasks of a run may be in blocking sections at once",
    },
    Var {
        name: "SCHED_STATS",
        words: Stats::WORDS,
        form: "",
        set: |c, v| Stats::parse(v.to_bytes()).map(|s| c.stats = s),
        meaning: "statistics of each run: none, a table, or a line of JSON",
    },
    Var {
        name: "SCHED_STATS_FILE",
        words: &[],
        form: "PATH",
        set: |c, v| {
            c.stats_file = Some(v);
            Some(())
        },
        meaning: "with SCHED_STATS: where they are appended; unset: stderr",
    },
    later("SCHED_TRACE"),
    later("SCHED_PROFILE"),
    Var {
        name: "SCHED_SEED",
        words: &[],
        form: "N (0 to 2^64-1)",
        set: |c, v| {
            c.seed = Some(number(v)?);
            Some(())
        },
        meaning: "seed of every random choice; with serial, of the order of the ready tasks",
    },
    later("SCHED_WATCHDOG"),
    later("SCHED_FUZZ"),
    Var {
        name: "SCHED_HELP",
        words: Switch::WORDS,
        form: "",
        set: |c, v| Switch::parse(v.to_bytes()).map(|s| c.help = s),
        meaning: "print this table at each sched_init, and go on",
    },
];

/// A value was refused; the line on stderr has been printed.
#[derive(Debug)]
pub struct Refused;

unsafe extern "C" {
    static environ: *const *const c_char;
}

/// Calls `visit` with each `SCHED_*` variable of the environment that is not empty, in one
/// walk: a call of getenv for each would be as many walks.
///
/// As with secure_getenv, there are none in a process that got rights by its execve: those of a set-user-ID
/// program or of file capabilities. Its caller chooses its environment, and must not choose by it what is
/// done with these rights.
fn environment(mut visit: impl FnMut(&'static str, &'static CStr)) {
    // SAFETY: takes any number, and has no effect.
    if unsafe { libc::getauxval(libc::AT_SECURE) } != 0 {
        return;
    }
    // SAFETY: environ is the process's, a list that ends with null. As with getenv, the
    // program must not change it meanwhile, and what it held stays while it is unchanged.
    unsafe {
        let mut entry = environ;
        while !entry.is_null() && !(*entry).is_null() {
            let text = CStr::from_ptr(*entry);
            let bytes = text.to_bytes();
            if bytes.starts_with(b"SCHED_")
                && let Some(at) = bytes.iter().position(|&b| b == b'=')
                && at + 1 < bytes.len()
                && let Ok(name) = std::str::from_utf8(&bytes[..at])
            {
                visit(name, CStr::from_ptr((*entry).add(at + 1)));
            }
            entry = entry.add(1);
        }
    }
}

impl Config {
    /// What the environment asks for; where it does not, what the program has `asked` for.
    pub fn from_environment(asked: &Config) -> Result<Config, Refused> {
        let mut config = Config { deque: None, overflow: None, ..*asked };
        let mut refused = None;
        environment(|name, value| {
            let Some(var) = VARS.iter().find(|v| v.name == name) else {
                let implemented = VARS.iter().filter(|v| v.is_implemented());
                return typos::look_at(name, implemented.map(|v| v.name));
            };
            if (var.set)(&mut config, value).is_none() && refused.is_none() {
                refused = Some((var, value));
            }
        });
        // A deque that was asked for with one kind need not suit another, nor an overflow that was
        // asked for with one deque.
        let as_asked = config.kind == asked.kind && config.deque.is_none_or(|d| d == asked.deque());
        if config.kind == asked.kind {
            config.deque = config.deque.or(asked.deque);
        }
        let keeps = |o: &Overflow| as_asked || config.overflows().contains(o);
        config.overflow = config.overflow.or(asked.overflow.filter(keeps));
        let Some((var, value)) = refused else { return Ok(config) };
        if config.help == Switch::On {
            config.help();
        }
        Err(var.refuse(value))
    }

    /// The deque or lock in force: the default of the kind when none was asked for.
    pub fn deque(&self) -> Deque {
        self.deque.unwrap_or(match self.kind {
            Kind::Lifo | Kind::Fifo => Deque::Mutex,
            Kind::Steal | Kind::Cont | Kind::Serial => Deque::Split,
        })
    }

    /// Prints the table on stderr, with the values in force.
    pub fn help(&self) {
        let mut out = Out::stderr();
        let _ = writeln!(out, "libsched {}: environment variables", env!("CARGO_PKG_VERSION"));
        for var in VARS.iter().filter(|v| v.is_implemented()) {
            let mut value = None;
            environment(|name, text| {
                if name == var.name {
                    value = Some(text);
                }
            });
            let _ = var.describe(&mut out, self, value);
        }
    }
}

/// Text of the user's, its bytes shown as they can be.
pub struct Shown<'a>(pub &'a CStr);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        for chunk in self.0.to_bytes().utf8_chunks() {
            f.write_str(chunk.valid())?;
            if !chunk.invalid().is_empty() {
                f.write_char('?')?;
            }
        }
        Ok(())
    }
}

impl Var {
    /// False for a name that is kept for a later version: any value is refused, and nothing else mentions it.
    const fn is_implemented(&self) -> bool {
        !self.words.is_empty() || !self.form.is_empty()
    }

    fn accepted(&self, out: &mut Out) -> fmt::Result {
        for word in self.words {
            write!(out, " {word}")?;
        }
        if self.form.is_empty() { Ok(()) } else { write!(out, " {}", self.form) }
    }

    fn refuse(&self, value: &'static CStr) -> Refused {
        let mut out = Out::stderr();
        let _ = write!(out, "libsched: {}={}: ", self.name, Shown(value));
        let _ = if self.is_implemented() {
            out.write_str("no such value; accepted:").and_then(|()| self.accepted(&mut out))
        } else {
            out.write_str("not implemented in this version")
        };
        let _ = writeln!(out);
        Refused
    }

    fn describe(
        &self,
        out: &mut Out,
        config: &Config,
        value: Option<&'static CStr>,
    ) -> fmt::Result {
        write!(out, "{:<17}", self.name)?;
        match (value, self.words.first()) {
            (Some(value), _) => write!(out, "{}", Shown(value))?,
            (None, Some(default)) => out.write_str(match self.name {
                "SCHED_DEQUE" => config.deque().word(),
                "SCHED_STEAL" => config.steal().word(),
                "SCHED_OVERFLOW" => config.overflow().word(),
                _ => default,
            })?,
            (None, None) => out.write_str("(unset)")?,
        }
        write!(out, "  [")?;
        self.accepted(out)?;
        writeln!(out, " ]  {}", self.meaning)
    }
}

/// The constant of sched_tasks.h for a word of a member of `struct sched_options`.
pub struct Constant(pub &'static str, pub &'static str);

impl fmt::Display for Constant {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let mut letters = self.0.chars().chain(['_']).chain(self.1.chars());
        f.write_str("SCHED_")?;
        letters.try_for_each(|letter| f.write_char(letter.to_ascii_uppercase()))
    }
}

/// A choice as its author wrote it: a program in `struct sched_options`, or a user in the environment.
struct Choice {
    in_options: bool,
    member: &'static str,
    word: &'static str,
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let constant = Constant(self.member, self.word);
        if self.in_options {
            return write!(f, "sched_pool_create: options.{} is {constant}", self.member);
        }
        f.write_str("SCHED_")?;
        self.member.chars().try_for_each(|letter| f.write_char(letter.to_ascii_uppercase()))?;
        write!(f, "={}", self.word)
    }
}

impl Choice {
    /// One line on stderr: the choice does not suit these others; what does.
    fn refuse(
        &self,
        others: &[(&'static str, &'static str)],
        accepted: impl Iterator<Item = &'static str>,
    ) -> Refused {
        let mut out = Out::stderr();
        let _ = write!(out, "libsched: {self}: not with");
        for &(member, word) in others {
            let _ = if self.in_options {
                write!(out, " {}", Constant(member, word))
            } else {
                write!(out, " {}", Choice { in_options: false, member, word })
            };
        }
        let _ = out.write_str("; accepted:");
        for word in accepted {
            let _ = if self.in_options {
                write!(out, " {}", Constant(self.member, word))
            } else {
                write!(out, " {word}")
            };
        }
        if self.in_options {
            output::add_caller(&mut out);
        }
        let _ = writeln!(out);
        Refused
    }
}

/// The combination is not in the table of kinds: one line on stderr. `asked`: what the program has asked for.
pub fn refuse_combination(
    config: &Config,
    asked: &Config,
    accepted: impl Iterator<Item = Deque>,
) -> Refused {
    let in_options = asked.deque.is_some() && asked.deque == config.deque;
    let deque = Choice { in_options, member: "deque", word: config.deque().word() };
    deque.refuse(&[("kind", config.kind.word())], accepted.map(Deque::word))
}
