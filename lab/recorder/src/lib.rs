//! A stand-in for libsched.so.1 that records a program's task DAG.
//!
//! ```text
//! LD_LIBRARY_PATH=folder/of/the/recorder SCHED_RECORD=file ./program
//! ```
//!
//! The program need not be rebuilt; the library knows nothing of the recorder, and pays nothing for
//! it. Tasks run one after the other on the thread that called `sched_init`, the latest first, as
//! on one worker of kind `steal`; a fork is run by its join. In every third run of the process each
//! spawn, fork, join, wait, beginning and end of a task writes a stamp to a tape
//! ([`sched_dag::tape`]): the ticks since the stamp before. The runs between are measured as a
//! whole, which tells what the stamps cost.
//!
//! The recorder records `sched_spawn`, `sched_spawn_copy`, fork and join, groups, `sched_for`,
//! `sched_reduce` and blocking sections ([`calls`]). A call that a recording cannot express ends
//! the process, with a message that names the call ([`refused`]).

mod calls;
mod clock;
mod ranges;
mod refused;
mod runs;
mod serial;
mod stack;

use std::fmt::Display;
use std::process;

/// Ends the process: an incomplete recording would mislead.
#[cold]
fn refuse(why: impl Display) -> ! {
    eprintln!("libsched recorder: {why}");
    process::exit(1)
}
