//! What a program and its user ask for, before it is compared with the table of kinds.

use crate::settings::words::{Deque, Global, Idle, Join, Kind, Overflow, Stats, Steal, Switch};
use std::ffi::CStr;
use std::time::Duration;

/// `SCHED_THREADS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    Auto,
    Count(usize),
}

/// What the program and its user ask for.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    pub kind: Kind,
    pub deque: Option<Deque>,
    pub idle: Idle,
    /// Here and in the next two fields, None: nobody asked; see `Transfers`.
    pub steal: Option<Steal>,
    pub overflow: Option<Overflow>,
    pub global: Option<Global>,
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
            global: None,
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
