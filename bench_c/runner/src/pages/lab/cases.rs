//! The benchmarks of the fiber scheduler, with their parameters.

use super::settings::Setting;
use crate::run::setup::Setup;

/// A benchmark with its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    pub family: &'static str,
    /// The name on the axis of a figure.
    pub code: &'static str,
    pub program: &'static str,
    pub threads: usize,
    pub n: u64,
    pub data: Option<&'static str>,
}

impl Case {
    /// The name in the author's form: SingleSpawner/4/1000/10/0.
    pub fn name(&self) -> String {
        let data = self.data.map_or(String::new(), |data| format!("/{data}"));
        format!("{}/{}/{}{data}", self.family, self.threads, self.n)
    }

    pub fn setup(&self, setting: &Setting) -> Setup {
        Setup { data: self.data, ..setting.setup(self.program, self.n, self.threads) }
    }
}

const fn single(code: &'static str, n: u64, data: &'static str) -> Case {
    let family = "SingleSpawner";
    Case { family, code, program: "fiber_single", threads: 4, n, data: Some(data) }
}

const fn slow(code: &'static str, n: u64, data: &'static str) -> Case {
    let family = "SlowThread";
    Case { family, code, program: "fiber_slow", threads: 4, n, data: Some(data) }
}

const fn sort(code: &'static str, n: u64) -> Case {
    let family = "MergeSort";
    Case { family, code, program: "fiber_mergesort", threads: 4, n, data: None }
}

const fn spawners(code: &'static str, n: u64, data: &'static str) -> Case {
    let family = "DifferentSpawners";
    Case { family, code, program: "fiber_spawners", threads: 8, n, data: Some(data) }
}

/// The author's benchmarks, and SlowThread once more with sleeps that really are 100 times longer.
pub const CASES: &[Case] = &[
    single("single 0", 1000, "10/0"),
    single("single 1", 1000, "10/1"),
    slow("slow", 1000, "10/100"),
    slow("slower", 1000, "10/2500000"),
    sort("sort", 1024),
    spawners("two 100", 100, "10/100"),
    spawners("two 1000", 1000, "100/100"),
    spawners("two 10k", 10_000, "100/10"),
];

/// Fewer turns; but if a claim is about full queues, still more tasks than a bounded queue holds.
pub const QUICK_CASES: &[Case] = &[
    single("single 0", 400, "3/0"),
    single("single 1", 400, "3/1"),
    slow("slow", 100, "10/100"),
    slow("slower", 100, "10/2500000"),
    sort("sort", 256),
    spawners("two 100", 100, "10/10"),
    spawners("two 200", 200, "20/10"),
    spawners("two 1000", 1000, "10/5"),
];
