//! A description of the machine, and its present speed.

use std::arch::asm;
use std::fs;
use std::hint::black_box;
use std::process::Command;
use std::thread;
use std::time::Instant;

use sched_tools::provenance::{cpuinfo, output, processor};
use sched_tools::text::say;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    pub cpu: String,
    /// Details that tell the processor apart from others of the same model name. None if there are
    /// none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_details: Option<String>,
    pub cores: usize,
    pub kernel: String,
    pub version: String,
    /// The measured commit, with a `+` if the tree has changes; None outside git.
    pub commit: Option<String>,
}

impl Machine {
    pub fn look() -> Machine {
        Machine {
            cpu: processor(),
            cpu_details: cpu_details(&read("/proc/cpuinfo")),
            cores: thread::available_parallelism().map_or(1, usize::from),
            // Only the version: the text after the dash names a build of one host.
            kernel: read("/proc/sys/kernel/osrelease")
                .split('-')
                .next()
                .unwrap_or_default()
                .to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit: commit(),
        }
    }

    /// A line for the output and the figures.
    pub fn line(&self) -> String {
        let commit = self.commit.as_ref().map_or(String::new(), |c| format!(" ({c})"));
        format!(
            "{}, {} core{}, Linux {}, libsched {}{commit}",
            self.cpu,
            self.cores,
            if self.cores == 1 { "" } else { "s" },
            self.kernel,
            self.version,
        )
    }
}

/// The load of the last minute, which shows other users of the machine.
pub fn load() -> Option<f64> {
    read("/proc/loadavg").split(' ').next()?.parse().ok()
}

/// The speed of the machine at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// Nanoseconds that an iteration of a dependent loop takes, y = y·3 + 1: the loop of the
    /// programs' own `cal=`.
    pub ns: f64,
    /// How many cores were really ours, found by running the loop on every core at once.
    pub cores: f64,
}

/// Measures the speed of the machine. Repeated measurements tell a slow or a busy machine from a
/// slow scheduler.
pub fn calibrate(cores: usize) -> Calibration {
    const ITERATIONS: u32 = 10_000_000;
    let alone = dependent_loop(ITERATIONS);
    let start = Instant::now();
    thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| dependent_loop(ITERATIONS));
        }
    });
    let together = start.elapsed().as_secs_f64();
    Calibration {
        ns: alone * 1e9 / f64::from(ITERATIONS),
        cores: (cores as f64 * alone / together).min(cores as f64),
    }
}

/// The seconds that the loop takes.
fn dependent_loop(iterations: u32) -> f64 {
    let start = Instant::now();
    let mut y = 1u64;
    for _ in 0..iterations {
        y = y.wrapping_mul(3).wrapping_add(1);
        // SAFETY: there is no instruction; the compiler is told that `y` may have changed, so that
        // it cannot fold several iterations into one.
        unsafe { asm!("/* {0} */", inout(reg) y, options(pure, nomem, nostack)) };
    }
    black_box(y);
    start.elapsed().as_secs_f64()
}

/// Prints the speeds. A wide spread or a missing core means that others used the machine. `cals`
/// are the measurements of the programs just before their runs.
pub fn print_calibration(
    calibration: &[Calibration],
    cals: &[f64],
    cores: usize,
    load: Option<f64>,
) {
    let all = |value: fn(&Calibration) -> f64| {
        let values = calibration.iter().map(value).collect();
        sorted(values).map_or((0.0, 0.0, 0.0), |v| (v[0], v[v.len() / 2], v[v.len() - 1]))
    };
    let (_, ns, slowest) = all(|c| c.ns);
    let (least, ours, _) = all(|c| c.cores);
    let busy = is_busy(calibration, cores);
    say(format!(
        "calibration: {ns:.2} ns per iteration of y = y*3 + 1 (slowest {slowest:.2}); cores really \
         ours: {ours:.2} of {cores} (least {least:.2}); load before: {}",
        load.map_or("unknown".into(), |l| format!("{l:.2}"))
    ));
    if let Some(cal) = sorted(cals.to_vec()) {
        let at = |share: f64| cal[((cal.len() - 1) as f64 * share) as usize];
        println!(
            "the same just before each run: median {:.3} ns, nine of ten at most {:.3}, slowest {:.3}",
            at(0.5),
            at(0.9),
            at(1.0)
        );
    }
    if busy {
        println!("the machine was busy: believe only the rows with 1 thread");
    }
}

/// True if others had more than a tenth of the cores in at least half of the measurements.
pub fn is_busy(calibration: &[Calibration], cores: usize) -> bool {
    sorted(calibration.iter().map(|c| c.cores).collect())
        .is_some_and(|ours| is_taken(ours[ours.len() / 2], cores))
}

/// True if others had more than a tenth of the cores.
pub fn is_taken(ours: f64, cores: usize) -> bool {
    ours < 0.9 * cores as f64
}

/// None if there are no values.
fn sorted(mut values: Vec<f64>) -> Option<Vec<f64>> {
    values.sort_by(f64::total_cmp);
    (!values.is_empty()).then_some(values)
}

fn read(path: &str) -> String {
    fs::read_to_string(path).map_or("unknown".into(), |text| text.trim().to_owned())
}

/// "family 25, model 17, virtual". Under a hypervisor the model name often says the vendor only.
fn cpu_details(info: &str) -> Option<String> {
    let numbers = [("family", "cpu family"), ("model", "model")];
    let mut details: Vec<String> = numbers
        .iter()
        .filter_map(|(name, key)| Some(format!("{name} {}", cpuinfo(info, key)?)))
        .collect();
    if cpuinfo(info, "flags")?.split(' ').any(|flag| flag == "hypervisor") {
        details.push("virtual".to_owned());
    }
    (!details.is_empty()).then(|| details.join(", "))
}

fn commit() -> Option<String> {
    let git = |args: &[&str]| output(Command::new("git").args(args));
    let head = git(&["rev-parse", "--short", "HEAD"])?;
    let changed = !git(&["status", "--porcelain", "--untracked-files=no"])?.is_empty();
    Some(if changed { head + "+" } else { head })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_processor_is_told_apart_by_its_numbers() {
        let info = "model\t\t: 17\nmodel name\t: AMD EPYC\ncpu family\t: 25\n\
                    flags\t\t: fpu hypervisor lm\n\nmodel\t\t: 18\n";
        assert_eq!(cpu_details(info).unwrap(), "family 25, model 17, virtual");
        assert_eq!(cpu_details(&info.replace(" hypervisor", "")).unwrap(), "family 25, model 17");
        assert_eq!(cpu_details("BogoMIPS\t: 100\nFeatures\t: fp\n"), None);
    }
}
