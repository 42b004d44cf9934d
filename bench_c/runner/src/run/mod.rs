//! The runs: which programs are run, and how. A [`plan`] lists the programs of bench_c and the
//! cases that are run. [`bench`] runs a case as a process and reads its [`output`]; [`session`]
//! runs many cases, interleaved, and shows its [`progress`]; [`commands`] are measured as whole
//! processes. [`instructions`] counts instructions, whose number does not vary.

pub mod bench;
pub mod commands;
pub mod instructions;
pub mod output;
pub mod plan;
mod progress;
pub mod session;
