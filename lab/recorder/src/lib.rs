//! A stand-in for libsched.so.1 that records a program's task DAG.
//!
//! ```text
//! LD_LIBRARY_PATH=folder/of/the/recorder SCHED_RECORD=file ./program
//! ```
//!
//! The program is the one that is already built; the library knows nothing of this, and pays
//! nothing for it. Tasks run one after the other, on the thread that called `sched_init`, the
//! latest first, as on one worker of kind `steal`; a fork is run by its join. Every spawn, fork,
//! join, wait, beginning and end leaves the ticks since the one before on a tape
//! ([`sched_dag::tape`]), every third run of the process: the runs between are measured as a whole,
//! to tell what the stamps cost.
//!
//! Recorded are `sched_spawn`, `sched_spawn_copy`, fork and join, groups, `sched_for`,
//! `sched_reduce` and blocking sections ([`calls`]). What a recording cannot express, [`refused`] ends the process for,
//! with a message that names the call.

mod calls;
mod clock;
mod ranges;
mod refused;
mod serial;

use std::fmt::Display;
use std::process;

/// Ends the process: a recording that lacks something would mislead.
#[cold]
fn refuse(why: impl Display) -> ! {
    eprintln!("libsched recorder: {why}");
    process::exit(1)
}
