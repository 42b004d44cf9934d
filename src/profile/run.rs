//! The profile of a run: the sums of its workers, and the paths to the ends of its groups.

use crate::lock::mutex::Mutex;
use crate::profile::burden;
use crate::profile::context::Contexts;
use crate::profile::figures::Figures;
use crate::profile::length::Length;
use crate::profile::path::Path;
use crate::profile::report;
use crate::profile::sums::Sums;
use crate::settings::{Config, Kind, Profile as Format};
use crate::stats::{Phase, Times};
use crate::sys::clock::{self, Calibration, Moment};
use crate::sys::memory::{self, NoMemory};
use std::array;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The number of locks that the groups of a run share.
const SHARDS: usize = 64;

pub struct Profile {
    sums: Box<[Sums]>,
    workers: usize,
    contexts: Contexts,
    groups: [Mutex<Groups>; SHARDS],
    begin: Moment,
    /// The burden (see `burden`) in ticks.
    burden: u64,
    /// True in kind cont, where a new task is called at once, and the rest of its spawner may move.
    children_stay: bool,
    format: Format,
    kind: &'static str,
    /// The number of tasks that could not be measured, because there was no memory.
    unseen: AtomicUsize,
}

/// The groups that have tasks, by address, each with the longest path to the end of a task.
struct Groups(Vec<(usize, Length)>);

impl Profile {
    /// The profile that `config` asks for, if it asks for one. The run has `workers` workers, and
    /// `places` places for these and for guests (`policy::guests`).
    pub fn new(
        config: &Config,
        workers: usize,
        places: usize,
    ) -> Result<Option<Box<Profile>>, NoMemory> {
        if config.profile == Format::Off {
            return Ok(None);
        }
        let profile = Profile {
            sums: memory::slice(places, |_| Ok(Sums::default()))?,
            workers,
            contexts: Contexts::new()?,
            groups: array::from_fn(|_| Mutex::new(Groups(Vec::new()))),
            begin: Moment::now(),
            burden: burden::in_ticks(config),
            children_stay: config.kind == Kind::Cont,
            format: config.profile,
            kind: config.kind.word(),
            unseen: AtomicUsize::new(0),
        };
        memory::boxed(profile).map(Some)
    }

    pub fn sums(&self, worker: usize) -> &Sums {
        &self.sums[worker]
    }

    pub fn burden(&self) -> u64 {
        self.burden
    }

    /// Counts a task that cannot be measured.
    pub fn miss(&self) {
        self.unseen.fetch_add(1, Ordering::Relaxed);
    }

    fn shard(&self, group: usize) -> &Mutex<Groups> {
        &self.groups[(group >> 4) % SHARDS]
    }

    /// Makes the unused `path` lead to a task of this function. `from` is the path of the task that
    /// spawns it now; None: no task of this run spawns it.
    #[inline]
    pub fn begin_path(&self, path: &Path, function: usize, from: Option<&Path>) {
        let parent = from.and_then(Path::context).unwrap_or(self.contexts.root());
        let context = self.contexts.child(parent, function);
        let burden = if self.children_stay { 0 } else { self.burden };
        path.begin(context, from.map(|from| (from, clock::ticks())), burden);
    }

    /// Called when a task of the group ends. A path of this length leads to its end.
    pub fn leave(&self, group: usize, length: &Length) {
        self.shard(group).with(|Groups(groups)| {
            let known = groups.iter().position(|(address, _)| *address == group);
            if known.is_none() && groups.try_reserve(1).is_err() {
                return;
            }
            let at = known.unwrap_or_else(|| {
                groups.push((group, Length::default()));
                groups.len() - 1
            });
            groups[at].1.become_longer(length, 0);
        });
    }

    /// Called when the wait for the group is over. Returns the longest path to the end of one of
    /// its tasks.
    pub fn forget(&self, group: usize) -> Option<Length> {
        self.shard(group).with(|Groups(groups)| {
            let at = groups.iter().position(|(address, _)| *address == group)?;
            Some(groups.swap_remove(at).1)
        })
    }

    /// Prints the profile on stderr. Called when no task is left. `times` sums up all workers.
    pub fn print(&self, times: Times) {
        let all = Sums::default();
        self.sums.iter().for_each(|sums| all.merge(sums));
        let calibration = Calibration::since(self.begin);
        let idle = times.of(Phase::Searching) + times.of(Phase::Parked);
        let idle = (times.all() > 0).then(|| idle as f64 / times.all() as f64);
        let figures =
            Figures::new(&all, &self.contexts, self.workers, idle, self.burden, calibration);
        let unseen = self.unseen.load(Ordering::Relaxed);
        report::print(&figures, self.format, self.kind, unseen);
    }
}
