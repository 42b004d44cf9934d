//! libsched: a task scheduler behind the C header `sched.h`.
//!
//! This crate is a C library; its interface is `include/`. What is public here is public
//! for the models and tests of this repository only, and promises nothing.
//!
//! # One task's way through the house
//!
//! ```text
//! C program --sched_spawn(f, p, s)--> ffi: is the caller the thread at place s?
//!    yes: the kind's spawn puts {f, p} into the worker's own queue
//!    no : the caller's own worker of that run, else the run's injector
//! worker: own queue -> run f(p, s) -> own queue ... nothing? injector, then victims
//! nothing anywhere? wait as SCHED_IDLE says; the last to find nothing ends the run
//! ```
//!
//! # Floors: a lower one never imports a higher one
//!
//! | floor | module | what |
//! | --- | --- | --- |
//! | L0 | [`base`] | atomics gate, futex, locks, asymmetric fence, processors, configuration |
//! | L1 | [`task`], [`probe`] | the two-word task; per-worker counters and their report |
//! | L2a | [`queue`] | the queues: one file each, no policy |
//! | L2b | [`idle`] | idle policies, event count, quiescence |
//! | L2c | [`sync`] | mutex, condition, semaphore, barrier: their states |
//! | L4 | [`kind`] | the schedulers, the worker record, the run, the table of kinds |
//! | L5 | `ext` | fork and join, groups, pools, loops, mutexes: plain code over the floor below |
//! | L6 | `ffi` | the exported functions |
//!
//! # Vocabulary
//!
//! *Worker*: one of the nthreads places to run; at any moment one thread occupies it. The
//! `struct scheduler *` a task gets is its worker. *Run*: from `sched_init` to quiescence, or what a
//! *pool* holds open until it is destroyed. *Rest*: a moment without tasks in such a run.
//! *Kind*: a whole scheduling policy. *Quiescence*: no task runs and none is queued.
//! *Injector*: the queue for tasks from threads that are no workers of the run.
//! *Victim*: the worker a thief steals from. *Park*: to sleep until woken.

pub mod sys;

pub mod lock;

pub mod settings;

pub mod threads;

pub mod task;

pub mod stats;

#[cfg(not(loom))]
pub mod fiber;

pub mod queue;

pub mod idle;

pub mod sync;

pub mod policy;

#[cfg(not(loom))]
pub mod runtime;

#[cfg(not(loom))]
pub mod table;

#[cfg(not(loom))]
pub mod api;

#[cfg(not(loom))]
pub mod ffi;
