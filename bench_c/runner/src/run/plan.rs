//! What `make bench` runs: each program under each of the settings that are compared on it.

use super::programs::{
    BESIDE, BLOCKING_WAYS, BURNERS, CLOSURE_WAYS, CLOSURES, ECHO_WAYS, FLOODS, HAND_OVER_DEQUES,
    HAND_OVERS, IDLE_PROGRAMS, IDLES, JOINS, KINDS, LOCK_PROGRAMS, LOCKS, LOOPS, MUTEXES, OBSERVED,
    OBSERVERS, OUTSIDE, OVERHEADS, OWNED, PHASE_KINDS, PHASES, PROGRAMS, Program, REDUCTIONS,
    SHORTS, SPARSE, elements,
};
use super::setup::{Group, Kind, Setup};

/// All setups of a session, and their thread counts.
pub struct Plan {
    pub setups: Vec<Setup>,
    /// See [`thread_counts`].
    pub threads: Vec<usize>,
    /// The thread counts at which the lock primitives and the idle policies are compared.
    pub lock_threads: Vec<usize>,
    pub idle_threads: Vec<usize>,
    /// The number of threads of the overheads, except for idleburn, and of what is outside.
    pub overhead_threads: usize,
    pub closure_threads: Vec<usize>,
    pub observed_threads: Vec<usize>,
}

impl Plan {
    pub fn new(cores: usize, quick: bool, only: &[String]) -> Plan {
        let threads = thread_counts(cores);
        let lock_threads = distinct([1, cores.max(2), 2 * cores]);
        let idle_threads = distinct([cores.max(2), 2 * cores]);
        let observed_threads = distinct([1, cores.max(2)]);
        let wanted = |name: &str| only.is_empty() || only.iter().any(|o| o == name);
        let mut setups = Vec::new();
        for p in PROGRAMS.iter().filter(|p| wanted(p.name)) {
            let base = serial(p, Group::Kinds, quick);
            setups.push(base.clone());
            for &kind in KINDS {
                for &threads in &threads {
                    setups.push(Setup { kind, threads, ..base.clone() });
                }
            }
            if LOCK_PROGRAMS.contains(&p.name) {
                let base = Setup { group: Group::Locks, ..base.clone() };
                add_locks(&mut setups, &base, &lock_threads);
            }
            if let Some(&(_, n)) = OBSERVED.iter().find(|(name, _)| *name == p.name) {
                let n = if quick { base.n } else { n };
                let base = Setup { group: Group::Observed, kind: Kind::Steal, n, ..base.clone() };
                for &(_, knobs) in OBSERVERS {
                    setups.extend(observed_threads.iter().map(|&threads| Setup {
                        threads,
                        knobs,
                        ..base.clone()
                    }));
                }
            }
            if IDLE_PROGRAMS.contains(&p.name) {
                let base = Setup { group: Group::Idle, kind: Kind::Steal, ..base.clone() };
                for &idle in IDLES {
                    for &threads in &idle_threads {
                        setups.push(Setup { idle: Some(idle), threads, ..base.clone() });
                    }
                }
            }
        }
        for p in JOINS.iter().filter(|p| wanted(p.name)) {
            let base = serial(p, Group::Joins, quick);
            setups.push(base.clone());
            for &threads in &threads {
                setups.push(Setup { kind: Kind::Steal, threads, ..base.clone() });
            }
        }
        let overhead_threads = cores.max(2);
        for p in OVERHEADS.iter().filter(|p| wanted(p.name)) {
            let base = serial(p, Group::Overheads, quick);
            add_overheads(&mut setups, &base, overhead_threads);
        }
        for p in OUTSIDE.iter().chain([&elements("phases", 0, 0, "")]).filter(|p| wanted(p.name)) {
            add_outside(&mut setups, &serial(p, Group::Outside, quick), overhead_threads, quick);
        }
        let closure_threads = distinct([1, cores.max(2)]);
        if wanted(CLOSURES.name) {
            let base = serial(&CLOSURES, Group::Closures, quick);
            for way in CLOSURE_WAYS {
                setups.extend(closure_threads.iter().map(|&threads| Setup {
                    kind: Kind::Steal,
                    data: Some(way),
                    threads,
                    ..base.clone()
                }));
            }
        }
        Plan {
            setups,
            threads,
            lock_threads,
            idle_threads,
            overhead_threads,
            closure_threads,
            observed_threads,
        }
    }

    pub fn has(&self, group: Group) -> bool {
        self.setups.iter().any(|s| s.group == group)
    }

    /// The size at which `program` is run; 0 if it is not run.
    pub fn size(&self, program: &str) -> u64 {
        self.setups.iter().find(|s| s.program == program).map_or(0, |s| s.n)
    }
}

pub fn serial(p: &Program, group: Group, quick: bool) -> Setup {
    Setup {
        group,
        program: p.name,
        n: if quick { p.quick_n } else { p.n },
        kind: Kind::None,
        deque: None,
        idle: None,
        warm: None,
        data: None,
        threads: 1,
        knobs: &[],
    }
}

