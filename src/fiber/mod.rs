//! Stacks, and the switch from one stack to another. Which code owns a stack, and when it switches,
//! is decided on a higher floor: `runtime::host`.
//!
//! # What moves with a task, and what stays with its thread
//!
//! A task that waits may continue on another thread. These move with it: its stack, the registers
//! that a function must preserve, the floating-point controls, and the C++ exceptions that it
//! handles. The state of a thread does not move: errno, thread-local variables, the identity that
//! `pthread_self` and `gettid` return, the mutexes that the thread has locked, the signal mask, the
//! affinity. A compiler may keep the address of a thread-local variable, or of errno, in a register
//! across a call; after a wait, that address is the old thread's. So a task should not use such
//! things across a wait. (With `SCHED_JOIN=help` a task that only joins and waits for groups stays
//! on its thread.)

pub mod exceptions;
pub mod limit;
pub mod listeners;
pub mod overflow;
pub mod sanitizers;
mod space;
pub mod stack;
pub mod switch;
pub mod trace;

/// Tells whether the sanitizers and the C++ runtime are informed of each switch of stacks.
pub trait Instrumentation: 'static {
    const IS_ON: bool;
}

pub struct Instrumented;

impl Instrumentation for Instrumented {
    const IS_ON: bool = true;
}

/// For a process that has neither a sanitizer nor a C++ runtime.
pub struct Plain;

impl Instrumentation for Plain {
    const IS_ON: bool = false;
}
