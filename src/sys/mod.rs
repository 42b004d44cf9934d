//! What Linux and the processor provide: one file for each facility, without policy.

pub mod address_space;
pub mod atomic;
pub mod cgroup;
pub mod errno;
pub mod fence;
pub mod futex;
#[cfg(sched_fuzz)]
pub mod fuzz;
pub mod memory;
pub mod output;
pub mod processors;
pub mod region;
pub mod registers;
pub mod stack_room;
pub mod thread;
pub mod time;

#[cfg(not(loom))]
pub mod clock;
#[cfg(not(loom))]
pub mod demangle;
#[cfg(not(loom))]
pub mod detector;
#[cfg(not(loom))]
pub mod float;
#[cfg(not(loom))]
pub mod heap;
#[cfg(not(loom))]
pub mod names;
#[cfg(not(loom))]
pub mod peek;
#[cfg(not(loom))]
pub mod probe;
#[cfg(not(loom))]
pub mod process;
#[cfg(not(loom))]
pub mod process_mask;
#[cfg(not(loom))]
pub mod signal;
#[cfg(not(loom))]
pub mod symbol;
#[cfg(not(loom))]
pub mod system_call;
#[cfg(not(loom))]
pub mod terminal;
#[cfg(not(loom))]
pub mod thread_memory;
#[cfg(not(loom))]
pub mod unwind;
#[cfg(not(loom))]
pub mod valgrind;
#[cfg(not(loom))]
pub mod weak;
#[cfg(not(loom))]
pub mod word;
#[cfg(not(loom))]
pub mod zlib;