/// Adds the setups of an overhead: of the scheduler, and of the same by means of the kernel.
fn add_overheads(setups: &mut Vec<Setup>, base: &Setup, threads: usize) {
    let steal = Setup { kind: Kind::Steal, threads, ..base.clone() };
    let bare = |data| Setup { data: Some(data), ..base.clone() };
    match base.program {
        "emptyrun" => {
            let cold = Setup { warm: Some("0"), ..steal.clone() };
            let pair = |setup: &Setup| Setup { data: Some("pair"), ..setup.clone() };
            setups.extend([bare("pthread"), pair(&cold), pair(&steal), cold, steal]);
        }
        "yield" => {
            setups.extend([bare("pthread"), bare("ucontext"), Setup { threads: 1, ..steal }]);
        }
        "suspend" => {
            let one = Setup { threads: 1, ..steal.clone() };
            setups.extend([bare("pthread"), bare("one"), one, steal]);
        }
        "resume" => {
            setups.push(bare("line"));
            let idle = Some("spin");
            for &(_, kind, way) in HAND_OVERS {
                setups.extend(HAND_OVER_DEQUES.iter().map(|&deque| Setup {
                    kind,
                    data: Some(way),
                    deque: Some(deque),
                    idle,
                    ..steal.clone()
                }));
            }
        }
        "mutex" => {
            for &(_, data, bare_data, workers) in MUTEXES {
                let threads = workers.unwrap_or(threads);
                setups.push(bare(bare_data));
                setups.push(Setup { data: Some(data), threads, ..steal.clone() });
            }
        }
        "phases" => {
            setups.extend(
                PHASES
                    .iter()
                    .flat_map(|&(_, data)| {
                        let data = Some(data);
                        PHASE_KINDS.iter().map(move |&kind| (data, kind)).collect::<Vec<_>>()
                    })
                    .map(|(data, kind)| Setup { kind, data, ..steal.clone() }),
            );
        }
        "loops" | "reductions" | "reductions_relaxed" => {
            let loops = if base.program == "loops" { LOOPS } else { REDUCTIONS };
            let datas = loops.iter().map(|&(_, data)| data);
            setups.extend(datas.map(|data| Setup { data: Some(data), ..steal.clone() }));
        }
        "blocking" => {
            let ways = BLOCKING_WAYS.iter();
            setups.extend(ways.map(|&way| Setup { data: Some(way), ..steal.clone() }));
        }
        "echo" => {
            let ways = ECHO_WAYS.iter();
            setups.extend(ways.map(|&way| Setup { data: Some(way), ..steal.clone() }));
        }
        "wakeup" => setups.extend([bare("futex"), steal]),
        "idleburn" => {
            setups.extend(BURNERS.iter().map(|&threads| Setup { threads, ..steal.clone() }));
        }
        _ => setups.push(steal),
    }
}

/// Adds the setups of what main and the program's own threads get, with its baselines.
fn add_outside(setups: &mut Vec<Setup>, base: &Setup, threads: usize, quick: bool) {
    let size = |n: u64| if quick { n.div_ceil(8) } else { n };
    let steal = Setup { kind: Kind::Steal, threads, ..base.clone() };
    match base.program {
        "phases" => setups.extend(SHORTS.iter().flat_map(|short| {
            let with =
                |setup: &Setup, data| Setup { n: size(short.n), data: Some(data), ..setup.clone() };
            let (in_task, from_main) = (short.in_task, short.from_main);
            [with(base, in_task), with(&steal, in_task), with(&steal, from_main)]
        })),
        "outside_flood" => setups.extend(FLOODS.iter().flat_map(|&(_, data)| {
            distinct([1, threads])
                .into_iter()
                .map(|threads| Setup { data: Some(data), threads, ..steal.clone() })
                .collect::<Vec<_>>()
        })),
        "outside_sparse" => setups.extend(SPARSE.iter().flat_map(|&(_, pool, list, n)| {
            let base = Setup { n: size(n), data: Some(list), ..base.clone() };
            let steal = Setup { n: size(n), data: Some(pool), ..steal.clone() };
            let kinds = KINDS.iter().map(move |&kind| Setup { kind, ..steal.clone() });
            std::iter::once(base).chain(kinds)
        })),
        _ => setups
            .extend(BESIDE.iter().map(|&(_, data)| Setup { data: Some(data), ..steal.clone() })),
    }
}

fn add_locks(setups: &mut Vec<Setup>, base: &Setup, threads: &[usize]) {
    for kind in [Kind::Lifo, Kind::Steal] {
        for &deque in LOCKS {
            if kind == Kind::Lifo && OWNED.contains(&deque) {
                continue;
            }
            for &threads in threads {
                setups.push(Setup { kind, deque: Some(deque), threads, ..base.clone() });
            }
        }
    }
}

/// 1, 2, 4 … up to twice the number of cores, and that number itself.
pub fn thread_counts(cores: usize) -> Vec<usize> {
    let most = 2 * cores;
    let powers = (0..).map(|k| 1 << k).take_while(|&t| t < most);
    powers.chain([most]).collect()
}

fn distinct<const N: usize>(mut counts: [usize; N]) -> Vec<usize> {
    counts.sort_unstable();
    let mut counts = counts.to_vec();
    counts.dedup();
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thread_counts_are_powers_of_two_and_twice_the_cores() {
        assert_eq!(thread_counts(1), [1, 2]);
        assert_eq!(thread_counts(2), [1, 2, 4]);
        assert_eq!(thread_counts(6), [1, 2, 4, 8, 12]);
    }

    #[test]
    fn no_setup_is_measured_twice() {
        for cores in [1, 2, 3, 8] {
            let setups = Plan::new(cores, false, &[]).setups;
            let distinct: std::collections::HashSet<_> = setups.iter().collect();
            assert_eq!(distinct.len(), setups.len());
        }
    }
}
