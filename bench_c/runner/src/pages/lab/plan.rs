//! What the lab runs: the programs, settings and numbers of threads for each question. The
//! functions that make a [`Setup`] are also used to find its results.

use std::collections::HashSet;

use super::cases::{CASES, Case, QUICK_CASES};
use super::settings::{ALGORITHMS, Setting};
use crate::run::programs::{KINDS, OWNED, program_named};
use crate::run::setup::{Kind, Setup};

/// Programs whose tasks compute, and neither sleep nor yield.
const COMPUTING: &[&str] = &["tree", "flood", "nqueens", "quicksort"];

/// Programs that run under every kind, over numbers of threads.
pub const SWEPT: &[&str] = &["quicksort", "mandelbrot", "nqueens", "fib", "tree", "flood"];

/// Locks that protect a queue, and lock-free deques.
pub const PRIMITIVES: &[&str] = &["mutex", "spin", "sem", "chaselev", "ring", "split"];
pub const LOCKED: &[&str] = &["tree", "flood"];
pub const LOCKED_KINDS: &[Kind] = &[Kind::Lifo, Kind::Steal];

/// A way to hand on a lock and to wait for it.
pub struct LockPolicy {
    /// The value of `SCHED_DEQUE`.
    pub name: &'static str,
    pub next_holder: &'static str,
    pub waiter: &'static str,
    pub found_in: &'static str,
}
const FIRST: &str = "the thread that comes first";
/// The first is that of the mutex here, with which the others are compared.
pub const LOCK_POLICIES: &[LockPolicy] = &[
    LockPolicy {
        name: "mutex",
        next_holder: FIRST,
        waiter: "sleeps",
        found_in: "Linux: pthread mutex; macOS: pthread mutex with first fit, the default since 10.14",
    },
    LockPolicy {
        name: "fair",
        next_holder: "the oldest waiter",
        waiter: "sleeps",
        found_in: "macOS: pthread mutex with fair share, the default before 10.14",
    },
    LockPolicy {
        name: "adaptive",
        next_holder: FIRST,
        waiter: "looks again 4000 times, then sleeps",
        found_in: "Windows: critical section with a spin count, here that of its heap",
    },
    LockPolicy {
        name: "spin",
        next_holder: FIRST,
        waiter: "spins, then yields",
        found_in: "programs' own spinlocks",
    },
    LockPolicy {
        name: "sem",
        next_holder: FIRST,
        waiter: "sleeps",
        found_in: "POSIX: a semaphore at 1, which knows no holder",
    },
];
pub const POLICY_NAMES: &[&str] = &["mutex", "fair", "adaptive", "spin", "sem"];

/// A use of locks: how often, and by how many workers each.
pub struct LockUse {
    pub name: &'static str,
    pub kind: Kind,
    /// The number of iterations of a task of `grain`; None: the empty tasks of `tree`.
    pub iterations: Option<&'static str>,
}
pub const LOCK_USES: &[LockUse] = &[
    LockUse { name: "one stack, empty tasks", kind: Kind::Lifo, iterations: None },
    LockUse { name: "one stack, 300 turns a task", kind: Kind::Lifo, iterations: Some("300") },
    LockUse { name: "one stack, 3000 turns a task", kind: Kind::Lifo, iterations: Some("3000") },
    LockUse { name: "a deque a worker, empty tasks", kind: Kind::Steal, iterations: None },
];

pub const IDLES: &[&str] = &["nap", "backoff", "park", "spin"];
pub const SLEPT: &[&str] = &["wakeup", "shortruns", "flood", "tree"];

/// Numbers of iterations of a task of `grain`.
pub const GRAINS: &[&str] = &["30", "100", "300", "1000", "3000", "10000"];

/// The author's number of threads. One of them has a task that sleeps, and the others are idle.
pub const IDLE_THREADS: usize = 4;
const fn idler(name: &'static str, kind: Kind, idle: &'static str) -> Setting {
    Setting { name, idle: Some(idle), ..Setting::of(kind) }
}
pub const IDLERS: &[Setting] = &[
    idler("fifo, park", Kind::Fifo, "park"),
    idler("lifo, park", Kind::Lifo, "park"),
    idler("steal, park", Kind::Steal, "park"),
    idler("steal, nap", Kind::Steal, "nap"),
    idler("steal, backoff", Kind::Steal, "backoff"),
    idler("cont, park", Kind::Cont, "park"),
];

