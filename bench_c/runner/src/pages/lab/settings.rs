//! Named choices of variables: the nine algorithms of the fiber scheduler, and the library's
//! default.

use crate::run::plan::serial;
use crate::run::programs::program_named;
use crate::run::setup::{Group, Kind, Knobs, Setup};

/// A choice of variables. Those with a name are lines of the author's tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The author's name, or ours.
    pub name: &'static str,
    /// The name on the axis of a figure.
    pub code: &'static str,
    pub kind: Kind,
    pub deque: Option<&'static str>,
    pub idle: Option<&'static str>,
    pub knobs: Knobs,
}

impl Setting {
    pub const fn of(kind: Kind) -> Setting {
        Setting { name: "", code: "", kind, deque: None, idle: None, knobs: &[] }
    }

    /// The variables as one would type them before a program's name.
    pub fn variables(&self) -> String {
        let mut words = vec![format!("SCHED_KIND={}", self.kind.name())];
        words.extend(self.deque.map(|d| format!("SCHED_DEQUE={d}")));
        words.extend(self.idle.map(|i| format!("SCHED_IDLE={i}")));
        words.extend(self.knobs.iter().map(|(name, value)| format!("{name}={value}")));
        words.join(" ")
    }

    pub fn setup(&self, program: &'static str, n: u64, threads: usize) -> Setup {
        let base = program_named(program).expect("a program of a table");
        Setup {
            n,
            kind: self.kind,
            deque: self.deque,
            idle: self.idle,
            threads,
            knobs: self.knobs,
            ..serial(base, Group::Lab, false)
        }
    }

    pub fn is_of(&self, setup: &Setup) -> bool {
        (self.kind, self.deque, self.idle, self.knobs)
            == (setup.kind, setup.deque, setup.idle, setup.knobs)
    }
}

const fn queue(
    name: &'static str,
    code: &'static str,
    deque: &'static str,
    knobs: Knobs,
) -> Setting {
    Setting { name, code, deque: Some(deque), knobs, ..Setting::of(Kind::Steal) }
}

pub const HALF: (&str, &str) = ("SCHED_STEAL", "half");
const ONE: (&str, &str) = ("SCHED_STEAL", "one");
const GET_ALL: (&str, &str) = ("SCHED_GLOBAL", "all");
const GET_ONE: (&str, &str) = ("SCHED_GLOBAL", "one");
pub const PUT_HALF: (&str, &str) = ("SCHED_OVERFLOW", "half");
const PUT_ONE: (&str, &str) = ("SCHED_OVERFLOW", "one");

/// The nine algorithms, in the author's order.
pub const GLOBAL_FIFO: Setting =
    Setting { name: "GlobalFIFO", code: "fifo", ..Setting::of(Kind::Fifo) };
pub const MUTEX_HALF_ALL: Setting =
    queue("MutexQueue, StealHalf, GetAllFromGlob", "m½ all", "queue", &[HALF, GET_ALL]);
pub const MUTEX_ONE_ALL: Setting =
    queue("MutexQueue, StealOne, GetAllFromGlob", "m1 all", "queue", &[ONE, GET_ALL]);
pub const MUTEX_HALF_ONE: Setting =
    queue("MutexQueue, StealHalf, GetOneFromGlob", "m½ one", "queue", &[HALF, GET_ONE]);
pub const MUTEX_ONE_ONE: Setting =
    queue("MutexQueue, StealOne, GetOneFromGlob", "m1 one", "queue", &[ONE, GET_ONE]);
pub const RING_HALF_HALF: Setting =
    queue("LFABQueue, PutHalfToGlob, StealHalf", "r½ put½", "ring", &[PUT_HALF, HALF]);
pub const RING_ONE_HALF: Setting =
    queue("LFABQueue, PutOneToGlob, StealHalf", "r½ put1", "ring", &[PUT_ONE, HALF]);
pub const RING_HALF_ONE: Setting =
    queue("LFABQueue, PutHalfToGlob, StealOne", "r1 put½", "ring", &[PUT_HALF, ONE]);
pub const RING_ONE_ONE: Setting =
    queue("LFABQueue, PutOneToGlob, StealOne", "r1 put1", "ring", &[PUT_ONE, ONE]);
/// The default of this library.
pub const SPLIT: Setting = queue("(the default here)", "split", "split", &[]);

pub const ALGORITHMS: &[Setting] = &[
    GLOBAL_FIFO,
    MUTEX_HALF_ALL,
    MUTEX_ONE_ALL,
    MUTEX_HALF_ONE,
    MUTEX_ONE_ONE,
    RING_HALF_HALF,
    RING_ONE_HALF,
    RING_HALF_ONE,
    RING_ONE_ONE,
    SPLIT,
];
