//! The workloads of bench_c for systems that are written in Rust.
//!
//! [`measure`] has the clock and the line, [`work`] the tasks, and [`fork`] those that wait for
//! others. A program has a table of its systems, and [`main`] calls the one that is named.

pub mod fork;
pub mod measure;
pub mod work;

use std::process::ExitCode;

use measure::Bench;

/// Rust's threads have 2 MB: not enough for the deeper of the trees.
pub const STACK: usize = 16 << 20;

pub struct Peer {
    pub name: &'static str,
    /// The crate whose version it tells.
    pub package: &'static str,
    /// Were all answers right? None: no such workload.
    pub run: fn(&Bench) -> Option<bool>,
}

/// `NAME WORKLOAD [-n SIZE] [-t THREADS] [-r REPETITIONS]`, or `NAME --version`. `lock` is the
/// program's Cargo.lock, which has the exact versions that were built.
pub fn main(peers: &[Peer], lock: &str) -> ExitCode {
    // SAFETY: this process has no other thread yet. A system that makes its threads without a
    // size of stack gets this one.
    unsafe { std::env::set_var("RUST_MIN_STACK", STACK.to_string()) };
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let right = match words[..] {
        [name, ref words @ ..] => {
            peers.iter().find(|peer| peer.name == name).and_then(|peer| peer.call(words, lock))
        }
        [] => None,
    };
    match right {
        Some(true) => ExitCode::SUCCESS,
        Some(false) => ExitCode::FAILURE,
        None => {
            let names: Vec<&str> = peers.iter().map(|peer| peer.name).collect();
            let names = names.join("|");
            eprintln!("usage: {names} WORKLOAD [-n SIZE] [-t THREADS] [-r REPETITIONS]");
            ExitCode::from(2)
        }
    }
}

impl Peer {
    fn call(&self, words: &[&str], lock: &str) -> Option<bool> {
        match *words {
            ["--version"] => Some(self.version(lock)),
            [workload, ref options @ ..] => (self.run)(&Bench::new(self.name, workload, options)?),
            [] => None,
        }
    }

    fn version(&self, lock: &str) -> bool {
        if self.package == "std" {
            println!("of the Rust that is installed");
            return true;
        }
        let entry = format!("name = \"{}\"\nversion = \"", self.package);
        let version = lock.split(&entry).nth(1).and_then(|rest| rest.split('"').next());
        println!("{} {}", self.package, version.unwrap_or("unknown"));
        version.is_some()
    }
}