/// The plan of one session.
pub struct Lab {
    pub cores: usize,
    pub quick: bool,
}

impl Lab {
    pub fn cases(&self) -> &'static [Case] {
        if self.quick { QUICK_CASES } else { CASES }
    }

    /// On the author's number of threads.
    pub fn computing(&self) -> Vec<Case> {
        let case = |program: &'static str| Case {
            family: program,
            code: program,
            program,
            threads: 4,
            n: self.size(program),
            data: None,
        };
        COMPUTING.iter().map(|p| case(p)).collect()
    }

    /// From 1 to four times the number of cores: the powers of two, and the multiples of the cores.
    pub fn threads(&self) -> Vec<usize> {
        let most = 4 * self.cores;
        if self.quick {
            return sorted(vec![1, self.cores, self.many(), most]);
        }
        let powers = (0..).map(|k| 1 << k).take_while(|&t| t < most);
        sorted(powers.chain((1..=4).map(|k| k * self.cores)).collect())
    }

    pub fn lock_threads(&self) -> Vec<usize> {
        let between = if self.quick { 1 } else { 2 };
        sorted(vec![1, self.many(), between * self.many(), 4 * self.many()])
    }

    pub fn sleeper_threads(&self) -> Vec<usize> {
        sorted(vec![self.many(), 4 * self.many()])
    }

    /// The number of cores, but at least two.
    pub fn many(&self) -> usize {
        self.cores.max(2)
    }

    fn size(&self, program: &str) -> u64 {
        let p = program_named(program).expect("a program of a table");
        if self.quick { p.quick_n } else { p.n }
    }

    pub fn serial(&self, program: &'static str) -> Setup {
        Setting::of(Kind::None).setup(program, self.size(program), 1)
    }

    pub fn swept(&self, program: &'static str, kind: Kind, threads: usize) -> Setup {
        Setting::of(kind).setup(program, self.size(program), threads)
    }

    /// None if the kind has no such queue.
    pub fn lock(
        &self,
        program: &'static str,
        kind: Kind,
        primitive: &'static str,
        threads: usize,
    ) -> Option<Setup> {
        let deque = Some(primitive);
        let there = kind == Kind::Steal || !OWNED.contains(&primitive);
        let setting = Setting { deque, ..Setting::of(kind) };
        there.then(|| setting.setup(program, self.size(program), threads))
    }

    /// With a hand-over at each task a tree takes a hundred times as long as without, so this one
    /// has a sixteenth of the tasks.
    pub fn lock_use(&self, lock_use: &LockUse, policy: &'static str, threads: usize) -> Setup {
        let setting = Setting { deque: Some(policy), ..Setting::of(lock_use.kind) };
        match lock_use.iterations {
            None => setting.setup("tree", self.size("tree") / 16, threads),
            Some(iterations) => Setup {
                data: Some(iterations),
                ..setting.setup("grain", self.grains(iterations), threads)
            },
        }
    }

    pub fn sleeper(&self, program: &'static str, idle: &'static str, threads: usize) -> Setup {
        let setting = Setting { idle: Some(idle), ..Setting::of(Kind::Steal) };
        setting.setup(program, self.size(program), threads)
    }

    pub fn grain(&self, kind: Kind, iterations: &'static str) -> Setup {
        let n = self.grains(iterations);
        Setup { data: Some(iterations), ..Setting::of(kind).setup("grain", n, self.many()) }
    }

    /// The longer the tasks, the fewer there are: a run takes some tens of milliseconds.
    fn grains(&self, iterations: &str) -> u64 {
        let each: u64 = iterations.parse().expect("a number of a table");
        let most = self.size("grain");
        (200 * most / (each + 100)).clamp(2000, most)
    }

    pub fn idler(&self, setting: &Setting) -> Setup {
        setting.setup("idleburn", if self.quick { 150 } else { 500 }, IDLE_THREADS)
    }

    /// All setups, each once.
    pub fn setups(&self) -> Vec<Setup> {
        let mut all = Vec::new();
        for case in self.cases().iter().copied().chain(self.computing()) {
            all.extend(ALGORITHMS.iter().map(|a| case.setup(a)));
        }
        for program in SWEPT {
            all.push(self.serial(program));
            for &kind in KINDS {
                all.extend(self.threads().into_iter().map(|t| self.swept(program, kind, t)));
            }
        }
        all.extend(self.primitives());
        all.extend(self.lock_uses());
        all.extend(self.sleepers());
        all.extend(self.grained());
        all.extend(IDLERS.iter().map(|idler| self.idler(idler)));
        let mut seen = HashSet::new();
        all.retain(|setup| seen.insert(setup.clone()));
        all
    }

    pub fn primitives(&self) -> Vec<Setup> {
        let mut all = Vec::new();
        for program in LOCKED {
            for (&kind, lock) in
                LOCKED_KINDS.iter().flat_map(|k| PRIMITIVES.iter().map(move |p| (k, p)))
            {
                let threads = self.lock_threads().into_iter();
                all.extend(threads.filter_map(|t| self.lock(program, kind, lock, t)));
            }
        }
        all
    }

    pub fn lock_uses(&self) -> Vec<Setup> {
        let mut all = Vec::new();
        for lock_use in LOCK_USES {
            for policy in POLICY_NAMES {
                let threads = self.lock_threads().into_iter();
                all.extend(threads.map(|t| self.lock_use(lock_use, policy, t)));
            }
        }
        all
    }

    pub fn sleepers(&self) -> Vec<Setup> {
        let mut all = Vec::new();
        for program in SLEPT {
            for idle in IDLES {
                let threads = self.sleeper_threads().into_iter();
                all.extend(threads.map(|t| self.sleeper(program, idle, t)));
            }
        }
        all
    }

    pub fn grained(&self) -> Vec<Setup> {
        let of = |&kind: &Kind| GRAINS.iter().map(move |grain| self.grain(kind, grain));
        KINDS.iter().flat_map(of).collect()
    }
}

