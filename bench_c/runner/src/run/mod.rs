//! What is run, and how. [`programs`] lists the programs of bench_c, a [`setup`] is one of them
//! with its settings, and a [`plan`] is all that `make bench` measures. [`bench`] runs a setup as a
//! process and reads its [`output`]; [`session`] runs many setups, interleaved, and shows its
//! [`progress`]. [`machine`] says what this machine is and how fast it is now, and [`instructions`]
//! counts instructions, whose number does not vary.

pub mod bench;
pub mod instructions;
pub mod machine;
pub mod output;
pub mod plan;
pub mod programs;
mod progress;
pub mod session;
pub mod setup;
