//! L6: the exported functions, and the only home of `no_mangle`. Each checks its arguments,
//! calls the floor below, and reports as C does: 0, or -1 with errno. [`course`] is
//! behind the hand-kept `include/sched.h`, with which build.rs compares it; [`tasks`], [`block`], [`sync`], [`pool`]
//! and [`stats`] are the source of `include/sched_tasks.h`; [`inline`] serves `include/sched_inline.h`.
//!
//! A panic is a bug of the library; it ends the process with a message and never crosses
//! into the program. The release profile aborts at the panic itself; in other builds the
//! language aborts when a panic reaches an `extern "C"` function.

pub mod block;
pub mod course;
pub mod inline;
pub mod pool;
pub mod stats;
pub mod sync;
pub mod tasks;

use crate::task::TaskFn;

#[cfg(not(any(panic = "abort", debug_assertions)))]
compile_error!("a release build of libsched needs panic = \"abort\"");

/// The C side's name for a [`TaskFn`] that may be NULL.
#[allow(non_camel_case_types, reason = "the name in sched.h")]
pub type taskfunc = Option<TaskFn>;