/// The choices of variables of these setups, each once.
pub fn settings(setups: &[Setup]) -> Vec<Setting> {
    let mut found: Vec<Setting> = Vec::new();
    for s in setups.iter().filter(|s| s.kind != Kind::None) {
        if !found.iter().any(|f| f.is_of(s)) {
            let Setup { kind, deque, idle, knobs, .. } = *s;
            found.push(Setting { deque, idle, knobs, ..Setting::of(kind) });
        }
    }
    found
}

fn sorted(mut counts: Vec<usize>) -> Vec<usize> {
    counts.sort_unstable();
    counts.dedup();
    counts
}

/// A run so small that it only shows whether the library accepts the setting.
pub fn probe(setting: &Setting) -> Setup {
    setting.setup("tree", 1, 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::lab::settings::RING_HALF_HALF;

    #[test]
    fn cases_have_the_authors_names() {
        let names: Vec<String> = CASES.iter().map(Case::name).collect();
        for name in [
            "SingleSpawner/4/1000/10/0",
            "SingleSpawner/4/1000/10/1",
            "SlowThread/4/1000/10/100",
            "MergeSort/4/1024",
            "DifferentSpawners/8/100/10/100",
            "DifferentSpawners/8/1000/100/100",
            "DifferentSpawners/8/10000/100/10",
        ] {
            assert!(names.iter().any(|n| n == name), "{name}");
        }
    }

    #[test]
    fn the_nine_algorithms_differ() {
        let mut variables: Vec<String> = ALGORITHMS.iter().map(Setting::variables).collect();
        variables.sort();
        variables.dedup();
        assert_eq!(variables.len(), 10);
    }

    #[test]
    fn threads_go_to_four_times_the_cores() {
        let threads = |cores| Lab { cores, quick: false }.threads();
        assert_eq!(threads(1), [1, 2, 3, 4]);
        assert_eq!(threads(2), [1, 2, 4, 6, 8]);
        assert_eq!(threads(6), [1, 2, 4, 6, 8, 12, 16, 18, 24]);
    }

    #[test]
    fn the_lock_policies_are_in_one_order() {
        let names: Vec<&str> = LOCK_POLICIES.iter().map(|policy| policy.name).collect();
        assert_eq!(names, POLICY_NAMES);
    }

    #[test]
    fn a_setup_is_found_again() {
        let lab = Lab { cores: 2, quick: true };
        let setups = lab.setups();
        assert!(setups.contains(&lab.swept("tree", Kind::Steal, 2)));
        assert!(setups.contains(&lab.cases()[0].setup(&RING_HALF_HALF)));
        assert!(lab.lock("tree", Kind::Lifo, "split", 2).is_none());
        assert!(setups.contains(&lab.lock_use(&LOCK_USES[2], "fair", 8)));
        assert!(settings(&setups).len() > ALGORITHMS.len());
    }
}
