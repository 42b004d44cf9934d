//! Options, clock, calibration and the line: bench_c/measure.h in Rust.

use std::arch::asm;
use std::hint::black_box;
use std::mem::MaybeUninit;
use std::time::Instant;

pub struct Bench {
    kind: &'static str,
    workload: String,
    pub n: usize,
    pub threads: usize,
    pub repetitions: usize,
    /// The argument of -d, without the word main.
    pub data: String,
    /// By -d main: the calls are made from main, outside of any task.
    pub from_main: bool,
}

/// The time that a run took.
pub struct Spent {
    pub wall: f64,
    pub user: f64,
    pub sys: f64,
    vcsw: i64,
    icsw: i64,
    cal: f64,
}

impl Bench {
    /// None: an option that there is not.
    pub fn new(kind: &'static str, workload: &str, options: &[&str]) -> Option<Bench> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let mut bench = Bench {
            kind,
            workload: workload.to_owned(),
            n: 1000,
            threads,
            repetitions: 1,
            data: String::new(),
            from_main: false,
        };
        for pair in options.chunks(2) {
            let &[option, value] = pair else { return None };
            if option == "-d" {
                bench.from_main = value == "main" || value.starts_with("main-");
                let data = if bench.from_main { value.get(5..).unwrap_or("") } else { value };
                bench.data = data.to_owned();
                continue;
            }
            let value: usize = value.parse().ok()?;
            match option {
                "-n" => bench.n = value,
                "-t" if value > 0 => bench.threads = value,
                "-t" => (),
                "-r" => bench.repetitions = value,
                _ => return None,
            }
        }
        calibrate(16);
        Some(bench)
    }

    pub fn workload(&self) -> &str {
        &self.workload
    }

    /// Runs the workload as often as was asked for. Were all answers right?
    pub fn repeat(&self, mut run: impl FnMut() -> Option<bool>) -> Option<bool> {
        (0..self.repetitions).try_fold(true, |right, _| Some(run()? && right))
    }

    /// Runs `f` under the clock.
    pub fn timed(&self, f: impl FnOnce()) -> Spent {
        let cal = calibrate(4);
        let before = usage();
        let start = Instant::now();
        f();
        let wall = start.elapsed().as_secs_f64();
        let after = usage();
        Spent {
            wall,
            user: seconds(after.ru_utime) - seconds(before.ru_utime),
            sys: seconds(after.ru_stime) - seconds(before.ru_stime),
            vcsw: after.ru_nvcsw - before.ru_nvcsw,
            icsw: after.ru_nivcsw - before.ru_nivcsw,
            cal,
        }
    }

    /// Prints the line; gives back `right`.
    pub fn line(&self, spent: &Spent, tasks: u64, checksum: u64, extra: &str, right: bool) -> bool {
        println!(
            "bench={} n={} kind={} threads={} tasks={tasks} seconds={:.6} ns_per_task={:.2} \
             checksum={checksum:016x} user={:.6} sys={:.6} vcsw={} icsw={} cal={:.3}{extra} {}",
            self.workload,
            self.n,
            self.kind,
            self.threads,
            spent.wall,
            spent.wall * 1e9 / tasks as f64,
            spent.user,
            spent.sys,
            spent.vcsw,
            spent.icsw,
            spent.cal,
            if right { "ok" } else { "WRONG" }
        );
        right
    }
}

fn usage() -> libc::rusage {
    let mut usage = MaybeUninit::uninit();
    // SAFETY: the pointer is to a rusage; getrusage fills it, and fails for no valid `who`.
    unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init()
    }
}

fn seconds(t: libc::timeval) -> f64 {
    t.tv_sec as f64 + 1e-6 * t.tv_usec as f64
}

/// So many turns of the calibration loop, from `y` on.
pub fn turns(mut y: u64, n: u64) -> u64 {
    for _ in 0..n {
        y = y.wrapping_mul(3).wrapping_add(1);
        // SAFETY: no instruction at all; the compiler is told that `y` may have changed,
        // so that it cannot fold iterations into one.
        unsafe { asm!("/* {0} */", inout(reg) y, options(pure, nomem, nostack)) };
    }
    y
}

/// Nanoseconds an iteration of y = y·3 + 1 takes, the fastest of some tries.
pub fn calibrate(tries: usize) -> f64 {
    const ITERATIONS: u32 = 1 << 16;
    let mut y = 1u64;
    let mut least = f64::INFINITY;
    for _ in 0..tries {
        let start = Instant::now();
        y = turns(y, ITERATIONS.into());
        least = least.min(start.elapsed().as_secs_f64() * 1e9 / f64::from(ITERATIONS));
    }
    black_box(y);
    least
}
