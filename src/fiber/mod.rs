//! L3: stacks, and the switch from one to another. Whose they are and when to switch is for a
//! higher floor: `kind::fiber`.
//!
//! # What goes with a task, and what stays behind
//!
//! A task that waits may go on in another thread. With it go its stack, the registers that a
//! function must preserve, the floating-point controls, and the C++ exceptions that it handles. What belongs to a thread does not: errno,
//! thread-local variables, the identity that `pthread_self` and `gettid` tell, mutexes that
//! are locked by it, the signal mask, the affinity. A compiler may keep the address of a thread-local
//! variable, or of errno, in a register across a call: after a task has waited that is the old thread's.
//! So a task should not have such things in use where it waits. (With `SCHED_JOIN=help` a task that only
//! joins and waits for groups stays in its thread.)

pub mod exceptions;
mod limit;
pub mod overflow;
pub mod sanitizers;
mod space;
pub mod stack;
pub mod switch;
pub mod valgrind;
