//! The settings that a program and its user ask for, before they are compared with the table of
//! kinds.

use crate::settings::words::{
    Deadlock, DequeOrLock, Global, Idle, Join, Kind, Overflow, Profile, Stats, Steal, Switch,
};
use std::ffi::CStr;
use std::time::Duration;

/// The bytes of a worker's events, if `SCHED_TRACE_SIZE` is not set.
pub const TRACE_SIZE: usize = 16 << 20;

/// `SCHED_THREADS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    Auto,
    Count(usize),
}

/// The settings that the program and its user ask for.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    pub kind: Kind,
    pub deque: Option<DequeOrLock>,
    pub idle: Idle,
    /// In this field and the next two, None means that nobody asked; see `Transfers`.
    pub steal: Option<Steal>,
    pub overflow: Option<Overflow>,
    pub global: Option<Global>,
    pub threads: Option<Threads>,
    pub seed: Option<u64>,
    pub join: Join,
    pub stack: Option<usize>,
    pub warm: Option<Duration>,
    /// The number of threads, in addition to the workers, for blocking sections.
    pub blocking: Option<usize>,
    pub stats: Stats,
    pub stats_file: Option<&'static CStr>,
    /// The file of the timeline.
    pub trace: Option<&'static CStr>,
    /// The bytes of events that are kept of each worker.
    pub trace_size: usize,
    /// Tasks shorter than this are merged in the timeline.
    pub trace_merge: Duration,
    /// On if the timeline has the life of each task that was suspended.
    pub trace_lives: Switch,
    /// The state is shown after this time without the end of a task; None: never.
    pub watchdog: Option<Duration>,
    pub deadlock: Deadlock,
    pub profile: Profile,
    /// The cost of moving a task to another worker; None: it is measured.
    pub profile_burden: Option<Duration>,
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
            global: None,
            threads: None,
            seed: None,
            join: Join::Suspend,
            stack: None,
            warm: None,
            blocking: None,
            stats: Stats::Off,
            stats_file: None,
            trace: None,
            trace_size: TRACE_SIZE,
            trace_merge: Duration::ZERO,
            trace_lives: Switch::Off,
            watchdog: None,
            deadlock: Deadlock::Auto,
            profile: Profile::Off,
            profile_burden: None,
            help: Switch::Off,
        }
    }

    /// True if the run is recorded.
    pub fn is_recorded(&self) -> bool {
        self.trace.is_some() || self.profile != Profile::Off
    }
}
